//! Builds a protocol: the arena of expressions, with facts about each, and the tables of parameters,
//! objects, opaque values and loops. Each thing is in its table once.

use std::collections::HashMap;
use std::iter::successors;

use gpurace_protocol::arguments::ConstantVariable;
use gpurace_protocol::expr::{
    Axis, BinOp, Cast, CmpOp, Expr, ExprId, LoopId, OpaqueId, ParamId, VarId, Width,
};
use gpurace_protocol::protocol::{
    Last, Object, ObjectId, ObjectKind, Opaque, Param, Protocol, SiteId, Ticket, Uniform,
};

/// The largest depth of an expression. Deeper ones become opaque.
const MAX_DEPTH: u32 = 64;
/// The largest number of nodes of the arena. Then each new value is opaque.
const MAX_NODES: usize = 100_000;

/// Facts about an expression.
#[derive(Clone, Copy, Debug)]
struct Meta {
    depth: u32,
    /// The innermost loop in which it varies.
    varies: Option<LoopId>,
    uniform: Uniform,
}

/// A loop variable's place.
#[derive(Clone, Copy, Debug)]
struct VarMeta {
    of: LoopId,
    uniform: Uniform,
}

/// A protocol under construction.
#[derive(Debug, Default)]
pub struct Builder {
    /// The protocol so far.
    pub protocol: Protocol,
    meta: Vec<Meta>,
    vars: Vec<VarMeta>,
    /// The loop around each loop.
    loops: Vec<Option<LoopId>>,
    params: HashMap<(u32, Width, bool), ParamId>,
}

impl Builder {
    /// True if the arena takes no further nodes.
    pub fn is_full(&self) -> bool {
        self.protocol.exprs.len() > MAX_NODES
    }

    /// Computes what is kept of each node beside the node, for new nodes.
    fn update_meta(&mut self) {
        for index in self.meta.len()..self.protocol.exprs.len() {
            let node = self.protocol.exprs.get(ExprId(index as u32));
            let mut meta = match node {
                Expr::Tid(_) | Expr::Lane => leaf(Uniform::Thread),
                Expr::Ctaid(_) => leaf(Uniform::Block),
                Expr::Var { id, .. } => {
                    let var = self.vars[id.0 as usize];
                    Meta { depth: 1, varies: Some(var.of), uniform: var.uniform }
                }
                Expr::Iteration(of) => Meta { depth: 1, varies: Some(of), uniform: Uniform::Grid },
                Expr::Total { of, uniform } => Meta { depth: 1, varies: Some(of), uniform },
                Expr::Opaque { id, .. } => {
                    let opaque = &self.protocol.opaques[id.0 as usize];
                    Meta { depth: 1, varies: opaque.loops.last().copied(), uniform: opaque.uniform }
                }
                _ => leaf(Uniform::Grid),
            };
            for operand in node.operands() {
                let of = self.meta[operand.0 as usize];
                meta.depth = meta.depth.max(of.depth + 1);
                meta.uniform = meta.uniform.min(of.uniform);
                meta.varies = self.inner(meta.varies, of.varies);
            }
            self.meta.push(meta);
        }
    }

    /// The inner of two loops of one nest.
    fn inner(&self, a: Option<LoopId>, b: Option<LoopId>) -> Option<LoopId> {
        if self.outward(a).count() >= self.outward(b).count() { a } else { b }
    }

    /// The loops around a place in `inner`, innermost first. `inner` is the first one.
    fn outward(&self, inner: Option<LoopId>) -> impl Iterator<Item = LoopId> {
        successors(inner, |of| self.loops[of.0 as usize])
    }

    fn meta(&mut self, id: ExprId) -> Meta {
        self.update_meta();
        self.meta[id.0 as usize]
    }

    /// The group of threads that sees the same value.
    pub fn uniform(&mut self, id: ExprId) -> Uniform {
        self.meta(id).uniform
    }

    /// True if an expression has one value in each iteration of the loops around a place in
    /// `inner`.
    pub fn is_fixed_in(&mut self, id: ExprId, inner: Option<LoopId>) -> bool {
        match self.meta(id).varies {
            None => true,
            Some(of) => self.is_around(of, inner),
        }
    }

