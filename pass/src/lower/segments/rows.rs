//! Accesses of a segment that leave their addresses in the frame instead of being checked each for itself: as lines, as
//! rows and in pools ([`crate::lower::lines`], [`crate::lower::rows`], [`crate::lower::streams`]).

use std::collections::{HashMap, HashSet};

use gpurace_abi::image::{MOST_ROWS, RowSite};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::crossing::Crossing;
use super::{Cutter, Own};
use crate::ir;
use crate::lower::lines::{self, Before, Segment, Source};
use crate::lower::rows::{self, Items, Kept, Leaves};
use crate::lower::streams::{self, Pool, Stream};
use crate::lower::uniform::Uniform;

/// Places at which pools are handed over before writes, at most.
const MOST_HANDED_OVER: usize = 512;

/// Which accesses' addresses follow from the index.
#[derive(Default)]
pub(super) struct Known {
    /// By the call that checks it: the number of its lines, and where its addresses lie where they do not hold.
    pub(super) lines: HashMap<LLVMValueRef, (u64, u64)>,
    /// By point.
    pub(super) before: Vec<Option<Before>>,
}

impl Cutter {
    /// Finds which accesses' addresses follow from the thread's index in all segments that they are made in.
    pub(super) unsafe fn lines(
        &mut self,
        barriers: &[LLVMValueRef],
        after: &[LLVMBasicBlockRef],
        uniform: &Uniform,
        crossing: &[Crossing],
    ) -> Known {
        // SAFETY: by contract.
        unsafe {
            let ends: HashSet<_> = barriers.iter().map(|&b| LLVMGetInstructionParent(b)).collect();
            let next: HashMap<_, _> = ir::blocks(self.function)
                .map(|block| (block, if ends.contains(&block) { Vec::new() } else { ir::successors(block) }))
                .collect();
            let kept = crossing.iter().map(|c| (c.value, (c.points.clone(), c.shared))).collect();
            let by_value = (0..self.own as u32)
                .filter(|&i| self.is_by_value(i))
                .map(|i| LLVMGetParam(self.function, i))
                .collect();
            let source = Source {
                module: self.module,
                function: self.function,
                own: self.own,
                computed: self.start,
                uniform,
                kept: &kept,
                by_value,
            };
            let starts = std::iter::once(self.first).chain(after.iter().copied());
            let segments: Vec<_> =
                starts.enumerate().map(|(point, start)| Segment { point, start, next: &next }).collect();
            let once = |&call: &LLVMValueRef| {
                let block = LLVMGetInstructionParent(call);
                !segments[0].after(block).contains(&block)
            };
            let checks =
                ir::instructions(self.function).into_iter().filter(|&i| rows::kept(i).is_some()).filter(once);
            let calls: Vec<_> = (0..).zip(checks.take(MOST_ROWS)).collect();
            let mut known = Known::default();
            let mut none = HashSet::new();
            for segment in &segments {
                let blocks = segment.blocks();
                let calls: Vec<_> = calls
                    .iter()
                    .copied()
                    .filter(|(_, call)| blocks.contains(&LLVMGetInstructionParent(*call)))
                    .collect();
                let number = |call| calls.iter().find(|c| c.1 == call).map_or(0, |c| c.0);
                known.before.push(lines::before(&source, segment, &calls, |call, does| {
                    if !does {
                        none.insert(call);
                        return 0;
                    }
                    known
                        .lines
                        .entry(call)
                        .or_insert_with(|| {
                            let at = self.thread_bytes.next_multiple_of(8);
                            self.thread_bytes = at + 8;
                            (number(call), at)
                        })
                        .1
                }));
            }
            known.lines.retain(|call, _| !none.contains(call));
            known
        }
    }

