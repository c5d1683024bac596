//! The verdicts of a kernel as text: each source line once, with its accesses below.

use std::collections::HashMap;
use std::fmt::Write as _;

use gpurace_abi::meta::Space;
use gpurace_report::cause::Order;
use gpurace_report::hint::{SideFacts, hint};
use gpurace_report::schema::{Access, Dim3, Effect, Op, Parameter, Race, RaceKind, Scope};
use gpurace_report::sources::Sources;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Known;
use crate::tool::facts::{Counts, Site, Verdict, witness};

/// An access of a kernel, its verdict, and what there is to say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// The demangled name of its kernel.
    pub kernel: String,
    /// The source file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column in bytes, from 1.
    pub column: Option<u32>,
    /// What it does.
    pub op: String,
    /// Its size: `4 B`.
    pub size: String,
    /// Its memory: ``shared `tile` ``.
    pub object: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Reason, conditions, witness, remedy and remarks, each with its label.
    pub says: Vec<(String, String)>,
}

/// Returns the table of a kernel. `remarks` are by number of the site.
pub fn render(kernel: &Known, remarks: &HashMap<u32, Vec<String>>, sources: &dyn Sources) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "`{}`: {}", kernel.facts.name, Counts::of(&kernel.facts.sites));
    let mut shown = None;
    let explained = explain(kernel, remarks);
    for access in &explained {
        let here = (access.file.as_deref(), access.line);
        if shown != Some(here) {
            source_line(&mut out, sources, here);
            shown = Some(here);
        }
        access.render(&mut out);
    }
    out
}

/// Returns the accesses of a kernel, by position. `remarks` are by number of the site.
pub fn explain(kernel: &Known, remarks: &HashMap<u32, Vec<String>>) -> Vec<Explained> {
    let objects = kernel.objects();
    let mut explained: Vec<Explained> = kernel
        .facts
        .sites
        .iter()
        .enumerate()
        .map(|(i, site)| {
            let number = kernel.sites.get(i).copied();
            let objects = number.and_then(|number| objects.get(&number));
            let remarks = number.and_then(|number| remarks.get(&number));
            Explained::new(
                &kernel.facts.name,
                site,
                objects.map_or(&[], Vec::as_slice),
                remarks.map_or(&[], Vec::as_slice),
            )
        })
        .collect();
    explained.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    explained
}

/// Adds a source line and its place.
fn source_line(out: &mut String, sources: &dyn Sources, (file, line): (Option<&str>, Option<u32>)) {
    let (Some(file), Some(line)) = (file, line) else {
        let _ = writeln!(out, "  [no debug info]");
        return;
    };
    let text = sources.text(file);
    let at = (line as usize).checked_sub(1);
    let text = at.and_then(|at| text.as_ref()?.lines().nth(at)).map(str::trim);
    let _ = match text.filter(|text| !text.is_empty()) {
        Some(text) => writeln!(out, "  {file}:{line}: {text}"),
        None => writeln!(out, "  {file}:{line}"),
    };
}

impl Explained {
    /// Returns what is to be said of a site.
    fn new(kernel: &str, site: &Site, objects: &[String], remarks: &[String]) -> Self {
        let mut object = site.space.clone();
        if !objects.is_empty() {
            let names: Vec<String> = objects.iter().map(|name| format!("`{name}`")).collect();
            object += &format!(" {}", names.join(" or "));
        }
        let mut says = Vec::new();
        let mut say = |label: &str, text: &str| says.push((label.to_owned(), text.to_owned()));
        if let Some(why) = site.why.as_deref().filter(|why| !why.is_empty()) {
            say("why", why);
        }
        for condition in &site.requires {
            say("requires", condition);
        }
        if let Some(text) = witness(&site.witness) {
            say("witness", text.strip_prefix("witness: ").unwrap_or(&text));
        }
        if let Some(text) = remedy(kernel, site) {
            say("remedy", &text);
        }
        for remark in remarks {
            say("remark", remark);
        }
        Self {
            kernel: kernel.to_owned(),
            file: site.file.clone(),
            line: site.line,
            column: site.column,
            op: site.op.clone(),
            size: match site.size {
                Some(0) | None => "? B".to_owned(),
                Some(size) => format!("{size} B"),
            },
            object,
            verdict: site.verdict,
            says,
        }
    }

    /// Adds the site as text.
    fn render(&self, out: &mut String) {
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{line}:{column}"),
            (Some(line), None) => line.to_string(),
            (None, _) => "?".to_owned(),
        };
        let Self { op, size, object, verdict, .. } = self;
        let _ = writeln!(out, "    {place:<7} {op:<6} {size:>4}  {object:<20} {verdict}");
        let mut before = None;
        for (label, text) in &self.says {
            // A list of conditions has one label.
            let is_listed = label == "requires" && before == Some(label);
            let shown = if is_listed { String::new() } else { format!("{label}:") };
            let _ = writeln!(out, "            {shown:<9} {text}");
            before = Some(label);
        }
    }
}

