//! Control flow of a function: its basic blocks in reverse post-order, dominators and
//! postdominators.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Basic blocks that control reaches, by their index in reverse post-order.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// The blocks, the start first.
    pub blocks: Vec<LLVMBasicBlockRef>,
    /// Index of each block.
    pub index: HashMap<LLVMBasicBlockRef, usize>,
    /// Successors of each block, one for each way of its terminator.
    pub successors: Vec<Vec<usize>>,
    /// Predecessors of each block, one for each way that leads to it.
    pub predecessors: Vec<Vec<usize>>,
}

impl ControlFlow {
    /// The control flow of a function, from its entry and from the blocks that no other one leads
    /// to: the code behind a cut is one until the function's start leads there.
    ///
    /// # Safety
    /// `function` is a live definition.
    pub unsafe fn of(function: LLVMValueRef) -> Self {
        // SAFETY: by contract; successors of live blocks are live.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(function);
            let reached: HashSet<_> = ir::blocks(function).flat_map(|block| ir::successors(block)).collect();
            let others = ir::blocks(function).filter(|block| *block != entry && !reached.contains(block));
            let starts: Vec<_> = std::iter::once(entry).chain(others).collect();
            Self::with(&starts, |block| ir::successors(block))
        }
    }

    /// The control flow from a block on.
    ///
    /// # Safety
    /// `start` is a block of a live definition.
    pub unsafe fn from(start: LLVMBasicBlockRef) -> Self {
        // SAFETY: by contract; successors of live blocks are live.
        Self::with(&[start], |block| unsafe { ir::successors(block) })
    }

    /// The control flow from some blocks on, by these successors.
    pub fn with(
        starts: &[LLVMBasicBlockRef],
        successors: impl Fn(LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef>,
    ) -> Self {
        let blocks = reverse_post_order(starts, &successors);
        let index: HashMap<_, _> = blocks.iter().enumerate().map(|(i, &block)| (block, i)).collect();
        let successors: Vec<Vec<usize>> =
            blocks.iter().map(|&block| successors(block).iter().map(|next| index[next]).collect()).collect();
        let predecessors = reversed(&successors);
        Self { blocks, index, successors, predecessors }
    }

    /// Whether control can come back to a block.
    pub fn is_in_cycle(&self, block: usize) -> bool {
        let mut seen = HashSet::new();
        let mut pending = self.successors[block].clone();
        while let Some(next) = pending.pop() {
            if next == block {
                return true;
            }
            if seen.insert(next) {
                pending.extend(&self.successors[next]);
            }
        }
        false
    }
}

/// The nodes that are reached from `roots`, in reverse post-order: the first root comes first, and
/// in a graph without cycles each node comes before its successors.
pub fn reverse_post_order<N: Copy + Eq + Hash>(roots: &[N], successors: impl Fn(N) -> Vec<N>) -> Vec<N> {
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for &root in roots.iter().rev() {
        if !seen.insert(root) {
            continue;
        }
        let mut open = vec![(root, successors(root).into_iter())];
        while let Some((node, rest)) = open.last_mut() {
            match rest.next() {
                Some(next) => {
                    if seen.insert(next) {
                        open.push((next, successors(next).into_iter()));
                    }
                }
                None => {
                    order.push(*node);
                    open.pop();
                }
            }
        }
    }
    order.reverse();
    order
}

/// The predecessors of each node, given the successors, or the other way round.
pub fn reversed(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, all) in successors.iter().enumerate() {
        for &to in all {
            predecessors[to].push(from);
        }
    }
    predecessors
}

/// The immediate dominator of each node of a graph in reverse post-order (Cooper, Harvey and
/// Kennedy, "A Simple, Fast Dominance Algorithm"). The first node's is itself; a node that the
/// first one does not reach has `usize::MAX`.
pub fn dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut idom = vec![usize::MAX; predecessors.len()];
    idom[0] = 0;
    loop {
        let mut changed = false;
        for node in 1..predecessors.len() {
            let known = predecessors[node].iter().copied().filter(|&p| idom[p] != usize::MAX);
            let new = known.reduce(|a, b| common_dominator(&idom, a, b)).unwrap_or(usize::MAX);
            changed |= new != idom[node];
            idom[node] = new;
        }
        if !changed {
            return idom;
        }
    }
}

fn common_dominator(idom: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = idom[a];
        } else {
            b = idom[b];
        }
    }
    a
}

/// The immediate postdominator of each node; the number of nodes stands for the end of the
/// function, to which the nodes for which `ends` holds lead. `None` for a node from which no way
/// leads to the end. Such nodes do not count as ways from others.
pub fn postdominators(successors: &[Vec<usize>], ends: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let end = successors.len();
    let mut ways = successors.to_vec();
    (0..end).filter(|&node| ends(node)).for_each(|node| ways[node].push(end));
    ways.push(Vec::new());
    let backwards = reversed(&ways);
    let order = reverse_post_order(&[end], |node| backwards[node].clone());
    let mut rank = vec![usize::MAX; end + 1];
    order.iter().enumerate().for_each(|(i, &node)| rank[node] = i);
    let next: Vec<Vec<usize>> = order
        .iter()
        .map(|&node| ways[node].iter().map(|&n| rank[n]).filter(|&n| n != usize::MAX).collect())
        .collect();
    let idom = dominators(&next);
    (0..end).map(|node| (rank[node] != usize::MAX).then(|| order[idom[rank[node]]])).collect()
}

/// Whether every way from a node ends the launch. A loop without an exit counts as such: nothing
/// comes after it. `leaves` says which nodes end the thread or the function without ending the
/// launch.
pub fn dying(predecessors: &[Vec<usize>], leaves: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut dies = vec![true; predecessors.len()];
    let mut pending: Vec<_> = (0..predecessors.len()).filter(|&node| leaves(node)).collect();
    while let Some(node) = pending.pop() {
        if std::mem::replace(&mut dies[node], false) {
            pending.extend(&predecessors[node]);
        }
    }
    dies
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 branches to 1 and 2, which meet in 3; 3 goes back to 1 or on to 4.
    fn graph() -> Vec<Vec<usize>> {
        vec![vec![1, 2], vec![3], vec![3], vec![1, 4], vec![]]
    }

    #[test]
    fn dominators_are_the_nearest_nodes_on_all_ways() {
        assert_eq!(dominators(&reversed(&graph())), [0, 0, 0, 0, 3]);
    }

    #[test]
    fn ways_that_never_end_count_for_no_postdominator() {
        assert_eq!(postdominators(&graph(), |node| node == 4), [Some(3), Some(3), Some(3), Some(4), Some(5)]);
        // 1 loops for ever: the way through 2 decides.
        let endless = vec![vec![1, 2], vec![1], vec![3], vec![]];
        assert_eq!(postdominators(&endless, |node| node == 3), [Some(2), None, Some(3), Some(4)]);
    }
}
