//! Contents of local memory that was not promoted to registers: structs that are passed by value,
//! and structs that hold addresses of other local memory.
//!
//! # The rule
//! The analysis follows every use of the memory's address. If the address escapes, the contents are
//! not known. The analysis ignores the time of a write. So it uses only instructions that write the
//! same bytes each time: copies of memory that never changes, and values that are fixed when the
//! function is entered. A number that a loop stores may differ in each iteration. If only one such
//! instruction writes some bytes, they hold its value as soon as they are initialised. If several
//! instructions write addresses of local memory there, they hold one of these addresses. An array that is set to 0 and
//! then filled, before anything reads it, counts as written once. What is read at a computed place, as in
//! `buffers[k % 2]`, is a choice between all that instructions write.

use std::collections::HashMap;
use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, CmpOp, ExprId, Width};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::frame::{Aim, Extraction, Frame, Pointer, Root, Value, int_width};
use super::phis::Choices;
use crate::analysis::address::{self, Start};
use crate::ir;

/// The largest number of instructions that use the address of one piece of local memory.
const MAX_USES: usize = 2000;

/// The largest number of elements of an array that is set to 0 and then filled.
const MOST_ELEMENTS: i64 = 64;

/// Local memory with known contents: an index into [`Extraction::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalId(u32);

/// Bytes that an instruction writes.
#[derive(Clone, Debug)]
pub struct WrittenBytes {
    /// First byte.
    from: i64,
    /// Byte after the last one.
    to: i64,
    /// The written contents.
    by: WrittenContents,
    /// True if one store writes them, to an address that is a multiple of their number.
    aligned: bool,
}

/// Contents of written bytes.
#[derive(Clone, Debug, PartialEq)]
enum WrittenContents {
    /// The bytes at this distance behind a pointer.
    Copy(Rc<Pointer>, i64),
    /// A value.
    Value(Value),
    /// Unknown contents.
    Other,
}

/// The source of what an instruction writes.
enum WriteSource {
    /// The bytes behind this pointer.
    Memory(LLVMValueRef),
    /// This value.
    Value {
        /// The value.
        value: LLVMValueRef,
        /// True if its address is a multiple of its size.
        aligned: bool,
        /// The instruction.
        store: LLVMValueRef,
    },
    /// So many bytes 0, by this instruction.
    Zeros(LLVMValueRef),
    /// Unknown contents.
    Other,
}

/// Pointers to local variables of a function.
pub type Locals = HashMap<LLVMValueRef, Rc<Pointer>>;

/// The contents of some bytes of local memory.
pub enum Held {
    /// The bytes at this distance behind a pointer.
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

    /// The pointer to a call's copy of the bytes behind another pointer.
    ///
    /// # Safety
    /// `param` is a live parameter passed `byval`.
    pub unsafe fn copied(&mut self, param: LLVMValueRef, from: Value) -> Pointer {
        let Value::Pointer(from) = from else { return self.pointer_to(Root::Private) };
        // SAFETY: by contract.
        unsafe {
            if address::only_loaded(param) && !matches!(from.aims[..], [Aim { root: Root::Object(_), .. }]) {
                return Pointer::clone(&from);
            }
            let by = WrittenContents::Copy(from, 0);
            let whole = WrittenBytes { from: i64::MIN, to: i64::MAX, by, aligned: false };
            let written = self.written(&[], &mut HashMap::new(), param, Some(whole));
            self.pointer_to_local(written)
        }
    }

    fn pointer_to_local(&mut self, written: Option<Vec<WrittenBytes>>) -> Pointer {
        let useful = |w: &WrittenBytes| w.by != WrittenContents::Other;
        match written.filter(|all| all.iter().any(useful)) {
            Some(written) => {
                let id = LocalId(self.locals.len() as u32);
                self.locals.push(written);
                self.pointer_to(Root::Local(id))
            }
            None => self.pointer_to(Root::Private),
        }
    }

    /// The contents of some bytes of local memory; `None` if they are not known.
    pub fn held(&mut self, local: LocalId, at: i64, size: i64) -> Option<Held> {
        let written = self.locals.get(local.0 as usize)?;
        let end = at.checked_add(size)?;
        let mut touching = written.iter().filter(|w| w.from < end && at < w.to);
        let first = touching.next()?;
        let covers = first.from <= at && end <= first.to;
        let exact = |w: &WrittenBytes| (w.from, w.to) == (at, end);
        let alone = touching.clone().next().is_none();
        match &first.by {
            WrittenContents::Copy(pointer, distance) if covers && alone => {
                Some(Held::Copy(Rc::clone(pointer), distance.checked_add(at)?))
            }
            WrittenContents::Value(value) if exact(first) && alone => Some(Held::Value(value.clone())),
            WrittenContents::Value(value) if exact(first) && is_local(value) => {
                let another =
                    |w: &WrittenBytes| exact(w) && matches!(&w.by, WrittenContents::Value(v) if is_local(v));
                touching.all(another).then_some(Held::LocalAddress)
            }
            WrittenContents::Copy(..) | WrittenContents::Value(_) | WrittenContents::Other => None,
        }
    }

