//! The queries of a proof, and the conditions that their answers need.

use std::collections::BTreeSet;
use std::rc::Rc;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::early_exits::early_exits;
use gpurace_protocol::expr::{Axis, Expr, ExprId};
use gpurace_protocol::group::Group;
use gpurace_protocol::interval::{Control, controls, uniformity};
use gpurace_protocol::place::Turn;

use super::{BesideExits, Prover};
use crate::encode::{Encoder, Setting, Wrap};
use crate::linear::{Encoded, Formula, Lin, TooBig};
use crate::pair::{PairFormula, Question, Relation, assumptions, divergence, reach};
use crate::smt::{Answer, Query};

/// The largest number of candidates that a query tries to drop.
const MOST_DROPS: usize = 8;

impl<'a> Prover<'a> {
    /// Drops candidates until the remaining ones can all hold together.
    pub(super) fn keep_consistent_candidates(&mut self) {
        while !self.candidates.is_empty() {
            let mut encoder = Encoder::new(self.setting, Group::Block);
            let assumptions = encode_candidates(&mut encoder, &self.candidates);
            let Ok(assumptions) = assumptions else {
                self.candidates.clear();
                return;
            };
            let query = Query {
                about: "the candidates hold together",
                atoms: &encoder.atoms,
                facts: &[&encoder.facts],
                assumptions: &assumptions,
            };
            match self.asker.ask(query) {
                Answer::Sat(_) => return,
                Answer::Unsat(core) => match core.into_iter().max() {
                    Some(last) => {
                        self.candidates.remove(last);
                    }
                    None => self.candidates.clear(),
                },
                Answer::Unknown(_) => {
                    self.candidates.pop();
                }
            }
        }
    }

    /// Returns the conditions under which the group's threads pass its barriers together, or the
    /// reason why they may not.
    pub(super) fn align(&mut self, group: Group) -> Result<BTreeSet<Condition>, String> {
        if let Some(known) = self.aligned.get(&group) {
            return known.clone();
        }
        // What is kept must not rest on a query that was put off.
        let hurried = self.asker.hurry(false);
        let result = self.find_alignment(group);
        self.asker.hurry(hurried);
        self.aligned.insert(group, result.clone());
        result
    }

    /// What [`Self::align`] returns, when it is first asked.
    fn find_alignment(&mut self, group: Group) -> Result<BTreeSet<Condition>, String> {
        let controls = controls(self.setting.protocol, self.part_syncs.barriers(group), &[])?;
        self.decided_alike(group, &controls)
    }

