//! Accesses that the code keeps within their shared array.
//!
//! Two accesses to different shared arrays touch no common byte if neither leaves its array. Ranges and the solver show
//! this of indices that are computed from the thread and the launch. Of an index that rests on memory, as in
//! `count[key[i]]`, they know nothing. So the code compares such an offset with the array's size before the access, and
//! a thread that would leave the array ends the launch by [`Entry::LeavesArray`]. The protocol then says that the
//! access is made only within the array. It says so too where LLVM knows that the index is small enough, as in
//! `count[hash(key[i]) % 512]`: then no compare is needed.
//!
//! Invariant: all code of a kernel has these compares, the bare code too. So they are inserted before the module is
//! copied.
//!
//! All dynamic shared memory is one array. Its size is the launch's, and the code reads it.

use std::collections::{HashMap, HashSet};

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use crate::analysis::address::{self, Term};
use crate::analysis::reach::{self, Reach};
use crate::checks::instrument::open_branch;
use crate::ir::entry_calls::{EntryCall, EntryCalls};
use crate::ir::position::source_name;
use crate::ir::{self, address_space};
use crate::translate::shared::is_dynamic;

/// The metadata kind of an access that is kept within its array.
const METADATA: &str = "gpurace.kept";
/// The most values that are looked at for one index.
const MOST_VALUES: usize = 64;

unsafe extern "C" {
    fn gpurace_most(value: LLVMValueRef) -> u64;
}

/// True if an access is made only where all its bytes lie in its array.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn is_kept(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::metadata(instruction, METADATA).is_some() }
}

