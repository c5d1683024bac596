//! Lines of functions whose code was inlined into kernels. A barrier can stand there if all threads of a block run the
//! line together, wherever it was inlined.

use std::collections::{BTreeSet, HashMap, HashSet};

use gpurace_abi::flow::{InlinedFunction, Step};
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;

use crate::analysis::regions::Graph;
use crate::ir;
use crate::ir::position::{InlinedPosition, Positions, function_name, inlined, loop_locations, subprogram};

/// Where a function is defined: its file and line. Instances of a template have one place.
type Definition = (LLVMMetadataRef, u32);

/// What a module's kernels show of functions that were inlined.
pub struct Inlined<'a> {
    positions: &'a mut Positions,
    functions: Vec<InlinedFunction>,
    /// Their number, and where they are defined.
    known: HashMap<LLVMMetadataRef, (u32, Definition)>,
    /// The function around each scope.
    around: HashMap<LLVMMetadataRef, Option<LLVMMetadataRef>>,
    /// The lines of each copy: whether all threads of a block come there together.
    copies: Vec<(Definition, HashMap<u32, bool>)>,
    /// Functions with code of which this is not known.
    unknown: HashSet<Definition>,
}

/// The calls in a kernel.
pub struct Calls {
    numbers: HashMap<LLVMMetadataRef, u32>,
    /// Those whose code accesses memory that is checked.
    accessing: HashSet<LLVMMetadataRef>,
    /// The loops that code of a function itself is in.
    own_loops: HashSet<(LLVMMetadataRef, usize)>,
}

impl<'a> Inlined<'a> {
    /// Knows no kernel.
    pub fn new(positions: &'a mut Positions) -> Self {
        let (functions, copies) = (Vec::new(), Vec::new());
        let (known, around, unknown) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { positions, functions, known, around, copies, unknown }
    }

    /// Notes code of which it is not known which threads run it together.
    ///
    /// # Safety
    /// `function` is live and has a body.
    pub unsafe fn add_unknown(&mut self, function: LLVMValueRef) {
        // SAFETY: by contract.
        unsafe {
            let own = LLVMGetSubprogram(function);
            if !own.is_null() {
                self.unknown.insert(definition(own));
            }
            for instruction in ir::instructions(function) {
                for position in inlined(LLVMInstructionGetDebugLoc(instruction)) {
                    if let Some(function) = self.around(instruction, position.scope) {
                        self.unknown.insert(definition(function));
                    }
                }
            }
        }
    }

    /// Notes the lines of the functions that were inlined into a kernel. `is_uniform` is true for the blocks of `graph`
    /// that all threads of a block run together, or none does.
    ///
    /// # Safety
    /// The graph is of a live kernel.
    pub unsafe fn add_copies(&mut self, graph: &Graph, calls: &Calls, is_uniform: impl Fn(usize) -> bool) {
        let mut copies: HashMap<LLVMMetadataRef, (Definition, HashMap<u32, bool>)> = HashMap::new();
        for (index, (&block, instructions)) in graph.blocks.iter().zip(&graph.instructions).enumerate() {
            // SAFETY: by contract.
            unsafe {
                for &instruction in instructions {
                    for (position, is_own) in calls.own_positions(instruction, graph.loop_of[index]) {
                        let Some(function) = self.around(instruction, position.scope) else { continue };
                        let new = || (definition(function), HashMap::new());
                        let (_, lines) = copies.entry(position.call).or_insert_with(new);
                        if is_own {
                            lines.entry(position.line).or_insert_with(|| is_uniform(index));
                        }
                    }
                }
                let end = loop_locations(block).and_then(|[_, end]| inlined(end).next());
                if let Some(end) = end
                    && let Some((_, lines)) = copies.get_mut(&end.call)
                {
                    lines.entry(end.line).or_insert_with(|| is_uniform(index));
                }
            }
        }
        self.copies.extend(copies.into_values());
    }

    /// The steps before an instruction, which is in this loop: the lines of the functions that it was inlined from, the
    /// outermost first.
    ///
    /// # Safety
    /// `instruction` is live.
    pub unsafe fn steps(
        &mut self,
        instruction: LLVMValueRef,
        calls: &Calls,
        in_loop: Option<usize>,
    ) -> Vec<Step> {
        // SAFETY: by contract.
        unsafe {
            let own = calls.own_positions(instruction, in_loop);
            let own: Vec<_> = own.into_iter().filter(|(_, is_own)| *is_own).collect();
            own.into_iter().rev().filter_map(|(at, _)| self.step(instruction, at, calls)).collect()
        }
    }

