//! Pointers: the objects that they may point into, and the distance.

use std::rc::Rc;

use gpurace_abi::entry::Entry;
use gpurace_protocol::expr::{BinOp, Cast, Expr, Width};
use gpurace_protocol::protocol::{ObjectId, ObjectKind, SiteId, Space, Uniform};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Extraction, Frame, LoopPlace, Pointer, Root, Value};
use super::values::is_plain_load;
use crate::analysis::{address, aggregates};
use crate::ir::entry_calls::{CONTEXT_FUNCTION, EntryCall};
use crate::ir::{self, address_space};
use crate::translate::shared;

impl Extraction<'_> {
    /// The pointer to the first byte behind a root.
    pub fn pointer_to(&mut self, root: Root) -> Pointer {
        Pointer::to(root, self.b.constant(Width::W64, 0))
    }

    /// The value of a constant pointer.
    ///
    /// # Safety
    /// `value` is a live constant pointer.
    pub unsafe fn constant_pointer(&mut self, value: LLVMValueRef) -> Option<Pointer> {
        // SAFETY: by contract.
        unsafe {
            let (_, base, offset) = address::start_of(self.facts.module, value);
            let root = self.variable(base)?;
            Some(Pointer::to(root, self.b.constant(Width::W64, offset?)))
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
                _ => ObjectKind::Variable { symbol: symbol.clone(), size, constant: false },
            };
            Some(Root::Object(self.b.object(&symbol, kind)))
        }
    }

    /// The object that an access to a root touches.
    pub fn object_of(&mut self, root: Root) -> ObjectId {
        match root {
            Root::Object(object) => object,
            // SAFETY: roots are live while the protocol is made.
            Root::Constant(variable) if unsafe { ir::is_constant_of_host(variable) } => unsafe {
                let symbol = ir::name(variable);
                let size = ir::alloc_size(self.facts.module, LLVMGlobalGetValueType(variable));
                self.b.object(&symbol, ObjectKind::Variable { symbol: symbol.clone(), size, constant: true })
            },
            Root::Arguments(_) | Root::Constant(_) | Root::Context | Root::Private | Root::Local(_) => {
                self.b.object("memory of the thread alone", ObjectKind::Unshared)
            }
        }
    }

    /// A pointer whose address space is all that is known.
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
            // In a loop, or in a function that a loop calls, each iteration has a pointer of its own.
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
            let loaded_by = match self.facts.sites(value) {
                [site] if is_plain_load(value) => Some(SiteId(*site)),
                _ => None,
            };
            let object = self.b.object(name, ObjectKind::Opaque { space, uniform, loaded_by });
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
                    if address::is_grid_workspace(self.facts.module, LLVMGetOperand(instruction, 0)) {
                        let object = self.b.object("the grid's barrier", ObjectKind::GridBarrier);
                        return Value::from(self.pointer_to(Root::Object(object)));
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

    /// A pointer to an unknown texel of a texture or surface object, if its handle is an argument.
    unsafe fn eval_image(&mut self, f: &mut Frame, block: usize, call: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let call = EntryCall::of(call)?;
            if !matches!(call.entry, Entry::Texel | Entry::Surface) {
                return None;
            }
            let handle = self.wanted_int(f, call.operand(0), f.graph.loop_of[block])?;
            let Expr::Param { id, width: Width::W64 } = self.b.get(handle) else { return None };
            let param = &self.b.protocol.params[id.0 as usize];
            let (name, at) = (param.name.clone(), param.offset);
            let param = self.b.param(&name, at, Width::W64, true);
            let object = self.b.object(&name, ObjectKind::Image(param));
            let inner = f.loop_at(block);
            let offset = self.b.opaque("the place of a texel", Width::W64, Uniform::Thread, inner);
            Some(Value::from(Pointer::to(Root::Object(object), offset)))
        }
    }

    /// True if a pointer certainly points into global memory, where generic and global addresses
    /// are the same.
    fn is_global(&self, p: &Pointer) -> bool {
        p.aims.iter().all(|aim| match aim.root {
            Root::Object(object) => {
                let kind = &self.b.protocol.objects[object.0 as usize].kind;
                matches!(kind, ObjectKind::Param(_) | ObjectKind::Slot { .. } | ObjectKind::Variable { .. })
            }
            _ => false,
        })
    }

    /// The result of a `getelementptr`, if its indices are known.
    unsafe fn eval_gep(&mut self, f: &mut Frame, place: LoopPlace, gep: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            let (constant, terms) = address::gep_parts(self.facts.module, gep)?;
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
            Some(Value::from(Pointer { offset, aims: base.aims.clone() }))
        }
    }

    /// The pointer that a `select` chooses.
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
            let aims = self.merge_aims(&[(Some(c), p), (Some(not_c), q)]);
            let offset = self.tame(offset);
            Some(Value::from(Pointer { offset, aims }))
        }
    }

    /// The pointer to the thread context, if a call of this function returns it.
    ///
    /// # Safety
    /// `callee` is a live function.
    pub unsafe fn context(&mut self, callee: LLVMValueRef) -> Option<Value> {
        // SAFETY: by contract.
        let is_context = unsafe { ir::name(callee) } == CONTEXT_FUNCTION;
        is_context.then(|| Value::from(self.pointer_to(Root::Context)))
    }
}
