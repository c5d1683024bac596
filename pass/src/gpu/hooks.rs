//! Calls of the device runtime beside what synchronises, and beside accesses that
//! NVVM intrinsics and inline PTX make. The instructions themselves stay.
//!
//! What arrives, releases or accesses is said before it happens; what waits or acquires, behind it. So the places that these calls
//! take in a launch's log (`runtime/abi/src/event.rs`) are in an order in which it can have happened. Of an asm all is said in the order of its
//! statements.
//!
//! Whatever may order threads in a way that is not known is
//! announced ([`IRREGULAR`]) before it happens: from there on, conflicting accesses count as
//! undecided, never as races. So an instruction that is not known here costs
//! verdicts, and no false alarm.

use std::ffi::c_uint;

use gpurace_abi::event::{EventKind, NamedWait};
use gpurace_abi::meta::{Op, Site, Space, Verdict};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use super::asm::{self, Act, Candidate, Tells};
use super::fetches;
use super::matrix::Moved;
use super::values::Values;
use crate::entry_calls::EntryCalls;
use crate::position::Positions;
use crate::ptx::effects::{AccessKind, Size};
use crate::ptx::op::AtomOp;
use crate::ptx::types::Ty;
use crate::ptx::{self, Stmt};
use crate::sites::{Access, AccessSite};
use crate::{atomics, instrument, ir};

/// Called before what orders threads in a way that is not known.
const IRREGULAR: &str = "__gpurace_irregular";

/// Bytes of an mbarrier.
const MBARRIER: u64 = 8;

/// What was found.
#[derive(Debug, Default)]
pub struct Hooked {
    /// Accesses by intrinsics and inline PTX, which have their checks.
    pub sites: Vec<Site>,
    /// Of each the function that it is in.
    pub functions: Vec<LLVMValueRef>,
    /// How many instructions make accesses that are not checked.
    pub unseen: u32,
    /// How many instructions access textures and surfaces in a way that is not known, so that nothing is checked.
    pub fetches: u32,
}

