//! Kernels that are broken on purpose. No access to the broken object may ever be proved: neither for
//! all launches, nor for the launch that breaks the kernel. There the oracle finds the race.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

/// A broken kernel and a launch that shows it.
struct Broken {
    p: Protocol,
    at: Launch,
}

fn broken(
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    scalars: &[u64],
    write: impl FnOnce(&mut Kernel),
) -> Broken {
    let mut k = Kernel::new(name);
    write(&mut k);
    let p = k.done();
    let at = launch(grid, block, &p, scalars);
    Broken { p, at }
}

const ONE: [u32; 3] = [1, 1, 1];
const ROW: [u32; 3] = [64, 1, 1];

fn all() -> Vec<Broken> {
    vec![
        broken("no barrier before the neighbour is read", ONE, ROW, &[], |k| {
            let s = k.shared("s", 4096);
            let t = k.tid();
            let next = k.addc(t, 1);
            k.write(s, t);
            k.read(s, next);
        }),
        broken("no barrier at the loop's back edge", ONE, ROW, &[4], |k| {
            let (s, n, t, next) = k.neighbours();
            k.range(0, n, |k, _| {
                k.write(s, t);
                k.sync();
                k.read(s, next);
            });
        }),
        broken("the barrier stands in a loop that may not run", ONE, ROW, &[0], |k| {
            let (s, n, t, next) = k.neighbours();
            k.write(s, t);
            k.range(0, n, |k, _| k.sync());
            k.read(s, next);
        }),
        broken("the barrier stands under a condition", ONE, ROW, &[0], |k| {
            let (s, n, t, next) = k.neighbours();
            let some = k.c(0);
            let cond = k.lt(some, n);
            k.write(s, t);
            k.when(cond, |k| k.sync());
            k.read(s, next);
        }),
        broken("half of the threads come to another barrier", ONE, ROW, &[], |k| {
            let s = k.shared("s", 4096);
            let t = k.tid();
            let (low, zero) = (k.ltc(t, 32), k.c(0));
            k.when_else(
                low,
                |k| {
                    k.sync();
                    k.write(s, zero);
                    k.sync();
                },
                |k| {
                    k.sync();
                    k.read(s, zero);
                    k.sync();
                },
            );
        }),
        broken("warps taken to run in step", ONE, ROW, &[], |k| {
            let s = k.shared("s", 4096);
            let t = k.tid();
            let first_warp = k.ltc(t, 32);
            k.when(first_warp, |k| {
                let other = k.addc(t, 16);
                k.read(s, other);
                k.write(s, t);
            });
        }),
        broken("a warp's barrier between warps", ONE, ROW, &[], |k| {
            let s = k.shared("s", 4096);
            let t = k.tid();
            let other = k.binc(BinOp::Xor, t, 32);
            k.write(s, t);
            k.warp_sync();
            k.read(s, other);
        }),
        broken("a block's barrier between blocks", [2, 1, 1], ROW, &[], |k| {
            let x = k.pointer("x");
            let i = k.gid();
            let back = k.addc(i, -1);
            k.write(x, i);
            k.sync();
            k.read(x, back);
        }),
        broken("a column too many", [2, 1, 1], [8, 2, 1], &[15], |k| {
            let (x, w) = (k.pointer("x"), k.scalar("w"));
            let (col, row) = (k.gid(), k.gidy());
            let inside = k.le(col, w);
            k.when(inside, |k| {
                let start = k.mul(row, w);
                let i = k.add(start, col);
                k.write(x, i)
            });
        }),
        broken("bytes of neighbours overlap", ONE, ROW, &[], |k| {
            let s = k.shared("s", 4096);
            let t = k.tid();
            let offset = k.p.exprs.zext(Width::W64, t);
            k.access_bytes(Op::Write, s, offset, 2);
        }),
        broken("every thread, one element", ONE, ROW, &[], |k| {
            let (s, t) = (k.shared("s", 4), k.tid());
            let half = k.binc(BinOp::UDiv, t, 64);
            k.write(s, half);
        }),
        broken("two threads are first", ONE, ROW, &[], |k| {
            let (s, t) = (k.shared("s", 4), k.tid());
            let first = k.ltc(t, 2);
            let zero = k.c(0);
            k.when(first, |k| k.write(s, zero));
        }),
        broken("halving without the guard", ONE, ROW, &[], |k| {
            let (s, t) = (k.shared("s", 4096), k.tid());
            let size = k.bdim();
            let half = k.binc(BinOp::LShr, size, 1);
            k.halved(half, |k, v| {
                let other = k.add(t, v);
                k.read(s, other);
                k.write(s, t);
                k.sync();
            });
        }),
        broken("an atomic of one block's scope", [2, 1, 1], ROW, &[], |k| {
            let x = k.pointer("x");
            let t = k.tid();
            let bin = k.binc(BinOp::And, t, 7);
            k.access(Op::Atomic { scope: Scope::Block, writes: true }, x, bin, 4);
        }),
        broken("an atomic and a plain read", ONE, ROW, &[], |k| {
            let x = k.pointer("x");
            let t = k.tid();
            let bin = k.binc(BinOp::And, t, 7);
            k.atomic(x, bin);
            k.read(x, bin);
        }),
        broken("a value wraps on its way to the index", ONE, [300, 1, 1], &[], |k| {
            let s = k.shared("s", 4096);
            let t = k.tid();
            let cut = k.p.exprs.trunc(Width::W8, t);
            let wide = k.p.exprs.zext(Width::W64, cut);
            k.access_bytes(Op::Write, s, wide, 1);
        }),
        broken("a grid-stride loop that strides by blocks", [3, 1, 1], [8, 1, 1], &[64], |k| {
            let (x, n) = (k.pointer("x"), k.scalar("n"));
            let (i, step) = (k.gid(), k.bdim());
            k.looped(i, Step::Add(step), |k, v| k.lt(v, n), |k, v| k.write(x, v));
        }),
        broken("the first iteration meets what precedes the loop", ONE, ROW, &[3], |k| {
            let (s, n, t, next) = k.neighbours();
            k.write(s, next);
            k.range(0, n, |k, _| {
                k.read(s, t);
                k.sync();
            });
        }),
        broken("the last iteration meets what follows the loop", ONE, ROW, &[3], |k| {
            let (s, n, t, next) = k.neighbours();
            k.range(0, n, |k, _| {
                k.sync();
                k.read(s, t);
            });
            k.write(s, next);
        }),
        broken("a buffer turned too late", ONE, ROW, &[4], |k| {
            let (s, n) = (k.shared("s", 8192), k.scalar("n"));
            let t = k.tid();
            k.range(0, n, |k, v| {
                let half = k.binc(BinOp::LShr, v, 1);
                let half = k.binc(BinOp::And, half, 1);
                let there = k.mulc(half, 1024);
                let own = k.add(there, t);
                k.write(s, own);
                k.sync();
                let other = k.addc(own, 1);
                k.read(s, other);
            });
        }),
    ]
}