/// Returns what would let an access be proved. It depends on the text of the prover's reason. `None` if there
/// is no advice for a reason.
fn remedy(kernel: &str, site: &Site) -> Option<String> {
    let why = site.why.as_deref().unwrap_or_default();
    match site.verdict {
        Verdict::Proved => None,
        Verdict::ProvedIf => Some(
            "none needed: each launch tests the conditions, and the access is checked only if one fails"
                .to_owned(),
        ),
        Verdict::Racy if let Some(hint) = witnessed_race(kernel, site).and_then(hint_of) => Some(hint),
        Verdict::Racy => {
            let order = order_of(site, why);
            let update = if site.op == "atomic" {
                "make both atomic"
            } else {
                "make both atomic (for an update, `atomicAdd`)"
            };
            Some(format!("{order}, {update}, or give each thread bytes of its own"))
        }
        Verdict::Checked if why.contains("without order") => {
            let order = order_of(site, why);
            Some(format!(
                "{order}, or use an index that differs between threads; `--launch` may prove it for one launch"
            ))
        }
        Verdict::Checked => {
            let answer = ANSWERS.iter().find(|(reason, _)| why.contains(reason));
            answer.map(|(_, answer)| (*answer).to_owned())
        }
    }
}

/// Returns the report's advice on a race.
fn hint_of(race: Race) -> Option<String> {
    hint(&race, [SideFacts::default(); 2], Order::default())
}

/// Returns the race that a witness shows, as a report would have it.
fn witnessed_race(kernel: &str, site: &Site) -> Option<Race> {
    let dim = |value: &Value| serde_json::from_value::<Dim3>(value.clone()).ok();
    let block = dim(&site.witness["block"])?;
    let side = |side: &Value| {
        let (op, effect) = match side["op"].as_str()? {
            "read" => (Op::Read, Effect::Read),
            "write" => (Op::Write, Effect::Write),
            _ => return None,
        };
        let mut access = Access::new(op);
        access.file.clone_from(&site.file);
        access.line = side["line"].as_u64()?.try_into().ok();
        (access.block, access.thread) = (dim(&side["block"]), dim(&side["thread"]));
        Some((access, effect))
    };
    let [a, b] = site.witness["accesses"].as_array()?.as_slice() else { return None };
    let ((mut earlier, earlier_effect), (mut later, later_effect)) = (side(a)?, side(b)?);
    if let Some(names) = aliases(site.why.as_deref().unwrap_or_default()) {
        let [a, b] = names.map(str::to_owned);
        earlier.parameter = Some(Parameter { name: a, number: 1 });
        later.parameter = Some(Parameter { name: b, number: 2 });
    }
    let warp = |access: &Access| {
        let [x, y, z] = access.thread?;
        Some((x + block[0] * (y + block[1] * z)) / 32)
    };
    let scope = match (earlier.block == later.block, warp(&earlier)? == warp(&later)?) {
        (false, _) => Scope::Grid,
        (true, false) => Scope::Block,
        (true, true) => Scope::Warp,
    };
    Some(Race {
        kind: RaceKind::new(earlier_effect, later_effect)?,
        space: if site.space == "shared" { Space::Shared } else { Space::Global },
        scope,
        same_value: None,
        kernel: Some(kernel.to_owned()),
        launch: None,
        object: None,
        accesses: [later, earlier],
        hint: None,
        count: 1,
        seed: None,
    })
}

/// The two parameters that point into one object, if this is all that keeps a launch from being proved.
fn aliases(why: &str) -> Option<[&str; 2]> {
    let (_, unmet) = why.rsplit_once("this launch does not meet ")?;
    let (a, b) = unmet.strip_prefix("disjoint(")?.strip_suffix(')')?.split_once(", ")?;
    (!b.contains(',')).then_some([a, b])
}

/// Returns advice on a barrier that would order two accesses. `why` ends with the place of the other one.
fn order_of(site: &Site, why: &str) -> String {
    let other = why.rsplit_once("(with ").and_then(|(_, rest)| rest.strip_suffix(')'));
    match (other, &site.file, site.line) {
        (Some(other), Some(file), Some(line)) if other == format!("{file}:{line}") => {
            "put a barrier between the threads' accesses of this line".to_owned()
        }
        (Some(other), ..) => format!("put a barrier between this access and {other}"),
        _ => "put a barrier between the two accesses".to_owned(),
    }
}

