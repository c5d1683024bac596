//! Protocols with constants in place of values that are known.

use crate::expr::{Expr, ExprId, Exprs};
use crate::protocol::{ObjectKind, Protocol, Step, Stmt, Sync};

/// Returns the protocol in which the nodes of known value are constants: `known` returns the bits. The new
/// protocol numbers its expressions differently.
pub fn with_constants(protocol: &Protocol, known: impl Fn(Expr) -> Option<u64>) -> Protocol {
    let mut exprs = Exprs::default();
    let mut new: Vec<ExprId> = Vec::new();
    for (id, node) in protocol.exprs.iter() {
        let width = protocol.exprs.width(id);
        let node = match known(node) {
            Some(bits) => Expr::Const { width, bits: width.truncate(bits) },
            None => node.with_operands(|id| new[id.0 as usize]),
        };
        new.push(exprs.add(node));
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
            Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
    }
}
