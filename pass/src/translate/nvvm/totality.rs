//! Results for operations that LLVM leaves undefined and PTX does not.
//!
//! * Integer division raises a signal on x86-64 for a divisor of 0, and for the least integer divided by -1.
//!   NVIDIA's hardware gives all ones for `x / 0` and `x` for `x % 0`. For the least integer divided by -1,
//!   it gives the least integer, and the remainder 0.
//! * Float-to-integer conversion saturates. NaN becomes 0 if neither type has 64 bits, else the highest bit
//!   alone (PTX ISA, "cvt").
//!
//! * A shift by the width or more leaves nothing, or only the sign (PTX ISA, "shl" and "shr"). LLVM gives no result.
//!   Decoders shift by `32 - n` with an `n` of 0. x86-64 shifts by the lowest bits of the amount.

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate, LLVMTypeKind};

use crate::ir;

/// Gives division, remainder and float-to-integer conversion a result for all operands, on scalars and
/// vectors.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub unsafe fn make_division_total(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is freed once.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                use LLVMOpcode::*;
                LLVMPositionBuilderBefore(builder, instruction);
                LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
                match ir::opcode(instruction) {
                    op @ (LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem) => divide(builder, instruction, op),
                    op @ (LLVMFPToSI | LLVMFPToUI) => convert(module, builder, instruction, op),
                    _ => {}
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Gives shifts a result for all amounts, on scalars and vectors. Protocols have PTX's shifts anyway. So this comes
/// after them, and no proof has to see through the guards.
///
/// # Safety
/// `module` is live and used by this thread alone.
pub unsafe fn make_shifts_total(module: LLVMModuleRef) {
    // SAFETY: by contract; the builder is freed once.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                use LLVMOpcode::*;
                if matches!(ir::opcode(instruction), LLVMShl | LLVMLShr | LLVMAShr)
                    && LLVMIsConstant(LLVMGetOperand(instruction, 1)) == 0
                {
                    shift(builder, instruction);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Guards a shift by the width or more: a signed one leaves the sign, the others 0.
unsafe fn shift(builder: LLVMBuilderRef, shift: LLVMValueRef) {
    let name = c"".as_ptr();
    // SAFETY: by `make_shifts_total`'s contract; an instruction follows a shift.
    unsafe {
        let amount = LLVMGetOperand(shift, 1);
        let ty = LLVMTypeOf(shift);
        let bits = u64::from(LLVMGetIntTypeWidth(element_type(ty)));
        let width = splat(ty, |element| LLVMConstInt(element, bits, 0));
        LLVMPositionBuilderBefore(builder, shift);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(shift));
        let is_less = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntULT, amount, width, name);
        if ir::opcode(shift) == LLVMOpcode::LLVMAShr {
            let last = splat(ty, |element| LLVMConstInt(element, bits - 1, 0));
            LLVMSetOperand(shift, 1, LLVMBuildSelect(builder, is_less, amount, last, name));
            return;
        }
        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(shift));
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(shift));
        let result = LLVMBuildSelect(builder, is_less, shift, LLVMConstNull(ty), name);
        LLVMReplaceAllUsesWith(shift, result);
        LLVMSetOperand(result, 1, shift);
    }
}

/// Guards a division: the divisor becomes 1 if the operation would trap.
unsafe fn divide(builder: LLVMBuilderRef, division: LLVMValueRef, op: LLVMOpcode) {
    let signed = matches!(op, LLVMOpcode::LLVMSDiv | LLVMOpcode::LLVMSRem);
    let quotient = matches!(op, LLVMOpcode::LLVMSDiv | LLVMOpcode::LLVMUDiv);
    let name = c"".as_ptr();
    // SAFETY: by `make_division_total`'s contract.
    unsafe {
        let dividend = LLVMGetOperand(division, 0);
        let divisor = LLVMGetOperand(division, 1);
        if is_harmless(divisor, signed) {
            return;
        }
        let ty = LLVMTypeOf(division);
        let zero = LLVMConstNull(ty);
        let ones = LLVMConstAllOnes(ty);
        // A poison operand must not trap, nor be two different values.
        let dividend = LLVMBuildFreeze(builder, dividend, name);
        let divisor = LLVMBuildFreeze(builder, divisor, name);
        let by_zero = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntEQ, divisor, zero, name);
        let mut traps = by_zero;
        if signed {
            let least = splat(ty, |element| least(element));
            let lowest = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntEQ, dividend, least, name);
            let minus_one = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntEQ, divisor, ones, name);
            let overflows = LLVMBuildAnd(builder, lowest, minus_one, name);
            traps = LLVMBuildOr(builder, traps, overflows, name);
        }
        let one = splat(ty, |element| LLVMConstInt(element, 1, 0));
        let safe = LLVMBuildSelect(builder, traps, one, divisor, name);
        // Dividing by 1 gives the result that PTX defines for overflow.
        let result = LLVMBuildBinOp(builder, op, dividend, safe, name);
        let at_zero = if quotient { ones } else { dividend };
        let result = LLVMBuildSelect(builder, by_zero, at_zero, result, name);
        LLVMReplaceAllUsesWith(division, result);
        LLVMInstructionEraseFromParent(division);
    }
}

