//! Instantiated graphs, and how they are launched.
//!
//! The nodes are laid out in chains. While the graph runs, each chain is a stream: the first one is
//! the stream of the launch, another one exists from when its first node may run to when its last
//! one is over. So the checker sees no more order than the edges make. A graph with one chain costs
//! as much as its operations.

use std::collections::HashMap;

use crate::host::edge::put;
use crate::host::errors::{Error, Result};
use crate::host::types::cudaStream_t;
use crate::order::{Clock, StreamId};
use crate::work::graph::points::{self, GraphPoint, GraphPoints};
use crate::work::graph::work::Work;
use crate::work::graph::{ExecHandle, Graph, GraphHandle, Graphs, Id, NodeHandle, capture};
use crate::work::{Process, streams};

/// A node of an instantiated graph.
#[derive(Clone)]
pub struct GraphStep {
    /// Its work.
    pub work: Work,
    /// Steps that it runs after.
    after: Vec<usize>,
    /// Its chain.
    chain: usize,
    /// The program has switched it off.
    pub disabled: bool,
}

/// An instantiated graph.
#[derive(Clone, Default)]
pub struct Exec {
    /// The steps, each after those that it depends on.
    steps: Vec<GraphStep>,
    /// The step of each of the graph's own nodes. Nodes of child graphs are not listed.
    nodes: HashMap<Id, usize>,
    /// The handles of the graph's nodes, in the order of their steps.
    order: Vec<Id>,
    /// First and last step of each chain.
    chains: Vec<(usize, usize)>,
    /// The streams of the chains, once the graph was launched. The first chain has no stream of its
    /// own.
    streams: Vec<Option<StreamId>>,
    /// The clock at the end of the last launch.
    last: Clock,
    /// The points by which the backend orders the chains.
    points: GraphPoints,
    /// The flags of its instantiation.
    pub flags: u64,
}

/// Adds the nodes of `graph` after the steps `roots`. Returns the steps that no other follows.
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
    exec.steps.push(GraphStep { work, after, chain: 0, disabled: false });
    exec.steps.len() - 1
}

/// Lays the steps out in chains: a step continues the chain of one that it runs after, if no other
/// step continues it.
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
    /// Instantiates a graph.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the graph cannot be run.
    fn of(graphs: &mut Graphs, graph: Id, flags: u64) -> Result<Self> {
        let graph = graphs.graph(graph)?.clone();
        let mut exec = Self { flags, ..Self::default() };
        flatten(graphs, &graph, &[], &mut exec, true)?;
        lay_out(&mut exec);
        Ok(exec)
    }

    /// The step of a node.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the node is not of this graph.
    pub fn step(&mut self, node: Id) -> Result<&mut GraphStep> {
        let step = *self.nodes.get(&node).ok_or(Error::INVALID_VALUE)?;
        self.steps.get_mut(step).ok_or(Error::INVALID_VALUE)
    }

    /// Gives a node another operation of the same kind.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the node is not of this graph, or of another kind.
    pub fn replace(&mut self, node: Id, work: Work) -> Result {
        let step = self.step(node)?;
        if step.work.number() != work.number() {
            return Err(Error::INVALID_VALUE);
        }
        step.work = work;
        Ok(())
    }

    /// Destroys its streams and events. Submitted work continues.
    pub fn destroy(self, process: &Process) {
        self.points.forget(process, &self.streams);
    }

    /// True if a step of another chain runs after this one.
    fn is_waited_for(&self, step: usize) -> bool {
        let chain = self.steps[step].chain;
        self.chains[chain].1 == step && chain != 0
            || self.steps.iter().any(|other| other.chain != chain && other.after.contains(&step))
    }

    /// Runs the steps. Keeps the streams of the chains, and the clock that the next launch begins
    /// after.
    fn run(&mut self, process: &Process, stream: StreamId) -> Result {
        let (mut known, mut points) = (std::mem::take(&mut self.streams), std::mem::take(&mut self.points));
        known.resize(self.chains.len(), None);
        let ran = GraphRun::begin(self, process, stream, &mut known, &mut points).and_then(GraphRun::run);
        (self.streams, self.points) = (known, points);
        self.last = ran?;
        Ok(())
    }
}

/// A launch of an instantiated graph while it runs.
struct GraphRun<'a> {
    exec: &'a Exec,
    process: &'a Process,
    /// The stream of the launch.
    stream: StreamId,
    /// The streams that the chains had in the last launch, for each chain.
    known: &'a mut [Option<StreamId>],
    points: &'a mut GraphPoints,
    /// The clock at the begin of the launch.
    begin: Clock,
    /// The stream of each chain that has begun.
    streams: Vec<Option<StreamId>>,
    /// The clock at the end of each step that has run.
    clocks: Vec<Option<Clock>>,
}

impl<'a> GraphRun<'a> {
    /// Begins a launch, after the last launch of the graph.
    fn begin(
        exec: &'a Exec,
        process: &'a Process,
        stream: StreamId,
        known: &'a mut [Option<StreamId>],
        points: &'a mut GraphPoints,
    ) -> Result<Self> {
        points.wait(process, stream, GraphPoint::End)?;
        let begin = {
            let mut order = process.order();
            order.wait(stream, &exec.last);
            order.submit(stream)
        };
        if exec.chains.len() > 1 {
            points.reach(process, GraphPoint::Begin, stream)?;
        }
        let mut streams = vec![None; exec.chains.len()];
        if let Some(first) = streams.first_mut() {
            *first = Some(stream);
        }
        let clocks = vec![None; exec.steps.len()];
        Ok(Self { exec, process, stream, known, points, begin, streams, clocks })
    }

