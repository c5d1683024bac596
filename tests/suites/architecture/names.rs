//! Names: one type for each name in a crate, and one file for the names of entry points.

use std::collections::BTreeMap;
use std::path::Path;

use gpurace_tests::toolchain::workspace;

use crate::reader::{CrateSource, crates};

/// Crates in which a name still belongs to several types.
const TYPES_NOT_YET: &[&str] = &[];

/// Crates that still hold names of entry points outside of [`ENTRY_POINTS`].
const ENTRY_POINTS_NOT_YET: &[&str] = &[];

/// The file that names the entry points of the runtime.
const ENTRY_POINTS: &str = "runtime/base/abi/src/entry.rs";

/// The names of several types of a crate, each with the places of its definitions.
fn shared_names(source: &CrateSource) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, at) in &source.types {
        places.entry(name).or_default().push(format!("{}:{}", at.file.display(), at.line));
    }
    places.retain(|_, places| places.len() > 1);
    places
}

#[test]
fn a_types_name_is_unique_in_its_crate() {
    let mut faults = Vec::new();
    for (folder, source) in crates() {
        let shared = shared_names(source);
        let listed = TYPES_NOT_YET.contains(&folder.as_str());
        if listed && shared.is_empty() {
            faults.push(format!("`{}`: each name is unique now: take it off `TYPES_NOT_YET`", folder));
        }
        for (name, places) in shared {
            println!("{}: {name}: {}", folder, places.join(", "));
            if !listed {
                faults.push(format!("`{name}` is the name of several types: {}", places.join(", ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The entry points that the text of [`ENTRY_POINTS`] declares: `Read = __gpurace_read(address: Ptr, ...)`.
fn entry_points(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let starts = code.flat_map(|line| line.match_indices("__gpurace_").map(|(at, _)| &line[at..]));
    let heads = starts.filter_map(|rest| rest.split_once('(')).map(|(head, _)| head);
    heads.filter(|head| head.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).collect()
}

/// The strings of a crate that are names of entry points, with their files.
fn named_entry_points(source: &CrateSource, entry_points: &[&str], root: &Path) -> Vec<(String, String)> {
    let named = source.strings.iter().filter(|(text, _)| entry_points.contains(&text.as_str()));
    let file = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    named.map(|(text, at)| (file(&at.file), text.clone())).collect()
}

#[test]
fn names_of_entry_points_stand_in_one_file() {
    let text = std::fs::read_to_string(workspace().join(ENTRY_POINTS)).unwrap();
    let entry_points = entry_points(&text);
    assert!(entry_points.len() > 20, "`{ENTRY_POINTS}` lists {entry_points:?}");
    let (mut faults, mut unused) = (Vec::new(), ENTRY_POINTS_NOT_YET.to_vec());
    for (folder, source) in crates() {
        let mut named = named_entry_points(source, &entry_points, &workspace());
        named.retain(|(file, _)| file != ENTRY_POINTS);
        if ENTRY_POINTS_NOT_YET.contains(&folder.as_str()) {
            unused.retain(|listed| named.is_empty() || *listed != folder);
        } else {
            faults.extend(named.into_iter().map(|(file, text)| format!("{file}: `{text}`")));
        }
    }
    assert!(faults.is_empty(), "outside of `{ENTRY_POINTS}`:\n{}", faults.join("\n"));
    assert!(
        unused.is_empty(),
        "these name no entry point now, take them off `ENTRY_POINTS_NOT_YET`: {unused:?}"
    );
}

#[test]
fn equal_names_are_found_in_all_modules() {
    let folder = crate::reader::crate_of(&[
        ("lib.rs", "mod a; struct Log; type Place = u8; impl Iterator for Log { type Item = u8; }"),
        ("a.rs", "enum Log {} trait Item {} #[cfg(test)] mod tests { struct Place; }"),
    ]);
    let source = CrateSource::read(folder.path());
    assert_eq!(shared_names(&source).keys().collect::<Vec<_>>(), [&"Log"]);
}

#[test]
fn entry_points_are_found_in_code_and_in_macros_and_not_in_comments() {
    let listed =
        entry_points("/// `__gpurace_c(x)`\n    A = __gpurace_a(x: Ptr) -> Void,\n  B = __gpurace_b(\n");
    assert_eq!(listed, ["__gpurace_a", "__gpurace_b"]);
    let folder = crate::reader::crate_of(&[(
        "lib.rs",
        "/// `__gpurace_a`\nconst A: &CStr = c\"__gpurace_a\"; const B: &str = \"__gpurace_b.x\";
         fn f() { println!(\"__gpurace_b\") } #[cfg(test)] fn g() -> &str { \"__gpurace_a\" }",
    )]);
    let found = named_entry_points(&CrateSource::read(folder.path()), &listed, &folder.path().join("src"));
    assert_eq!(found, ["a", "b"].map(|name| ("lib.rs".to_owned(), format!("__gpurace_{name}"))));
}
