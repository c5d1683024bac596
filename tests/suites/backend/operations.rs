//! Memory, streams, graphs, arrays and copies give the same results and races on a GPU as on the
//! executor.

use std::collections::BTreeSet;

use gpurace_tests::report::Access;

use crate::{Ran, checked, on_gpu, run_program};

#[test]
fn memory_streams_and_events_are_as_on_the_executor() {
    let folder = checked();
    let gpu = on_gpu(&folder, "values");
    gpu.assert_ends(0, "all values are right\n");
    // The executor gives the same results.
    let host = run_program(&folder, true, "values", "device=cpu", &[]);
    host.assert_ends(0, &gpu.outcome.stdout);
    assert_eq!(host.calls, "", "`device=cpu` asks no driver");
    assert!(gpu.calls.contains("launch together scale__gpurace_checked 1 128 0 on 0"), "{}", gpu.calls);
    assert!(gpu.calls.contains("stream non-blocking\n") && gpu.calls.contains("on another\n"));
    let (gpu, host) = (gpu.report.unwrap(), host.report.unwrap());
    assert!(gpu.races.is_empty() && host.races.is_empty());
    assert_eq!((gpu.stats.launches, gpu.stats.launches_unchecked), (host.stats.launches, 0));
    assert_eq!(gpu.stats.checks_executed, host.stats.checks_executed);
    assert_eq!(gpu.stats.sites.total, host.stats.sites.total);
    // Registered memory has no shadow. A note says it.
    assert!(
        gpu.notes.iter().any(|note| note.ends_with("accesses to memory without shadow not checked")),
        "{:?}",
        gpu.notes
    );
    assert!(
        gpu.notes.iter().any(|note| note.contains(
            "by the host to memory of an operation that it has not waited for not looked at on the GPU"
        )),
        "{:?}",
        gpu.notes
    );
}

/// The number of operations that a run has not compared with others.
fn not_compared(ran: &Ran) -> Option<u64> {
    let notes = &ran.report.as_ref().unwrap().notes;
    notes.iter().find_map(|note| note.split_once(" launches or copies may have run beside")?.0.parse().ok())
}

#[test]
fn launches_that_may_overlap_are_counted() {
    let folder = checked();
    for argument in ["overlapping", "overlapping threads"] {
        let ran = run_program(&folder, true, argument, "", &[("MOCK_LAUNCH_TIME", "200")]);
        // In each of 16 rounds, three launches out of four meet an earlier one.
        assert_eq!((ran.outcome.status, not_compared(&ran)), (Some(0), Some(16 * 3)), "{argument}");
        assert!(ran.report.unwrap().races.is_empty());
    }
    // Of launches in the order of a stream, none is.
    assert_eq!(not_compared(&on_gpu(&folder, "ordered")), None);
    assert_eq!(not_compared(&run_program(&folder, true, "overlapping", "device=cpu", &[])), None);
}

#[test]
fn copies_race_with_each_other_as_on_the_executor() {
    let folder = checked();
    let races = |ran: &Ran| {
        let races = &ran.report.as_ref().unwrap().races;
        let side = |access: &Access| (access.line, access.op == "copy", access.stream);
        let pairs = races.iter().map(|race| race.accesses.iter().map(side).collect::<BTreeSet<_>>());
        pairs.filter(|pair| pair.iter().all(|(_, is_copy, _)| *is_copy)).collect::<BTreeSet<_>>()
    };
    let gpu = on_gpu(&folder, "copies");
    let host = run_program(&folder, true, "copies", "device=cpu", &[]);
    assert_eq!(
        (races(&gpu), races(&gpu).len()),
        (races(&host), 1),
        "{}{}",
        gpu.outcome.stderr,
        host.outcome.stderr
    );
    // A fill and a launch, a launch and a copy, and the two copies.
    assert_eq!((gpu.report.as_ref().unwrap().races.len(), not_compared(&gpu)), (1, Some(3)));
}