/// Keeps accesses within their shared arrays, where kernels use several.
///
/// # Safety
/// `module` is live, prepared, and not copied.
pub unsafe fn insert(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let kernels: Vec<_> = ir::kernels(module).into_iter().map(|(kernel, _)| kernel).collect();
        let reach = reach::of_kernels(module, &kernels);
        let arrays = |reach: &Reach| {
            let dynamic = reach.shared.iter().filter(|&&array| is_dynamic(array)).count();
            reach.shared.len() - dynamic.saturating_sub(1)
        };
        let several = reach.into_iter().filter(|reach| arrays(reach) > 1);
        let functions: HashSet<_> = several.flat_map(|reach| reach.functions).collect();
        let calls = EntryCalls::new(module);
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module).filter(|function| functions.contains(function)) {
            for block in ir::blocks(function).collect::<Vec<_>>() {
                insert_in_block(module, block, &calls, builder);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Keeps the accesses of a basic block within their shared arrays.
unsafe fn insert_in_block(
    module: LLVMModuleRef,
    block: LLVMBasicBlockRef,
    calls: &EntryCalls,
    builder: LLVMBuilderRef,
) {
    // A later access through one pointer needs no compare of its own.
    let mut kept: HashMap<LLVMValueRef, (u64, LLVMValueRef)> = HashMap::new();
    // SAFETY: by `insert`'s contract.
    unsafe {
        for instruction in ir::block_instructions(block).collect::<Vec<_>>() {
            let Some((operand, bytes)) = access(module, instruction) else { continue };
            let pointer = LLVMGetOperand(instruction, operand);
            let known = kept.get(&pointer).filter(|(most, _)| bytes <= *most);
            let inside = match known {
                Some((_, inside)) => *inside,
                None => {
                    let Some(place) = LoadedPlace::of(module, pointer, bytes) else { continue };
                    if place.is_inside(bytes) {
                        mark(instruction);
                        continue;
                    }
                    LLVMPositionBuilderBefore(builder, instruction);
                    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
                    let inside = place.keep(calls, builder, (instruction, pointer), bytes);
                    kept.insert(pointer, (bytes, inside));
                    inside
                }
            };
            LLVMSetOperand(instruction, operand, inside);
            mark(instruction);
        }
    }
}

/// Makes a trap of each call of [`Entry::LeavesArray`], for code that has no such function.
///
/// # Safety
/// `module` is live.
pub unsafe fn make_traps(module: LLVMModuleRef) {
    // SAFETY: by contract; each call is erased once, and nothing uses the names any more.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module).collect::<Vec<_>>() {
            for instruction in ir::instructions(function) {
                let Some(call) = EntryCall::of(instruction).filter(|call| call.entry == Entry::LeavesArray)
                else {
                    continue;
                };
                let name = call.operand(0);
                LLVMPositionBuilderBefore(builder, instruction);
                LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
                ir::call_intrinsic(builder, "llvm.trap", None, &[]);
                LLVMInstructionEraseFromParent(instruction);
                if LLVMGetFirstUse(name).is_null() {
                    LLVMDeleteGlobal(name);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

unsafe fn mark(instruction: LLVMValueRef) {
    // SAFETY: by `insert`'s contract; the node is empty.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let node = LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0);
        let value = LLVMMetadataAsValue(context, node);
        LLVMSetMetadata(instruction, ir::metadata_kind(instruction, METADATA), value);
    }
}

/// The operand that is the pointer of an access, and the bytes that it touches.
unsafe fn access(module: LLVMModuleRef, instruction: LLVMValueRef) -> Option<(u32, u64)> {
    // SAFETY: by `insert`'s contract.
    unsafe {
        let bytes = |value| ir::store_size(module, LLVMTypeOf(value));
        let operand = |at| LLVMGetOperand(instruction, at);
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMLoad => Some((0, bytes(instruction))),
            LLVMOpcode::LLVMStore => Some((1, bytes(operand(0)))),
            LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => Some((0, bytes(operand(1)))),
            _ => None,
        }
    }
}

/// A place in a shared array that rests on memory.
struct LoadedPlace {
    array: LLVMValueRef,
    /// Bytes of the array; `None` for dynamic shared memory.
    size: Option<u64>,
    constant: i64,
    terms: Vec<Term>,
}

impl LoadedPlace {
    /// The place behind a pointer, if it rests on memory and the array has room for an access of `bytes` bytes.
    unsafe fn of(module: LLVMModuleRef, pointer: LLVMValueRef, bytes: u64) -> Option<Self> {
        let (mut at, mut constant, mut terms) = (pointer, 0i64, Vec::new());
        // SAFETY: by `insert`'s contract; each step goes to an operand that dominates it.
        unsafe {
            loop {
                match ir::value_opcode(at) {
                    Some(LLVMOpcode::LLVMGetElementPtr) => {
                        let (more, of) = address::gep_parts(module, at)?;
                        constant = constant.wrapping_add(more);
                        terms.extend(of);
                    }
                    Some(LLVMOpcode::LLVMAddrSpaceCast) => {}
                    _ => break,
                }
                at = LLVMGetOperand(at, 0);
            }
            if LLVMIsAGlobalVariable(at).is_null() || ir::space_of(at) != Some(address_space::SHARED) {
                return None;
            }
            let size = (!is_dynamic(at)).then(|| ir::alloc_size(module, LLVMGlobalGetValueType(at)));
            let has_room = size.is_none_or(|size| size >= bytes);
            let is_loaded = has_room && terms.iter().any(|term| rests_on_memory(term.index));
            is_loaded.then_some(Self { array: at, size, constant, terms })
        }
    }

    /// True if LLVM knows that an access of `bytes` bytes stays in the array.
    unsafe fn is_inside(&self, bytes: u64) -> bool {
        // SAFETY: by `insert`'s contract.
        let most = unsafe { self.most() };
        self.size.zip(most).is_some_and(|(size, most)| most <= size - bytes)
    }

    /// The largest offset, as far as it is known. `None` if it may be negative.
    unsafe fn most(&self) -> Option<u64> {
        let mut sum = u64::try_from(self.constant).ok()?;
        for term in &self.terms {
            // SAFETY: by `insert`'s contract.
            let (most, bits) =
                unsafe { (gpurace_most(term.index), LLVMGetIntTypeWidth(LLVMTypeOf(term.index))) };
            if bits > 64 || most > (u64::MAX >> (65 - bits)) {
                return None;
            }
            sum = sum.checked_add(most.checked_mul(term.scale)?)?;
        }
        i64::try_from(sum).is_ok().then_some(sum)
    }

    /// Computes the place's offset from the start of the array.
    unsafe fn offset(&self, calls: &EntryCalls, builder: LLVMBuilderRef) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: by `insert`'s contract.
        unsafe {
            let mut offset: Option<LLVMValueRef> = None;
            for term in &self.terms {
                let index = LLVMBuildIntCast2(builder, term.index, calls.i64_type(), 1, name);
                let part = match term.scale {
                    1 => index,
                    scale => LLVMBuildMul(builder, index, calls.i64(scale), name),
                };
                offset = Some(offset.map_or(part, |sum| LLVMBuildAdd(builder, sum, part, name)));
            }
            let mut offset = offset.unwrap_or_else(|| calls.i64(0));
            if self.constant != 0 {
                offset = LLVMBuildAdd(builder, offset, calls.i64(self.constant as u64), name);
            }
            // A poison index must not be two different values.
            LLVMBuildFreeze(builder, offset, name)
        }
    }

    /// Ends the launch before `access` if its `bytes` bytes are not all in the array. Returns the pointer for the
    /// access.
    ///
    /// It is built from the offset that was compared, without a promise to LLVM that it stays in the array: LLVM
    /// could conclude from such a promise that the compare is not needed.
    unsafe fn keep(
        &self,
        calls: &EntryCalls,
        builder: LLVMBuilderRef,
        (access, pointer): (LLVMValueRef, LLVMValueRef),
        bytes: u64,
    ) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: by `insert`'s contract; the builder stands before the access.
        unsafe {
            let long = calls.i64_type();
            let offset = self.offset(calls, builder);
            let (size, leaves) = match self.size {
                Some(size) => {
                    let most = calls.i64(size - bytes);
                    let leaves = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntUGT, offset, most, name);
                    (calls.i64(size), leaves)
                }
                None => {
                    let size = dynamic_size(builder, long);
                    // The number of offsets at which all bytes lie in the memory. It may be 0.
                    let offsets = ir::call_intrinsic(
                        builder,
                        "llvm.usub.sat",
                        Some(long),
                        &[size, calls.i64(bytes - 1)],
                    );
                    let leaves = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntUGE, offset, offsets, name);
                    (size, leaves)
                }
            };
            let location = LLVMGetCurrentDebugLocation2(builder);
            open_branch(builder, leaves, access);
            LLVMSetCurrentDebugLocation2(builder, location);
            let what = ir::c(&source_name(&ir::name(self.array)));
            let what = LLVMBuildGlobalString(builder, what.as_ptr(), c"gpurace.array".as_ptr());
            let arguments = [what, size, offset, calls.i32(bytes), calls.i32(u64::MAX)];
            calls.call(builder, Entry::LeavesArray, &arguments);
            LLVMBuildUnreachable(builder);
            LLVMPositionBuilderBefore(builder, access);
            LLVMSetCurrentDebugLocation2(builder, location);
            let base = match ir::space_of(pointer) {
                Some(address_space::SHARED) => self.array,
                _ => calls.generic_pointer(builder, self.array),
            };
            let byte = LLVMInt8TypeInContext(LLVMGetTypeContext(long));
            LLVMBuildGEP2(builder, byte, base, [offset].as_mut_ptr(), 1, name)
        }
    }
}

