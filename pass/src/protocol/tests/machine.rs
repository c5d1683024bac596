//! Compiles kernels from source, extracts their protocols, and runs their threads one by one.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, c_void};
use std::io::Write;
use std::process::{Command, Stdio};
use std::ptr;

use gpurace_abi::context::ThreadCtx;
use gpurace_abi::entry::Entry;
use gpurace_abi::image::{IMAGE_SYMBOL, ImageTable};
use gpurace_protocol::arguments;
use gpurace_protocol::expr::Width;
use gpurace_protocol::launch::{Extent, Launch, LaunchShape};
use gpurace_protocol::protocol::{ObjectKind, Op, Protocol};
use gpurace_protocol::run::{Open, Stopped, Thread, Touch, trace};
use llvm_sys::core::*;
use llvm_sys::execution_engine::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVM_InitializeNativeAsmPrinter, LLVM_InitializeNativeTarget};

use super::repeat;
use crate::analysis::reach;
use crate::checks::grid_sync;
use crate::checks::instrument;
use crate::checks::kept;
use crate::checks::sites::{self, AccessSite, ConstantMemory};
use crate::codegen::{describe, image, object};
use crate::ir::parameters::argument_layout;
use crate::ir::position::Positions;
use crate::ir::position::source_name;
use crate::ir::structs::Structs;
use crate::translate::{shared, thread_context};
use crate::{ir, prepare, protocol, translate};

/// What the kernels of the tests may use, without a CUDA toolkit.
const PRELUDE: &str = r#"
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define KERNEL extern "C" __global__ void
#define tid ((int)__nvvm_read_ptx_sreg_tid_x())
#define tidy ((int)__nvvm_read_ptx_sreg_tid_y())
#define ctaid ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define ntid ((int)__nvvm_read_ptx_sreg_ntid_x())
#define nctaid ((int)__nvvm_read_ptx_sreg_nctaid_x())
#define lane ((int)__nvvm_read_ptx_sreg_laneid())
#define sync() __syncthreads()
#define warp_sync() __nvvm_bar_warp_sync(-1)
typedef unsigned long long u64;
"#;

/// A program and its kernels' protocols.
pub struct Program {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    accesses: Vec<AccessSite>,
    /// The protocol of the first kernel.
    pub protocol: Protocol,
    protocols: Vec<Protocol>,
}

impl Program {
    /// Compiles CUDA source, as clang's front end leaves it, and extracts the
    /// protocols of its kernels.
    pub fn of(source: &str) -> Self {
        Self::from_bitcode(&compile(source))
    }

