//! Instantiated graphs, and how they are launched.
//!
//! The nodes are laid out in chains, each of which is a stream while the graph
//! runs: the first chain is the stream that the graph was launched on, the others
//! are there from when their first node may run to when their last one is over.
//! So what the edges leave open is open to the checker too, and a graph that is
//! one chain costs what its operations cost.

use std::collections::HashMap;

use crate::edge::{api, get, put};
use crate::errors::{Error, Result};
use crate::graph::points::{self, Point, Points};
use crate::graph::work::Work;
use crate::graph::{self, ExecHandle, Graph, GraphHandle, Graphs, Id, NodeHandle, capture};
use crate::order::{Clock, ORDER, StreamId};
use crate::stream;
use crate::types::{cudaGraphExecUpdateResultInfo, cudaStream_t};

/// A node of an instantiated graph.
#[derive(Clone)]
struct Step {
    work: Work,
    /// Steps that it runs after.
    after: Vec<usize>,
    /// Which chain it is of.
    chain: usize,
    disabled: bool,
}

/// An instantiated graph.
#[derive(Clone, Default)]
pub struct Exec {
    /// Each after those that it depends on.
    steps: Vec<Step>,
    /// The steps of the graph's own nodes; those of graphs within it have none.
    nodes: HashMap<Id, usize>,
    /// The graph's handle of its nodes, in the order of the steps of an update.
    order: Vec<Id>,
    /// First step and last step of each chain.
    chains: Vec<(usize, usize)>,
    /// The streams of the chains, once it was launched; the first has none of its own.
    streams: Vec<Option<StreamId>>,
    /// What the last launch was after, itself included.
    last: Clock,
    /// Where the backend orders the chains.
    points: Points,
    flags: u64,
}

/// Adds the nodes of `graph` after `roots`; gives the steps that nothing follows.
fn flatten(
    graphs: &mut Graphs,
    graph: &Graph,
    roots: &[usize],
    exec: &mut Exec,
    outermost: bool,
) -> Result<Vec<usize>> {
    let mut steps: HashMap<Id, Vec<usize>> = HashMap::new();
    let mut last: Vec<usize> = Vec::new();
    for index in graph.sorted()? {
        let node = &graph.nodes[index];
        let mut after: Vec<usize> = node.after.iter().flat_map(|id| steps[id].clone()).collect();
        if node.after.is_empty() {
            after.extend(roots);
        }
        after.sort_unstable();
        after.dedup();
        let ends = match &node.work {
            Work::Child(child) => {
                let child = graphs.graph(*child)?.clone();
                let entry = push(exec, Work::Empty, after);
                let ends = flatten(graphs, &child, &[entry], exec, false)?;
                if ends.is_empty() { vec![entry] } else { ends }
            }
            work => vec![push(exec, work.clone(), after)],
        };
        if outermost {
            exec.nodes.insert(node.id, ends[0]);
            exec.order.push(node.id);
        }
        steps.insert(node.id, ends);
    }
    for node in &graph.nodes {
        let followed = graph.nodes.iter().any(|other| other.after.contains(&node.id));
        if !followed {
            last.extend(&steps[&node.id]);
        }
    }
    Ok(last)
}

fn push(exec: &mut Exec, work: Work, after: Vec<usize>) -> usize {
    exec.steps.push(Step { work, after, chain: 0, disabled: false });
    exec.steps.len() - 1
}

/// Lays the steps out in chains: a step goes on with the chain of one that it
/// runs after, if nothing has gone on with that.
fn lay_out(exec: &mut Exec) {
    for index in 0..exec.steps.len() {
        let free = exec.steps[index].after.iter().find_map(|&before| {
            let chain = exec.steps[before].chain;
            (exec.chains[chain].1 == before).then_some(chain)
        });
        let chain = free.unwrap_or_else(|| {
            exec.chains.push((index, index));
            exec.chains.len() - 1
        });
        exec.chains[chain].1 = index;
        exec.steps[index].chain = chain;
    }
}

impl Exec {
    /// # Errors
    /// `cudaErrorInvalidValue` where the graph cannot be run.
    fn of(graphs: &mut Graphs, graph: Id, flags: u64) -> Result<Self> {
        let graph = graphs.graph(graph)?.clone();
        let mut exec = Self { flags, ..Self::default() };
        flatten(graphs, &graph, &[], &mut exec, true)?;
        lay_out(&mut exec);
        Ok(exec)
    }

    fn step(&mut self, node: Id) -> Result<&mut Step> {
        let step = *self.nodes.get(&node).ok_or(Error::INVALID_VALUE)?;
        self.steps.get_mut(step).ok_or(Error::INVALID_VALUE)
    }

    /// Gives a node other work of the same kind.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the node is none of it, or of another kind.
    pub fn replace(&mut self, node: Id, work: Work) -> Result {
        let step = self.step(node)?;
        if step.work.number() != work.number() {
            return Err(Error::INVALID_VALUE);
        }
        step.work = work;
        Ok(())
    }

