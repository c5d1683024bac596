//! Loops of a control-flow graph, nested.
//!
//! A loop is a strongly connected set of nodes; the loops in it are those that are left without the
//! nodes by which control enters it. Where control enters each loop by one node, its header, these
//! are the natural loops. A graph in which it enters one by several is irreducible.

use super::control_flow::{ControlFlow, reversed};

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The nodes by which control enters it, in ascending order: its header alone, unless the loop
    /// is irreducible.
    pub entries: Vec<usize>,
    /// Its nodes, in ascending order.
    pub nodes: Vec<usize>,
    /// The loop around it.
    pub parent: Option<usize>,
}

/// The loops of a graph.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    /// The loops, each before those in it, in the order of their first entries.
    pub loops: Vec<Loop>,
    /// The innermost loop around each node.
    pub innermost: Vec<Option<usize>>,
}

/// An edge back to a node that dominates it.
#[derive(Clone, Debug)]
pub struct BackEdge {
    /// Where it leaves.
    pub latch: usize,
    /// Where it leads.
    pub header: usize,
    /// The nodes on the ways from the header to the latch.
    pub nodes: Vec<usize>,
}

impl Loop {
    /// The one node by which control enters the loop, if there is one.
    pub fn header(&self) -> Option<usize> {
        match self.entries[..] {
            [header] => Some(header),
            _ => None,
        }
    }
}

impl Loops {
    /// Finds the loops of a graph whose nodes are in reverse post-order.
    pub fn of(successors: &[Vec<usize>]) -> Self {
        let predecessors = reversed(successors);
        let mut loops: Vec<Loop> = Vec::new();
        let all: Vec<usize> = (0..successors.len()).collect();
        let mut pending = vec![(None, all)];
        while let Some((parent, nodes)) = pending.pop() {
            for nodes in cycles(&nodes, successors) {
                let is_entry =
                    |node: &usize| predecessors[*node].iter().any(|p| nodes.binary_search(p).is_err());
                let entries: Vec<usize> = nodes.iter().copied().filter(is_entry).collect();
                let rest = nodes.iter().copied().filter(|node| !entries.contains(node)).collect();
                pending.push((Some(loops.len()), rest));
                loops.push(Loop { entries, nodes, parent });
            }
        }
        // By their first entries. An entry is before all other nodes of its loop.
        let mut order: Vec<usize> = (0..loops.len()).collect();
        order.sort_by_key(|&l| loops[l].entries[0]);
        let mut place = vec![0; loops.len()];
        order.iter().enumerate().for_each(|(i, &l)| place[l] = i);
        let loops: Vec<Loop> = order
            .iter()
            .map(|&l| Loop { parent: loops[l].parent.map(|parent| place[parent]), ..loops[l].clone() })
            .collect();
        let mut innermost = vec![None; successors.len()];
        for (l, of) in loops.iter().enumerate() {
            of.nodes.iter().for_each(|&node| innermost[node] = Some(l));
        }
        Self { loops, innermost }
    }

    /// Whether control enters a loop by several nodes.
    pub fn are_irreducible(&self) -> bool {
        self.loops.iter().any(|of| of.header().is_none())
    }

    /// The edges back to nodes that dominate them, by the nodes that they leave. `flow` is the
    /// graph of these loops.
    pub fn back_edges(&self, flow: &ControlFlow) -> Vec<BackEdge> {
        let mut found = Vec::new();
        for of in &self.loops {
            for &header in &of.entries {
                let latches = flow.predecessors[header].iter().filter(|p| of.nodes.binary_search(p).is_ok());
                for &latch in latches {
                    let nodes = nodes_between(header, latch, &flow.predecessors);
                    if of.entries.iter().all(|entry| *entry == header || !nodes.contains(entry)) {
                        found.push(BackEdge { latch, header, nodes });
                    }
                }
            }
        }
        found.sort_by_key(|edge| edge.latch);
        found
    }
}

/// The nodes that lead to `latch` without `header` between, and both.
fn nodes_between(header: usize, latch: usize, predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut nodes = vec![header];
    let mut pending = vec![latch];
    while let Some(node) = pending.pop() {
        if !nodes.contains(&node) {
            nodes.push(node);
            pending.extend(&predecessors[node]);
        }
    }
    nodes
}

/// The strongly connected components of some of a graph's nodes (Tarjan, 1972) that hold a cycle;
/// the nodes of each in ascending order.
fn cycles(nodes: &[usize], successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut is_asked = vec![false; successors.len()];
    nodes.iter().for_each(|&node| is_asked[node] = true);
    let (mut number, mut lowest) = (vec![UNSEEN; successors.len()], vec![UNSEEN; successors.len()]);
    let (mut stack, mut is_on_stack) = (Vec::new(), vec![false; successors.len()]);
    let (mut count, mut found) = (0, Vec::new());
    for &root in nodes {
        if number[root] != UNSEEN {
            continue;
        }
        let mut open = vec![(root, 0)];
        while let Some((node, way)) = open.pop() {
            if way == 0 {
                (number[node], lowest[node]) = (count, count);
                count += 1;
                stack.push(node);
                is_on_stack[node] = true;
            } else {
                let seen = successors[node][way - 1];
                if is_on_stack[seen] {
                    lowest[node] = lowest[node].min(lowest[seen]);
                }
            }
            if let Some(&next) = successors[node].get(way) {
                open.push((node, way + 1));
                if is_asked[next] && number[next] == UNSEEN {
                    open.push((next, 0));
                }
            } else if lowest[node] == number[node] {
                let first = stack.iter().rposition(|&n| n == node).unwrap_or(0);
                let mut component = stack.split_off(first);
                component.iter().for_each(|&n| is_on_stack[n] = false);
                if component.len() > 1 || successors[node].contains(&node) {
                    component.sort_unstable();
                    found.push(component);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries, nodes and parent of each loop.
    fn loops(successors: &[&[usize]]) -> Vec<(Vec<usize>, Vec<usize>, Option<usize>)> {
        let successors: Vec<Vec<usize>> = successors.iter().map(|all| all.to_vec()).collect();
        let loops = Loops::of(&successors).loops;
        loops.into_iter().map(|of| (of.entries, of.nodes, of.parent)).collect()
    }

    #[test]
    fn loops_are_nested() {
        // 1 and 4 around 2 and 3; 5 by itself.
        let found = loops(&[&[1], &[2], &[3], &[2, 4], &[1, 5], &[5, 6], &[]]);
        let expected =
            [(vec![1], vec![1, 2, 3, 4], None), (vec![2], vec![2, 3], Some(0)), (vec![5], vec![5], None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_cycle_with_two_entries_is_irreducible() {
        let successors = [vec![1, 2], vec![2], vec![1, 3], vec![]];
        let found = Loops::of(&successors);
        assert!(found.are_irreducible());
        assert_eq!(found.loops[0].entries, [1, 2]);
        assert!(!Loops::of(&[vec![1], vec![1, 2], vec![]]).are_irreducible());
    }
}
