//! `-fgpurace-facts`: the verdict on every access, as JSON.

use gpurace_abi::meta::{ModuleMeta, Verdict};
use serde_json::{Value, json};

/// The schema that the document names.
const SCHEMA: &str = "gpurace-facts/1";

/// Renders the facts of a module.
///
/// # Errors
/// Where serialisation fails.
pub fn render(meta: &ModuleMeta) -> Result<String, String> {
    let kernels: Vec<Value> = meta
        .kernels
        .iter()
        .map(|kernel| {
            let sites: Vec<Value> = kernel.sites.iter().map(|&id| site(meta, id)).collect();
            json!({ "name": demangle(&kernel.name), "sites": sites })
        })
        .collect();
    let document = json!({ "schema": SCHEMA, "kernels": kernels });
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|e| format!("cannot serialise the facts: {e}"))
}

fn site(meta: &ModuleMeta, id: u32) -> Value {
    let site = &meta.sites[id as usize];
    // The innermost frame in the user's code.
    let frame = site
        .frames
        .iter()
        .find(|f| !meta.files[f.file as usize].system)
        .or_else(|| site.frames.first());
    let why = match site.verdict {
        Verdict::Checked => "no prover in this version",
        Verdict::Proved | Verdict::ProvedIf | Verdict::Racy => "",
    };
    json!({
        "op": site.op,
        "size": site.size,
        "space": site.space,
        "file": frame.map(|f| &meta.files[f.file as usize].name),
        "line": frame.map(|f| f.line),
        "column": frame.map(|f| f.column),
        "verdict": site.verdict,
        "why": why,
        "requires": [],
        "witness": null,
    })
}

fn demangle(symbol: &str) -> String {
    cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|s| s.demangle().ok())
        .unwrap_or_else(|| symbol.to_owned())
}
