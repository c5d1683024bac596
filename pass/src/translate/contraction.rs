//! Joins products with sums ("contraction", PTX ISA, `fma`): `a * b + c` rounds once.
//!
//! nvcc allows it unless `--fmad=false` is given, and clang marks such instructions. LLVM's code generation would
//! join those that it finds side by side. Then a check between the two would change the result. So the pass
//! joins them before it copies or checks code, and takes the permission away: checked and unchecked
//! code compute the same bits.

use llvm_sys::LLVMOpcode::{self, LLVMFAdd, LLVMFMul, LLVMFSub};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMFastMathAllowContract, LLVMTypeKind};

use crate::ir;

unsafe extern "C" {
    fn gpurace_forbid_contraction(module: LLVMModuleRef);
}

/// Joins each sum that allows it with a product that allows it, and forbids every other contraction. Of two
/// products, the first one is joined. Products stay: some have further uses, and LLVM removes the others.
///
/// # Safety
/// `module` is live.
pub unsafe fn settle(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is disposed of once. Only the visited sum is erased.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module) {
            for sum in ir::instructions(function) {
                join(builder, sum);
            }
        }
        LLVMDisposeBuilder(builder);
        gpurace_forbid_contraction(module);
    }
}

/// Replaces `sum` by a call of `llvm.fma` if it may be joined with a product.
unsafe fn join(builder: LLVMBuilderRef, sum: LLVMValueRef) {
    // SAFETY: by `settle`'s contract; argument arrays are as long as said.
    unsafe {
        if !may_join(sum, &[LLVMFAdd, LLVMFSub]) {
            return;
        }
        let [first, second] = [LLVMGetOperand(sum, 0), LLVMGetOperand(sum, 1)];
        let is_first = may_join(first, &[LLVMFMul]);
        if !is_first && !may_join(second, &[LLVMFMul]) {
            return;
        }
        let (product, mut other) = if is_first { (first, second) } else { (second, first) };
        let [mut factor, by] = [LLVMGetOperand(product, 0), LLVMGetOperand(product, 1)];
        LLVMPositionBuilderBefore(builder, sum);
        let name = c"".as_ptr();
        if LLVMGetInstructionOpcode(sum) == LLVMFSub {
            let negated = if is_first { &mut other } else { &mut factor };
            *negated = LLVMBuildFNeg(builder, *negated, name);
        }
        let joined = ir::call_intrinsic(builder, "llvm.fma", Some(LLVMTypeOf(sum)), &[factor, by, other]);
        LLVMReplaceAllUsesWith(sum, joined);
        LLVMInstructionEraseFromParent(sum);
    }
}

/// True for an instruction with one of these opcodes that allows contraction, on `float`, `double` or vectors of
/// them. Processors of hosts rarely compute in halves.
unsafe fn may_join(value: LLVMValueRef, opcodes: &[LLVMOpcode]) -> bool {
    // SAFETY: by `settle`'s contract.
    unsafe {
        let mut ty = LLVMTypeOf(value);
        if LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind {
            ty = LLVMGetElementType(ty);
        }
        !LLVMIsAInstruction(value).is_null()
            && opcodes.contains(&LLVMGetInstructionOpcode(value))
            && matches!(
                LLVMGetTypeKind(ty),
                LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind
            )
            && LLVMGetFastMathFlags(value) & LLVMFastMathAllowContract != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of a function of three numbers, settled.
    fn settled(ty: &str, body: &str) -> String {
        let text = format!("define {ty} @f({ty} %a, {ty} %b, {ty} %c) {{\n{body}}}");
        // SAFETY: the module is live.
        ir::testing::with_module(&text, |module| unsafe {
            settle(module);
            ir::text(LLVMPrintModuleToString(module))
        })
    }

    #[test]
    fn a_product_and_a_sum_become_one_instruction() {
        let forms = [
            ("fadd contract float %p, %c", "@llvm.fma.f32(float %a, float %b, float %c)", ""),
            ("fadd contract float %c, %p", "@llvm.fma.f32(float %a, float %b, float %c)", ""),
            ("fsub contract float %p, %c", "@llvm.fma.f32(float %a, float %b, float %1)", "fneg float %c"),
            ("fsub contract float %c, %p", "@llvm.fma.f32(float %1, float %b, float %c)", "fneg float %a"),
        ];
        for (sum, call, negation) in forms {
            let body = format!("%p = fmul contract float %a, %b\n %s = {sum}\n ret float %s\n");
            let ir = settled("float", &body);
            assert!(ir.contains(call) && ir.contains(negation), "{ir}");
            assert!(!ir.contains("fadd") && !ir.contains("fsub") && !ir.contains("contract"), "{ir}");
        }
    }

    #[test]
    fn doubles_and_vectors_are_joined() {
        for ty in ["double", "<2 x float>"] {
            let body =
                format!("%p = fmul contract {ty} %a, %b\n %s = fadd contract {ty} %p, %c\n ret {ty} %s\n");
            assert!(settled(ty, &body).contains("@llvm.fma."));
        }
    }

    #[test]
    fn a_product_with_further_uses_stays() {
        let ir = settled(
            "float",
            "%p = fmul contract float %a, %b\n %s = fadd contract float %p, %c\n
             %q = fdiv contract float %s, %p\n ret float %q\n",
        );
        assert!(ir.contains("fmul float") && ir.contains("@llvm.fma"), "{ir}");
    }

    #[test]
    fn of_two_products_the_first_is_joined() {
        let ir = settled(
            "float",
            "%p = fmul contract float %a, %b\n %q = fmul contract float %b, %c\n
             %s = fadd contract float %p, %q\n ret float %s\n",
        );
        assert!(ir.contains("@llvm.fma.f32(float %a, float %b, float %q)"), "{ir}");
    }

    #[test]
    fn nothing_else_is_joined() {
        let kept = [
            ("float", "%p = fmul float %a, %b\n %s = fadd contract float %p, %c\n ret float %s\n"),
            ("float", "%p = fmul contract float %a, %b\n %s = fadd float %p, %c\n ret float %s\n"),
            ("half", "%p = fmul contract half %a, %b\n %s = fadd contract half %p, %c\n ret half %s\n"),
        ];
        for (ty, body) in kept {
            let ir = settled(ty, body);
            assert!(!ir.contains("llvm.fma") && ir.contains("fadd") && !ir.contains("contract"), "{ir}");
        }
    }
}
