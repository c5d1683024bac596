//! A smaller kernel that still shows something.

use crate::batch::{Case, Fault, Way, check};
use crate::interpret;
use crate::mutate::for_each_list;
use crate::program::{Expr, Kernel, Kind, Stmt};

/// Ways to make one statement smaller.
fn smaller(s: &Stmt) -> Vec<Vec<Stmt>> {
    let mut all = vec![Vec::new()];
    match &s.kind {
        Kind::If(_, then, other) => {
            all.push(then.clone());
            if !other.is_empty() {
                all.push(other.clone());
            }
        }
        Kind::For(v, first, .., body) => {
            let mut once = vec![Kind::Set(*v, first.clone()).into()];
            once.extend(body.clone());
            all.push(once);
        }
        Kind::Set(v, e) => all.extend(simpler(e).into_iter().map(|e| vec![Kind::Set(*v, e).into()])),
        Kind::Store(p, e) => {
            all.extend(simpler(e).into_iter().map(|e| vec![Kind::Store(p.clone(), e).into()]));
            for (d, index) in p.index.iter().enumerate() {
                for simple in simpler(index) {
                    let mut p = p.clone();
                    p.index[d] = simple;
                    all.push(vec![Kind::Store(p, e.clone()).into()]);
                }
            }
        }
        Kind::Update(op, p, e) => {
            all.extend(simpler(e).into_iter().map(|e| vec![Kind::Update(*op, p.clone(), e).into()]));
        }
        _ => {}
    }
    all
}

/// Parts of an expression that have its type.
fn simpler(e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Binary(_, a, b) | Expr::Select(_, a, b) => vec![(**a).clone(), (**b).clone()],
        _ => Vec::new(),
    }
}

/// All kernels that have one thing less and a meaning.
fn candidates(kernel: &Kernel) -> Vec<Case> {
    let mut all = Vec::new();
    let mut keep = |mut other: Kernel| {
        other.number();
        if other != *kernel
            && let Ok(outcome) = interpret::run(&other)
        {
            all.push(Case { kernel: other, outcome });
        }
    };
    let mut positions = Vec::new();
    let mut list = 0;
    for_each_list(&mut kernel.body.clone(), &mut |body| {
        for (i, s) in body.iter().enumerate() {
            smaller(s).into_iter().for_each(|less| positions.push((list, i, less)));
        }
        list += 1;
    });
    for (wanted, i, less) in positions {
        let mut other = kernel.clone();
        let mut list = 0;
        let mut less = Some(less);
        for_each_list(&mut other.body, &mut |body| {
            if list == wanted
                && let Some(less) = less.take()
            {
                body.splice(i..=i, less);
            }
            list += 1;
        });
        keep(other);
    }
    for d in 0..3 {
        for grid in [true, false] {
            let mut other = kernel.clone();
            let n = if grid { &mut other.grid[d] } else { &mut other.block[d] };
            if *n > 1 {
                *n /= 2;
                keep(other);
            }
        }
    }
    all
}

/// Takes statements and threads from a kernel as long as it shows the fault in these ways. Its variables and
/// arrays stay.
pub fn shrink(
    kernel: &Kernel,
    fault: Fault,
    level: &str,
    seed: u64,
    ways: &[Way],
    folder: &std::path::Path,
) -> Kernel {
    let mut smallest = kernel.clone();
    let racy = |case: &Case| !case.outcome.races.pairs.is_empty();
    // A miss is a miss only in a kernel that races; everything else is worth more in one that does not.
    let fits = |case: &Case| fault != Fault::Miss || racy(case);
    'again: for _ in 0..60 {
        let all: Vec<Case> = candidates(&smallest).into_iter().filter(fits).collect();
        for some in all.chunks(30) {
            let checked = check(some, level, seed, ways, folder);
            let mut shows: Vec<usize> =
                checked.problems.iter().filter(|p| p.fault == fault).map(|p| p.kernel).collect();
            shows.sort_by_key(|&k| statements(&some[k].kernel));
            if let Some(&k) = shows.first() {
                smallest = some[k].kernel.clone();
                continue 'again;
            }
        }
        return smallest;
    }
    smallest
}

/// How many statements a kernel has.
fn statements(kernel: &Kernel) -> usize {
    kernel.clone().number()
}