/// A call of the device runtime that gives nothing back.
type Call = (&'static str, Vec<LLVMValueRef>);

/// What is called beside an instruction; its values are known before it.
enum Step {
    /// An access: its check, and once it has happened, what it did. What tells whether it acquires, where it may.
    Check(Checked, Option<Tells>),
    /// An access through a texture or a surface.
    Fetch(fetches::Candidate<LLVMValueRef>),
    /// An access of the whole warp.
    Matrix(Moved),
    /// A barrier of the whole block.
    Block,
    /// A sync of the warp's lanes in a mask.
    Warp(LLVMValueRef),
    /// The thread ends.
    End,
    /// Calls before it and behind it.
    Calls { before: Vec<Call>, after: Vec<Call> },
}

/// What is called behind an instruction.
struct After {
    calls: Vec<Call>,
    tells: Option<Tells>,
}

/// Inserts the calls. `first`: the site of the first access that has one here.
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

/// Calls a function of the device runtime at the builder's position.
///
/// # Safety
/// The builder is positioned in `module`.
pub unsafe fn call(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    name: &str,
    result: LLVMTypeRef,
    arguments: &mut [LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: by contract.
    unsafe {
        let mut types: Vec<_> = arguments.iter().map(|&a| LLVMTypeOf(a)).collect();
        let ty = LLVMFunctionType(result, types.as_mut_ptr(), types.len() as c_uint, 0);
        let symbol = ir::c(name);
        let mut function = LLVMGetNamedFunction(module, symbol.as_ptr());
        if function.is_null() {
            function = LLVMAddFunction(module, symbol.as_ptr(), ty);
            let kind = LLVMGetEnumAttributeKindForName(c"convergent".as_ptr(), 10);
            let attribute = LLVMCreateEnumAttribute(ir::context(module), kind, 0);
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
        }
        LLVMBuildCall2(builder, ty, function, arguments.as_mut_ptr(), arguments.len() as c_uint, c"".as_ptr())
    }
}

/// A module while calls are inserted; made by [`insert`], by whose contract the module is live, as is each instruction
/// that a method is given.
struct Hooks<'a> {
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    calls: EntryCalls,
    first: usize,
    positions: &'a mut Positions,
    hooked: Hooked,
}

/// An access that is to be checked.
struct Checked {
    pointer: LLVMValueRef,
    /// Bytes; 0 where not constant.
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
    /// Has these steps, each where its guard holds, called beside an instruction.
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
                // What comes before a barrier of the block only looks, and is needed behind it.
                let before = guard.filter(|_| !matches!(step, Step::Block));
                let rest = self.open(before, instruction, instruction);
                let after = self.before(function, instruction, step);
                self.close(rest);
                afters.push((guard, after));
            }
            afters.retain(|(_, after)| !after.calls.is_empty() && !behind.is_null());
            for (guard, After { calls, tells }) in afters {
                let rest = self.open(guard, behind, instruction);
                for (name, mut arguments) in calls {
                    if let (Some(tells), Some(order)) = (tells, arguments.last_mut()) {
                        *order = self.order_if(instruction, tells, *order);
                    }
                    call(
                        self.module,
                        self.builder,
                        name,
                        LLVMVoidTypeInContext(ir::context(self.module)),
                        &mut arguments,
                    );
                }
                self.close(rest);
            }
        }
    }

    /// Positions the builder before `at`, or with a guard in a block of its own there, which it alone leads to and [`Self::close`] ends.
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
            // SAFETY: by `insert`'s contract; the builder stands at the end of the block that `open` has begun.
            unsafe { LLVMBuildBr(self.builder, rest) };
        }
    }

    /// Makes the calls of a step before its instruction, where the builder stands. Gives those behind it.
    unsafe fn before(&mut self, function: LLVMValueRef, instruction: LLVMValueRef, step: Step) -> After {
        let (module, builder) = (self.module, self.builder);
        // SAFETY: by `insert`'s contract.
        unsafe {
            let context = ir::context(module);
            let (void, word, long) = (
                LLVMVoidTypeInContext(context),
                LLVMInt32TypeInContext(context),
                LLVMInt64TypeInContext(context),
            );
            let mut tells = None;
            let calls = match step {
                Step::Check(checked, told) => {
                    tells = told;
                    let arguments = self.check(function, instruction, checked);
                    arguments
                        .into_iter()
                        .map(|arguments| (instrument::ATOMIC_DONE, arguments.to_vec()))
                        .collect()
                }
                Step::Fetch(fetch) => {
                    self.fetch(function, instruction, &fetch);
                    Vec::new()
                }
                Step::Matrix(moved) => {
                    let op = if moved.store { Op::Write } else { Op::Read };
                    let site =
                        self.add_site(function, instruction, Site { size: moved.size(), ..site_of(op) });
                    let (name, mut arguments) = moved.check(&self.calls, builder, site);
                    call(module, builder, name, void, &mut arguments);
                    Vec::new()
                }
                Step::Block => {
                    let state = call(module, builder, "__gpurace_before_barrier", long, &mut []);
                    vec![("__gpurace_after_barrier", vec![state])]
                }
                Step::Warp(mask) => {
                    let state = call(module, builder, "__gpurace_before_syncwarp", word, &mut [mask]);
                    vec![("__gpurace_after_syncwarp", vec![state])]
                }
                Step::End => {
                    call(module, builder, "__gpurace_leave", void, &mut []);
                    Vec::new()
                }
                Step::Calls { before, after } => {
                    for (name, mut arguments) in before {
                        call(module, builder, name, void, &mut arguments);
                    }
                    after
                }
            };
            After { calls, tells }
        }
    }

    /// Checks an access before it, where the builder stands. Gives what is to be said of it behind it.
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
        let site = AccessSite { instruction, function, pointer, size, access };
        // SAFETY: by `insert`'s contract; the builder stands before the instruction.
        unsafe { instrument::check_before(&self.calls, self.builder, id, &site) }
    }

    /// Adds the site of an access; gives its number.
    unsafe fn add_site(&mut self, function: LLVMValueRef, instruction: LLVMValueRef, site: Site) -> u64 {
        let id = self.first + self.hooked.sites.len();
        self.hooked.functions.push(function);
        // SAFETY: by `insert`'s contract.
        let frames = unsafe { self.positions.of_instruction(instruction) };
        self.hooked.sites.push(Site { frames, ..site });
        id as u64
    }

    /// Tells of an access through a texture or a surface before it, where the builder stands.
    unsafe fn fetch(
        &mut self,
        function: LLVMValueRef,
        instruction: LLVMValueRef,
        fetch: &fetches::Candidate<LLVMValueRef>,
    ) {
        let what = fetch.what;
        let (op, size) = match what.kind {
            EventKind::SurfaceWrite => (Op::Write, what.size),
            EventKind::SurfaceRead => (Op::Read, what.size),
            // Of a texture's texels it is not known how large they are.
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
            let void = LLVMVoidTypeInContext(ir::context(self.module));
            let (first, rest) = at.split_at_mut(fetches::FIRST);
            if is_longer {
                call(self.module, self.builder, "__gpurace_coordinates", void, rest);
            }
            let mut arguments = vec![fetch.object, self.calls.i32(site), self.calls.i32(what.pack().into())];
            arguments.extend_from_slice(first);
            call(self.module, self.builder, "__gpurace_fetch", void, &mut arguments);
        }
    }

    /// The order of an access that has it only where a result of its instruction says so, behind it.
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
                // What is said too much costs a race, what is said too little makes one up.
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
            call(
                self.module,
                self.builder,
                IRREGULAR,
                LLVMVoidTypeInContext(ir::context(self.module)),
                &mut [],
            );
        }
    }

    /// A fence. `again`: it is behind something that its instruction reads.
    fn fence(&self, scope: Scope, order: Order, again: bool) -> Step {
        let number = |n: u64| self.calls.i32(n);
        let fence = ("__gpurace_fence", vec![number(scope as u64), number(order as u64), number(0)]);
        Step::Calls { after: if again { vec![fence.clone()] } else { Vec::new() }, before: vec![fence] }
    }

    /// A barrier of the block. `counted`: it is for as many threads as the instruction says.
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
        let before = vec![("__gpurace_before_named", vec![number, self.calls.i32(waits_for as u64)])];
        Step::Calls {
            before,
            after: if waits { vec![("__gpurace_after_named", vec![number])] } else { Vec::new() },
        }
    }

    fn commit() -> Step {
        Step::Calls { before: vec![("__gpurace_async_commit", Vec::new())], after: Vec::new() }
    }

    /// The thread waits for its groups of copies but so many. `None`: it makes a group and waits for all of them.
    fn wait(&self, groups: Option<LLVMValueRef>) -> Step {
        let before = if groups.is_none() { vec![("__gpurace_async_commit", Vec::new())] } else { Vec::new() };
        Step::Calls {
            before,
            after: vec![("__gpurace_async_wait", vec![groups.unwrap_or(self.calls.i32(0))])],
        }
    }

    /// The thread's next arrival at an mbarrier, a generic pointer, happens when its copies are done.
    fn copies_arrive(&self, mbarrier: LLVMValueRef) -> Step {
        Step::Calls { before: vec![("__gpurace_async_arrive", vec![mbarrier])], after: Vec::new() }
    }

    fn cluster_arrive(&self, order: Order) -> Step {
        let arguments = vec![self.calls.i32(order as u64), self.calls.i32(0)];
        Step::Calls { before: vec![("__gpurace_cluster_arrive", arguments)], after: Vec::new() }
    }

    fn cluster_wait(&self) -> Step {
        Step::Calls { before: Vec::new(), after: vec![("__gpurace_cluster_wait", vec![self.calls.i32(0)])] }
    }

    unsafe fn intrinsic(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let Some(callee) = ir::callee(instruction) else { return };
            let full = ir::name(callee);
            let Some(name) = full.strip_prefix("llvm.nvvm.") else {
                if let Some(step) = self.of_heap(&full, callee, instruction) {
                    self.beside(function, instruction, vec![(None, step)]);
                }
                return;
            };
            self.open(None, instruction, instruction);
            let steps = match self.steps_of(name, instruction) {
                Some(steps) => steps,
                None if [
                    "bar.",
                    "barrier",
                    "membar.",
                    "fence.",
                    "mbarrier.",
                    "cp.async",
                    "griddepcontrol",
                ]
                .iter()
                .any(|p| name.starts_with(p)) =>
                {
                    self.hooked.unseen +=
                        u32::from(name.contains("shared.global") || name.contains(".bulk.tensor"));
                    return self.irregular(instruction);
                }
                None => {
                    match access_of(self.module, name, instruction) {
                        Some((size, access, op)) => vec![Step::Check(
                            Checked::new(LLVMGetOperand(instruction, 0), size, access, op),
                            None,
                        )],
                        None if fetches::is_fetch(name) => match fetches::of_intrinsic(name, instruction) {
                            Some(fetch) => vec![Step::Fetch(fetch)],
                            None => {
                                self.hooked.fetches += 1;
                                return;
                            }
                        },
                        None => {
                            // Those that touch memory take a pointer; of the others, nothing is to be known.
                            self.hooked.unseen += u32::from(touches_memory(name, instruction));
                            return;
                        }
                    }
                }
            };
            self.beside(function, instruction, steps.into_iter().map(|step| (None, step)).collect());
        }
    }

    /// What a call of the device's heap says: what lay somewhere is over when something new does.
    unsafe fn of_heap(&self, name: &str, callee: LLVMValueRef, instruction: LLVMValueRef) -> Option<Step> {
        const HAPPENS: &str = "__gpurace_happens";
        // SAFETY: by `insert`'s contract; a program may declare such functions as it likes.
        unsafe {
            let is_pointer = |value| LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMPointerTypeKind;
            if LLVMIsDeclaration(callee) == 0 || LLVMGetNumArgOperands(instruction) != 1 {
                return None;
            }
            let argument = LLVMGetOperand(instruction, 0);
            match name {
                "free" if is_pointer(argument) => Some(Step::Calls {
                    before: vec![(HAPPENS, vec![argument, self.calls.i32(0)])],
                    after: Vec::new(),
                }),
                "malloc" if is_pointer(instruction) => Some(Step::Calls {
                    before: Vec::new(),
                    after: vec![(HAPPENS, vec![instruction, self.calls.i32(1)])],
                }),
                _ => None,
            }
        }
    }

    /// What an intrinsic that synchronises or copies does; `None` for others. The builder stands before it.
    unsafe fn steps_of(&self, name: &str, instruction: LLVMValueRef) -> Option<Vec<Step>> {
        // SAFETY: by `insert`'s contract; intrinsics have the arguments that LLVM says.
        unsafe {
            let argument = |n| LLVMGetOperand(instruction, n);
            let full_fence = |scope| self.fence(scope, Order::SeqCst, false);
            Some(vec![match name {
                "barrier0" | "barrier0.popc" | "barrier0.and" | "barrier0.or" => Step::Block,
                "bar.sync" | "barrier.n" | "barrier.sync" => self.barrier(argument(0), false, true),
                "barrier" | "barrier.sync.cnt" => self.barrier(argument(0), true, true),
                "bar.warp.sync" => Step::Warp(argument(0)),
                "exit" => Step::End,
                "membar.cta" => full_fence(Scope::Block),
                "fence.sc.cluster" => full_fence(Scope::Cluster),
                "membar.gl" => full_fence(Scope::Device),
                "membar.sys" => full_fence(Scope::System),
                _ if asm::is_fence_of_proxies(name) => return Some(Vec::new()),
                "cp.async.commit.group" => Self::commit(),
                "cp.async.wait.group" => self.wait(Some(argument(0))),
                "cp.async.wait.all" => self.wait(None),
                _ if name.starts_with("cp.async.c") && name.contains(".shared.global.") => {
                    return Some(self.copy(instruction, name));
                }
                _ if name.starts_with("cp.async.mbarrier.arrive") => {
                    let mbarrier = self.calls.generic_pointer(self.builder, argument(0));
                    return Some(vec![self.copies_arrive(mbarrier), arrive(mbarrier, AtomicKind::Reduction)]);
                }
                "barrier.cluster.arrive" | "barrier.cluster.arrive.aligned" => {
                    self.cluster_arrive(Order::Release)
                }
                "barrier.cluster.arrive.relaxed" | "barrier.cluster.arrive.relaxed.aligned" => {
                    self.cluster_arrive(Order::Relaxed)
                }
                "barrier.cluster.wait" | "barrier.cluster.wait.aligned" => self.cluster_wait(),
                // Where it ends, the executor looks at nothing either.
                "mbarrier.inval" | "mbarrier.inval.shared" | "mbarrier.pending.count" => {
                    return Some(Vec::new());
                }
                "mbarrier.init" | "mbarrier.init.shared" => {
                    let access = Access::WriteRange { length: self.calls.i64(MBARRIER) };
                    Step::Check(Checked::new(argument(0), MBARRIER, access, Op::Write), None)
                }
                "mbarrier.test.wait" | "mbarrier.test.wait.shared" => {
                    let access =
                        Access::Atomic { kind: AtomicKind::Load, scope: Scope::Block, order: Order::Acquire };
                    Step::Check(
                        Checked::new(argument(0), MBARRIER, access, Op::Atomic),
                        Some(Tells { result: 0, over: 1 }),
                    )
                }
                _ if name.starts_with("mbarrier.arrive") => arrive(argument(0), AtomicKind::Rmw),
                _ => Step::Matrix(Moved::of_intrinsic(name, instruction)?),
            }])
        }
    }

    /// An asynchronous copy: `cp.async.cg.shared.global.16`, and with `.s` and how much of it is read.
    unsafe fn copy(&self, call: LLVMValueRef, name: &str) -> Vec<Step> {
        let size = name.split('.').find_map(|part| part.parse::<u64>().ok()).unwrap_or(0);
        // SAFETY: by `insert`'s contract; the intrinsic's arguments are where to, where from, and how much.
        unsafe {
            let length = self.calls.i64(size);
            let read =
                if name.ends_with(".s") { self.least(LLVMGetOperand(call, 2), length) } else { length };
            let side = |pointer, access, op| {
                Step::Check(Checked { asynchronous: true, ..Checked::new(pointer, size, access, op) }, None)
            };
            let (to, from) = (LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
            vec![
                side(from, Access::AsyncRead { length: read }, Op::Read),
                side(to, Access::AsyncWrite { length }, Op::Write),
            ]
        }
    }

    /// The lesser of a number and a length of 64 bits, at the builder's position.
    unsafe fn least(&self, number: LLVMValueRef, length: LLVMValueRef) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: by `insert`'s contract an integer of at most 64 bits.
        unsafe {
            let number = LLVMBuildZExtOrBitCast(self.builder, number, LLVMTypeOf(length), name);
            let is_less = LLVMBuildICmp(self.builder, LLVMIntPredicate::LLVMIntULT, number, length, name);
            LLVMBuildSelect(self.builder, is_less, number, length, name)
        }
    }

    unsafe fn asm(&mut self, function: LLVMValueRef, instruction: LLVMValueRef) {
        // SAFETY: by `insert`'s contract.
        unsafe {
            let (template, constraints) = ir::asm_text(instruction);
            let Ok(parsed) = ptx::parse(&template, &constraints) else {
                self.hooked.unseen += 1;
                return self.irregular(instruction);
            };
            let found = asm::of_asm(&parsed);
            self.hooked.unseen += found.unseen;
            self.hooked.fetches += found.fetches;
            let mut irregular = found.irregular;
            self.open(None, instruction, instruction);
            let mut values = Values::new(&parsed, instruction, self.module, self.builder);
            let mut steps = Vec::new();
            let mut acts = found.steps.iter().peekable();
            for (n, statement) in parsed.statements.iter().enumerate() {
                while let Some(asm::Step { act, .. }) = acts.next_if(|step| step.statement == n) {
                    if let Some(step) = self.step_of(&mut values, statement, act) {
                        steps.push(step);
                    } else if let Act::Fetch(_) = act {
                        self.hooked.fetches += 1;
                    } else if let Act::Access(candidate) = act {
                        self.hooked.unseen += 1;
                        irregular |= asm::is_strong(&candidate.access);
                    } else {
                        irregular = true;
                    }
                }
                values.pass(statement);
            }
            if irregular {
                self.irregular(instruction);
                // Of a part of what orders threads nothing is to be learnt.
                steps.retain(|(_, step)| {
                    matches!(step, Step::Check(..) | Step::Fetch(_) | Step::Matrix(_) | Step::End)
                });
            }
            self.beside(function, instruction, steps);
        }
    }

    /// What is called for something that a statement of an asm does, and under which condition; `None` where that, or one of its values,
    /// is not known before the asm.
    unsafe fn step_of(
        &self,
        values: &mut Values<'_>,
        statement: &Stmt,
        act: &Act<'_>,
    ) -> Option<(Option<LLVMValueRef>, Step)> {
        // SAFETY: by `insert`'s contract; the builder stands before the asm.
        unsafe {
            let guard = match statement.guard {
                Some(guard) => Some(values.holds(guard)?),
                None => None,
            };
            let step = match act {
                Act::Access(Candidate { access, rows: Some(rows), .. }) => {
                    let pointer = values.pointer(access.space, access.address, access.element_offset)?;
                    Step::Matrix(Moved::rows(pointer, *rows, access.kind == AccessKind::Write))
                }
                Act::Access(candidate) => {
                    Step::Check(self.check_of(values, statement, candidate)?, candidate.tells)
                }
                Act::Fetch(fetch) => {
                    let object = values.get(fetch.object, Ty::B(64))?;
                    let at = fetch.at.iter().map(|at| values.get(at, Ty::B(32))).collect::<Option<_>>()?;
                    Step::Fetch(fetches::Candidate { what: fetch.what, object, at })
                }
                Act::Fence { scope, order, again } => self.fence(*scope, *order, *again),
                Act::Barrier { number, counted, waits } => {
                    self.barrier(values.get(number, Ty::U(32))?, *counted, *waits)
                }
                // What is said before it and behind it is of one piece.
                Act::Warp(_) if guard.is_some() => return None,
                Act::Warp(mask) => Step::Warp(values.get(mask, Ty::U(32))?),
                Act::Commit => Self::commit(),
                Act::Wait(None) => self.wait(None),
                Act::Wait(Some(groups)) => self.wait(Some(values.get(groups, Ty::U(32))?)),
                Act::End => Step::End,
                Act::CopiesArrive(space, at) => self.copies_arrive(values.pointer(*space, at, 0)?),
                Act::ClusterArrive(order) => self.cluster_arrive(*order),
                Act::ClusterWait => self.cluster_wait(),
            };
            Some((guard, step))
        }
    }

    /// The check of an access; `None` where its address or its size is not known before the asm.
    unsafe fn check_of(
        &self,
        values: &mut Values<'_>,
        statement: &Stmt,
        candidate: &Candidate<'_>,
    ) -> Option<Checked> {
        let access = &candidate.access;
        // SAFETY: by `insert`'s contract.
        unsafe {
            if matches!(statement.op, ptx::Op::Atom { op: AtomOp::CompareAndSwap, .. })
                && !atomics::may_fail(values.call())
            {
                return None;
            }
            let number = |n: u64| self.calls.i64(n);
            let (size, mut length) = match &access.size {
                Size::Bytes(size) => (u64::from(*size), number(u64::from(*size))),
                // How much a copy reads, which writes at most 16 bytes.
                Size::Operand(operand) => (0, self.least(values.get(operand, Ty::U(32))?, number(16))),
            };
            if let Some(unless) = candidate.unless {
                let unless = values.get(unless, Ty::Pred)?;
                length = LLVMBuildSelect(self.builder, unless, number(0), length, c"".as_ptr());
            }
            let (access_kind, op, volatile) = match access.kind {
                AccessKind::Read if candidate.asynchronous => (Access::AsyncRead { length }, Op::Read, false),
                AccessKind::Read => (Access::ReadRange { length }, Op::Read, false),
                AccessKind::Write if candidate.asynchronous => {
                    (Access::AsyncWrite { length }, Op::Write, false)
                }
                AccessKind::Write => (Access::WriteRange { length }, Op::Write, false),
                AccessKind::Atomic(kind, order, scope) => {
                    let op = match kind {
                        AtomicKind::VolatileLoad => Op::Read,
                        AtomicKind::VolatileStore => Op::Write,
                        _ => Op::Atomic,
                    };
                    (Access::Atomic { kind, scope, order }, op, access.volatile)
                }
            };
            let pointer = values.pointer(access.space, access.address, access.element_offset)?;
            Some(Checked {
                pointer,
                size,
                access: access_kind,
                op,
                volatile,
                asynchronous: candidate.asynchronous,
            })
        }
    }
}

