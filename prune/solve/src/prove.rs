//! From a protocol to verdicts: which pairs of accesses there are, which ways
//! they can meet, and what the solver says of each.
//!
//! # The rule
//! A site is proved only where every pair that it takes part in is, with every
//! site that may touch the same object. What a pair's proof rests on becomes a
//! condition of both of its sites.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{BinOp, Expr, ExprId, Exprs, VarId};
use gpurace_protocol::interval::{Group, Meeting, controls, holds_sync, meetings, uniformity, unordered};
use gpurace_protocol::last;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::{Place, Turn};
use gpurace_protocol::protocol::{
    ObjectId, ObjectKind, Op, Protocol, SiteId, Space, Step, Stmt, Unknown,
};
use gpurace_protocol::range::Loops;
use gpurace_protocol::verdict::{SiteVerdict, Verdict, Verdicts, Witness};

use crate::alias::{Alias, alias, may_lie_in};
use crate::candidates::candidates;
use crate::encode::{Encoder, Setting, Wrap};
use crate::linear::{Formula, Lin, TooBig};
use crate::pair::{Detail, PairFormula, Relation, divergence, formula, needs, reach};
use crate::smt::{Answer, Asker, Query, QueryStats};
use crate::steady::{Steady, steady};
use crate::values::assignments;
use crate::{Options, witness};

/// Most conditions of one query that are tried to be left out.
const MOST_DROPS: usize = 8;

/// Why a pair is not proved that the kernel's time did not last for.
const OUT_OF_TIME: &str = "solver gave up: no time left for this kernel";

/// Verdicts and what they cost.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The verdicts.
    pub verdicts: Verdicts,
    /// Numbers about queries.
    pub stats: QueryStats,
    /// Pairs of accesses looked at.
    pub pairs: usize,
}

/// Proves what can be proved, for any launch or for one.
pub fn prove(protocol: &Protocol, launch: Option<&Launch>, options: &Options) -> Outcome {
    // A context of its own: what was asked before changes no answer.
    z3::with_z3_config(&z3::Config::new(), || prove_in_context(protocol, launch, options))
}

fn prove_in_context(protocol: &Protocol, launch: Option<&Launch>, options: &Options) -> Outcome {
    if gpurace_protocol::validate::validate(protocol).is_err() {
        // No verdict: every site stays checked.
        return Outcome::default();
    }
    let settled = launch.and_then(|launch| last::settle(protocol, Some(launch)));
    let given = &protocol.exprs;
    let Steady { protocol: improved, conditions: steady } = steady(settled.as_ref().unwrap_or(protocol), launch);
    let protocol = &improved;
    let mut exprs = protocol.exprs.clone();
    let next = next_values(protocol, &mut exprs);
    let candidates = match launch {
        Some(_) => Vec::new(),
        None => candidates(protocol, &mut exprs),
    };
    let setting = Setting {
        protocol,
        exprs: &exprs,
        launch,
        wrap: if launch.is_some() { Wrap::Exact } else { Wrap::Assume },
        next: &next,
    };
    let mut prover = Prover {
        setting,
        places: Place::all(protocol),
        unknowns: unknowns(&protocol.body),
        asker: Asker::new(options.limits.clone(), options.dump.clone()),
        candidates,
        steady,
        accepted: BTreeSet::new(),
        aligned: HashMap::new(),
        aliases: HashMap::new(),
        satisfiable: HashMap::new(),
        sites: BTreeMap::new(),
        pairs: 0,
    };
    prover.keep_consistent_candidates();
    prover.run();
    let Prover { sites, asker, pairs, .. } = prover;
    let sites = sites.into_iter().map(|(site, found)| found.verdict(site)).collect();
    if settled.is_some() {
        // Of a known launch no verdict has conditions, which would name others.
        exprs.clone_from(given);
    }
    Outcome { verdicts: Verdicts { exprs, sites }, stats: asker.stats, pairs }
}

