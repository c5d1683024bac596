//! Gathered accesses: batches from loops that a block's threads run one by one.
//!
//! Such a loop is not cut ([`super::cut_loops`]): a thread runs through the whole loop, and may make any
//! number of accesses through one instruction. Each instruction has a buffer in the
//! block's frame. Each access becomes an item of the buffer. A full buffer is handed to the checker,
//! and so is every buffer at the end of the segment (`gpurace_check::batch`).
//!
//! | address in the loop | item |
//! |---|---|
//! | may follow the thread's last access | the thread, the first byte, and the end of all accesses that follow each other |
//! | depends on a value that is read in the innermost loop, or clearly does not follow, such as a field of a struct | the thread and the address |
//!
//! A write also says whether memory held the value already. Writes follow each other only if they say the same.
//!
//! The checker sees a thread's accesses through two instructions in another order than the thread made them. Nothing
//! orders other threads between them, so each race is found. Where a thread writes a word by two instructions, the
//! first write that the checker sees stands for both. A buffer is also handed over before each write that a call
//! checks, and before rows.

use std::collections::HashSet;
use std::rc::Rc;

use gpurace_abi::batch::{FrameAddresses, FrameBatch, GatheredItem, GatheredRun};
use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::batch;
use super::rows::{self, BatchedAccess};
use crate::analysis::address::{Term, gep_parts};
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::Loops;
use crate::checks::instrument::open_branch;
use crate::ir;
use crate::ir::entry_calls::{EntryCalls, checked_address, entry_of};

unsafe extern "C" {
    fn gpurace_address_number(builder: LLVMBuilderRef, address: LLVMValueRef) -> LLVMValueRef;
}

/// Bytes of a buffer for each thread of the block.
pub const BUFFER_BYTES: u64 = 32;
/// Most bytes of a buffer that are used: several buffers fit into a core's nearest cache.
const MOST_BYTES: u64 = 4096;
/// Most buffers of a kernel.
const MOST_BUFFERS: usize = 32;
/// Most steps of an address computation that are followed.
const MOST_DEPTH: usize = 16;
/// Bytes of a buffer before its items: the number of items.
const HEADER: u64 = 8;
/// The entry point that hands a buffer to the checker.
const HAND_OVER: Entry = Entry::Batches;

/// An instruction whose accesses are gathered.
#[derive(Clone, Debug)]
pub struct GatheredAccess {
    access: BatchedAccess,
    /// Each access is an item of its own.
    scattered: bool,
    /// The basic blocks of the outermost loop around it.
    pub around: Rc<[LLVMBasicBlockRef]>,
}

impl GatheredAccess {
    /// The batch of its accesses, whose buffer lies at this place.
    pub fn batch(&self, at: u32) -> FrameBatch {
        let addresses =
            if self.scattered { FrameAddresses::Items { at } } else { FrameAddresses::Runs { at } };
        self.access.batch(addresses, None)
    }

    /// The call that checks it.
    pub fn call(&self) -> LLVMValueRef {
        self.access.call
    }

    fn item_bytes(&self) -> u64 {
        (if self.scattered { size_of::<GatheredItem>() } else { size_of::<GatheredRun>() }) as u64
    }
}

/// Finds the accesses of a cut function that can be gathered: those in loops.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn find(function: LLVMValueRef) -> Vec<GatheredAccess> {
    // SAFETY: by contract.
    unsafe {
        let flow = ControlFlow::of(function);
        let Loops { loops, .. } = Loops::of(&flow.successors);
        // Each loop comes before those in it.
        let innermost = |block| loops.iter().rev().find(|of| of.nodes.contains(&flow.index[&block]));
        let mut found = Vec::new();
        for of in loops.iter().filter(|of| of.parent.is_none()) {
            let around: Rc<[LLVMBasicBlockRef]> = of.nodes.iter().map(|&node| flow.blocks[node]).collect();
            let checks = around.iter().flat_map(|&block| ir::block_instructions(block));
            let accesses = checks.filter_map(|i| rows::batched_access(i));
            found.extend(accesses.filter(|access| matches!(access.size, 1 | 2 | 4 | 8 | 16)).map(|access| {
                let nodes = innermost(access.block).map_or(&of.nodes, |of| &of.nodes);
                let inside = nodes.iter().map(|&node| flow.blocks[node]).collect();
                let address = checked_address(access.call);
                let size = i64::from(access.size);
                let is_apart = step(LLVMGetGlobalParent(function), address, &inside, MOST_DEPTH)
                    .is_some_and(|step| !(0..=size).contains(&step));
                let scattered = is_apart || is_scattered(address, &inside);
                GatheredAccess { access, scattered, around: around.clone() }
            }));
        }
        found.truncate(MOST_BUFFERS);
        found
    }
}

