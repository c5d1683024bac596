//! Preconditions that kernels commonly need, guessed from the protocol. Each is a 1-bit expression
//! over the launch. The solver finds the ones that a proof needs; the runtime tests them.

use std::collections::BTreeSet;

use gpurace_protocol::expr::{Axis, BinOp, CmpOp, Expr, ExprId, Exprs, ParamId, Width};
use gpurace_protocol::group::{Barriers, Group};
use gpurace_protocol::interval::holds_sync;
use gpurace_protocol::lanes::{KnownMasks, masks as masks_of};
use gpurace_protocol::named::KnownNamed;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{ObjectKind, Protocol, Step, Stmt};
use gpurace_protocol::range::Loops;

use crate::masks::beside_power;
use crate::powers::Finder;

/// The largest number of candidates of one kernel.
const MOST: usize = 32;

/// Adds the candidates to the arena and returns them. The ones that most kernels need come first.
pub fn candidates(protocol: &Protocol, exprs: &mut Exprs) -> Vec<ExprId> {
    let places = Place::all(protocol);
    let used = Used::by(protocol, &places);
    let mut made = Maker { exprs, found: Vec::new() };
    made.unused_axes_have_one(&used);
    made.masks_are_powers_of_two(&used);
    made.tables_hold_the_block(&used, &places);
    made.parts_hold_the_block(&used);
    made.strides_hold_a_row(&used);
    made.block_is_of_warps(&used);
    made.halved_block_is_power_of_two(&used);
    made.found.truncate(MOST);
    made.found
}

/// What the accesses of a kernel use.
struct Used<'p> {
    protocol: &'p Protocol,
    /// The nodes of their offsets.
    offsets: BTreeSet<ExprId>,
    /// The nodes of the conditions around them.
    guards: BTreeSet<ExprId>,
}

impl<'p> Used<'p> {
    fn by(protocol: &'p Protocol, places: &[Place]) -> Self {
        let offsets = reachable(protocol, places.iter().map(|p| p.access.offset));
        let guards = reachable(protocol, places.iter().flat_map(|p| p.guards()).map(|(cond, _)| cond));
        Self { protocol, offsets, guards }
    }

    /// All of these nodes.
    fn all(&self) -> impl Iterator<Item = Expr> {
        self.guards.iter().chain(&self.offsets).map(|id| self.protocol.exprs.get(*id))
    }

    /// True if one of them is this node.
    fn has(&self, node: Expr) -> bool {
        self.all().any(|used| used == node)
    }

    /// The dimensions of the block whose indices are used.
    fn dims(&self) -> Vec<Axis> {
        Axis::ALL.into_iter().filter(|axis| self.has(Expr::Tid(*axis))).collect()
    }
}

