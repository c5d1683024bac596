//! Scope and order of atomic instructions.
//!
//! The atomics that the pass builds carry their scope and order as metadata ([`METADATA`]). LLVM's own notation is not
//! enough: a volatile access has a scope in PTX, and none in LLVM. An atomic of clang has LLVM's notation alone.
//!
//! clang emits CUDA's legacy atomics (`atomicAdd`, `atomicCAS`, ...) as `seq_cst`, though they are
//! relaxed at device scope and become relaxed PTX. So `seq_cst` on an instruction of clang means
//! relaxed. Other orders mean what they say. All other orders stronger than relaxed come from fences
//! and from PTX (`atom.acq_rel.gpu`), which the pass translates itself.

use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode, LLVMTypeKind};

use crate::ir;
use crate::translate::ptx;

/// The metadata kind that carries `{i32 scope, i32 order}`. A third number gives the [`AtomicKind`] where
/// the instruction alone does not show it: for `red`, and for a compare-and-swap in a loop that stands for
/// one read-modify-write.
pub const METADATA: &str = "gpurace.atomic";

/// Marks an atomic load, store, `atomicrmw`, `cmpxchg` or volatile access with
/// its scope and order. The pass calls it for every atomic that it builds.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn set_semantics(instruction: LLVMValueRef, scope: Scope, order: Order) {
    // SAFETY: by contract.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let int = LLVMInt32TypeInContext(context);
        let mut fields = [scope as u64, order as u64].map(|n| LLVMValueAsMetadata(LLVMConstInt(int, n, 0)));
        let node = LLVMMDNodeInContext2(context, fields.as_mut_ptr(), fields.len());
        let kind = ir::metadata_kind(instruction, METADATA);
        LLVMSetMetadata(instruction, kind, LLVMMetadataAsValue(context, node));
    }
}

/// The scope and order of an atomic instruction.
///
/// # Safety
/// `instruction` is a live atomic load, store, `atomicrmw` or `cmpxchg`.
pub unsafe fn semantics(instruction: LLVMValueRef) -> (Scope, Order) {
    // SAFETY: by contract; the metadata has the form that `set_semantics` gives it.
    unsafe {
        let fields = fields(instruction, METADATA);
        if let [scope, order, ..] = fields[..]
            && let (Some(scope), Some(order)) = (Scope::from_u32(scope), Order::from_u32(order))
        {
            return (scope, order);
        }
        // `LLVMGetOrdering` takes a `cmpxchg` for an `atomicrmw` and reads other bits of it.
        let ordering = if LLVMIsAAtomicCmpXchgInst(instruction).is_null() {
            LLVMGetOrdering(instruction)
        } else {
            LLVMGetCmpXchgSuccessOrdering(instruction)
        };
        (scope_of(instruction), order_of(ordering))
    }
}

/// True if an access carries a scope and order as metadata. On the host such an access may be a plain load or store:
/// its size and alignment make it atomic.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn has_semantics(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::metadata(instruction, METADATA).is_some() }
}

/// The numbers in the metadata of a kind; empty without metadata.
unsafe fn fields(instruction: LLVMValueRef, kind: &str) -> Vec<u32> {
    // SAFETY: the metadata holds constants.
    unsafe {
        let Some(node) = ir::metadata(instruction, kind) else { return Vec::new() };
        let mut fields = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, fields.as_mut_ptr());
        fields.into_iter().map(|f| LLVMConstIntGetZExtValue(f) as u32).collect()
    }
}

/// The kind of access of an `atomicrmw` or `cmpxchg`.
///
/// # Safety
/// `instruction` is a live one.
pub unsafe fn kind_of_rmw(instruction: LLVMValueRef) -> AtomicKind {
    // SAFETY: by contract.
    unsafe { given_kind(instruction) }.unwrap_or(AtomicKind::Rmw)
}

/// True for a compare-and-swap (`cmpxchg`, an intrinsic or inline PTX) that may fail: it then only
/// reads.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn may_fail(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { swap_operands(instruction).is_some() }
}

