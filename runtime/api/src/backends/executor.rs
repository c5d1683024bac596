//! The CPU executor as a backend. A launch is over when the call that submits it returns. The
//! device shares the host's address space.

use std::any::Any;
use std::ffi::c_int;
use std::sync::{Arc, LazyLock, OnceLock};

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::image::KernelFn;
use gpurace_abi::meta::ModuleMeta;
use gpurace_abi::texture::TextureObject;
use gpurace_cpu::{BlockEntry, Config, Executor, Fault, FaultKind, Image, printf, texture};
use gpurace_report::schema::{self, Device};
use gpurace_report::words::short_name;

use crate::backend::Backend;
use crate::backend::memory::{MemoryKind, MemoryRequest, PitchedRows, TransferRequest};
use crate::backend::module::{DeviceCode, Kernel, KernelLaunch, Payload, invalid_image, max_threads};
use crate::backends::arena::Arena;
use crate::backends::claims::{self, Claims};
use crate::backends::divergences;
use crate::backends::trials::{StartedTrials, fault_of_one_thread, in_reserve};
use crate::host::device_properties::cudaDeviceProp;
use crate::host::errors::{Error, Result};
use crate::host::limits::PAGE;
use crate::host::types::{cudaFuncAttributes, cudaResourceDesc, cudaTextureDesc};
use crate::host::{message, status_line};
use crate::prove::Decision;
use crate::session::resolve;
use crate::session::{BegunLaunch, EndedLaunch, Session, shared_objects};

/// Number of `cudaLimitStackSize`.
const LIMIT_STACK: u32 = 0;
/// The registers of a thread that the executor claims: 2,048 threads then fit on a multiprocessor.
const REGISTERS_PER_THREAD: c_int = 32;

/// Code for the host's processor.
struct HostCode(Image);

impl DeviceCode for HostCode {
    fn variables(&self) -> Vec<(&str, usize)> {
        self.0.variables().iter().map(|v| (&v.name[..], v.address)).collect()
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.0.variable(name).map(|found| found.address)
    }

    fn kernel(&self, name: &str) -> Option<Box<dyn Any + Send + Sync>> {
        Some(Box::new(self.0.kernel(name)?.clone()))
    }

    fn own_meta(&self) -> Option<&'static ModuleMeta> {
        None
    }
}

/// The executor as a backend.
pub struct OnHost {
    session: &'static Session,
    executor: LazyLock<Executor>,
    arena: Arena,
    /// Size of the machine's memory, bytes.
    total_memory: LazyLock<usize>,
    multiprocessors: OnceLock<c_int>,
}

impl OnHost {
    /// The executor for the program of this session.
    pub fn new(session: &'static Session) -> Self {
        Self {
            session,
            executor: LazyLock::new(|| {
                printf::before_output(status_line::erase);
                Executor::new(Config::default())
            }),
            arena: Arena::default(),
            total_memory: LazyLock::new(|| claims::memory_info().1),
            multiprocessors: OnceLock::new(),
        }
    }

    fn claims(&self) -> Claims {
        Claims {
            memory: *self.total_memory,
            multiprocessors: *self.multiprocessors.get_or_init(|| claims::multiprocessors(&self.executor)),
            capability: claims::capability(&self.session.program.modules),
        }
    }
}

impl Backend for OnHost {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn worker_threads(&self) -> usize {
        self.executor.threads()
    }

    fn attribute(&self, attribute: u32) -> Result<c_int> {
        claims::attribute(self.claims(), attribute)
    }

    fn properties(&self) -> cudaDeviceProp {
        claims::properties(self.claims())
    }

    fn memory(&self) -> (usize, usize) {
        let (available, _) = claims::memory_info();
        let (total, used) = (*self.total_memory, self.session.program.allocations.bytes_in_use());
        (available.min(total.saturating_sub(used)), total)
    }

    fn memory_limit(&self) -> usize {
        *self.total_memory
    }

    fn set_limit(&self, number: u32, value: usize) -> Result {
        // The stacks of device threads only grow.
        if number == LIMIT_STACK && value > self.executor.config().stack_bytes {
            self.executor.set_stack_bytes(value.next_multiple_of(PAGE));
        }
        Ok(())
    }

