//! Writes the statements of evaluated functions.

use std::rc::Rc;

use gpurace_abi::scope::AtomicKind;
use gpurace_protocol::expr::{Axis, BinOp, Cast, CmpOp, Expr, ExprId, Width};
use gpurace_protocol::protocol::{self as p, Op, SiteId, Stmt, Test};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::copies;
use super::effects::Effect;
use super::frame::{Aim, Extraction, Frame, Root, int_width};
use super::phases::PhaseStep;
use super::phases::tracked::copies_before;
use crate::analysis::regions::{NodeKind, Target};
use crate::checks::kept;
use crate::checks::sites::{Access, AccessSite};
use crate::ir;

/// The most steps from the result of an atomic addition to what is stored.
const MOST_STEPS: u32 = 4;
/// The largest nesting depth of statements.
const MAX_NESTING: u32 = 100;

impl Extraction<'_> {
    /// The statements of an evaluated function.
    ///
    /// # Safety
    /// The frame has been evaluated.
    ///
    /// # Errors
    /// The reason why no statements describe the function.
    pub unsafe fn statements(&mut self, f: &mut Frame) -> Result<Vec<Stmt>, String> {
        let mut out = Vec::new();
        // SAFETY: by contract.
        unsafe { self.node(f, 0, 0, &mut out, 0)? };
        Ok(out)
    }

    /// The statements of a node and of all that it dominates.
    unsafe fn node(
        &mut self,
        f: &mut Frame,
        region: usize,
        mut node: usize,
        out: &mut Vec<Stmt>,
        nesting: u32,
    ) -> Result<(), String> {
        if nesting > MAX_NESTING {
            return Err("statements are nested too deep".to_owned());
        }
        let graph = Rc::clone(&f.graph);
        // SAFETY: by contract.
        unsafe {
            loop {
                match graph.regions[region].nodes[node].kind {
                    NodeKind::Block(block) => self.block(f, block, out, nesting)?,
                    NodeKind::Loop(l) => self.loop_statement(f, l, out, nesting)?,
                    NodeKind::Back => {}
                }
                let children = &graph.regions[region].nodes[node].children;
                let mut at = 0;
                let mut tail = None;
                while let Some(&child) = children.get(at) {
                    at += 1;
                    if graph.regions[region].nodes[child].kind == NodeKind::Back {
                        continue;
                    }
                    let cond = self.guard(f, region, child);
                    if self.b.is_truth(cond, false) {
                        continue;
                    }
                    if self.b.is_truth(cond, true) {
                        // This loop handles the last child, so that a long sequence needs no deep
                        // recursion.
                        let back = graph.regions[region].back();
                        if children[at..].iter().all(|&c| c == back) {
                            tail = Some(child);
                        } else {
                            self.node(f, region, child, out, nesting + 1)?;
                        }
                        continue;
                    }
                    let mut then = Vec::new();
                    self.node(f, region, child, &mut then, nesting + 1)?;
                    let mut otherwise = Vec::new();
                    let not = self.b.not(cond);
                    if let Some(&next) = children.get(at)
                        && graph.regions[region].nodes[next].kind != NodeKind::Back
                        && self.guard(f, region, next) == not
                    {
                        at += 1;
                        self.node(f, region, next, &mut otherwise, nesting + 1)?;
                    }
                    if !then.is_empty() || !otherwise.is_empty() {
                        out.push(Stmt::If { cond, then, otherwise });
                    }
                }
                match tail {
                    Some(next) => node = next,
                    None => return Ok(()),
                }
            }
        }
    }

    /// The statements of a basic block.
    unsafe fn block(
        &mut self,
        f: &mut Frame,
        block: usize,
        out: &mut Vec<Stmt>,
        nesting: u32,
    ) -> Result<(), String> {
        let graph = Rc::clone(&f.graph);
        let facts = self.facts;
        // SAFETY: by contract.
        unsafe {
            for meeting in facts.mbarriers.at(graph.blocks[block]) {
                out.extend(self.meeting(f, meeting.count));
            }
            for step in facts.phases.at(graph.blocks[block]) {
                let stmt = self.phase(f, graph.loop_of[block], step);
                out.push(stmt.ok_or("an mbarrier that is not known")?);
            }
            for &instruction in &graph.instructions[block] {
                let sites = facts.sites(instruction);
                let copies = sites.iter().any(|site| op_of(&facts.accesses[*site as usize], 0).is_copy());
                let passes = match copies {
                    true => copies::barriers_in_flight(facts, instruction),
                    false => facts.mbarriers.arrived(instruction),
                };
                for &site in sites {
                    self.access(f, block, site, passes, out);
                    if let Some(count) = facts.phases.use_of(instruction) {
                        self.b.protocol.mbarrier_uses.push(p::MbarrierUse { site: SiteId(site), count });
                    }
                }
                if ir::opcode(instruction) != LLVMOpcode::LLVMCall {
                    continue;
                }
                match facts.effect(instruction) {
                    Effect::Nothing => {}
                    Effect::Sync(sync) => out.push(Stmt::Sync(sync)),
                    Effect::Lanes(mask) => {
                        let mask = self.wanted_int(f, mask, graph.loop_of[block]);
                        let mask = mask.ok_or("a mask of lanes that is no number")?;
                        let whole = self.b.as_const(mask) == Some(u32::MAX.into());
                        out.push(Stmt::Sync(if whole { p::Sync::Warp } else { p::Sync::Lanes(mask) }));
                    }
                    Effect::Named(id, threads, waits) => {
                        let [id, threads] =
                            [id, threads].map(|value| self.wanted_int(f, value, graph.loop_of[block]));
                        let (Some(id), Some(threads)) = (id, threads) else {
                            return Err("a named barrier whose number is not known".to_owned());
                        };
                        out.push(Stmt::Sync(p::Sync::Named(p::Named { id, threads, waits })));
                    }
                    Effect::Unknown(unknown) => out.push(Stmt::Unknown(unknown)),
                    Effect::Function(callee) => self.called(f, instruction, callee, out, nesting)?,
                }
            }
        }
        Ok(())
    }

    /// The block's threads meet if the count of their mbarrier is their number.
    unsafe fn meeting(&mut self, f: &mut Frame, count: LLVMValueRef) -> Option<Stmt> {
        // SAFETY: by contract.
        let count = unsafe { self.wanted_int(f, count, None) }?;
        // Threads must decide alike whether they meet.
        let of_launch = |node| {
            !matches!(
                node,
                Expr::Opaque { .. }
                    | Expr::Var { .. }
                    | Expr::Iteration(_)
                    | Expr::Total { .. }
                    | Expr::Tid(_)
                    | Expr::Ctaid(_)
                    | Expr::Lane
            )
        };
        if self.b.protocol.exprs.mentions(count, |node| !of_launch(node)) {
            return None;
        }
        let [x, y, z] = Axis::ALL.map(|axis| self.b.leaf(Expr::Ntid(axis)));
        let plane = self.b.bin(BinOp::Mul, x, y);
        let threads = self.b.bin(BinOp::Mul, plane, z);
        let cond = self.b.cmp(CmpOp::Eq, count, threads);
        let sync = Stmt::Sync(p::Sync::Block);
        if self.b.is_truth(cond, true) {
            return Some(sync);
        }
        Some(Stmt::If { cond, then: vec![sync], otherwise: Vec::new() })
    }

    /// An arrival at an mbarrier, or a wait for a phase.
    unsafe fn phase(&mut self, f: &mut Frame, place: Option<usize>, step: &PhaseStep) -> Option<Stmt> {
        // SAFETY: by contract.
        unsafe {
            let array = self.constant_pointer(step.array)?;
            let Some(&Aim { root: Root::Object(of), .. }) = array.aims.first() else { return None };
            let found = self.mbarrier_at(f, place, of, step.address);
            let mut others = step.same.iter();
            let at = match found.filter(|_| others.all(|at| self.mbarrier_at(f, place, of, *at) == found)) {
                Some(at) => at,
                // It may be any of them.
                None => {
                    self.b.opaque("the place of an mbarrier", Width::W64, p::Uniform::Thread, f.inner(place))
                }
            };
            let parity = match step.parity {
                Some(parity) => Some(self.wanted_int(f, parity, place)?),
                None => None,
            };
            let tracked = step.tracks.map(|told| copies_before(&f.graph, told)).unwrap_or_default();
            for site in step.copies.iter().chain(&tracked).flat_map(|copy| self.facts.sites(*copy)) {
                if matches!(self.facts.accesses[*site as usize].access, Access::AsyncWrite { .. }) {
                    self.b.protocol.told.push(p::Told { site: SiteId(*site), of, at });
                }
            }
            let count = self.b.constant(Width::W32, step.count.into());
            Some(Stmt::Sync(p::Sync::Phase(p::Phase { of, at, count, parity })))
        }
    }

    /// The place in an array of mbarriers that an address is of.
    unsafe fn mbarrier_at(
        &mut self,
        f: &mut Frame,
        place: Option<usize>,
        of: p::ObjectId,
        address: LLVMValueRef,
    ) -> Option<ExprId> {
        // SAFETY: by contract.
        let pointer = unsafe { self.pointer(f, address, place) };
        let [Aim { root: Root::Object(object), guard: None }] = pointer.aims.as_slice() else { return None };
        (*object == of).then_some(pointer.offset)
    }

    /// The statements of a called function.
    unsafe fn called(
        &mut self,
        f: &mut Frame,
        call: LLVMValueRef,
        callee: LLVMValueRef,
        out: &mut Vec<Stmt>,
        nesting: u32,
    ) -> Result<(), String> {
        let summary = self.facts.summary(callee);
        if !summary.touches && !summary.syncs {
            return Ok(());
        }
        let why = match f.calls.get_mut(&call) {
            Some(Ok(frame)) => {
                // SAFETY: by contract.
                return unsafe { self.node(frame, 0, 0, out, nesting + 1) };
            }
            Some(Err(why)) => why.clone(),
            None => "a call that was not followed".to_owned(),
        };
        out.extend(summary.unknown(why).map(Stmt::Unknown));
        Ok(())
    }

    /// The statements of an access: one for each target that its pointer may have.
    unsafe fn access(&mut self, f: &mut Frame, block: usize, site: u32, passes: u32, out: &mut Vec<Stmt>) {
        let access = self.facts.accesses[site as usize];
        let place = f.graph.loop_of[block];
        // SAFETY: by contract.
        let (pointer, size) =
            unsafe { (self.pointer(f, access.pointer, place), self.size(f, &access, place)) };
        // SAFETY: by contract.
        let stored = unsafe {
            match stored_integer(&access).filter(|_| access.offset == 0) {
                Some(value) => self.wanted_int(f, value, place),
                None => None,
            }
        };
        let mut offset = pointer.offset;
        if access.offset > 0 {
            let more = self.b.constant(Width::W64, access.offset as i64);
            offset = self.b.bin(BinOp::Add, offset, more);
            offset = self.tame(offset);
        }
        for aim in &pointer.aims {
            let object = self.object_of(aim.root);
            let is_shared = |kind: &p::ObjectKind| {
                matches!(kind, p::ObjectKind::Shared { .. } | p::ObjectKind::DynamicShared)
            };
            if let Some(value) = stored
                && is_shared(&self.b.protocol.objects[object.0 as usize].kind)
            {
                self.b.protocol.stored.push(p::Stored { site: SiteId(site), value });
            }
            let stmt = Stmt::Access(p::Access {
                site: SiteId(site),
                op: op_of(&access, passes),
                object,
                offset,
                size,
            });
            let inside = self.inside(&access, object, offset);
            let stmt = match inside {
                Some(cond) => Stmt::If { cond, then: vec![stmt], otherwise: Vec::new() },
                None => stmt,
            };
            // A race with a target that the pointer may not have here is no witness.
            let unknown = (aim.guard.is_none() && pointer.aims.len() > 1).then(|| {
                self.b.opaque("which memory a pointer is to", Width::W1, p::Uniform::Thread, f.inner(place))
            });
            match aim.guard.or(unknown) {
                Some(guard) if self.b.is_truth(guard, false) => {}
                Some(guard) if !self.b.is_truth(guard, true) => {
                    out.push(Stmt::If { cond: guard, then: vec![stmt], otherwise: Vec::new() });
                }
                _ => out.push(stmt),
            }
        }
    }

    /// The condition that an access lies in its shared array, if the code makes it only then.
    fn inside(&mut self, access: &AccessSite, object: p::ObjectId, offset: ExprId) -> Option<ExprId> {
        // SAFETY: the access is live.
        if !unsafe { kept::is_kept(access.instruction) } {
            return None;
        }
        let bytes = self.b.constant(Width::W64, i64::try_from(access.size).ok()?);
        let size = match self.b.protocol.objects[object.0 as usize].kind {
            p::ObjectKind::Shared { size, .. } => self.b.constant(Width::W64, i64::try_from(size).ok()?),
            p::ObjectKind::DynamicShared => {
                let size = self.b.leaf(Expr::DynamicShared);
                self.b.cast(Cast::Zext, Width::W64, size)
            }
            _ => return None,
        };
        let fits = self.b.cmp(CmpOp::Ule, bytes, size);
        let last = self.b.bin(BinOp::Sub, size, bytes);
        let ends_inside = self.b.cmp(CmpOp::Ule, offset, last);
        Some(self.b.bin(BinOp::And, fits, ends_inside))
    }

    /// The number of bytes of an access.
    unsafe fn size(&mut self, f: &mut Frame, access: &AccessSite, place: Option<usize>) -> ExprId {
        match access.access {
            Access::ReadRange { length }
            | Access::WriteRange { length }
            | Access::AsyncRead { length }
            | Access::AsyncWrite { length } => {
                // SAFETY: by contract.
                match unsafe { self.wanted_int(f, length, place) } {
                    Some(bytes) => self.b.cast(Cast::Zext, Width::W64, bytes),
                    None => self.b.constant(Width::W64, access.size as i64),
                }
            }
            Access::Load | Access::Store | Access::Atomic { .. } => {
                self.b.constant(Width::W64, access.size as i64)
            }
        }
    }

    /// The statement of a loop, if it does anything.
    unsafe fn loop_statement(
        &mut self,
        f: &mut Frame,
        l: usize,
        out: &mut Vec<Stmt>,
        nesting: u32,
    ) -> Result<(), String> {
        let graph = Rc::clone(&f.graph);
        let region = l + 1;
        let mut body = Vec::new();
        // SAFETY: by contract.
        unsafe {
            self.node(f, region, 0, &mut body, nesting + 1)?;
            if body.is_empty() && !self.b.leaves(f.loop_ids[l]) {
                return Ok(());
            }
            let header = graph.loops[l].header;
            let (test, cond, breaks) = if f.test_before[l] {
                let of = &graph.regions[region];
                let goes_on = of.outs(0).find(|e| !matches!(e.target, Target::Exit(_)));
                let slot = goes_on.map_or(0, |e| e.slot);
                let cond = self.branch_condition(f, header, slot);
                let breaks = of
                    .exits(&graph)
                    .filter(|e| e.from != 0)
                    .map(|e| f.uniform.left_by(region, e))
                    .reduce(std::cmp::min);
                let unless = self.reached(f, region, of.back(), 0);
                (Test::Before, cond, breaks.map(|uniform| p::Breaks { uniform, unless }))
            } else {
                (Test::After, self.reached(f, region, graph.regions[region].back(), 0), None)
            };
            let vars = self.inductions(f, l)?;
            out.push(Stmt::Loop(p::Loop { id: f.loop_ids[l], vars, cond, test, breaks, body }));
        }
        Ok(())
    }
}

