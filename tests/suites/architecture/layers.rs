//! The layers of a crate, from the lowest up. A module may use its own layer and those below it; what
//! lies at the crate's root, in `lib.rs` or beside it, is above all layers. Layers of one row may use
//! each other, but not in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpurace_tests::toolchain::workspace;

use crate::reader::{CrateSource, Reference};

/// The rows of layers of one crate, the lowest first.
type Layers = &'static [&'static [&'static str]];

/// The layers of the crates that have them, by folder. The documentation of each crate's `lib.rs` lists
/// the same layers in the same order. A layer is a folder of `src`, or a file if it is small.
const LAYERED: &[(&str, Layers)] = &[
    ("runtime/check", &[&["model"], &["order"], &["shadow"], &["batch"], &["run"]]),
    (
        "pass",
        &[
            &["config"],
            &["ir"],
            &["analysis"],
            &["translate"],
            &["checks"],
            &["protocol"],
            &["blocks"],
            &["codegen"],
            &["gpu"],
        ],
    ),
    (
        "runtime/api",
        &[
            &["host"],
            &["order"],
            &["backend"],
            &["program"],
            &["prove"],
            &["session"],
            &["backends"],
            &["work"],
            &["calls"],
        ],
    ),
];

/// Crates whose modules do not lie in layers yet, or do not keep their order.
const NOT_YET: &[&str] = &[];

/// What is above all layers, in messages.
const TOP: &str = "the crate's root";

/// The layers of one crate and what its root makes reachable without naming a layer.
struct LayeredCrate {
    layers: Layers,
    source: CrateSource,
}

impl LayeredCrate {
    /// Reads a crate.
    ///
    /// # Panics
    /// If a layer has neither a folder nor a file.
    fn read(folder: &Path, layers: Layers) -> Self {
        if let Some(layer) = missing_layer(folder, layers) {
            panic!("the layer `{layer}` has no folder in `{}`", folder.display());
        }
        Self { layers, source: CrateSource::read(folder) }
    }

    /// The row of a layer, from 0; above all rows for the crate's root.
    fn row(&self, layer: &str) -> usize {
        self.layers.iter().position(|row| row.contains(&layer)).unwrap_or(self.layers.len())
    }

    fn layer_of_module(&self, module: &[String]) -> &'static str {
        let first = module.first().map_or("", String::as_str);
        self.layers.iter().copied().flatten().copied().find(|layer| *layer == first).unwrap_or(TOP)
    }

    /// The layer of what a path leads to, also where the crate's root re-exports it. `None` for an item
    /// of another crate that the root re-exports.
    fn layer_of_target(&self, to: &[String]) -> Option<&'static str> {
        let layer = self.layer_of_module(to);
        let first = &to[0];
        if layer != TOP || first == "*" {
            return Some(layer);
        }
        let exported = self.source.exported_macros.iter().find(|(name, _)| name == first);
        if let Some((_, module)) = exported {
            return Some(self.layer_of_module(module));
        }
        let import = self
            .source
            .references
            .iter()
            .find(|reference| reference.from.is_empty() && reference.imported_as.as_ref() == Some(first));
        match import {
            // An import that leads to itself is one of another crate: `use libc;`.
            Some(import) if import.to[0] == *first => None,
            Some(import) => self.layer_of_target(&import.to),
            None => Some(TOP),
        }
    }

    /// The references from one layer into another, by layers.
    fn edges(&self) -> BTreeMap<(&'static str, &'static str), Vec<&Reference>> {
        let mut edges: BTreeMap<_, Vec<&Reference>> = BTreeMap::new();
        for reference in &self.source.references {
            let from = self.layer_of_module(&reference.from);
            if let Some(to) = self.layer_of_target(&reference.to)
                && from != to
                && from != TOP
            {
                edges.entry((from, to)).or_default().push(reference);
            }
        }
        edges
    }

    /// One message for each reference upward, and one if layers of one row form a circle.
    fn faults(&self) -> Vec<String> {
        let edges = self.edges();
        let mut faults = Vec::new();
        for ((from, to), references) in &edges {
            if self.row(to) > self.row(from) {
                faults.extend(references.iter().map(|reference| {
                    let (path, at) = (reference.to.join("::"), &reference.at);
                    format!("{}:{}: `{from}` uses `{path}` of `{to}`", at.file.display(), at.line)
                }));
            }
        }
        // References down cannot close a circle, and those up are faults already.
        let in_row = edges.keys().copied().filter(|(from, to)| self.row(from) == self.row(to));
        let pairs: BTreeSet<_> = in_row.collect();
        let mut reached = pairs.clone();
        loop {
            let further = reached.iter().flat_map(|&(a, b)| {
                pairs.iter().filter(move |(from, _)| *from == b).map(move |&(_, to)| (a, to))
            });
            let more: BTreeSet<_> = further.filter(|pair| !reached.contains(pair)).collect();
            if more.is_empty() {
                break;
            }
            reached.extend(more);
        }
        faults.extend(
            reached
                .iter()
                .filter(|(a, b)| a == b)
                .map(|(layer, _)| format!("`{layer}` uses itself through other layers: {pairs:?}")),
        );
        faults
    }
}

