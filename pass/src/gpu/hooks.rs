//! Calls of the device runtime beside what synchronises, and the accesses that
//! NVVM intrinsics make. The instructions themselves stay.
//!
//! Whatever may order threads in a way that the clocks on the GPU do not show is
//! announced ([`IRREGULAR`]) before it happens: from there on, conflicting accesses count as
//! undecided, never as races. So an instruction that is not known here costs
//! verdicts, and no false alarm.

use std::ffi::c_uint;

use gpurace_abi::meta::{Op, Site, Space, Verdict};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionSetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode, LLVMTypeKind};

use super::asm::{self, Candidate};
use super::values::Values;
use crate::ir::address_space;
use crate::position::Positions;
use crate::ptx::effects::{AccessKind, Size};
use crate::ptx::op::AtomOp;
use crate::ptx::types::{Space as PtxSpace, Ty};
use crate::ptx::{self, Stmt};
use crate::sites::{Access, AccessSite};
use crate::{atomics, instrument, ir};

/// Called before what orders threads in no way that the clocks show.
const IRREGULAR: &str = "__gpurace_irregular";

/// What was found.
#[derive(Debug, Default)]
pub struct Hooked {
    /// Accesses by intrinsics and inline PTX, to be checked as others.
    pub accesses: Vec<AccessSite>,
    /// Their descriptions.
    pub sites: Vec<Site>,
    /// How many instructions make accesses that are not checked.
    pub unseen: u32,
    /// How many asynchronous copies there are: they are checked where they begin.
    pub copies: u32,
    /// How many accesses to textures and surfaces there are, which are not checked.
    pub fetches: u32,
    /// Something may release to another block.
    pub orders: bool,
}

/// What an instruction does to the order of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Orders {
    /// A barrier of the whole block.
    Block,
    /// A sync of the warp's lanes in a mask.
    Warp(LLVMValueRef),
    /// The thread ends.
    End,
    /// A fence, an acquire, a named barrier, an mbarrier, or not known.
    Irregular,
}

/// Inserts the calls.
///
/// # Safety
/// `module` is live and not normalised.
pub unsafe fn insert(module: LLVMModuleRef, positions: &mut Positions) -> Hooked {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        let mut hooks = Hooks { module, builder, positions, hooked: Hooked::default() };
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMCall if ir::calls_asm(instruction) => hooks.asm(function, instruction),
                    LLVMOpcode::LLVMCall => hooks.intrinsic(function, instruction),
                    LLVMOpcode::LLVMFence => {
                        hooks.hooked.orders = true;
                        hooks.order(instruction, Orders::Irregular);
                    }
                    LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                        hooks.hooked.orders |= atomics::semantics(instruction).1 != Order::Relaxed;
                    }
                    LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => {
                        let atomic = llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
                        if LLVMGetOrdering(instruction) != atomic {
                            hooks.hooked.orders |= atomics::semantics(instruction).1 != Order::Relaxed;
                        }
                    }
                    _ => {}
                }
            }
        }
        LLVMDisposeBuilder(builder);
        hooks.hooked
    }
}

/// Calls a function of the device runtime at the builder's position.
///
/// # Safety
/// The builder is positioned in `module`.
pub unsafe fn call(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    name: &str,
    result: LLVMTypeRef,
    arguments: &mut [LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let mut types: Vec<_> = arguments.iter().map(|&a| LLVMTypeOf(a)).collect();
        let ty = LLVMFunctionType(result, types.as_mut_ptr(), types.len() as c_uint, 0);
        let symbol = ir::c(name);
        let mut function = LLVMGetNamedFunction(module, symbol.as_ptr());
        if function.is_null() {
            function = LLVMAddFunction(module, symbol.as_ptr(), ty);
            let kind = LLVMGetEnumAttributeKindForName(c"convergent".as_ptr(), 10);
            let attribute = LLVMCreateEnumAttribute(ir::context(module), kind, 0);
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
        }
        LLVMBuildCall2(builder, ty, function, arguments.as_mut_ptr(), arguments.len() as c_uint, c"".as_ptr())
    }
}

/// A module while calls are inserted; made by [`insert`], by whose contract the module is live, as is each instruction
/// that a method is given.
struct Hooks<'a> {
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    positions: &'a mut Positions,
    hooked: Hooked,
}

