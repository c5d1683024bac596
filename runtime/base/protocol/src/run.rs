//! Runs one thread of a concrete launch and lists the accesses that it makes.
//!
//! This is the meaning of a protocol, written as directly as possible. The oracle of the tests and the
//! check of every witness use it. The prover does not.

use std::collections::HashMap;

use crate::expr::{BinOp, Expr, ExprId, Exprs, LoopId, OpaqueId, ParamId, VarId, Width};
use crate::fold;
use crate::lanes::MadeSyncs;
use crate::launch::Launch;
use crate::protocol::{ObjectKind, Op, Protocol, SiteId, Step, Stmt, Sync, Test, Uniform};

/// Threads of a warp.
const WARP: u32 = 32;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    /// `blockIdx`.
    pub ctaid: [u32; 3],
    /// `threadIdx`.
    pub tid: [u32; 3],
}

impl Thread {
    /// Linear index in the block.
    pub fn linear(self, launch: &Launch) -> u32 {
        let [x, y, z] = self.tid;
        let [nx, ny, _] = launch.shape.block;
        x.wrapping_add(nx.wrapping_mul(y.wrapping_add(ny.wrapping_mul(z))))
    }

    /// Number of the warp in the block.
    pub fn warp(self, launch: &Launch) -> u32 {
        self.linear(launch) / WARP
    }

    /// Number of the lane in the warp.
    pub fn lane(self, launch: &Launch) -> u32 {
        self.linear(launch) % WARP
    }
}

/// A question that the protocol leaves open, at one moment of the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// The kind of value.
    pub what: OpenKind,
    /// The group that sees one value, and the thread that stands for the group.
    pub group: (Uniform, Thread),
    /// The iterations of the loops in which the value may change.
    pub iterations: Vec<u64>,
}

/// A kind of value that a protocol leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenKind {
    /// An opaque value.
    Opaque(OpaqueId),
    /// A value in constant memory.
    Param(ParamId),
    /// A loop variable without a known step.
    Var(VarId),
    /// The result of this division, or remainder, of this dividend by zero. It is the same
    /// everywhere.
    DivisionByZero(BinOp, Width, u64),
}

/// One access that a thread makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The number of the access statement in the order of the text.
    pub access: usize,
    /// The instruction.
    pub site: SiteId,
    /// The operation.
    pub op: Op,
    /// The index of the object.
    pub object: u32,
    /// The place of the object's pointer in the argument buffer, for [`ObjectKind::Slot`]; else 0.
    pub slot: u64,
    /// First byte, from the object's base.
    pub offset: i64,
    /// The number of bytes.
    pub size: u64,
    /// The numbers of warp, block and grid barriers that the thread has passed.
    pub passed: [u32; 3],
    /// The number of syncs of lanes that the thread has passed, those of the whole warp included.
    pub lane_syncs: u32,
}

/// What a thread does, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadWork {
    /// Statements, and iterations of loops.
    pub statements: u64,
    /// Barriers and syncs of lanes.
    pub waits: u64,
}

/// The reason why a run stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The run had too many steps.
    #[error("more than the allowed number of steps")]
    TooLong,
    /// The thread reached a statement that the protocol does not describe.
    #[error("a statement that the protocol does not describe")]
    Unknown,
}

/// Runs the threads of a launch, one after the other.
pub struct Run<'a> {
    protocol: &'a Protocol,
    exprs: &'a Exprs,
    launch: &'a Launch,
    thread: Thread,
    choose: &'a mut dyn FnMut(&Open) -> u64,
    /// The variables of the enclosing loops.
    vars: Vec<(VarId, u64)>,
    /// The iterations of the enclosing loops.
    iterations: Vec<(LoopId, u64)>,
    /// The iterations that the thread has made of each loop.
    made: HashMap<LoopId, u64>,
    /// For each expression, the number of changes at which its value was computed, and the value.
    known: Vec<(u64, u64)>,
    /// The number of changes of variables, from 1.
    changes: u64,
    passed: [u32; 3],
    syncs: MadeSyncs,
    access: usize,
    /// The number of steps that the thread may still make.
    fuel: u64,
    touches: Vec<Touch>,
    /// The values that loops have left, and whether each depends on an open question.
    left: HashMap<OpaqueId, (u64, bool)>,
    /// True once the run has asked an open question.
    asked: bool,
    rests_on_left: bool,
}