    /// True if the value does not change in a loop that uses it.
    pub fn is_invariant(&mut self, id: ExprId, of: LoopId) -> bool {
        match self.meta(id).varies {
            None => true,
            Some(varies) => varies != of && self.is_around(varies, Some(of)),
        }
    }

    fn is_around(&self, of: LoopId, inner: Option<LoopId>) -> bool {
        self.outward(inner).any(|around| around == of)
    }

    /// The loops around a place in `inner`, outermost first. `inner` is the last one.
    pub fn chain(&self, inner: Option<LoopId>) -> Vec<LoopId> {
        let mut chain: Vec<_> = self.outward(inner).collect();
        chain.reverse();
        chain
    }

    /// True if an expression is too deep to be useful.
    pub fn is_unwieldy(&mut self, id: ExprId) -> bool {
        self.meta(id).depth > MAX_DEPTH
    }

    /// A new loop inside `around`.
    pub fn new_loop(&mut self, around: Option<LoopId>) -> LoopId {
        self.loops.push(around);
        LoopId(self.loops.len() as u32 - 1)
    }

    /// A new variable of a loop.
    pub fn new_var(&mut self, of: LoopId, width: Width, uniform: Uniform) -> (VarId, ExprId) {
        let id = VarId(self.vars.len() as u32);
        self.vars.push(VarMeta { of, uniform });
        (id, self.protocol.exprs.add(Expr::Var { id, width }))
    }

    /// A new opaque value, computed inside `inner`.
    pub fn opaque(
        &mut self,
        what: impl Into<String>,
        width: Width,
        uniform: Uniform,
        inner: Option<LoopId>,
    ) -> ExprId {
        self.opaque_in(what, width, uniform, inner, None)
    }

    /// As [`Self::opaque`], with inclusive unsigned bounds.
    pub fn opaque_in(
        &mut self,
        what: impl Into<String>,
        width: Width,
        uniform: Uniform,
        inner: Option<LoopId>,
        range: Option<(u64, u64)>,
    ) -> ExprId {
        let id = OpaqueId(self.protocol.opaques.len() as u32);
        let loops = self.chain(inner);
        self.protocol.opaques.push(Opaque {
            what: what.into(),
            width,
            uniform,
            loops,
            range,
            loaded_by: None,
            argument: None,
            last: None,
            ticket: None,
        });
        self.protocol.exprs.add(Expr::Opaque { id, width })
    }

    /// What is recorded of an expression, if it is an opaque value.
    fn opaque_of(&mut self, id: ExprId) -> Option<&mut Opaque> {
        let Expr::Opaque { id, .. } = self.get(id) else { return None };
        Some(&mut self.protocol.opaques[id.0 as usize])
    }

    /// Records the site that loads an opaque value.
    pub fn loaded_by(&mut self, opaque: ExprId, site: SiteId) {
        if let Some(opaque) = self.opaque_of(opaque) {
            opaque.loaded_by = Some(site);
        }
    }

    /// Records the atomic addition that returns an opaque value. `added` was made before the value.
    pub fn drawn_by(&mut self, opaque: ExprId, ticket: Ticket) {
        if let Some(opaque) = self.opaque_of(opaque) {
            opaque.ticket = Some(ticket);
        }
    }

    /// Records the place in the argument buffer at which an opaque value lies.
    pub fn lies_at(&mut self, opaque: ExprId, at: ExprId) {
        if let Some(opaque) = self.opaque_of(opaque) {
            opaque.argument = Some(at);
        }
    }

    /// Records that an opaque value is the last value of an expression of a loop.
    pub fn left_by(&mut self, opaque: ExprId, of: LoopId, value: ExprId) {
        if let Some(opaque) = self.opaque_of(opaque) {
            opaque.last = Some(Last { of, value });
        }
    }

    /// True if the last value of a loop is used.
    pub fn leaves(&self, of: LoopId) -> bool {
        self.protocol.opaques.iter().any(|opaque| opaque.last.is_some_and(|last| last.of == of))
    }

    /// The innermost loop in which an expression varies.
    pub fn varies(&mut self, id: ExprId) -> Option<LoopId> {
        self.meta(id).varies
    }

    /// The parameter at `offset` of the argument buffer.
    pub fn param(&mut self, name: &str, offset: u32, width: Width, pointer: bool) -> ParamId {
        let params = &mut self.protocol.params;
        *self.params.entry((offset, width, pointer)).or_insert_with(|| {
            params.push(Param { name: name.to_owned(), width, offset, pointer });
            ParamId(params.len() as u32 - 1)
        })
    }

