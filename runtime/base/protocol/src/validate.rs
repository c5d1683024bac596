//! Validation of protocols. Bytes from a file or a program are not trusted.

use std::cell::Cell;
use std::collections::HashSet;

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

use crate::expr::{Cast, Expr, ExprId, Exprs, Width};
use crate::protocol::{Loop, ObjectKind, Protocol, Step, Stmt, Sync};

/// The largest number of nodes on a path through an expression.
pub const MOST_DEPTH: u32 = 4_000;
/// The largest nesting depth of bodies.
pub const MOST_NESTED: u32 = 200;

/// Reads a body within others. Each level takes stack, so the depth is tested before [`validate`] sees it.
pub(crate) fn nested<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Stmt>, D::Error> {
    thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
    }
    let depth = DEPTH.get();
    if depth > MOST_NESTED {
        return Err(D::Error::custom(Malformed::TooDeep));
    }
    DEPTH.set(depth + 1);
    let body = Vec::deserialize(from);
    DEPTH.set(depth);
    body
}

/// A fault of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// An operand does not come before its user.
    #[error("expression {0} has an operand that does not come before it")]
    Operand(u32),
    /// Operands have the wrong width.
    #[error("expression {0} has operands of the wrong width")]
    Width(u32),
    /// An id is beyond its table.
    #[error("{what} {id} does not exist")]
    Missing {
        /// The table.
        what: &'static str,
        /// The id.
        id: u32,
    },
    /// A loop or loop variable occurs twice.
    #[error("{what} {id} occurs twice")]
    Twice {
        /// Which kind.
        what: &'static str,
        /// The id.
        id: u32,
    },
    /// A loop variable's step has an invalid constant.
    #[error("loop variable {0} has a step that leads nowhere")]
    Step(u32),
    /// A loop uses a variable of itself, or of one behind it, before it has a value.
    #[error("loop {0} begins with values that only it or a later loop has")]
    Later(u32),
    /// The nesting is too deep.
    #[error("expressions or statements are nested too deeply")]
    TooDeep,
}

/// Checks that a protocol is well formed.
pub fn validate(protocol: &Protocol) -> Result<(), Malformed> {
    expressions(protocol)?;
    for object in &protocol.objects {
        match object.kind {
            ObjectKind::Param(id) | ObjectKind::Image(id) => {
                exists("parameter", id.0, protocol.params.len())?
            }
            ObjectKind::Slot { at } => of_width(&protocol.exprs, at, Width::W64)?,
            _ => {}
        }
    }
    for opaque in &protocol.opaques {
        if let Some(last) = opaque.last {
            of_width(&protocol.exprs, last.value, opaque.width)?;
        }
        if let Some(at) = opaque.argument {
            of_width(&protocol.exprs, at, Width::W64)?;
        }
        if let Some(ticket) = opaque.ticket {
            of_width(&protocol.exprs, ticket.added, opaque.width)?;
        }
    }
    for stored in &protocol.stored {
        exists("expression", stored.value.0, protocol.exprs.len())?;
        if protocol.exprs.width(stored.value) == Width::W1 {
            return Err(Malformed::Width(stored.value.0));
        }
    }
    for told in &protocol.told {
        exists("object", told.of.0, protocol.objects.len())?;
        exists("expression", told.at.0, protocol.exprs.len())?;
    }
    let mut all = Seen::new(protocol);
    all.body(&protocol.body, 0)?;
    Order { all: &all, seen: Seen::new(protocol) }.body(&protocol.body)
}

fn expressions(protocol: &Protocol) -> Result<(), Malformed> {
    let mut depths: Vec<u32> = Vec::new();
    let mut widths: Vec<Width> = Vec::new();
    for (id, node) in protocol.exprs.iter() {
        let mut depth = 0;
        for operand in node.operands() {
            let below = depths.get(operand.0 as usize).ok_or(Malformed::Operand(id.0))?;
            depth = depth.max(below + 1);
        }
        let of = |id: ExprId| widths[id.0 as usize];
        let (fits, width) = match node {
            Expr::Const { width, bits } => (width.truncate(bits) == bits, width),
            Expr::Param { id, width } => {
                exists("parameter", id.0, protocol.params.len())?;
                let param = &protocol.params[id.0 as usize];
                (param.width == width && !param.pointer, width)
            }
            Expr::Opaque { id, width } => {
                exists("opaque value", id.0, protocol.opaques.len())?;
                let opaque = &protocol.opaques[id.0 as usize];
                for before in opaque.argument.into_iter().chain(opaque.ticket.map(|ticket| ticket.added)) {
                    let below = depths.get(before.0 as usize).ok_or(Malformed::Operand(before.0))?;
                    depth = depth.max(below + 1);
                }
                (opaque.width == width, width)
            }
            Expr::Var { width, .. } => (true, width),
            Expr::Iteration(_) | Expr::Total { .. } => (true, Width::W64),
            Expr::Tid(_) | Expr::Ctaid(_) | Expr::Ntid(_) | Expr::Nctaid(_) => (true, Width::W32),
            Expr::DynamicShared | Expr::Lane => (true, Width::W32),
            Expr::Bin(_, a, b) => (of(a) == of(b), of(a)),
            Expr::Cmp(_, a, b) => (of(a) == of(b), Width::W1),
            Expr::Select(c, a, b) => (of(c) == Width::W1 && of(a) == of(b), of(a)),
            Expr::Cast(Cast::Trunc, width, a) => (width <= of(a), width),
            Expr::Cast(Cast::Zext | Cast::Sext, width, a) => (width >= of(a), width),
        };
        if !fits {
            return Err(Malformed::Width(id.0));
        }
        if depth > MOST_DEPTH {
            return Err(Malformed::TooDeep);
        }
        depths.push(depth);
        widths.push(width);
    }
    Ok(())
}

