//! Launches that CUDA accepts and in which no access leaves its object.

use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{ObjectKind, Protocol};
use gpurace_protocol::race::threads;
use gpurace_protocol::range::{MAX_BLOCK, MAX_BLOCK_Z, MAX_GRID_X, MAX_GRID_YZ, MAX_SHARED, most_threads};
use gpurace_protocol::run::{Touch, trace};

/// The largest number of threads of a launch that is looked at.
const MOST_THREADS: u64 = 8192;
/// The largest number of accesses of all threads together, and the statements of one thread.
const MOST_TOUCHES: usize = 1 << 20;
/// An array of this size or more is none that a program has.
const MOST_BYTES: u64 = 1 << 40;

/// Gives the launch the dynamic shared memory that it needs. `None` if CUDA does not accept it, if
/// one of its accesses leaves its object, or if there are too many to tell.
///
/// Threads whose accesses rest on values from memory are not looked at: the values may be right.
pub fn completed(protocol: &Protocol, mut launch: Launch, fuel: u64) -> Option<Launch> {
    let shape = launch.shape;
    let most = [
        (shape.block, [MAX_BLOCK, MAX_BLOCK, MAX_BLOCK_Z]),
        (shape.grid, [MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ]),
    ];
    for (dims, most) in most {
        if dims.iter().zip(most).any(|(n, most)| *n == 0 || i128::from(*n) > most) {
            return None;
        }
    }
    let threads_of_block = shape.block.iter().map(|n| u64::from(*n)).product::<u64>();
    if i128::from(threads_of_block) > most_threads(protocol)
        || shape.blocks().saturating_mul(threads_of_block) > MOST_THREADS
    {
        return None;
    }
    let of_kernel = protocol.objects.iter().map(|object| match object.kind {
        ObjectKind::Shared { size } => size,
        _ => 0,
    });
    let most_dynamic = (MAX_SHARED as u64).checked_sub(of_kernel.sum())?;
    let (mut dynamic, mut seen) = (0, 0);
    for thread in threads(&launch) {
        let trace = trace(protocol, &launch, thread, &mut |_| 0, fuel).ok()?;
        seen += trace.touches.len();
        if seen > MOST_TOUCHES {
            return None;
        }
        if trace.asked {
            continue;
        }
        for touch in &trace.touches {
            let end = end(touch)?;
            let most = match protocol.objects.get(touch.object as usize)?.kind {
                ObjectKind::Shared { size } | ObjectKind::Variable { size, .. } => size,
                ObjectKind::DynamicShared => {
                    dynamic = end.max(dynamic);
                    most_dynamic
                }
                ObjectKind::Param(_) => MOST_BYTES,
                _ => continue,
            };
            if end > most {
                return None;
            }
        }
    }
    launch.shape.dynamic_shared = dynamic.try_into().ok()?;
    Some(launch)
}

/// The end of an access, from its object's base; `None` if it begins before the base.
fn end(touch: &Touch) -> Option<u64> {
    u64::try_from(touch.offset).ok()?.checked_add(touch.size)
}