/// For each loop variable, its next value as an expression.
fn next_values(protocol: &Protocol, exprs: &mut Exprs) -> HashMap<VarId, ExprId> {
    let loops = Loops::of(protocol);
    let mut next = HashMap::new();
    let mut vars: Vec<_> = loops.vars.values().collect();
    vars.sort_by_key(|info| info.var.id);
    for info in vars {
        let (id, width) = (info.var.id, info.var.width);
        let var = exprs.add(Expr::Var { id, width });
        let value = match info.var.step {
            Step::Add(step) => exprs.bin(BinOp::Add, var, step),
            Step::Mul(factor) => {
                let factor = exprs.constant(width, factor as i64);
                exprs.bin(BinOp::Mul, var, factor)
            }
            Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) | Step::Any(_) => continue,
        };
        next.insert(id, value);
    }
    next
}

fn unknowns(body: &[Stmt]) -> Vec<&Unknown> {
    body.iter()
        .flat_map(|stmt| match stmt {
            Stmt::Unknown(unknown) => vec![unknown],
            Stmt::Loop(of) => unknowns(&of.body),
            Stmt::If { then, otherwise, .. } => {
                let mut all = unknowns(then);
                all.extend(unknowns(otherwise));
                all
            }
            Stmt::Access(_) | Stmt::Sync(_) => Vec::new(),
        })
        .collect()
}

/// What was found of a site.
#[derive(Default)]
struct Found {
    conditions: BTreeSet<Condition>,
    /// Why it is not proved, and with which other site.
    failed: Option<(String, Option<SiteId>)>,
    racy: Option<Box<Witness>>,
    pairs: usize,
}

impl Found {
    fn verdict(self, site: SiteId) -> SiteVerdict {
        let mut with = None;
        let (verdict, why) = match (self.racy, self.failed) {
            (Some(witness), _) => {
                with = Some(witness.accesses[1].site);
                (Verdict::Racy(witness), "races".to_owned())
            }
            (None, Some((why, other))) => {
                with = other;
                (Verdict::Unknown(why.clone()), why)
            }
            (None, None) if self.pairs == 0 => {
                (Verdict::Proved, "no access conflicts with it".to_owned())
            }
            (None, None) => {
                let why = format!("apart from {} other accesses or in order with them", self.pairs);
                if self.conditions.is_empty() {
                    (Verdict::Proved, why)
                } else {
                    (Verdict::ProvedIf(self.conditions.into_iter().collect()), why)
                }
            }
        };
        SiteVerdict { site, verdict, why, with }
    }
}

/// Why a pair is not proved.
enum Failure {
    /// A reason.
    Why(String),
    /// A race.
    Race(Box<Witness>),
}

/// One question: can two threads race in two accesses, where they meet so?
#[derive(Clone, Copy)]
struct Ask<'m> {
    /// The accesses, by their numbers.
    i: usize,
    j: usize,
    /// What has to be added to offsets of the second one.
    apart: i128,
    relation: Relation,
    meeting: &'m Meeting,
}

struct Prover<'a> {
    setting: Setting<'a>,
    places: Vec<Place<'a>>,
    unknowns: Vec<&'a Unknown>,
    asker: Asker,
    candidates: Vec<ExprId>,
    /// What the groups of loaded values rest on.
    steady: BTreeSet<Condition>,
    /// Candidates that proofs rest on already, by number.
    accepted: BTreeSet<usize>,
    aligned: HashMap<Group, Result<BTreeSet<Condition>, String>>,
    aliases: HashMap<(ObjectId, ObjectId), Alias>,
    /// Whether an access is reached under assumptions, by its number.
    satisfiable: HashMap<(usize, Vec<ExprId>), bool>,
    sites: BTreeMap<SiteId, Found>,
    pairs: usize,
}

