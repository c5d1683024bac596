//! All executions that the model allows. Each thread's reads are given each value that the location may
//! have; each read is then given each write of its value; and Fence-SC order is every order of the
//! `fence.sc` operations. What the axioms refuse is dropped.

use std::collections::BTreeSet;

use crate::execution::{Execution, Race, Rules};
use crate::walk::{Code, Event, Kind, Next, Walk};

/// What is known of all executions that the model allows.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// For each of the rules that were asked for: the sites of the accesses that race in some execution.
    pub races: Vec<BTreeSet<(usize, usize)>>,
    /// The candidates that were looked at.
    pub candidates: u64,
    /// There were too many: some were not looked at.
    pub is_cut_short: bool,
}

/// A thread's events for certain values of its reads.
type Trace = Vec<Event>;

fn add_traces(walk: Walk<'_>, values: &[Vec<u32>], so_far: Trace, traces: &mut Vec<Trace>) {
    let step = |value: u32, traces: &mut Vec<Trace>| {
        let (mut walk, mut trace) = (walk.clone(), so_far.clone());
        trace.push(walk.step(value));
        add_traces(walk, values, trace, traces);
    };
    match walk.next() {
        Next::Ends => traces.push(so_far),
        Next::Reads(at) => values[at].iter().for_each(|&value| step(value, traces)),
        Next::Writes(_) | Next::Fence | Next::Meets(_) => step(0, traces),
    }
}

/// Puts the threads' events together. A meeting becomes one event.
fn combine<'a>(code: &'a Code, traces: &[&Trace]) -> Execution<'a> {
    let mut events: Vec<Event> = Vec::new();
    let mut threads = Vec::new();
    let mut met = vec![None; code.meetings.len()];
    for trace in traces {
        let mut thread = Vec::new();
        for event in trace.iter() {
            let id = events.len();
            match event.kind {
                Kind::Meet { meeting } => match met[meeting] {
                    Some(id) => {
                        thread.push(id);
                        continue;
                    }
                    None => met[meeting] = Some(id),
                },
                Kind::Access { .. } | Kind::Fence { .. } => {}
            }
            thread.push(id);
            events.push(event.clone());
        }
        threads.push(thread);
    }
    let from = vec![None; events.len()];
    Execution { code, events, threads, from }
}

struct Search<'a> {
    rules: &'a [Rules],
    allowed: Allowed,
    limit: u64,
}

impl Search<'_> {
    /// Gives each read from the `i`th event on each write of its value.
    fn choose_writes(&mut self, execution: &mut Execution<'_>, i: usize) {
        if self.allowed.candidates >= self.limit {
            self.allowed.is_cut_short = true;
            return;
        }
        let Some(event) = execution.events.get(i) else {
            return self.order_fences(execution);
        };
        let Some(value) = event.read() else {
            return self.choose_writes(execution, i + 1);
        };
        let at = event.at();
        for write in 0..execution.events.len() {
            let w = &execution.events[write];
            if write != i && w.at() == at && w.written() == Some(value) {
                execution.from[i] = Some(write);
                self.choose_writes(execution, i + 1);
            }
        }
        if value == 0 {
            execution.from[i] = None;
            self.choose_writes(execution, i + 1);
        }
    }

    /// Puts the `fence.sc` operations into each order.
    fn order_fences(&mut self, execution: &Execution<'_>) {
        if execution.is_out_of_thin_air() {
            self.allowed.candidates += 1;
            return;
        }
        let pairs = execution.full_fences();
        for choice in 0..1u32 << pairs.len().min(20) {
            self.allowed.candidates += 1;
            if self.allowed.candidates >= self.limit {
                self.allowed.is_cut_short = true;
                return;
            }
            let turned = |(i, &(a, b)): (usize, &(usize, usize))| match choice >> i & 1 {
                0 => (a, b),
                _ => (b, a),
            };
            let full: Vec<(usize, usize)> = pairs.iter().enumerate().map(turned).collect();
            self.judge(execution, &full);
        }
    }

    fn judge(&mut self, execution: &Execution<'_>, full: &[(usize, usize)]) {
        let ptx = execution.orders(Rules::PTX, full);
        let races: Vec<Vec<Race>> = self
            .rules
            .iter()
            .map(|&rules| match rules {
                Rules::PTX => execution.races(&ptx, rules),
                _ => execution.races(&execution.orders(rules, full), rules),
            })
            .collect();
        let known = |(i, races): (usize, &Vec<Race>)| {
            races.iter().all(|race| self.allowed.races[i].contains(&race.sites))
        };
        // What is known needs no second witness.
        if races.iter().enumerate().all(known) {
            return;
        }
        if execution.fences_contradict(&ptx, full) || !execution.is_coherent(&ptx) {
            return;
        }
        for (all, races) in self.allowed.races.iter_mut().zip(races) {
            all.extend(races.iter().map(|race| race.sites));
        }
    }
}

/// Looks at all executions that the model allows, at most at `limit` candidates.
pub fn allowed(code: &Code, rules: &[Rules], limit: u64) -> Allowed {
    let values = code.values();
    let mut traces: Vec<Vec<Trace>> = Vec::new();
    for thread in 0..code.blocks.len() {
        let mut own = Vec::new();
        add_traces(code.walk(thread), &values, Vec::new(), &mut own);
        traces.push(own);
    }
    let allowed = Allowed { races: vec![BTreeSet::new(); rules.len()], ..Allowed::default() };
    let mut search = Search { rules, allowed, limit };
    let combinations = traces.iter().map(|own| own.len() as u64).product::<u64>();
    search.allowed.is_cut_short = combinations > limit;
    let mut choice = vec![0; traces.len()];
    while !search.allowed.is_cut_short {
        let chosen: Vec<&Trace> = choice.iter().zip(&traces).map(|(&c, own)| &own[c]).collect();
        let mut execution = combine(code, &chosen);
        if execution.events.len() > 64 {
            search.allowed.is_cut_short = true;
        } else if values_are_written(&execution) {
            search.choose_writes(&mut execution, 0);
        }
        let Some(next) = (0..choice.len()).find(|&i| choice[i] + 1 < traces[i].len()) else { break };
        choice[..next].fill(0);
        choice[next] += 1;
    }
    search.allowed
}

/// True if each value that is read is also written somewhere, or is 0.
fn values_are_written(execution: &Execution<'_>) -> bool {
    let written = |at: Option<usize>, value: u32, reader: usize| {
        let events = execution.events.iter().enumerate();
        events.clone().any(|(i, w)| i != reader && w.at() == at && w.written() == Some(value))
    };
    execution
        .events
        .iter()
        .enumerate()
        .all(|(i, e)| e.read().is_none_or(|value| value == 0 || written(e.at(), value, i)))
}
