//! The table of PTX instructions: which are modelled, which are refused by name, and which decoder
//! reads an instruction's modifiers and operands.
//!
//! A decoder takes the modifiers that it knows. A modifier that is left over makes the instruction
//! unsupported: none is dropped quietly.
//!
//! # To add an instruction
//!
//! 1. Add a line to [`TABLE`]: the mnemonic, its forms as the PTX ISA writes them, and a decoder of
//!    the folder `decode/`.
//! 2. Let the decoder return an [`Op`]. If no variant has the shape of the instruction, add one. The
//!    compiler then asks for its two meanings: the accesses and the synchronisation
//!    (`effects.rs`), and the IR (`operation` in `../ptx_to_ir/body.rs`, which sends it to the file
//!    of its subject).
//! 3. Add a test of its results beside those of its subject in `../ptx_to_ir/tests/`: a line with the
//!    text and what the PTX ISA says that it computes.
//!
//! Code for a GPU keeps the instruction as it is, and learns from `effects.rs` which checks and
//! calls stand beside it.

use super::decode::{arithmetic, bits, convert, matrix, memory, sync, texture};
use super::error::ParseError;
use super::op::{Address, Op, Operand};
use super::types::{Round, Ty};

/// One argument of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    /// `a`.
    Operand(Operand),
    /// `a|b`.
    Pair(Operand, Operand),
    /// `[a+4]`.
    Address(Address),
    /// `[a, {x, y}]`: a texture or surface and coordinates.
    Place(Operand, Vec<Operand>),
    /// Something that only unsupported instructions take.
    Other,
}

/// Why a decoder gave no operation.
pub(super) enum Refusal {
    /// PTX, but not modelled.
    Unsupported,
    /// Not PTX.
    Error(ParseError),
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        Refusal::Error(error)
    }
}

/// Result of a decoder.
pub(super) type Decoded<T = Op> = Result<T, Refusal>;

/// An instruction's mnemonic, taken apart.
pub(super) struct Instruction {
    mnemonic: String,
    modifiers: Vec<(String, bool)>,
    arguments: std::vec::IntoIter<Argument>,
    count: usize,
}

impl Instruction {
    pub(super) fn new(mnemonic: &str, arguments: Vec<Argument>) -> Self {
        Self {
            modifiers: mnemonic.split('.').skip(1).map(|m| (m.to_owned(), false)).collect(),
            mnemonic: mnemonic.to_owned(),
            count: arguments.len(),
            arguments: arguments.into_iter(),
        }
    }

