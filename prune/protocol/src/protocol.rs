//! The access protocol of one kernel: a structured program of accesses and
//! synchronisation.
//!
//! # What the program promises
//! A protocol stands for all executions of its kernel. It may describe *more*
//! accesses than the kernel makes (a condition left out, a loop that may run
//! longer), never fewer. Synchronisation is the other way round: a
//! [`Stmt::Sync`] must be executed by a thread exactly when the kernel executes
//! it, so its conditions and loops must be exact, or [`Expr::Opaque`]: an
//! opaque condition stands for either value, and its [`Uniform`] is a promise
//! about which threads see the same one.
//!
//! # Early exits
//! `if (c) return; rest` is `If { c, [], [rest] }`. A `break` inside a loop is
//! `If { c, [], [rest of the body] }` and [`Loop::may_break`] with the widest
//! group in which all threads break together.
//!
//! # What is left out
//! Accesses that no other thread can touch (locals, constant memory), order
//! through atomics and fences, partial warp masks, named barriers: leaving
//! order out only makes proofs fail. A barrier that could be taken for
//! another barrier's arrival (`bar.sync 0, n`) is [`Stmt::Unknown`].

use serde::{Deserialize, Serialize};

pub use gpurace_abi::scope::Scope;

use crate::expr::{ExprId, Exprs, LoopId, ParamId, VarId, Width};

/// Version of the serialised form; raised with each change of the types.
pub const PROTOCOL_VERSION: u32 = 8;

/// What a kernel does to memory that threads share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Mangled name of the kernel.
    pub kernel: String,
    /// Every expression.
    pub exprs: Exprs,
    /// Parameters, or parts of them: scalars and pointers that expressions and
    /// objects name.
    pub params: Vec<Param>,
    /// Memory that accesses name.
    pub objects: Vec<Object>,
    /// Values that the protocol does not describe.
    pub opaques: Vec<Opaque>,
    /// The program of one thread.
    pub body: Vec<Stmt>,
    /// Most threads a block may have (`__launch_bounds__`), 0 where not said.
    pub max_threads: u32,
}

/// A kernel parameter, or a scalar or pointer part of a struct parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// As the source calls it: `n`, `view.stride`.
    pub name: String,
    /// Width; pointers have 64 bits.
    pub width: Width,
    /// Offset in the launch's argument buffer, bytes.
    pub offset: u32,
    /// A pointer or the handle of a texture: never part of an expression, only of
    /// [`ObjectKind::Param`] or [`ObjectKind::Image`].
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
    /// As the source calls it.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
}

/// What an object is, and with it what it may share bytes with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ObjectKind {
    /// What a pointer parameter points to; offsets count from the pointer's
    /// value. Shares bytes with other parameters and device variables unless a
    /// condition says otherwise.
    Param(ParamId),
    /// The memory of the texture or surface object whose handle a parameter is;
    /// offsets count from its first texel, and stay among its texels. Shares bytes
    /// with other images, parameters and device variables unless a condition says
    /// otherwise.
    Image(ParamId),
    /// Where `cooperative_groups` counts the blocks that have come to a barrier of the
    /// grid: the driver's memory, of which the program knows nothing. Shares bytes with
    /// no other.
    GridBarrier,
    /// A static `__shared__` variable; shares bytes with no other.
    Shared {
        /// Bytes.
        size: u64,
    },
    /// Memory that no other thread touches while the kernel runs, or that no
    /// thread writes to: local variables, arguments, constant memory. Shares
    /// bytes with no other object, and between threads with itself neither.
    Unshared,
    /// Dynamic shared memory: all `extern __shared__` arrays are one object.
    DynamicShared,
    /// A device variable.
    Variable {
        /// Mangled name.
        symbol: String,
        /// Bytes.
        size: u64,
    },
    /// Behind a pointer that the protocol does not describe; offsets count
    /// from that pointer.
    Opaque {
        /// Which memory it may lie in.
        space: Space,
        /// The group whose threads all see the same pointer, for the whole
        /// run of the kernel: [`Uniform::Thread`] where it is loaded in a loop.
        uniform: Uniform,
    },
}

