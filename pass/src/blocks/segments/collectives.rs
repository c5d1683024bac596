//! Collectives of a warp become plain code between cuts: each lane leaves its operand beside those of
//! the others; after a cut, a lane reads what it gets; after another cut, the lanes go on (hierarchical
//! collapsing: Han et al., "COX", 2022, section 3). `gpurace_cpu::collective` has the same rules for
//! fibers.
//!
//! If all lanes of a warp provably meet at each collective, the warp is never parted, and its first lane
//! can compute what all get. Otherwise each lane leaves its mask too ([`super::parting`]), and at the first
//! cut it waits until the lanes of its mask have come.

use gpurace_abi::context::WARP_SIZE;
use gpurace_abi::entry::Entry;
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::parting::{Group, Operands};
use super::{Cut, Cutter, Runs, ThreadParameter};
use crate::analysis::uniform::{BlockUniform, WholeWarps};
use crate::blocks::entries::Checks;
use crate::ir;
use crate::ir::entry_calls::{EntryCall, entry_of};

/// True for a collective of a warp that becomes plain code.
///
/// # Safety
/// The instruction is live.
pub unsafe fn is_collective(instruction: LLVMValueRef) -> bool {
    use Entry::*;
    // SAFETY: by contract.
    let entry = unsafe { entry_of(instruction) };
    matches!(entry, Some(Syncwarp | Shfl | Vote | Match | Redux | Activemask))
}

/// A collective in which lanes exchange operands.
#[derive(Clone, Copy)]
struct Exchange {
    at: LLVMValueRef,
    call: EntryCall,
    /// The constant that says which collective of its kind it is.
    mode: u64,
    /// The lanes that meet there.
    group: Group,
}

impl Cutter {
    /// What is known of the function's parameters in code that runs whole warps.
    pub(super) unsafe fn whole_warps(&self) -> WholeWarps {
        use gpurace_abi::context::offset::{CTAID, NTID};
        // SAFETY: by contract.
        unsafe {
            let lanes = [ThreadParameter::X, ThreadParameter::Linear].map(|p| self.parameter(p));
            let [dim, block] = [NTID, CTAID].map(|at| {
                let index = self.fields.iter().position(|field| field.0 == at as u64);
                index.map(|index| self.field_parameter(index))
            });
            WholeWarps { lanes, dim, block }
        }
    }

    /// Replaces collectives, and returns the cuts that they need. `None` if a collective cannot be replaced. The warp
    /// parts if its lanes may not all meet at each collective: they may take different ways, or some may have ended.
    /// With checks, every warp that syncs counts as parting: the runtime then knows which lanes meet, and tells the
    /// checker. Other collectives order nothing.
    pub(super) unsafe fn replace_collectives(
        &mut self,
        collectives: &[LLVMValueRef],
        uniform: &mut BlockUniform,
        checks: Checks,
    ) -> Option<Vec<Cut>> {
        // SAFETY: by contract; each call is erased once.
        unsafe {
            let calls: Vec<_> = collectives.iter().filter_map(|&call| EntryCall::of(call)).collect();
            let meet =
                |&call: &LLVMValueRef| uniform.control(LLVMGetInstructionParent(call)) >= Uniform::Warp;
            let told = checks != Checks::None && calls.iter().any(|call| call.entry == Entry::Syncwarp);
            let together = !told && self.own_point.is_none() && collectives.iter().all(meet);
            let masks = together.then(|| calls.iter().map(|&call| self.mask_of(call)));
            let masks = masks.and_then(|masks| masks.collect::<Option<Vec<_>>>());
            if masks.is_none() {
                self.part();
            }
            let mut cuts = Vec::new();
            for (i, (&at, call)) in collectives.iter().zip(calls).enumerate() {
                let group = match &masks {
                    Some(masks) => Group::Known(masks[i]),
                    None => Group::Met(call),
                };
                let exchange = || Some(Exchange { at, call, mode: call.constant(0)?, group });
                match call.entry {
                    Entry::Activemask => self.active_mask(at, group, &mut cuts),
                    Entry::Syncwarp => {
                        let runs = self.waits(at, group);
                        cuts.push(Cut { at, runs, sync: call.sync().unwrap_or(0), apart: None });
                    }
                    Entry::Shfl => self.shuffle(exchange()?, &mut cuts),
                    Entry::Match => self.matching(exchange()?, &mut cuts),
                    _ => self.together(exchange()?, &mut cuts, uniform),
                }
            }
            Some(cuts)
        }
    }