    /// Whether a step of another chain runs after this one.
    fn is_waited_for(&self, step: usize) -> bool {
        let chain = self.steps[step].chain;
        self.chains[chain].1 == step && chain != 0
            || self.steps.iter().any(|other| other.chain != chain && other.after.contains(&step))
    }

    /// Runs the steps on `stream` and those of the other chains; keeps these, and what the next launch comes after.
    fn run(&mut self, stream: StreamId) -> Result {
        let (mut streams, mut points) = (std::mem::take(&mut self.streams), std::mem::take(&mut self.points));
        let ran = self.run_steps(stream, &mut streams, &mut points);
        (self.streams, self.points) = (streams, points);
        self.last = ran?;
        Ok(())
    }

    /// Runs the steps; `known`: the streams of the chains. Gives the order that the launch ends with.
    fn run_steps(
        &self,
        stream: StreamId,
        known: &mut Vec<Option<StreamId>>,
        points: &mut Points,
    ) -> Result<Clock> {
        // One launch of a graph begins after the last.
        points.wait(stream, Point::End)?;
        known.resize(self.chains.len(), None);
        let mut streams = vec![None; self.chains.len()];
        let begin = {
            let mut order = ORDER.lock();
            order.wait(stream, &self.last);
            order.submit(stream)
        };
        if let Some(first) = streams.first_mut() {
            *first = Some(stream);
        }
        if self.chains.len() > 1 {
            points.reach(Point::Begin, stream)?;
        }
        let mut clocks: Vec<Option<Clock>> = vec![None; self.steps.len()];
        let mut result = Ok(());
        for (index, step) in self.steps.iter().enumerate() {
            // A chain is there as soon as its first step may run, so that what runs
            // meanwhile counts as beside it.
            for (chain, &(first, _)) in self.chains.iter().enumerate() {
                let ready = self.steps[first].after.iter().all(|&before| clocks[before].is_some());
                if streams[chain].is_none() && clocks[first].is_none() && ready {
                    let mut clock = begin.clone();
                    clock.join(&self.last);
                    for &before in &self.steps[first].after {
                        clock.join(clocks[before].as_ref().unwrap_or(&begin));
                    }
                    let id = ORDER.lock().open(known[chain], clock);
                    if known[chain].replace(id).is_none() {
                        points::make_stream(id)?;
                    }
                    points.wait(id, Point::Begin)?;
                    streams[chain] = Some(id);
                }
            }
            let on = streams[step.chain].unwrap_or(stream);
            for &before in step.after.iter().filter(|&&before| self.steps[before].chain != step.chain) {
                ORDER.lock().wait(on, clocks[before].as_ref().unwrap_or(&begin));
                points.wait(on, Point::Step(before))?;
            }
            if !step.disabled && result.is_ok() {
                result = step.work.run(on);
            }
            if self.is_waited_for(index) {
                points.reach(Point::Step(index), on)?;
            }
            let mut order = ORDER.lock();
            clocks[index] = Some(order.now(on));
            if step.chain != 0 && self.chains[step.chain].1 == index {
                order.destroy(on);
            }
        }
        for (chain, &(_, last)) in self.chains.iter().enumerate() {
            if let Some(clock) = &clocks[last] {
                ORDER.lock().wait(stream, clock);
            }
            if chain != 0 {
                points.wait(stream, Point::Step(last))?;
            }
        }
        points.reach(Point::End, stream)?;
        result.map(|()| ORDER.lock().now(stream))
    }
}

