//! Values of an asm's registers, computed before the asm runs, for the addresses and guards of its
//! accesses.
//!
//! The instructions that compute addresses and predicates are known: moves, integer arithmetic,
//! comparisons, conversions between widths and spaces. After any other instruction that may write a
//! register, its value is unknown.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMTypeKind};

use crate::ir;
use crate::ir::address_space;
use crate::translate::ptx::op::Address;
use crate::translate::ptx::types::{Space, Ty};
use crate::translate::ptx::{Asm, Guard, Op, Operand, Reg, Stmt};

#[derive(Clone, Copy)]
enum Register {
    /// An argument of the asm, unchanged.
    Argument(u32),
    /// An integer as wide as the register.
    Known(LLVMValueRef),
    Unknown,
}

/// The registers of an asm.
pub(super) struct Values<'a> {
    asm: &'a Asm,
    call: LLVMValueRef,
    module: LLVMModuleRef,
    /// Positioned before the call.
    builder: LLVMBuilderRef,
    registers: Vec<Register>,
}

impl<'a> Values<'a> {
    /// The registers at the start of `asm`, which `call` calls.
    ///
    /// # Safety
    /// `call` is live, in `module`, and the builder stays before it as long as the result is used.
    pub(super) unsafe fn new(
        asm: &'a Asm,
        call: LLVMValueRef,
        module: LLVMModuleRef,
        builder: LLVMBuilderRef,
    ) -> Self {
        let register =
            |reg: &crate::translate::ptx::RegInfo| match reg.operand.and_then(|operand| operand.argument) {
                Some(argument) => Register::Argument(argument),
                None => Register::Unknown,
            };
        Self { asm, call, module, builder, registers: asm.regs.iter().map(register).collect() }
    }

    /// The call of the asm.
    pub(super) fn call(&self) -> LLVMValueRef {
        self.call
    }

    /// The value of an operand, as an integer as wide as a type.
    pub(super) unsafe fn get(&mut self, operand: &Operand, ty: Ty) -> Option<LLVMValueRef> {
        // SAFETY: by `new`'s contract.
        unsafe {
            match operand {
                Operand::Reg(reg) => {
                    let value = self.register(*reg)?;
                    Some(self.resize(value, ty.bits(), false))
                }
                Operand::NotReg(reg) => {
                    let value = self.get(&Operand::Reg(*reg), Ty::Pred)?;
                    let value = LLVMBuildXor(self.builder, value, self.constant(1, 1), c"".as_ptr());
                    Some(self.resize(value, ty.bits(), false))
                }
                Operand::Int(n) if ty.bits() <= 64 => Some(self.constant(*n, ty.bits())),
                _ => None,
            }
        }
    }

    /// The condition under which a statement with this guard runs.
    pub(super) unsafe fn holds(&mut self, guard: Guard) -> Option<LLVMValueRef> {
        let operand = if guard.negated { Operand::NotReg(guard.reg) } else { Operand::Reg(guard.reg) };
        // SAFETY: by `new`'s contract.
        unsafe { self.get(&operand, Ty::Pred) }
    }

    /// A generic pointer to an address plus an offset in bytes.
    pub(super) unsafe fn pointer(
        &mut self,
        space: Space,
        address: &Address,
        offset: u32,
    ) -> Option<LLVMValueRef> {
        // SAFETY: by `new`'s contract.
        unsafe {
            let base = self.get(&address.base, Ty::U(64))?;
            let offset = address.offset + i64::from(offset);
            let name = c"".as_ptr();
            let address = LLVMBuildAdd(self.builder, base, self.constant(offset as u64, 64), name);
            let to = |space| LLVMPointerTypeInContext(ir::context(self.module), space);
            let generic = to(address_space::GENERIC);
            Some(match space {
                Space::Shared => {
                    let own = LLVMBuildIntToPtr(self.builder, address, to(address_space::SHARED), name);
                    LLVMBuildAddrSpaceCast(self.builder, own, generic, name)
                }
                _ => LLVMBuildIntToPtr(self.builder, address, generic, name),
            })
        }
    }

