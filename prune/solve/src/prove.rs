//! From a protocol to verdicts: the pairs of accesses, the ways in which they can meet, and the
//! solver's answer for each.
//!
//! # The rule
//! A site is proved only if every pair of it with a site that may touch the same object is proved.
//! The conditions of a pair's proof become conditions of both sites.

mod armed;
mod broadcasts;
mod chosen;
mod counters;
mod decide;
mod handed;
mod lane_syncs;
mod meeting;
mod named_syncs;
mod once;
mod parts;
mod phases;
mod rings;
mod within;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::early_exits::EarlyExit;
use gpurace_protocol::expr::{BinOp, Expr, ExprId, Exprs, VarId};
use gpurace_protocol::group::Group;
use gpurace_protocol::last;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{ObjectId, Op, Protocol, SiteId, Step, Stmt, Unknown};
use gpurace_protocol::range::Loops;
use gpurace_protocol::verdict::{SiteVerdict, Verdict, Verdicts, Witness};

use self::broadcasts::{Supposed, supposed, supposing};
use self::lane_syncs::PartSyncs;
use self::once::Once;
use self::parts::Parts;
use self::rings::Ring;
use crate::Options;
use crate::alias::{Alias, alias};
use crate::candidates::candidates;
use crate::counted::{counted, last_numbers, with_ranges};
use crate::encode::{Setting, Wrap};
use crate::expected::{Expected, expected};
use crate::handed::handed;
use crate::smt::{Asker, QueryStats};
use crate::steady::{Steady, steady};
use crate::tickets::{Counters, counters};

/// The reason for a pair without a proof because the kernel's time was used up.
const OUT_OF_TIME: &str = "solver gave up: no time left for this kernel";

/// Verdicts and what they cost.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The verdicts.
    pub verdicts: Verdicts,
    /// Statistics of the queries.
    pub stats: QueryStats,
    /// The number of pairs of accesses considered.
    pub pairs: usize,
}

/// Returns the verdicts of a protocol: for one launch if given, else for all launches.
pub fn prove(protocol: &Protocol, launch: Option<&Launch>, options: &Options) -> Outcome {
    // In a new context, earlier queries cannot change an answer.
    z3::with_z3_config(&z3::Config::new(), || prove_in_context(protocol, launch, options))
}

/// Returns the verdicts. It supposes less and less, until all that it supposes is shown.
fn prove_in_context(protocol: &Protocol, launch: Option<&Launch>, options: &Options) -> Outcome {
    if gpurace_protocol::validate::validate(protocol).is_err() {
        // No verdict: every site stays checked.
        return Outcome::default();
    }
    // Its limits hold for all that follows.
    let mut asker = Asker::new(options.limits.clone(), options.dump.clone());
    let settled = launch.and_then(|launch| last::settle(protocol, Some(launch)));
    let steady = steady(settled.as_ref().unwrap_or(protocol), launch);
    let mut supposed = supposed(&steady.protocol);
    let mut counts = true;
    let mut outcome = loop {
        match verdicts(&steady, &supposed, counts, launch, asker) {
            Ok(outcome) => break outcome,
            Err(less) => (supposed, counts, asker) = (less.supposed, less.counts, *less.asker),
        }
    };
    if settled.is_some() {
        // Verdicts for a known launch have no conditions, so they need no added expressions.
        outcome.verdicts.exprs.clone_from(&protocol.exprs);
    }
    outcome
}

/// What may still be supposed after something else that was supposed has not been shown.
struct Less {
    /// The values that are as uniform as supposed.
    supposed: Vec<Supposed>,
    /// True if tickets may still have the ranges that follow from their counters.
    counts: bool,
    /// The solver, with what it has been asked.
    asker: Box<Asker>,
}

