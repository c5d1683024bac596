//! Hooks of inline asm.

use gpurace_abi::meta::Op;
use gpurace_abi::scope::AtomicKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Checked, Hooks, Step, is_zero};
use crate::checks::sites::Access;
use crate::gpu::asm::{self, Act, CheckableAccess};
use crate::gpu::matrix::Moved;
use crate::gpu::values::Values;
use crate::ir;
use crate::translate::atomics;
use crate::translate::ptx::effects::{AccessKind, Size};
use crate::translate::ptx::op::AtomOp;
use crate::translate::ptx::types::Ty;
use crate::translate::ptx::{self, Stmt};

impl Hooks<'_> {
    /// Inserts the calls beside an inline asm.
    pub(super) unsafe fn asm(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let (template, constraints) = ir::asm_text(instruction);
            let Ok(parsed) = ptx::parse(&template, &constraints) else {
                self.hooked.unseen += 1;
                return self.irregular(instruction);
            };
            let found = asm::of_asm(&parsed);
            self.hooked.unseen += found.unseen;
            let mut irregular = found.irregular;
            self.open(None, instruction, instruction);
            let mut values = Values::new(&parsed, instruction, self.module, self.builder);
            let mut steps = Vec::new();
            let mut acts = found.steps.iter().peekable();
            for (n, statement) in parsed.statements.iter().enumerate() {
                while let Some(asm::StatementAct { act, .. }) = acts.next_if(|step| step.statement == n) {
                    if let Some(step) = self.step_of(&mut values, statement, act) {
                        steps.push(step);
                    } else if let Act::Access(candidate) = act {
                        self.hooked.unseen += 1;
                        irregular |= asm::is_strong(&candidate.access);
                    } else {
                        irregular = true;
                    }
                }
                values.pass(statement);
            }
            if irregular {
                self.irregular(instruction);
                // Only part of the synchronisation is known, so none of it is used.
                steps.retain(|(_, step)| !matches!(step, Step::Block | Step::Warp(_)));
            }
            self.beside(function, instruction, steps);
        }
    }

    /// The step of an action, and the condition under which it happens. `None` if the condition or a
    /// value of the step is not known before the asm.
    unsafe fn step_of(
        &self,
        values: &mut Values<'_>,
        statement: &Stmt,
        act: &Act<'_>,
    ) -> Option<(Option<LLVMValueRef>, Step)> {
        // SAFETY: by `insert`'s contract; the builder stands before the asm.
        unsafe {
            let guard = match statement.guard {
                Some(guard) => Some(values.holds(guard)?),
                None => None,
            };
            let step = match act {
                Act::Access(CheckableAccess { access, rows: Some(rows), .. }) => {
                    let pointer = values.pointer(access.space, access.address, access.element_offset)?;
                    Step::Matrix(Moved::rows(pointer, *rows, access.kind == AccessKind::Write))
                }
                Act::Access(candidate) => Step::Check(self.check_of(values, statement, candidate)?),
                Act::Barrier(number) => is_zero(values.get(number, Ty::U(32))?).then_some(Step::Block)?,
                // The calls before and after it belong together, so no guard may part them.
                Act::Warp(_) if guard.is_some() => return None,
                Act::Warp(mask) => Step::Warp(values.get(mask, Ty::U(32))?),
                Act::End => Step::End,
            };
            Some((guard, step))
        }
    }

    /// The access to check, or `None` if its address or size is not known before the asm.
    unsafe fn check_of(
        &self,
        values: &mut Values<'_>,
        statement: &Stmt,
        candidate: &CheckableAccess<'_>,
    ) -> Option<Checked> {
        let access = &candidate.access;
        // SAFETY: by `insert`'s contract.
        unsafe {
            if matches!(statement.op, ptx::Op::Atom { op: AtomOp::CompareAndSwap, .. })
                && !atomics::may_fail(values.call())
            {
                return None;
            }
            let number = |n: u64| self.calls.i64(n);
            let (size, mut length) = match &access.size {
                Size::Bytes(size) => (u64::from(*size), number(u64::from(*size))),
                // A copy writes at most 16 bytes, so it reads at most as many.
                Size::Operand(operand) => (0, self.least(values.get(operand, Ty::U(32))?, number(16))),
            };
            if let Some(unless) = candidate.unless {
                let unless = values.get(unless, Ty::Pred)?;
                length = LLVMBuildSelect(self.builder, unless, number(0), length, c"".as_ptr());
            }
            let (access_kind, op, volatile) = match access.kind {
                AccessKind::Read if candidate.asynchronous => (Access::AsyncRead { length }, Op::Read, false),
                AccessKind::Read => (Access::ReadRange { length }, Op::Read, false),
                AccessKind::Write if candidate.asynchronous => {
                    (Access::AsyncWrite { length }, Op::Write, false)
                }
                AccessKind::Write => (Access::WriteRange { length }, Op::Write, false),
                AccessKind::Atomic(kind, order, scope) => {
                    let op = match kind {
                        AtomicKind::VolatileLoad => Op::Read,
                        AtomicKind::VolatileStore => Op::Write,
                        _ => Op::Atomic,
                    };
                    (Access::Atomic { kind, scope, order }, op, access.volatile)
                }
            };
            let pointer = values.pointer(access.space, access.address, access.element_offset)?;
            Some(Checked {
                pointer,
                size,
                access: access_kind,
                op,
                volatile,
                asynchronous: candidate.asynchronous,
            })
        }
    }
}
