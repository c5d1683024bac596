//! Removes everything from a protocol that its statements do not use.

use std::collections::{HashMap, HashSet};

use gpurace_protocol::expr::{Expr, ExprId, LoopId, OpaqueId, ParamId, VarId};
use gpurace_protocol::protocol::{Induction, Object, ObjectId, ObjectKind, Protocol, Step, Stmt, Sync};

/// Returns the same protocol without unused expressions, loops, loop variables, parameters, objects
/// and opaque values.
pub fn compact(protocol: &mut Protocol) {
    drop_empty_loops(protocol);
    let mut vars = HashMap::new();
    let mut used =
        Used { exprs: vec![false; protocol.exprs.len()], vars: HashSet::new(), objects: Vec::new() };
    used.objects = vec![false; protocol.objects.len()];
    collect_vars(&protocol.body, &mut vars);
    used.body(protocol, &protocol.body, &vars);
    for stored in &protocol.stored {
        used.expr(protocol, stored.value, &vars);
    }
    for told in &protocol.told {
        used.objects[told.of.0 as usize] = true;
        used.expr(protocol, told.at, &vars);
    }

    let mut renaming = Renaming::default();
    let old = std::mem::take(&mut protocol.exprs);
    let params = std::mem::take(&mut protocol.params);
    let opaques = std::mem::take(&mut protocol.opaques);
    let objects = std::mem::take(&mut protocol.objects);
    // Parameters keep their order, but for those in constant memory, which come last.
    let named_by_objects = |id: usize| {
        let names = |kind: &ObjectKind| match kind {
            ObjectKind::Param(of) | ObjectKind::Image(of) => *of == ParamId(id as u32),
            _ => false,
        };
        objects.iter().zip(&used.objects).any(|(o, &u)| u && names(&o.kind))
    };
    let in_exprs: HashSet<_> = old
        .iter()
        .filter(|(id, _)| used.exprs[id.0 as usize])
        .filter_map(|(_, e)| match e {
            Expr::Param { id, .. } => Some(id.0 as usize),
            _ => None,
        })
        .collect();
    let mut params: Vec<_> = params.into_iter().enumerate().collect();
    params.sort_by_key(|(_, param)| param.is_constant());
    for (index, param) in params {
        if in_exprs.contains(&index) || named_by_objects(index) {
            renaming.params.insert(ParamId(index as u32), ParamId(protocol.params.len() as u32));
            protocol.params.push(param);
        }
    }
    for (id, node) in old.iter().filter(|(id, _)| used.exprs[id.0 as usize]) {
        let of = |e: ExprId| renaming.exprs[&e];
        let node = match node {
            Expr::Param { id, width } => Expr::Param { id: renaming.params[&id], width },
            Expr::Opaque { id, width } => {
                let next = OpaqueId(protocol.opaques.len() as u32);
                let mut opaque = opaques[id.0 as usize].clone();
                if let Some(last) = &mut opaque.last {
                    last.value = of(last.value);
                }
                opaque.argument = opaque.argument.map(of);
                if let Some(ticket) = &mut opaque.ticket {
                    ticket.added = of(ticket.added);
                }
                protocol.opaques.push(opaque);
                Expr::Opaque { id: next, width }
            }
            node => node.with_operands(of),
        };
        let new = protocol.exprs.add(node);
        renaming.exprs.insert(id, new);
    }
    for (index, object) in objects.into_iter().enumerate() {
        if used.objects[index] {
            renaming.objects.insert(ObjectId(index as u32), ObjectId(protocol.objects.len() as u32));
            let kind = match object.kind {
                ObjectKind::Param(id) => ObjectKind::Param(renaming.params[&id]),
                ObjectKind::Image(id) => ObjectKind::Image(renaming.params[&id]),
                ObjectKind::Slot { at } => ObjectKind::Slot { at: renaming.exprs[&at] },
                kind => kind,
            };
            protocol.objects.push(Object { name: object.name, kind });
        }
    }
    for stored in &mut protocol.stored {
        stored.value = renaming.exprs[&stored.value];
    }
    for told in &mut protocol.told {
        (told.of, told.at) = (renaming.objects[&told.of], renaming.exprs[&told.at]);
    }
    renaming.body(&mut protocol.body, &used.vars);
}

