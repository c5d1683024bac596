//! Random kernels in which threads read from shared memory whether they go on, and which of them writes, beside random
//! executions: no access that is proved takes part in a race.
//!
//! `GPURACE_CASES` sets the number of kernels.
mod common;

use std::collections::HashMap;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::{SiteVerdict, Verdict};
use gpurace_random::Random;

/// Who writes a flag.
#[derive(Clone, Copy, Debug)]
enum Who {
    First,
    All,
    /// The threads that have read 1.
    Hearers,
}

/// One step of a random kernel. Accesses are numbered by their sites.
#[derive(Clone, Debug)]
enum Act {
    Tell {
        flag: usize,
        who: Who,
    },
    Hear {
        flag: usize,
        own: bool,
    },
    Touch {
        other: i64,
        write: bool,
    },
    /// `if (heard == threadIdx.x) out = ...;`
    WriteIfElected,
    Sync,
    /// `do { ... } while (heard);`
    Rounds(Vec<Act>),
    /// `if (heard) { ... }`
    If(Vec<Act>),
}

fn random_acts(r: &mut Random, depth: u32, heard: &mut bool) -> Vec<Act> {
    let mut acts = Vec::new();
    for _ in 0..3 + r.below(3u32) {
        match r.below(10u32) {
            0 | 1 => {
                let flag = r.below(2usize);
                let who = r.pick(&[Who::First, Who::First, Who::First, Who::All]);
                acts.push(Act::Tell { flag, who: if *heard && r.chance(15) { Who::Hearers } else { who } });
                if r.chance(85) {
                    acts.push(Act::Sync);
                }
                acts.push(Act::Hear { flag, own: r.chance(5) });
                *heard = true;
                if r.chance(60) {
                    acts.push(Act::Sync);
                }
            }
            2 if depth < 2 => {
                let mut within = *heard;
                let body = random_acts(r, depth + 1, &mut within);
                if within {
                    acts.push(Act::Rounds(body));
                    *heard = true;
                }
            }
            3 | 4 if depth < 2 && *heard => acts.push(Act::If(random_acts(r, depth + 1, &mut true))),
            5 | 6 => acts.push(Act::Sync),
            7 if *heard => acts.push(Act::WriteIfElected),
            _ => acts.push(Act::Touch { other: r.pick(&[0, 0, 1, 2]), write: r.chance(50) }),
        }
    }
    acts
}

/// What the protocol of a random kernel names.
struct Names {
    flags: [ObjectId; 2],
    tile: ObjectId,
    out: ObjectId,
    loops: Vec<LoopId>,
    /// The value that was read last in the text.
    heard: Option<E>,
}

fn describe(k: &mut Kernel, acts: &[Act], names: &mut Names) {
    for act in acts {
        let (t, zero) = (k.tid(), k.c(0));
        match act {
            Act::Tell { flag, who } => {
                let flag = names.flags[*flag];
                let first = k.eqc(t, 0);
                match (who, names.heard) {
                    (Who::All, _) => {
                        k.write(flag, zero);
                    }
                    (Who::Hearers, Some(heard)) => {
                        let heard = k.eqc(heard, 1);
                        k.when(heard, |k| k.write(flag, zero));
                    }
                    _ => {
                        k.when(first, |k| k.write(flag, zero));
                    }
                }
            }
            Act::Hear { flag, own } => {
                let value = k.opaque("a value loaded from a flag", Width::W32, Uniform::Thread, &names.loops);
                let site = k.read(names.flags[*flag], if *own { t } else { zero });
                k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
                names.heard = Some(value);
            }
            Act::Touch { other, write } => {
                let at = k.binc(BinOp::Xor, t, *other);
                k.access(if *write { Op::Write } else { Op::Read }, names.tile, at, 4);
            }
            Act::WriteIfElected => {
                let elected = k.eq(names.heard.expect("something is read before"), t);
                k.when(elected, |k| k.write(names.out, zero));
            }
            Act::Sync => k.sync(),
            Act::Rounds(body) => {
                let id = k.next_loop();
                k.skip_loop();
                names.loops.push(id);
                k.open();
                describe(k, body, names);
                let body = k.close();
                names.loops.pop();
                let heard = names.heard.expect("something is read before or in the loop");
                let cond = k.eqc(heard, 1);
                let test = Test::After;
                k.stmt(Stmt::Loop(Loop { id, vars: Vec::new(), cond, test, breaks: None, body }));
                // After the loop, the value is that of the last round.
                let last = k.opaque("the last value", Width::W32, Uniform::Thread, &names.loops);
                names.heard = Some(last);
            }
            Act::If(body) => {
                let heard = names.heard.expect("something is read before");
                let cond = k.eqc(heard, 1);
                k.when(cond, |k| {
                    describe(k, body, names);
                });
                let after = k.opaque("one of two values", Width::W32, Uniform::Thread, &names.loops);
                names.heard = Some(after);
            }
        }
    }
}

