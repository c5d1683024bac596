//! Flags and locks: whether a program seems to order two accesses by what atomics have read.

use std::collections::BTreeSet;

use gpurace_abi::flow::{Flow, FlowBlock, Step, Update};

use crate::barriers::Pair;
use crate::paths::{
    StepPlace, Walk, innermost_loop, is_one_statement, line, lines_before, places, reached, reached_without,
    reaches, reversed, successors,
};

/// True if the program seems to order two accesses by a flag or a lock: an atomic follows the earlier one, and what
/// an atomic has read decides whether or when a thread comes to the later one.
pub fn is_handed_over(flow: &Flow, [earlier, later]: Pair, across_blocks: bool) -> bool {
    let places = places(flow);
    let Some(&from) = places.get(&earlier) else { return false };
    let releases = |step: &Step| releases(flow, step, across_blocks).is_some();
    let has_release = |block: usize| flow.blocks[block].steps.iter().any(releases);
    let follows = flow.blocks[from.0].steps[from.1 + 1..].iter().any(releases)
        || successors(flow, from.0).any(|next| reached(flow, next, true).into_iter().any(has_release));
    follows && is_decided(flow, [earlier, later])
}

/// True if threads of a block tell each other only by arrivals at barrier objects when they have made an access: these
/// order what comes before them, so no fence is missing.
pub fn is_told_by_arrivals(flow: &Flow, pair: Pair) -> bool {
    let places = places(flow);
    let is_arrival = |step: &Step| releases(flow, step, false).map(|site| flow.arrivals.contains(&site));
    let told = pair.iter().filter_map(|site| places.get(site)).flat_map(|&(block, at)| {
        let here = flow.blocks[block].steps[at + 1..].iter().filter_map(is_arrival);
        let behind: BTreeSet<usize> =
            successors(flow, block).flat_map(|next| reached(flow, next, true)).collect();
        let further = behind.into_iter().flat_map(|block| &flow.blocks[block].steps);
        here.chain(further.filter_map(is_arrival)).collect::<Vec<_>>()
    });
    let told: Vec<bool> = told.collect();
    !told.is_empty() && told.iter().all(|is_arrival| *is_arrival)
}

/// Returns which of two accesses threads come to without a look whether others have told them something. They look
/// before the other one, which an arrival at a barrier object follows, and tell of both only by arrivals.
pub fn unwaited_side(flow: &Flow, pair: Pair) -> Option<usize> {
    let looked = pair.map(|site| is_looked_for(flow, site));
    let other = looked.iter().position(|is_looked| *is_looked).filter(|_| looked.contains(&false))?;
    let places = places(flow);
    let in_iteration = Walk { back: false, stops: |step| step == Step::Barrier };
    let is_told =
        |arrival| Some(reaches(flow, *places.get(&pair[other])?, *places.get(arrival)?, in_iteration));
    let is_told = flow.arrivals.iter().any(|arrival| is_told(arrival) == Some(true));
    (is_told && is_told_by_arrivals(flow, pair)).then_some(1 - other)
}

/// True if threads look before each of two accesses whether others have told them something, and a thread that makes
/// both looks between them.
pub fn are_looked_for(flow: &Flow, pair: Pair) -> bool {
    let places = places(flow);
    let Some([a, b]) = pair
        .iter()
        .map(|site| places.get(site).copied())
        .collect::<Option<Vec<_>>>()
        .and_then(|both| <[StepPlace; 2]>::try_from(both).ok())
    else {
        return false;
    };
    let looks: BTreeSet<StepPlace> = looks(flow).into_iter().collect();
    pair.iter().all(|&site| is_looked_for(flow, site))
        && !reaches_without(flow, a, b, &looks)
        && !reaches_without(flow, b, a, &looks)
}

/// True if one flag or lock would order two pairs of accesses: within an iteration, no atomic that tells or looks
/// stands between a side of the one pair and a side of the other one.
pub fn are_told_together(flow: &Flow, a: Pair, b: Pair) -> bool {
    let places = places(flow);
    let parts = |step: &Step| {
        matches!(step, Step::Atomic(site) if !flow.counts.contains(site)) || *step == Step::Barrier
    };
    let parted: BTreeSet<StepPlace> = places_of(flow, &parts).into_iter().collect();
    let is_near = |one: u32, other: u32| match (places.get(&one), places.get(&other)) {
        (Some(&from), Some(&to)) => {
            one == other
                || reaches_without(flow, from, to, &parted)
                || reaches_without(flow, to, from, &parted)
        }
        _ => false,
    };
    both(b).into_iter().any(|[first, second]| is_near(a[0], first) && is_near(a[1], second))
}

/// True if a way within an iteration leads from one step to another, and none of these steps lies on it.
fn reaches_without(flow: &Flow, from: StepPlace, to: StepPlace, steps: &BTreeSet<StepPlace>) -> bool {
    let mut entered = BTreeSet::new();
    let mut pending = vec![(from.0, from.1 + 1)];
    while let Some((block, first)) = pending.pop() {
        let end = flow.blocks[block].steps.len();
        let stop = (first..end).find(|&at| steps.contains(&(block, at))).unwrap_or(end);
        if block == to.0 && (first..stop).contains(&to.1) {
            return true;
        }
        if stop == end {
            let next = successors(flow, block).filter(|&next| next > block && entered.insert(next));
            pending.extend(next.map(|next| (next, 0)));
        }
    }
    false
}