/// An access that is to be checked.
struct Checked {
    pointer: LLVMValueRef,
    /// Bytes; 0 where not constant.
    size: u64,
    access: Access,
    op: Op,
    volatile: bool,
    asynchronous: bool,
}

impl Hooks<'_> {
    /// Notes an access, to be checked before `at`; it is `of`'s, which says its position.
    unsafe fn note(&mut self, function: LLVMValueRef, at: LLVMValueRef, of: LLVMValueRef, checked: Checked) {
        let Checked { pointer, size, access, op, volatile, asynchronous } = checked;
        self.hooked.accesses.push(AccessSite { instruction: at, function, pointer, size, access });
        self.hooked.sites.push(Site {
            op,
            size: size as u32,
            space: Space::Generic,
            volatile,
            asynchronous,
            // SAFETY: by `insert`'s contract.
            frames: unsafe { self.positions.of_instruction(of) },
            verdict: Verdict::Checked,
        });
    }

    unsafe fn order(&mut self, instruction: LLVMValueRef, orders: Orders) {
        let (module, builder) = (self.module, self.builder);
        // SAFETY: by `insert`'s contract.
        unsafe {
            let context = ir::context(module);
            let void = LLVMVoidTypeInContext(context);
            LLVMPositionBuilderBefore(builder, instruction);
            let behind = LLVMGetNextInstruction(instruction);
            let around = |before: &str, after: &str, ty: LLVMTypeRef, arguments: &mut [LLVMValueRef]| {
                let state = call(module, builder, before, ty, arguments);
                if !behind.is_null() {
                    LLVMPositionBuilderBefore(builder, behind);
                    call(module, builder, after, void, &mut [state]);
                }
            };
            match orders {
                Orders::Block => around(
                    "__gpurace_before_barrier",
                    "__gpurace_after_barrier",
                    LLVMInt64TypeInContext(context),
                    &mut [],
                ),
                Orders::Warp(mask) => around(
                    "__gpurace_before_syncwarp",
                    "__gpurace_after_syncwarp",
                    LLVMInt32TypeInContext(context),
                    &mut [mask],
                ),
                Orders::End => {
                    call(module, builder, "__gpurace_leave", void, &mut []);
                }
                Orders::Irregular => {
                    call(module, builder, IRREGULAR, void, &mut []);
                }
            }
        }
    }

    unsafe fn intrinsic(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let Some(callee) = ir::callee(instruction) else { return };
            let full = ir::name(callee);
            let Some(name) = full.strip_prefix("llvm.nvvm.") else { return };
            let argument = |n| LLVMGetOperand(instruction, n);
            let orders = match name {
                "barrier0" | "barrier0.popc" | "barrier0.and" | "barrier0.or" => Orders::Block,
                "bar.sync" | "barrier.n" | "barrier.sync" if is_zero(argument(0)) => Orders::Block,
                "bar.warp.sync" => Orders::Warp(argument(0)),
                "exit" => Orders::End,
                // Their thread alone waits for its copies: nobody else is ordered.
                "cp.async.commit.group" | "cp.async.wait.group" | "cp.async.wait.all" => return,
                _ if name.starts_with("membar.") || name.starts_with("fence.") => {
                    self.hooked.orders = true;
                    Orders::Irregular
                }
                _ if name.starts_with("cp.async.c") && name.contains(".shared.global.") => {
                    return self.copy(function, instruction, name);
                }
                _ if ["bar.", "barrier", "mbarrier.", "cp.async", "griddepcontrol"].iter().any(|p| name.starts_with(p)) => {
                    self.hooked.orders |= name.starts_with("barrier.cluster");
                    self.hooked.unseen += u32::from(name.contains("shared.global") || name.contains(".bulk.tensor"));
                    Orders::Irregular
                }
                _ if ["tex.", "tld4.", "suld.", "sust."].iter().any(|p| name.starts_with(p)) => {
                    self.hooked.fetches += 1;
                    return;
                }
                _ => {
                    let Some((size, access, op)) = access_of(self.module, name, instruction) else {
                        // Those that touch memory take a pointer; of the others, nothing is to be known.
                        self.hooked.unseen += u32::from(touches_memory(name, instruction));
                        return;
                    };
                    let pointer = argument(0);
                    let checked = Checked { pointer, size, access, op, volatile: false, asynchronous: false };
                    return self.note(function, instruction, instruction, checked);
                }
            };
            self.order(instruction, orders);
        }
    }

    /// An asynchronous copy: `cp.async.cg.shared.global.16`, and with `.s` and how much of it is read.
    unsafe fn copy(&mut self, function: LLVMValueRef, call: LLVMValueRef, name: &str) {
        self.hooked.copies += 1;
        let size = name.split('.').find_map(|part| part.parse::<u64>().ok()).unwrap_or(0);
        // SAFETY: by `insert`'s contract; the intrinsic's arguments are where to, where from, and how much.
        unsafe {
            let length = LLVMConstInt(LLVMInt64TypeInContext(ir::context(self.module)), size, 0);
            let mut read = length;
            if name.ends_with(".s") {
                LLVMPositionBuilderBefore(self.builder, call);
                read = self.least(LLVMGetOperand(call, 2), length);
            }
            let side = |pointer, length, access, op| Checked { pointer, size: length, access, op, volatile: false, asynchronous: true };
            let (to, from) = (LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
            self.note(function, call, call, side(from, size, Access::ReadRange { length: read }, Op::Read));
            self.note(function, call, call, side(to, size, Access::WriteRange { length }, Op::Write));
        }
    }

    /// The lesser of a number and a length of 64 bits, at the builder's position.
    unsafe fn least(&self, number: LLVMValueRef, length: LLVMValueRef) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: by `insert`'s contract an integer of at most 64 bits.
        unsafe {
            let number = LLVMBuildZExtOrBitCast(self.builder, number, LLVMTypeOf(length), name);
            let is_less = LLVMBuildICmp(self.builder, llvm_sys::LLVMIntPredicate::LLVMIntULT, number, length, name);
            LLVMBuildSelect(self.builder, is_less, number, length, name)
        }
    }

    unsafe fn asm(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let (template, constraints) = ir::asm_text(instruction);
            let Ok(parsed) = ptx::parse(&template, &constraints) else {
                self.hooked.unseen += 1;
                self.hooked.orders = true;
                return self.order(instruction, Orders::Irregular);
            };
            let found = asm::of_asm(&parsed);
            self.hooked.unseen += found.unseen;
            self.hooked.copies += found.copies;
            self.hooked.fetches += found.fetches;
            self.hooked.orders |= found.releases;
            let mut orders = found.orders;
            // Before what is called of the checker's: what it announces goes for all of the asm's accesses.
            LLVMPositionBuilderBefore(self.builder, instruction);
            let mut values = Values::new(&parsed, instruction, self.module, self.builder);
            let mut checks = Vec::new();
            let mut accesses = found.accesses.iter().peekable();
            for (n, statement) in parsed.statements.iter().enumerate() {
                while let Some(candidate) = accesses.next_if(|candidate| candidate.statement == n) {
                    match self.check_of(&mut values, statement, candidate) {
                        Some(check) => checks.push(check),
                        None => {
                            self.hooked.unseen += 1;
                            if asm::is_strong(&candidate.access) {
                                orders = Some(asm::Orders::Irregular);
                            }
                        }
                    }
                }
                values.pass(statement);
            }
            // Checks under guards come before the others: what one of the accesses acquires is announced for all.
            let acquires = |(_, checked): &(_, Checked)| matches!(checked.access, Access::Atomic { order, .. } if order != Order::Relaxed);
            if checks.len() > 1 && checks.iter().any(acquires) {
                orders = Some(asm::Orders::Irregular);
            }
            match orders {
                None => {}
                Some(asm::Orders::Block) => self.order(instruction, Orders::Block),
                Some(asm::Orders::Warp(n)) => self.order(instruction, Orders::Warp(LLVMGetOperand(instruction, n))),
                Some(asm::Orders::End) => self.order(instruction, Orders::End),
                Some(asm::Orders::Irregular) => self.order(instruction, Orders::Irregular),
            }
            for (guard, checked) in checks {
                let at = guard.map_or(instruction, |guard| self.guarded(guard, instruction));
                self.note(function, at, instruction, checked);
            }
        }
    }

    /// The end of a block of its own before an instruction, which `guard` alone leads to.
    unsafe fn guarded(&self, guard: LLVMValueRef, instruction: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by `insert`'s contract.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction);
            let location = llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(instruction);
            LLVMSetCurrentDebugLocation2(self.builder, location);
            let rest = instrument::open_branch(self.builder, guard, instruction);
            let end = LLVMBuildBr(self.builder, rest);
            LLVMInstructionSetDebugLoc(end, location);
            end
        }
    }

    /// The check of an access, and under which condition; `None` where its address, its size or its guard is not known before the asm.
    unsafe fn check_of(
        &self,
        values: &mut Values<'_>,
        statement: &Stmt,
        candidate: &Candidate<'_>,
    ) -> Option<(Option<LLVMValueRef>, Checked)> {
        let access = &candidate.access;
        // SAFETY: by `insert`'s contract.
        unsafe {
            if matches!(statement.op, ptx::Op::Atom { op: AtomOp::CompareAndSwap, .. }) && !atomics::may_fail(values.call()) {
                return None;
            }
            let guard = match statement.guard {
                Some(guard) => Some(values.holds(guard)?),
                None => None,
            };
            let long = LLVMInt64TypeInContext(ir::context(self.module));
            let number = |n: u64| LLVMConstInt(long, n, 0);
            let (size, mut length) = match &access.size {
                Size::Bytes(size) => (u64::from(*size), number(u64::from(*size))),
                // How much a copy reads, which writes at most 16 bytes.
                Size::Operand(operand) => (0, self.least(values.get(operand, Ty::U(32))?, number(16))),
            };
            if let Some(unless) = candidate.unless {
                let unless = values.get(unless, Ty::Pred)?;
                length = LLVMBuildSelect(self.builder, unless, number(0), length, c"".as_ptr());
            }
            let (access_kind, op, volatile) = match access.kind {
                AccessKind::Read => (Access::ReadRange { length }, Op::Read, false),
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
            let base = values.get(&access.address.base, Ty::U(64))?;
            let offset = access.address.offset + i64::from(access.element_offset);
            let name = c"".as_ptr();
            let address = LLVMBuildAdd(self.builder, base, LLVMConstInt(long, offset as u64, 1), name);
            let space = if access.space == PtxSpace::Shared { address_space::SHARED } else { address_space::GENERIC };
            let pointer = LLVMBuildIntToPtr(self.builder, address, LLVMPointerTypeInContext(ir::context(self.module), space), name);
            let asynchronous = candidate.asynchronous;
            Some((guard, Checked { pointer, size, access: access_kind, op, volatile, asynchronous }))
        }
    }
}