/// The indices of the expected and the new value among the operands of a compare-and-swap that may
/// fail. Both are integers of one type, and so is the result, if there is one.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn swap_operands(instruction: LLVMValueRef) -> Option<[u32; 2]> {
    // SAFETY: by contract.
    unsafe {
        match ir::opcode(instruction) {
            LLVMOpcode::LLVMAtomicCmpXchg => given_kind(instruction).is_none().then_some([1, 2]),
            LLVMOpcode::LLVMCall if ir::calls_asm(instruction) => {
                let (template, constraints) = ir::asm_text(instruction);
                let asm = ptx::parse(&template, &constraints).ok()?;
                let (operands, bits) = ptx::effects::swap_arguments(&asm)?;
                let ty = LLVMIntTypeInContext(LLVMGetTypeContext(LLVMTypeOf(instruction)), bits.into());
                let result = LLVMTypeOf(instruction);
                let is_void = LLVMGetTypeKind(result) == LLVMTypeKind::LLVMVoidTypeKind;
                let fits = operands.iter().all(|&n| {
                    n < LLVMGetNumArgOperands(instruction) && LLVMTypeOf(LLVMGetOperand(instruction, n)) == ty
                });
                (fits && (is_void || result == ty)).then_some(operands)
            }
            LLVMOpcode::LLVMCall => is_swap_intrinsic(instruction).then_some([1, 2]),
            _ => None,
        }
    }
}

/// True for a call of an intrinsic that compares and swaps: `atomicCAS_block`, `atomicCAS_system`.
///
/// # Safety
/// `call` is live.
pub unsafe fn is_swap_intrinsic(call: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::callee(call).is_some_and(|callee| ir::name(callee).starts_with("llvm.nvvm.atomic.cas.")) }
}

unsafe fn given_kind(instruction: LLVMValueRef) -> Option<AtomicKind> {
    // SAFETY: by the callers' contracts.
    unsafe { AtomicKind::from_u32(*fields(instruction, METADATA).get(2)?) }
}

/// The scope that an instruction names: `syncscope("block")`. clang names none for CUDA's unscoped
/// atomics, which are for the whole device.
unsafe fn scope_of(instruction: LLVMValueRef) -> Scope {
    const NAMES: [(&str, Scope); 5] = [
        ("block", Scope::Block),
        ("workgroup", Scope::Block),
        ("singlethread", Scope::Block),
        ("cluster", Scope::Cluster),
        ("system", Scope::System),
    ];
    // SAFETY: by `semantics`' contract; the names are as long as said.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let scope = LLVMGetAtomicSyncScopeID(instruction);
        let is = |name: &str| LLVMGetSyncScopeID(context, name.as_ptr().cast(), name.len()) == scope;
        NAMES.iter().find(|(name, _)| is(name)).map_or(Scope::Device, |&(_, scope)| scope)
    }
}

fn order_of(ordering: LLVMAtomicOrdering) -> Order {
    use LLVMAtomicOrdering::*;
    match ordering {
        LLVMAtomicOrderingAcquire => Order::Acquire,
        LLVMAtomicOrderingRelease => Order::Release,
        LLVMAtomicOrderingAcquireRelease => Order::AcqRel,
        // See the module's comment.
        LLVMAtomicOrderingSequentiallyConsistent
        | LLVMAtomicOrderingMonotonic
        | LLVMAtomicOrderingUnordered
        | LLVMAtomicOrderingNotAtomic => Order::Relaxed,
    }
}

/// The metadata kind that holds the number of elements of a strong vector.
pub const ELEMENTS_METADATA: &str = "gpurace.elements";

/// The number of accesses that a load or store makes.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn elements(instruction: LLVMValueRef) -> u64 {
    // SAFETY: by contract; the metadata has one number.
    unsafe { fields(instruction, ELEMENTS_METADATA).first().map_or(1, |&number| number.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_is_the_instructions() {
        let of = |scope: &str| {
            let text = format!(
                "define void @f(ptr %p) {{ %1 = atomicrmw add ptr %p, i32 1 {scope}seq_cst ret void }}"
            );
            ir::testing::with_module(&text, |module| {
                // SAFETY: the module is live, and its first instruction is an atomic.
                unsafe {
                    let function = ir::definitions(module).next().unwrap();
                    semantics(ir::instructions(function)[0]).0
                }
            })
        };
        assert_eq!(of(""), Scope::Device);
        assert_eq!(of("syncscope(\"block\") "), Scope::Block);
        assert_eq!(of("syncscope(\"system\") "), Scope::System);
    }
}
