//! The instructions of inline PTX, typed.
//!
//! Each shape of instruction is one variant. Another enum gives the operation within a shape
//! ([`operation`](super::operation)). A destination is an operand too: `_` for a result that nobody wants,
//! `{a, b}` for a move that unpacks.

use gpurace_abi::matrix::Product;
use gpurace_abi::scope::{Order, Scope};

use super::types::{Space, Strength, Ty};

pub use super::operand::{Address, BlockId, Operand, Reg, Special};
pub use super::operation::{
    AtomOp, BarrierOp, CacheHints, Geometry, MbarrierPhase, Outside, ReduxOp, ShflMode, VoteMode,
};

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are named as the PTX ISA names operands: d, a, b, c, p, q")]
pub enum Op {
    /// No effect in the model: hints, and waits for events that have already happened.
    Nop,
    /// `mov`, packing and unpacking included.
    Mov { ty: Ty, d: Operand, a: Operand },
    /// An instruction that computes values of values alone: its name and types are those of
    /// [`values::find`](crate::translate::values::find).
    Value { name: String, d: Vec<(Ty, Operand)>, of: Vec<(Ty, Operand)> },
    /// `cvta`: from a space to generic, or with `to` the other way.
    Cvta { to: bool, space: Space, ty: Ty, d: Operand, a: Operand },
    /// `isspacep`.
    Isspacep { space: Space, p: Operand, a: Operand },
    /// `mapa`: from an address in shared memory to the same place in the block of a rank. Addresses are
    /// generic, or shared ones with `.shared::cluster`.
    Mapa { space: Space, ty: Ty, d: Operand, a: Operand, rank: Operand },
    /// `getctarank`: the rank of the block in whose shared memory an address lies.
    ClusterRank { space: Space, ty: Ty, d: Operand, a: Operand },
    /// `ld`, `ldu`; one destination per element.
    Ld { strength: Strength, space: Space, hints: CacheHints, ty: Ty, d: Vec<Operand>, from: Address },
    /// `st`; one source per element.
    St { strength: Strength, space: Space, hints: CacheHints, ty: Ty, to: Address, a: Vec<Operand> },
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
    Fence { order: Order, scope: Scope },
    /// `fence.proxy`, between the accesses that one thread makes in several ways.
    ProxyFence,
    /// `bar`, `barrier`. `threads`: the number of threads expected; `None` for the whole block.
    Barrier { op: BarrierOp, d: Option<Operand>, id: Operand, threads: Option<Operand>, p: Option<Operand> },
    /// `barrier.cluster.arrive`, which releases or is relaxed.
    ClusterArrive { order: Order },
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// `bar.warp.sync`.
    WarpSync { mask: Operand },
    /// `shfl`. The legacy form has no mask: the active threads take part.
    Shfl {
        mode: ShflMode,
        d: Operand,
        p: Option<Operand>,
        a: Operand,
        b: Operand,
        c: Operand,
        mask: Option<Operand>,
    },
    /// `vote`. The legacy form has no mask: the active threads take part.
    Vote { mode: VoteMode, d: Operand, a: Operand, mask: Option<Operand> },
    /// `match.sync`; `all` also gives a predicate.
    Match { all: bool, ty: Ty, d: Operand, p: Option<Operand>, a: Operand, mask: Operand },
    /// `redux.sync`.
    Redux { op: ReduxOp, signed: bool, d: Operand, a: Operand, mask: Operand },
    /// `activemask`.
    Activemask { d: Operand },
    /// `ldmatrix`: each lane of a group of 8 gives the address of a row of 8 elements of 16 bits;
    /// one matrix for each destination.
    Ldmatrix { transposed: bool, space: Space, d: Vec<Operand>, from: Address },
    /// `stmatrix`, likewise.
    Stmatrix { transposed: bool, space: Space, to: Address, a: Vec<Operand> },
    /// `movmatrix`: transposes.
    Movmatrix { d: Operand, a: Operand },
    /// `mma`; one operand for each register.
    Mma { product: Product, d: Vec<Operand>, a: Vec<Operand>, b: Vec<Operand>, c: Vec<Operand> },
    /// `elect.sync`: the leader's lane, and true if this thread is the leader.
    Elect { d: Operand, p: Operand, mask: Operand },
    /// `cp.async`: writes `size` bytes to shared memory. It reads `source_size` of them from global memory,
    /// the others become zeros. If `ignore` is true, all become zeros.
    CpAsync {
        to: Address,
        from: Address,
        size: Operand,
        source_size: Option<Operand>,
        ignore: Option<Operand>,
    },
    /// `cp.async.commit_group`.
    CpAsyncCommit,
    /// `cp.async.wait_group n`; without `n`, `wait_all`.
    CpAsyncWait { pending: Option<Operand> },
    /// `cp.async.mbarrier.arrive`.
    CpAsyncArrive { noinc: bool, space: Space, at: Address },
    /// `cp.async.bulk` to shared memory. The mbarrier counts the bytes.
    BulkLoad { to_space: Space, to: Address, from: Address, size: Operand, mbarrier: Address },
    /// `cp.async.bulk` from shared to global memory, which belongs to a bulk group.
    BulkStore { to: Address, from: Address, size: Operand },
    /// `cp.async.bulk.tensor` to shared memory: the box at some coordinates of the tensor that a map describes.
    TensorLoad { to_space: Space, to: Address, map: Address, at: Vec<Operand>, mbarrier: Address },
    /// `cp.async.bulk.tensor` from shared to global memory, likewise.
    TensorStore { map: Address, at: Vec<Operand>, from: Address },
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
    /// `cp.async.bulk.wait_group n`. With `.read`, the copies have read their sources.
    BulkWait { pending: Operand },
    /// `mbarrier.init`.
    MbarrierInit { space: Space, at: Address, count: Operand },
    /// `mbarrier.inval`.
    MbarrierInval { space: Space, at: Address },
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
    MbarrierTx { complete: bool, scope: Scope, space: Space, at: Address, bytes: Operand },
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
    /// `mbarrier.pending_count`.
    MbarrierPendingCount { d: Operand, state: Operand },
    /// `nanosleep`.
    Nanosleep { t: Operand },
    /// `tex`, and `tld4` with the component that it gathers. The geometry gives the number of coordinates;
    /// the predicate says that the texels are there.
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
    /// `trap`.
    Trap,
    /// `exit`.
    Exit,
    /// `brkpt`.
    Brkpt,
    /// `bra`: where control goes if the statement's guard holds.
    Bra { target: BlockId },
    /// Anything else, by the mnemonic as written.
    Unsupported(String),
}