/// A site of which nothing more is known.
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

/// An arrival at an mbarrier, which is one that gives nothing back where copies make it.
fn arrive(mbarrier: LLVMValueRef, kind: AtomicKind) -> Step {
    let access = Access::Atomic { kind, scope: Scope::Block, order: Order::Release };
    Step::Check(Checked::new(mbarrier, MBARRIER, access, Op::Atomic), None)
}

unsafe fn is_zero(value: LLVMValueRef) -> bool {
    // SAFETY: by `insert`'s contract.
    unsafe { !LLVMIsAConstantInt(value).is_null() && LLVMConstIntGetZExtValue(value) == 0 }
}

/// The access of a load or an atomic that is an intrinsic: its pointer is the first argument.
unsafe fn access_of(module: LLVMModuleRef, name: &str, call: LLVMValueRef) -> Option<(u64, Access, Op)> {
    // SAFETY: by `insert`'s contract.
    let size = || unsafe { ir::store_size(module, LLVMTypeOf(call)) };
    if name.starts_with("ldg.") || name.starts_with("ldu.") {
        return Some((size(), Access::Load, Op::Read));
    }
    name.starts_with("atomic.").then(|| {
        let scope = match name {
            _ if name.contains(".cta.") => Scope::Block,
            _ if name.contains(".sys.") => Scope::System,
            _ => Scope::Device,
        };
        (size(), Access::Atomic { kind: AtomicKind::Rmw, scope, order: Order::Relaxed }, Op::Atomic)
    })
}

/// Whether an intrinsic that is not known here may touch memory.
unsafe fn touches_memory(name: &str, call: LLVMValueRef) -> bool {
    let harmless = ["ptr.", "isspacep.", "mapa", "getctarank", "move.", "is_explicit", "prefetch"];
    // SAFETY: by `insert`'s contract.
    unsafe {
        !harmless.iter().any(|p| name.starts_with(p))
            && (0..LLVMGetNumArgOperands(call)).any(|n| {
                LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, n))) == LLVMTypeKind::LLVMPointerTypeKind
            })
    }
}
