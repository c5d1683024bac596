//! Random kernels whose threads take numbers by atomic additions, hand them to their blocks through shared memory, and
//! go on by what they got, beside random executions: no access that is proved takes part in a race.
//!
//! `GPURACE_CASES` sets the number of kernels.
mod common;

use std::collections::HashMap;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::{SiteVerdict, Verdict};
use gpurace_random::Random;

/// The threads that make a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    First,
    Second,
    Odd,
    All,
}

impl Who {
    fn has(self, thread: usize) -> bool {
        match self {
            Self::First => thread == 0,
            Self::Second => thread == 1,
            Self::Odd => thread % 2 == 1,
            Self::All => true,
        }
    }
}

/// One step of a random kernel. Values have numbers.
#[derive(Clone, Debug)]
enum Act {
    /// Sets a counter to 0.
    Reset {
        who: Who,
        counter: usize,
    },
    /// `value = atomicAdd(counter, added)`, or with this value added to what it adds.
    Take {
        who: Who,
        counter: usize,
        added: i64,
        more: Option<usize>,
        value: usize,
    },
    /// `value = counter`
    Count {
        counter: usize,
        value: usize,
    },
    /// `word = value + plus`
    Tell {
        who: Who,
        word: usize,
        value: usize,
        plus: i64,
    },
    /// `value = word`
    Hear {
        word: usize,
        value: usize,
    },
    /// `if (threadIdx.x < guard) array[value + threadIdx.x]`
    Fill {
        array: usize,
        value: usize,
        guard: usize,
    },
    /// `array[value + scale * place]`
    Put {
        who: Who,
        array: usize,
        value: usize,
        place: usize,
        scale: i64,
    },
    /// `array[(scale * value + plus) * 4 + (threadIdx.x or 0)]`
    Use {
        who: Who,
        array: usize,
        value: usize,
        scale: i64,
        plus: i64,
        own: bool,
    },
    Sync,
    /// `do { ... } while (value < bound);`
    Rounds {
        body: Vec<Act>,
        value: usize,
        bound: i64,
    },
    /// `for (...) { ...; if (value >= bound) break; ... }`
    Breaks {
        body: Vec<Act>,
        rest: Vec<Act>,
        value: usize,
        bound: i64,
        most: i64,
    },
    /// `if (value < bound) { ... }`
    If {
        body: Vec<Act>,
        value: usize,
        bound: i64,
    },
}

/// A value that a step may use, and the threads that have it.
type Known = Vec<(usize, Who)>;

struct Maker<'r> {
    r: &'r mut Random,
    values: usize,
    /// Each word and counter has one use only, mostly as it should be.
    tidy: bool,
    hands: usize,
}

