//! Kernels whose accesses to global memory can be listed without running the kernel. A protocol that
//! leaves nothing open says exactly what each thread accesses.
//!
//! A launch that ran without checks leaves no records. If a later operation conflicts with the launch,
//! the runtime makes its records from this list.
//!
//! In general a protocol may describe more accesses than the kernel makes; that is enough for proofs.
//! This module uses only protocols that leave nothing open. The tests of extraction compare such
//! protocols with the compiled kernel, access by access.

use std::collections::{HashMap, HashSet};

use crate::expr::{BinOp, Expr, ExprId, VarId};
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{Induction, Loop, ObjectKind, Op, Protocol, Space, Step, Stmt, Sync};
use crate::run::{Open, Run, Stopped, Thread, Touch};
use crate::uniform::uniform_value;

/// The largest number of accesses of one thread, and of a block whose threads wait for each other.
/// They are listed before they are passed on.
const MOST_LISTED: u64 = 1 << 20;
/// The largest number of statements of one thread, and of accesses of a block whose threads wait for
/// each other. It is larger, because some threads make more accesses than those that [`Repeat::cost`]
/// runs.
const MOST_STEPS: u64 = 1 << 26;

/// A kernel's accesses to global memory, and the barriers between them.
#[derive(Clone, Debug)]
pub struct Repeat {
    protocol: Protocol,
    /// The divisors that are not constant.
    divisors: Vec<ExprId>,
    waits: bool,
    is_partial: bool,
}

/// An event of a block. The events come in a possible order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread, by its linear index, touches memory.
    Touch(u32, Touch),
    /// The threads of this warp waited for each other.
    Warp(u32),
    /// The threads of the block waited for each other.
    Block,
}

/// The reason why the repetition of a launch stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inexact {
    /// The protocol leaves something open after all.
    #[error("its protocol leaves something open")]
    Open,
    /// A thread did not reach its end.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Repeat {
    /// The accesses of a kernel with this protocol. `None` if the protocol leaves something open, or if
    /// anything but barriers of the block and syncs of warps orders the threads. Only the places of reads of
    /// constant memory may be open: then no such read is among the accesses. The kernel uses no value that an
    /// atomic has read, and its atomics are relaxed: the caller knows that.
    pub fn of(protocol: &Protocol) -> Option<Self> {
        Self::with(protocol, true).or_else(|| Self::with(protocol, false))
    }

    /// True if reads of constant memory are missing.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    fn with(protocol: &Protocol, constants: bool) -> Option<Self> {
        let body = slice(protocol, &protocol.body, constants)?;
        let mut sites = HashSet::new();
        let protocol = Protocol { body, ..protocol.clone() };
        // An instruction that may touch several objects leaves open which one it touches.
        if !Place::all(&protocol).iter().all(|place| sites.insert(place.access.site)) {
            return None;
        }
        let divisors = Used::of(&protocol)?;
        let waits = holds_sync(&protocol.body);
        Some(Self { protocol, divisors, waits, is_partial: !constants })
    }

    /// An estimate of the number of accesses of all threads, from those of a few threads. `None` if
    /// the launch cannot be repeated: it divides by zero, or one thread makes too many accesses.
    pub fn cost(&self, launch: &Launch) -> Option<u64> {
        let divides =
            |&by: &ExprId| uniform_value(&self.protocol.exprs, launch, by).is_some_and(|value| value != 0);
        if !self.divisors.iter().all(divides) {
            return None;
        }
        let some = |dims: [u32; 3]| {
            [0, 1, 2].map(|part| dims.map(|n| (n.max(1) - 1) / 2 * part + (n.max(1) - 1) % 2 * (part / 2)))
        };
        let mut most = 0;
        let mut choose = |_: &Open| 0;
        let mut run = Run::new(&self.protocol, launch, &mut choose);
        for ctaid in some(launch.shape.grid) {
            for tid in some(launch.shape.block) {
                let ran = touches(&mut run, Thread { ctaid, tid }, MOST_LISTED).ok()?;
                most = most.max(ran.len() as u64 + 1);
            }
        }
        let (threads, blocks) = (u64::from(launch.shape.threads()), launch.shape.blocks());
        let listed = if self.waits { most.saturating_mul(threads) } else { most };
        (listed <= MOST_LISTED).then(|| most.saturating_mul(threads).saturating_mul(blocks))
    }

    /// Passes the events of one block to `tell`.
    ///
    /// # Errors
    /// The protocol leaves something open, or there are too many steps. All events until then are right.
    pub fn block(
        &self,
        launch: &Launch,
        ctaid: [u32; 3],
        mut tell: impl FnMut(Event),
    ) -> Result<(), Inexact> {
        let mut all: Vec<(u32, Touch)> = Vec::new();
        let [nx, ny, nz] = launch.shape.block;
        let mut choose = |_: &Open| 0;
        let mut run = Run::new(&self.protocol, launch, &mut choose);
        let tids = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        for (linear, tid) in (0..).zip(tids) {
            let touches = touches(&mut run, Thread { ctaid, tid }, MOST_STEPS)?;
            let touches = touches.into_iter().map(|touch| (linear, touch));
            if self.waits {
                all.extend(touches);
                if all.len() as u64 > MOST_STEPS {
                    return Err(Stopped::TooLong.into());
                }
            } else {
                touches.for_each(|(thread, touch)| tell(Event::Touch(thread, touch)));
            }
        }
        // Between two barriers of the block, one warp follows the other, and each goes from sync to sync.
        all.sort_by_key(|(thread, touch)| (touch.passed[1], thread / 32, touch.passed[0]));
        let mut last: Option<(u32, u32, u32)> = None;
        for (thread, touch) in all {
            let now = (touch.passed[1], thread / 32, touch.passed[0]);
            match last {
                Some((block, ..)) if block != now.0 => tell(Event::Block),
                Some((_, warp, syncs)) if warp == now.1 && syncs != now.2 => tell(Event::Warp(warp)),
                _ => {}
            }
            last = Some(now);
            tell(Event::Touch(thread, touch));
        }
        Ok(())
    }
}

