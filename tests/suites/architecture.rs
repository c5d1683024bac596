//! The rooms of the workspace, read from its manifests: who may depend on whom,
//! and who may name which outside library.

use std::collections::BTreeMap;
use std::path::Path;

use gpurace_tests::toolchain::workspace;
use toml::{Table, Value};

/// One member of the workspace.
struct Package {
    folder: String,
    /// Outside dependencies and siblings, by package name, with development ones left out.
    dependencies: Vec<String>,
    /// The same for tests and build scripts.
    others: Vec<String>,
}

fn read(path: &Path) -> Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn names(table: &Table, section: &str) -> Vec<String> {
    let Some(Value::Table(section)) = table.get(section) else {
        return Vec::new();
    };
    // `x = { package = "y" }` names y.
    let name = |(key, value): (&String, &Value)| {
        value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned()
    };
    section.iter().map(name).collect()
}

/// All members by package name.
fn packages() -> BTreeMap<String, Package> {
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

/// The room of a folder, and how far up the one direction it lies: a package
/// may depend on packages below it, and within the runtime on its neighbours.
/// Protocols and the evaluation of conditions lie below the runtime, which
/// tests them at each launch; the solver lies above.
fn height(folder: &str) -> u32 {
    match folder {
        "runtime/abi" => 0,
        "prune/protocol" => 1,
        _ if folder.starts_with("runtime/") => 2,
        _ if folder == "prune" || folder.starts_with("prune/") => 3,
        "pass" => 4,
        "driver" => 5,
        // Numbers for tests are no program's dependency.
        "tests" | "tests/random" => 6,
        _ => panic!("`{folder}` is in no room: say in this test where it lies"),
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
            let (from, to) = (height(&package.folder), height(&below.folder));
            let neighbours = from == to && package.folder.starts_with("runtime/");
            assert!(to < from || neighbours, "`{name}` depends on `{dependency}`, which is not below it");
        }
    }
}

#[test]
fn the_runtime_does_not_know_the_compiler() {
    let packages = packages();
    for (name, package) in packages.iter().filter(|(_, p)| p.folder.starts_with("runtime/")) {
        for dependency in &package.dependencies {
            let Some(below) = packages.get(dependency) else {
                continue;
            };
            assert!(
                below.folder.starts_with("runtime/") || below.folder == "prune/protocol",
                "`{name}` depends on `{dependency}`"
            );
        }
    }
}

#[test]
fn each_outside_library_has_one_room() {
    for (library, room) in [
        ("inkwell", "pass"),
        ("llvm-sys", "pass"),
        ("z3", "prune"),
        ("z3-sys", "prune"),
        ("cudarc", "runtime/cuda"),
    ] {
        for (name, package) in &packages() {
            let named = package.dependencies.iter().chain(&package.others).any(|d| d == library);
            let here = package.folder == room || package.folder.starts_with(&format!("{room}/"));
            assert!(!named || here, "`{name}` names `{library}`, which is for `{room}` alone");
        }
    }
}

#[test]
fn the_pass_does_name_llvm() {
    // Else the test above would hold of an empty workspace.
    let packages = packages();
    let pass = packages.values().find(|p| p.folder == "pass").unwrap();
    assert!(pass.dependencies.iter().any(|d| d == "inkwell"));
}

#[test]
fn the_abi_depends_on_no_sibling() {
    let packages = packages();
    let abi = packages.values().find(|p| p.folder == "runtime/abi").unwrap();
    assert!(
        abi.dependencies.iter().chain(&abi.others).all(|d| !packages.contains_key(d)),
        "{:?}",
        abi.dependencies
    );
}

#[test]
fn every_folder_of_the_code_map_exists() {
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let name = line.split('`').nth(1).unwrap();
        if name.ends_with('/') {
            // A room that is announced only says so.
            let announced = line.contains("not written yet");
            assert!(announced || workspace().join(name).is_dir(), "ARCHITECTURE.md names `{name}`");
            seen += 1;
        }
    }
    assert!(seen >= 8, "the code map has {seen} folders");
    for package in packages().values() {
        let named = text.contains(&format!("`{}/`", package.folder));
        assert!(named, "ARCHITECTURE.md does not name `{}/`", package.folder);
    }
}
