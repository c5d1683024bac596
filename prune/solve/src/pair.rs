//! Questions about one thread or two. The one about a pair of accesses: do two symbolic threads make them without a
//! barrier in between, and touch a common byte?

mod iterations;
pub mod lanes;
pub mod named;
pub mod phases;
mod way;

use std::collections::HashMap;

use gpurace_protocol::expr::{Axis, ExprId, LoopId, VarId};
use gpurace_protocol::group::Group;
use gpurace_protocol::interval::{Control, Gap, Meeting, Side};
use gpurace_protocol::lanes::LaneSets;
use gpurace_protocol::named::WarpSets;
use gpurace_protocol::place::{Place, Turn};
use gpurace_protocol::protocol::{Loop, ObjectKind};
use gpurace_protocol::range::{Range, View};

use self::way::{Way, moment};
use crate::digits;
use crate::encode::{Encoder, Frame, Setting};
use crate::linear::{Encoded, Formula, Lin};
use crate::tickets::{self, Counters};
use crate::tiles;
use crate::values::Fixed;

pub use self::way::{Detail, is_near};

/// The relation of two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// They are in one warp, and their lanes in one of these sets.
    SameLanes(LaneSets),
    /// They are in one of these sets of warps of one block.
    SameWarps(WarpSets),
    /// They are in one block.
    SameBlock,
    /// They are in different blocks.
    OtherBlock,
    /// They are one thread. It meets its own asynchronous copy, for which it has not waited yet.
    OwnThread,
}

impl Relation {
    /// Returns the relation of two threads of which the group holds both. Those of a grid are in different blocks.
    pub fn of(group: Group) -> Self {
        match group {
            Group::Lanes(lanes) => Self::SameLanes(lanes),
            Group::Warps(warps) => Self::SameWarps(warps),
            Group::Block => Self::SameBlock,
            Group::Grid => Self::OtherBlock,
        }
    }

    /// Returns the smallest group that contains both threads.
    pub fn group(self) -> Group {
        match self {
            Self::SameLanes(lanes) => Group::Lanes(lanes),
            Self::SameWarps(warps) => Group::Warps(warps),
            Self::SameBlock | Self::OwnThread => Group::Block,
            Self::OtherBlock => Group::Grid,
        }
    }
}

/// A question about one thread or two.
pub struct Question<'a> {
    /// The question's unknowns, facts and conditions on wrapping.
    pub encoder: Encoder<'a>,
    /// What it looks for, such as a race. Without a solution, it does not occur.
    pub sought: Vec<Formula>,
}

impl<'a> Question<'a> {
    /// Returns a question about threads in a group, which looks for nothing so far.
    fn new(setting: Setting<'a>, group: Group) -> Self {
        Self { encoder: Encoder::new(setting, group), sought: Vec::new() }
    }

    /// Returns the query whose answer may assume these candidates.
    pub fn assuming(self, candidates: &[ExprId]) -> Encoded<PairFormula<'a>> {
        let Self { mut encoder, sought } = self;
        let assumptions = assumptions(&mut encoder, candidates)?;
        encoder.contents_facts()?;
        encoder.product_facts()?;
        Ok(PairFormula { encoder, sought, assumptions })
    }
}

/// The formula of a query: a question with all facts about its unknowns.
pub struct PairFormula<'a> {
    /// The formula's unknowns, facts and conditions on wrapping.
    pub encoder: Encoder<'a>,
    /// What the query looks for.
    pub sought: Vec<Formula>,
    /// Optional assumptions: one formula for each candidate.
    pub assumptions: Vec<Formula>,
}

/// Returns each candidate as a formula.
pub fn assumptions(encoder: &mut Encoder, candidates: &[ExprId]) -> Encoded<Vec<Formula>> {
    let mut frame = Frame::uncertain(encoder.setting, 0, HashMap::new());
    candidates.iter().map(|cond| encoder.cond(&mut frame, *cond)).collect()
}

/// The two threads of a pair, and the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Related<'m> {
    /// The relation of the threads.
    pub relation: Relation,
    /// Groups of which none holds both: sets of lanes or of warps.
    pub not_both_in: &'m [Group],
    /// The distance from the first base to the second one, bytes.
    pub apart: i128,
    /// The counters whose tickets are distinct.
    pub counters: &'m Counters,
}

