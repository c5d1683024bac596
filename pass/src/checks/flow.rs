//! The control flow of each kernel with its accesses, barriers and source lines, from which the report finds
//! the barrier that is missing ([`gpurace_abi::flow`]).

mod exits;
mod inlined;
mod meeting;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gpurace_abi::entry::Entry;
use gpurace_abi::flow::{Flow, FlowBlock, InlinedFunction, Step, Update};
use gpurace_abi::meta::{PointerPlace, Space};
use gpurace_abi::scope::AtomicKind;
use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::address;
use crate::analysis::reach;
use crate::analysis::regions::Graph;
use crate::analysis::spins;
use crate::analysis::uniform::{Inputs, Uniformity};
use crate::checks::flow::exits::leave_directly;
use crate::checks::flow::inlined::{Calls, Inlined};
use crate::checks::grid_sync;
use crate::checks::one_thread;
use crate::checks::sites::{Access, Sites};
use crate::checks::stages::{self, Plain};
use crate::checks::updates::{self, FoundUpdate};
use crate::ir;
use crate::ir::entry_calls::EntryCall;
use crate::ir::position::{OwnLines, Positions};
use crate::translate::nvvm::MBARRIER;

/// Larger kernels are not described: a barrier is searched for at each of their lines.
const MOST_BLOCKS: usize = 400;

/// Most values that an address is followed through.
const MOST_ADDRESS_STEPS: usize = 16;

/// Of kernels with more atomics it is not found out which of them tell nothing.
const MOST_ATOMICS: usize = 100;

/// The control flow of a module's kernels.
#[derive(Default)]
pub struct Flows {
    /// Of each kernel, by name. One that is too large, or whose control flow is not made of loops with one entry, has
    /// none.
    pub of_kernels: HashMap<String, Flow>,
    /// The functions whose code was inlined into kernels.
    pub inlined: Vec<InlinedFunction>,
}

/// Returns the control flow of a module's kernels.
///
/// # Safety
/// `module` is live and normalised, and `sites` are all of it.
pub unsafe fn of_kernels(module: LLVMModuleRef, sites: &Sites, positions: &mut Positions) -> Flows {
    // SAFETY: by contract.
    unsafe {
        let known = Known::of(sites);
        let mut updates = updates::by_function(&sites.accesses);
        let mut inlined = Inlined::new(positions);
        let mut of_kernels = HashMap::new();
        let kernels: Vec<_> = ir::kernels(module).into_iter().map(|(kernel, _)| kernel).collect();
        for &kernel in &kernels {
            match of_kernel(module, kernel, &known, updates.remove(&kernel), &mut inlined) {
                Some(flow) => _ = of_kernels.insert(ir::name(kernel), flow),
                None => inlined.add_unknown(kernel),
            }
        }
        // What no kernel reaches may still be there.
        let called: HashSet<_> =
            reach::of_kernels(module, &kernels).into_iter().flat_map(|reach| reach.functions).collect();
        for function in ir::definitions(module).filter(|f| called.contains(f) && !ir::is_kernel(*f)) {
            inlined.add_unknown(function);
        }
        Flows { of_kernels, inlined: inlined.into_functions() }
    }
}

/// What is known of a module's accesses.
#[derive(Default)]
struct Known<'a> {
    steps: HashMap<LLVMValueRef, Vec<Step>>,
    /// Atomics that read.
    observed: HashSet<LLVMValueRef>,
    /// Volatile accesses, which count as atomics.
    volatile: HashSet<u32>,
    /// Those of them that read.
    volatile_loads: HashSet<LLVMValueRef>,
    /// Atomics that only read, by function.
    looks: HashMap<LLVMValueRef, Vec<u32>>,
    /// Atomics, by function.
    atomics: HashMap<LLVMValueRef, Vec<PlacedAtomic<'a>>>,
    /// Atomics on shared memory, by function.
    shared: HashMap<LLVMValueRef, Vec<u32>>,
    /// Arrivals at mbarriers, by function.
    arrivals: HashMap<LLVMValueRef, Vec<u32>>,
    /// Other accesses, by function.
    plain: HashMap<LLVMValueRef, Vec<Plain<'a>>>,
}

