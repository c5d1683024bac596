//! Inline PTX: from the text of an asm call to a typed program.
//!
//! CUDA's headers use inline PTX for half-precision arithmetic, warp shuffles with a predicate, atomics
//! with an order and asynchronous copies. The pass must understand the text to check the accesses, to see
//! the synchronisation and to run the code on a host.
//!
//! `table` and [`values`](super::values) say how to add an instruction.
//!
//! | module | what it knows |
//! |---|---|
//! | [`template`] | LLVM's part: `$0`, `${1:x}`, `$$`, constraint letters |
//! | `lex`, `parse` | PTX's syntax: scopes, `.reg`, labels, guards, operands |
//! | `table`, `instruction`, `decode` | each instruction: modifiers, operands, whether it is modelled |
//! | [`op`], [`types`] | the typed program |
//! | [`effects`] | the accesses and the synchronisation of each instruction |
//!
//! The parser drops nothing quietly. PTX that is not modelled becomes [`Op::Unsupported`] with its
//! mnemonic. Text that is not PTX becomes a [`ParseError`]. This module uses no LLVM type;
//! [`ptx_to_ir`](super::ptx_to_ir) translates to IR.

use std::ops::Range;

mod decode;
pub mod effects;
pub mod error;
mod instruction;
mod lex;
pub mod op;
mod operand;
mod operation;
mod parse;
mod special;
mod table;
pub mod template;
#[cfg(test)]
mod tests;
pub mod types;

pub use decode::matrix::register as matrix_register;
pub use effects::memory_effects;
pub use error::ParseError;
pub use op::{BlockId, Op, Operand, Reg};
pub use parse::parse;
pub use special::names as special_registers;
pub use table::{Status, Supported, supported};

use template::AsmOperand;
use types::Ty;

/// A register of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegInfo {
    /// Its name in the text; `$n` for an operand of the asm.
    pub name: String,
    /// Its declared type; for an operand, the type of the constraint letter. A register holds bits, and
    /// each instruction says what they mean.
    pub ty: Ty,
    /// The operand of the asm that the register is, if it is one.
    pub operand: Option<AsmOperand>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub reg: Reg,
    /// The statement runs where the predicate is false.
    pub negated: bool,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// The predicate under which it runs; `None` for always.
    pub guard: Option<Guard>,
    /// The mnemonic as written, modifiers included.
    pub mnemonic: String,
    /// What it does.
    pub op: Op,
}

/// Statements that run one after another. The last may be an [`Op::Bra`]. Otherwise control goes on to the
/// next basic block, or after the last one out of the asm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// Indices into [`Asm::statements`]; may be empty.
    pub statements: Range<usize>,
}

/// A parsed inline asm.
#[derive(Clone, Debug, PartialEq)]
pub struct Asm {
    /// Registers; the first are the asm's operands, in the order of [`Self::operands`].
    pub regs: Vec<RegInfo>,
    /// The asm's operands: where results go and where arguments come from.
    pub operands: Vec<AsmOperand>,
    /// All statements, in the order of the text.
    pub statements: Vec<Stmt>,
    /// A partition of [`Self::statements`]; the first is where control enters. Never empty.
    pub blocks: Vec<BasicBlock>,
    /// The compiler must assume that memory changes.
    pub memory_clobber: bool,
}

impl Asm {
    /// The mnemonics that are not modelled, each once, in the order of the text.
    pub fn unsupported(&self) -> impl Iterator<Item = &str> {
        let mut seen = std::collections::HashSet::new();
        self.statements.iter().filter_map(move |s| match &s.op {
            Op::Unsupported(name) if seen.insert(name.as_str()) => Some(name.as_str()),
            _ => None,
        })
    }
}