/// The accesses of a thread, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The accesses.
    pub touches: Vec<Touch>,
    /// The syncs of lanes that name the thread.
    pub syncs: MadeSyncs,
    /// True if the run asked an open question.
    pub asked: bool,
    /// True if something depends on a value that a loop has left.
    pub rests_on_left: bool,
}

/// Runs a thread, for at most `fuel` statements and iterations. `choose` answers open questions, and
/// gives equal answers to equal questions.
pub fn trace(
    protocol: &Protocol,
    launch: &Launch,
    thread: Thread,
    choose: &mut dyn FnMut(&Open) -> u64,
    fuel: u64,
) -> Result<Trace, Stopped> {
    Run::new(protocol, launch, choose).thread(thread, fuel)
}

impl<'a> Run<'a> {
    /// A run of the threads of a launch, one after the other. `choose` answers open questions, and
    /// gives equal answers to equal questions.
    pub fn new(protocol: &'a Protocol, launch: &'a Launch, choose: &'a mut dyn FnMut(&Open) -> u64) -> Self {
        Self {
            protocol,
            exprs: &protocol.exprs,
            launch,
            thread: Thread::default(),
            choose,
            vars: Vec::new(),
            iterations: Vec::new(),
            made: HashMap::new(),
            known: vec![(0, 0); protocol.exprs.len()],
            changes: 0,
            passed: [0; 3],
            syncs: MadeSyncs::default(),
            access: 0,
            fuel: 0,
            touches: Vec::new(),
            left: HashMap::new(),
            asked: false,
            rests_on_left: false,
        }
    }

    /// Runs a thread, for at most `fuel` statements and iterations.
    ///
    /// # Errors
    /// The reason why the thread did not reach its end.
    pub fn thread(&mut self, thread: Thread, fuel: u64) -> Result<Trace, Stopped> {
        (self.thread, self.fuel) = (thread, fuel);
        (self.passed, self.access) = ([0; 3], 0);
        (self.asked, self.rests_on_left) = (false, false);
        self.changes += 1;
        self.vars.clear();
        self.iterations.clear();
        self.touches.clear();
        self.syncs = MadeSyncs::default();
        self.left.clear();
        self.made.clear();
        let protocol = self.protocol;
        self.body(&protocol.body)?;
        let touches = std::mem::take(&mut self.touches);
        let syncs = std::mem::take(&mut self.syncs);
        Ok(Trace { touches, syncs, asked: self.asked, rests_on_left: self.rests_on_left })
    }

    /// Counts what a thread does, up to `most` statements and iterations. `None` if it comes so far only by an
    /// answer to an open question: then it may do less.
    pub fn count(&mut self, thread: Thread, most: u64) -> Option<ThreadWork> {
        let is_too_long = self.thread(thread, most) == Err(Stopped::TooLong);
        let waits = u64::from(self.passed[1]) + u64::from(self.passed[2]) + u64::from(self.syncs.count());
        (!is_too_long || !self.asked).then(|| ThreadWork { statements: most - self.fuel, waits })
    }

    fn var(&self, id: VarId) -> Option<u64> {
        self.vars.iter().rev().find(|(var, _)| *var == id).map(|(_, value)| *value)
    }

    fn set(&mut self, id: VarId, value: u64) {
        match self.vars.iter_mut().rev().find(|(var, _)| *var == id) {
            Some((_, now)) => *now = value,
            None => self.vars.push((id, value)),
        }
    }

