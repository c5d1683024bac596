//! The crates of the workspace, read from its manifests: which crate may depend on which other one,
//! and which crate may use which outside library.

use std::collections::BTreeMap;
use std::path::Path;

use gpurace_tests::toolchain::workspace;
use toml::{Table, Value};

/// One member of the workspace.
pub struct Package {
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// The names of the packages that its programs and libraries depend on.
    dependencies: Vec<String>,
    /// The names of the packages that only its tests and build scripts depend on.
    others: Vec<String>,
}

fn read(path: &Path) -> Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn names(table: &Table, section: &str) -> Vec<String> {
    let Some(Value::Table(section)) = table.get(section) else {
        return Vec::new();
    };
    // `x = { package = "y" }` is a dependency on `y`.
    let name = |(key, value): (&String, &Value)| {
        value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned()
    };
    section.iter().map(name).collect()
}

/// The members of the workspace by package name.
pub fn packages() -> BTreeMap<String, Package> {
    let root = workspace();
    let manifest = read(&root.join("Cargo.toml"));
    let members = manifest["workspace"]["members"].as_array().unwrap();
    members
        .iter()
        .map(|member| {
            let folder = member.as_str().unwrap().to_owned();
            let manifest = read(&root.join(&folder).join("Cargo.toml"));
            let mut others = names(&manifest, "dev-dependencies");
            others.extend(names(&manifest, "build-dependencies"));
            let mut dependencies = names(&manifest, "dependencies");
            if let Some(Value::Table(targets)) = manifest.get("target") {
                for target in targets.values().filter_map(Value::as_table) {
                    dependencies.extend(names(target, "dependencies"));
                }
            }
            let name = manifest["package"]["name"].as_str().unwrap().to_owned();
            (name, Package { folder, dependencies, others })
        })
        .collect()
}

/// The level of a package's folder. A package depends on packages of lower levels, and within
/// `runtime` and `runtime/base` on packages of its own level.
fn level(folder: &str) -> u32 {
    match folder {
        _ if folder.starts_with("runtime/base/") => 0,
        _ if folder.starts_with("runtime/") => 1,
        _ if folder.starts_with("prune/") => 2,
        "pass" => 3,
        "driver" => 4,
        // No program depends on code for tests.
        "tests/random" => 5,
        "tests/litmus" => 6,
        "tests" => 7,
        "tests/campaign" => 8,
        _ => panic!("`{folder}` has no level: add it to this test"),
    }
}

#[test]
fn dependencies_point_one_way() {
    let packages = packages();
    for (name, package) in &packages {
        for dependency in &package.dependencies {
            let Some(below) = packages.get(dependency) else {
                continue;
            };
            let (from, to) = (level(&package.folder), level(&below.folder));
            let neighbours = from == to && package.folder.starts_with("runtime/");
            assert!(to < from || neighbours, "`{name}` depends on `{dependency}`, which is not below it");
        }
    }
}

#[test]
fn the_litmus_oracle_shares_no_code_with_what_it_judges() {
    assert_eq!(packages()["gpurace-litmus"].dependencies, ["gpurace-random"]);
    assert!(packages()["gpurace-random"].dependencies.is_empty());
}

#[test]
fn each_large_library_is_used_in_one_folder() {
    for (library, only) in [
        ("inkwell", "pass"),
        ("llvm-sys", "pass"),
        ("z3", "prune"),
        ("z3-sys", "prune"),
        ("cudarc", "runtime/cuda"),
    ] {
        for (name, package) in &packages() {
            let uses = package.dependencies.iter().chain(&package.others).any(|d| d == library);
            let here = package.folder == only || package.folder.starts_with(&format!("{only}/"));
            assert!(!uses || here, "`{name}` uses `{library}`, which only `{only}` may use");
        }
    }
}

#[test]
fn the_pass_uses_llvm() {
    // Without it the test above would pass for an empty workspace.
    let packages = packages();
    let pass = packages.values().find(|p| p.folder == "pass").unwrap();
    assert!(pass.dependencies.iter().any(|d| d == "inkwell"));
}

#[test]
fn the_abi_depends_on_no_sibling() {
    let packages = packages();
    let abi = packages.values().find(|p| p.folder == "runtime/base/abi").unwrap();
    assert!(
        abi.dependencies.iter().chain(&abi.others).all(|d| !packages.contains_key(d)),
        "{:?}",
        abi.dependencies
    );
}
