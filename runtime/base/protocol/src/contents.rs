//! What is known of the values that a launch loads from memory that it does not change: their range, and whether they
//! are sorted or distinct. So threads that write to `out[permutation[i]]`, or to the elements from `rows[i]` to
//! `rows[i + 1]`, have elements of their own.
//!
//! The runtime looks at the memory before the launch. [`wanted`] says which values are worth that, and
//! [`Wanted::bytes`] where they lie. [`keep_unchanged`] forgets memory that the launch may change. What remains holds
//! for each load of these values, so it is a fact about the launch like the values of its arguments.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bounds::{self, Bounds};
use crate::condition::{Condition, ConditionTest};
use crate::expr::{BinOp, Cast, CmpOp, Expr, ExprId, Exprs, OpaqueId, Width};
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{ObjectId, ObjectKind, Op, Protocol, SiteId, Space, Step, Stmt};
use crate::range::{Loops, Range, Ranges, View};
use crate::uniform::uniform_value;

/// The most lists of choices among which values may be distinct.
const MOST_LISTS: usize = 4;

/// Values of one width in one object, which does not change while the launch runs. As numbers they are signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Contents {
    /// The object.
    pub object: ObjectId,
    /// The opaque values that plain loads of these values yield.
    pub loads: Vec<OpaqueId>,
    /// The first byte of the first value, and the end of the last one, from the object's base. The values lie one
    /// behind the other. A load elsewhere ends the launch.
    pub bytes: (i64, i64),
    /// Bounds of all values, inclusive.
    pub range: (i64, i64),
    /// No value is less than one before it.
    pub sorted: bool,
    /// Elements whose values are distinct.
    pub distinct: Vec<Distinct>,
}

/// Elements with distinct values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Distinct {
    /// They are the elements that all of these choose.
    pub choices: Vec<Choice>,
    /// The values of two of them are at least so far apart: 1 or more.
    pub apart: i64,
}

/// Chooses the elements at whose index another array, or the same one, has a value of some range.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// The opaque value that is loaded at this index.
    pub value: OpaqueId,
    /// The range, inclusive.
    pub range: (i64, i64),
    /// False for the elements with a value outside of the range.
    pub inside: bool,
}

impl Launch {
    /// What is known of an opaque value that is loaded.
    pub fn contents_of(&self, value: OpaqueId) -> Option<&Contents> {
        self.contents.iter().find(|contents| contents.loads.contains(&value))
    }
}

/// Values that proofs may need to know about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The object that they lie in.
    pub object: ObjectId,
    /// Their width.
    pub width: Width,
    /// The opaque values that the loads yield, each with the site of its load.
    loads: Vec<(OpaqueId, SiteId)>,
    /// Among the elements that each list chooses, it matters whether values are distinct.
    distinct: Vec<Vec<Guard>>,
}

/// A guard on a value that is loaded at the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guard {
    value: OpaqueId,
    /// Compares this value with one that all threads share. It has this truth.
    op: CmpOp,
    /// The value is the first operand.
    first: bool,
    with: ExprId,
    truth: bool,
}

