//! Changes of random protocols: uses of values that loops leave, threads that exit, and arguments that are computed.

use crate::common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_random::Random;

/// The same protocol with uses of the values that loops leave: as indices, as bounds, in conditions of
/// barriers.
pub fn with_last_values(mut protocol: Protocol, seed: u64) -> Protocol {
    let mut body = std::mem::take(&mut protocol.body);
    let mut after = After { p: protocol, r: Random(seed ^ 0x1a57), around: Vec::new() };
    after.body(&mut body);
    after.p.body = body;
    after.p
}

struct After {
    p: Protocol,
    r: Random,
    around: Vec<LoopId>,
}

impl After {
    fn body(&mut self, body: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < body.len() {
            let more = match &mut body[at] {
                Stmt::Loop(of) => {
                    self.around.push(of.id);
                    self.body(&mut of.body);
                    self.around.pop();
                    let of = of.clone();
                    self.used(&of)
                }
                Stmt::If { then, otherwise, .. } => {
                    self.body(then);
                    self.body(otherwise);
                    Vec::new()
                }
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => Vec::new(),
            };
            let added = more.len();
            body.splice(at + 1..at + 1, more);
            at += 1 + added;
        }
    }

    /// Statements that use the value that a loop leaves.
    fn used(&mut self, of: &Loop) -> Vec<Stmt> {
        let var = of.vars[0].clone();
        let v = self.p.exprs.add(Expr::Var { id: var.id, width: var.width });
        let wide = if var.width == Width::W32 { v } else { self.p.exprs.zext(Width::W32, v) };
        let by = self.p.exprs.c32(self.r.below(3) as i64);
        let value = if self.r.chance(60) { wide } else { self.p.exprs.sum(wide, by) };
        let id = OpaqueId(self.p.opaques.len() as u32);
        let last = Some(Last { of: of.id, value });
        let loops = self.around.clone();
        self.p.opaques.push(Opaque {
            what: "left".into(),
            width: Width::W32,
            uniform: Uniform::Thread,
            loops,
            range: None,
            loaded_by: None,
            argument: None,
            last,
            ticket: None,
        });
        let left = self.p.exprs.add(Expr::Opaque { id, width: Width::W32 });
        let t = self.p.exprs.add(Expr::Tid(Axis::X));
        match self.r.below(4) {
            0 => {
                let index = self.p.exprs.sum(t, left);
                vec![self.access(index), Stmt::Sync(Sync::Block)]
            }
            1 => {
                let index = self.p.exprs.product(t, left);
                vec![self.access(index)]
            }
            2 => {
                let bound = self.p.exprs.c32(self.r.below(9) as i64);
                let cond = self.p.exprs.cmp(CmpOp::Slt, left, bound);
                vec![
                    Stmt::If { cond, then: vec![Stmt::Sync(Sync::Block)], otherwise: Vec::new() },
                    self.access(t),
                ]
            }
            _ => {
                let id = 0x4000_0000 + id.0;
                let v = self.p.exprs.add(Expr::Var { id: VarId(id), width: Width::W32 });
                let zero = self.p.exprs.c32(0);
                let cond = self.p.exprs.cmp(CmpOp::Slt, zero, v);
                let index = self.p.exprs.sum(t, v);
                let body = vec![self.access(index), Stmt::Sync(Sync::Block)];
                let vars =
                    vec![Induction { id: VarId(id), width: Width::W32, from: left, step: Step::UDiv(2) }];
                vec![Stmt::Loop(Loop { id: LoopId(id), vars, cond, test: Test::Before, breaks: None, body })]
            }
        }
    }

    fn access(&mut self, index: E) -> Stmt {
        let site = SiteId(1000 + self.p.opaques.len() as u32);
        let object = ObjectId(self.r.below(self.p.objects.len() as u64) as u32);
        let (wide, size) = (self.p.exprs.sext(Width::W64, index), self.p.exprs.c64(4));
        let offset = self.p.exprs.product(wide, size);
        let op = if self.r.chance(30) { Op::Read } else { Op::Write };
        Stmt::Access(Access { site, op, object, offset, size })
    }
}

/// The same protocol, of which some threads leave out the rest from some statements on. What they still do may come
/// last.
pub fn with_exits(mut protocol: Protocol, seed: u64) -> Protocol {
    let mut r = Random(seed ^ 0xe817);
    let mut body = std::mem::take(&mut protocol.body);
    for _ in 0..1 + r.below(2) {
        let from = r.below(body.len() as u64 + 1) as usize;
        let mut rest = body.split_off(from);
        let last = rest.len() - if r.chance(40) { r.below(rest.len() as u64 + 1) as usize } else { 0 };
        let after = rest.split_off(last);
        let index = match r.below(4) {
            0 => protocol.exprs.add(Expr::Tid(Axis::Y)),
            1 => protocol.exprs.add(Expr::Lane),
            _ => protocol.exprs.add(Expr::Tid(Axis::X)),
        };
        let bound = protocol.exprs.c32(r.below(7) as i64);
        let cond = protocol.exprs.cmp(r.pick(&[CmpOp::Slt, CmpOp::Ule, CmpOp::Eq]), index, bound);
        let (then, otherwise) = if r.chance(50) { (rest, Vec::new()) } else { (Vec::new(), rest) };
        body.push(Stmt::If { cond, then, otherwise });
        body.extend(after);
    }
    protocol.body = body;
    protocol
}