impl Maker<'_> {
    /// A dimension has size 1 if the kernel does not use its index. `laneid` uses x.
    fn unused_axes_have_one(&mut self, used: &Used) {
        for axis in [Axis::Z, Axis::Y, Axis::X] {
            if !used.has(Expr::Tid(axis)) && (axis != Axis::X || !used.has(Expr::Lane)) {
                self.compare_dim(CmpOp::Eq, Expr::Ntid(axis), 1);
            }
        }
        for axis in [Axis::Z, Axis::Y, Axis::X] {
            if !used.has(Expr::Ctaid(axis)) {
                self.compare_dim(CmpOp::Eq, Expr::Nctaid(axis), 1);
            }
        }
    }

    /// A number that makes masks is a power of two.
    fn masks_are_powers_of_two(&mut self, used: &Used) {
        for power in masking(used) {
            self.power_of_two(power);
        }
    }

    /// A dimension of the block is at most a stride or the size of a table. A kernel with `a[t]` and `a[32 + t]` is for
    /// at most 32 threads.
    fn tables_hold_the_block(&mut self, used: &Used, places: &[Place]) {
        let largest = strides(used.protocol, &used.offsets, places).into_iter().rev().take(6);
        let most: BTreeSet<_> = largest.chain(least_distance(&used.protocol.exprs, places)).collect();
        let dims = used.dims();
        for c in most.into_iter().rev() {
            for axis in &dims {
                self.compare_dim(CmpOp::Ule, Expr::Ntid(*axis), c);
            }
        }
    }

    /// A part of a parameter that lies between two elements of a thread, as in `a[t + n / 2]`, is at least the block.
    fn parts_hold_the_block(&mut self, used: &Used) {
        for part in parts_of_parameters(&used.protocol.exprs, &used.offsets).into_iter().take(2) {
            let part = self.signed(part);
            for axis in used.dims() {
                let ntid = self.wide(Expr::Ntid(axis));
                self.compare(CmpOp::Sle, ntid, part);
            }
        }
    }

    /// A parameter that is a stride is at least the size of a row.
    fn strides_hold_a_row(&mut self, used: &Used) {
        let strides = params(used.protocol, &used.offsets);
        let bounds = params(used.protocol, &used.guards);
        let dims = used.dims();
        for (id, width) in strides.iter().take(4) {
            let p = self.param(*id, *width);
            let one = self.exprs.c64(1);
            self.compare(CmpOp::Sle, one, p);
            for axis in &dims {
                let ntid = self.wide(Expr::Ntid(*axis));
                self.compare(CmpOp::Sle, ntid, p);
                if used.has(Expr::Ctaid(*axis)) {
                    self.stride_holds_all_blocks(used, *axis, p);
                }
            }
            for (other, other_width) in bounds.iter().filter(|(other, _)| other != id).take(3) {
                let q = self.param(*other, *other_width);
                self.compare(CmpOp::Sle, q, p);
            }
        }
    }

    /// A stride is at least the size of a row over all blocks of the grid.
    fn stride_holds_all_blocks(&mut self, used: &Used, axis: Axis, stride: ExprId) {
        let (ntid, nctaid) = (self.wide(Expr::Ntid(axis)), self.wide(Expr::Nctaid(axis)));
        let all = self.exprs.product(ntid, nctaid);
        self.compare(CmpOp::Sle, all, stride);
        for c in block_strides(used.protocol, &used.offsets, axis) {
            let c = self.exprs.c64(c);
            let all = self.exprs.product(nctaid, c);
            self.compare(CmpOp::Sle, all, stride);
        }
    }

    /// The block consists of whole warps, or of one.
    fn block_is_of_warps(&mut self, used: &Used) {
        let body = &used.protocol.body;
        if syncs_warps(body) || used.has(Expr::Lane) {
            let dim = self.exprs.add(Expr::Ntid(Axis::X));
            let by = self.exprs.c32(32);
            let rest = self.exprs.bin(BinOp::URem, dim, by);
            self.compare_constant(CmpOp::Eq, rest, 0);
            self.compare_constant(CmpOp::Ule, dim, 32);
        }
        // `cooperative_groups` computes a thread's rank from all three dimensions, whether or not the kernel
        // is for blocks of several.
        if !masks_of(body).is_empty() {
            for axis in [Axis::Z, Axis::Y].into_iter().filter(|axis| used.has(Expr::Tid(*axis))) {
                self.compare_dim(CmpOp::Eq, Expr::Ntid(axis), 1);
            }
        }
    }

    /// The size of a block that is halved is a power of two.
    fn halved_block_is_power_of_two(&mut self, used: &Used) {
        let halves = |node| match node {
            Expr::Bin(BinOp::UDiv | BinOp::LShr | BinOp::SDiv | BinOp::AShr, a, _) => {
                used.protocol.exprs.get(a) == Expr::Ntid(Axis::X)
            }
            _ => false,
        };
        if used.all().any(halves) {
            let dim = self.exprs.add(Expr::Ntid(Axis::X));
            self.power_of_two(dim);
        }
    }
}

/// Makes conditions and collects them.
pub(crate) struct Maker<'e> {
    pub(crate) exprs: &'e mut Exprs,
    pub(crate) found: Vec<ExprId>,
}

