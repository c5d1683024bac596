//! Flags and locks: whether a program seems to order two accesses by what atomics have read.

use std::collections::BTreeSet;

use gpurace_abi::flow::{Flow, FlowBlock, Step, Update};

use crate::barriers::Pair;
use crate::paths::{
    StepPlace, Walk, innermost_loop, is_one_statement, line, lines_before, places, reached, reached_without,
    reaches, reaches_in_turn, reversed, successors,
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
/// atomic that changes memory, or waits in a loop of atomics alone. Behind it, it gives that back by an atomic. One
/// that only decides where its own thread goes gives nothing back, such as that which claims an entry of a table.
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
    let is_behind = |release: u32, site: u32| {
        let (from, to) = (places.get(&site), places.get(&release));
        from.zip(to).is_some_and(|(&from, &to)| reaches_in_turn(flow, from, to))
    };
    // Who takes first gives on what it makes of that: the release stands between the two.
    let takes_first = places.get(&taken).is_some_and(|&taken| reaches_in_turn(flow, taken, at));
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
mod tests;
