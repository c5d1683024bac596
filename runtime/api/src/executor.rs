//! How a launch runs: the way to gpurace-cpu, and from its faults to CUDA's
//! errors.

use std::sync::{Arc, OnceLock};

use gpurace_cpu::{Config, Executor, Fault, FaultKind};
use gpurace_report::schema::{Divergence, Waiting};

use crate::errors::{self, Error, Result};
use crate::launch::Launch;
use crate::message;
use crate::resolve;
use crate::session::{self, Begun};

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
pub fn raise_stack(bytes: usize) {
    let executor = executor();
    if bytes > executor.config().stack_bytes {
        executor.set_stack_bytes(bytes.next_multiple_of(4096));
    }
}

/// Runs a launch to its end. A fault of a thread stays for later calls, as on a
/// device, where the launch itself succeeds.
///
/// # Errors
/// What keeps the launch from starting.
pub fn run(launch: &Launch<'_>) -> Result {
    let kernel = launch.kernel;
    let session = session::get();
    let begun = session.begin(launch);
    let entry = match &begun.checks {
        Some(_) => kernel.run,
        None => kernel.run_bare.unwrap_or(kernel.run),
    };
    let checked_blocks = session.options.blocks.as_ref().map(|_| {
        let options = &session::get().options;
        Arc::new(|block| options.checks_block(block)) as Arc<gpurace_cpu::launch::CheckedBlocks>
    });
    // SAFETY: the words are as many bytes; any alignment suits bytes.
    let args = unsafe {
        std::slice::from_raw_parts(launch.args.as_ptr().cast::<u8>(), size_of_val(launch.args))
    };
    let result = executor().run(&gpurace_cpu::Launch {
        entry,
        block_entry: kernel.run_block.filter(|_| begun.checks.is_none()),
        kernel: kernel.meta(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared_bytes: launch.dynamic_shared,
        args,
        cooperative: launch.cooperative,
        cluster: launch.cluster,
        id: begun.record.id,
        checks: begun.checks.clone(),
        checked_blocks,
        seed: session.options.seed,
    });
    match result {
        Ok(report) => {
            session.end(&begun, Some(&report));
            Ok(())
        }
        Err(fault) => {
            let ended = end_with(&fault, &begun);
            session.end(&begun, None);
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
    let mut text = format!(
        "{} in kernel `{}`",
        fault.message, begun.record.kernel.demangled
    );
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
        (None, Some(site), FaultKind::Deadlock) => {
            resolve::site_position(begun.record.kernel, site)
        }
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
        waiting: fault
            .thread
            .map(|thread| Waiting::at(file, line, 1, thread))
            .into_iter()
            .collect(),
    }
}
