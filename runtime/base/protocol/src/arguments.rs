//! The argument buffer of a launch, as protocols see it: behind the arguments lie the variables in constant memory.
//! Also what threads read of it at places that they compute: elements of arrays in structs that are passed by value,
//! such as `meta.addresses[depth][tensor]`, and elements of tables in constant memory.
//!
//! A launch has only the elements that the protocol's places can name. The other bytes of the
//! argument buffer may be padding, or elements that the host has not set.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::expr::{BinOp, Cast, Expr, ExprId, Exprs, Width};
use crate::launch::{Extent, Launch};
use crate::place::Place;
use crate::protocol::{ObjectKind, Param, Protocol};
use crate::range::{Ranges, View};

/// The largest number of places that one expression may name.
const MOST: i128 = 2048;

/// A variable in constant memory, or a table of the program that never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantVariable {
    /// Mangled name.
    pub symbol: String,
    /// Bytes, at most [`MOST_CONSTANT_BYTES`].
    pub size: u64,
    /// The content of a table that never changes.
    pub fixed: Option<Vec<u8>>,
}

/// Bytes of constant memory.
pub const MOST_CONSTANT_BYTES: u32 = 1 << 16;

impl ConstantVariable {
    /// Behind all arguments: CUDA takes at most 32,764 bytes of them.
    const FIRST: u32 = 1 << 16;
    /// From one variable to the next. An index that leaves a variable does not reach another one.
    const APART: u32 = 4 * MOST_CONSTANT_BYTES;

    /// Where the variable of an index lies in the argument buffer.
    pub fn place(index: usize) -> u32 {
        Self::FIRST + index as u32 * Self::APART
    }
}

impl Protocol {
    /// The variable in constant memory that holds so many bytes at a place of the argument buffer, and their distance
    /// from its start.
    pub fn constant_at(&self, offset: u32, bytes: u32) -> Option<(&ConstantVariable, u32)> {
        let behind = offset.checked_sub(ConstantVariable::FIRST)?;
        let (index, distance) = (behind / ConstantVariable::APART, behind % ConstantVariable::APART);
        let constant = self.constants.get(index as usize)?;
        (u64::from(distance) + u64::from(bytes) <= constant.size).then_some((constant, distance))
    }

    /// The number of this width at a place of the argument buffer where a table lies that never changes.
    pub fn fixed_at(&self, offset: u32, width: Width) -> Option<u64> {
        let bytes = width.bits().div_ceil(8);
        let (table, distance) = self.constant_at(offset, bytes)?;
        let content = table.fixed.as_ref()?.get(distance as usize..)?.get(..bytes as usize)?;
        Some(content.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

impl Param {
    /// True if it lies in constant memory.
    pub fn is_constant(&self) -> bool {
        self.offset >= ConstantVariable::FIRST
    }
}

/// Elements of the argument buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ComputedArguments {
    /// Numbers: the first byte, the width, and the value. In order.
    pub values: Vec<(u32, Width, u64)>,
    /// Pointers: the first byte, and the memory that it points to. In order.
    pub pointers: Vec<(u32, Extent)>,
}

impl ComputedArguments {
    /// The number at a place.
    pub fn value(&self, at: i128, width: Width) -> Option<u64> {
        let at = u32::try_from(at).ok()?;
        let found = self.values.binary_search_by_key(&(at, width), |(at, width, _)| (*at, *width)).ok()?;
        Some(self.values[found].2)
    }

    /// The memory behind the pointer at a place.
    pub fn pointer(&self, at: i128) -> Option<Extent> {
        let at = u32::try_from(at).ok()?;
        let found = self.pointers.binary_search_by_key(&at, |(at, _)| *at).ok()?;
        Some(self.pointers[found].1)
    }
}

/// Places in the argument buffer at equal distances, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Places {
    first: i128,
    distance: i128,
    count: i128,
}

impl Iterator for Places {
    type Item = i128;

