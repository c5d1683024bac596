//! Expressions of a protocol as linear terms and formulas, for two symbolic threads.
//!
//! # Exactness
//! The encoder turns a lift ([`gpurace_protocol::range`]) into a linear term. Some values must be computed in a view.
//! If the range does not show that the lift fits the view, there are two ways. With [`Wrap::Assume`], fitting becomes a
//! condition of the proof. With [`Wrap::Exact`], a new unknown counts the multiples of `2^width` between lift and
//! value. Quotients, remainders and bits get unknowns with facts that define them. An execution may skip the
//! computation of a value. The facts about such a value always have a solution, so they exclude no execution.

mod arguments;
mod cases;
mod loops;
mod opaque;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{
    Axis, BinOp, Cast, Expr, ExprId, Exprs, LoopId, OpaqueId, ParamId, VarId, Width,
};
use gpurace_protocol::group::Group;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::range::{Range, Ranges, View, lift_constant, special};

use self::loops::Iterated;
use crate::contents::Loaded;
use crate::counted::LastNumbers;
use crate::handed::Handed;
use crate::linear::{Atom, Encoded, Formula, Lin, TooBig};
use crate::masks::Masked;
use crate::parities::ParityValue;
use crate::powers::Power;
use crate::tickets::Drawn;
use crate::values::Fixed;

/// What to do if a value may wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Assume that it does not wrap. This becomes a condition of the proof.
    Assume,
    /// Encode the wrapping.
    Exact,
}

/// The input of all queries of one run of the prover.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The protocol's expressions, and the expressions of candidates behind them.
    pub exprs: &'a Exprs,
    /// The launch, if it is known.
    pub launch: Option<&'a Launch>,
    /// What to do if a value may wrap.
    pub wrap: Wrap,
    /// For each loop variable, the expression of its next value.
    pub next: &'a HashMap<VarId, ExprId>,
    /// The values that threads hand to their blocks, once that is shown.
    pub handed: &'a OnceCell<Vec<Handed>>,
    /// What is known of the last numbers of counters.
    pub last: &'a LastNumbers,
}

/// An unknown's name and range.
#[derive(Clone, Debug)]
pub struct AtomInfo {
    /// Name in dumps.
    pub name: String,
    /// Its range, asserted in the query.
    pub range: Range,
}

/// A division that the query already has unknowns for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Division {
    pub(crate) x: Lin,
    pub(crate) by: Lin,
    /// True if the dividend may be negative. The quotient is rounded towards zero, so the remainder has its sign.
    pub(crate) towards_zero: bool,
    /// Set if the divisor may be 0 or negative: whether the operator is signed, and its width. The
    /// results of a division by zero depend on both.
    pub(crate) otherwise: Option<(bool, Width)>,
}

impl Division {
    /// Returns the division of a non-negative dividend by a positive divisor.
    pub(crate) const fn new(x: Lin, by: Lin) -> Self {
        Self { x, by, towards_zero: false, otherwise: None }
    }
}

/// The value that a shared unknown represents. Both threads, or several places, may use it.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Tid(usize, Axis),
    Ctaid(usize, Axis),
    Ntid(Axis),
    Nctaid(Axis),
    DynamicShared,
    Param(ParamId, View),
    Opaque(OpaqueId, usize, Vec<(LoopId, Lin)>, View),
    Any(VarId, usize, Vec<(LoopId, Lin)>, View),
    /// The iterations of a loop in earlier rounds of the loops around it, by the iterations of these.
    Rounds(LoopId, usize, Vec<(LoopId, Lin)>),
    /// The number of times that `2^width` lies between an integer and its value in the view.
    Wraps(Lin, Width, View),
}

/// The values of an unknown, each under a condition. If no condition holds, nothing is known of the
/// value.
pub(crate) type Cases = Vec<(Formula, Lin)>;