impl Maker<'_> {
    fn value(&mut self) -> usize {
        self.values += 1;
        self.values - 1
    }

    /// The number of a counter or word.
    fn which(&mut self) -> usize {
        if self.tidy { self.hands % 2 } else { self.r.below(2usize) }
    }

    fn of_all(&mut self, known: &Known) -> Option<usize> {
        let all: Vec<usize> =
            known.iter().filter(|(_, who)| *who == Who::All).map(|(value, _)| *value).collect();
        (!all.is_empty()).then(|| self.r.pick(&all))
    }

    /// A queue: one thread takes a number for all.
    fn hand(&mut self, known: &mut Known, acts: &mut Vec<Act>) {
        let (taken, heard) = (self.value(), self.value());
        let rare = if self.tidy { 4 } else { 15 };
        let who = if self.r.chance(100 - rare) {
            Who::First
        } else {
            self.r.pick(&[Who::Second, Who::Odd, Who::All])
        };
        let teller = if self.r.chance(100 - rare) { who } else { self.r.pick(&[Who::First, Who::Second]) };
        let (counter, word) = (self.which(), self.which());
        self.hands += 1;
        let added = if self.r.chance(rare) { 0 } else { self.r.pick(&[1, 1, 2]) };
        acts.push(Act::Take { who, counter, added, more: None, value: taken });
        let plus = self.r.pick(&[0, 0, 0, 1]);
        let tell = Act::Tell { who: teller, word, value: taken, plus };
        let hear = Act::Hear { word, value: heard };
        let late = self.r.chance(rare);
        if !late && (teller == who || who == Who::All) {
            acts.push(tell.clone());
        }
        if self.r.chance(100 - rare) {
            acts.push(Act::Sync);
        }
        acts.push(hear);
        if self.r.chance(100 - 2 * rare) {
            acts.push(Act::Sync);
        }
        if late && (teller == who || who == Who::All) {
            acts.push(tell);
        }
        known.push((taken, who));
        known.push((heard, Who::All));
    }

    /// The threads add to the counter of their block, and the first one takes as many places for all.
    fn append(&mut self, known: &mut Known, acts: &mut Vec<Act>) {
        let [added, before, taken, after, start] = [(); 5].map(|()| self.value());
        let mostly = |r: &mut Random, acts: &mut Vec<Act>| {
            if r.chance(93) {
                acts.push(Act::Sync);
            }
        };
        let first = |r: &mut Random| if r.chance(96) { Who::First } else { Who::Second };
        let who = first(self.r);
        acts.push(Act::Reset { who, counter: 0 });
        mostly(self.r, acts);
        let taker = self.r.pick(&[Who::All, Who::All, Who::Odd]);
        let take =
            Act::Take { who: taker, counter: 0, added: self.r.pick(&[1, 1, 2]), more: None, value: added };
        let count = Act::Count { counter: 0, value: before };
        let early = self.r.chance(7);
        if early {
            acts.push(count.clone());
            mostly(self.r, acts);
        }
        acts.push(take.clone());
        mostly(self.r, acts);
        if !early {
            acts.push(count);
        }
        if self.r.chance(7) {
            acts.push(Act::Sync);
            acts.push(take);
            mostly(self.r, acts);
        }
        let (who, less) = (first(self.r), i64::from(self.r.chance(5)));
        acts.push(Act::Take { who, counter: 1, added: -less, more: Some(before), value: taken });
        acts.push(Act::Tell { who, word: 0, value: taken, plus: 0 });
        mostly(self.r, acts);
        let again = self.r.chance(50);
        if again {
            acts.push(Act::Count { counter: 0, value: after });
        }
        acts.push(Act::Hear { word: 0, value: start });
        let guard = if again { after } else { before };
        let array = self.r.below(2usize);
        if self.r.chance(50) {
            acts.push(Act::Fill { array, value: start, guard });
        } else {
            let scale = self.r.pick(&[1, 1, 1, 2]);
            acts.push(Act::Put { who: taker, array, value: start, place: added, scale });
        }
        mostly(self.r, acts);
        known.push((start, Who::All));
    }

    fn acts(&mut self, depth: u32, known: &mut Known) -> Vec<Act> {
        let mut acts = Vec::new();
        for _ in 0..1 + self.r.below(3u32) {
            if !self.tidy && self.hands == 0 && self.r.chance(40) {
                self.hands += 1;
                self.append(known, &mut acts);
                continue;
            }
            match self.r.below(12u32) {
                0..=5 if self.tidy && self.hands >= 2 => {}
                0 | 1 => self.hand(known, &mut acts),
                2 if !self.tidy => {
                    let value = self.value();
                    let who = self.r.pick(&[Who::All, Who::All, Who::First]);
                    let counter = self.r.below(2usize);
                    acts.push(Act::Take { who, counter, added: self.r.pick(&[1, 1, 2]), more: None, value });
                    known.push((value, who));
                }
                3 if !self.tidy && self.r.chance(40) => {
                    let who = self.r.pick(&[Who::First, Who::First, Who::All]);
                    acts.push(Act::Reset { who, counter: self.r.below(2usize) });
                }
                2..=5 if depth < 2 => {
                    let mut inner = known.clone();
                    let mut body = Vec::new();
                    if self.r.chance(80) {
                        self.hand(&mut inner, &mut body);
                    } else {
                        let value = self.value();
                        let added = self.r.pick(&[1, 1, 2]);
                        let (who, counter) = (Who::All, self.which());
                        body.push(Act::Take { who, counter, added, more: None, value });
                        self.hands += 1;
                        inner.push((value, Who::All));
                    }
                    let (value, _) = *inner.last().expect("one was pushed");
                    let bound = self.r.pick(&[4, 6, 9]);
                    if self.r.chance(60) {
                        let within = self.acts(depth + 1, &mut inner);
                        let body_of_if = self.r.chance(80);
                        if body_of_if {
                            body.push(Act::If { body: within, value, bound });
                        } else {
                            body.extend(within);
                        }
                        acts.push(Act::Rounds { body, value, bound });
                    } else {
                        let rest = self.acts(depth + 1, &mut inner);
                        acts.push(Act::Breaks { body, rest, value, bound, most: self.r.pick(&[2, 5]) });
                    }
                }
                6 if depth < 2 => {
                    if let Some(value) = self.of_all(known) {
                        let body = self.acts(depth + 1, &mut known.clone());
                        acts.push(Act::If { body, value, bound: self.r.pick(&[3, 6]) });
                    }
                }
                7 => acts.push(Act::Sync),
                _ if !known.is_empty() => {
                    let (value, who) = self.r.pick(known);
                    let own = self.r.chance(if self.tidy { 95 } else { 60 });
                    let (scale, plus) = (self.r.pick(&[1, 1, 1, 2]), self.r.pick(&[0, 0, 0, 1]));
                    let array = if self.tidy { value / 2 % 2 } else { self.r.below(2usize) };
                    let (scale, plus) = if self.tidy { (1, 0) } else { (scale, plus) };
                    acts.push(Act::Use { who, array, value, scale, plus, own });
                }
                _ => {}
            }
        }
        acts
    }
}

