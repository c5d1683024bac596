//! Graphs and their nodes.

use std::ffi::{c_int, c_void};

use crate::backend::memory::MemoryKind;
use crate::calls::export::api;
use crate::host::edge::{get, put};
use crate::host::errors::Error;
use crate::host::types::{
    cudaEvent_t, cudaHostNodeParams, cudaKernelNodeParams, cudaMemAllocNodeParams, cudaMemcpy3DParms,
    cudaMemsetParams, dim3,
};
use crate::work::graph::nodes::{add, change, copy, copy_1d, fill, give, host, kernel, nodes_of};
use crate::work::graph::work::{Opaque, Work, own};
use crate::work::graph::{Graph, GraphHandle, Id, NodeHandle};
use crate::work::transfers::sides::symbol_bytes;
use crate::work::{allocations, devices};

api! { process;
    fn cudaGraphCreate(to: *mut GraphHandle, flags: u32) {
        if to.is_null() || flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        put(to, process.graphs.lock().make(Graph::default()) as GraphHandle)
    }

    fn cudaGraphDestroy(graph: GraphHandle) { process.graphs.lock().remove(graph as Id).map(|_| ()) }

    fn cudaGraphClone(to: *mut GraphHandle, from: GraphHandle) {
        let mut graphs = process.graphs.lock();
        let copy = graphs.copy(from as Id)?;
        put(to, graphs.make(copy) as GraphHandle)
    }

    fn cudaGraphNodeFindInClone(to: *mut NodeHandle, original: NodeHandle, clone: GraphHandle) {
        let found = nodes_of(process, clone, |node| node.original == Some(original as Id))?;
        put(to, *found.first().ok_or(Error::INVALID_VALUE)? as NodeHandle)
    }

    fn cudaGraphAddEmptyNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize) {
        add(process, to, graph, after, count, Work::Empty)
    }

    fn cudaGraphAddKernelNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaKernelNodeParams) {
        add(process, to, graph, after, count, kernel(process, get(p)?)?)
    }

    fn cudaGraphKernelNodeSetParams(node: NodeHandle, p: *const cudaKernelNodeParams) { change(process, node, kernel(process, get(p)?)?) }

    fn cudaGraphKernelNodeGetParams(node: NodeHandle, p: *mut cudaKernelNodeParams) {
        let mut graphs = process.graphs.lock();
        let Work::Kernel(prepared) = &graphs.node(node as Id)?.work else { return Err(Error::INVALID_VALUE) };
        let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
        // CUDA keeps the list as long as the node. Here it stays for ever.
        let arguments = Box::leak(prepared.arguments().into_boxed_slice());
        put(p, cudaKernelNodeParams {
            func: Opaque(prepared.stub).pointer(),
            gridDim: dim(prepared.shape.grid),
            blockDim: dim(prepared.shape.block),
            sharedMemBytes: prepared.shape.dynamic_shared,
            kernelParams: arguments.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        })
    }

    fn cudaGraphAddMemcpyNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaMemcpy3DParms) {
        add(process, to, graph, after, count, copy(process, get(p)?)?)
    }

    fn cudaGraphMemcpyNodeSetParams(node: NodeHandle, p: *const cudaMemcpy3DParms) { change(process, node, copy(process, get(p)?)?) }

    fn cudaGraphAddMemcpyNode1D(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, destination: *mut c_void, from: *const c_void, bytes: usize, kind: u32) {
        add(process, to, graph, after, count, copy_1d(process, destination, from, bytes, kind)?)
    }

    fn cudaGraphMemcpyNodeSetParams1D(node: NodeHandle, to: *mut c_void, from: *const c_void, bytes: usize, kind: u32) {
        change(process, node, copy_1d(process, to, from, bytes, kind)?)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: u32) {
        add(process, to, graph, after, count, copy_1d(process, symbol_bytes(process, symbol, bytes, offset)?, from, bytes, kind)?)
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, destination: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: u32) {
        add(process, to, graph, after, count, copy_1d(process, destination, symbol_bytes(process, symbol, bytes, offset)?, bytes, kind)?)
    }

    fn cudaGraphAddMemsetNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaMemsetParams) {
        add(process, to, graph, after, count, fill(process, get(p)?)?)
    }

    fn cudaGraphMemsetNodeSetParams(node: NodeHandle, p: *const cudaMemsetParams) { change(process, node, fill(process, get(p)?)?) }

    fn cudaGraphAddHostNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaHostNodeParams) {
        add(process, to, graph, after, count, host(get(p)?)?)
    }

    fn cudaGraphHostNodeSetParams(node: NodeHandle, p: *const cudaHostNodeParams) { change(process, node, host(get(p)?)?) }

    fn cudaGraphAddChildGraphNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, child: GraphHandle) {
        // The node has a copy of its own.
        let copy = {
            let mut graphs = process.graphs.lock();
            let copy = graphs.copy(child as Id)?;
            graphs.make(copy)
        };
        add(process, to, graph, after, count, Work::Child(copy))
    }

    fn cudaGraphChildGraphNodeGetGraph(node: NodeHandle, to: *mut GraphHandle) {
        match process.graphs.lock().node(node as Id)?.work {
            Work::Child(graph) => put(to, graph as GraphHandle),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaGraphAddEventRecordNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, event: cudaEvent_t) {
        add(process, to, graph, after, count, Work::Record(Opaque::of(event)))
    }

    fn cudaGraphAddEventWaitNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, event: cudaEvent_t) {
        add(process, to, graph, after, count, Work::Wait(Opaque::of(event)))
    }

    fn cudaGraphAddMemAllocNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *mut cudaMemAllocNodeParams) {
        let mut params = *get(p)?;
        let address = allocations::allocate(process, params.bytesize, MemoryKind::Device, 0)?.address;
        own(process, address);
        params.dptr = address as *mut c_void;
        put(p, params)?;
        add(process, to, graph, after, count, Work::Allocate(address, params.bytesize))
    }

    fn cudaGraphMemAllocNodeGetParams(node: NodeHandle, p: *mut cudaMemAllocNodeParams) {
        let Work::Allocate(address, size) = process.graphs.lock().node(node as Id)?.work else { return Err(Error::INVALID_VALUE) };
        let mut params: cudaMemAllocNodeParams = std::mem::zeroed();
        (params.dptr, params.bytesize) = (address as *mut c_void, size);
        put(p, params)
    }

    fn cudaGraphAddMemFreeNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, pointer: *mut c_void) {
        add(process, to, graph, after, count, Work::Free(pointer as usize))
    }

    fn cudaGraphMemFreeNodeGetParams(node: NodeHandle, to: *mut c_void) {
        match process.graphs.lock().node(node as Id)?.work {
            Work::Free(address) => put(to.cast(), address),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaDeviceGraphMemTrim(device: c_int) { devices::check(device) }

    fn cudaDeviceGetGraphMemAttribute(device: c_int, attribute: u32, value: *mut c_void) {
        devices::check(device)?;
        // Memory in use and reserved memory, now and at most. Graphs have no memory apart.
        match attribute {
            0..=3 => put(value.cast(), process.program().allocations.bytes_in_use() as u64),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaDeviceSetGraphMemAttribute(device: c_int, attribute: u32, _value: *mut c_void) {
        devices::check(device)?;
        if attribute <= 3 { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn cudaGraphNodeGetType(node: NodeHandle, to: *mut c_int) {
        let number = process.graphs.lock().node(node as Id)?.work.number();
        put(to, number)
    }

    fn cudaGraphGetNodes(graph: GraphHandle, to: *mut Id, count: *mut usize) {
        give(&nodes_of(process, graph, |_| true)?, to, count)
    }

    fn cudaGraphGetRootNodes(graph: GraphHandle, to: *mut Id, count: *mut usize) {
        give(&nodes_of(process, graph, |node| node.after.is_empty())?, to, count)
    }

    fn cudaGraphDestroyNode(node: NodeHandle) {
        let id = node as Id;
        let mut graphs = process.graphs.lock();
        let graph = graphs.graph_of(id)?;
        graph.nodes.retain(|node| node.id != id);
        for node in &mut graph.nodes {
            node.after.retain(|&before| before != id);
        }
        graphs.forget_node(id);
        Ok(())
    }
}
