//! Graphs.

use std::ffi::{c_int, c_void};

use crate::calls;
use crate::calls::driver::export::{done, driver_api, same};
use crate::calls::driver::launches::arguments;
use crate::calls::driver::transfers::element;
use crate::host::driver_types::{CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D};
use crate::host::edge::get;
use crate::host::types::{
    cudaEvent_t, cudaGraphEdgeData, cudaGraphExecUpdateResultInfo, cudaHostNodeParams,
    cudaMemAllocNodeParams, cudaMemsetParams, cudaStream_t,
};
use crate::work::graph::{ExecHandle, GraphHandle, Id, NodeHandle};

driver_api! { process;
    fn cuGraphAddKernelNode_v2(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const CUDA_KERNEL_NODE_PARAMS) {
        let p = get(p)?;
        let mut args = arguments(process, p.kernel(), p.kernelParams, p.extra)?;
        done(calls::graphs::cudaGraphAddKernelNode(to, graph, after, count, &p.parameters(args.as_mut_ptr())))
    }

    fn cuGraphKernelNodeSetParams_v2(node: NodeHandle, p: *const CUDA_KERNEL_NODE_PARAMS) {
        let p = get(p)?;
        let mut args = arguments(process, p.kernel(), p.kernelParams, p.extra)?;
        done(calls::graphs::cudaGraphKernelNodeSetParams(node, &p.parameters(args.as_mut_ptr())))
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: ExecHandle, node: NodeHandle, p: *const CUDA_KERNEL_NODE_PARAMS) {
        let p = get(p)?;
        let mut args = arguments(process, p.kernel(), p.kernelParams, p.extra)?;
        done(calls::graph_execs::cudaGraphExecKernelNodeSetParams(exec, node, &p.parameters(args.as_mut_ptr())))
    }

    // One device has one context for all nodes.
    fn cuGraphAddMemcpyNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const CUDA_MEMCPY3D, _context: *mut c_void) {
        done(calls::graphs::cudaGraphAddMemcpyNode(to, graph, after, count, &get(p)?.parameters(|array| element(process, array))?))
    }

    fn cuGraphMemcpyNodeSetParams(node: NodeHandle, p: *const CUDA_MEMCPY3D) {
        done(calls::graphs::cudaGraphMemcpyNodeSetParams(node, &get(p)?.parameters(|array| element(process, array))?))
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const CUDA_MEMCPY3D, _context: *mut c_void) {
        done(calls::graph_execs::cudaGraphExecMemcpyNodeSetParams(exec, node, &get(p)?.parameters(|array| element(process, array))?))
    }

    fn cuGraphAddMemsetNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaMemsetParams, _context: *mut c_void) {
        done(calls::graphs::cudaGraphAddMemsetNode(to, graph, after, count, p))
    }

    fn cuGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaMemsetParams, _context: *mut c_void) {
        done(calls::graph_execs::cudaGraphExecMemsetNodeSetParams(exec, node, p))
    }
}

