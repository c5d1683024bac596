//! One pair of accesses to one object: the relations of two threads, the ways in which they can
//! meet, and the proof for each.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::early_exits::meetings_beside_exits;
use gpurace_protocol::expr::{Expr, VarId};
use gpurace_protocol::group::Group;
use gpurace_protocol::interval::{Meeting, any_sync, holds_sync, meetings, unordered};
use gpurace_protocol::lanes::LaneSets;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::Turn;
use gpurace_protocol::protocol::{ObjectKind, Space, Sync};
use gpurace_protocol::verdict::Witness;

use super::{Failure, OUT_OF_TIME, Prover};
use crate::accepted::completed;
use crate::linear::{Encoded, Formula};
use crate::pair::{Detail, PairFormula, Related, Relation, is_near, races};
use crate::smt::{Answer, Query};
use crate::values::{Fixed, assignments, powers_in};
use crate::witness;

/// The reason for no proof where conditions rule out the accesses.
const NO_EXECUTION: &str = "the proof's assumptions leave no execution";

/// One question: can two threads of this relation race in two accesses if they meet in this way?
#[derive(Clone, Copy)]
struct Ask<'m> {
    /// The accesses, by their numbers.
    i: usize,
    j: usize,
    related: Related<'m>,
    meeting: &'m Meeting,
}

impl<'a> Prover<'a> {
    /// Returns the conditions under which two accesses do not race, if the base of the second one's object is `apart`
    /// bytes after that of the first one's.
    pub(super) fn same_object(
        &mut self,
        i: usize,
        j: usize,
        apart: i128,
    ) -> Result<BTreeSet<Condition>, Failure> {
        let protocol = self.setting.protocol;
        let kind = &protocol.objects[self.places[i].access.object.0 as usize].kind;
        let mut conditions = self.steady.clone();
        let counters = Rc::clone(&self.counters);
        let apart_in = |relation| Related { relation, not_both_in: &[], apart, counters: &counters };
        if !matches!(kind, ObjectKind::Shared { .. } | ObjectKind::DynamicShared)
            && !matches!(kind, ObjectKind::Opaque { space: Space::Shared, .. })
        {
            let grid = self.related(i, j, apart_in(Relation::OtherBlock), Group::Grid);
            // A race within one block says more: a kernel may be meant for one block.
            if matches!(grid, Err(Failure::Race(_)))
                && let Err(Failure::Race(within)) =
                    self.related(i, j, apart_in(Relation::SameBlock), Group::Block)
            {
                return Err(Failure::Race(within));
            }
            conditions.extend(grid?);
        }
        if [i, j].iter().any(|of| self.places[*of].access.op.is_copy()) {
            conditions.extend(self.related(i, j, apart_in(Relation::OwnThread), Group::Block)?);
        }
        let before = self.accepted.clone();
        let mut block = self.related(i, j, apart_in(Relation::SameBlock), Group::Block);
        if let Ok(more) = &block
            && !(self.not_vacuous(i, more) && self.not_vacuous(j, more))
        {
            // There may be a proof that assumes less.
            self.accepted = before;
            block = Err(Failure::Why(NO_EXECUTION.into()));
        }
        match block {
            Ok(more) => conditions.extend(more),
            Err(failure) => {
                let passes = [i, j].iter().any(|of| self.places[*of].access.op.passes() > 0);
                let sets = if passes { Vec::new() } else { self.ordered_groups() };
                if sets.is_empty() {
                    return Err(failure);
                }
                conditions.extend(self.set_by_set(i, j, apart_in(Relation::SameBlock), &sets)?);
            }
        }
        if !self.not_vacuous(i, &conditions) || !self.not_vacuous(j, &conditions) {
            if self.asker.out_of_time() {
                return Err(Failure::Why(OUT_OF_TIME.into()));
            }
            return Err(Failure::Why(NO_EXECUTION.into()));
        }
        Ok(conditions)
    }

