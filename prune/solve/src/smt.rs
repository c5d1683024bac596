//! Queries as SMT-LIB text, and the solver's answers. A dump contains exactly the text that the
//! solver reads.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpurace_protocol::range::{LIMIT, effort};
use z3::ast::{Bool, Int};
use z3::{Params, SatResult, Solver, StatisticsValue};

use crate::encode::AtomInfo;
use crate::linear::{Atom, Formula, Lin};

/// Limits on the solver's work, and on the prover's beside it. They count the solver's own units, steps and bytes,
/// so answers depend neither on the machine nor on its load. Z3's time limit stays unused: it would start a
/// thread, even in the user's program.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The limit of one query, in the solver's units.
    pub query: u32,
    /// The limit of one kernel, in the solver's units.
    pub kernel: u64,
    /// The limit of one kernel, in processor time of the thread, tested between queries. Only a
    /// very slow machine reaches it; a busy machine does not.
    pub time: Duration,
}

/// The cost of a query beside the solver's count. Most of it is for reading the text.
const UNITS_PER_QUERY: u64 = 10_000;
/// The cost of a byte of a query's text: for making it, and for looking up whether it was asked before.
const UNITS_PER_BYTE: u64 = 1;
/// The cost of a step of a range, with what the encoder does beside it. Measured: 0.6 to 0.8 in a kernel with
/// large tables in its arguments, more in small kernels, in which it does not matter.
const UNITS_PER_STEP: u64 = 1;
/// The solver's units per millisecond on a common machine. Measured: 1,500 to 8,000, depending on
/// the query.
pub const UNITS_PER_MILLISECOND: u64 = 5_000;
/// Z3's older solver for linear arithmetic. In the newer one (6), some queries use only 300 units
/// per millisecond, so a limit in units would not bound the time.
const SIMPLEX: u32 = 2;

impl Limits {
    /// Returns limits of about this much time on one kernel.
    pub fn about(time: Duration) -> Self {
        let kernel = (time.as_millis() as u64).saturating_mul(UNITS_PER_MILLISECOND);
        Self { kernel, time: time * 4, ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { query: 4_000_000, kernel: 10_000 * UNITS_PER_MILLISECOND, time: Duration::from_secs(40) }
    }
}

/// The solver's answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is no solution. These assumptions, by their numbers, are the ones needed for that.
    Unsat(Vec<usize>),
    /// There is a solution: values of unknowns.
    Sat(HashMap<Atom, i128>),
    /// The solver gave up, for this reason.
    Unknown(String),
}

/// Numbers about the queries of a run.
#[derive(Clone, Debug, Default)]
pub struct QueryStats {
    /// Queries asked of the solver.
    pub asked: usize,
    /// Queries answered from earlier ones.
    pub repeated: usize,
    /// Time in the solver.
    pub time: Duration,
    /// The longest query.
    pub longest: Duration,
    /// The solver's units that queries used, and the prover's own work in the same units.
    pub units: u64,
    /// How often a query ran into a limit, or was put off.
    pub gave_up: usize,
}

/// Asks the solver, and remembers its answers.
pub struct Asker {
    limits: Limits,
    dump: Option<PathBuf>,
    /// The thread's processor time at the start.
    started: Duration,
    known: HashMap<String, Answer>,
    /// The steps of ranges at the start.
    first_step: u64,
    /// Hard queries are put off.
    hurries: bool,
    /// A query was put off.
    has_put_off: bool,
    /// The units that were used for queries that were put off.
    lost: u64,
    /// Numbers so far. The units are those of the solver and of queries as text.
    stats: QueryStats,
}

/// One query: do these facts and assumptions have a solution?
#[derive(Clone, Copy)]
pub struct Query<'q> {
    /// Its subject, for dumps.
    pub about: &'q str,
    /// The unknowns.
    pub atoms: &'q [AtomInfo],
    /// Facts.
    pub facts: &'q [&'q [Formula]],
    /// Assumptions. The answer lists the ones that it needed.
    pub assumptions: &'q [Formula],
}

impl Asker {
    /// Returns an asker with these limits. It writes each query into the folder `dump`, if given.
    pub fn new(limits: Limits, dump: Option<PathBuf>) -> Self {
        Self {
            limits,
            dump,
            started: processor_time(),
            known: HashMap::new(),
            first_step: effort::spent(),
            hurries: false,
            has_put_off: false,
            lost: 0,
            stats: QueryStats::default(),
        }
    }

    /// The numbers so far.
    pub fn stats(&self) -> QueryStats {
        QueryStats { units: self.units(), ..self.stats.clone() }
    }

    /// The units used so far, with those for the steps of ranges.
    fn units(&self) -> u64 {
        let steps = effort::spent().wrapping_sub(self.first_step);
        self.stats.units.saturating_add(steps.saturating_mul(UNITS_PER_STEP))
    }

