//! Values loaded from memory that the runtime has looked at: indices that are distinct or sorted. Each proved
//! kernel stands beside neighbours that must not be. Random kernels stand beside brute force: all threads run with
//! the values that the memory holds.
//!
//! `GPURACE_CASES` sets the number of random kernels.
mod common;

use std::collections::BTreeSet;

use common::*;
use gpurace_protocol::contents::{Choice, Contents, Distinct, keep_unchanged, wanted};
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::{Extent, Launch, LaunchShape};
use gpurace_protocol::protocol::*;
use gpurace_protocol::race::{races, threads};
use gpurace_protocol::run::{Open, OpenKind, Thread, trace};
use gpurace_protocol::verdict::Verdict;
use gpurace_random::Random;

/// What a load's index is made of.
#[derive(Clone, Debug)]
enum Index {
    Gid,
    Tid,
    Bid,
    /// The only loop's variable: this load's value, and a step for each iteration.
    Var(Box<Load>, i64),
    Load(Box<Load>),
    Plus(Box<Index>, i64),
}

/// A load from one of the arrays.
#[derive(Clone, Debug)]
struct Load {
    array: usize,
    at: Index,
}

/// A kernel with arrays of indices, and what its opaque values are.
struct Indexed {
    k: Kernel,
    arrays: Vec<ObjectId>,
    out: ObjectId,
    loads: Vec<Load>,
    loops: Vec<LoopId>,
}

impl Indexed {
    fn new(arrays: usize) -> Self {
        let mut k = Kernel::new("indexed");
        let arrays = (0..arrays).map(|i| k.pointer(&format!("a{i}"))).collect();
        let out = k.pointer("out");
        Self { k, arrays, out, loads: Vec::new(), loops: Vec::new() }
    }

    /// Loads from an array, at an index that `describes` the same.
    fn load(&mut self, array: usize, at: E, describes: Index) -> E {
        let site = self.k.read(self.arrays[array], at);
        let value = self.k.opaque("a value loaded from an array", Width::W32, Uniform::Thread, &self.loops);
        self.k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
        self.loads.push(Load { array, at: describes });
        value
    }

    fn is_of(&self, value: usize) -> Index {
        Index::Load(Box::new(self.loads[value].clone()))
    }
}

/// The signed numbers in each array.
type Memory = Vec<Vec<i32>>;

/// The value of an index; `None` if it rests on one that lies beyond an array.
fn index(at: &Index, memory: &Memory, launch: &Launch, thread: Thread, iteration: i64) -> Option<i64> {
    let of = |load: &Load| {
        let at = index(&load.at, memory, launch, thread, iteration)?;
        memory[load.array].get(usize::try_from(at).ok()?).map(|value| i64::from(*value))
    };
    Some(match at {
        Index::Gid => i64::from(thread.ctaid[0] * launch.shape.block[0] + thread.tid[0]),
        Index::Tid => thread.tid[0].into(),
        Index::Bid => thread.ctaid[0].into(),
        Index::Var(from, step) => of(from)? + step * iteration,
        Index::Load(load) => of(load)?,
        Index::Plus(at, plus) => index(at, memory, launch, thread, iteration)? + plus,
    })
}

/// The values of an array at these bytes.
fn elements(memory: &Memory, object: ObjectId, bytes: (i64, i64)) -> &[i32] {
    &memory[object.0 as usize][bytes.0 as usize / 4..bytes.1 as usize / 4]
}

/// A launch of two blocks, with arrays of these sizes, and what is known of their contents.
fn looked_at(p: &Protocol, memory: &Memory, block: u32) -> Launch {
    let mut known = guarded(2, block, p, &[]);
    for (extent, values) in known.objects.iter_mut().flatten().zip(memory) {
        extent.allocation = Some((extent.base, extent.base + 4 * values.len() as u64));
    }
    let mut looked_at = Vec::new();
    for wanted in wanted(p, |_| true) {
        let Some((from, to)) = wanted.bytes(p, &known) else { continue };
        let values = elements(memory, wanted.object, (from, to));
        let mut all = values.to_vec();
        all.sort_unstable();
        let mut contents = wanted.described((from, to));
        contents.range = (all[0].into(), all[all.len() - 1].into());
        contents.sorted = all == values;
        known.contents.push(contents);
        looked_at.push(wanted);
    }
    for (at, wanted) in looked_at.iter().enumerate() {
        let own = &known.contents[at];
        let is_chosen = |index: usize, choice: &Choice| {
            let of = known.contents_of(choice.value).expect("it was looked at");
            let value = memory[of.object.0 as usize][index].into();
            (choice.range.0 <= value && value <= choice.range.1) == choice.inside
        };
        let first = own.bytes.0 as usize / 4;
        let distinct = |choices: Vec<Choice>| {
            let values = elements(memory, own.object, own.bytes).iter().enumerate();
            let chosen = values.filter(|(n, _)| choices.iter().all(|choice| is_chosen(first + n, choice)));
            let mut chosen: Vec<i64> = chosen.map(|(_, value)| (*value).into()).collect();
            chosen.sort_unstable();
            let apart = chosen.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
            (apart > 0).then_some(Distinct { choices, apart })
        };
        known.contents[at].distinct = wanted.choices(p, &known, own).filter_map(distinct).collect();
    }
    keep_unchanged(p, &mut known);
    known
}

