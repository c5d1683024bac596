//! The instructions: what a statement of inline PTX does, typed.
//!
//! One variant per shape; the operation inside a shape is an enum of its own.
//! Destinations are operands too: `_` (nothing wanted) and, for packing moves
//! and vector loads, `{a, b}`.

use gpurace_abi::matrix::Product;
use gpurace_abi::scope::{Order, Scope};

use super::types::{BoolOp, Cmp, FloatMode, Round, Space, Strength, Ty};

/// A virtual register: an index into [`Asm::regs`](super::Asm::regs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A basic block: an index into [`Asm::blocks`](super::Asm::blocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A read-only register that the hardware defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// A 32-bit register, by its PTX name without `%`, for instance `laneid` or `tid.x`.
    B32(&'static str),
    /// A 64-bit register, by its PTX name without `%`, for instance `clock64`.
    B64(&'static str),
    /// A predicate register (`%is_explicit_cluster`).
    Pred(&'static str),
    /// `%envreg<n>`.
    Envreg(u8),
    /// `%reserved_smem_offset_<n>`, `_begin`, `_end` and `_cap`: the name without `%`.
    ReservedShared(&'static str),
}

/// What an instruction reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// The negation of a predicate register, `!p`.
    NotReg(Reg),
    /// An integer literal; a negative one in two's complement.
    Int(u64),
    /// A floating-point literal `0f...`, by its bits.
    F32(u32),
    /// A floating-point literal, decimal or `0d...`, by its bits.
    F64(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable or function of the module.
    Symbol(String),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `_`.
    Sink,
}

/// `[base + offset]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// A register, a symbol or an integer.
    pub base: Operand,
    /// Constant offset, bytes.
    pub offset: i64,
}

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

/// What integer arithmetic does with the condition code.
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

/// What threads do at a barrier.
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

/// What `vote` asks.
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

/// What `redux.sync` computes.
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

/// What becomes of an access outside of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    /// `.trap`.
    Trap = 0,
    /// `.zero`.
    Zero = 1,
    /// `.clamp`.
    Clamp = 2,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are named as the PTX ISA names operands: d, a, b, c, p, q")]
pub enum Op {
    /// Nothing that the model sees: hints, and waits for what already happened.
    Nop,
    /// `mov`, packing and unpacking included.
    Mov {
        ty: Ty,
        d: Operand,
        a: Operand,
    },
    Binary {
        op: BinaryOp,
        ty: Ty,
        mode: FloatMode,
        carry: Carry,
        d: Operand,
        a: Operand,
        b: Operand,
    },
    Unary {
        op: UnaryOp,
        ty: Ty,
        mode: FloatMode,
        d: Operand,
        a: Operand,
    },
    MulAdd {
        op: MulAddOp,
        ty: Ty,
        mode: FloatMode,
        carry: Carry,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `sad`: `c + |a - b|`.
    Sad {
        ty: Ty,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// `dp4a`, and `dp2a` with which half of `b` it takes.
    DotProduct {
        halves: Option<bool>,
        a_signed: bool,
        b_signed: bool,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    /// A video instruction on 1, 2 or 4 lanes of 32 bits.
    Video {
        op: VideoOp,
        lanes: u8,
        d_signed: bool,
        a_signed: bool,
        b_signed: bool,
        sat: bool,
        /// What joins the result (of one lane) or the sum of lanes with `c`.
        then: Option<BinaryOp>,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Option<Operand>,
    },
    /// `shf`.
    FunnelShift {
        left: bool,
        wrap: bool,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    Bfe {
        ty: Ty,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    Bfi {
        ty: Ty,
        f: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
        d: Operand,
    },
    Fns {
        d: Operand,
        mask: Operand,
        base: Operand,
        offset: Operand,
    },
    Prmt {
        mode: PrmtMode,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    Lop3 {
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
        table: Operand,
    },
    Szext {
        ty: Ty,
        wrap: bool,
        d: Operand,
        a: Operand,
        b: Operand,
    },
    Bmsk {
        wrap: bool,
        d: Operand,
        a: Operand,
        b: Operand,
    },
    /// `setp`: `p = (a cmp b) bool c`, `q = !(a cmp b) bool c`.
    Setp {
        cmp: Cmp,
        ty: Ty,
        ftz: bool,
        p: Operand,
        q: Option<Operand>,
        a: Operand,
        b: Operand,
        join: Option<(BoolOp, Operand)>,
    },
    /// `set`: all ones or 1.0 in `d` where true.
    Set {
        cmp: Cmp,
        d_ty: Ty,
        ty: Ty,
        ftz: bool,
        d: Operand,
        a: Operand,
        b: Operand,
        join: Option<(BoolOp, Operand)>,
    },
    Selp {
        ty: Ty,
        d: Operand,
        a: Operand,
        b: Operand,
        p: Operand,
    },
    /// `slct`: `c >= 0 ? a : b`.
    Slct {
        ty: Ty,
        c_ty: Ty,
        ftz: bool,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    Testp {
        class: FloatClass,
        ty: Ty,
        p: Operand,
        a: Operand,
    },
    /// `cvt`; the packing forms have a second source, the lower half.
    Cvt {
        d_ty: Ty,
        a_ty: Ty,
        round: Option<CvtRound>,
        ftz: bool,
        sat: bool,
        satfinite: bool,
        relu: bool,
        d: Operand,
        a: Operand,
        b: Option<Operand>,
    },
    /// `cvt.pack`: two `s32` saturated to narrower lanes, above those of `c`.
    CvtPack {
        d_ty: Ty,
        d: Operand,
        a: Operand,
        b: Operand,
        c: Option<Operand>,
    },
    /// `cvta`: from a space to generic, or with `to` the other way.
    Cvta {
        to: bool,
        space: Space,
        ty: Ty,
        d: Operand,
        a: Operand,
    },
    Isspacep {
        space: Space,
        p: Operand,
        a: Operand,
    },
    /// `mapa`: an address in shared memory to that of the block of a rank; generic, or
    /// with `.shared::cluster` as shared memory has it.
    Mapa {
        space: Space,
        ty: Ty,
        d: Operand,
        a: Operand,
        rank: Operand,
    },
    /// `getctarank`: the rank of the block in whose shared memory an address lies.
    ClusterRank {
        space: Space,
        ty: Ty,
        d: Operand,
        a: Operand,
    },
    /// `ld`, `ldu`; one destination per element.
    Ld {
        strength: Strength,
        space: Space,
        hints: CacheHints,
        ty: Ty,
        d: Vec<Operand>,
        from: Address,
    },
    /// `st`; one source per element.
    St {
        strength: Strength,
        space: Space,
        hints: CacheHints,
        ty: Ty,
        to: Address,
        a: Vec<Operand>,
    },
    /// `atom`, and `red` with [`Operand::Sink`]; vectors as one element each.
    Atom {
        op: AtomOp,
        order: Order,
        scope: Scope,
        space: Space,
        ty: Ty,
        d: Vec<Operand>,
        at: Address,
        b: Vec<Operand>,
        c: Option<Operand>,
    },
    /// `fence`, `membar`.
    Fence {
        order: Order,
        scope: Scope,
    },
    /// `bar`, `barrier`: `threads` is what is expected, `None` the whole block.
    Barrier {
        op: BarrierOp,
        d: Option<Operand>,
        id: Operand,
        threads: Option<Operand>,
        p: Option<Operand>,
    },
    /// `barrier.cluster.arrive`, which releases or is relaxed.
    ClusterArrive {
        order: Order,
    },
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// `bar.warp.sync`.
    WarpSync {
        mask: Operand,
    },
    /// `shfl`; without a mask the legacy form, among the active threads.
    Shfl {
        mode: ShflMode,
        d: Operand,
        p: Option<Operand>,
        a: Operand,
        b: Operand,
        c: Operand,
        mask: Option<Operand>,
    },
    /// `vote`; without a mask the legacy form, among the active threads.
    Vote {
        mode: VoteMode,
        d: Operand,
        a: Operand,
        mask: Option<Operand>,
    },
    /// `match.sync`; `all` also gives a predicate.
    Match {
        all: bool,
        ty: Ty,
        d: Operand,
        p: Option<Operand>,
        a: Operand,
        mask: Operand,
    },
    /// `redux.sync`.
    Redux {
        op: ReduxOp,
        signed: bool,
        d: Operand,
        a: Operand,
        mask: Operand,
    },
    Activemask {
        d: Operand,
    },
    /// `ldmatrix`: each lane of a group of 8 gives the address of a row of 8 elements of 16 bits; one
    /// matrix for each destination.
    Ldmatrix {
        transposed: bool,
        space: Space,
        d: Vec<Operand>,
        from: Address,
    },
    /// `stmatrix`, likewise.
    Stmatrix {
        transposed: bool,
        space: Space,
        to: Address,
        a: Vec<Operand>,
    },
    /// `movmatrix`: transposes.
    Movmatrix {
        d: Operand,
        a: Operand,
    },
    /// `mma`; one operand for each register.
    Mma {
        product: Product,
        d: Vec<Operand>,
        a: Vec<Operand>,
        b: Vec<Operand>,
        c: Vec<Operand>,
    },
    /// `elect.sync`: the leader's lane and whether this thread is it.
    Elect {
        d: Operand,
        p: Operand,
        mask: Operand,
    },
    /// `cp.async`: copies `size` bytes from global to shared memory, of which
    /// `source_size` are read and the rest are zeros. With `ignore` true, all are zeros.
    CpAsync {
        to: Address,
        from: Address,
        size: Operand,
        source_size: Option<Operand>,
        ignore: Option<Operand>,
    },
    CpAsyncCommit,
    /// `cp.async.wait_group n`; without `n`, `wait_all`.
    CpAsyncWait {
        pending: Option<Operand>,
    },
    /// `cp.async.mbarrier.arrive`.
    CpAsyncArrive {
        noinc: bool,
        space: Space,
        at: Address,
    },
    MbarrierInit {
        space: Space,
        at: Address,
        count: Operand,
    },
    MbarrierInval {
        space: Space,
        at: Address,
    },
    /// `mbarrier.arrive`, `.arrive_drop`, with their `.noComplete` and `.expect_tx` forms.
    MbarrierArrive {
        drop: bool,
        no_complete: bool,
        expect_tx: Option<Operand>,
        order: Order,
        scope: Scope,
        space: Space,
        state: Operand,
        at: Address,
        count: Option<Operand>,
    },
    /// `mbarrier.expect_tx`, and `mbarrier.complete_tx` with `complete`.
    MbarrierTx {
        complete: bool,
        scope: Scope,
        space: Space,
        at: Address,
        bytes: Operand,
    },
    /// `mbarrier.test_wait`, and `mbarrier.try_wait` with `suspends`.
    MbarrierWait {
        suspends: bool,
        order: Order,
        scope: Scope,
        space: Space,
        p: Operand,
        at: Address,
        phase: MbarrierPhase,
    },
    MbarrierPendingCount {
        d: Operand,
        state: Operand,
    },
    Nanosleep {
        t: Operand,
    },
    /// `tex`, and `tld4` with the component that it gathers. Coordinates are as many as
    /// the geometry has; the predicate says that the texels are there.
    Texture {
        geometry: Geometry,
        integer: bool,
        gather: Option<u8>,
        d: Vec<Operand>,
        p: Option<Operand>,
        texture: Operand,
        at: Vec<Operand>,
    },
    /// `suld.b`; one destination per element.
    SurfaceLoad {
        geometry: Geometry,
        outside: Outside,
        ty: Ty,
        d: Vec<Operand>,
        surface: Operand,
        at: Vec<Operand>,
    },
    /// `sust.b`; one source per element.
    SurfaceStore {
        geometry: Geometry,
        outside: Outside,
        ty: Ty,
        surface: Operand,
        at: Vec<Operand>,
        a: Vec<Operand>,
    },
    Trap,
    Exit,
    Brkpt,
    /// `bra`; the block to go to when the statement's guard holds.
    Bra {
        target: BlockId,
    },
    /// Anything else, by the mnemonic as written.
    Unsupported(String),
}
