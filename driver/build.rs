//! Makes `gclang++` a link to `gclang`, since the name of a Cargo binary cannot have a `+`. Like clang, the
//! program looks at the name that it was called by.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    // <target>/<profile>/build/<package>-<hash>/out
    let profile = out.ancestors().nth(3).expect("OUT_DIR lies in the target folder");
    let link = profile.join("gclang++");
    println!("cargo:rerun-if-changed=build.rs");
    if fs::read_link(&link).is_ok_and(|to| to.as_os_str() == "gclang") {
        return;
    }
    let _ = fs::remove_file(&link);
    if let Err(e) = symlink("gclang", &link) {
        println!("cargo:warning=cannot make `{}`: {e}", link.display());
    }
}