/// The sites that are proved.
fn proved_sites(p: &Protocol, launch: &Launch) -> BTreeSet<SiteId> {
    let verdicts = prove_with(p, launch).verdicts.sites;
    verdicts.iter().filter(|site| matches!(site.verdict, Verdict::Proved)).map(|site| site.site).collect()
}

/// The sites that race in a launch with this memory. `None` if a thread leaves an array.
fn racing_sites(made: &Indexed, p: &Protocol, launch: &Launch, memory: &Memory) -> Option<BTreeSet<SiteId>> {
    let mut choose = |open: &Open| {
        let OpenKind::Opaque(id) = open.what else { return 0 };
        let iteration = open.iterations.last().copied().unwrap_or_default() as i64;
        let at = index(&made.loads[id.0 as usize].at, memory, launch, open.group.1, iteration);
        let array = &memory[made.loads[id.0 as usize].array];
        let value = at.and_then(|at| array.get(usize::try_from(at).ok()?));
        u64::from(value.copied().unwrap_or(12345) as u32)
    };
    for thread in threads(launch) {
        for touch in trace(p, launch, thread, &mut choose, 10_000).ok()?.touches {
            let beyond = memory.get(touch.object as usize).is_some_and(|values| {
                touch.offset < 0 || touch.offset + touch.size as i64 > 4 * values.len() as i64
            });
            if beyond {
                return None;
            }
        }
    }
    let found = races(p, launch, &mut choose, &|_, _| (true, 0), 10_000).ok()?;
    Some(found.keys().flat_map(|(a, b)| [*a, *b]).collect())
}

/// Asserts whether all sites are proved with this memory, and that no racing site is.
#[track_caller]
fn is_proved(made: &Indexed, memory: &Memory, expected: bool) {
    let p = made.k.clone().done();
    let launch = looked_at(&p, memory, 64);
    let proved = proved_sites(&p, &launch);
    let all = prove_with(&p, &launch).verdicts.sites;
    assert_eq!(proved.len() == all.len(), expected, "{all:#?} {:?}", launch.contents);
    let racing = racing_sites(made, &p, &launch, memory).expect("no thread leaves an array");
    assert!(racing.is_disjoint(&proved));
    assert_eq!(racing.is_empty(), expected);
    let unlooked = Launch { contents: Vec::new(), ..launch };
    assert!(proved_sites(&p, &unlooked).len() < all.len(), "what is known of memory is not needed");
}

/// A permutation of the numbers below `n`.
fn permutation(n: i32, r: &mut Random) -> Vec<i32> {
    let mut all: Vec<i32> = (0..n).collect();
    for i in (1..all.len()).rev() {
        all.swap(i, r.below(i + 1));
    }
    all
}

/// Offsets of rows of up to three elements.
fn rows(n: i32, r: &mut Random) -> Vec<i32> {
    let mut at = 0;
    let mut next = || {
        let next = at + r.below(4u32) as i32;
        std::mem::replace(&mut at, next)
    };
    (0..=n).map(|_| next()).collect()
}

/// `out[perm[i]] = ...`
fn scatter() -> Indexed {
    let mut made = Indexed::new(1);
    let i = made.k.gid();
    let to = made.load(0, i, Index::Gid);
    made.k.write(made.out, to);
    made
}

#[test]
fn threads_that_write_where_a_permutation_leads() {
    let perm = permutation(128, &mut Random(1));
    is_proved(&scatter(), &vec![perm.clone()], true);
    let mut twice = perm;
    twice[3] = twice[99];
    is_proved(&scatter(), &vec![twice], false);
}