impl<'a> Known<'a> {
    /// # Safety
    /// The module of the sites is live.
    unsafe fn of(sites: &'a Sites) -> Self {
        let mut known = Self::default();
        for ((access, site), number) in sites.accesses.iter().zip(&sites.sites).zip(0..) {
            // The whole is a step. That it counts blocks by atomics tells of nothing else.
            if grid_sync::is_part(site) {
                continue;
            }
            let step = match access.access {
                Access::Atomic { .. } => Step::Atomic(number),
                _ => Step::Access(number),
            };
            known.steps.entry(access.instruction).or_default().push(step);
            let Access::Atomic { kind, .. } = access.access else {
                known.plain.entry(access.function).or_default().push(Plain { number, access, site });
                continue;
            };
            // SAFETY: by contract.
            if unsafe { is_arrival(access.instruction) } {
                known.arrivals.entry(access.function).or_default().push(number);
            }
            if matches!(kind, AtomicKind::VolatileLoad | AtomicKind::VolatileStore) {
                known.volatile.insert(number);
            }
            if matches!(kind, AtomicKind::VolatileLoad) {
                known.volatile_loads.insert(access.instruction);
            }
            if matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad) {
                known.looks.entry(access.function).or_default().push(number);
            }
            if matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad | AtomicKind::Rmw) {
                known.observed.insert(access.instruction);
            }
            let place = (site.parameter, site.variable.as_deref());
            let atomic = PlacedAtomic { number, instruction: access.instruction, space: site.space, place };
            known.atomics.entry(access.function).or_default().push(atomic);
            if site.space == Space::Shared {
                known.shared.entry(access.function).or_default().push(number);
            }
        }
        known
    }
}

/// An atomic, and where its memory lies: behind a pointer in the kernel's arguments, or in a variable.
struct PlacedAtomic<'a> {
    number: u32,
    instruction: LLVMValueRef,
    space: Space,
    place: (Option<PointerPlace>, Option<&'a str>),
}

impl PlacedAtomic<'_> {
    /// False if two atomics are of different memory, as far as pointers of different names do not meet.
    fn may_meet(&self, other: &Self) -> bool {
        let is_unknown = |atomic: &Self| atomic.place == (None, None);
        let one_space = self.space == other.space || [self.space, other.space].contains(&Space::Generic);
        self.place == other.place || one_space && (is_unknown(self) || is_unknown(other))
    }
}

/// Returns the control flow of a kernel; `None` if it is too large, or not made of loops with one entry.
unsafe fn of_kernel(
    module: LLVMModuleRef,
    kernel: LLVMValueRef,
    known: &Known<'_>,
    updates: Option<Vec<FoundUpdate>>,
    inlined: &mut Inlined<'_>,
) -> Option<Flow> {
    // SAFETY: by contract.
    unsafe {
        if LLVMCountBasicBlocks(kernel) as usize > MOST_BLOCKS {
            return None;
        }
        let lines = OwnLines::of(kernel)?;
        let graph = Rc::new(Graph::of(kernel).ok()?);
        let parameters = ir::params(kernel).len();
        let arguments = vec![Uniform::Grid; parameters];
        let inputs = Inputs::of_threads(arguments, vec![false; parameters], Uniform::Grid);
        let uniformity = Uniformity::of(module, Rc::clone(&graph), inputs);
        let own_loops = own_loops(&graph, &lines);
        let calls = Calls::of(&graph, |instruction| known.steps.contains_key(&instruction));
        let data = match volatile_is_data(&graph, &known.volatile_loads) {
            true => known.volatile.clone(),
            false => HashSet::new(),
        };
        let of = KernelSteps { module, graph: &graph, known, lines, own_loops, calls, data };
        let mut blocks = of.blocks(kernel, &uniformity, inlined);
        leave_directly(&mut blocks, &graph);
        meeting::run_where_threads_meet(&mut blocks, &graph);
        // Lanes that alone reach a sync of some lanes could wait there for others that wait at a new barrier.
        let waits_alone = blocks.iter().any(|block| !block.uniform && block.steps.contains(&Step::Lanes));
        inlined.add_copies(&graph, &of.calls, |index| blocks[index].uniform && !waits_alone);
        let update = |found: FoundUpdate| Update {
            read: found.read,
            change: found.change,
            by_one: found.by_one,
            by_value: found.depends_on_reads || uniformity.of_value(found.address) >= Uniform::Block,
        };
        let updates = updates.into_iter().flatten().map(update).collect();
        let staged = stages::staged(&graph, &uniformity, known.plain.get(&kernel).map_or(&[], Vec::as_slice));
        let own = |all: &HashMap<_, Vec<u32>>| {
            let mut own = all.get(&kernel).cloned().unwrap_or_default();
            own.retain(|site| !of.data.contains(site));
            own
        };
        let (looks, shared, arrivals) = (own(&known.looks), own(&known.shared), own(&known.arrivals));
        let mut counts =
            counts(&graph, &known.observed, known.atomics.get(&kernel).map_or(&[], Vec::as_slice));
        counts.retain(|site| !arrivals.contains(site));
        meeting::give_entries(&mut blocks, &graph);
        Some(Flow { blocks, updates, looks, counts, shared, arrivals, staged })
    }
}

