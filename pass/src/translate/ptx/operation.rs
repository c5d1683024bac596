//! The choices within an instruction: which operation, mode, phase or shape.
#![allow(missing_docs, reason = "a variant without a comment is named as the PTX ISA names it")]

use super::op::Operand;

/// A read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomOp {
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Add,
    /// `inc`: `old >= b ? 0 : old + 1`.
    Inc,
    /// `dec`: `old == 0 || old > b ? b : old - 1`.
    Dec,
    Min,
    Max,
}

/// Cache operators and hints of an access: they do not change what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CacheHints {
    /// `.nc`: through the read-only path.
    pub non_coherent: bool,
    /// A `.ca`, `.cg`, `.cs`, `.lu`, `.cv`, `.wb`, `.wt` or `.L1::`/`.L2::` hint was given.
    pub any: bool,
}

/// The operation of threads at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

/// How `shfl` picks the source lane. The numbers are those of `Entry::Shfl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShflMode {
    Idx = 0,
    Up = 1,
    Down = 2,
    Bfly = 3,
}

/// The question of `vote`. The numbers are those of `Entry::Vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    All = 0,
    Any = 1,
    Uni = 2,
    Ballot = 3,
}

/// The operation of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduxOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// Which phase of an mbarrier a wait asks about.
#[derive(Clone, Debug, PartialEq)]
pub enum MbarrierPhase {
    /// The phase of this token.
    Token(Operand),
    /// The phase of this parity.
    Parity(Operand),
}

/// The shape of a texture's or surface's coordinates; the numbers are those of
/// `gpurace_cpu::texture`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Geometry {
    OneD = 0,
    TwoD = 1,
    ThreeD = 2,
    /// `.a1d`: a layer, then a coordinate.
    OneDLayered = 3,
    TwoDLayered = 4,
    Cube = 5,
    CubeLayered = 6,
}

impl Geometry {
    /// How many coordinates mean something, the layer among them.
    pub fn coordinates(self) -> usize {
        match self {
            Self::OneD => 1,
            Self::TwoD | Self::OneDLayered => 2,
            Self::ThreeD | Self::TwoDLayered | Self::Cube => 3,
            Self::CubeLayered => 4,
        }
    }
}

/// The result of an access outside of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    Trap = 0,
    Zero = 1,
    Clamp = 2,
}
