//! One activation of a function: a kernel, or a function called by it whose
//! protocol takes the call's place.

use std::collections::HashMap;
use std::rc::Rc;

use gpurace_protocol::expr::{ExprId, LoopId, VarId, Width};
use gpurace_protocol::protocol::{ObjectId, Uniform};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::builder::Builder;
use super::contents::{LocalId, Locals, Written};
use super::effects::Facts;
use super::graph::{Graph, Target};
use super::uniformity::Uniformity;

/// What a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// An object of the protocol.
    Object(ObjectId),
    /// The kernel's argument buffer: the only-read copy of a struct that starts
    /// at this byte.
    Arguments(u32),
    /// Read-only memory: this variable.
    Constant(LLVMValueRef),
    /// The thread context.
    Context,
    /// Memory of the thread alone.
    Private,
    /// Memory of the thread alone of whose contents something is known.
    Local(LocalId),
}

/// Where a value is used: directly in this loop of the function, or in none.
pub type Place = Option<usize>;

/// One of the things that a pointer may point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// Which.
    pub root: Root,
    /// Only where this is 1.
    pub guard: Option<ExprId>,
}

/// A pointer: the same distance from one of several roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Bytes from the root, 64 bits.
    pub offset: ExprId,
    /// Where it may point.
    pub aims: Vec<Aim>,
}

/// What is known of an SSA value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer of a width that expressions have.
    Int(ExprId),
    /// A pointer.
    Pointer(Rc<Pointer>),
    /// The address that a pointer has in an address space, as an integer.
    Address(Rc<Pointer>, u32),
    /// Something that expressions cannot say.
    Other,
}

/// A phi of a loop's header as a variable of the protocol's loop.
#[derive(Clone, Debug)]
pub struct HeaderVar {
    /// The phi.
    pub phi: LLVMValueRef,
    /// Its loop, in the function.
    pub of: usize,
    /// The variable: of a pointer, its distance from its roots.
    pub id: VarId,
    /// The variable as an expression.
    pub expr: ExprId,
    /// Its width.
    pub width: Width,
    /// Its first value.
    pub from: ExprId,
    /// Of a pointer: what it may point into.
    pub aims: Option<Vec<Aim>>,
}

/// One of several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Out of a loop, to this target as seen from the region around it.
    OutOf(usize, Target),
    /// From a block to its successor of this number.
    Successor(usize, usize),
}

/// See the module's comment.
pub struct Frame {
    /// The function.
    pub function: LLVMValueRef,
    /// Its control flow.
    pub graph: Rc<Graph>,
    /// Who computes the same values.
    pub uniform: Uniformity,
    /// The protocol's loops for the function's.
    pub loop_ids: Vec<LoopId>,
    /// Loops whose condition is that of their header, asked before each
    /// iteration: all that the header does is to ask it.
    pub test_before: Vec<bool>,
    /// The loop around the call.
    pub around: Option<LoopId>,
    /// What the function was called with.
    pub arguments: Vec<Value>,
    /// What is known of its instructions.
    pub values: HashMap<LLVMValueRef, Value>,
    /// The same, seen from outside the loop that they are in.
    pub outside: HashMap<(LLVMValueRef, Option<LoopId>), Value>,
    /// Opaque stand-ins, by the loop in which they vary.
    pub opaque: HashMap<(LLVMValueRef, Option<LoopId>), ExprId>,
    /// Pointers to its local variables.
    pub locals: Locals,
    /// Opaque pointers.
    pub pointers: HashMap<LLVMValueRef, Rc<Pointer>>,
    /// For each region and node: when it is executed, once its immediate
    /// dominator is. Filled from the front.
    pub guards: Vec<Vec<ExprId>>,
    /// Which way control goes, where expressions cannot say it.
    pub ways: HashMap<Way, ExprId>,
    /// Variables of loops.
    pub vars: Vec<HeaderVar>,
    /// Activations of the functions that it calls.
    pub calls: HashMap<LLVMValueRef, Result<Box<Frame>, String>>,
    /// Number of activations around this one.
    pub depth: u32,
    /// The group that entered it together.
    pub control: Uniform,
}

impl Frame {
    /// The innermost of the protocol's loops around a block.
    pub fn loop_at(&self, block: usize) -> Option<LoopId> {
        self.inner(self.graph.loop_of[block])
    }

    /// The protocol's loop for one of the function's; for `None` the one around the call.
    pub fn inner(&self, of: Option<usize>) -> Option<LoopId> {
        of.map_or(self.around, |l| Some(self.loop_ids[l]))
    }
}

/// The extraction of one kernel's protocol.
pub struct Extraction<'a> {
    /// What is known of the module.
    pub facts: &'a Facts<'a>,
    /// What has been built.
    pub b: Builder,
    /// Instructions that may still be looked at.
    pub budget: usize,
    /// Values loaded from read-only memory: variable, offset, width (`None`: a pointer).
    pub constants: HashMap<(LLVMValueRef, ExprId, Option<Width>), Value>,
    /// Local memory of whose contents something is known.
    pub locals: Vec<Vec<Written>>,
    /// Functions that are being followed.
    pub active: Vec<LLVMValueRef>,
    /// What the kernel's arguments are called, by offset.
    pub argument_names: HashMap<u32, String>,
}

/// The width that an integer type has in expressions.
///
/// # Safety
/// `ty` is live.
pub unsafe fn int_width(ty: LLVMTypeRef) -> Option<Width> {
    // SAFETY: by contract.
    unsafe {
        match LLVMGetTypeKind(ty) {
            llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind => Width::from_bits(LLVMGetIntTypeWidth(ty)),
            _ => None,
        }
    }
}
