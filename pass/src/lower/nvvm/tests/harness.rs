//! Modules from text, lowered and run on the host.

use std::ffi::CString;
use std::ptr;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::execution_engine::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVM_InitializeNativeAsmPrinter, LLVM_InitializeNativeTarget};

use crate::ir;
use crate::lower::nvvm::{lower_nvvm, make_division_total};
use crate::prepare::run_passes;

/// A module and the context that it lives in.
pub struct Module {
    context: LLVMContextRef,
    pub module: LLVMModuleRef,
}

impl Module {
    /// Parses IR text.
    pub fn parse(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }

    /// Reads IR text or bitcode.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // SAFETY: the buffer is copied and then belongs to the parser.
        unsafe {
            let context = LLVMContextCreate();
            let name = c"test";
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                bytes.as_ptr().cast(),
                bytes.len(),
                name.as_ptr(),
            );
            let mut module = ptr::null_mut();
            let mut message = ptr::null_mut();
            let failed = llvm_sys::ir_reader::LLVMParseIRInContext(
                context,
                buffer,
                &mut module,
                &mut message,
            );
            assert_eq!(
                failed,
                0,
                "{}\n{}",
                ir::text(message),
                String::from_utf8_lossy(bytes)
            );
            Self { context, module }
        }
    }

    /// Lowers the module, checks that it is valid and gives back what was refused.
    pub fn lower(&self) -> Vec<String> {
        // SAFETY: the module is live and this test's alone.
        unsafe {
            let refused = lower_nvvm(self.module);
            make_division_total(self.module);
            let mut message = ptr::null_mut();
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.module, action, &mut message);
            assert_eq!(broken, 0, "{}\n{}", ir::text(message), self.text());
            refused.into_iter().map(|u| u.what).collect()
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

    /// Compiles the lowered module.
    pub fn compile(self) -> Code {
        // SAFETY: the module is live and goes to the engine.
        unsafe {
            LLVM_InitializeNativeTarget();
            LLVM_InitializeNativeAsmPrinter();
            LLVMLinkInMCJIT();
            // `half` conversions and `fma` in hardware: no library to find them in.
            for function in ir::definitions(self.module) {
                let (key, value) = ("target-features", "+avx2,+fma,+f16c");
                let attribute = LLVMCreateStringAttribute(
                    self.context,
                    key.as_ptr().cast(),
                    key.len() as u32,
                    value.as_ptr().cast(),
                    value.len() as u32,
                );
                LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
            }
            // As in a program: the optimiser must keep what the lowering means.
            run_passes(self.module, "default<O2>", ptr::null_mut()).unwrap();
            let mut engine = ptr::null_mut();
            let mut message = ptr::null_mut();
            let failed = LLVMCreateJITCompilerForModule(&mut engine, self.module, 2, &mut message);
            assert_eq!(failed, 0, "{}", ir::text(message));
            Code {
                engine,
                context: self.context,
            }
        }
    }
}

/// Code that can be called.
pub struct Code {
    engine: LLVMExecutionEngineRef,
    context: LLVMContextRef,
}

impl Code {
    /// Lowers and compiles IR text in which everything must be supported.
    pub fn of(text: &str) -> Self {
        let module = Module::parse(text);
        let refused = module.lower();
        assert!(refused.is_empty(), "refused: {refused:?}");
        module.compile()
    }

    /// Lowers and compiles functions that call one intrinsic each: pairs of the
    /// intrinsic's name and its type as `result(parameters)`. Each function has
    /// the intrinsic's name without `llvm.nvvm.`.
    pub fn of_intrinsics(list: &[(String, &str)]) -> Self {
        let mut text = String::new();
        for (name, ty) in list {
            let (result, params) = ty.trim_end_matches(')').split_once('(').unwrap();
            let params: Vec<_> = params.split(", ").filter(|p| !p.is_empty()).collect();
            let arguments: Vec<_> = params
                .iter()
                .enumerate()
                .map(|(i, p)| format!("{p} %{i}"))
                .collect();
            let arguments = arguments.join(", ");
            text += &format!(
                "declare {result} @llvm.nvvm.{name}({})\n",
                params.join(", ")
            );
            text += &format!(
                "define {result} @{name}({arguments}) {{\nentry:\n  %r = call {result} @llvm.nvvm.{name}({arguments})\n  ret {result} %r\n}}\n"
            );
        }
        Self::of(&text)
    }

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
        // SAFETY: created by `compile`, disposed of once.
        unsafe {
            LLVMDisposeExecutionEngine(self.engine);
            LLVMContextDispose(self.context);
        }
    }
}

/// Pseudo-random bits (Marsaglia, "Xorshift RNGs", 2003).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e3779b97f4a7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Floats at every edge: zeros, subnormals, ties, ends of integer ranges, NaN.
pub fn floats() -> Vec<f32> {
    let mut values = vec![
        0.0,
        1.0,
        1.5,
        2.5,
        0.5,
        0.49999997,
        3.0,
        1e-3,
        1e10,
        1e30,
        1e-30,
        1e-38,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x7fffff),
        f32::MAX,
        f32::INFINITY,
        2147483648.0,
        2147483520.0,
        4294967296.0,
        4294967040.0,
        9.223372e18,
        1.8446744e19,
        1.0 + f32::EPSILON,
        1.0 - f32::EPSILON / 2.0,
        8388608.5,
        16777216.0,
    ];
    values.extend(values.clone().into_iter().map(|v: f32| -v));
    values.push(f32::NAN);
    values
}

/// The same for doubles.
pub fn doubles() -> Vec<f64> {
    let mut values: Vec<f64> = floats().into_iter().map(f64::from).collect();
    for v in [
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from_bits(0xfffffffffffff),
        f64::MAX,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        1e-320,
        1e300,
        2147483647.5,
        4294967295.5,
        9007199254740993.0,
        3.4028235677973366e38,
        3.4028235e38,
        1e-46,
        7e-46,
        1.0000000596046448,
    ] {
        values.extend([v, -v]);
    }
    values
}

/// Whether two results are the same value: the same bits, or both NaN.
pub fn same32(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Whether two results are the same value: the same bits, or both NaN.
pub fn same64(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