#[test]
fn memory_is_freed_in_a_streams_order_without_a_wait() {
    let folder = checked();
    let gpu = on_gpu(&folder, "stream_ordered");
    gpu.assert_ends(66, "all are there\n");
    // Only the end of the program waits.
    assert_eq!(gpu.calls.matches("wait for all").count(), 1, "{}", gpu.calls);
    // The report names the memory of a race also if the memory was freed since.
    let report = gpu.report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    let object = race.object.as_ref().unwrap();
    assert_eq!(
        (race.kernel.as_deref(), &object.kind[..], object.name.as_deref(), object.size),
        (Some("racy"), "allocation", Some("#2"), Some(32 << 20))
    );
    let host = run_program(&folder, true, "stream_ordered", "device=cpu", &[]);
    host.assert_ends(66, &gpu.outcome.stdout);
}

#[test]
fn the_end_of_a_program_waits_for_no_kernel_for_ever() {
    let ran = run_program(&checked(), true, "unfinished", "", &[("MOCK_ENDLESS", "1")]);
    assert_eq!(ran.outcome.status, Some(0), "{}", ran.outcome.stderr);
    assert!(
        ran.outcome.stderr.contains("note: kernels still run at the end of the program"),
        "{}",
        ran.outcome.stderr
    );
    assert!(ran.report.is_some_and(|report| report.stats.launches == 1 && report.races.is_empty()));
}

#[test]
fn graphs_run_in_the_order_of_their_edges() {
    let folder = checked();
    let gpu = on_gpu(&folder, "graphs");
    gpu.assert_ends(0, "all graphs are right\n");
    let host = run_program(&folder, true, "graphs", "device=cpu", &[]);
    host.assert_ends(0, &gpu.outcome.stdout);
    // Each launch of a graph counts as one launch for each of its kernels.
    let (gpu, host) = (gpu.report.unwrap(), host.report.unwrap());
    assert_eq!((gpu.stats.launches, host.stats.launches), (3 * 3 + 2 + 3 + 2 * 3, 3 * 3 + 2 + 3 + 2 * 3));
    assert_eq!(gpu.stats.checks_executed, host.stats.checks_executed);
    assert!(gpu.races.is_empty() && host.races.is_empty());
}

#[test]
fn properties_are_the_drivers() {
    let ran = on_gpu(&checked(), "properties");
    // For most attributes the mock returns the attribute's number plus 1000.
    assert_eq!((ran.outcome.status, &ran.outcome.stdout[..]), (Some(0), "Mock 8.0, 2, 1038, 1073741824\n"));
}

#[test]
fn arrays_textures_and_surfaces_are_the_drivers() {
    let folder = checked();
    let gpu = on_gpu(&folder, "arrays");
    gpu.assert_ends(0, "all arrays are right\n");
    let host = run_program(&folder, true, "arrays", "device=cpu", &[]);
    host.assert_ends(0, &gpu.outcome.stdout);
    for wanted in [
        // Formats, extents and flags, as the driver's interface numbers them.
        "array 6 4 0 format 10 channels 1 flags 0\n",
        "array 9 4 0 format 10 channels 1 flags 2\n",
        "array 4 3 2 format 1 channels 4 flags 1\n",
        "copy rows 24 4 1 from memory to array\n",
        "copy rows 12 2 1 from array to array\n",
        // A texture of an array, with normalised coordinates; then of linear memory, and of rows.
        "texture of 0 format 0 channels 0 sizes 0 0 0 modes 1 1 3 filter 1 flags 2\n",
        "texture of 2 format 10 channels 1 sizes 96 0 0 modes 0 0 0 filter 0 flags 1\n",
        "texture of 3 format 32 channels 2 sizes 3 2 32 modes 0 0 0 filter 0 flags 0\n",
        "surface\n",
    ] {
        assert!(gpu.calls.contains(wanted), "no `{wanted}` in\n{}", gpu.calls);
    }
    assert_eq!(gpu.calls.matches("array gone").count(), 3, "{}", gpu.calls);
    // Arrays have addresses also if no memory can be mapped.
    let unmapped = run_program(&folder, true, "arrays", "", &[("MOCK_UNMAPPED", "1")]);
    unmapped.assert_ends(0, &gpu.outcome.stdout);
    assert_eq!(unmapped.report.map(|report| report.device), Some("cuda".to_owned()));
}
