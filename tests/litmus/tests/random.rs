//! The random programs: all verdicts occur, and the search for executions that the model allows agrees
//! with the executions in which one thread acts at a time.

use gpurace_litmus::candidates::allowed;
use gpurace_litmus::execution::Rules;
use gpurace_litmus::generate::program;
use gpurace_litmus::interleavings;
use gpurace_litmus::judge::{Pairs, judge};
use gpurace_litmus::shrink::shrink;
use gpurace_litmus::walk::Code;

fn cases() -> u64 {
    gpurace_random::number("GPURACE_CASES", if cfg!(debug_assertions) { 50 } else { 300 })
}

#[test]
fn all_verdicts_occur_and_few_are_undecided() {
    let (mut racy, mut clean, mut weak, mut undecided) = (0, 0, 0, 0);
    // Where gpurace's rules and PTX's text differ on whether there is a race at all.
    let (mut missed_by_barrier, mut alarmed_by_volatile, mut alarmed_by_fence) = (0, 0, 0);
    for seed in 0..cases() {
        let program = program(seed);
        assert_eq!(program.validate(), Ok(()), "{program}");
        match judge(&program, Rules::GPURACE, 200_000) {
            None => undecided += 1,
            Some(v) => {
                match (v.interleaved.is_empty(), v.weak.is_empty()) {
                    (false, _) => racy += 1,
                    (true, false) => weak += 1,
                    (true, true) => clean += 1,
                }
                missed_by_barrier += u64::from(v.weak.is_empty() && !v.ptx.is_empty());
                if !v.weak.is_empty() && v.ptx.is_empty() {
                    match judge(&program, Rules::VOLATILE_RELAXED, 200_000) {
                        Some(v) if v.weak.is_empty() => alarmed_by_volatile += 1,
                        _ => alarmed_by_fence += 1,
                    }
                }
            }
        }
    }
    println!("racy {racy}, clean {clean}, weak {weak}, undecided {undecided}");
    println!("{missed_by_barrier} missed by the barrier, {alarmed_by_volatile} alarmed by `volatile`");
    println!("{alarmed_by_fence} alarmed by `fence.sc`");
    assert!(racy * 5 >= cases() && clean * 5 >= cases(), "racy {racy}, clean {clean}");
    assert!(undecided * 50 <= cases(), "undecided {undecided}");
}

/// Each interleaving is an execution that the model allows, so what races in one of them races by the
/// model. Rules without Fence-SC order, since an interleaving has but one order of its fences.
#[test]
fn what_races_in_an_interleaving_races_by_the_model() {
    let mut more = 0;
    for seed in 0..cases() {
        let program = program(seed);
        let code = Code::new(&program);
        let found = allowed(&code, &[Rules::GPURACE], 100_000);
        if found.is_cut_short {
            continue;
        }
        let mut interleaved = Pairs::new();
        interleavings::each(&code, 100_000, &mut |execution| {
            let orders = execution.orders(Rules::GPURACE, &[]);
            let races = execution.races(&orders, Rules::GPURACE);
            interleaved.extend(races.iter().map(|race| race.sites));
            // The axioms hold, with the fences in the order in which they happened.
            let pairs = execution.full_fences();
            let in_order: Vec<_> = pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            let ptx = execution.orders(Rules::PTX, &in_order);
            assert!(!execution.is_out_of_thin_air(), "{program}");
            assert!(!execution.fences_contradict(&ptx, &in_order), "{program}");
            assert!(execution.is_coherent(&ptx), "{program}{execution:?}");
        });
        assert!(interleaved.is_subset(&found.races[0]), "{program}{interleaved:?} {found:?}");
        more += u64::from(interleaved != found.races[0]);
    }
    assert!(more > 0, "the model allows nothing that interleavings do not show");
}

#[test]
fn a_program_shrinks_to_what_shows_its_race() {
    let racy = |p: &gpurace_litmus::program::Program| {
        judge(p, Rules::GPURACE, 100_000).is_some_and(|v| !v.interleaved.is_empty())
    };
    for large in (0..20).map(program).filter(racy) {
        let small = shrink(&large, &mut |p| racy(p));
        assert_eq!((racy(&small), small.validate()), (true, Ok(())), "{small}");
        // Any race is a write and one more access.
        assert_eq!((small.threads.len(), small.len()), (2, 2), "{small}");
    }
}
