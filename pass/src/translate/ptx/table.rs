//! The table of PTX instructions: which are modelled, which are refused by name, and which decoder
//! reads an instruction's modifiers and operands.
//!
//! A decoder takes the modifiers that it knows. If a modifier is left over, the instruction is
//! unsupported.
//!
//! # To add an instruction
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

use super::decode::arithmetic::{self, full_float, integer, numeric, single};
use super::decode::bits::{self, shiftable, untyped, words};
use super::decode::{convert, matrix, memory, sync, texture};
use super::error::ParseError;
use super::instruction::{Argument, Decoded, Instruction, Refusal};
use super::op::{BinaryOp, Op, UnaryOp};

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
#[derive(Clone, Copy, Debug)]
pub struct Supported {
    /// The mnemonic without modifiers.
    pub mnemonic: &'static str,
    /// Its modifiers, as the PTX ISA writes syntax, or why it is refused.
    pub forms: &'static str,
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
    // Integer and floating-point arithmetic.
    modelled("add", "{.rnd}{.ftz}{.sat}{.cc}.type", |i| arithmetic::with_carry(i, BinaryOp::Add, false)),
    modelled("sub", "{.rnd}{.ftz}{.sat}{.cc}.type", |i| arithmetic::with_carry(i, BinaryOp::Sub, false)),
    modelled("addc", "{.cc}.type", |i| arithmetic::with_carry(i, BinaryOp::Add, true)),
    modelled("subc", "{.cc}.type", |i| arithmetic::with_carry(i, BinaryOp::Sub, true)),
    modelled("mul", "{.lo,.hi,.wide}.type; {.rnd}{.ftz}{.sat}.type", arithmetic::mul),
    modelled("mul24", ".lo,.hi.type", arithmetic::mul24),
    modelled("mad", ".lo,.hi,.wide{.cc}.type; {.rnd}{.ftz}{.sat}.f32,.f64", |i| arithmetic::mad(i, false)),
    modelled("madc", ".lo,.hi{.cc}.type", |i| arithmetic::mad(i, true)),
    modelled("mad24", ".lo,.hi.type", arithmetic::mad24),
    modelled("fma", ".rnd{.ftz}{.sat}{.relu}.type", arithmetic::fma),
    modelled("sad", ".type", arithmetic::sad),
    modelled("div", ".type; {.approx,.full,.rnd}{.ftz}.f32,.f64", arithmetic::div),
    modelled("rem", ".type", |i| arithmetic::binary(i, BinaryOp::Rem, integer)),
    modelled("abs", "{.ftz}.type", |i| arithmetic::unary(i, UnaryOp::Abs, numeric)),
    modelled("neg", "{.ftz}.type", |i| arithmetic::unary(i, UnaryOp::Neg, numeric)),
    modelled("min", "{.ftz}{.NaN}{.xorsign.abs}{.relu}.type", |i| arithmetic::extreme(i, BinaryOp::Min)),
    modelled("max", "{.ftz}{.NaN}{.xorsign.abs}{.relu}.type", |i| arithmetic::extreme(i, BinaryOp::Max)),
    modelled("rcp", ".approx,.rnd{.ftz}.f32,.f64", |i| arithmetic::rounded(i, UnaryOp::Rcp)),
    modelled("sqrt", ".approx,.rnd{.ftz}.f32,.f64", |i| arithmetic::rounded(i, UnaryOp::Sqrt)),
    modelled("rsqrt", ".approx{.ftz}.f32,.f64", |i| arithmetic::unary(i, UnaryOp::Rsqrt, full_float)),
    modelled("ex2", ".approx{.ftz}.f32,.f16,.f16x2,.bf16,.bf16x2", |i| {
        arithmetic::approximate(i, UnaryOp::Ex2)
    }),
    modelled("lg2", ".approx{.ftz}.f32", |i| arithmetic::unary(i, UnaryOp::Lg2, single)),
    modelled("sin", ".approx{.ftz}.f32", |i| arithmetic::unary(i, UnaryOp::Sin, single)),
    modelled("cos", ".approx{.ftz}.f32", |i| arithmetic::unary(i, UnaryOp::Cos, single)),
    modelled("tanh", ".approx.f32,.f16,.f16x2,.bf16,.bf16x2", |i| arithmetic::approximate(i, UnaryOp::Tanh)),
    modelled("copysign", ".f32,.f64", |i| arithmetic::binary(i, BinaryOp::CopySign, full_float)),
    modelled("testp", ".op.f32,.f64", arithmetic::testp),
    modelled("dp4a", ".atype.btype", arithmetic::dp4a),
    modelled("dp2a", ".lo,.hi.atype.btype", arithmetic::dp2a),
    // Logic, shifts, bit fields.
    modelled("and", ".type", |i| bits::binary(i, BinaryOp::And, untyped)),
    modelled("or", ".type", |i| bits::binary(i, BinaryOp::Or, untyped)),
    modelled("xor", ".type", |i| bits::binary(i, BinaryOp::Xor, untyped)),
    modelled("not", ".type", |i| bits::unary(i, UnaryOp::Not, untyped)),
    modelled("cnot", ".type", |i| bits::unary(i, UnaryOp::Cnot, shiftable)),
    modelled("shl", ".type", |i| bits::binary(i, BinaryOp::Shl, shiftable)),
    modelled("shr", ".type", |i| bits::binary(i, BinaryOp::Shr, shiftable)),
    modelled("shf", ".l,.r.wrap,.clamp.b32", bits::shf),
    modelled("popc", ".type", |i| bits::unary(i, UnaryOp::Popc, words)),
    modelled("clz", ".type", |i| bits::unary(i, UnaryOp::Clz, words)),
    modelled("brev", ".type", |i| bits::unary(i, UnaryOp::Brev, words)),
    modelled("bfind", "{.shiftamt}.type", bits::bfind),
    modelled("bfe", ".type", bits::bfe),
    modelled("bfi", ".type", bits::bfi),
    modelled("fns", ".b32", bits::fns),
    modelled("prmt", ".b32{.mode}", bits::prmt),
    modelled("lop3", ".b32", bits::lop3),
    modelled("szext", ".wrap,.clamp.type", bits::szext),
    modelled("bmsk", ".wrap,.clamp.b32", bits::bmsk),
    // Video instructions.
    modelled("vadd", ".d.a.b{.sat}{.op2}", bits::video),
    modelled("vsub", ".d.a.b{.sat}{.op2}", bits::video),
    modelled("vabsdiff", ".d.a.b{.sat}{.op2}", bits::video),
    modelled("vmin", ".d.a.b{.sat}{.op2}", bits::video),
    modelled("vmax", ".d.a.b{.sat}{.op2}", bits::video),
    modelled("vshl", ".d.a.u32{.sat}.wrap,.clamp{.op2}", bits::video),
    modelled("vshr", ".d.a.u32{.sat}.wrap,.clamp{.op2}", bits::video),
    modelled("vset", ".a.b.cmp{.op2}", bits::video),
    modelled("vadd2", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vsub2", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vavrg2", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vabsdiff2", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vmin2", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vmax2", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vset2", ".a.b.cmp{.add}", bits::video),
    modelled("vadd4", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vsub4", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vavrg4", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vabsdiff4", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vmin4", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vmax4", ".d.a.b{.sat}{.add}", bits::video),
    modelled("vset4", ".a.b.cmp{.add}", bits::video),
    refused("vmad", "multiply-accumulate with operand selectors"),
    // Comparison, selection, conversion, moves.
    modelled("setp", ".cmp{.bool}{.ftz}.type", convert::setp),
    modelled("set", ".cmp{.bool}{.ftz}.dtype.type", convert::set),
    modelled("selp", ".type", convert::selp),
    modelled("slct", "{.ftz}.dtype.ctype", convert::slct),
    modelled("mov", ".type, with packing and special registers", convert::mov),
    modelled("cvt", "{.rnd}{.relu}{.ftz}{.sat}{.satfinite}.dtype.atype; .pack.sat", convert::cvt),
    modelled("cvta", "{.to}.space.u32,.u64", convert::cvta),
    modelled("isspacep", ".space", convert::isspacep),
    // Memory.
    modelled("ld", "{.sem}{.scope}{.space}{.cop}{.vec}.type", memory::ld),
    modelled("ldu", "{.global}{.vec}.type", memory::ld),
    modelled("st", "{.sem}{.scope}{.space}{.cop}{.vec}.type", memory::st),
    modelled("atom", "{.sem}{.scope}{.space}.op{.noftz}{.vec}.type", |i| memory::atomic(i, true)),
    modelled("red", "{.sem}{.scope}{.space}.op{.noftz}{.vec}.type", |i| memory::atomic(i, false)),
    modelled("fence", "{.sc,.acq_rel}.scope", memory::fence),
    modelled("membar", ".cta,.gl,.sys; .sc.scope", memory::fence),
    modelled(
        "cp",
        ".async.ca,.cg.shared.global; .commit_group; .wait_group; .wait_all; .mbarrier.arrive{.noinc}",
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
        ".init .inval .arrive{_drop}{.noComplete,.expect_tx} .test_wait .try_wait{.parity} .pending_count .expect_tx",
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
    refused("setmaxnreg", "register reallocation"),
    // Clusters.
    modelled("mapa", "{.shared::cluster}.u32,.u64", convert::mapa),
    modelled("getctarank", "{.shared::cluster}.u32,.u64", convert::getctarank),
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

/// True if the table has this mnemonic, given without modifiers.
pub(super) fn is_instruction(name: &str) -> bool {
    find(name).is_some()
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
    let Some(decoder) = find(base).and_then(|entry| entry.decode) else { return Ok(unsupported()) };
    let mut instruction = Instruction::new(mnemonic, arguments);
    let decoded = decoder(&mut instruction);
    match decoded {
        Err(Refusal::Unsupported) => Ok(unsupported()),
        _ if instruction.has_unknown_modifier() => Ok(unsupported()),
        Err(Refusal::Error(error)) => Err(error),
        Ok(Op::Unsupported(_)) => Ok(unsupported()),
        Ok(op) if instruction.left() == 0 => Ok(op),
        Ok(_) => Err(ParseError::Operands {
            mnemonic: mnemonic.to_owned(),
            found: instruction.count,
            wanted: "fewer",
        }),
    }
}

/// Every instruction of the table, for documentation. All other instructions are refused by name.
pub fn supported() -> impl Iterator<Item = Supported> {
    TABLE.iter().map(|entry| Supported { mnemonic: entry.name, forms: entry.forms, status: entry.status })
}
