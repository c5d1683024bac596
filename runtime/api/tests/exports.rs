//! The library exports what programs and device images look for.

use std::collections::HashSet;
use std::process::Command;

use gpurace_abi::entry::Entry;

mod support;

/// Symbols that the library defines for others.
fn exported() -> HashSet<String> {
    let library = support::library();
    let (status, out, errors) = support::run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    assert_eq!(status, Some(0), "{errors}");
    out.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

#[test]
fn every_entry_point_of_device_code_is_exported() {
    let exported = exported();
    let missing: Vec<_> = Entry::OF_EXECUTOR
        .iter()
        .map(|entry| entry.symbol())
        .filter(|&name| !exported.contains(name))
        .collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
}

#[test]
fn what_clang_emits_for_a_kernel_is_exported() {
    let exported = exported();
    for name in [
        "__cudaRegisterFatBinary",
        "__cudaRegisterFatBinaryEnd",
        "__cudaUnregisterFatBinary",
        "__cudaRegisterFunction",
        "__cudaRegisterVar",
        "__cudaRegisterManagedVar",
        "__cudaRegisterTexture",
        "__cudaRegisterSurface",
        "__cudaPushCallConfiguration",
        "__cudaPopCallConfiguration",
        "cudaLaunchKernel",
        "cudaLaunchCooperativeKernel",
        "cudaLaunchKernelExC",
    ] {
        assert!(exported.contains(name), "`{name}` is not exported");
    }
}

#[test]
fn every_function_of_the_header_is_exported() {
    let Some(toolkit) = support::toolkit() else {
        return;
    };
    let header = std::fs::read_to_string(toolkit.join("include/cuda_runtime_api.h")).unwrap();
    let exported = exported();
    let mut missing = Vec::new();
    let mut found = 0;
    for after in header.split("CUDARTAPI ").skip(1) {
        let name: String =
            after.trim_start_matches('*').chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        // The forms for per-thread default streams are left out.
        if !name.starts_with("cuda") || name.contains("_pt") {
            continue;
        }
        found += 1;
        if !exported.contains(&name) {
            missing.push(name);
        }
    }
    assert!(found > 250, "the header has {found} functions");
    assert!(missing.is_empty(), "not exported: {missing:?}");
}

#[test]
fn every_function_of_the_driver_s_header_is_exported() {
    let (Some(toolkit), Some(clang)) = (support::toolkit(), support::clang()) else {
        return;
    };
    // The header renames its functions by macros, so it is preprocessed.
    let include = toolkit.join("include");
    let (status, text, errors) = support::run(
        Command::new(clang).args(["-E", "-x", "c", "-I"]).arg(&include).arg(include.join("cuda.h")),
    );
    assert_eq!(status, Some(0), "{errors}");
    let exported = exported();
    let functions = text.split("CUresult ").skip(1).filter_map(|after| {
        let name: String =
            after.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_function = after.trim_start()[name.len()..].trim_start().starts_with('(');
        (is_function && name.starts_with("cu")).then_some(name)
    });
    let functions: Vec<_> = functions.collect();
    assert!(functions.len() > 400, "the header has {} functions", functions.len());
    let missing: Vec<_> = functions.iter().filter(|name| !exported.contains(*name)).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
}

#[test]
fn the_library_names_itself() {
    let library = support::library();
    let (_, out, _) = support::run(Command::new("readelf").arg("-d").arg(&library));
    assert!(out.contains("Library soname: [libgpurace_rt.so]"), "{out}");
}
