//! The verdicts of a kernel as text: each source line once, its accesses below.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::Known;
use crate::tool::facts::{Counts, Site, Verdict, witness};

/// A kernel's table; `remarks` are by number of the site.
pub fn render(kernel: &Known, remarks: &HashMap<u32, Vec<String>>) -> String {
    let mut out = String::new();
    let objects = kernel.objects();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "`{}`: {}", kernel.facts.name, Counts::of(&kernel.facts.sites));
    let mut order: Vec<usize> = (0..kernel.facts.sites.len()).collect();
    let key = |i: &usize| {
        let site = &kernel.facts.sites[*i];
        (site.file.clone(), site.line, site.column)
    };
    order.sort_by_key(key);
    let mut files: HashMap<String, Vec<String>> = HashMap::new();
    let mut shown = None;
    for i in order {
        let site = &kernel.facts.sites[i];
        let number = kernel.sites.get(i).copied();
        let here = (site.file.as_deref(), site.line);
        if shown != Some(here) {
            source_line(&mut out, &mut files, site);
            shown = Some(here);
        }
        let of = number.and_then(|number| objects.get(&number));
        let remarks = number.and_then(|number| remarks.get(&number));
        access(&mut out, site, of.map_or(&[], Vec::as_slice), remarks.map_or(&[], Vec::as_slice));
    }
    out
}

fn source_line(out: &mut String, files: &mut HashMap<String, Vec<String>>, site: &Site) {
    let (Some(file), Some(line)) = (&site.file, site.line) else {
        let _ = writeln!(out, "  [no debug info]");
        return;
    };
    let read = |file: &String| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().map(|line| line.trim().to_owned()).collect()
    };
    let lines = files.entry(file.clone()).or_insert_with(|| read(file));
    let text = (line as usize).checked_sub(1).and_then(|at| lines.get(at)).filter(|text| !text.is_empty());
    let _ = match text {
        Some(text) => writeln!(out, "  {file}:{line}: {text}"),
        None => writeln!(out, "  {file}:{line}"),
    };
}

fn access(out: &mut String, site: &Site, objects: &[String], remarks: &[String]) {
    let place = match (site.line, site.column) {
        (Some(line), Some(column)) => format!("{line}:{column}"),
        (Some(line), None) => line.to_string(),
        (None, _) => "?".to_owned(),
    };
    let size = match site.size {
        Some(0) | None => "? B".to_owned(),
        Some(size) => format!("{size} B"),
    };
    let mut object = site.space.clone();
    if !objects.is_empty() {
        let names: Vec<String> = objects.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(object, " {}", names.join(" or "));
    }
    let _ = writeln!(out, "    {place:<7} {:<6} {size:>4}  {object:<20} {}", site.op, site.verdict);
    let mut say = |label: &str, text: &str| {
        let _ = writeln!(out, "            {label:<9} {text}");
    };
    if let Some(why) = site.why.as_deref().filter(|why| !why.is_empty()) {
        say("why:", why);
    }
    for (i, condition) in site.requires.iter().enumerate() {
        say(if i == 0 { "requires:" } else { "" }, condition);
    }
    if let Some(text) = witness(&site.witness) {
        let text = text.strip_prefix("witness: ").unwrap_or(&text);
        say("witness:", text);
    }
    if let Some(text) = remedy(site) {
        say("remedy:", &text);
    }
    for remark in remarks {
        say("remark:", remark);
    }
}

/// What would let an access be proved. What the prover says of why not is text,
/// and so is the answer to it; a reason without an answer gets none.
fn remedy(site: &Site) -> Option<String> {
    let why = site.why.as_deref().unwrap_or_default();
    match site.verdict {
        Verdict::Proved => None,
        Verdict::ProvedIf => Some(
            "nothing to do: each launch is tested, and is checked only where a condition fails".to_owned(),
        ),
        Verdict::Racy => {
            let order = order_of(site, why);
            let update = if site.op == "atomic" {
                "make both atomic"
            } else {
                "make them atomic (an update: `atomicAdd`)"
            };
            Some(format!("{order}, {update}, or give each thread bytes of its own"))
        }
        Verdict::Checked if why.contains("without order") => {
            let order = order_of(site, why);
            Some(format!("{order}, or an index that tells threads apart; of one launch, ask with `--launch`"))
        }
        Verdict::Checked => {
            let answer = ANSWERS.iter().find(|(reason, _)| why.contains(reason));
            answer.map(|(_, answer)| (*answer).to_owned())
        }
    }
}

/// Which accesses a barrier would order: `why` ends by naming the other one.
fn order_of(site: &Site, why: &str) -> String {
    let other = why.rsplit_once("(with ").and_then(|(_, rest)| rest.strip_suffix(')'));
    match (other, &site.file, site.line) {
        (Some(other), Some(file), Some(line)) if other == format!("{file}:{line}") => {
            "order what the threads do on this line by a barrier".to_owned()
        }
        (Some(other), ..) => format!("order this and {other} by a barrier"),
        _ => "order the two accesses by a barrier".to_owned(),
    }
}

/// Part of a reason, and what would take it away.
const ANSWERS: &[(&str, &str)] = &[
    ("the prover does not follow", "call functions that are defined in this file and can be inlined"),
    ("proofs are off", "compile without `-fgpurace-prune=off`"),
    ("a call through a pointer", "call the function by its name, or make it a template parameter"),
    ("is recursive", "a loop in place of the recursion"),
    ("an asynchronous copy", "none: what asynchronous copies touch is checked as they run"),
    (
        "value loaded from",
        "an index computed from thread ids and arguments; what is loaded is known at run time only",
    ),
    (
        "rests on the result of",
        "an index computed from thread ids and arguments; what an atomic or a call gives is known at run time only",
    ),
    (
        "loop variable without a known step",
        "a loop variable that is added to, multiplied or halved by what does not change in the loop",
    ),
    ("barriers under control", "barriers under conditions that are the same for all threads of a block"),
    ("unless warp syncs of some lanes", "a `__syncwarp()` that all lanes take, or a `__syncthreads()`"),
    (
        "with another block, in a launch of several",
        "bytes of its own for each block, by an index with `blockIdx`; a launch of one block may be proved as it is",
    ),
    (
        "in a block of several dimensions",
        "an index that tells all threads of a block apart; a launch with `blockDim.y == 1` may be proved as it is",
    ),
    (
        "may see different addresses in",
        "a pointer that is a parameter or a variable, with an index that tells threads apart",
    ),
    (
        "may be the same memory",
        "pointers that are parameters of the kernel, so that a launch can be tested for overlap",
    ),
    (
        "assumptions leave no execution",
        "see whether any launch reaches the access: under what the proof assumes, none does",
    ),
    ("solver gave up", "a launch with its values may be decided: `--launch`; or simpler indices"),
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
        remedy(&site(verdict, why)).unwrap_or_default()
    }

    #[test]
    fn the_other_access_is_named() {
        let own = "may touch the same bytes without order (with k.cu:7)";
        assert!(
            answer("checked", own)
                .starts_with("order what the threads do on this line by a barrier, or an index")
        );
        let other = "races (with h.cuh:9)";
        assert!(answer("racy", other).starts_with("order this and h.cuh:9 by a barrier, make them atomic"));
        assert!(answer("racy", "races").starts_with("order the two accesses by a barrier"));
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
