//! The functions, the synchronisation and the shared variables that each kernel can reach.

use std::collections::{HashMap, HashSet};

use gpurace_abi::meta::SyncFeatures;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::observes::Accessed;
use crate::analysis::sync_features;
use crate::ir::{self, address_space};

/// The same for a function without the functions that it calls.
#[derive(Debug, Default)]
struct FunctionReach {
    callees: HashSet<LLVMValueRef>,
    calls_unknown: bool,
    shared: HashSet<LLVMValueRef>,
    features: SyncFeatures,
    accessed: Accessed,
    /// Bytes of its local variables.
    locals: u64,
}

/// The parts of a module that a kernel can reach.
#[derive(Debug, Default)]
pub struct Reach {
    /// Functions, the kernel included.
    pub functions: HashSet<LLVMValueRef>,
    /// `__shared__` variables, static and dynamic.
    pub shared: HashSet<LLVMValueRef>,
    /// The synchronisation there.
    pub features: SyncFeatures,
    /// Bytes of local variables of all reachable functions.
    pub locals: u64,
}

/// Returns what each of `kernels` reaches. A call through a pointer reaches every function whose
/// address is taken.
///
/// # Safety
/// `module` is live; the kernels are its.
pub unsafe fn of_kernels(module: LLVMModuleRef, kernels: &[LLVMValueRef]) -> Vec<Reach> {
    // SAFETY: by contract.
    unsafe {
        let own: HashMap<_, _> = ir::definitions(module).map(|f| (f, own(module, f))).collect();
        let address_taken: Vec<_> = own.keys().copied().filter(|&f| is_address_taken(f)).collect();
        kernels.iter().map(|&k| reach(k, &own, &address_taken)).collect()
    }
}

/// What a kernel reaches.
fn reach(
    kernel: LLVMValueRef,
    own: &HashMap<LLVMValueRef, FunctionReach>,
    address_taken: &[LLVMValueRef],
) -> Reach {
    let mut out = Reach::default();
    let mut accessed = Accessed::default();
    let mut pending = vec![kernel];
    while let Some(function) = pending.pop() {
        if !out.functions.insert(function) {
            continue;
        }
        let Some(own) = own.get(&function) else { continue };
        out.shared.extend(&own.shared);
        out.locals += own.locals;
        accessed.join(&own.accessed, function != kernel);
        let (all, some) = (&mut out.features, own.features);
        all.barriers |= some.barriers;
        all.warp_syncs |= some.warp_syncs;
        all.partial_masks |= some.partial_masks;
        all.named_barriers |= some.named_barriers;
        all.async_copies |= some.async_copies;
        all.fences |= some.fences;
        all.narrow_order |= some.narrow_order;
        all.clusters |= some.clusters;
        all.annotated |= some.annotated;
        all.suspends |= some.suspends;
        pending.extend(&own.callees);
        if own.calls_unknown {
            pending.extend(address_taken);
        }
    }
    if out.features.clusters {
        accessed.add_end_of_shared_memory();
    }
    out.features.observes = accessed.need_logs();
    out.features.uses_atomics = accessed.reads_by_atomics();
    out
}

/// What a function does itself.
unsafe fn own(module: LLVMModuleRef, function: LLVMValueRef) -> FunctionReach {
    let mut own = FunctionReach::default();
    let mut constants = HashSet::new();
    // SAFETY: by contract.
    unsafe {
        for instruction in ir::instructions(function) {
            match ir::opcode(instruction) {
                LLVMOpcode::LLVMCall => {
                    match ir::callee(instruction) {
                        Some(callee) => {
                            own.callees.insert(callee);
                        }
                        None => own.calls_unknown |= !ir::calls_asm(instruction),
                    }
                    sync_features::add_features(instruction, &mut own.features);
                    own.accessed.add(instruction);
                }
                LLVMOpcode::LLVMAlloca => {
                    let ty = LLVMGetAllocatedType(instruction);
                    let count = ir::constant(LLVMGetOperand(instruction, 0)).unwrap_or(1);
                    own.locals = own.locals.saturating_add(count.saturating_mul(ir::alloc_size(module, ty)));
                }
                _ => {}
            }
            for operand in ir::operands(instruction) {
                find_shared(operand, &mut constants, &mut own.shared);
            }
        }
    }
    own
}

/// Adds the shared variables that a constant names.
unsafe fn find_shared(
    value: LLVMValueRef,
    seen: &mut HashSet<LLVMValueRef>,
    found: &mut HashSet<LLVMValueRef>,
) {
    // SAFETY: by contract.
    unsafe {
        if LLVMIsConstant(value) == 0 || !LLVMIsAFunction(value).is_null() || !seen.insert(value) {
            return;
        }
        if !LLVMIsAGlobalVariable(value).is_null() {
            if LLVMGetPointerAddressSpace(LLVMTypeOf(value)) == address_space::SHARED {
                found.insert(value);
            } else if LLVMIsGlobalConstant(value) != 0 && !LLVMGetInitializer(value).is_null() {
                // A table may hold addresses of shared variables.
                find_shared(LLVMGetInitializer(value), seen, found);
            }
            return;
        }
        for operand in ir::operands(value) {
            find_shared(operand, seen, found);
        }
    }
}

/// True if a function is used in another way than as the callee of a direct call.
///
/// # Safety
/// `function` is live.
pub unsafe fn is_address_taken(function: LLVMValueRef) -> bool {
    // SAFETY: by contract; the use list is walked to its end.
    unsafe {
        let mut used = LLVMGetFirstUse(function);
        while !used.is_null() {
            let user = LLVMGetUser(used);
            let is_call = !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == function;
            let as_argument =
                is_call && ir::operands(user).iter().rev().skip(1).any(|&operand| operand == function);
            if !is_call || as_argument {
                return true;
            }
            used = LLVMGetNextUse(used);
        }
        false
    }
}
