//! Pointers: the objects that they may point into, and the distance; loads from memory with known
//! values; phis of integers and pointers.

use std::collections::HashSet;
use std::rc::Rc;

use gpurace_abi::entry::Entry;
use gpurace_protocol::expr::{BinOp, Cast, Expr, ExprId, Width};
use gpurace_protocol::protocol::{ObjectKind, Space, Uniform};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::aggregates;
use super::conditions::{add_aim, incoming_from};
use super::contents::Held;
use super::frame::{Aim, Extraction, Frame, HeaderVar, LoopPlace, Pointer, Root, Value};
use super::graph::NodeKind;
use super::roots;
use crate::ir::entry_calls::{CONTEXT_FUNCTION, EntryCall};
use crate::ir::{self, address_space};
use crate::translate::shared;

/// Most instructions that are followed to find the targets of a pointer.
const MAX_WEB: usize = 64;

impl Extraction<'_> {
    fn zero(&mut self) -> ExprId {
        self.b.constant(Width::W64, 0)
    }

    /// A pointer to the first byte.
    pub fn pointer_to(&mut self, root: Root) -> Pointer {
        Pointer { offset: self.zero(), aims: vec![Aim { root, guard: None }] }
    }

    /// The value of a constant pointer.
    ///
    /// # Safety
    /// `value` is a live constant pointer.
    pub unsafe fn constant_pointer(&mut self, value: LLVMValueRef) -> Option<Pointer> {
        // SAFETY: by contract.
        unsafe {
            let (_, base, offset) = roots::start_of(self.facts.module, value);
            let root = self.variable(base)?;
            let mut pointer = self.pointer_to(root);
            pointer.offset = self.b.constant(Width::W64, offset?);
            Some(pointer)
        }
    }

    /// The protocol's root for a variable of the module.
    unsafe fn variable(&mut self, value: LLVMValueRef) -> Option<Root> {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsAGlobalVariable(value).is_null() {
                return None;
            }
            let space = ir::space_of(value)?;
            if LLVMIsGlobalConstant(value) != 0 || space == address_space::CONSTANT {
                return Some(Root::Constant(value));
            }
            let symbol = ir::name(value);
            let size = ir::alloc_size(self.facts.module, LLVMGlobalGetValueType(value));
            let kind = match space {
                address_space::SHARED if shared::is_dynamic(value) => ObjectKind::DynamicShared,
                address_space::SHARED => ObjectKind::Shared { size },
                _ => ObjectKind::Variable { symbol: symbol.clone(), size },
            };
            Some(Root::Object(self.b.object(&symbol, kind)))
        }
    }

    /// A pointer of which only the address space is known.
    ///
    /// # Safety
    /// `value` is a pointer of the frame's function, or a constant.
    pub unsafe fn opaque_pointer(&mut self, f: &mut Frame, value: LLVMValueRef) -> Rc<Pointer> {
        if let Some(known) = f.pointers.get(&value) {
            return Rc::clone(known);
        }
        // SAFETY: by contract.
        unsafe {
            let space = match ir::space_of(value) {
                Some(address_space::SHARED) => Space::Shared,
                Some(address_space::GLOBAL) => Space::Global,
                _ => Space::Generic,
            };
            let defined = f.graph.block_of.get(&value).copied();
            // In a loop, or in a function called from one, each iteration has its own.
            let uniform = match defined.map_or(f.around, |d| f.loop_at(d)) {
                Some(_) => Uniform::Thread,
                None => f.uniform.of_value(value),
            };
            let name = match ir::value_opcode(value) {
                Some(LLVMOpcode::LLVMLoad) => "a pointer loaded from memory",
                Some(LLVMOpcode::LLVMIntToPtr) => "an integer as a pointer",
                Some(LLVMOpcode::LLVMCall) => "a pointer returned by a function",
                _ => "a pointer of unknown origin",
            };
            let object = self.b.object(name, ObjectKind::Opaque { space, uniform });
            let made = Rc::new(self.pointer_to(Root::Object(object)));
            f.pointers.insert(value, Rc::clone(&made));
            made
        }
    }

    /// A value as a pointer; opaque if it is something else.
    ///
    /// # Safety
    /// As [`Self::value`].
    pub unsafe fn pointer(&mut self, f: &mut Frame, value: LLVMValueRef, place: LoopPlace) -> Rc<Pointer> {
        // SAFETY: by contract.
        unsafe {
            match self.value(f, value, place) {
                Value::Pointer(p) => p,
                _ => self.opaque_pointer(f, value),
            }
        }
    }

    /// Evaluates an instruction whose result is a pointer.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_pointer(&mut self, f: &mut Frame, block: usize, instruction: LLVMValueRef) -> Value {
        let place = f.graph.loop_of[block];
        // SAFETY: by contract.
        unsafe {
            let found = match ir::opcode(instruction) {
                LLVMOpcode::LLVMPHI => Some(self.eval_phi(f, block, instruction, None)),
                LLVMOpcode::LLVMGetElementPtr => self.eval_gep(f, place, instruction),
                LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMFreeze => {
                    Some(Value::Pointer(self.pointer(f, LLVMGetOperand(instruction, 0), place)))
                }
                LLVMOpcode::LLVMExtractValue => {
                    aggregates::part(instruction).map(|part| Value::Pointer(self.pointer(f, part, place)))
                }
                LLVMOpcode::LLVMSelect => self.eval_pointer_select(f, place, instruction),
                LLVMOpcode::LLVMIntToPtr => {
                    let space = ir::space_of(instruction);
                    if roots::is_grid_workspace(self.facts.module, LLVMGetOperand(instruction, 0)) {
                        let object = self.b.object("the grid's barrier", ObjectKind::GridBarrier);
                        return Value::Pointer(Rc::new(self.pointer_to(Root::Object(object))));
                    }
                    match self.value(f, LLVMGetOperand(instruction, 0), place) {
                        Value::Address(p, of) if Some(of) == space || self.is_global(&p) => {
                            Some(Value::Pointer(p))
                        }
                        _ => None,
                    }
                }
                LLVMOpcode::LLVMAlloca => Some(Value::Pointer(self.local(f, instruction))),
                LLVMOpcode::LLVMLoad => self.eval_load(f, place, instruction, None),
                LLVMOpcode::LLVMCall => match self.eval_image(f, block, instruction) {
                    None => self.eval_call(f, block, instruction),
                    image => image,
                },
                _ => None,
            };
            match found {
                Some(value @ Value::Pointer(_)) => value,
                _ => Value::Pointer(self.opaque_pointer(f, instruction)),
            }
        }
    }

    /// A pointer to the texels of a texture or surface object: an unknown place in its memory, if
    /// its handle is an argument.
    unsafe fn eval_image(&mut self, f: &mut Frame, block: usize, call: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let call = EntryCall::of(call)?;
            if !matches!(call.entry, Entry::Texel | Entry::Surface) {
                return None;
            }
            let handle = self.wanted_int(f, call.operand(0), f.graph.loop_of[block])?;
            let Expr::Param { id, width: Width::W64 } = self.b.get(handle) else { return None };
            let (name, at) = {
                let param = &self.b.protocol.params[id.0 as usize];
                (param.name.clone(), param.offset)
            };
            let param = self.b.param(&name, at, Width::W64, true);
            let object = self.b.object(&name, ObjectKind::Image(param));
            let inner = f.loop_at(block);
            let offset = self.b.opaque("the place of a texel", Width::W64, Uniform::Thread, inner);
            let aims = vec![Aim { root: Root::Object(object), guard: None }];
            Some(Value::Pointer(Rc::new(Pointer { offset, aims })))
        }
    }

    /// True if a pointer certainly points into global memory, where generic and global addresses
    /// are the same.
    fn is_global(&self, p: &Pointer) -> bool {
        p.aims.iter().all(|aim| match aim.root {
            Root::Object(object) => {
                let kind = &self.b.protocol.objects[object.0 as usize].kind;
                matches!(kind, ObjectKind::Param(_) | ObjectKind::Variable { .. })
            }
            _ => false,
        })
    }

    unsafe fn eval_gep(&mut self, f: &mut Frame, place: LoopPlace, gep: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let (constant, terms) = roots::gep_parts(self.facts.module, gep)?;
            let base = self.pointer(f, LLVMGetOperand(gep, 0), place);
            let mut offset = base.offset;
            for term in terms {
                let index = self.wanted_int(f, term.index, place)?;
                let index = self.b.cast(Cast::Sext, Width::W64, index);
                let scale = self.b.constant(Width::W64, term.scale as i64);
                let bytes = self.b.bin(BinOp::Mul, index, scale);
                offset = self.b.bin(BinOp::Add, offset, bytes);
            }
            let constant = self.b.constant(Width::W64, constant);
            offset = self.b.bin(BinOp::Add, offset, constant);
            let offset = self.tame(offset);
            Some(Value::Pointer(Rc::new(Pointer { offset, aims: base.aims.clone() })))
        }
    }

    unsafe fn eval_pointer_select(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        select: LLVMValueRef,
    ) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let c = self.int(f, LLVMGetOperand(select, 0), place);
            let p = self.pointer(f, LLVMGetOperand(select, 1), place);
            let q = self.pointer(f, LLVMGetOperand(select, 2), place);
            if p == q {
                return Some(Value::Pointer(p));
            }
            let offset = self.b.select(c, p.offset, q.offset);
            let not_c = self.b.not(c);
            let mut aims = Vec::new();
            for (from, cond) in [(&p, c), (&q, not_c)] {
                for aim in &from.aims {
                    let guard = aim.guard.map_or(cond, |g| self.b.and(cond, g));
                    add_aim(self, &mut aims, Aim { root: aim.root, guard: Some(guard) });
                }
            }
            if let [one] = aims.as_mut_slice() {
                one.guard = None;
            }
            let offset = self.tame(offset);
            Some(Value::Pointer(Rc::new(Pointer { offset, aims })))
        }
    }

    /// The result of a load from memory with known contents: the thread context, the kernel's
    /// arguments, read-only memory. `width` is `None` for a pointer.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_load(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        load: LLVMValueRef,
        width: Option<Width>,
    ) -> Option<Value> {
        if let Some(&(stored, block)) = f.graph.forwarded.get(&load) {
            // The value that was stored in this iteration of the loops around the store.
            let at_store = f.graph.loop_of[block];
            let place = if f.graph.within(place, at_store) { at_store } else { place };
            // SAFETY: the store dominates the load.
            return Some(unsafe { self.value(f, stored, place) });
        }
        // SAFETY: by contract.
        let (pointer, bytes) = unsafe {
            (
                self.pointer(f, LLVMGetOperand(load, 0), place),
                ir::store_size(self.facts.module, LLVMTypeOf(load)),
            )
        };
        self.loaded(&pointer, bytes, width)
    }

    /// The result of a load of this many bytes.
    pub fn loaded(&mut self, pointer: &Pointer, bytes: u64, width: Option<Width>) -> Option<Value> {
        let [Aim { root, guard: None }] = pointer.aims.as_slice() else { return None };
        let at = self.b.as_const(pointer.offset).map(|bits| bits as i64);
        match *root {
            Root::Context => self.register(at?, width?).map(Value::Int),
            Root::Arguments(start) => {
                let at = u32::try_from(at?).ok()?;
                let name = self.argument_names.get(&start).map(|n| format!("{n}+{at}")).unwrap_or_default();
                Some(self.argument(&name, start.checked_add(at)?, width))
            }
            Root::Constant(variable) => {
                let key = (variable, pointer.offset, width);
                if let Some(known) = self.constants.get(&key) {
                    return Some(known.clone());
                }
                let (uniform, varies) = (self.b.uniform(pointer.offset), self.b.varies(pointer.offset));
                let value = match width {
                    Some(width) => Value::Int(self.b.opaque(
                        "a value loaded from constant memory",
                        width,
                        uniform,
                        varies,
                    )),
                    None => {
                        let uniform = if varies.is_none() { uniform } else { Uniform::Thread };
                        let kind = ObjectKind::Opaque { space: Space::Generic, uniform };
                        let object = self.b.object("a pointer loaded from constant memory", kind);
                        Value::Pointer(Rc::new(self.pointer_to(Root::Object(object))))
                    }
                };
                self.constants.insert(key, value.clone());
                Some(value)
            }
            Root::Local(local) => match self.held(local, at?, i64::try_from(bytes).ok()?)? {
                Held::Value(value @ Value::Pointer(_)) => width.is_none().then_some(value),
                Held::Value(Value::Int(e)) => (width == Some(self.b.width(e))).then_some(Value::Int(e)),
                Held::Value(Value::Address(..) | Value::Other) => None,
                Held::LocalAddress => {
                    width.is_none().then(|| Value::Pointer(Rc::new(self.pointer_to(Root::Private))))
                }
                Held::Copy(from, distance) => {
                    let from = self.moved_by(&from, distance);
                    self.loaded(&from, bytes, width)
                }
            },
            Root::Object(_) | Root::Private => None,
        }
    }

    /// The value at `offset` of the argument buffer; `width` is `None` for a pointer.
    pub fn argument(&mut self, name: &str, offset: u32, width: Option<Width>) -> Value {
        match width {
            Some(width) => Value::Int(self.b.scalar(name, offset, width)),
            None => {
                let id = self.b.param(name, offset, Width::W64, true);
                let object = self.b.object(name, ObjectKind::Param(id));
                Value::Pointer(Rc::new(self.pointer_to(Root::Object(object))))
            }
        }
    }

    /// Evaluates a phi; `width` is `None` for a pointer.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_phi(
        &mut self,
        f: &mut Frame,
        block: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
    ) -> Value {
        let graph = Rc::clone(&f.graph);
        let (of, node) = (graph.region_of(graph.loop_of[block]), graph.node_of[block]);
        // SAFETY: by contract.
        unsafe {
            let value = if node == 0 && of > 0 {
                self.eval_header_phi(f, block, of - 1, phi, width)
            } else {
                self.merge_phi(f, block, of, node, phi, width)
            };
            match (value, width) {
                (Some(value), _) => value,
                (None, Some(width)) => {
                    let uniform = f.uniform.of_value(phi);
                    let inner = f.loop_at(block);
                    Value::Int(self.b.opaque("a value of several origins", width, uniform, inner))
                }
                (None, None) => Value::Pointer(self.opaque_pointer(f, phi)),
            }
        }
    }

    /// The value that a phi takes over the edges to a node.
    ///
    /// # Safety
    /// As [`Self::eval_int`]; the values that come over the edges have been evaluated.
    pub unsafe fn merge_phi(
        &mut self,
        f: &mut Frame,
        block: usize,
        region: usize,
        node: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
    ) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let graph = Rc::clone(&f.graph);
            // The end of an iteration lies in the loop; a value from before the loop is used
            // outside.
            let place = match graph.regions[region].nodes[node].kind {
                NodeKind::Loop(l) => graph.loops[l].parent,
                _ => graph.loop_of[block],
            };
            let incoming = self.incoming(f, region, node, |x, f, from| {
                let value = incoming_from(phi, f.graph.blocks[from])?;
                Some(match width {
                    Some(_) => match x.value(f, value, place) {
                        Value::Other => x.wanted_int(f, value, place).map_or(Value::Other, Value::Int),
                        known => known,
                    },
                    None => Value::Pointer(x.pointer(f, value, place)),
                })
            });
            if let [(_, only)] = incoming.choices.as_slice() {
                return Some(only.clone());
            }
            let uniform = f.uniform.of_value(phi);
            let inner = f.inner(place);
            match width {
                Some(_) => {
                    let merged = self.merge_ints(&incoming)?;
                    Some(Value::Int(self.tame(merged)))
                }
                None => {
                    let what = "a distance of several origins";
                    let pointer =
                        self.merge_pointers(&incoming, |x| x.b.opaque(what, Width::W64, uniform, inner))?;
                    let offset = self.tame(pointer.offset);
                    Some(Value::Pointer(Rc::new(Pointer { offset, aims: pointer.aims })))
                }
            }
        }
    }

    unsafe fn eval_header_phi(
        &mut self,
        f: &mut Frame,
        block: usize,
        l: usize,
        phi: LLVMValueRef,
        width: Option<Width>,
    ) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let graph = Rc::clone(&f.graph);
            let around = graph.region_of(graph.loops[l].parent);
            let first = self.merge_phi(f, block, around, graph.node_of_loop[l], phi, width);
            // A value that the loop does not change.
            let own = graph.regions[l + 1].ins(graph.regions[l + 1].back());
            let unchanged = own
                .map(|e| e.block)
                .all(|from| incoming_from(phi, graph.blocks[from]).is_none_or(|v| v == phi));
            if unchanged && let Some(first) = first {
                return Some(first);
            }
            let aims = match width {
                Some(_) => None,
                None => Some(self.aims_of(f, phi)?),
            };
            let uniform = f.uniform.of_value(phi);
            let var_width = width.unwrap_or(Width::W64);
            let from = match first {
                Some(Value::Int(e)) => e,
                Some(Value::Pointer(p)) if aims.is_some() => p.offset,
                _ => {
                    let inner = f.inner(graph.loops[l].parent);
                    self.b.opaque("a loop's first value", var_width, uniform, inner)
                }
            };
            let (id, expr) = self.b.new_var(f.loop_ids[l], var_width, uniform);
            f.vars.push(HeaderVar { phi, of: l, id, expr, width: var_width, from, aims: aims.clone() });
            Some(match aims {
                Some(aims) => Value::Pointer(Rc::new(Pointer { offset: expr, aims })),
                None => Value::Int(expr),
            })
        }
    }

    /// The possible targets of a pointer that a loop changes: those of all values that it is
    /// computed from.
    unsafe fn aims_of(&mut self, f: &mut Frame, phi: LLVMValueRef) -> Option<Vec<Aim>> {
        let mut aims: Vec<Aim> = Vec::new();
        let mut pending = vec![phi];
        let mut seen = HashSet::new();
        // SAFETY: by contract.
        unsafe {
            while let Some(value) = pending.pop() {
                if !seen.insert(value) {
                    continue;
                }
                if seen.len() > MAX_WEB {
                    return None;
                }
                let known = match ir::value_opcode(value) {
                    Some(LLVMOpcode::LLVMPHI) => {
                        let count = LLVMCountIncoming(value);
                        pending.extend((0..count).map(|i| LLVMGetIncomingValue(value, i)));
                        continue;
                    }
                    Some(LLVMOpcode::LLVMSelect) => {
                        pending.extend([LLVMGetOperand(value, 1), LLVMGetOperand(value, 2)]);
                        continue;
                    }
                    Some(
                        LLVMOpcode::LLVMGetElementPtr
                        | LLVMOpcode::LLVMBitCast
                        | LLVMOpcode::LLVMAddrSpaceCast
                        | LLVMOpcode::LLVMFreeze,
                    ) => {
                        pending.push(LLVMGetOperand(value, 0));
                        continue;
                    }
                    _ if LLVMIsUndef(value) != 0 => continue,
                    _ => match f.graph.block_of.get(&value) {
                        // Not evaluated yet, since it comes later in the loop.
                        Some(_) if !f.values.contains_key(&value) => {
                            Value::Pointer(self.opaque_pointer(f, value))
                        }
                        Some(&defined) => {
                            let place = f.graph.loop_of[defined];
                            self.value(f, value, place)
                        }
                        None => self.value(f, value, None),
                    },
                };
                let pointer = match known {
                    Value::Pointer(p) => p,
                    _ => self.opaque_pointer(f, value),
                };
                for aim in &pointer.aims {
                    add_aim(self, &mut aims, Aim { root: aim.root, guard: None });
                }
            }
        }
        (aims.len() <= 8 && !aims.is_empty()).then_some(aims)
    }

    /// True for a call that returns the thread context.
    ///
    /// # Safety
    /// `callee` is a live function.
    pub unsafe fn context(&mut self, callee: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        let is_context = unsafe { ir::name(callee) } == CONTEXT_FUNCTION;
        is_context.then(|| Value::Pointer(Rc::new(self.pointer_to(Root::Context))))
    }
}