    /// The possible contents of local memory at a computed place, each with the condition that it is there. The read
    /// begins at a multiple of its size, and so does each write. So it reads one of the written values, or bytes that
    /// nothing wrote. `None` if something else than values of this size is written.
    pub fn held_at(&mut self, local: LocalId, at: ExprId, size: i64) -> Option<Choices<Value>> {
        let mut written = self.locals.get(local.0 as usize)?.clone();
        written.sort_by_key(|bytes| bytes.from);
        if written.windows(2).any(|two| two[1].from < two[0].to) {
            return None;
        }
        let mut choices = Vec::new();
        for bytes in written {
            let WrittenContents::Value(value) = bytes.by else { return None };
            if !bytes.aligned || bytes.to - bytes.from != size {
                return None;
            }
            let from = self.b.constant(Width::W64, bytes.from);
            choices.push((Some(self.b.cmp(CmpOp::Eq, at, from)), value));
        }
        Some(choices)
    }

    /// The bytes that one copy wrote over all of some local memory: behind this pointer, from this distance on.
    pub fn copied_whole(&self, local: LocalId) -> Option<(Rc<Pointer>, i64)> {
        match self.locals.get(local.0 as usize)?.as_slice() {
            [WrittenBytes { by: WrittenContents::Copy(from, distance), .. }] => {
                Some((Rc::clone(from), *distance))
            }
            _ => None,
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
        // Variables that are copied to each other in a cycle have unknown contents.
        known.insert(variable, Rc::new(self.pointer_to(Root::Private)));
        // SAFETY: by contract.
        let written = unsafe { self.written(arguments, known, variable, None) };
        let found = Rc::new(self.pointer_to_local(written));
        known.insert(variable, Rc::clone(&found));
        found
    }

    /// Everything that is written to local memory; `None` if that is not known.
    unsafe fn written(
        &mut self,
        arguments: &[Value],
        known: &mut Locals,
        memory: LLVMValueRef,
        initial: Option<WrittenBytes>,
    ) -> Option<Vec<WrittenBytes>> {
        let mut all: Vec<_> = initial.into_iter().collect();
        // SAFETY: by contract.
        let writes = unsafe { writes(self.facts.module, memory) }?;
        // SAFETY: as above.
        let zeros = unsafe { zeros_beside(&writes) };
        for &(from, to, width) in zeros.iter().flatten() {
            let by = WrittenContents::Value(Value::Int(self.b.constant(width, 0)));
            all.push(WrittenBytes { from, to, by, aligned: true });
        }
        for (from, to, writer) in writes {
            if zeros.is_some() && matches!(writer, WriteSource::Zeros(_)) {
                continue;
            }
            let aligned = matches!(writer, WriteSource::Value { aligned: true, .. });
            let by = match writer {
                // SAFETY: by contract.
                WriteSource::Value { value, .. } => match unsafe { self.fixed(arguments, known, value) } {
                    Some(value) => WrittenContents::Value(value),
                    None => WrittenContents::Other,
                },
                WriteSource::Zeros(_) | WriteSource::Other => WrittenContents::Other,
                // SAFETY: by contract.
                WriteSource::Memory(source) => match unsafe { self.source(arguments, known, source) } {
                    Some((pointer, distance)) => WrittenContents::Copy(pointer, distance.checked_sub(from)?),
                    None => WrittenContents::Other,
                },
            };
            all.push(WrittenBytes { from, to, by, aligned });
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
                return self.loaded(&from, bytes, width, false);
            }
            let (_, base, distance) = address::start_of(self.facts.module, value);
            if base == value {
                return (ir::value_opcode(value) == Some(LLVMOpcode::LLVMAlloca))
                    .then(|| Value::Pointer(self.variable_in(arguments, known, value)));
            }
            match self.fixed(arguments, known, base)? {
                Value::Pointer(p) => Some(Value::from(self.moved_by(&p, distance?))),
                _ => None,
            }
        }
    }