/// Returns the loaded values on which the addresses of accesses rest, or whether and how often threads make them.
/// `is_open` says which sites are not proved. Values that lead to others come first.
pub fn wanted(protocol: &Protocol, is_open: impl Fn(SiteId) -> bool) -> Vec<Wanted> {
    if protocol.opaques.iter().all(|opaque| opaque.loaded_by.is_none()) {
        return Vec::new();
    }
    let places = Place::all(protocol);
    let loads = Loads::of(protocol, &places);
    let (open, only_read): (Vec<_>, Vec<_>) = places
        .iter()
        .filter(|place| is_open(place.access.site))
        .partition(|place| loads.written.contains(&place.access.object));
    let (mut in_address, mut in_control) = (Mentioned::new(protocol), Mentioned::new(protocol));
    open.iter().for_each(|place| in_address.add(place.access.offset));
    // Bounds show that these stay within their memory.
    only_read.iter().for_each(|place| in_control.add(place.access.offset));
    for place in open.iter().chain(&only_read) {
        place.guards().iter().for_each(|(cond, _)| in_control.add(*cond));
        for of in place.loops() {
            in_control.add(of.cond);
            of.breaks.iter().for_each(|breaks| in_control.add(breaks.unless));
        }
    }
    let mut found: Vec<Wanted> = Vec::new();
    // An opaque value comes behind those that its address rests on. So this meets it first.
    for index in (0..protocol.opaques.len()).rev() {
        let id = OpaqueId(index as u32);
        let distinct = in_address.values.contains(&id);
        let Some(load) = loads.load_of(id).filter(|_| distinct || in_control.values.contains(&id)) else {
            continue;
        };
        let mentions = if distinct { &mut in_address } else { &mut in_control };
        mentions.add(load.access.offset);
        let (object, width) = (load.access.object, protocol.opaques[index].width);
        let at = found.iter().position(|known| (known.object, known.width) == (object, width));
        let at = at.unwrap_or_else(|| {
            found.push(Wanted { object, width, loads: Vec::new(), distinct: Vec::new() });
            found.len() - 1
        });
        found[at].loads.push((id, load.access.site));
        if distinct {
            let chosen = open.iter().filter(|place| {
                protocol.exprs.mentions(
                    place.access.offset,
                    |node| matches!(node, Expr::Opaque { id: of, .. } if of == id),
                )
            });
            for guards in [Vec::new()].into_iter().chain(chosen.map(|place| loads.guards(place, id))) {
                if !found[at].distinct.contains(&guards) && found[at].distinct.len() < MOST_LISTS {
                    found[at].distinct.push(guards);
                }
            }
        }
    }
    found.reverse();
    found
}

/// The loads whose values may be looked at.
struct Loads<'a> {
    protocol: &'a Protocol,
    places: &'a [Place<'a>],
    written: BTreeSet<ObjectId>,
}

