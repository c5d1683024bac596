//! The runtime has the function that this crate calls. Tests do not call it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg=-Wl,--unresolved-symbols=ignore-all");
}
