//! Functions whose parameters CUDA 13 changed under their old names. CUDA 12 has the new parameters under
//! names with a version.
//!
//! The toolkit that the program was compiled with says which parameters a call has. All of them are numbers
//! and pointers, so the caller of a shorter form leaves the last ones undefined, and nobody reads these.
//!
//! Edges of graphs have data since CUDA 12.3: all zero for what is supported here.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use crate::calls::export::api;
use crate::host::device_properties::{cudaDeviceProp, cudaDeviceProp13};
use crate::host::edge::{get, put, put_if_asked};
use crate::host::errors::{Error, Result};
use crate::host::types::{cudaGraphEdgeData, cudaMemLocation, cudaStream_t};
use crate::work::devices;
use crate::work::graph::Graph;
use crate::work::graph::capture::info;
use crate::work::graph::nodes::{give, handles};
use crate::work::graph::{GraphHandle, Id, NodeHandle};
use crate::work::pointers::{INVALID_DEVICE, check_device_range, check_location};
use crate::work::{Process, streams};

api! { process;
    fn cudaGetDeviceProperties(prop: *mut cudaDeviceProp13, device: c_int) {
        devices::check(device)?;
        put(prop, process.backend().properties().into())
    }

    fn cudaGetDeviceProperties_v2(prop: *mut cudaDeviceProp, device: c_int) {
        devices::check(device)?;
        put(prop, process.backend().properties())
    }

    @ptsz fn cudaMemPrefetchAsync(
        pointer: *const c_void,
        count: usize,
        to: cudaMemLocation,
        flags_or_stream: usize,
        stream: cudaStream_t,
    ) {
        if process.is_before_cuda_13() {
            check_location(to.kind as c_int)?;
            prefetch(process, pointer, count, flags_or_stream as cudaStream_t)
        } else {
            check_place(to)?;
            prefetch(process, pointer, count, stream)
        }
    }

    @ptsz fn cudaMemPrefetchAsync_v2(
        pointer: *const c_void,
        count: usize,
        to: cudaMemLocation,
        _flags: u32,
        stream: cudaStream_t,
    ) {
        check_place(to)?;
        prefetch(process, pointer, count, stream)
    }

    fn cudaMemAdvise(pointer: *const c_void, count: usize, advice: u32, to: cudaMemLocation) {
        check_advice(advice)?;
        // The read-mostly advice (1, 2) takes no location.
        if advice > 2 && !process.is_before_cuda_13() {
            check_place(to)?;
        } else if advice > 2 && to.kind as c_int != INVALID_DEVICE {
            check_location(to.kind as c_int)?;
        }
        check_device_range(process, pointer, count)
    }

    fn cudaMemAdvise_v2(pointer: *const c_void, count: usize, advice: u32, to: cudaMemLocation) {
        check_advice(advice)?;
        if advice > 2 {
            check_place(to)?;
        }
        check_device_range(process, pointer, count)
    }

    @ptsz fn cudaStreamGetCaptureInfo(
        stream: cudaStream_t,
        status: *mut u32,
        id: *mut u64,
        graph: *mut GraphHandle,
        dependencies: *mut *const Id,
        data: *mut *const cudaGraphEdgeData,
        count: *mut usize,
    ) {
        let capture = Capture { status, id, ..Capture::default() };
        if process.is_before_cuda_13() {
            capture.tell(process, stream)
        } else {
            Capture { graph, dependencies, data, count, ..capture }.tell(process, stream)
        }
    }

    @ptsz fn cudaStreamGetCaptureInfo_v2(
        stream: cudaStream_t,
        status: *mut u32,
        id: *mut u64,
        graph: *mut GraphHandle,
        dependencies: *mut *const Id,
        count: *mut usize,
    ) {
        Capture { status, id, graph, dependencies, count, ..Capture::default() }.tell(process, stream)
    }

    @ptsz fn cudaStreamGetCaptureInfo_v3(
        stream: cudaStream_t,
        status: *mut u32,
        id: *mut u64,
        graph: *mut GraphHandle,
        dependencies: *mut *const Id,
        data: *mut *const cudaGraphEdgeData,
        count: *mut usize,
    ) {
        Capture { status, id, graph, dependencies, data, count }.tell(process, stream)
    }

    fn cudaGraphGetEdges(graph: GraphHandle, from: *mut Id, to: *mut Id, data_or_count: *mut c_void, count: *mut usize) {
        let (data, count) = data_and_count(process, data_or_count, count);
        edges(process, graph, from, to, data, count)
    }

    fn cudaGraphGetEdges_v2(graph: GraphHandle, from: *mut Id, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) {
        edges(process, graph, from, to, data, count)
    }

    fn cudaGraphNodeGetDependencies(node: NodeHandle, to: *mut Id, data_or_count: *mut c_void, count: *mut usize) {
        let (data, count) = data_and_count(process, data_or_count, count);
        give_with_data(&before(process, node)?, to, data, count)
    }

    fn cudaGraphNodeGetDependencies_v2(node: NodeHandle, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) {
        give_with_data(&before(process, node)?, to, data, count)
    }

    fn cudaGraphNodeGetDependentNodes(node: NodeHandle, to: *mut Id, data_or_count: *mut c_void, count: *mut usize) {
        let (data, count) = data_and_count(process, data_or_count, count);
        give_with_data(&behind(process, node)?, to, data, count)
    }

    fn cudaGraphNodeGetDependentNodes_v2(node: NodeHandle, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) {
        give_with_data(&behind(process, node)?, to, data, count)
    }

    fn cudaGraphAddDependencies(graph: GraphHandle, from: *const Id, to: *const Id, data_or_count: usize, count: usize) {
        let (data, count) = data_and_count_of_edges(process, data_or_count, count);
        change_edges(process, graph, add, (from, to), data, count)
    }

    fn cudaGraphAddDependencies_v2(graph: GraphHandle, from: *const Id, to: *const Id, data: *const cudaGraphEdgeData, count: usize) {
        change_edges(process, graph, add, (from, to), data, count)
    }

    fn cudaGraphRemoveDependencies(graph: GraphHandle, from: *const Id, to: *const Id, data_or_count: usize, count: usize) {
        let (data, count) = data_and_count_of_edges(process, data_or_count, count);
        change_edges(process, graph, remove, (from, to), data, count)
    }

    fn cudaGraphRemoveDependencies_v2(graph: GraphHandle, from: *const Id, to: *const Id, data: *const cudaGraphEdgeData, count: usize) {
        change_edges(process, graph, remove, (from, to), data, count)
    }
}

