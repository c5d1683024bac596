//! Removes everything from a protocol that its statements do not use.

use std::collections::{HashMap, HashSet};

use gpurace_protocol::expr::{Expr, ExprId, Exprs, LoopId, OpaqueId, ParamId, VarId};
use gpurace_protocol::protocol::{Induction, Object, ObjectId, ObjectKind, Protocol, Step, Stmt, Sync};

/// Leaves out unused expressions, loops, loop variables, parameters, objects and opaque values.
pub fn compact(protocol: &mut Protocol) {
    drop_empty_loops(protocol);
    let used = Used::by(protocol);
    let old = std::mem::take(&mut protocol.exprs);
    let mut renaming = Renaming::default();
    renaming.keep_params(protocol, &old, &used);
    renaming.keep_exprs(protocol, &old, &used);
    renaming.keep_objects(protocol, &used);
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

/// What the statements of a protocol use.
struct Used {
    exprs: Vec<bool>,
    vars: HashSet<VarId>,
    objects: Vec<bool>,
}

impl Used {
    fn by(protocol: &Protocol) -> Self {
        let used = Self {
            exprs: vec![false; protocol.exprs.len()],
            vars: HashSet::new(),
            objects: vec![false; protocol.objects.len()],
        };
        let mut search = Search { protocol, variables: HashMap::new(), used };
        search.variables_of(&protocol.body);
        search.body(&protocol.body);
        for stored in &protocol.stored {
            search.expr(stored.value);
        }
        for told in &protocol.told {
            search.used.objects[told.of.0 as usize] = true;
            search.expr(told.at);
        }
        search.used
    }

    /// The nodes that are used.
    fn nodes(&self, exprs: &Exprs) -> impl Iterator<Item = (ExprId, Expr)> {
        exprs.iter().filter(|(id, _)| self.exprs[id.0 as usize])
    }
}

/// Finds what statements use.
struct Search<'p> {
    protocol: &'p Protocol,
    variables: HashMap<VarId, &'p Induction>,
    used: Used,
}

impl<'p> Search<'p> {
    /// Collects the variables of all loops.
    fn variables_of(&mut self, body: &'p [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Loop(of) => {
                    self.variables.extend(of.vars.iter().map(|var| (var.id, var)));
                    self.variables_of(&of.body);
                }
                Stmt::If { then, otherwise, .. } => {
                    self.variables_of(then);
                    self.variables_of(otherwise);
                }
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Access(access) => {
                    self.used.objects[access.object.0 as usize] = true;
                    if let ObjectKind::Slot { at } = self.protocol.objects[access.object.0 as usize].kind {
                        self.expr(at);
                    }
                    self.expr(access.offset);
                    self.expr(access.size);
                }
                Stmt::Loop(of) => {
                    self.expr(of.cond);
                    if let Some(breaks) = of.breaks {
                        self.expr(breaks.unless);
                    }
                    self.body(&of.body);
                }
                Stmt::If { cond, then, otherwise } => {
                    self.expr(*cond);
                    self.body(then);
                    self.body(otherwise);
                }
                Stmt::Sync(Sync::Lanes(mask)) => self.expr(*mask),
                Stmt::Sync(Sync::Named(named)) => {
                    self.expr(named.id);
                    self.expr(named.threads);
                }
                Stmt::Sync(Sync::Phase(phase)) => {
                    self.used.objects[phase.of.0 as usize] = true;
                    for id in [Some(phase.at), Some(phase.count), phase.parity].into_iter().flatten() {
                        self.expr(id);
                    }
                }
                Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
    }

    fn expr(&mut self, id: ExprId) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut self.used.exprs[id.0 as usize], true) {
                continue;
            }
            let node = self.protocol.exprs.get(id);
            pending.extend(node.operands());
            if let Expr::Opaque { id, .. } = node {
                let opaque = &self.protocol.opaques[id.0 as usize];
                pending.extend(opaque.last.map(|last| last.value));
                pending.extend(opaque.argument);
                pending.extend(opaque.ticket.map(|ticket| ticket.added));
            }
            if let Expr::Var { id, .. } = node
                && self.used.vars.insert(id)
                && let Some(var) = self.variables.get(&id)
            {
                pending.push(var.from);
                if let Step::Add(by) = var.step {
                    pending.push(by);
                }
            }
        }
    }
}

/// For what is kept, its new id.
#[derive(Default)]
struct Renaming {
    exprs: HashMap<ExprId, ExprId>,
    params: HashMap<ParamId, ParamId>,
    objects: HashMap<ObjectId, ObjectId>,
}

impl Renaming {
    /// Keeps the parameters that are used, in their order, but those in constant memory come last.
    fn keep_params(&mut self, protocol: &mut Protocol, old: &Exprs, used: &Used) {
        let in_exprs = used.nodes(old).filter_map(|(_, node)| match node {
            Expr::Param { id, .. } => Some(id),
            _ => None,
        });
        let objects = protocol.objects.iter().zip(&used.objects).filter(|(_, used)| **used);
        let named = objects.filter_map(|(object, _)| match object.kind {
            ObjectKind::Param(id) | ObjectKind::Image(id) => Some(id),
            _ => None,
        });
        let wanted: HashSet<ParamId> = in_exprs.chain(named).collect();
        let mut params: Vec<_> = (0..).map(ParamId).zip(std::mem::take(&mut protocol.params)).collect();
        params.sort_by_key(|(_, param)| param.is_constant());
        for (id, param) in params.into_iter().filter(|(id, _)| wanted.contains(id)) {
            self.params.insert(id, ParamId(protocol.params.len() as u32));
            protocol.params.push(param);
        }
    }

    /// Keeps the expressions and opaque values that are used.
    fn keep_exprs(&mut self, protocol: &mut Protocol, old: &Exprs, used: &Used) {
        let opaques = std::mem::take(&mut protocol.opaques);
        for (id, node) in used.nodes(old) {
            let of = |e: ExprId| self.exprs[&e];
            let node = match node {
                Expr::Param { id, width } => Expr::Param { id: self.params[&id], width },
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
            self.exprs.insert(id, new);
        }
    }

    /// Keeps the objects that are used.
    fn keep_objects(&mut self, protocol: &mut Protocol, used: &Used) {
        let objects = (0..).map(ObjectId).zip(std::mem::take(&mut protocol.objects));
        for ((id, object), _) in objects.zip(&used.objects).filter(|(_, used)| **used) {
            self.objects.insert(id, ObjectId(protocol.objects.len() as u32));
            let kind = match object.kind {
                ObjectKind::Param(id) => ObjectKind::Param(self.params[&id]),
                ObjectKind::Image(id) => ObjectKind::Image(self.params[&id]),
                ObjectKind::Slot { at } => ObjectKind::Slot { at: self.exprs[&at] },
                kind => kind,
            };
            protocol.objects.push(Object { name: object.name, kind });
        }
    }

    /// Renames what statements use, and leaves out other loop variables.
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