/// What a query mentions so far: one value has one unknown, and facts compare values of one kind.
#[derive(Default)]
pub(crate) struct Seen {
    /// Tickets.
    pub(crate) drawn: Vec<Drawn>,
    /// Loaded values of which something is known.
    pub(crate) loaded: Vec<Loaded>,
    /// Opaque values and variables without a known step, in iterations of loops.
    mentioned: Vec<(Key, Lin)>,
    /// Values that both threads, or several places, may use.
    shared: HashMap<Key, Atom>,
    /// Choices between two values by a condition.
    choices: HashMap<(Formula, Lin, Lin), Lin>,
    /// Loop variables that are powers of two.
    pub(crate) powers: HashMap<VarId, Power>,
    /// Values of variables that are multiplied or divided in each iteration.
    iterated: HashMap<Iterated, Lin>,
    pub(crate) quotients: HashMap<Division, (Lin, Lin)>,
    /// For a quotient that is an unknown, its dividend and its divisor, a positive constant. It is rounded down.
    pub(crate) divided: BTreeMap<Atom, (Lin, i128)>,
    pub(crate) bits: HashMap<(Lin, u32), Vec<Lin>>,
    /// Bitwise operators of two unknown numbers.
    pub(crate) masked: Vec<Masked>,
    pub(crate) parity_values: Vec<ParityValue>,
    /// For an expression: whether its encoding by divisions may be hard.
    pub(crate) mixes: HashMap<ExprId, bool>,
    pub(crate) cases: HashMap<Atom, Cases>,
    pub(crate) case_products: HashMap<(Atom, Lin), Lin>,
    pub(crate) monomials: HashMap<Vec<Lin>, Atom>,
    /// Products of a factor that has a constant part and may be 0, and another factor.
    pub(crate) shifted_products: BTreeMap<(Lin, Lin), Lin>,
    pub(crate) factors: HashMap<Atom, Vec<Lin>>,
}

/// The unknowns and facts of one query.
pub struct Encoder<'a> {
    pub(crate) setting: Setting<'a>,
    /// The smallest group that contains both threads.
    pub group: Group,
    /// Unknowns, by number.
    pub atoms: Vec<AtomInfo>,
    /// Facts that hold in every execution.
    pub facts: Vec<Formula>,
    /// The conditions on wrapping that the query assumes.
    pub needs: BTreeSet<Condition>,
    /// Descriptions of the opaque values that the query mentions.
    pub opaque: BTreeSet<String>,
    /// What the query mentions.
    pub(crate) seen: Seen,
}

/// The number of the thread with index 0 in the block of thread 0. The one in the block of thread 1 is next to it, if
/// the blocks are different ones.
pub const FIRST_OF_BLOCK: usize = 3;
/// The most iterations in which a query compares one value with itself.
const MOST_COMPARED: usize = 8;

/// One thread at one moment: its iterations, and the guards that hold.
pub struct Frame<'a> {
    /// The thread: 0 or 1, or [`FIRST_OF_BLOCK`] and the next.
    pub side: usize,
    /// For each enclosing loop, the number of iterations before the current one.
    pub iteration: HashMap<LoopId, Lin>,
    /// Loop variables that the query fixes: the iteration, and the value in it.
    pub fixed: HashMap<VarId, (Lin, Fixed)>,
    /// Conditions that hold.
    pub guards: Vec<(ExprId, bool)>,
    /// Ranges of expressions under these guards.
    pub ranges: Ranges<'a>,
    /// True if every execution of the query reaches the moment. Then the query may assert its
    /// assumptions about the values computed here.
    pub certain: bool,
    lifted: HashMap<(ExprId, View), Lin>,
    computed: HashMap<(ExprId, View), Lin>,
    conds: HashMap<ExprId, Formula>,
}

impl<'a> Frame<'a> {
    /// Returns the frame of a thread at the start of the program.
    pub fn top(setting: Setting<'a>, side: usize) -> Self {
        Self {
            side,
            iteration: HashMap::new(),
            fixed: HashMap::new(),
            guards: Vec::new(),
            ranges: Ranges::new(setting.protocol, setting.exprs, setting.launch),
            certain: true,
            lifted: HashMap::new(),
            computed: HashMap::new(),
            conds: HashMap::new(),
        }
    }

