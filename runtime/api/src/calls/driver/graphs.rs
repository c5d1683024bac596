//! Graphs.

use std::ffi::{c_int, c_void};

use crate::calls::changed::{
    cudaGraphAddDependencies_v2, cudaGraphGetEdges_v2, cudaGraphNodeGetDependencies_v2,
    cudaGraphNodeGetDependentNodes_v2, cudaGraphRemoveDependencies_v2,
};
use crate::calls::driver::export::{done, driver_api, same};
use crate::calls::driver::launches::arguments;
use crate::calls::driver::transfers::element;
use crate::calls::graph_execs::{
    cudaGraphExecDestroy, cudaGraphExecGetFlags, cudaGraphExecHostNodeSetParams,
    cudaGraphExecKernelNodeSetParams, cudaGraphExecMemcpyNodeSetParams, cudaGraphExecMemsetNodeSetParams,
    cudaGraphExecUpdate, cudaGraphInstantiateWithFlags, cudaGraphLaunch, cudaGraphNodeGetEnabled,
    cudaGraphNodeSetEnabled, cudaGraphUpload,
};
use crate::calls::graphs::{
    cudaGraphAddChildGraphNode, cudaGraphAddEmptyNode, cudaGraphAddEventRecordNode,
    cudaGraphAddEventWaitNode, cudaGraphAddHostNode, cudaGraphAddKernelNode, cudaGraphAddMemAllocNode,
    cudaGraphAddMemFreeNode, cudaGraphAddMemcpyNode, cudaGraphAddMemsetNode, cudaGraphChildGraphNodeGetGraph,
    cudaGraphClone, cudaGraphCreate, cudaGraphDestroy, cudaGraphDestroyNode, cudaGraphGetNodes,
    cudaGraphGetRootNodes, cudaGraphHostNodeSetParams, cudaGraphKernelNodeSetParams,
    cudaGraphMemAllocNodeGetParams, cudaGraphMemFreeNodeGetParams, cudaGraphMemcpyNodeSetParams,
    cudaGraphMemsetNodeSetParams, cudaGraphNodeFindInClone, cudaGraphNodeGetType,
};
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
        done(cudaGraphAddKernelNode(to, graph, after, count, &p.parameters(args.as_mut_ptr())))
    }

    fn cuGraphKernelNodeSetParams_v2(node: NodeHandle, p: *const CUDA_KERNEL_NODE_PARAMS) {
        let p = get(p)?;
        let mut args = arguments(process, p.kernel(), p.kernelParams, p.extra)?;
        done(cudaGraphKernelNodeSetParams(node, &p.parameters(args.as_mut_ptr())))
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: ExecHandle, node: NodeHandle, p: *const CUDA_KERNEL_NODE_PARAMS) {
        let p = get(p)?;
        let mut args = arguments(process, p.kernel(), p.kernelParams, p.extra)?;
        done(cudaGraphExecKernelNodeSetParams(exec, node, &p.parameters(args.as_mut_ptr())))
    }

    // One device has one context for all nodes.
    fn cuGraphAddMemcpyNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const CUDA_MEMCPY3D, _context: *mut c_void) {
        done(cudaGraphAddMemcpyNode(to, graph, after, count, &get(p)?.parameters(|array| element(process, array))?))
    }

    fn cuGraphMemcpyNodeSetParams(node: NodeHandle, p: *const CUDA_MEMCPY3D) {
        done(cudaGraphMemcpyNodeSetParams(node, &get(p)?.parameters(|array| element(process, array))?))
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const CUDA_MEMCPY3D, _context: *mut c_void) {
        done(cudaGraphExecMemcpyNodeSetParams(exec, node, &get(p)?.parameters(|array| element(process, array))?))
    }

    fn cuGraphAddMemsetNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaMemsetParams, _context: *mut c_void) {
        done(cudaGraphAddMemsetNode(to, graph, after, count, p))
    }

    fn cuGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaMemsetParams, _context: *mut c_void) {
        done(cudaGraphExecMemsetNodeSetParams(exec, node, p))
    }
}

