//! Makes the links that Cargo cannot make, in the folder of the programs.
//!
//! `gclang++` is `gclang`, since the name of a Cargo binary cannot have a `+`. Like clang, the program looks at
//! the name that it was called by.
//!
//! `driver/lib64` has the runtime library under the names of CUDA's driver. `gpurace run` puts it first.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    // <target>/<profile>/build/<package>-<hash>/out
    let profile = out.ancestors().nth(3).expect("OUT_DIR lies in the target folder");
    println!("cargo:rerun-if-changed=build.rs");
    link(&profile.join("gclang++"), "gclang");
    let driver = profile.join("driver/lib64");
    if let Err(e) = fs::create_dir_all(&driver) {
        println!("cargo:warning=cannot make `{}`: {e}", driver.display());
    }
    for name in ["libcuda.so", "libcuda.so.1", "libgpurace_rt.so"] {
        link(&driver.join(name), "../../libgpurace_rt.so");
    }
}

fn link(link: &Path, to: &str) {
    if fs::read_link(link).is_ok_and(|old| old.as_os_str() == to) {
        return;
    }
    let _ = fs::remove_file(link);
    if let Err(e) = symlink(to, link) {
        println!("cargo:warning=cannot make `{}`: {e}", link.display());
    }
}
