//! Mutants: a kernel with one thing changed that may have kept it free of races.

use gpurace_random::Random;

use crate::interpret::{self, Outcome};
use crate::program::{Expr, Kernel, Kind, Place, Space, Stmt};
use crate::scalar::{Op, Scalar, Test};

/// Calls `f` with each list of statements.
pub fn for_each_list(body: &mut Vec<Stmt>, f: &mut impl FnMut(&mut Vec<Stmt>)) {
    f(body);
    for s in body {
        match &mut s.kind {
            Kind::If(_, then, other) => {
                for_each_list(then, f);
                for_each_list(other, f);
            }
            Kind::For(.., body) => for_each_list(body, f),
            _ => {}
        }
    }
}

/// Calls `f` with the expressions in an expression, itself the last.
pub fn for_each_expr(e: &mut Expr, f: &mut impl FnMut(&mut Expr)) {
    match e {
        Expr::Load(place) => place.index.iter_mut().for_each(|e| for_each_expr(e, f)),
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
            for_each_expr(a, f);
            for_each_expr(b, f);
        }
        Expr::Select(c, a, b) => {
            for_each_expr(c, f);
            for_each_expr(a, f);
            for_each_expr(b, f);
        }
        Expr::Cast(_, e) | Expr::Bits(e) | Expr::Own(e) => for_each_expr(e, f),
        Expr::Call(_, arguments) => arguments.iter_mut().for_each(|e| for_each_expr(e, f)),
        Expr::Const(..) | Expr::Local(_) | Expr::Param(_) | Expr::Special(..) | Expr::Argument(_) => {}
    }
    f(e);
}

/// Moves a place to another element.
fn shift(r: &mut Random, place: &mut Place, extents: &[u32]) {
    let d = r.below(place.index.len());
    let extent = Expr::Const(Scalar::U32, u64::from(extents[d]));
    let old = place.index[d].clone();
    let binary = |op, a, b| Expr::Binary(op, Box::new(a), Box::new(b));
    let one = |n| Expr::Const(Scalar::U32, n);
    place.index[d] = match r.below(4) {
        0 => one(0),
        1 => binary(Op::Shr, old, one(1)),
        2 => binary(Op::Min, binary(Op::Or, old, one(1)), binary(Op::Sub, extent, one(1))),
        _ => binary(Op::Rem, binary(Op::Add, old, one(1)), extent),
    };
}

/// Changes the statement at `i`, if there is a way.
fn change(r: &mut Random, kernel: &Kernel, body: &mut Vec<Stmt>, i: usize) {
    let extents = |place: &Place| kernel.arrays[place.array].extents.clone();
    match &mut body[i].kind {
        Kind::Barrier | Kind::BarrierCount(..) | Kind::SyncWarp(_) => match r.below(5) {
            0 if i > 0 => body.swap(i, i - 1),
            1 if i + 1 < body.len() => body.swap(i, i + 1),
            2 => match body[i].kind {
                Kind::Barrier => body[i].kind = Kind::SyncWarp(u32::MAX),
                Kind::SyncWarp(mask) => {
                    let lanes = mask.count_ones() / 2;
                    let c = |n| Expr::Const(Scalar::U32, u64::from(n));
                    let lane = Expr::Binary(Op::And, Box::new(Expr::Local(0)), Box::new(c(31)));
                    let lower = Expr::Compare(Test::Less, Box::new(lane), Box::new(c(lanes)));
                    let sync = Kind::SyncWarp(((1u64 << lanes) - 1) as u32);
                    body[i].kind = Kind::If(lower, vec![sync.into()], Vec::new());
                }
                _ => _ = body.remove(i),
            },
            _ => _ = body.remove(i),
        },
        Kind::If(c, then, other) => match r.below(2) {
            0 => {
                let inner = std::mem::take(then);
                body.splice(i..=i, inner);
            }
            _ if other.is_empty() => *c = Expr::Const(Scalar::U32, 1),
            _ => std::mem::swap(then, other),
        },
        Kind::Atomic(op, place, e) if r.chance(60) => {
            body[i].kind = Kind::Update(*op, place.clone(), e.clone());
        }
        Kind::Store(place, _) | Kind::StoreAll(place, _) | Kind::LoadAll(_, place) => {
            shift(r, place, &extents(place));
        }
        Kind::Update(_, place, _) | Kind::Atomic(_, place, _) => shift(r, place, &extents(place)),
        Kind::Set(_, e) => {
            let mut done = false;
            for_each_expr(e, &mut |e| {
                if let Expr::Load(place) = e
                    && kernel.arrays[place.array].space != Space::Input
                    && !done
                {
                    done = true;
                    let all = extents(place);
                    shift(r, place, &all);
                }
            });
        }
        Kind::For(..) | Kind::Warp(..) | Kind::Return | Kind::Break | Kind::Continue => {}
    }
}

/// How likely a statement is changed, beside others.
fn weight(kind: &Kind) -> u64 {
    match kind {
        Kind::Barrier | Kind::SyncWarp(_) | Kind::BarrierCount(..) => 8,
        Kind::Atomic(..) => 4,
        Kind::If(..) => 2,
        _ => 1,
    }
}

/// Returns a mutant of a kernel that has a meaning, and what it does.
pub fn mutant(kernel: &Kernel, seed: u64) -> Option<(Kernel, Outcome)> {
    let r = &mut Random(seed);
    for _ in 0..8 {
        let mut other = kernel.clone();
        let mut total = 0;
        for_each_list(&mut other.body, &mut |l| total += l.iter().map(|s| weight(&s.kind)).sum::<u64>());
        let mut left = r.below(total);
        let mut done = false;
        for_each_list(&mut other.body, &mut |body| {
            for i in 0..body.len() {
                let w = weight(&body[i].kind);
                if done {
                    return;
                }
                if left < w {
                    done = true;
                    change(r, kernel, body, i);
                    return;
                }
                left -= w;
            }
        });
        other.number();
        if other != *kernel
            && let Ok(outcome) = interpret::run(&other)
        {
            return Some((other, outcome));
        }
    }
    None
}
