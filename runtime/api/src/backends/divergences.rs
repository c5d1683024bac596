//! The divergences of a launch on the executor, as the report shows them.

use gpurace_cpu::{DivergenceReason, LaunchReport, WaitKind};
use gpurace_options::{Lesser, Options};
use gpurace_report::schema::{Divergence, DivergenceKind, Waiting};

use crate::backend::module::Kernel;
use crate::session::launch_record::LaunchRecord;
use crate::session::{EndedLaunch, resolve};

/// Returns the divergences of a launch that ended well.
pub(super) fn of_launch(record: &LaunchRecord, report: &LaunchReport, options: &Options) -> EndedLaunch {
    let scattered = report.scattered.iter().filter(|met| is_one_place(record.kernel, met));
    let reports_skipped = options.skipped_barrier == Lesser::Report && record.kernel.module.meta.instrumented;
    let skipped = report.skipped.iter().filter(|_| reports_skipped);
    EndedLaunch {
        is_whole: true,
        divergence: scattered
            .chain(skipped)
            .chain(&report.divergence)
            .map(|found| divergence(record, found))
            .collect(),
        not_shown: report.divergences - report.divergence.len() as u64,
    }
}

/// True if the threads that met at a barrier from several places should all have used one barrier.
fn is_one_place(kernel: &Kernel, met: &gpurace_cpu::Divergence) -> bool {
    let meta = &kernel.module.meta;
    let syncs = &meta.syncs;
    meta.instrumented
        && met.waiting.iter().all(|w| syncs.get(w.sync as usize).is_some_and(|sync| sync.one_place))
}

/// Returns what is wrong.
fn kind(found: &gpurace_cpu::Divergence) -> DivergenceKind {
    let is_of_warp = |kind| matches!(kind, WaitKind::SyncWarp(_) | WaitKind::Collective(_));
    match found.reason {
        DivergenceReason::Skipped => DivergenceKind::SkippedBarrier,
        DivergenceReason::CallerNotInMask => DivergenceKind::CallerNotInMask,
        // Lanes that wait for others of their mask hold up the threads at the block's barrier too.
        DivergenceReason::Stuck if found.waiting.iter().any(|waiting| is_of_warp(waiting.kind)) => {
            DivergenceKind::AbsentLanes
        }
        DivergenceReason::Stuck | DivergenceReason::Scattered => DivergenceKind::Barrier,
    }
}

/// One divergence.
fn divergence(record: &LaunchRecord, found: &gpurace_cpu::Divergence) -> Divergence {
    let group = |waiting: &gpurace_cpu::Waiting| {
        let (file, line) = resolve::sync_position(record.kernel, waiting.sync);
        Waiting::at(file, line, waiting.threads, waiting.example)
    };
    let mut waiting: Vec<_> = found.waiting.iter().map(group).collect();
    if let Some(example) = found.exited_example {
        waiting.push(Waiting::exited(found.exited, example));
    }
    Divergence {
        kernel: record.kernel.demangled.clone(),
        launch: record.id,
        block: found.block,
        waiting,
        kind: kind(found),
        seed: None,
    }
}