    /// Returns how a block's threads that do not end pass its barriers together; `None` if none end, or if
    /// they may not.
    pub(super) fn align_beside_exits(&mut self) -> Option<Rc<BesideExits<'a>>> {
        if self.beside_exits.is_none() {
            self.beside_exits = Some(self.find_exits().map(Rc::new));
        }
        self.beside_exits.clone().flatten()
    }

    /// What [`Self::align_beside_exits`] returns, when it is first asked.
    fn find_exits(&mut self) -> Option<BesideExits<'a>> {
        let protocol = self.setting.protocol;
        let barriers = self.part_syncs.barriers(Group::Block);
        let exits = early_exits(protocol, barriers);
        if exits.is_empty() {
            return None;
        }
        let controls = controls(protocol, barriers, &exits).ok()?;
        let conditions = self.decided_alike(Group::Block, &controls).ok()?;
        Some(BesideExits { exits, conditions })
    }

    /// Returns the conditions under which the group's threads decide alike.
    fn decided_alike(&mut self, group: Group, controls: &[Control]) -> Result<BTreeSet<Condition>, String> {
        let protocol = self.setting.protocol;
        let mut conditions = BTreeSet::new();
        // Two threads of the grid may also be in one block.
        let in_block = (group == Group::Grid).then_some(Relation::SameBlock);
        conditions.extend(self.part_syncs.conditions(group));
        for control in controls {
            if uniformity(protocol, self.setting.exprs, control.cond) >= group.uniform() {
                continue;
            }
            let differ =
                |why: &str| format!("barriers under control that threads may decide differently{why}");
            for relation in [Relation::of(group)].into_iter().chain(in_block) {
                let built = divergence(self.setting, control, relation)
                    .and_then(|question| question.assuming(&self.candidates))
                    .map_err(|TooBig| differ(": numbers too big"))?;
                match self.decide("threads decide alike", &built) {
                    Ok(used) => conditions.extend(used),
                    Err(_) => return Err(differ("")),
                }
            }
        }
        Ok(conditions)
    }

    /// Returns the conditions under which a formula has no solution, or the answer that shows none.
    pub(super) fn decide(
        &mut self,
        about: &str,
        built: &PairFormula<'a>,
    ) -> Result<BTreeSet<Condition>, Answer> {
        // Conditions that other pairs already need cost nothing extra.
        if !self.accepted.is_empty()
            && let Some(used) = self.decide_simply(about, built)
        {
            return Ok(used);
        }
        let mut left: Vec<usize> = (0..built.assumptions.len()).collect();
        let mut core = match self.ask_assuming(about, built, &left) {
            Answer::Unsat(core) => core,
            answer => return Err(answer),
        };
        // Fewer conditions may be enough. The most demanding ones come last and are dropped first.
        let mut tried = BTreeSet::new();
        for _ in 0..MOST_DROPS {
            let kept = core.iter().rev().find(|i| left.contains(i) && !tried.contains(*i)).copied();
            let Some(dropped) = kept else { break };
            tried.insert(dropped);
            // What is more demanding and was not needed must not replace it.
            let fewer = left.iter().copied().filter(|i| *i < dropped || *i > dropped && core.contains(i));
            let fewer: Vec<_> = fewer.collect();
            if let Answer::Unsat(used) = self.ask_assuming(about, built, &fewer) {
                (core, left) = (used, fewer);
            }
        }
        self.accepted.extend(core.iter().copied());
        Ok(self.conditions(built, &core))
    }

    /// Like [`Self::decide`], but only with candidates that earlier proofs use.
    pub(super) fn decide_simply(
        &mut self,
        about: &str,
        built: &PairFormula<'a>,
    ) -> Option<BTreeSet<Condition>> {
        let accepted: Vec<_> = self.accepted.iter().copied().collect();
        match self.ask_assuming(about, built, &accepted) {
            Answer::Unsat(used) => Some(self.conditions(built, &used)),
            Answer::Sat(_) | Answer::Unknown(_) => None,
        }
    }

    /// Returns the answer whether a formula has a solution where the `chosen` candidates hold. Without a solution, it
    /// names those of them that it needed.
    fn ask_assuming(&mut self, about: &str, built: &PairFormula<'a>, chosen: &[usize]) -> Answer {
        let facts: [&[Formula]; 2] = [&built.sought, &built.encoder.facts];
        let assumptions: Vec<_> = chosen.iter().map(|i| built.assumptions[*i].clone()).collect();
        let atoms = &built.encoder.atoms;
        match self.asker.ask(Query { about, atoms, facts: &facts, assumptions: &assumptions }) {
            Answer::Unsat(used) => Answer::Unsat(used.into_iter().map(|i| chosen[i]).collect()),
            answer => answer,
        }
    }

    /// Returns the conditions of a formula without a solution: on wrapping, and these candidates.
    fn conditions(&self, built: &PairFormula<'a>, used: &[usize]) -> BTreeSet<Condition> {
        let mut conditions = built.encoder.needs.clone();
        conditions.extend(used.iter().map(|i| Condition::Holds(self.candidates[*i])));
        conditions
    }

    /// True if a thread can reach the access under the conditions, or no thread can ever reach it.
    pub(super) fn not_vacuous(&mut self, i: usize, conditions: &BTreeSet<Condition>) -> bool {
        if self.setting.launch.is_some() {
            // Proofs for a known launch assume nothing.
            return true;
        }
        let assumed = assumed(conditions);
        if let Some(known) = self.satisfiable.get(&(i, assumed.clone())) {
            return *known;
        }
        let way = self.places[i].way.clone();
        let possible = self.is_reached(&way, &assumed);
        self.satisfiable.insert((i, assumed), possible);
        possible
    }

    /// True if a thread can reach the end of a way where these candidates hold, or no thread can ever reach it.
    fn is_reached(&mut self, way: &[Turn<'a>], assumed: &[ExprId]) -> bool {
        let mut reached = |setting: Setting<'a>, in_first: bool, assumed: &[ExprId]| {
            let question = reach(setting, way, in_first);
            let Ok(built) = question.and_then(|question| question.assuming(assumed)) else {
                return Answer::Unknown(String::new());
            };
            let facts: [&[Formula]; 3] = [&built.sought, &built.encoder.facts, &built.assumptions];
            let atoms = &built.encoder.atoms;
            self.asker.ask(Query { about: "the access is reached", atoms, facts: &facts, assumptions: &[] })
        };
        let in_loop = way.iter().any(|turn| turn.into_loop().is_some());
        // Of the first iterations the solver finds a solution sooner.
        if in_loop && matches!(reached(self.setting, true, assumed), Answer::Sat(_)) {
            return true;
        }
        match reached(self.setting, false, assumed) {
            Answer::Sat(_) => true,
            // If no thread ever reaches the access, the proof does not depend on the conditions.
            Answer::Unsat(_) => {
                let exact = Setting { wrap: Wrap::Exact, ..self.setting };
                matches!(reached(exact, false, &[]), Answer::Unsat(_))
            }
            Answer::Unknown(_) => false,
        }
    }

    /// Returns the conditions under which the answer to a question is no, if it is.
    pub(super) fn refuted(
        &mut self,
        about: &str,
        question: Encoded<Question<'a>>,
    ) -> Option<BTreeSet<Condition>> {
        let built = question.and_then(|question| question.assuming(&self.candidates)).ok()?;
        self.decide(about, &built).ok()
    }

    /// Like [`Self::refuted`], but the conditions leave threads that reach the ends of these ways.
    pub(super) fn decide_reaching(
        &mut self,
        ways: &[&[Turn<'a>]],
        about: &str,
        question: Encoded<Question<'a>>,
    ) -> Option<BTreeSet<Condition>> {
        let before = self.accepted.clone();
        let used = self.refuted(about, question)?;
        let assumed = assumed(&used);
        if assumed.is_empty() || ways.iter().all(|way| self.is_reached(way, &assumed)) {
            return Some(used);
        }
        self.accepted = before;
        None
    }
}

/// The candidates among conditions.
fn assumed(conditions: &BTreeSet<Condition>) -> Vec<ExprId> {
    let candidates = conditions.iter().filter_map(|condition| match condition {
        Condition::Holds(cond) => Some(*cond),
        Condition::Fits { .. } | Condition::Disjoint(..) => None,
    });
    candidates.collect()
}

/// Returns each candidate as a formula. Adds the fact that a launch has two threads, since a race needs them. Only a
/// kernel whose threads cannot differ is meant for one thread.
fn encode_candidates(encoder: &mut Encoder, candidates: &[ExprId]) -> Encoded<Vec<Formula>> {
    let all = assumptions(encoder, candidates)?;
    let differs = |node| matches!(node, Expr::Tid(_) | Expr::Ctaid(_) | Expr::Lane | Expr::Opaque { .. });
    if encoder.setting.protocol.exprs.iter().any(|(_, node)| differs(node)) {
        let mut several = Vec::new();
        for axis in Axis::ALL {
            for dim in [encoder.ntid(axis), encoder.nctaid(axis)] {
                several.push(Formula::le(&Lin::constant(2), &dim)?);
            }
        }
        encoder.facts.push(Formula::any(several));
    }
    encoder.product_facts()?;
    Ok(all)
}