/// What the steps of a kernel's basic blocks follow from.
struct KernelSteps<'a> {
    module: LLVMModuleRef,
    graph: &'a Graph,
    known: &'a Known<'a>,
    lines: OwnLines,
    own_loops: HashSet<usize>,
    calls: Calls,
    /// Volatile accesses that are data: no flags or locks.
    data: HashSet<u32>,
}

impl KernelSteps<'_> {
    /// The basic blocks of the kernel.
    unsafe fn blocks(
        &self,
        kernel: LLVMValueRef,
        uniformity: &Uniformity,
        inlined: &mut Inlined<'_>,
    ) -> Vec<FlowBlock> {
        let graph = self.graph;
        // SAFETY: by contract.
        unsafe {
            let deciding = deciding(graph, &self.known.observed);
            let spinning = &spins::headers(kernel) | &spins::polling(kernel);
            let number = |next| graph.index.get(&next).map(|&next| next as u32);
            let block = |(index, &block)| FlowBlock {
                uniform: uniformity.control(index) >= Uniform::Block,
                warp: uniformity.control(index) == Uniform::Warp,
                decides: deciding.contains(&block),
                spins: spinning.contains(&block),
                next: ir::successors(block).into_iter().filter_map(number).collect(),
                steps: self.steps(index, inlined),
            };
            graph.blocks.iter().enumerate().map(block).collect()
        }
    }

    /// The steps of a basic block.
    unsafe fn steps(&self, index: usize, inlined: &mut Inlined<'_>) -> Vec<Step> {
        let around = self.graph.loop_of[index];
        // SAFETY: by contract.
        unsafe {
            let begun = |instruction| {
                let own = match around {
                    // A barrier before a call is outside of the loops that were inlined there.
                    Some(around) if !self.own_loops.contains(&around) => {
                        self.lines.of_instruction(instruction)
                    }
                    _ => self.lines.of_statement(instruction),
                };
                let own = own.map(Step::Line);
                own.into_iter().chain(inlined.steps(instruction, &self.calls, around)).collect()
            };
            let of_site = |instruction| {
                let own = self.known.steps.get(&instruction).map_or(&[][..], Vec::as_slice);
                own.iter().map(|&step| match step {
                    Step::Atomic(site) if self.data.contains(&site) => Step::Access(site),
                    _ => step,
                })
            };
            let mut steps = steps(self.module, &self.graph.instructions[index], begun, of_site);
            let block = self.graph.blocks[index];
            let own = self.lines.of_loop(block).map(|lines| [*lines.start(), *lines.end()].map(Step::Line));
            end_loop(&mut steps, own.or_else(|| inlined.of_loop(block, &self.calls)));
            steps
        }
    }
}

/// Returns the blocks whose end depends on a value that an atomic has read, also where shared or device variables
/// hand the value on.
unsafe fn deciding(graph: &Graph, observed: &HashSet<LLVMValueRef>) -> HashSet<LLVMBasicBlockRef> {
    // SAFETY: by contract.
    unsafe {
        let all = || graph.instructions.iter().flatten().copied();
        let mut pending: Vec<LLVMValueRef> = all().filter(|i| observed.contains(i)).collect();
        let mut tainted: HashSet<LLVMValueRef> = pending.iter().copied().collect();
        let mut deciding = HashSet::new();
        while let Some(value) = pending.pop() {
            for user in ir::users(value) {
                if LLVMIsAInstruction(user).is_null() {
                    continue;
                }
                if !LLVMIsATerminatorInst(user).is_null() {
                    deciding.insert(LLVMGetInstructionParent(user));
                } else if ir::opcode(user) == LLVMOpcode::LLVMStore {
                    if let Some(variable) = variable(LLVMGetOperand(user, 1))
                        && LLVMGetOperand(user, 0) == value
                    {
                        let holds = |load: &LLVMValueRef| {
                            ir::opcode(*load) == LLVMOpcode::LLVMLoad
                                && self::variable(LLVMGetOperand(*load, 0)) == Some(variable)
                        };
                        pending.extend(all().filter(holds).filter(|&load| tainted.insert(load)));
                    }
                } else if tainted.insert(user) {
                    pending.push(user);
                }
            }
        }
        deciding
    }
}