/// One instruction. Accesses have the number of their site.
#[derive(Clone, Debug)]
enum Code {
    Tell { flag: usize, who: Who, site: u32 },
    Hear { flag: usize, own: bool, site: u32 },
    Touch { other: i64, write: bool, site: u32 },
    WriteIfElected { site: u32 },
    Sync,
    BackIfHeard(usize),
    SkipUnlessHeard(usize),
}

fn compile(acts: &[Act], code: &mut Vec<Code>, site: &mut u32) {
    for act in acts {
        let this = *site;
        *site += u32::from(!matches!(act, Act::Sync | Act::Rounds(_) | Act::If(_)));
        match act {
            Act::Tell { flag, who } => code.push(Code::Tell { flag: *flag, who: *who, site: this }),
            Act::Hear { flag, own } => code.push(Code::Hear { flag: *flag, own: *own, site: this }),
            Act::Touch { other, write } => {
                code.push(Code::Touch { other: *other, write: *write, site: this })
            }
            Act::WriteIfElected => code.push(Code::WriteIfElected { site: this }),
            Act::Sync => code.push(Code::Sync),
            Act::Rounds(body) => {
                let start = code.len();
                compile(body, code, site);
                code.push(Code::BackIfHeard(start));
            }
            Act::If(body) => {
                let branch = code.len();
                code.push(Code::Sync);
                compile(body, code, site);
                code[branch] = Code::SkipUnlessHeard(code.len());
            }
        }
    }
}

/// An access of a random execution.
struct Made {
    by: usize,
    site: u32,
    writes: bool,
    /// The barriers that the thread has passed.
    passed: usize,
}

struct Thread {
    at: usize,
    passed: usize,
    heard: bool,
}

