//! Reads in loops that a block's threads leave one by one.
//!
//! Such a loop is not cut into rows ([`super::rows`]): a thread goes through it as a whole, and
//! may read any number of times through one instruction. Each instruction has a *pool* in the block's
//! frame. A read leaves itself there, with its thread; a pool that is full, and at the end of the segment
//! each, is handed to the checker: `gpurace_check::stream` looks at what it holds.
//!
//! | the address in the loop | what is left |
//! |---|---|
//! | may go on where the last read of the thread ended | the thread, the first byte and the end of all reads that do |
//! | depends on what is read there, or is plainly elsewhere each time | the thread and the address |
//!
//! Pools are handed over before each write that is checked by a call, and before rows: so reads come among writes as they
//! would if each was checked at once. Where a thread writes a word twice, its first write stands for both, and
//! a read that came behind would be told to race with one of them alone.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gpurace_abi::entry;
use gpurace_abi::image::{POOL_THREAD_SHIFT, RowSite};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::rows::{self, Kept};
use crate::entry_calls::EntryCalls;
use crate::ir;

unsafe extern "C" {
    fn gpurace_split_before(instruction: LLVMValueRef) -> LLVMBasicBlockRef;
    fn gpurace_address_number(builder: LLVMBuilderRef, address: LLVMValueRef) -> LLVMValueRef;
}

/// Bytes of the frame that a pool has of each thread.
pub const POOL_BYTES: u64 = 32;
/// Bytes of a pool that are used, at most: a core's nearest cache holds several.
const MOST_BYTES: u64 = 4096;
/// Pools of a kernel.
const MOST: usize = 32;
/// Bytes before the items: how many there are.
const HEADER: u64 = 8;
/// The entry point that a pool is handed to.
const HAND_OVER: &str = "__gpurace_reads";

/// A read that leaves itself in a pool.
#[derive(Clone, Debug)]
pub struct Stream {
    access: Kept,
    /// Each read is an item of its own.
    scattered: bool,
    /// The outermost loop around it.
    around: Rc<Loop>,
}

/// A loop, and what leads back to it.
#[derive(Debug)]
struct Loop {
    blocks: Vec<LLVMBasicBlockRef>,
    /// The checks of writes in it.
    writes: Vec<LLVMValueRef>,
}

impl Loop {
    unsafe fn new(blocks: Vec<LLVMBasicBlockRef>) -> Self {
        // SAFETY: by contract.
        let writes = unsafe {
            blocks
                .iter()
                .flat_map(|&block| ir::block_instructions(block))
                .filter(|&i| rows::is_write(i))
                .collect()
        };
        Self { blocks, writes }
    }
}

impl Stream {
    /// The blocks of the outermost loop around it.
    pub fn blocks(&self) -> &[LLVMBasicBlockRef] {
        &self.around.blocks
    }

    /// What the checker is told of its pool, at this offset of the frame's part of each thread.
    pub fn row_site(&self, pool: u64) -> RowSite {
        let kind = if self.scattered { RowSite::SCATTERED } else { RowSite::STREAMS };
        let ([values, before], [active, lines]) = ([RowSite::NO_VALUES; 2], [RowSite::NO_LINES; 2]);
        RowSite {
            items: pool,
            values,
            before,
            active,
            lines,
            site: self.access.site,
            kind: self.access.size() | kind,
        }
    }

    fn item_bytes(&self) -> u64 {
        if self.scattered { 8 } else { 16 }
    }
}

/// The reads of a function, which has been cut, that can be left in pools.
///
/// # Safety
/// `function` is a live definition.
pub unsafe fn find(function: LLVMValueRef) -> Vec<Stream> {
    // SAFETY: by contract.
    unsafe {
        let mut found = Vec::new();
        for around in loops(&ir::blocks(function).collect::<Vec<_>>()) {
            let around = Rc::new(around);
            in_loop(&around, &around, &mut found);
        }
        found.truncate(MOST);
        found
    }
}

