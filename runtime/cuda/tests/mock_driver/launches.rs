//! Launches: the races that they find, and their order.

use gpurace_abi::LaunchShape;
use gpurace_cuda::{Gpu, KernelLaunch, Module, Variant, notes};

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
    assert_eq!(notes(&counters, gpu.memory.uncovered, 0), [""; 0]);

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
    assert!(notes(&counters, 0, 0)[0].contains("the same instructions"));
    assert_eq!(gpu.take_found(), [], "given out once");
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
    // launches than there are cells.
    let mut number = 1;
    for kilobytes in [2, 10, 30, 60, 0] {
        number += 1;
        run(&mut gpu, &mut module, &of(number, kilobytes), b).unwrap();
        let managed = gpu.allocate_managed(4096).unwrap();
        number += 1;
        run(&mut gpu, &mut module, &of(number, 0), managed).unwrap();
    }
    let many = |gpu: &mut Gpu, module: &mut Module, number: &mut u64| {
        for _ in 0..6000 {
            *number += 1;
            run(gpu, module, &of(*number, 0), b).unwrap();
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
    assert_eq!(launches, 11 + 5 * 6000);
    assert_eq!(gpu.take_checks(), []);
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