/// True if threads may exclude each other from an access that they all make. Before it a thread claims something by an
/// atomic that changes memory, or waits in a loop of atomics alone. Behind it, it gives that back by an atomic. One that
/// only decides where its own thread goes gives nothing back, such as that which claims an entry of a table.
pub fn may_exclude(flow: &Flow, pair: Pair) -> bool {
    let places = places(flow);
    let sites = || pair.iter().filter_map(|site| places.get(site).copied());
    let atomics = |block: usize| {
        let steps = flow.blocks[block].steps.iter().enumerate();
        steps.filter_map(
            move |(at, step)| if let Step::Atomic(site) = *step { Some((at, site)) } else { None },
        )
    };
    // The loop that claims may lead to the access by its header.
    let anyway = Walk { back: true, stops: |_| false };
    let claims = |site: u32| !flow.looks.contains(&site) || waits_alone(flow, site);
    let is_claimed = |to: StepPlace| {
        let all = (0..flow.blocks.len())
            .flat_map(|block| atomics(block).map(move |(at, site)| ((block, at), site)));
        all.filter(|&(_, site)| claims(site)).any(|(from, _)| from != to && reaches(flow, from, to, anyway))
    };
    let gives_back = |block: usize, first: usize| {
        let last = atomics(block).next_back().filter(|_| flow.blocks[block].decides);
        atomics(block).any(|atomic| atomic.0 >= first && tells(flow, &atomic.1) && Some(atomic) != last)
    };
    let is_given_back = |from: StepPlace| {
        gives_back(from.0, from.1 + 1)
            || successors(flow, from.0)
                .any(|next| reached(flow, next, true).iter().any(|&block| gives_back(block, 0)))
    };
    sites().all(|at| is_claimed(at) && is_given_back(at))
}

/// True if a release comes before an access that it should come after: a thread comes to the other access by what an
/// atomic has read, and no release follows until then. A thread that makes both makes the other one later in an
/// iteration, or before the release: then it passes on what it has taken.
pub fn is_released_early(flow: &Flow, [given, taken]: Pair, across_blocks: bool) -> bool {
    let places = places(flow);
    let Some(&at) = places.get(&given) else { return false };
    let in_iteration = Walk { back: false, stops: |_| false };
    let is_behind = |release: u32, site: u32| {
        let (from, to) = (places.get(&site), places.get(&release));
        from.zip(to).is_some_and(|(&from, &to)| reaches(flow, from, to, in_iteration))
    };
    // Who takes first gives on what it makes of that: the release stands between the two.
    let takes_first = places.get(&taken).is_some_and(|&taken| reaches(flow, taken, at, in_iteration));
    let mut pending = vec![(at.0, at.1 + 1)];
    let mut entered = BTreeSet::new();
    while let Some((block, first)) = pending.pop() {
        if flow.blocks[block].steps[first..].iter().any(|step| releases(flow, step, across_blocks).is_some())
        {
            return false;
        }
        if !flow.blocks[block].decides {
            pending
                .extend(successors(flow, block).filter(|&next| entered.insert(next)).map(|next| (next, 0)));
        }
    }
    let before = Walk { back: false, stops: |step| step == Step::Barrier };
    let steps = flow.blocks.iter().flat_map(|block| &block.steps);
    let mut released = steps.filter_map(|step| releases(flow, step, across_blocks));
    let comes_before = |site| places.get(&site).is_some_and(|&release| reaches(flow, release, at, before));
    released.any(|release| comes_before(release) && (!takes_first || is_behind(release, taken)))
        && is_decided(flow, [given, taken])
        && may_be_looked_for(flow, taken)
}

/// True if a thread frees bytes for those who write them, and reads them only then: a release comes before the read on
/// each way, and the thread may come without another one to where an atomic decides again what it does. Who writes
/// looks before whether the bytes are free.
pub fn is_freed_early(flow: &Flow, [read, write]: Pair, across_blocks: bool) -> bool {
    let places = places(flow);
    let Some(&at) = places.get(&read) else { return false };
    let frees = |step: &Step| releases(flow, step, across_blocks).filter(|&site| !is_of_wait(flow, site));
    let steps = flow.blocks.iter().flat_map(|block| &block.steps);
    let releases: BTreeSet<StepPlace> =
        steps.filter_map(frees).filter_map(|site| places.get(&site).copied()).collect();
    is_behind_one(flow, at, &releases) && decides_without(flow, at, &releases) && is_looked_for(flow, write)
}

/// True if one of these steps comes before another step on each way to it. Neither a barrier nor a decision of an
/// atomic lies between.
fn is_behind_one(flow: &Flow, at: StepPlace, steps: &BTreeSet<StepPlace>) -> bool {
    let reversed = reversed(flow);
    let mut entered = BTreeSet::new();
    let mut pending = vec![at];
    while let Some((block, end)) = pending.pop() {
        let is_last = |&at: &usize| {
            steps.contains(&(block, at)) || flow.blocks[block].steps.get(at) == Some(&Step::Barrier)
        };
        let before = &reversed[block];
        match (0..end).rev().find(is_last) {
            Some(last) if steps.contains(&(block, last)) => {}
            Some(_) => return false,
            None if before.is_empty() || before.iter().any(|&before| flow.blocks[before].decides) => {
                return false;
            }
            None => {
                let new = before.iter().filter(|&&before| entered.insert(before));
                pending.extend(new.map(|&before| (before, flow.blocks[before].steps.len())));
            }
        }
    }
    true
}

