//! The access protocol of one kernel: a structured program of accesses and
//! synchronisation.
//!
//! # What the program promises
//! A protocol describes all executions of its kernel. It may describe *more* accesses than the
//! kernel makes, never fewer: it may leave out a condition, or let a loop run longer.
//! Synchronisation must be exact: a thread executes a [`Stmt::Sync`] exactly when the kernel does.
//! So the conditions and loops around it are exact or [`Expr::Opaque`]. An opaque condition can
//! have either value. Its [`Uniform`] promises which threads see the same value.
//!
//! # Early exits
//! `if (c) return; rest` is `If { c, [], [rest] }`. A `break` inside a loop is
//! `If { c, [], [rest of the body] }` and [`Loop::breaks`].
//!
//! # What is left out
//! Accesses to memory that no other thread touches (locals, constant memory), and order through
//! atomics and fences. Missing order only makes proofs fail. A reduction at a named barrier is
//! [`Stmt::Unknown`]. An mbarrier at which the block's threads meet is a [`Sync::Block`]. Arrivals at one whose phases
//! threads know by their parity are [`Sync::Phase`], and so are waits for these. Other mbarriers are left out.

use serde::{Deserialize, Serialize};

pub use gpurace_abi::scope::Scope;

use crate::arguments::ConstantVariable;
use crate::expr::{ExprId, Exprs, LoopId, ParamId, VarId, Width};
use crate::loaded::LoadedFrom;
pub use crate::mbarrier::{MbarrierUse, Phase, Told};

/// Version of the serialised form; raised with each change of the types.
pub const PROTOCOL_VERSION: u32 = 28;

/// What a kernel does to memory that threads share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Mangled name of the kernel.
    pub kernel: String,
    /// Every expression.
    pub exprs: Exprs,
    /// Parameters, or parts of them: scalars and pointers that expressions and
    /// objects name. Those in constant memory come last.
    pub params: Vec<Param>,
    /// The variables in constant memory that the kernel loads from, and tables that never change. They lie behind the
    /// arguments, as if they belonged to the argument buffer: kernels only read both.
    pub constants: Vec<ConstantVariable>,
    /// Objects whose memory lies behind those, as far as places name it. The protocol describes only launches that do
    /// not change what is named ([`crate::loaded`]).
    pub loaded: Vec<LoadedFrom>,
    /// Memory that accesses name.
    pub objects: Vec<Object>,
    /// Values that the protocol does not describe.
    pub opaques: Vec<Opaque>,
    /// What some stores store.
    pub stored: Vec<Stored>,
    /// The asynchronous copies that mbarriers count.
    pub told: Vec<Told>,
    /// What is done to mbarriers in memory that holds other data too.
    pub mbarrier_uses: Vec<MbarrierUse>,
    /// The program of one thread.
    pub body: Vec<Stmt>,
    /// The largest number of threads of a block (`__launch_bounds__`), 0 if unknown.
    pub max_threads: u32,
    /// What is known of the shape of each launch that the protocol describes.
    pub shape: KnownShape,
}

/// What is known of the shape of launches. A protocol that a kernel has for all launches knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownShape {
    /// `blockDim`, as far as it is known.
    pub block: [Option<u32>; 3],
    /// `gridDim`, as far as it is known.
    pub grid: [Option<u32>; 3],
    /// The bytes of dynamic shared memory, if known.
    pub dynamic_shared: Option<u32>,
}

/// A kernel parameter, a variable in constant memory, or a scalar or pointer part of a struct that is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// The name in the source: `n`, `view.stride`.
    pub name: String,
    /// Width; pointers have 64 bits.
    pub width: Width,
    /// Offset in the launch's argument buffer, bytes. Variables in constant memory lie behind the arguments.
    pub offset: u32,
    /// True for a pointer or the handle of a texture. Only [`ObjectKind::Param`] and
    /// [`ObjectKind::Image`] use it, never an expression.
    pub pointer: bool,
}

/// An object: index into [`Protocol::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectId(pub u32);

/// An access instruction: index into the module's sites, as the pass counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SiteId(pub u32);

