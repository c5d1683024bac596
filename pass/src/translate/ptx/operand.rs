//! The operands of an instruction.

/// A virtual register: an index into [`Asm::regs`](super::Asm::regs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A basic block: an index into [`Asm::blocks`](super::Asm::blocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A read-only register that the hardware defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// A 32-bit register, by its PTX name without `%`, for instance `laneid` or `tid.x`.
    B32(&'static str),
    /// A 64-bit register, by its PTX name without `%`, for instance `clock64`.
    B64(&'static str),
    /// A predicate register (`%is_explicit_cluster`).
    Pred(&'static str),
    /// `%envreg<n>`.
    Envreg(u8),
    /// `%reserved_smem_offset_<n>`, `_begin`, `_end` and `_cap`: the name without `%`.
    ReservedShared(&'static str),
}

/// An operand that an instruction reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// The negation of a predicate register, `!p`.
    NotReg(Reg),
    /// An integer literal; a negative one in two's complement.
    Int(u64),
    /// A floating-point literal `0f...`, by its bits.
    F32(u32),
    /// A floating-point literal, decimal or `0d...`, by its bits.
    F64(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable or function of the module.
    Symbol(String),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `_`.
    Sink,
    /// The carry of the condition code.
    Carry,
}

impl Operand {
    /// True for what a result can go to: a register or `_`.
    pub fn is_writable(&self) -> bool {
        matches!(self, Operand::Reg(_) | Operand::Sink)
    }

    /// The elements of a vector, or the operand itself.
    pub fn into_elements(self) -> Vec<Operand> {
        match self {
            Operand::Vector(elements) => elements,
            one => vec![one],
        }
    }
}

/// `[base + offset]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// A register, a symbol or an integer.
    pub base: Operand,
    /// Constant offset, bytes.
    pub offset: i64,
}
