//! Makes the text of LLVM functions from rows: of NVVM intrinsics ([`super::table`]), of PTX instructions on
//! values ([`crate::translate::values`]), and of building blocks ([`super::floats`], [`super::blocks`]).
//!
//! A row's `names` is a literal with alternatives in braces. The matching alternative is captured; after
//! `=` stands a meaning to capture instead. So `f2{i|ui}.{rn=roundeven|rz=trunc}` matches `f2ui.rz` and
//! captures `ui` and `trunc`. Commas separate several meanings. Between `<` and `>` stand PTX types, whose
//! meanings [`names`] lists. A name in capitals is a list of alternatives there. A `*` at the end matches any
//! rest.
//!
//! A body is IR text with these abbreviations:
//!
//! | text | meaning |
//! |---|---|
//! | `%0`, `%1`, … | the parameters |
//! | `$1`, `$1:1`, … | the capture of the first braces, and its further meanings |
//! | `$1:0` | the text that the first braces match |
//! | `$R`, `$A`, `$B`, `$C` | the types of the result and of the first three parameters |
//! | `$ALIGN` | the size of `$R`'s elements in bytes |
//! | `$TID`, … | an offset in the thread context |
//! | `@entry.NAME` | an entry point ([`gpurace_abi::entry`]), by its symbol without the prefix |
//! | `@gr.NAME` | a building block or a PTX instruction on values |
//! | `ufit T x to U`, `sfit T x to U` | the integer x made narrower, or wider without or with its sign |
//!
//! If the last line is an expression, the result is its value. `@gr.NAME` alone is a call with the
//! parameters. `f32 @gr.NAME` is a call with small floats as `float`, whose result is rounded back.
//!
//! Some names need no row: a name with `.ftz`, `.sat` or `.relu` follows from the name without it, and one with
//! pairs of values from the name for single values.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use gpurace_abi::context::offset;
use gpurace_abi::entry::{Entry, PREFIX as ENTRY_PREFIX, Ty as EntryTy};

use super::matrix::{self, Matrix};
use super::{blocks, floats, table};
use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::translate::ptx::types::Ty;
use crate::translate::values;

pub mod names;
mod types;

use names::{Capture, capture, float_type, substitute_types};
pub use types::{OperandTypes, Signature};

/// The prefix of the names of all functions written here.
pub const PREFIX: &str = "gr.";

/// A row of the table of intrinsics: names, and the body for them.
pub struct Row(pub &'static str, pub &'static str);

