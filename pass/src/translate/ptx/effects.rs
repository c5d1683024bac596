//! The accesses and the synchronisation of each instruction.

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::op::{Address, AtomOp, BarrierOp, MbarrierPhase, Op, Operand};
use super::types::{Space, Strength};
use super::{Asm, Guard, Stmt};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An access at a strength above weak.
    Atomic(AtomicKind, Order, Scope),
}

/// How many bytes an access touches.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// A number that the text says.
    Bytes(u32),
    /// The value of an operand, usually a constant of the asm.
    Operand(Operand),
}

/// One access of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct PtxAccess<'a> {
    /// Its kind.
    pub kind: AccessKind,
    /// How much it touches.
    pub size: Size,
    /// Which memory.
    pub space: Space,
    /// `.volatile`: an atomic access at system scope that reports itself by its own kind.
    pub volatile: bool,
    /// Where.
    pub address: &'a Address,
    /// The offset of this access from [`Self::address`], in bytes. Each element of a strong vector is an
    /// access.
    pub element_offset: u32,
}

/// The synchronisation of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Sync<'a> {
    /// A fence.
    Fence(Order, Scope),
    /// A barrier of the block.
    Barrier {
        /// True if the thread waits, false if it only arrives.
        waits: bool,
        /// Which of the 16 barriers.
        id: &'a Operand,
        /// The number of threads that it waits for; `None` for all.
        threads: Option<&'a Operand>,
    },
    /// The barrier of the cluster: the thread waits, or only arrives.
    Cluster {
        /// `barrier.cluster.wait`.
        waits: bool,
    },
    /// A warp barrier among the lanes of a mask.
    Warp(&'a Operand),
    /// The lanes of a mask exchange values, which orders no memory. `None`: the active lanes.
    Collective(Option<&'a Operand>),
    /// An asynchronous copy starts, is committed to a group, or is waited for.
    AsyncCopy(AsyncCopy<'a>),
    /// An operation of an mbarrier.
    Mbarrier(Mbarrier<'a>),
    /// The thread ends, the launch is aborted, or a debugger is called.
    End,
    /// A branch.
    Branch,
}

/// An operation on asynchronous copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AsyncCopy<'a> {
    /// The accesses of this statement happen at an unknown time until they are waited for.
    Start,
    /// The copies so far become a group.
    Commit,
    /// Waits until at most this many groups are pending; `None`: until no copy is pending.
    Wait(Option<&'a Operand>),
    /// An mbarrier is told when the copies so far are done.
    Arrive(&'a Address),
    /// A bulk copy starts, is committed to a bulk group, or is waited for.
    Bulk,
}

/// An operation on an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mbarrier<'a> {
    /// Begins or ends its life.
    Lifetime(&'a Address),
    /// The thread arrives.
    Arrive(&'a Address),
    /// The thread tests a phase, and acquires if it is over.
    Wait(&'a Address, &'a MbarrierPhase),
}

/// The effects of a statement other than the values of registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects<'a> {
    /// The statement's guard: without it nothing happens.
    pub guard: Option<Guard>,
    /// Accesses, in the order in which they happen.
    pub accesses: Vec<PtxAccess<'a>>,
    /// Synchronisation.
    pub sync: Option<Sync<'a>>,
    /// The mnemonic of an instruction that is not modelled: it may do anything.
    pub unsupported: Option<&'a str>,
}

impl<'a> Effects<'a> {
    fn access(&mut self, kind: AccessKind, size: Size, space: Space, address: &'a Address) {
        self.accesses.push(PtxAccess { kind, size, space, volatile: false, address, element_offset: 0 });
    }

    /// Adds the accesses of a load, store or atomic of `count` elements. A weak vector is one access; a
    /// strong vector is one access for each element (PTX ISA, "Vector Data-types").
    fn elements(
        &mut self,
        strength: Strength,
        kind: AtomicKind,
        space: Space,
        (element, count): (u32, usize),
        address: &'a Address,
    ) {
        let (kind, volatile) = match strength {
            Strength::Weak if kind == AtomicKind::Store => (AccessKind::Write, false),
            Strength::Weak => (AccessKind::Read, false),
            Strength::Volatile => {
                let is_store = kind == AtomicKind::Store;
                let kind = if is_store { AtomicKind::VolatileStore } else { AtomicKind::VolatileLoad };
                (AccessKind::Atomic(kind, Order::Relaxed, Scope::System), true)
            }
            Strength::Mmio => (AccessKind::Atomic(kind, Order::Relaxed, Scope::System), false),
            Strength::Strong(order, scope) => (AccessKind::Atomic(kind, order, scope), false),
        };
        let (size, pieces) = match kind {
            AccessKind::Atomic(..) => (element, count as u32),
            AccessKind::Read | AccessKind::Write => (element * count as u32, 1),
        };
        for piece in 0..pieces {
            self.accesses.push(PtxAccess {
                kind,
                size: Size::Bytes(size),
                space,
                volatile,
                address,
                element_offset: piece * size,
            });
        }
    }
}

/// The accesses and the synchronisation of a statement.
pub fn memory_effects(statement: &Stmt) -> Effects<'_> {
    let mut effects = Effects { guard: statement.guard, ..Effects::default() };
    match &statement.op {
        Op::Ld { strength, space, ty, d, from, .. } => {
            effects.elements(*strength, AtomicKind::Load, *space, (ty.bytes(), d.len()), from);
        }
        Op::St { strength, space, ty, to, a, .. } => {
            effects.elements(*strength, AtomicKind::Store, *space, (ty.bytes(), a.len()), to);
        }
        Op::Atom { order, scope, space, ty, d, at, .. } => {
            let strength = Strength::Strong(*order, *scope);
            effects.elements(strength, AtomicKind::Rmw, *space, (ty.bytes(), d.len()), at);
        }
        Op::CpAsync { to, from, size, source_size, .. } => {
            let read = source_size.as_ref().unwrap_or(size);
            effects.access(AccessKind::Read, bytes(read), Space::Global, from);
            effects.access(AccessKind::Write, bytes(size), Space::Shared, to);
            effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Start));
        }
        Op::CpAsyncCommit => effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Commit)),
        Op::CpAsyncWait { pending } => {
            effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Wait(pending.as_ref())));
        }
        Op::CpAsyncArrive { space, at, .. } => {
            let kind = AccessKind::Atomic(AtomicKind::Rmw, Order::Release, Scope::Block);
            effects.access(kind, MBARRIER, *space, at);
            effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Arrive(at)));
        }
        Op::BulkLoad { to_space, to, from, size, mbarrier } => {
            effects.access(AccessKind::Read, bytes(size), Space::Global, from);
            effects.access(AccessKind::Write, bytes(size), *to_space, to);
            let kind = AccessKind::Atomic(AtomicKind::Rmw, Order::Release, Scope::Cluster);
            effects.access(kind, MBARRIER, *to_space, mbarrier);
            effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Bulk));
        }
        Op::BulkStore { to, from, size } => {
            effects.access(AccessKind::Read, bytes(size), Space::Shared, from);
            effects.access(AccessKind::Write, bytes(size), Space::Global, to);
            effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Bulk));
        }
        // Only the tensor map tells which memory is copied.
        Op::TensorLoad { to_space, mbarrier, .. } => {
            let kind = AccessKind::Atomic(AtomicKind::Rmw, Order::Release, Scope::Cluster);
            effects.access(kind, MBARRIER, *to_space, mbarrier);
            effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Bulk));
        }
        Op::TensorStore { .. } => effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Bulk)),
        Op::BulkCommit | Op::BulkWait { .. } => effects.sync = Some(Sync::AsyncCopy(AsyncCopy::Bulk)),
        Op::MbarrierInit { space, at, .. } | Op::MbarrierInval { space, at } => {
            effects.access(AccessKind::Write, MBARRIER, *space, at);
            effects.sync = Some(Sync::Mbarrier(Mbarrier::Lifetime(at)));
        }
        Op::MbarrierArrive { order, scope, space, at, .. } => {
            let kind = AccessKind::Atomic(AtomicKind::Rmw, *order, *scope);
            effects.access(kind, MBARRIER, *space, at);
            effects.sync = Some(Sync::Mbarrier(Mbarrier::Arrive(at)));
        }
        Op::MbarrierTx { scope, space, at, .. } => {
            let kind = AccessKind::Atomic(AtomicKind::Rmw, Order::Relaxed, *scope);
            effects.access(kind, MBARRIER, *space, at);
        }
        Op::MbarrierWait { order, scope, space, at, phase, .. } => {
            let kind = AccessKind::Atomic(AtomicKind::Load, *order, *scope);
            effects.access(kind, MBARRIER, *space, at);
            effects.sync = Some(Sync::Mbarrier(Mbarrier::Wait(at, phase)));
        }
        Op::Fence { order, scope } => effects.sync = Some(Sync::Fence(*order, *scope)),
        Op::Barrier { op, id, threads, .. } => {
            let waits = *op != BarrierOp::Arrive;
            effects.sync = Some(Sync::Barrier { waits, id, threads: threads.as_ref() });
        }
        Op::ClusterArrive { .. } => effects.sync = Some(Sync::Cluster { waits: false }),
        Op::ClusterWait => effects.sync = Some(Sync::Cluster { waits: true }),
        Op::WarpSync { mask } => effects.sync = Some(Sync::Warp(mask)),
        Op::Shfl { mask, .. } | Op::Vote { mask, .. } => {
            effects.sync = Some(Sync::Collective(mask.as_ref()));
        }
        Op::Match { mask, .. } | Op::Redux { mask, .. } | Op::Elect { mask, .. } => {
            effects.sync = Some(Sync::Collective(Some(mask)));
        }
        // Each lane gives the address of a row, and may get the elements of another lane's row.
        Op::Ldmatrix { space, from, .. } => {
            effects.access(AccessKind::Read, MATRIX_ROW, *space, from);
            effects.sync = Some(Sync::Collective(Some(&WARP)));
        }
        Op::Stmatrix { space, to, .. } => {
            effects.access(AccessKind::Write, MATRIX_ROW, *space, to);
            effects.sync = Some(Sync::Collective(Some(&WARP)));
        }
        Op::Movmatrix { .. } | Op::Mma { .. } => effects.sync = Some(Sync::Collective(Some(&WARP))),
        Op::Activemask { .. } => effects.sync = Some(Sync::Collective(None)),
        Op::Trap | Op::Exit | Op::Brkpt => effects.sync = Some(Sync::End),
        Op::Bra { .. } => effects.sync = Some(Sync::Branch),
        Op::Unsupported(name) => effects.unsupported = Some(name),
        Op::Nop
        | Op::ProxyFence
        | Op::Mov { .. }
        | Op::Value { .. }
        | Op::Cvta { .. }
        | Op::Isspacep { .. }
        | Op::Mapa { .. }
        | Op::ClusterRank { .. }
        | Op::MbarrierPendingCount { .. }
        | Op::Nanosleep { .. } => {}
        // The memory of a texture or surface is known only at run time.
        Op::Texture { .. } | Op::SurfaceLoad { .. } | Op::SurfaceStore { .. } => {}
    }
    effects
}