/// How many bytes an address grows by from one iteration of a loop to the next, or by how much a number grows. `None`
/// if the address does not show that. A product with a number that is not known counts as far away.
unsafe fn step(
    module: LLVMModuleRef,
    value: LLVMValueRef,
    inside: &HashSet<LLVMBasicBlockRef>,
    depth: usize,
) -> Option<i64> {
    const FAR: i64 = 1 << 40;
    // SAFETY: by contract.
    unsafe {
        if LLVMIsAInstruction(value).is_null() || !inside.contains(&LLVMGetInstructionParent(value)) {
            return Some(0);
        }
        let depth = depth.checked_sub(1)?;
        let of = |value| step(module, value, inside, depth);
        let constant = |value| ir::signed_constant(value);
        let operand = |i| LLVMGetOperand(value, i);
        match ir::opcode(value) {
            LLVMOpcode::LLVMGetElementPtr => {
                let (_, terms) = gep_parts(module, value)?;
                let sum =
                    |all: i64, term: Term| all.checked_add(of(term.index)?.checked_mul(term.scale as i64)?);
                terms.into_iter().try_fold(of(operand(0))?, sum)
            }
            LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMOr => of(operand(0))?.checked_add(of(operand(1))?),
            LLVMOpcode::LLVMSub => of(operand(0))?.checked_sub(of(operand(1))?),
            LLVMOpcode::LLVMMul => match (of(operand(0))?, of(operand(1))?) {
                (0, 0) => Some(0),
                (0, by) => Some(by.checked_mul(constant(operand(0)).unwrap_or(FAR))?),
                (by, 0) => Some(by.checked_mul(constant(operand(1)).unwrap_or(FAR))?),
                _ => None,
            },
            LLVMOpcode::LLVMShl => of(operand(0))?.checked_shl(u32::try_from(constant(operand(1))?).ok()?),
            LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMTrunc => of(operand(0)),
            LLVMOpcode::LLVMPHI => {
                let grows = |next: LLVMValueRef| {
                    (ir::value_opcode(next) == Some(LLVMOpcode::LLVMAdd)).then_some(())?;
                    let [a, b] = [LLVMGetOperand(next, 0), LLVMGetOperand(next, 1)];
                    if a == value { constant(b) } else { constant(a).filter(|_| b == value) }
                };
                let mut found = ir::operands(value).into_iter().filter_map(grows);
                found.next().filter(|_| found.next().is_none())
            }
            _ => None,
        }
    }
}

/// True if an address in an innermost loop clearly does not follow the last one. It then depends on a value that the
/// loop reads or gets from a call, or on a variable that grows by something other than 1. What only the loops around
/// it change stays the same for many accesses.
unsafe fn is_scattered(address: LLVMValueRef, inside: &HashSet<LLVMBasicBlockRef>) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![address];
    // SAFETY: by contract.
    unsafe {
        while let Some(value) = pending.pop() {
            if LLVMIsAInstruction(value).is_null()
                || !inside.contains(&LLVMGetInstructionParent(value))
                || !seen.insert(value)
            {
                continue;
            }
            match ir::opcode(value) {
                LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMCall => return true,
                LLVMOpcode::LLVMPHI if ir::operands(value).into_iter().any(|next| jumps(value, next)) => {
                    return true;
                }
                _ => pending.extend(ir::operands(value)),
            }
        }
    }
    false
}

/// True if a loop adds something other than 1 to its variable.
unsafe fn jumps(variable: LLVMValueRef, next: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        if ir::value_opcode(next) != Some(LLVMOpcode::LLVMAdd) {
            return false;
        }
        let operands = ir::operands(next);
        let more = operands.iter().find(|&&o| o != variable);
        let is_one = |&o: &LLVMValueRef| ir::signed_constant(o) == Some(1);
        operands.contains(&variable) && !more.is_some_and(is_one)
    }
}

/// The buffer of an instruction, and what all buffers of a function need.
#[derive(Clone, Copy, Debug)]
pub struct AccessBuffer {
    /// The function's first basic block, which computes the address.
    pub start: LLVMBasicBlockRef,
    /// The block frame.
    pub frame: LLVMValueRef,
    /// Where the buffer lies in it.
    pub batch: FrameBatch,
    /// Its address.
    pub place: LLVMValueRef,
    /// Linear index of the thread, `i64`.
    pub linear: LLVMValueRef,
    /// Number of threads of the block, `i64`.
    pub threads: LLVMValueRef,
    /// The thread context.
    pub thread_context: LLVMValueRef,
}

