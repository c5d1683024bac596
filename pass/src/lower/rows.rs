//! Checks of a segment's threads, together.
//!
//! In code that runs a block's threads in loops ([`super::blocks`]) a call for each
//! access would keep LLVM from vectorising over threads, and would cost more than the
//! access. Here an access only leaves its address in the block's frame, side by side with
//! the other threads' for the same instruction; where the threads have come to the next
//! barrier, one call hands all of them over: `gpurace_check::rows` looks at them.
//!
//! | the access | its check |
//! |---|---|
//! | of 4, 8 or 16 bytes, at most once for each thread and segment | is left in the frame |
//! | a read in a loop that threads leave one by one | is left in a pool: see [`super::streams`] |
//! | another one in a loop, of other sizes, or after the first [`MOST_ROWS`] | stays a call before the access |
//!
//! Rows of kernels are left out in which a check's place among other operations matters:
//! see [`allows`].

use std::collections::{HashMap, HashSet};

use gpurace_abi::image::{MOST_ROWS, RowSite};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

unsafe extern "C" {
    fn gpurace_address_number(builder: LLVMBuilderRef, address: LLVMValueRef) -> LLVMValueRef;
}

/// Whether a kernel that reaches a call of this entry point may have rows: nothing of
/// order depends on when a check is made, the memory stays, and the block goes on to the
/// segment's end.
pub fn allows(entry: &str) -> bool {
    matches!(
        entry,
        "__gpurace_read"
            | "__gpurace_write"
            | "__gpurace_read_range"
            | "__gpurace_write_range"
            | "__gpurace_barrier"
            | "__gpurace_vprintf"
            | "__gpurace_clock"
            | "__gpurace_globaltimer"
            | "__gpurace_is_shared"
            | "__gpurace_is_local"
    )
}

/// Whether an entry point checks an atomic access: a kernel that reaches it may have rows where no atomic access or fence orders
/// anything.
pub fn is_atomic(entry: &str) -> bool {
    matches!(entry, "__gpurace_atomic" | "__gpurace_atomic_done")
}

/// An access that leaves its address in the frame.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The call that checks it.
    call: LLVMValueRef,
    block: LLVMBasicBlockRef,
    /// The module's index of the instruction.
    pub site: u32,
    size: u32,
    /// It writes; what it writes, where that is known.
    writes: bool,
    value: Option<LLVMValueRef>,
}

/// How a row's addresses are known; offsets of the frame's part of each thread.
#[derive(Clone, Copy, Debug)]
pub enum Items {
    /// Each thread stores its own there.
    Each(u64),
    /// They follow from the thread's index.
    Lines {
        /// Which lines they are.
        number: u64,
        /// Where they are stored where those do not hold.
        items: u64,
        /// Where each thread says whether it makes the access.
        active: u64,
    },
}

/// What an access leaves in the frame.
#[derive(Clone, Copy, Debug)]
pub enum Leaves {
    /// Its address, there.
    Address(LLVMValueRef),
    /// That the thread has made it, there; nothing where another one of its block does.
    Mark(Option<LLVMValueRef>),
}

impl Kept {
    /// The call that checks it.
    pub fn call(&self) -> LLVMValueRef {
        self.call
    }

    /// The address that it checks.
    pub fn address(&self) -> LLVMValueRef {
        // SAFETY: the call is there until the access is kept.
        unsafe { LLVMGetOperand(self.call, 1) }
    }

    /// Its bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The block that it is in.
    pub fn block(&self) -> LLVMBasicBlockRef {
        self.block
    }

    /// Bytes of the values that the threads leave, too, if they do.
    pub fn value_bytes(&self) -> Option<u64> {
        self.value.map(|_| self.size.into())
    }

    /// What the checker is told of its row: at these offsets of the frame's part of each thread.
    pub fn row_site(&self, items: &Items, values: Option<[u64; 2]>) -> RowSite {
        let [values, before] = values.unwrap_or([RowSite::NO_VALUES; 2]);
        let (items, active, lines) = match *items {
            Items::Each(items) => (items, RowSite::NO_LINES, RowSite::NO_LINES),
            Items::Lines { number, items, active } => (items, active, number),
        };
        RowSite {
            items,
            values,
            before,
            active,
            lines,
            site: self.site,
            kind: self.size | if self.writes { RowSite::WRITES } else { 0 },
        }
    }
}

/// The accesses of a function, which has been cut, that can be kept.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn find(function: LLVMValueRef) -> Vec<Kept> {
    // SAFETY: by contract.
    unsafe {
        let mut found = Vec::new();
        let mut cyclic = HashMap::new();
        for call in ir::instructions(function) {
            if found.len() < MOST_ROWS
                && let Some(kept) = kept(call)
                && !*cyclic.entry(kept.block).or_insert_with(|| reaches(kept.block).contains(&kept.block))
            {
                found.push(kept);
            }
        }
        found
    }
}