    /// Takes in the effects of a statement on the registers.
    pub(super) unsafe fn pass(&mut self, statement: &Stmt) {
        // SAFETY: by `new`'s contract.
        unsafe {
            let written = match &statement.op {
                Op::Nop
                | Op::St { .. }
                | Op::SurfaceStore { .. }
                | Op::CpAsync { .. }
                | Op::CpAsyncCommit
                | Op::CpAsyncWait { .. }
                | Op::CpAsyncArrive { .. }
                | Op::BulkLoad { .. }
                | Op::BulkStore { .. }
                | Op::TensorLoad { .. }
                | Op::TensorStore { .. }
                | Op::BulkCommit
                | Op::BulkWait { .. } => return,
                Op::Fence { .. }
                | Op::ProxyFence
                | Op::WarpSync { .. }
                | Op::ClusterArrive { .. }
                | Op::ClusterWait
                | Op::Nanosleep { .. } => return,
                Op::MbarrierInit { .. } | Op::MbarrierInval { .. } | Op::MbarrierTx { .. } => return,
                Op::Stmatrix { .. } => return,
                Op::Ld { d, .. }
                | Op::Atom { d, .. }
                | Op::SurfaceLoad { d, .. }
                | Op::Ldmatrix { d, .. }
                | Op::Mma { d, .. } => {
                    return d.iter().for_each(|d| self.forget(d));
                }
                Op::Texture { d, p, .. } => return d.iter().chain(p).for_each(|d| self.forget(d)),
                Op::Barrier { d, .. } => return d.iter().for_each(|d| self.forget(d)),
                Op::MbarrierArrive { state: d, .. }
                | Op::MbarrierWait { p: d, .. }
                | Op::Movmatrix { d, .. } => return self.forget(d),
                Op::Value { name, d, of } => {
                    let value = self.value(name, d, of);
                    for (n, (ty, d)) in d.iter().enumerate().rev() {
                        // The second result of a comparison is the contrary of the first.
                        let contrary = |value| LLVMBuildNot(self.builder, value, c"".as_ptr());
                        let value = if n == 0 { value } else { value.map(contrary) };
                        self.set(statement.guard, d, *ty, value);
                    }
                    return;
                }
                op => self.computed(op),
            };
            match written {
                Some((d, ty, value)) => self.set(statement.guard, d, ty, value),
                None => self.registers.fill(Register::Unknown),
            }
        }
    }