impl<'a> Prover<'a> {
    /// Drops candidates until the rest can hold together.
    fn keep_consistent_candidates(&mut self) {
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

    fn run(&mut self) {
        for place in &self.places {
            self.sites.entry(place.access.site).or_default();
        }
        for i in 0..self.places.len() {
            let access = self.places[i].access;
            let kind = &self.setting.protocol.objects[access.object.0 as usize].kind;
            let touched = self
                .unknowns
                .iter()
                .find(|unknown| unknown.touches.is_some_and(|space| may_lie_in(kind, space)));
            if let Some(unknown) = touched {
                let why = format!("{} may touch the same memory", unknown.why);
                self.fail(i, i, Failure::Why(why));
            }
        }
        // Each access against itself first: what fails there need not be
        // asked of other pairs that fail as well.
        let n = self.places.len();
        let alone = (0..n).map(|i| (i, i));
        let apart = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        for (i, j) in alone.chain(apart) {
            self.pair(i, j);
        }
    }

    fn fail(&mut self, i: usize, j: usize, failure: Failure) {
        for (own, other) in [(i, j), (j, i)] {
            let found = self.sites.entry(self.places[own].access.site).or_default();
            match &failure {
                Failure::Why(why) => {
                    let with = self.places[other].access.site;
                    let own = self.places[own].access.site;
                    found.failed.get_or_insert_with(|| (why.clone(), (own != with).then_some(with)));
                }
                Failure::Race(witness) => {
                    let mut witness = witness.clone();
                    if own != i {
                        witness.accesses.swap(0, 1);
                    }
                    found.racy.get_or_insert(witness);
                }
            }
        }
    }

    fn pair(&mut self, i: usize, j: usize) {
        let (a, b) = (self.places[i].access, self.places[j].access);
        if !may_conflict(a.op, b.op) {
            return;
        }
        let failed = |site| self.sites.get(&site).is_some_and(|f: &Found| f.failed.is_some() || f.racy.is_some());
        if failed(a.site) && failed(b.site) {
            return;
        }
        let setting = self.setting;
        let objects = (a.object, b.object);
        let alias = self.aliases.entry(objects).or_insert_with(|| alias(setting, objects.0, objects.1)).clone();
        if let Alias::Never = alias {
            return;
        }
        self.pairs += 1;
        let result = match alias {
            Alias::Never => return,
            Alias::Unknown(why) => Err(Failure::Why(why)),
            Alias::Unless(condition) => Ok(BTreeSet::from([condition])),
            // Building queries takes time too, when none is answered any more.
            Alias::Same(_) if self.asker.out_of_time() => Err(Failure::Why(OUT_OF_TIME.into())),
            Alias::Same(apart) => self.same_object(i, j, apart),
        };
        match result {
            Ok(conditions) => {
                for site in [a.site, b.site] {
                    let found = self.sites.entry(site).or_default();
                    found.conditions.extend(conditions.iter().cloned());
                    found.pairs += 1;
                }
            }
            Err(failure) => self.fail(i, j, failure),
        }
    }

    /// Whether barriers of the group may be taken to be passed together, and
    /// under which conditions.
    fn align(&mut self, group: Group) -> Result<BTreeSet<Condition>, String> {
        if let Some(known) = self.aligned.get(&group) {
            return known.clone();
        }
        let result = self.find_alignment(group);
        self.aligned.insert(group, result.clone());
        result
    }

    fn find_alignment(&mut self, group: Group) -> Result<BTreeSet<Condition>, String> {
        let protocol = self.setting.protocol;
        let mut conditions = BTreeSet::new();
        let relation = match group {
            Group::Warp => Relation::SameWarp,
            Group::Block => Relation::SameBlock,
            Group::Grid => Relation::OtherBlock,
        };
        for control in controls(protocol, group)? {
            if uniformity(protocol, self.setting.exprs, control.cond) >= group.uniform() {
                continue;
            }
            let differ = |why: &str| format!("barriers under control that threads may decide differently{why}");
            // For the whole grid, threads of one block count too.
            let relations: &[Relation] = match group {
                Group::Grid => &[Relation::OtherBlock, Relation::SameBlock],
                _ => &[relation],
            };
            for relation in relations {
                let built = divergence(self.setting, &control, *relation, &self.candidates)
                    .map_err(|TooBig| differ(": numbers too big"))?;
                match self.decide("threads decide alike", &built) {
                    Ok(used) => conditions.extend(used),
                    Err(_) => return Err(differ("")),
                }
            }
        }
        Ok(conditions)
    }

    /// Asks whether a formula has no solution, and under which conditions.
    fn decide(&mut self, about: &str, built: &PairFormula<'a>) -> Result<BTreeSet<Condition>, Answer> {
        let facts: [&[Formula]; 2] = [&built.race, &built.encoder.facts];
        let query =
            Query { about, atoms: &built.encoder.atoms, facts: &facts, assumptions: &built.assumptions };
        // What other pairs rest on already costs nothing more.
        if !self.accepted.is_empty() {
            let accepted: Vec<_> = self.accepted.iter().copied().collect();
            let assumptions: Vec<_> =
                accepted.iter().map(|i| built.assumptions[*i].clone()).collect();
            if let Answer::Unsat(used) = self.asker.ask(Query { assumptions: &assumptions, ..query }) {
                let used = used.into_iter().map(|i| accepted[i]);
                return Ok(self.conditions(built, used));
            }
        }
        let mut tried = BTreeSet::new();
        let mut core = match self.asker.ask(query) {
            Answer::Unsat(core) => core,
            answer => return Err(answer),
        };
        // Weaker conditions, where they will do: those that ask for most come
        // last, and are left out first.
        let mut left: Vec<usize> = (0..built.assumptions.len()).collect();
        for _ in 0..MOST_DROPS {
            let kept = core.iter().rev().find(|i| left.contains(i) && !tried.contains(*i)).copied();
            let Some(dropped) = kept else { break };
            tried.insert(dropped);
            let fewer: Vec<_> = left.iter().copied().filter(|i| *i != dropped).collect();
            let assumptions: Vec<_> =
                fewer.iter().map(|i| built.assumptions[*i].clone()).collect();
            if let Answer::Unsat(used) = self.asker.ask(Query { assumptions: &assumptions, ..query }) {
                core = used.into_iter().map(|i| fewer[i]).collect();
                left = fewer;
            }
        }
        self.accepted.extend(core.iter().copied());
        Ok(self.conditions(built, core.into_iter()))
    }

    /// Whether a formula has no solution under what proofs rest on already.
    fn decide_simply(
        &mut self,
        about: &str,
        built: &PairFormula<'a>,
    ) -> Option<BTreeSet<Condition>> {
        let facts: [&[Formula]; 2] = [&built.race, &built.encoder.facts];
        let accepted: Vec<_> = self.accepted.iter().copied().collect();
        let assumptions: Vec<_> =
            accepted.iter().map(|i| built.assumptions[*i].clone()).collect();
        let atoms = &built.encoder.atoms;
        match self.asker.ask(Query { about, atoms, facts: &facts, assumptions: &assumptions }) {
            Answer::Unsat(used) => {
                let used = used.into_iter().map(|i| accepted[i]);
                Some(self.conditions(built, used))
            }
            Answer::Sat(_) | Answer::Unknown(_) => None,
        }
    }

    /// What a formula without a solution rests on, with these candidates.
    fn conditions(
        &self,
        built: &PairFormula<'a>,
        used: impl Iterator<Item = usize>,
    ) -> BTreeSet<Condition> {
        let mut conditions: BTreeSet<_> = needs(built).into_iter().collect();
        conditions.extend(used.map(|i| Condition::Holds(self.candidates[i])));
        conditions
    }

    /// Whether the access can be reached where the conditions hold, unless it
    /// can never be reached.
    fn not_vacuous(&mut self, i: usize, conditions: &BTreeSet<Condition>) -> bool {
        if self.setting.launch.is_some() {
            // Nothing is assumed of a launch that is known.
            return true;
        }
        let assumed: Vec<ExprId> = conditions
            .iter()
            .filter_map(|condition| match condition {
                Condition::Holds(cond) => Some(*cond),
                Condition::Fits { .. } | Condition::Disjoint(..) => None,
            })
            .collect();
        if let Some(known) = self.satisfiable.get(&(i, assumed.clone())) {
            return *known;
        }
        let mut reached = |setting: Setting<'a>, assumed: &[ExprId]| {
            let Ok(built) = reach(setting, &self.places[i], assumed) else { return Answer::Unknown(String::new()) };
            let facts: [&[Formula]; 3] = [&built.race, &built.encoder.facts, &built.assumptions];
            let atoms = &built.encoder.atoms;
            self.asker.ask(Query { about: "the access is reached", atoms, facts: &facts, assumptions: &[] })
        };
        let possible = match reached(self.setting, &assumed) {
            Answer::Sat(_) => true,
            // Never reached at all: nothing rests on the conditions.
            Answer::Unsat(_) => {
                let exact = Setting { wrap: Wrap::Exact, ..self.setting };
                matches!(reached(exact, &[]), Answer::Unsat(_))
            }
            Answer::Unknown(_) => false,
        };
        self.satisfiable.insert((i, assumed), possible);
        possible
    }