/// Tests that a table has an entry of this id.
fn exists(what: &'static str, id: u32, entries: usize) -> Result<(), Malformed> {
    if (id as usize) < entries { Ok(()) } else { Err(Malformed::Missing { what, id }) }
}

fn of_width(exprs: &Exprs, id: ExprId, width: Width) -> Result<(), Malformed> {
    exists("expression", id.0, exprs.len())?;
    if exprs.width(id) == width { Ok(()) } else { Err(Malformed::Width(id.0)) }
}

struct Seen<'a> {
    protocol: &'a Protocol,
    loops: HashSet<u32>,
    vars: HashSet<u32>,
}

impl<'a> Seen<'a> {
    fn new(protocol: &'a Protocol) -> Self {
        Self { protocol, loops: HashSet::new(), vars: HashSet::new() }
    }

    fn of_width(&self, id: ExprId, width: Width) -> Result<(), Malformed> {
        of_width(&self.protocol.exprs, id, width)
    }

    fn body(&mut self, body: &[Stmt], depth: u32) -> Result<(), Malformed> {
        if depth > MOST_NESTED {
            return Err(Malformed::TooDeep);
        }
        for stmt in body {
            match stmt {
                Stmt::Access(access) => {
                    exists("object", access.object.0, self.protocol.objects.len())?;
                    self.of_width(access.offset, Width::W64)?;
                    self.of_width(access.size, Width::W64)?;
                }
                Stmt::Sync(Sync::Lanes(mask)) => self.of_width(*mask, Width::W32)?,
                Stmt::Sync(Sync::Named(named)) => {
                    self.of_width(named.id, Width::W32)?;
                    self.of_width(named.threads, Width::W32)?;
                }
                Stmt::Sync(Sync::Phase(phase)) => {
                    exists("object", phase.of.0, self.protocol.objects.len())?;
                    self.of_width(phase.at, Width::W64)?;
                    self.of_width(phase.count, Width::W32)?;
                    phase.parity.map_or(Ok(()), |parity| self.of_width(parity, Width::W1))?;
                }
                Stmt::Sync(_) | Stmt::Unknown(_) => {}
                Stmt::If { cond, then, otherwise } => {
                    self.of_width(*cond, Width::W1)?;
                    self.body(then, depth + 1)?;
                    self.body(otherwise, depth + 1)?;
                }
                Stmt::Loop(of) => {
                    self.looped(of)?;
                    self.body(&of.body, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn looped(&mut self, of: &Loop) -> Result<(), Malformed> {
        if !self.loops.insert(of.id.0) {
            return Err(Malformed::Twice { what: "loop", id: of.id.0 });
        }
        self.of_width(of.cond, Width::W1)?;
        if let Some(breaks) = of.breaks {
            self.of_width(breaks.unless, Width::W1)?;
        }
        for var in &of.vars {
            if !self.vars.insert(var.id.0) {
                return Err(Malformed::Twice { what: "loop variable", id: var.id.0 });
            }
            self.of_width(var.from, var.width)?;
            match var.step {
                Step::Add(step) => self.of_width(step, var.width)?,
                Step::UDiv(by) | Step::SDiv(by) if !(2..=1 << 62).contains(&by) => {
                    return Err(Malformed::Step(var.id.0));
                }
                Step::AShr(by) if by >= var.width.bits() => return Err(Malformed::Step(var.id.0)),
                Step::Mul(_) | Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) | Step::Any(_) => {}
            }
        }
        Ok(())
    }
}

/// Compares what loops begin with and what ends them with the loops before them. Otherwise a variable's range could
/// depend on itself.
struct Order<'a> {
    all: &'a Seen<'a>,
    seen: Seen<'a>,
}

impl Order<'_> {
    fn body(&mut self, body: &[Stmt]) -> Result<(), Malformed> {
        for stmt in body {
            match stmt {
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
                Stmt::If { then, otherwise, .. } => {
                    self.body(then)?;
                    self.body(otherwise)?;
                }
                Stmt::Loop(of) => {
                    for var in &of.vars {
                        let step = if let Step::Add(step) = var.step { Some(step) } else { None };
                        for value in [var.from].into_iter().chain(step) {
                            self.of_earlier(value, of)?;
                        }
                    }
                    self.seen.loops.insert(of.id.0);
                    self.seen.vars.extend(of.vars.iter().map(|var| var.id.0));
                    for cond in [of.cond].into_iter().chain(of.breaks.map(|breaks| breaks.unless)) {
                        self.of_earlier(cond, of)?;
                    }
                    self.body(&of.body)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that an expression uses variables and iterations of the loops so far alone.
    fn of_earlier(&self, id: ExprId, of: &Loop) -> Result<(), Malformed> {
        let protocol = self.seen.protocol;
        let (mut left, mut known) = (vec![id], HashSet::from([id]));
        while let Some(id) = left.pop() {
            let node = protocol.exprs.get(id);
            let is_later = match node {
                Expr::Var { id, .. } => self.all.vars.contains(&id.0) && !self.seen.vars.contains(&id.0),
                Expr::Iteration(id) | Expr::Total { of: id, .. } => {
                    self.all.loops.contains(&id.0) && !self.seen.loops.contains(&id.0)
                }
                _ => false,
            };
            if is_later {
                return Err(Malformed::Later(of.id.0));
            }
            let argument = match node {
                Expr::Opaque { id, .. } => {
                    protocol.opaques.get(id.0 as usize).and_then(|found| found.argument)
                }
                _ => None,
            };
            left.extend(node.operands().chain(argument).filter(|&id| known.insert(id)));
        }
        Ok(())
    }
}