    /// The destination of an operation, and the value if it is known. `None` for an unknown operation.
    unsafe fn computed<'o>(&mut self, op: &'o Op) -> Option<(&'o Operand, Ty, Option<LLVMValueRef>)> {
        // SAFETY: by `new`'s contract.
        unsafe {
            Some(match op {
                Op::Mov { ty, d: d @ Operand::Reg(_), a } => (d, Ty::B(ty.bits()), self.get(a, *ty)),
                Op::Cvta {
                    to,
                    space: space @ (Space::Shared | Space::Global),
                    ty,
                    d: d @ Operand::Reg(_),
                    a,
                } => {
                    (d, *ty, self.get(a, *ty).map(|value| self.between_spaces(value, *space, *to, ty.bits())))
                }
                _ => return None,
            })
        }
    }

    /// The first result of an instruction on values, if it is known.
    unsafe fn value(
        &mut self,
        name: &str,
        d: &[(Ty, Operand)],
        of: &[(Ty, Operand)],
    ) -> Option<LLVMValueRef> {
        let words: Vec<_> = name.split('.').collect();
        let has_float = |(ty, _): &(Ty, Operand)| !ty.is_int() && *ty != Ty::Pred;
        if d.iter().chain(of).any(has_float) && words[0] != "selp" {
            return None;
        }
        let (ty, builder, empty) = (of.first()?.0, self.builder, c"".as_ptr());
        // SAFETY: by `new`'s contract; the operands are integers as wide as their types.
        unsafe {
            let known: Option<Vec<_>> = of.iter().map(|(ty, operand)| self.get(operand, *ty)).collect();
            Some(match (&words[..], &known?[..]) {
                (["add", _], [x, y]) => LLVMBuildAdd(builder, *x, *y, empty),
                (["sub", _], [x, y]) => LLVMBuildSub(builder, *x, *y, empty),
                (["mul", "lo", _], [x, y]) => LLVMBuildMul(builder, *x, *y, empty),
                (["mul", "wide", _], [x, y]) => {
                    let [x, y] = [*x, *y].map(|value| self.resize(value, 2 * ty.bits(), ty.is_signed()));
                    LLVMBuildMul(builder, x, y, empty)
                }
                (["mad", part @ ("lo" | "wide"), _], [.., c]) => {
                    let product = self.value(&format!("mul.{part}.{}", words[2]), d, &of[..2])?;
                    LLVMBuildAdd(builder, product, *c, empty)
                }
                (["and", _], [x, y]) => LLVMBuildAnd(builder, *x, *y, empty),
                (["or", _], [x, y]) => LLVMBuildOr(builder, *x, *y, empty),
                (["xor", _], [x, y]) => LLVMBuildXor(builder, *x, *y, empty),
                (["shl", _], [x, amount]) => {
                    // From the width on, nothing is left.
                    let width = self.constant(ty.bits().into(), 32);
                    let inside = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntULT, *amount, width, empty);
                    let amount = LLVMBuildSelect(builder, inside, *amount, self.constant(0, 32), empty);
                    let amount = self.resize(amount, ty.bits(), false);
                    let shifted = LLVMBuildShl(builder, *x, amount, empty);
                    LLVMBuildSelect(builder, inside, shifted, self.constant(0, ty.bits()), empty)
                }
                (["selp", _], [a, b, p]) => LLVMBuildSelect(builder, *p, *a, *b, empty),
                (["cvt", _, _], [a]) => self.resize(*a, d.first()?.0.bits(), ty.is_signed()),
                (["setp", cmp, _], [x, y]) => {
                    LLVMBuildICmp(builder, predicate(cmp, ty.is_signed())?, *x, *y, empty)
                }
                _ => return None,
            })
        }
    }

    /// Converts an address of a space to a generic one, or with `to` back.
    unsafe fn between_spaces(&self, value: LLVMValueRef, space: Space, to: bool, bits: u16) -> LLVMValueRef {
        // SAFETY: by `new`'s contract.
        unsafe {
            let context = ir::context(self.module);
            let own = if space == Space::Shared { address_space::SHARED } else { address_space::GLOBAL };
            let pointer = |space| LLVMPointerTypeInContext(context, space);
            let (from, into) = if to {
                (pointer(address_space::GENERIC), pointer(own))
            } else {
                (pointer(own), pointer(address_space::GENERIC))
            };
            let name = c"".as_ptr();
            let wide = self.resize(value, 64, false);
            let address = LLVMBuildIntToPtr(self.builder, wide, from, name);
            let cast = LLVMBuildAddrSpaceCast(self.builder, address, into, name);
            let number = LLVMBuildPtrToInt(self.builder, cast, LLVMInt64TypeInContext(context), name);
            self.resize(number, bits, false)
        }
    }

    /// The value of a register as an integer.
    unsafe fn register(&mut self, reg: Reg) -> Option<LLVMValueRef> {
        let at = reg.0 as usize;
        let bits = self.asm.regs.get(at)?.ty.bits();
        match self.registers[at] {
            Register::Known(value) => Some(value),
            Register::Unknown => None,
            Register::Argument(argument) => {
                let immediate = self.asm.regs[at].operand.is_some_and(|operand| operand.immediate);
                // SAFETY: by `new`'s contract; the asm has as many arguments as its constraints say, or fewer
                // where it is wrong.
                let value = unsafe {
                    if argument >= LLVMGetNumArgOperands(self.call) {
                        return None;
                    }
                    let value = LLVMGetOperand(self.call, argument);
                    let value = match LLVMGetTypeKind(LLVMTypeOf(value)) {
                        LLVMTypeKind::LLVMIntegerTypeKind => value,
                        LLVMTypeKind::LLVMPointerTypeKind => {
                            let long = LLVMInt64TypeInContext(ir::context(self.module));
                            LLVMBuildPtrToInt(self.builder, value, long, c"".as_ptr())
                        }
                        _ => return None,
                    };
                    // The text of a negative constant has the same meaning at every width.
                    self.resize(value, bits, immediate)
                };
                self.registers[at] = Register::Known(value);
                Some(value)
            }
        }
    }

    /// Sets the value of a register; `None` if it is unknown.
    unsafe fn set(&mut self, guard: Option<Guard>, d: &Operand, ty: Ty, value: Option<LLVMValueRef>) {
        let Operand::Reg(reg) = d else { return self.forget(d) };
        let Some(bits) = self.asm.regs.get(reg.0 as usize).map(|info| info.ty.bits()) else { return };
        // SAFETY: by `new`'s contract.
        let value = unsafe {
            let value = value.map(|value| self.resize(value, bits, ty.is_signed()));
            match guard {
                None => value,
                Some(guard) => match (self.holds(guard), value, self.register(*reg)) {
                    (Some(holds), Some(value), Some(before)) => {
                        Some(LLVMBuildSelect(self.builder, holds, value, before, c"".as_ptr()))
                    }
                    _ => None,
                },
            }
        };
        self.registers[reg.0 as usize] = value.map_or(Register::Unknown, Register::Known);
    }

    fn forget(&mut self, d: &Operand) {
        match d {
            Operand::Reg(reg) => {
                if let Some(register) = self.registers.get_mut(reg.0 as usize) {
                    *register = Register::Unknown;
                }
            }
            Operand::Vector(parts) => parts.iter().for_each(|part| self.forget(part)),
            _ => {}
        }
    }

    fn constant(&self, n: u64, bits: u16) -> LLVMValueRef {
        // SAFETY: by `new`'s contract.
        unsafe { LLVMConstInt(LLVMIntTypeInContext(ir::context(self.module), bits.into()), n, 0) }
    }

    unsafe fn resize(&self, value: LLVMValueRef, bits: u16, signed: bool) -> LLVMValueRef {
        // SAFETY: by `new`'s contract an integer.
        unsafe {
            let from = LLVMGetIntTypeWidth(LLVMTypeOf(value));
            let to = LLVMIntTypeInContext(ir::context(self.module), bits.into());
            let name = c"".as_ptr();
            match u32::from(bits).cmp(&from) {
                std::cmp::Ordering::Equal => value,
                std::cmp::Ordering::Less => LLVMBuildTrunc(self.builder, value, to, name),
                std::cmp::Ordering::Greater if signed => LLVMBuildSExt(self.builder, value, to, name),
                std::cmp::Ordering::Greater => LLVMBuildZExt(self.builder, value, to, name),
            }
        }
    }
}

/// LLVM's name of a comparison of integers.
fn predicate(cmp: &str, signed: bool) -> Option<LLVMIntPredicate> {
    use LLVMIntPredicate::*;
    Some(match cmp {
        "eq" => LLVMIntEQ,
        "ne" => LLVMIntNE,
        "lt" if signed => LLVMIntSLT,
        "le" if signed => LLVMIntSLE,
        "gt" if signed => LLVMIntSGT,
        "ge" if signed => LLVMIntSGE,
        "lt" | "lo" => LLVMIntULT,
        "le" | "ls" => LLVMIntULE,
        "gt" | "hi" => LLVMIntUGT,
        "ge" | "hs" => LLVMIntUGE,
        _ => return None,
    })
}
