//! Inserts a check before each access, and fills in the `sync` arguments.
//!
//! A check stands right before its access, in the same basic block, so that
//! both are reached together; but for accesses that another check stands for ([`crate::covered`]): these have
//! none, or one that a loop's first iteration alone comes to. Nothing else of the program changes: values,
//! control flow and floating-point arithmetic stay as they were.

use gpurace_abi::scope::AtomicKind;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use crate::atomics;
use crate::covered::Spared;
use crate::covered::once::Loop;
use crate::entry_calls::EntryCalls;
use crate::ir;
use crate::sites::{self, Access, AccessSite};

/// Called behind an atomic or volatile access, with what its check was called with.
pub const ATOMIC_DONE: &str = "__gpurace_atomic_done";

/// Largest access that a check passes by size alone, bytes.
const MAX_SCALAR: u64 = 16;

unsafe extern "C" {
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
}

/// Inserts the checks of `accesses` into their module, but for those that are spared.
///
/// # Safety
/// `module` is live; the accesses are its.
pub unsafe fn insert_checks(module: LLVMModuleRef, accesses: &[AccessSite], spared: &Spared) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        // Before blocks are split, which the loops name.
        let firsts: Vec<_> = spared.once.loops.iter().map(|of| is_first(builder, of)).collect();
        for (id, site) in accesses.iter().enumerate() {
            if let Some(Some(_)) = spared.covered.get(id) {
                continue;
            }
            LLVMPositionBuilderBefore(builder, site.instruction);
            LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(site.instruction));
            let once = spared.once.of.get(id).copied().flatten();
            match once {
                None => insert_check(&calls, builder, id as u64, site),
                Some(of) => {
                    let rest = open_branch(builder, firsts[of], site.instruction);
                    insert_check(&calls, builder, id as u64, site);
                    LLVMBuildBr(builder, rest);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Whether a loop is in its first iteration: a phi in its header.
unsafe fn is_first(builder: LLVMBuilderRef, of: &Loop) -> LLVMValueRef {
    // SAFETY: by contract; the header has an instruction, its terminator.
    unsafe {
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(of.header));
        LLVMSetCurrentDebugLocation2(builder, std::ptr::null_mut());
        let truth = LLVMInt1TypeInContext(LLVMGetTypeContext(LLVMTypeOf(LLVMBasicBlockAsValue(of.header))));
        let first = LLVMBuildPhi(builder, truth, c"first".as_ptr());
        for block in ir::blocks(LLVMGetBasicBlockParent(of.header)) {
            for _ in ir::successors(block).into_iter().filter(|&next| next == of.header) {
                let mut value = LLVMConstInt(truth, u64::from(!of.body.contains(&block)), 0);
                let mut from = block;
                LLVMAddIncoming(first, &mut value, &mut from, 1);
            }
        }
        first
    }
}

/// Begins a block that `condition` alone leads to, before an instruction; the builder stands at its
/// end. Gives the block that the instruction is then first in.
///
/// # Safety
/// The condition is known before the instruction; the caller ends the block that is begun.
pub unsafe fn open_branch(
    builder: LLVMBuilderRef,
    condition: LLVMValueRef,
    instruction: LLVMValueRef,
) -> LLVMBasicBlockRef {
    // SAFETY: by contract; the block before the split ends with a branch, which is replaced.
    unsafe {
        let before = LLVMGetInstructionParent(instruction);
        let location = LLVMGetCurrentDebugLocation2(builder);
        let rest = gpurace_split_before(instruction);
        LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(before));
        let context = LLVMGetTypeContext(LLVMTypeOf(condition));
        let then = LLVMInsertBasicBlockInContext(context, rest, c"".as_ptr());
        LLVMPositionBuilderAtEnd(builder, before);
        LLVMSetCurrentDebugLocation2(builder, location);
        LLVMBuildCondBr(builder, condition, then, rest);
        LLVMPositionBuilderAtEnd(builder, then);
        rest
    }
}

unsafe fn insert_check(calls: &EntryCalls, builder: LLVMBuilderRef, id: u64, site: &AccessSite) {
    // SAFETY: by contract.
    unsafe {
        let Some(mut arguments) = check_before(calls, builder, id, site) else { return };
        // Once it has happened, a read may acquire, and a write has
        // replaced the value that others might still have seen.
        let next = LLVMGetNextInstruction(site.instruction);
        if !next.is_null() {
            LLVMPositionBuilderBefore(builder, next);
            calls.call(builder, ATOMIC_DONE, &mut arguments);
        }
    }
}