/// The same protocol with pointers and numbers at computed places of the arguments. A launch has pointers
/// in its first bytes, and numbers from byte 64 on.
pub fn with_computed_arguments(mut protocol: Protocol, seed: u64) -> Protocol {
    let mut body = std::mem::take(&mut protocol.body);
    let mut within = Within { p: protocol, r: Random(seed ^ 0xa496), around: Vec::new() };
    // Uniformity is that of the loops' variables.
    within.p.body.clone_from(&body);
    within.body(&mut body);
    within.p.body = body;
    within.p
}

struct Within {
    p: Protocol,
    r: Random,
    around: Vec<(LoopId, VarId, Width)>,
}

impl Within {
    fn body(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Loop(of) => {
                    let var = of.vars.first().map_or((VarId(0), Width::W32), |var| (var.id, var.width));
                    self.around.push((of.id, var.0, var.1));
                    self.body(&mut of.body);
                    self.around.pop();
                }
                Stmt::If { then, otherwise, .. } => {
                    self.body(then);
                    self.body(otherwise);
                }
                Stmt::Access(access) => {
                    let kind = &self.p.objects[access.object.0 as usize].kind;
                    let in_slot = matches!(kind, ObjectKind::Param(_)) && self.r.chance(75);
                    if in_slot {
                        let first = 8 * self.r.below(2) as i64;
                        let at = self.place(first, 8);
                        let kind = ObjectKind::Slot { at };
                        let known = self.p.objects.iter().position(|object| object.kind == kind);
                        let object = known.unwrap_or_else(|| {
                            self.p.objects.push(Object { name: "slots".into(), kind });
                            self.p.objects.len() - 1
                        });
                        access.object = ObjectId(object as u32);
                    }
                    if self.r.chance(30) {
                        let number = self.number();
                        let wide = self.p.exprs.zext(Width::W64, number);
                        let size = self.p.exprs.c64(self.r.pick(&[4, 4, 16, 64]));
                        let more = self.p.exprs.product(wide, size);
                        access.offset = self.p.exprs.sum(access.offset, more);
                    }
                }
                Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
            if self.r.chance(15) {
                let number = self.number();
                let few = self.p.exprs.c32(self.r.below(4) as i64);
                let cond = self.p.exprs.cmp(CmpOp::Ult, few, number);
                if let Stmt::Access(_) = stmt {
                    *stmt = Stmt::If { cond, then: vec![stmt.clone()], otherwise: Vec::new() };
                }
            }
        }
    }

    /// A number of the arguments.
    fn number(&mut self) -> E {
        let at = self.place(64, 4);
        let width = self.r.pick(&[Width::W32, Width::W32, Width::W8]);
        let uniform = gpurace_protocol::interval::uniformity(&self.p, &self.p.exprs, at);
        let id = OpaqueId(self.p.opaques.len() as u32);
        self.p.opaques.push(Opaque {
            what: "number".into(),
            width,
            uniform,
            loops: self.around.iter().map(|(of, ..)| *of).collect(),
            range: None,
            loaded_by: None,
            argument: Some(at),
            last: None,
            ticket: None,
        });
        let number = self.p.exprs.add(Expr::Opaque { id, width });
        self.p.exprs.zext(Width::W32, number)
    }

    fn place(&mut self, first: i64, size: i64) -> E {
        let which = match self.r.below(8) {
            0 | 1 => self.p.exprs.add(Expr::Tid(Axis::X)),
            2 => self.p.exprs.add(Expr::Ctaid(Axis::X)),
            3 => self.p.exprs.add(Expr::Tid(Axis::Y)),
            4 if size == 8 => self.number(),
            5 | 6 if !self.around.is_empty() => {
                let (_, id, width) = self.r.pick(&self.around.clone());
                let var = self.p.exprs.add(Expr::Var { id, width });
                if width == Width::W32 { var } else { self.p.exprs.c32(1) }
            }
            _ => {
                let all: Vec<_> = self.p.params.iter().enumerate().filter(|(_, p)| !p.pointer).collect();
                match all.first() {
                    Some((i, param)) if param.width == Width::W32 => {
                        self.p.exprs.add(Expr::Param { id: ParamId(*i as u32), width: Width::W32 })
                    }
                    _ => self.p.exprs.c32(2),
                }
            }
        };
        let mask = self.p.exprs.c32(self.r.pick(&[1, 3, 3, 2]));
        let which = if self.r.chance(75) { self.p.exprs.bin(BinOp::And, which, mask) } else { which };
        let wide = self.p.exprs.sext(Width::W64, which);
        let (first, size) = (self.p.exprs.c64(first), self.p.exprs.c64(size));
        let bytes = self.p.exprs.product(wide, size);
        self.p.exprs.sum(bytes, first)
    }
}