same! {
    fn cuGraphCreate(to: *mut GraphHandle, flags: u32) = cudaGraphCreate;
    fn cuGraphDestroy(graph: GraphHandle) = cudaGraphDestroy;
    fn cuGraphClone(to: *mut GraphHandle, from: GraphHandle) = cudaGraphClone;
    fn cuGraphNodeFindInClone(to: *mut NodeHandle, original: NodeHandle, clone: GraphHandle) = cudaGraphNodeFindInClone;
    fn cuGraphAddEmptyNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize) = cudaGraphAddEmptyNode;
    fn cuGraphMemsetNodeSetParams(node: NodeHandle, p: *const cudaMemsetParams) = cudaGraphMemsetNodeSetParams;
    fn cuGraphAddHostNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *const cudaHostNodeParams) = cudaGraphAddHostNode;
    fn cuGraphHostNodeSetParams(node: NodeHandle, p: *const cudaHostNodeParams) = cudaGraphHostNodeSetParams;
    fn cuGraphExecHostNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaHostNodeParams) = cudaGraphExecHostNodeSetParams;
    fn cuGraphAddChildGraphNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, child: GraphHandle) = cudaGraphAddChildGraphNode;
    fn cuGraphChildGraphNodeGetGraph(node: NodeHandle, to: *mut GraphHandle) = cudaGraphChildGraphNodeGetGraph;
    fn cuGraphAddEventRecordNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, event: cudaEvent_t) = cudaGraphAddEventRecordNode;
    fn cuGraphAddEventWaitNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, event: cudaEvent_t) = cudaGraphAddEventWaitNode;
    fn cuGraphAddMemAllocNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, p: *mut cudaMemAllocNodeParams) = cudaGraphAddMemAllocNode;
    fn cuGraphMemAllocNodeGetParams(node: NodeHandle, p: *mut cudaMemAllocNodeParams) = cudaGraphMemAllocNodeGetParams;
    fn cuGraphAddMemFreeNode(to: *mut NodeHandle, graph: GraphHandle, after: *const Id, count: usize, pointer: *mut c_void) = cudaGraphAddMemFreeNode;
    fn cuGraphMemFreeNodeGetParams(node: NodeHandle, to: *mut c_void) = cudaGraphMemFreeNodeGetParams;
    fn cuGraphNodeGetType(node: NodeHandle, to: *mut c_int) = cudaGraphNodeGetType;
    fn cuGraphGetNodes(graph: GraphHandle, to: *mut Id, count: *mut usize) = cudaGraphGetNodes;
    fn cuGraphGetRootNodes(graph: GraphHandle, to: *mut Id, count: *mut usize) = cudaGraphGetRootNodes;
    fn cuGraphDestroyNode(node: NodeHandle) = cudaGraphDestroyNode;
    fn cuGraphGetEdges_v2(graph: GraphHandle, from: *mut Id, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) = cudaGraphGetEdges_v2;
    fn cuGraphNodeGetDependencies_v2(node: NodeHandle, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) = cudaGraphNodeGetDependencies_v2;
    fn cuGraphNodeGetDependentNodes_v2(node: NodeHandle, to: *mut Id, data: *mut cudaGraphEdgeData, count: *mut usize) = cudaGraphNodeGetDependentNodes_v2;
    fn cuGraphAddDependencies_v2(graph: GraphHandle, from: *const Id, to: *const Id, data: *const cudaGraphEdgeData, count: usize) = cudaGraphAddDependencies_v2;
    fn cuGraphRemoveDependencies_v2(graph: GraphHandle, from: *const Id, to: *const Id, data: *const cudaGraphEdgeData, count: usize) = cudaGraphRemoveDependencies_v2;
    fn cuGraphInstantiateWithFlags(to: *mut ExecHandle, graph: GraphHandle, flags: u64) = cudaGraphInstantiateWithFlags;
    fn cuGraphExecGetFlags(exec: ExecHandle, flags: *mut u64) = cudaGraphExecGetFlags;
    fn cuGraphExecDestroy(exec: ExecHandle) = cudaGraphExecDestroy;
    fn cuGraphExecUpdate_v2(exec: ExecHandle, graph: GraphHandle, info: *mut cudaGraphExecUpdateResultInfo) = cudaGraphExecUpdate;
    fn cuGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) = cudaGraphNodeSetEnabled;
    fn cuGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: *mut u32) = cudaGraphNodeGetEnabled;
    @ptsz fn cuGraphUpload(exec: ExecHandle, stream: cudaStream_t) = cudaGraphUpload;
    @ptsz fn cuGraphLaunch(exec: ExecHandle, stream: cudaStream_t) = cudaGraphLaunch;
}
