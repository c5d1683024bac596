//! Answers tests of an address's state space (`__isGlobal`, `__isShared`, ...) where the code shows the answer.
//!
//! A parameter of a kernel points to global memory, as in LLVM's own code for NVIDIA GPUs: no launch can name
//! shared or local memory. `cuda::memcpy_async` asks such questions, and has another way for other memory.

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::address::starts;
use crate::ir::{self, address_space};

/// How the intrinsics begin.
const TEST: &str = "llvm.nvvm.isspacep.";
/// Values that are looked at for one address.
const MOST: usize = 64;

/// Replaces the tests that have an answer by it. True if there was one.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub(super) unsafe fn answer_tests(module: LLVMModuleRef) -> bool {
    let mut any = false;
    // SAFETY: by contract; a call is removed after its last use.
    unsafe {
        for call in
            ir::definitions(module).flat_map(|function| ir::instructions(function)).collect::<Vec<_>>()
        {
            let Some(answer) = answer(call) else { continue };
            LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), answer.into(), 0));
            LLVMInstructionEraseFromParent(call);
            any = true;
        }
    }
    any
}

/// The answer of a test; `None` for other instructions, and if the code does not tell.
unsafe fn answer(call: LLVMValueRef) -> Option<bool> {
    // SAFETY: by contract.
    unsafe {
        if ir::opcode(call) != LLVMOpcode::LLVMCall {
            return None;
        }
        let name = ir::name(ir::callee(call)?);
        let asked = match name.strip_prefix(TEST)? {
            "global" => address_space::GLOBAL,
            "shared" | "shared.cluster" => address_space::SHARED,
            "local" => address_space::LOCAL,
            _ => return None,
        };
        let starts = starts(LLVMGetOperand(call, 0), MOST, |_| false)?;
        let spaces: Vec<_> = starts.into_iter().map(|start| space(start)).collect::<Option<_>>()?;
        let answer = *spaces.first()? == asked;
        spaces.iter().all(|&space| (space == asked) == answer).then_some(answer)
    }
}

/// The state space of what a start of addresses points to: global, shared or local memory.
unsafe fn space(start: LLVMValueRef) -> Option<u32> {
    // SAFETY: by contract.
    unsafe {
        if !LLVMIsAGlobalVariable(start).is_null() {
            let known = [address_space::GLOBAL, address_space::SHARED];
            return ir::space_of(start).filter(|space| known.contains(space));
        }
        if !LLVMIsAArgument(start).is_null() {
            let kernel = LLVMGetParamParent(start);
            let index = ir::params(kernel).iter().position(|&parameter| parameter == start)?;
            let points_to_global = ir::is_kernel(kernel)
                && ir::byval_type(kernel, index).is_none()
                && ir::space_of(start) == Some(address_space::GENERIC);
            return points_to_global.then_some(address_space::GLOBAL);
        }
        (ir::value_opcode(start) == Some(LLVMOpcode::LLVMAlloca)).then_some(address_space::LOCAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::testing::with_module;

    /// What is left of `%is`, a test of `space` for `%p`, in a function that begins so.
    fn answer_of(head: &str, space: &str) -> Option<bool> {
        let text = format!(
            "@tile = internal addrspace(3) global [8 x i32] undef\n\
             @all = addrspace(1) global [8 x i32] zeroinitializer\n\
             @table = addrspace(4) global [8 x i32] zeroinitializer\n\
             declare i1 @llvm.nvvm.isspacep.{space}(ptr)\n\
             define {head}\n%is = call i1 @llvm.nvvm.isspacep.{space}(ptr %p)\n\
             store i1 %is, ptr null\nret void\n}}\n"
        );
        with_module(&text, |module| {
            // SAFETY: the module lives and is this thread's.
            unsafe {
                let answered = answer_tests(module);
                let text = ir::text(LLVMPrintModuleToString(module));
                let left =
                    [("store i1 true", Some(true)), ("store i1 false", Some(false)), ("store i1 %is", None)];
                let answer = left.iter().find(|(store, _)| text.contains(store)).expect("a store").1;
                assert_eq!(answered, answer.is_some(), "{text}");
                answer
            }
        })
    }

    fn answers(head: &str) -> [Option<bool>; 3] {
        ["global", "shared", "local"].map(|space| answer_of(head, space))
    }

    const GLOBAL: [Option<bool>; 3] = [Some(true), Some(false), Some(false)];
    const SHARED: [Option<bool>; 3] = [Some(false), Some(true), Some(false)];
    const LOCAL: [Option<bool>; 3] = [Some(false), Some(false), Some(true)];
    const UNKNOWN: [Option<bool>; 3] = [None; 3];

    #[test]
    fn parameters_of_kernels_point_to_global_memory() {
        assert_eq!(
            answers("ptx_kernel void @k(ptr %a, i64 %i) {\n%p = getelementptr i32, ptr %a, i64 %i"),
            GLOBAL
        );
        assert_eq!(answer_of("ptx_kernel void @k(ptr %p) {", "shared.cluster"), Some(false));
        // Those of other functions may point anywhere.
        assert_eq!(answers("void @f(ptr %p) {"), UNKNOWN);
        // A parameter by value is the kernel's own memory, and what it points to may be changed by the kernel.
        assert_eq!(answers("ptx_kernel void @k(ptr byval(i64) %p) {"), UNKNOWN);
        assert_eq!(answers("ptx_kernel void @k(ptr byval(ptr) %a) {\n%p = load ptr, ptr %a"), UNKNOWN);
    }

    #[test]
    fn variables_have_their_own_space() {
        assert_eq!(answers("void @f() {\n%p = addrspacecast ptr addrspace(3) @tile to ptr"), SHARED);
        assert_eq!(answers("void @f() {\n%p = addrspacecast ptr addrspace(1) @all to ptr"), GLOBAL);
        assert_eq!(answers("void @f() {\n%p = alloca i32"), LOCAL);
        // A GPU has a window of its own for constant memory; here it is like global memory.
        assert_eq!(answers("void @f() {\n%p = addrspacecast ptr addrspace(4) @table to ptr"), UNKNOWN);
    }

    #[test]
    fn each_possible_start_counts() {
        let select = "%p = select i1 %c, ptr %a, ptr %b";
        let both = format!("ptx_kernel void @k(ptr %a, ptr %b, i1 %c) {{\n{select}");
        assert_eq!(answers(&both), GLOBAL);
        let tile = "%b = addrspacecast ptr addrspace(3) @tile to ptr";
        let mixed = format!("ptx_kernel void @k(ptr %a, i1 %c) {{\n{tile}\n{select}");
        assert_eq!(answers(&mixed), [None, None, Some(false)]);
        let null = "ptx_kernel void @k(ptr %a, i1 %c) {\n%p = select i1 %c, ptr %a, ptr null";
        assert_eq!(answers(null), UNKNOWN);
        // Addresses of another block of the cluster have the same type.
        let other = "void @f(ptr addrspace(3) %a) {\n%p = addrspacecast ptr addrspace(3) %a to ptr";
        assert_eq!(answers(other), UNKNOWN);
        assert_eq!(answers("void @f(i64 %a) {\n%p = inttoptr i64 %a to ptr"), UNKNOWN);
    }
}
