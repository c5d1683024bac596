//! Values as 64-bit numbers: the form in which a block entry passes values that all threads share.

use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// True if a value of the type can be passed as a 64-bit number.
pub unsafe fn is_number(ty: LLVMTypeRef) -> bool {
    use llvm_sys::LLVMTypeKind::*;
    // SAFETY: by contract.
    let kind = unsafe { LLVMGetTypeKind(ty) };
    matches!(kind, LLVMIntegerTypeKind | LLVMPointerTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind)
}

/// Converts a value to a 64-bit number.
///
/// # Safety
/// [`is_number`] holds for its type.
pub unsafe fn to_number(b: LLVMBuilderRef, context: LLVMContextRef, value: LLVMValueRef) -> LLVMValueRef {
    use llvm_sys::LLVMTypeKind::*;
    // SAFETY: by contract.
    unsafe {
        let long = LLVMInt64TypeInContext(context);
        let none = c"".as_ptr();
        match LLVMGetTypeKind(LLVMTypeOf(value)) {
            LLVMPointerTypeKind => LLVMBuildPtrToInt(b, value, long, none),
            LLVMFloatTypeKind => {
                let bits = LLVMBuildBitCast(b, value, LLVMInt32TypeInContext(context), none);
                LLVMBuildZExt(b, bits, long, none)
            }
            LLVMDoubleTypeKind => LLVMBuildBitCast(b, value, long, none),
            _ if LLVMTypeOf(value) == long => value,
            _ => LLVMBuildZExt(b, value, long, none),
        }
    }
}

/// The value of a type that a 64-bit number stands for.
///
/// # Safety
/// [`is_number`] holds for the type.
pub unsafe fn from_number(
    b: LLVMBuilderRef,
    context: LLVMContextRef,
    number: LLVMValueRef,
    ty: LLVMTypeRef,
) -> LLVMValueRef {
    use llvm_sys::LLVMTypeKind::*;
    // SAFETY: by contract.
    unsafe {
        let none = c"".as_ptr();
        match LLVMGetTypeKind(ty) {
            LLVMPointerTypeKind => LLVMBuildIntToPtr(b, number, ty, none),
            LLVMFloatTypeKind => {
                let bits = LLVMBuildTrunc(b, number, LLVMInt32TypeInContext(context), none);
                LLVMBuildBitCast(b, bits, ty, none)
            }
            LLVMDoubleTypeKind => LLVMBuildBitCast(b, number, ty, none),
            _ if ty == LLVMInt64TypeInContext(context) => number,
            _ => LLVMBuildTrunc(b, number, ty, none),
        }
    }
}