    /// The steps of the first and the last line of the loop that goes back from a block, if it has several and was
    /// inlined.
    ///
    /// # Safety
    /// `block` is live.
    pub unsafe fn of_loop(&mut self, block: LLVMBasicBlockRef, calls: &Calls) -> Option<[Step; 2]> {
        // SAFETY: by contract.
        unsafe {
            let [first, last] = loop_locations(block)?;
            let (first, last) = (inlined(first).next()?, inlined(last).next()?);
            let instruction = LLVMGetBasicBlockTerminator(block);
            (first.call == last.call && first.line < last.line).then_some(())?;
            Some([self.step(instruction, first, calls)?, self.step(instruction, last, calls)?])
        }
    }

    /// `None` for a function that accesses nothing, or is not of the user's code.
    unsafe fn step(
        &mut self,
        instruction: LLVMValueRef,
        position: InlinedPosition,
        calls: &Calls,
    ) -> Option<Step> {
        if position.line == 0 || !calls.accessing.contains(&position.call) {
            return None;
        }
        // SAFETY: by contract.
        unsafe {
            let subprogram = self.around(instruction, position.scope)?;
            let file = LLVMDIScopeGetFile(subprogram);
            if LLVMDIScopeGetFile(position.scope) != file || !self.positions.is_of_user(file) {
                return None;
            }
            let call = *calls.numbers.get(&position.call)?;
            let (function, _) = *self.known.entry(subprogram).or_insert_with(|| {
                let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
                let (file, name) = (self.positions.file(file), function_name(context, subprogram));
                self.functions.push(InlinedFunction { file, name, together: Vec::new() });
                (self.functions.len() as u32 - 1, definition(subprogram))
            });
            Some(Step::Inlined { function, line: position.line, call })
        }
    }

    unsafe fn around(
        &mut self,
        instruction: LLVMValueRef,
        scope: LLVMMetadataRef,
    ) -> Option<LLVMMetadataRef> {
        // SAFETY: by contract.
        let find = || unsafe { subprogram(LLVMGetTypeContext(LLVMTypeOf(instruction)), scope) };
        *self.around.entry(scope).or_insert_with(find)
    }

    /// The functions that steps name.
    pub fn into_functions(self) -> Vec<InlinedFunction> {
        let Self { mut functions, known, copies, unknown, .. } = self;
        for (number, definition) in known.into_values().filter(|(_, at)| !unknown.contains(at)) {
            let mut own = copies.iter().filter(|(at, _)| *at == definition).map(|(_, lines)| lines);
            // What the optimiser left of another copy does not say where the line would be there.
            let mut together: BTreeSet<u32> = own.next().map_or_else(BTreeSet::new, of_all_threads);
            own.for_each(|lines| together.retain(|line| lines.get(line) == Some(&true)));
            // Before the first line is outside of the function.
            functions[number as usize].together =
                together.into_iter().filter(|&line| line > definition.1).collect();
        }
        functions
    }
}

fn of_all_threads(lines: &HashMap<u32, bool>) -> BTreeSet<u32> {
    lines.iter().filter(|(_, is_together)| **is_together).map(|(&line, _)| line).collect()
}

impl Calls {
    /// The calls whose code a kernel has. `accesses` is true for instructions that access checked memory.
    ///
    /// # Safety
    /// The graph is of a live kernel.
    pub unsafe fn of(graph: &Graph, accesses: impl Fn(LLVMValueRef) -> bool) -> Self {
        let (mut numbers, mut accessing, mut own_loops) = (HashMap::new(), HashSet::new(), HashSet::new());
        for (&around, instructions) in graph.loop_of.iter().zip(&graph.instructions) {
            for &instruction in instructions {
                // SAFETY: by contract.
                let calls: Vec<_> =
                    unsafe { inlined(LLVMInstructionGetDebugLoc(instruction)) }.map(|at| at.call).collect();
                own_loops.extend(calls.first().copied().zip(around));
                for &call in &calls {
                    let next = numbers.len() as u32;
                    numbers.entry(call).or_insert(next);
                }
                if accesses(instruction) {
                    accessing.extend(calls);
                }
            }
        }
        Self { numbers, accessing, own_loops }
    }

    /// The positions of an instruction in functions that were inlined, the innermost first, and whether it is outside
    /// of the loops that were inlined there in turn.
    unsafe fn own_positions(
        &self,
        instruction: LLVMValueRef,
        in_loop: Option<usize>,
    ) -> Vec<(InlinedPosition, bool)> {
        // SAFETY: by contract.
        let (positions, is_phi) = unsafe {
            let is_phi = ir::opcode(instruction) == llvm_sys::LLVMOpcode::LLVMPHI;
            (inlined(LLVMInstructionGetDebugLoc(instruction)), is_phi)
        };
        let is_own = |call| !is_phi && in_loop.is_none_or(|around| self.own_loops.contains(&(call, around)));
        positions.map(|position| (position, is_own(position.call))).collect()
    }
}

unsafe fn definition(subprogram: LLVMMetadataRef) -> Definition {
    // SAFETY: by contract.
    unsafe { (LLVMDIScopeGetFile(subprogram), LLVMDISubprogramGetLine(subprogram)) }
}