unsafe fn is_zero(value: LLVMValueRef) -> bool {
    // SAFETY: by `insert`'s contract.
    unsafe { !LLVMIsAConstantInt(value).is_null() && LLVMConstIntGetZExtValue(value) == 0 }
}

/// The access of a load or an atomic that is an intrinsic: its pointer is the first argument.
unsafe fn access_of(module: LLVMModuleRef, name: &str, call: LLVMValueRef) -> Option<(u64, Access, Op)> {
    // SAFETY: by `insert`'s contract.
    let size = || unsafe { ir::store_size(module, LLVMTypeOf(call)) };
    if name.starts_with("ldg.") || name.starts_with("ldu.") {
        return Some((size(), Access::Load, Op::Read));
    }
    name.starts_with("atomic.").then(|| {
        let scope = match name {
            _ if name.contains(".cta.") => Scope::Block,
            _ if name.contains(".sys.") => Scope::System,
            _ => Scope::Device,
        };
        (size(), Access::Atomic { kind: AtomicKind::Rmw, scope, order: Order::Relaxed }, Op::Atomic)
    })
}

/// Whether an intrinsic that is not known here may touch memory.
unsafe fn touches_memory(name: &str, call: LLVMValueRef) -> bool {
    let harmless = ["ptr.", "isspacep.", "mapa", "getctarank", "move.", "is_explicit", "prefetch"];
    // SAFETY: by `insert`'s contract.
    unsafe {
        !harmless.iter().any(|p| name.starts_with(p))
            && (0..LLVMGetNumArgOperands(call)).any(|n| {
                LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n))) == LLVMTypeKind::LLVMPointerTypeKind
            })
    }
}