/// The reads in loops without writes that are this one, or in it.
unsafe fn in_loop(this: &Loop, around: &Rc<Loop>, found: &mut Vec<Stream>) {
    let inside: HashSet<_> = this.blocks.iter().copied().collect();
    // SAFETY: by contract.
    unsafe {
        if this.writes.is_empty() {
            for access in this
                .blocks
                .iter()
                .flat_map(|&block| ir::block_instructions(block))
                .filter_map(|i| rows::kept(i))
            {
                let scattered = is_scattered(access.address(), &inside);
                found.push(Stream { access, scattered, around: around.clone() });
            }
            return;
        }
        // Without where it is entered no loop is left but those in it.
        let function = LLVMGetBasicBlockParent(this.blocks[0]);
        let outside = ir::blocks(function).filter(|block| !inside.contains(block));
        let entered: HashSet<_> = outside.flat_map(|block| ir::successors(block)).collect();
        let rest: Vec<_> = this.blocks.iter().copied().filter(|block| !entered.contains(block)).collect();
        if rest.len() < this.blocks.len() {
            loops(&rest).iter().for_each(|inner| in_loop(inner, around, found));
        }
    }
}

/// The loops that are in no other one, of these blocks and what leads from one to another of them.
unsafe fn loops(blocks: &[LLVMBasicBlockRef]) -> Vec<Loop> {
    // Strongly connected components (Tarjan, 1972), without recursion.
    let known: HashSet<_> = blocks.iter().copied().collect();
    let mut index: HashMap<LLVMBasicBlockRef, usize> = HashMap::new();
    let mut lowest: HashMap<LLVMBasicBlockRef, usize> = HashMap::new();
    let (mut stack, mut on_stack) = (Vec::new(), HashSet::new());
    let mut found = Vec::new();
    for &root in blocks {
        if index.contains_key(&root) {
            continue;
        }
        let mut open = vec![(root, 0)];
        while let Some((block, i)) = open.pop() {
            if i == 0 {
                let n = index.len();
                index.insert(block, n);
                lowest.insert(block, n);
                stack.push(block);
                on_stack.insert(block);
            }
            // SAFETY: by contract.
            let next: Vec<_> =
                unsafe { ir::successors(block) }.into_iter().filter(|b| known.contains(b)).collect();
            if i > 0 {
                let of_next = lowest[&next[i - 1]];
                if on_stack.contains(&next[i - 1]) {
                    lowest.entry(block).and_modify(|own| *own = of_next.min(*own));
                }
            }
            if let Some(&to) = next.get(i) {
                open.push((block, i + 1));
                match index.get(&to) {
                    None => open.push((to, 0)),
                    Some(&at) if on_stack.contains(&to) => {
                        lowest.entry(block).and_modify(|own| *own = at.min(*own));
                    }
                    Some(_) => {}
                }
                continue;
            }
            if lowest[&block] == index[&block] {
                let from = stack.iter().rposition(|&b| b == block).unwrap_or(0);
                let component = stack.split_off(from);
                component.iter().for_each(|b| {
                    on_stack.remove(b);
                });
                if component.len() > 1 || next.contains(&block) {
                    // SAFETY: by contract.
                    found.push(unsafe { Loop::new(component) });
                }
            }
        }
    }
    found
}

/// Whether an address in a loop follows no other one of it: it depends on what is read or called there, or on what
/// grows otherwise than by ones.
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

/// Whether what a variable of a loop becomes is it and something other than 1.
unsafe fn jumps(variable: LLVMValueRef, next: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        if ir::value_opcode(next) != Some(LLVMOpcode::LLVMAdd) {
            return false;
        }
        let operands = ir::operands(next);
        let more = operands.iter().find(|&&o| o != variable);
        let is_one = |&o: &LLVMValueRef| !LLVMIsAConstantInt(o).is_null() && LLVMConstIntGetSExtValue(o) == 1;
        operands.contains(&variable) && !more.is_some_and(is_one)
    }
}

/// Where a pool is, and what all of a function's have in common.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// The function's first block, before whose end the place is known.
    pub start: LLVMBasicBlockRef,
    /// Its address.
    pub place: LLVMValueRef,
    /// Linear index of the thread, and threads of the block, `i64` both.
    pub linear: LLVMValueRef,
    /// See above.
    pub threads: LLVMValueRef,
    /// The context.
    pub thread_context: LLVMValueRef,
}

/// Builds the code of one stream.
struct Build<'a> {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    b: LLVMBuilderRef,
    stream: &'a Stream,
    pool: Pool,
    long: LLVMTypeRef,
    /// How many items it has, in a variable of the function's.
    count: LLVMValueRef,
    /// The end of the thread's last read, where its reads may follow each other, and the address that it is left at.
    expected: LLVMValueRef,
    end: LLVMValueRef,
    /// Items that it holds.
    most: LLVMValueRef,
    /// The thread, as an item has it.
    thread: LLVMValueRef,
}