/// Asks about a pair. In loops whose iteration both threads share, the question covers only the iterations in which the
/// variables have their `fixed` values.
pub fn races<'a>(
    setting: Setting<'a>,
    (a, b): (&Place<'a>, &Place<'a>),
    meeting: &Meeting,
    Related { relation, not_both_in, apart, counters }: Related<'_>,
    fixed: &[(VarId, Fixed)],
    detail: Detail,
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, relation.group());
    let counts = |cond| match detail {
        Detail::Loops => false,
        Detail::Near => is_near(setting.exprs, [a, b], cond),
        Detail::All => true,
    };

    // Loops that both threads are in the same iteration of share its number.
    let mut iterations = HashMap::new();
    let mut ways = Vec::new();
    for (side, place) in [(0, a), (1, b)] {
        let together = |of: &Loop, var| fixed_value(fixed, var).filter(|_| meeting.same.contains(&of.id));
        let way = question.walk(side, &place.way, counts, together, |encoder, range, of| {
            let shared = meeting.same.contains(&of);
            let key = (of, if shared { 0 } else { side });
            iterations.entry(key).or_insert_with(|| Lin::atom(encoder.fresh("iteration", range))).clone()
        })?;
        ways.push(way);
    }
    let Question { encoder, sought } = &mut question;
    if let Some((of, early)) = meeting.later {
        let [early, late] = [early, other(early)].map(|side| iterations.get(&(of, side as usize)));
        if let (Some(early), Some(late)) = (early, late) {
            sought.push(Formula::lt(early, late)?);
        }
    }
    sought.push(gap(encoder, &ways, &meeting.gap, meeting.later)?);
    sought.push(distinct(encoder, relation)?);
    if relation == Relation::OwnThread && a.number == b.number {
        // A copy does not meet itself, but the copy of another iteration.
        sought.push(iterations_differ(encoder, &ways, a)?);
    }
    for group in not_both_in {
        sought.push(tiles::both_in_group(encoder, *group)?.negated());
    }
    sought.push(overlap(encoder, &mut ways, (a, b), relation, apart, sought)?);
    tickets::add_facts(encoder, counters, relation)?;
    for (way, place) in ways.iter().zip([a, b]) {
        encoder.loads_within(&way.frame, place)?;
    }
    Ok(question)
}

/// The value that a question fixes for a loop variable.
fn fixed_value(fixed: &[(VarId, Fixed)], var: VarId) -> Option<Fixed> {
    fixed.iter().find(|(id, _)| *id == var).map(|(_, value)| value.clone())
}

/// Returns the formula that the two ways to one access lead there in different iterations of its loops.
fn iterations_differ<'a>(
    encoder: &mut Encoder<'a>,
    ways: &[Way<'a>],
    access: &Place<'a>,
) -> Encoded<Formula> {
    let mut differ = Vec::new();
    let counted = access.loops().filter(|of| encoder.counts_all_rounds(of.id)).last().map(|of| of.id);
    for of in access.loops() {
        if Some(of.id) == counted {
            // A thread makes each iteration of all rounds once.
            differ.clear();
            let [k, l] = [0, 1].map(|side: usize| encoder.total(&ways[side].frame, of.id));
            differ.push(Formula::eq(&k?, &l?)?.negated());
        } else {
            let [k, l] = [0, 1].map(|side: usize| &ways[side].frame.iteration[&of.id]);
            differ.push(Formula::eq(k, l)?.negated());
        }
    }
    Ok(Formula::any(differ))
}

/// Asks whether a thread reaches the end of a way, in the first iterations of its loops or in any.
pub fn reach<'a>(setting: Setting<'a>, way: &[Turn<'a>], in_first: bool) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    if in_first {
        question.walk(0, way, |_| true, |_, _| None, |_, _, _| Lin::constant(0))?;
    } else {
        question.follow(0, way)?;
    }
    Ok(question)
}