/// The atomics of a kernel that tell no thread anything: no way that a thread takes depends on what an atomic has read
/// of their memory.
unsafe fn counts(graph: &Graph, observed: &HashSet<LLVMValueRef>, atomics: &[PlacedAtomic<'_>]) -> Vec<u32> {
    // SAFETY: by contract.
    let decides = |atomic: &&PlacedAtomic<'_>| unsafe {
        observed.contains(&atomic.instruction)
            && !deciding(graph, &HashSet::from([atomic.instruction])).is_empty()
    };
    if atomics.len() > MOST_ATOMICS {
        return Vec::new();
    }
    let told: Vec<_> = atomics.iter().filter(decides).collect();
    let tells = |atomic: &&PlacedAtomic<'_>| told.iter().any(|told| told.may_meet(atomic));
    atomics.iter().filter(|atomic| !tells(atomic)).map(|atomic| atomic.number).collect()
}

/// True for the instruction by which a thread arrives at an mbarrier.
unsafe fn is_arrival(instruction: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::opcode(instruction) == LLVMOpcode::LLVMAtomicCmpXchg
            && ir::metadata(instruction, MBARRIER).is_some()
    }
}

/// True if a kernel reads `volatile` memory and takes no way by what it has read: then that is no flag or lock by which
/// threads order others.
unsafe fn volatile_is_data(graph: &Graph, loads: &HashSet<LLVMValueRef>) -> bool {
    let has_loads = graph.instructions.iter().flatten().any(|instruction| loads.contains(instruction));
    // SAFETY: by contract.
    has_loads && unsafe { deciding(graph, loads) }.is_empty()
}

/// The variable that an address is in.
unsafe fn variable(pointer: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let starts = address::starts(pointer, MOST_ADDRESS_STEPS, |_| false)?;
        let &[start] = &starts[..] else { return None };
        (!LLVMIsAGlobalVariable(start).is_null()).then_some(start)
    }
}

/// The loops of the kernel's own source, without those that were inlined from other functions.
unsafe fn own_loops(graph: &Graph, lines: &OwnLines) -> HashSet<usize> {
    // SAFETY: by contract.
    let is_own = |&instruction: &LLVMValueRef| unsafe { lines.of_instruction(instruction).is_some() };
    let own = graph.loop_of.iter().zip(&graph.instructions).filter(|(_, body)| body.iter().any(is_own));
    own.filter_map(|(around, _)| *around).collect()
}

/// The steps of a basic block. `begun` are the lines that an instruction is of, `of_site` are its accesses.
unsafe fn steps<Sites: Iterator<Item = Step>>(
    module: LLVMModuleRef,
    instructions: &[LLVMValueRef],
    mut begun: impl FnMut(LLVMValueRef) -> Vec<Step>,
    of_site: impl Fn(LLVMValueRef) -> Sites,
) -> Vec<Step> {
    let mut steps = Vec::new();
    // The last lines of the kernel and of each call.
    let mut last = HashMap::new();
    for &instruction in instructions {
        // SAFETY: by contract.
        unsafe {
            if ir::opcode(instruction) != LLVMOpcode::LLVMPHI {
                for step in begun(instruction) {
                    let call = if let Step::Inlined { call, .. } = step { Some(call) } else { None };
                    if last.insert(call, step) != Some(step) {
                        steps.push(step);
                    }
                }
            }
            steps.extend(of_site(instruction));
            steps.extend(EntryCall::of(instruction).and_then(|call| synchronisation(module, call)));
            let is_call = ir::opcode(instruction) == LLVMOpcode::LLVMCall;
            if is_call && ir::callee(instruction).is_some_and(|callee| ir::name(callee) == grid_sync::MARK) {
                steps.push(Step::Grid);
            }
        }
    }
    steps
}

/// Adds the last line of a loop to the block that ends the loop's body: a step before what the loop's head, its first
/// line, does for the next iteration.
fn end_loop(steps: &mut Vec<Step>, lines: Option<[Step; 2]>) {
    if let Some([head, end]) = lines {
        let at = steps.iter().position(|step| *step == head).unwrap_or(steps.len());
        steps.insert(at, end);
    }
}

/// The step of a call that synchronises threads.
unsafe fn synchronisation(module: LLVMModuleRef, call: EntryCall) -> Option<Step> {
    // SAFETY: by contract; a barrier has an id and a number of threads, a sync of a warp has a mask.
    unsafe {
        match call.entry {
            // Rows of a block that meet apart have ids of their own.
            Entry::Barrier | Entry::BarrierRed
                if call.constant(0).is_some()
                    && (call.constant(1) == Some(0) || one_thread::is_width(module, call.operand(1))) =>
            {
                Some(Step::Barrier)
            }
            Entry::Syncwarp if call.constant(0) == Some(u32::MAX.into()) => Some(Step::Warp),
            Entry::Syncwarp => Some(Step::Lanes),
            Entry::AsyncWait => Some(Step::Wait),
            _ => None,
        }
    }
}
