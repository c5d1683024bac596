//! Hooks: calls of the device runtime beside instructions that synchronise, and beside accesses of
//! NVVM intrinsics and inline PTX. The instructions themselves stay.
//!
//! The call for an access, an arrival or a release stands before the instruction, the call for a
//! wait or an acquire after it. So the events in a launch's log (`runtime/base/abi/src/event.rs`)
//! have an order in which they can have happened. The calls of one asm follow its statements.
//!
//! Before an instruction that may order threads in an unknown way stands a call of
//! [`Entry::Irregular`]: from there on, conflicting accesses count as undecided, never as races. An
//! instruction that this module does not know costs verdicts, but causes no false alarm.

mod intrinsics;
mod statements;

use gpurace_abi::entry::Entry;
use gpurace_abi::event::{EventKind, NamedWait};
use gpurace_abi::meta::{Op, Site, Space, Verdict};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use super::asm::Tells;
use super::fetches;
use super::matrix::Moved;
use crate::checks::instrument;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;
use crate::ir::entry_calls::EntryCalls;
use crate::ir::position::Positions;

/// Bytes of an mbarrier.
const MBARRIER: u64 = 8;

/// The sites of the hooks, and what could not be checked.
#[derive(Debug, Default)]
pub struct Hooked {
    /// The sites of checked accesses by intrinsics and inline PTX.
    pub sites: Vec<Site>,
    /// The function of each site.
    pub functions: Vec<LLVMValueRef>,
    /// The number of instructions with unchecked accesses.
    pub unseen: u32,
    /// The number of instructions with unchecked accesses to textures and surfaces.
    pub fetches: u32,
}

/// A call of the device runtime without a result.
type Call = (Entry, Vec<LLVMValueRef>);

/// Calls for one action of an instruction, with values that are known before it.
enum Step {
    /// An access: its check, and for an atomic the call after it. If the access acquires only when
    /// the phase of an mbarrier is over: the result that shows it.
    Check(Checked, Option<Tells>),
    /// An access through a texture or surface object.
    Fetch(fetches::ImageAccess<LLVMValueRef>),
    /// An access of the whole warp.
    Matrix(Moved),
    /// A barrier of the whole block.
    Block,
    /// A sync of the warp's lanes in a mask.
    Warp(LLVMValueRef),
    /// The thread ends.
    End,
    /// Calls before and after the instruction.
    Calls { before: Vec<Call>, after: Vec<Call> },
}

/// Calls after an instruction.
struct After {
    calls: Vec<Call>,
    tells: Option<Tells>,
}

/// Inserts the calls of a module. `first` is the number of the first site that is added.
///
/// # Safety
/// `module` is live and not normalised.
pub unsafe fn insert(module: LLVMModuleRef, first: usize, positions: &mut Positions) -> Hooked {
    // SAFETY: by contract; the builder is disposed of once.
    unsafe {
        let builder = LLVMCreateBuilderInContext(ir::context(module));
        let calls = EntryCalls::new(module);
        let mut hooks = Hooks { module, builder, calls, first, positions, hooked: Hooked::default() };
        for function in ir::definitions(module) {
            for instruction in ir::instructions(function) {
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMCall if ir::calls_asm(instruction) => hooks.asm(function, instruction),
                    LLVMOpcode::LLVMCall => hooks.intrinsic(function, instruction),
                    LLVMOpcode::LLVMFence => {
                        let fence = hooks.fence(Scope::System, Order::SeqCst, false);
                        hooks.beside(function, instruction, vec![(None, fence)]);
                    }
                    _ => {}
                }
            }
        }
        LLVMDisposeBuilder(builder);
        hooks.hooked
    }
}