/// What the protocol of a random kernel names.
struct Names {
    counters: [ObjectId; 2],
    words: [ObjectId; 2],
    arrays: [ObjectId; 2],
    loops: Vec<LoopId>,
    values: HashMap<usize, E>,
}

fn by(k: &mut Kernel, who: Who, act: impl FnOnce(&mut Kernel)) {
    let t = k.tid();
    let cond = match who {
        Who::First => k.eqc(t, 0),
        Who::Second => k.eqc(t, 1),
        Who::Odd => {
            let odd = k.binc(BinOp::And, t, 1);
            k.eqc(odd, 1)
        }
        Who::All => return act(k),
    };
    k.when(cond, act);
}

/// Opens a loop and describes its first acts. Returns the loop, and the values that are known behind it.
fn begin_loop(k: &mut Kernel, acts: &[Act], names: &mut Names) -> (LoopId, HashMap<usize, E>) {
    let id = k.next_loop();
    k.skip_loop();
    names.loops.push(id);
    let outside = names.values.clone();
    k.open();
    describe(k, acts, names);
    (id, outside)
}

fn describe(k: &mut Kernel, acts: &[Act], names: &mut Names) {
    for act in acts {
        let zero = k.c(0);
        match act {
            Act::Reset { who, counter } => {
                let counter = names.counters[*counter];
                by(k, *who, |k| {
                    let site = k.write(counter, zero);
                    k.p.stored.push(Stored { site, value: zero });
                });
            }
            Act::Take { who, counter, added, more, value } => {
                let counter = names.counters[*counter];
                by(k, *who, |k| {
                    let added = match more {
                        Some(more) => k.addc(names.values[more], *added),
                        None => k.c(*added),
                    };
                    let ticket = k.take(DEVICE, counter, zero, added, &names.loops);
                    names.values.insert(*value, ticket);
                });
            }
            Act::Tell { who, word, value, plus } => {
                let stored = k.addc(names.values[value], *plus);
                let word = names.words[*word];
                by(k, *who, |k| {
                    let site = k.write(word, zero);
                    k.p.stored.push(Stored { site, value: stored });
                });
            }
            Act::Hear { word: from, value } | Act::Count { counter: from, value } => {
                let words = if matches!(act, Act::Hear { .. }) { names.words } else { names.counters };
                let heard = k.opaque("a value loaded from a word", Width::W32, Uniform::Thread, &names.loops);
                let site = k.read(words[*from], zero);
                k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
                names.values.insert(*value, heard);
            }
            Act::Fill { array, value, guard } => {
                let t = k.tid();
                let below = k.ult(t, names.values[guard]);
                let at = k.add(names.values[value], t);
                k.when(below, |k| k.write(names.arrays[*array], at));
            }
            Act::Put { who, array, value, place, scale } => {
                let place = k.mulc(names.values[place], *scale);
                let at = k.add(names.values[value], place);
                let array = names.arrays[*array];
                by(k, *who, |k| {
                    k.write(array, at);
                });
            }
            Act::Use { who, array, value, scale, plus, own } => {
                let at = k.p.exprs.zext(Width::W64, names.values[value]);
                let at = k.binc(BinOp::Mul, at, 4 * scale);
                let at = k.binc(BinOp::Add, at, 4 * plus);
                let t = k.tid();
                let t = k.p.exprs.zext(Width::W64, t);
                let at = if *own { k.add(at, t) } else { at };
                let array = names.arrays[*array];
                by(k, *who, |k| {
                    k.write(array, at);
                });
            }
            Act::Sync => k.sync(),
            Act::Rounds { body, value, bound } => {
                let (id, outside) = begin_loop(k, body, names);
                let body = k.close();
                let bound = k.c(*bound);
                let cond = k.ult(names.values[value], bound);
                names.loops.pop();
                names.values = outside;
                k.stmt(Stmt::Loop(Loop {
                    id,
                    vars: Vec::new(),
                    cond,
                    test: Test::After,
                    breaks: None,
                    body,
                }));
            }
            Act::Breaks { body, rest, value, bound, most } => {
                let (id, outside) = begin_loop(k, body, names);
                let bound = k.c(*bound);
                let unless = k.ult(names.values[value], bound);
                k.open();
                describe(k, rest, names);
                let then = k.close();
                k.stmt(Stmt::If { cond: unless, then, otherwise: Vec::new() });
                let body = k.close();
                names.loops.pop();
                names.values = outside;
                let var = VarId(id.0);
                let i = k.p.exprs.add(Expr::Var { id: var, width: Width::W32 });
                let (one, most) = (k.c(1), k.c(*most));
                let cond = k.lt(i, most);
                let vars = vec![Induction { id: var, width: Width::W32, from: zero, step: Step::Add(one) }];
                let breaks = Some(Breaks { uniform: Uniform::Thread, unless });
                k.stmt(Stmt::Loop(Loop { id, vars, cond, test: Test::Before, breaks, body }));
            }
            Act::If { body, value, bound } => {
                let outside = names.values.clone();
                let bound = k.c(*bound);
                let cond = k.ult(names.values[value], bound);
                k.when(cond, |k| describe(k, body, names));
                names.values = outside;
            }
        }
    }
}