/// Builds the code that gathers the accesses of one instruction.
struct GatherBuilder<'a> {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    b: LLVMBuilderRef,
    of: &'a GatheredAccess,
    buffer: AccessBuffer,
    long: LLVMTypeRef,
    /// A variable: the number of items in the buffer.
    count: LLVMValueRef,
    /// A variable, unused by scattered accesses: the end of the thread's last access, in the form of
    /// [`Self::address`]. The next access follows if it begins there.
    expected: LLVMValueRef,
    /// A variable, unused by scattered accesses: the address of the field of the last item that holds this end.
    end: LLVMValueRef,
    /// Most items of the buffer.
    most: LLVMValueRef,
    /// The thread, in the form of an item.
    thread: LLVMValueRef,
    /// The batch of the accesses.
    table: LLVMValueRef,
}

/// Replaces the check of an access by code that gathers it. `writes` are the checks of writes that
/// stay calls.
///
/// # Safety
/// The access was found in a live function of the module, and its check is still there; the buffer's
/// values are computed in the first basic block.
pub unsafe fn gather(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    of: &GatheredAccess,
    buffer: AccessBuffer,
    writes: &[LLVMValueRef],
) {
    // SAFETY: by contract; the call is erased once.
    unsafe {
        let context = ir::context(module);
        let b = builder;
        let long = LLVMInt64TypeInContext(context);
        let none = c"".as_ptr();
        let n = |n| LLVMConstInt(long, n, 0);
        LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(buffer.start));
        let [count, expected, end] =
            [long, long, LLVMPointerTypeInContext(context, 0)].map(|ty| LLVMBuildAlloca(b, ty, none));
        let bytes = LLVMBuildMul(b, buffer.threads, n(BUFFER_BYTES), none);
        let many = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntUGT, bytes, n(MOST_BYTES), none);
        let bytes = LLVMBuildSelect(b, many, n(MOST_BYTES), bytes, none);
        let items = LLVMBuildSub(b, bytes, n(HEADER), none);
        let most = LLVMBuildUDiv(b, items, n(of.item_bytes()), none);
        let thread = LLVMBuildShl(b, buffer.linear, n(GatheredItem::THREAD_SHIFT.into()), none);
        let table = batch::table(module, &[buffer.batch]);
        let build =
            GatherBuilder { module, context, b, of, buffer, long, count, expected, end, most, thread, table };
        if of.scattered {
            LLVMBuildStore(b, LLVMBuildLoad2(b, long, buffer.place, none), count);
        } else {
            // No access follows one of another thread.
            LLVMBuildStore(b, build.no_address(), expected);
            LLVMBuildStore(b, build.at(build.item(n(0)), 8), end);
        }
        build.hand_over_before(writes);
        let call = of.access.call;
        if of.scattered {
            build.add_each(call);
        } else {
            build.add_or_extend(call);
        }
        LLVMInstructionEraseFromParent(call);
    }
}

