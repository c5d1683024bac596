//! `-fgpurace-facts`: the verdict on every access, as JSON.

use gpurace_abi::meta::{ModuleMeta, Verdict};
use gpurace_abi::plugin::Prune;
use gpurace_abi::symbol::demangle;
use serde_json::{Value, json};

use crate::diagnose::position_of;
use crate::prove::{KernelFacts, SiteFacts, WitnessFacts};

/// The schema that the document names.
const SCHEMA: &str = "gpurace-facts/1";

/// Renders the facts of a module.
///
/// # Errors
/// Serialisation has failed.
pub fn render(meta: &ModuleMeta, known: &[KernelFacts], prune: Prune) -> Result<String, String> {
    let kernels: Vec<Value> = meta
        .kernels
        .iter()
        .map(|kernel| {
            let known = known.iter().find(|k| k.name == kernel.name);
            let sites: Vec<Value> = kernel
                .sites
                .iter()
                .map(|&id| {
                    let facts = match known {
                        Some(known) => of_site(known, id),
                        None => unknown(match prune {
                            Prune::Off => "proofs are off (`-fgpurace-prune=off`)",
                            Prune::Compile | Prune::Launch => "nothing was asked of the prover",
                        }),
                    };
                    site(meta, id, &facts)
                })
                .collect();
            json!({ "name": demangle(&kernel.name), "sites": sites })
        })
        .collect();
    let document = json!({ "schema": SCHEMA, "kernels": kernels });
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|e| format!("cannot serialise the facts: {e}"))
}

fn unknown(why: &str) -> SiteFacts {
    SiteFacts { why: why.to_owned(), ..SiteFacts::default() }
}

/// The verdict on a site in a kernel, with the reason if it is not proved.
pub fn of_site(known: &KernelFacts, id: u32) -> SiteFacts {
    match (known.sites.get(&id), &known.failed) {
        (Some(facts), _) => facts.clone(),
        (None, Some(why)) => unknown(why),
        (None, None) => unknown("the prover does not follow how the kernel reaches it"),
    }
}

/// A site with its verdict, as JSON.
fn site(meta: &ModuleMeta, id: u32, facts: &SiteFacts) -> Value {
    let site = &meta.sites[id as usize];
    let position = position_of(meta, id);
    let mut why = facts.why.clone();
    if let Some(other) = facts.with.and_then(|other| position_of(meta, other)) {
        why += &format!(" (with {}:{})", other.file, other.line);
    }
    if facts.verdict != Verdict::Proved
        && let Ok(at) = meta.covered.binary_search_by_key(&id, |covered| covered.site)
        && let Some(by) = position_of(meta, meta.covered[at].by)
    {
        why += &format!("; checked with the access in {}:{}", by.file, by.line);
    }
    json!({
        "op": site.op,
        "size": site.size,
        "space": site.space,
        "file": position.as_ref().map(|p| &p.file),
        "line": position.as_ref().map(|p| p.line),
        "column": position.as_ref().map(|p| p.column),
        "verdict": facts.verdict,
        "why": why,
        "requires": facts.requires,
        "witness": facts.witness.as_ref().map(|witness| render_witness(meta, witness)),
    })
}

/// A witness as JSON.
fn render_witness(meta: &ModuleMeta, witness: &WitnessFacts) -> Value {
    let accesses: Vec<Value> = witness
        .sides
        .iter()
        .map(|side| {
            let position = position_of(meta, side.site);
            json!({
                "op": meta.sites.get(side.site as usize).map(|site| site.op),
                "size": side.size,
                "offset": side.offset,
                "file": position.as_ref().map(|p| &p.file),
                "line": position.as_ref().map(|p| p.line),
                "column": position.as_ref().map(|p| p.column),
                "block": side.block,
                "thread": side.thread,
            })
        })
        .collect();
    let params: serde_json::Map<String, Value> =
        witness.params.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "grid": witness.grid,
        "block": witness.block,
        "params": params,
        "object": witness.object,
        "accesses": accesses,
    })
}