/// Removes loops that do nothing and whose last values are not used.
fn drop_empty_loops(protocol: &mut Protocol) {
    fn within(body: &mut Vec<Stmt>, asked: &HashSet<LoopId>) {
        for stmt in body.iter_mut() {
            match stmt {
                Stmt::Loop(of) => within(&mut of.body, asked),
                Stmt::If { then, otherwise, .. } => {
                    within(then, asked);
                    within(otherwise, asked);
                }
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
        body.retain(|stmt| match stmt {
            Stmt::Loop(of) => !of.body.is_empty() || asked.contains(&of.id),
            Stmt::If { then, otherwise, .. } => !then.is_empty() || !otherwise.is_empty(),
            Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => true,
        });
    }
    let of = |(_, node)| match node {
        Expr::Opaque { id, .. } => Some(protocol.opaques[id.0 as usize].last?.of),
        _ => None,
    };
    let asked = protocol.exprs.iter().filter_map(of).collect();
    within(&mut protocol.body, &asked);
}

fn collect_vars(body: &[Stmt], vars: &mut HashMap<VarId, Induction>) {
    for stmt in body {
        match stmt {
            Stmt::Loop(of) => {
                vars.extend(of.vars.iter().map(|v| (v.id, v.clone())));
                collect_vars(&of.body, vars);
            }
            Stmt::If { then, otherwise, .. } => {
                collect_vars(then, vars);
                collect_vars(otherwise, vars);
            }
            Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
    }
}

struct Used {
    exprs: Vec<bool>,
    vars: HashSet<VarId>,
    objects: Vec<bool>,
}

impl Used {
    fn body(&mut self, protocol: &Protocol, body: &[Stmt], vars: &HashMap<VarId, Induction>) {
        for stmt in body {
            match stmt {
                Stmt::Access(access) => {
                    self.objects[access.object.0 as usize] = true;
                    if let ObjectKind::Slot { at } = protocol.objects[access.object.0 as usize].kind {
                        self.expr(protocol, at, vars);
                    }
                    self.expr(protocol, access.offset, vars);
                    self.expr(protocol, access.size, vars);
                }
                Stmt::Loop(of) => {
                    self.expr(protocol, of.cond, vars);
                    if let Some(breaks) = of.breaks {
                        self.expr(protocol, breaks.unless, vars);
                    }
                    self.body(protocol, &of.body, vars);
                }
                Stmt::If { cond, then, otherwise } => {
                    self.expr(protocol, *cond, vars);
                    self.body(protocol, then, vars);
                    self.body(protocol, otherwise, vars);
                }
                Stmt::Sync(Sync::Lanes(mask)) => self.expr(protocol, *mask, vars),
                Stmt::Sync(Sync::Named(named)) => {
                    self.expr(protocol, named.id, vars);
                    self.expr(protocol, named.threads, vars);
                }
                Stmt::Sync(Sync::Phase(phase)) => {
                    self.objects[phase.of.0 as usize] = true;
                    for id in [Some(phase.at), Some(phase.count), phase.parity].into_iter().flatten() {
                        self.expr(protocol, id, vars);
                    }
                }
                Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
    }

    fn expr(&mut self, protocol: &Protocol, id: ExprId, vars: &HashMap<VarId, Induction>) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut self.exprs[id.0 as usize], true) {
                continue;
            }
            let node = protocol.exprs.get(id);
            pending.extend(node.operands());
            if let Expr::Opaque { id, .. } = node {
                let opaque = &protocol.opaques[id.0 as usize];
                pending.extend(opaque.last.map(|last| last.value));
                pending.extend(opaque.argument);
                pending.extend(opaque.ticket.map(|ticket| ticket.added));
            }
            if let Expr::Var { id, .. } = node
                && self.vars.insert(id)
                && let Some(var) = vars.get(&id)
            {
                pending.push(var.from);
                if let Step::Add(by) = var.step {
                    pending.push(by);
                }
            }
        }
    }
}

#[derive(Default)]
struct Renaming {
    exprs: HashMap<ExprId, ExprId>,
    params: HashMap<ParamId, ParamId>,
    objects: HashMap<ObjectId, ObjectId>,
}

impl Renaming {
    fn body(&self, body: &mut [Stmt], vars: &HashSet<VarId>) {
        for stmt in body {
            match stmt {
                Stmt::Access(access) => {
                    access.object = self.objects[&access.object];
                    access.offset = self.exprs[&access.offset];
                    access.size = self.exprs[&access.size];
                }
                Stmt::Loop(of) => {
                    of.vars.retain(|v| vars.contains(&v.id));
                    for var in &mut of.vars {
                        var.from = self.exprs[&var.from];
                        if let Step::Add(by) = &mut var.step {
                            *by = self.exprs[&*by];
                        }
                    }
                    of.cond = self.exprs[&of.cond];
                    if let Some(breaks) = &mut of.breaks {
                        breaks.unless = self.exprs[&breaks.unless];
                    }
                    self.body(&mut of.body, vars);
                }
                Stmt::If { cond, then, otherwise } => {
                    *cond = self.exprs[&*cond];
                    self.body(then, vars);
                    self.body(otherwise, vars);
                }
                Stmt::Sync(Sync::Lanes(mask)) => *mask = self.exprs[&*mask],
                Stmt::Sync(Sync::Named(named)) => {
                    named.id = self.exprs[&named.id];
                    named.threads = self.exprs[&named.threads];
                }
                Stmt::Sync(Sync::Phase(phase)) => {
                    phase.of = self.objects[&phase.of];
                    phase.at = self.exprs[&phase.at];
                    phase.count = self.exprs[&phase.count];
                    phase.parity = phase.parity.map(|parity| self.exprs[&parity]);
                }
                Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
    }
}
