//! Inserts a check before each access.
//!
//! A check stands right before its access, in the same basic block, so that control reaches both or
//! neither. Covered reads ([`crate::checks::covered`]) have no check, and an access that is checked
//! once in a loop has one in a basic block of its own, which only the first iteration reaches.
//! Nothing else of the program changes: values, control flow and floating-point arithmetic stay as
//! they were.

use gpurace_abi::entry::Entry;
use gpurace_abi::scope::AtomicKind;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use crate::checks::covered::Spared;
use crate::checks::covered::once::{InFirst, QuietLoop};
use crate::checks::sites::{Access, AccessSite};
use crate::ir;
use crate::ir::entry_calls::{EntryCalls, entry_of};
use crate::translate::atomics;

/// Most bytes of an access whose check takes its size as a 32-bit number.
const MAX_SCALAR: u64 = 16;

unsafe extern "C" {
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
}

/// Inserts the checks of `accesses` into their module, except those that are spared.
///
/// # Safety
/// `module` is live; the accesses are its.
pub unsafe fn insert_checks(module: LLVMModuleRef, accesses: &[AccessSite], spared: &Spared) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        // First, since the insertion of checks splits basic blocks that the loops name.
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
                Some(InFirst { of, value_varies }) => {
                    let rest = open_branch(builder, firsts[of], site.instruction);
                    if value_varies {
                        check_write_of_unknown(&calls, builder, id as u64, site);
                    } else {
                        insert_check(&calls, builder, id as u64, site);
                    }
                    LLVMBuildBr(builder, rest);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Builds a phi in the header of a loop that says whether this is the first iteration.
unsafe fn is_first(builder: LLVMBuilderRef, of: &QuietLoop) -> LLVMValueRef {
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

/// Begins a basic block before an instruction that runs if `condition` holds; the builder stands at
/// its end. Returns the basic block that now begins with the instruction.
///
/// # Safety
/// The condition is computed before the instruction; the caller ends the new basic block.
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

/// Inserts the check of an access, and what follows an atomic one.
unsafe fn insert_check(calls: &EntryCalls, builder: LLVMBuilderRef, id: u64, site: &AccessSite) {
    // SAFETY: by contract.
    unsafe {
        let Some(arguments) = check_before(calls, builder, id, site) else { return };
        // The call stands after the access: then a read may acquire, and a write has replaced the value
        // that other threads could see.
        let next = LLVMGetNextInstruction(site.instruction);
        if !next.is_null() {
            LLVMPositionBuilderBefore(builder, next);
            calls.call(builder, Entry::AtomicDone, &arguments);
        }
    }
}

/// Inserts the check of an access at the builder's position. For an atomic or volatile access it
/// returns the arguments for [`Entry::AtomicDone`].
///
/// # Safety
/// The builder stands where the access's pointer and length are computed; a compare-and-swap is the
/// next instruction.
pub unsafe fn check_before(
    calls: &EntryCalls,
    builder: LLVMBuilderRef,
    id: u64,
    site: &AccessSite,
) -> Option<[LLVMValueRef; 6]> {
    // SAFETY: by contract.
    unsafe {
        let address = calls.generic_pointer(builder, address_of(builder, site));
        let size32 = calls.i32(site.size);
        let number = calls.i32(id);
        let check = |entry, length| {
            calls.call(builder, entry, &[address, length, number]);
        };
        let long = |length| as_i64(calls, builder, length);
        match site.access {
            Access::Load if site.size <= MAX_SCALAR => check(Entry::Read, size32),
            Access::Load => check(Entry::ReadRange, calls.i64(site.size)),
            Access::Store => match value_bits(calls, builder, site) {
                Some(bits) => {
                    calls.call(builder, Entry::Write, &[address, size32, number, bits]);
                }
                None => check_write_of_unknown(calls, builder, id, site),
            },
            Access::ReadRange { length } => check(Entry::ReadRange, long(length)),
            Access::WriteRange { length } => check(Entry::WriteRange, long(length)),
            Access::AsyncRead { length } => check(Entry::AsyncRead, long(length)),
            Access::AsyncWrite { length } => check(Entry::AsyncWrite, long(length)),
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
                let arguments =
                    [address, size32, number, kind, calls.i32(scope as u64), calls.i32(order as u64)];
                calls.call(builder, Entry::Atomic, &arguments);
                return Some(arguments);
            }
        }
        None
    }
}

/// Inserts the check of a store, which does not say what it stores, at the builder's position.
unsafe fn check_write_of_unknown(calls: &EntryCalls, builder: LLVMBuilderRef, id: u64, site: &AccessSite) {
    // SAFETY: by `check_before`'s contract.
    unsafe {
        let address = calls.generic_pointer(builder, address_of(builder, site));
        calls.call(builder, Entry::WriteRange, &[address, calls.i64(site.size), calls.i32(id)]);
    }
}

/// The address of an access, at the builder's position.
unsafe fn address_of(builder: LLVMBuilderRef, site: &AccessSite) -> LLVMValueRef {
    if site.offset == 0 {
        return site.pointer;
    }
    // SAFETY: by `check_before`'s contract.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(site.pointer));
        let (byte, long) = (LLVMInt8TypeInContext(context), LLVMInt64TypeInContext(context));
        let mut offset = LLVMConstInt(long, site.offset, 0);
        LLVMBuildGEP2(builder, byte, site.pointer, &mut offset, 1, c"".as_ptr())
    }
}

/// Returns the first instruction of the code that an access and its checks take. That is the access itself if it has no
/// check.
///
/// # Safety
/// `access` is live.
pub unsafe fn start_of(access: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract; the calls have the operands that `insert_check` gives them.
    unsafe {
        let is_check = |i: LLVMValueRef| entry_of(i) == Some(Entry::Atomic);
        let mut check = LLVMGetPreviousInstruction(access);
        if check.is_null() || !is_check(check) {
            return access;
        }
        // Each element of a vector has a check; only address computations stand between the checks.
        let mut before = check;
        for _ in 1..atomics::elements(access) {
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
        // As `decide_swap` builds it: the value that was seen is compared.
        LLVMGetOperand(LLVMGetOperand(kind, 0), 0)
    }
}

/// Builds a load and a comparison before a compare-and-swap, since a check must know before the access whether it will
/// write. Returns whether the load finds the expected value. If it finds another one, the swap can only store the value
/// that is there, which changes nothing. If it finds the expected value, the swap may still fail: another processor may
/// change the value between the load and the swap.
unsafe fn decide_swap(builder: LLVMBuilderRef, site: &AccessSite) -> LLVMValueRef {
    // SAFETY: by contract a `cmpxchg`, or a call that does the same, before which the builder
    // stands.
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

/// Extends the length of a memory intrinsic to `i64`.
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

/// The bytes that a store writes, zero-extended to 64 bits; `None` if they do not fit.
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
                        && !LLVMGetIntTypeWidth(element).is_multiple_of(8))
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
