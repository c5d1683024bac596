//! Functions that consist of one asm, lowered and run on the host.

use std::cell::RefCell;
use std::ffi::{CString, c_void};
use std::ptr;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::execution_engine::*;
use llvm_sys::ir_reader::LLVMParseIRInContext;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVM_InitializeNativeAsmPrinter, LLVM_InitializeNativeTarget};

use crate::ir;
use crate::lower::nvvm::{lower_nvvm, make_division_total};
use crate::lower::ptx::lower_ptx;
use crate::prepare::run_passes;

/// An asm and what it computes of one word, two, three.
pub type Of1 = (&'static str, fn(u32) -> u32);
pub type Of2 = (&'static str, fn(u32, u32) -> u32);
pub type Of3 = (&'static str, fn(u32, u32, u32) -> u32);

/// A module in a context of its own.
pub struct Module {
    context: LLVMContextRef,
    module: LLVMModuleRef,
}

impl Module {
    pub fn parse(text: &str) -> Self {
        // SAFETY: the buffer is copied and then belongs to the parser.
        unsafe {
            let context = LLVMContextCreate();
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr().cast(), text.len(), c"test".as_ptr());
            let (mut module, mut message) = (ptr::null_mut(), ptr::null_mut());
            let failed = LLVMParseIRInContext(context, buffer, &mut module, &mut message);
            assert_eq!(failed, 0, "{}\n{text}", ir::text(message));
            Self { context, module }
        }
    }

    /// Translates the asm only; gives back what was refused.
    pub fn lower_asm(&self) -> Vec<String> {
        // SAFETY: the module is live and this test's alone.
        unsafe {
            let refused = lower_ptx(self.module);
            self.verify();
            refused
        }
    }

    unsafe fn verify(&self) {
        // SAFETY: the module is live.
        unsafe {
            let mut message = ptr::null_mut();
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.module, action, &mut message);
            assert_eq!(broken, 0, "{}\n{}", ir::text(message), self.text());
        }
    }

    pub fn text(&self) -> String {
        // SAFETY: the module is live; the message is freed once.
        unsafe {
            let text = LLVMPrintModuleToString(self.module);
            let owned = ir::text(text);
            LLVMDisposeMessage(text);
            owned
        }
    }

    /// Lowers all of it, in which everything must be supported, and compiles it.
    pub fn compile(self) -> Code {
        let refused = self.lower_asm();
        assert!(refused.is_empty(), "refused: {refused:?}");
        // SAFETY: the module is live and goes to the engine.
        unsafe {
            let refused = lower_nvvm(self.module);
            assert!(refused.is_empty(), "refused: {refused:?}");
            make_division_total(self.module);
            self.verify();
            LLVM_InitializeNativeTarget();
            LLVM_InitializeNativeAsmPrinter();
            LLVMLinkInMCJIT();
            for function in ir::definitions(self.module) {
                // `half` conversions in hardware: no library to find them in.
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
            run_passes(self.module, "default<O2>", ptr::null_mut()).unwrap();
            let (mut engine, mut message) = (ptr::null_mut(), ptr::null_mut());
            let failed = LLVMCreateJITCompilerForModule(&mut engine, self.module, 2, &mut message);
            assert_eq!(failed, 0, "{}", ir::text(message));
            for (name, address) in ENTRIES {
                let function = LLVMGetNamedFunction(self.module, ir::c(name).as_ptr());
                if !function.is_null() {
                    LLVMAddGlobalMapping(engine, function, address.0.cast_mut());
                }
            }
            Code { engine, context: self.context }
        }
    }
}

/// The text of a function `name` that is one asm.
pub fn function(name: &str, template: &str, constraints: &str, result: &str, params: &[&str]) -> String {
    let list: Vec<_> = params.iter().enumerate().map(|(i, p)| format!("{p} %a{i}")).collect();
    let list = list.join(", ");
    let template: String = template
        .bytes()
        .map(|b| if b.is_ascii_graphic() && b != b'"' && b != b'\\' || b == b' ' { char::from(b).to_string() } else { format!("\\{b:02X}") })
        .collect();
    let (bind, value) = if result == "void" { ("", "void") } else { ("%r = ", "$ %r") };
    let value = value.replace('$', result);
    format!(
        "define {result} @\"{name}\"({list}) {{\nentry:\n  {bind}call {result} asm sideeffect \"{template}\", \"{constraints}\"({list})\n  ret {value}\n}}\n"
    )
}

/// Code of functions given as template, constraints, result and parameters; the
/// template names the function.
pub fn code(list: &[(&str, &str, &str, &[&str])]) -> Code {
    let text: String = list
        .iter()
        .map(|(template, constraints, result, params)| function(template, template, constraints, result, params))
        .collect();
    Module::parse(&text).compile()
}

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

    /// Bits among which ends and small numbers are frequent.
    pub fn edge(&mut self) -> u32 {
        let n = self.bits();
        match n % 5 {
            0 => [0, 1, 31, 32, 33, u32::MAX, 1 << 31, (1 << 31) - 1][(n >> 8) as usize % 8],
            1 => (n >> 8) as u32 % 70,
            _ => (n >> 16) as u32,
        }
    }
}

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The entry points called since the last time, with their arguments.
pub fn calls() -> Vec<String> {
    CALLS.with(|c| std::mem::take(&mut *c.borrow_mut()))
}

fn record(call: String) {
    CALLS.with(|c| c.borrow_mut().push(call));
}

/// An address to map a symbol to.
pub struct Entry(*const c_void);
// SAFETY: addresses of functions.
unsafe impl Sync for Entry {}

extern "C" fn barrier(id: i32, threads: i32, _: i32) {
    record(format!("barrier({id}, {threads})"));
}
extern "C" fn barrier_arrive(id: i32, threads: i32, _: i32) {
    record(format!("arrive({id}, {threads})"));
}
extern "C" fn barrier_red(id: i32, threads: i32, op: i32, p: i32, _: i32) -> i32 {
    record(format!("red({id}, {threads}, {op}, {p})"));
    if op == 0 { 7 } else { p }
}
extern "C" fn cluster_arrive(order: u32, _: i32) {
    record(format!("cluster_arrive({order})"));
}
extern "C" fn cluster_wait(_: i32) {
    record("cluster_wait".to_owned());
}
extern "C" fn mapa(address: u64, rank: u32) -> u64 {
    record(format!("mapa({rank})"));
    address + 4096 * u64::from(rank)
}
extern "C" fn syncwarp(mask: u32, _: i32) {
    record(format!("syncwarp({mask:#x})"));
}
extern "C" fn shfl(mode: i32, mask: u32, value: u32, b: i32, c: i32, _: i32) -> u64 {
    record(format!("shfl({mode}, {mask:#x}, {value}, {b}, {c})"));
    u64::from(value.wrapping_add(1)) | u64::from(value % 2) << 32
}
extern "C" fn vote(mode: i32, mask: u32, p: i32, _: i32) -> i32 {
    record(format!("vote({mode}, {mask:#x}, {p})"));
    if mode == 3 { mask as i32 } else { p }
}
extern "C" fn matching(mode: i32, mask: u32, value: u64, bits: i32, _: i32) -> u64 {
    record(format!("match({mode}, {mask:#x}, {value}, {bits})"));
    0xf | 1 << 32
}
extern "C" fn redux(op: i32, mask: u32, value: u32, _: i32) -> u32 {
    record(format!("redux({op}, {mask:#x}, {value})"));
    value + 1
}
extern "C" fn activemask() -> u32 {
    0xff
}
extern "C" fn fence(scope: i32, order: i32, _: i32) {
    record(format!("fence({scope}, {order})"));
}
extern "C" fn exit() {
    record("exit".to_owned());
}
extern "C" fn trap(_: i32) {
    record("trap".to_owned());
}
extern "C" fn nanosleep(t: i32) {
    record(format!("nanosleep({t})"));
}
extern "C" fn atomic_done(_: *const c_void, _: u32, _: u32, _: u32, _: u32, _: u32) {}

extern "C" fn yields() {
    record("yield".to_owned());
}
extern "C" fn unsupported(what: *const std::ffi::c_char, _: i32) {
    // SAFETY: the translation passes a C string.
    let what = unsafe { ir::text(what) };
    record(format!("unsupported({what})"));
}
extern "C" fn clock() -> u64 {
    0x1_2345_6789
}
/// The lane that tests run as.
pub const LANE: u32 = 5;
#[repr(align(16))]
struct Context([u32; 64]);
extern "C" fn context() -> *const c_void {
    static CONTEXT: Context = {
        let mut fields = [0; 64];
        fields[gpurace_abi::context::offset::LANE / 4] = LANE;
        fields[gpurace_abi::context::offset::DYNAMIC_SHARED_BYTES / 4] = 96;
        Context(fields)
    };
    CONTEXT.0.as_ptr().cast()
}

const ENTRIES: &[(&str, Entry)] = &[
    ("__gpurace_barrier", Entry(barrier as *const c_void)),
    ("__gpurace_barrier_arrive", Entry(barrier_arrive as *const c_void)),
    ("__gpurace_barrier_red", Entry(barrier_red as *const c_void)),
    ("__gpurace_cluster_arrive", Entry(cluster_arrive as *const c_void)),
    ("__gpurace_cluster_wait", Entry(cluster_wait as *const c_void)),
    ("__gpurace_mapa", Entry(mapa as *const c_void)),
    ("__gpurace_syncwarp", Entry(syncwarp as *const c_void)),
    ("__gpurace_shfl", Entry(shfl as *const c_void)),
    ("__gpurace_vote", Entry(vote as *const c_void)),
    ("__gpurace_match", Entry(matching as *const c_void)),
    ("__gpurace_redux", Entry(redux as *const c_void)),
    ("__gpurace_activemask", Entry(activemask as *const c_void)),
    ("__gpurace_fence", Entry(fence as *const c_void)),
    ("__gpurace_exit", Entry(exit as *const c_void)),
    ("__gpurace_trap", Entry(trap as *const c_void)),
    ("__gpurace_nanosleep", Entry(nanosleep as *const c_void)),
    ("__gpurace_yield", Entry(yields as *const c_void)),
    ("__gpurace_atomic_done", Entry(atomic_done as *const c_void)),
    ("__gpurace_unsupported", Entry(unsupported as *const c_void)),
    ("__gpurace_clock", Entry(clock as *const c_void)),
    ("__gpurace_globaltimer", Entry(clock as *const c_void)),
    ("__gpurace_ctx", Entry(context as *const c_void)),
];
