//! Inline PTX: from the text of an asm call to a typed program.
//!
//! Headers do much of CUDA in inline PTX: half-precision arithmetic, warp
//! shuffles with a predicate, atomics with an order, asynchronous copies. To see
//! their accesses and their synchronisation, and to run them on a host, the
//! text has to be understood.
//!
//! | module | what it knows |
//! |---|---|
//! | [`template`] | LLVM's part: `$0`, `${1:x}`, `$$`, constraint letters |
//! | `lex`, `parse` | PTX's syntax: scopes, `.reg`, labels, guards, operands |
//! | `table`, `decode` | every instruction: its modifiers, its operands, whether it is modelled |
//! | [`op`], [`types`] | the typed program |
//! | [`effects`] | which accesses and which synchronisation an instruction performs |
//!
//! Nothing is dropped quietly: what is PTX but not modelled becomes
//! [`Op::Unsupported`] with its mnemonic, and text that is not PTX a [`ParseError`].
//! What does not live here: anything of LLVM's; the translation to IR is in
//! `lower/ptx`.

use std::ops::Range;

mod decode;
pub mod effects;
pub mod error;
mod lex;
pub mod op;
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
    /// Its type. For operands, of the constraint letter: registers hold bits,
    /// and instructions say what they mean.
    pub ty: Ty,
    /// Set where the register is an operand of the asm.
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
    /// Under which predicate it runs; `None` for always.
    pub guard: Option<Guard>,
    /// The mnemonic as written, modifiers included.
    pub mnemonic: String,
    /// What it does.
    pub op: Op,
}

/// Statements that run one after another. The last may be a [`Op::Bra`]; control
/// otherwise goes to the next block, from the last block out of the asm.
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
