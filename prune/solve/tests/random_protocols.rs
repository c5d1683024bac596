//! Soundness of verdicts on random protocols. The oracle runs all threads of small launches one by one.
//! A site that is proved, or proved under conditions that a launch fulfils, takes part in no race of
//! that launch. The same holds for proofs about all launches that have a random part of their values in
//! common.
//!
//! `GPURACE_SEED` sets the first seed, `GPURACE_CASES` the number of protocols, `GPURACE_QUICK=1`
//! solves each for one launch only, which is ten times as fast.
#[path = "common/changed.rs"]
mod changed;
mod common;
#[path = "common/random.rs"]
mod random;

use std::collections::BTreeMap;

use gpurace_protocol::common::Common;
use gpurace_protocol::condition::{AnyLaunch, ConditionTest};
use gpurace_protocol::expr::Width;
use gpurace_protocol::launch::{Extent, Launch, LaunchShape};
use gpurace_protocol::protocol::*;
use gpurace_protocol::race::races;
use gpurace_protocol::run::Open;
use gpurace_protocol::verdict::{SiteVerdict, Verdict};
use gpurace_random::{Random, number};
use gpurace_solve::{Limits, Options, Outcome, solve, solve_with};

/// A random launch. It has the values that two others have in common, if they are given.
fn random_launch(protocol: &Protocol, r: &mut Random, alike: Option<[&Launch; 2]>) -> Launch {
    let block = match r.below(8) {
        0 => [1, 1, 1],
        1 => [2 + r.below(4) as u32, 1 + r.below(3) as u32, 1],
        2 => [33 + r.below(8) as u32, 1, 1],
        3 => [4, 2, 2],
        _ => [2 + r.below(7) as u32, 1, 1],
    };
    let grid = match r.below(6) {
        0 => [1, 1, 1],
        1 => [2, 2, 1],
        _ => [1 + r.below(3) as u32, 1, 1],
    };
    let scalar = |r: &mut Random| match r.below(10) {
        0 => 0,
        1 => u64::from(u32::MAX),
        2 => 0x7fff_fffe,
        _ => r.below(20),
    };
    let mut launch =
        Launch { shape: LaunchShape { grid, block, ..LaunchShape::default() }, ..Launch::default() };
    for param in &protocol.params {
        let value = if param.pointer { 0x10_0000 + 4 * r.below(40) } else { scalar(r) };
        launch.params.push(param.width.truncate(value));
    }
    if let Some([a, b]) = alike {
        for axis in 0..3 {
            for (own, [a, b]) in [
                (&mut launch.shape.block, [a.shape.block, b.shape.block]),
                (&mut launch.shape.grid, [a.shape.grid, b.shape.grid]),
            ] {
                if a[axis] == b[axis] {
                    own[axis] = a[axis];
                }
            }
        }
        for (i, param) in protocol.params.iter().enumerate().filter(|(_, param)| !param.pointer) {
            if a.params[i] == b.params[i] {
                launch.params[i] = param.width.truncate(a.params[i]);
            }
        }
    }
    // Objects often lie far apart.
    let apart = r.chance(70);
    for object in &protocol.objects {
        let extent = match object.kind {
            ObjectKind::Param(id) => {
                if apart {
                    launch.params[id.0 as usize] = u64::from(id.0 + 1) << 44;
                }
                let base = launch.params[id.0 as usize];
                Some(Extent { base, ..Extent::default() })
            }
            _ => None,
        };
        launch.objects.push(extent);
    }
    let bytes: Vec<u64> = (0..32).map(|_| r.below(5)).collect();
    let pointers: Vec<u64> = (0..8)
        .map(|i| if apart && r.chance(80) { (i + 50) << 44 } else { 0x10_0000 + 4 * r.below(40) })
        .collect();
    let read = |at: u32, width: Width| {
        let given = |param: &&Param| param.pointer && param.offset == at;
        match protocol.params.iter().position(|param| given(&param)) {
            _ if at + 8 > 128 => None,
            Some(param) if width == Width::W64 => Some(launch.params[param]),
            _ if at < 64 => Some(width.truncate(pointers[at as usize / 8].wrapping_add(u64::from(at % 8)))),
            _ => Some(bytes[at as usize / 4]),
        }
    };
    let mut known = launch.clone();
    let behind = |base| Extent { base, ..Extent::default() };
    gpurace_protocol::arguments::read(protocol, &mut known, &read, &behind);
    known
}

struct Tally {
    sites: u64,
    proved: u64,
    conditional: u64,
    held: u64,
    racing: u64,
    launches: u64,
    proved_at_launch: u64,
    racy_at_launch: u64,
    free_at_launch: u64,
    racy: u64,
    in_common: u64,
    conditional_in_common: u64,
    held_in_common: u64,
    racing_in_common: u64,
}