#[test]
fn rows_that_a_permutation_moves() {
    for wide in [16, 17] {
        let mut made = Indexed::new(1);
        let (b, t) = (made.k.bid(), made.k.tid());
        let to = made.load(0, b, Index::Bid);
        let at = made.k.mulc(to, 64);
        let at = made.k.add(at, t);
        let last = made.k.c(wide * 4 - 1);
        let within = made.k.le(t, last);
        let out = made.out;
        made.k.when(within, |k| {
            let at = k.addc(at, if wide == 17 { 1 } else { 0 });
            k.write(out, at)
        });
        if wide == 17 {
            let at = made.k.mulc(to, 64);
            made.k.write(out, at);
        }
        is_proved(&made, &vec![vec![1, 0]], wide == 16);
    }
}

#[test]
fn a_mark_leads_nowhere() {
    for guarded in [true, false] {
        let mut made = Indexed::new(1);
        let i = made.k.gid();
        let to = made.load(0, i, Index::Gid);
        let least = made.k.c(if guarded { -1 } else { -2 });
        let leads = made.k.lt(least, to);
        let out = made.out;
        made.k.when(leads, |k| k.write(out, to));
        let mut perm = permutation(128, &mut Random(2));
        perm.iter_mut().step_by(3).for_each(|to| *to = -1);
        is_proved(&made, &vec![perm.clone()], guarded);
        if guarded {
            (perm[1], perm[2]) = (7, 7);
            is_proved(&made, &vec![perm], false);
        }
    }
}

/// `for (e = row[v]; e < row[v + 1] + further; e++) out[e] = ...`
fn each_row(made: &mut Indexed, array: usize, v: E, of: Index, further: i64) {
    let next = made.k.addc(v, 1);
    let from = made.load(array, v, of.clone());
    let to = made.load(array, next, Index::Plus(Box::new(of), 1));
    let to = made.k.addc(to, further);
    let one = made.k.c(1);
    let out = made.out;
    made.k.looped(from, Step::Add(one), |k, e| k.lt(e, to), |k, e| k.write(out, e));
}

#[test]
fn rows_of_sorted_offsets() {
    let offsets = rows(128, &mut Random(3));
    for further in [0, 1] {
        let mut made = Indexed::new(1);
        let v = made.k.gid();
        each_row(&mut made, 0, v, Index::Gid, further);
        is_proved(&made, &vec![offsets.clone()], further == 0);
        if further == 0 {
            let mut unsorted = offsets.clone();
            unsorted[10] += 9;
            is_proved(&made, &vec![unsorted], false);
        }
    }
}

#[test]
fn warps_that_share_rows_of_sorted_offsets() {
    for lanes in [32, 31] {
        let mut made = Indexed::new(1);
        let (i, t) = (made.k.gid(), made.k.tid());
        let v = made.k.binc(BinOp::AShr, i, 5);
        let lane = made.k.binc(BinOp::And, t, 31);
        let next = made.k.addc(v, 1);
        let of_warp = made.load(0, v, Index::Bid);
        let to = made.load(0, next, Index::Bid);
        // The index of a warp is none that this file describes: brute force has one warp for each block.
        let from = made.k.add(of_warp, lane);
        let by = made.k.c(lanes);
        let out = made.out;
        made.k.looped(from, Step::Add(by), |k, e| k.lt(e, to), |k, e| k.write(out, e));
        let p = made.k.clone().done();
        let launch = looked_at(&p, &vec![vec![0, 50, 90, 90, 200]], 64);
        let all = prove_with(&p, &launch).verdicts.sites;
        assert_eq!(proved_sites(&p, &launch).len() == all.len(), lanes == 32, "{all:#?}");
    }
}

#[test]
fn rows_of_distinct_vertices() {
    let mut r = Random(5);
    let offsets = rows(200, &mut r);
    let mut made = Indexed::new(2);
    let i = made.k.gid();
    let v = made.load(0, i, Index::Gid);
    let of = made.is_of(0);
    each_row(&mut made, 1, v, of, 0);
    let vertices: Vec<i32> = permutation(200, &mut r)[..128].to_vec();
    is_proved(&made, &vec![vertices.clone(), offsets.clone()], true);
    let mut twice = vertices;
    let long = offsets.windows(2).position(|row| row[0] < row[1]).expect("a row has an element") as i32;
    (twice[0], twice[1]) = (long, long);
    is_proved(&made, &vec![twice, offsets], false);
}