    /// Returns the frame of a thread in these iterations, which it may not come to.
    pub fn uncertain(setting: Setting<'a>, side: usize, iteration: HashMap<LoopId, Lin>) -> Self {
        Self { iteration, certain: false, ..Self::top(setting, side) }
    }

    /// Adds a condition that holds.
    pub fn guard(&mut self, cond: ExprId, value: bool) {
        self.guards.push((cond, value));
        self.ranges = self.ranges.guarded(&[(cond, value)]);
    }

    /// Returns a frame for the same thread and moment, without computed terms.
    pub fn copy(&self) -> Self {
        Self {
            side: self.side,
            iteration: self.iteration.clone(),
            fixed: self.fixed.clone(),
            guards: self.guards.clone(),
            ranges: self.ranges.guarded(&[]),
            certain: self.certain,
            lifted: HashMap::new(),
            computed: HashMap::new(),
            conds: HashMap::new(),
        }
    }
}

impl<'a> Encoder<'a> {
    /// Returns an encoder without unknowns.
    pub fn new(setting: Setting<'a>, group: Group) -> Self {
        Self {
            setting,
            group,
            atoms: Vec::new(),
            facts: Vec::new(),
            needs: BTreeSet::new(),
            opaque: BTreeSet::new(),
            seen: Seen::default(),
        }
    }

    /// Adds an unknown.
    pub fn fresh(&mut self, name: &str, range: Range) -> Atom {
        let atom = Atom(self.atoms.len() as u32);
        self.atoms.push(AtomInfo { name: format!("{name}.{}", atom.0), range });
        atom
    }

    /// Returns the range of a term, from the ranges of its unknowns and of the remainders in it.
    pub fn range(&self, lin: &Lin) -> Range {
        let all = lin.terms.iter().fold(Range::one(lin.constant), |sum, (atom, c)| {
            sum.plus(self.atoms[atom.0 as usize].range.times(Range::one(*c)))
        });
        self.with_remainder(lin).map_or(all, |narrow| all.meet(narrow))
    }

    /// Returns the unknown for this value, and whether it is new: the query did not mention the value before.
    fn keyed(&mut self, key: Key, name: &str, range: Range) -> (Lin, bool) {
        if let Some(atom) = self.seen.shared.get(&key) {
            return (Lin::atom(*atom), false);
        }
        if range.lo == range.hi {
            return (Lin::constant(range.lo), false);
        }
        let atom = self.fresh(name, range);
        self.seen.shared.insert(key, atom);
        (Lin::atom(atom), true)
    }

    /// Returns `blockDim`.
    pub fn ntid(&mut self, axis: Axis) -> Lin {
        let range = self.special(Expr::Ntid(axis));
        self.keyed(Key::Ntid(axis), &format!("blockDim.{axis:?}"), range).0
    }

    /// Returns `gridDim`.
    pub fn nctaid(&mut self, axis: Axis) -> Lin {
        let range = self.special(Expr::Nctaid(axis));
        self.keyed(Key::Nctaid(axis), &format!("gridDim.{axis:?}"), range).0
    }

    /// Returns `threadIdx` of a side.
    pub fn tid(&mut self, side: usize, axis: Axis) -> Encoded<Lin> {
        if side >= FIRST_OF_BLOCK {
            return Ok(Lin::constant(0));
        }
        let name = format!("threadIdx.{axis:?}@{side}");
        self.index(Key::Tid(side, axis), &name, Expr::Tid(axis), |encoder| encoder.ntid(axis))
    }

    /// Returns `blockIdx` of a side. Threads of one block share it.
    pub fn ctaid(&mut self, side: usize, axis: Axis) -> Encoded<Lin> {
        let side = if self.group == Group::Grid { side % FIRST_OF_BLOCK } else { 0 };
        let name = format!("blockIdx.{axis:?}@{side}");
        self.index(Key::Ctaid(side, axis), &name, Expr::Ctaid(axis), |encoder| encoder.nctaid(axis))
    }

