//! The instructions of the function that replaces one inline asm, as text.
//!
//! A register of the asm is a stack slot of the same width. LLVM promotes the slots before it inlines the
//! function, so branches and guards need no care. A value is an integer that holds its bits;
//! floating-point operations cast.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use gpurace_abi::entry::{Entry, Ty as EntryTy};

use crate::translate::nvvm::template;
use crate::translate::ptx::Asm;
use crate::translate::ptx::op::Operand;
use crate::translate::ptx::types::Ty;

use super::special;

/// An operation that the parser knows and the translation does not.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

/// Result of translating an operation.
pub type Translated<T = ()> = Result<T, Refused>;

/// Address space of a variable or function of the module, by name.
pub type Symbols<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// Writes a function.
pub struct Body<'a> {
    pub(super) asm: &'a Asm,
    pub(super) text: String,
    /// The allocations of the function's stack memory, at its start.
    pub(super) slots: String,
    pub(super) names: usize,
    pub(super) refused: BTreeSet<String>,
    pub(super) symbols: BTreeMap<String, u32>,
    pub(super) find_symbol: Symbols<'a>,
    pub(super) constants: String,
    pub(super) function: &'a str,
    /// The reason why an operation was refused, if its mnemonic does not show it.
    pub(super) blamed: Option<String>,
    /// True if the block's reserved shared memory is used.
    pub(super) reserved_shared: bool,
    /// It reads or sets the carry flag.
    pub(super) uses_carry: bool,
}

