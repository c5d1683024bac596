//! Launches: the races that they find, their order, their event logs.

use gpurace_abi::LaunchShape;
use gpurace_abi::event::EventKind;
use gpurace_cuda::driver::Stream;
use gpurace_cuda::{Gpu, KernelLaunch, LeftOut, Module, Touched, Transfer, Variant, notes};

use crate::support::*;

#[test]
fn races_come_back() {
    let Some((mut gpu, mut module, _log)) = opened("races_come_back", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 3), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    let counters = gpu.counters().unwrap();
    assert_eq!((counters.outside, counters.shared_outside), (0, 0));
    assert_eq!(gpu.take_checks(), [(7, 3 * 64 * 2)]);
    assert_eq!(notes(&counters, &LeftOut { uncovered: gpu.memory.uncovered, ..LeftOut::default() }), [""; 0]);

    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 2), a).unwrap();
    gpu.wait().unwrap();
    let found = gpu.take_found();
    assert!(!found.is_empty());
    for f in &found {
        assert_eq!((f.site, f.earlier_site, f.op, f.earlier_op), (1, 1, 1, 1), "{f:?}");
        assert_eq!((f.launch, f.address, f.size, f.shared), (7, a, 4, 0));
        assert_ne!((f.block, f.thread), (f.earlier_block, f.earlier_thread));
    }
    // A pair of instructions is written a few times only; the others are counted.
    let counters = gpu.counters().unwrap();
    assert!(counters.repeated > 0 && found.len() < 10);
    assert!(notes(&counters, &LeftOut::default())[0].contains("the same instructions"));
    assert_eq!(gpu.take_found(), [], "given out once");
}

#[test]
fn launches_log_what_their_threads_do() {
    let Some((mut gpu, mut module, _log)) = opened("launches_log_what_their_threads_do", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    let logging =
        |kernel, number| KernelLaunch { events: 1 << 16, number, ..launch(kernel, Variant::Checked, 2) };
    run(&mut gpu, &mut module, &logging("ordered", 11), a).unwrap();
    assert!(gpu.has_log(11) && !gpu.has_log(7));
    gpu.wait().unwrap();
    let logs = gpu.take_logs();
    let [gpurace_cuda::EventLog { number: 11, events, is_cut: false, held: 0 }] = &logs[..] else {
        panic!("{logs:?}")
    };
    let count = |kind, block| {
        events.iter().filter(|event| event.kind() == Some(kind) && event.block == block).count()
    };
    for block in 0..2 {
        // One thread logs that the barrier was passed.
        let of = [EventKind::Write, EventKind::Barrier, EventKind::Read, EventKind::Leave]
            .map(|kind| count(kind, block));
        assert_eq!(of, [64, 1, 64, 64]);
    }
    assert_eq!(events.len(), 2 * (64 + 1 + 64 + 64));
    let write = events[3];
    assert_eq!(
        (write.thread(), write.address, write.size, write.site, write.is_shared()),
        (3, a + 12, 4, 2, false)
    );

    // A race of one launch is in the event log; the GPU finds a race of two launches.
    run(&mut gpu, &mut module, &logging("racy", 12), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!((gpu.take_found(), gpu.take_logs().len()), (vec![], 1));
    run(&mut gpu, &mut module, &KernelLaunch { unordered: &[12], ..logging("ordered", 13) }, a).unwrap();
    gpu.wait().unwrap();
    assert!(gpu.take_found().iter().any(|found| (found.earlier_launch, found.launch) == (12, 13)));
    assert_eq!(gpu.take_logs().len(), 1);
    // There is room for 64 logs of this size at a time, and all buffers come back.
    for round in 0..2 {
        for number in 20..20 + 66 {
            run(&mut gpu, &mut module, &logging("ordered", number), a).unwrap();
            assert_eq!(gpu.has_log(number), number < 20 + 64);
        }
        gpu.wait().unwrap();
        let numbers: Vec<u64> = gpu.take_logs().iter().map(|log| log.number).collect();
        assert_eq!(numbers, (20..20 + 64).collect::<Vec<u64>>(), "{round}");
    }
    // A fault leaves the events logged before it.
    run(&mut gpu, &mut module, &logging("faulty", 30), a).unwrap();
    gpu.wait().unwrap_err();
    let logs = gpu.take_logs();
    assert_eq!((logs.len(), logs[0].events.len(), logs[0].is_cut), (1, 64, true));
}

#[test]
fn launches_are_ordered_without_clearing() {
    let Some((mut gpu, mut module, log)) = opened("launches_are_ordered_without_clearing", &[]) else {
        return;
    };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 1), a).unwrap();
    let fills = || log.count("fill ");
    let before = fills();
    for _ in 0..100 {
        // Other threads write the words that the last launch has read.
        run(&mut gpu, &mut module, &launch("ordered", Variant::Checked, 4), a).unwrap();
    }
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    assert_eq!(fills(), before);
    assert!(before > 0);
    assert_eq!(gpu.counters().unwrap().next_uid, 401);
}

