//! The table of the PTX instructions that are no rows of [`values`]: which are modelled, which are refused by
//! name, and which decoder reads an instruction's modifiers and operands.
//!
//! A decoder takes the modifiers that it knows. If a modifier is left over, the instruction is
//! unsupported.
//!
//! # To add an instruction
//!
//! An instruction on values alone is a row: [`values`] says how to add it. For others:
//!
//! 1. Add a line to [`TABLE`]: the mnemonic, its forms as the PTX ISA writes them, and a decoder of
//!    the folder `decode/`.
//! 2. Let the decoder return an [`Op`]. If no variant has the shape of the instruction, add one. The
//!    compiler then asks for its accesses and synchronisation (`effects.rs`) and for its IR (`operation`
//!    in `../ptx_to_ir/function.rs`, which passes it to the file of its subject).
//! 3. Add a test of its results to the file of its subject in `../ptx_to_ir/tests/`: a line with the text
//!    and the result that the PTX ISA gives.
//!
//! Code for a GPU keeps the instruction as it is, and learns from `effects.rs` which checks and
//! calls stand beside it.

use super::decode::{matrix, memory, moves, sync, texture};
use super::error::ParseError;
use super::instruction::{Argument, Decoded, Instruction, Refusal};
use super::op::{Op, Operand};
use super::types::Ty;
use crate::translate::values;

/// The support for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Translated; races on its accesses are seen.
    Modelled,
    /// Accepted and without effect here.
    Hint,
    /// A launch that reaches it ends with an error that names it.
    Refused,
}

/// An instruction of the table, for documentation.
#[derive(Clone, Debug)]
pub struct Supported {
    /// The mnemonic without modifiers.
    pub mnemonic: &'static str,
    /// Its modifiers, as the PTX ISA writes syntax, or why it is refused; or the names of its rows.
    pub forms: String,
    /// Its support.
    pub status: Status,
}

type Decoder = fn(&mut Instruction) -> Decoded;

struct TableRow {
    name: &'static str,
    forms: &'static str,
    decode: Option<Decoder>,
    status: Status,
}

const fn modelled(name: &'static str, forms: &'static str, decode: Decoder) -> TableRow {
    TableRow { name, forms, decode: Some(decode), status: Status::Modelled }
}

const fn hint(name: &'static str, forms: &'static str) -> TableRow {
    TableRow { name, forms, decode: Some(memory::hint), status: Status::Hint }
}

const fn refused(name: &'static str, why: &'static str) -> TableRow {
    TableRow { name, forms: why, decode: None, status: Status::Refused }
}