    /// Has accesses leave their addresses in the frame instead of being checked each
    /// for itself. By point, those that are reached from it.
    pub(super) unsafe fn keep_rows(
        &mut self,
        after: &[LLVMBasicBlockRef],
        lines: &HashMap<LLVMValueRef, (u64, u64)>,
    ) -> Vec<Vec<RowSite>> {
        // SAFETY: by contract.
        unsafe {
            let accesses = rows::find(self.function);
            let is_row = |i: &LLVMValueRef| accesses.iter().any(|access| access.call() == *i);
            let writes: Vec<_> = ir::instructions(self.function)
                .into_iter()
                .filter(|&i| rows::is_write(i) && !is_row(&i))
                .collect();
            let mut streams = streams::find(self.function);
            // Each pool is looked at before each of the writes.
            streams.truncate(MOST_HANDED_OVER / writes.len().max(1));
            let (mut places, mut sites) = (Vec::new(), Vec::new());
            let mut marks = HashMap::new();
            for access in &accesses {
                let (items, place) = match lines.get(&access.call()) {
                    Some(&(number, items)) => {
                        let mark = *marks.entry(access.block()).or_insert_with(|| {
                            let at = self.thread_bytes.next_multiple_of(4);
                            (at, self.thread_place(4, 4))
                        });
                        (Items::Lines { number, items, active: mark.0 }, mark.1)
                    }
                    None => (Items::Each(self.thread_bytes.next_multiple_of(8)), self.thread_place(8, 8)),
                };
                let values = access.value_bytes().map(|n| {
                    [(); 2].map(|()| {
                        let at = self.thread_bytes.next_multiple_of(n);
                        let place = self.thread_place(n, n);
                        (
                            at,
                            self.stored_at_end(
                                access.block(),
                                LLVMIntTypeInContext(self.context, 8 * n as u32),
                                place,
                            ),
                        )
                    })
                });
                sites.push(access.row_site(&items, values.map(|v| v.map(|(at, _)| at))));
                places.push((place, values.map(|v| v.map(|(_, place)| place))));
            }
            let mut pools = Vec::new();
            for stream in &streams {
                let pool = self.thread_bytes.next_multiple_of(8);
                pools.push(self.array(streams::POOL_BYTES, 8));
                sites.push(stream.row_site(pool));
            }
            let blocks: Vec<_> = accesses.iter().map(Kept::block).collect();
            let at: Vec<_> =
                blocks.iter().map(std::slice::from_ref).chain(streams.iter().map(Stream::blocks)).collect();
            let starts = std::iter::once(self.first).chain(after.iter().copied());
            let of_points = starts
                .map(|start| {
                    let all = rows::of_segment(start, &at).into_iter().map(|i| sites[i]);
                    let (pools, rows): (Vec<_>, Vec<_>) = all.partition(RowSite::is_pool);
                    [pools, rows].concat()
                })
                .collect();
            for (access, &(place, values)) in accesses.iter().zip(&places) {
                // The first of a block says of all of them that they are made.
                let leaves = match lines.contains_key(&access.call()) {
                    true => Leaves::Mark(marks.remove(&access.block()).map(|_| place)),
                    false => Leaves::Address(place),
                };
                rows::keep(self.builder, self.context, access, leaves, values);
            }
            for (stream, place) in streams.iter().zip(pools) {
                let [linear, threads] = [Own::Linear, Own::Threads].map(|p| self.own(p));
                let pool = Pool {
                    start: self.start,
                    place,
                    linear,
                    threads,
                    thread_context: LLVMGetParam(self.function, 0),
                };
                streams::keep(self.module, self.builder, stream, pool, &writes);
            }
            of_points
        }
    }

    /// A variable of which a thread that may have come to `block` stores what it holds at the segment's end: there all threads
    /// store, so that LLVM needs no store under a mask.
    unsafe fn stored_at_end(
        &self,
        block: LLVMBasicBlockRef,
        ty: LLVMTypeRef,
        place: LLVMValueRef,
    ) -> LLVMValueRef {
        // SAFETY: by contract; each end is a block of the function.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            self.at_start();
            let variable = LLVMBuildAlloca(b, ty, none);
            for end in rows::ends(block) {
                LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(end));
                LLVMBuildStore(b, LLVMBuildLoad2(b, ty, variable, none), place);
            }
            variable
        }
    }
}
