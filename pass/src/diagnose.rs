//! Warnings of proved races and remarks on proofs, for the driver to print.
//!
//! The pass writes them as JSON and `gclang` prints them in clang's form, because the diagnostics
//! of LLVM know no warning group besides clang's own.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gpurace_abi::diagnostic::{Diagnostic, Group, Note, Position};
use gpurace_abi::meta::{ModuleMeta, Op, Site, Verdict};
use gpurace_abi::plugin::PassConfig;
use gpurace_abi::symbol::demangle;

use crate::prove::{KernelFacts, SiteFacts, WitnessFacts};

/// The warnings and remarks for a module.
pub fn diagnostics(meta: &ModuleMeta, kernels: &[KernelFacts], config: &PassConfig) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut warned = BTreeMap::new();
    let mut remarked = HashSet::new();
    for kernel in kernels {
        for (&id, facts) in &kernel.sites {
            let Some(site) = meta.sites.get(id as usize) else { continue };
            if let (true, Some(witness)) = (config.warn, &facts.witness) {
                let mut pair = witness.sides.map(|side| position_of(meta, side.site));
                pair.sort();
                // One warning for two lines and an object, whichever side found it, and however many columns or
                // instances of a template have it.
                let lines = pair.clone().map(|position| position.map(|at| Position { column: 0, ..at }));
                let (at, pairs) = warned
                    .entry((lines, witness.object.clone()))
                    .or_insert_with(|| (out.len(), BTreeSet::new()));
                if *at == out.len() {
                    out.push(warning(meta, &kernel.name, witness));
                }
                pairs.insert(pair);
            }
            let remark = remark(meta, &kernel.name, id, site, facts, config);
            if let Some(remark) =
                remark.filter(|r| remarked.insert((r.text.position.clone(), r.text.message.clone())))
            {
                out.push(remark);
            }
        }
        if let (true, Some(why)) = (config.rpass_missed, &kernel.failed) {
            let frame = meta.kernels.iter().find(|k| k.name == kernel.name).and_then(|k| k.frame.as_ref());
            let position = frame.and_then(|frame| position(meta, frame));
            let message = format!("nothing is known of `{}`: {why}", demangle(&kernel.name));
            out.push(Diagnostic {
                group: Group::Missed,
                text: Note { position, message },
                notes: Vec::new(),
            });
        }
    }
    for (at, pairs) in warned.into_values() {
        let warning: &mut Diagnostic = &mut out[at];
        if pairs.len() > 1 {
            warning.notes.push(further(warning.text.position.clone(), pairs.len() - 1));
        }
    }
    out
}

/// The remark on a site of a kernel, if its kind is wanted.
fn remark(
    meta: &ModuleMeta,
    kernel: &str,
    id: u32,
    site: &Site,
    facts: &SiteFacts,
    config: &PassConfig,
) -> Option<Diagnostic> {
    let (group, wanted) = match facts.verdict {
        Verdict::Proved | Verdict::ProvedIf => (Group::Proved, config.rpass),
        Verdict::Racy | Verdict::Checked => (Group::Missed, config.rpass_missed),
    };
    if !wanted {
        return None;
    }
    let what = describe(site);
    let mut message = match facts.verdict {
        Verdict::Proved => format!("{what} in `{}` cannot race: {}", demangle(kernel), facts.why),
        Verdict::ProvedIf => format!(
            "{what} in `{}` cannot race in launches where {}: {}",
            demangle(kernel),
            facts.requires.join(" and "),
            facts.why
        ),
        Verdict::Racy | Verdict::Checked => {
            format!("{what} in `{}` stays checked: {}", demangle(kernel), facts.why)
        }
    };
    let mut notes = Vec::new();
    if let Some(other) = facts.with
        && let Some(site) = meta.sites.get(other as usize)
    {
        let position = position_of(meta, other);
        if let Some(Position { line, .. }) = &position {
            message += &format!(", with the {} at line {line}", op(site));
        }
        notes.push(Note { position, message: format!("the other access, a {}", describe(site)) });
    }
    let text = Note { position: position_of(meta, id), message };
    Some(Diagnostic { group, text, notes })
}

/// The warning of a race that a witness shows.
fn warning(meta: &ModuleMeta, kernel: &str, witness: &WitnessFacts) -> Diagnostic {
    let [own, other] = &witness.sides;
    let site = |id: u32| meta.sites.get(id as usize);
    let of = |id: u32| site(id).map_or_else(|| "access".to_owned(), describe);
    let thread = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    let blocks = if own.block == other.block {
        format!("of block {}", thread(own.block))
    } else {
        format!("of block {} and block {}", thread(own.block), thread(other.block))
    };
    let message = format!(
        "data race in `{}`: this {} touches the same bytes of `{}` as another thread's {}, without order",
        demangle(kernel),
        of(own.site),
        witness.object,
        site(other.site).map_or("access", op),
    );
    let mut values: Vec<String> =
        witness.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    values.insert(0, format!("grid {}, block {}", thread(witness.grid), thread(witness.block)));
    let notes = vec![
        Note {
            position: position_of(meta, other.site),
            message: format!(
                "the other access, a {}: threads {} and {} {blocks} both touch byte {} of `{}`",
                of(other.site),
                thread(own.thread),
                thread(other.thread),
                own.offset.max(other.offset),
                witness.object,
            ),
        },
        Note {
            position: position_of(meta, own.site),
            message: format!("for instance in a launch with {}", values.join(", ")),
        },
    ];
    Diagnostic { group: Group::Warning, text: Note { position: position_of(meta, own.site), message }, notes }
}

/// Says how many more pairs of accesses a warning stands for.
fn further(position: Option<Position>, pairs: usize) -> Note {
    let these = if pairs == 1 {
        "pair of accesses in these lines races"
    } else {
        "pairs of accesses in these lines race"
    };
    Note { position, message: format!("{pairs} further {these} likewise") }
}

/// `write of 4 bytes`.
fn describe(site: &Site) -> String {
    match site.size {
        0 => op(site).to_owned(),
        1 => format!("{} of 1 byte", op(site)),
        size => format!("{} of {size} bytes", op(site)),
    }
}

fn op(site: &Site) -> &'static str {
    match site.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Atomic => "atomic access",
    }
}

/// The position of a site in the user's code.
pub fn position_of(meta: &ModuleMeta, site: u32) -> Option<Position> {
    let frames = &meta.sites.get(site as usize)?.frames;
    let user = frames.iter().find(|f| !meta.files[f.file as usize].system);
    position(meta, user.or_else(|| frames.first())?)
}

fn position(meta: &ModuleMeta, frame: &gpurace_abi::meta::Frame) -> Option<Position> {
    let file = meta.files.get(frame.file as usize)?;
    (frame.line != 0).then(|| Position {
        file: file.name.clone(),
        directory: file.directory.clone(),
        line: frame.line,
        column: frame.column,
    })
}
