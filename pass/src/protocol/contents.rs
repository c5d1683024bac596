//! What is known of local memory that was not promoted to registers: structs
//! handed to functions by value, and structs that hold addresses of other
//! local memory.
//!
//! # The rule
//! All that is done with the memory's address is followed; where it goes
//! somewhere else, nothing is known. Nothing is said of the time of a write, so
//! only writes are looked at that write the same thing each time: copies of
//! memory that never changes, and values that are fixed when the function is
//! entered (not a number stored in a loop, which is another one in each
//! iteration). Bytes that one such instruction alone writes hold what it
//! writes whenever they hold anything at all; bytes that several ones store
//! addresses of local memory in hold such an address.

use std::collections::HashMap;
use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, Width};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Aim, Extraction, Frame, Pointer, Root, Value, int_width};
use super::roots::{self, Start};
use crate::ir;

/// Most instructions that the address of one piece of local memory is followed
/// through.
const MAX_USES: usize = 2000;

/// Local memory of which something is known: index into [`Extraction::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalId(u32);

/// Bytes that are written, from the first one's offset on.
#[derive(Clone, Debug)]
pub struct Written {
    /// First byte.
    from: i64,
    /// Byte after the last one.
    to: i64,
    /// By what.
    by: Writer,
}

/// What is written.
#[derive(Clone, Debug, PartialEq)]
enum Writer {
    /// What lies at this distance behind a pointer.
    Copy(Rc<Pointer>, i64),
    /// A value.
    Value(Value),
    /// Something else.
    Other,
}

/// What one instruction writes.
enum Source {
    /// What lies behind this pointer.
    Memory(LLVMValueRef),
    /// This value.
    Value(LLVMValueRef),
    /// Something else.
    Other,
}

/// Pointers to local variables of a function.
pub type Locals = HashMap<LLVMValueRef, Rc<Pointer>>;

/// What bytes of local memory hold.
pub enum Held {
    /// What lies at this distance behind a pointer.
    Copy(Rc<Pointer>, i64),
    /// A value.
    Value(Value),
    /// An address of local memory.
    LocalAddress,
}