/// One line per instruction, by subject as in the PTX ISA.
const TABLE: &[TableRow] = &[
    // Video instructions that are no rows.
    refused("vmad", "multiply-accumulate with operand selectors"),
    // Moves and addresses.
    modelled("mov", ".type, with packing and special registers", moves::mov),
    modelled("cvta", "{.to}.space.u32,.u64", moves::cvta),
    modelled("isspacep", ".space", moves::isspacep),
    // Memory.
    modelled("ld", "{.sem}{.scope}{.space}{.cop}{.vec}.type", memory::ld),
    modelled("ldu", "{.global}{.vec}.type", memory::ld),
    modelled("st", "{.sem}{.scope}{.space}{.cop}{.vec}.type", memory::st),
    modelled("atom", "{.sem}{.scope}{.space}.op{.noftz}{.vec}.type", |i| memory::atomic(i, true)),
    modelled("red", "{.sem}{.scope}{.space}.op{.noftz}{.vec}.type", |i| memory::atomic(i, false)),
    modelled(
        "fence",
        "{.sc,.acq_rel}.scope; .mbarrier_init.release.cluster; .proxy.alias,.async{.space}",
        memory::fence,
    ),
    modelled("membar", ".cta,.gl,.sys; .sc.scope", memory::fence),
    modelled(
        "cp",
        ".async.ca,.cg.shared.global; .commit_group; .wait_group; .wait_all; .mbarrier.arrive{.noinc}; \
         .async.bulk.shared.global.mbarrier; .global.shared.bulk_group; .commit_group; .wait_group{.read}; .prefetch; \
         .async.bulk.tensor.dim.shared.global{.tile}.mbarrier; .global.shared{.tile}.bulk_group",
        memory::cp,
    ),
    hint("prefetch", "{.space}.level"),
    hint("prefetchu", ".L1"),
    hint("applypriority", "{.global}.level::eviction_priority"),
    hint("discard", "{.global}.L2: leaves the bytes as they are, which it may"),
    hint("pmevent", "{.mask}"),
    modelled("createpolicy", "any form: policies are hints", memory::createpolicy),
    // Synchronisation and exchange between threads.
    modelled("bar", "{.cta}.sync,.arrive,.red{.op}{.pred,.u32}; .warp.sync", sync::bar),
    modelled(
        "barrier",
        "{.cta}.sync,.arrive,.red{.op}{.aligned}{.pred,.u32}; .cluster.arrive{.release,.relaxed},.wait{.acquire}{.aligned}",
        sync::bar,
    ),
    modelled("shfl", "{.sync}.mode.b32", sync::shfl),
    modelled("vote", "{.sync}.mode.pred,.b32", sync::vote),
    modelled("match", ".any,.all.sync.b32,.b64", sync::matches),
    modelled("redux", ".sync.op.type", sync::redux),
    modelled("activemask", ".b32", sync::activemask),
    modelled("elect", ".sync", sync::elect),
    modelled(
        "mbarrier",
        ".init .inval .arrive{_drop}{.noComplete,.expect_tx} .test_wait .try_wait{.parity} .pending_count .expect_tx .complete_tx",
        sync::mbarrier,
    ),
    modelled("nanosleep", ".u32", sync::nanosleep),
    // Control flow.
    modelled("trap", "", |_| Ok(Op::Trap)),
    modelled("exit", "", |_| Ok(Op::Exit)),
    modelled("brkpt", "", |_| Ok(Op::Brkpt)),
    modelled("bra", "{.uni}", sync::never),
    refused("brx", "indirect branch"),
    refused("call", "call from inline assembly"),
    refused("ret", "return from inline assembly"),
    refused("alloca", "stack allocation"),
    refused("stacksave", "stack pointer"),
    refused("stackrestore", "stack pointer"),
    hint("griddepcontrol", ".launch_dependents, .wait: launches do not overlap here"),
    hint("setmaxnreg", ".inc,.dec: registers are not counted here"),
    // Clusters.
    modelled("mapa", "{.shared::cluster}.u32,.u64", moves::mapa),
    modelled("getctarank", "{.shared::cluster}.u32,.u64", moves::getctarank),
    refused("multimem", "multi-device memory"),
    // Matrices.
    modelled("ldmatrix", ".sync.aligned.m8n8.num{.trans}{.shared}.b16", matrix::ldmatrix),
    modelled("stmatrix", ".sync.aligned.m8n8.num{.trans}{.shared}.b16", matrix::stmatrix),
    modelled("movmatrix", ".sync.aligned.m8n8.trans.b16", matrix::movmatrix),
    modelled(
        "mma",
        ".sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype: f16, bf16, tf32, f64, s8, u8, e4m3, e5m2; not m8n8k4 of f16",
        matrix::mma,
    ),
    refused("wmma", "warp-level matrix operations"),
    refused("wgmma", "warpgroup-level matrix operations"),
    // Textures, surfaces, tensors.
    modelled("tex", "{.level,.grad}.geom.v4.dtype.ctype; levels of detail are ignored", texture::tex),
    modelled("tld4", ".comp.2d.v4.dtype.f32", texture::tld4),
    refused("txq", "texture query"),
    refused("istypep", "opaque types"),
    modelled("suld", ".b.geom{.cop}{.vec}.dtype.clamp", texture::suld),
    modelled("sust", ".b.geom{.cop}{.vec}.ctype.clamp", texture::sust),
    refused("sured", "surface reduction"),
    refused("suq", "surface query"),
    refused("tensormap", "tensor maps"),
];

