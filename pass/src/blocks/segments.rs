//! Cuts a kernel at its barriers into segments: a function that runs one thread from one barrier to
//! the next.
//!
//! The code between barriers can run as a loop over the threads (Stratton, Stone, Hwu, "MCUDA",
//! 2008; Jääskeläinen et al., "pocl", 2015): all threads up to the first barrier, then all up to
//! the second. That is right if the block's threads reach each barrier together, which [`BlockUniform`]
//! must show. Threads that have ended need not come ([`early_exits`]). Other kernels run on the executor's fibers,
//! such as one in which some threads wait at a barrier, and others at a later one.
//!
//! Some loops are cut at their end too, as at a barrier ([`super::cut_loops`]). Where threads leave such a loop one by
//! one, each thread has a point of its own in the frame.
//!
//! The function takes the *point* at which its thread starts: 0, or the number of a barrier. The
//! caller passes a constant and inlines the call, so that each segment becomes code of its own. A
//! value that is needed after a barrier lies in the block's *frame* meanwhile. Values that differ
//! lie side by side for all threads, so that neighbouring threads use neighbouring memory; values
//! that all threads share lie there once. A value that depends only on the thread's index and the
//! arguments is computed again instead. LLVM then still sees how addresses depend on the index.
//!
//! Where a warp has collectives, its lanes run in the same way from one to the next, and the warps of the
//! block one after another (hierarchical collapsing: Han et al., "COX", 2022). A segment then ends at a
//! barrier or at a collective. Such code serves launches alone in which each warp has 32 lanes in one row
//! of the block. A warp whose lanes may not meet at each collective *parts*: each lane has a point of its own.
//!
//! | module | what it does |
//! |---|---|
//! | `collectives` | collectives of a warp become plain code between two cuts |
//! | `context` | fields of the thread context become parameters |
//! | `early_exits` | whether threads reach each barrier together, but for those that end before |
//! | `frame` | places in the frame; local variables move there |
//! | `loop_variables` | what threads add to their variables alike in a loop becomes a value that they share |
//! | `crossing` | values that are needed after a barrier are computed again or kept in the frame |
//! | `batches` | checks become batches in the frame |
//! | `meeting` | functions in which threads meet become part of the kernel |
//! | `points` | where a thread notes the point that it has reached, and where it goes on |
//! | `read_once` | one thread reads for all what decides whether they come to a barrier |
//! | `parting` | what lanes leave for each other; where a lane of a warp that parts is |

mod batches;
mod collectives;
mod context;
mod crossing;
mod early_exits;
mod frame;
mod loop_variables;
mod meeting;
mod parting;
mod points;
mod read_once;

use std::collections::HashSet;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::batch::{FrameBatch, SHARED_VALUES};
use gpurace_abi::context::{WARP_SIZE, offset};
use gpurace_abi::entry::Entry;
use gpurace_abi::meta::UNDER_CONDITION;
use gpurace_abi::warp::{WaitsFor, WarpPoint};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::affine_rows::AffineFunctions;
use super::apart;
use super::cut_loops::{self, LoopEnd, LoopSource};
use super::entries::Checks;
use super::unrolled;
use crate::analysis::uniform::BlockUniform;
use crate::ir;
use crate::ir::entry_calls::{EntryCall, entry_of};

pub use collectives::is_collective;
pub use context::FIELDS;
pub use frame::in_common;
use loop_variables::SharedSum;
pub use meeting::meeting_functions;
pub use points::for_some_threads;
pub use read_once::marks;

unsafe extern "C" {
    fn gpurace_clone_function(function: LLVMValueRef) -> LLVMValueRef;
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
}

/// Number of [`ThreadParameter`]s.
pub const THREAD_PARAMETERS: usize = 10;

/// The parameters that the segments' function has after the kernel's.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum ThreadParameter {
    /// Index of the thread in x.
    X = 0,
    /// In y.
    Y = 1,
    /// In z.
    Z = 2,
    /// Linear index of the thread, `i64`.
    Linear = 3,
    /// Number of threads of the block, `i64`.
    Threads = 4,
    /// The block's frame.
    Frame = 5,
    /// The point at which the thread starts.
    Point = 6,
    /// Index of the thread in its warp, `i64`. The last three are of warps that run by themselves.
    Lane = 7,
    /// Memory of the warp for what its lanes keep over a collective.
    Warp = 8,
    /// Memory of the warp in which lanes exchange values.
    Exchanged = 9,
}

/// Who runs the segment that begins at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// All threads of the block, which have all reached the point.
    Block,
    /// The lanes of a warp, which have all reached the point.
    Warp,
    /// The first lane of a warp for all its lanes, which have all reached the point.
    FirstLane,
    /// Lanes of a warp that have waited for each other there.
    Met(WaitsFor),
}