/// A building block or PTX instruction: names, `result(parameters)` with attributes after it, body. Types are
/// those of PTX or of IR. Several results have `|` between them.
pub struct Block(pub &'static str, pub &'static str, pub &'static str);

/// The translation of a name.
pub enum Lowering {
    /// By this rule.
    Body(Rule),
    /// None: the table says that the executor cannot run it.
    Refused,
}

/// The source of the body for a name.
pub enum Rule {
    /// A row's body, with the captures of its names.
    Row(&'static str, Vec<Capture>),
    /// The body of the name without a modifier, which changes the results, or also the arguments.
    Modified(Modifier, Box<Rule>),
    /// The body of the name without `x2`, for each of two elements.
    Paired(Box<Rule>),
    /// A body that is written for the name.
    Matrix(Matrix),
}

/// A modifier that changes floats before or after an operation.
#[derive(Clone, Copy)]
pub struct Modifier {
    name: &'static str,
    of_arguments: bool,
}

/// The modifiers. The block that applies a modifier has its name. Of several modifiers, the first one here is applied
/// last.
const MODIFIERS: &[Modifier] = &[
    Modifier { name: "relu", of_arguments: false },
    Modifier { name: "sat", of_arguments: false },
    Modifier { name: "ftz", of_arguments: true },
];

/// Function definitions by name, with the name of the one to call.
pub struct Functions {
    /// The name of the function that replaces the intrinsic.
    pub entry: String,
    definitions: BTreeMap<String, String>,
}

impl Functions {
    /// All functions of several sets.
    pub fn merge<'a>(sets: impl Iterator<Item = &'a Self>) -> Self {
        let definitions = sets.flat_map(|s| s.definitions.clone()).collect();
        Self { entry: String::new(), definitions }
    }

    /// A module's text.
    pub fn text(&self) -> String {
        let mut text: String = self.definitions.values().map(String::as_str).collect();
        for entry in Entry::OF_EXECUTOR {
            if !calls(&text, entry.symbol()) {
                continue;
            }
            let point = entry.point();
            let params: Vec<_> = point.parameters.iter().map(|&(_, t)| ty(t)).collect();
            let convergent = if entry.is_convergent() { " convergent" } else { "" };
            text += &format!(
                "declare {} @{}({}){convergent} nounwind\n",
                ty(point.result),
                entry.symbol(),
                params.join(", ")
            );
        }
        if calls(&text, CONTEXT_FUNCTION) {
            text += &format!("declare ptr @{CONTEXT_FUNCTION}() nounwind willreturn memory(none)\n");
        }
        text
    }
}

/// A module's text: these functions, by name, with the building blocks and the entry points that they call.
pub fn complete(mut definitions: BTreeMap<String, String>) -> String {
    let written: Vec<_> = definitions.values().cloned().collect();
    for text in written {
        // A block that does not exist stays undeclared, and the parser reports it.
        let _ = needed_blocks(&text, &mut definitions);
    }
    Functions { entry: String::new(), definitions }.text()
}

/// The text of a call of an entry point, without the `sync` operand, which is filled in later.
pub fn entry_call(entry: Entry, arguments: &[&str]) -> String {
    let point = entry.point();
    let unknown = entry.sync_operand().map(|_| "-1");
    let values = arguments.iter().copied().chain(unknown);
    let list: Vec<_> =
        point.parameters.iter().zip(values).map(|(&(_, t), v)| format!("{} {v}", ty(t))).collect();
    debug_assert_eq!(list.len(), point.parameters.len(), "{entry:?}");
    format!("call {} @{}({})", ty(point.result), point.symbol, list.join(", "))
}

/// True if a text calls the function of this name.
fn calls(text: &str, name: &str) -> bool {
    text.contains(&format!("@{name}("))
}

fn ty(ty: EntryTy) -> &'static str {
    match ty {
        EntryTy::Ptr => "ptr",
        EntryTy::I32 => "i32",
        EntryTy::I64 => "i64",
        EntryTy::Void => "void",
    }
}

/// The translation of a function of this name; `None` for a function that hosts have too.
pub fn find(name: &str) -> Option<Lowering> {
    if let Some(short) = name.strip_prefix("llvm.nvvm.") {
        return Some(intrinsic(short).map_or(Lowering::Refused, Lowering::Body));
    }
    if let Some(rule) = in_rows(table::FUNCTIONS, name) {
        return Some(Lowering::Body(rule));
    }
    let refused = table::REFUSED_FUNCTIONS.iter().any(|p| capture(p, name).is_some());
    refused.then_some(Lowering::Refused)
}

/// The rule for an intrinsic, by its name without `llvm.nvvm.`.
fn intrinsic(name: &str) -> Option<Rule> {
    if let Some(rule) = in_rows(table::INTRINSICS, name) {
        return Some(rule);
    }
    if let Some(matrix) = matrix::parse(name) {
        return Some(Rule::Matrix(matrix));
    }
    if let Some((start, end)) = name.split_once(".ftz") {
        let ftz = MODIFIERS[MODIFIERS.len() - 1];
        return Some(Rule::Modified(ftz, Box::new(intrinsic(&format!("{start}{end}"))?)));
    }
    if let Some(scalar) = name.strip_suffix("16x2").and_then(|n| intrinsic(&format!("{n}16"))) {
        return Some(Rule::Paired(Box::new(scalar)));
    }
    // An intrinsic that is named as the PTX instruction.
    block(name).map(|(rule, _)| rule)
}

