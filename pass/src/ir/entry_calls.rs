//! Calls of gpurace's entry points: recognises, declares and makes them, by the one list in
//! [`gpurace_abi::entry`].

use std::ffi::c_uint;

use gpurace_abi::entry::{Entry, Ty};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// A function without parameters that stands for the thread context, `ptr`,
/// until [`crate::translate::thread_context`] replaces its calls.
pub const CONTEXT_FUNCTION: &str = "gpurace.context";

/// The entry point that a function is.
///
/// # Safety
/// `function` is live.
pub unsafe fn entry_of_function(function: LLVMValueRef) -> Option<Entry> {
    // SAFETY: by contract.
    Entry::of_symbol(&unsafe { ir::name(function) })
}

/// The entry point that an instruction calls.
///
/// # Safety
/// `instruction` is live.
pub unsafe fn entry_of(instruction: LLVMValueRef) -> Option<Entry> {
    // SAFETY: by contract.
    unsafe { EntryCall::of(instruction) }.map(|call| call.entry)
}

/// The address that a check is told.
///
/// # Safety
/// `check` is a live call that checks an access.
pub unsafe fn checked_address(check: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: by contract.
    let address = unsafe { EntryCall::of(check).and_then(|call| call.address()) };
    address.unwrap_or_else(|| unreachable!("not a check"))
}

/// A call of an entry point in a module.
#[derive(Clone, Copy, Debug)]
pub struct EntryCall {
    /// The entry point.
    pub entry: Entry,
    call: LLVMValueRef,
    /// 1 if the call passes the thread context first, else 0.
    first: u32,
}

impl EntryCall {
    /// An instruction as a call of an entry point, if it is one.
    ///
    /// # Safety
    /// `instruction` is live, and so long as the result is used.
    pub unsafe fn of(instruction: LLVMValueRef) -> Option<Self> {
        // SAFETY: by contract.
        unsafe {
            if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
                return None;
            }
            let entry = entry_of_function(ir::callee(instruction)?)?;
            let listed = entry.point().parameters.len() as u32;
            let first = LLVMGetNumArgOperands(instruction).checked_sub(listed)?;
            Some(Self { entry, call: instruction, first })
        }
    }

    /// The operand at `index` of the list, which leaves the thread context out.
    ///
    /// # Safety
    /// The call is live and has such an operand.
    pub unsafe fn operand(self, index: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { LLVMGetOperand(self.call, self.first + index as u32) }
    }

    /// Replaces the operand at `index` of the list.
    ///
    /// # Safety
    /// The call is live and has such an operand, of the type of `value`.
    pub unsafe fn set_operand(self, index: usize, value: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe { LLVMSetOperand(self.call, self.first + index as u32, value) }
    }

    /// The operand at `index` of the list, if it is a constant.
    ///
    /// # Safety
    /// The call is live and has such an operand.
    pub unsafe fn constant(self, index: usize) -> Option<u64> {
        // SAFETY: by contract.
        unsafe { ir::constant_argument(self.call, self.first + index as u32) }
    }

    /// The address that a check is told.
    ///
    /// # Safety
    /// The call is live.
    pub unsafe fn address(self) -> Option<LLVMValueRef> {
        // SAFETY: by contract; the operand is of the list.
        self.entry.address_operand().map(|index| unsafe { self.operand(index) })
    }

    /// The constant number of bytes that a check is told.
    ///
    /// # Safety
    /// The call is live.
    pub unsafe fn size(self) -> Option<u64> {
        // SAFETY: by contract; the operand is of the list.
        self.entry.size_operand().and_then(|index| unsafe { self.constant(index) })
    }

    /// The site that a check is told.
    ///
    /// # Safety
    /// The call is live.
    pub unsafe fn site(self) -> Option<u32> {
        // SAFETY: by contract; the operand is of the list.
        let site = self.entry.site_operand().and_then(|index| unsafe { self.constant(index) });
        site.map(|site| site as u32)
    }

    /// The place in the source of a synchronisation.
    ///
    /// # Safety
    /// The call is live.
    pub unsafe fn sync(self) -> Option<u32> {
        // SAFETY: by contract; the operand is of the list.
        let sync = self.entry.sync_operand().and_then(|index| unsafe { self.constant(index) });
        sync.map(|sync| sync as u32)
    }

    /// True if this is a barrier that all threads of the block reach: barrier 0, without a number
    /// of threads.
    ///
    /// # Safety
    /// The call is live.
    pub unsafe fn is_of_whole_block(self) -> bool {
        // SAFETY: by contract; these have both operands.
        matches!(self.entry, Entry::Barrier | Entry::BarrierRed)
            && unsafe { [self.constant(0), self.constant(1)] == [Some(0), Some(0)] }
    }
}

/// Builds calls of entry points in one module.
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

    /// Casts a pointer to the generic address space.
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

    /// The function type of an entry point. `with_context`: with the hidden first parameter.
    pub fn function_type(&self, entry: Entry, with_context: bool) -> LLVMTypeRef {
        let entry = entry.point();
        let mut params: Vec<_> = with_context.then_some(self.ptr).into_iter().collect();
        params.extend(entry.parameters.iter().map(|&(_, ty)| self.ty(ty)));
        // SAFETY: the types are live with the module.
        unsafe { LLVMFunctionType(self.ty(entry.result), params.as_mut_ptr(), params.len() as c_uint, 0) }
    }

    /// Calls an entry point at the builder's position.
    ///
    /// # Safety
    /// The builder is positioned in this module; the arguments have the listed types.
    pub unsafe fn call(
        &self,
        builder: LLVMBuilderRef,
        entry: Entry,
        arguments: &[LLVMValueRef],
    ) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { self.call_marked(builder, entry, entry.is_convergent(), arguments) }
    }

    /// Calls an entry point like [`Self::call`], and marks it as convergent.
    ///
    /// # Safety
    /// The builder is positioned in this module; the arguments have the listed types.
    pub unsafe fn call_convergent(
        &self,
        builder: LLVMBuilderRef,
        entry: Entry,
        arguments: &[LLVMValueRef],
    ) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { self.call_marked(builder, entry, true, arguments) }
    }

    unsafe fn call_marked(
        &self,
        builder: LLVMBuilderRef,
        entry: Entry,
        convergent: bool,
        arguments: &[LLVMValueRef],
    ) -> LLVMValueRef {
        debug_assert_eq!(entry.point().parameters.len(), arguments.len(), "{entry:?}");
        let ty = self.function_type(entry, false);
        // SAFETY: by contract.
        unsafe {
            let symbol = ir::c(entry.symbol());
            let mut function = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            if function.is_null() {
                function = LLVMAddFunction(self.module, symbol.as_ptr(), ty);
                if convergent {
                    ir::mark_function(function, "convergent");
                }
            }
            ir::call_as(builder, ty, function, arguments)
        }
    }

    /// The function of an entry point with the thread context as first parameter.
    ///
    /// # Safety
    /// The module is live, and its functions have the context as a parameter.
    pub unsafe fn threaded(&self, entry: Entry) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let symbol = ir::c(entry.symbol());
            let known = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            if !known.is_null() {
                return known;
            }
            LLVMAddFunction(self.module, symbol.as_ptr(), self.function_type(entry, true))
        }
    }
}