    /// Takes this modifier. True if it was there.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        self.one(|m| (m == name).then_some(())).is_some()
    }

    /// Takes the first modifier that `read` understands.
    pub(super) fn one<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        for (modifier, used) in &mut self.modifiers {
            if *used {
                continue;
            }
            if let Some(value) = read(modifier) {
                *used = true;
                return Some(value);
            }
        }
        None
    }

    /// Takes the first modifier among named alternatives.
    pub(super) fn choice<T: Copy>(&mut self, of: &[(&str, T)]) -> Option<T> {
        self.one(|m| of.iter().find(|(name, _)| *name == m).map(|(_, value)| *value))
    }

    /// Takes the next type.
    pub(super) fn ty(&mut self) -> Decoded<Ty> {
        match self.one(Ty::from_suffix) {
            Some(ty) => Ok(ty),
            None => Err(self.lacks("a type")),
        }
    }

    /// Takes the next type, which must be one of those that `fits` admits.
    pub(super) fn ty_of(&mut self, fits: impl Fn(Ty) -> bool) -> Decoded<Ty> {
        let ty = self.ty()?;
        if fits(ty) { Ok(ty) } else { Err(Refusal::Unsupported) }
    }

    /// Takes a rounding mode.
    pub(super) fn round(&mut self) -> Option<Round> {
        self.choice(&[
            ("rn", Round::Nearest),
            ("rna", Round::NearestAway),
            ("rz", Round::Zero),
            ("rm", Round::Down),
            ("rp", Round::Up),
        ])
    }

    /// The error for a missing modifier.
    pub(super) fn lacks(&self, wanted: &'static str) -> Refusal {
        Refusal::Error(ParseError::Modifiers { mnemonic: self.mnemonic.clone(), wanted })
    }

    /// The error for operands that do not fit.
    pub(super) fn operands_wanted(&self, wanted: &'static str) -> Refusal {
        Refusal::Error(ParseError::Operands { mnemonic: self.mnemonic.clone(), found: self.count, wanted })
    }

    /// How many arguments are left.
    pub(super) fn left(&self) -> usize {
        self.arguments.len()
    }

    /// The next argument as a plain operand.
    pub(super) fn operand(&mut self) -> Decoded<Operand> {
        match self.arguments.next() {
            Some(Argument::Operand(operand)) => Ok(operand),
            Some(_) => Err(self.operands_wanted("a register or constant")),
            None => Err(self.operands_wanted("more")),
        }
    }

    /// The next argument, which must be one element: no vector.
    pub(super) fn scalar(&mut self) -> Decoded<Operand> {
        match self.operand()? {
            Operand::Vector(_) => Err(self.operands_wanted("a single register or constant")),
            operand => Ok(operand),
        }
    }

    /// The next argument as something that can be written: a register or `_`.
    pub(super) fn destination(&mut self) -> Decoded<Operand> {
        match self.operand()? {
            operand @ (Operand::Reg(_) | Operand::Sink) => Ok(operand),
            _ => Err(self.operands_wanted("a register to write")),
        }
    }

    /// The next argument as `a` or `a|b`, both to be written.
    pub(super) fn destinations(&mut self) -> Decoded<(Operand, Option<Operand>)> {
        let (first, second) = match self.arguments.next() {
            Some(Argument::Operand(first)) => (first, None),
            Some(Argument::Pair(first, second)) => (first, Some(second)),
            Some(_) => return Err(self.operands_wanted("a register to write")),
            None => return Err(self.operands_wanted("more")),
        };
        for written in [Some(&first), second.as_ref()].into_iter().flatten() {
            if !matches!(written, Operand::Reg(_) | Operand::Sink) {
                return Err(self.operands_wanted("a register to write"));
            }
        }
        Ok((first, second))
    }

    /// The next argument as an address.
    pub(super) fn address(&mut self) -> Decoded<Address> {
        match self.arguments.next() {
            Some(Argument::Address(address)) if !matches!(address.base, Operand::Vector(_)) => Ok(address),
            Some(_) => Err(self.operands_wanted("an address in `[ ]`")),
            None => Err(self.operands_wanted("more")),
        }
    }

    /// The next argument as a texture or surface with coordinates.
    pub(super) fn place(&mut self) -> Decoded<(Operand, Vec<Operand>)> {
        match self.arguments.next() {
            Some(Argument::Place(object, coordinates)) => Ok((object, coordinates)),
            Some(_) => Err(self.operands_wanted("an object and coordinates in `[ ]`")),
            None => Err(self.operands_wanted("more")),
        }
    }

    /// The next argument as the elements of a vector that is written, and a predicate.
    pub(super) fn written(&mut self, n: usize) -> Decoded<(Vec<Operand>, Option<Operand>)> {
        let (vector, predicate) = match self.arguments.next() {
            Some(Argument::Operand(vector)) => (vector, None),
            Some(Argument::Pair(vector, predicate)) => (vector, Some(predicate)),
            _ => return Err(self.operands_wanted("registers to write")),
        };
        let elements = match vector {
            Operand::Vector(elements) => elements,
            one => vec![one],
        };
        let writable = |d: &Operand| matches!(d, Operand::Reg(_) | Operand::Sink);
        if elements.len() != n || !elements.iter().chain(&predicate).all(writable) {
            return Err(self.operands_wanted("as many registers to write as the vector has"));
        }
        Ok((elements, predicate))
    }

    /// True if the next argument is an address.
    pub(super) fn address_next(&self) -> bool {
        matches!(self.arguments.as_slice().first(), Some(Argument::Address(_)))
    }

    /// The next argument as `n` elements: itself, or the elements of a vector.
    pub(super) fn elements(&mut self, n: usize) -> Decoded<Vec<Operand>> {
        let elements = match self.operand()? {
            Operand::Vector(elements) => elements,
            operand => vec![operand],
        };
        if elements.len() == n {
            Ok(elements)
        } else {
            Err(self.operands_wanted("as many elements as the vector has"))
        }
    }

    /// The mnemonic without modifiers.
    pub(super) fn base(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or_default()
    }

    /// Accepts all modifiers and arguments that are left.
    pub(super) fn accept_all(&mut self) {
        self.modifiers.clear();
        self.arguments = Vec::new().into_iter();
    }
}

