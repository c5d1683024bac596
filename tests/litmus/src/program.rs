//! Litmus programs.

use std::fmt;

/// How far a strong operation reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The threads of the block.
    Cta,
    /// The threads of the device.
    Gpu,
    /// All threads.
    Sys,
}

/// The order of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// None by itself.
    Relaxed,
    /// Of loads and read-modify-writes.
    Acquire,
    /// Of stores and read-modify-writes.
    Release,
    /// Of read-modify-writes.
    AcqRel,
}

impl Order {
    /// True for acquire and acquire-release.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel)
    }

    /// True for release and acquire-release.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel)
    }
}

/// The strength of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// A weak access.
    Plain,
    /// A volatile access: relaxed at system scope by PTX.
    Volatile,
    /// A strong access.
    Atomic(Scope, Order),
}

/// What a read-modify-write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The sum of the old value and this one.
    Add(u32),
    /// This value.
    Exchange(u32),
    /// The second value, if the old value is the first one.
    Swap(u32, u32),
}

/// The condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The register has this value.
    Is(u32),
    /// It has another one.
    IsNot(u32),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Loads a location into a register.
    Load {
        /// The register.
        register: usize,
        /// The location.
        at: usize,
        /// Its strength.
        strength: Strength,
    },
    /// Stores a constant.
    Store {
        /// The location.
        at: usize,
        /// The value.
        value: u32,
        /// Its strength.
        strength: Strength,
    },
    /// A read-modify-write.
    Modify {
        /// Where the old value goes; `None` for a reduction (`red`).
        register: Option<usize>,
        /// The location.
        at: usize,
        /// What it writes.
        update: Update,
        /// Its scope.
        scope: Scope,
        /// Its order.
        order: Order,
    },
    /// A fence: `fence.sc`, or else `fence.acq_rel`.
    Fence {
        /// Its scope.
        scope: Scope,
        /// It is `fence.sc`, as `__threadfence()` is.
        full: bool,
    },
    /// The thread meets others, at this one of [`Program::meetings`]. Not in a branch.
    Meet(usize),
    /// A branch.
    If {
        /// The register that is tested.
        register: usize,
        /// The test.
        test: Test,
        /// What happens if the test holds.
        then: Vec<Instruction>,
    },
}

/// Where threads meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// `__syncthreads()` of this block.
    Block(u32),
    /// `__syncwarp(mask)` of a warp of a block.
    Lanes {
        /// The block.
        block: u32,
        /// The warp in the block.
        warp: u32,
        /// The lanes.
        mask: u32,
    },
}

/// A thread of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its block.
    pub block: u32,
    /// Its number in the block.
    pub number: u32,
    /// What it does.
    pub code: Vec<Instruction>,
}

/// A program. All locations are 0 at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// For each location, whether it lies in shared memory: then each block has one of its own.
    pub shared: Vec<bool>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// Where they meet.
    pub meetings: Vec<Meeting>,
}

impl Meeting {
    /// True if the thread takes part.
    pub fn has(self, thread: &Thread) -> bool {
        match self {
            Self::Block(block) => thread.block == block,
            Self::Lanes { block, warp, mask } => {
                (thread.block, thread.number / 32) == (block, warp) && mask >> (thread.number % 32) & 1 != 0
            }
        }
    }
}

/// Calls a function for each instruction, those in branches too, in the order of the program.
pub fn for_each<'a>(code: &'a [Instruction], f: &mut impl FnMut(&'a Instruction)) {
    for i in code {
        f(i);
        if let Instruction::If { then, .. } = i {
            for_each(then, f);
        }
    }
}

