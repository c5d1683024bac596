//! Launches that may overlap others: they run without checks if no other launch meets them, and the
//! races found are those that are found with every check.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use gpurace_random::Random;
use gpurace_tests::report::{Access, Report};
use gpurace_tests::toolchain::{compile, run_checked, work_folder};

/// Returns the program built with this way to prune.
fn program(prune: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = work_folder("beside").unwrap();
        std::fs::write(folder.join("streams.cu"), include_str!("beside.cu")).unwrap();
        for prune in ["off", "compile", "launch"] {
            let flag = format!("-fgpurace-prune={prune}");
            compile(&["-fsanitize=gpurace", "-O1", "-g", &flag, "streams.cu", "-o", prune], &folder).unwrap();
        }
        folder
    });
    folder.join(prune)
}

fn run(prune: &str, operations: &[&str]) -> Report {
    let program = program(prune);
    let folder = work_folder(&format!("beside_{prune}_{:?}", std::thread::current().id())).unwrap();
    let checked = run_checked(&program, operations, "cache_dir=:exitcode=0", &folder).unwrap();
    assert_eq!(checked.outcome.status, Some(0), "{}", checked.outcome.stderr);
    checked.report.unwrap()
}

/// The scope of a race, and the line and the launch of each side.
type RacePlaces = (String, Vec<(Option<u32>, u64)>);

/// Returns the places of each race. If a thread reads and then writes one word, a race may name
/// either access.
fn races(report: &Report) -> BTreeSet<RacePlaces> {
    let side = |access: &Access| (access.line, access.launch.unwrap_or_default());
    let of = report.races.iter().map(|race| {
        let mut sides: Vec<_> = race.accesses.iter().map(side).collect();
        sides.sort_unstable();
        (race.scope.clone(), sides)
    });
    of.collect()
}

/// Asserts that the races of a run with proofs are those of a run with every check. A repetition enters a row of bytes
/// one by one, so a word keeps other records of its bytes, and shows other pairs of one race. If `has_bytes`, each side
/// of a race must be a side of one with proofs, and a pair that only that run has must be with a write that a later
/// launch has overwritten.
fn compare(
    pruned: &BTreeSet<RacePlaces>,
    every: &BTreeSet<RacePlaces>,
    has_bytes: bool,
) -> Result<(), String> {
    let sides = |races: &BTreeSet<RacePlaces>| -> BTreeSet<_> {
        races.iter().flat_map(|(_, sides)| sides.clone()).collect()
    };
    let is_of_overwritten = |(scope, pair): &&RacePlaces| {
        [(pair[0], pair[1]), (pair[1], pair[0])].into_iter().any(|(earlier, later)| {
            every.iter().any(|(of, sides)| {
                of == scope && sides.contains(&later) && sides.iter().any(|side| side.1 > earlier.1)
            })
        })
    };
    let equal = match has_bytes {
        false => pruned == every,
        true => {
            sides(every).is_subset(&sides(pruned))
                && pruned.difference(every).all(|race| is_of_overwritten(&race))
        }
    };
    if equal { Ok(()) } else { Err(format!("with proofs {pruned:?}, with every check {every:?}")) }
}

/// Asserts that all ways to prune find the same races. Returns the number of races, and of checks with
/// proofs at launch.
#[track_caller]
fn found(operations: &[&str]) -> (usize, u64) {
    let every = run("off", operations);
    let mut checks = 0;
    for prune in ["compile", "launch"] {
        let pruned = run(prune, operations);
        let has_bytes = operations.iter().any(|operation| operation.starts_with('b'));
        compare(&races(&pruned), &races(&every), has_bytes)
            .unwrap_or_else(|why| panic!("{prune}: {}: {why}", operations.join(" ")));
        assert_eq!(pruned.notes, every.notes, "{prune}: {}", operations.join(" "));
        checks = pruned.stats.checks_executed;
    }
    (every.races.len(), checks)
}

#[test]
fn launches_that_nothing_meets_run_without_checks() {
    for operations in [
        // One stream that does not block; two streams, each in its own half; two streams that both
        // read.
        &["fcaaad", "acaaad", "ccbaad"][..],
        &["fcaaah", "fdaaih"],
        &["ccbaad", "cdcaad"],
        // The order is made by an event, by the host, by the default stream.
        &["fcaaad", "Rcaaaa", "Wdaaaa", "adaaad"],
        &["fcaaad", "Scaaaa", "adaaad"],
        &["fbaaad", "faaaad", "abaaad"],
        // Different bytes of one word; every second word of one array, which is decided exactly.
        &["bcaaab", "fdbaab"],
        // A barrier, and a warp sync, between a write and a read.
        &["tcabad", "pcabad", "tccbad"],
        // Copies before, after, and elsewhere.
        &["Mcaaad", "fcaaad", "Hcaaad", "Ccabad", "Mdcaad"],
        // A stream for a kernel with unknown accesses, with memory of its own.
        &["fcaaad", "acaaad"],
        // Launches add to one number by atomics, and each writes memory of its own.
        &["ncabaa", "ndacaa", "fcbbad"],
        &["xcabaa", "xdacaa"],
    ] {
        assert_eq!(found(operations), (0, 0), "{operations:?}");
    }
}