fn in_rows(rows: &[Row], name: &str) -> Option<Rule> {
    rows.iter().find_map(|Row(names, body)| Some(Rule::Row(body, capture(names, name)?)))
}

/// Returns the simpler name that a name follows from, and the modifier that the simpler name lacks. Without a modifier,
/// the simpler name is the one for single values instead of pairs.
pub fn simpler(name: &str) -> Option<(String, Option<Modifier>)> {
    for modifier in MODIFIERS {
        let mut words: Vec<_> = name.split('.').collect();
        if let Some(at) = words.iter().skip(1).position(|word| *word == modifier.name) {
            words.remove(at + 1);
            return Some((words.join("."), Some(*modifier)));
        }
    }
    let mut types = name.split('.').filter(|word| Ty::from_suffix(word).is_some()).peekable();
    let of_pairs = types.peek().is_some() && types.all(|ty| ty.ends_with("16x2"));
    of_pairs.then(|| (name.replace("16x2", "16"), None))
}

/// The rule and the types of a building block or of an instruction on values.
fn block(name: &str) -> Option<(Rule, OperandTypes)> {
    let rows = floats::BLOCKS.iter().chain(blocks::BLOCKS).chain(values::BLOCKS).chain(values::rows());
    for Block(names, types, body) in rows {
        if let Some(captures) = capture(names, name) {
            let types = OperandTypes::new(&substitute_types(types, &captures))?;
            return Some((Rule::Row(body, captures), types));
        }
    }
    let (simple, modifier) = simpler(name)?;
    let (rule, types) = block(&simple)?;
    match modifier {
        Some(modifier) => Some((Rule::Modified(modifier, Box::new(rule)), types)),
        None => Some((Rule::Paired(Box::new(rule)), types.of_pairs())),
    }
}

/// The types of an instruction on values, if all blocks exist that it needs.
pub fn value_types(name: &str) -> Option<OperandTypes> {
    let (_, types) = block(name)?;
    needed_blocks(&format!("@{PREFIX}{name}("), &mut BTreeMap::new())?;
    Some(types)
}

/// The functions for a name. `symbol` is the intrinsic's full name. `None` if the rule does not
/// support the types.
pub fn expand(rule: &Rule, symbol: &str, signature: &Signature) -> Option<Functions> {
    let mut definitions = BTreeMap::new();
    let entry = format!("{PREFIX}{symbol}");
    write(rule, &entry, signature, ("", "alwaysinline"), &mut definitions)?;
    Some(Functions { entry, definitions })
}

/// The functions for an unsupported name: they end the launch.
pub fn refusal(what: &str, symbol: &str, signature: &Signature) -> Functions {
    let entry = format!("{PREFIX}{symbol}");
    let text = format!("{what}\\00");
    let body = format!(
        "{}\n{}",
        entry_call(Entry::Unsupported, &[&format!("@\"{PREFIX}name.{what}\"")]),
        if signature.result == "void" { "ret void" } else { "ret $R zeroinitializer" }
    );
    let mut definition = define(&entry, signature, "", "alwaysinline", &substitute(&body, &[], signature));
    definition += &format!(
        "@\"{PREFIX}name.{what}\" = private unnamed_addr constant [{} x i8] c\"{text}\"\n",
        what.len() + 1
    );
    Functions { entry: entry.clone(), definitions: BTreeMap::from([(entry, definition)]) }
}