/// Asks whether a thread makes an access that leaves these bytes of its object. Loop variables have their `fixed`
/// values.
pub fn beyond<'a>(
    setting: Setting<'a>,
    place: &Place<'a>,
    bytes: Range,
    fixed: &[(VarId, Fixed)],
) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, Group::Block);
    let counter = |encoder: &mut Encoder<'a>, range, _| Lin::atom(encoder.fresh("iteration", range));
    let value = |_: &Loop, var| fixed_value(fixed, var);
    let mut way = question.walk(0, &place.way, |_| true, value, counter)?;
    let Question { encoder, sought } = &mut question;
    let start = encoder.computed(&mut way.frame, place.access.offset, View::Signed)?;
    let size = encoder.computed(&mut way.frame, place.access.size, View::Unsigned)?;
    let end = start.plus(1, &size)?;
    sought.push(Formula::any([
        Formula::lt(&start, &Lin::constant(bytes.lo))?,
        Formula::lt(&Lin::constant(bytes.hi + 1), &end)?,
    ]));
    encoder.loads_within(&way.frame, place)?;
    Ok(question)
}

/// Asks whether two threads decide differently, although all threads must decide alike.
pub fn divergence<'a>(setting: Setting<'a>, control: &Control, relation: Relation) -> Encoded<Question<'a>> {
    let mut question = Question::new(setting, relation.group());
    let Question { encoder, sought } = &mut question;
    sought.push(distinct(encoder, relation)?);
    let mut counters: HashMap<LoopId, Lin> = HashMap::new();
    let mut conds = Vec::new();
    for side in [0, 1] {
        let mut frame = Frame::top(setting, side);
        for of in &control.loops {
            // The formula includes one more iteration than runs: the one that the condition ends.
            let range = Range::new(0, i128::from(i64::MAX));
            let k =
                counters.entry(*of).or_insert_with(|| Lin::atom(encoder.fresh("iteration", range))).clone();
            frame.iteration.insert(*of, k);
        }
        for &(cond, value) in &control.guards {
            sought.push(encoder.decided(&mut frame, (cond, value))?);
            frame.guard(cond, value);
        }
        conds.push(encoder.cond(&mut frame, control.cond)?);
    }
    sought.push(Formula::differ(conds[0].clone(), conds[1].clone()));
    Ok(question)
}

const fn other(side: Side) -> Side {
    match side {
        Side::A => Side::B,
        Side::B => Side::A,
    }
}

/// Returns the formula that no barrier lies between two accesses, to which these ways lead.
fn gap<'a>(
    encoder: &mut Encoder<'a>,
    ways: &[Way<'a>],
    gap: &Gap,
    later: Option<(LoopId, Side)>,
) -> Encoded<Formula> {
    let way = |side: &Side| &ways[usize::from(*side == Side::B)];
    let counter = |side: &Side, of: &LoopId| way(side).frame.iteration.get(of).cloned().unwrap_or_default();
    Ok(match gap {
        Gap::Always => Formula::True,
        Gap::Never => Formula::False,
        Gap::All(parts) | Gap::Any(parts) => {
            let formulas = parts.iter().map(|part| self::gap(encoder, ways, part, later));
            let formulas: Vec<Formula> = formulas.collect::<Encoded<_>>()?;
            if matches!(gap, Gap::All(_)) { Formula::all(formulas) } else { Formula::any(formulas) }
        }
        Gap::Cond { side, cond, value, at, certain } => {
            let mut frame = moment(encoder, way(side), at, *certain)?;
            encoder.decided(&mut frame, (*cond, *value))?
        }
        Gap::First(side, of) => Formula::eq(&counter(side, of), &Lin::constant(0))?,
        Gap::Last(side, of) => {
            let way = way(side);
            let Some(looped) = way.loops.get(of) else { return Ok(Formula::True) };
            // A thread that breaks does not come to the condition.
            encoder.ends(way, looped, looped.breaks.is_none())?
        }
        Gap::Few(few) => {
            let mut barriers = Lin::constant(0);
            for (of, each) in few.before.iter().chain(&few.between) {
                barriers = barriers.plus((*each).into(), &counter(&few.late, of))?;
            }
            if let Some((of, each)) = &few.between {
                barriers = barriers.plus(-i128::from(*each), &counter(&other(few.late), of).shifted(1)?)?;
            }
            Formula::le(&barriers, &Lin::constant(few.most.into()))?
        }
        Gap::Near(near) => {
            let [from, to] = near.of;
            let later = encoder.total(&way(&Side::B).frame, to)?;
            let later = later.minus(&encoder.total(&way(&Side::A).frame, from)?)?;
            let least = near.least.map(|least| Formula::le(&Lin::constant(least.into()), &later));
            let most = near.most.map(|most| Formula::le(&later, &Lin::constant(most.into())));
            Formula::all(least.into_iter().chain(most).collect::<Encoded<Vec<_>>>()?)
        }
        Gap::Adjacent(of) | Gap::Apart(of) => {
            let Some((_, early)) = later else { return Ok(Formula::True) };
            let (early, late) = (counter(&early, of), counter(&other(early), of));
            if matches!(gap, Gap::Adjacent(_)) {
                Formula::eq(&early.shifted(1)?, &late)?
            } else {
                Formula::le(&early.shifted(2)?, &late)?
            }
        }
    })
}