/// Memory that accesses name: a base address and offsets from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The name in the source.
    pub name: String,
    /// The kind of memory.
    pub kind: ObjectKind,
}

/// The kind of an object. It determines the objects that it may share bytes with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ObjectKind {
    /// The memory behind a pointer parameter. Offsets count from the pointer's value. It may share
    /// bytes with other parameters and device variables unless a condition excludes that.
    Param(ParamId),
    /// The memory behind a pointer that lies somewhere in the argument buffer. Offsets count from the
    /// pointer's value. Two pointers at different places may share bytes with each other, with
    /// parameters and device variables unless a condition excludes that.
    Slot {
        /// The place of the pointer's first byte in the argument buffer: 64 bits, signed. Each access
        /// evaluates it with its own thread and iteration.
        at: ExprId,
    },
    /// The memory of a texture or surface object, whose handle is a parameter. Offsets count from
    /// its first texel and stay within the texels. It may share bytes with other images, parameters
    /// and device variables unless a condition excludes that.
    Image(ParamId),
    /// The counter of blocks that wait at a grid barrier of `cooperative_groups`. It lies in the
    /// driver's memory and shares bytes with no other object.
    GridBarrier,
    /// A static `__shared__` variable. It shares bytes with no other object.
    Shared {
        /// Bytes.
        size: u64,
    },
    /// Memory that no other thread touches while the kernel runs, or that nobody writes: local
    /// variables, arguments, tables of the compiler. It shares bytes with no other object, and two
    /// threads' accesses to it never conflict.
    Unshared,
    /// Dynamic shared memory: all `extern __shared__` arrays are one object.
    DynamicShared,
    /// A device variable.
    Variable {
        /// Mangled name.
        symbol: String,
        /// Bytes.
        size: u64,
        /// It lies in constant memory: no thread writes it, and it shares bytes with no other object. A copy of
        /// another stream may write it.
        constant: bool,
    },
    /// The memory behind a pointer that the protocol does not describe. Offsets count from that
    /// pointer.
    Opaque {
        /// The memory that it may lie in.
        space: Space,
        /// The group whose threads all see the same pointer while the kernel runs. It is
        /// [`Uniform::Thread`] for a pointer that is loaded in a loop.
        uniform: Uniform,
        /// The plain load that yields the whole pointer.
        loaded_by: Option<SiteId>,
    },
}

impl ObjectKind {
    /// True if an object may lie in memory of this kind that threads can write.
    pub fn may_lie_in(&self, space: Space) -> bool {
        let own = match self {
            Self::Variable { constant: true, .. } => return false,
            Self::Param(_) | Self::Slot { .. } | Self::Image(_) | Self::Variable { .. } => Space::Global,
            Self::Shared { .. } | Self::DynamicShared => Space::Shared,
            Self::Opaque { space, .. } => *space,
            Self::Unshared | Self::GridBarrier => return false,
        };
        own == space || own == Space::Generic || space == Space::Generic
    }
}

/// The memory that an opaque object may lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Space {
    /// Shared memory of the block.
    Shared,
    /// Global memory.
    Global,
    /// Either.
    Generic,
}

/// The widest group whose threads all see the same value, in the same
/// iterations of the enclosing loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Uniform {
    /// No group: threads differ.
    Thread,
    /// The threads of one warp.
    Warp,
    /// The threads of one block.
    Block,
    /// All threads of the launch.
    Grid,
}

/// A value that the protocol does not describe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// A description for explanations: `value loaded from 'idx'`.
    pub what: String,
    /// Its width.
    pub width: Width,
    /// The widest group whose threads see the same value.
    pub uniform: Uniform,
    /// The loops around the place that computes it. Only their iterations may change the value.
    pub loops: Vec<LoopId>,
    /// Inclusive bounds of the unsigned value, if they are certain.
    pub range: Option<(u64, u64)>,
    /// The plain load that yields the whole value in the same iteration. Nothing outside of the
    /// loops around the load uses the value. For a value of 1 bit: the only load on which it rests, beside what
    /// all threads have for the whole launch. It may be that of the iteration before.
    pub loaded_by: Option<SiteId>,
    /// The value lies in the argument buffer, and this is the place of its first byte there: 64 bits,
    /// signed. It comes before the value in the arena.
    pub argument: Option<ExprId>,
    /// The loop that leaves the value.
    pub last: Option<Last>,
    /// The atomic addition that returns the value.
    pub ticket: Option<Ticket>,
}