/// Writes the function `name` for a rule, and the functions that it calls.
fn write(
    rule: &Rule,
    name: &str,
    signature: &Signature,
    (linkage, attributes): (&str, &str),
    out: &mut BTreeMap<String, String>,
) -> Option<()> {
    let of_inner = ("internal ", attributes);
    let attributes = if let Rule::Row(..) = rule { attributes } else { "alwaysinline" };
    let inner = format!("{name}.of");
    let body = match rule {
        Rule::Row(body, captures) => match body.strip_prefix("f32 ") {
            Some(call) => {
                let name = names::substitute(call.strip_prefix('@')?, captures);
                let (_, types) = block(name.strip_prefix(PREFIX)?)?;
                let to_float = |ty: &str| match ty {
                    "half" | "bfloat" => Some(format!("gr.cvt.f32.{}", float_type(ty)?)),
                    _ => None,
                };
                let from_float = |ty: &str| match ty {
                    "half" | "bfloat" => Some(format!("gr.cvt.rn.{}.f32", float_type(ty)?)),
                    _ => None,
                };
                around(&name, &types.signature(), signature, to_float, from_float)
            }
            None => substitute(body, captures, signature),
        },
        Rule::Modified(modifier, rule) => {
            write(rule, &inner, signature, of_inner, out)?;
            let block = |ty: &str| Some(format!("gr.{}.{}", modifier.name, float_type(ty)?));
            if !modifier.of_arguments && block(&signature.result).is_none() {
                return None;
            }
            let argument = |ty: &str| block(ty).filter(|_| modifier.of_arguments);
            around(&format!("\"{inner}\""), signature, signature, argument, block)
        }
        Rule::Paired(rule) => {
            let scalar = signature.scalar()?;
            write(rule, &inner, &scalar, of_inner, out)?;
            paired(&inner, signature, &scalar)
        }
        Rule::Matrix(matrix) => matrix::body(*matrix, signature)?,
    };
    out.insert(name.to_owned(), define(name, signature, linkage, attributes, &body));
    needed_blocks(&body, out)
}

/// Calls `inner`, and passes arguments and result through blocks that depend on their types.
fn around(
    inner: &str,
    inner_types: &Signature,
    signature: &Signature,
    argument: impl Fn(&str) -> Option<String>,
    result: impl Fn(&str) -> Option<String>,
) -> String {
    let mut body = String::new();
    for (i, (outside, inside)) in signature.params.iter().zip(&inner_types.params).enumerate() {
        if let Some(block) = argument(outside) {
            body += &format!("%a{i} = call {inside} @{block}({outside} %{i})\n");
        }
    }
    let arguments = inner_types.arguments(|i| match argument(&signature.params[i]) {
        Some(_) => format!("%a{i}"),
        None => format!("%{i}"),
    });
    let (inside, outside) = (&inner_types.result, &signature.result);
    body += &format!("%r = call {inside} @{inner}({arguments})\n");
    match result(outside) {
        Some(block) => body + &format!("%f = call {outside} @{block}({inside} %r)\nret {outside} %f"),
        None => body + &format!("ret {outside} %r"),
    }
}

fn paired(inner: &str, signature: &Signature, scalar: &Signature) -> String {
    let (pair, element) = (&signature.result, &scalar.result);
    let mut body = String::new();
    for lane in 0..2 {
        let is_pair = |i: usize| signature.params[i] != scalar.params[i];
        for (i, ty) in signature.params.iter().enumerate().filter(|(i, _)| is_pair(*i)) {
            body += &format!("%a{i}.{lane} = extractelement {ty} %{i}, i32 {lane}\n");
        }
        let arguments =
            scalar.arguments(|i| if is_pair(i) { format!("%a{i}.{lane}") } else { format!("%{i}") });
        let onto = if lane == 0 { "poison" } else { "%p0" };
        body += &format!(
            "%r{lane} = call {element} @\"{inner}\"({arguments})\n\
             %p{lane} = insertelement {pair} {onto}, {element} %r{lane}, i32 {lane}\n"
        );
    }
    body + &format!("ret {pair} %p1")
}

