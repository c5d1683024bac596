//! For tests: compiles modules from text and runs them on the host.

use std::ffi::{CString, c_void};
use std::ptr;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::execution_engine::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVM_InitializeNativeAsmPrinter, LLVM_InitializeNativeTarget};

use crate::ir;
use crate::ir::modules;
use crate::ir::passes::run_passes;

/// A module and the context that it lives in.
pub struct Module {
    context: LLVMContextRef,
    /// The module.
    pub module: LLVMModuleRef,
}

impl Module {
    /// Parses IR text.
    pub fn parse(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }

    /// Reads IR text or bitcode.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // SAFETY: the context is new.
        unsafe {
            let context = LLVMContextCreate();
            let module = modules::parse(context, bytes).expect("the module can be read");
            Self { context, module }
        }
    }

    /// Checks that the module is valid.
    pub fn verify(&self) {
        // SAFETY: the module is live and this test's alone.
        unsafe {
            let mut message = ptr::null_mut();
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.module, action, &mut message);
            assert_eq!(broken, 0, "{}\n{}", ir::text(message), self.text());
        }
    }

    /// The module as text.
    pub fn text(&self) -> String {
        // SAFETY: the module is live; the message is freed once.
        unsafe {
            let text = LLVMPrintModuleToString(self.module);
            let owned = ir::text(text);
            LLVMDisposeMessage(text);
            owned
        }
    }

    /// Compiles the module, which was lowered, with these functions by name.
    pub fn jit(self, functions: &[(&str, HostFunction)]) -> Code {
        // SAFETY: the module is live and goes to the engine.
        unsafe {
            LLVM_InitializeNativeTarget();
            LLVM_InitializeNativeAsmPrinter();
            LLVMLinkInMCJIT();
            // `half` conversions and `fma` in hardware: no library to find them in.
            for function in ir::definitions(self.module) {
                ir::set_string_attribute(function, "target-features", "+avx2,+fma,+f16c");
            }
            // As in a program: the optimiser must keep what the lowering means.
            run_passes(self.module, "default<O2>", ptr::null_mut()).unwrap();
            let (mut engine, mut message) = (ptr::null_mut(), ptr::null_mut());
            let failed = LLVMCreateJITCompilerForModule(&mut engine, self.module, 2, &mut message);
            assert_eq!(failed, 0, "{}", ir::text(message));
            for (name, address) in functions {
                let function = LLVMGetNamedFunction(self.module, ir::c(name).as_ptr());
                if !function.is_null() {
                    LLVMAddGlobalMapping(engine, function, address.0.cast_mut());
                }
            }
            Code { engine, context: self.context }
        }
    }
}

/// An address to map a symbol to.
pub struct HostFunction(pub *const c_void);
// SAFETY: addresses of functions.
unsafe impl Sync for HostFunction {}

/// Code that can be called.
pub struct Code {
    engine: LLVMExecutionEngineRef,
    context: LLVMContextRef,
}

impl Code {
    /// A function's address, as a function pointer type.
    ///
    /// # Safety
    /// `F` is an `extern "C"` function pointer of the function's type.
    pub unsafe fn get<F: Copy>(&self, name: &str) -> F {
        assert_eq!(size_of::<F>(), size_of::<u64>());
        let symbol = CString::new(name).unwrap();
        // SAFETY: the engine is live; the caller vouches for the type.
        unsafe {
            let address = LLVMGetFunctionAddress(self.engine, symbol.as_ptr());
            assert_ne!(address, 0, "no function `{name}`");
            std::mem::transmute_copy(&address)
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: created by `jit`, disposed of once.
        unsafe {
            LLVMDisposeExecutionEngine(self.engine);
            LLVMContextDispose(self.context);
        }
    }
}
