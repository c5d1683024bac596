//! Loads from memory with known contents: the thread context, the kernel's arguments, memory that
//! kernels only read, and local memory.

use gpurace_abi::context::offset;
use gpurace_abi::meta::Param;
use gpurace_protocol::arguments::MOST_CONSTANT_BYTES;
use gpurace_protocol::expr::{Axis, BinOp, CmpOp, Expr, ExprId, LoopId, Width};
use gpurace_protocol::protocol::{ObjectKind, Space, Uniform};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};

use super::contents::{Held, LocalId};
use super::frame::{Aim, Extraction, Frame, LoopPlace, Pointer, Root, Value, int_width};
use super::phis::{Choices, MAX_CHOICES};
use crate::ir;
use crate::ir::position::source_name;

impl Extraction<'_> {
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
        // SAFETY: by contract.
        let aligned = bytes > 0 && u64::from(unsafe { LLVMGetAlignment(load) }) % bytes == 0;
        self.loaded(&pointer, bytes, width, aligned)
    }

    /// The result of a load of this many bytes. It is `aligned` if its address is a multiple of their number.
    pub fn loaded(
        &mut self,
        pointer: &Pointer,
        bytes: u64,
        width: Option<Width>,
        aligned: bool,
    ) -> Option<Value> {
        let [Aim { root, guard: None }] = pointer.aims.as_slice() else { return None };
        let at = self.b.as_const(pointer.offset).map(|bits| bits as i64);
        match *root {
            Root::Context => self.register(at?, width?).map(Value::Int),
            Root::Arguments(start) => {
                let Some(at) = at else { return self.computed_argument(start, pointer.offset, width) };
                let at = u32::try_from(at).ok()?;
                let name = self.parameters.get(&start).map(|param| param.name_at(at)).unwrap_or_default();
                Some(self.argument(&name, start.checked_add(at)?, width))
            }
            Root::Constant(variable) => self.loaded_constant(variable, pointer, bytes, width, aligned),
            Root::Local(local) => match at {
                Some(at) => self.loaded_local(local, at, bytes, width, aligned),
                None if !aligned => None,
                None => {
                    if let Some((from, distance)) = self.copied_whole(local) {
                        let from = self.moved_by(&from, distance);
                        let offset = self.b.bin(BinOp::Add, from.offset, pointer.offset);
                        return self.loaded(&Pointer { offset, aims: from.aims }, bytes, width, aligned);
                    }
                    let choices = self.held_at(local, pointer.offset, i64::try_from(bytes).ok()?)?;
                    self.one_of(&choices, width)
                }
            },
            Root::Object(_) | Root::Private => None,
        }
    }

    /// The result of a load from a variable that kernels only read.
    fn loaded_constant(
        &mut self,
        variable: LLVMValueRef,
        pointer: &Pointer,
        bytes: u64,
        width: Option<Width>,
        aligned: bool,
    ) -> Option<Value> {
        // SAFETY: roots are live while the protocol is made.
        let initial = aligned.then(|| unsafe { self.initial(variable, pointer.offset, bytes) }).flatten();
        if let Some(chosen) = initial.and_then(|choices| self.one_of(&choices, width)) {
            return Some(chosen);
        }
        // SAFETY: as above.
        if let Some((start, size)) = unsafe { self.constant_at(variable) } {
            match self.b.as_const(pointer.offset).map(|bits| bits as i64) {
                None if width != Some(Width::W1) => {
                    return self.computed_argument(start, pointer.offset, width);
                }
                Some(at) if at >= 0 && (at as u64).saturating_add(bytes) <= size => {
                    let place = start + at as u32;
                    let fixed =
                        width.and_then(|width| Some((width, self.b.protocol.fixed_at(place, width)?)));
                    if let Some((width, bits)) = fixed {
                        return Some(Value::Int(self.b.constant(width, bits as i64)));
                    }
                    let name = self.parameters[&start].name_at(at as u32);
                    return Some(self.argument(&name, place, width));
                }
                _ => {}
            }
        }
        let key = (variable, pointer.offset, width);
        if let Some(known) = self.constants.get(&key) {
            return Some(known.clone());
        }
        let (uniform, varies) = (self.b.uniform(pointer.offset), self.b.varies(pointer.offset));
        let value = match width {
            Some(width) => {
                let what = "a value loaded from constant memory";
                Value::Int(self.b.opaque(what, width, uniform, varies))
            }
            None => {
                let uniform = if varies.is_none() { uniform } else { Uniform::Thread };
                let kind = ObjectKind::Opaque { space: Space::Generic, uniform, loaded_by: None };
                let object = self.b.object("a pointer loaded from constant memory", kind);
                Value::from(self.pointer_to(Root::Object(object)))
            }
        };
        self.constants.insert(key, value.clone());
        Some(value)
    }

    /// The result of a load from a known place of a local variable.
    fn loaded_local(
        &mut self,
        local: LocalId,
        at: i64,
        bytes: u64,
        width: Option<Width>,
        aligned: bool,
    ) -> Option<Value> {
        match self.held(local, at, i64::try_from(bytes).ok()?)? {
            Held::Value(value @ Value::Pointer(_)) => width.is_none().then_some(value),
            Held::Value(Value::Int(e)) => (width == Some(self.b.width(e))).then_some(Value::Int(e)),
            Held::Value(Value::Address(..) | Value::Other) => None,
            Held::LocalAddress => width.is_none().then(|| Value::from(self.pointer_to(Root::Private))),
            Held::Copy(from, distance) => {
                let from = self.moved_by(&from, distance);
                self.loaded(&from, bytes, width, aligned)
            }
        }
    }

    /// The place behind the arguments, and the size, of a variable in constant memory or of a table of integers that
    /// never changes. `None` for another variable whose address the host does not know.
    unsafe fn constant_at(&mut self, variable: LLVMValueRef) -> Option<(u32, u64)> {
        // SAFETY: by contract.
        let (symbol, is_known, size) = unsafe {
            let size = ir::alloc_size(self.facts.module, LLVMGlobalGetValueType(variable));
            (ir::name(variable), ir::is_constant_of_host(variable), size)
        };
        // SAFETY: roots are live while the protocol is made.
        let fixed = if is_known { None } else { Some(unsafe { fixed_integers(variable) }?) };
        if size > u64::from(MOST_CONSTANT_BYTES) {
            return None;
        }
        let start = self.b.constant_variable(&symbol, size, fixed);
        self.parameters.entry(start).or_insert_with(|| Param {
            name: source_name(&symbol),
            offset: start,
            size: size as u32,
            own_type: self.structs.of_constants.get(&symbol).cloned(),
            ..Param::default()
        });
        Some((start, size))
    }

    /// The pointers in a table that never changes, each with the condition that it is at this place.
    unsafe fn initial(&mut self, table: LLVMValueRef, at: ExprId, size: u64) -> Option<Choices<Value>> {
        // SAFETY: by contract.
        unsafe {
            let is_array = LLVMGetTypeKind(LLVMGlobalGetValueType(table)) == LLVMTypeKind::LLVMArrayTypeKind;
            let aligned = size > 0 && u64::from(LLVMGetAlignment(table)) % size == 0;
            let initial = LLVMGetInitializer(table);
            if initial.is_null() || !(is_array && never_changes(table) && aligned) {
                return None;
            }
            let mut choices = Vec::new();
            for index in 0..LLVMGetArrayLength2(LLVMGlobalGetValueType(table)) {
                if index >= MAX_CHOICES as u64 {
                    return None;
                }
                let element = LLVMGetAggregateElement(initial, index as u32);
                if element.is_null() || ir::space_of(element).is_none() {
                    return None;
                }
                if ir::store_size(self.facts.module, LLVMTypeOf(element)) != size {
                    return None;
                }
                let value = Value::from(self.constant_pointer(element)?);
                let from = self.b.constant(Width::W64, (index * size) as i64);
                choices.push((Some(self.b.cmp(CmpOp::Eq, at, from)), value));
            }
            Some(choices)
        }
    }

    /// The value that is chosen, if all are integers of this width, or pointers if it is `None`.
    fn one_of(&mut self, choices: &Choices<Value>, width: Option<Width>) -> Option<Value> {
        match width {
            Some(width) => {
                let fits = |value: &Value| matches!(value, Value::Int(e) if self.b.width(*e) == width);
                let all = choices.iter().all(|(_, value)| fits(value));
                all.then(|| self.merge_ints(choices)).flatten().map(Value::Int)
            }
            // All distances become one expression.
            None if choices.len() > MAX_CHOICES => None,
            None => self.merge_pointers(choices, Uniform::Thread, None).map(Value::from),
        }
    }

    /// The value at `offset` of the argument buffer; `width` is `None` for a pointer.
    pub fn argument(&mut self, name: &str, offset: u32, width: Option<Width>) -> Value {
        match width {
            Some(width) => Value::Int(self.b.scalar(name, offset, width)),
            None => {
                let id = self.b.param(name, offset, Width::W64, true);
                let object = self.b.object(name, ObjectKind::Param(id));
                Value::from(self.pointer_to(Root::Object(object)))
            }
        }
    }

    /// The value at a computed distance behind the byte `start` of the argument buffer; `width` is `None`
    /// for a pointer.
    fn computed_argument(&mut self, start: u32, distance: ExprId, width: Option<Width>) -> Option<Value> {
        if width == Some(Width::W1) {
            return None;
        }
        let start_at = self.b.constant(Width::W64, start.into());
        let at = self.b.bin(BinOp::Add, distance, start_at);
        if let Some(known) = self.computed.get(&(at, width)) {
            return Some(known.clone());
        }
        let name = self.parameters.get(&start).map_or("an argument", |param| &*param.name);
        let name = name.to_owned();
        let value = match width {
            Some(width) => {
                let (uniform, varies) = (self.b.uniform(at), self.b.varies(at));
                let made = self.b.opaque(format!("an element of `{name}`"), width, uniform, varies);
                self.b.lies_at(made, at);
                Value::Int(made)
            }
            None => {
                let object = self.b.object(&format!("pointers of {name}"), ObjectKind::Slot { at });
                Value::from(self.pointer_to(Root::Object(object)))
            }
        };
        self.computed.insert((at, width), value.clone());
        Some(value)
    }

    /// A root for uses of a pointer outside of the loops in which its place varies, or in later iterations of
    /// these loops. `inner` is the innermost loop in which the pointer must not vary.
    pub fn root_fixed_in(&mut self, root: Root, inner: Option<LoopId>) -> Root {
        let Root::Object(object) = root else { return root };
        let at = match self.b.protocol.objects[object.0 as usize].kind {
            ObjectKind::Slot { at } => Some(at),
            _ => None,
        };
        match at {
            Some(at) if !self.b.is_fixed_in(at, inner) => {
                let kind =
                    ObjectKind::Opaque { space: Space::Generic, uniform: Uniform::Thread, loaded_by: None };
                Root::Object(self.b.object("a pointer of another iteration", kind))
            }
            _ => root,
        }
    }

    /// A register of the thread context.
    fn register(&mut self, at: i64, width: Width) -> Option<ExprId> {
        let at = usize::try_from(at).ok().filter(|_| width == Width::W32)?;
        let starts = [offset::TID, offset::CTAID, offset::NTID, offset::NCTAID];
        for (start, field) in starts.into_iter().zip([Expr::Tid, Expr::Ctaid, Expr::Ntid, Expr::Nctaid]) {
            let distance = at.checked_sub(start).filter(|distance| distance % 4 == 0);
            if let Some(&axis) = distance.and_then(|distance| Axis::ALL.get(distance / 4)) {
                return Some(self.b.leaf(field(axis)));
            }
        }
        match at {
            offset::LANE => Some(self.b.leaf(Expr::Lane)),
            offset::DYNAMIC_SHARED_BYTES => Some(self.b.leaf(Expr::DynamicShared)),
            offset::LINEAR_TID => Some(self.b.linear_thread()),
            offset::WARP => {
                let linear = self.b.linear_thread();
                let lanes = self.b.constant(Width::W32, 32);
                Some(self.b.bin(BinOp::UDiv, linear, lanes))
            }
            _ => None,
        }
    }
}

