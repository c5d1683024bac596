//! Ranges of the values of expressions, as integers that do not wrap.
//!
//! # Lifting
//! A machine value represents many integers, equal modulo `2^width`. The *lift* of an expression in a
//! [`View`] computes its ring operations (`+ - *`, shifts left, truncation) on integers that do not wrap;
//! leaves have the values that the view gives them. The lift is always congruent to the machine value. If
//! it lies within the view's numbers, it *is* the value in that view. Comparisons, extensions, divisions
//! and shifts right need that value. It is *computed in* the view ([`Ranges::computed`]).
//!
//! The ranges need no assumption: if a lift may leave the view's numbers, the computed value may be any
//! number of the view.

pub mod effort;
mod guards;
mod linear;
mod loops;
mod number;

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::arguments::{self, Places};
use crate::expr::{Axis, BinOp, Cast, Expr, ExprId, Exprs, OpaqueId, VarId, Width};
use crate::launch::Launch;
use crate::protocol::Protocol;

pub use loops::{Loops, VarInfo};
pub use number::{LIMIT, Range, View, lift_constant};

/// The largest number of threads of a block, and of its x and y dimensions.
pub const MAX_BLOCK: i128 = 1024;
/// The largest number of threads in a block's z dimension.
pub const MAX_BLOCK_Z: i128 = 64;
/// The largest number of blocks in a grid's x dimension.
pub const MAX_GRID_X: i128 = (1 << 31) - 1;
/// The largest number of blocks in a grid's y and z dimensions.
pub const MAX_GRID_YZ: i128 = 65535;
/// The most bytes of shared memory that a block may have.
pub const MAX_SHARED: i128 = 227 << 10;

/// The ranges of a launch's arguments, by places. `None` if a place is not in the arguments.
type ArgumentRanges = FxHashMap<(Places, Width, View), Option<Range>>;

/// What follows from guards.
#[derive(Clone, Default)]
struct FromGuards {
    /// Ranges of values in a view.
    refined: FxHashMap<(ExprId, View), Range>,
    /// Ranges of lifts of sums.
    bounded: linear::Bounded,
}

/// Ranges of expressions in any launch, or in one, while guards hold.
pub struct Ranges<'a> {
    exprs: &'a Exprs,
    protocol: &'a Protocol,
    launch: Option<&'a Launch>,
    loops: Rc<Loops<'a>>,
    known: Rc<RefCell<loops::Known>>,
    sums: Rc<RefCell<linear::Sums>>,
    /// The ranges of the launch's arguments at these places.
    arguments: Rc<RefCell<ArgumentRanges>>,
    guarded: FromGuards,
    lifted: FxHashMap<(ExprId, View), Range>,
    /// Variables whose range search is in progress, with the assumed range.
    open: Vec<(VarId, Option<(View, Range)>)>,
}

impl<'a> Ranges<'a> {
    /// Returns ranges without guards. `exprs` is the protocol's arena or one that extends it.
    pub fn new(protocol: &'a Protocol, exprs: &'a Exprs, launch: Option<&'a Launch>) -> Self {
        Self {
            exprs,
            protocol,
            launch,
            loops: Rc::new(Loops::of(protocol)),
            known: Rc::default(),
            sums: Rc::default(),
            arguments: Rc::default(),
            guarded: FromGuards::default(),
            lifted: FxHashMap::default(),
            open: Vec::new(),
        }
    }

    /// Returns ranges that also assume these values of 1-bit expressions.
    pub fn guarded(&self, guards: &[(ExprId, bool)]) -> Self {
        self.assuming(self.guarded.clone(), guards)
    }

    /// Returns ranges that also assume that an expression, read as a signed number, has this value.
    pub fn given(&self, id: ExprId, value: i128) -> Self {
        let mut inner = self.assuming(self.guarded.clone(), &[]);
        inner.refine(id, View::Signed, Range::one(value));
        inner
    }

    /// Returns ranges with only these facts, and with these values of 1-bit expressions.
    fn assuming(&self, guarded: FromGuards, guards: &[(ExprId, bool)]) -> Self {
        let mut inner = Self {
            exprs: self.exprs,
            protocol: self.protocol,
            launch: self.launch,
            loops: Rc::clone(&self.loops),
            known: Rc::clone(&self.known),
            sums: Rc::clone(&self.sums),
            arguments: Rc::clone(&self.arguments),
            guarded,
            lifted: FxHashMap::default(),
            open: self.open.clone(),
        };
        for &(cond, value) in guards {
            inner.assume(cond, value);
        }
        inner
    }