/// Which memory an opaque object may lie in.
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
    /// What it is, for explanations: `value loaded from 'idx'`.
    pub what: String,
    /// Its width.
    pub width: Width,
    /// Who sees the same value.
    pub uniform: Uniform,
    /// The loops around the place where it is computed: it may differ from one
    /// iteration of these to the next, and is fixed otherwise.
    pub loops: Vec<LoopId>,
    /// Inclusive bounds as an unsigned number, where they are known for sure.
    pub range: Option<(u64, u64)>,
    /// The plain load that gives it, all of it, in the same iteration; the value
    /// is used nowhere outside of the loops around the load.
    pub loaded_by: Option<SiteId>,
    /// The loop that leaves it, unless that is left from within ([`Loop::may_break`]).
    pub last: Option<Last>,
}

/// What an expression comes to where a loop has been left: over its variables in the
/// iteration in which the loop's condition was asked for the last time.
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
    /// Repeats.
    Loop(Loop),
    /// Chooses.
    If {
        /// 1 bit.
        cond: ExprId,
        /// Where it is 1.
        then: Vec<Stmt>,
        /// Where it is 0.
        otherwise: Vec<Stmt>,
    },
    /// Does something that the protocol does not describe.
    Unknown(Unknown),
}

/// One access instruction, to one of the objects that it may touch. An
/// instruction that may touch several is several accesses of one site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Which instruction.
    pub site: SiteId,
    /// What it does.
    pub op: Op,
    /// What it touches.
    pub object: ObjectId,
    /// First byte, from the object's base: 64 bits, signed.
    pub offset: ExprId,
    /// Number of bytes: 64 bits, unsigned.
    pub size: ExprId,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// A plain or volatile load.
    Read,
    /// A plain or volatile store.
    Write,
    /// An atomic access, as one on all its bytes.
    Atomic {
        /// How far it is atomic.
        scope: ScopeOf,
        /// False for an atomic load.
        writes: bool,
    },
}

impl Op {
    /// Whether it may change memory.
    pub const fn writes(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::Atomic { writes, .. } => writes,
        }
    }
}

/// [`Scope`], serialisable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScopeOf {
    /// The threads of one block.
    Block,
    /// The threads of one cluster.
    Cluster,
    /// The threads of one device.
    Device,
    /// All threads of the program.
    System,
}

impl From<Scope> for ScopeOf {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Block => Self::Block,
            Scope::Cluster => Self::Cluster,
            Scope::Device => Self::Device,
            Scope::System => Self::System,
        }
    }
}

/// Threads wait until all of their group have come here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Sync {
    /// `__syncwarp` with the full mask.
    Warp,
    /// `__syncthreads` and its `_count`, `_and`, `_or` forms.
    Block,
    /// A cooperative launch's grid barrier.
    Grid,
}

/// A loop: all its variables start at `from` and take their `step` after each
/// iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// Which.
    pub id: LoopId,
    /// Its variables.
    pub vars: Vec<Induction>,
    /// 1 bit: whether there is a (further) iteration, over the variables.
    pub cond: ExprId,
    /// When `cond` is asked.
    pub test: Test,
    /// It may also be left from within, or end an iteration for good, for
    /// reasons that `cond` does not say; all threads of the group do so in the
    /// same iteration.
    pub may_break: Option<Uniform>,
    /// What is repeated.
    pub body: Vec<Stmt>,
}

/// When a loop's condition is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// Before each iteration, the first too, with that iteration's variables
    /// (`for`, `while`).
    Before,
    /// After each iteration, with that iteration's variables (a rotated loop:
    /// the next value of a variable is written as its step applied); the first
    /// iteration is always run.
    After,
}

/// A variable of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Induction {
    /// Which.
    pub id: VarId,
    /// Its width.
    pub width: Width,
    /// Value in the first iteration; over values outside the loop.
    pub from: ExprId,
    /// How it goes on.
    pub step: Step,
}

/// How a loop variable goes on from one iteration to the next; modulo its width.
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
    /// Something else: any value from the second iteration on. The group
    /// whose threads see the same value in the same iteration.
    Any(Uniform),
}

/// Effects that the protocol does not describe: a call to code that is not
/// seen, control flow without structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// Why, for explanations: `call to unknown function 'f'`.
    pub why: String,
    /// Memory that it may read and write, at any address.
    pub touches: Option<Space>,
    /// It may wait at a barrier that others may take for one of their own.
    pub syncs: bool,
}
