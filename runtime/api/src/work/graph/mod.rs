//! CUDA graphs: operations that are described once and launched often.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | graphs and their nodes, by handle |
//! | [`work`] | the operation of a node |
//! | [`nodes`] | nodes as the program describes them |
//! | [`capture`] | graphs that are made from operations on streams |
//! | [`exec`] | instantiated graphs, and how they are launched |
//! | [`points`] | the order of their nodes on a device |
//!
//! Only the edges of a graph order its nodes. Nodes that no path joins may overlap, and may race
//! like launches on two streams.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;

use crate::host::errors::{Error, Result};

pub mod capture;
pub mod exec;
pub mod nodes;
pub mod points;
pub mod work;

use work::Work;

/// Opaque handle of a graph.
pub type GraphHandle = *mut c_void;
/// Opaque handle of a node.
pub type NodeHandle = *mut c_void;
/// Opaque handle of an instantiated graph.
pub type ExecHandle = *mut c_void;

/// Number of a graph or node, which is its handle.
pub type Id = usize;

/// A node of a graph.
#[derive(Clone)]
pub struct Node {
    /// Its handle.
    pub id: Id,
    /// Its operation.
    pub work: Work,
    /// The nodes that it runs after, in the order in which they were added.
    pub after: Vec<Id>,
    /// The node that it was cloned from.
    pub original: Option<Id>,
}

/// A graph: its nodes in the order in which they were added.
#[derive(Clone, Default)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl Graph {
    fn has(&self, id: Id) -> bool {
        self.nodes.iter().any(|node| node.id == id)
    }

    /// The node with this handle.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the graph has none.
    pub fn node(&mut self, id: Id) -> Result<&mut Node> {
        self.nodes.iter_mut().find(|node| node.id == id).ok_or(Error::INVALID_VALUE)
    }

    /// Adds a node after others.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if one of those is not in this graph, or is listed twice.
    pub fn add(&mut self, id: Id, work: Work, after: &[Id]) -> Result {
        let distinct: HashSet<_> = after.iter().collect();
        if distinct.len() != after.len() || !after.iter().all(|&id| self.has(id)) {
            return Err(Error::INVALID_VALUE);
        }
        self.nodes.push(Node { id, work, after: after.to_vec(), original: None });
        Ok(())
    }

    /// Indices of the nodes, each after those that it depends on. If the edges leave an order open,
    /// it is the order in which the nodes were added.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the edges form a cycle.
    pub fn sorted(&self) -> Result<Vec<usize>> {
        let index: HashMap<Id, usize> = self.nodes.iter().enumerate().map(|(i, n)| (n.id, i)).collect();
        let mut done = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(done.len());
        while order.len() < done.len() {
            let before = order.len();
            for (i, node) in self.nodes.iter().enumerate() {
                if !done[i] && node.after.iter().all(|id| done[index[id]]) {
                    done[i] = true;
                    order.push(i);
                }
            }
            if order.len() == before {
                return Err(Error::INVALID_VALUE);
            }
        }
        Ok(order)
    }

    /// The nodes `ids`, and all nodes that one of them runs after.
    pub fn ancestors(&self, ids: &[Id]) -> HashSet<Id> {
        let mut found = HashSet::new();
        let mut pending = ids.to_vec();
        while let Some(id) = pending.pop() {
            if found.insert(id)
                && let Some(node) = self.nodes.iter().find(|node| node.id == id)
            {
                pending.extend(&node.after);
            }
        }
        found
    }
}

/// All graphs, nodes and instantiated graphs.
#[derive(Default)]
pub struct Graphs {
    graphs: HashMap<Id, Graph>,
    /// The graph of each node.
    owners: HashMap<Id, Id>,
    execs: HashMap<Id, exec::Exec>,
    /// Number of handles that were given.
    given: Id,
}

/// Handles look like pointers. They lie above this one.
const FIRST_HANDLE: Id = 0x7100_0000;

impl Graphs {
    /// Returns a new handle.
    pub fn number(&mut self) -> Id {
        self.given += 1;
        FIRST_HANDLE + self.given * 16
    }