    fn same_object(&mut self, i: usize, j: usize, apart: i128) -> Result<BTreeSet<Condition>, Failure> {
        let protocol = self.setting.protocol;
        let kind = &protocol.objects[self.places[i].access.object.0 as usize].kind;
        let mut conditions = self.steady.clone();
        if !matches!(kind, ObjectKind::Shared { .. } | ObjectKind::DynamicShared)
            && !matches!(kind, ObjectKind::Opaque { space: Space::Shared, .. })
        {
            conditions.extend(self.related(i, j, apart, Relation::OtherBlock, Group::Grid)?);
        }
        let block = self.related(i, j, apart, Relation::SameBlock, Group::Block);
        match block {
            Ok(more) => conditions.extend(more),
            Err(failure) => {
                // Barriers of warps order threads of one warp only.
                let warps = holds_warp_sync(&protocol.body) && self.align(Group::Warp).is_ok();
                if !warps {
                    return Err(failure);
                }
                conditions.extend(self.related(i, j, apart, Relation::OtherWarp, Group::Block)?);
                conditions.extend(self.related(i, j, apart, Relation::SameWarp, Group::Warp)?);
            }
        }
        if !self.not_vacuous(i, &conditions) || !self.not_vacuous(j, &conditions) {
            if self.asker.out_of_time() {
                return Err(Failure::Why(OUT_OF_TIME.into()));
            }
            return Err(Failure::Why("the proof's assumptions leave no execution".into()));
        }
        Ok(conditions)
    }

