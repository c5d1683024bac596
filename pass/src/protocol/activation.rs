//! Evaluates a function, basic block by basic block: the values that its addresses and conditions
//! depend on, and the functions that it calls.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gpurace_protocol::protocol::Uniform;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::effects::{Effect, Facts};
use super::emit::stored_integer;
use super::frame::{Extraction, Frame, Root, Value, int_width};
use crate::analysis::regions::{Graph, ends_thread};
use crate::analysis::uniform::{Inputs, Uniformity};
use crate::analysis::{address, aggregates};
use crate::checks::sites::Access;
use crate::ir;
use crate::ir::parameters::argument_layout;

/// The largest number of nested activations.
const MAX_CALLS: u32 = 8;

impl Extraction<'_> {
    /// Evaluates a kernel.
    ///
    /// # Safety
    /// `kernel` is a live function of the module.
    ///
    /// # Errors
    /// The reason why nothing is known of the kernel.
    pub unsafe fn kernel(&mut self, kernel: LLVMValueRef) -> Result<Frame, String> {
        let mut arguments = Vec::new();
        let mut read_only_copies = Vec::new();
        // SAFETY: by contract.
        unsafe {
            let structs = self.structs.of_kernels.get(&ir::name(kernel)).map_or(&[][..], Vec::as_slice);
            let (places, _) = argument_layout(self.facts.module, kernel);
            for (index, (param, mut place)) in ir::params(kernel).into_iter().zip(places).enumerate() {
                if place.name.is_empty() {
                    place.name = format!("argument {index}");
                }
                let name = place.name.clone();
                place.own_type = structs.get(index).and_then(|structs| structs.own.clone());
                self.parameters.insert(place.offset, place.clone());
                let copy = ir::byval_type(kernel, index).is_some();
                let read_only = copy && address::only_loaded(param);
                read_only_copies.push(read_only);
                arguments.push(if copy {
                    let given = Value::from(self.pointer_to(Root::Arguments(place.offset)));
                    Value::from(self.copied(param, given))
                } else if ir::space_of(param).is_some() {
                    self.argument(&name, place.offset, None)
                } else {
                    match int_width(LLVMTypeOf(param)) {
                        Some(width) => self.argument(&name, place.offset, Some(width)),
                        None => Value::Other,
                    }
                });
            }
            let uniform = vec![Uniform::Grid; arguments.len()];
            let inputs = Inputs::of_threads(uniform, read_only_copies, Uniform::Grid);
            let mut frame = self.activation(kernel, arguments, inputs)?;
            self.evaluate(&mut frame)?;
            Ok(frame)
        }
    }

    /// The frame of a call of a function, before anything is evaluated.
    unsafe fn activation(
        &mut self,
        function: LLVMValueRef,
        arguments: Vec<Value>,
        inputs: Inputs,
    ) -> Result<Frame, String> {
        // SAFETY: by contract.
        unsafe {
            let graph = self.facts.graph(function)?;
            let test_before = (0..graph.loops.len()).map(|l| tests_before(self.facts, &graph, l)).collect();
            Ok(Frame {
                function,
                loop_ids: Vec::new(),
                test_before,
                around: None,
                arguments,
                values: HashMap::new(),
                outside: HashMap::new(),
                opaque: HashMap::new(),
                locals: HashMap::new(),
                pointers: HashMap::new(),
                guards: vec![Vec::new(); graph.regions.len()],
                ways: HashMap::new(),
                vars: Vec::new(),
                turns: Vec::new(),
                calls: HashMap::new(),
                depth: 0,
                control: inputs.control,
                uniform: Uniformity::of(self.facts.module, Rc::clone(&graph), inputs),
                graph,
            })
        }
    }

    /// Evaluates all values that the addresses and conditions of a function depend on.
    unsafe fn evaluate(&mut self, f: &mut Frame) -> Result<(), String> {
        let graph = Rc::clone(&f.graph);
        for shape in &graph.loops {
            let around = f.inner(shape.parent);
            let id = self.b.new_loop(around);
            f.loop_ids.push(id);
        }
        self.active.push(f.function);
        // SAFETY: by contract.
        unsafe {
            let wanted = wanted(self.facts, &graph, f.depth > 0);
            // What comes after a loop may use what the loop's last block computes.
            for block in graph.loops_as_wholes() {
                for &instruction in &graph.instructions[block] {
                    self.budget = self.budget.checked_sub(1).ok_or("too many instructions")?;
                    if self.b.is_full() {
                        return Err("too many expressions".to_owned());
                    }
                    let is_wanted = wanted.contains(&instruction);
                    if ir::opcode(instruction) == LLVMOpcode::LLVMCall
                        && let Effect::Function(callee) = self.facts.effect(instruction)
                    {
                        let summary = self.facts.summary(callee);
                        if summary.leaves {
                            return Err("a thread may end in a function that it calls".to_owned());
                        }
                        if is_wanted || summary.touches || summary.syncs {
                            let called = self.call(f, block, instruction, callee);
                            f.calls.insert(instruction, called);
                        }
                    }
                    if !is_wanted {
                        continue;
                    }
                    let value = match int_width(LLVMTypeOf(instruction)) {
                        Some(width) => self.eval_int(f, block, instruction, width),
                        None if ir::space_of(instruction).is_some() => {
                            self.eval_pointer(f, block, instruction)
                        }
                        None => Value::Other,
                    };
                    f.values.insert(instruction, value);
                }
            }
        }
        self.active.pop();
        Ok(())
    }

    /// Evaluates a function for one call.
    unsafe fn call(
        &mut self,
        f: &mut Frame,
        block: usize,
        call: LLVMValueRef,
        callee: LLVMValueRef,
    ) -> Result<Box<Frame>, String> {
        // SAFETY: by contract.
        unsafe {
            let name = ir::name(callee);
            if self.active.contains(&callee) {
                return Err(format!("`{name}` is recursive"));
            }
            if f.depth >= MAX_CALLS {
                return Err(format!("the call of `{name}` is nested too deep"));
            }
            let place = f.graph.loop_of[block];
            let mut arguments = Vec::new();
            let mut uniform = Vec::new();
            let params = ir::params(callee);
            if LLVMGetNumArgOperands(call) as usize != params.len() {
                return Err(format!("`{name}` is called with other arguments than it takes"));
            }
            for (index, param) in params.into_iter().enumerate() {
                let operand = LLVMGetOperand(call, index as u32);
                uniform.push(f.uniform.at(operand, place));
                arguments.push(if ir::byval_type(callee, index).is_some() {
                    let given = self.value(f, operand, place);
                    Value::from(self.copied(param, given))
                } else if ir::space_of(param).is_some() {
                    Value::Pointer(self.pointer(f, operand, place))
                } else {
                    match (self.value(f, operand, place), int_width(LLVMTypeOf(param))) {
                        (Value::Other, Some(_)) => {
                            self.wanted_int(f, operand, place).map_or(Value::Other, Value::Int)
                        }
                        (known, _) => known,
                    }
                });
            }
            let control = f.control.min(f.uniform.control(block));
            let read_only_copies = vec![false; arguments.len()];
            let inputs = Inputs::of_threads(uniform, read_only_copies, control);
            let mut frame = self.activation(callee, arguments, inputs)?;
            frame.around = f.inner(place);
            frame.depth = f.depth + 1;
            let depth = self.active.len();
            let result = self.evaluate(&mut frame);
            self.active.truncate(depth);
            result?;
            Ok(Box::new(frame))
        }
    }

    /// The result of a call, if it is known.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_call(&mut self, f: &mut Frame, block: usize, call: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let callee = ir::callee(call)?;
            if LLVMIsDeclaration(callee) == 0 {
                let mut called = f.calls.remove(&call)?;
                let result = match &mut called {
                    Ok(frame) => self.result(frame),
                    Err(_) => None,
                };
                f.calls.insert(call, called);
                return result;
            }
            if let Some(context) = self.context(callee) {
                return Some(context);
            }
            let name = ir::name(callee);
            if !ir::is_pure_intrinsic(&name) || int_width(LLVMTypeOf(call)).is_none() {
                return None;
            }
            let place = f.graph.loop_of[block];
            self.eval_intrinsic(f, place, call, &name).map(Value::Int)
        }
    }

    /// The value that an evaluated function returns.
    unsafe fn result(&mut self, f: &mut Frame) -> Option<Value> {
        let graph = Rc::clone(&f.graph);
        let back = graph.regions[0].back();
        // SAFETY: a block with a way to the end of the function's region returns.
        unsafe {
            let incoming = self.incoming(f, 0, back, |x, f, from| {
                let terminator = LLVMGetBasicBlockTerminator(f.graph.blocks[from]);
                if LLVMGetNumOperands(terminator) != 1 {
                    return Some(Value::Other);
                }
                let returned = LLVMGetOperand(terminator, 0);
                if LLVMIsUndef(returned) != 0 {
                    return None;
                }
                Some(x.value(f, returned, None))
            });
            if let [(_, only)] = incoming.as_slice() {
                return Some(only.clone());
            }
            match incoming.first()?.1 {
                Value::Int(_) => self.merge_ints(&incoming).map(|e| Value::Int(self.tame(e))),
                Value::Pointer(_) => {
                    self.merge_pointers(&incoming, Uniform::Thread, f.around).map(Value::from)
                }
                Value::Address(..) | Value::Other => None,
            }
        }
    }
}