impl Maker<'_> {
    /// Adds the condition `a op b`, unless that is constant.
    pub(crate) fn compare(&mut self, op: CmpOp, a: ExprId, b: ExprId) {
        let cond = self.exprs.cmp(op, a, b);
        if self.exprs.as_const(cond).is_none() && !self.found.contains(&cond) {
            self.found.push(cond);
        }
    }

    /// Adds the condition `a op c`.
    pub(crate) fn compare_constant(&mut self, op: CmpOp, a: ExprId, c: i64) {
        let width = self.exprs.width(a);
        let c = self.exprs.constant(width, c);
        self.compare(op, a, c);
    }

    /// Adds a condition on the size of the block or the grid in one dimension.
    fn compare_dim(&mut self, op: CmpOp, dim: Expr, c: i64) {
        let dim = self.exprs.add(dim);
        self.compare_constant(op, dim, c);
    }

    /// Adds the condition that a number is a power of two.
    fn power_of_two(&mut self, of: ExprId) {
        let width = self.exprs.width(of);
        let one = self.exprs.constant(width, 1);
        let less = self.exprs.bin(BinOp::Sub, of, one);
        let common = self.exprs.bin(BinOp::And, of, less);
        self.compare_constant(CmpOp::Eq, common, 0);
    }

    /// Returns an unsigned node with 64 bits.
    pub(crate) fn wide(&mut self, node: Expr) -> ExprId {
        let narrow = self.exprs.add(node);
        self.exprs.zext(Width::W64, narrow)
    }

    /// Returns a signed number with 64 bits.
    pub(crate) fn signed(&mut self, narrow: ExprId) -> ExprId {
        self.exprs.sext(Width::W64, narrow)
    }

    /// Returns a parameter, a signed number, with 64 bits.
    fn param(&mut self, id: ParamId, width: Width) -> ExprId {
        let p = self.exprs.add(Expr::Param { id, width });
        self.signed(p)
    }
}

/// Returns all nodes that these expressions use, including the starts, steps and conditions of
/// their loop variables.
pub(crate) fn reachable(protocol: &Protocol, from: impl Iterator<Item = ExprId>) -> BTreeSet<ExprId> {
    let loops = Loops::of(protocol);
    let mut seen = BTreeSet::new();
    let mut todo: Vec<_> = from.collect();
    while let Some(id) = todo.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = protocol.exprs.get(id);
        todo.extend(node.operands());
        if let Expr::Var { id, .. } = node
            && let Some(info) = loops.vars.get(&id)
        {
            todo.push(info.var.from);
            todo.push(info.of.cond);
            if let Step::Add(step) = info.var.step {
                todo.push(step);
            }
        }
    }
    seen
}

/// Returns the quotients of parameters by constants in these expressions.
fn parts_of_parameters(exprs: &Exprs, within: &BTreeSet<ExprId>) -> Vec<ExprId> {
    let is_part = |id: &ExprId| match exprs.get(*id) {
        Expr::Bin(BinOp::UDiv | BinOp::SDiv | BinOp::LShr | BinOp::AShr, a, by) => {
            matches!(exprs.get(a), Expr::Param { .. }) && exprs.as_const(by).is_some()
        }
        _ => false,
    };
    within.iter().copied().filter(is_part).collect()
}

/// Returns the parameters that are powers of two if `p` is, where some index or guard has `& (p - 1)` or `& -p`.
fn masking(used: &Used) -> BTreeSet<ExprId> {
    let exprs = &used.protocol.exprs;
    let mut finder = Finder::new(used.protocol, exprs, None);
    let masks = used.all().filter_map(|node| match node {
        Expr::Bin(BinOp::And, _, mask) => Some(beside_power(exprs, mask)?.0),
        _ => None,
    });
    let arguments = masks.flat_map(|p| match exprs.get(p) {
        Expr::Param { .. } => BTreeSet::from([p]),
        Expr::Var { id, .. } => finder.of_var(id).unwrap_or_default().arguments,
        _ => BTreeSet::new(),
    });
    arguments.collect()
}

