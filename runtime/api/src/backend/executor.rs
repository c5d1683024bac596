//! The CPU executor as a backend: the way to gpurace-cpu, and from its faults to
//! CUDA's errors. The device shares the host's address space.

use std::ffi::c_int;
use std::sync::{Arc, OnceLock};

use gpurace_abi::meta::ModuleMeta;
use gpurace_cpu::{Config, Executor, Fault, FaultKind, Image, texture};
use gpurace_report::schema::{Device, Divergence, Waiting};

use super::{Backend, Code, Entry, foreign};
use crate::errors::{self, Error, Result};
use crate::function;
use crate::launch::Launch;
use crate::memory::arena::{self, Request};
use crate::memory::copy::Rows;
use crate::memory::{Kind, map};
use crate::message;
use crate::modules::{self, Kernel, Payload};
use crate::order::StreamId;
use crate::properties::{self, capability, memory_info, total_memory};
use crate::resolve;
use crate::session::{self, Begun};
use crate::types::{cudaDeviceProp, cudaExtent, cudaFuncAttributes, cudaResourceDesc, cudaTextureDesc};

/// Number of `cudaLimitStackSize`.
const LIMIT_STACK: u32 = 0;
/// What is said of the registers of a thread: 2,048 threads then fit.
const REGISTERS_PER_THREAD: c_int = 32;

/// The executor of this process.
fn executor() -> &'static Executor {
    static EXECUTOR: OnceLock<Executor> = OnceLock::new();
    EXECUTOR.get_or_init(|| Executor::new(Config::default()))
}

/// Most blocks of a cooperative launch of so many threads and bytes of shared
/// memory each.
pub fn max_cooperative_blocks(threads: u32, shared: usize) -> u64 {
    executor().max_cooperative_blocks(threads, shared)
}

/// Threads of the process that are the executor's.
pub fn threads() -> usize {
    executor().threads()
}

/// Sets the stack of a device thread, bytes, where the program asks for more
/// than there is.
fn raise_stack(bytes: usize) {
    let executor = executor();
    if bytes > executor.config().stack_bytes {
        executor.set_stack_bytes(bytes.next_multiple_of(4096));
    }
}

/// The executor.
pub struct OnHost;

impl Backend for OnHost {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn checks_on_host(&self) -> bool {
        true
    }

    fn attribute(&self, attribute: u32) -> Result<c_int> {
        properties::attribute(attribute)
    }

    fn properties(&self) -> cudaDeviceProp {
        properties::properties()
    }

    fn memory(&self) -> (usize, usize) {
        let (available, _) = memory_info();
        let total = total_memory();
        (available.min(total.saturating_sub(map::bytes_in_use())), total)
    }

    fn memory_limit(&self) -> usize {
        total_memory()
    }

    fn set_limit(&self, number: u32, value: usize) -> Result {
        if number == LIMIT_STACK {
            raise_stack(value);
        }
        Ok(())
    }