#[test]
fn what_meets_them_is_found() {
    for operations in [
        &["fcaaad", "fdaaad"][..],
        // The two launches have one element in common.
        &["fcaaab", "fdaabb"],
        // The event is recorded too early; the host waits for another stream.
        &["Rcaaaa", "fcaaad", "Wdaaaa", "adaaad"],
        &["fcaaad", "Sdaaaa", "adaaad"],
        &["fcaaad", "faaaad"],
        // Copies and fills.
        &["fcaaad", "Mdaaad"],
        &["Mdaaad", "fcaaad"],
        &["fcaaad", "Cdbaad"],
        // These are always checked: accesses through an index.
        &["fcaaad", "idaaad"],
        &["idaaad", "fcaaad"],
        // Atomics beside plain accesses, of a narrow scope, or of several sizes.
        &["fcaaad", "ndbaad"],
        &["ncabaa", "Mdaaaa"],
        &["ncabaa", "Cdcaaa"],
        &["mcabaa", "mdacaa"],
        &["ncabaa", "xdacaa"],
        // Two launches in a row, and only the second is met; the first of two that share another
        // place is met.
        &["fcaaad", "fcbaad", "fdbaad"],
        &["ccbaad", "fcbaad", "fdaaad"],
        &["tcabad", "pdabad"],
        &["vcaaad", "vdaaad"],
    ] {
        let (races, checks) = found(operations);
        assert!(races > 0 && checks > 0, "{operations:?}");
    }
}

#[test]
fn what_only_may_meet_them_is_looked_at() {
    // Even and odd elements of one array; different bytes of one word.
    for operations in [&["ecaaad", "odaaad"][..], &["bcaaaa", "bdbaaa"]] {
        assert_eq!(found(operations).0, 0, "{operations:?}");
    }
    assert!(found(&["ecaaad", "odaaad"]).1 > 0);
}

/// Other launches do not reach shared memory. What is proved of it holds beside them.
#[test]
fn shared_memory_is_checked_only_if_it_is_not_proved() {
    let (races, checks) = found(&["scabad", "sdabad"]);
    // Each launch reads 64 elements and adds once.
    assert_eq!((races, checks), (0, 2 * (64 + 1)));
    assert!(found(&["scabad", "fdaaad"]).0 > 0 && found(&["scabad", "fdbaad"]).0 > 0);
    assert!(found(&["ucabad", "udabad"]).0 > 0);
}

#[test]
fn an_equal_launch_takes_the_place_of_the_one_before() {
    // Each launch has 7.7e7 accesses. Two that are both kept would take too long to repeat.
    let checks = |operations: &[&str]| run("launch", operations).stats.checks_executed;
    assert_eq!(checks(&["lcabad", "lcabad", "lcabad"]), 0);
    assert!(checks(&["lcabad", "ldcbad"]) > 0);
}

#[test]
fn memory_that_was_freed_is_no_more_met() {
    // The memory was freed in order and allocated again. Its old accesses do not count.
    assert_eq!(found(&["fcaaad", "Fcaaaa", "Rcaaaa", "Wdaaaa", "fdaaad"]).0, 0);
    // Other memory of the same launch is still met.
    assert!(found(&["ccabad", "Fcbaaa", "fdaaad"]).0 > 0);
}

/// Returns the operations of one program, drawn from a seed.
fn drawn(seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut below = |n: u64| random.below(n);
    let kinds = b"faceotpbwvfacnotpbnvsimxCMHRRWWRWSEDF";
    // Every second program has no `i`, because all launches of a program with it would be checked in full. `s` is
    // rare for the same reason.
    let known = below(2);
    let (buffers, offsets) = (below(3) + 1, [1, 4, 16][below(3) as usize]);
    let letter = |n: u64| char::from(b'a' + n as u8);
    (0..below(15) + 2)
        .map(|_| {
            let kind = match kinds[below(kinds.len() as u64) as usize] {
                b'i' if known == 1 => 'f',
                kind => char::from(kind),
            };
            [
                kind,
                letter(below(4)),
                letter(below(buffers)),
                letter(below(3)),
                letter(below(offsets)),
                letter(below(4)),
            ]
            .iter()
            .collect()
        })
        .collect()
}

/// Draws programs with the seeds 0 to n-1. `GPURACE_STREAMS=n` sets their number.
#[test]
fn random_operations() {
    let number = std::env::var("GPURACE_STREAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut racy, mut less) = (0, 0);
    for seed in 0..number {
        let operations = drawn(seed);
        let operations: Vec<_> = operations.iter().map(String::as_str).collect();
        let (races, checks) = found(&operations);
        racy += usize::from(races > 0);
        less += usize::from(checks < run("off", &operations).stats.checks_executed);
    }
    // Both kinds of programs must be frequent.
    let many = number as usize / 4;
    assert!(racy > many && less > many, "{racy} with races, {less} with fewer checks");
}