/// Has a read leave itself in a pool instead of being checked at once. `writes` are the function's checks of
/// writes that stay calls.
///
/// # Safety
/// The stream was found in a live function of the module, and its check is there still; the
/// pool's values are known where the first block ends.
pub unsafe fn keep(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    stream: &Stream,
    pool: Pool,
    writes: &[LLVMValueRef],
) {
    // SAFETY: by contract; the call is erased once.
    unsafe {
        let context = ir::context(module);
        let b = builder;
        let long = LLVMInt64TypeInContext(context);
        let none = c"".as_ptr();
        let n = |n| LLVMConstInt(long, n, 0);
        LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(pool.start));
        let [count, expected, end] =
            [long, long, LLVMPointerTypeInContext(context, 0)].map(|ty| LLVMBuildAlloca(b, ty, none));
        let bytes = LLVMBuildMul(b, pool.threads, n(POOL_BYTES), none);
        let many = LLVMBuildICmp(b, LLVMIntPredicate::LLVMIntUGT, bytes, n(MOST_BYTES), none);
        let bytes = LLVMBuildSelect(b, many, n(MOST_BYTES), bytes, none);
        let items = LLVMBuildSub(b, bytes, n(HEADER), none);
        let most = LLVMBuildUDiv(b, items, n(stream.item_bytes()), none);
        let thread = LLVMBuildShl(b, pool.linear, n(POOL_THREAD_SHIFT.into()), none);
        let build = Build { module, context, b, stream, pool, long, count, expected, end, most, thread };
        if stream.scattered {
            LLVMBuildStore(b, LLVMBuildLoad2(b, long, pool.place, none), count);
        } else {
            // Of another thread's reads nothing goes on.
            LLVMBuildStore(b, build.no_address(), expected);
            LLVMBuildStore(b, build.at(build.item(n(0)), 8), end);
        }
        build.before(writes);
        let call = stream.access.call();
        if stream.scattered {
            build.each(call);
        } else {
            build.follow(call);
        }
        LLVMInstructionEraseFromParent(call);
    }
}

