//! Hooks of NVVM intrinsics.

use gpurace_abi::meta::Op;
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Checked, Hooks, Step, is_zero};
use crate::checks::sites::Access;
use crate::gpu::matrix::Moved;
use crate::ir;

/// Bytes of an mbarrier.
const MBARRIER: u64 = 8;
/// How the names of intrinsics that may order threads begin, without `llvm.nvvm.`.
const ORDERING: [&str; 7] =
    ["bar.", "barrier", "membar.", "fence.", "mbarrier.", "cp.async", "griddepcontrol"];
/// The same for accesses through textures and surfaces.
const FETCHES: [&str; 4] = ["tex.", "tld4.", "suld.", "sust."];

impl Hooks<'_> {
    /// Inserts the calls beside an intrinsic.
    pub(super) unsafe fn intrinsic(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let Some(callee) = ir::callee(instruction) else { return };
            let full = ir::name(callee);
            let Some(name) = full.strip_prefix("llvm.nvvm.") else { return };
            let begins = |with: &[&str]| with.iter().any(|start| name.starts_with(start));
            self.open(None, instruction, instruction);
            let steps = if let Some(steps) = self.steps_of(name, instruction) {
                steps
            } else if begins(&ORDERING) {
                self.hooked.unseen +=
                    u32::from(name.contains("shared.global") || name.contains(".bulk.tensor"));
                return self.irregular(instruction);
            } else if let Some((size, access, op)) = access_of(self.module, name, instruction) {
                vec![Step::Check(Checked::new(LLVMGetOperand(instruction, 0), size, access, op))]
            } else {
                // An intrinsic that takes no pointer touches no memory.
                self.hooked.unseen += u32::from(begins(&FETCHES) || touches_memory(name, instruction));
                return;
            };
            self.beside(function, instruction, steps.into_iter().map(|step| (None, step)).collect());
        }
    }

    /// The steps of an intrinsic of which all effects are known, or `None` for others. The builder
    /// stands before it.
    unsafe fn steps_of(&self, name: &str, instruction: LLVMValueRef) -> Option<Vec<Step>> {
        // SAFETY: by `insert`'s contract; intrinsics have the arguments that LLVM says.
        unsafe {
            let argument = |n| LLVMGetOperand(instruction, n);
            Some(vec![match name {
                _ if name.starts_with("barrier.cta.") && name.ends_with(".all") && is_zero(argument(0)) => {
                    Step::Block
                }
                "bar.warp.sync" => Step::Warp(argument(0)),
                "exit" => Step::End,
                // They order the thread alone, or nothing. The executor does not check the last three either.
                "cp.async.commit.group"
                | "cp.async.wait.group"
                | "cp.async.wait.all"
                | "mbarrier.inval"
                | "mbarrier.inval.shared"
                | "mbarrier.pending.count" => return Some(Vec::new()),
                // A fence between the proxies of one thread.
                _ if name.starts_with("fence.proxy.")
                    && !name.contains("acquire")
                    && !name.contains("release") =>
                {
                    return Some(Vec::new());
                }
                _ if name.starts_with("cp.async.c") && name.contains(".shared.global.") => {
                    return Some(self.copy(instruction, name));
                }
                _ if name.starts_with("cp.async.mbarrier.arrive") => {
                    arrive(argument(0), AtomicKind::Reduction)
                }
                "mbarrier.init" | "mbarrier.init.shared" => {
                    let access = Access::WriteRange { length: self.calls.i64(MBARRIER) };
                    Step::Check(Checked::new(argument(0), MBARRIER, access, Op::Write))
                }
                "mbarrier.test.wait" | "mbarrier.test.wait.shared" => {
                    let access =
                        Access::Atomic { kind: AtomicKind::Load, scope: Scope::Block, order: Order::Acquire };
                    Step::Check(Checked::new(argument(0), MBARRIER, access, Op::Atomic))
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
                Step::Check(Checked { asynchronous: true, ..Checked::new(pointer, size, access, op) })
            };
            let (to, from) = (LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
            vec![
                side(from, Access::AsyncRead { length: read }, Op::Read),
                side(to, Access::AsyncWrite { length }, Op::Write),
            ]
        }
    }
}

/// An arrival at an mbarrier. `kind` is a reduction if copies make it.
fn arrive(mbarrier: LLVMValueRef, kind: AtomicKind) -> Step {
    let access = Access::Atomic { kind, scope: Scope::Block, order: Order::Release };
    Step::Check(Checked::new(mbarrier, MBARRIER, access, Op::Atomic))
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