    /// The same from IR text or bitcode.
    pub fn from_bitcode(bytes: &[u8]) -> Self {
        // SAFETY: the buffer is copied and then belongs to the parser; the
        // module is this test's alone.
        unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiscardValueNames(context, 0);
            let module = ir::modules::parse(context, bytes).expect("clang's bitcode can be read");
            grid_sync::mark(module);
            prepare::prepare(module).unwrap();
            kept::insert(module);
            let unsupported = translate::normalize(module);
            assert!(unsupported.is_empty(), "{unsupported:?}");
            if std::env::var_os("GPURACE_TEST_DUMP").is_some() {
                LLVMDumpModule(module);
            }
            let found = sites::collect(module, &mut Positions::new(&[]), ConstantMemory::IsChecked);
            let kernels: Vec<_> = ir::kernels(module).into_iter().map(|(f, _)| f).collect();
            let protocols = protocol::extract(module, &kernels, &found.accesses, &Structs::default());
            grid_sync::unmark(module);
            if std::env::var_os("GPURACE_TEST_DUMP").is_some() {
                eprintln!("{protocols:#?}");
            }
            Self { context, module, accesses: found.accesses, protocol: protocols[0].clone(), protocols }
        }
    }

    /// Asserts that each thread of the launch makes exactly the accesses of the protocol, between the
    /// same barriers, and that the protocol leaves nothing open.
    pub fn assert_exact(self, grid: [u32; 3], block: [u32; 3], arguments: &[Argument]) {
        for (protocol, ran) in self.run(grid, block, arguments) {
            repeat::compare(&protocol, &ran);
            let open = ran.compare(&protocol, 1, false);
            assert_eq!(open, 0, "the protocol leaves something open: {protocol:#?}");
        }
    }

    /// Asserts that the protocol has all accesses of each thread, for some answers to its open
    /// questions. Random answers are tried `tries` times. A thread without open questions must make
    /// exactly the accesses of the protocol. Returns the number of other threads, of all kernels.
    pub fn assert_covered(
        self,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
        tries: u64,
    ) -> usize {
        let all = self.run(grid, block, arguments);
        all.iter().for_each(|(protocol, ran)| _ = repeat::compare(protocol, ran));
        all.iter().map(|(protocol, ran)| ran.compare(protocol, tries, false)).sum()
    }

    /// Asserts that the protocol has all accesses of each thread. It may have more.
    pub fn assert_included(self, grid: [u32; 3], block: [u32; 3], arguments: &[Argument]) {
        for (protocol, ran) in self.run(grid, block, arguments) {
            repeat::compare(&protocol, &ran);
            ran.compare(&protocol, 1, true);
        }
    }

    /// The number of kernels whose accesses can be listed for such a launch. The lists are compared
    /// with the accesses of the threads.
    pub fn repeated(self, grid: [u32; 3], block: [u32; 3], arguments: &[Argument]) -> usize {
        let all = self.run(grid, block, arguments);
        all.iter().filter(|(protocol, ran)| repeat::compare(protocol, ran)).count()
    }

    fn run(self, grid: [u32; 3], block: [u32; 3], arguments: &[Argument]) -> Vec<(Protocol, Ran)> {
        // SAFETY: the module is live and this test's alone; it goes to the engine.
        unsafe {
            let machine = Machine::build(self);
            let all = (0..machine.kernels.len()).map(|i| machine.run(i, grid, block, arguments)).collect();
            machine.finish();
            all
        }
    }
}

fn draw(open: &Open, seed: u64) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (open, seed).hash(&mut hasher);
    let bits = hasher.finish();
    // Mostly small numbers, for indices and truth values.
    if bits & 3 == 0 { bits >> 40 } else { bits >> 60 }
}

