//! Confirms races: runs the two threads of a query's solution.

use std::collections::HashMap;

use gpurace_protocol::expr::Axis;
use gpurace_protocol::launch::{Extent, Launch};
use gpurace_protocol::protocol::{ObjectKind, Protocol};
use gpurace_protocol::race::{conflict, unordered};
use gpurace_protocol::range::Range;
use gpurace_protocol::run::{Thread, Touch, trace};
use gpurace_protocol::verdict::{Witness, WitnessAccess};

use crate::encode::Encoder;
use crate::linear::{Atom, Encoded, Formula, Lin};

/// The largest number of statements that a thread of a witness may run.
pub const FUEL: u64 = 50_000;

/// Returns the value of a term in a solution.
fn value(solution: &HashMap<Atom, i128>, lin: &Lin) -> Option<i128> {
    lin.terms.iter().try_fold(lin.constant, |sum, (atom, c)| {
        // An unknown that the query does not mention may have any value.
        Some(sum + c * solution.get(atom).copied().unwrap_or(0))
    })
}

/// Returns the launch and the two threads of a solution.
pub fn threads(encoder: &mut Encoder, solution: &HashMap<Atom, i128>) -> Option<(Launch, [Thread; 2])> {
    let protocol = encoder.setting.protocol;
    let mut launch = match encoder.setting.launch {
        Some(launch) => launch.clone(),
        None => Launch { params: vec![0; protocol.params.len()], ..Launch::default() },
    };
    let mut threads = [Thread::default(); 2];
    for axis in Axis::ALL {
        let at = axis as usize;
        for (side, thread) in threads.iter_mut().enumerate() {
            let tid = encoder.tid(side, axis).ok()?;
            let ctaid = encoder.ctaid(side, axis).ok()?;
            thread.tid[at] = value(solution, &tid)?.try_into().ok()?;
            thread.ctaid[at] = value(solution, &ctaid)?.try_into().ok()?;
        }
        if encoder.setting.launch.is_none() {
            let ntid = value(solution, &encoder.ntid(axis))?.max(1);
            let nctaid = value(solution, &encoder.nctaid(axis))?.max(1);
            launch.shape.block[at] = ntid.try_into().ok()?;
            launch.shape.grid[at] = nctaid.try_into().ok()?;
        }
    }
    if encoder.setting.launch.is_none() {
        // What a witness must copy to constant memory stays unknown: no race is shown that rests on it.
        let arguments = protocol.params.iter().take_while(|param| !param.is_constant());
        launch.params.truncate(arguments.clone().count());
        for (i, param) in arguments.enumerate() {
            launch.params[i] = match encoder.known_param(i as u32) {
                Some(lin) => param.width.truncate(value(solution, &lin)? as u64),
                // The query does not mention it: any value will do.
                None => 1,
            };
        }
        // The objects lie far from one another.
        for (i, object) in protocol.objects.iter().enumerate() {
            let base = (i as u64 + 1) << 44;
            let extent = match &object.kind {
                ObjectKind::Param(id) | ObjectKind::Image(id) => {
                    if let Some(value) = launch.params.get_mut(id.0 as usize) {
                        *value = base;
                    }
                    Some(Extent { base, ..Extent::default() })
                }
                ObjectKind::Variable { .. } => Some(Extent { base, ..Extent::default() }),
                ObjectKind::GridBarrier
                | ObjectKind::Shared { .. }
                | ObjectKind::DynamicShared
                | ObjectKind::Unshared
                | ObjectKind::Slot { .. }
                | ObjectKind::Opaque { .. } => None,
            };
            launch.objects.push(extent);
        }
    }
    let block: u64 = launch.shape.block.iter().map(|n| u64::from(*n)).product();
    (block <= 1024).then_some((launch, threads))
}

/// Returns the race of two accesses, given by their numbers, between these threads of the launch.
/// Returns `None` if they do not race, or if the race depends on something that the protocol leaves
/// open.
pub fn confirm(
    protocol: &Protocol,
    launch: &Launch,
    threads: [Thread; 2],
    numbers: [usize; 2],
) -> Option<Witness> {
    if threads[0] == threads[1] {
        return None;
    }
    let same_block = threads[0].ctaid == threads[1].ctaid;
    let shares = |touch: &Touch| match protocol.objects[touch.object as usize].kind {
        ObjectKind::Param(_) | ObjectKind::Variable { .. } => true,
        ObjectKind::Shared { .. } | ObjectKind::DynamicShared => same_block,
        // The address, or the touched texel, is unknown, or nobody else touches it.
        ObjectKind::Opaque { .. }
        | ObjectKind::Slot { .. }
        | ObjectKind::Image(_)
        | ObjectKind::GridBarrier
        | ObjectKind::Unshared => false,
    };
    let mut traces = Vec::new();
    for thread in threads {
        let trace = trace(protocol, launch, thread, &mut |_| 0, FUEL).ok()?;
        // The solver may choose any value for what a loop leaves. Its witnesses then show launches
        // that nobody intends, such as a length that is no power of two.
        if trace.asked || trace.rests_on_left {
            return None;
        }
        traces.push(trace);
    }
    // Counting barriers is right only if all threads of a group pass the same ones. The caller has
    // proved that.
    let meet =
        |a: &Touch, b: &Touch| unordered(launch, threads, [a, b], [&traces[0].syncs, &traces[1].syncs]);
    let address = |touch: &Touch| {
        let base = launch.objects.get(touch.object as usize).copied().flatten();
        i128::from(base.map_or(0, |e| e.base)) + i128::from(touch.offset)
    };
    let of = |side: usize| traces[side].touches.iter().filter(move |t| t.access == numbers[side]).take(4096);
    for a in of(0) {
        for b in of(1) {
            let (x, y) = (address(a), address(b));
            let common = x < y + i128::from(b.size) && y < x + i128::from(a.size);
            let same_bytes = x == y && a.size == b.size;
            if common && shares(a) && shares(b) && meet(a, b) && conflict(a.op, b.op, same_bytes, same_block)
            {
                return Some(Witness {
                    launch: launch.clone(),
                    accesses: [side(threads[0], a), side(threads[1], b)],
                    object: protocol.objects[a.object as usize].name.clone(),
                });
            }
        }
    }
    None
}

/// Returns an access of a witness.
fn side(thread: Thread, touch: &Touch) -> WitnessAccess {
    WitnessAccess {
        site: touch.site,
        op: touch.op,
        ctaid: thread.ctaid,
        tid: thread.tid,
        offset: touch.offset,
        size: touch.size,
    }
}

/// Returns facts that keep the solution's blocks, grid and parameters small.
pub fn small(encoder: &mut Encoder, most_threads: i128, most: i128) -> Encoded<Vec<Formula>> {
    let mut facts = Vec::new();
    if encoder.setting.launch.is_some() {
        return Ok(facts);
    }
    for axis in Axis::ALL {
        let each = if axis == Axis::X { most_threads } else { 4 };
        facts.push(Formula::le(&encoder.ntid(axis), &Lin::constant(each))?);
        facts.push(Formula::le(&encoder.nctaid(axis), &Lin::constant(4))?);
    }
    for i in 0..encoder.setting.protocol.params.len() {
        if let Some(param) = encoder.known_param(i as u32) {
            facts.push(Formula::within(&param, Range::new(-1, most))?);
        }
    }
    Ok(facts)
}