impl Extraction<'_> {
    /// The pointer to a local variable.
    ///
    /// # Safety
    /// `variable` is an `alloca` of the frame's function.
    pub unsafe fn local(&mut self, f: &mut Frame, variable: LLVMValueRef) -> Rc<Pointer> {
        // SAFETY: by contract.
        unsafe { self.variable_in(&f.arguments, &mut f.locals, variable) }
    }

    /// The pointer to a copy that a function is given of what lies behind
    /// another pointer.
    ///
    /// # Safety
    /// `param` is a live parameter passed `byval`.
    pub unsafe fn copied(&mut self, param: LLVMValueRef, from: Value) -> Pointer {
        let Value::Pointer(from) = from else { return self.pointer_to(Root::Private) };
        // SAFETY: by contract.
        unsafe {
            if roots::only_loaded(param) && !matches!(from.aims[..], [Aim { root: Root::Object(_), .. }]) {
                return Pointer::clone(&from);
            }
            let whole = Written { from: i64::MIN, to: i64::MAX, by: Writer::Copy(from, 0) };
            let written = self.written(&[], &mut HashMap::new(), param, Some(whole));
            self.pointer_to_local(written)
        }
    }

    fn pointer_to_local(&mut self, written: Option<Vec<Written>>) -> Pointer {
        let useful = |w: &Written| w.by != Writer::Other;
        match written.filter(|all| all.iter().any(useful)) {
            Some(written) => {
                let id = LocalId(self.locals.len() as u32);
                self.locals.push(written);
                self.pointer_to(Root::Local(id))
            }
            None => self.pointer_to(Root::Private),
        }
    }

    /// What bytes of local memory hold, `None` where that is not known.
    pub fn held(&mut self, local: LocalId, at: i64, size: i64) -> Option<Held> {
        let written = self.locals.get(local.0 as usize)?;
        let end = at.checked_add(size)?;
        let mut touching = written.iter().filter(|w| w.from < end && at < w.to);
        let first = touching.next()?;
        let covers = first.from <= at && end <= first.to;
        let exact = |w: &Written| (w.from, w.to) == (at, end);
        let alone = touching.clone().next().is_none();
        match &first.by {
            Writer::Copy(pointer, distance) if covers && alone => {
                Some(Held::Copy(Rc::clone(pointer), distance.checked_add(at)?))
            }
            Writer::Value(value) if exact(first) && alone => Some(Held::Value(value.clone())),
            Writer::Value(value) if exact(first) && is_local(value) => {
                let another = |w: &Written| exact(w) && matches!(&w.by, Writer::Value(v) if is_local(v));
                touching.all(another).then_some(Held::LocalAddress)
            }
            Writer::Copy(..) | Writer::Value(_) | Writer::Other => None,
        }
    }

    /// The pointer to a local variable of a function with these arguments.
    unsafe fn variable_in(
        &mut self,
        arguments: &[Value],
        known: &mut Locals,
        variable: LLVMValueRef,
    ) -> Rc<Pointer> {
        if let Some(found) = known.get(&variable) {
            return Rc::clone(found);
        }
        // Nothing is known of variables that are copied round in a circle.
        known.insert(variable, Rc::new(self.pointer_to(Root::Private)));
        // SAFETY: by contract.
        let written = unsafe { self.written(arguments, known, variable, None) };
        let found = Rc::new(self.pointer_to_local(written));
        known.insert(variable, Rc::clone(&found));
        found
    }

    /// All that is written to local memory, `None` where that is not known.
    unsafe fn written(
        &mut self,
        arguments: &[Value],
        known: &mut Locals,
        memory: LLVMValueRef,
        initial: Option<Written>,
    ) -> Option<Vec<Written>> {
        let mut all: Vec<_> = initial.into_iter().collect();
        // SAFETY: by contract.
        for (from, to, writer) in unsafe { writes(self.facts.module, memory) }? {
            let by = match writer {
                // SAFETY: by contract.
                Source::Value(value) => match unsafe { self.fixed(arguments, known, value) } {
                    Some(value) => Writer::Value(value),
                    None => Writer::Other,
                },
                Source::Other => Writer::Other,
                // SAFETY: by contract.
                Source::Memory(source) => match unsafe { self.source(arguments, known, source) } {
                    Some((pointer, distance)) => Writer::Copy(pointer, distance.checked_sub(from)?),
                    None => Writer::Other,
                },
            };
            all.push(Written { from, to, by });
        }
        Some(all)
    }

    /// A value that is fixed when the function is entered.
    unsafe fn fixed(
        &mut self,
        arguments: &[Value],
        known: &mut Locals,
        value: LLVMValueRef,
    ) -> Option<Value> {
        // SAFETY: by contract.
        unsafe {
            if LLVMIsConstant(value) != 0 {
                return Some(self.constant(value)).filter(|v| *v != Value::Other);
            }
            if !LLVMIsAArgument(value).is_null() {
                let params = ir::params(LLVMGetParamParent(value));
                let index = params.iter().position(|&p| p == value)?;
                return arguments.get(index).cloned().filter(|v| *v != Value::Other);
            }
            if ir::value_opcode(value) == Some(LLVMOpcode::LLVMLoad) {
                let (from, distance) = self.source(arguments, known, LLVMGetOperand(value, 0))?;
                let ty = LLVMTypeOf(value);
                let width = int_width(ty);
                if width.is_none() && ir::space_of(value).is_none() {
                    return None;
                }
                let bytes = ir::store_size(self.facts.module, ty);
                let from = self.moved_by(&from, distance);
                return self.loaded(&from, bytes, width);
            }
            let (_, base, distance) = roots::start_of(self.facts.module, value);
            if base == value {
                return (ir::value_opcode(value) == Some(LLVMOpcode::LLVMAlloca))
                    .then(|| Value::Pointer(self.variable_in(arguments, known, value)));
            }
            match self.fixed(arguments, known, base)? {
                Value::Pointer(p) => Some(Value::Pointer(Rc::new(self.moved_by(&p, distance?)))),
                _ => None,
            }
        }
    }

    /// A pointer this many bytes further.
    pub fn moved_by(&mut self, pointer: &Pointer, distance: i64) -> Pointer {
        let distance = self.b.constant(Width::W64, distance);
        let offset = self.b.bin(BinOp::Add, pointer.offset, distance);
        Pointer { offset, aims: pointer.aims.clone() }
    }

    /// Memory that is copied from, where it never changes or is known itself,
    /// and the distance in it.
    unsafe fn source(
        &mut self,
        arguments: &[Value],
        known: &mut Locals,
        source: LLVMValueRef,
    ) -> Option<(Rc<Pointer>, i64)> {
        // SAFETY: by contract.
        unsafe {
            let (start, base, distance) = roots::start_of(self.facts.module, source);
            let pointer = match start {
                Start::Argument(index) => match arguments.get(index)? {
                    Value::Pointer(p) => Rc::clone(p),
                    _ => return None,
                },
                Start::Constant => Rc::new(self.constant_pointer(base)?),
                Start::Private => self.variable_in(arguments, known, base),
                Start::Context | Start::Variable | Start::Other => return None,
            };
            let root = match pointer.aims[..] {
                [Aim { root, guard: None }] => root,
                _ => return None,
            };
            match root {
                Root::Arguments(_) | Root::Constant(_) | Root::Local(_) => Some((pointer, distance?)),
                Root::Object(_) | Root::Context | Root::Private => None,
            }
        }
    }
}