/// The blocks from which loops with reads that could be kept, and without writes, go back to
/// their start.
///
/// Cut there, such a loop runs iteration by iteration for all threads. Where threads write in
/// it, a race may then show other lines than where each runs through: a thread's first write to a word
/// stands for its next ones, and more of the others' reads would come after both.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn loop_ends(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let order = in_order(LLVMGetEntryBasicBlock(function));
        let position: HashMap<_, _> = order.iter().enumerate().map(|(i, &block)| (block, i)).collect();
        let any = |block, which: &dyn Fn(LLVMValueRef) -> bool| ir::block_instructions(block).any(which);
        let reads: Vec<_> = order
            .iter()
            .map(|&block| any(block, &|i| kept(i).is_some_and(|access| !access.writes)))
            .collect();
        let writes: Vec<_> = order.iter().map(|&block| any(block, &|i| is_write(i))).collect();
        let mut found = Vec::new();
        for (end, &block) in order.iter().enumerate() {
            let last = LLVMGetBasicBlockTerminator(block);
            let starts = (0..LLVMGetNumSuccessors(last))
                .map(|i| position[&LLVMGetSuccessor(last, i)])
                .filter(|&start| start <= end);
            for start in starts {
                // What leads to its end from behind its start is of the loop.
                let has = |which: &[bool]| {
                    (start..=end)
                        .any(|at| which[at] && (at == start || leads(&order, &position, at, end, start)))
                };
                if has(&reads) && !has(&writes) {
                    found.push(block);
                }
            }
        }
        found
    }
}

/// Whether an instruction is the check of a write.
///
/// # Safety
/// It is live.
pub unsafe fn is_write(i: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(i) == LLVMOpcode::LLVMCall
            && ir::callee(i).is_some_and(|f| ir::name(f).starts_with("__gpurace_write"))
    }
}

/// Whether control comes from a block to another one without a third, or one before it, between; by
/// their places in the order.
unsafe fn leads(
    order: &[LLVMBasicBlockRef],
    position: &HashMap<LLVMBasicBlockRef, usize>,
    from: usize,
    to: usize,
    start: usize,
) -> bool {
    let mut seen = HashSet::from([from]);
    let mut pending = vec![from];
    // SAFETY: by contract.
    unsafe {
        while let Some(at) = pending.pop() {
            if at == to {
                return true;
            }
            let last = LLVMGetBasicBlockTerminator(order[at]);
            for i in 0..LLVMGetNumSuccessors(last) {
                let next = position[&LLVMGetSuccessor(last, i)];
                if next > start && seen.insert(next) {
                    pending.push(next);
                }
            }
        }
    }
    false
}

/// The access whose check a call is, if it is one that can be kept.
///
/// # Safety
/// The instruction is live.
pub unsafe fn kept(call: LLVMValueRef) -> Option<Kept> {
    // SAFETY: by contract.
    unsafe {
        if ir::opcode(call) != LLVMOpcode::LLVMCall {
            return None;
        }
        let name = ir::name(ir::callee(call)?);
        let writes = match name.as_str() {
            "__gpurace_read" | "__gpurace_read_range" => false,
            "__gpurace_write" | "__gpurace_write_range" => true,
            _ => return None,
        };
        let constant = |i| {
            let operand = LLVMGetOperand(call, i);
            (!LLVMIsAConstantInt(operand).is_null()).then(|| LLVMConstIntGetZExtValue(operand))
        };
        // The context is operand 0.
        let size = u32::try_from(constant(2)?).ok().filter(|size| [4, 8, 16].contains(size))?;
        let value = (name == "__gpurace_write" && size <= 8).then(|| LLVMGetOperand(call, 4));
        Some(Kept {
            call,
            block: LLVMGetInstructionParent(call),
            site: constant(3)? as u32,
            size,
            writes,
            value,
        })
    }
}

/// The blocks that control may come to after `block`.
unsafe fn reaches(block: LLVMBasicBlockRef) -> HashSet<LLVMBasicBlockRef> {
    let mut found = HashSet::new();
    let mut pending = vec![block];
    // SAFETY: by contract.
    unsafe {
        while let Some(block) = pending.pop() {
            let end = LLVMGetBasicBlockTerminator(block);
            for i in 0..LLVMGetNumSuccessors(end) {
                let next = LLVMGetSuccessor(end, i);
                if found.insert(next) {
                    pending.push(next);
                }
            }
        }
    }
    found
}