/// True if some way leads from a step to where an atomic decides, or to the kernel's end, and neither a barrier nor one
/// of these steps lies on it.
fn decides_without(flow: &Flow, at: StepPlace, steps: &BTreeSet<StepPlace>) -> bool {
    let mut entered = BTreeSet::new();
    let mut pending = vec![(at.0, at.1 + 1)];
    while let Some((block, first)) = pending.pop() {
        let FlowBlock { steps: own, decides, .. } = &flow.blocks[block];
        if (first..own.len()).any(|at| own[at] == Step::Barrier || steps.contains(&(block, at))) {
            continue;
        }
        let mut next = successors(flow, block).peekable();
        if *decides || next.peek().is_none() {
            return true;
        }
        pending.extend(next.filter(|&next| entered.insert(next)).map(|next| (next, 0)));
    }
    false
}

/// True if a thread looks in the line of its arrival whether the others have come too, as `arrive_and_wait()` does.
fn is_of_wait(flow: &Flow, arrival: u32) -> bool {
    let Some(&(block, at)) = places(flow).get(&arrival) else { return false };
    let own_lines = lines_before(flow, (block, at));
    let mut entered = BTreeSet::new();
    let mut pending = vec![(block, at + 1)];
    while let Some((block, first)) = pending.pop() {
        let is_other = |step: &&Step| line(step).is_none_or(|line| !own_lines.contains(&line));
        match flow.blocks[block].steps[first..].iter().find(is_other) {
            Some(Step::Atomic(site)) if flow.looks.contains(site) => return true,
            Some(_) => {}
            None => pending
                .extend(successors(flow, block).filter(|&next| entered.insert(next)).map(|next| (next, 0))),
        }
    }
    false
}

/// Returns the places at which threads look whether others have told them something: by an atomic that changes nothing,
/// or in a loop that waits alone.
fn looks(flow: &Flow) -> Vec<StepPlace> {
    places_of(flow, &|step| match *step {
        Step::Atomic(site) => flow.looks.contains(&site) || waits_alone(flow, site),
        _ => false,
    })
}

/// Returns the places of the steps that are wanted.
fn places_of(flow: &Flow, wanted: &dyn Fn(&Step) -> bool) -> Vec<StepPlace> {
    let blocks = flow.blocks.iter().enumerate();
    let of = blocks.flat_map(|(block, of)| of.steps.iter().enumerate().map(move |(at, s)| ((block, at), s)));
    of.filter(|(_, step)| wanted(step)).map(|(place, _)| place).collect()
}

/// True if threads look on some way to an access whether others have told them something.
fn may_be_looked_for(flow: &Flow, access: u32) -> bool {
    let anywhere = Walk { back: true, stops: |_| false };
    let Some(&to) = places(flow).get(&access) else { return false };
    looks(flow).into_iter().any(|look| reaches(flow, look, to, anywhere))
}

/// True if threads look before an access whether others have told them something. Each way to the access leads through
/// a look, through a barrier behind one, or into a loop with both: a ring's first turns need no look.
fn is_looked_for(flow: &Flow, access: u32) -> bool {
    let places = places(flow);
    let Some(&to) = places.get(&access) else { return false };
    let looks = looks(flow);
    let in_iteration = Walk { back: false, stops: |_| false };
    let barriers = places_of(flow, &|step| *step == Step::Barrier).into_iter();
    let behind =
        barriers.filter(|&barrier| looks.iter().any(|&look| reaches(flow, look, barrier, in_iteration)));
    let told: BTreeSet<StepPlace> = behind.chain(looks.iter().copied()).collect();
    let heads = looks.iter().filter_map(|look| Some(innermost_loop(flow, &[look.0, to.0])?.0));
    let heads: BTreeSet<usize> = heads.collect();
    let reversed = reversed(flow);
    let mut entered = BTreeSet::new();
    let mut pending = vec![to];
    while let Some((block, end)) = pending.pop() {
        if heads.contains(&block) || (0..end).any(|at| told.contains(&(block, at))) {
            continue;
        }
        if block == 0 {
            return false;
        }
        let new = reversed[block].iter().filter(|&&before| entered.insert(before));
        pending.extend(new.map(|&before| (before, flow.blocks[before].steps.len())));
    }
    true
}

/// The site of a step by which a thread may tell others of something.
fn releases(flow: &Flow, step: &Step, across_blocks: bool) -> Option<u32> {
    match *step {
        Step::Atomic(site) if across_blocks && flow.shared.contains(&site) => None,
        Step::Atomic(site) => Some(site).filter(|site| tells(flow, site)),
        _ => None,
    }
}

/// True for an atomic by which a thread may tell others of something.
fn tells(flow: &Flow, atomic: &u32) -> bool {
    !flow.looks.contains(atomic) && !flow.counts.contains(atomic)
}

