//! Batches of a cut kernel: which checks become affine rows ([`crate::blocks::affine_rows`]), rows
//! ([`crate::blocks::rows`]) and gathered accesses ([`crate::blocks::gathered`]), and where they
//! lie in the frame.

use std::collections::{HashMap, HashSet};

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::batch::{FrameAddresses, FrameBatch, MOST_ROWS};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::crossing::Crossing;
use super::{Cut, Cutter, ThreadParameter};
use crate::analysis::uniform::BlockUniform;
use crate::blocks::affine_rows::{self, AffineFunctions, Segment, SegmentSource};
use crate::blocks::gathered::{self, AccessBuffer, GatheredAccess};
use crate::blocks::rows::{self, BatchedAccess};
use crate::ir;

/// Most places at which buffers are handed over before writes.
const MOST_HANDED_OVER: usize = 512;

/// For the check of each access: the number of its affine row, and the offset of the addresses in blocks in which the
/// row is not affine.
type AffinePlaces = HashMap<LLVMValueRef, (u32, u32)>;

/// The affine rows of a cut function.
#[derive(Default)]
pub(super) struct AffineRows {
    pub(super) rows: AffinePlaces,
    /// For each point, the functions that compute the rows.
    pub(super) functions: Vec<Option<AffineFunctions>>,
}