    /// The expressions.
    pub fn exprs(&self) -> &'a Exprs {
        self.exprs
    }

    /// Returns the range of the lift.
    pub fn lift(&mut self, id: ExprId, view: View) -> Range {
        if let Some(range) = self.lifted.get(&(id, view)) {
            return *range;
        }
        effort::spend(1);
        let mut range = self.lift_node(id, view);
        // Guards limit the computed value. They limit the lift only if it is the value in a view.
        for of in [View::Unsigned, View::Signed] {
            if let Some(known) = self.guarded.refined.get(&(id, of))
                && range.within(of.all(self.exprs.width(id)))
            {
                range = range.meet(*known);
            }
        }
        self.lifted.insert((id, view), range);
        range
    }

    /// True if the computed value is always the lift.
    pub fn fits(&mut self, id: ExprId, view: View) -> bool {
        self.exprs.as_const(id).is_some() || self.lift(id, view).within(view.all(self.exprs.width(id)))
    }

    /// Returns the range of the value in the view.
    pub fn computed(&mut self, id: ExprId, view: View) -> Range {
        if let Expr::Const { width, bits } = self.exprs.get(id) {
            return Range::one(view.read(width, bits));
        }
        let all = view.all(self.exprs.width(id));
        let lift = self.lift(id, view);
        if lift.within(all) {
            return lift;
        }
        self.guarded.refined.get(&(id, view)).map_or(all, |known| all.meet(*known))
    }

    fn lift_node(&mut self, id: ExprId, view: View) -> Range {
        let node = self.exprs.get(id);
        match node {
            // Ring operations read constants as signed, since adding -1 gives tighter ranges than adding 2^32
            // - 1.
            Expr::Const { width, bits } => Range::one(lift_constant(width, bits)),
            Expr::Tid(_)
            | Expr::Ctaid(_)
            | Expr::Ntid(_)
            | Expr::Nctaid(_)
            | Expr::DynamicShared
            | Expr::Lane => special(node, self.protocol, self.launch),
            Expr::Param { id: param, width } => match self.launch {
                Some(launch) => {
                    let bits = launch.params.get(param.0 as usize);
                    bits.map_or(view.all(width), |b| Range::one(view.read(width, *b)))
                }
                None => view.all(width),
            },
            Expr::Opaque { id: opaque, width } => {
                if let Some(values) = self.argument(opaque, width, view) {
                    return values;
                }
                let loaded = self.launch.and_then(|launch| launch.contents_of(opaque));
                let known = match (loaded, self.protocol.opaques.get(opaque.0 as usize).and_then(|o| o.range))
                {
                    (Some(contents), _) => {
                        let (lo, hi) = contents.range;
                        Range::new(i128::from(lo), i128::from(hi))
                    }
                    (None, Some((lo, hi))) => Range::new(i128::from(lo), i128::from(hi)),
                    (None, None) => view.all(width),
                };
                if known.within(view.all(width)) { known } else { view.all(width) }
            }
            Expr::Iteration(of) => self.iterations(of),
            Expr::Total { of, .. } => self.total(of),
            Expr::Var { id: var, width } => self.var(var, width, view),
            Expr::Bin(op, a, b) => {
                let range = self.lift_bin(op, a, b, view);
                self.of_sum(id, view).map_or(range, |sum| range.meet(sum))
            }
            Expr::Cmp(op, a, b) => match self.truth(op, a, b) {
                Some(truth) => Range::one(i128::from(truth)),
                None => Range::new(0, 1),
            },
            Expr::Select(c, a, b) => match self.known_truth(c) {
                Some(true) => self.lift(a, view),
                Some(false) => self.lift(b, view),
                None => self.lift(a, view).hull(self.lift(b, view)),
            },
            Expr::Cast(Cast::Zext, _, a) => self.computed(a, View::Unsigned),
            Expr::Cast(Cast::Sext, _, a) => self.computed(a, View::Signed),
            Expr::Cast(Cast::Trunc, _, a) => self.lift(a, view),
        }
    }

    fn lift_bin(&mut self, op: BinOp, a: ExprId, b: ExprId, view: View) -> Range {
        use View::{Signed, Unsigned};
        let width = self.exprs.width(a);
        let constant = self.exprs.as_const(b);
        match op {
            BinOp::Add => self.lift(a, view).plus(self.lift(b, view)),
            BinOp::Sub => self.lift(a, view).minus(self.lift(b, view)),
            BinOp::Mul => self.lift(a, view).times(self.lift(b, view)),
            BinOp::Shl => match constant {
                Some(c) if c < u64::from(width.bits()) => self.lift(a, view).times(Range::one(1 << c)),
                _ => self.shift_left(a, b, view),
            },
            BinOp::UDiv | BinOp::SDiv => {
                let by = if op == BinOp::UDiv { Unsigned } else { Signed };
                let (x, d) = (self.computed(a, by), self.computed(b, by));
                if d.lo < 1 {
                    return by.all(width);
                }
                let ends = [x.lo / d.lo, x.lo / d.hi, x.hi / d.lo, x.hi / d.hi];
                Range::new(ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
            }
            BinOp::URem => {
                let (x, d) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                if d.lo < 1 { Unsigned.all(width) } else { Range::new(0, x.hi.min(d.hi - 1)) }
            }
            BinOp::SRem => {
                let (x, d) = (self.computed(a, Signed), self.computed(b, Signed));
                if d.lo < 1 {
                    return Signed.all(width);
                }
                let most = d.hi - 1;
                Range::new(x.lo.clamp(-most, 0), x.hi.clamp(0, most))
            }
            BinOp::LShr | BinOp::AShr => {
                let by = if op == BinOp::LShr { Unsigned } else { Signed };
                let (x, s) = (self.computed(a, by), self.computed(b, Unsigned));
                let shift = |x: i128, s: i128| x >> s.clamp(0, 100);
                let ends = [shift(x.lo, s.lo), shift(x.lo, s.hi), shift(x.hi, s.lo), shift(x.hi, s.hi)];
                Range::new(ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
            }
            BinOp::And if width == Width::W1 => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                Range::new(x.lo.min(y.lo), x.hi.min(y.hi))
            }
            BinOp::Or if width == Width::W1 => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                Range::new(x.lo.max(y.lo), x.hi.max(y.hi))
            }
            BinOp::Xor if width == Width::W1 && constant == Some(1) => {
                Range::one(1).minus(self.computed(a, Unsigned))
            }
            BinOp::And => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                Range::new(0, x.hi.min(y.hi))
            }
            BinOp::Or | BinOp::Xor => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                let bits = 128 - x.hi.max(y.hi).leading_zeros();
                let lo = if op == BinOp::Or { x.lo.max(y.lo) } else { 0 };
                Range::new(lo, (1i128 << bits) - 1)
            }
            BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                let by = if matches!(op, BinOp::UMin | BinOp::UMax) { Unsigned } else { Signed };
                let (x, y) = (self.computed(a, by), self.computed(b, by));
                if matches!(op, BinOp::UMin | BinOp::SMin) {
                    Range::new(x.lo.min(y.lo), x.hi.min(y.hi))
                } else {
                    Range::new(x.lo.max(y.lo), x.hi.max(y.hi))
                }
            }
        }
    }

    /// Returns the range of the values that an opaque value has in the launch's arguments.
    fn argument(&mut self, opaque: OpaqueId, width: Width, view: View) -> Option<Range> {
        let (launch, at) = (self.launch?, self.protocol.opaques.get(opaque.0 as usize)?.argument?);
        let places = arguments::places(self, at)?;
        // A table may have thousands of values, and each guard asks for their range again.
        let known = Rc::clone(&self.arguments);
        let mut known = known.borrow_mut();
        *known.entry((places.clone(), width, view)).or_insert_with(|| {
            let mut values = places.map(|at| {
                effort::spend(1);
                Some(Range::one(view.read(width, launch.computed.value(at, width)?)))
            });
            let first = values.next()??;
            values.try_fold(first, |all, value| Some(all.hull(value?)))
        })
    }

    fn shift_left(&mut self, a: ExprId, b: ExprId, view: View) -> Range {
        let bits = i128::from(self.exprs.width(a).bits());
        let s = self.computed(b, View::Unsigned);
        // A shift by the width or more gives 0. So the lift stays within these ends: 0 is congruent to any
        // multiple of 2^width.
        let factor = Range::new(1 << s.lo.min(bits), 1 << s.hi.min(bits));
        let range = self.lift(a, view).times(factor);
        if s.hi >= bits { range.hull(Range::one(0)) } else { range }
    }
}