/// Where a segment ends and another one begins.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The last instruction before it, which is erased.
    at: LLVMValueRef,
    /// Who runs what follows.
    runs: Runs,
    /// The number of the synchronisation there; 0 at the end of a loop.
    sync: u32,
    /// At the end of a loop that threads leave one by one: the basic block that goes back to the loop's header.
    apart: Option<LLVMBasicBlockRef>,
}

/// A kernel that was cut.
#[derive(Debug)]
pub struct Segments {
    /// `void (context, kernel's parameters, the parameters of a thread, fields, shared values)`.
    pub function: LLVMValueRef,
    /// Who runs from each point: the start, the barriers, and the loops or collectives that are cut.
    pub runs: Vec<Runs>,
    /// For each point, the synchronisation there.
    pub syncs: Vec<u32>,
    /// Each lane of a warp may be at another point.
    pub parts: bool,
    /// The place of each thread's point, if some may end, or leave a loop, before others do.
    pub own_points: Option<u32>,
    /// How many points are barriers; these have the numbers from 1 on.
    pub barriers: u32,
    /// Fields of the thread context that are equal for all threads: offset, type.
    pub fields: Vec<(u64, LLVMTypeRef)>,
    /// Number of values that all threads share, in the frame's common part.
    pub shared: usize,
    /// Number of reads that one thread makes for all. Their places are among such values, behind the others: [`marks`].
    pub read_once: usize,
    /// Bytes of the frame for each thread.
    pub thread_bytes: u64,
    /// Bytes of what a warp's lanes keep over a collective, and of what they exchange.
    pub warp_bytes: [u64; 2],
    /// A thread may write to a struct that the kernel gets by value, and needs a copy of its own.
    pub copies: bool,
    /// The function uses the thread context in other ways too, so the context must name the thread.
    pub needs_context: bool,
    /// No two threads use the same place for variables of their own.
    pub parallel: bool,
    /// For each point, the batches that its threads fill.
    pub batches: Vec<Vec<FrameBatch>>,
    /// For each point, the functions that compute its affine rows.
    pub affine: Vec<Option<AffineFunctions>>,
}

impl Segments {
    /// True if the lanes of each warp run from one collective to the next.
    pub fn has_warps(&self) -> bool {
        self.runs.iter().any(|&runs| runs != Runs::Block)
    }

    /// The points of a warp that parts.
    pub fn warp_points(&self) -> impl Iterator<Item = WarpPoint> {
        self.runs.iter().zip(&self.syncs).map(|(&runs, &sync)| {
            let waits = match runs {
                Runs::Block => WaitsFor::Block,
                Runs::Warp | Runs::FirstLane => WaitsFor::Nothing,
                Runs::Met(waits) => waits,
            };
            WarpPoint { waits, sync: sync & !UNDER_CONDITION }
        })
    }
}

/// Most bytes that a lane keeps over collectives. They lie on the stack.
const MOST_LANE_BYTES: u64 = 1024;

/// Cuts a copy of `kernel`, which has the context as first parameter. Without checks, the functions of `meeting` become
/// part of the copy. `None` if threads of a block may not reach each barrier together, if threads of a warp may not
/// reach each collective together, or if the kernel has something that cannot be cut.
///
/// # Safety
/// `kernel` is a live definition of `module`.
pub unsafe fn cut(
    module: LLVMModuleRef,
    kernel: LLVMValueRef,
    checks: Checks,
    meeting: &HashSet<LLVMValueRef>,
) -> Option<Segments> {
    // SAFETY: by contract.
    unsafe {
        let try_cut = |loops| {
            let copy = gpurace_clone_function(kernel);
            if checks == Checks::None && !meeting::inline(copy, meeting) {
                LLVMDeleteFunction(copy);
                return None;
            }
            if checks.are_in_rows() && ablation::is_on(Mechanism::UnrolledLoops) {
                unrolled::unroll_loops(copy);
            }
            let mut cutter = Cutter::new(module, copy);
            let done = cutter.cut(checks, loops);
            LLVMDisposeBuilder(cutter.builder);
            if done.is_none() {
                let function = cutter.function;
                LLVMDeleteFunction(function);
            }
            done
        };
        // If the cut with loops fails, one without loops is still useful.
        let cut_loops = checks != Checks::Kept && ablation::is_on(Mechanism::CutLoops);
        cut_loops.then(|| try_cut(true)).flatten().or_else(|| try_cut(false))
    }
}

