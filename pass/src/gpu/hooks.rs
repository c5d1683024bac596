//! Hooks: calls of the device runtime beside accesses, barriers of the block, syncs of lanes and ends
//! of threads. The instructions themselves stay.
//!
//! The call for an access stands before the instruction; a barrier or sync has a call on each side.
//! The calls of one asm follow its statements.
//!
//! Before any other instruction that may order threads stands a call of [`Entry::Irregular`]: from
//! there on, conflicting accesses count as undecided, never as races. An instruction that this module
//! does not know costs verdicts, but causes no false alarm.

mod intrinsics;
mod statements;

use gpurace_abi::entry::Entry;
use gpurace_abi::meta::{Op, Site, Space, Verdict};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

use super::matrix::Moved;
use crate::checks::instrument;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;
use crate::ir::entry_calls::EntryCalls;
use crate::ir::position::Positions;

/// The sites of the hooks, and what could not be checked.
#[derive(Debug, Default)]
pub struct Hooked {
    /// The sites of checked accesses by intrinsics and inline PTX.
    pub sites: Vec<Site>,
    /// The function of each site.
    pub functions: Vec<LLVMValueRef>,
    /// The number of instructions with unchecked accesses.
    pub unseen: u32,
}

/// Calls for one action of an instruction, with values that are known before it.
enum Step {
    /// An access: its check.
    Check(Checked),
    /// An access of the whole warp.
    Matrix(Moved),
    /// A barrier of the whole block.
    Block,
    /// A sync of the warp's lanes in a mask.
    Warp(LLVMValueRef),
    /// The thread ends.
    End,
}

/// A call after an instruction.
type After = (Entry, LLVMValueRef);

/// Inserts the calls of a module. `accesses`: the accesses of its plain instructions, which have the
/// first sites.
///
/// # Safety
/// `module` is live and not normalised, and the accesses are its.
pub unsafe fn insert(module: LLVMModuleRef, accesses: &[AccessSite], positions: &mut Positions) -> Hooked {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        let calls = EntryCalls::new(module);
        let first = accesses.len();
        let mut hooks = Hooks { module, builder, calls, first, positions, hooked: Hooked::default() };
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMCall if ir::calls_asm(instruction) => hooks.asm(function, instruction),
                    LLVMOpcode::LLVMCall => hooks.intrinsic(function, instruction),
                    LLVMOpcode::LLVMFence => hooks.irregular(instruction),
                    _ => {}
                }
            }
        }
        for (id, site) in (0..).zip(accesses) {
            hooks.open(None, site.instruction, site.instruction);
            instrument::check_before(&hooks.calls, builder, id, site);
        }
        LLVMDisposeBuilder(builder);
        hooks.hooked
    }
}

/// A module into which calls are inserted. [`insert`] makes it; by its contract the module is live,
/// and so is each instruction that a method takes.
struct Hooks<'a> {
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    calls: EntryCalls,
    first: usize,
    positions: &'a mut Positions,
    hooked: Hooked,
}

/// An access to check.
struct Checked {
    pointer: LLVMValueRef,
    /// The number of bytes, or 0 if it is not constant.
    size: u64,
    access: Access,
    op: Op,
    volatile: bool,
    asynchronous: bool,
}

impl Checked {
    fn new(pointer: LLVMValueRef, size: u64, access: Access, op: Op) -> Self {
        Self { pointer, size, access, op, volatile: false, asynchronous: false }
    }
}