/// The most bytes of a table of integers that goes into a protocol.
const MOST_FIXED_BYTES: usize = 4096;

/// True if the module alone sets a variable, once.
unsafe fn never_changes(variable: LLVMValueRef) -> bool {
    // SAFETY: by the caller's contract, the variable is live.
    unsafe {
        let own = [LLVMLinkage::LLVMPrivateLinkage, LLVMLinkage::LLVMInternalLinkage];
        LLVMIsGlobalConstant(variable) != 0
            && LLVMIsExternallyInitialized(variable) == 0
            && own.contains(&LLVMGetLinkage(variable))
    }
}

/// The bytes of a table of integers that never changes.
unsafe fn fixed_integers(table: LLVMValueRef) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // SAFETY: by the caller's contract, the table is live.
    unsafe {
        let initial = LLVMGetInitializer(table);
        (never_changes(table) && !initial.is_null()).then_some(())?;
        add_integers(initial, &mut bytes)?;
    }
    Some(bytes)
}

/// Adds the bytes of a constant array of integers, or of one integer.
unsafe fn add_integers(constant: LLVMValueRef, bytes: &mut Vec<u8>) -> Option<()> {
    // SAFETY: by the caller's contract, the constant is live.
    unsafe {
        let of = LLVMTypeOf(constant);
        if LLVMGetTypeKind(of) == LLVMTypeKind::LLVMArrayTypeKind {
            for index in 0..LLVMGetArrayLength2(of) {
                let element = LLVMGetAggregateElement(constant, u32::try_from(index).ok()?);
                (!element.is_null()).then_some(())?;
                add_integers(element, bytes)?;
            }
            return Some(());
        }
        let size = int_width(of)?.bits() as usize / 8;
        (size > 0 && !LLVMIsAConstantInt(constant).is_null()).then_some(())?;
        bytes.extend(&LLVMConstIntGetZExtValue(constant).to_le_bytes()[..size]);
        (bytes.len() <= MOST_FIXED_BYTES).then_some(())
    }
}