    /// Returns an index, which is below `count`.
    fn index(
        &mut self,
        key: Key,
        name: &str,
        node: Expr,
        count: impl FnOnce(&mut Self) -> Lin,
    ) -> Encoded<Lin> {
        let (index, is_new) = self.keyed(key, name, self.special(node));
        if is_new {
            let count = count(self);
            self.facts.push(Formula::lt(&index, &count)?);
        }
        Ok(index)
    }

    /// Returns the range of a special register.
    fn special(&self, node: Expr) -> Range {
        special(node, self.setting.protocol, self.setting.launch)
    }

    /// Returns the linear thread index in the block.
    pub fn linear_tid(&mut self, side: usize) -> Encoded<Lin> {
        let mut linear = self.tid(side, Axis::Z)?;
        for axis in [Axis::Y, Axis::X] {
            let ntid = self.ntid(axis);
            linear = self.product(&linear, &ntid)?;
            linear = linear.plus(1, &self.tid(side, axis)?)?;
        }
        Ok(linear)
    }

    /// Returns the warp's number in the block, and the lane.
    pub fn warp_and_lane(&mut self, side: usize) -> Encoded<(Lin, Lin)> {
        let linear = self.linear_tid(side)?;
        self.divide(&linear, 32)
    }

    /// Returns the lift of an expression.
    pub fn lift(&mut self, f: &mut Frame<'a>, id: ExprId, view: View) -> Encoded<Lin> {
        if let Some(lin) = f.lifted.get(&(id, view)) {
            return Ok(lin.clone());
        }
        let lin = self.lift_node(f, id, view)?;
        f.lifted.insert((id, view), lin.clone());
        Ok(lin)
    }

    /// Returns the value of an expression in a view.
    pub fn computed(&mut self, f: &mut Frame<'a>, id: ExprId, view: View) -> Encoded<Lin> {
        let exprs = self.setting.exprs;
        if let Expr::Const { width, bits } = exprs.get(id) {
            return Ok(Lin::constant(view.read(width, bits)));
        }
        if let Some(lin) = f.computed.get(&(id, view)) {
            return Ok(lin.clone());
        }
        let lift = self.lift(f, id, view)?;
        let width = exprs.width(id);
        let all = view.all(width);
        let value = if f.ranges.fits(id, view) || self.range(&lift).within(all) {
            lift
        } else if self.setting.wrap == Wrap::Assume && f.certain && width != Width::W1 {
            let guards = f.guards.clone();
            self.needs.insert(Condition::Fits { value: id, signed: view == View::Signed, guards });
            let fits = Formula::within(&lift, all)?;
            self.facts.push(fits);
            lift
        } else {
            self.wrapped(&lift, width, view)?
        };
        f.computed.insert((id, view), value.clone());
        Ok(value)
    }

    /// Returns the number in the view that is congruent to `lin`.
    pub(crate) fn wrapped(&mut self, lin: &Lin, width: Width, view: View) -> Encoded<Lin> {
        let all = view.all(width);
        let range = self.range(lin);
        if range.within(all) {
            return Ok(lin.clone());
        }
        if !range.bounded() {
            return Err(TooBig);
        }
        let size = 1i128 << width.bits();
        let times = Range::new((range.lo - all.lo).div_euclid(size), (range.hi - all.lo).div_euclid(size));
        let (wraps, is_new) = self.keyed(Key::Wraps(lin.clone(), width, view), "wraps", times);
        let value = lin.plus(-size, &wraps)?;
        if is_new {
            let fact = Formula::within(&value, all)?;
            self.facts.push(fact);
        }
        Ok(value)
    }