impl Hooks<'_> {
    /// Inserts the calls of steps beside an instruction. Each step runs only if its guard holds.
    unsafe fn beside(
        &mut self,
        function: LLVMValueRef,
        instruction: LLVMValueRef,
        steps: Vec<(Option<LLVMValueRef>, Step)>,
    ) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let behind = LLVMGetNextInstruction(instruction);
            let mut afters = Vec::new();
            for (guard, step) in steps {
                // The call before a barrier of the block has no effect, and the one after needs its result.
                let before = guard.filter(|_| !matches!(step, Step::Block));
                let rest = self.open(before, instruction, instruction);
                afters.extend(self.before(function, instruction, step).map(|after| (guard, after)));
                self.close(rest);
            }
            for (guard, (entry, state)) in afters.into_iter().filter(|_| !behind.is_null()) {
                let rest = self.open(guard, behind, instruction);
                self.call(entry, &[state]);
                self.close(rest);
            }
        }
    }

    /// Positions the builder before `at`; with a guard, in a new basic block there, which runs only
    /// if the guard holds and which [`Self::close`] ends.
    unsafe fn open(
        &self,
        guard: Option<LLVMValueRef>,
        at: LLVMValueRef,
        of: LLVMValueRef,
    ) -> Option<LLVMBasicBlockRef> {
        // SAFETY: by `insert`'s contract.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, at);
            LLVMSetCurrentDebugLocation2(self.builder, LLVMInstructionGetDebugLoc(of));
            guard.map(|guard| instrument::open_branch(self.builder, guard, at))
        }
    }

    unsafe fn close(&self, rest: Option<LLVMBasicBlockRef>) {
        if let Some(rest) = rest {
            // SAFETY: by `insert`'s contract; the builder stands at the end of the block that `open` has
            // begun.
            unsafe { LLVMBuildBr(self.builder, rest) };
        }
    }

    /// Makes the calls of a step that stand before its instruction, at the builder's position.
    /// Returns the one that stands after it.
    unsafe fn before(
        &mut self,
        function: LLVMValueRef,
        instruction: LLVMValueRef,
        step: Step,
    ) -> Option<After> {
        // SAFETY: by `insert`'s contract; the builder stands before the instruction.
        unsafe {
            match step {
                Step::Check(Checked { pointer, size, access, op, volatile, asynchronous }) => {
                    let site = Site { size: size as u32, volatile, asynchronous, ..site_of(op) };
                    let id = self.add_site(function, instruction, site);
                    let site = AccessSite { instruction, function, pointer, offset: 0, size, access };
                    instrument::check_before(&self.calls, self.builder, id, &site);
                }
                Step::Matrix(moved) => {
                    let op = if moved.store { Op::Write } else { Op::Read };
                    let site =
                        self.add_site(function, instruction, Site { size: moved.size(), ..site_of(op) });
                    let (entry, arguments) = moved.check(&self.calls, self.builder, site);
                    self.call(entry, &arguments);
                }
                Step::Block => {
                    return Some((Entry::AfterBarrier, self.call(Entry::BeforeBarrier, &[])));
                }
                Step::Warp(mask) => {
                    return Some((Entry::AfterSyncwarp, self.call(Entry::BeforeSyncwarp, &[mask])));
                }
                Step::End => {
                    self.call(Entry::Leave, &[]);
                }
            }
            None
        }
    }

    /// Calls an entry point of the device runtime at the builder's position.
    unsafe fn call(&self, entry: Entry, arguments: &[LLVMValueRef]) -> LLVMValueRef {
        // SAFETY: by `insert`'s contract.
        unsafe { self.calls.call_convergent(self.builder, entry, arguments) }
    }

    /// Adds the site of an access, and returns its number.
    unsafe fn add_site(&mut self, function: LLVMValueRef, instruction: LLVMValueRef, site: Site) -> u64 {
        let id = self.first + self.hooked.sites.len();
        self.hooked.functions.push(function);
        // SAFETY: by `insert`'s contract.
        let frames = unsafe { self.positions.of_instruction(instruction) };
        self.hooked.sites.push(Site { frames, ..site });
        id as u64
    }

    unsafe fn irregular(&self, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            self.open(None, instruction, instruction);
            self.call(Entry::Irregular, &[]);
        }
    }

    /// The minimum of a number and a 64-bit length, computed at the builder's position.
    unsafe fn least(&self, number: LLVMValueRef, length: LLVMValueRef) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: by `insert`'s contract an integer of at most 64 bits.
        unsafe {
            let number = LLVMBuildZExtOrBitCast(self.builder, number, LLVMTypeOf(length), name);
            let is_less = LLVMBuildICmp(self.builder, LLVMIntPredicate::LLVMIntULT, number, length, name);
            LLVMBuildSelect(self.builder, is_less, number, length, name)
        }
    }
}

/// A site with only its operation filled in.
fn site_of(op: Op) -> Site {
    Site {
        op,
        size: 0,
        space: Space::Generic,
        volatile: false,
        parameter: None,
        variable: None,
        asynchronous: false,
        frames: Vec::new(),
        verdict: Verdict::Checked,
    }
}

unsafe fn is_zero(value: LLVMValueRef) -> bool {
    // SAFETY: by `insert`'s contract.
    unsafe { ir::constant(value) == Some(0) }
}
