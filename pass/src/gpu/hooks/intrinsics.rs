//! Hooks of NVVM intrinsics, and of `malloc` and `free` of device code.

use gpurace_abi::entry::Entry;
use gpurace_abi::meta::Op;
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Checked, Hooks, MBARRIER, Step, arrive};
use crate::checks::sites::Access;
use crate::gpu::asm::{self, Tells};
use crate::gpu::fetches;
use crate::gpu::matrix::Moved;
use crate::ir;

impl Hooks<'_> {
    /// Inserts the calls beside an intrinsic.
    pub(super) unsafe fn intrinsic(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let Some(callee) = ir::callee(instruction) else { return };
            let full = ir::name(callee);
            let Some(name) = full.strip_prefix("llvm.nvvm.") else {
                if let Some(step) = self.of_heap(&full, callee, instruction) {
                    self.beside(function, instruction, vec![(None, step)]);
                }
                return;
            };
            self.open(None, instruction, instruction);
            let steps = match self.steps_of(name, instruction) {
                Some(steps) => steps,
                None if [
                    "bar.",
                    "barrier",
                    "membar.",
                    "fence.",
                    "mbarrier.",
                    "cp.async",
                    "griddepcontrol",
                ]
                .iter()
                .any(|p| name.starts_with(p)) =>
                {
                    self.hooked.unseen +=
                        u32::from(name.contains("shared.global") || name.contains(".bulk.tensor"));
                    return self.irregular(instruction);
                }
                None => {
                    match access_of(self.module, name, instruction) {
                        Some((size, access, op)) => vec![Step::Check(
                            Checked::new(LLVMGetOperand(instruction, 0), size, access, op),
                            None,
                        )],
                        None if fetches::is_fetch(name) => match fetches::of_intrinsic(name, instruction) {
                            Some(fetch) => vec![Step::Fetch(fetch)],
                            None => {
                                self.hooked.fetches += 1;
                                return;
                            }
                        },
                        None => {
                            // An intrinsic that takes no pointer touches no memory.
                            self.hooked.unseen += u32::from(touches_memory(name, instruction));
                            return;
                        }
                    }
                }
            };
            self.beside(function, instruction, steps.into_iter().map(|step| (None, step)).collect());
        }
    }

    /// The step of a call of `malloc` or `free`: accesses before a `free` happen before those after
    /// the `malloc` that returns the same memory.
    unsafe fn of_heap(&self, name: &str, callee: LLVMValueRef, instruction: LLVMValueRef) -> Option<Step> {
        // SAFETY: by `insert`'s contract; a program may declare such functions as it likes.
        unsafe {
            let is_pointer = |value| LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMPointerTypeKind;
            if LLVMIsDeclaration(callee) == 0 || LLVMGetNumArgOperands(instruction) != 1 {
                return None;
            }
            let argument = LLVMGetOperand(instruction, 0);
            match name {
                "free" if is_pointer(argument) => Some(Step::Calls {
                    before: vec![(Entry::Happens, vec![argument, self.calls.i32(0)])],
                    after: Vec::new(),
                }),
                "malloc" if is_pointer(instruction) => Some(Step::Calls {
                    before: Vec::new(),
                    after: vec![(Entry::Happens, vec![instruction, self.calls.i32(1)])],
                }),
                _ => None,
            }
        }
    }

    /// The steps of an intrinsic that synchronises or copies, or `None` for others. The builder
    /// stands before it.
    unsafe fn steps_of(&self, name: &str, instruction: LLVMValueRef) -> Option<Vec<Step>> {
        // SAFETY: by `insert`'s contract; intrinsics have the arguments that LLVM says.
        unsafe {
            let argument = |n| LLVMGetOperand(instruction, n);
            let full_fence = |scope| self.fence(scope, Order::SeqCst, false);
            Some(vec![match name {
                _ if name.starts_with("barrier.cta.") => {
                    let waits = !name.starts_with("barrier.cta.arrive.");
                    self.barrier(argument(0), name.ends_with(".count"), waits)
                }
                "bar.warp.sync" => Step::Warp(argument(0)),
                "exit" => Step::End,
                "membar.cta" => full_fence(Scope::Block),
                "fence.sc.cluster" => full_fence(Scope::Cluster),
                "membar.gl" => full_fence(Scope::Device),
                "membar.sys" => full_fence(Scope::System),
                _ if asm::is_fence_of_proxies(name) => return Some(Vec::new()),
                "cp.async.commit.group" => Self::commit(),
                "cp.async.wait.group" => self.wait(Some(argument(0))),
                "cp.async.wait.all" => self.wait(None),
                _ if name.starts_with("cp.async.c") && name.contains(".shared.global.") => {
                    return Some(self.copy(instruction, name));
                }
                _ if name.starts_with("cp.async.mbarrier.arrive") => {
                    let mbarrier = self.calls.generic_pointer(self.builder, argument(0));
                    return Some(vec![self.copies_arrive(mbarrier), arrive(mbarrier, AtomicKind::Reduction)]);
                }
                "barrier.cluster.arrive" | "barrier.cluster.arrive.aligned" => {
                    self.cluster_arrive(Order::Release)
                }
                "barrier.cluster.arrive.relaxed" | "barrier.cluster.arrive.relaxed.aligned" => {
                    self.cluster_arrive(Order::Relaxed)
                }
                "barrier.cluster.wait" | "barrier.cluster.wait.aligned" => self.cluster_wait(),
                // The executor does not check these either.
                "mbarrier.inval" | "mbarrier.inval.shared" | "mbarrier.pending.count" => {
                    return Some(Vec::new());
                }
                "mbarrier.init" | "mbarrier.init.shared" => {
                    let access = Access::WriteRange { length: self.calls.i64(MBARRIER) };
                    Step::Check(Checked::new(argument(0), MBARRIER, access, Op::Write), None)
                }
                "mbarrier.test.wait" | "mbarrier.test.wait.shared" => {
                    let access =
                        Access::Atomic { kind: AtomicKind::Load, scope: Scope::Block, order: Order::Acquire };
                    Step::Check(
                        Checked::new(argument(0), MBARRIER, access, Op::Atomic),
                        Some(Tells { result: 0, over: 1 }),
                    )
                }
                _ if name.starts_with("mbarrier.arrive") => arrive(argument(0), AtomicKind::Rmw),
                _ => Step::Matrix(Moved::of_intrinsic(name, instruction)?),
            }])
        }
    }

    /// The steps of an asynchronous copy, as `cp.async.cg.shared.global.16`. With `.s`, an argument
    /// gives the number of bytes that are read.
    unsafe fn copy(&self, call: LLVMValueRef, name: &str) -> Vec<Step> {
        let size = name.split('.').find_map(|part| part.parse::<u64>().ok()).unwrap_or(0);
        // SAFETY: by `insert`'s contract; the intrinsic's arguments are where to, where from, and how much.
        unsafe {
            let length = self.calls.i64(size);
            let read =
                if name.ends_with(".s") { self.least(LLVMGetOperand(call, 2), length) } else { length };
            let side = |pointer, access, op| {
                Step::Check(Checked { asynchronous: true, ..Checked::new(pointer, size, access, op) }, None)
            };
            let (to, from) = (LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
            vec![
                side(from, Access::AsyncRead { length: read }, Op::Read),
                side(to, Access::AsyncWrite { length }, Op::Write),
            ]
        }
    }
}

/// The size and kind of the access of an intrinsic that loads or is atomic. Its pointer is the first
/// argument.
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

/// True if an unknown intrinsic may touch memory.
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