/// Returns the verdicts, if it can be shown that values are as uniform as supposed and, with `counts`, that tickets
/// have the ranges that follow from their counters. Else returns what may still be supposed.
fn verdicts(
    Steady { protocol, conditions }: &Steady,
    supposed: &[Supposed],
    counts: bool,
    launch: Option<&Launch>,
    asker: Asker,
) -> Result<Outcome, Less> {
    let protocol = supposing(protocol, supposed);
    let ordered: Vec<_> = supposed.iter().map(|of| (of.value, of.read)).collect();
    let ranges = if counts { counted(&protocol, launch, &ordered) } else { Vec::new() };
    let last = last_numbers(&protocol, &ranges);
    let protocol = &with_ranges(protocol, &ranges);
    let mut exprs = protocol.exprs.clone();
    let next = next_values(protocol, &mut exprs);
    let (candidates, expected) = match launch {
        Some(_) => (Vec::new(), Expected::default()),
        None => (candidates(protocol, &mut exprs), expected(protocol, &mut exprs)),
    };
    let given = handed(protocol);
    let counters = counters(protocol, &mut exprs, launch, &given);
    let shown = OnceCell::new();
    let setting = Setting {
        protocol,
        exprs: &exprs,
        launch,
        wrap: if launch.is_some() { Wrap::Exact } else { Wrap::Assume },
        next: &next,
        handed: &shown,
        last: &last,
    };
    let mut prover = Prover::new(setting, asker, candidates, expected, conditions.clone());
    prover.keep_consistent_candidates();
    prover.find_order();
    if let Err(supposed) = prover.show(supposed) {
        return Err(Less { supposed, counts, asker: Box::new(prover.asker) });
    }
    prover.find_handed(given);
    prover.find_counters(counters);
    if !prover.are_counted(&ranges) {
        let supposed = supposed.to_vec();
        return Err(Less { supposed, counts: false, asker: Box::new(prover.asker) });
    }
    prover.run();
    let Prover { sites, asker, pairs, .. } = prover;
    let sites = sites.into_iter().map(|(site, found)| found.verdict(site)).collect();
    Ok(Outcome { verdicts: Verdicts { exprs, sites }, stats: asker.stats(), pairs })
}

/// Returns, for each loop variable, the expression of its next value.
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

/// Returns what the protocol does not describe.
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

/// The results of the pairs of a site.
#[derive(Default)]
struct Found {
    conditions: BTreeSet<Condition>,
    /// The reason for no proof, and the other site.
    failed: Option<(String, Option<SiteId>)>,
    racy: Option<Box<Witness>>,
    pairs: usize,
}

impl Found {
    /// Returns the verdict of a site for the results of its pairs.
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
            (None, None) if self.pairs == 0 => (Verdict::Proved, "no access conflicts with it".to_owned()),
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

/// The reason for no proof of a pair.
enum Failure {
    /// The text for the verdict.
    Why(String),
    /// A race.
    Race(Box<Witness>),
}

/// How the threads of a block that do not end pass its barriers together.
struct BesideExits<'a> {
    exits: Vec<EarlyExit<'a>>,
    /// The conditions for it.
    conditions: BTreeSet<Condition>,
}

struct Prover<'a> {
    setting: Setting<'a>,
    places: Vec<Place<'a>>,
    unknowns: Vec<&'a Unknown>,
    asker: Asker,
    candidates: Vec<ExprId>,
    /// What the launch of a witness fulfils.
    expected: Expected,
    /// The conditions under which loaded values are as uniform as the protocol says.
    steady: BTreeSet<Condition>,
    /// The candidates, by number, that earlier proofs use.
    accepted: BTreeSet<usize>,
    /// The syncs of some lanes, and the named barriers, whose order proofs use.
    part_syncs: PartSyncs,
    /// Loops of which one hands over to the other.
    rings: Vec<Ring<'a>>,
    /// Mbarriers of which one phase ends.
    once: Vec<Once<'a>>,
    /// The parts of shared objects.
    parts: Parts,
    counters: Rc<Counters>,
    aligned: HashMap<Group, Result<BTreeSet<Condition>, String>>,
    /// What [`Prover::align_beside_exits`] found.
    beside_exits: Option<Option<Rc<BesideExits<'a>>>>,
    aliases: HashMap<(ObjectId, ObjectId), Alias>,
    /// For an access, by its number: the conditions under which it stays within its object's memory, if it does.
    within: HashMap<usize, Option<BTreeSet<Condition>>>,
    /// For an access, by its number, and assumptions: whether a thread can reach it.
    satisfiable: HashMap<(usize, Vec<ExprId>), bool>,
    sites: BTreeMap<SiteId, Found>,
    /// Pairs that are hard are put off.
    hurries: bool,
    /// Sites of such pairs.
    hard: BTreeSet<SiteId>,
    pairs: usize,
}

impl<'a> Prover<'a> {
    /// Returns a prover that knows only the protocol.
    fn new(
        setting: Setting<'a>,
        asker: Asker,
        candidates: Vec<ExprId>,
        expected: Expected,
        steady: BTreeSet<Condition>,
    ) -> Self {
        Self {
            setting,
            places: Place::all(setting.protocol),
            unknowns: unknowns(&setting.protocol.body),
            asker,
            candidates,
            expected,
            steady,
            accepted: BTreeSet::new(),
            part_syncs: PartSyncs::default(),
            rings: Vec::new(),
            once: Vec::new(),
            parts: Parts::default(),
            counters: Rc::default(),
            aligned: HashMap::new(),
            beside_exits: None,
            aliases: HashMap::new(),
            within: HashMap::new(),
            satisfiable: HashMap::new(),
            sites: BTreeMap::new(),
            hurries: false,
            hard: BTreeSet::new(),
            pairs: 0,
        }
    }