/// Runs one block's threads in a random order. Returns the sites of races. `None` if the threads do not end.
fn racing_sites(code: &[Code], threads: usize, r: &mut Random) -> Option<Vec<u32>> {
    let mut all: Vec<Thread> = (0..threads).map(|_| Thread { at: 0, passed: 0, heard: false }).collect();
    let mut flags: HashMap<(usize, usize), bool> = HashMap::new();
    let mut made: HashMap<(usize, usize), Vec<Made>> = HashMap::new();
    let mut fuel = 2_000;
    let ended = |thread: &Thread| thread.at >= code.len();
    let waits = |thread: &Thread| matches!(code.get(thread.at), Some(Code::Sync));
    while !all.iter().all(ended) {
        fuel -= 1;
        if fuel == 0 {
            return None;
        }
        if all.iter().all(|thread| waits(thread) || ended(thread)) {
            for thread in all.iter_mut().filter(|thread| waits(thread)) {
                thread.at += 1;
                thread.passed += 1;
            }
            continue;
        }
        let ready: Vec<usize> = (0..threads).filter(|&i| !ended(&all[i]) && !waits(&all[i])).collect();
        let by = r.pick(&ready);
        let thread = &mut all[by];
        let mut access = |array: usize, at: usize, site: u32, writes: bool, passed: usize| {
            made.entry((array, at)).or_default().push(Made { by, site, writes, passed });
        };
        thread.at += 1;
        match code[thread.at - 1] {
            Code::Tell { flag, who, site } => {
                let tells = match who {
                    Who::First => by == 0,
                    Who::All => true,
                    Who::Hearers => thread.heard,
                };
                if tells {
                    flags.insert((flag, 0), r.chance(40));
                    access(flag, 0, site, true, thread.passed);
                }
            }
            Code::Hear { flag, own, site } => {
                let at = if own { by } else { 0 };
                // Flags of other threads have a value that nobody writes.
                thread.heard = flags.get(&(flag, at)).copied().unwrap_or(at % 2 == 1);
                access(flag, at, site, false, thread.passed);
            }
            Code::Touch { other, write, site } => {
                access(2, by ^ other as usize, site, write, thread.passed);
            }
            Code::WriteIfElected { site } => {
                if usize::from(thread.heard) == by {
                    access(3, 0, site, true, thread.passed);
                }
            }
            Code::BackIfHeard(start) => {
                if thread.heard {
                    thread.at = start;
                }
            }
            Code::SkipUnlessHeard(end) => {
                if !thread.heard {
                    thread.at = end;
                }
            }
            Code::Sync => unreachable!("barriers are passed together"),
        }
    }
    let mut racing = Vec::new();
    for accesses in made.values() {
        for (n, x) in accesses.iter().enumerate() {
            for y in &accesses[..n] {
                // Both threads passed a barrier that came after the one access and before the other.
                let (early, late) = if x.passed < y.passed { (x, y) } else { (y, x) };
                let ordered = early.passed < late.passed && all[early.by].passed > early.passed;
                if x.by != y.by && (x.writes || y.writes) && !ordered {
                    racing.extend([x.site, y.site]);
                }
            }
        }
    }
    Some(racing)
}

#[test]
fn random_kernels_beside_random_executions() {
    let cases = gpurace_random::number("GPURACE_CASES", 200);
    let (mut by_what_is_read, mut races) = (0, 0);
    for seed in 0..cases {
        let mut r = Random(seed);
        let mut heard = false;
        let acts = random_acts(&mut r, 0, &mut heard);
        if !heard {
            continue;
        }
        let mut k = Kernel::new("random");
        let (flags, tile) = ([k.shared("f", 4096), k.shared("g", 4096)], k.shared("tile", 4096));
        let out = k.shared("out", 4);
        describe(&mut k, &acts, &mut Names { flags, tile, out, loops: Vec::new(), heard: None });
        let p = k.done();
        let threads = 4;
        let known = launch([1, 1, 1], [threads as u32, 1, 1], &p, &[]);
        let proved = |p: &Protocol| {
            let of = |site: &SiteVerdict| matches!(site.verdict, Verdict::Proved).then_some(site.site.0);
            prove_with(p, &known).verdicts.sites.iter().filter_map(of).collect::<Vec<u32>>()
        };
        let mut unread = p.clone();
        unread.opaques.iter_mut().for_each(|opaque| opaque.loaded_by = None);
        let without = proved(&unread).len();
        let proved = proved(&p);
        by_what_is_read += proved.len().saturating_sub(without);
        let mut code = Vec::new();
        compile(&acts, &mut code, &mut 0);
        for _ in 0..30 {
            let racing = racing_sites(&code, threads, &mut r).unwrap_or_default();
            races += racing.len();
            for site in racing {
                assert!(!proved.contains(&site), "seed {seed}: site {site} of {acts:#?}");
            }
        }
    }
    assert!(by_what_is_read > 50 && races > 1_000, "{by_what_is_read} proved, {races} races");
}
