//! Functions that consist of one asm, lowered and run on the host.

use std::cell::RefCell;
use std::ffi::c_void;

use crate::ir;
use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::ir::jit::HostFunction;
use crate::translate::nvvm::{lower_nvvm, make_division_total};
use crate::translate::ptx_to_ir::lower_ptx;

pub use crate::ir::jit::{Code, Module};
pub use gpurace_random::Random;

/// An asm and what it computes of one word, two, three.
pub type Of1 = (&'static str, fn(u32) -> u32);
pub type Of2 = (&'static str, fn(u32, u32) -> u32);
pub type Of3 = (&'static str, fn(u32, u32, u32) -> u32);

impl Module {
    /// Translates the asm only; gives back what was refused.
    pub fn lower_asm(&self) -> Vec<String> {
        // SAFETY: the module is live and this test's alone.
        unsafe {
            let refused = lower_ptx(self.module);
            self.verify();
            refused
        }
    }

    /// Lowers all of it, in which everything must be supported, and compiles it.
    pub fn compile(self) -> Code {
        let refused = self.lower_asm();
        assert!(refused.is_empty(), "refused: {refused:?}");
        // SAFETY: the module is live and this test's alone.
        unsafe {
            let refused = lower_nvvm(self.module);
            assert!(refused.is_empty(), "refused: {refused:?}");
            make_division_total(self.module);
        }
        self.verify();
        self.jit(ENTRIES)
    }
}

/// The text of a function `name` that is one asm.
pub fn function(name: &str, template: &str, constraints: &str, result: &str, params: &[&str]) -> String {
    let list: Vec<_> = params.iter().enumerate().map(|(i, p)| format!("{p} %a{i}")).collect();
    let list = list.join(", ");
    let template: String = template
        .bytes()
        .map(|b| {
            if b.is_ascii_graphic() && b != b'"' && b != b'\\' || b == b' ' {
                char::from(b).to_string()
            } else {
                format!("\\{b:02X}")
            }
        })
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
        .map(|(template, constraints, result, params)| {
            function(template, template, constraints, result, params)
        })
        .collect();
    Module::parse(&text).compile()
}

/// Bits among which ends and small numbers are frequent.
pub fn edge(random: &mut Random) -> u32 {
    let n = random.bits();
    match n % 5 {
        0 => [0, 1, 31, 32, 33, u32::MAX, 1 << 31, (1 << 31) - 1][(n >> 8) as usize % 8],
        1 => (n >> 8) as u32 % 70,
        _ => (n >> 16) as u32,
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

const ENTRIES: &[(&str, HostFunction)] = &[
    ("__gpurace_barrier", HostFunction(barrier as *const c_void)),
    ("__gpurace_barrier_arrive", HostFunction(barrier_arrive as *const c_void)),
    ("__gpurace_barrier_red", HostFunction(barrier_red as *const c_void)),
    ("__gpurace_cluster_arrive", HostFunction(cluster_arrive as *const c_void)),
    ("__gpurace_cluster_wait", HostFunction(cluster_wait as *const c_void)),
    ("__gpurace_mapa", HostFunction(mapa as *const c_void)),
    ("__gpurace_syncwarp", HostFunction(syncwarp as *const c_void)),
    ("__gpurace_shfl", HostFunction(shfl as *const c_void)),
    ("__gpurace_vote", HostFunction(vote as *const c_void)),
    ("__gpurace_match", HostFunction(matching as *const c_void)),
    ("__gpurace_redux", HostFunction(redux as *const c_void)),
    ("__gpurace_activemask", HostFunction(activemask as *const c_void)),
    ("__gpurace_fence", HostFunction(fence as *const c_void)),
    ("__gpurace_exit", HostFunction(exit as *const c_void)),
    ("__gpurace_trap", HostFunction(trap as *const c_void)),
    ("__gpurace_nanosleep", HostFunction(nanosleep as *const c_void)),
    ("__gpurace_yield", HostFunction(yields as *const c_void)),
    ("__gpurace_atomic_done", HostFunction(atomic_done as *const c_void)),
    ("__gpurace_unsupported", HostFunction(unsupported as *const c_void)),
    ("__gpurace_clock", HostFunction(clock as *const c_void)),
    ("__gpurace_globaltimer", HostFunction(clock as *const c_void)),
    (CONTEXT_FUNCTION, HostFunction(context as *const c_void)),
];
