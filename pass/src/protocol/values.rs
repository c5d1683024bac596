//! Values: what is known of each SSA value where it is used, and the instructions whose result is an
//! integer.

use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, Cast, ExprId, Width};
use gpurace_protocol::protocol::{SiteId, Ticket};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicRMWBinOp, LLVMOpcode};

use super::arithmetic::binary;
use super::frame::{Aim, Extraction, Frame, LoopPlace, Pointer, Value, int_width};
use crate::analysis::{address, aggregates};
use crate::ir::{self, address_space};

impl Extraction<'_> {
    /// The value of an operand that is used directly in loop `place`.
    ///
    /// # Safety
    /// `value` is an operand in the frame's function, or a constant.
    pub unsafe fn value(&mut self, f: &mut Frame, value: LLVMValueRef, place: LoopPlace) -> Value {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsConstant(value) != 0 {
                return self.constant(value);
            }
            if !LLVMIsAArgument(value).is_null() {
                let params = ir::params(f.function);
                let index = params.iter().position(|&p| p == value);
                return index.and_then(|i| f.arguments.get(i).cloned()).unwrap_or(Value::Other);
            }
            let known = f.values.get(&value).cloned().unwrap_or(Value::Other);
            match f.graph.block_of.get(&value) {
                Some(&defined) if !f.graph.within(place, f.graph.loop_of[defined]) => {
                    self.seen_from_outside(f, value, known, place)
                }
                _ => known,
            }
        }
    }

    /// The value of a loop's instruction after the loop: that of the last iteration.
    unsafe fn seen_from_outside(
        &mut self,
        f: &mut Frame,
        value: LLVMValueRef,
        known: Value,
        place: LoopPlace,
    ) -> Value {
        let inner = f.inner(place);
        if let Some(known) = f.outside.get(&(value, inner)) {
            return known.clone();
        }
        // SAFETY: by contract.
        let uniform = unsafe { f.uniform.at(value, place) };
        // The loop that is left, if only one is.
        let left = f.graph.block_of.get(&value).and_then(|&block| f.graph.loop_of[block]);
        let left = left.filter(|&l| f.graph.within(place, f.graph.loops[l].parent));
        let mut last = |this: &mut Self, e: ExprId| {
            if this.b.is_fixed_in(e, inner) {
                return e;
            }
            // SAFETY: by contract; the loop has been evaluated.
            let counted = left.and_then(|l| unsafe { this.after_count(f, l, e) });
            if let Some(counted) = counted.filter(|&counted| this.b.is_fixed_in(counted, inner)) {
                return counted;
            }
            let width = this.b.width(e);
            let made = this.b.opaque("a loop's last value", width, uniform, inner);
            if let Some(l) = left {
                this.b.left_by(made, f.loop_ids[l], e);
            }
            made
        };
        let mut pointer = |this: &mut Self, p: &Pointer| {
            let aims = p
                .aims
                .iter()
                .map(|aim| Aim {
                    root: this.root_fixed_in(aim.root, inner),
                    guard: aim.guard.filter(|&g| this.b.is_fixed_in(g, inner)),
                })
                .collect();
            Rc::new(Pointer { offset: last(this, p.offset), aims })
        };
        let outside = match known {
            Value::Int(e) => Value::Int(last(self, e)),
            Value::Pointer(p) => Value::Pointer(pointer(self, &p)),
            Value::Address(p, space) => Value::Address(pointer(self, &p), space),
            Value::Other => Value::Other,
        };
        f.outside.insert((value, inner), outside.clone());
        outside
    }

    /// The value of a constant.
    ///
    /// # Safety
    /// `value` is a live constant.
    pub unsafe fn constant(&mut self, value: LLVMValueRef) -> Value {
        // SAFETY: by contract.
        unsafe {
            if !LLVMIsAConstantInt(value).is_null() {
                return match int_width(LLVMTypeOf(value)) {
                    Some(width) => Value::Int(self.b.constant(width, LLVMConstIntGetSExtValue(value))),
                    None => Value::Other,
                };
            }
            if ir::space_of(value).is_some() {
                return self.constant_pointer(value).map_or(Value::Other, Value::from);
            }
            match (ir::value_opcode(value), int_width(LLVMTypeOf(value))) {
                (Some(LLVMOpcode::LLVMPtrToInt), Some(width)) => {
                    let pointer = LLVMGetOperand(value, 0);
                    match (self.constant_pointer(pointer), address_of(pointer, width)) {
                        (Some(found), Some(space)) => Value::Address(Rc::new(found), space),
                        _ => Value::Other,
                    }
                }
                _ => Value::Other,
            }
        }
    }

    /// A value as an integer; opaque if it is something else. `None` for a width that expressions
    /// do not have.
    ///
    /// # Safety
    /// As [`Self::value`].
    pub unsafe fn wanted_int(
        &mut self,
        f: &mut Frame,
        value: LLVMValueRef,
        place: LoopPlace,
    ) -> Option<ExprId> {
        // SAFETY: by contract.
        unsafe {
            match self.value(f, value, place) {
                Value::Int(e) => Some(e),
                _ => Some(self.opaque_int(f, value, int_width(LLVMTypeOf(value))?, place)),
            }
        }
    }

    /// A truth value as an integer.
    ///
    /// # Safety
    /// As [`Self::value`], of type `i1`.
    pub unsafe fn int(&mut self, f: &mut Frame, value: LLVMValueRef, place: LoopPlace) -> ExprId {
        // SAFETY: by contract.
        match unsafe { self.wanted_int(f, value, place) } {
            Some(e) => e,
            None => self.b.truth(false),
        }
    }

    /// The opaque value for an SSA value. All uses in one loop have the same one.
    unsafe fn opaque_int(
        &mut self,
        f: &mut Frame,
        value: LLVMValueRef,
        width: Width,
        place: LoopPlace,
    ) -> ExprId {
        // SAFETY: by contract.
        unsafe {
            // An instruction of an enclosing loop varies in that loop.
            let defined = f.graph.block_of.get(&value).map(|&d| f.graph.loop_of[d]);
            let at = defined.filter(|&d| f.graph.within(place, d));
            let uniform = f.uniform.at(value, at.unwrap_or(place));
            let inner = if defined.is_none() { f.around } else { f.inner(at.unwrap_or(place)) };
            if let Some(&known) = f.opaque.get(&(value, inner)) {
                return known;
            }
            let (what, range) = describe(value);
            let of_own_loop = at.is_some() || defined == Some(None);
            let site = match self.facts.sites(value) {
                [site] if of_own_loop => Some(SiteId(*site)),
                _ => None,
            };
            let added = site.and_then(|_| self.added_to_counter(f, value));
            let made = self.b.opaque_in(what, width, uniform, inner, range);
            match (site, added) {
                (Some(site), _) if is_plain_load(value) => self.b.loaded_by(made, site),
                (Some(site), Some(added)) => self.b.drawn_by(made, Ticket { site, added }),
                _ => {}
            }
            f.opaque.insert((value, inner), made);
            made
        }
    }

    /// What an atomic addition or subtraction adds; `None` for another instruction.
    unsafe fn added_to_counter(&mut self, f: &mut Frame, value: LLVMValueRef) -> Option<ExprId> {
        // SAFETY: by contract.
        unsafe {
            if ir::value_opcode(value) != Some(LLVMOpcode::LLVMAtomicRMW) {
                return None;
            }
            let op = LLVMGetAtomicRMWBinOp(value);
            let place = f.graph.loop_of[*f.graph.block_of.get(&value)?];
            let operand = self.wanted_int(f, LLVMGetOperand(value, 1), place)?;
            match op {
                LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpAdd => Some(operand),
                LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpSub => {
                    let zero = self.b.constant(self.b.width(operand), 0);
                    Some(self.b.bin(BinOp::Sub, zero, operand))
                }
                _ => None,
            }
        }
    }

    /// Evaluates an integer instruction.
    ///
    /// # Safety
    /// `instruction` is in `block` of the frame's function; the instructions before it have been
    /// evaluated.
    pub unsafe fn eval_int(
        &mut self,
        f: &mut Frame,
        block: usize,
        instruction: LLVMValueRef,
        width: Width,
    ) -> Value {
        let place = f.graph.loop_of[block];
        // SAFETY: by contract.
        unsafe {
            let found = match ir::opcode(instruction) {
                LLVMOpcode::LLVMPHI => return self.eval_phi(f, block, instruction, Some(width)),
                LLVMOpcode::LLVMPtrToInt => {
                    let pointer = LLVMGetOperand(instruction, 0);
                    if let Some(number) = number_in(pointer, width) {
                        return self.value(f, number, place);
                    }
                    match (self.value(f, pointer, place), address_of(pointer, width)) {
                        (Value::Pointer(p), Some(space)) => return Value::Address(p, space),
                        _ => None,
                    }
                }
                LLVMOpcode::LLVMFreeze => return self.value(f, LLVMGetOperand(instruction, 0), place),
                LLVMOpcode::LLVMExtractValue => match aggregates::part(instruction) {
                    Some(part) => match self.value(f, part, place) {
                        Value::Other => None,
                        known => return known,
                    },
                    None => None,
                },
                LLVMOpcode::LLVMLoad => self.eval_load(f, place, instruction, Some(width)).and_then(as_int),
                LLVMOpcode::LLVMCall => self.eval_call(f, block, instruction).and_then(as_int),
                LLVMOpcode::LLVMICmp => self.eval_compare(f, place, instruction),
                LLVMOpcode::LLVMFCmp => self.eval_float_compare(f, block, instruction),
                LLVMOpcode::LLVMSelect => {
                    let [c, a, b] = [0, 1, 2].map(|i| LLVMGetOperand(instruction, i));
                    let c = self.int(f, c, place);
                    let both = self.wanted_int(f, a, place).zip(self.wanted_int(f, b, place));
                    both.map(|(a, b)| self.select_total(c, a, b))
                }
                op @ (LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMTrunc) => {
                    let operand = LLVMGetOperand(instruction, 0);
                    if let known @ Value::Address(_, address_space::SHARED) = self.value(f, operand, place)
                        && width.bits() >= 32
                    {
                        return known;
                    }
                    let cast = match op {
                        LLVMOpcode::LLVMZExt => Cast::Zext,
                        LLVMOpcode::LLVMSExt => Cast::Sext,
                        _ => Cast::Trunc,
                    };
                    self.wanted_int(f, operand, place).map(|a| self.b.cast(cast, width, a))
                }
                op => match binary(op) {
                    Some(op) => {
                        let [a, b] = [0, 1].map(|i| LLVMGetOperand(instruction, i));
                        if let Some(address) = self.eval_address(f, place, op, a, b, width) {
                            return address;
                        }
                        let both = self.wanted_int(f, a, place).zip(self.wanted_int(f, b, place));
                        both.map(|(a, b)| self.divide_or(op, a, b))
                    }
                    None => None,
                },
            };
            match found {
                Some(e) => Value::Int(self.tame(e)),
                None => Value::Int(self.opaque_int(f, instruction, width, place)),
            }
        }
    }
}