    /// A pointer advanced by this many bytes.
    pub fn moved_by(&mut self, pointer: &Pointer, distance: i64) -> Pointer {
        let distance = self.b.constant(Width::W64, distance);
        let offset = self.b.bin(BinOp::Add, pointer.offset, distance);
        Pointer { offset, aims: pointer.aims.clone() }
    }

    /// The memory that a copy reads, if it never changes or has known contents, and the distance in
    /// it.
    unsafe fn source(
        &mut self,
        arguments: &[Value],
        known: &mut Locals,
        source: LLVMValueRef,
    ) -> Option<(Rc<Pointer>, i64)> {
        // SAFETY: by contract.
        unsafe {
            let (start, base, distance) = address::start_of(self.facts.module, source);
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

/// True for an address of local memory.
fn is_local(value: &Value) -> bool {
    match value {
        Value::Pointer(p) => {
            !p.aims.is_empty() && p.aims.iter().all(|aim| matches!(aim.root, Root::Private | Root::Local(_)))
        }
        _ => false,
    }
}

/// The writes to local memory through its address: first byte, byte after the last one, source.
/// `None` if the address escapes, or if the place of a write is not known.
unsafe fn writes(module: LLVMModuleRef, memory: LLVMValueRef) -> Option<Vec<(i64, i64, WriteSource)>> {
    let mut found = Vec::new();
    // Addresses, and their offsets if these are constant.
    let mut pending = vec![(memory, Some(0i64))];
    let mut count = 0;
    // SAFETY: by contract; use lists are walked to their ends. An address that is
    // made of another one has that one as its only address operand, so none comes twice.
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
                        let moved = match (offset, address::gep_parts(module, user)?) {
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
                        let aligned = size > 0 && i64::from(LLVMGetAlignment(user)) % size == 0;
                        let source = WriteSource::Value { value, aligned, store: user };
                        found.push((offset?, offset?.checked_add(size)?, source));
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

/// The elements that stay 0 where clang sets an array of integers to 0 and then stores the others, in one basic block:
/// first byte, byte after the last one, width. `None` for other writes.
unsafe fn zeros_beside(writes: &[(i64, i64, WriteSource)]) -> Option<Vec<(i64, i64, Width)>> {
    let (mut zeros, mut width) = (None, None);
    let mut stores = Vec::new();
    for (from, to, source) in writes {
        match source {
            WriteSource::Zeros(call) if zeros.is_none() => zeros = Some((*from, *to, *call)),
            WriteSource::Value { store, aligned: true, value } => {
                // SAFETY: by the caller's contract, the value is live.
                width = Some(unsafe { int_width(LLVMTypeOf(*value)) }?);
                stores.push((*from, *to, *store));
            }
            _ => return None,
        }
    }
    let ((start, end, call), width) = (zeros?, width?);
    let size = i64::from(width.bits().div_ceil(8));
    let is_element = |(from, to): (i64, i64)| {
        to - from == size && (from - start) % size == 0 && start <= from && to <= end
    };
    let elements = (end - start) / size;
    let all_are = stores.iter().all(|&(from, to, _)| is_element((from, to)));
    if !all_are || start % size != 0 || (end - start) % size != 0 || elements > MOST_ELEMENTS {
        return None;
    }
    // SAFETY: by the caller's contract, the instructions are live.
    unsafe {
        let mut pending: Vec<_> = stores.iter().map(|(.., store)| *store).collect();
        let mut next = LLVMGetNextInstruction(call);
        // Until all is stored, nothing reads.
        while !pending.is_empty() && !next.is_null() {
            match ir::opcode(next) {
                LLVMOpcode::LLVMStore => pending.retain(|store| *store != next),
                LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMAddrSpaceCast => {}
                _ => return None,
            }
            next = LLVMGetNextInstruction(next);
        }
        pending.is_empty().then_some(())?;
    }
    let places = (0..elements).map(|index| (start + index * size, start + (index + 1) * size, width));
    Some(places.filter(|(from, ..)| stores.iter().all(|(stored, ..)| stored != from)).collect())
}

/// What a call writes behind an address argument, and how many bytes; `None` if that is not known.
unsafe fn written_by_call(call: LLVMValueRef, address: LLVMValueRef) -> Option<Option<(i64, WriteSource)>> {
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
            let source = match copies {
                true if from != address => WriteSource::Memory(from),
                false if LLVMIsNull(from) != 0 => WriteSource::Zeros(call),
                _ => WriteSource::Other,
            };
            return Some(Some((LLVMConstIntGetSExtValue(length), source)));
        }
        address::call_only_loads(call, callee, address).then_some(None)
    }
}