    /// Runs the steps. Returns the clock at the end of the launch. After a step that fails, no other step does its
    /// work.
    fn run(mut self) -> Result<Clock> {
        let mut result = Ok(());
        for (index, step) in self.exec.steps.iter().enumerate() {
            self.begin_chains()?;
            let on = self.stream_of(step)?;
            if !step.disabled && result.is_ok() {
                result = step.work.run(self.process, on);
            }
            self.end_step(index, on)?;
        }
        self.join_chains()?;
        result.map(|()| self.process.order().now(self.stream))
    }

    /// Begins the stream of each chain whose first step may run now: that step may overlap everything that runs from
    /// now on.
    fn begin_chains(&mut self) -> Result {
        let (exec, process) = (self.exec, self.process);
        for (chain, &(first, _)) in exec.chains.iter().enumerate() {
            let after = &exec.steps[first].after;
            let is_ready = after.iter().all(|&before| self.clocks[before].is_some());
            if self.streams[chain].is_some() || self.clocks[first].is_some() || !is_ready {
                continue;
            }
            let mut clock = self.begin.clone();
            clock.join(&exec.last);
            for &before in after {
                clock.join(self.end_of(before));
            }
            let id = process.order().open(self.known[chain], clock);
            if self.known[chain].replace(id).is_none() {
                points::make_stream(process, id)?;
            }
            self.points.wait(process, id, GraphPoint::Begin)?;
            self.streams[chain] = Some(id);
        }
        Ok(())
    }

    /// The clock at the end of a step, or at the begin of the launch if the step has not run.
    fn end_of(&self, step: usize) -> &Clock {
        self.clocks[step].as_ref().unwrap_or(&self.begin)
    }

    /// The stream that a step runs on, once it has waited for the steps of other chains that the step runs after.
    fn stream_of(&mut self, step: &GraphStep) -> Result<StreamId> {
        let on = self.streams[step.chain].unwrap_or(self.stream);
        for &before in &step.after {
            if self.exec.steps[before].chain != step.chain {
                self.process.order().wait(on, self.end_of(before));
                self.points.wait(self.process, on, GraphPoint::Step(before))?;
            }
        }
        Ok(on)
    }

    /// Notes that a step is over, and with the last step of a chain the chain.
    fn end_step(&mut self, index: usize, on: StreamId) -> Result {
        if self.exec.is_waited_for(index) {
            self.points.reach(self.process, GraphPoint::Step(index), on)?;
        }
        let chain = self.exec.steps[index].chain;
        let mut order = self.process.order();
        self.clocks[index] = Some(order.now(on));
        if chain != 0 && self.exec.chains[chain].1 == index {
            order.destroy(on);
        }
        Ok(())
    }

    /// Lets the stream of the launch wait for all chains, and ends the launch.
    fn join_chains(&mut self) -> Result {
        for (chain, &(_, last)) in self.exec.chains.iter().enumerate() {
            if let Some(clock) = &self.clocks[last] {
                self.process.order().wait(self.stream, clock);
            }
            if chain != 0 {
                self.points.wait(self.process, self.stream, GraphPoint::Step(last))?;
            }
        }
        self.points.reach(self.process, GraphPoint::End, self.stream)
    }
}

/// Launches a graph on a stream.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is no such graph, and those of its operations.
pub fn launch(process: &Process, exec: ExecHandle, stream: cudaStream_t) -> Result {
    let (stream, id) = (streams::resolve(process, stream)?, exec as Id);
    // A copy runs, without the lock: host functions of the graph may use other graphs.
    let mut exec = process.graphs.lock().execs.get(&id).cloned().ok_or(Error::INVALID_VALUE)?;
    if capture::takes(process, stream) {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    let ran = exec.run(process, stream);
    if let Some(kept) = process.graphs.lock().execs.get_mut(&id) {
        (kept.streams, kept.last, kept.points) = (exec.streams, exec.last, exec.points);
    }
    ran
}

/// Instantiates a graph and writes the handle.
///
/// # Safety
/// `to` is null or valid for a write.
///
/// # Errors
/// `cudaErrorInvalidValue` for a null pointer, or if the graph cannot be run.
pub unsafe fn instantiate(process: &Process, to: *mut ExecHandle, graph: GraphHandle, flags: u64) -> Result {
    let mut graphs = process.graphs.lock();
    let exec = Exec::of(&mut graphs, graph as Id, flags)?;
    let id = graphs.number();
    graphs.execs.insert(id, exec);
    // SAFETY: by contract.
    unsafe { put(to, id as ExecHandle) }
}

/// Gives a node of an instantiated graph another operation of the same kind.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is no such graph, or as [`Exec::replace`].
pub fn replace(process: &Process, exec: ExecHandle, node: NodeHandle, work: Work) -> Result {
    let mut graphs = process.graphs.lock();
    let exec = graphs.exec(exec as Id)?;
    exec.replace(node as Id, work)
}

/// The reason why one instantiated graph cannot become another (`cudaGraphExecUpdateResult`), and
/// the node.
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

/// Gives an instantiated graph the work of another graph of the same structure. Returns the
/// `cudaGraphExecUpdateResult` and the node if the structures differ. Then nothing changes.
///
/// # Errors
/// `cudaErrorInvalidValue` if one of the handles is none.
pub fn update(process: &Process, exec: ExecHandle, graph: GraphHandle) -> Result<Option<(u32, Id)>> {
    let mut graphs = process.graphs.lock();
    let new = Exec::of(&mut graphs, graph as Id, 0)?;
    let old = graphs.exec(exec as Id)?;
    let differs = difference(old, &new);
    if differs.is_none() {
        // Nodes keep their handles. Steps correspond by their position.
        for (step, new) in old.steps.iter_mut().zip(new.steps) {
            step.work = new.work;
        }
    }
    Ok(differs)
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