fn compile(source: &str) -> Vec<u8> {
    let mut clang = Command::new(concat!(env!("LLVM_SYS_221_PREFIX"), "/bin/clang++"))
        .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib"])
        .args(["-O2", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names"])
        // Otherwise clang takes it from the toolkit that it finds.
        .args(["-Xclang", "-target-feature", "-Xclang", "+ptx78"])
        .args(["-w", "-emit-llvm", "-c", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("clang 22 runs");
    let mut input = clang.stdin.take().unwrap();
    input.write_all(PRELUDE.as_bytes()).unwrap();
    input.write_all(source.as_bytes()).unwrap();
    drop(input);
    let output = clang.wait_with_output().unwrap();
    assert!(output.status.success(), "clang refused the kernel");
    output.stdout
}

/// An argument of the kernel.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A 32-bit integer.
    Int(i32),
    /// A 64-bit integer.
    Long(i64),
    /// A pointer to memory with these words in it.
    Words(Vec<i32>),
    /// A pointer to this far into the memory of the argument before.
    Inside(usize),
    /// A struct passed by value.
    Bytes(Vec<u8>),
    /// A struct of pointers, passed by value.
    Pointers(Pointers),
}

/// A struct of pointers.
#[derive(Clone, Debug)]
pub struct Pointers {
    /// The number of pointers.
    pub count: usize,
    /// The number of words behind each pointer. They are zero.
    pub words: usize,
    /// The bytes of the struct that follow the pointers.
    pub rest: Vec<u8>,
}

/// One access: site, operation, address, bytes, barriers passed: syncs of the warp, barriers of the
/// block, and a digest of the masks of syncs of lanes that name the thread.
pub type Event = (u32, Kind, u64, u64, [u32; 3]);

fn digest(before: u32, mask: u32) -> u32 {
    before.wrapping_mul(31).wrapping_add(mask)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
    Atomic,
}

pub struct Ran {
    pub launch: Launch,
    pub threads: Vec<(Thread, BTreeSet<Event>)>,
    /// Addresses of variables, by name; dynamic shared memory has none.
    variables: HashMap<String, u64>,
    dynamic: u64,
}

impl Ran {
    /// Compares the accesses with those of the protocol. Returns the number of threads for which the
    /// protocol leaves something open.
    fn compare(&self, protocol: &Protocol, tries: u64, more: bool) -> usize {
        let mut open = 0;
        for (thread, real) in &self.threads {
            let mut said = BTreeSet::new();
            let mut asked = false;
            for seed in 0..tries {
                let mut choose = |open: &Open| draw(open, seed);
                match trace(protocol, &self.launch, *thread, &mut choose, 1 << 16) {
                    Ok(run) => {
                        asked |= run.asked;
                        said.extend(
                            run.touches
                                .iter()
                                .map(|t| self.event(protocol, t, &run.syncs.first(t.lane_syncs))),
                        );
                    }
                    Err(Stopped::TooLong) => asked = true,
                    Err(why) => panic!("{why}: {protocol:#?}"),
                }
                if !asked {
                    break;
                }
            }
            open += usize::from(asked);
            let missing: Vec<_> = real.difference(&said).collect();
            assert!(missing.is_empty(), "{thread:?}: done but not said: {missing:?}: {protocol:#?}");
            if !asked && !more {
                assert_eq!(said, *real, "{thread:?}: said (left) and done (right) differ: {protocol:#?}");
            }
        }
        assert!(
            self.threads.iter().any(|(_, real)| !real.is_empty()),
            "no thread touched anything: {protocol:#?}"
        );
        open
    }

    /// True for an access to memory that only one block, or one thread, has.
    pub fn is_own(&self, event: &Event) -> bool {
        let shared = self.dynamic - SHARED as u64 / 2;
        event.2 == 0 || (shared..shared + SHARED as u64).contains(&event.2)
    }

    /// True for an access to one of the protocol's variables in constant memory.
    pub fn is_in_constant_memory(&self, protocol: &Protocol, event: &Event) -> bool {
        protocol.objects.iter().any(|object| match &object.kind {
            ObjectKind::Variable { symbol, size, constant: true } => {
                let start = self.variables[symbol];
                (start..start + size).contains(&event.2)
            }
            _ => false,
        })
    }

    /// The address of the shared variable with this name in the source.
    fn shared(&self, name: &str) -> u64 {
        let mut named = self.variables.iter().filter(|(symbol, _)| source_name(symbol) == name);
        let (_, address) = named.next().expect("a variable of this name");
        assert!(named.next().is_none(), "two variables `{name}`");
        *address
    }

    /// A touch of the protocol as an event of the machine.
    pub fn event(&self, protocol: &Protocol, touch: &Touch, masks: &[u32]) -> Event {
        let object = &protocol.objects[touch.object as usize];
        let base = match &object.kind {
            ObjectKind::Param(id) => self.launch.params[id.0 as usize],
            ObjectKind::Shared { .. } => self.shared(&object.name),
            ObjectKind::Variable { symbol, .. } => self.variables[symbol],
            ObjectKind::DynamicShared => self.dynamic,
            ObjectKind::Slot { .. } => {
                let extent = self.launch.computed.pointer(i128::from(touch.slot as i64));
                extent.expect("a pointer that the launch has").base
            }
            ObjectKind::Opaque { .. }
            | ObjectKind::Image(_)
            | ObjectKind::GridBarrier
            | ObjectKind::Unshared => 0,
        };
        let kind = match touch.op {
            Op::Read
            | Op::Volatile { writes: false }
            | Op::Copy { writes: false, .. }
            | Op::Between { writes: false, .. } => Kind::Read,
            Op::Write
            | Op::Volatile { writes: true }
            | Op::Copy { writes: true, .. }
            | Op::Between { writes: true, .. } => Kind::Write,
            Op::Atomic { .. } => Kind::Atomic,
        };
        let [warp, block, _] = touch.passed;
        let lanes = masks.iter().copied().fold(0, digest);
        let passed = [warp, block, lanes];
        if object.kind == ObjectKind::Unshared {
            return (touch.site.0, kind, 0, 0, passed);
        }
        (touch.site.0, kind, base.wrapping_add(touch.offset as u64), touch.size, passed)
    }
}

struct Machine {
    engine: LLVMExecutionEngineRef,
    context: LLVMContextRef,
    kernels: Vec<(Protocol, Vec<gpurace_abi::meta::Param>)>,
    shared: HashMap<String, u32>,
    variables: Vec<String>,
}

/// Bytes of the block's shared memory, static and dynamic halves.
const SHARED: usize = 1 << 16;

impl Machine {
    unsafe fn build(program: Program) -> Self {
        let Program { context, module, accesses, protocols, .. } = program;
        // SAFETY: by contract.
        unsafe {
            instrument::insert_checks(module, &accesses, &Default::default());
            let machine = object::machine(gpurace_abi::plugin::Cpu::Baseline, 1).unwrap();
            object::retarget(module, &machine);
            let kernels: Vec<_> = ir::kernels(module).into_iter().map(|(f, _)| f).collect();
            let places = kernels.iter().map(|&k| argument_layout(module, k).0);
            let with_places = protocols.into_iter().zip(places).collect();
            let reach = reach::of_kernels(module, &kernels);
            let layout = shared::lay_out(module, &reach);
            let shared = layout.offsets.iter().map(|(&v, &at)| (ir::name(v), at)).collect();
            let metas: Vec<_> =
                describe::variables(module, &layout).into_iter().map(|(_, meta)| meta).collect();
            let names: Vec<_> = kernels.iter().map(|&f| ir::name(f)).collect();
            shared::replace(module, &layout).unwrap();
            thread_context::thread(module);
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            image::add_entries(module, &names, image::ENTRY);
            let table: Vec<_> = metas.iter().map(|m| (m.name.as_str(), m)).collect();
            image::add_table(module, &names, &[], &[], &table, false);
            LLVM_InitializeNativeTarget();
            LLVM_InitializeNativeAsmPrinter();
            LLVMLinkInMCJIT();
            let mut engine = ptr::null_mut();
            let mut message = ptr::null_mut();
            let failed = LLVMCreateJITCompilerForModule(&mut engine, module, 1, &mut message);
            assert_eq!(failed, 0, "{}", ir::text(message));
            for entry in Entry::OF_EXECUTOR {
                let function = LLVMGetNamedFunction(module, ir::c(entry.symbol()).as_ptr());
                if !function.is_null() {
                    LLVMAddGlobalMapping(engine, function, callback(entry.symbol()));
                }
            }
            let variables = metas.into_iter().map(|m| m.name).collect();
            Self { engine, context, kernels: with_places, shared, variables }
        }
    }

    unsafe fn run(
        &self,
        kernel: usize,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> (Protocol, Ran) {
        let (protocol, places) = &self.kernels[kernel];
        let mut memory: Vec<Vec<i32>> = Vec::new();
        let mut buffer = vec![0u8; 4096];
        assert_eq!(arguments.len(), places.len(), "one argument for each parameter");
        for (argument, place) in arguments.iter().zip(places) {
            let bytes = match argument {
                Argument::Int(n) => n.to_le_bytes().to_vec(),
                Argument::Long(n) => n.to_le_bytes().to_vec(),
                Argument::Words(words) => {
                    memory.push(words.clone());
                    let address = memory.last_mut().unwrap().as_mut_ptr() as u64;
                    address.to_le_bytes().to_vec()
                }
                Argument::Inside(at) => {
                    let address = memory.last_mut().unwrap().as_mut_ptr() as u64;
                    (address + *at as u64).to_le_bytes().to_vec()
                }
                Argument::Bytes(bytes) => bytes.clone(),
                Argument::Pointers(Pointers { count, words, rest }) => {
                    let mut bytes = Vec::new();
                    for _ in 0..*count {
                        memory.push(vec![0; *words]);
                        let address = memory.last_mut().unwrap().as_mut_ptr() as u64;
                        bytes.extend(address.to_le_bytes());
                    }
                    bytes.extend(rest);
                    bytes
                }
            };
            let at = place.offset as usize;
            buffer[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let word = |at: u32| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&buffer[at as usize..at as usize + 8]);
            u64::from_le_bytes(bytes)
        };
        // SAFETY: the engine is live; the table is what `add_table` made.
        let variables: HashMap<String, u64> = unsafe {
            let table =
                LLVMGetGlobalValueAddress(self.engine, ir::c(IMAGE_SYMBOL).as_ptr()) as *const ImageTable;
            let entry = |(i, name): (usize, &String)| {
                let entry = &*(*table).variables.add(i);
                assert_eq!(CStr::from_ptr(entry.name).to_str(), Ok(name.as_str()));
                (name.clone(), entry.address as u64)
            };
            self.variables.iter().enumerate().map(entry).collect()
        };
        let end = buffer.len() as u32 - 8;
        let read = |at: u32, width: Width| {
            if at < end {
                return Some(width.truncate(word(at)));
            }
            let bytes = width.bits().div_ceil(8);
            let (constant, distance) = protocol.constant_at(at, bytes)?;
            let address = variables.get(&constant.symbol)? + u64::from(distance);
            let mut value = [0; 8];
            // SAFETY: the variable has these bytes.
            unsafe { ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), bytes as usize) };
            Some(u64::from_le_bytes(value))
        };
        let params = protocol.params.iter().map_while(|param| read(param.offset, param.width)).collect();
        let shape = LaunchShape { grid, block, cluster: None, dynamic_shared: (SHARED / 2) as u32 };
        let mut launch = Launch { shape, params, ..Launch::default() };
        let behind = |base| Extent { base, ..Extent::default() };
        arguments::read(protocol, &mut launch, &read, &behind);
        let mut shared = vec![0u64; SHARED / 8];
        let base = shared.as_mut_ptr().cast::<u8>();
        // SAFETY: the engine is live; the table is what `add_table` made; the
        // kernel gets a context and an argument buffer as it wants them.
        unsafe {
            let table =
                LLVMGetGlobalValueAddress(self.engine, ir::c(IMAGE_SYMBOL).as_ptr()) as *const ImageTable;
            let run = (*(*table).kernels.add(kernel)).run.unwrap();
            let dynamic = base.add(SHARED / 2);
            let mut variables = variables;
            variables.extend(self.shared.iter().map(|(n, &at)| (n.clone(), base as u64 + u64::from(at))));
            let mut threads = Vec::new();
            for thread in gpurace_protocol::race::threads(&launch) {
                let linear = thread.linear(&launch);
                let mut context: ThreadCtx = std::mem::zeroed();
                (context.tid, context.ctaid) = (thread.tid, thread.ctaid);
                (context.ntid, context.nctaid) = (block, grid);
                (context.linear_tid, context.lane, context.warp) = (linear, linear % 32, linear / 32);
                (context.shared_base, context.dynamic_shared) = (base, dynamic);
                context.dynamic_shared_bytes = launch.shape.dynamic_shared;
                RECORD.with_borrow_mut(|r| *r = Record { lane: linear % 32, ..Record::default() });
                run(&mut context, buffer.as_ptr());
                let events = RECORD.with_borrow_mut(|r| std::mem::take(&mut r.events));
                // Local variables lie on the stack, below what this function has there.
                let top = (&raw const context) as u64;
                let own = [top - (1 << 20)..top, buffer.as_ptr() as u64..buffer.as_ptr_range().end as u64];
                let unshared = |(site, kind, address, size, passed): Event| {
                    if own.iter().any(|range| range.contains(&address)) {
                        return (site, kind, 0, 0, passed);
                    }
                    (site, kind, address, size, passed)
                };
                threads.push((thread, events.into_iter().map(unshared).collect()));
            }
            let dynamic = dynamic as u64;
            (protocol.clone(), Ran { launch, threads, variables, dynamic })
        }
    }

    unsafe fn finish(self) {
        // SAFETY: created by `build`, disposed of once.
        unsafe {
            LLVMDisposeExecutionEngine(self.engine);
            LLVMContextDispose(self.context);
        }
    }
}

#[derive(Default)]
struct Record {
    events: BTreeSet<Event>,
    passed: [u32; 3],
    lane: u32,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

fn record(site: u32, kind: Kind, address: u64, size: u64) {
    RECORD.with_borrow_mut(|r| {
        let passed = r.passed;
        r.events.insert((site, kind, address, size, passed));
    });
}

extern "C" fn on_read(_: *mut c_void, address: u64, size: u32, site: u32) {
    record(site, Kind::Read, address, u64::from(size));
}

extern "C" fn on_write(_: *mut c_void, address: u64, size: u32, site: u32, _: u64) {
    record(site, Kind::Write, address, u64::from(size));
}

extern "C" fn on_read_range(_: *mut c_void, address: u64, size: u64, site: u32) {
    record(site, Kind::Read, address, size);
}

extern "C" fn on_write_range(_: *mut c_void, address: u64, size: u64, site: u32) {
    record(site, Kind::Write, address, size);
}

extern "C" fn on_atomic(_: *mut c_void, address: u64, size: u32, site: u32, kind: u32, _: u32, _: u32) {
    let kind = match kind {
        3 => Kind::Read,
        4 => Kind::Write,
        _ => Kind::Atomic,
    };
    record(site, kind, address, u64::from(size));
}

extern "C" fn on_barrier(_: *mut c_void, id: u32, threads: u32, _: u32) {
    assert_eq!((id, threads), (0, 0));
    RECORD.with_borrow_mut(|r| r.passed[1] += 1);
}

extern "C" fn on_barrier_red(
    context: *mut c_void,
    id: u32,
    threads: u32,
    _: u32,
    pred: u32,
    sync: u32,
) -> u32 {
    on_barrier(context, id, threads, sync);
    u32::from(pred != 0)
}

extern "C" fn on_syncwarp(_: *mut c_void, mask: u32, _: u32) {
    RECORD.with_borrow_mut(|r| {
        if mask == u32::MAX {
            r.passed[0] += 1;
        }
        if mask >> r.lane & 1 == 1 {
            r.passed[2] = digest(r.passed[2], mask);
        }
    });
}

extern "C" fn on_vote(_: *mut c_void, _: u32, _: u32, pred: u32, _: u32) -> u32 {
    u32::from(pred != 0)
}

extern "C" fn nothing() -> u64 {
    0
}

extern "C" fn not_here() {
    eprintln!("an entry point that the tests do not run was called");
    std::process::abort();
}

fn callback(name: &str) -> *mut c_void {
    match name {
        "__gpurace_read" => on_read as *mut c_void,
        "__gpurace_write" => on_write as *mut c_void,
        "__gpurace_read_range" => on_read_range as *mut c_void,
        "__gpurace_write_range" => on_write_range as *mut c_void,
        "__gpurace_atomic" => on_atomic as *mut c_void,
        "__gpurace_barrier" => on_barrier as *mut c_void,
        "__gpurace_barrier_red" => on_barrier_red as *mut c_void,
        "__gpurace_syncwarp" => on_syncwarp as *mut c_void,
        "__gpurace_vote" => on_vote as *mut c_void,
        "__gpurace_atomic_done"
        | "__gpurace_fence"
        | "__gpurace_yield"
        | "__gpurace_activemask"
        | "__gpurace_is_shared"
        | "__gpurace_is_local" => nothing as *mut c_void,
        _ => not_here as *mut c_void,
    }
}
