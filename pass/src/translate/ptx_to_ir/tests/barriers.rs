//! Synchronisation: which entry points are called, and with what.

use super::harness::*;

/// Runs an asm without results and gives the calls that it makes.
fn run(template: &str) -> Vec<String> {
    let code = code(&[(template, "", "void", &[])]);
    calls();
    // SAFETY: a function without parameters.
    unsafe { code.get::<extern "C" fn()>(template)() };
    calls()
}

#[test]
fn barriers_and_fences() {
    assert_eq!(run("bar.sync 0;"), ["barrier(0, 0)"]);
    assert_eq!(run("bar.sync 1, 64;"), ["barrier(1, 64)"]);
    assert_eq!(run("barrier.cta.sync.aligned 3, 96;"), ["barrier(3, 96)"]);
    assert_eq!(run("bar.arrive 2, 128;"), ["arrive(2, 128)"]);
    assert_eq!(run("bar.warp.sync 0xff;"), ["syncwarp(0xff)"]);
    assert_eq!(run("barrier.cluster.arrive;"), ["cluster_arrive(2)"]);
    assert_eq!(
        run("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait;"),
        ["cluster_arrive(0)", "cluster_wait"]
    );
    assert_eq!(run("fence.acq_rel.gpu;"), ["fence(2, 3)"]);
    assert_eq!(run("fence.sc.cta;"), ["fence(0, 4)"]);
    assert_eq!(run("membar.gl;"), ["fence(2, 4)"]);
    assert_eq!(run("membar.sys; exit;"), ["fence(3, 4)", "exit"]);
    assert_eq!(run("nanosleep.u32 50; trap;"), ["nanosleep(50)", "trap"]);
}

#[test]
fn addresses_in_other_blocks() {
    let text = "mapa.u64 $0, $1, $2;";
    let code = code(&[(text, "=l,l,r", "i64", &["i64", "i32"])]);
    // SAFETY: a function of these two words.
    let f: extern "C" fn(u64, u32) -> u64 = unsafe { code.get(text) };
    calls();
    // The harness maps an address to one that is a page farther off for each rank.
    assert_eq!(f(0x7f00_0000_1000, 2), 0x7f00_0000_3000);
    assert_eq!(calls(), ["mapa(2)"]);
}

#[test]
fn a_guard_that_does_not_hold_keeps_a_barrier_from_running() {
    let text = "{ .reg .pred p; setp.eq.u32 p, $0, 0; @p bar.sync 1; @!p bar.sync 2; }";
    let code = code(&[(text, "r", "void", &["i32"])]);
    // SAFETY: a function of one word.
    let f: extern "C" fn(u32) = unsafe { code.get(text) };
    calls();
    f(0);
    f(1);
    assert_eq!(calls(), ["barrier(1, 0)", "barrier(2, 0)"]);
}

#[test]
fn collectives_pass_their_operands_on() {
    let word = |template: &str| -> u32 {
        let code = code(&[(template, "=r", "i32", &[])]);
        // SAFETY: a function without parameters.
        unsafe { code.get::<extern "C" fn() -> u32>(template)() }
    };
    calls();
    assert_eq!(word("shfl.sync.up.b32 $0, 41, 2, 0, 0xffffffff;"), 42);
    assert_eq!(
        word("{ .reg .pred p; .reg .u32 r; shfl.sync.bfly.b32 r|p, 5, 1, 31, 3; selp.u32 $0, r, 0, p; }"),
        6
    );
    assert_eq!(word("{ .reg .pred p; shfl.sync.down.b32 _|p, 4, 1, 31, 3; selp.u32 $0, 1, 0, p; }"), 0);
    assert_eq!(word("shfl.idx.b32 $0, 7, 3, 31;"), 8);
    assert_eq!(
        calls(),
        [
            "shfl(1, 0xffffffff, 41, 2, 0)",
            "shfl(3, 0x3, 5, 1, 31)",
            "shfl(2, 0x3, 4, 1, 31)",
            "shfl(0, 0xff, 7, 3, 31)"
        ]
    );
    assert_eq!(word("{ .reg .pred p; setp.ne.u32 p, 1, 0; vote.sync.ballot.b32 $0, !p, 0xf0; }"), 0xf0);
    assert_eq!(
        word("{ .reg .pred p, q; setp.ne.u32 p, 1, 0; vote.sync.any.pred q, p, 0x3; selp.u32 $0, 9, 8, q; }"),
        9
    );
    assert_eq!(word("match.any.sync.b32 $0, 77, 0xff;"), 15);
    assert_eq!(word("redux.sync.max.s32 $0, 10, 0xff;"), 11);
    assert_eq!(word("redux.sync.min.u32 $0, 20, 0xff;"), 21);
    assert_eq!(
        calls(),
        [
            "vote(3, 0xf0, 0)",
            "vote(1, 0x3, 1)",
            "match(0, 0xff, 77, 32)",
            "redux(4, 0xff, 10)",
            "redux(1, 0xff, 20)"
        ]
    );
    assert_eq!(word("activemask.b32 $0;"), 0xff);
    assert_eq!(word("{ .reg .pred p; setp.ne.u32 p, 1, 0; bar.red.popc.u32 $0, 0, 64, p; }"), 7);
    assert_eq!(word("{ .reg .pred p; elect.sync $0|p, 0xe0; @p mov.u32 $0, 99; }"), 99);
    assert_eq!(word("{ .reg .pred p; elect.sync $0|p, 0xf0; @p mov.u32 $0, 99; }"), 4);
    assert_eq!(calls(), ["red(0, 64, 0, 1)", "vote(3, 0xe0, 1)", "vote(3, 0xf0, 1)"]);
}