/// True if what an atomic has read decides whether or when a thread comes to the later access.
fn is_decided(flow: &Flow, [earlier, later]: Pair) -> bool {
    let places = places(flow);
    let (Some(&from), Some(&to)) = (places.get(&earlier), places.get(&later)) else {
        return false;
    };
    let in_sequence = !is_one_statement(flow, from, to)
        && (from.0 == to.0 && from.1 < to.1
            || from.0 != to.0 && reached(flow, from.0, false).contains(&to.0));
    let from_first = if in_sequence { reached(flow, from.0, false) } else { BTreeSet::new() };
    (0..flow.blocks.len()).any(|block| {
        // A way back to the start of a loop counts: the wait may stand in it. One to the decision itself does not.
        let reaches = |next: usize| next != block && reached_without(flow, next, block).contains(&to.0);
        flow.blocks[block].decides
            && (!in_sequence || from_first.contains(&block))
            && successors(flow, block).any(|next| next > block && reaches(next))
            && successors(flow, block).any(|next| next <= block || !reaches(next))
    })
}

/// True if a loop looks by atomics before and after a read, and what it has seen decides whether it reads again.
pub fn is_looked_after(flow: &Flow, read: u32) -> bool {
    let places = places(flow);
    let Some(&at) = places.get(&read) else { return false };
    let Some((_, blocks)) = innermost_loop(flow, &[at.0]) else { return false };
    let in_iteration = Walk { back: false, stops: |step| step == Step::Barrier };
    let looks =
        || flow.looks.iter().filter_map(|look| places.get(look)).filter(|look| blocks.contains(&look.0));
    // A thread that waits for others in the loop goes on in it.
    let leaves = |block: usize| successors(flow, block).any(|next| !blocks.contains(&next));
    let repeats = |block: usize| {
        flow.blocks[block].decides
            && leaves(block)
            && (block == at.0 || reached(flow, at.0, false).contains(&block))
    };
    looks().any(|&look| reaches(flow, look, at, in_iteration))
        && looks().any(|&look| reaches(flow, at, look, in_iteration))
        && blocks.iter().any(|&block| repeats(block))
}

/// True if blocks of one branch may tell those of another one by `flag` of `told`: the flag is written after and read
/// before the other bytes. Each pair is the write and the read.
pub fn may_tell_of(flow: &Flow, told: Pair, flag: Pair) -> bool {
    let are_one_branch = |a, b| is_before(flow, a, b) || is_before(flow, b, a);
    let ([given, taken], [set, look]) = (told, flag);
    !are_one_branch(given, taken)
        && !are_one_branch(set, look)
        && is_before(flow, given, set)
        && is_before(flow, look, taken)
}

/// True if a plain flag, or a lock with a plain access, seems to order two accesses: one side of the race on it is a
/// look (see [`Look`]). A thread comes to one of the accesses past this look only, and to the other one before it sets
/// the flag or frees the lock. Who frees a lock has taken it, and only what comes between is ordered.
pub fn is_told_of(flow: &Flow, pair: Pair, flag: Pair) -> bool {
    let orders = |look, set, may_come_first: bool| {
        both(pair).into_iter().any(|[given, taken]| {
            is_before(flow, given, set)
                && is_behind(flow, taken, look)
                && (may_come_first || is_behind(flow, given, look))
        })
    };
    both(flag).into_iter().any(|[look, set]| {
        let waits = Look::Loop(look);
        spins(flow, look) && orders(waits, set, true)
            || waits_alone(flow, look) && orders(waits, set, !is_behind(flow, set, waits))
            || is_checked_again(flow, [look, set]) && orders(Look::Once(look), set, false)
    })
}

/// True if one side is the look at a plain flag before a lock is taken. Behind the lock, the thread looks again and
/// then sets the flag, which is the other side.
pub fn is_checked_twice(flow: &Flow, pair: Pair) -> bool {
    both(pair).into_iter().any(|pair| is_checked_again(flow, pair))
}

fn is_checked_again(flow: &Flow, [look, set]: Pair) -> bool {
    let is_look = |update: &&Update| update.change == set && update.read == look;
    let atomics = || flow.blocks.iter().flat_map(|block| &block.steps);
    let locks = atomics().filter_map(|step| if let Step::Atomic(site) = *step { Some(site) } else { None });
    let mut locks = locks.filter(|&lock| waits_alone(flow, lock));
    flow.updates.iter().any(|update| is_look(&update))
        && locks.any(|lock| {
            let is_locked = |access| is_behind(flow, access, Look::Loop(lock));
            let looks_again = |update: &Update| update.change == set && is_locked(update.read);
            !is_locked(look) && is_before(flow, look, lock) && flow.updates.iter().any(looks_again)
        })
}

/// True if one side is an atomic in a loop that waits for the other one.
pub fn is_waited_for(flow: &Flow, pair: Pair) -> bool {
    pair.into_iter().any(|site| waits_alone(flow, site))
}

/// True if an access is an atomic in a loop that has no plain accesses and ends by what an atomic has read. A loop of
/// compare-and-swaps after a plain read of the same bytes is an update, and does not wait.
fn waits_alone(flow: &Flow, site: u32) -> bool {
    let places = places(flow);
    let is_atomic = |step: &Step| matches!(step, Step::Atomic(_));
    let is_update = flow.updates.iter().any(|update| update.change == site);
    places.get(&site).is_some_and(|&(block, at)| {
        !is_update
            && is_atomic(&flow.blocks[block].steps[at])
            && innermost_loop(flow, &[block]).is_some_and(|(_, blocks)| {
                let steps = || blocks.iter().flat_map(|&block| &flow.blocks[block].steps);
                blocks.iter().any(|&block| flow.blocks[block].decides)
                    && !steps().any(|step| matches!(step, Step::Access(_)))
            })
    })
}