    /// True if the kernel's time is used up.
    pub fn out_of_time(&self) -> bool {
        self.units() >= self.limits.kernel
            || processor_time().saturating_sub(self.started) >= self.limits.time
    }

    /// From now on, hard queries are put off, or no longer. Returns what was said before.
    pub fn hurry(&mut self, hurries: bool) -> bool {
        std::mem::replace(&mut self.hurries, hurries)
    }

    /// True if a query was put off since the last call.
    pub fn has_put_off(&mut self) -> bool {
        std::mem::take(&mut self.has_put_off)
    }

    /// The units that one query may use: fewer, the more were used for queries that were put off. Together these use
    /// at most a quarter of the kernel's.
    fn share(&self) -> u64 {
        match self.hurries {
            true => (self.limits.kernel / 4).saturating_sub(self.lost) / 8,
            false => u64::MAX,
        }
    }

    /// The answer to a query that is put off, for which so many units were used.
    fn put_off(&mut self, units: u64) -> Answer {
        self.has_put_off = true;
        self.lost += units;
        self.stats.gave_up += 1;
        Answer::Unknown("put off".into())
    }

    /// Returns the answer to a query.
    pub fn ask(&mut self, query: Query) -> Answer {
        if query.facts.iter().any(|part| part.contains(&Formula::False)) {
            return Answer::Unsat(Vec::new());
        }
        let text = render(query);
        self.stats.units += text.len() as u64 * UNITS_PER_BYTE;
        if let Some(answer) = self.known.get(&text) {
            self.stats.repeated += 1;
            return answer.clone();
        }
        if self.out_of_time() {
            self.stats.gave_up += 1;
            return Answer::Unknown("no time left for this kernel".into());
        }
        let size = text.len() as u64 * UNITS_PER_BYTE;
        if size > self.share() {
            return self.put_off(size);
        }
        let start = Instant::now();
        let before = self.stats.units;
        let answer = self.run(&text, query);
        let took = start.elapsed();
        self.stats.asked += 1;
        self.stats.time += took;
        self.stats.longest = self.stats.longest.max(took);
        if let Some(dir) = &self.dump {
            let result = match &answer {
                Answer::Unsat(core) => format!("unsat, from assumptions {core:?}"),
                Answer::Sat(_) => "sat".to_owned(),
                Answer::Unknown(why) => format!("unknown: {why}"),
            };
            let path = dir.join(format!("{:05}.smt2", self.stats.asked));
            let full = format!("; {}\n; {result} in {took:?}\n{text}{}", query.about, check(query));
            // A dump that cannot be written does not change the answer.
            let _ = std::fs::write(path, full);
        }
        if let Answer::Unknown(_) = answer {
            if self.hurries {
                return self.put_off(size + self.stats.units - before);
            }
            self.stats.gave_up += 1;
        }
        self.known.insert(text, answer.clone());
        answer
    }

    /// Asks the solver, with the units that are left.
    fn run(&mut self, text: &str, query: Query) -> Answer {
        let solver = Solver::new_for_logic("QF_LIA").unwrap_or_default();
        let mut params = Params::new();
        let left = self.limits.kernel.saturating_sub(self.units()).min(self.share());
        let left = left.try_into().unwrap_or(u32::MAX);
        params.set_u32("rlimit", self.limits.query.min(left).max(1));
        params.set_u32("arith.solver", SIMPLEX);
        solver.set_params(&params);
        let before = units(&solver);
        let answer = Self::decide(&solver, text, query);
        self.stats.units += units(&solver).saturating_sub(before) + UNITS_PER_QUERY;
        answer
    }

    /// Returns the answer of a solver.
    fn decide(solver: &Solver, text: &str, query: Query) -> Answer {
        solver.from_string(text);
        let literals: Vec<_> = (0..query.assumptions.len()).map(|i| Bool::new_const(assumption(i))).collect();
        match solver.check_assumptions(&literals) {
            SatResult::Unsat => {
                let core = solver.get_unsat_core();
                let used = (0..literals.len()).filter(|i| core.contains(&literals[*i]));
                Answer::Unsat(used.collect())
            }
            SatResult::Sat => {
                let Some(model) = solver.get_model() else {
                    return Answer::Unknown("no model".into());
                };
                let mut values = HashMap::new();
                for atom in mentioned(query) {
                    let name = Int::new_const(name(query.atoms, atom));
                    if let Some(value) = model.eval(&name, true) {
                        if let Ok(value) = value.to_string().parse::<i128>() {
                            values.insert(atom, value);
                        } else if let Some(value) = negative(&value.to_string()) {
                            values.insert(atom, value);
                        }
                    }
                }
                Answer::Sat(values)
            }
            SatResult::Unknown => {
                Answer::Unknown(solver.get_reason_unknown().unwrap_or_else(|| "unknown".into()))
            }
        }
    }
}