/// Returns the formula that the two threads have this relation: but for [`Relation::OwnThread`] they differ.
fn distinct(encoder: &mut Encoder, relation: Relation) -> Encoded<Formula> {
    let mut differ = Vec::new();
    for axis in Axis::ALL {
        let (x, y) = if relation == Relation::OtherBlock {
            (encoder.ctaid(0, axis)?, encoder.ctaid(1, axis)?)
        } else {
            (encoder.tid(0, axis)?, encoder.tid(1, axis)?)
        };
        differ.push(Formula::eq(&x, &y)?.negated());
    }
    let differ = Formula::any(differ);
    Ok(match relation {
        Relation::OwnThread => differ.negated(),
        Relation::SameBlock | Relation::OtherBlock => differ,
        Relation::SameLanes(_) | Relation::SameWarps(_) => {
            Formula::all([differ, tiles::both_in_group(encoder, relation.group())?])
        }
    })
}

/// Returns the place of an object's pointer in the arguments, if it has one there.
fn slot<'a>(encoder: &mut Encoder<'a>, way: &mut Way<'a>, kind: &ObjectKind) -> Encoded<Option<Lin>> {
    Ok(match kind {
        ObjectKind::Slot { at } => Some(encoder.computed(&mut way.frame, *at, View::Signed)?),
        ObjectKind::Param(id) => {
            Some(Lin::constant(encoder.setting.protocol.params[id.0 as usize].offset.into()))
        }
        _ => None,
    })
}

/// Returns the formula that the accesses touch a common byte and conflict. They meet only where `sought` holds.
fn overlap<'a>(
    encoder: &mut Encoder<'a>,
    ways: &mut [Way<'a>],
    (a, b): (&Place, &Place),
    relation: Relation,
    apart: i128,
    sought: &[Formula],
) -> Encoded<Formula> {
    let mut bytes = Vec::new();
    for (way, place) in ways.iter_mut().zip([a, b]) {
        let start = encoder.computed(&mut way.frame, place.access.offset, View::Signed)?;
        let size = encoder.computed(&mut way.frame, place.access.size, View::Unsigned)?;
        bytes.push((start, size));
    }
    let (start_a, size_a) = &bytes[0];
    let (start_b, size_b) = &bytes[1];
    let d = start_a.minus(start_b)?.shifted(-apart)?;
    let near = Range::new(1 - encoder.range(size_a).hi, encoder.range(size_b).hi - 1);
    let mut common = vec![
        Formula::lt(&d, size_b)?,
        Formula::lt(&d.times(-1)?, size_a)?,
        Formula::le(&Lin::constant(1), size_a)?,
        Formula::le(&Lin::constant(1), size_b)?,
    ];
    common.extend(digits::cuts(encoder, &d, near, sought)?);
    if let Some((alike, distance)) = encoder.where_loaded_alike(&d)? {
        common.push(alike.implies(Formula::all(digits::cuts(encoder, &distance, near, sought)?)));
    }
    let kinds = [a, b].map(|place| &encoder.setting.protocol.objects[place.access.object.0 as usize].kind);
    if kinds.iter().any(|kind| matches!(kind, ObjectKind::Slot { .. })) {
        // Through different pointers they share no byte, or the prover has not come here.
        let mut slots = Vec::new();
        for (way, kind) in ways.iter_mut().zip(kinds) {
            slots.extend(slot(encoder, way, kind)?);
        }
        if let [x, y] = &slots[..] {
            common.push(Formula::eq(x, y)?);
        }
    }
    let common = Formula::all(common);
    let same_block = relation != Relation::OtherBlock;
    if !a.access.op.is_atomic_with(b.access.op, same_block) {
        return Ok(common);
    }
    let same = Formula::all([Formula::eq(&d, &Lin::constant(0))?, Formula::eq(size_a, size_b)?]);
    Ok(Formula::all([common, same.negated()]))
}