impl Body<'_> {
    pub(super) fn line(&mut self, text: impl Display) {
        self.text += &format!("{text}\n");
    }

    /// Writes an instruction and gives the name of its value.
    pub(super) fn value(&mut self, instruction: impl Display) -> String {
        let name = self.name();
        self.line(format_args!("{name} = {instruction}"));
        name
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    /// Stack memory of this many bytes for an operation.
    pub(super) fn slot(&mut self, bytes: u32) -> String {
        let name = self.name();
        self.slots += &format!("{name} = alloca [{bytes} x i8], align 16\n");
        name
    }

    /// A new label.
    pub(super) fn label(&mut self) -> String {
        self.names += 1;
        format!("l{}", self.names)
    }

    /// Makes an integer narrower, or wider by `extend`.
    pub(super) fn resize(&mut self, value: &str, from: u16, to: u16, extend: &str) -> String {
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => value.to_owned(),
            std::cmp::Ordering::Greater => self.value(format_args!("trunc i{from} {value} to i{to}")),
            std::cmp::Ordering::Less => self.value(format_args!("{extend} i{from} {value} to i{to}")),
        }
    }

    /// The bits of an operand as an integer of a type's width.
    pub(super) fn get(&mut self, operand: &Operand, ty: Ty) -> Translated<String> {
        let bits = ty.bits();
        let mask = |n: u64| if bits >= 64 { n } else { n & ((1 << bits) - 1) };
        Ok(match operand {
            Operand::Reg(reg) => {
                let from = self.asm.regs[reg.0 as usize].ty.bits();
                let value = self.value(format_args!("load i{from}, ptr %r{}", reg.0));
                // PTX zero-extends a register that is narrower than the instruction, such as a `.b8`
                // register in a 16-bit instruction.
                self.resize(&value, from, bits, "zext")
            }
            Operand::NotReg(reg) => {
                let value = self.get(&Operand::Reg(*reg), Ty::Pred)?;
                let value = self.value(format_args!("xor i1 {value}, true"));
                self.resize(&value, 1, bits, "zext")
            }
            Operand::Int(n) if bits == 1 => if *n == 0 { "false" } else { "true" }.to_owned(),
            // PTX sign-extends a literal to more than 64 bits.
            Operand::Int(n) if bits > 64 => (*n as i64).to_string(),
            Operand::Int(n) => mask(*n).to_string(),
            Operand::F32(pattern) if ty == Ty::F(64) => {
                f64::from(f32::from_bits(*pattern)).to_bits().to_string()
            }
            Operand::F32(pattern) => mask(u64::from(*pattern)).to_string(),
            Operand::F64(pattern) if bits == 32 => (f64::from_bits(*pattern) as f32).to_bits().to_string(),
            Operand::F64(pattern) if bits == 64 => pattern.to_string(),
            Operand::F64(_) | Operand::Vector(_) | Operand::Sink => return Err(Refused),
            Operand::Carry => {
                self.uses_carry = true;
                self.value("load i1, ptr %cc")
            }
            Operand::Special(register) => special::read(self, register, bits)?,
            Operand::Symbol(name) => {
                let pointer = self.symbol(name)?;
                self.value(format_args!("ptrtoint {pointer} to i{bits}"))
            }
        })
    }

    /// The bits of an operand like [`Self::get`], or this number without an operand.
    pub(super) fn get_or(&mut self, operand: Option<&Operand>, ty: Ty, without: &str) -> Translated<String> {
        operand.map_or_else(|| Ok(without.to_owned()), |operand| self.get(operand, ty))
    }

    /// The bits of some operands.
    pub(super) fn get_all(&mut self, operands: &[Operand], ty: Ty) -> Translated<Vec<String>> {
        operands.iter().map(|operand| self.get(operand, ty)).collect()
    }

    /// Writes bits to some operands.
    pub(super) fn set_all(&mut self, operands: &[Operand], ty: Ty, values: &[String]) -> Translated {
        operands.iter().zip(values).try_for_each(|(operand, value)| self.set(operand, ty, value))
    }

    /// A vector of these integers.
    pub(super) fn vector(&mut self, values: &[String], bits: u16) -> String {
        let n = values.len();
        let mut vector = "poison".to_owned();
        for (i, value) in values.iter().enumerate() {
            vector =
                self.value(format_args!("insertelement <{n} x i{bits}> {vector}, i{bits} {value}, i32 {i}"));
        }
        vector
    }

    /// The elements of a vector of `n` integers.
    pub(super) fn elements(&mut self, vector: &str, n: usize, bits: u16) -> Vec<String> {
        let element = |i| self.value(format_args!("extractelement <{n} x i{bits}> {vector}, i32 {i}"));
        (0..n).map(element).collect()
    }

    /// The address of a variable, with its type.
    pub(super) fn symbol(&mut self, name: &str) -> Translated<String> {
        let space = (self.find_symbol)(name).ok_or(Refused)?;
        if name.bytes().any(|b| matches!(b, b'"' | b'\\')) {
            return Err(Refused);
        }
        self.symbols.insert(name.to_owned(), space);
        Ok(match space {
            0 => format!("ptr @\"{name}\""),
            space => format!("ptr addrspace({space}) @\"{name}\""),
        })
    }

    /// Writes a value of a type to a register. A wider register gets the sign or zeros, as the type says.
    pub(super) fn set(&mut self, operand: &Operand, ty: Ty, value: &str) -> Translated {
        match operand {
            Operand::Sink => Ok(()),
            Operand::Carry => {
                self.uses_carry = true;
                self.line(format_args!("store i1 {value}, ptr %cc"));
                Ok(())
            }
            Operand::Reg(reg) => {
                let to = self.asm.regs[reg.0 as usize].ty.bits();
                let extend = if ty.is_signed() { "sext" } else { "zext" };
                let value = self.resize(value, ty.bits(), to, extend);
                self.line(format_args!("store i{to} {value}, ptr %r{}", reg.0));
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    /// The offset of the shared memory that CUDA keeps for its own libraries.
    pub(super) fn reserved_shared(&mut self) -> String {
        self.reserved_shared = true;
        let space = crate::ir::address_space::SHARED;
        self.value(format_args!("ptrtoint ptr addrspace({space}) @{} to i32", special::RESERVED_SHARED))
    }

    /// Notes the operand for which the current operation is refused.
    pub(super) fn blame(&mut self, operand: String) -> Refused {
        self.blamed = Some(operand);
        Refused
    }

    /// A call of a building block or of an intrinsic.
    pub(super) fn call(&mut self, result: &str, name: &str, arguments: &[(&str, &str)]) -> String {
        let list: Vec<_> = arguments.iter().map(|(ty, value)| format!("{ty} {value}")).collect();
        self.value(format_args!("call {result} @{name}({})", list.join(", ")))
    }

    /// Calls an entry point, and returns its result if it has one. `arguments` lacks the `sync` operand,
    /// which the pass fills in later.
    pub(super) fn entry(&mut self, entry: Entry, arguments: &[&str]) -> String {
        let call = template::entry_call(entry, arguments);
        if entry.point().result == EntryTy::Void {
            self.line(format_args!("{call}"));
            return String::new();
        }
        self.value(format_args!("{call}"))
    }
}
