//! Builds the C++ file that registers the plugin with LLVM's pass manager.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=cpp/plugin.cpp");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let llvm_config = format!("{prefix}/bin/llvm-config");
    let output = Command::new(&llvm_config).arg("--includedir").output().unwrap_or_else(|e| {
        panic!("cannot run `{llvm_config}`: {e}; install llvm-22-dev or set LLVM_SYS_221_PREFIX")
    });
    let include = String::from_utf8(output.stdout).expect("llvm-config prints a path");
    cc::Build::new()
        .cpp(true)
        .file("cpp/plugin.cpp")
        .include(include.trim())
        .std("c++17")
        // As LLVM itself is built: its classes have no type information.
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag_if_supported("-Wno-unused-parameter")
        .compile("gpurace_plugin");
}