/// Returns the parameters among these nodes that may be sizes.
fn params(protocol: &Protocol, nodes: &BTreeSet<ExprId>) -> BTreeSet<(ParamId, Width)> {
    nodes
        .iter()
        .filter_map(|id| match protocol.exprs.get(*id) {
            Expr::Param { id, width: width @ (Width::W32 | Width::W64) } => Some((id, width)),
            _ => None,
        })
        .collect()
}

/// Returns possible upper bounds of a dimension of the block: factors and divisors in offsets, and
/// the lengths of shared variables.
fn strides(protocol: &Protocol, offsets: &BTreeSet<ExprId>, places: &[Place]) -> BTreeSet<i64> {
    let exprs = &protocol.exprs;
    let sizes: BTreeSet<i64> = places
        .iter()
        .filter_map(|p| exprs.as_const(p.access.size))
        .filter_map(|size| i64::try_from(size).ok())
        .filter(|size| *size > 0)
        .collect();
    let mut found = BTreeSet::new();
    let mut add = |c: i64, bytes: bool| {
        let whole = if bytes { None } else { Some(&1) };
        for size in sizes.iter().chain(whole) {
            if c % size == 0 && (2..=1024).contains(&(c / size)) {
                found.insert(c / size);
            }
        }
    };
    for id in offsets {
        if let Expr::Bin(op, _, b) = exprs.get(*id) {
            let Some(c) = exprs.as_const(b).and_then(|c| i64::try_from(c).ok()) else { continue };
            match op {
                BinOp::Mul | BinOp::URem | BinOp::SRem => add(c, false),
                BinOp::Shl if c < 20 => add(1 << c, false),
                BinOp::And => add(c.saturating_add(1), false),
                _ => {}
            }
        }
    }
    // A block may step over rows by its height.
    let loops = Loops::of(protocol);
    for id in offsets {
        if let Expr::Var { id, .. } = exprs.get(*id)
            && let Some(info) = loops.vars.get(&id)
            && let Step::Add(step) = info.var.step
            && let Some(c) = exprs.as_const(step).and_then(|c| i64::try_from(c).ok())
        {
            add(c, false);
        }
    }
    for object in &protocol.objects {
        if let ObjectKind::Shared { size } = object.kind
            && let Ok(size) = i64::try_from(size)
        {
            add(size, true);
        }
    }
    // The size of an element is no stride.
    found.iter().copied().filter(|c| !sizes.contains(c) || *c > 16).collect()
}

/// Returns the least distance, in elements, between two accesses of one thread to one object.
/// Distances below a warp's width do not count: they belong to stencils.
fn least_distance(exprs: &Exprs, places: &[Place]) -> Option<i64> {
    let parts = constant_parts(exprs);
    let accesses: BTreeSet<_> = places
        .iter()
        .filter_map(|p| {
            let size = exprs.as_const(p.access.size).and_then(|c| i64::try_from(c).ok())?;
            let part = parts[p.access.offset.0 as usize];
            (size > 0).then_some((p.access.object, size, part))
        })
        .collect();
    let apart = |(a, b): (&(_, i64, i64), &(_, i64, i64))| (a.0 == b.0).then(|| (b.2.abs_diff(a.2), a.1));
    let pairs = accesses.iter().flat_map(|a| accesses.iter().map(move |b| (a, b)));
    pairs
        .filter_map(apart)
        .filter_map(|(bytes, size)| Some(i64::try_from(bytes).ok()? / size))
        .filter(|elements| (32..=1024).contains(elements))
        .min()
}

/// Returns, for each expression, its constant summand.
fn constant_parts(exprs: &Exprs) -> Vec<i64> {
    let mut found: Vec<i64> = Vec::with_capacity(exprs.len());
    for (id, node) in exprs.iter() {
        let of = |id: ExprId| found[id.0 as usize];
        let constant = |id| exprs.as_const(id).and_then(|c| i64::try_from(c).ok());
        let part = match node {
            Expr::Cast(_, _, a) => of(a),
            Expr::Bin(BinOp::Add, a, b) => of(a).saturating_add(of(b)),
            Expr::Bin(BinOp::Sub, a, b) => of(a).saturating_sub(of(b)),
            Expr::Bin(BinOp::Mul, a, b) => constant(b).map_or(0, |c| of(a).saturating_mul(c)),
            Expr::Bin(BinOp::Shl, a, b) => match constant(b) {
                Some(c @ 0..20) => of(a).saturating_mul(1 << c),
                _ => 0,
            },
            _ => constant(id).unwrap_or(0),
        };
        found.push(part);
    }
    found
}

