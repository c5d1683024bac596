//! What a thread does, step by step. A thread's code is laid out flat, with jumps; [`Walk`] goes along
//! it, and is told what each read returns.

use crate::program::{Instruction, Meeting, Program, Scope, Strength, Test, Update};

/// An instruction of the flat code. Its *site* numbers the instructions of the whole program.
#[derive(Clone, Copy, Debug)]
enum Flat {
    Access {
        site: usize,
        register: Option<usize>,
        event: Template,
    },
    Fence {
        site: usize,
        scope: Scope,
        full: bool,
    },
    Meet {
        site: usize,
        meeting: usize,
    },
    /// Goes to `to` if the test fails. The code before `to` depends on the register.
    Branch {
        register: usize,
        test: Test,
        to: usize,
    },
}

/// An access whose values are not known.
#[derive(Clone, Copy, Debug)]
struct Template {
    at: usize,
    reads: bool,
    writes: Option<Update>,
    scope: Option<Scope>,
    volatile: bool,
    acquires: bool,
    releases: bool,
    reduces: bool,
}

/// What happened: an access, a fence or a meeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its thread; the first one of a meeting.
    pub thread: usize,
    /// Its instruction.
    pub site: usize,
    /// What it is.
    pub kind: Kind,
    /// The scope of a strong operation; `None` of a weak one.
    pub scope: Option<Scope>,
    /// An acquire operation: an acquire fence too.
    pub acquires: bool,
    /// A release operation: a release fence too.
    pub releases: bool,
    /// The reads of the thread on whose values it depends: their places among the thread's events.
    pub depends: Vec<usize>,
}

/// What an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A memory operation.
    Access {
        /// The location of the memory: shared locations of several blocks are several.
        at: usize,
        /// The value that it reads.
        reads: Option<u32>,
        /// The value that it writes. A compare-and-swap that fails writes none.
        writes: Option<u32>,
        /// It is a volatile one.
        volatile: bool,
        /// It is a reduction, whose read is part of no acquire pattern.
        reduces: bool,
    },
    /// A fence.
    Fence {
        /// It is `fence.sc`.
        full: bool,
    },
    /// Threads have met.
    Meet {
        /// Which meeting.
        meeting: usize,
    },
}

impl Event {
    /// The location of a memory operation.
    pub fn at(&self) -> Option<usize> {
        if let Kind::Access { at, .. } = self.kind { Some(at) } else { None }
    }

    /// The value that it reads.
    pub fn read(&self) -> Option<u32> {
        if let Kind::Access { reads, .. } = self.kind { reads } else { None }
    }

    /// The value that it writes.
    pub fn written(&self) -> Option<u32> {
        if let Kind::Access { writes, .. } = self.kind { writes } else { None }
    }
}

/// The code of all threads of a program, laid out flat.
#[derive(Clone, Debug)]
pub struct Code {
    threads: Vec<Vec<Flat>>,
    /// The threads of each meeting.
    pub meetings: Vec<Vec<usize>>,
    /// Those that are barriers of a block.
    pub of_block: Vec<bool>,
    /// The block of each thread.
    pub blocks: Vec<u32>,
    /// Number of locations.
    pub locations: usize,
    /// For each location, those of the other blocks included, the program's location and the block of a
    /// shared one.
    pub places: Vec<(usize, Option<u32>)>,
}

