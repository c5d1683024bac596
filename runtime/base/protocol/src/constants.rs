//! Protocols with constants, or other expressions, in place of values that are known.

use crate::expr::{Expr, ExprId, Exprs};
use crate::protocol::{ObjectKind, Protocol, Step, Stmt, Sync};

/// Returns the protocol in which the nodes of known value are constants: `known` returns the bits. The new
/// protocol numbers its expressions differently.
pub fn with_constants(protocol: &Protocol, known: impl Fn(Expr) -> Option<u64>) -> Protocol {
    with_values(protocol, |id, node, exprs, _| {
        let width = protocol.exprs.width(id);
        known(node).map(|bits| exprs.add(Expr::Const { width, bits: width.truncate(bits) }))
    })
}

/// Returns the protocol in which other expressions stand for nodes. `known` gets a node, the new expressions,
/// and the new ids of all nodes before it. It returns the new expression of the node, of the same width.
pub(crate) fn with_values(
    protocol: &Protocol,
    mut known: impl FnMut(ExprId, Expr, &mut Exprs, &[ExprId]) -> Option<ExprId>,
) -> Protocol {
    let mut exprs = Exprs::default();
    let mut new: Vec<ExprId> = Vec::new();
    for (id, node) in protocol.exprs.iter() {
        let made = known(id, node, &mut exprs, &new);
        new.push(made.unwrap_or_else(|| exprs.add(node.with_operands(|id| new[id.0 as usize]))));
    }
    let renamed = |id: &mut ExprId| *id = new[id.0 as usize];
    let mut settled = Protocol { exprs, ..protocol.clone() };
    settled
        .opaques
        .iter_mut()
        .filter_map(|opaque| opaque.last.as_mut())
        .for_each(|last| renamed(&mut last.value));
    settled.opaques.iter_mut().filter_map(|opaque| opaque.argument.as_mut()).for_each(renamed);
    let tickets = settled.opaques.iter_mut().filter_map(|opaque| opaque.ticket.as_mut());
    tickets.for_each(|ticket| renamed(&mut ticket.added));
    settled.stored.iter_mut().for_each(|stored| renamed(&mut stored.value));
    settled.told.iter_mut().for_each(|told| renamed(&mut told.at));
    for object in &mut settled.objects {
        if let ObjectKind::Slot { at } = &mut object.kind {
            renamed(at);
        }
    }
    rename(&mut settled.body, &renamed);
    settled
}

fn rename(body: &mut [Stmt], renamed: &impl Fn(&mut ExprId)) {
    for stmt in body {
        match stmt {
            Stmt::Access(access) => {
                renamed(&mut access.offset);
                renamed(&mut access.size);
            }
            Stmt::If { cond, then, otherwise } => {
                renamed(cond);
                rename(then, renamed);
                rename(otherwise, renamed);
            }
            Stmt::Loop(of) => {
                renamed(&mut of.cond);
                of.breaks.iter_mut().for_each(|breaks| renamed(&mut breaks.unless));
                for var in &mut of.vars {
                    renamed(&mut var.from);
                    if let Step::Add(by) = &mut var.step {
                        renamed(by);
                    }
                }
                rename(&mut of.body, renamed);
            }
            Stmt::Sync(Sync::Lanes(mask)) => renamed(mask),
            Stmt::Sync(Sync::Named(named)) => {
                renamed(&mut named.id);
                renamed(&mut named.threads);
            }
            Stmt::Sync(Sync::Phase(phase)) => {
                renamed(&mut phase.at);
                renamed(&mut phase.count);
                phase.parity.iter_mut().for_each(renamed);
            }
            Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
    }
}