    /// Adds a graph. Returns its handle.
    pub fn make(&mut self, graph: Graph) -> Id {
        let id = self.number();
        for node in &graph.nodes {
            self.owners.insert(node.id, id);
        }
        self.graphs.insert(id, graph);
        id
    }

    /// The graph of a handle.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn graph(&mut self, id: Id) -> Result<&mut Graph> {
        self.graphs.get_mut(&id).ok_or(Error::INVALID_VALUE)
    }

    /// The graph that contains a node.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the handle is no node.
    pub fn graph_of(&mut self, node: Id) -> Result<&mut Graph> {
        let owner = *self.owners.get(&node).ok_or(Error::INVALID_VALUE)?;
        self.graph(owner)
    }

    /// The node of a handle.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn node(&mut self, id: Id) -> Result<&mut Node> {
        self.graph_of(id)?.node(id)
    }

    /// Adds a node to a graph. Returns its handle.
    ///
    /// # Errors
    /// As [`Graph::add`].
    pub fn add(&mut self, graph: Id, work: Work, after: &[Id]) -> Result<Id> {
        let id = self.number();
        self.graph(graph)?.add(id, work, after)?;
        self.owners.insert(id, graph);
        Ok(id)
    }

    /// Copies a graph. The copy has nodes of its own.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is no such graph.
    pub fn copy(&mut self, graph: Id) -> Result<Graph> {
        let mut copy = self.graph(graph)?.clone();
        let ids: HashMap<Id, Id> =
            copy.nodes.iter().map(|node| node.id).map(|id| (id, self.number())).collect();
        for node in &mut copy.nodes {
            node.original = Some(node.id);
            node.id = ids[&node.id];
            for id in &mut node.after {
                *id = ids[id];
            }
        }
        Ok(copy)
    }

    /// The instantiated graph of a handle.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn exec(&mut self, id: Id) -> Result<&mut exec::Exec> {
        self.execs.get_mut(&id).ok_or(Error::INVALID_VALUE)
    }

    /// Removes an instantiated graph.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn remove_exec(&mut self, id: Id) -> Result<exec::Exec> {
        self.execs.remove(&id).ok_or(Error::INVALID_VALUE)
    }

    /// Forgets the graph of a node that was destroyed.
    pub fn forget_node(&mut self, node: Id) {
        self.owners.remove(&node);
    }

    /// Removes a graph.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if there is none.
    pub fn remove(&mut self, graph: Id) -> Result<Graph> {
        let graph = self.graphs.remove(&graph).ok_or(Error::INVALID_VALUE)?;
        for node in &graph.nodes {
            self.owners.remove(&node.id);
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(Id, &[Id])]) -> Graph {
        let nodes = edges.iter().map(|&(id, after)| Node {
            id,
            work: Work::Empty,
            after: after.to_vec(),
            original: None,
        });
        Graph { nodes: nodes.collect() }
    }

    #[test]
    fn nodes_are_sorted_by_their_edges() {
        let sorted = |g: &Graph| g.sorted().ok();
        assert_eq!(sorted(&graph(&[(1, &[]), (2, &[1]), (3, &[])])), Some(vec![0, 1, 2]));
        assert_eq!(sorted(&graph(&[(1, &[3]), (2, &[1]), (3, &[])])), Some(vec![2, 0, 1]));
        assert_eq!(sorted(&graph(&[(1, &[2]), (2, &[1])])), None);
    }

    #[test]
    fn ancestors_are_what_edges_lead_back_to() {
        let g = graph(&[(1, &[]), (2, &[1]), (3, &[1]), (4, &[2])]);
        assert_eq!(g.ancestors(&[4]), HashSet::from([1, 2, 4]));
    }

    #[test]
    fn a_node_runs_after_nodes_of_its_own_graph() {
        let mut g = graph(&[(1, &[])]);
        assert!(g.add(2, Work::Empty, &[1]).is_ok());
        assert_eq!(g.add(3, Work::Empty, &[9]), Err(Error::INVALID_VALUE));
        assert_eq!(g.add(3, Work::Empty, &[1, 1]), Err(Error::INVALID_VALUE));
    }
}