/// `if (keys[i] != keys[i - 1]) out[keys[i]] = i;`
#[test]
fn the_first_of_each_sorted_key() {
    let mut keys: Vec<i32> = (0..129).map(|i| i / 3).collect();
    let mut made = Indexed::new(1);
    let i = made.k.gid();
    let next = made.k.addc(i, 1);
    let before = made.load(0, i, Index::Gid);
    let own = made.load(0, next, Index::Plus(Box::new(Index::Gid), 1));
    let same = made.k.eq(own, before);
    let differs = made.k.binc(BinOp::Xor, same, 1);
    let out = made.out;
    made.k.when(differs, |k| k.write(out, own));
    is_proved(&made, &vec![keys.clone()], true);
    keys[128] = 5;
    is_proved(&made, &vec![keys], false);
}

/// Each thread writes to `wide` elements from its own first one.
#[test]
fn parts_of_one_size_from_their_first_elements() {
    for wide in [3, 4] {
        let mut made = Indexed::new(1);
        let i = made.k.gid();
        let first = made.load(0, i, Index::Gid);
        let (out, wide_of) = (made.out, made.k.c(wide));
        made.k.range(0, wide_of, |k, j| {
            let at = k.add(first, j);
            k.write(out, at)
        });
        let firsts: Vec<i32> = permutation(128, &mut Random(8)).iter().map(|first| 3 * first).collect();
        is_proved(&made, &vec![firsts], wide == 3);
    }
}

/// `if (flag[i]) out[scan[i]] = ...`
#[test]
fn places_that_a_scan_of_flags_gives_out() {
    let mut r = Random(7);
    let flags: Vec<i32> = (0..129).map(|_| i32::from(r.chance(40))).collect();
    let scan: Vec<i32> =
        flags.iter().scan(0, |sum, flag| Some(std::mem::replace(sum, *sum + flag))).collect();
    let kernel = |next: i64, is_set: bool| {
        let mut made = Indexed::new(2);
        let i = made.k.gid();
        let at = made.k.addc(i, next);
        let flag = made.load(0, at, Index::Plus(Box::new(Index::Gid), next));
        let set = made.k.eqc(flag, 0);
        let set = if is_set { made.k.binc(BinOp::Xor, set, 1) } else { set };
        made.k.open();
        let to = made.load(1, i, Index::Gid);
        made.k.write(made.out, to);
        let then = made.k.close();
        made.k.stmt(Stmt::If { cond: set, then, otherwise: Vec::new() });
        made
    };
    is_proved(&kernel(0, true), &vec![flags.clone(), scan.clone()], true);
    // The flags of others, those that are not set, and a place that comes twice.
    is_proved(&kernel(1, true), &vec![flags.clone(), scan.clone()], false);
    is_proved(&kernel(0, false), &vec![flags.clone(), scan.clone()], false);
    let mut twice = flags.clone();
    let unset = flags.iter().position(|flag| *flag == 0).expect("there is one");
    twice[unset] = 1;
    is_proved(&kernel(0, true), &vec![twice, scan], false);
}

/// A thread's value is not known where it does not load: the last thread's place lies beyond the array.
#[test]
fn a_value_that_no_thread_loads() {
    let mut made = Indexed::new(1);
    let t = made.k.tid();
    let own = made.load(0, t, Index::Tid);
    let next = made.k.addc(t, 1);
    let has_next = made.k.ltc(next, 2);
    made.k.open();
    let of_next = made.load(0, next, Index::Plus(Box::new(Index::Tid), 1));
    let then = made.k.close();
    made.k.stmt(Stmt::If { cond: has_next, then, otherwise: Vec::new() });
    let zero = made.k.c(0);
    let leads = made.k.le(zero, own);
    let to = made.k.p.exprs.select(has_next, of_next, zero);
    let out = made.out;
    made.k.when(leads, |k| k.write(out, to));
    let p = made.k.clone().done();
    for (second, races) in [(0, true), (1, false)] {
        let memory = vec![vec![1 - second, second]];
        let launch = looked_at(&p, &memory, 2);
        let launch = Launch { shape: LaunchShape { grid: [1, 1, 1], ..launch.shape }, ..launch };
        assert_eq!(launch.contents.len(), 1);
        assert_eq!(proved_sites(&p, &launch).len() == 3, !races);
        assert_eq!(
            racing_sites(&made, &p, &launch, &memory),
            Some(if races { [SiteId(2)].into() } else { [].into() })
        );
    }
}