/// One instruction. Accesses have the numbers of their sites.
#[derive(Clone, Debug)]
enum Code {
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

fn compile(acts: &[Act], code: &mut Vec<Code>, site: &mut u32) {
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
fn racing_sites(
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

#[test]
fn random_queues_beside_random_executions() {
    let cases = gpurace_random::number("GPURACE_CASES", 200);
    let (mut by_the_rules, mut filled, mut put, mut races) = (0, 0, 0, 0);
    for seed in 0..cases {
        let mut r = Random(seed);
        let tidy = r.chance(60);
        let mut maker = Maker { r: &mut r, values: 0, tidy, hands: 0 };
        let acts = maker.acts(0, &mut Vec::new());
        let mut k = Kernel::new("random");
        let mut names = Names {
            counters: [if tidy { k.pointer("n") } else { k.shared("n", 4) }, k.pointer("m")],
            words: [k.shared("w", 4), k.shared("v", 4)],
            arrays: [k.pointer("out"), k.pointer("other")],
            loops: Vec::new(),
            values: HashMap::new(),
        };
        describe(&mut k, &acts, &mut names);
        let p = k.done();
        let (blocks, threads) = (1 + r.below(2usize), 2 + r.below(3usize));
        let known = guarded(blocks as u32, threads as u32, &p, &[]);
        let proved = |p: &Protocol| {
            let of = |site: &SiteVerdict| matches!(site.verdict, Verdict::Proved).then_some(site.site.0);
            prove_with(p, &known).verdicts.sites.iter().filter_map(of).collect::<Vec<u32>>()
        };
        let without = proved(&Protocol { stored: Vec::new(), ..p.clone() }).len();
        let proved = proved(&p);
        by_the_rules += proved.len().saturating_sub(without);
        let mut code = Vec::new();
        compile(&acts, &mut code, &mut 0);
        for code in &code {
            let Code::Access { act, site } = code else { continue };
            filled += usize::from(matches!(act, Act::Fill { .. }) && proved.contains(site));
            put += usize::from(matches!(act, Act::Put { .. }) && proved.contains(site));
        }
        for _ in 0..30 {
            let Some(racing) = racing_sites(&code, [blocks, threads], !tidy, &mut r) else { continue };
            races += racing.len();
            for site in racing {
                assert!(!proved.contains(&site), "seed {seed}: site {site} of {acts:#?}");
            }
        }
    }
    let enough = by_the_rules > 10 && filled > 4 && put > 4 && races > 1_000;
    assert!(enough, "{by_the_rules} proved, {filled} of them fill, {put} put, {races} races");
}