impl GatherBuilder<'_> {
    fn n(&self, n: u64) -> LLVMValueRef {
        // SAFETY: the type is live with the module.
        unsafe { LLVMConstInt(self.long, n, 0) }
    }

    /// An address that no access ends at.
    fn no_address(&self) -> LLVMValueRef {
        self.n(u64::MAX)
    }

    unsafe fn at(&self, place: LLVMValueRef, offset: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe { ir::at_byte(self.b, place, offset as i64) }
    }

    /// The address of an item.
    unsafe fn item(&self, index: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let offset = LLVMBuildMul(self.b, index, self.n(self.of.item_bytes()), c"".as_ptr());
            ir::at_offset(self.b, self.at(self.buffer.place, HEADER), offset)
        }
    }

    /// Builds a basic block before an instruction that runs if `condition` holds; `then` fills it.
    /// The builder stands before the instruction afterwards.
    unsafe fn when(&self, before: LLVMValueRef, condition: LLVMValueRef, rare: bool, then: impl FnOnce()) {
        // SAFETY: by contract; the builder is right before the instruction.
        unsafe {
            let block = LLVMGetInstructionParent(before);
            let on = open_branch(self.b, condition, before);
            if rare {
                let branch = LLVMGetBasicBlockTerminator(block);
                let int = LLVMInt32TypeInContext(self.context);
                let [once, often] = [1, 2000].map(|n| LLVMValueAsMetadata(LLVMConstInt(int, n, 0)));
                let name = LLVMMDStringInContext2(self.context, c"branch_weights".as_ptr(), 14);
                let weights = LLVMMDNodeInContext2(self.context, [name, once, often].as_mut_ptr(), 3);
                let kind = ir::metadata_kind(branch, "prof");
                LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(self.context, weights));
            }
            LLVMPositionBuilderBefore(self.b, LLVMBuildBr(self.b, on));
            then();
            LLVMPositionBuilderBefore(self.b, before);
        }
    }

    /// Hands the buffer over, at the builder's position.
    unsafe fn hand_over(&self) {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            let function = EntryCalls::new(self.module).threaded(HAND_OVER);
            let AccessBuffer { thread_context, frame, .. } = self.buffer;
            ir::call(self.b, function, &[thread_context, frame, self.table, LLVMConstInt(int, 1, 0)]);
            let (value, variable) = match self.of.scattered {
                true => (self.n(0), self.count),
                false => (self.no_address(), self.expected),
            };
            LLVMBuildStore(self.b, value, variable);
        }
    }

    /// Hands the buffer over before these writes, which the same thread or one that runs later makes.
    unsafe fn hand_over_before(&self, writes: &[LLVMValueRef]) {
        // SAFETY: by contract.
        unsafe {
            for &write in writes {
                LLVMPositionBuilderBefore(self.b, write);
                let count = LLVMBuildLoad2(self.b, self.long, self.buffer.place, c"".as_ptr());
                let any = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntNE, count, self.n(0), c"".as_ptr());
                self.when(write, any, false, || self.hand_over());
            }
        }
    }

    /// The address of the access as a number. A write adds a bit that says whether memory holds the value already.
    unsafe fn address(&self) -> LLVMValueRef {
        // SAFETY: by contract; the builder is before the access, so memory still holds what was there.
        unsafe {
            let (b, none) = (self.b, c"".as_ptr());
            let number = gpurace_address_number(b, checked_address(self.of.access.call));
            let Some([written, before]) = self.of.access.written_and_before(b) else { return number };
            let equal = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntEQ, written, before, none);
            let [equal_bit, different] =
                [GatheredItem::EQUAL, GatheredItem::DIFFERENT].map(|bit| self.n(bit));
            LLVMBuildOr(b, number, LLVMBuildSelect(b, equal, equal_bit, different, none), none)
        }
    }

    /// Builds code that adds an item for each access.
    unsafe fn add_each(&self, call: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let none = c"".as_ptr();
            LLVMPositionBuilderBefore(self.b, call);
            let address = self.address();
            let count = LLVMBuildLoad2(self.b, self.long, self.count, none);
            LLVMBuildStore(self.b, LLVMBuildOr(self.b, address, self.thread, none), self.item(count));
            let count = LLVMBuildAdd(self.b, count, self.n(1), none);
            LLVMBuildStore(self.b, count, self.count);
            LLVMBuildStore(self.b, count, self.buffer.place);
            let full = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntEQ, count, self.most, none);
            self.when(call, full, true, || self.hand_over());
        }
    }

    /// Builds code that adds one item for all accesses that follow each other.
    unsafe fn add_or_extend(&self, call: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let none = c"".as_ptr();
            LLVMPositionBuilderBefore(self.b, call);
            let address = self.address();
            let expected = LLVMBuildLoad2(self.b, self.long, self.expected, none);
            // `back` is 0 right behind the last access, and `size` at the last access again. All else is elsewhere.
            let size = self.n(self.of.access.size.into());
            let back = LLVMBuildSub(self.b, expected, address, none);
            let elsewhere = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntUGT, back, size, none);
            self.when(call, elsewhere, false, || {
                let last = LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(self.b));
                let count = LLVMBuildLoad2(self.b, self.long, self.buffer.place, none);
                let full = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntEQ, count, self.most, none);
                self.when(last, full, true, || self.hand_over());
                let count = LLVMBuildLoad2(self.b, self.long, self.buffer.place, none);
                let item = self.item(count);
                LLVMBuildStore(self.b, LLVMBuildOr(self.b, address, self.thread, none), item);
                LLVMBuildStore(self.b, LLVMBuildAdd(self.b, count, self.n(1), none), self.buffer.place);
                LLVMBuildStore(self.b, self.at(item, 8), self.end);
            });
            let next = LLVMBuildAdd(self.b, address, size, none);
            LLVMBuildStore(self.b, next, self.expected);
            let end = LLVMBuildLoad2(self.b, LLVMPointerTypeInContext(self.context, 0), self.end, none);
            LLVMBuildStore(self.b, next, end);
        }
    }
}

/// True for a call that hands a buffer over. It concerns accesses of all threads, not of the running one alone.
///
/// # Safety
/// The instruction is live.
pub unsafe fn hands_over(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { entry_of(instruction) == Some(HAND_OVER) }
}

#[cfg(test)]
mod tests;