/// True if the header of a loop only tests whether there is a further iteration.
unsafe fn tests_before(facts: &Facts<'_>, graph: &Graph, l: usize) -> bool {
    let header = graph.loops[l].header;
    // SAFETY: by contract.
    unsafe {
        let terminator = LLVMGetBasicBlockTerminator(graph.blocks[header]);
        if ir::opcode(terminator) != LLVMOpcode::LLVMBr || LLVMIsConditional(terminator) == 0 {
            return false;
        }
        let mut inside = 0;
        let mut outside = 0;
        for slot in 0..2 {
            let to = graph.index[&LLVMGetSuccessor(terminator, slot)];
            if graph.within(graph.loop_of[to], Some(l)) {
                inside += usize::from(to != header);
            } else {
                outside += usize::from(!graph.dies[to]);
            }
        }
        inside == 1
            && outside == 1
            && graph.instructions[header].iter().all(|&i| {
                facts.sites(i).is_empty()
                    && ends_thread(i).is_none()
                    && (ir::opcode(i) != LLVMOpcode::LLVMCall || facts.effect(i) == Effect::Nothing)
            })
    }
}

/// The instructions that addresses, sizes, conditions and arguments depend on.
unsafe fn wanted(facts: &Facts<'_>, graph: &Graph, returns: bool) -> HashSet<LLVMValueRef> {
    let mut pending: Vec<_> = facts.mbarriers.counts().chain(facts.phases.values()).collect();
    // SAFETY: by contract.
    unsafe {
        for block in 0..graph.blocks.len() {
            for &instruction in &graph.instructions[block] {
                for &site in facts.sites(instruction) {
                    let access = &facts.accesses[site as usize];
                    pending.push(access.pointer);
                    pending.extend(stored_integer(access));
                    if let Access::ReadRange { length }
                    | Access::WriteRange { length }
                    | Access::AsyncRead { length }
                    | Access::AsyncWrite { length } = access.access
                    {
                        pending.push(length);
                    }
                }
                match ir::opcode(instruction) {
                    LLVMOpcode::LLVMCall if let Effect::Lanes(mask) = facts.effect(instruction) => {
                        pending.push(mask);
                    }
                    LLVMOpcode::LLVMCall if let Effect::Named(id, threads, _) = facts.effect(instruction) => {
                        pending.extend([id, threads]);
                    }
                    LLVMOpcode::LLVMCall
                        if ir::callee(instruction).is_some_and(|f| LLVMIsDeclaration(f) == 0) =>
                    {
                        pending.extend(ir::operands(instruction));
                    }
                    LLVMOpcode::LLVMBr if LLVMIsConditional(instruction) != 0 => {
                        pending.push(LLVMGetCondition(instruction));
                    }
                    LLVMOpcode::LLVMSwitch => pending.push(LLVMGetOperand(instruction, 0)),
                    LLVMOpcode::LLVMRet if returns => pending.extend(ir::operands(instruction)),
                    _ => {}
                }
            }
        }
        let mut wanted = HashSet::new();
        while let Some(value) = pending.pop() {
            let of_interest = graph.block_of.contains_key(&value)
                && (int_width(LLVMTypeOf(value)).is_some() || ir::space_of(value).is_some());
            if !of_interest || !wanted.insert(value) {
                continue;
            }
            match ir::opcode(value) {
                LLVMOpcode::LLVMPHI => {
                    pending.extend((0..LLVMCountIncoming(value)).map(|i| LLVMGetIncomingValue(value, i)));
                }
                LLVMOpcode::LLVMExtractValue => pending.extend(aggregates::part(value)),
                _ => {
                    pending.extend(ir::operands(value));
                    pending.extend(graph.forwarded.get(&value).map(|&(stored, _)| stored));
                }
            }
        }
        wanted
    }
}