    /// Returns the conditions under which threads of a block do not race, by their sets. Syncs of lanes or warps order
    /// only threads of one set. So each kind of set needs a proof of its own, and so do threads that no set holds both.
    fn set_by_set(
        &mut self,
        i: usize,
        j: usize,
        in_block: Related<'_>,
        sets: &[Group],
    ) -> Result<BTreeSet<Condition>, Failure> {
        let apart = Related { not_both_in: sets, ..in_block };
        let mut conditions = self.related(i, j, apart, Group::Block)?;
        for (at, &group) in sets.iter().enumerate() {
            let related = Related { relation: Relation::of(group), not_both_in: &sets[..at], ..in_block };
            let group = if self.align(group).is_ok() { group } else { Group::Block };
            conditions.extend(self.related(i, j, related, group)?);
        }
        Ok(conditions)
    }

    /// Returns the sets of threads that syncs order better than the barriers of the block, small ones first: sets of
    /// lanes, then sets of warps. If there are any of lanes, the last of them is the whole warp, ordered or not.
    fn ordered_groups(&mut self) -> Vec<Group> {
        let body = &self.setting.protocol.body;
        let mut sets: Vec<LaneSets> = Vec::new();
        for lanes in self.part_syncs.sets().to_vec().into_iter().chain([LaneSets::WHOLE]) {
            let group = Group::Lanes(lanes);
            let holds = any_sync(body, &|sync| {
                matches!(sync, Sync::Warp | Sync::Lanes(_)) && self.part_syncs.barriers(group).hold(sync)
            });
            if holds && !sets.contains(&lanes) && self.align(group).is_ok() {
                sets.push(lanes);
            }
        }
        if !sets.is_empty() && !sets.contains(&LaneSets::WHOLE) {
            sets.push(LaneSets::WHOLE);
        }
        let warps: Vec<_> = self.part_syncs.named.all_sets().into_iter().map(Group::Warps).collect();
        let aligned = warps.into_iter().filter(|group| self.align(*group).is_ok()).collect::<Vec<_>>();
        sets.into_iter().map(Group::Lanes).chain(aligned).collect()
    }

    /// Returns the conditions under which two threads of this relation do not race in two accesses
    /// of one object.
    fn related(
        &mut self,
        i: usize,
        j: usize,
        related: Related<'_>,
        group: Group,
    ) -> Result<BTreeSet<Condition>, Failure> {
        let mut conditions = BTreeSet::new();
        let (ways, barriers) = match self.between_barriers(i, j, group) {
            Ok((ways, more)) => {
                conditions.extend(more);
                (ways, Ok(()))
            }
            Err(why) => (unordered(), Err(why)),
        };
        let in_block = related.relation != Relation::OtherBlock;
        if let Some(more) = self.ordered_once(i, j).filter(|_| in_block) {
            conditions.extend(more);
            return Ok(conditions);
        }
        let (ways, more) = self.within_rings(i, j, related.relation, ways);
        conditions.extend(more);
        for meeting in &ways {
            let ask = Ask { i, j, related, meeting };
            match self.for_any_power(ask).or_else(|| self.value_by_value(ask)) {
                Some(used) => conditions.extend(used),
                None => conditions.extend(self.meeting(ask, &[], barriers.clone())?),
            }
        }
        Ok(conditions)
    }

    /// Returns the ways in which threads of a group meet in two accesses with no barrier of the group in between, and
    /// the conditions for that. Else returns why the barriers order nothing.
    fn between_barriers(
        &mut self,
        i: usize,
        j: usize,
        group: Group,
    ) -> Result<(Vec<Meeting>, BTreeSet<Condition>), String> {
        if !holds_sync(&self.setting.protocol.body, self.part_syncs.barriers(group)) {
            return Ok((unordered(), BTreeSet::new()));
        }
        let aligned = self.align(group);
        let beside = match group {
            Group::Block if aligned.is_err() => self.align_beside_exits(),
            _ => None,
        };
        let (a, b, barriers) = (&self.places[i], &self.places[j], self.part_syncs.barriers(group));
        match (aligned, beside) {
            (Err(_), Some(beside)) => {
                Ok((meetings_beside_exits(a, b, barriers, &beside.exits), beside.conditions.clone()))
            }
            (aligned, _) => aligned.map(|conditions| (meetings(a, b, barriers), conditions)),
        }
    }