#[test]
fn nothing_is_proved() {
    for Broken { p, at } in all() {
        let racing = racing(&p, &at, 0);
        assert!(!racing.is_empty(), "{}: the oracle finds no race", p.kernel);
        let outcome = prove(&p);
        for s in outcome.verdicts.sites.iter().filter(|s| racing.contains(&s.site)) {
            match &s.verdict {
                Verdict::Proved => panic!("{}: site {} is proved", p.kernel, s.site.0),
                // The conditions may hold in other launches, never in this one.
                Verdict::ProvedIf(all) => {
                    let holds = |c: &gpurace_protocol::condition::Condition| {
                        c.holds(&p, &outcome.verdicts.exprs, &at)
                    };
                    assert!(!all.iter().all(holds), "{}: site {}", p.kernel, s.site.0);
                }
                Verdict::Racy(_) | Verdict::Unknown(_) => {}
            }
        }
        let here = prove_with(&p, &at);
        for s in here.verdicts.sites.iter().filter(|s| racing.contains(&s.site)) {
            // If threads reach different barriers, the solver claims no witness.
            let divergent = p.kernel.contains("another barrier");
            let found = match s.verdict {
                Verdict::Racy(_) => true,
                Verdict::Unknown(_) => divergent,
                Verdict::Proved | Verdict::ProvedIf(_) => false,
            };
            assert!(found, "{}: site {} is {:?} at launch", p.kernel, s.site.0, s.verdict);
        }
    }
}