/// Returns the processor time that this thread has used so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is ours; every Linux since 2.6.12 has the clock, and without it the time
    // stays 0.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the units that the solvers of this thread have used so far.
fn units(solver: &Solver) -> u64 {
    match solver.get_statistics().value("rlimit count") {
        Some(StatisticsValue::UInt(count)) => count.into(),
        Some(StatisticsValue::Double(count)) => count as u64,
        None => 0,
    }
}

/// `(- 5)` as -5.
fn negative(text: &str) -> Option<i128> {
    let inner = text.strip_prefix("(-")?.strip_suffix(')')?;
    inner.trim().parse::<i128>().ok().map(|n| -n)
}

/// The name of an assumption.
fn assumption(i: usize) -> String {
    format!("assume.{i}")
}

/// The name of an unknown.
fn name(atoms: &[AtomInfo], atom: Atom) -> String {
    atoms[atom.0 as usize].name.clone()
}

/// The unknowns that a query mentions.
fn mentioned(query: Query) -> BTreeSet<Atom> {
    let mut found = BTreeSet::new();
    for part in query.facts {
        part.iter().for_each(|fact| fact.atoms(&mut found));
    }
    query.assumptions.iter().for_each(|fact| fact.atoms(&mut found));
    found
}

/// The text of a query, but for the command that asks.
fn render(query: Query) -> String {
    let mut out = String::new();
    for atom in mentioned(query) {
        let info = &query.atoms[atom.0 as usize];
        let _ = writeln!(out, "(declare-const |{}| Int)", info.name);
        if info.range.lo > -LIMIT {
            let _ = writeln!(out, "(assert (<= {} |{}|))", number(info.range.lo), info.name);
        }
        if info.range.hi < LIMIT {
            let _ = writeln!(out, "(assert (<= |{}| {}))", info.name, number(info.range.hi));
        }
    }
    for fact in query.facts.iter().flat_map(|part| part.iter()) {
        if *fact != Formula::True {
            out.push_str("(assert ");
            formula(&mut out, query.atoms, fact);
            out.push_str(")\n");
        }
    }
    for (i, fact) in query.assumptions.iter().enumerate() {
        let name = assumption(i);
        let _ = write!(out, "(declare-const {name} Bool)\n(assert (=> {name} ");
        formula(&mut out, query.atoms, fact);
        out.push_str("))\n");
    }
    out
}

/// The command that asks.
fn check(query: Query) -> String {
    let names: Vec<_> = (0..query.assumptions.len()).map(assumption).collect();
    format!("(check-sat-assuming ({}))\n", names.join(" "))
}

/// A number as text.
fn number(n: i128) -> String {
    if n < 0 { format!("(- {})", n.unsigned_abs()) } else { n.to_string() }
}

/// Writes a term.
fn linear(out: &mut String, atoms: &[AtomInfo], lin: &Lin) {
    let mut parts = Vec::new();
    for (atom, c) in &lin.terms {
        let name = &atoms[atom.0 as usize].name;
        parts.push(if *c == 1 { format!("|{name}|") } else { format!("(* {} |{name}|)", number(*c)) });
    }
    match parts.len() {
        0 => out.push('0'),
        1 => out.push_str(&parts[0]),
        _ => {
            let _ = write!(out, "(+ {})", parts.join(" "));
        }
    }
}

/// Writes a formula.
fn formula(out: &mut String, atoms: &[AtomInfo], f: &Formula) {
    match f {
        Formula::True => out.push_str("true"),
        Formula::False => out.push_str("false"),
        Formula::Nonpositive(lin) | Formula::Zero(lin) => {
            out.push_str(if matches!(f, Formula::Zero(_)) { "(= " } else { "(<= " });
            linear(out, atoms, lin);
            let _ = write!(out, " {})", number(-lin.constant));
        }
        Formula::Not(inner) => {
            out.push_str("(not ");
            formula(out, atoms, inner);
            out.push(')');
        }
        Formula::All(parts) | Formula::Any(parts) => {
            out.push_str(if matches!(f, Formula::All(_)) { "(and" } else { "(or" });
            for part in parts {
                out.push(' ');
                formula(out, atoms, part);
            }
            out.push(')');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_processor_is_no_time_of_the_solver() {
        let limits = Limits { time: Duration::from_millis(100), ..Limits::default() };
        let asker = Asker::new(limits, None);
        std::thread::sleep(Duration::from_millis(200));
        assert!(!asker.out_of_time());
        let start = processor_time();
        while processor_time() - start < Duration::from_millis(150) {
            std::hint::spin_loop();
        }
        assert!(asker.out_of_time());
    }
}