    fn spend(&mut self) -> Result<(), Stopped> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Stopped::TooLong)?;
        Ok(())
    }

    fn body(&mut self, body: &[Stmt]) -> Result<(), Stopped> {
        for stmt in body {
            self.spend()?;
            match stmt {
                Stmt::Access(access) => {
                    let (offset, size) = (self.value(access.offset), self.value(access.size));
                    let slot = match self.protocol.objects.get(access.object.0 as usize).map(|o| &o.kind) {
                        Some(&ObjectKind::Slot { at }) => self.value(at),
                        _ => 0,
                    };
                    self.touches.push(Touch {
                        slot,
                        access: self.access,
                        site: access.site,
                        op: access.op,
                        object: access.object.0,
                        offset: offset as i64,
                        size,
                        passed: self.passed,
                        lane_syncs: self.syncs.count(),
                    });
                    self.access += 1;
                }
                Stmt::Sync(Sync::Lanes(mask)) => {
                    let mask = self.value(*mask) as u32;
                    self.sync_lanes(mask);
                }
                Stmt::Sync(Sync::Warp) => self.sync_lanes(u32::MAX),
                Stmt::Sync(Sync::Block) => self.passed[1] += 1,
                Stmt::Sync(Sync::Grid) => self.passed[2] += 1,
                Stmt::Sync(Sync::Named(_) | Sync::Phase(_)) | Stmt::Unknown(_) => {
                    return Err(Stopped::Unknown);
                }
                Stmt::If { cond, then, otherwise } => {
                    if self.value(*cond) == 1 {
                        self.body(then)?;
                        self.access += accesses_in(otherwise);
                    } else {
                        self.access += accesses_in(then);
                        self.body(otherwise)?;
                    }
                }
                Stmt::Loop(of) => self.run_loop(of)?,
            }
        }
        Ok(())
    }

    fn sync_lanes(&mut self, mask: u32) {
        if mask == u32::MAX {
            self.passed[0] += 1;
        }
        if mask >> self.thread.lane(self.launch) & 1 == 1 {
            self.syncs.push(mask);
        }
    }

    fn run_loop(&mut self, of: &crate::protocol::Loop) -> Result<(), Stopped> {
        let first_access = self.access;
        let from: Vec<_> = of.vars.iter().map(|var| self.value(var.from)).collect();
        self.iterations.push((of.id, 0));
        for (var, value) in of.vars.iter().zip(from) {
            self.set(var.id, value);
        }
        self.changes += 1;
        let mut go_on = of.test == Test::After || self.value(of.cond) == 1;
        let mut ends = false;
        while go_on {
            self.spend()?;
            self.access = first_access;
            self.body(&of.body)?;
            ends = of.breaks.is_some_and(|breaks| self.value(breaks.unless) == 0)
                || of.test == Test::After && self.value(of.cond) == 0;
            if ends {
                break;
            }
            self.step(of);
            go_on = of.test == Test::After || self.value(of.cond) == 1;
        }
        self.leave(of.id);
        if ends {
            // A step has counted each of the others.
            *self.made.entry(of.id).or_default() += 1;
        }
        self.access = first_access + accesses_in(&of.body);
        self.iterations.pop();
        self.vars.retain(|(id, _)| of.vars.iter().all(|var| var.id != *id));
        self.changes += 1;
        Ok(())
    }

    /// Stores the values that a loop leaves for the statements after it.
    fn leave(&mut self, of: LoopId) {
        let protocol = self.protocol;
        for (index, opaque) in protocol.opaques.iter().enumerate() {
            let Some(last) = opaque.last.filter(|last| last.of == of) else { continue };
            let id = OpaqueId(index as u32);
            let asked = std::mem::take(&mut self.asked);
            let value = self.value(last.value);
            self.left.insert(id, (value, self.asked));
            self.asked = asked;
        }
    }

    fn step(&mut self, of: &crate::protocol::Loop) {
        let mut next = Vec::new();
        for var in &of.vars {
            let width = var.width;
            let now = self.var(var.id).unwrap_or_default();
            let value = match var.step {
                Step::Add(by) => now.wrapping_add(self.value(by)),
                Step::Mul(by) => now.wrapping_mul(by),
                Step::UDiv(by) => now / by.max(1),
                Step::SDiv(by) => width.signed(now).wrapping_div((by as i64).max(1)) as u64,
                Step::AShr(by) => (width.signed(now) >> by.min(63)) as u64,
                Step::Any(_) => 0,
            };
            next.push(width.truncate(value));
        }
        if let Some(last) = self.iterations.last_mut() {
            last.1 += 1;
        }
        *self.made.entry(of.id).or_default() += 1;
        self.changes += 1;
        for (var, value) in of.vars.iter().zip(next) {
            let value = match var.step {
                Step::Any(uniform) => var.width.truncate(self.ask(OpenKind::Var(var.id), uniform, None)),
                _ => value,
            };
            self.set(var.id, value);
        }
    }

    /// The answer to an open question. It may change with the iterations of `loops`; without a list,
    /// with those of all enclosing loops.
    fn ask(&mut self, what: OpenKind, uniform: Uniform, loops: Option<&[LoopId]>) -> u64 {
        self.asked = true;
        let mut thread = self.thread;
        if uniform >= Uniform::Warp {
            // The number of the group stands for its threads.
            let warp = self.thread.warp(self.launch);
            thread.tid = if uniform == Uniform::Warp { [warp, 0, 0] } else { [0; 3] };
        }
        if uniform == Uniform::Grid {
            thread.ctaid = [0; 3];
        }
        let iterations = self
            .iterations
            .iter()
            .filter(|(id, _)| loops.is_none_or(|loops| loops.contains(id)))
            .map(|(_, k)| *k)
            .collect();
        (self.choose)(&Open { what, group: (uniform, thread), iterations })
    }

    fn value(&mut self, id: ExprId) -> u64 {
        let (found, value) = self.known[id.0 as usize];
        if found == self.changes {
            return value;
        }
        let width = self.exprs.width(id);
        let at = |dims: [u32; 3], axis: crate::expr::Axis| u64::from(dims[axis as usize]);
        let value = match self.exprs.get(id) {
            Expr::Const { bits, .. } => bits,
            Expr::Tid(axis) => at(self.thread.tid, axis),
            Expr::Ctaid(axis) => at(self.thread.ctaid, axis),
            Expr::Ntid(axis) => at(self.launch.shape.block, axis),
            Expr::Nctaid(axis) => at(self.launch.shape.grid, axis),
            Expr::DynamicShared => self.launch.shape.dynamic_shared.into(),
            Expr::Lane => u64::from(self.thread.linear(self.launch) % WARP),
            Expr::Param { id, .. } => match self.launch.params.get(id.0 as usize) {
                Some(value) => *value,
                None => width.truncate(self.ask(OpenKind::Param(id), Uniform::Grid, Some(&[]))),
            },
            Expr::Var { id, .. } => self.var(id).unwrap_or(0),
            Expr::Iteration(of) => {
                self.iterations.iter().rev().find(|(id, _)| *id == of).map_or(0, |(_, k)| *k)
            }
            Expr::Total { of, .. } => self.made.get(&of).copied().unwrap_or(0),
            Expr::Opaque { id, .. } => {
                let protocol = self.protocol;
                let argument = protocol.opaques.get(id.0 as usize).and_then(|opaque| opaque.argument);
                let given = argument.and_then(|at| {
                    let at = self.value(at) as i64;
                    self.launch.computed.value(at.into(), width)
                });
                match (protocol.opaques.get(id.0 as usize), self.left.get(&id)) {
                    (Some(_), None) if let Some(value) = given => value,
                    (_, Some(&(value, asked))) => {
                        self.asked |= asked;
                        self.rests_on_left = true;
                        value
                    }
                    (Some(opaque), None) => {
                        let any = self.ask(OpenKind::Opaque(id), opaque.uniform, Some(&opaque.loops));
                        match opaque.range {
                            Some((lo, hi)) if lo <= hi => match (hi - lo).checked_add(1) {
                                Some(count) => lo + any % count,
                                None => any,
                            },
                            _ => any,
                        }
                    }
                    (None, None) => 0,
                }
            }
            Expr::Bin(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                match fold::apply(op, width, x, y) {
                    Some(value) => value,
                    None => self.ask(OpenKind::DivisionByZero(op, width, x), Uniform::Grid, Some(&[])),
                }
            }
            Expr::Cmp(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                u64::from(fold::compare(op, self.exprs.width(a), x, y))
            }
            Expr::Select(c, a, b) => {
                if self.value(c) == 1 {
                    self.value(a)
                } else {
                    self.value(b)
                }
            }
            Expr::Cast(cast, to, a) => {
                let x = self.value(a);
                fold::convert(cast, self.exprs.width(a), to, x)
            }
        };
        let value = width.truncate(value);
        self.known[id.0 as usize] = (self.changes, value);
        value
    }
}

/// The number of access statements in the text of a body.
pub fn accesses_in(body: &[Stmt]) -> usize {
    body.iter()
        .map(|stmt| match stmt {
            Stmt::Access(_) => 1,
            Stmt::Loop(of) => accesses_in(&of.body),
            Stmt::If { then, otherwise, .. } => accesses_in(then) + accesses_in(otherwise),
            Stmt::Sync(_) | Stmt::Unknown(_) => 0,
        })
        .sum()
}
