//! Runs a kernel on the host: its results, and its races. Threads of a block do each statement together;
//! what they compute does not depend on that, if nothing races. This module shares no code with gpurace.

use crate::cuda::part_seed;
use crate::order::{Act, Clocks, History, Races};
use crate::program::{Collective, Expr, Function, Kernel, Kind, Place, Space, Special, Stmt};
use crate::scalar::{Op, Scalar};

/// Why a kernel has no meaning, or is too large to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An index is out of bounds.
    OutOfBounds,
    /// Not all threads reach a barrier, or not all lanes a collective.
    Divergent,
    /// Shared memory is read before it is written.
    Uninitialised,
    /// It takes too many steps.
    TooLong,
    /// It divides by zero, or shifts too far.
    Undefined,
}

/// The result of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// For each array its bytes; none for shared ones.
    pub arrays: Vec<Vec<u8>>,
    /// Its races.
    pub races: Races,
}

/// Accesses of a kernel at most.
const LIMIT: usize = 400_000;

struct Machine<'a> {
    kernel: &'a Kernel,
    arrays: Vec<Vec<u8>>,
    /// For shared arrays, which bytes have been written.
    written: Vec<Vec<bool>>,
    locals: Vec<Vec<u64>>,
    alive: Vec<bool>,
    /// Threads that have left an iteration of the innermost loop, and the loop if true.
    left: Vec<Option<bool>>,
    clocks: Clocks,
    history: History,
    block: u32,
    steps: usize,
}

/// A thread that evaluates.
#[derive(Clone, Copy)]
struct At<'a> {
    thread: usize,
    site: usize,
    call: Option<(&'a Function, &'a [u64])>,
}

fn coordinate(number: u32, extents: [u32; 3], dimension: usize) -> u32 {
    match dimension {
        0 => number % extents[0],
        1 => number / extents[0] % extents[1],
        _ => number / extents[0] / extents[1],
    }
}