fn template(i: &Instruction) -> Option<(Option<usize>, Template)> {
    let parts = |strength: Strength| match strength {
        Strength::Plain => (None, false, false, false),
        Strength::Volatile => (Some(Scope::Sys), true, false, false),
        Strength::Atomic(scope, order) => (Some(scope), false, order.acquires(), order.releases()),
    };
    let reduces = false;
    Some(match *i {
        Instruction::Load { register, at, strength } => {
            let (scope, volatile, acquires, releases) = parts(strength);
            let event =
                Template { at, reads: true, writes: None, scope, volatile, acquires, releases, reduces };
            (Some(register), event)
        }
        Instruction::Store { at, value, strength } => {
            let (scope, volatile, acquires, releases) = parts(strength);
            let writes = Some(Update::Exchange(value));
            (None, Template { at, reads: false, writes, scope, volatile, acquires, releases, reduces })
        }
        Instruction::Modify { register, at, update, scope, order } => {
            let event = Template {
                at,
                reads: true,
                writes: Some(update),
                scope: Some(scope),
                volatile: false,
                acquires: order.acquires(),
                releases: order.releases(),
                reduces: register.is_none(),
            };
            (register, event)
        }
        Instruction::Fence { .. } | Instruction::Meet(_) | Instruction::If { .. } => return None,
    })
}

impl Code {
    /// Lays out a program.
    pub fn new(program: &Program) -> Self {
        let blocks: Vec<u32> = program.threads.iter().map(|t| t.block).collect();
        let mut places = Vec::new();
        for (x, &shared) in program.shared.iter().enumerate() {
            match shared {
                true => {
                    let mut own = blocks.clone();
                    own.sort_unstable();
                    own.dedup();
                    places.extend(own.into_iter().map(|b| (x, Some(b))));
                }
                false => places.push((x, None)),
            }
        }
        let mut site = 0;
        let threads = program.threads.iter().map(|t| {
            let mut flat = Vec::new();
            let place = |at: usize| {
                let of = program.shared[at].then_some(t.block);
                places.iter().position(|&p| p == (at, of)).expect("each location has a place")
            };
            lay_out(&t.code, &place, &mut site, &mut flat);
            flat
        });
        let threads = threads.collect();
        let members = |m: &Meeting| {
            let with = program.threads.iter().enumerate().filter(|(_, t)| m.has(t));
            with.map(|(i, _)| i).collect()
        };
        Self {
            threads,
            meetings: program.meetings.iter().map(members).collect(),
            of_block: program.meetings.iter().map(|m| matches!(m, Meeting::Block(_))).collect(),
            blocks,
            locations: places.len(),
            places,
        }
    }

    /// For each location, the values that it may have in some execution, or more: 0 and all that can be
    /// written if each read may return each of them.
    pub fn values(&self) -> Vec<Vec<u32>> {
        let mut values = vec![vec![0]; self.locations];
        let updates: Vec<(usize, Update)> = self
            .threads
            .iter()
            .flatten()
            .filter_map(|flat| match flat {
                Flat::Access { event: Template { at, writes: Some(update), .. }, .. } => Some((*at, *update)),
                _ => None,
            })
            .collect();
        for &(at, update) in &updates {
            match update {
                Update::Exchange(v) | Update::Swap(_, v) => values[at].push(v),
                Update::Add(_) => {}
            }
        }
        // Each sum happens once.
        for &(at, update) in &updates {
            if let Update::Add(v) = update {
                let more: Vec<u32> = values[at].iter().map(|old| old.wrapping_add(v)).collect();
                values[at].extend(more);
            }
            values[at].sort_unstable();
            values[at].dedup();
        }
        values
    }

    /// A walk along the code of a thread.
    pub fn walk(&self, thread: usize) -> Walk<'_> {
        let mut walk = Walk {
            code: &self.threads[thread],
            thread,
            at: 0,
            registers: Vec::new(),
            branches: Vec::new(),
            events: 0,
        };
        walk.pass_branches();
        walk
    }
}