fn prefetch(process: &Process, pointer: *const c_void, count: usize, stream: cudaStream_t) -> Result {
    streams::resolve(process, stream)?;
    check_device_range(process, pointer, count)
}

/// Checks a location: none, a device, the host, or a NUMA node of the host.
fn check_place(place: cudaMemLocation) -> Result {
    const DEVICE: u32 = 1;
    match place.kind {
        DEVICE => devices::check(place.id),
        0..=4 => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    }
}

fn check_advice(advice: u32) -> Result {
    if (1..=6).contains(&advice) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// The places where a call wants the facts about a capture. Null for a fact that it does not ask for.
struct Capture {
    status: *mut u32,
    id: *mut u64,
    graph: *mut GraphHandle,
    dependencies: *mut *const Id,
    data: *mut *const cudaGraphEdgeData,
    count: *mut usize,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            status: null_mut(),
            id: null_mut(),
            graph: null_mut(),
            dependencies: null_mut(),
            data: null_mut(),
            count: null_mut(),
        }
    }
}

impl Capture {
    /// Writes the facts about the capture of a stream, if there is one.
    ///
    /// # Safety
    /// The pointers are null or valid for a write.
    unsafe fn tell(self, process: &Process, stream: cudaStream_t) -> Result {
        info(process, stream, |found| {
            // SAFETY: by contract.
            unsafe {
                let Some((state, capture, taking)) = found else { return put(self.status, 0) };
                put(self.status, state)?;
                put_if_asked(self.id, taking.capture);
                put_if_asked(self.graph, capture.graph as GraphHandle);
                taking.shown = taking.after.clone();
                put_if_asked(self.dependencies, taking.shown.as_ptr());
                put_if_asked(self.data, null());
                put_if_asked(self.count, taking.shown.len());
                Ok(())
            }
        })
    }
}

/// The last two parameters of a call that lists edges.
fn data_and_count(
    process: &Process,
    data_or_count: *mut c_void,
    count: *mut usize,
) -> (*mut cudaGraphEdgeData, *mut usize) {
    match process.is_before_cuda_13() {
        true => (null_mut(), data_or_count.cast()),
        false => (data_or_count.cast(), count),
    }
}

