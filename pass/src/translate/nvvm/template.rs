//! Makes the text of LLVM functions from a row of the table.
//!
//! A row's `names` is a literal with alternatives in braces. The matching alternative is captured; after
//! `=` stands a meaning to capture instead. So `f2{i|ui}.{rn=roundeven|rz=trunc}` matches `f2ui.rz` and
//! captures `ui` and `trunc`. Commas separate several meanings. A `*` at the end matches any rest.
//!
//! A body is IR text with these abbreviations:
//!
//! | text | meaning |
//! |---|---|
//! | `%0`, `%1`, … | the parameters |
//! | `$1`, `$1:1`, … | the capture of the first braces, and its further meanings |
//! | `$R`, `$A`, `$B`, `$C` | the types of the result and of the first three parameters |
//! | `$ALIGN` | the size of `$R`'s elements in bytes |
//! | `$TID`, … | an offset in the thread context |
//! | `@entry.NAME` | an entry point ([`gpurace_abi::entry`]), by its symbol without the prefix |
//! | `@gr.NAME` | a building block, by its name in [`super::floats`] or [`super::blocks`] |
//!
//! A body of one line is an expression, and the result is its value.

use std::collections::BTreeMap;

use gpurace_abi::context::offset;
use gpurace_abi::entry::{Entry, PREFIX as ENTRY_PREFIX, Ty};

use super::matrix::{self, Matrix};
use super::{blocks, floats, table};
use crate::ir::entry_calls::CONTEXT_FUNCTION;

/// The prefix of the names of all functions written here.
pub const PREFIX: &str = "gr.";

/// A row of the table of intrinsics: names, and the body for them.
pub struct Row(pub &'static str, pub &'static str);

/// A building block: names, `result(parameters)` with attributes after it, body.
pub struct Block(pub &'static str, pub &'static str, pub &'static str);

/// Types of a function, in IR text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Type of the result.
    pub result: String,
    /// Types of the parameters.
    pub params: Vec<String>,
}

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
    Row(&'static str, Vec<&'static str>),
    /// The body of the name without `.ftz`; subnormal arguments and results are flushed.
    Flushed(Box<Rule>),
    /// The body of the name without `x2`, for each of two elements.
    Paired(Box<Rule>),
    /// A body that is written for the name.
    Matrix(Matrix),
}

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

fn ty(ty: Ty) -> &'static str {
    match ty {
        Ty::Ptr => "ptr",
        Ty::I32 => "i32",
        Ty::I64 => "i64",
        Ty::Void => "void",
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
        return Some(Rule::Flushed(Box::new(intrinsic(&format!("{start}{end}"))?)));
    }
    let scalar = name.strip_suffix("16x2").map(|n| format!("{n}16"))?;
    Some(Rule::Paired(Box::new(intrinsic(&scalar)?)))
}

fn in_rows(rows: &[Row], name: &str) -> Option<Rule> {
    rows.iter().find_map(|Row(names, body)| Some(Rule::Row(body, capture(names, name)?)))
}

/// The captures of the braces of `pattern` in `name`, or `None` if it does not match.
pub fn capture(pattern: &'static str, name: &str) -> Option<Vec<&'static str>> {
    let Some((literal, rest)) = pattern.split_once('{') else {
        let matches = match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        return matches.then(Vec::new);
    };
    let name = name.strip_prefix(literal)?;
    let (alternatives, rest) = rest.split_once('}')?;
    alternatives.split('|').find_map(|alternative| {
        let (text, meaning) = alternative.split_once('=').unwrap_or((alternative, alternative));
        let mut captured = capture(rest, name.strip_prefix(text)?)?;
        captured.insert(0, meaning);
        Some(captured)
    })
}

/// The functions for a name. `symbol` is the intrinsic's full name. `None` if the rule does not
/// support the types.
pub fn expand(rule: &Rule, symbol: &str, signature: &Signature) -> Option<Functions> {
    let mut definitions = BTreeMap::new();
    let entry = format!("{PREFIX}{symbol}");
    write(rule, &entry, signature, "", &mut definitions)?;
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
    let mut definition = define(&entry, signature, "", &substitute(&body, &[], signature));
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
    linkage: &str,
    out: &mut BTreeMap<String, String>,
) -> Option<()> {
    let inner = format!("{name}.of");
    let body = match rule {
        Rule::Row(body, captures) => substitute(body, captures, signature),
        Rule::Flushed(rule) => {
            write(rule, &inner, signature, "internal ", out)?;
            flushed(&inner, signature)
        }
        Rule::Paired(rule) => {
            let scalar = signature.scalar()?;
            write(rule, &inner, &scalar, "internal ", out)?;
            paired(&inner, signature, &scalar)
        }
        Rule::Matrix(matrix) => matrix::body(*matrix, signature)?,
    };
    needed_blocks(&body, out)?;
    out.insert(name.to_owned(), define(name, signature, linkage, &body));
    Some(())
}

impl Signature {
    /// The signature of one element, if all types are pairs.
    fn scalar(&self) -> Option<Self> {
        let element = |t: &String| Some(t.strip_prefix("<2 x ")?.strip_suffix('>')?.to_owned());
        Some(Self {
            result: element(&self.result)?,
            params: self.params.iter().map(element).collect::<Option<_>>()?,
        })
    }

    fn arguments(&self, value: impl Fn(usize) -> String) -> String {
        let list: Vec<_> = self.params.iter().enumerate().map(|(i, t)| format!("{t} {}", value(i))).collect();
        list.join(", ")
    }
}

/// The building block that flushes subnormal values of a type, if it has any.
fn flush(ty: &str) -> Option<&'static str> {
    match ty {
        "float" => Some("gr.ftz.f32"),
        "double" => Some("gr.ftz.f64"),
        "half" => Some("gr.ftz.f16"),
        "bfloat" => Some("gr.ftz.bf16"),
        "<2 x half>" => Some("gr.ftz.f16x2"),
        "<2 x bfloat>" => Some("gr.ftz.bf16x2"),
        _ => None,
    }
}