    /// Returns the conditions of a proof that knows of loop variables only that they are powers of two.
    fn for_any_power(&mut self, ask: Ask) -> Option<BTreeSet<Condition>> {
        let places = (&self.places[ask.i], &self.places[ask.j]);
        let powers = powers_in(self.setting, places, ask.meeting, ask.related.relation.group().uniform());
        if powers.is_empty() { None } else { self.meeting(ask, &powers, Ok(())).ok() }
    }

    /// Returns the conditions of a proof that treats each value of the loop variables separately,
    /// if there are few values and each has a proof.
    fn value_by_value(&mut self, ask: Ask) -> Option<BTreeSet<Condition>> {
        let places = (&self.places[ask.i], &self.places[ask.j]);
        let all = assignments(self.setting, places, ask.meeting, ask.related.relation.group().uniform());
        if all.is_empty() {
            return None;
        }
        let mut conditions = BTreeSet::new();
        for fixed in all {
            conditions.extend(self.meeting(ask, &fixed, Ok(())).ok()?);
        }
        Some(conditions)
    }

    /// Returns the conditions under which two threads that meet in one way do not race.
    fn meeting(
        &mut self,
        ask: Ask,
        fixed: &[(VarId, Fixed)],
        barriers: Result<(), String>,
    ) -> Result<BTreeSet<Condition>, Failure> {
        self.asker.hurry(self.hurries);
        let result = self.find_meeting(ask, fixed, barriers);
        self.asker.hurry(false);
        result
    }

    /// What [`Self::meeting`] returns, where hard queries may be put off.
    fn find_meeting(
        &mut self,
        ask: Ask,
        fixed: &[(VarId, Fixed)],
        barriers: Result<(), String>,
    ) -> Result<BTreeSet<Condition>, Failure> {
        let Ask { i, j, related, .. } = ask;
        let why = |why: &str| Err(Failure::Why(why.into()));
        let Ok((simple, mut built)) = self.formulas(ask, fixed) else { return why("numbers too big") };
        let accesses = [i, j].map(|of| self.places[of].access);
        let [a, b] = accesses.map(|access| access.site.0);
        let about = format!("site {a} and site {b}, {:?}, {fixed:?}", related.relation);
        for simple in simple {
            if let Some(used) = self.decide_simply(&about, &simple) {
                return Ok(used);
            }
        }
        let answer = match self.decide(&about, &built) {
            Ok(used) => return Ok(used),
            Err(answer) => answer,
        };
        match answer {
            // A solution here is no witness: no iteration with these values may exist.
            _ if !fixed.is_empty() => why("for some values of loop variables"),
            Answer::Sat(_) if related.relation == Relation::OwnThread => {
                why("an asynchronous copy of the same thread may touch the same bytes")
            }
            // Such an access may take place before the barriers that it may pass.
            Answer::Sat(_) if accesses.iter().any(|access| access.op.passes() > 0) => {
                why(match accesses.iter().any(|access| access.op.is_copy()) {
                    true => "an asynchronous copy may still be in flight",
                    false => "an access between an arrival and its wait may still come",
                })
            }
            Answer::Sat(solution) => {
                if let Some(witness) = self.witness(i, j, &mut built, solution) {
                    return Err(Failure::Race(Box::new(witness)));
                }
                Err(Failure::Why(self.why_not(i, j, &built, barriers)))
            }
            Answer::Unknown(reason) => why(&format!("solver gave up: {reason}")),
            Answer::Unsat(_) => Ok(BTreeSet::new()),
        }
    }