impl Program {
    /// Checks what the other modules rely on: those who take part in a meeting come to it once, in one
    /// order, and no meeting is in a branch. Registers are loaded once, before they are tested.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn validate(&self) -> Result<(), String> {
        for (i, a) in self.threads.iter().enumerate() {
            if self.threads[..i].iter().any(|b| (a.block, a.number) == (b.block, b.number)) {
                return Err(format!("two threads are thread {} of block {}", a.number, a.block));
            }
            let mut loaded = Vec::new();
            self.validate_code(&a.code, true, &mut loaded)?;
        }
        let met = |thread: &Thread| -> Vec<usize> {
            let meeting = |i: &Instruction| if let Instruction::Meet(m) = i { Some(*m) } else { None };
            thread.code.iter().filter_map(meeting).collect()
        };
        for (m, meeting) in self.meetings.iter().enumerate() {
            let members = self.threads.iter().filter(|t| meeting.has(t)).count();
            if let Meeting::Lanes { mask, .. } = meeting
                && mask.count_ones() as usize != members
            {
                return Err(format!("meeting {m} waits for lanes that the program does not have"));
            }
            for thread in &self.threads {
                let times = met(thread).iter().filter(|&&other| other == m).count();
                if times != usize::from(meeting.has(thread)) {
                    return Err(format!("a thread comes {times} times to meeting {m}"));
                }
            }
        }
        let mut left: Vec<Vec<usize>> = self.threads.iter().map(met).collect();
        while let Some(next) = left.iter().filter_map(|l| l.first().copied()).find(|m| {
            self.threads.iter().zip(&left).all(|(t, l)| !self.meetings[*m].has(t) || l.first() == Some(m))
        }) {
            for l in left.iter_mut().filter(|l| l.first() == Some(&next)) {
                l.remove(0);
            }
        }
        if left.iter().any(|l| !l.is_empty()) {
            return Err("threads come to meetings in different orders".into());
        }
        Ok(())
    }

    fn validate_code(&self, code: &[Instruction], top: bool, loaded: &mut Vec<usize>) -> Result<(), String> {
        let locations = self.shared.len();
        let load = |register: usize, loaded: &mut Vec<usize>| match loaded.contains(&register) {
            true => Err(format!("register {register} is loaded twice")),
            false => {
                loaded.push(register);
                Ok(())
            }
        };
        for i in code {
            match *i {
                Instruction::Load { at, .. }
                | Instruction::Store { at, .. }
                | Instruction::Modify { at, .. }
                    if at >= locations =>
                {
                    return Err(format!("there is no location {at}"));
                }
                Instruction::Load { strength: Strength::Atomic(_, order), .. } if order.releases() => {
                    return Err("a load releases".into());
                }
                Instruction::Store { strength: Strength::Atomic(_, order), .. } if order.acquires() => {
                    return Err("a store acquires".into());
                }
                Instruction::Modify { register: None, update, order, .. }
                    if order.acquires() || !matches!(update, Update::Add(_)) =>
                {
                    return Err("a reduction adds, and does not acquire".into());
                }
                Instruction::Load { register, .. } | Instruction::Modify { register: Some(register), .. } => {
                    load(register, loaded)?
                }
                Instruction::Meet(m) if !top || m >= self.meetings.len() => {
                    return Err(format!("meeting {m} is in a branch, or is none"));
                }
                Instruction::If { register, ref then, .. } => {
                    if !loaded.contains(&register) {
                        return Err(format!("register {register} is tested but not loaded"));
                    }
                    // What a branch loads is not tested behind it.
                    let mut inner = loaded.clone();
                    self.validate_code(then, false, &mut inner)?;
                }
                Instruction::Store { .. }
                | Instruction::Modify { register: None, .. }
                | Instruction::Fence { .. }
                | Instruction::Meet(_) => {}
            }
        }
        Ok(())
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        let mut n = 0;
        self.threads.iter().for_each(|t| for_each(&t.code, &mut |_| n += 1));
        n
    }

    /// True without instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cta => "cta",
            Self::Gpu => "gpu",
            Self::Sys => "sys",
        })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
        })
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("weak"),
            Self::Volatile => f.write_str("volatile"),
            Self::Atomic(scope, order) => write!(f, "{order}.{scope}"),
        }
    }
}

fn write_code(
    f: &mut fmt::Formatter<'_>,
    program: &Program,
    code: &[Instruction],
    depth: usize,
) -> fmt::Result {
    for i in code {
        write!(f, "{:width$}", "", width = 2 + 2 * depth)?;
        match i {
            Instruction::Load { register, at, strength } => writeln!(f, "r{register} = ld.{strength} x{at}")?,
            Instruction::Store { at, value, strength } => writeln!(f, "st.{strength} x{at} = {value}")?,
            Instruction::Modify { register, at, update, scope, order } => {
                match register {
                    Some(register) => write!(f, "r{register} = atom")?,
                    None => write!(f, "red")?,
                }
                writeln!(f, ".{order}.{scope} x{at} {update:?}")?;
            }
            Instruction::Fence { scope, full } => {
                writeln!(f, "fence.{}.{scope}", if *full { "sc" } else { "acq_rel" })?;
            }
            Instruction::Meet(m) => writeln!(f, "meet {:?}", program.meetings[*m])?,
            Instruction::If { register, test, then } => {
                writeln!(f, "if r{register} {test:?}:")?;
                write_code(f, program, then, depth + 1)?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared: Vec<String> =
            (0..self.shared.len()).filter(|&x| self.shared[x]).map(|x| format!("x{x}")).collect();
        writeln!(f, "shared: {}", shared.join(" "))?;
        for t in &self.threads {
            writeln!(f, "thread {} of block {}:", t.number, t.block)?;
            write_code(f, self, &t.code, 0)?;
        }
        Ok(())
    }
}