    /// The place of a variable in constant memory behind the arguments, or of a table with `fixed` bytes.
    pub fn constant_variable(&mut self, symbol: &str, size: u64, fixed: Option<Vec<u8>>) -> u32 {
        let constants = &mut self.protocol.constants;
        let at = constants.iter().position(|known| known.symbol == symbol).unwrap_or_else(|| {
            constants.push(ConstantVariable { symbol: symbol.to_owned(), size, fixed });
            constants.len() - 1
        });
        ConstantVariable::place(at)
    }

    /// A scalar parameter's value.
    pub fn scalar(&mut self, name: &str, offset: u32, width: Width) -> ExprId {
        let id = self.param(name, offset, width, false);
        self.protocol.exprs.add(Expr::Param { id, width })
    }

    /// The object of this kind and name. An opaque object is always new.
    pub fn object(&mut self, name: &str, kind: ObjectKind) -> ObjectId {
        let objects = &mut self.protocol.objects;
        let known = match kind {
            ObjectKind::Opaque { .. } => None,
            ObjectKind::DynamicShared | ObjectKind::Unshared => objects.iter().position(|o| o.kind == kind),
            _ => objects.iter().position(|o| o.kind == kind && o.name == name),
        };
        let index = known.unwrap_or_else(|| {
            objects.push(Object { name: name.to_owned(), kind });
            objects.len() - 1
        });
        ObjectId(index as u32)
    }

    /// The node.
    pub fn get(&self, id: ExprId) -> Expr {
        self.protocol.exprs.get(id)
    }

    /// The node's width.
    pub fn width(&self, id: ExprId) -> Width {
        self.protocol.exprs.width(id)
    }

    /// The bits of a constant; `None` for any other node.
    pub fn as_const(&self, id: ExprId) -> Option<u64> {
        self.protocol.exprs.as_const(id)
    }

    /// A constant.
    pub fn constant(&mut self, width: Width, value: i64) -> ExprId {
        self.protocol.exprs.constant(width, value)
    }

    /// A node without operands: a register.
    pub fn leaf(&mut self, node: Expr) -> ExprId {
        self.protocol.exprs.add(node)
    }

    /// `threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)`.
    pub fn linear_thread(&mut self) -> ExprId {
        let [x, y, z] = Axis::ALL.map(|a| self.leaf(Expr::Tid(a)));
        let [nx, ny, _] = Axis::ALL.map(|a| self.leaf(Expr::Ntid(a)));
        let plane = self.bin(BinOp::Mul, ny, z);
        let row = self.bin(BinOp::Add, y, plane);
        let rows = self.bin(BinOp::Mul, nx, row);
        self.bin(BinOp::Add, x, rows)
    }

    /// An operator with its operands.
    pub fn bin(&mut self, op: BinOp, a: ExprId, b: ExprId) -> ExprId {
        let exprs = &mut self.protocol.exprs;
        // For truth values, `and`, `or` and `not` do this.
        if exprs.width(a) == Width::W1 {
            match op {
                BinOp::And => return self.and(a, b),
                BinOp::Or => return self.or(a, b),
                BinOp::Xor if exprs.as_const(b) == Some(1) => return self.not(a),
                _ => {}
            }
        }
        match self.field_of_bin(op, a, b) {
            Some(field) => field,
            None => self.protocol.exprs.bin(op, a, b),
        }
    }

    /// A change of width. If the width stays the same, it is the operand.
    pub fn cast(&mut self, cast: Cast, width: Width, a: ExprId) -> ExprId {
        // The low bits of an extension are those of its operand.
        if cast == Cast::Trunc
            && let Expr::Cast(inner, _, x) = self.get(a)
        {
            let own = self.width(x);
            if width == own {
                return x;
            }
            let cast = if width < own { Cast::Trunc } else { inner };
            return self.protocol.exprs.add(Expr::Cast(cast, width, x));
        }
        if cast == Cast::Trunc
            && let Some(field) = self.field_of_trunc(width, a)
        {
            return field;
        }
        self.protocol.exprs.add(Expr::Cast(cast, width, a))
    }