/// The bytes of the launch's dynamic shared memory, as an integer of the type `long`.
unsafe fn dynamic_size(builder: LLVMBuilderRef, long: LLVMTypeRef) -> LLVMValueRef {
    // SAFETY: by `insert`'s contract.
    unsafe {
        let bytes = ir::call_intrinsic(builder, "llvm.nvvm.read.ptx.sreg.dynamic_smem_size", None, &[]);
        LLVMBuildZExt(builder, bytes, long, c"".as_ptr())
    }
}

/// True if an integer is computed from what memory or another thread holds.
unsafe fn rests_on_memory(value: LLVMValueRef) -> bool {
    let (mut seen, mut pending) = (HashSet::new(), vec![value]);
    while let Some(value) = pending.pop() {
        // SAFETY: operands of live values are live.
        unsafe {
            if LLVMIsAInstruction(value).is_null() || seen.len() > MOST_VALUES || !seen.insert(value) {
                continue;
            }
            match ir::opcode(value) {
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => return true,
                LLVMOpcode::LLVMLoad => {
                    if !is_of_argument(LLVMGetOperand(value, 0)) {
                        return true;
                    }
                }
                LLVMOpcode::LLVMCall => {
                    let name = ir::callee(value).map(|callee| ir::name(callee)).unwrap_or_default();
                    if ir::is_pure_intrinsic(&name) {
                        pending.extend(ir::operands(value));
                    } else if !name.starts_with("llvm.nvvm.read.ptx.sreg.") {
                        return true;
                    }
                }
                _ => pending.extend(ir::operands(value)),
            }
        }
    }
    false
}

/// True for a pointer into a struct that is handed to a kernel by value.
unsafe fn is_of_argument(pointer: LLVMValueRef) -> bool {
    // SAFETY: operands of live values are live.
    unsafe {
        let Some(starts) = address::starts(pointer, MOST_VALUES, |_| false) else { return false };
        starts.into_iter().all(|start| {
            !LLVMIsAArgument(start).is_null() && {
                let function = LLVMGetParamParent(start);
                let index = ir::params(function).iter().position(|&param| param == start);
                index.is_some_and(|index| ir::byval_type(function, index).is_some())
            }
        })
    }
}

#[cfg(test)]
mod tests;