/// The support for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Translated; races on its accesses are seen.
    Modelled,
    /// Accepted and without effect here.
    Hint,
    /// Reaching it at run time ends the launch with an error that names it.
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
    modelled("add", "{.rnd}{.ftz}{.sat}{.cc}.type", arithmetic::add),
    modelled("sub", "{.rnd}{.ftz}{.sat}{.cc}.type", arithmetic::sub),
    modelled("addc", "{.cc}.type", arithmetic::addc),
    modelled("subc", "{.cc}.type", arithmetic::subc),
    modelled("mul", "{.lo,.hi,.wide}.type; {.rnd}{.ftz}{.sat}.type", arithmetic::mul),
    modelled("mul24", ".lo,.hi.type", arithmetic::mul24),
    modelled("mad", ".lo,.hi,.wide{.cc}.type; {.rnd}{.ftz}{.sat}.f32,.f64", arithmetic::mad),
    modelled("madc", ".lo,.hi{.cc}.type", arithmetic::madc),
    modelled("mad24", ".lo,.hi.type", arithmetic::mad24),
    modelled("fma", ".rnd{.ftz}{.sat}{.relu}.type", arithmetic::fma),
    modelled("sad", ".type", arithmetic::sad),
    modelled("div", ".type; {.approx,.full,.rnd}{.ftz}.f32,.f64", arithmetic::div),
    modelled("rem", ".type", arithmetic::rem),
    modelled("abs", "{.ftz}.type", arithmetic::abs),
    modelled("neg", "{.ftz}.type", arithmetic::neg),
    modelled("min", "{.ftz}{.NaN}{.xorsign.abs}{.relu}.type", arithmetic::min),
    modelled("max", "{.ftz}{.NaN}{.xorsign.abs}{.relu}.type", arithmetic::max),
    modelled("rcp", ".approx,.rnd{.ftz}.f32,.f64", arithmetic::rcp),
    modelled("sqrt", ".approx,.rnd{.ftz}.f32,.f64", arithmetic::sqrt),
    modelled("rsqrt", ".approx{.ftz}.f32,.f64", arithmetic::rsqrt),
    modelled("ex2", ".approx{.ftz}.f32,.f16,.f16x2,.bf16,.bf16x2", arithmetic::ex2),
    modelled("lg2", ".approx{.ftz}.f32", arithmetic::lg2),
    modelled("sin", ".approx{.ftz}.f32", arithmetic::sin),
    modelled("cos", ".approx{.ftz}.f32", arithmetic::cos),
    modelled("tanh", ".approx.f32,.f16,.f16x2,.bf16,.bf16x2", arithmetic::tanh),
    modelled("copysign", ".f32,.f64", arithmetic::copysign),
    modelled("testp", ".op.f32,.f64", arithmetic::testp),
    modelled("dp4a", ".atype.btype", arithmetic::dp4a),
    modelled("dp2a", ".lo,.hi.atype.btype", arithmetic::dp2a),
    // Logic, shifts, bit fields.
    modelled("and", ".type", bits::and),
    modelled("or", ".type", bits::or),
    modelled("xor", ".type", bits::xor),
    modelled("not", ".type", bits::not),
    modelled("cnot", ".type", bits::cnot),
    modelled("shl", ".type", bits::shl),
    modelled("shr", ".type", bits::shr),
    modelled("shf", ".l,.r.wrap,.clamp.b32", bits::shf),
    modelled("popc", ".type", bits::popc),
    modelled("clz", ".type", bits::clz),
    modelled("brev", ".type", bits::brev),
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
    modelled("ldu", "{.global}{.vec}.type", memory::ldu),
    modelled("st", "{.sem}{.scope}{.space}{.cop}{.vec}.type", memory::st),
    modelled("atom", "{.sem}{.scope}{.space}.op{.noftz}{.vec}.type", memory::atom),
    modelled("red", "{.sem}{.scope}{.space}.op{.noftz}{.vec}.type", memory::red),
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
    modelled("trap", "", sync::trap),
    modelled("exit", "", sync::exit),
    modelled("brkpt", "", sync::brkpt),
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
    let unknown_modifier = instruction.modifiers.iter().any(|(_, used)| !used);
    match decoded {
        Err(Refusal::Unsupported) => Ok(unsupported()),
        _ if unknown_modifier => Ok(unsupported()),
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

/// Every instruction that the table knows, for documentation. What is not
/// among them is refused by its name.
pub fn supported() -> impl Iterator<Item = Supported> {
    TABLE.iter().map(|entry| Supported { mnemonic: entry.name, forms: entry.forms, status: entry.status })
}