fn find(name: &str) -> Option<&'static TableRow> {
    TABLE.iter().find(|entry| entry.name == name)
}

/// True for a mnemonic, given without modifiers, of the table or of a row.
pub(super) fn is_instruction(name: &str) -> bool {
    find(name).is_some() || values::MNEMONICS.contains_key(name)
}

/// True if the table refuses every form of this mnemonic.
pub(super) fn is_refused(name: &str) -> bool {
    find(name).is_some_and(|entry| entry.decode.is_none())
}

/// True if an unknown word has the form of a mnemonic.
pub(super) fn looks_like_mnemonic(word: &str) -> bool {
    word.chars().next().is_some_and(|c| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'))
}

/// The operation of an instruction.
pub(super) fn decode(mnemonic: &str, arguments: Vec<Argument>) -> Result<Op, ParseError> {
    let base = mnemonic.split('.').next().unwrap_or_default();
    let unsupported = || Op::Unsupported(mnemonic.to_owned());
    let mut instruction = Instruction::new(mnemonic, arguments);
    let decoded = match find(base) {
        Some(TableRow { decode: Some(decode), .. }) => match decode(&mut instruction) {
            Err(Refusal::Unsupported) => return Ok(unsupported()),
            _ if instruction.has_unknown_modifier() => return Ok(unsupported()),
            decoded => decoded,
        },
        Some(_) => return Ok(unsupported()),
        None => value(mnemonic, &mut instruction),
    };
    match decoded {
        Err(Refusal::Unsupported) => Ok(unsupported()),
        Err(Refusal::Error(error)) => Err(error),
        Ok(op) if instruction.left() == 0 => Ok(op),
        Ok(_) => Err(ParseError::Operands {
            mnemonic: mnemonic.to_owned(),
            found: instruction.count,
            wanted: "fewer",
        }),
    }
}

/// An instruction on values, by its row.
fn value(mnemonic: &str, i: &mut Instruction) -> Decoded {
    let Some((name, types)) = values::find(mnemonic) else {
        return Err(values::lacking(mnemonic).map_or(Refusal::Unsupported, |wanted| {
            Refusal::Error(ParseError::Modifiers { mnemonic: mnemonic.to_owned(), wanted })
        }));
    };
    let typed = |ty: &str, operand| match Ty::from_suffix(ty) {
        Some(ty) => Ok((ty, operand)),
        None => Err(Refusal::Unsupported),
    };
    let of_carry = || (Ty::Pred, Operand::Carry);
    let d = match &types.results[..] {
        [one] => vec![typed(one, i.destination()?)?],
        [one, other] if other == "cc" => vec![typed(one, i.destination()?)?, of_carry()],
        [one, other] => {
            let (first, second) = i.destinations()?;
            vec![typed(one, first)?, typed(other, second.unwrap_or(Operand::Sink))?]
        }
        _ => return Err(Refusal::Unsupported),
    };
    let mut of = Vec::new();
    for ty in &types.params {
        of.push(if ty == "cc" { of_carry() } else { typed(ty, i.scalar()?)? });
    }
    Ok(Op::Value { name, d, of })
}

/// Every instruction, for documentation. All others are refused by name.
pub fn supported() -> impl Iterator<Item = Supported> {
    let of_table =
        TABLE.iter().map(|row| Supported { mnemonic: row.name, forms: row.forms.into(), status: row.status });
    let of_rows = values::MNEMONICS.iter().map(|(mnemonic, names)| Supported {
        mnemonic,
        forms: names.join("; "),
        status: Status::Modelled,
    });
    of_table.chain(of_rows)
}