/// Adds the building blocks that a body calls, and those that they call. `None` if one does not exist.
fn needed_blocks(body: &str, out: &mut BTreeMap<String, String>) -> Option<()> {
    for rest in body.split("@gr.").skip(1) {
        let short = &rest[..rest.find('(')?];
        let name = format!("{PREFIX}{short}");
        if !out.contains_key(&name) {
            let (rule, types) = block(short)?;
            write(&rule, &name, &types.signature(), ("internal ", &types.attributes), out)?;
        }
    }
    Some(())
}

fn define(name: &str, signature: &Signature, linkage: &str, attributes: &str, body: &str) -> String {
    let arguments = signature.arguments(|i| format!("%{i}"));
    format!(
        "define {linkage}{} @\"{name}\"({arguments}) nounwind {attributes} {{\nentry:\n{body}\n}}\n",
        signature.result
    )
}

/// A body with all abbreviations replaced, as a sequence of statements.
fn substitute(body: &str, captures: &[Capture], signature: &Signature) -> String {
    let mut text = body.trim().to_owned();
    if text.starts_with("@gr.") {
        text = format!("call $R {text}({})", signature.arguments(|i| format!("%{i}")));
    }
    let (before, last) = text.rsplit_once('\n').unwrap_or(("", &text));
    let last = last.trim_start();
    if !last.starts_with("ret ") {
        let end = match (signature.result.as_str(), last.starts_with('%')) {
            ("void", _) => format!("{last}\nret void"),
            (_, true) => format!("ret $R {last}"),
            _ => format!("%result = {last}\nret $R %result"),
        };
        text = format!("{before}\n{end}");
    }
    text = text.replace("@entry.", &format!("@{ENTRY_PREFIX}"));
    for (name, offset) in OFFSETS {
        text = text.replace(name, &offset.to_string());
    }
    text = text.replace("$ALIGN", &element_size(&signature.result).to_string());
    text = text.replace("$R", &signature.result);
    for (name, ty) in ["$A", "$B", "$C"].iter().zip(&signature.params) {
        text = text.replace(name, ty);
    }
    fitted(&names::substitute(&text, captures))
}

/// A text in which `ufit` and `sfit` are instructions that depend on the widths.
fn fitted(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let Some((start, fit)) = line.split_once("fit i").filter(|(start, _)| start.ends_with(['u', 's']))
        else {
            return line.to_owned();
        };
        let (from, rest) = fit.split_once(' ').unwrap_or_default();
        let to = rest.rsplit_once(" i").map_or("", |(_, to)| to);
        let bits = |n: &str| n.parse::<u32>().unwrap_or_default();
        let (start, sign) = start.split_at(start.len() - 1);
        let instruction = match bits(to).cmp(&bits(from)) {
            Ordering::Less => "trunc",
            Ordering::Equal => "bitcast",
            Ordering::Greater if sign == "s" => "sext",
            Ordering::Greater => "zext",
        };
        format!("{start}{instruction} i{fit}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Names of offsets in the thread context; none is the start of another.
const OFFSETS: &[(&str, usize)] = &[
    ("$TID", offset::TID),
    ("$CTAID", offset::CTAID),
    ("$NTID", offset::NTID),
    ("$NCTAID", offset::NCTAID),
    ("$DYNAMIC_SHARED_BYTES", offset::DYNAMIC_SHARED_BYTES),
    ("$LANE", offset::LANE),
    ("$WARP", offset::WARP),
    ("$LAUNCH_ID", offset::LAUNCH_ID),
    ("$GRID_WORKSPACE", offset::GRID_WORKSPACE),
];

/// The bytes of a type, or of a vector's elements: the alignment that a load may assume.
fn element_size(ty: &str) -> u32 {
    let element = ty.split_once(" x ").map_or(ty, |(_, t)| t.trim_end_matches('>'));
    match element {
        "i16" | "half" | "bfloat" => 2,
        "i32" | "float" => 4,
        "i64" | "double" => 8,
        t if t.starts_with("ptr") => 8,
        _ => 1,
    }
}