    fn open(&self, payload: &Payload, meta: &ModuleMeta) -> Result<Code> {
        let Some(image) = payload.image else {
            message::error(&format!(
                "`{}`: found device code for an NVIDIA GPU alone (`-fgpurace-exec=cuda`), wanted code for the host's processor, \
                 where this program runs",
                meta.source
            ));
            message::hint("build with `-fgpurace-exec=cpu` or `-fgpurace-exec=auto`");
            return Err(Error::NO_KERNEL_IMAGE_FOR_DEVICE);
        };
        // SAFETY: the payload is a container that gpurace made.
        let image = unsafe { Image::open(image) }.map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            modules::invalid(&format!("`{}`: {error}{}", meta.source, cause.unwrap_or_default()))
        })?;
        Ok(Code::Host(image))
    }

    unsafe fn bind_managed(&self, cell: usize, host: usize, size: usize) -> Result {
        let cell = cell as *mut *mut u8;
        // SAFETY: as the caller vouches.
        unsafe {
            // clang leaves host variables of device ones without a value.
            std::ptr::copy_nonoverlapping(*cell, host as *mut u8, size);
            cell.write(host as *mut u8);
        }
        Ok(())
    }

    fn function_attributes(&self, kernel: &Kernel) -> Result<cudaFuncAttributes> {
        let capability = capability();
        Ok(cudaFuncAttributes {
            sharedSizeBytes: kernel.meta().shared_static as usize,
            maxThreadsPerBlock: function::max_threads(kernel.meta()) as c_int,
            numRegs: REGISTERS_PER_THREAD,
            ptxVersion: capability,
            binaryVersion: capability,
            ..Default::default()
        })
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u32> {
        let shared = (kernel.meta().shared_static as usize).saturating_add(dynamic_shared);
        Ok(function::blocks_per_multiprocessor(threads, shared))
    }

    fn max_cooperative_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u64> {
        Ok(max_cooperative_blocks(threads, dynamic_shared + kernel.meta().shared_static as usize))
    }

    fn run(&self, launch: &Launch<'_>) -> Result {
        run(launch)
    }

    fn take(&self, request: Request, _: Kind) -> Result<usize> {
        arena::take(request).ok_or(Error::MEMORY_ALLOCATION)
    }

    unsafe fn give(&self, address: usize, request: Request, _: Kind) {
        // SAFETY: as the caller vouches.
        unsafe { arena::give(address, request) };
    }

    fn create_object(
        &self,
        object: texture::Object,
        _: &cudaResourceDesc,
        _: Option<&cudaTextureDesc>,
    ) -> Result<u64> {
        texture::create(object).ok_or(Error::MEMORY_ALLOCATION)
    }

    fn destroy_object(&self, handle: u64, _: bool) -> Result {
        if texture::destroy(handle) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    unsafe fn copy(&self, to: Rows, from: Rows, extent: cudaExtent, _: StreamId, _: bool) -> Result {
        for slice in 0..extent.depth {
            for row in 0..extent.height {
                let d = to.slice * slice + to.pitch * row;
                let s = from.slice * slice + from.pitch * row;
                // SAFETY: inside the spans checked before; `copy` allows overlap.
                unsafe { std::ptr::copy(from.start.add(s), to.start.add(d), extent.width) };
            }
        }
        Ok(())
    }

    unsafe fn fill(
        &self,
        to: Rows,
        (value, element): (u32, usize),
        extent: cudaExtent,
        _: StreamId,
        _: bool,
    ) -> Result {
        let value = value.to_le_bytes();
        for slice in 0..extent.depth {
            for row in 0..extent.height {
                let at = to.slice * slice + to.pitch * row;
                // SAFETY: inside the span checked before.
                let bytes = unsafe { std::slice::from_raw_parts_mut(to.start.add(at), extent.width) };
                match element {
                    1 => bytes.fill(value[0]),
                    element => {
                        bytes.chunks_mut(element).for_each(|to| to.copy_from_slice(&value[..to.len()]))
                    }
                }
            }
        }
        Ok(())
    }
}

/// Runs a launch to its end. A fault of a thread stays for later calls, as on a
/// device, where the launch itself succeeds.
fn run(launch: &Launch<'_>) -> Result {
    let kernel = launch.kernel;
    let Entry::Host(code) = &kernel.entry else { return foreign() };
    let session = session::get();
    let begun = session.begin(launch);
    let checks = begun.wanted.as_ref().map(|wanted| session.check(launch, &begun, wanted));
    let (entry, block_entry) = match &checks {
        Some(_) => (code.run, code.run_block_checked),
        None => (code.run_bare.unwrap_or(code.run), code.run_block),
    };
    let checked_blocks = session.options.blocks.as_ref().map(|_| {
        let options = &session::get().options;
        Arc::new(|block| options.checks_block(block)) as Arc<gpurace_cpu::launch::CheckedBlocks>
    });
    // SAFETY: the words are as many bytes; any alignment suits bytes.
    let args =
        unsafe { std::slice::from_raw_parts(launch.args.as_ptr().cast::<u8>(), size_of_val(launch.args)) };
    let result = executor().run(&gpurace_cpu::Launch {
        entry,
        block_entry,
        kernel: kernel.meta(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared_bytes: launch.dynamic_shared,
        args,
        cooperative: launch.cooperative,
        cluster: launch.cluster,
        id: begun.record.id,
        checks: checks.clone(),
        checked_blocks,
        seed: session.options.seed,
    });
    match result {
        Ok(report) => {
            session.end(&begun, checks.as_deref(), Some(&report));
            Ok(())
        }
        Err(fault) => {
            let ended = end_with(&fault, &begun);
            session.end(&begun, checks.as_deref(), None);
            ended
        }
    }
}

/// Says what went wrong and makes it CUDA's error.
fn end_with(fault: &Fault, begun: &Begun) -> Result {
    let (error, starts) = match &fault.kind {
        FaultKind::IllegalAddress { .. } => (Error::ILLEGAL_ADDRESS, true),
        FaultKind::Assert => (Error::ASSERT, true),
        FaultKind::Unsupported(_) => (Error::NOT_SUPPORTED, true),
        FaultKind::Deadlock => (Error::LAUNCH_TIMEOUT, true),
        FaultKind::TooManyResources => (Error::LAUNCH_OUT_OF_RESOURCES, false),
        FaultKind::CooperativeLaunchTooLarge { .. } => (Error::COOPERATIVE_LAUNCH_TOO_LARGE, false),
        FaultKind::InvalidConfiguration => (Error::INVALID_CONFIGURATION, false),
        // A trap, an overflow of the stack, arithmetic that the processor refused.
        _ => (Error::LAUNCH_FAILURE, true),
    };
    message::error(&describe(fault, begun));
    if fault.kind == FaultKind::Deadlock {
        session::get().add_divergence(deadlock(fault, begun));
    }
    if starts {
        errors::set_sticky(error);
        Ok(())
    } else {
        Err(error)
    }
}

/// The fault with its kernel, thread and source line.
fn describe(fault: &Fault, begun: &Begun) -> String {
    let mut text = format!("{} in kernel `{}`", fault.message, begun.record.kernel.demangled);
    let mut add = |what: &str, index: Option<[u32; 3]>| {
        if let Some([x, y, z]) = index {
            text.push_str(&format!(", {what} ({x},{y},{z})"));
        }
    };
    add("block", fault.block);
    add("thread", fault.thread);
    if let (Some(file), line) = fault_position(fault, begun) {
        match line {
            Some(line) => text.push_str(&format!(", at {file}:{line}")),
            None => text.push_str(&format!(", in {file}")),
        }
    }
    text
}

fn fault_position(fault: &Fault, begun: &Begun) -> (Option<String>, Option<u32>) {
    match (fault.sync, fault.site, &fault.kind) {
        (Some(sync), _, _) => resolve::sync_position(begun.record.kernel, sync),
        // The last atomic access is where a waiting thread is; of another
        // fault it says nothing.
        (None, Some(site), FaultKind::Deadlock) => resolve::site_position(begun.record.kernel, site),
        _ => (None, None),
    }
}

/// Threads that wait in loops for something that no thread will do.
fn deadlock(fault: &Fault, begun: &Begun) -> Divergence {
    let (file, line) = fault_position(fault, begun);
    Divergence {
        kernel: begun.record.kernel.demangled.clone(),
        launch: begun.record.id,
        block: fault.block.unwrap_or_default(),
        waiting: fault.thread.map(|thread| Waiting::at(file, line, 1, thread)).into_iter().collect(),
    }
}