impl Machine<'_> {
    fn type_of(&self, e: &Expr, at: &At) -> Scalar {
        self.kernel.type_of(e, at.call.map(|c| c.0))
    }

    fn eval(&mut self, e: &Expr, at: At) -> Result<u64, Refused> {
        Ok(match e {
            Expr::Const(_, bits) => *bits,
            Expr::Local(v) => self.locals[at.thread][*v],
            Expr::Param(p) => self.kernel.params[*p].1,
            Expr::Special(which, d) => u64::from(match which {
                Special::Thread => coordinate(at.thread as u32, self.kernel.block, *d),
                Special::Block => coordinate(self.block, self.kernel.grid, *d),
                Special::BlockDim => self.kernel.block[*d],
                Special::GridDim => self.kernel.grid[*d],
            }),
            Expr::Load(place) => {
                let (start, scalar) = self.find(place, at)?;
                self.read(place.array, start, scalar.size(), Some(Act::Read), at)?
            }
            Expr::Binary(op, a, b) => {
                let s = self.type_of(a, &at);
                let (a, b) = (self.eval(a, at)?, self.eval(b, at)?);
                match op {
                    Op::Div | Op::Rem if b == 0 => return Err(Refused::Undefined),
                    Op::Shl | Op::Shr if b >= 8 * s.size() as u64 => return Err(Refused::Undefined),
                    _ => s.apply(*op, a, b),
                }
            }
            Expr::Compare(test, a, b) => {
                let s = self.type_of(a, &at);
                let (a, b) = (self.eval(a, at)?, self.eval(b, at)?);
                u64::from(s.test(*test, a, b))
            }
            Expr::Select(c, a, b) => match self.eval(c, at)? {
                0 => self.eval(b, at)?,
                _ => self.eval(a, at)?,
            },
            Expr::Cast(to, e) => self.type_of(e, &at).convert(*to, self.eval(e, at)?),
            Expr::Bits(e) => self.eval(e, at)?,
            Expr::Call(f, arguments) => {
                let values = arguments.iter().map(|e| self.eval(e, at)).collect::<Result<Vec<_>, _>>()?;
                let kernel = self.kernel;
                let function = &kernel.functions[*f];
                let at = At { site: function.site, call: Some((function, &values)), ..at };
                self.eval(&function.body, at)?
            }
            Expr::Argument(i) => at.call.expect("in a function").1[*i],
            Expr::Own(index) => {
                let array = at.call.and_then(|c| c.0.array).expect("of an array");
                let index = self.eval(index, at)? as usize;
                let a = &self.kernel.arrays[array];
                if index >= a.len() {
                    return Err(Refused::OutOfBounds);
                }
                let (start, size) = (index * a.element.size(), a.element.part(0).0.size());
                self.read(array, start, size, Some(Act::Read), at)?
            }
        })
    }

    /// The first byte and the type of a place.
    fn find(&mut self, place: &Place, at: At) -> Result<(usize, Scalar), Refused> {
        let array = &self.kernel.arrays[place.array];
        let mut flat = 0;
        for (e, &extent) in place.index.iter().zip(&array.extents) {
            let index = self.eval(e, at)?;
            if index >= u64::from(extent) {
                return Err(Refused::OutOfBounds);
            }
            flat = flat * extent as usize + index as usize;
        }
        let (scalar, offset) = array.element.part(place.part);
        let first = if array.space == Space::Local { at.thread * array.bytes() } else { 0 };
        Ok((first + flat * array.element.size() + offset, scalar))
    }

    fn note(&mut self, array: usize, start: usize, size: usize, act: Act, at: At) {
        let memory = &self.kernel.arrays[array];
        // Nobody writes to an input.
        if matches!(memory.space, Space::Input | Space::Local) {
            return;
        }
        let owner = if memory.is_shared() { self.block } else { u32::MAX };
        self.history.add(&self.clocks, at.thread, (owner, array), start..start + size, act, at.site);
    }

    fn read(
        &mut self,
        array: usize,
        start: usize,
        size: usize,
        act: Option<Act>,
        at: At,
    ) -> Result<u64, Refused> {
        if let Some(act) = act {
            self.note(array, start, size, act, at);
        }
        if !self.kernel.arrays[array].is_global()
            && !self.written[array][start..start + size].iter().all(|&w| w)
        {
            return Err(Refused::Uninitialised);
        }
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.arrays[array][start..start + size]);
        Ok(u64::from_le_bytes(bytes))
    }

    fn write(&mut self, array: usize, start: usize, size: usize, value: u64) {
        self.arrays[array][start..start + size].copy_from_slice(&value.to_le_bytes()[..size]);
        self.written[array][start..start + size].fill(true);
    }

    fn run(&mut self, body: &[Stmt], active: &[usize]) -> Result<(), Refused> {
        for s in body {
            let active: Vec<usize> =
                active.iter().copied().filter(|&t| self.alive[t] && self.left[t].is_none()).collect();
            if active.is_empty() {
                return Ok(());
            }
            self.steps += active.len();
            if self.steps > LIMIT || self.history.len() > LIMIT {
                return Err(Refused::TooLong);
            }
            self.statement(s, &active)?;
        }
        Ok(())
    }

    fn statement(&mut self, s: &Stmt, active: &[usize]) -> Result<(), Refused> {
        let at = |thread| At { thread, site: s.site, call: None };
        match &s.kind {
            Kind::If(c, then, other) => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for &t in active {
                    if self.eval(c, at(t))? != 0 { yes.push(t) } else { no.push(t) }
                }
                self.run(then, &yes)?;
                self.run(other, &no)
            }
            Kind::For(v, first, test, next, body) => {
                for &t in active {
                    self.locals[t][*v] = self.eval(first, at(t))?;
                }
                let mut still = active.to_vec();
                loop {
                    still.retain(|&t| self.alive[t] && self.left[t].is_none());
                    let mut going = Vec::new();
                    for &t in &still {
                        if self.eval(test, at(t))? != 0 {
                            going.push(t);
                        }
                    }
                    if going.is_empty() {
                        active.iter().for_each(|&t| self.left[t] = None);
                        return Ok(());
                    }
                    self.steps += going.len();
                    self.run(body, &going)?;
                    if self.steps > LIMIT {
                        return Err(Refused::TooLong);
                    }
                    for &t in &going {
                        if self.left[t] == Some(false) {
                            self.left[t] = None;
                        }
                        if self.alive[t] && self.left[t].is_none() {
                            self.locals[t][*v] = self.eval(next, at(t))?;
                        }
                    }
                    still = going;
                }
            }
            Kind::Barrier | Kind::BarrierCount(..) => {
                let alive = self.alive.iter().filter(|&&a| a).count();
                if active.len() != alive {
                    return Err(Refused::Divergent);
                }
                if let Kind::BarrierCount(v, e) = &s.kind {
                    let mut count = 0;
                    for &t in active {
                        count += u64::from(self.eval(e, at(t))? != 0);
                    }
                    active.iter().for_each(|&t| self.locals[t][*v] = count);
                }
                // Threads that have ended count as arrived.
                let all: Vec<usize> = (0..self.alive.len()).collect();
                self.clocks.meet(&all);
                Ok(())
            }
            Kind::SyncWarp(mask) => {
                for mut lanes in self.warps(active, *mask)? {
                    // So do lanes that have ended.
                    let first = lanes[0] / 32 * 32;
                    let all = first..(first + 32).min(self.alive.len());
                    lanes.extend(all.filter(|&t| !self.alive[t] && mask >> (t % 32) & 1 != 0));
                    self.clocks.meet(&lanes);
                }
                Ok(())
            }
            Kind::Warp(v, collective, mask, e) => {
                for lanes in self.warps(active, *mask)? {
                    let values = lanes.iter().map(|&t| self.eval(e, at(t))).collect::<Result<Vec<_>, _>>()?;
                    let s = self.kernel.type_of(e, None);
                    for &t in &lanes {
                        self.locals[t][*v] = self.collect(*collective, s, t, &lanes, &values)?;
                    }
                }
                Ok(())
            }
            Kind::Break | Kind::Continue => {
                active.iter().for_each(|&t| self.left[t] = Some(s.kind == Kind::Break));
                Ok(())
            }
            Kind::Return => {
                active.iter().for_each(|&t| self.alive[t] = false);
                Ok(())
            }
            simple => active.iter().try_for_each(|&t| self.act(simple, at(t))),
        }
    }

    /// What one thread does alone.
    fn act(&mut self, kind: &Kind, at: At) -> Result<(), Refused> {
        match kind {
            Kind::Set(v, e) => self.locals[at.thread][*v] = self.eval(e, at)?,
            Kind::Store(place, e) => {
                let value = self.eval(e, at)?;
                let (start, s) = self.find(place, at)?;
                self.note(place.array, start, s.size(), Act::Write, at);
                self.write(place.array, start, s.size(), value);
            }
            Kind::StoreAll(place, parts) => {
                let values = parts.iter().map(|e| self.eval(e, at)).collect::<Result<Vec<_>, _>>()?;
                for (part, value) in values.into_iter().enumerate() {
                    let place = Place { part, ..place.clone() };
                    let (start, s) = self.find(&place, at)?;
                    self.note(place.array, start, s.size(), Act::Write, at);
                    self.write(place.array, start, s.size(), value);
                }
            }
            Kind::LoadAll(variables, place) => {
                for (part, &v) in variables.iter().enumerate() {
                    let place = Place { part, ..place.clone() };
                    let (start, s) = self.find(&place, at)?;
                    self.locals[at.thread][v] =
                        self.read(place.array, start, s.size(), Some(Act::Read), at)?;
                }
            }
            Kind::Update(op, place, e) | Kind::Atomic(op, place, e) => {
                let value = self.eval(e, at)?;
                let (start, s) = self.find(place, at)?;
                let atomic = matches!(kind, Kind::Atomic(..));
                let act = if atomic { Act::Atomic } else { Act::Read };
                let old = self.read(place.array, start, s.size(), Some(act), at)?;
                if !atomic {
                    self.note(place.array, start, s.size(), Act::Write, at);
                }
                self.write(place.array, start, s.size(), s.apply(*op, old, value));
            }
            _ => unreachable!("done by `statement`"),
        }
        Ok(())
    }

    /// The active lanes of each warp. All of a mask's lanes that the block has must be active, and no others.
    fn warps(&self, active: &[usize], mask: u32) -> Result<Vec<Vec<usize>>, Refused> {
        let threads = self.alive.len();
        let mut all = Vec::new();
        for first in (0..threads).step_by(32) {
            let lanes: Vec<usize> = active.iter().copied().filter(|t| t / 32 == first / 32).collect();
            if lanes.is_empty() {
                continue;
            }
            let wanted: Vec<usize> =
                (first..(first + 32).min(threads)).filter(|t| mask >> (t % 32) & 1 != 0).collect();
            let alive: Vec<usize> = wanted.iter().copied().filter(|&t| self.alive[t]).collect();
            if lanes != alive || (mask != u32::MAX && wanted.len() != mask.count_ones() as usize) {
                return Err(Refused::Divergent);
            }
            all.push(lanes);
        }
        Ok(all)
    }

    fn collect(
        &self,
        collective: Collective,
        s: Scalar,
        thread: usize,
        lanes: &[usize],
        values: &[u64],
    ) -> Result<u64, Refused> {
        let lane = thread as u32 % 32;
        let of = |lane: u32| -> Result<u64, Refused> {
            let at = lanes.iter().position(|t| *t as u32 % 32 == lane);
            at.map(|at| values[at]).ok_or(Refused::Undefined)
        };
        let ballot = |holds: &dyn Fn(u64) -> bool| {
            lanes.iter().zip(values).filter(|(_, v)| holds(**v)).fold(0, |m, (t, _)| m | 1u64 << (t % 32))
        };
        match collective {
            Collective::Xor(n) => of(lane ^ n),
            Collective::Down(n) => of(if lane + n < 32 { lane + n } else { lane }),
            Collective::Up(n) => of(lane.checked_sub(n).unwrap_or(lane)),
            Collective::From(n) => of(n),
            Collective::Ballot => Ok(ballot(&|v| v & 1 != 0)),
            Collective::Any => Ok(u64::from(values.iter().any(|v| v & 1 != 0))),
            Collective::Add => Ok(values.iter().fold(0, |a, &b| s.apply(Op::Add, a, b))),
            Collective::Max => Ok(values.iter().copied().reduce(|a, b| s.apply(Op::Max, a, b)).unwrap_or(0)),
            Collective::Match => {
                let own = of(lane)?;
                Ok(ballot(&|v| v == own))
            }
        }
    }
}

