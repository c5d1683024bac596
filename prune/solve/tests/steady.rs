//! Values loaded from memory that the kernel does not change, beside neighbours in which the values may
//! differ.
mod common;

use common::*;
use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;
use gpurace_solve::Outcome;

/// The place that the number of iterations is loaded from, and who writes to it.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    OneForTheBlock,
    OneForEachThread,
    WrittenBefore,
    WrittenThroughAnotherPointer,
    LoadedTwice,
    UnseenCall,
    NotThatSite,
}

/// A loop that fills and reads a tile, with barriers. Its number of iterations is loaded from `rows`.
fn rounds(case: Case) -> Protocol {
    let mut k = Kernel::new("rounds");
    let (rows, other, out) = (k.pointer("rows"), k.pointer("other"), k.pointer("out"));
    let tile = k.shared("tile", 4 * 64);
    let (t, b, i) = (k.tid(), k.bid(), k.gid());
    let at = if case == Case::OneForEachThread { i } else { b };
    match case {
        Case::WrittenBefore => {
            k.write(rows, i);
        }
        Case::WrittenThroughAnotherPointer => {
            k.write(other, i);
        }
        Case::UnseenCall => k.stmt(Stmt::Unknown(Unknown {
            why: "a call".into(),
            touches: Some(Space::Global),
            syncs: false,
        })),
        _ => {}
    }
    let site = k.read(rows, at);
    let repeated = (case == Case::LoadedTwice).then(|| k.read(rows, i));
    let n = k.opaque("a value loaded from `rows`", Width::W32, Uniform::Thread, &[]);
    k.p.opaques[0].loaded_by = (case != Case::NotThatSite).then_some(site);
    let (zero, one) = (k.c(0), k.c(1));
    k.looped(
        zero,
        Step::Add(one),
        |k, v| k.lt(v, n),
        |k, _| {
            k.write(tile, t);
            k.sync();
            let across = k.binc(BinOp::Xor, t, 1);
            k.read(tile, across);
            k.sync();
        },
    );
    k.write(out, i);
    let mut p = k.done();
    if let Some(repeated) = repeated {
        set_site(&mut p.body, repeated, site);
    }
    p
}

/// Gives the last access the site of another.
fn set_site(body: &mut [Stmt], from: SiteId, to: SiteId) {
    for stmt in body {
        if let Stmt::Access(access) = stmt
            && access.site == from
        {
            access.site = to;
        }
    }
}

fn tile_is_proved(p: &Protocol, outcome: &Outcome) -> bool {
    let tile = p.objects.iter().position(|object| object.name == "tile").expect("there is one");
    let places = gpurace_protocol::place::Place::all(p);
    places.iter().filter(|place| place.access.object.0 as usize == tile).all(|place| {
        let site = outcome.verdicts.sites.iter().find(|site| site.site == place.access.site);
        matches!(site.map(|site| &site.verdict), Some(Verdict::Proved | Verdict::ProvedIf(_)))
    })
}

#[test]
fn rounds_that_all_threads_of_a_block_load_alike() {
    let p = rounds(Case::OneForTheBlock);
    let outcome = prove(&p);
    assert!(tile_is_proved(&p, &outcome), "{:?}", outcome.verdicts.sites);
    // The proof needs that the output is another array.
    let rests = outcome.verdicts.sites.iter().any(|site| match &site.verdict {
        Verdict::ProvedIf(conditions) => conditions.iter().any(|c| matches!(c, Condition::Disjoint(..))),
        _ => false,
    });
    assert!(rests, "{:?}", outcome.verdicts.sites);
    let known = launch([2, 1, 1], [64, 1, 1], &p, &[]);
    assert!(tile_is_proved(&p, &prove_with(&p, &known)));
}

#[test]
fn rounds_that_threads_may_load_differently() {
    for case in
        [Case::OneForEachThread, Case::WrittenBefore, Case::LoadedTwice, Case::UnseenCall, Case::NotThatSite]
    {
        let p = rounds(case);
        assert!(!tile_is_proved(&p, &prove(&p)), "case {}", case as u8);
        let known = launch([2, 1, 1], [64, 1, 1], &p, &[]);
        assert!(!tile_is_proved(&p, &prove_with(&p, &known)), "case {} at launch", case as u8);
    }
}

#[test]
fn written_through_a_pointer_that_may_be_the_same() {
    let p = rounds(Case::WrittenThroughAnotherPointer);
    let apart = launch([2, 1, 1], [64, 1, 1], &p, &[]);
    assert!(tile_is_proved(&p, &prove_with(&p, &apart)));
    let mut same = apart.clone();
    same.objects[1] = same.objects[0];
    same.params[1] = same.params[0];
    assert!(!tile_is_proved(&p, &prove_with(&p, &same)));
    // The proof for all launches has a condition that does not hold for this one.
    let outcome = prove(&p);
    for site in &outcome.verdicts.sites {
        if let Verdict::ProvedIf(conditions) = &site.verdict {
            let of_tile = conditions.iter().any(|c| !c.holds(&p, &outcome.verdicts.exprs, &same));
            assert!(of_tile, "{site:?}");
        }
    }
}