impl<'a> Loads<'a> {
    fn of(protocol: &'a Protocol, places: &'a [Place<'a>]) -> Self {
        let written = places.iter().filter(|place| place.access.op.writes()).map(|place| place.access.object);
        Self { protocol, places, written: written.collect() }
    }

    /// The load that yields an opaque value, if it is a plain one of a whole element of an array that the kernel does
    /// not write to.
    fn load_of(&self, id: OpaqueId) -> Option<&'a Place<'a>> {
        let opaque = self.protocol.opaques.get(id.0 as usize)?;
        let site = opaque.loaded_by?;
        let place = Place::only(self.places, site)?;
        let size = u64::from(opaque.width.bits() / 8);
        let object = place.access.object;
        let kind = &self.protocol.objects.get(object.0 as usize)?.kind;
        let is_array = matches!(kind, ObjectKind::Param(_) | ObjectKind::Variable { .. });
        let exprs = &self.protocol.exprs;
        (size > 0
            && opaque.range.is_none()
            && place.access.op == Op::Read
            && !self.written.contains(&object)
            && is_array
            && exprs.as_const(place.access.size) == Some(size)
            && is_multiple(exprs, place.access.offset, size))
        .then_some(place)
    }

    /// The guards of an access on values that are loaded at the same index as this one.
    fn guards(&self, place: &Place, id: OpaqueId) -> Vec<Guard> {
        let index = |id| {
            let load = self.load_of(id)?;
            element(&self.protocol.exprs, load.access.offset, self.protocol.exprs.as_const(load.access.size)?)
        };
        let Some(own) = index(id) else { return Vec::new() };
        let mut found = Vec::new();
        let mut pending = place.guards();
        while let Some((cond, truth)) = pending.pop() {
            match self.protocol.exprs.get(cond) {
                Expr::Bin(BinOp::And, a, b) if truth => pending.extend([(a, true), (b, true)]),
                Expr::Bin(BinOp::Or, a, b) if !truth => pending.extend([(a, false), (b, false)]),
                Expr::Bin(BinOp::Xor, a, b) if self.protocol.exprs.as_const(b) == Some(1) => {
                    pending.push((a, !truth));
                }
                Expr::Cmp(op, a, b) => {
                    for (first, of, with) in [(true, a, b), (false, b, a)] {
                        if let Expr::Opaque { id: value, .. } = self.protocol.exprs.get(of)
                            && index(value) == Some(own)
                        {
                            found.push(Guard { value, op, first, with, truth });
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl Guard {
    /// The choice that the guard makes in a launch. `None` if the launch does not know what the value is compared with.
    fn choice(self, protocol: &Protocol, launch: &Launch) -> Option<Choice> {
        let width = protocol.opaques.get(self.value.0 as usize)?.width;
        let with = uniform_value(&protocol.exprs, launch, self.with)?;
        let signed = View::Signed.all(width);
        let (with, unsigned) = (View::Signed.read(width, with), View::Unsigned.read(width, with));
        // In the signed view, small unsigned numbers are those from 0 on.
        let (lo, hi) = match (self.op, self.first) {
            (CmpOp::Eq | CmpOp::Ne, _) => (with, with),
            (CmpOp::Slt, true) => (signed.lo, with - 1),
            (CmpOp::Sle, true) => (signed.lo, with),
            (CmpOp::Slt, false) => (with + 1, signed.hi),
            (CmpOp::Sle, false) => (with, signed.hi),
            (CmpOp::Ult, true) => (0, unsigned - 1),
            (CmpOp::Ule, true) => (0, unsigned),
            // The numbers that are not above.
            (CmpOp::Ult, false) => (0, unsigned),
            (CmpOp::Ule, false) => (0, unsigned - 1),
        };
        if hi > signed.hi {
            return None;
        }
        let is_negated = self.op == CmpOp::Ne || matches!(self.op, CmpOp::Ult | CmpOp::Ule) && !self.first;
        let range = (i64::try_from(lo).ok()?, i64::try_from(hi).ok()?);
        Some(Choice { value: self.value, range, inside: self.truth != is_negated })
    }
}

/// The index of the element at an offset, if the offset is written as its product with the elements' size.
fn element(exprs: &Exprs, offset: ExprId, size: u64) -> Option<ExprId> {
    match exprs.get(offset) {
        _ if size == 1 => Some(offset),
        Expr::Bin(BinOp::Mul, a, b) if exprs.as_const(b) == Some(size) => Some(a),
        Expr::Bin(BinOp::Shl, a, b) if exprs.as_const(b) == Some(u64::from(size.trailing_zeros())) => Some(a),
        _ => None,
    }
}

impl Wanted {
    /// The first byte and the end of the values that a launch may load, from the object's base. `None` if that is not
    /// known, or if there are none. The launch may know values that lead to these.
    pub fn bytes(&self, protocol: &Protocol, launch: &Launch) -> Option<(i64, i64)> {
        let bounds = Bounds::of(protocol, Some(launch), self.object)?;
        if bounds == Bounds::Addresses {
            return None;
        }
        let ranges = Ranges::new(protocol, &protocol.exprs, Some(launch));
        let places = Place::all(protocol);
        let mut all: Option<Range> = None;
        for place in &places {
            if self.loads.iter().any(|(_, site)| *site == place.access.site) {
                let bytes = bounds.clip(bounds::offsets(&ranges, place))?;
                if bytes.lo <= bytes.hi {
                    all = Some(all.map_or(bytes, |all| all.hull(bytes)));
                }
            }
        }
        let (bytes, size) = (all?, i128::from(self.width.bits() / 8));
        let (from, to) = (-(-bytes.lo).div_euclid(size) * size, (bytes.hi + 1).div_euclid(size) * size);
        if from >= to {
            return None;
        }
        Some((i64::try_from(from).ok()?, i64::try_from(to).ok()?))
    }

    /// The description of the values in these bytes, of which nothing is known yet.
    pub fn described(&self, bytes: (i64, i64)) -> Contents {
        let range = View::Signed.all(self.width);
        Contents {
            object: self.object,
            loads: self.loads.iter().map(|(id, _)| *id).collect(),
            bytes,
            range: (range.lo as i64, range.hi as i64),
            sorted: false,
            distinct: Vec::new(),
        }
    }

    /// Lists of choices of elements. It matters for each whether the values are distinct. All arrays have been
    /// looked at where these values lie.
    pub fn choices<'l>(
        &'l self,
        protocol: &'l Protocol,
        launch: &'l Launch,
        own: &'l Contents,
    ) -> impl Iterator<Item = Vec<Choice>> + 'l {
        let covers = |choice: &Choice| {
            let of = launch.contents_of(choice.value)?;
            let size = i64::from(protocol.opaques[choice.value.0 as usize].width.bits() / 8);
            let own_size = i64::from(self.width.bits() / 8);
            (of.bytes.0 / size <= own.bytes.0 / own_size && own.bytes.1 / own_size <= of.bytes.1 / size)
                .then_some(())
        };
        self.distinct.iter().map(move |guards| {
            let choices = guards.iter().filter_map(|guard| guard.choice(protocol, launch));
            choices.filter(|choice| covers(choice).is_some()).collect()
        })
    }
}

/// Forgets the contents of memory that the launch may change, and those behind them: where their values lie may rest on
/// what changes.
///
/// The launch's other contents serve to show that. This is no circle: up to the first change of memory that was
/// looked at, all loads yield what was seen there. So that change's address is one that follows from these values.
pub fn keep_unchanged(protocol: &Protocol, launch: &mut Launch) {
    loop {
        let changed = launch.contents.iter().position(|of| !is_unchanged(protocol, launch, of.object));
        let Some(changed) = changed else { return };
        launch.contents.truncate(changed);
    }
}

/// The opaque values that expressions mention, also through the variables of loops.
struct Mentioned<'a> {
    exprs: &'a Exprs,
    loops: Loops<'a>,
    seen: BTreeSet<ExprId>,
    values: BTreeSet<OpaqueId>,
}

impl<'a> Mentioned<'a> {
    fn new(protocol: &'a Protocol) -> Self {
        let (seen, values) = (BTreeSet::new(), BTreeSet::new());
        Self { exprs: &protocol.exprs, loops: Loops::of(protocol), seen, values }
    }

    fn add(&mut self, id: ExprId) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            let node = self.exprs.get(id);
            pending.extend(node.operands());
            match node {
                Expr::Opaque { id, .. } => {
                    self.values.insert(id);
                }
                Expr::Var { id, .. } => {
                    if let Some(info) = self.loops.vars.get(&id) {
                        pending.push(info.var.from);
                        if let Step::Add(step) = info.var.step {
                            pending.push(step);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// True if a value, as a number that does not wrap, is always a multiple of a power of two. Wrapping keeps that.
fn is_multiple(exprs: &Exprs, id: ExprId, of: u64) -> bool {
    let is = |id| is_multiple(exprs, id, of);
    match exprs.get(id) {
        _ if of == 1 => true,
        Expr::Const { bits, .. } => bits % of == 0,
        Expr::Bin(BinOp::Add | BinOp::Sub, a, b) => is(a) && is(b),
        Expr::Bin(BinOp::Mul, a, b) => is(a) || is(b),
        Expr::Bin(BinOp::Shl, a, b) => {
            is(a) || exprs.as_const(b).is_some_and(|by| by >= u64::from(of.trailing_zeros()))
        }
        Expr::Bin(BinOp::And, a, b) => is(a) || is(b),
        Expr::Select(_, a, b) => is(a) && is(b),
        Expr::Cast(Cast::Zext | Cast::Sext, _, a) => is(a),
        _ => false,
    }
}

/// True if no access of a launch changes an object.
fn is_unchanged(protocol: &Protocol, launch: &Launch, object: ObjectId) -> bool {
    let places = Place::all(protocol);
    let written: BTreeSet<_> =
        places.iter().filter(|place| place.access.op.writes()).map(|place| place.access.object).collect();
    let test = ConditionTest::new(protocol, &protocol.exprs, launch, None);
    !may_touch_global(&protocol.body)
        && written.into_iter().all(|other| match &protocol.objects[other.0 as usize].kind {
            kind if !kind.may_lie_in(Space::Global) => true,
            ObjectKind::Opaque { .. } => false,
            _ => other != object && test.holds(&Condition::Disjoint(object.min(other), object.max(other))),
        })
}

/// True if a statement that the protocol does not describe may touch global memory.
pub fn may_touch_global(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Unknown(unknown) => unknown.touches.is_some_and(|space| space != Space::Shared),
        Stmt::Loop(of) => may_touch_global(&of.body),
        Stmt::If { then, otherwise, .. } => may_touch_global(then) || may_touch_global(otherwise),
        Stmt::Access(_) | Stmt::Sync(_) => false,
    })
}