    /// Whether two threads related so cannot race in two accesses of one
    /// object.
    fn related(
        &mut self,
        i: usize,
        j: usize,
        apart: i128,
        relation: Relation,
        group: Group,
    ) -> Result<BTreeSet<Condition>, Failure> {
        let mut conditions = BTreeSet::new();
        let mut barriers = Ok(());
        let ways = if holds_sync(&self.setting.protocol.body, group) {
            match self.align(group) {
                Ok(more) => {
                    conditions.extend(more);
                    meetings(&self.places[i], &self.places[j], group)
                }
                Err(why) => {
                    barriers = Err(why);
                    unordered()
                }
            }
        } else {
            unordered()
        };
        for meeting in &ways {
            let ask = Ask { i, j, apart, relation, meeting };
            match self.value_by_value(ask) {
                Some(used) => conditions.extend(used),
                None => conditions.extend(self.meeting(ask, &[], barriers.clone())?),
            }
        }
        Ok(conditions)
    }

    /// What keeps two threads apart for each value that loop variables take, if
    /// there are few and something does for each of them.
    fn value_by_value(&mut self, ask: Ask) -> Option<BTreeSet<Condition>> {
        let all = assignments(self.setting, (&self.places[ask.i], &self.places[ask.j]), ask.meeting);
        if all.is_empty() {
            return None;
        }
        let mut conditions = BTreeSet::new();
        for fixed in all {
            conditions.extend(self.meeting(ask, &fixed, Ok(())).ok()?);
        }
        Some(conditions)
    }

    /// What keeps two threads apart that meet in one way.
    fn meeting(
        &mut self,
        ask: Ask,
        fixed: &[(VarId, u64)],
        barriers: Result<(), String>,
    ) -> Result<BTreeSet<Condition>, Failure> {
        let Ask { i, j, apart, relation, meeting } = ask;
        let places = (&self.places[i], &self.places[j]);
        let about = format!(
            "site {} and site {}, {relation:?}, {fixed:?}",
            places.0.access.site.0, places.1.access.site.0
        );
        let guarded = |place: &Place| place.way.iter().any(|t| matches!(t, Turn::Branch { .. }));
        let build = |detail| {
            let related = (relation, apart);
            formula(self.setting, places, meeting, related, &self.candidates, fixed, detail)
        };
        // Without the conditions around the two first: where that is
        // enough, the query is one for many pairs.
        let simple = if guarded(places.0) || guarded(places.1) {
            build(Detail::Loops).ok()
        } else {
            None
        };
        let Ok(mut built) = build(Detail::All) else {
            return Err(Failure::Why("numbers too big".into()));
        };
        if let Some(simple) = simple {
            if simple.encoder.needs.is_subset(&built.encoder.needs) {
                if let Some(used) = self.decide_simply(&about, &simple) {
                    return Ok(used);
                }
            }
        }
        match self.decide(&about, &built) {
            Ok(used) => Ok(used),
            // Whether an iteration with these values is ever run is not asked.
            Err(_) if !fixed.is_empty() => Err(Failure::Why("for some values of loop variables".into())),
            Err(Answer::Sat(solution)) => {
                if let Some(witness) = self.witness(i, j, &mut built, solution) {
                    return Err(Failure::Race(Box::new(witness)));
                }
                Err(Failure::Why(self.why_not(i, j, &built, barriers)))
            }
            Err(Answer::Unknown(why)) => Err(Failure::Why(format!("solver gave up: {why}"))),
            Err(Answer::Unsat(_)) => Ok(BTreeSet::new()),
        }
    }

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

