//! The choices within an instruction: which operation, mode, phase or shape.

use super::op::Operand;
use super::types::{Cmp, Round};

/// An operation on two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `add`.
    Add,
    /// `sub`.
    Sub,
    /// `mul.lo` of integers, `mul` of floats.
    Mul,
    /// `mul.hi`.
    MulHi,
    /// `mul.wide`.
    MulWide,
    /// `mul24.lo`.
    Mul24Lo,
    /// `mul24.hi`.
    Mul24Hi,
    /// `div`.
    Div,
    /// `rem`.
    Rem,
    /// `min`.
    Min,
    /// `max`.
    Max,
    /// `and`.
    And,
    /// `or`.
    Or,
    /// `xor`.
    Xor,
    /// `shl`.
    Shl,
    /// `shr`.
    Shr,
    /// `copysign`: the sign of `a` on the magnitude of `b`.
    CopySign,
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `not`.
    Not,
    /// `cnot`: 1 for 0, 0 for the rest.
    Cnot,
    /// `neg`.
    Neg,
    /// `abs`.
    Abs,
    /// `popc`.
    Popc,
    /// `clz`.
    Clz,
    /// `brev`.
    Brev,
    /// `bfind`: the position of the highest bit that is not a sign bit.
    Bfind,
    /// `bfind.shiftamt`: how far to shift that bit to the top.
    BfindShift,
    /// `rcp`.
    Rcp,
    /// `sqrt`.
    Sqrt,
    /// `rsqrt`.
    Rsqrt,
    /// `ex2`.
    Ex2,
    /// `lg2`.
    Lg2,
    /// `sin`.
    Sin,
    /// `cos`.
    Cos,
    /// `tanh`.
    Tanh,
}

/// A multiplication with an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MulAddOp {
    /// `mad.lo`.
    Lo,
    /// `mad.hi`.
    Hi,
    /// `mad.wide`.
    Wide,
    /// `mad24.lo`.
    Lo24,
    /// `mad24.hi`.
    Hi24,
    /// `fma`, and `mad` of floats.
    Fma,
}

/// Use of the condition code by integer arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Carry {
    /// Reads the carry (`addc`, `subc`, `madc`).
    pub input: bool,
    /// Writes the carry (`.cc`).
    pub output: bool,
}

/// An operation of a SIMD or scalar video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VideoOp {
    /// `vadd`.
    Add,
    /// `vsub`.
    Sub,
    /// `vabsdiff`.
    AbsDiff,
    /// `vmin`.
    Min,
    /// `vmax`.
    Max,
    /// `vavrg`: rounded average.
    Average,
    /// `vshl`; true wraps the amount at 32, false clamps it.
    Shl(bool),
    /// `vshr`.
    Shr(bool),
    /// `vset`.
    Set(Cmp),
}

/// A property that `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatClass {
    /// Neither infinite nor NaN.
    Finite,
    /// Infinite.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Normal.
    Normal,
    /// Subnormal.
    Subnormal,
}

/// How `cvt` rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CvtRound {
    /// To a value of the destination's type (`.rn`, ...).
    ToType(Round),
    /// To an integer (`.rni`, `.rzi`, `.rmi`, `.rpi`).
    ToInteger(Round),
}

/// Mode of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrmtMode {
    /// By selector nibbles.
    Index,
    /// `.f4e`.
    Forward4,
    /// `.b4e`.
    Backward4,
    /// `.rc8`.
    Replicate8,
    /// `.ecl`.
    EdgeClampLeft,
    /// `.ecr`.
    EdgeClampRight,
    /// `.rc16`.
    Replicate16,
}

/// A read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomOp {
    /// `and`.
    And,
    /// `or`.
    Or,
    /// `xor`.
    Xor,
    /// `exch`.
    Exchange,
    /// `cas`.
    CompareAndSwap,
    /// `add`.
    Add,
    /// `inc`: `old >= b ? 0 : old + 1`.
    Inc,
    /// `dec`: `old == 0 || old > b ? b : old - 1`.
    Dec,
    /// `min`.
    Min,
    /// `max`.
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
    /// `sync`.
    Sync,
    /// `arrive`.
    Arrive,
    /// `red.popc`.
    Popc,
    /// `red.and`.
    And,
    /// `red.or`.
    Or,
}

/// How `shfl` picks the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShflMode {
    /// `idx`.
    Idx,
    /// `up`.
    Up,
    /// `down`.
    Down,
    /// `bfly`.
    Bfly,
}

/// The question of `vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// `all`.
    All,
    /// `any`.
    Any,
    /// `uni`.
    Uni,
    /// `ballot`.
    Ballot,
}

/// The operation of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduxOp {
    /// `add`.
    Add,
    /// `min`.
    Min,
    /// `max`.
    Max,
    /// `and`.
    And,
    /// `or`.
    Or,
    /// `xor`.
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
    /// `.1d`.
    OneD = 0,
    /// `.2d`.
    TwoD = 1,
    /// `.3d`.
    ThreeD = 2,
    /// `.a1d`: a layer, then a coordinate.
    OneDLayered = 3,
    /// `.a2d`.
    TwoDLayered = 4,
    /// `.cube`.
    Cube = 5,
    /// `.acube`.
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
    /// `.trap`.
    Trap = 0,
    /// `.zero`.
    Zero = 1,
    /// `.clamp`.
    Clamp = 2,
}
