//! Random executions of random steps, and their races.

use std::collections::HashMap;

use gpurace_random::Random;

use crate::acts::Act;

/// One instruction. Accesses have the numbers of their sites.
#[derive(Clone, Debug)]
pub enum Code {
    Access {
        act: Act,
        site: u32,
    },
    Sync,
    /// Sets the count of this loop to 0.
    Enter(usize),
    /// Leaves the loop after so many iterations.
    Turn {
        count: usize,
        most: i64,
        end: usize,
    },
    Go(usize),
    GoIfBelow {
        value: usize,
        bound: i64,
        to: usize,
    },
    GoUnlessBelow {
        value: usize,
        bound: i64,
        to: usize,
    },
}

/// Adds the instructions of steps. `site` is the number of the next access.
pub fn compile(acts: &[Act], code: &mut Vec<Code>, site: &mut u32) {
    for act in acts {
        match act {
            Act::Reset { .. }
            | Act::Take { .. }
            | Act::Count { .. }
            | Act::Tell { .. }
            | Act::Hear { .. }
            | Act::Fill { .. }
            | Act::Put { .. }
            | Act::Use { .. } => {
                code.push(Code::Access { act: act.clone(), site: *site });
                *site += 1;
            }
            Act::Sync => code.push(Code::Sync),
            Act::Rounds { body, value, bound } => {
                let to = code.len();
                compile(body, code, site);
                code.push(Code::GoIfBelow { value: *value, bound: *bound, to });
            }
            Act::Breaks { body, rest, value, bound, most } => {
                let count = code.len();
                code.push(Code::Enter(count));
                let turn = code.len();
                code.push(Code::Sync);
                compile(body, code, site);
                let branch = code.len();
                code.push(Code::Sync);
                compile(rest, code, site);
                code.push(Code::Go(turn));
                let end = code.len();
                code[turn] = Code::Turn { count, most: *most, end };
                code[branch] = Code::GoUnlessBelow { value: *value, bound: *bound, to: end };
            }
            Act::If { body, value, bound } => {
                let branch = code.len();
                code.push(Code::Sync);
                compile(body, code, site);
                code[branch] = Code::GoUnlessBelow { value: *value, bound: *bound, to: code.len() };
            }
        }
    }
}

/// An access of a random execution.
struct Made {
    by: usize,
    site: u32,
    is_atomic: bool,
    writes: bool,
    /// The barriers that the thread has passed.
    passed: usize,
}

#[derive(Default)]
struct Thread {
    at: usize,
    passed: usize,
    values: HashMap<usize, i64>,
    counts: HashMap<usize, i64>,
}