/// Parts of the prover's reasons, each with advice.
const ANSWERS: &[(&str, &str)] = &[
    ("the prover does not follow", "call only functions that this file defines and that can be inlined"),
    ("proofs are off", "compile without `-fgpurace-prune=off`"),
    ("a call through a pointer", "call the function by its name, or make it a template parameter"),
    ("is recursive", "use a loop instead of recursion"),
    (
        "an asynchronous copy that the thread does not wait for",
        "wait for all copies (`cp.async.wait_all`) before the next barrier; pipelines of several stages are checked at run time",
    ),
    (
        "an asynchronous copy of the same thread",
        "let the thread wait for the copy before it touches these bytes",
    ),
    ("an access between an arrival and its wait", "make the access before the arrival, or behind the wait"),
    (
        "value loaded from",
        "none needed if a launch finds distinct or sorted indices in arrays that the kernel does not write; else compute \
         the index from thread ids and arguments",
    ),
    (
        "rests on the result of",
        "compute the index from thread ids and arguments; results of atomics and calls are known only at run time",
    ),
    (
        "loop variable without a known step",
        "add to, multiply or halve the loop variable by a value that does not change in the loop",
    ),
    (
        "barriers under control",
        "put barriers only under conditions that are the same for all threads of a block",
    ),
    ("unless warp syncs of some lanes", "use a `__syncwarp()` that all lanes reach, or a `__syncthreads()`"),
    (
        "with another block, in a launch of several",
        "give each block bytes of its own, by an index with `blockIdx`; a launch of one block may be proved as it is",
    ),
    (
        "in a block of several dimensions",
        "use an index that differs between all threads of a block; a launch with `blockDim.y == 1` may be proved as it is",
    ),
    (
        "a pointer loaded from memory",
        "none needed if a launch does not change the pointer, and no loop decides where it lies; else use a pointer \
         that is a parameter of the kernel",
    ),
    (
        "may see different addresses in",
        "use a pointer that is a parameter or a variable, with an index that differs between threads",
    ),
    (
        "may be the same memory",
        "use pointers that are parameters of the kernel, since a launch can be tested for their overlap",
    ),
    (
        "assumptions leave no execution",
        "see whether any launch reaches the access: under the proof's assumptions, none does",
    ),
    ("solver gave up", "use simpler indices; `--launch` may prove it for one launch"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn site(verdict: &str, why: &str) -> Site {
        serde_json::from_value(serde_json::json!({
            "op": "write", "size": 4, "space": "shared", "file": "k.cu", "line": 7, "column": 3,
            "verdict": verdict, "why": why, "requires": [], "witness": null,
        }))
        .unwrap()
    }

    fn answer(verdict: &str, why: &str) -> String {
        remedy("k", &site(verdict, why)).unwrap_or_default()
    }

    #[test]
    fn the_other_access_is_named() {
        let own = "may touch the same bytes without order (with k.cu:7)";
        assert!(
            answer("checked", own)
                .starts_with("put a barrier between the threads' accesses of this line, or use an index")
        );
        let other = "races (with h.cuh:9)";
        assert!(
            answer("racy", other)
                .starts_with("put a barrier between this access and h.cuh:9, make both atomic")
        );
        assert!(answer("racy", "races").starts_with("put a barrier between the two accesses"));
    }

    #[test]
    fn a_witness_gets_the_reports_hint() {
        let remedy_of = |why: &str, ops: [&str; 2], lines: [u32; 2], blocks: [u32; 2], threads: [u32; 2]| {
            let access = |i: usize| {
                serde_json::json!({
                    "op": ops[i], "line": lines[i], "block": [blocks[i], 0, 0], "thread": [threads[i], 0, 0],
                })
            };
            let mut site = site("racy", why);
            site.witness = serde_json::json!({
                "grid": [2, 1, 1], "block": [64, 1, 1], "params": {}, "accesses": [access(0), access(1)],
            });
            remedy("k(int*)", &site).unwrap()
        };
        let table = [
            (["write", "read"], [7, 9], [0, 0], [0, 40], "no __syncthreads() orders"),
            (["write", "read"], [7, 9], [0, 0], [0, 1], "no __syncthreads() or __syncwarp() orders"),
            (["write", "read"], [7, 9], [0, 1], [0, 0], "between blocks"),
            (["write", "write"], [7, 7], [0, 0], [0, 40], "let one of them write"),
            (["write", "write"], [7, 7], [0, 1], [0, 0], "let one of them write"),
            // What an atomic would need depends on its scope, which the witness does not have.
            (["atomic", "read"], [7, 9], [0, 0], [0, 40], "put a barrier between this access and k.cu:9"),
        ];
        for (ops, lines, blocks, threads, wanted) in table {
            let remedy = remedy_of("races (with k.cu:9)", ops, lines, blocks, threads);
            assert!(remedy.contains(wanted), "{ops:?} {lines:?} {blocks:?} {threads:?}: {remedy}");
        }
        // One memory under two names is a mistake of the launch. Beside other conditions, it may not be the cause.
        for (unmet, wanted) in [
            ("disjoint(in, out)", "pass different buffers: `in` and `out` both point into one object"),
            ("disjoint(in, out), n <= 64", "no __syncthreads() orders"),
        ] {
            let why = format!("races (with k.cu:9); this launch does not meet {unmet}");
            let remedy = remedy_of(&why, ["write", "read"], [7, 9], [0, 0], [0, 40]);
            assert!(remedy.contains(wanted), "{unmet}: {remedy}");
        }
    }

    #[test]
    fn reasons_have_answers_and_proofs_need_none() {
        assert!(
            answer("checked", "may race with another block, in a launch of several (with k.cu:9)")
                .contains("`blockIdx`")
        );
        assert!(
            answer("checked", "a call through a pointer may touch the same memory").contains("by its name")
        );
        assert_eq!(answer("checked", "a reason of tomorrow"), "");
        assert_eq!(answer("proved", "no access conflicts with it"), "");
    }
}