/// Cuts one function, and collects what [`Segments`] says of it.
struct Cutter {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    /// Number of the kernel's own parameters.
    kernel_parameters: usize,
    fields: Vec<(u64, LLVMTypeRef)>,
    /// The basic block that computes values which depend only on parameters.
    start: LLVMBasicBlockRef,
    first: LLVMBasicBlockRef,
    thread_bytes: u64,
    lane_bytes: u64,
    exchanged_bytes: u64,
    /// The lanes of a warp may not meet at each collective.
    parts: bool,
    read_once: usize,
    /// The place of each thread's point, and the address of the running thread's, if threads may be at different ones.
    own_point: Option<(u32, LLVMValueRef)>,
}

impl Cutter {
    /// Moves the body of `copy` to a function with the further parameters.
    unsafe fn new(module: LLVMModuleRef, copy: LLVMValueRef) -> Self {
        // SAFETY: by contract; the copy is deleted once its body has moved.
        unsafe {
            let context = ir::context(module);
            let old = ir::params(copy);
            let own = old.len();
            let (int, long) = (LLVMInt32TypeInContext(context), LLVMInt64TypeInContext(context));
            let ptr = LLVMPointerTypeInContext(context, 0);
            let mut types: Vec<_> = old.iter().map(|&p| LLVMTypeOf(p)).collect();
            types.extend([int, int, int, long, long, ptr, int, long, ptr, ptr]);
            // Fields and shared values come as 64-bit numbers.
            types.extend([long; FIELDS + SHARED_VALUES]);
            let ty =
                LLVMFunctionType(LLVMVoidTypeInContext(context), types.as_mut_ptr(), types.len() as u32, 0);
            let function = LLVMAddFunction(module, c"".as_ptr(), ty);
            for index in 1..=own as u32 {
                let count = LLVMGetAttributeCountAtIndex(copy, index) as usize;
                let mut attributes = vec![std::ptr::null_mut(); count];
                if count > 0 {
                    LLVMGetAttributesAtIndex(copy, index, attributes.as_mut_ptr());
                }
                attributes.into_iter().for_each(|a| LLVMAddAttributeAtIndex(function, index, a));
            }
            let blocks: Vec<_> = ir::blocks(copy).collect();
            for &block in &blocks {
                LLVMRemoveBasicBlockFromParent(block);
                LLVMAppendExistingBasicBlock(function, block);
            }
            for (from, to) in old.into_iter().zip(ir::params(function)) {
                LLVMReplaceAllUsesWith(from, to);
            }
            LLVMDeleteFunction(copy);
            let first = LLVMGetEntryBasicBlock(function);
            let start = LLVMInsertBasicBlockInContext(context, first, c"start".as_ptr());
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderAtEnd(builder, start);
            LLVMBuildBr(builder, first);
            Self {
                module,
                context,
                builder,
                function,
                kernel_parameters: own,
                fields: Vec::new(),
                start,
                first,
                thread_bytes: 0,
                lane_bytes: 0,
                exchanged_bytes: 0,
                parts: false,
                read_once: 0,
                own_point: None,
            }
        }
    }

