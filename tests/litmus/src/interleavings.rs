//! The executions in which one thread acts at a time and each read returns the newest write: those that
//! an executor of whole instructions can show.

use std::collections::HashSet;

use gpurace_random::Random;

use crate::execution::{Execution, Source};
use crate::walk::{Code, Event, Kind, Next, Walk};

/// Threads on their way.
#[derive(Clone)]
struct State<'a> {
    code: &'a Code,
    walks: Vec<Walk<'a>>,
    events: Vec<Event>,
    from: Vec<Source>,
    threads: Vec<Vec<usize>>,
    /// The newest write to each location, and its value.
    memory: Vec<(Source, u32)>,
    /// For each location, the writes so far: thread, and place in the thread.
    written: Vec<Vec<(u8, u8)>>,
    /// For each thread, what its reads returned.
    returned: Vec<Vec<(u8, u8)>>,
}

impl<'a> State<'a> {
    fn new(code: &'a Code) -> Self {
        let n = code.blocks.len();
        Self {
            code,
            walks: (0..n).map(|t| code.walk(t)).collect(),
            events: Vec::new(),
            from: Vec::new(),
            threads: vec![Vec::new(); n],
            memory: vec![(None, 0); code.locations],
            written: vec![Vec::new(); code.locations],
            returned: vec![Vec::new(); n],
        }
    }

    /// The threads that can act. Of those that meet, the first one acts for all.
    fn ready(&self) -> Vec<usize> {
        let can = |&t: &usize| match self.walks[t].next() {
            Next::Ends => false,
            Next::Meets(m) => {
                let all = &self.code.meetings[m];
                all[0] == t && all.iter().all(|&other| self.walks[other].next() == Next::Meets(m))
            }
            Next::Reads(_) | Next::Writes(_) | Next::Fence => true,
        };
        (0..self.walks.len()).filter(can).collect()
    }

    fn name(&self, event: usize) -> (u8, u8) {
        let thread = self.events[event].thread;
        let place = self.threads[thread].iter().position(|&e| e == event).expect("an event of its thread");
        (thread as u8, place as u8)
    }

    fn act(&mut self, t: usize) {
        let id = self.events.len();
        if let Next::Meets(m) = self.walks[t].next() {
            for &other in &self.code.meetings[m] {
                let event = self.walks[other].step(0);
                if other == t {
                    self.events.push(event);
                    self.from.push(None);
                }
                self.threads[other].push(id);
            }
            return;
        }
        let value = match self.walks[t].next() {
            Next::Reads(at) => self.memory[at].1,
            _ => 0,
        };
        let event = self.walks[t].step(value);
        self.threads[t].push(id);
        let mut source = None;
        if let Kind::Access { at, reads, writes, .. } = event.kind {
            if reads.is_some() {
                source = self.memory[at].0;
                let name = source.map_or((u8::MAX, 0), |w| self.name(w));
                self.returned[t].push(name);
            }
            if let Some(value) = writes {
                self.memory[at] = (Some(id), value);
                self.written[at].push((t as u8, (self.threads[t].len() - 1) as u8));
            }
        }
        self.events.push(event);
        self.from.push(source);
    }

    /// What tells states apart: how far the threads are, what their reads returned, and the order of the
    /// writes of each location.
    fn key(&self) -> Vec<u8> {
        let mut key: Vec<u8> = self.threads.iter().map(|t| t.len() as u8).collect();
        for list in self.returned.iter().chain(&self.written) {
            key.push(list.len() as u8);
            key.extend(list.iter().flat_map(|&(t, i)| [t, i]));
        }
        key
    }

    fn execution(&self) -> Execution<'a> {
        Execution {
            code: self.code,
            events: self.events.clone(),
            threads: self.threads.clone(),
            from: self.from.clone(),
        }
    }
}

/// Calls a function with each execution in which one thread acts at a time: one order of those that only
/// differ in the order of steps that do not communicate. The events come in the order in which they
/// happened. Returns false if there are more than `limit` states.
pub fn each(code: &Code, limit: usize, f: &mut impl FnMut(&Execution<'_>)) -> bool {
    let mut seen = HashSet::new();
    let mut stack = vec![State::new(code)];
    while let Some(state) = stack.pop() {
        let ready = state.ready();
        if ready.is_empty() {
            f(&state.execution());
        }
        for t in ready {
            let mut next = state.clone();
            next.act(t);
            if seen.insert(next.key()) {
                stack.push(next);
            }
        }
        if seen.len() > limit {
            return false;
        }
    }
    true
}

/// Returns a random one of the executions in which one thread acts at a time.
pub fn random<'a>(code: &'a Code, random: &mut Random) -> Execution<'a> {
    let mut state = State::new(code);
    // A thread often goes on where it is.
    let mut last = None;
    loop {
        let ready = state.ready();
        if ready.is_empty() {
            return state.execution();
        }
        let t = match last.filter(|t| ready.contains(t) && random.chance(50)) {
            Some(t) => t,
            None => random.pick(&ready),
        };
        state.act(t);
        last = Some(t);
    }
}
