//! What the lanes of a warp leave for each other: the operands of collectives and, where the warp may part, the
//! masks with which they wait.
//!
//! A warp that may part runs by steps: the runtime chooses lanes that stand at one point
//! ([`gpurace_abi::warp`]). No value is shared by a warp then, since its lanes may be in different iterations.
//! The operands of each kind of collective have memory of their own, since one lane may leave an operand for a
//! shuffle while others vote.

use std::mem::offset_of;

use gpurace_abi::context::WARP_SIZE;
use gpurace_abi::entry::Entry;
use gpurace_abi::warp::{WaitsFor, WarpLanes};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Cut, Cutter, Runs, ThreadParameter};
use crate::ir;
use crate::ir::entry_calls::EntryCall;

/// The lanes that meet at a collective.
#[derive(Clone, Copy, Debug)]
pub(super) enum Group {
    /// Those in this mask, in a warp that never parts.
    Known(LLVMValueRef),
    /// Those that have come with the same mask as this call, in a warp that may part.
    Met(EntryCall),
}

/// The operands of collectives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operands {
    /// Of shuffles. As many bytes lie before and behind them, since a lane may read beside the operands. It does not
    /// use such a value.
    Shuffled,
    /// Of votes, a byte each.
    Votes,
    /// Of matches.
    Matched,
    /// Of reductions.
    Reduced,
}

impl Operands {
    /// Bytes for each lane.
    fn bytes(self) -> u64 {
        match self {
            Self::Shuffled => 3 * 4,
            Self::Votes => 1,
            Self::Matched => 8,
            Self::Reduced => 4,
        }
    }

    /// Where they lie in a warp that may part.
    fn start(self) -> u64 {
        let before: u64 = match self {
            Self::Shuffled => 0,
            Self::Matched => Self::Shuffled.bytes(),
            Self::Reduced => Self::Shuffled.bytes() + Self::Matched.bytes(),
            Self::Votes => Self::Shuffled.bytes() + Self::Matched.bytes() + Self::Reduced.bytes(),
        };
        size_of::<WarpLanes>() as u64 + before * u64::from(WARP_SIZE)
    }
}

impl Cutter {
    /// Lets the warp part.
    pub(super) fn part(&mut self) {
        self.parts = true;
        self.exchanged_bytes = size_of::<WarpLanes>() as u64;
    }

    /// The memory of the warp for operands. In a warp that never parts no two exchanges are under way at once.
    pub(super) unsafe fn exchanged(&mut self, operands: Operands) -> LLVMValueRef {
        let start = if self.parts { operands.start() } else { 0 };
        self.exchanged_bytes = self.exchanged_bytes.max(start + operands.bytes() * u64::from(WARP_SIZE));
        // SAFETY: by contract.
        unsafe {
            self.at_start();
            ir::at_byte(self.builder, self.parameter(ThreadParameter::Exchanged), start as i64)
        }
    }

    /// The place of the running lane in an array of [`WarpLanes`].
    pub(super) unsafe fn of_lane(&self, array: usize) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let b = self.builder;
            let array = ir::at_byte(b, self.parameter(ThreadParameter::Exchanged), array as i64);
            let four = LLVMConstInt(LLVMInt64TypeInContext(self.context), 4, 0);
            ir::at_offset(
                b,
                array,
                LLVMBuildMul(b, self.parameter(ThreadParameter::Lane), four, c"".as_ptr()),
            )
        }
    }

    /// Lets a lane leave the mask of a collective before the cut there. Returns who runs behind the cut.
    pub(super) unsafe fn waits(&self, at: LLVMValueRef, group: Group) -> Runs {
        let Group::Met(call) = group else { return Runs::Warp };
        // SAFETY: by contract; the entry points have these operands.
        unsafe {
            let (waits, mask) = match call.entry {
                Entry::Syncwarp => (WaitsFor::Sync, Some(0)),
                Entry::Shfl => (WaitsFor::Shuffle, Some(1)),
                Entry::Vote => (WaitsFor::Vote, Some(1)),
                Entry::Match => (WaitsFor::Match, Some(1)),
                Entry::Redux => (WaitsFor::Reduce, Some(1)),
                _ => (WaitsFor::ActiveLanes, None),
            };
            if let Some(mask) = mask {
                LLVMPositionBuilderBefore(self.builder, at);
                let place = self.of_lane(offset_of!(WarpLanes, masks));
                LLVMBuildStore(self.builder, call.operand(mask), place);
            }
            Runs::Met(waits)
        }
    }

    /// Cuts the function before a collective for the lanes that have come. Returns their mask.
    pub(super) unsafe fn meet(
        &mut self,
        at: LLVMValueRef,
        group: Group,
        cuts: &mut Vec<Cut>,
    ) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let runs = self.waits(at, group);
            self.cut_before(at, runs, cuts);
            if let Group::Known(mask) = group {
                return mask;
            }
            let place = self.of_lane(offset_of!(WarpLanes, groups));
            LLVMBuildLoad2(self.builder, LLVMInt32TypeInContext(self.context), place, c"".as_ptr())
        }
    }
}