    /// Returns simple formulas of a question, and the exact one. The simple ones leave out conditions around the
    /// accesses. Many pairs share them, and often they are enough.
    fn formulas(
        &self,
        Ask { i, j, related, meeting }: Ask,
        fixed: &[(VarId, Fixed)],
    ) -> Encoded<(Vec<PairFormula<'a>>, PairFormula<'a>)> {
        let places @ (a, b) = (&self.places[i], &self.places[j]);
        let build =
            |detail| races(self.setting, places, meeting, related, fixed, detail)?.assuming(&self.candidates);
        let conds = a.way.iter().chain(&b.way).filter_map(Turn::branch);
        let are_near: BTreeSet<bool> =
            conds.map(|(cond, _)| is_near(self.setting.exprs, [a, b], cond)).collect();
        let mut simple = Vec::new();
        if !are_near.is_empty() {
            simple.extend(build(Detail::Loops));
        }
        if are_near.len() == 2 {
            simple.extend(build(Detail::Near));
        }
        let exact = build(Detail::All)?;
        simple.retain(|simple| simple.encoder.needs.is_subset(&exact.encoder.needs));
        Ok((simple, exact))
    }

    /// Returns the reason why a pair with a solution that is no witness has no proof.
    fn why_not(&self, i: usize, j: usize, built: &PairFormula, barriers: Result<(), String>) -> String {
        let exprs = self.setting.exprs;
        let opaque = |node: Expr| matches!(node, Expr::Opaque { .. });
        let offsets = [self.places[i].access.offset, self.places[j].access.offset];
        if offsets.iter().any(|id| exprs.mentions(*id, opaque)) {
            let what: Vec<_> = built.encoder.opaque.iter().cloned().collect();
            return format!("its address rests on {}", what.join(", "));
        }
        match barriers {
            Err(why) => why,
            Ok(()) => "may touch the same bytes without order".into(),
        }
    }

    /// Returns a witness, if the solution or a smaller one is a race.
    fn witness(
        &mut self,
        i: usize,
        j: usize,
        built: &mut PairFormula<'a>,
        solution: HashMap<crate::linear::Atom, i128>,
    ) -> Option<Witness> {
        // The witness runs only two threads. They must provably pass the same barriers as the
        // others.
        let sets: Vec<_> = self.part_syncs.sets().iter().map(|lanes| Group::Lanes(*lanes)).collect();
        for group in sets.into_iter().chain([Group::WARP, Group::Block, Group::Grid]) {
            self.align(group).ok()?;
        }
        if !self.unknowns.is_empty() || self.part_syncs.may_order_more() {
            return None;
        }
        let numbers = [self.places[i].number, self.places[j].number];
        let (protocol, exprs) = (self.setting.protocol, self.setting.exprs);
        let (needs, expected) = (built.encoder.needs.clone(), self.expected.clone());
        let confirm = |(launch, threads): (Launch, _)| {
            let meant = expected.holds(exprs, &launch)
                && needs.iter().all(|need| need.holds(protocol, exprs, &launch));
            if !meant {
                return None;
            }
            let found = witness::confirm(protocol, &launch, threads, numbers)?;
            match self.setting.launch {
                Some(_) => Some(found),
                None => Some(Witness { launch: completed(protocol, launch, witness::FUEL)?, ..found }),
            }
        };
        if let Some(found) = witness::threads(&mut built.encoder, &solution).and_then(confirm) {
            return Some(found);
        }
        let expected = self.expected.formulas(&mut built.encoder).ok()?;
        // A smaller solution may run faster, or avoid products that the query does not encode
        // exactly.
        for (most_threads, most) in [(64, 4), (64, 64), (1024, 4096)] {
            let small = witness::small(&mut built.encoder, most_threads, most).ok()?;
            let facts: [&[Formula]; 5] =
                [&built.sought, &built.encoder.facts, &small, &built.assumptions, &expected];
            let query =
                Query { about: "a small race", atoms: &built.encoder.atoms, facts: &facts, assumptions: &[] };
            if let Answer::Sat(solution) = self.asker.ask(query)
                && let Some(found) = witness::threads(&mut built.encoder, &solution).and_then(confirm)
            {
                return Some(found);
            }
        }
        None
    }
}