/// The integer that a plain store stores, if it is constant or computed from the result of an atomic addition.
///
/// # Safety
/// The access is of a live instruction.
pub unsafe fn stored_integer(access: &AccessSite) -> Option<LLVMValueRef> {
    // SAFETY: by contract.
    unsafe {
        if access.access != Access::Store
            || ir::value_opcode(access.instruction) != Some(LLVMOpcode::LLVMStore)
        {
            return None;
        }
        let value = LLVMGetOperand(access.instruction, 0);
        int_width(LLVMTypeOf(value)).filter(|width| *width != Width::W1)?;
        let is_constant = !LLVMIsAConstantInt(value).is_null();
        (is_constant || rests_on_addition(value, MOST_STEPS)).then_some(value)
    }
}

/// True if a value is the result of an atomic addition, or computed from one in a few steps.
unsafe fn rests_on_addition(value: LLVMValueRef, steps: u32) -> bool {
    // SAFETY: by contract.
    unsafe {
        match ir::value_opcode(value) {
            Some(LLVMOpcode::LLVMAtomicRMW) => true,
            Some(
                LLVMOpcode::LLVMZExt
                | LLVMOpcode::LLVMSExt
                | LLVMOpcode::LLVMTrunc
                | LLVMOpcode::LLVMAdd
                | LLVMOpcode::LLVMSub
                | LLVMOpcode::LLVMMul
                | LLVMOpcode::LLVMShl,
            ) if steps > 0 => ir::operands(value).into_iter().any(|of| rests_on_addition(of, steps - 1)),
            _ => false,
        }
    }
}

/// The protocol's operation for an access, which may be in flight over so many barriers: an asynchronous copy, or what
/// a thread does between an arrival and its wait.
fn op_of(access: &AccessSite, passes: u32) -> Op {
    match access.access {
        Access::Load | Access::ReadRange { .. } if passes > 0 => Op::Between { writes: false, passes },
        Access::Store | Access::WriteRange { .. } if passes > 0 => Op::Between { writes: true, passes },
        Access::Load | Access::ReadRange { .. } => Op::Read,
        Access::Store | Access::WriteRange { .. } => Op::Write,
        Access::AsyncRead { .. } => Op::Copy { writes: false, passes },
        Access::AsyncWrite { .. } => Op::Copy { writes: true, passes },
        Access::Atomic { kind: AtomicKind::VolatileLoad, .. } => Op::Volatile { writes: false },
        Access::Atomic { kind: AtomicKind::VolatileStore, .. } => Op::Volatile { writes: true },
        Access::Atomic { kind, scope, .. } => Op::Atomic { scope, writes: kind != AtomicKind::Load },
    }
}