/// An access at which a thread learns that others have set a flag or freed a lock.
#[derive(Clone, Copy)]
enum Look {
    /// It is in a loop, which the thread leaves then.
    Loop(u32),
    /// It is not in such a loop.
    Once(u32),
}

/// True if a thread comes to an access past a look only.
fn is_behind(flow: &Flow, access: u32, look: Look) -> bool {
    let places = places(flow);
    let (Look::Loop(site) | Look::Once(site)) = look;
    let (Some(&look_at), Some(access)) = (places.get(&site), places.get(&access)) else { return false };
    let is_reached_past = |block| block != 0 && reached_without(flow, 0, block).contains(&access.0);
    match look {
        Look::Loop(_) => innermost_loop(flow, &[look_at.0])
            .is_some_and(|(header, blocks)| !blocks.contains(&access.0) && !is_reached_past(header)),
        Look::Once(_) if access.0 == look_at.0 => look_at.1 < access.1,
        Look::Once(_) => !is_reached_past(look_at.0),
    }
}

/// True if a thread may come from one access to another one.
fn is_before(flow: &Flow, a: u32, b: u32) -> bool {
    let places = places(flow);
    match (places.get(&a), places.get(&b)) {
        (Some(a), Some(b)) => {
            a.0 == b.0 && a.1 < b.1 || a.0 != b.0 && reached(flow, a.0, true).contains(&b.0)
        }
        _ => false,
    }
}

fn both([a, b]: Pair) -> [Pair; 2] {
    [[a, b], [b, a]]
}