    /// Finds what orders threads beside the barriers of the block: syncs of some lanes, named barriers, mbarriers.
    fn find_order(&mut self) {
        self.find_lane_syncs();
        let named = self.find_named_syncs();
        let steps = self.phase_steps();
        self.parts = Parts::new(self.setting, &self.places, &steps);
        let arrays = self.by_part(steps);
        self.find_rings(&named, &arrays);
        self.find_once(&arrays);
    }

    /// Decides about all pairs of accesses.
    fn run(&mut self) {
        for place in &self.places {
            self.sites.entry(place.access.site).or_default();
        }
        for i in 0..self.places.len() {
            if let Some(unknown) = self.unseen_touching(self.places[i].access.object) {
                let why = format!("{} may touch the same memory", unknown.why);
                self.fail(i, i, Failure::Why(why));
            }
        }
        // Each access is first compared with itself. A pair of two sites that failed needs no
        // query.
        let n = self.places.len();
        let alone = (0..n).map(|i| (i, i));
        let apart = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        // Hard pairs come last: they may use up the time of the others.
        self.hurries = true;
        let hard: Vec<_> = alone.chain(apart).filter(|&(i, j)| !self.pair(i, j)).collect();
        self.hurries = false;
        for (i, j) in hard {
            self.pair(i, j);
        }
        self.settle_disjoint();
    }

    /// Returns something that the protocol does not describe and that may touch an object.
    fn unseen_touching(&self, object: ObjectId) -> Option<&'a Unknown> {
        let kind = &self.setting.protocol.objects[object.0 as usize].kind;
        let touches = |unknown: &&&Unknown| unknown.touches.is_some_and(|space| kind.may_lie_in(space));
        self.unknowns.iter().find(touches).copied()
    }

    /// Notes at the sites of two accesses that their pair has no proof.
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

    /// Decides about a pair of accesses. False if it is put off.
    fn pair(&mut self, i: usize, j: usize) -> bool {
        let (a, b) = (self.places[i].access, self.places[j].access);
        if !may_conflict(a.op, b.op) {
            return true;
        }
        let failed =
            |site| self.sites.get(&site).is_some_and(|f: &Found| f.failed.is_some() || f.racy.is_some());
        if failed(a.site) && failed(b.site) {
            return true;
        }
        if self.hurries && self.hard.contains(&a.site) && self.hard.contains(&b.site) {
            return false;
        }
        if self.parts.are_apart(&self.places[i], &self.places[j]) {
            return true;
        }
        let setting = self.setting;
        let objects = (a.object, b.object);
        let alias =
            self.aliases.entry(objects).or_insert_with(|| alias(setting, objects.0, objects.1)).clone();
        let result = match alias {
            Alias::Never => return true,
            Alias::Unknown(why) => Err(Failure::Why(why)),
            Alias::Within(_) if self.asker.out_of_time() => Err(Failure::Why(OUT_OF_TIME.into())),
            // They stay there in the launch of the proof, without conditions.
            Alias::Within(why) => {
                let both = self.stays_within(i).and_then(|_| self.stays_within(j));
                both.ok_or(Failure::Why(why))
            }
            Alias::Unless(condition) => Ok(BTreeSet::from([condition])),
            Alias::OnePointer(_) if self.asker.out_of_time() => Err(Failure::Why(OUT_OF_TIME.into())),
            Alias::OnePointer(condition) => self.same_object(i, j, 0).map(|mut conditions| {
                conditions.extend(condition);
                conditions
            }),
            // Building a query costs time even if the solver no longer answers.
            Alias::Same(_) if self.asker.out_of_time() => Err(Failure::Why(OUT_OF_TIME.into())),
            Alias::Same(apart) => self.same_object(i, j, apart),
        };
        if self.asker.has_put_off() {
            self.hard.extend([a.site, b.site]);
            return false;
        }
        self.pairs += 1;
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
        true
    }
}

/// True if the operations of two accesses can conflict.
fn may_conflict(a: Op, b: Op) -> bool {
    gpurace_protocol::race::conflict(a, b, false, false)
}
