//! The protocol of random steps.

use std::collections::HashMap;

use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;

use crate::acts::{Act, Who};
use crate::common::*;

/// What the protocol of a random kernel names.
pub struct Names {
    pub counters: [ObjectId; 2],
    pub words: [ObjectId; 2],
    pub arrays: [ObjectId; 2],
    pub loops: Vec<LoopId>,
    pub values: HashMap<usize, E>,
}

fn by(k: &mut Kernel, who: Who, act: impl FnOnce(&mut Kernel)) {
    let t = k.tid();
    let cond = match who {
        Who::First => k.eqc(t, 0),
        Who::Second => k.eqc(t, 1),
        Who::Odd => {
            let odd = k.binc(BinOp::And, t, 1);
            k.eqc(odd, 1)
        }
        Who::All => return act(k),
    };
    k.when(cond, act);
}

/// Opens a loop and describes its first acts. Returns the loop, and the values that are known behind it.
fn begin_loop(k: &mut Kernel, acts: &[Act], names: &mut Names) -> (LoopId, HashMap<usize, E>) {
    let id = k.next_loop();
    k.skip_loop();
    names.loops.push(id);
    let outside = names.values.clone();
    k.open();
    describe(k, acts, names);
    (id, outside)
}

/// Adds steps to a protocol.
pub fn describe(k: &mut Kernel, acts: &[Act], names: &mut Names) {
    for act in acts {
        let zero = k.c(0);
        match act {
            Act::Reset { who, counter } => {
                let counter = names.counters[*counter];
                by(k, *who, |k| {
                    let site = k.write(counter, zero);
                    k.p.stored.push(Stored { site, value: zero });
                });
            }
            Act::Take { who, counter, added, more, value } => {
                let counter = names.counters[*counter];
                by(k, *who, |k| {
                    let added = match more {
                        Some(more) => k.addc(names.values[more], *added),
                        None => k.c(*added),
                    };
                    let ticket = k.take(DEVICE, counter, zero, added, &names.loops);
                    names.values.insert(*value, ticket);
                });
            }
            Act::Tell { who, word, value, plus } => {
                let stored = k.addc(names.values[value], *plus);
                let word = names.words[*word];
                by(k, *who, |k| {
                    let site = k.write(word, zero);
                    k.p.stored.push(Stored { site, value: stored });
                });
            }
            Act::Hear { word: from, value } | Act::Count { counter: from, value } => {
                let words = if matches!(act, Act::Hear { .. }) { names.words } else { names.counters };
                let heard = k.opaque("a value loaded from a word", Width::W32, Uniform::Thread, &names.loops);
                let site = k.read(words[*from], zero);
                k.p.opaques.last_mut().expect("there is one").loaded_by = Some(site);
                names.values.insert(*value, heard);
            }
            Act::Fill { array, value, guard } => {
                let t = k.tid();
                let below = k.ult(t, names.values[guard]);
                let at = k.add(names.values[value], t);
                k.when(below, |k| k.write(names.arrays[*array], at));
            }
            Act::Put { who, array, value, place, scale } => {
                let place = k.mulc(names.values[place], *scale);
                let at = k.add(names.values[value], place);
                let array = names.arrays[*array];
                by(k, *who, |k| {
                    k.write(array, at);
                });
            }
            Act::Use { who, array, value, scale, plus, own } => {
                let at = k.p.exprs.zext(Width::W64, names.values[value]);
                let at = k.binc(BinOp::Mul, at, 4 * scale);
                let at = k.binc(BinOp::Add, at, 4 * plus);
                let t = k.tid();
                let t = k.p.exprs.zext(Width::W64, t);
                let at = if *own { k.add(at, t) } else { at };
                let array = names.arrays[*array];
                by(k, *who, |k| {
                    k.write(array, at);
                });
            }
            Act::Sync => k.sync(),
            Act::Rounds { body, value, bound } => {
                let (id, outside) = begin_loop(k, body, names);
                let body = k.close();
                let bound = k.c(*bound);
                let cond = k.ult(names.values[value], bound);
                names.loops.pop();
                names.values = outside;
                k.stmt(Stmt::Loop(Loop {
                    id,
                    vars: Vec::new(),
                    cond,
                    test: Test::After,
                    breaks: None,
                    body,
                }));
            }
            Act::Breaks { body, rest, value, bound, most } => {
                let (id, outside) = begin_loop(k, body, names);
                let bound = k.c(*bound);
                let unless = k.ult(names.values[value], bound);
                k.open();
                describe(k, rest, names);
                let then = k.close();
                k.stmt(Stmt::If { cond: unless, then, otherwise: Vec::new() });
                let body = k.close();
                names.loops.pop();
                names.values = outside;
                let var = VarId(id.0);
                let i = k.p.exprs.add(Expr::Var { id: var, width: Width::W32 });
                let (one, most) = (k.c(1), k.c(*most));
                let cond = k.lt(i, most);
                let vars = vec![Induction { id: var, width: Width::W32, from: zero, step: Step::Add(one) }];
                let breaks = Some(Breaks { uniform: Uniform::Thread, unless });
                k.stmt(Stmt::Loop(Loop { id, vars, cond, test: Test::Before, breaks, body }));
            }
            Act::If { body, value, bound } => {
                let outside = names.values.clone();
                let bound = k.c(*bound);
                let cond = k.ult(names.values[value], bound);
                k.when(cond, |k| describe(k, body, names));
                names.values = outside;
            }
        }
    }
}