/// True if a divisor is a constant that cannot trap.
unsafe fn is_harmless(divisor: LLVMValueRef, signed: bool) -> bool {
    // SAFETY: by `make_division_total`'s contract.
    unsafe {
        if LLVMIsAConstantInt(divisor).is_null() || LLVMIsNull(divisor) != 0 {
            return false;
        }
        let all_ones = LLVMConstAllOnes(LLVMTypeOf(divisor)) == divisor;
        !(signed && all_ones)
    }
}

/// Replaces a conversion by LLVM's saturating one.
unsafe fn convert(module: LLVMModuleRef, builder: LLVMBuilderRef, conversion: LLVMValueRef, op: LLVMOpcode) {
    let name = c"".as_ptr();
    // SAFETY: by `make_division_total`'s contract; argument arrays are as long as said.
    unsafe {
        let value = LLVMGetOperand(conversion, 0);
        let result_type = LLVMTypeOf(conversion);
        let bits = LLVMGetIntTypeWidth(element_type(result_type));
        // PTX has no conversion to less than 16 bits. The result of a wider conversion is cut.
        let ty = if bits < 16 {
            let element = LLVMIntTypeInContext(ir::context(module), 16);
            shaped_like(result_type, element)
        } else {
            result_type
        };
        let intrinsic = match op {
            LLVMOpcode::LLVMFPToSI => "llvm.fptosi.sat",
            _ => "llvm.fptoui.sat",
        };
        let id = LLVMLookupIntrinsicID(intrinsic.as_ptr().cast(), intrinsic.len());
        let mut types = [ty, LLVMTypeOf(value)];
        let function = LLVMGetIntrinsicDeclaration(module, id, types.as_mut_ptr(), 2);
        let function_type = LLVMGlobalGetValueType(function);
        let mut arguments = [value];
        let mut result = LLVMBuildCall2(builder, function_type, function, arguments.as_mut_ptr(), 1, name);
        let from_double =
            LLVMGetTypeKind(element_type(LLVMTypeOf(value))) == LLVMTypeKind::LLVMDoubleTypeKind;
        if from_double || bits == 64 {
            let top = splat(ty, |element| least(element));
            let nan = LLVMBuildFCmp(builder, LLVMRealPredicate::LLVMRealUNO, value, value, name);
            result = LLVMBuildSelect(builder, nan, top, result, name);
        }
        if ty != result_type {
            result = LLVMBuildTrunc(builder, result, result_type, name);
        }
        LLVMReplaceAllUsesWith(conversion, result);
        LLVMInstructionEraseFromParent(conversion);
    }
}

/// The type of a vector's elements, or the type itself.
unsafe fn element_type(ty: LLVMTypeRef) -> LLVMTypeRef {
    // SAFETY: by `make_division_total`'s contract.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => LLVMGetElementType(ty),
            _ => ty,
        }
    }
}

/// `element`, or a vector of it if `shape` is a vector.
unsafe fn shaped_like(shape: LLVMTypeRef, element: LLVMTypeRef) -> LLVMTypeRef {
    // SAFETY: by `make_division_total`'s contract.
    unsafe {
        match LLVMGetTypeKind(shape) {
            LLVMTypeKind::LLVMVectorTypeKind => LLVMVectorType(element, LLVMGetVectorSize(shape)),
            _ => element,
        }
    }
}

/// A constant of an integer type, or a vector of it.
unsafe fn splat(ty: LLVMTypeRef, scalar: impl Fn(LLVMTypeRef) -> LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by `make_division_total`'s contract.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => {
                let value = scalar(LLVMGetElementType(ty));
                let mut values = vec![value; LLVMGetVectorSize(ty) as usize];
                LLVMConstVector(values.as_mut_ptr(), values.len() as u32)
            }
            _ => scalar(ty),
        }
    }
}

/// The constant of an integer type whose highest bit alone is set.
unsafe fn least(ty: LLVMTypeRef) -> LLVMValueRef {
    // SAFETY: by `make_division_total`'s contract; the words are as many as said.
    unsafe {
        let bit = LLVMGetIntTypeWidth(ty) - 1;
        let mut words = vec![0u64; bit as usize / 64 + 1];
        words[bit as usize / 64] = 1 << (bit % 64);
        LLVMConstIntOfArbitraryPrecision(ty, words.len() as u32, words.as_ptr())
    }
}