    fn open(&self, payload: &Payload, meta: &ModuleMeta) -> Result<Box<dyn DeviceCode>> {
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
            invalid_image(&format!("`{}`: {error}{}", meta.source, cause.unwrap_or_default()))
        })?;
        Ok(Box::new(HostCode(image)))
    }

    unsafe fn bind_managed(&self, cell: usize, host: usize, size: usize) -> Result {
        let cell = cell as *mut *mut u8;
        // SAFETY: the caller keeps the contract above.
        unsafe {
            // clang does not initialise the host variable.
            std::ptr::copy_nonoverlapping(*cell, host as *mut u8, size);
            cell.write(host as *mut u8);
        }
        Ok(())
    }

    fn function_attributes(&self, kernel: &Kernel) -> Result<cudaFuncAttributes> {
        // CUB asks for it, and calls the kernels that it has compiled for exactly that architecture.
        let arch = kernel.module.meta.arch as c_int;
        Ok(cudaFuncAttributes {
            sharedSizeBytes: kernel.meta().shared_static as usize,
            maxThreadsPerBlock: max_threads(kernel.meta()) as c_int,
            numRegs: REGISTERS_PER_THREAD,
            ptxVersion: arch,
            binaryVersion: arch,
            ..Default::default()
        })
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u32> {
        let shared = (kernel.meta().shared_static as usize).saturating_add(dynamic_shared);
        Ok(claims::blocks_per_multiprocessor(threads, shared))
    }

    fn max_cooperative_blocks(&self, kernel: &Kernel, threads: u32, dynamic_shared: usize) -> Result<u64> {
        let shared = dynamic_shared + kernel.meta().shared_static as usize;
        Ok(self.executor.max_cooperative_blocks(threads, shared))
    }

    fn run(&self, launch: &KernelLaunch<'_>) -> Result {
        run(self.session, &self.executor, launch)
    }

    fn take(&self, request: MemoryRequest, _: MemoryKind) -> Result<usize> {
        self.arena.take(request).ok_or_else(|| {
            // The device has so much left, so the program may not expect this.
            let why = claims::address_space().map_or_else(
                || "the system gives no more memory".to_owned(),
                |bytes| format!("this process may have {bytes} bytes of addresses (`ulimit -v`)"),
            );
            self.session.note_once(format!("an allocation of device memory failed: {why}"));
            Error::MEMORY_ALLOCATION
        })
    }

    fn guard(&self, address: usize) -> u64 {
        self.arena.guard(address)
    }

    unsafe fn give(&self, address: usize, request: MemoryRequest, _: MemoryKind) {
        // SAFETY: the caller keeps the contract above.
        unsafe { self.arena.give(address, request) };
    }

    fn create_object(
        &self,
        object: TextureObject,
        _: &cudaResourceDesc,
        _: Option<&cudaTextureDesc>,
    ) -> Result<u64> {
        texture::create(object).ok_or(Error::MEMORY_ALLOCATION)
    }

    fn destroy_object(&self, handle: u64, _: bool) -> Result {
        if texture::destroy(handle) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn texels_of(&self, handle: u64) -> Option<usize> {
        Some(match texture::find(handle)? {
            TextureObject::Texture(texture) => texture.texels.address,
            TextureObject::Surface(texels) => texels.address,
        })
    }

    unsafe fn copy(&self, to: PitchedRows, from: PitchedRows, request: TransferRequest) -> Result {
        let extent = request.extent;
        for slice in 0..extent.depth {
            for row in 0..extent.height {
                let d = to.slice * slice + to.pitch * row;
                let s = from.slice * slice + from.pitch * row;
                // SAFETY: the rows were checked. `copy` allows overlap.
                unsafe { std::ptr::copy(from.start.add(s), to.start.add(d), extent.width) };
            }
        }
        Ok(())
    }

    unsafe fn fill(
        &self,
        to: PitchedRows,
        (value, element): (u32, usize),
        TransferRequest { extent, .. }: TransferRequest,
    ) -> Result {
        let value = value.to_le_bytes();
        for slice in 0..extent.depth {
            for row in 0..extent.height {
                let at = to.slice * slice + to.pitch * row;
                // SAFETY: the rows were checked.
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

/// The code of a launch: bare if no site needs a check.
pub(super) fn code_for(
    code: &gpurace_cpu::image::Kernel,
    kernel: &Kernel,
    wanted: Option<&Decision>,
) -> (KernelFn, Option<BlockEntry>) {
    let checked = |of: Option<BlockEntry>| of.filter(|_| ablation::is_on(Mechanism::CheckedBlockEntries));
    match (wanted, code.run_open.filter(|_| ablation::is_on(Mechanism::OpenCode))) {
        (None, _) => (
            code.run_bare.unwrap_or(code.run),
            code.run_block.filter(|_| ablation::is_on(Mechanism::BareBlockEntries)),
        ),
        (Some(wanted), Some(open)) if wanted.meets_conditions(kernel) => (open, checked(code.run_block_open)),
        (Some(_), _) => (code.run, checked(code.run_block_checked)),
    }
}

/// Runs a launch to its end. The fault of a thread is returned by later calls: the launch itself
/// succeeds, as on a device.
fn run(session: &'static Session, executor: &Executor, launch: &KernelLaunch<'_>) -> Result {
    let code: &gpurace_cpu::image::Kernel =
        launch.kernel.code.downcast_ref().ok_or(Error::INVALID_DEVICE_FUNCTION)?;
    let mut begun = session.begin(launch);
    session.keep_python_stack(&mut begun);
    if let Some(footprint) = begun.reserve.take() {
        match in_reserve(session, executor, launch, code, &begun) {
            Ok(child) => session.keep_in_reserve(begun.record.operation, launch.kernel, footprint, child),
            Err(_) => session.check_all(&mut begun, &footprint),
        }
    }
    let checks = begun.wanted.as_ref().map(|wanted| session.check(launch, &begun, wanted));
    let (entry, block_entry) = if session.stops_in_debugger() {
        // One block at a time.
        executor.set_workers(1);
        (code_for_debugger(code, &begun), None)
    } else {
        code_for(code, launch.kernel, begun.wanted.as_deref())
    };
    let launch = launch_of(session, launch, (entry, block_entry), &begun, checks.clone());
    let trials = StartedTrials::start(session, executor, &launch, &begun);
    let shown = session.show_launch(checks.as_ref());
    let ran = executor.run(&launch);
    drop(shown);
    let ended = match ran {
        Ok(report) => {
            let divergences = divergences::of_launch(&begun.record, &report, session.options());
            session.end(&begun, checks.as_deref(), divergences);
            Ok(())
        }
        Err(fault) => {
            // Open code has no check that tells of a proved access.
            let entry = if checks.is_some() { code.run } else { entry };
            let launch = gpurace_cpu::KernelLaunch { entry, ..launch.clone() };
            let with_line = |known: &_| fault_of_one_thread(session, executor, &launch, &begun, known);
            let ended = end_with(session, &fault, &begun, with_line);
            session.end(&begun, checks.as_deref(), EndedLaunch::default());
            ended
        }
    };
    trials.end();
    ended
}

/// A launch as the executor runs it.
pub(super) fn launch_of<'a>(
    session: &'static Session,
    launch: &KernelLaunch<'a>,
    (entry, block_entry): (KernelFn, Option<BlockEntry>),
    begun: &BegunLaunch,
    checks: Option<Arc<gpurace_check::Launch>>,
) -> gpurace_cpu::KernelLaunch<'a> {
    gpurace_cpu::KernelLaunch {
        entry,
        block_entry,
        kernel: launch.kernel.meta(),
        shape: launch.shape,
        args: launch.argument_bytes(),
        cooperative: launch.cooperative,
        id: begun.record.id,
        checks,
        checked_blocks: checked_blocks(session),
        seed: session.options().seed,
        seed_orders_blocks: false,
        trial: None,
    }
}

/// The code of a launch in a debugger: each thread runs the source's own function.
fn code_for_debugger(code: &gpurace_cpu::image::Kernel, begun: &BegunLaunch) -> KernelFn {
    let bare = code.run_bare.filter(|_| begun.wanted.is_none());
    bare.unwrap_or(code.run)
}

/// The blocks that the option `blocks` asks to check; `None` for all of them.
fn checked_blocks(session: &'static Session) -> Option<Arc<gpurace_cpu::launch::CheckedBlocks>> {
    let options = session.options();
    options.blocks.as_ref()?;
    Some(Arc::new(|block| options.checks_block(block)))
}

/// CUDA's error for a fault, and the report's kind if it is reported.
pub(super) fn shown_kind(kind: &FaultKind) -> (Error, Option<schema::FaultKind>) {
    match kind {
        FaultKind::IllegalAddress { .. } | FaultKind::LeavesArray { .. } | FaultKind::LeavesShared { .. } => {
            (Error::ILLEGAL_ADDRESS, Some(schema::FaultKind::IllegalAddress))
        }
        FaultKind::Assert => (Error::ASSERT, Some(schema::FaultKind::Assert)),
        FaultKind::Trap => (Error::LAUNCH_FAILURE, Some(schema::FaultKind::Trap)),
        FaultKind::StackOverflow => (Error::LAUNCH_FAILURE, Some(schema::FaultKind::StackOverflow)),
        FaultKind::Arithmetic => (Error::LAUNCH_FAILURE, Some(schema::FaultKind::Arithmetic)),
        FaultKind::Barrier => (Error::LAUNCH_FAILURE, Some(schema::FaultKind::Barrier)),
        FaultKind::EndlessWait => (Error::LAUNCH_TIMEOUT, Some(schema::FaultKind::EndlessWait)),
        FaultKind::Unsupported(_) => (Error::NOT_SUPPORTED, None),
        FaultKind::TooManyResources => (Error::LAUNCH_OUT_OF_RESOURCES, None),
        FaultKind::CooperativeLaunchTooLarge { .. } => (Error::COOPERATIVE_LAUNCH_TOO_LARGE, None),
        FaultKind::InvalidConfiguration => (Error::INVALID_CONFIGURATION, None),
        _ => (Error::LAUNCH_FAILURE, None),
    }
}

/// Reports what went wrong and turns it into CUDA's error. `with_line` seeks the line and the thread of a fault.
fn end_with(
    session: &Session,
    fault: &Fault,
    begun: &BegunLaunch,
    with_line: impl FnOnce(&schema::Fault) -> Option<schema::Fault>,
) -> Result {
    let (error, reported) = shown_kind(&fault.kind);
    match reported {
        // A program that is not checked has no report.
        Some(kind) if begun.record.kernel.module.meta.instrumented => {
            let mut shown = shown_fault(session, fault, kind, begun);
            // One loop ran all threads of the block.
            if shown.block.is_some() && shown.thread.is_none() {
                shown = with_line(&shown).unwrap_or(shown);
            }
            session.add_fault(shown);
        }
        _ => message::error(&describe(fault, begun)),
    }
    let never_started = matches!(
        fault.kind,
        FaultKind::TooManyResources
            | FaultKind::CooperativeLaunchTooLarge { .. }
            | FaultKind::InvalidConfiguration
    );
    if never_started {
        return Err(error);
    }
    session.sticky.set(error);
    Ok(())
}

/// A fault as the report shows it.
pub(super) fn shown_fault(
    session: &Session,
    fault: &Fault,
    kind: schema::FaultKind,
    begun: &BegunLaunch,
) -> schema::Fault {
    let program = &session.program;
    let address = match fault.kind {
        FaultKind::IllegalAddress { address, .. } => address,
        _ => None,
    };
    // An address near null comes from a null pointer, not from an allocation nearby.
    let far = address.filter(|&address| address >= 1 << 20);
    let nearest = far
        .and_then(|address| program.allocations.nearest(address as usize))
        .filter(|(_, distance)| distance.is_none_or(|distance| distance.unsigned_abs() < FARTHEST))
        .map(|(allocation, distance)| (resolve::allocation_object(program, &allocation), distance));
    let (object, distance) = shared_objects::left_array(&begun.record, &fault.kind).or(nearest).unzip();
    let (file, line, column) = match fault.instruction.and_then(|at| program.device_position(at)) {
        Some(at) => (Some(at.file), Some(at.line), at.column),
        None => {
            let (file, line) = fault_position(fault, begun);
            (file, line, None)
        }
    };
    schema::Fault {
        kind,
        message: describe(fault, begun),
        file,
        line,
        column,
        kernel: begun.record.kernel.demangled.clone(),
        launch: begun.record.id,
        block: fault.block,
        thread: fault.thread,
        object,
        distance: distance.flatten(),
        seed: None,
    }
}

/// All allocations lie within so many bytes. What is farther away is other memory, such as that of a block.
const FARTHEST: u64 = 1 << 42;

/// The fault with its kernel and thread.
fn describe(fault: &Fault, begun: &BegunLaunch) -> String {
    let mut text = format!("{} in kernel `{}`", fault.message, short_name(&begun.record.kernel.demangled));
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

fn fault_position(fault: &Fault, begun: &BegunLaunch) -> (Option<String>, Option<u32>) {
    match (fault.sync, fault.site, &fault.kind) {
        (Some(sync), _, _) => resolve::sync_position(begun.record.kernel, sync),
        (None, Some(site), _) if fault.is_at_site => resolve::site_position(begun.record.kernel, site),
        // A thread that waits without end is at its last atomic access. No place is known for the other faults.
        (None, Some(site), FaultKind::EndlessWait) => resolve::site_position(begun.record.kernel, site),
        _ => (None, None),
    }
}
