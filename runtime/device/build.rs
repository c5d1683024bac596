//! Compiles the device runtime: to bitcode for NVPTX, which the pass links into checked kernels,
//! and for the host, where tests compare it with the checker.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let clang = format!("{prefix}/bin/clang++");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // The oldest architecture that schedules threads independently, which the checker assumes.
    let status = Command::new(&clang)
        .args(["--target=nvptx64-nvidia-cuda", "-nogpulib", "-nostdinc", "-ffreestanding", "-x", "c++"])
        .args(["-march=sm_70", "-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti"])
        // Lanes exchange values: LLVM must not split a call that lanes make together.
        .args(["-Xclang", "-fconvergent-functions"])
        .args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-command-line-argument"])
        .args(["-Xclang", "-target-feature", "-Xclang", "+ptx63", "-emit-llvm", "-c", "cpp/device.cpp", "-o"])
        .arg(folder.join("device.bc"))
        .status()
        .unwrap_or_else(|e| panic!("cannot run `{clang}`: {e}; install clang-22 or set LLVM_SYS_221_PREFIX"));
    assert!(status.success(), "`{clang}` cannot compile the device runtime");
    cc::Build::new()
        .cpp(true)
        .compiler(&clang)
        .file("cpp/device.cpp")
        .std("c++17")
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .compile("gpurace_device_host");
}