/// Returns the constant factors of a block index in offsets. These are distances between blocks, in
/// columns; a stride must be at least their total.
fn block_strides(protocol: &Protocol, offsets: &BTreeSet<ExprId>, axis: Axis) -> BTreeSet<i64> {
    let exprs = &protocol.exprs;
    let factors = factors(exprs, axis);
    let factor = |id: ExprId| factors.get(id.0 as usize).copied().flatten();
    let mut found = BTreeSet::new();
    for id in offsets {
        match exprs.get(*id) {
            Expr::Bin(BinOp::Mul | BinOp::Shl, a, _) if exprs.get(a) == Expr::Ctaid(axis) => {
                found.insert(factor(*id));
            }
            // In `row * stride + column` the column's factor counts.
            Expr::Bin(BinOp::Add, a, b) => {
                for (row, column) in [(a, b), (b, a)] {
                    if is_row(exprs, row) {
                        found.insert(factor(column));
                    }
                }
            }
            _ => {}
        }
    }
    found.into_iter().rev().flatten().filter(|c| (2..1 << 20).contains(c)).take(2).collect()
}

/// True if this is a parameter times a value that is not constant.
fn is_row(exprs: &Exprs, id: ExprId) -> bool {
    match exprs.get(id) {
        Expr::Bin(BinOp::Mul, a, b) => {
            let fixed = exprs.as_const(a).is_some() || exprs.as_const(b).is_some();
            let param = |id| exprs.mentions(id, |node| matches!(node, Expr::Param { .. }));
            !fixed && (param(a) || param(b))
        }
        Expr::Cast(_, _, a) => is_row(exprs, a),
        _ => false,
    }
}

/// Returns, for each expression, the constant factor of a block index: 0 if the index does not
/// occur, `None` if the factor is not constant.
fn factors(exprs: &Exprs, axis: Axis) -> Vec<Option<i64>> {
    let mut found: Vec<Option<i64>> = Vec::with_capacity(exprs.len());
    for (_, node) in exprs.iter() {
        let of = |id: ExprId| found.get(id.0 as usize).copied().flatten();
        let constant = |id| exprs.as_const(id).and_then(|c| i64::try_from(c).ok());
        let factor = match node {
            Expr::Ctaid(own) => Some(i64::from(own == axis)),
            Expr::Cast(_, _, a) => of(a),
            Expr::Bin(BinOp::Add, a, b) => of(a).zip(of(b)).and_then(|(a, b)| a.checked_add(b)),
            Expr::Bin(BinOp::Sub, a, b) => of(a).zip(of(b)).and_then(|(a, b)| a.checked_sub(b)),
            Expr::Bin(BinOp::Mul, a, b) if constant(b).is_some() => {
                of(a).zip(constant(b)).and_then(|(a, c)| a.checked_mul(c))
            }
            Expr::Bin(BinOp::Shl, a, b) if constant(b).is_some_and(|c| (0..20).contains(&c)) => {
                of(a).zip(constant(b)).and_then(|(a, c)| a.checked_mul(1 << c))
            }
            _ => node.operands().all(|a| of(a) == Some(0)).then_some(0),
        };
        found.push(factor);
    }
    found
}

/// True if a kernel's warps synchronise, and its grid does not.
fn syncs_warps(body: &[Stmt]) -> bool {
    let (masks, named) = (KnownMasks::new(), KnownNamed::default());
    let holds = |group| holds_sync(body, Barriers { group, masks: &masks, named: &named });
    (holds(Group::WARP) || !masks_of(body).is_empty()) && !holds(Group::Grid)
}