    unsafe fn parameter(&self, which: ThreadParameter) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { LLVMGetParam(self.function, (self.kernel_parameters + which as usize) as u32) }
    }

    /// The parameter for a field of the thread context, by its index among [`Self::fields`].
    unsafe fn field_parameter(&self, index: usize) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { LLVMGetParam(self.function, (self.kernel_parameters + THREAD_PARAMETERS + index) as u32) }
    }

    /// The parameter for a value that all threads share at a point, by its number among these values.
    unsafe fn shared_parameter(&self, number: usize) -> LLVMValueRef {
        // SAFETY: the function has these parameters.
        unsafe { self.field_parameter(FIELDS + number) }
    }

    /// Positions the builder at the end of the start block.
    unsafe fn at_start(&self) {
        // SAFETY: the start ends with a branch.
        unsafe { LLVMPositionBuilderBefore(self.builder, LLVMGetBasicBlockTerminator(self.start)) }
    }

    /// Cuts the function, also at loops if `loops` is true. `None` if it cannot be cut.
    unsafe fn cut(&mut self, checks: Checks, loops: bool) -> Option<Segments> {
        // SAFETY: by contract.
        unsafe {
            let of_kind = |which: unsafe fn(LLVMValueRef) -> bool| -> Vec<_> {
                ir::instructions(self.function).into_iter().filter(|&i| which(i)).collect()
            };
            let (barriers, collectives) = (of_kind(is_barrier), of_kind(is_collective));
            if checks == Checks::InRowsBetweenBarriers {
                apart::keep_calls(self.function);
            }
            let needs_context = self.read_fields()?;
            let read_only = if checks == Checks::None { self.share_by_value() } else { Vec::new() };
            let parallel = self.place_variables(barriers.len() + collectives.len() > 0, checks)?;
            self.compute_at_start();
            let mut uniform = self.uniform_at(&barriers, !collectives.is_empty(), &read_only, checks)?;
            let sync = |at| EntryCall::of(at).and_then(|call| call.sync()).unwrap_or(0);
            let at_barrier = |&at: &LLVMValueRef| Cut { at, runs: Runs::Block, sync: sync(at), apart: None };
            let mut cuts: Vec<_> = barriers.iter().map(at_barrier).collect();
            let mut sums = Vec::new();
            // Lanes of a warp run from one collective to the next, not from one end of a loop to the next. Without
            // checks nothing tells barriers from ends of loops, and reads for all begin anew at each point.
            let tells_barriers = self.read_once == 0 || checks.are_in_rows();
            if loops && parallel && tells_barriers && collectives.is_empty() {
                let (ends, found) = self.loop_ends(checks, &mut uniform);
                cuts.extend(ends);
                sums = found;
            }
            if !collectives.is_empty() {
                cuts.extend(self.replace_collectives(&collectives, &mut uniform, checks)?);
                self.compute_at_start();
            }
            let after: Vec<_> =
                cuts.iter().map(|cut| gpurace_split_before(LLVMGetNextInstruction(cut.at))).collect();
            if self.has_by_value() && !cuts.is_empty() && !self.by_value_is_read_only() {
                return None;
            }
            let sums = self.next_sums(&sums, &cuts, &after);
            self.end();
            let crossing = self.crossing(&cuts, &after, &uniform);
            let affine = checks.are_in_rows().then(|| self.affine_rows(&cuts, &after, &uniform, &crossing));
            let shared = self.keep_over(&cuts, &after, crossing, &sums)?;
            if self.lane_bytes > MOST_LANE_BYTES {
                return None;
            }
            let (batches, affine) = match affine {
                Some(affine) => (self.batch_checks(&after, &affine.rows), affine.functions),
                None => (vec![Vec::new(); after.len() + 1], vec![None; after.len() + 1]),
            };
            let needs_context = needs_context && self.uses_context();
            // The items of one thread in a buffer come before those of the next, and one thread reads before others.
            let parallel =
                parallel && self.read_once == 0 && !batches.iter().flatten().any(FrameBatch::is_gathered);
            self.dispatch(&after);
            Some(Segments {
                function: self.function,
                runs: std::iter::once(Runs::Block).chain(cuts.iter().map(|cut| cut.runs)).collect(),
                syncs: std::iter::once(0).chain(cuts.iter().map(|cut| cut.sync)).collect(),
                parts: self.parts,
                own_points: self.own_point.map(|(at, _)| at),
                barriers: barriers.len() as u32,
                fields: std::mem::take(&mut self.fields),
                shared,
                read_once: self.read_once,
                thread_bytes: self.thread_bytes.next_multiple_of(16),
                copies: self.has_by_value(),
                warp_bytes: [self.lane_bytes * u64::from(WARP_SIZE), self.exchanged_bytes],
                needs_context,
                parallel,
                batches,
                affine,
            })
        }
    }

    /// Finds the loops to cut, and splits their variables. Returns the cuts at their ends, and the sums that threads
    /// share there.
    unsafe fn loop_ends(&mut self, checks: Checks, uniform: &mut BlockUniform) -> (Vec<Cut>, Vec<SharedSum>) {
        // SAFETY: by contract.
        unsafe {
            let ends = cut_loops::find(&LoopSource {
                module: self.module,
                function: self.function,
                kernel_parameters: self.kernel_parameters,
                uniform,
                rows: checks.are_in_rows(),
                shared: self.fields_at(&[offset::SHARED_BASE, offset::DYNAMIC_SHARED]),
                block_size: self.fields_at(&[offset::NTID, offset::NTID + 4, offset::NTID + 8]),
            });
            if self.own_point.is_none() && ends.iter().any(|end| !end.together) {
                self.own_point = Some(self.thread_place(4, 4));
            }
            let sums = self.split_variables(&ends, uniform);
            let cut = |LoopEnd { latch, together, .. }| Cut {
                at: self.mark(LLVMGetBasicBlockTerminator(latch)),
                runs: Runs::Block,
                sync: 0,
                apart: (!together).then_some(latch),
            };
            let cuts = ends.into_iter().map(cut).collect();
            self.compute_at_start();
            (cuts, sums)
        }
    }

    /// Puts a store before an instruction. It stands for the place of a cut that is no barrier, until
    /// [`Self::keep_over`] erases it.
    unsafe fn mark(&self, at: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, at);
            let zero = LLVMConstInt(LLVMInt32TypeInContext(self.context), 0, 0);
            LLVMBuildStore(self.builder, zero, self.parameter(ThreadParameter::Frame))
        }
    }
}

/// True for a barrier of the whole block.
///
/// # Safety
/// The instruction is live.
pub unsafe fn is_barrier(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { entry_of(instruction) == Some(Entry::Barrier) }
}

#[cfg(test)]
mod tests;