impl Cutter {
    /// Finds the accesses that are affine rows in all segments that they are made in.
    pub(super) unsafe fn affine_rows(
        &mut self,
        cuts: &[Cut],
        after: &[LLVMBasicBlockRef],
        uniform: &BlockUniform,
        crossing: &[Crossing],
    ) -> AffineRows {
        // SAFETY: by contract.
        unsafe {
            let ends: HashSet<_> = cuts.iter().map(|cut| LLVMGetInstructionParent(cut.at)).collect();
            let next: HashMap<_, _> = ir::blocks(self.function)
                .map(|block| (block, if ends.contains(&block) { Vec::new() } else { ir::successors(block) }))
                .collect();
            let kept = crossing.iter().map(|c| (c.value, (c.points.clone(), c.shared))).collect();
            let by_value = (0..self.kernel_parameters as u32)
                .filter(|&i| self.is_by_value(i))
                .map(|i| LLVMGetParam(self.function, i))
                .collect();
            let source = SegmentSource {
                module: self.module,
                function: self.function,
                kernel_parameters: self.kernel_parameters,
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
            let checks = ir::instructions(self.function)
                .into_iter()
                .filter(|&i| rows::batched_access(i).is_some())
                .filter(once);
            let most = if ablation::is_on(Mechanism::AffineRows) { MOST_ROWS } else { 0 };
            let calls: Vec<_> = (0..).zip(checks.take(most)).collect();
            let mut found = AffineRows::default();
            let mut none = HashSet::new();
            for segment in &segments {
                let blocks = segment.blocks();
                let calls: Vec<_> = calls
                    .iter()
                    .copied()
                    .filter(|(_, call)| blocks.contains(&LLVMGetInstructionParent(*call)))
                    .collect();
                let number = |call| calls.iter().find(|c| c.1 == call).map_or(0, |c| c.0);
                found.functions.push(affine_rows::functions(&source, segment, &calls, |call, is_affine| {
                    if !is_affine {
                        none.insert(call);
                        return 0;
                    }
                    found.rows.entry(call).or_insert_with(|| (number(call), self.thread_bytes_at(8, 8))).1
                }));
            }
            found.rows.retain(|call, _| !none.contains(call));
            found
        }
    }

    /// Turns checks into batches, and removes them. `affine` is the result of [`Self::affine_rows`]. Returns for each
    /// point the batches that its segment fills: the gathered ones first.
    pub(super) unsafe fn batch_checks(
        &mut self,
        after: &[LLVMBasicBlockRef],
        affine: &AffinePlaces,
    ) -> Vec<Vec<FrameBatch>> {
        // SAFETY: by contract.
        unsafe {
            let accesses = rows::find(self.function);
            let (gathered, writes) = self.gathered_and_writes(&accesses);
            let (mut batches, mut marks) = (Vec::new(), HashMap::new());
            for access in &accesses {
                batches.push(self.row(access, affine, &mut marks));
            }
            let mut buffers = Vec::new();
            for of in &gathered {
                let (at, buffer) = self.array(gathered::BUFFER_BYTES, 8);
                buffers.push((of.batch(at), buffer));
            }
            batches.extend(buffers.iter().map(|(batch, _)| *batch));
            let of_rows = accesses.iter().map(|access| std::slice::from_ref(&access.block));
            let at: Vec<_> = of_rows.chain(gathered.iter().map(|of| &*of.around)).collect();
            let of_point = |start| {
                let all = rows::of_segment(start, &at).into_iter().map(|i| batches[i]);
                let (gathered, rows): (Vec<_>, Vec<_>) = all.partition(FrameBatch::is_gathered);
                [gathered, rows].concat()
            };
            let of_points = std::iter::once(self.first).chain(after.iter().copied()).map(of_point).collect();
            for (of, (batch, place)) in gathered.iter().zip(buffers) {
                let [linear, threads, frame] =
                    [ThreadParameter::Linear, ThreadParameter::Threads, ThreadParameter::Frame]
                        .map(|p| self.parameter(p));
                let buffer = AccessBuffer {
                    start: self.start,
                    frame,
                    batch,
                    place,
                    linear,
                    threads,
                    thread_context: LLVMGetParam(self.function, 0),
                };
                gathered::gather(self.module, self.builder, of, buffer, &writes);
            }
            of_points
        }
    }

    /// The accesses to gather, beside these rows, and the writes whose checks stay calls. Each such call hands over
    /// each buffer, so the product of their numbers is bounded.
    unsafe fn gathered_and_writes(&self, rows: &[BatchedAccess]) -> (Vec<GatheredAccess>, Vec<LLVMValueRef>) {
        // SAFETY: by contract.
        unsafe {
            let is_row = |call| rows.iter().any(|access| access.call == call);
            let mut writes = ir::instructions(self.function);
            writes.retain(|&i| rows::is_write(i) && !is_row(i));
            let mut gathered = gathered::find(self.function);
            gathered.retain(|_| ablation::is_on(Mechanism::GatheredAccesses));
            let is_gathered = |call, gathered: &[GatheredAccess]| gathered.iter().any(|of| of.call() == call);
            let calls = writes.iter().filter(|&&call| !is_gathered(call, &gathered)).count();
            gathered.truncate(MOST_HANDED_OVER / calls.max(1));
            writes.retain(|&call| !is_gathered(call, &gathered));
            (gathered, writes)
        }
    }

    /// Turns the check of an access into a row. The accesses of a basic block that are affine rows share one place, by
    /// `marks`: the first one stores there that the thread makes all of them.
    unsafe fn row(
        &mut self,
        access: &BatchedAccess,
        affine: &AffinePlaces,
        marks: &mut HashMap<LLVMBasicBlockRef, u32>,
    ) -> FrameBatch {
        // SAFETY: by contract.
        unsafe {
            let addresses = match affine.get(&access.call) {
                Some(&(lines, at)) => {
                    let active = *marks.entry(access.block).or_insert_with(|| {
                        let (active, place) = self.thread_place(4, 4);
                        rows::store_active(self.builder, self.context, access, place);
                        active
                    });
                    FrameAddresses::Affine { at, lines, active }
                }
                None => {
                    let (at, place) = self.thread_place(8, 8);
                    rows::store_address(self.builder, access, place);
                    FrameAddresses::Each { at }
                }
            };
            let values = access.value.map(|_| {
                let ty = LLVMIntTypeInContext(self.context, 8 * access.size);
                let values = [(); 2].map(|()| {
                    let (at, place) = self.thread_place(access.size.into(), access.size.into());
                    (at, self.stored_at_end(access.block, ty, place))
                });
                rows::store_values(self.builder, access, values.map(|(_, variable)| variable));
                values.map(|(at, _)| at)
            });
            LLVMInstructionEraseFromParent(access.call);
            access.batch(addresses, values)
        }
    }

    /// Adds a variable. At the end of each segment that may run `block`, all threads store its value at `place`, also
    /// those that did not run `block`: so LLVM needs no masked store.
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