/// Runs a kernel, whose statements are numbered.
///
/// # Errors
/// If it has no meaning.
pub fn run(kernel: &Kernel) -> Result<Outcome, Refused> {
    let threads = kernel.threads() as usize;
    let mut arrays = Vec::new();
    for array in &kernel.arrays {
        let copies = if array.space == Space::Local { threads } else { 1 };
        let mut bytes = vec![0; array.bytes() * copies];
        for (i, element) in bytes.chunks_mut(array.element.size()).enumerate() {
            for part in 0..array.element.parts().len() {
                let (s, offset) = array.element.part(part);
                let value = s.initial(part_seed(array.seed, part), i as u64);
                element[offset..offset + s.size()].copy_from_slice(&value.to_le_bytes()[..s.size()]);
            }
        }
        arrays.push(bytes);
    }
    let written: Vec<Vec<bool>> = arrays.iter().map(|a| vec![false; a.len()]).collect();
    let mut machine = Machine {
        kernel,
        arrays,
        written,
        locals: Vec::new(),
        alive: Vec::new(),
        left: Vec::new(),
        clocks: Clocks::new(0, threads),
        history: History::default(),
        block: 0,
        steps: 0,
    };
    let mut races = Races::default();
    for _ in 0..kernel.launches {
        machine.history = History::default();
        for block in 0..kernel.blocks() {
            machine.block = block;
            machine.clocks = Clocks::new(block, threads);
            machine.locals = vec![vec![0; kernel.locals.len()]; threads];
            machine.alive = vec![true; threads];
            machine.left = vec![None; threads];
            machine.written.iter_mut().for_each(|w| w.fill(false));
            machine.run(&kernel.body, &(0..threads).collect::<Vec<_>>())?;
        }
        machine.history.find(&mut races);
    }
    let mut arrays = machine.arrays;
    for (bytes, array) in arrays.iter_mut().zip(&kernel.arrays) {
        if !array.is_global() {
            bytes.clear();
        }
    }
    Ok(Outcome { arrays, races })
}