fn as_int(value: Value) -> Option<ExprId> {
    match value {
        Value::Int(e) => Some(e),
        _ => None,
    }
}

/// The address space of a pointer that was converted to an integer; `None` if the integer does not
/// hold the whole address. Addresses in shared memory have 32 bits.
unsafe fn address_of(pointer: LLVMValueRef, width: Width) -> Option<u32> {
    // SAFETY: by contract.
    let space = unsafe { ir::space_of(pointer) }?;
    let whole = width == Width::W64 || width == Width::W32 && space == address_space::SHARED;
    whole.then_some(space)
}

/// True for a load that is neither atomic nor volatile.
///
/// # Safety
/// `value` is live.
pub unsafe fn is_plain_load(value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe { ir::value_opcode(value) == Some(LLVMOpcode::LLVMLoad) && ir::is_plain(value) }
}

/// The integer of this width that a pointer was made from, if the pointer holds all of it. The pointer may be part of a
/// struct value since.
unsafe fn number_in(pointer: LLVMValueRef, width: Width) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let pointer = match ir::value_opcode(pointer) {
            Some(LLVMOpcode::LLVMExtractValue) => aggregates::part(pointer)?,
            _ => pointer,
        };
        let made = ir::value_opcode(pointer) == Some(LLVMOpcode::LLVMIntToPtr);
        let shared = ir::space_of(pointer) == Some(address_space::SHARED);
        if !made || shared || width != Width::W64 || LLVMIsAInstruction(pointer).is_null() {
            return None;
        }
        let number = LLVMGetOperand(pointer, 0);
        (int_width(LLVMTypeOf(number)) == Some(width)).then_some(number)
    }
}

/// Describes an opaque value for explanations, and gives its bounds if it has some.
unsafe fn describe(value: LLVMValueRef) -> (String, Option<(u64, u64)>) {
    // SAFETY: by contract.
    unsafe {
        match ir::value_opcode(value) {
            Some(LLVMOpcode::LLVMLoad) => (address::describe_load(value), None),
            Some(
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg | LLVMOpcode::LLVMExtractValue,
            ) => ("the result of an atomic".to_owned(), None),
            Some(LLVMOpcode::LLVMFCmp) => ("a floating-point comparison".to_owned(), None),
            Some(LLVMOpcode::LLVMPHI) => ("a value of several origins".to_owned(), None),
            Some(LLVMOpcode::LLVMCall) => {
                let name = ir::callee(value).map(|f| ir::name(f)).unwrap_or_default();
                let counts = ["llvm.ctpop.", "llvm.ctlz.", "llvm.cttz."].iter().any(|p| name.starts_with(p));
                let bits = int_width(LLVMTypeOf(value)).filter(|_| counts).map(|w| (0, u64::from(w.bits())));
                (format!("the result of `{name}`"), bits)
            }
            _ => ("a computed value".to_owned(), None),
        }
    }
}