fn show_verdict(protocol: &Protocol, exprs: &gpurace_protocol::expr::Exprs, v: &SiteVerdict) -> String {
    match &v.verdict {
        Verdict::ProvedIf(conditions) => {
            let all: Vec<_> =
                conditions.iter().map(|c| gpurace_protocol::show::condition(protocol, exprs, c)).collect();
            format!("proved if {}", all.join(" and "))
        }
        other => format!("{other:?}"),
    }
}

fn check(seed: u64, protocol: &Protocol, tally: &mut Tally) {
    let options = Options { limits: Limits { query: 400_000, ..common::options().limits }, dump: None };
    let quick = number("GPURACE_QUICK", 0) == 1;
    let outcome = if quick { Outcome::default() } else { solve(protocol, &options) };
    let exprs = &outcome.verdicts.exprs;
    let mut r = Random(seed ^ 0x5eed);
    for v in &outcome.verdicts.sites {
        tally.sites += 1;
        match v.verdict {
            Verdict::Proved => tally.proved += 1,
            Verdict::ProvedIf(_) => tally.conditional += 1,
            Verdict::Racy(_) => tally.racy += 1,
            Verdict::Unknown(_) => {}
        }
    }
    // Two launches have a random part of their values in common, and so have those of the last rounds.
    let first = random_launch(protocol, &mut r, None);
    let mut second = random_launch(protocol, &mut r, None);
    let kept = 20 + 15 * r.below(6);
    for axis in 0..3 {
        for (own, of_first) in
            [(&mut second.shape.block, first.shape.block), (&mut second.shape.grid, first.shape.grid)]
        {
            if r.chance(kept) {
                own[axis] = of_first[axis];
            }
        }
    }
    for (own, of_first) in second.params.iter_mut().zip(&first.params) {
        if r.chance(kept) {
            *own = *of_first;
        }
    }
    let common = Common::of(protocol, &first, &second);
    let special = common.protocol(protocol);
    gpurace_protocol::validate::validate(&special).expect("a protocol");
    let in_common = solve(&special, &options).verdicts;
    for v in &in_common.sites {
        tally.in_common += u64::from(v.verdict == Verdict::Proved);
        tally.conditional_in_common += u64::from(matches!(v.verdict, Verdict::ProvedIf(_)));
    }
    for round in 0..if quick { 2 } else { 9 } {
        let alike = round >= if quick { 1 } else { 5 };
        let launch = random_launch(protocol, &mut r, alike.then_some([&first, &second]));
        assert!(!alike || common.holds(&launch));
        let salt = r.bits();
        let mut choose = |open: &Open| {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            (salt, open).hash(&mut hasher);
            let any = hasher.finish();
            // Mostly small, so that threads meet.
            if any.is_multiple_of(8) { any } else { (any >> 8) % 6 }
        };
        let opaque_base = |object: u32, thread: gpurace_protocol::run::Thread| {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let ObjectKind::Opaque { uniform, .. } = protocol.objects[object as usize].kind else {
                return (true, 0);
            };
            let mut thread = thread;
            if uniform >= Uniform::Block {
                thread.tid = [0; 3];
            }
            if uniform == Uniform::Grid {
                thread.ctaid = [0; 3];
            }
            let mut hasher = DefaultHasher::new();
            (salt, object, thread).hash(&mut hasher);
            let any = hasher.finish();
            (any & 1 == 1, 0x10_0000 + 4 * ((any >> 1) % 40))
        };
        let Ok(found) = races(protocol, &launch, &mut choose, &opaque_base, 3_000) else { continue };
        tally.launches += 1;
        if common.holds(&launch) {
            let any = AnyLaunch::of(&special);
            let test = ConditionTest::new(&special, &in_common.exprs, &launch, Some(&any));
            for v in &in_common.sites {
                let proved = match &v.verdict {
                    Verdict::Proved => true,
                    Verdict::ProvedIf(conditions) => conditions.iter().all(|c| test.holds(c)),
                    Verdict::Racy(_) | Verdict::Unknown(_) => false,
                };
                let races = found.keys().any(|(a, b)| *a == v.site || *b == v.site);
                tally.held_in_common += u64::from(proved);
                tally.racing_in_common += u64::from(races);
                assert!(
                    !(proved && races),
                    "site {} races, but is {} for all launches like {first:?} and {second:?}\n\
                     seed {seed}, launch {round}: {launch:?}\n{protocol:#?}",
                    v.site.0,
                    show_verdict(&special, &in_common.exprs, v),
                );
            }
        }
        if alike {
            continue;
        }
        let at_launch = solve_with(protocol, &launch, &options);
        let mut by_site: BTreeMap<SiteId, (bool, Option<SiteId>)> = BTreeMap::new();
        for (a, b) in found.keys() {
            by_site.insert(*a, (true, Some(*b)));
            by_site.insert(*b, (true, Some(*a)));
        }
        let context = || format!("seed {seed}, launch {round}: {launch:?}\n{protocol:#?}");
        let any = AnyLaunch::of(protocol);
        let test = ConditionTest::new(protocol, exprs, &launch, Some(&any));
        for v in &outcome.verdicts.sites {
            let proved = match &v.verdict {
                Verdict::Proved => true,
                Verdict::ProvedIf(conditions) => conditions.iter().all(|c| test.holds(c)),
                Verdict::Racy(_) | Verdict::Unknown(_) => false,
            };
            tally.held += u64::from(proved);
            if let Some((_, Some(with))) = by_site.get(&v.site) {
                tally.racing += 1;
                assert!(
                    !proved,
                    "site {} races with {}, but is {}\n{}",
                    v.site.0,
                    with.0,
                    show_verdict(protocol, exprs, v),
                    context()
                );
            }
        }
        for v in &at_launch.verdicts.sites {
            let races_here = by_site.contains_key(&v.site);
            match &v.verdict {
                Verdict::Proved | Verdict::ProvedIf(_) => {
                    tally.proved_at_launch += 1;
                    if let Verdict::ProvedIf(conditions) = &v.verdict {
                        panic!("conditions {conditions:?} at a known launch\n{}", context());
                    }
                    assert!(!races_here, "site {} races, but is proved at launch\n{}", v.site.0, context());
                }
                Verdict::Racy(witness) => {
                    tally.racy_at_launch += 1;
                    let sites = (
                        witness.accesses[0].site.min(witness.accesses[1].site),
                        witness.accesses[0].site.max(witness.accesses[1].site),
                    );
                    assert!(
                        found.contains_key(&sites),
                        "a false witness for site {}\n{}",
                        v.site.0,
                        context()
                    );
                }
                Verdict::Unknown(_) => tally.free_at_launch += u64::from(!races_here),
            }
        }
    }
}