same! {
    fn cuGraphCreate(to: *mut GraphHandle, flags: u32) = calls::graphs::cudaGraphCreate;
    fn cuGraphDestroy(graph: GraphHandle) = calls::graphs::cudaGraphDestroy;
    fn cuGraphClone(to: *mut GraphHandle, from: GraphHandle) = calls::graphs::cudaGraphClone;
    fn cuGraphNodeFindInClone(to: *mut NodeHandle, original: NodeHandle, clone: GraphHandle) = calls::graphs::cudaGraphNodeFindInClone;
    fn cuGraphAddEmptyNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize) = calls::graphs::cudaGraphAddEmptyNode;
    fn cuGraphMemsetNodeSetParams(node: NodeHandle, p: *const cudaMemsetParams) = calls::graphs::cudaGraphMemsetNodeSetParams;
    fn cuGraphAddHostNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaHostNodeParams) = calls::graphs::cudaGraphAddHostNode;
    fn cuGraphHostNodeSetParams(node: NodeHandle, p: *const cudaHostNodeParams) = calls::graphs::cudaGraphHostNodeSetParams;
    fn cuGraphExecHostNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaHostNodeParams) = calls::graph_execs::cudaGraphExecHostNodeSetParams;
    fn cuGraphAddChildGraphNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, child: GraphHandle) = calls::graphs::cudaGraphAddChildGraphNode;
    fn cuGraphChildGraphNodeGetGraph(node: NodeHandle, to: *mut GraphHandle) = calls::graphs::cudaGraphChildGraphNodeGetGraph;
    fn cuGraphAddEventRecordNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, event: cudaEvent_t) = calls::graphs::cudaGraphAddEventRecordNode;
    fn cuGraphAddEventWaitNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, event: cudaEvent_t) = calls::graphs::cudaGraphAddEventWaitNode;
    fn cuGraphAddMemAllocNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *mut cudaMemAllocNodeParams) = calls::graphs::cudaGraphAddMemAllocNode;
    fn cuGraphMemAllocNodeGetParams(node: NodeHandle, p: *mut cudaMemAllocNodeParams) = calls::graphs::cudaGraphMemAllocNodeGetParams;
    fn cuGraphAddMemFreeNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, pointer: *mut c_void) = calls::graphs::cudaGraphAddMemFreeNode;
    fn cuGraphMemFreeNodeGetParams(node: NodeHandle, to: *mut c_void) = calls::graphs::cudaGraphMemFreeNodeGetParams;
    fn cuGraphNodeGetType(node: NodeHandle, to: *mut c_int) = calls::graphs::cudaGraphNodeGetType;
    fn cuGraphGetNodes(graph: GraphHandle, to: *mut Id, count: *mut usize) = calls::graphs::cudaGraphGetNodes;
    fn cuGraphGetRootNodes(graph: GraphHandle, to: *mut Id, count: *mut usize) = calls::graphs::cudaGraphGetRootNodes;
    fn cuGraphDestroyNode(node: NodeHandle) = calls::graphs::cudaGraphDestroyNode;
    fn cuGraphGetEdges_v2(graph: GraphHandle, from: *mut Id, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) = calls::changed::cudaGraphGetEdges_v2;
    fn cuGraphNodeGetDependencies_v2(node: NodeHandle, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) = calls::changed::cudaGraphNodeGetDependencies_v2;
    fn cuGraphNodeGetDependentNodes_v2(node: NodeHandle, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) = calls::changed::cudaGraphNodeGetDependentNodes_v2;
    fn cuGraphAddDependencies_v2(graph: GraphHandle, from: *const Id, to: *const Id, data: *const cudaGraphEdgeData, count: usize) = calls::changed::cudaGraphAddDependencies_v2;
    fn cuGraphRemoveDependencies_v2(graph: GraphHandle, from: *const Id, to: *const Id, data: *const cudaGraphEdgeData, count: usize) = calls::changed::cudaGraphRemoveDependencies_v2;
    fn cuGraphInstantiateWithFlags(to: *mut ExecHandle, graph: GraphHandle, flags: u64) = calls::graph_execs::cudaGraphInstantiateWithFlags;
    fn cuGraphExecGetFlags(exec: ExecHandle, flags: *mut u64) = calls::graph_execs::cudaGraphExecGetFlags;
    fn cuGraphExecDestroy(exec: ExecHandle) = calls::graph_execs::cudaGraphExecDestroy;
    fn cuGraphExecUpdate_v2(exec: ExecHandle, graph: GraphHandle, info: *mut cudaGraphExecUpdateResultInfo) = calls::graph_execs::cudaGraphExecUpdate;
    fn cuGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) = calls::graph_execs::cudaGraphNodeSetEnabled;
    fn cuGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: *mut u32) = calls::graph_execs::cudaGraphNodeGetEnabled;
    @ptsz fn cuGraphUpload(exec: ExecHandle, stream: cudaStream_t) = calls::graph_execs::cudaGraphUpload;
    @ptsz fn cuGraphLaunch(exec: ExecHandle, stream: cudaStream_t) = calls::graph_execs::cudaGraphLaunch;
}
