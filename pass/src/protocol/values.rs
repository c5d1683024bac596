//! Integers: turns instructions into expressions.

use std::rc::Rc;

use gpurace_abi::context::offset;
use gpurace_protocol::expr::{Axis, BinOp, Cast, CmpOp, Expr, ExprId, Width};
use gpurace_protocol::protocol::{ObjectKind, SiteId};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMIntPredicate, LLVMOpcode};

use super::aggregates;
use super::frame::{Aim, Extraction, Frame, LoopPlace, Pointer, Root, Value, int_width};
use super::roots;
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

    /// A value of a loop after the loop: its value in the last iteration.
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
        let uniform = unsafe { f.uniform.at(&f.graph, value, place) };
        // The loop that is left, if it is only one.
        let left = f.graph.block_of.get(&value).and_then(|&block| f.graph.loop_of[block]);
        let left = left.filter(|&l| f.graph.within(place, f.graph.loops[l].parent)).map(|l| f.loop_ids[l]);
        let last = |this: &mut Self, e: ExprId| {
            if this.b.is_fixed_in(e, inner) {
                return e;
            }
            let width = this.b.width(e);
            let made = this.b.opaque("a loop's last value", width, uniform, inner);
            if let Some(of) = left {
                this.b.left_by(made, of, e);
            }
            made
        };
        let pointer = |this: &mut Self, p: &Pointer| {
            let aims = p
                .aims
                .iter()
                .map(|aim| Aim { root: aim.root, guard: aim.guard.filter(|&g| this.b.is_fixed_in(g, inner)) })
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
                return self.constant_pointer(value).map_or(Value::Other, |p| Value::Pointer(Rc::new(p)));
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

    /// An opaque value for an SSA value, the same one for each use in its loop.
    unsafe fn opaque_int(
        &mut self,
        f: &mut Frame,
        value: LLVMValueRef,
        width: Width,
        place: LoopPlace,
    ) -> ExprId {
        // SAFETY: by contract.
        unsafe {
            // An instruction of a loop around the place varies in its own loop.
            let defined = f.graph.block_of.get(&value).map(|&d| f.graph.loop_of[d]);
            let at = defined.filter(|&d| f.graph.within(place, d));
            let uniform = f.uniform.at(&f.graph, value, at.unwrap_or(place));
            let inner = if defined.is_none() { f.around } else { f.inner(at.unwrap_or(place)) };
            if let Some(&known) = f.opaque.get(&(value, inner)) {
                return known;
            }
            let (what, range) = describe(value);
            let made = self.b.opaque_in(what, width, uniform, inner, range);
            let of_own_loop = at.is_some() || defined == Some(None);
            if let ([site], true) = (self.facts.sites(value), of_own_loop && is_plain_load(value)) {
                self.b.loaded_by(made, SiteId(*site));
            }
            f.opaque.insert((value, inner), made);
            made
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
                LLVMOpcode::LLVMSelect => {
                    let [c, a, b] = [0, 1, 2].map(|i| LLVMGetOperand(instruction, i));
                    let c = self.int(f, c, place);
                    match (self.wanted_int(f, a, place), self.wanted_int(f, b, place)) {
                        (Some(a), Some(b)) => Some(self.select_total(c, a, b)),
                        _ => None,
                    }
                }
                op @ (LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMTrunc) => {
                    let operand = LLVMGetOperand(instruction, 0);
                    match self.value(f, operand, place) {
                        Value::Address(p, address_space::SHARED) if width.bits() >= 32 => {
                            return Value::Address(p, address_space::SHARED);
                        }
                        _ => {}
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
                        match (self.wanted_int(f, a, place), self.wanted_int(f, b, place)) {
                            (Some(a), Some(b)) => Some(self.divide_or(op, a, b)),
                            _ => None,
                        }
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

    /// Applies `op`. A division by a guarded divisor becomes one by the divisor: the preparation
    /// turns `x / d` into `d == 0 ? ... : x / (d == 0 ? 1 : d)`.
    fn divide_or(&mut self, op: BinOp, a: ExprId, b: ExprId) -> ExprId {
        if matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem)
            && let Expr::Select(traps, one, divisor) = self.b.get(b)
            && self.b.as_const(one) == Some(1)
            && self.says_zero(traps, divisor)
        {
            return self.b.bin(op, a, divisor);
        }
        self.b.bin(op, a, b)
    }

    /// True for the condition `divisor == 0`, alone or combined with the test for an overflow,
    /// whose result is that of the wrapping division.
    fn says_zero(&self, condition: ExprId, divisor: ExprId) -> bool {
        match self.b.get(condition) {
            Expr::Cmp(CmpOp::Eq, d, zero) => d == divisor && self.b.as_const(zero) == Some(0),
            Expr::Bin(BinOp::Or, zero, overflow) => {
                self.says_zero(zero, divisor)
                    && match self.b.get(overflow) {
                        Expr::Bin(BinOp::And, _, minus_one) => match self.b.get(minus_one) {
                            Expr::Cmp(CmpOp::Eq, d, ones) => {
                                d == divisor && self.b.as_const(ones) == Some(self.b.width(d).mask())
                            }
                            _ => false,
                        },
                        _ => false,
                    }
            }
            _ => false,
        }
    }

    /// `c ? a : b`. A division by zero may have any value, and so the one that the preparation
    /// chooses.
    fn select_total(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        if let Expr::Bin(BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem, x, divisor) = self.b.get(b)
            && let Expr::Cmp(CmpOp::Eq, d, zero) = self.b.get(c)
            && d == divisor
            && self.b.as_const(zero) == Some(0)
            && (a == x || self.b.as_const(a) == Some(self.b.width(a).mask()))
        {
            return b;
        }
        self.b.select(c, a, b)
    }

    /// The sum of a shared address and an integer, or the difference of two addresses of one
    /// object.
    unsafe fn eval_address(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        op: BinOp,
        a: LLVMValueRef,
        b: LLVMValueRef,
        width: Width,
    ) -> Option<Value> {
        if !matches!(op, BinOp::Add | BinOp::Sub) || width.bits() < 32 {
            return None;
        }
        // SAFETY: by contract.
        let (a, b) = unsafe { (self.value(f, a, place), self.value(f, b, place)) };
        match (op, a, b) {
            (_, Value::Address(p, space), Value::Int(by)) => Some(self.moved(&p, space, op, by, width)),
            (BinOp::Add, Value::Int(by), Value::Address(p, space)) => {
                Some(self.moved(&p, space, op, by, width))
            }
            (BinOp::Sub, Value::Address(p, _), Value::Address(q, _)) => {
                let [one] = p.aims.as_slice() else { return None };
                if q.aims.as_slice() != [*one] || !self.is_one_place(one.root) {
                    return None;
                }
                let distance = self.b.bin(BinOp::Sub, p.offset, q.offset);
                Some(Value::Int(self.b.cast(Cast::Trunc, width, distance)))
            }
            _ => None,
        }
    }

    /// The sum of an address and an integer. An address of 32 bits is one in shared memory, and the
    /// sum stays in its window.
    fn moved(&mut self, p: &Pointer, space: u32, op: BinOp, by: ExprId, width: Width) -> Value {
        let offset = match width {
            Width::W64 => self.b.bin(op, p.offset, by),
            _ => {
                let low = self.b.cast(Cast::Trunc, width, p.offset);
                let sum = self.b.bin(op, low, by);
                self.b.cast(Cast::Sext, Width::W64, sum)
            }
        };
        let offset = self.tame(offset);
        Value::Address(Rc::new(Pointer { offset, aims: p.aims.clone() }), space)
    }

    unsafe fn eval_compare(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        instruction: LLVMValueRef,
    ) -> Option<ExprId> {
        use LLVMIntPredicate::*;
        // SAFETY: by contract.
        unsafe {
            let [a, b] = [0, 1].map(|i| LLVMGetOperand(instruction, i));
            let predicate = LLVMGetICmpPredicate(instruction);
            let (x, y) = if ir::space_of(a).is_some() {
                let (Value::Pointer(p), Value::Pointer(q)) =
                    (self.value(f, a, place), self.value(f, b, place))
                else {
                    return None;
                };
                let ([one], [other]) = (p.aims.as_slice(), q.aims.as_slice()) else { return None };
                if one != other || !self.is_one_place(one.root) {
                    return None;
                }
                (p.offset, q.offset)
            } else {
                int_width(LLVMTypeOf(a))?;
                (self.wanted_int(f, a, place)?, self.wanted_int(f, b, place)?)
            };
            // Offsets into one object are signed distances from its base.
            let signed = ir::space_of(a).is_some();
            let (op, x, y) = match predicate {
                LLVMIntEQ => (CmpOp::Eq, x, y),
                LLVMIntNE => (CmpOp::Ne, x, y),
                LLVMIntULT if !signed => (CmpOp::Ult, x, y),
                LLVMIntULE if !signed => (CmpOp::Ule, x, y),
                LLVMIntUGT if !signed => (CmpOp::Ult, y, x),
                LLVMIntUGE if !signed => (CmpOp::Ule, y, x),
                LLVMIntSLT | LLVMIntULT => (CmpOp::Slt, x, y),
                LLVMIntSLE | LLVMIntULE => (CmpOp::Sle, x, y),
                LLVMIntSGT | LLVMIntUGT => (CmpOp::Slt, y, x),
                LLVMIntSGE | LLVMIntUGE => (CmpOp::Sle, y, x),
            };
            Some(self.b.cmp(op, x, y))
        }
    }

    /// The integer that an intrinsic computes.
    ///
    /// # Safety
    /// As [`Self::eval_int`].
    pub unsafe fn eval_intrinsic(
        &mut self,
        f: &mut Frame,
        place: LoopPlace,
        call: LLVMValueRef,
        name: &str,
    ) -> Option<ExprId> {
        // SAFETY: by contract; the intrinsics have the operands that LLVM's manual says.
        unsafe {
            let mut operand = |this: &mut Self, i: u32| this.wanted_int(f, LLVMGetOperand(call, i), place);
            let op = match name.strip_prefix("llvm.")?.split('.').next()? {
                "umin" => BinOp::UMin,
                "umax" => BinOp::UMax,
                "smin" => BinOp::SMin,
                "smax" => BinOp::SMax,
                "expect" => return operand(self, 0),
                "abs" => {
                    let x = operand(self, 0)?;
                    let zero = self.b.constant(self.b.width(x), 0);
                    let (negative, minus) =
                        (self.b.cmp(CmpOp::Slt, x, zero), self.b.bin(BinOp::Sub, zero, x));
                    return Some(self.b.select(negative, minus, x));
                }
                "usub" if name.starts_with("llvm.usub.sat.") => {
                    let (x, y) = (operand(self, 0)?, operand(self, 1)?);
                    let most = self.b.bin(BinOp::UMax, x, y);
                    return Some(self.b.bin(BinOp::Sub, most, y));
                }
                which @ ("fshl" | "fshr") => {
                    let (x, y, by) = (operand(self, 0)?, operand(self, 1)?, operand(self, 2)?);
                    let width = self.b.width(x);
                    let bits = u64::from(width.bits());
                    let by = self.b.as_const(by)? % bits;
                    if by == 0 {
                        return Some(if which == "fshl" { x } else { y });
                    }
                    let left = if which == "fshl" { by } else { bits - by };
                    let (left, right) =
                        (self.b.constant(width, left as i64), self.b.constant(width, (bits - left) as i64));
                    let (high, low) = (self.b.bin(BinOp::Shl, x, left), self.b.bin(BinOp::LShr, y, right));
                    return Some(self.b.bin(BinOp::Or, high, low));
                }
                _ => return None,
            };
            let (x, y) = (operand(self, 0)?, operand(self, 1)?);
            Some(self.b.bin(op, x, y))
        }
    }

    /// A register of the thread context.
    pub fn register(&mut self, at: i64, width: Width) -> Option<ExprId> {
        let axis = |start: usize| {
            let distance = usize::try_from(at).ok()?.checked_sub(start)?;
            (distance % 4 == 0 && distance < 12).then(|| Axis::ALL[distance / 4])
        };
        if width != Width::W32 {
            return None;
        }
        if let Some(axis) = axis(offset::TID) {
            return Some(self.b.leaf(Expr::Tid(axis)));
        }
        if let Some(axis) = axis(offset::CTAID) {
            return Some(self.b.leaf(Expr::Ctaid(axis)));
        }
        if let Some(axis) = axis(offset::NTID) {
            return Some(self.b.leaf(Expr::Ntid(axis)));
        }
        if let Some(axis) = axis(offset::NCTAID) {
            return Some(self.b.leaf(Expr::Nctaid(axis)));
        }
        match usize::try_from(at).ok()? {
            offset::LANE => Some(self.b.leaf(Expr::Lane)),
            offset::LINEAR_TID => Some(self.b.linear_thread()),
            offset::WARP => {
                let linear = self.b.linear_thread();
                let lanes = self.b.constant(Width::W32, 32);
                Some(self.b.bin(BinOp::UDiv, linear, lanes))
            }
            _ => None,
        }
    }

    /// True if all pointers with this root count from the same address.
    fn is_one_place(&self, root: Root) -> bool {
        match root {
            Root::Object(object) => !matches!(
                self.b.protocol.objects[object.0 as usize].kind,
                ObjectKind::Opaque { .. } | ObjectKind::Image(_) | ObjectKind::GridBarrier
            ),
            Root::Constant(_) => true,
            Root::Arguments(_) | Root::Context | Root::Private | Root::Local(_) => false,
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
unsafe fn is_plain_load(value: LLVMValueRef) -> bool {
    // SAFETY: by contract.
    unsafe {
        ir::value_opcode(value) == Some(LLVMOpcode::LLVMLoad)
            && LLVMGetVolatile(value) == 0
            && LLVMGetOrdering(value) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }
}

/// The integer of this width that a pointer was made from, if the pointer holds all of it.
unsafe fn number_in(pointer: LLVMValueRef, width: Width) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        let made = ir::value_opcode(pointer) == Some(LLVMOpcode::LLVMIntToPtr);
        let shared = ir::space_of(pointer) == Some(address_space::SHARED);
        if !made || shared || width != Width::W64 || LLVMIsAInstruction(pointer).is_null() {
            return None;
        }
        let number = LLVMGetOperand(pointer, 0);
        (int_width(LLVMTypeOf(number)) == Some(width)).then_some(number)
    }
}

fn binary(op: LLVMOpcode) -> Option<BinOp> {
    Some(match op {
        LLVMOpcode::LLVMAdd => BinOp::Add,
        LLVMOpcode::LLVMSub => BinOp::Sub,
        LLVMOpcode::LLVMMul => BinOp::Mul,
        LLVMOpcode::LLVMUDiv => BinOp::UDiv,
        LLVMOpcode::LLVMSDiv => BinOp::SDiv,
        LLVMOpcode::LLVMURem => BinOp::URem,
        LLVMOpcode::LLVMSRem => BinOp::SRem,
        LLVMOpcode::LLVMShl => BinOp::Shl,
        LLVMOpcode::LLVMLShr => BinOp::LShr,
        LLVMOpcode::LLVMAShr => BinOp::AShr,
        LLVMOpcode::LLVMAnd => BinOp::And,
        LLVMOpcode::LLVMOr => BinOp::Or,
        LLVMOpcode::LLVMXor => BinOp::Xor,
        _ => return None,
    })
}

/// Describes an opaque value for explanations, and gives its bounds if it has some.
unsafe fn describe(value: LLVMValueRef) -> (String, Option<(u64, u64)>) {
    // SAFETY: by contract.
    unsafe {
        match ir::value_opcode(value) {
            Some(LLVMOpcode::LLVMLoad) => (roots::describe_load(value), None),
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
