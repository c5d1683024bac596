//! Endless waits: a launch ends with a fault when all of its workers have waited for too long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::fault::Fault;
use crate::launch::{LaunchState, Pulse};

/// The spin limits after which a wait whose threads change their private state counts as endless.
const MOVING_LIMITS: u32 = 60;

/// Notes that a worker makes progress: a block has ended.
pub(crate) fn note_progress(launch: &LaunchState, worker: usize) {
    let own = &launch.pulses[worker];
    own.waiting_since.store(u64::MAX, Ordering::Relaxed);
    own.unended_since.store(u64::MAX, Ordering::Relaxed);
}

/// Lets other OS threads run: all resident blocks of a worker give way, and it can take up no
/// other. Ends the launch with `fault` once all workers have waited for too long. `only_waits`: no
/// thread has changed its private state.
pub(crate) fn wait_for_others(
    launch: &LaunchState,
    worker: usize,
    only_waits: bool,
    fault: impl FnOnce(Duration) -> Fault,
) {
    let own = &launch.pulses[worker];
    let now = launch.now();
    own.looked.store(now, Ordering::Relaxed);
    own.unended_since.fetch_min(now, Ordering::Relaxed);
    if only_waits {
        own.waiting_since.fetch_min(now, Ordering::Relaxed);
    } else {
        own.waiting_since.store(u64::MAX, Ordering::Relaxed);
    }
    // Threads that still change their private state may be counting down: they get more time.
    let limit = launch.spin_limit;
    let waited = |since: fn(&Pulse) -> &AtomicU64, limit: Duration| {
        let since = since(own).load(Ordering::Relaxed);
        let waited = Duration::from_nanos(now.saturating_sub(since));
        (waited >= limit && all_wait(launch, now, limit)).then_some(waited)
    };
    let endless =
        waited(|p| &p.waiting_since, limit).or_else(|| waited(|p| &p.unended_since, limit * MOVING_LIMITS));
    if let Some(waited) = endless {
        launch.fail(fault(waited));
    }
    if launch.workers > 1 && only_waits {
        std::thread::yield_now();
    }
}

/// True if no worker has ended a block for about `limit`, and each has looked at its blocks recently. A worker that has
/// not looked recently is in a long turn, and makes progress.
fn all_wait(launch: &LaunchState, now: u64, limit: Duration) -> bool {
    let recently = now.saturating_sub(launch.spin_limit.as_nanos() as u64 / 2);
    let long_ago = now.saturating_sub(limit.as_nanos() as u64 / 2);
    launch.pulses.iter().all(|p| {
        p.finished.load(Ordering::Relaxed)
            || (p.unended_since.load(Ordering::Relaxed) <= long_ago
                && p.looked.load(Ordering::Relaxed) >= recently
                && (limit > launch.spin_limit || p.waiting_since.load(Ordering::Relaxed) <= long_ago))
    })
}