/// For an asm that is one compare-and-swap: which arguments are the expected and the new value, and
/// their width in bits. `None` for any other asm, and if the values or the result are not operands of
/// the asm.
pub fn swap_arguments(asm: &Asm) -> Option<([u32; 2], u16)> {
    let [
        Stmt {
            guard: None, op: Op::Atom { op: AtomOp::CompareAndSwap, ty, d, at, b, c: Some(new), .. }, ..
        },
    ] = &asm.statements[..]
    else {
        return None;
    };
    let operand = |operand: &Operand| match operand {
        Operand::Reg(reg) => asm.regs.get(reg.0 as usize)?.operand,
        _ => None,
    };
    let argument = |of: &Operand| operand(of)?.argument;
    let ([expected], [old]) = (&b[..], &d[..]) else { return None };
    let (expected, new) = (argument(expected)?, argument(new)?);
    // Each can be changed without changing another operand.
    let apart =
        expected != new && argument(&at.base).is_none_or(|address| address != expected && address != new);
    let given = *old == Operand::Sink || operand(old).is_some_and(|old| old.result == Some(0));
    (apart && given && matches!(ty.bits(), 32 | 64)).then_some(([expected, new], ty.bits()))
}

fn bytes(size: &Operand) -> Size {
    match size {
        Operand::Int(n) => u32::try_from(*n).map_or_else(|_| Size::Operand(size.clone()), Size::Bytes),
        other => Size::Operand(other.clone()),
    }
}

/// The mask of all lanes.
const WARP: Operand = Operand::Int(0xffff_ffff);

/// A row of a matrix of 8 by 8 elements of 16 bits.
const MATRIX_ROW: Size = Size::Bytes(16);

const MBARRIER: Size = Size::Bytes(8);