/// The memory that is looked at lies where `change` puts it.
fn looks(made: &Indexed, memory: &Memory, change: &dyn Fn(&mut Launch)) -> usize {
    let p = made.k.clone().done();
    let mut known = looked_at(&p, memory, 64);
    known.contents.clear();
    change(&mut known);
    for wanted in wanted(&p, |_| true) {
        if let Some(bytes) = wanted.bytes(&p, &known) {
            let contents = wanted.described(bytes);
            known.contents.push(Contents { range: (0, 127), ..contents });
        }
    }
    keep_unchanged(&p, &mut known);
    known.contents.len()
}

/// Nothing is known of memory that the launch may change, and of loads that may leave it.
#[test]
fn memory_that_is_not_looked_at() {
    let memory = vec![permutation(128, &mut Random(6))];
    let looks = |made: &Indexed, change: &dyn Fn(&mut Launch)| looks(made, &memory, change);
    assert_eq!(looks(&scatter(), &|_| {}), 1);
    // The allocation is not known, or a load may reach what lies behind it.
    let in_allocation = |launch: &mut Launch, allocation, guard| {
        let extent = launch.objects[0].as_mut().unwrap();
        *extent = Extent { allocation, guard, ..*extent };
    };
    assert_eq!(looks(&scatter(), &|launch| in_allocation(launch, None, 0)), 0);
    let base = looked_at(&scatter().k.done(), &memory, 64).objects[0].unwrap().base;
    assert_eq!(looks(&scatter(), &|launch| in_allocation(launch, Some((base, base + 512)), 0)), 1);
    assert_eq!(looks(&scatter(), &|launch| in_allocation(launch, Some((base, base + 508)), 0)), 0);
    // The output lies in the same allocation: it is the same memory, or begins with the last index or behind it.
    for (behind, expected) in [(0, 0), (508, 0), (512, 1)] {
        let change = |launch: &mut Launch| {
            in_allocation(launch, Some((base, base + 4096)), 1 << 20);
            launch.objects[1] = launch.objects[0].map(|extent| Extent { base: base + behind, ..extent });
        };
        assert_eq!(looks(&scatter(), &change), expected, "{behind}");
    }
    let mut written = scatter();
    let zero = written.k.c(0);
    written.k.write(written.arrays[0], zero);
    assert_eq!(looks(&written, &|_| {}), 0);
    let mut unseen = scatter();
    unseen.k.stmt(Stmt::Unknown(Unknown {
        why: "a call".into(),
        touches: Some(Space::Global),
        syncs: false,
    }));
    assert_eq!(looks(&unseen, &|_| {}), 0);
}

/// What is known of offsets rests on the vertices that lead to them: if these change, loads may lie elsewhere.
#[test]
fn memory_whose_indices_change_is_not_known_either() {
    let mut r = Random(9);
    let memory = vec![permutation(200, &mut r)[..128].to_vec(), rows(200, &mut r)];
    let mut made = Indexed::new(2);
    let i = made.k.gid();
    let v = made.load(0, i, Index::Gid);
    let of = made.is_of(0);
    each_row(&mut made, 1, v, of, 0);
    assert_eq!(looks(&made, &memory, &|_| {}), 2);
    // The output is the array of vertices.
    assert_eq!(looks(&made, &memory, &|launch| launch.objects[2] = launch.objects[0]), 0);
    // The output is the array of offsets: the vertices stay as they are.
    assert_eq!(looks(&made, &memory, &|launch| launch.objects[2] = launch.objects[1]), 1);
}

/// A random array: a permutation, with a mark, sorted, strictly sorted, or anything.
fn random_array(n: i32, r: &mut Random) -> Vec<i32> {
    let mut array = match r.below(5u32) {
        0 => permutation(n, r),
        1 => {
            let mut array = permutation(n, r);
            for _ in 0..r.below(5u32) {
                let at = r.below(n) as usize;
                array[at] = -1;
            }
            array
        }
        2 => rows(n - 1, r),
        3 => (0..n).collect(),
        _ => (0..n).map(|_| r.below(n)).collect(),
    };
    if r.chance(15) {
        let at = r.below(n) as usize;
        array[at] = r.below(n);
    }
    if r.chance(20) {
        array.iter_mut().for_each(|value| *value *= 2);
    }
    array
}