impl Build<'_> {
    fn n(&self, n: u64) -> LLVMValueRef {
        // SAFETY: the type is live with the module.
        unsafe { LLVMConstInt(self.long, n, 0) }
    }

    /// An address that no read has.
    fn no_address(&self) -> LLVMValueRef {
        self.n(u64::MAX)
    }

    unsafe fn at(&self, place: LLVMValueRef, offset: u64) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            LLVMBuildInBoundsGEP2(self.b, byte, place, [self.n(offset)].as_mut_ptr(), 1, c"".as_ptr())
        }
    }

    /// The address of an item.
    unsafe fn item(&self, index: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: by contract.
        unsafe {
            let byte = LLVMInt8TypeInContext(self.context);
            let offset = LLVMBuildMul(self.b, index, self.n(self.stream.item_bytes()), c"".as_ptr());
            let items = self.at(self.pool.place, HEADER);
            LLVMBuildInBoundsGEP2(self.b, byte, items, [offset].as_mut_ptr(), 1, c"".as_ptr())
        }
    }

    /// Goes on in a block of its own if `condition` holds, and in any case behind it: before the
    /// instruction, where the builder is afterwards. `then` builds that block.
    unsafe fn when(&self, before: LLVMValueRef, condition: LLVMValueRef, rare: bool, then: impl FnOnce()) {
        // SAFETY: by contract; the builder is right before the instruction.
        unsafe {
            let block = LLVMGetInstructionParent(before);
            let on = gpurace_split_before(before);
            let inside = LLVMInsertBasicBlockInContext(self.context, on, c"".as_ptr());
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
            LLVMPositionBuilderAtEnd(self.b, block);
            let branch = LLVMBuildCondBr(self.b, condition, inside, on);
            if rare {
                let int = LLVMInt32TypeInContext(self.context);
                let kind = LLVMGetMDKindIDInContext(self.context, c"prof".as_ptr(), 4);
                let weight = |n| LLVMValueAsMetadata(LLVMConstInt(int, n, 0));
                let mut items = [
                    LLVMMDStringInContext2(self.context, c"branch_weights".as_ptr(), 14),
                    weight(1),
                    weight(2000),
                ];
                let weights = LLVMMDNodeInContext2(self.context, items.as_mut_ptr(), 3);
                LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(self.context, weights));
            }
            let last = {
                LLVMPositionBuilderAtEnd(self.b, inside);
                LLVMBuildBr(self.b, on)
            };
            LLVMPositionBuilderBefore(self.b, last);
            then();
            LLVMPositionBuilderBefore(self.b, before);
        }
    }

    /// Hands the pool over, at the builder's position.
    unsafe fn hand_over(&self) {
        // SAFETY: by contract.
        unsafe {
            let int = LLVMInt32TypeInContext(self.context);
            let entry =
                entry::find(HAND_OVER).unwrap_or_else(|| unreachable!("`{HAND_OVER}` is not an entry point"));
            let ty = EntryCalls::new(self.module).function_type(entry, true);
            let symbol = ir::c(HAND_OVER);
            let known = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            let function =
                if known.is_null() { LLVMAddFunction(self.module, symbol.as_ptr(), ty) } else { known };
            let site = self.stream.row_site(0);
            let [kind, site] = [site.kind, site.site].map(|n| LLVMConstInt(int, n.into(), 0));
            let mut arguments = [self.pool.thread_context, self.pool.place, kind, site];
            LLVMBuildCall2(
                self.b,
                ty,
                function,
                arguments.as_mut_ptr(),
                arguments.len() as u32,
                c"".as_ptr(),
            );
            let (value, variable) = match self.stream.scattered {
                true => (self.n(0), self.count),
                false => (self.no_address(), self.expected),
            };
            LLVMBuildStore(self.b, value, variable);
        }
    }

    /// Reads come before the writes that follow them, of their thread and of those that run later.
    unsafe fn before(&self, writes: &[LLVMValueRef]) {
        // SAFETY: by contract.
        unsafe {
            for &write in writes {
                LLVMPositionBuilderBefore(self.b, write);
                let count = LLVMBuildLoad2(self.b, self.long, self.pool.place, c"".as_ptr());
                let any = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntNE, count, self.n(0), c"".as_ptr());
                self.when(write, any, false, || self.hand_over());
            }
        }
    }

    /// An item for each read.
    unsafe fn each(&self, call: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let none = c"".as_ptr();
            LLVMPositionBuilderBefore(self.b, call);
            let address = gpurace_address_number(self.b, LLVMGetOperand(call, 1));
            let count = LLVMBuildLoad2(self.b, self.long, self.count, none);
            LLVMBuildStore(self.b, LLVMBuildOr(self.b, address, self.thread, none), self.item(count));
            let count = LLVMBuildAdd(self.b, count, self.n(1), none);
            LLVMBuildStore(self.b, count, self.count);
            LLVMBuildStore(self.b, count, self.pool.place);
            let full = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntEQ, count, self.most, none);
            self.when(call, full, true, || self.hand_over());
        }
    }

    /// One item for all reads that follow each other.
    unsafe fn follow(&self, call: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let none = c"".as_ptr();
            LLVMPositionBuilderBefore(self.b, call);
            let address = gpurace_address_number(self.b, LLVMGetOperand(call, 1));
            let expected = LLVMBuildLoad2(self.b, self.long, self.expected, none);
            // Not where the last one ended, nor where it was.
            let size = self.n(self.stream.access.size().into());
            let back = LLVMBuildSub(self.b, expected, address, none);
            let elsewhere = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntUGT, back, size, none);
            self.when(call, elsewhere, false, || {
                let last = LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(self.b));
                let count = LLVMBuildLoad2(self.b, self.long, self.pool.place, none);
                let full = LLVMBuildICmp(self.b, LLVMIntPredicate::LLVMIntEQ, count, self.most, none);
                self.when(last, full, true, || self.hand_over());
                let count = LLVMBuildLoad2(self.b, self.long, self.pool.place, none);
                let item = self.item(count);
                LLVMBuildStore(self.b, LLVMBuildOr(self.b, address, self.thread, none), item);
                LLVMBuildStore(self.b, LLVMBuildAdd(self.b, count, self.n(1), none), self.pool.place);
                LLVMBuildStore(self.b, self.at(item, 8), self.end);
            });
            let next = LLVMBuildAdd(self.b, address, size, none);
            LLVMBuildStore(self.b, next, self.expected);
            let end = LLVMBuildLoad2(self.b, LLVMPointerTypeInContext(self.context, 0), self.end, none);
            LLVMBuildStore(self.b, next, end);
        }
    }
}

/// Whether a call hands a pool over: it is none of the running thread's.
///
/// # Safety
/// The instruction is live.
pub unsafe fn hands_over(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(instruction) == LLVMOpcode::LLVMCall
            && ir::callee(instruction).is_some_and(|f| ir::name(f) == HAND_OVER)
    }
}

#[cfg(test)]
mod tests;