/// The blocks in which control ends that comes to `block`.
///
/// # Safety
/// It is live.
pub unsafe fn ends(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let mut found: Vec<_> = in_order(block);
        found.retain(|&b| ir::opcode(LLVMGetBasicBlockTerminator(b)) == LLVMOpcode::LLVMRet);
        found
    }
}

/// Those of these places, each some blocks, that a thread may come to that starts at `start`: by their
/// indices, in an order that keeps each thread's own.
///
/// # Safety
/// `start` is a block of the function of the places.
pub unsafe fn of_segment(start: LLVMBasicBlockRef, places: &[&[LLVMBasicBlockRef]]) -> Vec<usize> {
    // SAFETY: by contract.
    let order = unsafe { in_order(start) };
    let position: HashMap<_, _> = order.iter().enumerate().map(|(i, &block)| (block, i)).collect();
    let first =
        |blocks: &[LLVMBasicBlockRef]| blocks.iter().filter_map(|block| position.get(block)).min().copied();
    let mut found: Vec<_> = (0..).zip(places).filter_map(|(i, blocks)| Some((first(blocks)?, i))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, i)| i).collect()
}

/// The blocks that are reached from `start`, each after those that lead to it, but for
/// those of loops.
unsafe fn in_order(start: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    let mut seen = HashSet::from([start]);
    let mut order = Vec::new();
    let mut open = vec![(start, 0)];
    // SAFETY: by contract.
    unsafe {
        while let Some((block, i)) = open.pop() {
            let end = LLVMGetBasicBlockTerminator(block);
            if i < LLVMGetNumSuccessors(end) {
                open.push((block, i + 1));
                let next = LLVMGetSuccessor(end, i);
                if seen.insert(next) {
                    open.push((next, 0));
                }
            } else {
                order.push(block);
            }
        }
    }
    order.reverse();
    order
}

/// Puts stores into the frame in the place of an access's check.
///
/// # Safety
/// The access was found in a live function, and its check is there still; the places of what it leaves are addresses
/// that are computed at the function's start, those of what is written and what was there before variables.
pub unsafe fn keep(
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    access: &Kept,
    leaves: Leaves,
    values: Option<[LLVMValueRef; 2]>,
) {
    // SAFETY: by contract; the call is erased once.
    unsafe {
        let none = c"".as_ptr();
        let call = access.call;
        LLVMPositionBuilderBefore(builder, call);
        let address = LLVMGetOperand(call, 1);
        match leaves {
            Leaves::Address(place) => {
                LLVMBuildStore(builder, gpurace_address_number(builder, address), place);
            }
            Leaves::Mark(Some(place)) => {
                let mark = comes_there(builder, context, access.block);
                LLVMBuildStore(builder, mark, place);
                LLVMPositionBuilderBefore(builder, call);
            }
            Leaves::Mark(None) => {}
        }
        if let (Some(value), Some([written, before])) = (access.value, values) {
            let ty = LLVMIntTypeInContext(context, 8 * access.size);
            let value = if access.size == 8 { value } else { LLVMBuildTrunc(builder, value, ty, none) };
            LLVMBuildStore(builder, value, written);
            let there = LLVMBuildLoad2(builder, ty, address, none);
            LLVMSetAlignment(there, 1);
            LLVMBuildStore(builder, there, before);
        }
        LLVMInstructionEraseFromParent(call);
    }
}

/// Whether a thread comes to a block, as a 32-bit number: where the one block that leads there decides, known
/// there already, where the builder is left. So the threads that do not come there store, too, and LLVM needs no store under a mask,
/// which takes many times as long.
unsafe fn comes_there(
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    block: LLVMBasicBlockRef,
) -> LLVMValueRef {
    // SAFETY: by contract; the builder is in the block.
    unsafe {
        let int = LLVMInt32TypeInContext(context);
        let function = LLVMGetBasicBlockParent(block);
        let mut before = ir::blocks(function).filter(|&b| ir::successors(b).contains(&block));
        if let (Some(one), None) = (before.next(), before.next()) {
            let last = LLVMGetBasicBlockTerminator(one);
            if let [yes, no] = ir::successors(one)[..]
                && ir::opcode(last) == LLVMOpcode::LLVMBr
                && yes != no
            {
                LLVMPositionBuilderBefore(builder, last);
                let (condition, none) = (LLVMGetCondition(last), c"".as_ptr());
                let comes = if yes == block { condition } else { LLVMBuildNot(builder, condition, none) };
                return LLVMBuildZExt(builder, comes, int, none);
            }
        }
        LLVMConstInt(int, 1, 0)
    }
}

#[cfg(test)]
mod tests;