/// True if an access is in a loop that waits for a plain value to change.
pub fn spins(flow: &Flow, site: u32) -> bool {
    places(flow).get(&site).is_some_and(|&(block, _)| flow.blocks[block].spins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::tests::flow;

    #[test]
    fn who_frees_bytes_has_read_them_before() {
        // Consumers look at `full`, free the stage and read it; producers look at `empty` and write.
        let ring = "u 1,4:\nd 1,2: L1 x0\n 1,3: L2 x1 L3 a2\n 6:\nd 4,5: L4 x3\n 4,6: L5 a4 L6 x5\nu:";
        let is_early = |text: &str, looks: [u32; 2]| {
            is_freed_early(&Flow { looks: looks.to_vec(), ..flow(text) }, [2, 4], false)
        };
        assert!(is_early(ring, [0, 3]));
        // The read comes first, or another release follows it. One behind the loop is too late.
        assert!(!is_early(&ring.replace("x1 L3 a2", "a2 L3 x1"), [0, 3]));
        assert!(!is_early(&ring.replace("a2", "a2 L7 x6 L8"), [0, 3]));
        assert!(is_early(&ring.replace(" 6:", " 6: x6"), [0, 3]));
        // The arrival of `arrive_and_wait()` frees nothing.
        assert!(is_early(&ring.replace("a2", "a2 L1 x6"), [0, 3]));
        assert!(!is_early(&ring.replace("x1 L3 a2", "L3 a2 L1 x6"), [0, 3]));
        // Another way leads to the read.
        let around =
            "u 1,6:\nd 1,2: L1 x0\n 3,4: L2\n 4: x1\n 1,5: L3 a2\n 8:\nd 6,7: L4 x3\n 6,8: L5 a4 L6 x5\nu:";
        assert!(!is_early(around, [0, 3]) && is_early(&around.replace(" 3,4: L2", " 3: L2"), [0, 3]));
        // A barrier or a look stands between.
        assert!(!is_early(&ring.replace("x1 L3", "x1 B L3"), [0, 3]));
        assert!(!is_early(&ring.replace("x1 L3 a2", "a2").replace("L1 x0", "x1 L1 x0"), [0, 3]));
        // Who writes looks at nothing.
        assert!(!is_early(&ring.replace("d 4,5: L4 x3", " 4,5: L4"), [0, 9]));
        // Some of those who write look, and others do not meet them: unless at a barrier behind the look.
        let some = ring.replace("u 1,4:", "u 1,4,5:");
        assert!(!is_early(&some, [0, 3]) && !is_early(&some.replace("u 1,4,5:", "u 1,4,5: B"), [0, 3]));
        assert!(is_early(&some.replace("L5 a4", "B L5 a4"), [0, 3]));
        // In its first turns, who writes does not look.
        let first =
            "u 1,4:\nd 1,2: L1 x0\n 1,3: L2 x1 L3 a2\n 7:\nu 5,6:\nd 5,6: L4 x3\n 4,7: L5 a4 L6 x5\nu:";
        assert!(is_early(first, [0, 3]));
    }

    #[test]
    fn a_flag_or_a_lock_hands_over() {
        for (text, handed_over) in [
            // One thread stores and sets a flag, another one waits for it and loads.
            ("u 1,2:\n 4: L1 a0 L2 x2\nd 2,3: L5 x3\n 4: L6 a1\nu:", true),
            // The wait is there, but nobody sets anything behind the store.
            ("u 1,2:\n 4: L1 x2 L2 a0\nd 2,3: L5 x3\n 4: L6 a1\nu:", false),
            // The flag is set, but nobody looks at it.
            ("u 1,2:\n 4: L1 a0 L2 x2\n 2,3: L5 x3\n 4: L6 a1\nu:", false),
            // A lock around one statement.
            ("d 0,1: L1 x3\n 2: L2 a0 a1 L3 x2\nu:", true),
            // The loop with the compare-and-swap comes before both.
            ("d 0,1: L1 x3\n 2: L2 a0 L3 a1 x2\nu:", false),
            // It is between them.
            ("u 1: L2 a0\nd 1,2: L1 x3\nu: L3 a1", true),
            // The last one to count looks at all; barriers stand between.
            ("u 1: L1 a0 B L2 x2\nd 2,3: B\n 3: L5 a1\nu:", true),
            // The wait is in a loop over all that are waited for, or for all locks, as its head begins.
            ("u 1: L1 a0 L2 x2\n 2,4: L3\nd 2,3: L4 x3\n 1: L5\nu: L6 a1", true),
            ("u 1:\n 2,4: L3\nd 2,3: L4 x3\n 1: L5\nu: L6 a0 a1 L7 x2", true),
            // What the atomic gave decides what the loop does, not when it ends.
            ("u 1: L1 a0 L2 x2\n 2,5: L3\nd 3,4: L4 x3\n 4: a9\n 1: L5\nu: L6 a1", false),
            // What the atomic gave decides something else.
            ("u 1: L1 a0 L2 x2\nd 2,3:\n 3: L5 a9\nu: L6 a1", false),
        ] {
            assert_eq!(is_handed_over(&flow(text), [0, 1], true), handed_over, "{text}");
        }
        let told = |text: &str| is_told_of(&flow(text), [0, 1], [2, 3]);
        let wait = "u 1,2:\n 4: L1 a0 L2 a2\ns 2,3: L5 a3\n 4: L6 a1\nu:";
        let look = "u 1,2:\n 5: L1 a0 L2 a2\n 3,4: L5\ns 2,4: L5 a3\n 5: L6 a1\nu:";
        assert!(told(wait) && told(look));
        // What it tells of is stored in a loop.
        assert!(told("u 1,4:\n 2,3: L1\n 1: a0\n 6: L2 a2\ns 4,5: L5 a3\n 6: L6 a1\nu:"));
        // The flag is set first, another way leads to what it tells of, or nobody waits.
        assert!(!told(&wait.replace("L1 a0 L2 a2", "L1 a2 L2 a0")));
        assert!(!told(&wait.replace("u 1,2:", "u 1,2,3:")));
        assert!(!told(&wait.replace("s 2,3", "2,3")));
        assert!(spins(&flow("s 0,1: a0\nu: a1"), 0) && !spins(&flow("s 0,1: a0\nu: a1"), 1));
    }

    #[test]
    fn threads_that_claim_an_entry_exclude_nobody() {
        let excludes = |text: &str| may_exclude(&Flow { looks: vec![8, 9], ..flow(text) }, [0, 1]);
        let lock = "d 0,1: L1 x3\n 2: L2 a0 a1 L3 x2\nu:";
        assert!(excludes(lock));
        // A ticket is taken, and then a loop looks whether it is served. A flag that each one gives to the next.
        assert!(excludes("u 1: L1 x3\nd 1,2: L2 x8\n 3: L3 a0 a1 L4 x2\nu:"));
        assert!(excludes("u 1: L1\nu 2: L5\nd 2,3: L2 x8\n 1,4: L3 a0 a1 L4 x2\nu:"));
        // Nothing is given back: the only atomic behind the update is the next claim.
        assert!(!excludes("u 1: L1\nd 1,2: L2 x3\n 1,3: L3 a0 a1\nu:"));
        // Another atomic of the block that decides gives something back.
        assert!(excludes("u 1: L1\nd 1,2: L2 x4 x3\n 1,3: L3 a0 a1\nu:"));
        // Several locks are taken in a loop, whose header leads on.
        assert!(excludes("u 1:\n 2,3:\nd 1,2: L1 x3\nu: L2 a0 a1 L3 x2"));
        // Who looks once has claimed nothing.
        assert!(!excludes("d 1,2: L1 x8\n 2: L2 a0 a1 L3 x2\nu:"));
        assert!(excludes("d 1,2: L1 x3\n 2: L2 a0 a1 L3 x2\nu:"));
    }

    #[test]
    fn a_lock_with_a_plain_access_tells_of_what_it_guards() {
        let told = |text: &str| is_told_of(&flow(text), [0, 1], [2, 3]);
        let lock = "u 1:\nd 1,2: L1 x2\n: L2 a0 a1 L3 a3";
        assert!(told(lock) && is_waited_for(&flow(lock), [2, 3]) && is_waited_for(&flow(lock), [3, 2]));
        // It is freed first, another way leads past the lock, or the access stands before it.
        assert!(!told(&lock.replace("L2 a0 a1 L3 a3", "L3 a3 L2 a0 a1")));
        assert!(!told(&lock.replace("u 1:", "u 1,2:")));
        assert!(!told(&lock.replace("u 1:", "u 1: a0").replace("L2 a0 a1", "L2").replace("a3", "a3 a1")));
        // Who sets a flag has not waited for it: what comes before is handed over.
        assert!(told("u 1,2:\n 4: L1 a0 L2 a3\nd 2,3: L5 x2\n 4: L6 a1\nu:"));
        // Nobody waits, or the loop does other things.
        for other in [lock.replace("d 1,2", "1,2"), lock.replace("d 1,2", "d 2"), lock.replace("x2", "x2 a9")]
        {
            assert!(!told(&other) && !is_waited_for(&flow(&other), [2, 3]), "{other}");
        }
        // A loop of compare-and-swaps after a plain read updates.
        let updates = vec![Update { read: 9, change: 2, by_value: false, by_one: false }];
        let swaps = Flow { updates, ..flow(&lock.replace("u 1:", "u 1: a9")) };
        assert!(!is_waited_for(&swaps, [2, 3]) && !is_told_of(&swaps, [0, 1], [2, 3]));
    }

    #[test]
    fn a_flag_that_is_checked_twice_tells_of_what_the_lock_guards() {
        // Sites: 0 and 1 are the data, 2 the first look, 3 the second one, 4 the store, 5 and 6 the lock.
        let text = "u 1,4: L1 a2\nd 1,2: L2 x5\n 3,4: L3 a3\n 4: L4 a0 L5 a4 L6 x6\nu: L7 a1";
        let update = |read| Update { read, change: 4, by_value: true, by_one: false };
        let with = |text: &str, reads: &[u32]| Flow {
            updates: reads.iter().map(|&read| update(read)).collect(),
            ..flow(text)
        };
        let twice = with(text, &[2, 3]);
        assert!(is_checked_twice(&twice, [2, 4]) && is_checked_twice(&twice, [4, 2]));
        assert!(is_told_of(&twice, [0, 1], [2, 4]) && is_told_of(&twice, [1, 0], [4, 2]));
        // The second look is that of the lock's holder.
        assert!(!is_checked_twice(&twice, [3, 4]));
        // The flag does not order what comes before the first look.
        let before = text.replace("L1 a2", "L1 a1 a2").replace("L7 a1", "L7");
        assert!(!is_told_of(&with(&before, &[2, 3]), [0, 1], [2, 4]));
        // Nobody looks again, or there is no lock: an update that is not atomic.
        assert!(!is_checked_twice(&with(text, &[2]), [2, 4]));
        assert!(!is_checked_twice(&with(&text.replace("d 1,2", "1,2"), &[2, 3]), [2, 4]));
    }

    #[test]
    fn a_release_before_what_it_should_tell_of_comes_too_early() {
        let early = |text: &str, across_blocks| {
            let flow = Flow { looks: vec![6], shared: vec![5, 6], ..flow(text) };
            is_released_early(&flow, [0, 1], across_blocks)
        };
        // A thread arrives, stores, waits and loads. The same in a loop.
        let arrives = "u 1: L1 x5 L2 a0\nd 1,2: L3 x6\nu: L4 a1";
        let looped = "u 1:\nu 2: L1 x5 L2 a0\nd 2,3: L3 x6\nu 1,4: L4 a1\nu:";
        // One thread sets a flag and stores, another one waits.
        let flagged = "u 1,2:\n 4: L1 x5 L2 a0\nd 2,3: L3 x6\n 4: L4 a1\nu:";
        for text in [arrives, looped, flagged] {
            assert!(early(text, false), "{text}");
            // Shared memory orders no blocks.
            assert!(!early(text, true));
            // A release follows, none comes before, a barrier stands between, or nobody looks.
            for (from, to) in [("a0", "a0 x7"), ("x5 ", ""), ("x5", "x5 B"), ("d ", "u ")] {
                assert!(!early(&text.replace(from, to), false), "{text}: {to}");
            }
        }
        // A thread waits, loads, and stores what the next one should wait for. With the release between the two, it
        // stores too late.
        assert!(!early("u 1: L1 x5\nd 1,2: L3 x6\nu: L4 a1 L5 a0", false));
        let chain = "u 1: L1\nd 1,2: L3 x6\nu: L4 a1 L5 x7 a0";
        assert!(early(chain, true) && early(chain, false));
        assert!(
            !early(&chain.replace("x7 a0", "a0 x7"), true) && !early(&chain.replace("x7", "B x7 B"), true)
        );
        // A counter is added to, and the sum decides who reads: nobody waits.
        assert!(!early("d 1,2: L1 x5 L2 a0 L3\nu 2: L4 a1\nu:", false));
        // Another thread adds nothing until the counter has changed.
        let adds = "u 1,2:\n 4: L1 x5 L2 a0\nd 3,4: L3 x4\n 4: L4 a1\nu:";
        assert!(!early(adds, false) && early(&adds.replace("d 3,4", "d 2,3"), false));
        // A look is no release.
        let told = Flow { looks: vec![2], ..flow("u 1,2:\n 4: L1 a0 L2 x2\nd 2,3: L5 x3\n 4: L6 a1\nu:") };
        assert!(!is_handed_over(&told, [0, 1], false));
    }

    #[test]
    fn who_is_told_by_arrivals_lacks_no_fence() {
        let of = |text: &str| Flow { looks: vec![6, 8], arrivals: vec![5, 7], ..flow(text) };
        let told = |text: &str| is_told_by_arrivals(&of(text), [0, 1]);
        let looked = |text: &str| are_looked_for(&of(text), [0, 1]);
        // A thread stores, arrives, waits and loads, in rounds.
        let rounds = "u 1:\nu 2: L1 a0 L2 x5\nd 2,3: L2 x6\nu 4: L3 a1 L4 x7\nd 4,5: L4 x8\nu 1,6:\nu:";
        assert!(told(rounds) && looked(rounds));
        // An atomic tells of something, too, or nobody arrives.
        assert!(!told(&rounds.replace("a1", "a1 x9")) && !told(&rounds.replace("x5", "").replace("x7", "")));
        // Nobody takes a way by what the last atomic counts.
        let counts = rounds.replace("u 1,6:\nu:", "u 1,6:\nu: x9");
        assert!(!told(&counts));
        assert!(is_told_by_arrivals(&Flow { counts: vec![9], ..of(&counts) }, [0, 1]));
        // Some threads do not wait.
        assert!(!looked(&rounds.replace("u 2: L1", " 2,3: L1")));
        // One thread stores and another one loads. Who stores does not look.
        let two = "u 1,3:\nd 1,2: L1 x6\n 5: L2 a0 x5\nd 3,4: L3 x8\n 5: L4 a1 x7\nu:";
        assert!(told(two) && looked(two) && !looked(&two.replace("u 1,3:", "u 2,3:")));
    }

    #[test]
    fn one_lock_guards_what_no_atomic_parts() {
        let together = |text: &str| are_told_together(&flow(text), [0, 0], [1, 2]);
        let lock = "d 0,1: L1 x3\nu: L2 a0 L3 a1 L4 a2 L5 x4";
        assert!(together(lock));
        assert!(
            !together(&lock.replace("L3 a1", "x5 x6 L3 a1")) && !together(&lock.replace("L4 a2", "L4 B a2"))
        );
        // What only counts parts nothing.
        let counts = Flow { counts: vec![5], ..flow(&lock.replace("L3 a1", "x5 L3 a1")) };
        assert!(are_told_together(&counts, [0, 0], [1, 2]));
    }

    #[test]
    fn who_does_not_look_is_told_of_nothing() {
        // The producer arrives at `empty` and writes; the consumers look at `full`, read, and arrive.
        let ring = "u 1,3:\nu 2: L1 x5\n 1,5: L2 a0 x7\nd 3,4: L3 x6\n 3,5: L4 a1 x5\nu:";
        let side = |text: &str| {
            unwaited_side(&Flow { looks: vec![6, 8], arrivals: vec![5, 7], ..flow(text) }, [0, 1])
        };
        assert_eq!(side(ring), Some(0));
        assert_eq!(side(&ring.replace("L1 x5", "L1")), Some(0));
        // It looks too.
        assert_eq!(side(&ring.replace("u 2: L1 x5", "d 1,2: L1 x5 x8")), None);
        // The consumers do not look either, do not arrive behind the read, or an atomic tells of something.
        assert_eq!(side(&ring.replace("L3 x6", "L3")), None);
        assert_eq!(side(&ring.replace("L4 a1 x5", "x5 L4 a1")), None);
        assert_eq!(side(&ring.replace("L4 a1 x5", "L4 a1 B x5")), None);
        assert_eq!(side(&ring.replace("L4 a1 x5", "L4 a1 x5 x9")), None);
    }

    #[test]
    fn a_loop_may_look_after_it_has_read() {
        let looks = |text: &str| is_looked_after(&Flow { looks: vec![5, 6], ..flow(text) }, 1);
        let sequence = "u 1:\nd 1,2: L1 x5 L2 a1 L3 x6\nu:";
        assert!(looks(sequence));
        assert!(looks("u 1:\nu 2: L1 x5 L2 a1 L3 x6\nd 1,3: L4\nu:"));
        for other in [
            sequence.replace("x5", ""),
            sequence.replace("x6", ""),
            sequence.replace("d 1,2", "1,2"),
            sequence.replace("L2 a1", "").replace("u:", "u: a1"),
            // Threads wait before and after the read, in a loop that a counter ends.
            "u 1:\nd 1,2: L1 x5\nu 3: L2 a1\nd 3,4: L3 x6\nu 1,5:\nu:".to_owned(),
        ] {
            assert!(!looks(&other), "{other}");
        }
    }

    #[test]
    fn one_object_may_tell_of_another_one() {
        let between = "u 1,2:\n 3: L1 a0 L2 a2\n 3: L5 a3 L6 a1\nu:";
        let tells = |text: &str| may_tell_of(&flow(text), [0, 1], [2, 3]);
        assert!(tells(between));
        // The flag is written first, or read last.
        assert!(!tells(&between.replace("L1 a0 L2 a2", "L2 a2 L1 a0")));
        assert!(!tells(&between.replace("L5 a3 L6 a1", "L6 a1 L5 a3")));
        // All threads make all of them, or other threads make one.
        assert!(!tells("u: L1 a0 L2 a2 L5 a3 L6 a1"));
        assert!(!tells("u 1,2,3:\n 4: L1 a0 L2 a2\n 4: L5 a3\n 4: L6 a1\nu:"));
        // The other way around, nothing is told.
        assert!(!may_tell_of(&flow(between), [2, 3], [0, 1]));
    }
}