fn lay_out(code: &[Instruction], place: &impl Fn(usize) -> usize, site: &mut usize, flat: &mut Vec<Flat>) {
    for i in code {
        let own = *site;
        *site += 1;
        match i {
            Instruction::Fence { scope, full } => {
                flat.push(Flat::Fence { site: own, scope: *scope, full: *full });
            }
            Instruction::Meet(m) => flat.push(Flat::Meet { site: own, meeting: *m }),
            Instruction::If { register, test, then } => {
                let branch = flat.len();
                flat.push(Flat::Branch { register: *register, test: *test, to: 0 });
                lay_out(then, place, site, flat);
                let end = flat.len();
                let Flat::Branch { to, .. } = &mut flat[branch] else { unreachable!("a branch") };
                *to = end;
            }
            Instruction::Load { .. } | Instruction::Store { .. } | Instruction::Modify { .. } => {
                let (register, mut event) = template(i).expect("an access");
                event.at = place(event.at);
                flat.push(Flat::Access { site: own, register, event });
            }
        }
    }
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It reads this location, and may write it.
    Reads(usize),
    /// It writes this location without reading it.
    Writes(usize),
    /// It makes a fence.
    Fence,
    /// It comes to this meeting.
    Meets(usize),
    /// Nothing more.
    Ends,
}

/// A thread on its way.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    code: &'a [Flat],
    thread: usize,
    at: usize,
    /// Register, value, and the event that loaded it.
    registers: Vec<(usize, u32, usize)>,
    /// The ends of the branches that it is in, and the event on which each depends.
    branches: Vec<(usize, usize)>,
    events: usize,
}

impl Walk<'_> {
    /// What comes next.
    pub fn next(&self) -> Next {
        match self.code.get(self.at) {
            None => Next::Ends,
            Some(Flat::Access { event, .. }) if event.reads => Next::Reads(event.at),
            Some(Flat::Access { event, .. }) => Next::Writes(event.at),
            Some(Flat::Fence { .. }) => Next::Fence,
            Some(Flat::Meet { meeting, .. }) => Next::Meets(*meeting),
            Some(Flat::Branch { .. }) => unreachable!("branches are passed at once"),
        }
    }

    /// Does the next step. `value`: what a read returns.
    pub fn step(&mut self, value: u32) -> Event {
        let depends: Vec<usize> = self.branches.iter().map(|b| b.1).collect();
        let thread = self.thread;
        let event = match self.code[self.at] {
            Flat::Access { site, register, event: t } => {
                let writes = match t.writes {
                    Some(Update::Add(v)) => Some(value.wrapping_add(v)),
                    Some(Update::Exchange(v)) => Some(v),
                    Some(Update::Swap(old, new)) => (value == old).then_some(new),
                    None => None,
                };
                if let Some(register) = register {
                    self.registers.push((register, value, self.events));
                }
                Event {
                    thread,
                    site,
                    kind: Kind::Access {
                        at: t.at,
                        reads: t.reads.then_some(value),
                        writes,
                        volatile: t.volatile,
                        reduces: t.reduces,
                    },
                    scope: t.scope,
                    acquires: t.acquires,
                    // A swap that fails is a read, and reads release nothing.
                    releases: t.releases && writes.is_some(),
                    depends,
                }
            }
            Flat::Fence { site, scope, full } => Event {
                thread,
                site,
                kind: Kind::Fence { full },
                scope: Some(scope),
                acquires: true,
                releases: true,
                depends,
            },
            Flat::Meet { site, meeting } => Event {
                thread,
                site,
                kind: Kind::Meet { meeting },
                scope: None,
                acquires: false,
                releases: false,
                depends,
            },
            Flat::Branch { .. } => unreachable!("branches are passed at once"),
        };
        self.at += 1;
        self.events += 1;
        self.pass_branches();
        event
    }

    fn pass_branches(&mut self) {
        loop {
            let at = self.at;
            self.branches.retain(|b| b.0 > at);
            let Some(&Flat::Branch { register, test, to }) = self.code.get(at) else { return };
            let &(_, value, from) =
                self.registers.iter().rev().find(|r| r.0 == register).expect("the register is loaded");
            let holds = match test {
                Test::Is(v) => value == v,
                Test::IsNot(v) => value != v,
            };
            if holds {
                self.branches.push((to, from));
                self.at += 1;
            } else {
                self.at = to;
            }
        }
    }
}