/// Whether a value is an address of local memory.
fn is_local(value: &Value) -> bool {
    match value {
        Value::Pointer(p) => {
            !p.aims.is_empty() && p.aims.iter().all(|aim| matches!(aim.root, Root::Private | Root::Local(_)))
        }
        _ => false,
    }
}

/// What is written to local memory through its address: first byte, byte after
/// the last one, and what. `None` where the address goes where it cannot be
/// followed, or a write's place is not known.
unsafe fn writes(module: LLVMModuleRef, memory: LLVMValueRef) -> Option<Vec<(i64, i64, Source)>> {
    let mut found = Vec::new();
    // Addresses, and their offsets where these are constant.
    let mut pending = vec![(memory, Some(0i64))];
    let mut count = 0;
    // SAFETY: by contract; use lists are walked to their ends. An address that is
    // made of another one has one of it alone as its operand: none comes twice.
    unsafe {
        while let Some((address, offset)) = pending.pop() {
            let mut used = LLVMGetFirstUse(address);
            while !used.is_null() {
                let user = LLVMGetUser(used);
                used = LLVMGetNextUse(used);
                count += 1;
                if count > MAX_USES {
                    return None;
                }
                match ir::value_opcode(user)? {
                    LLVMOpcode::LLVMGetElementPtr => {
                        if LLVMGetOperand(user, 0) != address {
                            return None;
                        }
                        let moved = match (offset, roots::gep_parts(module, user)?) {
                            (Some(at), (constant, terms)) if terms.is_empty() => {
                                Some(at.checked_add(constant)?)
                            }
                            _ => None,
                        };
                        pending.push((user, moved));
                    }
                    LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMFreeze => {
                        pending.push((user, offset));
                    }
                    LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMICmp => {}
                    LLVMOpcode::LLVMStore => {
                        let value = LLVMGetOperand(user, 0);
                        if value == address {
                            return None;
                        }
                        let size = i64::try_from(ir::store_size(module, LLVMTypeOf(value))).ok()?;
                        found.push((offset?, offset?.checked_add(size)?, Source::Value(value)));
                    }
                    LLVMOpcode::LLVMCall => {
                        if let Some((size, source)) = written_by_call(user, address)? {
                            found.push((offset?, offset?.checked_add(size)?, source));
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    Some(found)
}

/// What a call writes behind an address that it is given, and how many bytes;
/// `None` where that is not known.
unsafe fn written_by_call(call: LLVMValueRef, address: LLVMValueRef) -> Option<Option<(i64, Source)>> {
    // SAFETY: by contract.
    unsafe {
        let callee = ir::callee(call)?;
        let name = ir::name(callee);
        if name.starts_with("llvm.lifetime.") || name.starts_with("llvm.dbg.") {
            return Some(None);
        }
        let copies = name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.");
        if copies || name.starts_with("llvm.memset.") {
            if LLVMGetOperand(call, 0) != address {
                return Some(None);
            }
            let length = LLVMGetOperand(call, 2);
            if LLVMIsAConstantInt(length).is_null() {
                return None;
            }
            let from = LLVMGetOperand(call, 1);
            let source = if copies && from != address { Source::Memory(from) } else { Source::Other };
            return Some(Some((LLVMConstIntGetSExtValue(length), source)));
        }
        roots::call_only_loads(call, callee, address).then_some(None)
    }
}