/// Runs the threads in a random order. Returns the sites of races. `None` if they do not end. Each block has words of
/// its own, and counter 0 if `of_block` says so.
pub fn racing_sites(
    code: &[Code],
    [blocks, threads]: [usize; 2],
    of_block: bool,
    r: &mut Random,
) -> Option<Vec<u32>> {
    let mut all: Vec<Thread> = (0..blocks * threads).map(|_| Thread::default()).collect();
    let mut memory: HashMap<(usize, usize, i64), i64> = HashMap::new();
    let mut made: HashMap<(usize, usize, i64), Vec<Made>> = HashMap::new();
    let start = i64::from(r.below(3u32));
    let ended = |thread: &Thread| thread.at >= code.len();
    let waits = |thread: &Thread| matches!(code.get(thread.at), Some(Code::Sync));
    for _ in 0..20_000 {
        if all.iter().all(ended) {
            return Some(races(&made, &all, threads));
        }
        let block = r.below(blocks) * threads;
        let own_block = &mut all[block..block + threads];
        if own_block.iter().all(|thread| waits(thread) || ended(thread)) {
            for thread in own_block.iter_mut().filter(|thread| waits(thread)) {
                thread.at += 1;
                thread.passed += 1;
            }
            continue;
        }
        let ready: Vec<usize> =
            (0..threads).filter(|&i| !ended(&own_block[i]) && !waits(&own_block[i])).collect();
        let own = r.pick(&ready);
        let by = block + own;
        let thread = &mut all[by];
        thread.at += 1;
        let passed = thread.passed;
        match &code[thread.at - 1] {
            Code::Sync => unreachable!("barriers are passed together"),
            Code::Enter(count) => {
                thread.counts.insert(*count, 0);
            }
            Code::Turn { count, most, end } => {
                let count = thread.counts.entry(*count).or_default();
                if *count >= *most {
                    thread.at = *end;
                }
                *count += 1;
            }
            Code::Go(to) => thread.at = *to,
            Code::GoIfBelow { value, bound, to } => {
                if thread.values[value] < *bound {
                    thread.at = *to;
                }
            }
            Code::GoUnlessBelow { value, bound, to } => {
                if thread.values[value] >= *bound {
                    thread.at = *to;
                }
            }
            Code::Access { act, site } => {
                let of = |which: usize| if which == 0 && of_block { block } else { usize::MAX };
                let mut touch = |cell: (usize, usize, i64), is_atomic: bool, writes: bool| {
                    made.entry(cell).or_default().push(Made { by, site: *site, is_atomic, writes, passed });
                };
                match *act {
                    Act::Reset { who, counter } if who.has(own) => {
                        let cell = (counter, of(counter), 0);
                        memory.insert(cell, 0);
                        touch(cell, false, true);
                    }
                    Act::Take { who, counter, added, more, value } if who.has(own) => {
                        let cell = (counter, of(counter), 0);
                        let now = memory.entry(cell).or_insert(start);
                        thread.values.insert(value, *now);
                        *now += added + more.map_or(0, |more| thread.values[&more]);
                        touch(cell, true, true);
                    }
                    Act::Count { counter, value } => {
                        let cell = (counter, of(counter), 0);
                        thread.values.insert(value, *memory.entry(cell).or_insert(start));
                        touch(cell, false, false);
                    }
                    Act::Put { who, array, value, place, scale } if who.has(own) => {
                        let at = thread.values[&value] + scale * thread.values[&place];
                        touch((4 + array, 0, at), false, true);
                    }
                    Act::Fill { array, value, guard } if (own as i64) < thread.values[&guard] => {
                        touch((4 + array, 0, thread.values[&value] + own as i64), false, true);
                    }
                    Act::Tell { who, word, value, plus } if who.has(own) => {
                        let cell = (2 + word, block, 0);
                        memory.insert(cell, thread.values[&value] + plus);
                        touch(cell, false, true);
                    }
                    Act::Hear { word, value } => {
                        let cell = (2 + word, block, 0);
                        thread.values.insert(value, *memory.entry(cell).or_insert(start));
                        touch(cell, false, false);
                    }
                    Act::Use { who, array, value, scale, plus, own: of_thread } if who.has(own) => {
                        let at = (scale * thread.values[&value] + plus) * 4;
                        let at = if of_thread { at + own as i64 } else { at };
                        touch((4 + array, 0, at), false, true);
                    }
                    _ => {}
                }
            }
        }
    }
    None
}

fn races(made: &HashMap<(usize, usize, i64), Vec<Made>>, all: &[Thread], threads: usize) -> Vec<u32> {
    let mut racing = Vec::new();
    for accesses in made.values() {
        for (n, x) in accesses.iter().enumerate() {
            for y in &accesses[..n] {
                let (early, late) = if x.passed < y.passed { (x, y) } else { (y, x) };
                let same_block = x.by / threads == y.by / threads;
                let ordered = same_block && early.passed < late.passed && all[early.by].passed > early.passed;
                let conflict = (x.writes || y.writes) && !(x.is_atomic && y.is_atomic);
                if x.by != y.by && conflict && !ordered {
                    racing.extend([x.site, y.site]);
                }
            }
        }
    }
    racing
}
