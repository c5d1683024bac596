//! Activations: a kernel, or a function that it calls, with the values of one call.

use std::collections::HashMap;
use std::rc::Rc;

use gpurace_abi::meta::Param;
use gpurace_protocol::expr::{ExprId, LoopId, VarId, Width};
use gpurace_protocol::protocol::{ObjectId, Uniform};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::builder::Builder;
use super::contents::{LocalId, Locals, WrittenBytes};
use super::effects::Facts;
use crate::analysis::regions::{Graph, Target};
use crate::analysis::uniform::Uniformity;
use crate::ir::structs::Structs;

/// The memory that a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// An object of the protocol.
    Object(ObjectId),
    /// The kernel's argument buffer: the copy of a struct, which is only read, from this byte on.
    Arguments(u32),
    /// A variable that is only read.
    Constant(LLVMValueRef),
    /// The thread context.
    Context,
    /// Memory of the thread alone.
    Private,
    /// Memory of the thread alone with known contents.
    Local(LocalId),
}

/// The innermost loop of the function around the use of a value.
pub type LoopPlace = Option<usize>;

/// A possible target of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// The memory.
    pub root: Root,
    /// The target is this one only if the guard is 1.
    pub guard: Option<ExprId>,
}

/// A pointer: one distance, from one of several roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Bytes from the root, 64 bits.
    pub offset: ExprId,
    /// Its possible targets.
    pub aims: Vec<Aim>,
}

impl Pointer {
    /// The pointer to this byte behind a root.
    pub fn to(root: Root, offset: ExprId) -> Self {
        Self { offset, aims: vec![Aim { root, guard: None }] }
    }
}

/// The known form of an SSA value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer of a width that expressions have.
    Int(ExprId),
    /// A pointer.
    Pointer(Rc<Pointer>),
    /// The address that a pointer has in an address space, as an integer.
    Address(Rc<Pointer>, u32),
    /// A value that no expression describes.
    Other,
}

impl From<Pointer> for Value {
    fn from(pointer: Pointer) -> Self {
        Self::Pointer(Rc::new(pointer))
    }
}

/// A phi of a loop's header, which is a variable of the protocol's loop.
#[derive(Clone, Debug)]
pub struct HeaderVar {
    /// The phi.
    pub phi: LLVMValueRef,
    /// Its loop, in the function.
    pub of: usize,
    /// The variable; for a pointer, the distance from its roots.
    pub id: VarId,
    /// The variable as an expression.
    pub expr: ExprId,
    /// Its width.
    pub width: Width,
    /// Its first value.
    pub from: ExprId,
    /// The possible targets, for a pointer.
    pub aims: Option<Vec<Aim>>,
}

/// Variables of a loop that hold each other's first values, in an order that may change with each iteration.
#[derive(Clone, Debug)]
pub struct Turns {
    /// The loop, in the function.
    pub of: usize,
    /// The variables.
    pub phis: Vec<LLVMValueRef>,
    /// The possible orders: for each variable, the variable whose first value it has, and the condition for the
    /// order.
    pub orders: Vec<(Vec<usize>, ExprId)>,
    /// The variable of the protocol's loop that says which order it is, if the number of iterations does not, and the
    /// threads for which that is the same.
    pub chosen: Option<(VarId, Uniform)>,
}

/// A way that control may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Out of a loop to this target, seen from the region around the loop.
    OutOf(usize, Target),
    /// From a block to its successor of this number.
    Successor(usize, usize),
}

/// An activation of a function.
pub struct Frame {
    /// The function.
    pub function: LLVMValueRef,
    /// Its control flow.
    pub graph: Rc<Graph>,
    /// The groups of threads that compute the same values.
    pub uniform: Uniformity,
    /// The protocol's loop for each loop of the function.
    pub loop_ids: Vec<LoopId>,
    /// Loops whose header only tests their condition: it is tested before each iteration.
    pub test_before: Vec<bool>,
    /// The loop around the call.
    pub around: Option<LoopId>,
    /// The arguments of the call.
    pub arguments: Vec<Value>,
    /// The values of its instructions.
    pub values: HashMap<LLVMValueRef, Value>,
    /// The same, seen from outside the loop around them.
    pub outside: HashMap<(LLVMValueRef, Option<LoopId>), Value>,
    /// Opaque values of instructions, by the loop in which they vary.
    pub opaque: HashMap<(LLVMValueRef, Option<LoopId>), ExprId>,
    /// Pointers to its local variables.
    pub locals: Locals,
    /// Opaque pointers.
    pub pointers: HashMap<LLVMValueRef, Rc<Pointer>>,
    /// For each region and node, the condition under which it is executed once its immediate
    /// dominator is. Filled from the front.
    pub guards: Vec<Vec<ExprId>>,
    /// Opaque conditions for ways that no expression describes.
    pub ways: HashMap<Way, ExprId>,
    /// Variables of loops.
    pub vars: Vec<HeaderVar>,
    /// Variables of loops that take turns.
    pub turns: Vec<Turns>,
    /// Activations of the functions that it calls.
    pub calls: HashMap<LLVMValueRef, Result<Box<Frame>, String>>,
    /// Number of activations around this one.
    pub depth: u32,
    /// The group of threads that called the function together.
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

/// Extracts the protocol of one kernel.
pub struct Extraction<'a> {
    /// The facts about the module.
    pub facts: &'a Facts<'a>,
    /// The structs of the module.
    pub structs: &'a Structs,
    /// The protocol under construction.
    pub b: Builder,
    /// Instructions that may still be evaluated.
    pub budget: usize,
    /// Values loaded from variables that never change: variable, offset, width (`None`: a pointer).
    pub constants: HashMap<(LLVMValueRef, ExprId, Option<Width>), Value>,
    /// Values loaded from computed places of the arguments: place, width (`None`: a pointer).
    pub computed: HashMap<(ExprId, Option<Width>), Value>,
    /// Local memory with known contents.
    pub locals: Vec<Vec<WrittenBytes>>,
    /// Functions that are being followed.
    pub active: Vec<LLVMValueRef>,
    /// The kernel's parameters, and the variables in constant memory that it loads from, by their place in the
    /// argument buffer.
    pub parameters: HashMap<u32, Param>,
}

/// The width of an integer type in expressions.
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
