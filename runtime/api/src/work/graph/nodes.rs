//! Nodes of graphs, as the program describes them.

use std::ffi::c_void;

use crate::host::edge::{get, put};
use crate::host::errors::{Error, Result};
use crate::host::stack::{self, Callers};
use crate::host::types::{cudaHostNodeParams, cudaKernelNodeParams, cudaMemcpy3DParms, cudaMemsetParams};
use crate::work::Process;
use crate::work::graph::work::{Opaque, Work};
use crate::work::graph::{GraphHandle, Id, Node, NodeHandle};
use crate::work::launches::PreparedLaunch;
use crate::work::transfers::copies::PlannedCopy;
use crate::work::transfers::fills::PlannedFill;

/// The launch that a node's parameters describe.
///
/// # Safety
/// The parameters are as the CUDA Runtime API documents them.
///
/// # Errors
/// The reason why such a launch cannot start. `cudaErrorNotSupported` for arguments in one buffer.
pub unsafe fn kernel(process: &Process, p: &cudaKernelNodeParams) -> Result<Work> {
    if p.kernelParams.is_null() && !p.extra.is_null() {
        return Err(Error::NOT_SUPPORTED);
    }
    let callers: Callers = stack::callers();
    let shape = (p.gridDim, p.blockDim);
    // SAFETY: the caller keeps the contract above.
    let prepared = unsafe {
        PreparedLaunch::of_node(process, p.func, shape, p.sharedMemBytes as usize, p.kernelParams, callers[0])
    };
    Ok(Work::Kernel(Box::new(prepared?)))
}

/// The fill that a node's parameters describe.
///
/// # Errors
/// What CUDA returns for parameters that do not fit.
pub fn fill(process: &Process, p: &cudaMemsetParams) -> Result<Work> {
    Ok(Work::Fill(PlannedFill::of_node(process, p)?, stack::callers()))
}

/// The copy that a node's parameters describe.
///
/// # Errors
/// What CUDA returns for parameters that do not fit.
pub fn copy(process: &Process, p: &cudaMemcpy3DParms) -> Result<Work> {
    Ok(Work::Copy(PlannedCopy::of_3d(process, p)?, stack::callers()))
}

/// The copy of `count` bytes.
///
/// # Errors
/// What CUDA returns for parameters that do not fit.
pub fn copy_1d(
    process: &Process,
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: u32,
) -> Result<Work> {
    Ok(Work::Copy(PlannedCopy::of_bytes(process, to, from, count, kind)?, stack::callers()))
}

/// The call of a host function that a node's parameters describe.
///
/// # Errors
/// `cudaErrorInvalidValue` without a function.
pub fn host(p: &cudaHostNodeParams) -> Result<Work> {
    p.r#fn.map(|function| Work::Host(Some(function), Opaque::of(p.userData))).ok_or(Error::INVALID_VALUE)
}

/// The `count` handles of the program's list.
///
/// # Safety
/// `list` has as many handles, or is null if there are none.
///
/// # Errors
/// `cudaErrorInvalidValue` if the list is missing.
pub unsafe fn handles<'a>(list: *const Id, count: usize) -> Result<&'a [Id]> {
    match (list.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::INVALID_VALUE),
        // SAFETY: the caller keeps the contract above.
        _ => Ok(unsafe { std::slice::from_raw_parts(list, count) }),
    }
}

/// Adds a node and writes its handle.
///
/// # Safety
/// Pointers are as the CUDA Runtime API documents them.
///
/// # Errors
/// As [`Graph::add`](crate::work::graph::Graph::add).
pub unsafe fn add(
    process: &Process,
    to: *mut NodeHandle,
    graph: GraphHandle,
    after: *const Id,
    count: usize,
    work: Work,
) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract above.
    let after = unsafe { handles(after, count) }?;
    let id = process.graphs.lock().add(graph as Id, work, after)?;
    // SAFETY: it is not null.
    unsafe { put(to, id as NodeHandle) }
}

/// Gives a node of a graph another operation of the same kind.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is no such node, or if its kind is another.
pub fn change(process: &Process, node: NodeHandle, work: Work) -> Result {
    let mut graphs = process.graphs.lock();
    let node = graphs.node(node as Id)?;
    if node.work.number() != work.number() {
        return Err(Error::INVALID_VALUE);
    }
    node.work = work;
    Ok(())
}

/// Writes a list as CUDA returns lists: the elements that there is room for, and their number.
///
/// # Safety
/// `to` is null or has room for `*count`.
///
/// # Errors
/// `cudaErrorInvalidValue` if `count` is null.
pub unsafe fn give(found: &[Id], to: *mut Id, count: *mut usize) -> Result {
    // SAFETY: the caller keeps the contract above.
    unsafe {
        let room = *get(count)?;
        if to.is_null() {
            return put(count, found.len());
        }
        for n in 0..room {
            to.add(n).write(found.get(n).copied().unwrap_or(0));
        }
        put(count, room.min(found.len()))
    }
}

/// The nodes of a graph that satisfy a condition.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is no such graph.
pub fn nodes_of(process: &Process, graph: GraphHandle, wanted: impl Fn(&Node) -> bool) -> Result<Vec<Id>> {
    let mut graphs = process.graphs.lock();
    let nodes = graphs.graph(graph as Id)?.nodes.iter();
    Ok(nodes.filter(|node| wanted(node)).map(|node| node.id).collect())
}
