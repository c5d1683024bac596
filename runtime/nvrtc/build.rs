//! Names the shared library for the loader: programs record this name, not the path that they were
//! linked with.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgpurace_nvrtc.so");
}