/// Calls an entry point of the device runtime at the builder's position.
///
/// # Safety
/// The builder is positioned in `module`; the arguments have the listed types.
pub unsafe fn call(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    entry: Entry,
    arguments: &[LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe { EntryCalls::new(module).call_convergent(builder, entry, arguments) }
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
                let after = self.before(function, instruction, step);
                self.close(rest);
                afters.push((guard, after));
            }
            afters.retain(|(_, after)| !after.calls.is_empty() && !behind.is_null());
            for (guard, After { calls, tells }) in afters {
                let rest = self.open(guard, behind, instruction);
                for (entry, mut arguments) in calls {
                    if let (Some(tells), Some(order)) = (tells, arguments.last_mut()) {
                        *order = self.order_if(instruction, tells, *order);
                    }
                    call(self.module, self.builder, entry, &arguments);
                }
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
    /// Returns those that stand after it.
    unsafe fn before(&mut self, function: LLVMValueRef, instruction: LLVMValueRef, step: Step) -> After {
        let (module, builder) = (self.module, self.builder);
        // SAFETY: by `insert`'s contract.
        unsafe {
            let mut tells = None;
            let calls = match step {
                Step::Check(checked, told) => {
                    tells = told;
                    let arguments = self.check(function, instruction, checked);
                    arguments.into_iter().map(|arguments| (Entry::AtomicDone, arguments.to_vec())).collect()
                }
                Step::Fetch(fetch) => {
                    self.fetch(function, instruction, &fetch);
                    Vec::new()
                }
                Step::Matrix(moved) => {
                    let op = if moved.store { Op::Write } else { Op::Read };
                    let site =
                        self.add_site(function, instruction, Site { size: moved.size(), ..site_of(op) });
                    let (entry, arguments) = moved.check(&self.calls, builder, site);
                    call(module, builder, entry, &arguments);
                    Vec::new()
                }
                Step::Block => {
                    let state = call(module, builder, Entry::BeforeBarrier, &[]);
                    vec![(Entry::AfterBarrier, vec![state])]
                }
                Step::Warp(mask) => {
                    let state = call(module, builder, Entry::BeforeSyncwarp, &[mask]);
                    vec![(Entry::AfterSyncwarp, vec![state])]
                }
                Step::End => {
                    call(module, builder, Entry::Leave, &[]);
                    Vec::new()
                }
                Step::Calls { before, after } => {
                    for (entry, arguments) in before {
                        call(module, builder, entry, &arguments);
                    }
                    after
                }
            };
            After { calls, tells }
        }
    }

    /// Inserts the check of an access at the builder's position. Returns the arguments of the call
    /// after an atomic access.
    unsafe fn check(
        &mut self,
        function: LLVMValueRef,
        instruction: LLVMValueRef,
        checked: Checked,
    ) -> Option<[LLVMValueRef; 6]> {
        let Checked { pointer, size, access, op, volatile, asynchronous } = checked;
        let site = Site { size: size as u32, volatile, asynchronous, ..site_of(op) };
        // SAFETY: by `insert`'s contract.
        let id = unsafe { self.add_site(function, instruction, site) };
        let site = AccessSite { instruction, function, pointer, offset: 0, size, access };
        // SAFETY: by `insert`'s contract; the builder stands before the instruction.
        unsafe { instrument::check_before(&self.calls, self.builder, id, &site) }
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

    /// Inserts the calls for an access through a texture or surface object at the builder's position.
    unsafe fn fetch(
        &mut self,
        function: LLVMValueRef,
        instruction: LLVMValueRef,
        fetch: &fetches::ImageAccess<LLVMValueRef>,
    ) {
        let what = fetch.what;
        let (op, size) = match what.kind {
            EventKind::SurfaceWrite => (Op::Write, what.size),
            EventKind::SurfaceRead => (Op::Read, what.size),
            // The size of a texel is known only at run time.
            _ => (Op::Read, 0),
        };
        // SAFETY: by `insert`'s contract; coordinates are numbers of 32 bits.
        unsafe {
            let site = self.add_site(function, instruction, Site { size, ..site_of(op) });
            let word = LLVMInt32TypeInContext(ir::context(self.module));
            let mut at: Vec<_> = fetch
                .at
                .iter()
                .map(|&value| LLVMBuildBitCast(self.builder, value, word, c"".as_ptr()))
                .collect();
            let is_longer = at.len() > fetches::FIRST;
            at.resize(2 * fetches::FIRST, self.calls.i32(0));
            let (first, rest) = at.split_at(fetches::FIRST);
            if is_longer {
                call(self.module, self.builder, Entry::Coordinates, rest);
            }
            let mut arguments = vec![fetch.object, self.calls.i32(site), self.calls.i32(what.pack().into())];
            arguments.extend_from_slice(first);
            call(self.module, self.builder, Entry::Fetch, &arguments);
        }
    }

    /// The order of an access that acquires only if a result of its instruction says so, computed
    /// after the instruction.
    unsafe fn order_if(&self, instruction: LLVMValueRef, tells: Tells, order: LLVMValueRef) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: by `insert`'s contract; the builder stands behind the instruction.
        unsafe {
            let mut result = instruction;
            if LLVMGetTypeKind(LLVMTypeOf(result)) == LLVMTypeKind::LLVMStructTypeKind {
                if tells.result >= LLVMCountStructElementTypes(LLVMTypeOf(result)) {
                    return order;
                }
                result = LLVMBuildExtractValue(self.builder, result, tells.result, name);
            }
            let ty = LLVMTypeOf(result);
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMIntegerTypeKind {
                // Too much order misses a race, too little order reports a false one.
                return order;
            }
            let is_over = LLVMBuildICmp(
                self.builder,
                LLVMIntPredicate::LLVMIntEQ,
                result,
                LLVMConstInt(ty, tells.over, 0),
                name,
            );
            LLVMBuildSelect(self.builder, is_over, order, self.calls.i32(Order::Relaxed as u64), name)
        }
    }

    unsafe fn irregular(&self, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            self.open(None, instruction, instruction);
            call(self.module, self.builder, Entry::Irregular, &[]);
        }
    }

    /// A fence. `again`: the asm reads something before the fence.
    fn fence(&self, scope: Scope, order: Order, again: bool) -> Step {
        let number = |n: u64| self.calls.i32(n);
        let fence = (Entry::Fence, vec![number(scope as u64), number(order as u64), number(0)]);
        Step::Calls { after: if again { vec![fence.clone()] } else { Vec::new() }, before: vec![fence] }
    }

    /// A barrier of the block. `counted`: the instruction gives the number of threads.
    unsafe fn barrier(&self, number: LLVMValueRef, counted: bool, waits: bool) -> Step {
        // SAFETY: by `insert`'s contract.
        if waits && !counted && unsafe { is_zero(number) } {
            return Step::Block;
        }
        let waits_for = match (waits, counted) {
            (false, _) => NamedWait::None,
            (true, false) => NamedWait::WholeBlock,
            (true, true) => NamedWait::Counted,
        };
        let before = vec![(Entry::BeforeNamed, vec![number, self.calls.i32(waits_for as u64)])];
        Step::Calls {
            before,
            after: if waits { vec![(Entry::AfterNamed, vec![number])] } else { Vec::new() },
        }
    }

    fn commit() -> Step {
        Step::Calls { before: vec![(Entry::AsyncCommit, Vec::new())], after: Vec::new() }
    }

    /// The thread waits for all its groups of copies but this many. `None`: its copies until now
    /// become a group, and it waits for all groups.
    fn wait(&self, groups: Option<LLVMValueRef>) -> Step {
        let before = if groups.is_none() { vec![(Entry::AsyncCommit, Vec::new())] } else { Vec::new() };
        Step::Calls { before, after: vec![(Entry::AsyncWait, vec![groups.unwrap_or(self.calls.i32(0))])] }
    }

    /// The thread's next arrival at an mbarrier (a generic pointer) happens when its copies are done.
    fn copies_arrive(&self, mbarrier: LLVMValueRef) -> Step {
        Step::Calls { before: vec![(Entry::AsyncArrive, vec![mbarrier])], after: Vec::new() }
    }

    fn cluster_arrive(&self, order: Order) -> Step {
        let arguments = vec![self.calls.i32(order as u64), self.calls.i32(0)];
        Step::Calls { before: vec![(Entry::ClusterArrive, arguments)], after: Vec::new() }
    }

    fn cluster_wait(&self) -> Step {
        Step::Calls { before: Vec::new(), after: vec![(Entry::ClusterWait, vec![self.calls.i32(0)])] }
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
        asynchronous: false,
        frames: Vec::new(),
        verdict: Verdict::Checked,
    }
}

/// An arrival at an mbarrier. `kind` is a reduction if copies make it.
fn arrive(mbarrier: LLVMValueRef, kind: AtomicKind) -> Step {
    let access = Access::Atomic { kind, scope: Scope::Block, order: Order::Release };
    Step::Check(Checked::new(mbarrier, MBARRIER, access, Op::Atomic), None)
}

unsafe fn is_zero(value: LLVMValueRef) -> bool {
    // SAFETY: by `insert`'s contract.
    unsafe { !LLVMIsAConstantInt(value).is_null() && LLVMConstIntGetZExtValue(value) == 0 }
}
