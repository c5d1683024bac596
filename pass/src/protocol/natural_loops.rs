//! Dominators and natural loops of a function's blocks, given as the successors
//! of each block in reverse post-order.

use std::collections::HashSet;

/// A natural loop.
#[derive(Clone, Debug)]
pub struct LoopShape {
    /// Its header, a block.
    pub header: usize,
    /// The loop around it.
    pub parent: Option<usize>,
}

/// The loops of a function.
#[derive(Clone, Debug)]
pub struct NaturalLoops {
    /// Loops, outer ones before inner ones.
    pub loops: Vec<LoopShape>,
    /// The innermost loop around each block.
    pub loop_of: Vec<Option<usize>>,
    /// Each block's immediate dominator.
    pub idom: Vec<usize>,
}

/// Whether every way from a block ends the launch. A loop without an exit
/// counts as such: nothing comes after it. `leaves` says which blocks end the
/// thread or the function without ending the launch.
pub fn dying(successors: &[Vec<usize>], leaves: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, all) in successors.iter().enumerate() {
        for &to in all {
            predecessors[to].push(from);
        }
    }
    let mut dies = vec![true; successors.len()];
    let mut pending: Vec<_> = (0..successors.len()).filter(|&b| leaves(b)).collect();
    while let Some(block) = pending.pop() {
        if std::mem::replace(&mut dies[block], false) {
            pending.extend(&predecessors[block]);
        }
    }
    dies
}

impl NaturalLoops {
    /// Finds the loops.
    ///
    /// # Errors
    /// Where control flow is irreducible.
    pub fn of(successors: &[Vec<usize>]) -> Result<Self, String> {
        let count = successors.len();
        let mut predecessors = vec![Vec::new(); count];
        for (from, all) in successors.iter().enumerate() {
            for &to in all {
                predecessors[to].push(from);
            }
        }
        let idom = dominators(&predecessors);
        let dominates = |a: usize, mut b: usize| {
            while b > a {
                b = idom[b];
            }
            a == b
        };
        let mut loops: Vec<LoopShape> = Vec::new();
        let mut loop_of: Vec<Option<usize>> = vec![None; count];
        for header in 0..count {
            let latches: Vec<_> = predecessors[header].iter().copied().filter(|&p| p >= header).collect();
            if latches.is_empty() {
                continue;
            }
            if !latches.iter().all(|&l| dominates(header, l)) {
                return Err("irreducible control flow".to_owned());
            }
            let this = loops.len();
            loops.push(LoopShape { header, parent: loop_of[header] });
            let mut pending = latches;
            let mut seen = HashSet::from([header]);
            loop_of[header] = Some(this);
            while let Some(block) = pending.pop() {
                if seen.insert(block) {
                    loop_of[block] = Some(this);
                    pending.extend(&predecessors[block]);
                }
            }
        }
        Ok(Self { loops, loop_of, idom })
    }
}

/// Immediate dominators of a graph in reverse post-order (Cooper, Harvey and
/// Kennedy, "A Simple, Fast Dominance Algorithm").
fn dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut idom = vec![usize::MAX; predecessors.len()];
    idom[0] = 0;
    loop {
        let mut changed = false;
        for n in 1..predecessors.len() {
            let mut new = usize::MAX;
            for &p in &predecessors[n] {
                if idom[p] == usize::MAX {
                    continue;
                }
                new = if new == usize::MAX { p } else { meet(&idom, new, p) };
            }
            if new != idom[n] {
                idom[n] = new;
                changed = true;
            }
        }
        if !changed {
            return idom;
        }
    }
}

fn meet(idom: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = idom[a];
        } else {
            b = idom[b];
        }
    }
    a
}
