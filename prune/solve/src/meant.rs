//! Races that rest on an argument. If the rows of a kernel overlap for `pitch = 4` only, the kernel is meant for a
//! greater pitch. Other arguments avoid the race, although both threads still make their accesses. So it is no warning.

use std::time::Duration;

use gpurace_protocol::expr::{Expr, ExprId};
use gpurace_protocol::launch::{Extent, Launch};
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{Protocol, SiteId};
use gpurace_protocol::run::{Thread, Touch, trace};
use gpurace_protocol::verdict::{Verdict, Verdicts, Witness, WitnessAccess};

use crate::accepted::completed;
use crate::expected::{expected, named};
use crate::prove::prove;
use crate::witness::FUEL;
use crate::{Limits, Options};

/// A stride that is greater than what a witness has beside it.
const WIDE: u64 = 4096;
/// A number of rounds or elements that shows a missing order between two of them.
const FEW: u64 = 2;
/// The largest number of parameters that are changed.
const MOST_PARAMETERS: usize = 8;
/// The largest number of witnesses that are looked at.
const MOST_WITNESSES: usize = 4;
/// The time for the proof of a launch.
const TIME: Duration = Duration::from_millis(200);
/// The bytes before and behind the base of an object.
const AROUND: u64 = 1 << 42;

/// Takes back what a witness shows of two threads of a block, if the race rests on an argument.
pub fn keep_meant(protocol: &Protocol, verdicts: &mut Verdicts) {
    let options = &Options { limits: Limits::about(TIME), dump: None };
    let mut known: Vec<(Launch, [SiteId; 2], bool)> = Vec::new();
    for found in &mut verdicts.sites {
        let Verdict::Racy(witness) = &found.verdict else { continue };
        if witness.accesses[0].ctaid != witness.accesses[1].ctaid {
            continue;
        }
        let mut sites = witness.accesses.each_ref().map(|side| side.site);
        sites.sort_unstable();
        let same = known.iter().find(|(launch, of, _)| *launch == witness.launch && *of == sites);
        let avoidable = match same {
            Some((.., avoidable)) => *avoidable,
            None if known.len() == MOST_WITNESSES => continue,
            None => {
                let avoidable = is_avoidable(protocol, witness, options);
                known.push((witness.launch.clone(), sites, avoidable));
                avoidable
            }
        };
        if avoidable {
            found.why = "races for some arguments only".to_owned();
            found.verdict = Verdict::Unknown(found.why.clone());
        }
    }
}

/// True if the witness's launch with other arguments has no such race. Both threads must still make their accesses
/// between the same barriers: a loop over tiles is not cut short to one round.
fn is_avoidable(protocol: &Protocol, witness: &Witness, options: &Options) -> bool {
    let mut exprs = protocol.exprs.clone();
    let expected = expected(protocol, &mut exprs);
    let sides = &witness.accesses;
    let meant = sides.each_ref().map(|side| moments(protocol, &witness.launch, side, |at| at == side.offset));
    let are_made = |launch: &Launch| {
        sides.iter().zip(&meant).all(|(side, meant)| {
            let made = moments(protocol, launch, side, |_| true);
            meant.iter().all(|moment| made.contains(moment))
        })
    };
    let is_free = |launch: &Launch| {
        let sites = prove(protocol, Some(launch), options).verdicts.sites;
        let is_proved = |site| sites.iter().any(|of| of.site == site && of.verdict == Verdict::Proved);
        sides.iter().all(|side| is_proved(side.site))
    };
    let completed = |launch| completed(protocol, launch, FUEL);
    others(protocol, &witness.launch)
        .into_iter()
        .filter_map(completed)
        .any(|launch| expected.holds(&exprs, &launch) && are_made(&launch) && is_free(&launch))
}

/// The barriers of each kind, and the syncs of lanes, that a thread has passed each time when it makes an access of the
/// witness to such an offset.
fn moments(
    protocol: &Protocol,
    launch: &Launch,
    side: &WitnessAccess,
    is_meant: impl Fn(i64) -> bool,
) -> Vec<([u32; 3], u32)> {
    let thread = Thread { ctaid: side.ctaid, tid: side.tid };
    let Ok(trace) = trace(protocol, launch, thread, &mut |_| 0, FUEL) else { return Vec::new() };
    let of_side = |touch: &&Touch| touch.site == side.site && is_meant(touch.offset);
    trace.touches.iter().filter(of_side).map(|touch| (touch.passed, touch.lane_syncs)).collect()
}

/// The launches with other arguments: with wide strides, with few rounds, and with one argument changed.
fn others(protocol: &Protocol, launch: &Launch) -> Vec<Launch> {
    let places = Place::all(protocol);
    let indices = named(protocol, places.iter().map(|place| place.access.offset));
    let all = protocol.params.iter().zip(&launch.params).enumerate();
    let all: Vec<usize> = all.filter(|(_, (param, _))| !param.pointer).map(|(at, _)| at).collect();
    let is_stride = |at: &usize| {
        let is =
            |id: &ExprId| matches!(protocol.exprs.get(*id), Expr::Param { id, .. } if id.0 as usize == *at);
        indices.iter().any(is)
    };
    let (strides, rounds): (Vec<usize>, Vec<usize>) = all.iter().copied().partition(is_stride);
    let with = |changed: &[(usize, u64)]| {
        let mut launch = launch.clone();
        for &(at, value) in changed {
            launch.params[at] = value;
        }
        for extent in launch.objects.iter_mut().flatten() {
            let allocation = Some((extent.base - AROUND, extent.base + AROUND));
            *extent = Extent { allocation, ..*extent };
        }
        launch
    };
    let wide = |at: &usize| (*at, WIDE);
    let few = |at: &usize| (*at, launch.params[*at].min(FEW));
    let mut others = vec![
        with(&strides.iter().map(wide).collect::<Vec<_>>()),
        with(&rounds.iter().map(few).collect::<Vec<_>>()),
    ];
    // A loop may also begin at a stride, or move a place by one.
    others.extend(all.iter().take(MOST_PARAMETERS).flat_map(|at| [with(&[wide(at)]), with(&[few(at)])]));
    others.retain(|other| other.params != launch.params);
    others
}