/// The last two parameters of a call that is given edges.
fn data_and_count_of_edges(
    process: &Process,
    data_or_count: usize,
    count: usize,
) -> (*const cudaGraphEdgeData, usize) {
    match process.is_before_cuda_13() {
        true => (null(), data_or_count),
        false => (data_or_count as *const cudaGraphEdgeData, count),
    }
}

/// Writes the data of edges, of which the caller has room for `*count`.
///
/// # Safety
/// As [`give`].
unsafe fn give_data(data: *mut cudaGraphEdgeData, count: *const usize) -> Result {
    if !data.is_null() {
        // SAFETY: by contract.
        unsafe { data.write_bytes(0, *get(count)?) };
    }
    Ok(())
}

/// Gives the nodes at both ends of a graph's edges, and the data of the edges.
///
/// # Safety
/// As [`give`].
unsafe fn edges(
    process: &Process,
    graph: GraphHandle,
    from: *mut Id,
    to: *mut Id,
    data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result {
    let edges: Vec<(Id, Id)> = {
        let mut graphs = process.graphs.lock();
        let nodes = graphs.graph(graph as Id)?.nodes.iter();
        nodes.flat_map(|node| node.after.iter().map(|&before| (before, node.id))).collect()
    };
    let (starts, ends): (Vec<Id>, Vec<Id>) = edges.into_iter().unzip();
    // SAFETY: by contract.
    unsafe {
        give_data(data, count)?;
        let mut room = *get(count)?;
        give(&starts, from, &mut room)?;
        give(&ends, to, count)
    }
}

/// The nodes that a node runs after.
fn before(process: &Process, node: NodeHandle) -> Result<Vec<Id>> {
    Ok(process.graphs.lock().node(node as Id)?.after.clone())
}

/// The nodes that run after a node.
fn behind(process: &Process, node: NodeHandle) -> Result<Vec<Id>> {
    let id = node as Id;
    let mut graphs = process.graphs.lock();
    let nodes = graphs.graph_of(id)?.nodes.iter();
    Ok(nodes.filter(|node| node.after.contains(&id)).map(|node| node.id).collect())
}

/// Gives nodes, and the data of the edges between each of them and one other node.
///
/// # Safety
/// As [`give`].
unsafe fn give_with_data(
    nodes: &[Id],
    to: *mut Id,
    data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result {
    // SAFETY: by contract.
    unsafe {
        give_data(data, count)?;
        give(nodes, to, count)
    }
}

/// Refuses edges with data.
///
/// # Safety
/// `data` is null or has `count` elements.
unsafe fn check_data(process: &Process, data: *const cudaGraphEdgeData, count: usize) -> Result {
    if data.is_null() {
        return Ok(());
    }
    // SAFETY: not null, hence by contract.
    let data = unsafe { std::slice::from_raw_parts(data, count) };
    if data.iter().any(|edge| edge.0 != [0; 8]) {
        process.errors_once.error("edges of graphs with data are not supported on the CPU executor");
        return Err(Error::NOT_SUPPORTED);
    }
    Ok(())
}

/// A change of the edge from the first node to the second.
type Change = fn(&mut Graph, Id, Id) -> Result;

/// Adds an edge.
fn add(graph: &mut Graph, from: Id, to: Id) -> Result {
    graph.node(from)?;
    let node = graph.node(to)?;
    if node.after.contains(&from) || from == to {
        return Err(Error::INVALID_VALUE);
    }
    node.after.push(from);
    Ok(())
}

/// Removes an edge.
fn remove(graph: &mut Graph, from: Id, to: Id) -> Result {
    let node = graph.node(to)?;
    if !node.after.contains(&from) {
        return Err(Error::INVALID_VALUE);
    }
    node.after.retain(|&id| id != from);
    Ok(())
}

/// Changes each edge of two lists.
///
/// # Safety
/// The lists have `count` elements; `data` may be null.
unsafe fn change_edges(
    process: &Process,
    graph: GraphHandle,
    change: Change,
    (from, to): (*const Id, *const Id),
    data: *const cudaGraphEdgeData,
    count: usize,
) -> Result {
    // SAFETY: by contract.
    let (from, to) = unsafe {
        check_data(process, data, count)?;
        (handles(from, count)?, handles(to, count)?)
    };
    let mut graphs = process.graphs.lock();
    let graph = graphs.graph(graph as Id)?;
    from.iter().zip(to).try_for_each(|(&from, &to)| change(graph, from, to))
}