/// What an atomic addition returns: the value of a counter before the addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The atomic addition that returns the whole value in the same iteration. Nothing outside of the
    /// loops around the addition uses the value.
    pub site: SiteId,
    /// What is added, modulo `2^width`. It has the opaque value's width and comes before the value in the
    /// arena.
    pub added: ExprId,
}

/// What a store stores. A store without an entry may store anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The plain store, which writes the whole value.
    pub site: SiteId,
    /// The value in the iteration of the store. Its width is 8, 16, 32 or 64 bits.
    pub value: ExprId,
}

/// The value of an expression after a loop. The loop's variables have the values of the iteration
/// that ended it: it evaluated the loop's condition last, or the thread broke the loop in it
/// ([`Loop::breaks`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// The loop.
    pub of: LoopId,
    /// The expression, of the opaque value's width.
    pub value: ExprId,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stmt {
    /// Touches memory.
    Access(Access),
    /// Waits for other threads.
    Sync(Sync),
    /// Repeats statements.
    Loop(Loop),
    /// Executes one of two bodies.
    If {
        /// 1 bit.
        cond: ExprId,
        /// The body for 1.
        #[serde(deserialize_with = "crate::validate::nested")]
        then: Vec<Stmt>,
        /// The body for 0.
        #[serde(deserialize_with = "crate::validate::nested")]
        otherwise: Vec<Stmt>,
    },
    /// Does something that the protocol does not describe.
    Unknown(Unknown),
}

/// One access instruction, to one of the objects that it may touch. An
/// instruction that may touch several is several accesses of one site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The instruction.
    pub site: SiteId,
    /// The operation.
    pub op: Op,
    /// The object that it touches.
    pub object: ObjectId,
    /// First byte, from the object's base: 64 bits, signed.
    pub offset: ExprId,
    /// Number of bytes: 64 bits, unsigned.
    pub size: ExprId,
}

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic access to all its bytes together.
    Atomic {
        /// The scope in which it is atomic.
        scope: Scope,
        /// False for an atomic load.
        writes: bool,
    },
    /// A volatile load or store.
    Volatile {
        /// False for a load.
        writes: bool,
    },
    /// The read or the write of an asynchronous copy. It takes place between the copy's start and its wait. Until then
    /// nothing orders it with what the thread does after it.
    Copy {
        /// False for the read.
        writes: bool,
        /// The most block barriers that the thread passes between the copy's start and its wait. It passes no grid
        /// barrier there. With 0 it makes no sync at all. With [`Op::NO_WAIT`] no wait is known.
        passes: u32,
    },
    /// A plain access that its thread makes after it has arrived at some mbarriers of the block, and before it waits
    /// for their phases. Others may have passed these barriers before it takes place.
    Between {
        /// False for a read.
        writes: bool,
        /// The number of these mbarriers.
        passes: u32,
    },
}

impl Op {
    /// A copy that passes so many barriers may take place at any time after its start.
    pub const NO_WAIT: u32 = u32::MAX;

    /// True if it may change memory.
    pub const fn writes(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::Atomic { writes, .. }
            | Self::Volatile { writes }
            | Self::Copy { writes, .. }
            | Self::Between { writes, .. } => writes,
        }
    }

    /// True for a side of an asynchronous copy.
    pub const fn is_copy(self) -> bool {
        matches!(self, Self::Copy { .. })
    }

    /// The most block barriers that other threads pass before the access has taken place.
    pub const fn passes(self) -> u32 {
        match self {
            Self::Copy { passes, .. } | Self::Between { passes, .. } => passes,
            Self::Read | Self::Write | Self::Atomic { .. } | Self::Volatile { .. } => 0,
        }
    }

    /// The scope in which it is atomic; `None` for a plain access.
    const fn scope(self) -> Option<Scope> {
        match self {
            Self::Read | Self::Write | Self::Copy { .. } | Self::Between { .. } => None,
            Self::Atomic { scope, .. } => Some(scope),
            Self::Volatile { .. } => Some(Scope::System),
        }
    }

    /// True if an access of this kind and one of another kind do not conflict where their bytes are
    /// exactly the same: both are atomic to each other's threads. Two volatile accesses conflict.
    pub fn is_atomic_with(self, other: Self, same_block: bool) -> bool {
        // Two blocks may be in different clusters, so cluster scope is not enough.
        let wide = |op: Self| op.scope().is_some_and(|scope| same_block || scope >= Scope::Device);
        let volatile = |op| matches!(op, Self::Volatile { .. });
        wide(self) && wide(other) && !(volatile(self) && volatile(other))
    }
}