    /// A race, where the solution is one.
    fn witness(
        &mut self,
        i: usize,
        j: usize,
        built: &mut PairFormula<'a>,
        solution: HashMap<crate::linear::Atom, i128>,
    ) -> Option<Witness> {
        // The two threads are run alone: that they come to the same barriers
        // as the others has to be known.
        for group in [Group::Warp, Group::Block, Group::Grid] {
            self.align(group).ok()?;
        }
        if !self.unknowns.is_empty() {
            return None;
        }
        let numbers = [self.places[i].number, self.places[j].number];
        let protocol = self.setting.protocol;
        if let Some((launch, threads)) = witness::threads(&mut built.encoder, &solution) {
            if let Some(found) = witness::confirm(protocol, &launch, threads, numbers) {
                return Some(found);
            }
        }
        // A smaller one may be quicker to run, or free of products that the
        // query does not follow.
        for (most_threads, most) in [(64, 4), (64, 64), (1024, 4096)] {
            let small = witness::small(&mut built.encoder, most_threads, most).ok()?;
            let facts: [&[Formula]; 4] =
                [&built.race, &built.encoder.facts, &small, &built.assumptions];
            let query = Query {
                about: "a small race",
                atoms: &built.encoder.atoms,
                facts: &facts,
                assumptions: &[],
            };
            if let Answer::Sat(solution) = self.asker.ask(query) {
                if let Some((launch, threads)) = witness::threads(&mut built.encoder, &solution) {
                    let found = witness::confirm(protocol, &launch, threads, numbers);
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        None
    }
}

fn encode_candidates<'a>(
    encoder: &mut Encoder<'a>,
    candidates: &[ExprId],
) -> Result<Vec<Formula>, TooBig> {
    let mut all = Vec::new();
    for cond in candidates {
        let mut frame = crate::encode::Frame::top(encoder.setting, 0);
        frame.certain = false;
        all.push(encoder.cond(&mut frame, *cond)?);
    }
    // More than one thread, or nothing can race; but a kernel in which nothing
    // tells threads apart is written for one.
    let protocol = encoder.setting.protocol;
    let index = |node| {
        matches!(node, Expr::Tid(_) | Expr::Ctaid(_) | Expr::Lane | Expr::Opaque { .. })
    };
    if !protocol.exprs.iter().any(|(_, node)| index(node)) {
        encoder.product_facts()?;
        return Ok(all);
    }
    let mut threads = Vec::new();
    for axis in gpurace_protocol::expr::Axis::ALL {
        for dim in [encoder.ntid(axis), encoder.nctaid(axis)] {
            threads.push(Formula::le(&Lin::constant(2), &dim)?);
        }
    }
    encoder.facts.push(Formula::any(threads));
    encoder.product_facts()?;
    Ok(all)
}

fn holds_warp_sync(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Sync(sync) => *sync == gpurace_protocol::protocol::Sync::Warp,
        Stmt::Loop(of) => holds_warp_sync(&of.body),
        Stmt::If { then, otherwise, .. } => holds_warp_sync(then) || holds_warp_sync(otherwise),
        Stmt::Access(_) | Stmt::Unknown(_) => false,
    })
}

/// Whether two accesses can conflict at all.
fn may_conflict(a: Op, b: Op) -> bool {
    gpurace_protocol::race::conflict(a, b, false, false)
}