/// Inserts what comes before an access, at the builder's position. Gives what [`ATOMIC_DONE`] is to be called with behind an access that is
/// atomic or volatile.
///
/// # Safety
/// The builder is positioned where the access's pointer and length are known; a compare-and-swap is the instruction that follows.
pub unsafe fn check_before(
    calls: &EntryCalls,
    builder: LLVMBuilderRef,
    id: u64,
    site: &AccessSite,
) -> Option<[LLVMValueRef; 6]> {
    // SAFETY: by contract.
    unsafe {
        let address = calls.generic_pointer(builder, site.pointer);
        let size32 = calls.i32(site.size);
        let id = calls.i32(id);
        match site.access {
            Access::Load if site.size <= MAX_SCALAR => {
                calls.call(builder, "__gpurace_read", &mut [address, size32, id]);
            }
            Access::Load => {
                calls.call(builder, "__gpurace_read_range", &mut [address, calls.i64(site.size), id]);
            }
            Access::Store => match value_bits(calls, builder, site) {
                Some(bits) => {
                    calls.call(builder, "__gpurace_write", &mut [address, size32, id, bits]);
                }
                None => {
                    calls.call(builder, "__gpurace_write_range", &mut [address, calls.i64(site.size), id]);
                }
            },
            Access::ReadRange { length } => {
                let length = as_i64(calls, builder, length);
                calls.call(builder, "__gpurace_read_range", &mut [address, length, id]);
            }
            Access::WriteRange { length } => {
                let length = as_i64(calls, builder, length);
                calls.call(builder, "__gpurace_write_range", &mut [address, length, id]);
            }
            Access::AsyncRead { length } => {
                let length = as_i64(calls, builder, length);
                calls.call(builder, "__gpurace_async_read", &mut [address, length, id]);
            }
            Access::AsyncWrite { length } => {
                let length = as_i64(calls, builder, length);
                calls.call(builder, "__gpurace_async_write", &mut [address, length, id]);
            }
            Access::Atomic { kind, scope, order } => {
                let swaps = atomics::may_fail(site.instruction) && site.size <= 8;
                let kind = match swaps.then(|| decide_swap(builder, site)) {
                    Some(swaps) => LLVMBuildSelect(
                        builder,
                        swaps,
                        calls.i32(kind as u64),
                        calls.i32(AtomicKind::Load as u64),
                        c"".as_ptr(),
                    ),
                    None => calls.i32(kind as u64),
                };
                let mut arguments =
                    [address, size32, id, kind, calls.i32(scope as u64), calls.i32(order as u64)];
                calls.call(builder, "__gpurace_atomic", &mut arguments);
                return Some(arguments);
            }
        }
        None
    }
}

/// The first instruction of an access with its check: the access itself, where it has none before it.
///
/// # Safety
/// `access` is live.
pub unsafe fn start_of(access: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract; the calls have the operands that `insert_check` gives them.
    unsafe {
        let is_check = |i: LLVMValueRef| {
            ir::opcode(i) == LLVMOpcode::LLVMCall
                && ir::callee(i).is_some_and(|callee| ir::name(callee) == "__gpurace_atomic")
        };
        let mut check = LLVMGetPreviousInstruction(access);
        if check.is_null() || !is_check(check) {
            return access;
        }
        // Elements of a vector have one each, and between them stand addresses alone.
        let mut before = check;
        for _ in 1..sites::elements(access) {
            loop {
                before = LLVMGetPreviousInstruction(before);
                if before.is_null() {
                    return check;
                }
                if is_check(before) {
                    check = before;
                    break;
                }
            }
        }
        let kind = LLVMGetOperand(check, 3);
        if ir::value_opcode(kind) != Some(LLVMOpcode::LLVMSelect) {
            return check;
        }
        // As `decide_swap` has built it: what was seen is compared.
        LLVMGetOperand(LLVMGetOperand(kind, 0), 0)
    }
}