    /// The active lanes.
    unsafe fn active_mask(&mut self, at: LLVMValueRef, group: Group, cuts: &mut Vec<Cut>) {
        // SAFETY: by contract.
        unsafe {
            let mask = match group {
                Group::Known(_) => LLVMConstAllOnes(LLVMTypeOf(at)),
                Group::Met(_) => self.meet(at, group, cuts),
            };
            LLVMReplaceAllUsesWith(at, mask);
            LLVMInstructionEraseFromParent(at);
        }
    }

    /// A shuffle: each lane reads the operand of another one.
    unsafe fn shuffle(&mut self, Exchange { at, call, mode, group }: Exchange, cuts: &mut Vec<Cut>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let n = |v: u64| LLVMConstInt(int, v, 0);
            let operands = self.exchanged(Operands::Shuffled);
            LLVMPositionBuilderBefore(b, at);
            let operands = ir::at_byte(b, operands, i64::from(WARP_SIZE) * 4);
            let place =
                |index| ir::at_offset(b, operands, LLVMBuildMul(b, index, LLVMConstInt(long, 4, 0), none));
            let lane = self.parameter(ThreadParameter::Lane);
            LLVMBuildStore(b, call.operand(2), place(lane));
            let group = self.meet(at, group, cuts);
            // The PTX ISA, "shfl.sync": the segment's mask and the last lane to read from.
            let lane = LLVMBuildTrunc(b, lane, int, none);
            let by = LLVMBuildAnd(b, call.operand(3), n(31), none);
            let clamp = call.operand(4);
            let mask = LLVMBuildAnd(b, LLVMBuildLShr(b, clamp, n(8), none), n(31), none);
            let first = LLVMBuildAnd(b, lane, mask, none);
            let outside = LLVMBuildXor(b, mask, n(31), none);
            let last = LLVMBuildOr(
                b,
                first,
                LLVMBuildAnd(b, LLVMBuildAnd(b, clamp, n(31), none), outside, none),
                none,
            );
            let (source, inside) = match mode {
                1 => (LLVMBuildSub(b, lane, by, none), LLVMIntSGE),
                2 => (LLVMBuildAdd(b, lane, by, none), LLVMIntSLE),
                3 => (LLVMBuildXor(b, lane, by, none), LLVMIntSLE),
                _ => (LLVMBuildOr(b, first, LLVMBuildAnd(b, by, outside, none), none), LLVMIntSLE),
            };
            let inside = LLVMBuildICmp(b, inside, source, last, none);
            let read = |index| {
                let index = LLVMBuildSExt(b, index, long, none);
                LLVMBuildLoad2(b, int, place(index), none)
            };
            let mut has_source = inside;
            if !is_full(group) {
                let bit = LLVMBuildLShr(b, group, LLVMBuildAnd(b, source, n(31), none), none);
                let bit = LLVMBuildTrunc(b, bit, LLVMInt1TypeInContext(self.context), none);
                has_source = LLVMBuildAnd(b, inside, bit, none);
            }
            // Neighbouring lanes read neighbouring operands, without a choice of addresses.
            let value = LLVMBuildSelect(b, has_source, read(source), read(lane), none);
            self.cut_before(at, Runs::Warp, cuts);
            for user in ir::users(at) {
                if ir::opcode(user) == LLVMOpcode::LLVMTrunc && LLVMTypeOf(user) == int {
                    LLVMReplaceAllUsesWith(user, value);
                    LLVMInstructionEraseFromParent(user);
                }
            }
            if !LLVMGetFirstUse(at).is_null() {
                let inside = LLVMBuildZExt(b, inside, long, none);
                let high = LLVMBuildShl(b, inside, LLVMConstInt(long, 32, 0), none);
                let pair = LLVMBuildOr(b, LLVMBuildZExt(b, value, long, none), high, none);
                LLVMReplaceAllUsesWith(at, pair);
            }
            LLVMInstructionEraseFromParent(at);
        }
    }

    /// A match: each lane compares its operand with those of all lanes.
    unsafe fn matching(&mut self, Exchange { at, call, mode, group }: Exchange, cuts: &mut Vec<Cut>) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (int, long) = (LLVMInt32TypeInContext(self.context), LLVMInt64TypeInContext(self.context));
            let operands = self.exchanged(Operands::Matched);
            LLVMPositionBuilderBefore(b, at);
            let mut own = call.operand(2);
            if call.constant(3) != Some(64) {
                own = LLVMBuildZExt(b, LLVMBuildTrunc(b, own, int, none), long, none);
            }
            self.leave(own, operands, 8);
            let group = self.meet(at, group, cuts);
            let all = self.load_all(long, operands);
            let owns = self.in_all_lanes(own, all);
            let equal = self.mask(LLVMBuildICmp(b, LLVMIntEQ, all, owns, none));
            let equal = LLVMBuildAnd(b, equal, group, none);
            let result = if mode == 0 {
                LLVMBuildZExt(b, equal, long, none)
            } else {
                let is_all = LLVMBuildICmp(b, LLVMIntEQ, equal, group, none);
                let full = LLVMBuildZExt(b, group, long, none);
                let full = LLVMBuildOr(b, full, LLVMConstInt(long, 1 << 32, 0), none);
                LLVMBuildSelect(b, is_all, full, LLVMConstInt(long, 0, 0), none)
            };
            self.cut_before(at, Runs::Warp, cuts);
            LLVMReplaceAllUsesWith(at, result);
            LLVMInstructionEraseFromParent(at);
        }
    }

    /// A vote or a reduction: one result for all lanes. The first one computes it if all lanes meet.
    unsafe fn together(
        &mut self,
        Exchange { at, call, mode, group }: Exchange,
        cuts: &mut Vec<Cut>,
        uniform: &mut BlockUniform,
    ) {
        // SAFETY: by contract.
        unsafe {
            let (b, none) = (self.builder, c"".as_ptr());
            let (byte, int) = (LLVMInt8TypeInContext(self.context), LLVMInt32TypeInContext(self.context));
            let votes = call.entry == Entry::Vote;
            let (ty, bytes, operands) =
                if votes { (byte, 1, Operands::Votes) } else { (int, 4, Operands::Reduced) };
            let operands = self.exchanged(operands);
            LLVMPositionBuilderBefore(b, at);
            let mut own = call.operand(2);
            if votes {
                let holds = LLVMBuildICmp(b, LLVMIntNE, own, LLVMConstInt(int, 0, 0), none);
                own = LLVMBuildZExt(b, holds, byte, none);
            }
            self.leave(own, operands, bytes);
            let group = match group {
                Group::Known(mask) => {
                    self.cut_before(at, Runs::FirstLane, cuts);
                    mask
                }
                Group::Met(_) => self.meet(at, group, cuts),
            };
            let all = self.load_all(ty, operands);
            let of_warp = if votes {
                self.mask(LLVMBuildICmp(b, LLVMIntNE, all, LLVMConstNull(LLVMTypeOf(all)), none))
            } else {
                self.reduced(all, mode, group)
            };
            if !self.parts {
                uniform.add(of_warp, Uniform::Warp);
            }
            self.cut_before(at, Runs::Warp, cuts);
            let result = if votes { self.vote(of_warp, mode, group) } else { of_warp };
            if is_full(group) {
                uniform.add(result, Uniform::Warp);
            }
            LLVMReplaceAllUsesWith(at, result);
            LLVMInstructionEraseFromParent(at);
        }
    }

    /// The result of a reduction for a group of lanes, from the operands of all lanes.
    unsafe fn reduced(&self, mut all: LLVMValueRef, mode: u64, group: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none, int) = (self.builder, c"".as_ptr(), LLVMInt32TypeInContext(self.context));
            let (by, neutral) = [
                ("add", 0),
                ("umin", u32::MAX),
                ("umax", 0),
                ("smin", i32::MAX as u32),
                ("smax", i32::MIN as u32),
                ("and", u32::MAX),
                ("or", 0),
                ("xor", 0),
            ][mode.min(7) as usize];
            if !is_full(group) {
                let vector = |value: &dyn Fn(u32) -> u32| {
                    let mut all: Vec<_> =
                        (0..WARP_SIZE).map(|lane| LLVMConstInt(int, value(lane).into(), 0)).collect();
                    LLVMConstVector(all.as_mut_ptr(), WARP_SIZE)
                };
                let groups = self.in_all_lanes(group, all);
                let bits = LLVMBuildAnd(b, groups, vector(&|lane| 1 << lane), none);
                let inside = LLVMBuildICmp(b, LLVMIntNE, bits, vector(&|_| 0), none);
                all = LLVMBuildSelect(b, inside, all, vector(&|_| neutral), none);
            }
            ir::call_intrinsic(b, &format!("llvm.vector.reduce.{by}"), Some(LLVMTypeOf(all)), &[all])
        }
    }

    /// The result of a vote for a group of lanes, from the ballot of the warp.
    unsafe fn vote(&self, ballot: LLVMValueRef, mode: u64, group: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let (b, none, int) = (self.builder, c"".as_ptr(), LLVMInt32TypeInContext(self.context));
            let ballot = LLVMBuildAnd(b, ballot, group, none);
            let is_all = LLVMBuildICmp(b, LLVMIntEQ, ballot, group, none);
            let is_none = LLVMBuildICmp(b, LLVMIntEQ, ballot, LLVMConstInt(int, 0, 0), none);
            let holds = match mode {
                0 => is_all,
                1 => LLVMBuildNot(b, is_none, none),
                2 => LLVMBuildOr(b, is_all, is_none, none),
                _ => return ballot,
            };
            LLVMBuildZExt(b, holds, int, none)
        }
    }

    /// Cuts the function before an instruction.
    pub(super) unsafe fn cut_before(&self, at: LLVMValueRef, runs: Runs, cuts: &mut Vec<Cut>) {
        // SAFETY: by contract.
        unsafe {
            let sync = EntryCall::of(at).and_then(|call| call.sync()).unwrap_or(0);
            cuts.push(Cut { at: self.mark(at), runs, sync, apart: None });
            LLVMPositionBuilderBefore(self.builder, at);
        }
    }

    /// Stores the operand of the running lane, of so many bytes, beside those of the others.
    unsafe fn leave(&self, own: LLVMValueRef, operands: LLVMValueRef, bytes: u64) {
        // SAFETY: by contract.
        unsafe {
            let (b, lane) = (self.builder, self.parameter(ThreadParameter::Lane));
            let bytes = LLVMConstInt(LLVMInt64TypeInContext(self.context), bytes, 0);
            let place = ir::at_offset(b, operands, LLVMBuildMul(b, lane, bytes, c"".as_ptr()));
            LLVMBuildStore(b, own, place);
        }
    }

    /// A vector like `all` that has a value in each lane.
    unsafe fn in_all_lanes(&self, value: LLVMValueRef, all: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            (0..u64::from(WARP_SIZE)).fold(LLVMGetUndef(LLVMTypeOf(all)), |vector, lane| {
                let lane = LLVMConstInt(int, lane, 0);
                LLVMBuildInsertElement(self.builder, vector, value, lane, c"".as_ptr())
            })
        }
    }

    /// Loads the operands of all lanes.
    unsafe fn load_all(&self, ty: LLVMTypeRef, operands: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { LLVMBuildLoad2(self.builder, LLVMVectorType(ty, WARP_SIZE), operands, c"".as_ptr()) }
    }

    /// The bits of all lanes as a mask.
    unsafe fn mask(&self, bits: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { LLVMBuildBitCast(self.builder, bits, LLVMInt32TypeInContext(self.context), c"".as_ptr()) }
    }

    /// Returns the mask with which a lane comes to a collective, for a warp whose lanes all meet there. Three kinds of
    /// masks are known: all lanes, the active lanes, and the lanes of a tile of cooperative groups. As all lanes meet
    /// where a mask is made, the active lanes are all lanes. A tile is an aligned group of lanes, so the masks of two
    /// tiles have no common lane. `None` for any other mask.
    unsafe fn mask_of(&self, call: EntryCall) -> Option<LLVMValueRef> {
        // SAFETY: by contract.
        unsafe {
            let full = LLVMConstAllOnes(LLVMInt32TypeInContext(self.context));
            let mask = match call.entry {
                Entry::Activemask => return Some(full),
                Entry::Syncwarp => call.operand(0),
                _ => call.operand(1),
            };
            let number = |v| ir::constant(v).map(|number| number as u32);
            let of = |v, opcode| (ir::value_opcode(v) == Some(opcode)).then(|| LLVMGetOperand(v, 0));
            if number(mask) == Some(u32::MAX) {
                return Some(full);
            }
            if ir::value_opcode(mask) == Some(LLVMOpcode::LLVMCall) {
                return (entry_of(mask) == Some(Entry::Activemask)).then_some(full);
            }
            let of_tile = number(of(mask, LLVMOpcode::LLVMShl)?)?;
            let first = LLVMGetOperand(mask, 1);
            let lane = of(first, LLVMOpcode::LLVMAnd)?;
            let linear = of(lane, LLVMOpcode::LLVMAnd)?;
            let size = of_tile.trailing_ones();
            let is_tile = size.is_power_of_two() && size < WARP_SIZE && of_tile == (1 << size) - 1;
            let is_lane = number(LLVMGetOperand(lane, 1)) == Some(WARP_SIZE - 1)
                && (linear == self.parameter(ThreadParameter::X)
                    || of(linear, LLVMOpcode::LLVMTrunc) == Some(self.parameter(ThreadParameter::Linear)));
            let is_first = number(LLVMGetOperand(first, 1)) == Some(!(size.wrapping_sub(1)));
            // A reduction has one result for the whole warp, not one for each tile.
            (is_tile && is_lane && is_first && call.entry != Entry::Redux).then_some(mask)
        }
    }
}

unsafe fn is_full(mask: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { LLVMIsConstant(mask) != 0 }
}