    fn next(&mut self) -> Option<i128> {
        self.count = self.count.checked_sub(1).filter(|left| *left >= 0)?;
        let place = self.first;
        self.first += self.distance;
        Some(place)
    }
}

/// The places in the argument buffer that an expression may name. `None` if there are too many.
pub fn places(ranges: &mut Ranges<'_>, at: ExprId) -> Option<Places> {
    let range = ranges.computed(at, View::Signed);
    let (distance, residue) = congruence(ranges, at, &mut HashMap::new());
    let first = range.lo + (residue - range.lo).rem_euclid(distance.max(1));
    let count = if distance == 0 { 1 } else { (range.hi - first).div_euclid(distance) + 1 };
    let first = if distance == 0 { residue } else { first };
    (range.bounded() && (1..=MOST).contains(&count)).then_some(Places { first, distance, count })
}

/// A modulus and a residue: the expression, read as a signed number, is congruent to the residue. If the
/// modulus is 0, it is the residue.
fn congruence(
    ranges: &mut Ranges<'_>,
    id: ExprId,
    known: &mut HashMap<ExprId, (i128, i128)>,
) -> (i128, i128) {
    if let Some(known) = known.get(&id) {
        return *known;
    }
    let exprs: &Exprs = ranges.exprs();
    let width = exprs.width(id);
    let scaled = |(modulus, residue): (i128, i128), by: i128| {
        modulus.checked_mul(by).map(i128::abs).zip(residue.checked_mul(by))
    };
    let found = match exprs.get(id) {
        Expr::Const { width, bits } => return (0, View::Signed.read(width, bits)),
        Expr::Bin(BinOp::Add, a, b) => {
            let (x, y) = (congruence(ranges, a, known), congruence(ranges, b, known));
            (gcd(x.0, y.0), x.1 + y.1)
        }
        Expr::Bin(BinOp::Mul, a, b) if let Some(bits) = exprs.as_const(b) => {
            let by = View::Signed.read(width, bits);
            scaled(congruence(ranges, a, known), by).unwrap_or((1, 0))
        }
        Expr::Bin(BinOp::Shl, a, b)
            if let Some(by) = exprs.as_const(b).filter(|by| *by < u64::from(width.bits())) =>
        {
            scaled(congruence(ranges, a, known), 1 << by).unwrap_or((1, 0))
        }
        // Read with the other sign, a number of fewer bits differs by a power of two.
        Expr::Cast(Cast::Zext | Cast::Sext, _, a) => {
            let (modulus, residue) = congruence(ranges, a, known);
            let same = ranges.fits(a, View::Signed) && ranges.fits(a, View::Unsigned);
            (if same { modulus } else { gcd(modulus, 1 << exprs.width(a).bits()) }, residue)
        }
        _ => (1, 0),
    };
    let fits = ranges.fits(id, View::Signed);
    let modulus = if fits { found.0 } else { gcd(found.0, 1 << width.bits()) };
    let residue = if modulus == 0 { found.1 } else { found.1.rem_euclid(modulus) };
    known.insert(id, (modulus, residue));
    (modulus, residue)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// Adds to a launch what its threads may read of its arguments at computed places. `read` returns a
/// number of this width in the argument buffer, if all its bytes lie there. `behind` returns the
/// memory behind a pointer. Tables that never change are known without `read`.
pub fn read(
    protocol: &Protocol,
    launch: &mut Launch,
    read: &dyn Fn(u32, Width) -> Option<u64>,
    behind: &dyn Fn(u64) -> Extent,
) {
    launch.computed = ComputedArguments::default();
    let slots = protocol.objects.iter().any(|object| matches!(object.kind, ObjectKind::Slot { .. }));
    if !slots && protocol.opaques.iter().all(|opaque| opaque.argument.is_none()) {
        return;
    }
    // The place of one value may depend on another one, which comes before it.
    for opaque in &protocol.opaques {
        let Some(at) = opaque.argument else { continue };
        let places = places(&mut Ranges::new(protocol, &protocol.exprs, Some(launch)), at);
        for at in places.into_iter().flatten().filter_map(|at| u32::try_from(at).ok()) {
            if let Some(value) = protocol.fixed_at(at, opaque.width).or_else(|| read(at, opaque.width)) {
                launch.computed.values.push((at, opaque.width, value));
            }
        }
        launch.computed.values.sort_unstable();
        launch.computed.values.dedup();
    }
    let ranges = Ranges::new(protocol, &protocol.exprs, Some(launch));
    let mut pointers = Vec::new();
    for place in Place::all(protocol) {
        let object = protocol.objects.get(place.access.object.0 as usize);
        if let Some(ObjectKind::Slot { at }) = object.map(|object| &object.kind) {
            let slots = reached(&ranges, &place, *at).into_iter().flatten();
            pointers.extend(slots.filter_map(|at| u32::try_from(at).ok()));
        }
    }
    pointers.sort_unstable();
    pointers.dedup();
    let pointers = pointers.into_iter().filter_map(|at| Some((at, behind(read(at, Width::W64)?)))).collect();
    launch.computed.pointers = pointers;
}

/// The places of the pointer through which an access is made, in a launch. `None` if they are not known.
pub fn reached(ranges: &Ranges<'_>, place: &Place<'_>, at: ExprId) -> Option<Vec<i128>> {
    let guards = place.guards();
    let mut outside = ranges.guarded(&[]);
    if guards.iter().any(|(cond, value)| outside.known_truth(*cond).is_some_and(|is| is != *value)) {
        return Some(Vec::new());
    }
    Some(places(&mut ranges.guarded(&guards), at)?.collect())
}
