//! Names the shared library for the loader: programs record this name, not the path that they were
//! linked with.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgpurace_solver.so");
    // The program has the runtime, and tests of modules need none.
    println!("cargo::rustc-link-arg=-Wl,--unresolved-symbols=ignore-all");
    // Nodes of graphs point into the library.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