/// A barrier: threads wait until all threads of their group have reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Sync {
    /// `__syncwarp(mask)`: waits for the lanes of the warp that the mask, 32 bits, names. It orders
    /// threads that it names if they make it with the same mask. It orders nothing for a thread that
    /// it does not name.
    Lanes(ExprId),
    /// `__syncwarp` with the full mask.
    Warp,
    /// `__syncthreads` and its `_count`, `_and`, `_or` forms.
    Block,
    /// A cooperative launch's grid barrier.
    Grid,
    /// A barrier of some threads of the block, which they know by its number.
    Named(Named),
    /// An arrival at an mbarrier, or a wait for a phase of it.
    Phase(Phase),
}

/// An arrival at a named barrier: `bar.sync id, n` or `bar.arrive id, n`. A phase of the barrier ends when this number
/// of threads have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Named {
    /// The barrier's number, 32 bits.
    pub id: ExprId,
    /// The number of threads, 32 bits; 0 for all threads of the block.
    pub threads: ExprId,
    /// True if the thread waits for the end of the phase.
    pub waits: bool,
}

/// A loop. Each variable starts at `from` and makes its `step` after each iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// The loop's id.
    pub id: LoopId,
    /// Its variables.
    pub vars: Vec<Induction>,
    /// 1 bit, over the variables: 1 if there is a (further) iteration.
    pub cond: ExprId,
    /// When the loop evaluates `cond`.
    pub test: Test,
    /// Set if the loop may also end by breaks that `cond` does not describe.
    pub breaks: Option<Breaks>,
    /// The statements of one iteration.
    #[serde(deserialize_with = "crate::validate::nested")]
    pub body: Vec<Stmt>,
}

/// The breaks of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaks {
    /// All threads of the group break in the same iteration.
    pub uniform: Uniform,
    /// 1 bit, with that iteration's variables: 0 in the iteration in which a thread breaks, 1 in those
    /// before it.
    pub unless: ExprId,
}

/// When a loop evaluates its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// Before each iteration, the first too, with that iteration's variables
    /// (`for`, `while`).
    Before,
    /// After each iteration, with that iteration's variables (a rotated loop: an expression applies
    /// the step to get a variable's next value). The first iteration always runs.
    After,
}

/// A variable of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Induction {
    /// The variable's id.
    pub id: VarId,
    /// Its width.
    pub width: Width,
    /// The value in the first iteration, over values outside the loop.
    pub from: ExprId,
    /// The change after each iteration.
    pub step: Step,
}

/// The change of a loop variable from one iteration to the next, modulo `2^width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Step {
    /// Plus a value that does not change in the loop.
    Add(ExprId),
    /// Times a constant (a shift left by `k` is times `2^k`).
    Mul(u64),
    /// Unsigned quotient by a constant of at least 2 (a logical shift right).
    UDiv(u64),
    /// Signed quotient by a constant of at least 2, towards zero.
    SDiv(u64),
    /// Arithmetic shift right by a constant.
    AShr(u32),
    /// Any value from the second iteration on. Threads of the group see the same value in the same
    /// iteration.
    Any(Uniform),
}

/// Effects that the protocol does not describe: a call of unknown code, or unstructured control
/// flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// The reason, for explanations: `call to unknown function 'f'`.
    pub why: String,
    /// Memory that it may read and write, at any address.
    pub touches: Option<Space>,
    /// True if it may wait at a barrier that other threads could confuse with one of their own.
    pub syncs: bool,
}