/// A random kernel: loads of loads, guards on them, loops between them, and writes.
fn random_kernel(r: &mut Random) -> Indexed {
    let mut made = Indexed::new(2);
    let (gid, tid) = (made.k.gid(), made.k.tid());
    let mut values: Vec<(E, Index)> = vec![(gid, Index::Gid), (gid, Index::Gid), (tid, Index::Tid)];
    for _ in 0..1 + r.below(3u32) {
        let (at, describes) = if r.chance(60) {
            values[r.below(2usize)].clone()
        } else {
            values[r.below(values.len())].clone()
        };
        let plus = r.pick(&[0, 0, 0, 1]);
        let at = made.k.addc(at, plus);
        let describes = Index::Plus(Box::new(describes), plus);
        let value = made.load(r.below(2usize), at, describes);
        let is = made.is_of(made.loads.len() - 1);
        values.push((value, is));
    }
    let out = made.out;
    let loads = values.len() - 3;
    let some = |r: &mut Random| 3 + r.below(loads);
    if r.chance(30) {
        // From one value to another.
        let (from, to, by) = (some(r), some(r), r.pick(&[1, 1, 2]));
        let (from, to) = (from, values[to].0);
        let Index::Load(first) = values[from].1.clone() else { unreachable!("loads come last") };
        let step = made.k.c(by);
        let id = made.k.next_loop();
        let (array, read, scale) = (r.below(2usize), r.chance(40), r.pick(&[1, 1, 2]));
        let arrays = made.arrays.clone();
        let mut site = None;
        made.k.looped(
            values[from].0,
            Step::Add(step),
            |k, e| k.lt(e, to),
            |k, e| {
                if read {
                    site = Some(k.read(arrays[array], e));
                    let value = k.opaque("a value loaded from an array", Width::W32, Uniform::Thread, &[id]);
                    k.p.opaques.last_mut().expect("there is one").loaded_by = site;
                    k.write(out, value);
                } else {
                    let at = k.mulc(e, scale);
                    k.write(out, at);
                }
            },
        );
        if read {
            made.loads.push(Load { array, at: Index::Var(first, by) });
        }
        return made;
    }
    let write = |k: &mut Kernel, r: &mut Random| {
        let (value, scale, plus) =
            (values[3 + r.below(loads)].0, r.pick(&[1, 1, 1, 2]), r.pick(&[0, 0, 0, 1]));
        let at = k.mulc(value, scale);
        let at = k.addc(at, plus);
        k.write(out, at);
    };
    let (x, y) = (values[some(r)].0, values[some(r)].0);
    let cond = match r.below(5u32) {
        0 => made.k.eq(x, y),
        1 => {
            let (op, with) =
                (r.pick(&[CmpOp::Eq, CmpOp::Ne, CmpOp::Ult, CmpOp::Ule, CmpOp::Sle]), r.pick(&[-1, 0, 2, 5]));
            let with = made.k.c(with);
            let (a, b) = if r.chance(50) { (x, with) } else { (with, x) };
            made.k.p.exprs.cmp(op, a, b)
        }
        _ => {
            let least = made.k.c(r.pick(&[-1, -1, -2, 3]));
            made.k.lt(least, x)
        }
    };
    if r.chance(60) {
        made.k.when(cond, |k| write(k, r));
    } else {
        write(&mut made.k, r);
    }
    if r.chance(20) {
        write(&mut made.k, r);
    }
    made
}

#[test]
fn random_kernels_beside_brute_force() {
    let cases = gpurace_random::number("GPURACE_CASES", 300);
    let (mut by_contents, mut racy) = (0, 0);
    for seed in 0..cases {
        let mut r = Random(seed);
        let made = random_kernel(&mut r);
        let p = made.k.clone().done();
        for _ in 0..2 {
            let memory: Memory = (0..2).map(|_| random_array(12, &mut r)).collect();
            let launch = looked_at(&p, &memory, 4);
            let Some(racing) = racing_sites(&made, &p, &launch, &memory) else { continue };
            let proved = proved_sites(&p, &launch);
            let shown = format!("seed {seed}: {memory:?} {:?}", launch.contents);
            assert!(racing.is_disjoint(&proved), "{shown}: {racing:?} race, {proved:?} are proved");
            let unlooked: Vec<Contents> = Vec::new();
            let without = proved_sites(&p, &Launch { contents: unlooked, ..launch });
            by_contents += proved.len() - without.len();
            racy += usize::from(!racing.is_empty());
        }
    }
    let few = cases as usize / 10;
    assert!(by_contents > few && racy > few, "{by_contents} proved, {racy} racy");
}