fn launch(exec: ExecHandle, stream: cudaStream_t) -> Result {
    let (stream, id) = (stream::resolve(stream)?, exec as Id);
    // A copy: host functions of the graph may use other graphs.
    let mut exec = graph::all().execs.get(&id).cloned().ok_or(Error::INVALID_VALUE)?;
    if capture::takes(stream) {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    let ran = exec.run(stream);
    if let Some(kept) = graph::all().execs.get_mut(&id) {
        (kept.streams, kept.last, kept.points) = (exec.streams, exec.last, exec.points);
    }
    ran
}

fn instantiate(to: *mut ExecHandle, graph: GraphHandle, flags: u64) -> Result {
    let mut graphs = graph::all();
    let exec = Exec::of(&mut graphs, graph as Id, flags)?;
    let id = graphs.number();
    graphs.execs.insert(id, exec);
    // SAFETY: null or valid, as the caller of the API vouches.
    unsafe { put(to, id as ExecHandle) }
}

/// Changes the work of a node of an instantiated graph.
///
/// # Errors
/// `cudaErrorInvalidValue` where there is no such graph, or as [`Exec::replace`].
pub fn replace(exec: ExecHandle, node: NodeHandle, work: Work) -> Result {
    let mut graphs = graph::all();
    let exec = graphs.execs.get_mut(&(exec as Id)).ok_or(Error::INVALID_VALUE)?;
    exec.replace(node as Id, work)
}

/// Why one instantiated graph cannot become another: `cudaGraphExecUpdateResult`.
fn difference(old: &Exec, new: &Exec) -> Option<(u32, Id)> {
    const TOPOLOGY: u32 = 2;
    const KIND: u32 = 3;
    if old.steps.len() != new.steps.len() || old.order.len() != new.order.len() {
        return Some((TOPOLOGY, 0));
    }
    for (index, (a, b)) in old.steps.iter().zip(&new.steps).enumerate() {
        let node = new.nodes.iter().find(|&(_, &step)| step == index).map_or(0, |(&id, _)| id);
        if a.after != b.after {
            return Some((TOPOLOGY, node));
        }
        if a.work.number() != b.work.number() {
            return Some((KIND, node));
        }
    }
    None
}

api! {
    fn cudaGraphInstantiate(to: *mut ExecHandle, graph: GraphHandle, flags: u64) { instantiate(to, graph, flags) }

    fn cudaGraphInstantiateWithFlags(to: *mut ExecHandle, graph: GraphHandle, flags: u64) { instantiate(to, graph, flags) }

    fn cudaGraphExecGetFlags(exec: ExecHandle, flags: *mut u64) {
        let found = graph::all().execs.get(&(exec as Id)).map(|exec| exec.flags);
        put(flags, found.ok_or(Error::INVALID_VALUE)?)
    }

    @ptsz fn cudaGraphUpload(exec: ExecHandle, stream: cudaStream_t) {
        stream::resolve(stream)?;
        let there = graph::all().execs.contains_key(&(exec as Id));
        if there { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    @ptsz fn cudaGraphLaunch(exec: ExecHandle, stream: cudaStream_t) { launch(exec, stream) }

    fn cudaGraphExecDestroy(exec: ExecHandle) {
        let removed = graph::all().execs.remove(&(exec as Id)).ok_or(Error::INVALID_VALUE)?;
        removed.points.forget(&removed.streams);
        Ok(())
    }

    fn cudaGraphExecUpdate(exec: ExecHandle, graph: GraphHandle, info: *mut cudaGraphExecUpdateResultInfo) {
        let mut graphs = graph::all();
        let mut new = Exec::of(&mut graphs, graph as Id, 0)?;
        let old = graphs.execs.get_mut(&(exec as Id)).ok_or(Error::INVALID_VALUE)?;
        let differs = difference(old, &new);
        let (result, node) = differs.unwrap_or_default();
        let told = cudaGraphExecUpdateResultInfo {
            result,
            errorNode: node as NodeHandle,
            errorFromNode: std::ptr::null_mut(),
        };
        if !info.is_null() {
            put(info, told)?;
        }
        if differs.is_some() {
            return Err(Error::GRAPH_EXEC_UPDATE_FAILURE);
        }
        // Nodes keep the handles that they had; steps go by their place.
        for (step, new) in old.steps.iter_mut().zip(new.steps.drain(..)) {
            step.work = new.work;
        }
        Ok(())
    }

    fn cudaGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) {
        let mut graphs = graph::all();
        let exec = graphs.execs.get_mut(&(exec as Id)).ok_or(Error::INVALID_VALUE)?;
        let step = exec.step(node as Id)?;
        // Kernels, copies and fills alone can be left out.
        if step.work.number() > 2 {
            return Err(Error::INVALID_VALUE);
        }
        step.disabled = enabled == 0;
        Ok(())
    }

    fn cudaGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: *mut u32) {
        let mut graphs = graph::all();
        let exec = graphs.execs.get_mut(&(exec as Id)).ok_or(Error::INVALID_VALUE)?;
        put(enabled, u32::from(!exec.step(node as Id)?.disabled))
    }

    fn cudaGraphExecKernelNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const crate::types::cudaKernelNodeParams) {
        replace(exec, node, super::nodes::kernel(get(p)?)?)
    }

    fn cudaGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const crate::types::cudaMemsetParams) {
        replace(exec, node, super::nodes::fill(get(p)?)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const crate::types::cudaMemcpy3DParms) {
        replace(exec, node, super::nodes::copy(get(p)?)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(exec: ExecHandle, node: NodeHandle, to: *mut std::ffi::c_void, from: *const std::ffi::c_void, count: usize, kind: u32) {
        replace(exec, node, super::nodes::copy_1d(to, from, count, kind)?)
    }

    fn cudaGraphExecHostNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const crate::types::cudaHostNodeParams) {
        replace(exec, node, super::nodes::host(get(p)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chains(edges: &[&[usize]]) -> Vec<usize> {
        let mut exec = Exec::default();
        for after in edges {
            push(&mut exec, Work::Empty, after.to_vec());
        }
        lay_out(&mut exec);
        exec.steps.iter().map(|step| step.chain).collect()
    }

    #[test]
    fn steps_that_follow_each_other_are_one_chain() {
        assert_eq!(chains(&[&[], &[0], &[1]]), [0, 0, 0]);
        assert_eq!(chains(&[&[], &[0], &[0], &[1, 2]]), [0, 0, 1, 0]);
        assert_eq!(chains(&[&[], &[], &[0, 1], &[1]]), [0, 1, 0, 1]);
    }
}