fn compare(what: &str, protocol: impl Fn(u64) -> Protocol) {
    let first = number("GPURACE_SEED", 1);
    let cases = number("GPURACE_CASES", 60);
    let mut tally = Tally {
        sites: 0,
        proved: 0,
        conditional: 0,
        held: 0,
        racing: 0,
        launches: 0,
        proved_at_launch: 0,
        racy_at_launch: 0,
        free_at_launch: 0,
        racy: 0,
        in_common: 0,
        conditional_in_common: 0,
        held_in_common: 0,
        racing_in_common: 0,
    };
    for seed in first..first + cases {
        check(seed, &protocol(seed), &mut tally);
    }
    println!(
        "{what}seeds {first} to {}: {} sites, {} proved, {} proved under conditions, {} racy; {} launches, \
         proofs that held {}, racing {}; at launch {} proved, {} racy, {} neither though free of races; \
         with values in common {} proved, {} under conditions, proofs that held {}, racing {}",
        first + cases - 1,
        tally.sites,
        tally.proved,
        tally.conditional,
        tally.racy,
        tally.launches,
        tally.held,
        tally.racing,
        tally.proved_at_launch,
        tally.racy_at_launch,
        tally.free_at_launch,
        tally.in_common,
        tally.conditional_in_common,
        tally.held_in_common,
        tally.racing_in_common,
    );
    // Guards against a test that proves nothing or in which nothing races.
    if cases >= 60 && number("GPURACE_QUICK", 0) == 0 {
        assert!(tally.proved > 0 && tally.conditional > 0 && tally.held > 0);
        assert!(tally.in_common > 0 && tally.conditional_in_common > 0);
        assert!(tally.held_in_common > 0 && tally.racing_in_common > 0);
        assert!(tally.racing > 0 && tally.proved_at_launch > 0 && tally.racy_at_launch > 0);
    }
}

#[test]
fn no_proved_access_races() {
    compare("", random::protocol);
}

/// Tiles and other sets of lanes wait for each other.
#[test]
fn no_proved_access_races_beside_syncs_of_some_lanes() {
    compare("syncs of some lanes: ", random::protocol_with_lane_syncs);
}

/// Structs of the arguments hold arrays of pointers and numbers.
#[test]
fn no_proved_access_races_through_pointers_in_arguments() {
    compare("pointers in arguments: ", |seed| {
        let protocol = changed::with_computed_arguments(random::protocol(seed), seed);
        gpurace_protocol::validate::validate(&protocol).expect("a protocol");
        protocol
    });
}

/// Statements use the values that loops leave. As in the pass, loops over constants alone are run.
#[test]
fn no_proved_access_races_after_loops() {
    compare("after loops: ", |seed| {
        let protocol = changed::with_last_values(random::protocol(seed), seed);
        gpurace_protocol::last::settle(&protocol, None).unwrap_or(protocol)
    });
}

/// Threads end before barriers of others.
#[test]
fn no_proved_access_races_beside_exits() {
    compare("exits: ", |seed| changed::with_exits(random::protocol(seed), seed));
}