#[test]
fn no_launch_waits_for_what_runs() {
    let Some((mut gpu, mut module, log)) = opened("no_launch_waits_for_what_runs", &[]) else { return };
    let of = |number, kilobytes: u32| KernelLaunch {
        number,
        shape: LaunchShape { dynamic_shared: kilobytes << 10, ..LaunchShape::flat(1, 64) },
        ..launch("ordered", Variant::Checked, 1)
    };
    let (a, b) = (gpu.allocate(4096).unwrap(), gpu.allocate(4096).unwrap());
    // SAFETY: the mock's memory is this process's; the kernels that write it run when they are
    // waited for.
    let has_run = || unsafe { (a as *const u32).read_volatile() } != 0;
    run(&mut gpu, &mut module, &of(1, 0), a).unwrap();
    // Blocks of all sizes, memory outside the window, which each launch must know, and more
    // launches and copies than there are cells.
    let mut number = 1;
    for kilobytes in [2, 10, 30, 60, 0] {
        number += 1;
        run(&mut gpu, &mut module, &of(number, kilobytes), b).unwrap();
        let managed = gpu.allocate_managed(4096).unwrap();
        number += 1;
        run(&mut gpu, &mut module, &of(number, 0), managed).unwrap();
    }
    let many = |gpu: &mut Gpu, module: &mut Module, number: &mut u64| {
        for _ in 0..3000 {
            *number += 2;
            run(gpu, module, &of(*number - 1, 0), b).unwrap();
            let touched = [0, 8].map(|at| Touched {
                start: b + at,
                width: 4,
                rows: 1,
                pitch: 0,
                writes: false,
                site: 7,
            });
            gpu.touch(
                module,
                &Transfer { touched: &touched, stream: Stream::DEFAULT, number: *number, unordered: &[] },
            )
            .unwrap();
        }
    };
    many(&mut gpu, &mut module, &mut number);
    assert_eq!((has_run(), log.count("wait for all")), (false, 0));
    assert_eq!(
        (log.count("stream "), log.count("stream non-blocking urgent\n")),
        (1, 1),
        "the backend's own"
    );
    gpu.wait().unwrap();
    assert!(has_run());
    let counters = gpu.counters().unwrap();
    assert_eq!((gpu.take_found(), counters.outside, counters.shared_outside), (vec![], 0, 0));
    // Once they are over, their cells and tables serve other launches.
    let free = gpu.device().memory().unwrap().0;
    for _ in 0..4 {
        many(&mut gpu, &mut module, &mut number);
        gpu.wait().unwrap();
    }
    assert_eq!(gpu.device().memory().unwrap().0, free);
    // Each launch appears once. A thread of the kernel reads and writes once.
    let mut checks = gpu.take_checks();
    checks.sort_unstable();
    assert!(checks.iter().map(|(number, _)| *number).eq(1..=number));
    let launches = checks.iter().filter(|(_, checks)| *checks == 2 * 64).count() as u64;
    assert_eq!(launches, 11 + 5 * 3000);
    assert_eq!(gpu.take_checks(), []);
}

#[test]
fn launches_that_nothing_orders_race() {
    let Some((mut gpu, mut module, _log)) = opened("launches_that_nothing_orders_race", &[]) else { return };
    let mut between = |unordered: &[u64], launches: u64| {
        // Memory and launches of its own each time.
        let a = gpu.allocate(4096).unwrap();
        let first = gpu.counters().unwrap().next_uid + 1;
        let repeated = gpu.counters().unwrap().repeated;
        for number in first..first + launches {
            let unordered: Vec<u64> = if number + 1 == first + launches {
                unordered.iter().map(|n| first + n).collect()
            } else {
                vec![]
            };
            let launch =
                KernelLaunch { number, unordered: &unordered, ..launch("ordered", Variant::Checked, 2) };
            run(&mut gpu, &mut module, &launch, a).unwrap();
        }
        gpu.wait().unwrap();
        let found = gpu.take_found();
        for f in &found {
            assert_eq!((f.relation, f.launch), (3, first + launches - 1), "{f:?}");
            assert!(f.earlier_block < 2 && f.block == f.earlier_block, "each block has its own part: {f:?}");
        }
        let earlier: Vec<u64> = found.iter().map(|f| f.earlier_launch - first).collect();
        let races = found.len() as u64 + gpu.counters().unwrap().repeated - repeated;
        (earlier, races, gpu.missed())
    };
    assert_eq!(between(&[], 2), (vec![], 0, 0));
    // The last launch races only with those that it may overlap.
    let (earlier, ..) = between(&[1], 3);
    assert!(!earlier.is_empty() && earlier.iter().all(|&launch| launch == 1), "{earlier:?}");
    assert_eq!(between(&[0], 3).1, 0, "the second was ordered after the first, and before the third");
    // Numbers without uids are those of bare launches, and of copies of memory without shadow.
    // There is room for few ranges of uids, unless they are adjacent.
    assert_eq!(between(&[50], 2), (vec![], 0, 0));
    let (_, races, missed) = between(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 10);
    assert!(races > 0 && missed == 0);
    assert_eq!(between(&[0, 2, 4, 6, 8], 10).2, 1);
}

#[test]
fn the_bare_variant_runs_no_check() {
    let Some((mut gpu, mut module, _log)) = opened("the_bare_variant_runs_no_check", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("racy", Variant::Bare, 2), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!((gpu.take_found(), gpu.take_checks()), (vec![], vec![]));
    let why = run(&mut gpu, &mut module, &launch("missing", Variant::Bare, 1), a).unwrap_err();
    assert_eq!(why, "`cuModuleGetFunction` failed: CUDA_ERROR_NOT_FOUND");
}

#[test]
fn a_fault_leaves_what_was_found() {
    let Some((mut gpu, mut module, _log)) = opened("a_fault_leaves_what_was_found", &[]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("faulty", Variant::Checked, 1), a).unwrap();
    let fault = gpu.wait().unwrap_err();
    assert_eq!(fault.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert!(!gpu.take_found().is_empty());
    assert_eq!(gpu.counters(), None);
    let later = run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), a).unwrap_err();
    assert!(later.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{later}");
}