    /// Returns the lift of an expression that is not known yet.
    fn lift_node(&mut self, f: &mut Frame<'a>, id: ExprId, view: View) -> Encoded<Lin> {
        let exprs = self.setting.exprs;
        match exprs.get(id) {
            Expr::Const { width, bits } => Ok(Lin::constant(lift_constant(width, bits))),
            Expr::Tid(axis) => self.tid(f.side, axis),
            Expr::Ctaid(axis) => self.ctaid(f.side, axis),
            Expr::Ntid(axis) => Ok(self.ntid(axis)),
            Expr::Nctaid(axis) => Ok(self.nctaid(axis)),
            Expr::DynamicShared => {
                let range = self.special(Expr::DynamicShared);
                Ok(self.keyed(Key::DynamicShared, "dynamic_smem_size", range).0)
            }
            Expr::Lane => Ok(self.warp_and_lane(f.side)?.1),
            Expr::Param { id: param, width } => self.param(param, width, view),
            Expr::Opaque { id: opaque, width } => self.opaque(f, opaque, width, view),
            Expr::Iteration(of) => match f.iteration.get(&of) {
                Some(k) => Ok(k.clone()),
                None => Ok(Lin::atom(self.fresh("iteration", View::Signed.all(Width::W64)))),
            },
            Expr::Total { of, .. } => self.total(f, of),
            Expr::Var { id: var, width } => self.var(f, var, width, view),
            Expr::Bin(BinOp::And | BinOp::Or | BinOp::Xor, a, _) if exprs.width(a) == Width::W1 => {
                let cond = self.cond(f, id)?;
                self.choice(cond, &Lin::constant(1), &Lin::constant(0))
            }
            Expr::Bin(op, a, b) => {
                if matches!(op, BinOp::And | BinOp::Or | BinOp::Xor | BinOp::LShr | BinOp::Add)
                    && let Some(value) = self.parities(f, id)?
                {
                    return Ok(value);
                }
                self.lift_bin(f, op, a, b, view)
            }
            Expr::Cmp(..) => {
                let cond = self.cond(f, id)?;
                self.choice(cond, &Lin::constant(1), &Lin::constant(0))
            }
            Expr::Select(c, a, b) => {
                let cond = self.cond(f, c)?;
                let (a, b) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                self.choice(cond, &a, &b)
            }
            Expr::Cast(Cast::Zext, _, a) => self.computed(f, a, View::Unsigned),
            Expr::Cast(Cast::Sext, _, a) => self.computed(f, a, View::Signed),
            Expr::Cast(Cast::Trunc, _, a) => self.lift(f, a, view),
        }
    }

    /// Returns a parameter in a view. What the query says of it in the other view is linked to it.
    fn param(&mut self, id: ParamId, width: Width, view: View) -> Encoded<Lin> {
        if let Some(launch) = self.setting.launch
            && let Some(bits) = launch.params.get(id.0 as usize)
        {
            return Ok(Lin::constant(view.read(width, *bits)));
        }
        let name = self.setting.protocol.params.get(id.0 as usize).map_or("?", |p| &p.name);
        let (value, is_new) = self.keyed(Key::Param(id, view), name, view.all(width));
        if is_new {
            let other = if view == View::Signed { View::Unsigned } else { View::Signed };
            if let Some(same) = self.seen.shared.get(&Key::Param(id, other)) {
                let same = Lin::atom(*same);
                self.link(&value, view, &same, width)?;
            }
        }
        Ok(value)
    }

    /// Returns the term of a parameter, if the query mentions it.
    pub fn known_param(&self, id: u32) -> Option<Lin> {
        [View::Signed, View::Unsigned]
            .into_iter()
            .find_map(|view| self.seen.shared.get(&Key::Param(ParamId(id), view)))
            .map(|atom| Lin::atom(*atom))
    }

    /// Adds the fact that two numbers, one in `view` and one in the other view, have one bit
    /// pattern.
    fn link(&mut self, value: &Lin, view: View, other: &Lin, width: Width) -> Encoded<()> {
        let (signed, unsigned) = if view == View::Signed { (value, other) } else { (other, value) };
        let zero = Lin::constant(0);
        let fact = Formula::any([
            Formula::all([Formula::le(&zero, signed)?, Formula::eq(signed, unsigned)?]),
            Formula::all([
                Formula::lt(signed, &zero)?,
                Formula::eq(&signed.shifted(1 << width.bits())?, unsigned)?,
            ]),
        ]);
        self.facts.push(fact);
        Ok(())
    }
}
