//! Declares and calls gpurace's entry points, by the one list in
//! [`gpurace_abi::entry`].

use std::ffi::c_uint;

use gpurace_abi::entry::{self, EntryPoint, Ty};
use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The entry points as a module sees them.
#[derive(Clone, Copy, Debug)]
pub struct EntryCalls {
    module: LLVMModuleRef,
    i32: LLVMTypeRef,
    i64: LLVMTypeRef,
    ptr: LLVMTypeRef,
    void: LLVMTypeRef,
}

impl EntryCalls {
    /// # Safety
    /// `module` is live as long as the result is used.
    pub unsafe fn new(module: LLVMModuleRef) -> Self {
        // SAFETY: by contract.
        unsafe {
            let context = ir::context(module);
            Self {
                module,
                i32: LLVMInt32TypeInContext(context),
                i64: LLVMInt64TypeInContext(context),
                ptr: LLVMPointerTypeInContext(context, 0),
                void: LLVMVoidTypeInContext(context),
            }
        }
    }

    /// The module.
    pub fn module(&self) -> LLVMModuleRef {
        self.module
    }

    /// The type `i64`.
    pub fn i64_type(&self) -> LLVMTypeRef {
        self.i64
    }

    /// A constant `i32`.
    pub fn i32(&self, n: u64) -> LLVMValueRef {
        // SAFETY: the type is live with the module.
        unsafe { LLVMConstInt(self.i32, n & 0xffff_ffff, 0) }
    }

    /// A constant `i64`.
    pub fn i64(&self, n: u64) -> LLVMValueRef {
        // SAFETY: the type is live with the module.
        unsafe { LLVMConstInt(self.i64, n, 0) }
    }

    /// A pointer as a generic one.
    ///
    /// # Safety
    /// The builder is positioned where `pointer` is defined.
    pub unsafe fn generic_pointer(&self, builder: LLVMBuilderRef, pointer: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            if LLVMTypeOf(pointer) == self.ptr {
                pointer
            } else {
                LLVMBuildAddrSpaceCast(builder, pointer, self.ptr, c"".as_ptr())
            }
        }
    }

    fn ty(&self, ty: Ty) -> LLVMTypeRef {
        match ty {
            Ty::Ptr => self.ptr,
            Ty::I32 => self.i32,
            Ty::I64 => self.i64,
            Ty::Void => self.void,
        }
    }

    /// The function type of an entry point; `with_context`: with the hidden first parameter.
    pub fn function_type(&self, entry: &EntryPoint, with_context: bool) -> LLVMTypeRef {
        let mut params: Vec<_> = with_context.then_some(self.ptr).into_iter().collect();
        params.extend(entry.params.iter().map(|&p| self.ty(p)));
        // SAFETY: the types are live with the module.
        unsafe { LLVMFunctionType(self.ty(entry.ret), params.as_mut_ptr(), params.len() as c_uint, 0) }
    }

    /// Calls an entry point at the builder's position.
    ///
    /// # Safety
    /// The builder is positioned in this module; the arguments have the listed types.
    pub unsafe fn call(
        &self,
        builder: LLVMBuilderRef,
        name: &str,
        arguments: &mut [LLVMValueRef],
    ) -> LLVMValueRef {
        let entry = entry::find(name).unwrap_or_else(|| unreachable!("`{name}` is not an entry point"));
        debug_assert_eq!(entry.params.len(), arguments.len(), "{name}");
        let ty = self.function_type(entry, false);
        // SAFETY: by contract.
        unsafe {
            let symbol = ir::c(name);
            let mut function = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            if function.is_null() {
                function = LLVMAddFunction(self.module, symbol.as_ptr(), ty);
                if entry.convergent {
                    let kind = LLVMGetEnumAttributeKindForName(c"convergent".as_ptr(), 10);
                    let attribute = LLVMCreateEnumAttribute(ir::context(self.module), kind, 0);
                    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
                }
            }
            LLVMBuildCall2(
                builder,
                ty,
                function,
                arguments.as_mut_ptr(),
                arguments.len() as c_uint,
                c"".as_ptr(),
            )
        }
    }
}