/// The first layer that has neither a folder nor a file.
fn missing_layer(folder: &Path, layers: Layers) -> Option<&'static str> {
    let source = folder.join("src");
    let is_there = |layer: &str| source.join(layer).is_dir() || source.join(format!("{layer}.rs")).is_file();
    layers.iter().copied().flatten().copied().find(|layer| !is_there(layer))
}

#[test]
fn each_crates_documentation_lists_its_layers_in_order() {
    for (folder, layers) in LAYERED.iter().filter(|(folder, _)| !NOT_YET.contains(folder)) {
        let text = std::fs::read_to_string(workspace().join(folder).join("src/lib.rs")).unwrap();
        let listed = layers.iter().copied().flatten().map(|layer| text.find(&format!("[`{layer}`]")));
        let listed: Vec<Option<usize>> = listed.collect();
        assert!(
            listed.is_sorted() && !listed.contains(&None),
            "`{folder}/src/lib.rs` does not list {layers:?}"
        );
    }
}

#[test]
fn no_layer_uses_one_above_it() {
    for (folder, layers) in LAYERED {
        let path = workspace().join(folder);
        if NOT_YET.contains(folder) {
            let kept = missing_layer(&path, layers).is_none()
                && LayeredCrate::read(&path, layers).faults().is_empty();
            assert!(!kept, "`{folder}` keeps the order of its layers now: take it off `NOT_YET`");
            continue;
        }
        let source = LayeredCrate::read(&path, layers);
        let faults = source.faults();
        assert!(faults.is_empty(), "{} faults in `{folder}`:\n{}", faults.len(), faults.join("\n"));
        // Without it the test would pass for a crate in which no reference was found.
        assert!(!source.edges().is_empty(), "no layer of `{folder}` uses another one");
    }
}

fn faults_of(files: &[(&str, &str)], layers: Layers) -> Vec<String> {
    let folder = crate::reader::crate_of(files);
    let faults = LayeredCrate::read(folder.path(), layers).faults();
    let shown = folder.path().display().to_string();
    faults.iter().map(|fault| fault.replace(&format!("{shown}/src/"), "")).collect()
}

const TWO: Layers = &[&["low"], &["high"]];

#[test]
fn downward_is_right_and_upward_is_not() {
    let root = ("lib.rs", "mod low; mod high; pub use high::{Top, Top as Peak}; pub use libc; fn own() {}");
    let high = ("high/mod.rs", "use crate::low::A; use crate::low; pub struct Top;");
    let faults = |text| faults_of(&[root, high, ("low/mod.rs", text)], TWO);
    assert!(faults("use std::fmt; use crate::libc::c_int; pub struct A;").is_empty());
    for text in [
        "use crate::high::Top;",
        "use super::high;",
        "fn f() { crate::high::g() }",
        // What the root re-exports or holds is above, too.
        "use crate::Top;",
        "type T = crate::Peak;",
        "use crate::*;",
        "fn f() { crate::own() }",
    ] {
        assert_eq!(faults(text).len(), 1, "{text}: {:?}", faults(text));
    }
    assert_eq!(faults("\nuse crate::high::Top;"), ["low/mod.rs:2: `low` uses `high::Top` of `high`"]);
}

#[test]
fn exported_macros_belong_to_their_layer() {
    let root = ("lib.rs", "mod low; mod high;");
    let exports = "#[macro_export] macro_rules! m { () => {} }";
    let down = [root, ("low/mod.rs", exports), ("high/mod.rs", "fn f() { crate::m!() }")];
    assert!(faults_of(&down, TWO).is_empty());
    let up = [root, ("high/mod.rs", exports), ("low/mod.rs", "fn f() { crate::m!() }")];
    assert_eq!(faults_of(&up, TWO).len(), 1);
}

#[test]
fn layers_of_one_row_may_use_each_other_but_not_in_a_circle() {
    const ROW: Layers = &[&["a", "b", "c"]];
    let root = ("lib.rs", "mod a; mod b; mod c;");
    let chain = [("a/mod.rs", "use crate::b::X;"), ("b/mod.rs", "use crate::c::X;")];
    let open = [root, chain[0], chain[1], ("c/mod.rs", "pub struct X;")];
    assert!(faults_of(&open, ROW).is_empty());
    let closed = [root, chain[0], chain[1], ("c/mod.rs", "use crate::a::X;")];
    assert_eq!(faults_of(&closed, ROW).len(), 3);
}

#[test]
#[should_panic(expected = "the layer `high` has no folder")]
fn a_layer_without_a_folder_is_an_error() {
    faults_of(&[("lib.rs", "mod low;"), ("low/mod.rs", "")], TWO);
}

#[test]
fn tests_may_use_all_layers() {
    let root = ("lib.rs", "mod low; mod high;");
    let low = ("low/mod.rs", "#[cfg(test)] mod tests { use crate::high::A; } #[cfg(test)] mod cases;");
    let cases = ("low/cases.rs", "use crate::high::A;");
    assert!(faults_of(&[root, low, cases, ("high/mod.rs", "")], TWO).is_empty());
}