fn flushed(inner: &str, signature: &Signature) -> String {
    let mut body = String::new();
    for (i, ty) in signature.params.iter().enumerate() {
        if let Some(flush) = flush(ty) {
            body += &format!("%a{i} = call {ty} @{flush}({ty} %{i})\n");
        }
    }
    let arguments = signature.arguments(|i| match flush(&signature.params[i]) {
        Some(_) => format!("%a{i}"),
        None => format!("%{i}"),
    });
    let result = &signature.result;
    body += &format!("%r = call {result} @\"{inner}\"({arguments})\n");
    match flush(result) {
        Some(flush) => body + &format!("%f = call {result} @{flush}({result} %r)\nret {result} %f"),
        None => body + &format!("ret {result} %r"),
    }
}

fn paired(inner: &str, signature: &Signature, scalar: &Signature) -> String {
    let (pair, element) = (&signature.result, &scalar.result);
    let mut body = String::new();
    for lane in 0..2 {
        for (i, ty) in signature.params.iter().enumerate() {
            body += &format!("%a{i}.{lane} = extractelement {ty} %{i}, i32 {lane}\n");
        }
        let arguments = scalar.arguments(|i| format!("%a{i}.{lane}"));
        let onto = if lane == 0 { "poison" } else { "%p0" };
        body += &format!(
            "%r{lane} = call {element} @\"{inner}\"({arguments})\n\
             %p{lane} = insertelement {pair} {onto}, {element} %r{lane}, i32 {lane}\n"
        );
    }
    body + &format!("ret {pair} %p1")
}

/// Adds the building blocks that a body calls, and those that they call.
fn needed_blocks(body: &str, out: &mut BTreeMap<String, String>) -> Option<()> {
    for rest in body.split("@gr.").skip(1) {
        let end = rest.find('(')?;
        let name = format!("gr.{}", &rest[..end]);
        if out.contains_key(&name) {
            continue;
        }
        let (body, attributes, signature) = block(&name)?;
        let definition = define_with(&name, &signature, "internal ", &attributes, &body);
        out.insert(name, definition);
        needed_blocks(&body, out)?;
    }
    Some(())
}

/// Body, attributes and signature of a building block.
fn block(name: &str) -> Option<(String, String, Signature)> {
    let short = name.strip_prefix(PREFIX)?;
    let rows = floats::BLOCKS.iter().chain(blocks::BLOCKS);
    rows.into_iter().find_map(|Block(names, types, body)| {
        let captures = capture(names, short)?;
        let (types, attributes) = types.split_once(';').unwrap_or((types, "alwaysinline"));
        let types = substitute_captures(types, &captures);
        let (result, params) = types.split_once('(')?;
        // The list ends at the last parenthesis: address spaces have their own.
        let params = params.trim_end().strip_suffix(')')?;
        let signature = Signature {
            result: result.trim().to_owned(),
            params: params.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect(),
        };
        Some((substitute(body, &captures, &signature), attributes.trim().to_owned(), signature))
    })
}

fn define(name: &str, signature: &Signature, linkage: &str, body: &str) -> String {
    define_with(name, signature, linkage, "alwaysinline", body)
}

fn define_with(name: &str, signature: &Signature, linkage: &str, attributes: &str, body: &str) -> String {
    let arguments = signature.arguments(|i| format!("%{i}"));
    format!(
        "define {linkage}{} @\"{name}\"({arguments}) nounwind {attributes} {{\nentry:\n{body}\n}}\n",
        signature.result
    )
}

/// A body with all abbreviations replaced, as a sequence of statements.
fn substitute(body: &str, captures: &[&str], signature: &Signature) -> String {
    let mut text = body.trim().to_owned();
    if !text.contains('\n') && !text.starts_with("ret ") {
        text = match (signature.result.as_str(), text.starts_with('%')) {
            ("void", _) => format!("{text}\nret void"),
            (_, true) => format!("ret $R {text}"),
            _ => format!("%result = {text}\nret $R %result"),
        };
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
    substitute_captures(&text, captures)
}

fn substitute_captures(text: &str, captures: &[&str]) -> String {
    let mut text = text.to_owned();
    for (i, captured) in captures.iter().enumerate() {
        let (first, others) = captured.split_once(',').unwrap_or((captured, ""));
        for (n, other) in others.split(',').enumerate() {
            text = text.replace(&format!("${}:{}", i + 1, n + 1), other);
        }
        text = text.replace(&format!("${}", i + 1), first);
    }
    text
}

/// Names of offsets in the thread context; none is the start of another.
const OFFSETS: &[(&str, usize)] = &[
    ("$TID", offset::TID),
    ("$CTAID", offset::CTAID),
    ("$NTID", offset::NTID),
    ("$NCTAID", offset::NCTAID),
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