/// The largest number of threads of a block. A launch of more than `__launch_bounds__` fails.
pub fn most_threads(protocol: &Protocol) -> i128 {
    if protocol.max_threads == 0 { MAX_BLOCK } else { MAX_BLOCK.min(protocol.max_threads.into()) }
}

/// Returns the range of a special register or dimension, in a launch or in all launches of which this is known.
pub fn special(node: Expr, protocol: &Protocol, launch: Option<&Launch>) -> Range {
    let known = protocol.shape;
    let size = |of_launch: fn(&Launch) -> [u32; 3], known: [Option<u32>; 3], axis: Axis| {
        let known = launch.map_or(known[axis as usize], |launch| Some(of_launch(launch)[axis as usize]));
        known.map(i128::from)
    };
    let block = |axis: Axis| size(|launch| launch.shape.block, known.block, axis);
    let grid = |axis: Axis| size(|launch| launch.shape.grid, known.grid, axis);
    let most_block =
        |axis: Axis| [MAX_BLOCK, MAX_BLOCK, MAX_BLOCK_Z][axis as usize].min(most_threads(protocol));
    let most_grid = |axis: Axis| [MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ][axis as usize];
    let index = |size: Option<i128>, most: i128| Range::new(0, (size.unwrap_or(most) - 1).max(0));
    let dimension = |size: Option<i128>, most: i128| size.map_or(Range::new(1, most), Range::one);
    match node {
        Expr::Tid(axis) => index(block(axis), most_block(axis)),
        Expr::Ctaid(axis) => index(grid(axis), most_grid(axis)),
        Expr::Ntid(axis) => dimension(block(axis), most_block(axis)),
        Expr::Nctaid(axis) => dimension(grid(axis), most_grid(axis)),
        Expr::DynamicShared => {
            let known = launch.map_or(known.dynamic_shared, |launch| Some(launch.shape.dynamic_shared));
            known.map_or(Range::new(0, MAX_SHARED), |bytes| Range::one(bytes.into()))
        }
        Expr::Lane => Range::new(0, 31),
        _ => View::Signed.all(Width::W64),
    }
}
