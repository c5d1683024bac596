//! Accesses to textures and surfaces: the events in their launch's log, and the counters.

use std::mem::size_of;

use gpurace_abi::device::{CheckerState, Counters, LaunchCell};
use gpurace_abi::event::{Event, EventKind, EventLogHead, Fetch};

use super::{Control, Simulated, begin};

#[allow(improper_ctypes)]
unsafe extern "C" {
    fn __gpurace_simulate(who: *const Simulated);
    fn __gpurace_enter(cell: u64);
    fn __gpurace_leave();
    fn __gpurace_coordinates(third: u32, fourth: u32);
    fn __gpurace_fetch(handle: u64, site: u32, what: u32, first: u32, second: u32);
}

const HANDLE: u64 = 0x1234_5678_9abc_def0;
const ROOM: usize = 8;

/// Launches one thread that makes `fetches` accesses with four coordinates. Returns the counters,
/// the cell and the event log. `room`: the log's; 0 for no log.
fn launched(what: Fetch, fetches: u32, room: u64) -> (Counters, LaunchCell, [Event; ROOM]) {
    let (mut counters, mut control, mut cell) =
        (Counters::default(), Control::default(), LaunchCell::default());
    let state = CheckerState { counters: &raw mut counters as u64, ..CheckerState::default() };
    let mut log = [Event::default(); ROOM + 1];
    let first = if room == 0 { 0 } else { log.as_mut_ptr() as u64 + size_of::<EventLogHead>() as u64 };
    let at = &raw mut cell as u64;
    let who = Simulated {
        control: &raw mut control,
        state: &raw const state,
        thread: 0,
        threads: 1,
        block: 3,
        shared: 0,
        shared_size: 0,
    };
    // SAFETY: all of it lives until the last call.
    unsafe {
        __gpurace_simulate(&who);
        begin(
            at,
            &LaunchCell {
                blocks: 4,
                number: 1,
                first_uid: 5,
                log: first,
                log_room: room,
                ..LaunchCell::default()
            },
            None,
        );
        __gpurace_enter(at);
        for n in 0..fetches {
            __gpurace_coordinates(n + 12, 13);
            __gpurace_fetch(HANDLE, 40 + n, what.pack(), 10, 11);
        }
        __gpurace_leave();
    }
    let events = std::array::from_fn(|n| log[n + 1]);
    (counters, cell, events)
}

#[test]
fn a_log_has_the_handle_the_coordinates_and_what_is_done() {
    for what in [
        Fetch { kind: EventKind::Fetch, operation: 6, size: 1 },
        Fetch { kind: EventKind::Fetch, operation: 1 | 3 << 16, size: 1 },
        Fetch { kind: EventKind::SurfaceRead, operation: 4 | 2 << 8, size: 16 },
        Fetch { kind: EventKind::SurfaceWrite, operation: 2 | 1 << 8, size: 2 },
    ] {
        let (counters, cell, events) = launched(what, 2, ROOM as u64);
        for n in 0..2 {
            let (rest, fetch) = (events[2 * n], events[2 * n + 1]);
            assert_eq!(
                (rest.kind(), rest.address, rest.block),
                (Some(EventKind::Coordinates), 13 << 32 | (n as u64 + 12), 3)
            );
            assert_eq!(
                (fetch.fetch(), fetch.address, fetch.block, fetch.thread()),
                (Some(what), HANDLE, 3, 0)
            );
            assert_eq!(
                (fetch.site, fetch.size, fetch.extra, fetch.is_complete()),
                (40 + n as u32, 10, 11, true)
            );
        }
        assert_eq!((events[4].kind(), events[5]), (Some(EventKind::Leave), Event::default()));
        // Launches that overlap this one miss the accesses.
        assert_eq!((counters.fetches, cell.held, cell.checks), (0, 2, 2));
    }
}

#[test]
fn what_no_log_has_is_counted() {
    let what = Fetch { kind: EventKind::Fetch, operation: 2, size: 1 };
    let (counters, cell, _) = launched(what, 3, 0);
    assert_eq!((counters.fetches, cell.held, cell.checks), (3, 0, 0));
    // The log ends between the coordinates and their access.
    let (counters, cell, events) = launched(what, 3, 3);
    assert_eq!((counters.fetches, cell.held, cell.checks), (2, 1, 1));
    assert_eq!(events.iter().filter(|event| event.is_complete()).count(), 3);
}