fn touches(run: &mut Run<'_>, thread: Thread, fuel: u64) -> Result<Vec<Touch>, Inexact> {
    let ran = run.thread(thread, fuel)?;
    if ran.asked { Err(Inexact::Open) } else { Ok(ran.touches) }
}

/// The statements of a body that access global memory or wait; `None` if they are not all known. Reads of constant
/// memory are among them if `constants`.
fn slice(protocol: &Protocol, body: &[Stmt], constants: bool) -> Option<Vec<Stmt>> {
    let mut out = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Access(access) => match protocol.objects.get(access.object.0 as usize)?.kind {
                ObjectKind::Shared { .. }
                | ObjectKind::DynamicShared
                | ObjectKind::Unshared
                | ObjectKind::Opaque { space: Space::Shared, .. } => {}
                ObjectKind::Variable { constant: true, .. } if !constants => {}
                ObjectKind::Param(_) | ObjectKind::Variable { .. }
                    if matches!(access.op, Op::Read | Op::Write | Op::Atomic { .. }) =>
                {
                    out.push(stmt.clone());
                }
                _ => return None,
            },
            Stmt::Sync(Sync::Grid | Sync::Lanes(_) | Sync::Named(_) | Sync::Phase(_)) | Stmt::Unknown(_) => {
                return None;
            }
            Stmt::Sync(Sync::Warp | Sync::Block) => out.push(stmt.clone()),
            Stmt::If { cond, then, otherwise } => {
                let (then, otherwise) =
                    (slice(protocol, then, constants)?, slice(protocol, otherwise, constants)?);
                if !then.is_empty() || !otherwise.is_empty() {
                    out.push(Stmt::If { cond: *cond, then, otherwise });
                }
            }
            Stmt::Loop(of) => {
                let body = slice(protocol, &of.body, constants)?;
                if !body.is_empty() {
                    out.push(Stmt::Loop(Loop { body, ..of.clone() }));
                }
            }
        }
    }
    Some(out)
}

fn holds_sync(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Sync(_) => true,
        Stmt::Loop(of) => holds_sync(&of.body),
        Stmt::If { then, otherwise, .. } => holds_sync(then) || holds_sync(otherwise),
        Stmt::Access(_) | Stmt::Unknown(_) => false,
    })
}

/// The expressions that determine the accesses and their addresses.
struct Used<'a> {
    protocol: &'a Protocol,
    vars: HashMap<VarId, &'a Induction>,
    seen: HashSet<ExprId>,
    divisors: Vec<ExprId>,
}

impl<'a> Used<'a> {
    /// The divisors of a protocol that are not constant; `None` if it uses an open value.
    fn of(protocol: &'a Protocol) -> Option<Vec<ExprId>> {
        let mut used = Self { protocol, vars: HashMap::new(), seen: HashSet::new(), divisors: Vec::new() };
        used.body(&protocol.body)?;
        Some(used.divisors)
    }

    fn body(&mut self, body: &'a [Stmt]) -> Option<()> {
        for stmt in body {
            match stmt {
                Stmt::Access(access) => {
                    [access.offset, access.size].into_iter().try_for_each(|id| self.expr(id))?
                }
                Stmt::If { cond, then, otherwise } => {
                    self.expr(*cond)?;
                    self.body(then)?;
                    self.body(otherwise)?;
                }
                Stmt::Loop(of) => {
                    self.vars.extend(of.vars.iter().map(|var| (var.id, var)));
                    self.expr(of.cond)?;
                    of.breaks.map_or(Some(()), |breaks| self.expr(breaks.unless))?;
                    self.body(&of.body)?;
                }
                Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
        Some(())
    }

    fn expr(&mut self, id: ExprId) -> Option<()> {
        if !self.seen.insert(id) {
            return Some(());
        }
        let exprs = &self.protocol.exprs;
        let node = exprs.get(id);
        match node {
            Expr::Opaque { .. } => return None,
            Expr::Var { id: var, .. } => {
                // A variable has a value only in its own loop.
                let var = *self.vars.get(&var)?;
                self.expr(var.from)?;
                match var.step {
                    Step::Any(_) => return None,
                    Step::Add(by) => self.expr(by)?,
                    Step::Mul(_) | Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) => {}
                }
            }
            Expr::Bin(BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem, _, by) => {
                match exprs.as_const(by) {
                    Some(0) => return None,
                    Some(_) => {}
                    None => self.divisors.push(by),
                }
            }
            _ => {}
        }
        node.operands().try_for_each(|operand| self.expr(operand))
    }
}
