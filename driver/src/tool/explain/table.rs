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
        say("remedy:", text);
    }
    for remark in remarks {
        say("remark:", remark);
    }
}

/// What would let an access be proved. What the prover says of why not is text,
/// and so is the answer to it; a reason without an answer gets none.
fn remedy(site: &Site) -> Option<&'static str> {
    let why = site.why.as_deref().unwrap_or_default();
    match site.verdict {
        Verdict::Proved => None,
        Verdict::ProvedIf => Some("nothing to do: each launch is tested, and is checked only where a condition fails"),
        Verdict::Racy => Some("order the two accesses by a barrier, make both atomic, or give each thread bytes of its own"),
        Verdict::Checked => {
            const ANSWERS: [(&str, &str); 9] = [
                ("the prover does not follow", "call functions that are defined in this file and can be inlined"),
                ("proofs are off", "compile without `-fgpurace-prune=off`"),
                ("value loaded from", "an index computed from thread ids and arguments; what is loaded is known at run time only"),
                ("loop variable without a known step", "a loop variable that is added to, multiplied or halved by what does not change in the loop"),
                ("barriers under control", "barriers under conditions that are the same for all threads of a block"),
                ("may see different addresses in", "a pointer that is a parameter or a variable, with an index that tells threads apart"),
                ("may be the same memory", "pointers that are parameters of the kernel, so that a launch can be tested for overlap"),
                ("solver gave up", "a launch with its values may be decided: `--launch`; or simpler indices"),
                ("without order", "a barrier between the two, or an index that tells threads apart; of one launch, ask with `--launch`"),
            ];
            ANSWERS.iter().find(|(reason, _)| why.contains(reason)).map(|(_, answer)| *answer)
        }
    }
}