    /// A comparison. Front ends compare a constant with a choice between constants, for truth values
    /// and for jumps out of scopes. That becomes the condition of the choice.
    pub fn cmp(&mut self, op: CmpOp, a: ExprId, b: ExprId) -> ExprId {
        if self.as_const(b).is_some() {
            match self.get(a) {
                Expr::Select(c, x, y) if self.as_const(x).is_some() || self.as_const(y).is_some() => {
                    let (x, y) = (self.cmp(op, x, b), self.cmp(op, y, b));
                    return self.select(c, x, y);
                }
                Expr::Cast(Cast::Zext, width, c) if self.width(c) == Width::W1 => {
                    let (one, zero) = (self.constant(width, 1), self.constant(width, 0));
                    let (x, y) = (self.cmp(op, one, b), self.cmp(op, zero, b));
                    return self.select(c, x, y);
                }
                _ => {}
            }
        }
        self.protocol.exprs.cmp(op, a, b)
    }

    /// `c ? a : b`.
    pub fn select(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        if let Some(chosen) = self.as_const(c) {
            return if chosen == 1 { a } else { b };
        }
        if self.width(a) == Width::W1 {
            if a == b {
                return a;
            }
            if self.as_const(a) == Some(1) {
                return self.or(c, b);
            }
            if self.as_const(b) == Some(0) {
                return self.and(c, a);
            }
            if self.as_const(a) == Some(0) {
                let c = self.not(c);
                return self.and(c, b);
            }
            if self.as_const(b) == Some(1) {
                let c = self.not(c);
                return self.or(c, a);
            }
        }
        self.protocol.exprs.select(c, a, b)
    }

    /// A truth value.
    pub fn truth(&mut self, value: bool) -> ExprId {
        self.constant(Width::W1, i64::from(value))
    }

    /// True if an expression always has this truth value.
    pub fn is_truth(&self, id: ExprId, value: bool) -> bool {
        self.as_const(id) == Some(u64::from(value))
    }

    /// The negation of a truth value. For a comparison, it is the opposite comparison.
    pub fn not(&mut self, a: ExprId) -> ExprId {
        let exprs = &mut self.protocol.exprs;
        match exprs.get(a) {
            Expr::Bin(BinOp::Xor, x, one) if exprs.as_const(one) == Some(1) => x,
            Expr::Cmp(op, x, y) => {
                let (op, x, y) = match op {
                    CmpOp::Eq => (CmpOp::Ne, x, y),
                    CmpOp::Ne => (CmpOp::Eq, x, y),
                    CmpOp::Ult => (CmpOp::Ule, y, x),
                    CmpOp::Ule => (CmpOp::Ult, y, x),
                    CmpOp::Slt => (CmpOp::Sle, y, x),
                    CmpOp::Sle => (CmpOp::Slt, y, x),
                };
                exprs.cmp(op, x, y)
            }
            _ => exprs.not(a),
        }
    }

    /// The conjunction of two truth values.
    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let not_a = self.not(a);
        if not_a == b {
            return self.truth(false);
        }
        self.protocol.exprs.both(a, b)
    }

    /// The disjunction of two truth values.
    pub fn or(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let (not_a, not_b) = (self.not(a), self.not(b));
        if not_a == b || self.is_truth(a, true) || self.is_truth(b, true) {
            return self.truth(true);
        }
        // `a | (!a & x)` is `a | x`, and `(a & x) | (!a & x)` is `x`.
        if let Expr::Bin(BinOp::And, x, y) = self.get(b) {
            if x == not_a {
                return self.or(a, y);
            }
            if y == not_a {
                return self.or(a, x);
            }
            if let Expr::Bin(BinOp::And, p, q) = self.get(a) {
                let not_p = self.not(p);
                let not_q = self.not(q);
                if not_p == x && q == y || not_p == y && q == x {
                    return q;
                }
                if not_q == y && p == x || not_q == x && p == y {
                    return p;
                }
            }
        }
        if let Expr::Bin(BinOp::And, x, y) = self.get(a) {
            if x == not_b {
                return self.or(b, y);
            }
            if y == not_b {
                return self.or(b, x);
            }
        }
        self.protocol.exprs.bin(BinOp::Or, a, b)
    }
}

fn leaf(uniform: Uniform) -> Meta {
    Meta { depth: 1, varies: None, uniform }
}