/// Decides, before a compare-and-swap, whether it finds what it expects: a check has to know
/// before the access whether that will write. Where it does not, the swap is over with that look: what is
/// left of it stores the value that was seen there, if that is there still, and changes nothing.
/// Returns whether it found what it expects. Only where another processor changes the value between the look
/// and the swap does the swap fail nevertheless.
unsafe fn decide_swap(builder: LLVMBuilderRef, site: &AccessSite) -> LLVMValueRef {
    // SAFETY: by contract a `cmpxchg`, or a call that does the same, before which the builder stands.
    unsafe {
        let swap = site.instruction;
        let is_call = ir::opcode(swap) == LLVMOpcode::LLVMCall;
        let [of_expected, of_new] = atomics::swap_operands(swap).unwrap_or([1, 2]);
        let (expected, new) = (LLVMGetOperand(swap, of_expected), LLVMGetOperand(swap, of_new));
        let seen = LLVMBuildLoad2(builder, LLVMTypeOf(expected), site.pointer, c"".as_ptr());
        LLVMSetOrdering(seen, LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic);
        LLVMSetAlignment(seen, if is_call { site.size as u32 } else { LLVMGetAlignment(swap) });
        let swaps = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntEQ, seen, expected, c"".as_ptr());
        LLVMSetOperand(swap, of_expected, seen);
        LLVMSetOperand(swap, of_new, LLVMBuildSelect(builder, swaps, new, seen, c"".as_ptr()));
        let uses = ir::uses(swap);
        if !uses.is_empty() {
            let after = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(swap)));
            LLVMPositionBuilderBefore(after, LLVMGetNextInstruction(swap));
            LLVMSetCurrentDebugLocation2(after, LLVMInstructionGetDebugLoc(swap));
            let result = if is_call {
                LLVMBuildSelect(after, swaps, swap, seen, c"".as_ptr())
            } else {
                let part = |i| LLVMBuildExtractValue(after, swap, i, c"".as_ptr());
                let (old, done) = (part(0), part(1));
                let old = LLVMBuildSelect(after, swaps, old, seen, c"".as_ptr());
                let done = LLVMBuildAnd(after, swaps, done, c"".as_ptr());
                let nothing = LLVMGetUndef(LLVMTypeOf(swap));
                let result = LLVMBuildInsertValue(after, nothing, old, 0, c"".as_ptr());
                LLVMBuildInsertValue(after, result, done, 1, c"".as_ptr())
            };
            for (user, operand) in uses {
                LLVMSetOperand(user, operand, result);
            }
            LLVMDisposeBuilder(after);
        }
        swaps
    }
}

/// The length of a memory intrinsic, `i32` or `i64`, as `i64`.
unsafe fn as_i64(calls: &EntryCalls, builder: LLVMBuilderRef, length: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract an integer of at most 64 bits.
    unsafe {
        if LLVMTypeOf(length) == calls.i64_type() {
            length
        } else {
            LLVMBuildZExt(builder, length, calls.i64_type(), c"".as_ptr())
        }
    }
}

/// The bytes about to be stored, zero-extended to 64 bits, or `None` where they do not fit.
unsafe fn value_bits(calls: &EntryCalls, builder: LLVMBuilderRef, site: &AccessSite) -> Option<LLVMValueRef> {
    // SAFETY: by contract the site is a store.
    unsafe {
        let value = LLVMGetOperand(site.instruction, 0);
        let ty = LLVMTypeOf(value);
        if site.size == 0 || site.size > 8 {
            return None;
        }
        let context = LLVMGetTypeContext(ty);
        let bits = match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMIntegerTypeKind => value,
            LLVMTypeKind::LLVMPointerTypeKind => {
                LLVMBuildPtrToInt(builder, value, calls.i64_type(), c"".as_ptr())
            }
            LLVMTypeKind::LLVMHalfTypeKind
            | LLVMTypeKind::LLVMBFloatTypeKind
            | LLVMTypeKind::LLVMFloatTypeKind
            | LLVMTypeKind::LLVMDoubleTypeKind => {
                let int = LLVMIntTypeInContext(context, 8 * site.size as u32);
                LLVMBuildBitCast(builder, value, int, c"".as_ptr())
            }
            LLVMTypeKind::LLVMVectorTypeKind => {
                let element = LLVMGetElementType(ty);
                if matches!(LLVMGetTypeKind(element), LLVMTypeKind::LLVMPointerTypeKind)
                    || (matches!(LLVMGetTypeKind(element), LLVMTypeKind::LLVMIntegerTypeKind)
                        && LLVMGetIntTypeWidth(element) % 8 != 0)
                {
                    return None;
                }
                let width = ir::alloc_size(calls.module(), element) * u64::from(LLVMGetVectorSize(ty));
                if width > 8 {
                    return None;
                }
                let int = LLVMIntTypeInContext(context, 8 * width as u32);
                LLVMBuildBitCast(builder, value, int, c"".as_ptr())
            }
            _ => return None,
        };
        let ty = LLVMTypeOf(bits);
        Some(if LLVMGetIntTypeWidth(ty) < 64 {
            LLVMBuildZExt(builder, bits, calls.i64_type(), c"".as_ptr())
        } else {
            bits
        })
    }
}
