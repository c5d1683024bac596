//! Where new statements would stand in the control flow.

use std::collections::{BTreeSet, HashMap};

use gpurace_abi::flow::{Flow, Step};

use super::{Insertion, Line, Unordered};
use crate::paths::{StepPlace, loops, reversed};

/// The places of new statements: one in the kernel, or one in each call of a function.
pub(super) type Places = HashMap<Insertion, Vec<StepPlace>>;

/// Returns the first step of each line, in the kernel and in each call.
fn first_of_lines(kernel: &Unordered<'_>) -> HashMap<(u32, Option<u32>), StepPlace> {
    let mut first = HashMap::new();
    for (block, body) in kernel.flow.blocks.iter().enumerate() {
        for (at, step) in body.steps.iter().enumerate() {
            if let Some(line) = kernel.line_of(*step) {
                first.entry(line).or_insert((block, at));
            }
        }
    }
    first
}

/// Returns the places of all new statements that the source has room for.
pub(super) fn places_of(kernel: &Unordered<'_>, kind: &impl Fn(Insertion) -> Option<Line>) -> Places {
    let reverse = reversed(kernel.flow);
    let loops: Vec<_> = loops(kernel.flow, &reverse).collect();
    let mut places: HashMap<Insertion, Option<Vec<StepPlace>>> = HashMap::new();
    for ((line, call), first) in first_of_lines(kernel) {
        let is_head = kind(Insertion::Before(line)) == Some(Line::LoopHead);
        let before = if is_head {
            before_loop(kernel.flow, &loops, &reverse, (line, call), first)
        } else {
            Some(first)
        };
        let end = kind(Insertion::BodyEnd(line)).map(|_| end_of_body(kernel.flow, &loops, (line, call)));
        for (one, place) in [(Insertion::Before(line), Some(before)), (Insertion::BodyEnd(line), end)] {
            let Some(place) = place else { continue };
            let known = places.entry(one).or_insert_with(|| Some(Vec::new()));
            *known = known.take().and_then(|mut known| {
                known.push(place?);
                Some(known)
            });
        }
    }
    let known = |(one, places): (Insertion, Option<Vec<StepPlace>>)| {
        let mut places = places?;
        places.sort_unstable();
        Some((one, places))
    };
    places.into_iter().filter_map(known).collect()
}

/// The header and the blocks of a loop.
type Loop = (usize, BTreeSet<usize>);

/// Returns the first line of the kernel, or of this call, that a loop has.
fn first_line(flow: &Flow, blocks: &BTreeSet<usize>, call: Option<u32>) -> Option<u32> {
    let steps = blocks.iter().flat_map(|&block| &flow.blocks[block].steps);
    steps.filter_map(|step| line_in(*step, call)).min()
}

/// Returns the place before a loop, given the line of its head and that line's first step. If the loop is not the
/// line's own, this is no place. If the line has no loop any more, it is before the line.
fn before_loop(
    flow: &Flow,
    loops: &[Loop],
    reverse: &[Vec<usize>],
    (line, call): (u32, Option<u32>),
    first: StepPlace,
) -> Option<StepPlace> {
    let mut around = loops.iter().filter(|(_, blocks)| blocks.contains(&first.0));
    // An outer loop has earlier lines. So has one of whose head nothing is left but a step.
    let Some((header, _)) = around.find(|(_, blocks)| first_line(flow, blocks, call) >= Some(line)) else {
        return Some(first);
    };
    let outer = &mut reverse[*header].iter().copied().filter(|from| from < header);
    let from = outer.next().filter(|_| outer.next().is_none())?;
    let is_only_way = flow.blocks[from].next.len() == 1;
    is_only_way.then(|| (from, flow.blocks[from].steps.len()))
}

/// Returns the place behind the body of a loop, before what its head does for the next iteration, given the head's
/// line. `None` if the line has no loop any more, or several ways lead back to its start.
fn end_of_body(flow: &Flow, loops: &[Loop], (line, call): (u32, Option<u32>)) -> Option<StepPlace> {
    let own = loops.iter().filter(|(_, blocks)| first_line(flow, blocks, call) == Some(line));
    let (header, blocks) = own.min_by_key(|(_, blocks)| blocks.len())?;
    let back =
        &mut blocks.iter().copied().filter(|&block| flow.blocks[block].next.contains(&(*header as u32)));
    let latch = back.next().filter(|_| back.next().is_none())?;
    let steps = &flow.blocks[latch].steps;
    let body = steps.iter().rposition(|step| line_in(*step, call).is_some_and(|own| own != line));
    // A head with a line of its own begins there. One that shares the body's line has no place of its own: its
    // accesses in this block count as the body's.
    let head = body.and_then(|body| steps[body..].iter().position(|step| line_in(*step, call) == Some(line)));
    Some((latch, body.zip(head).map_or(steps.len(), |(body, head)| body + head)))
}

/// Returns the line of the kernel, or of this call, that begins at a step.
fn line_in(step: Step, of: Option<u32>) -> Option<u32> {
    match step {
        Step::Line(line) if of.is_none() => Some(line),
        Step::Inlined { line, call, .. } if of == Some(call) => Some(line),
        _ => None,
    }
}
