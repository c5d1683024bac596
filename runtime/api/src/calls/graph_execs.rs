//! Instantiated graphs.

use crate::calls::export::api;
use crate::host::edge::{get, put, put_if_asked};
use crate::host::errors::Error;
use crate::host::types::{
    cudaGraphExecUpdateResultInfo, cudaHostNodeParams, cudaKernelNodeParams, cudaMemcpy3DParms,
    cudaMemsetParams, cudaStream_t,
};
use crate::work::graph::exec::{instantiate, launch, replace, update};
use crate::work::graph::{ExecHandle, GraphHandle, Id, NodeHandle, nodes};
use crate::work::streams;

api! { process;
    fn cudaGraphInstantiate(to: *mut ExecHandle, graph: GraphHandle, flags: u64) { instantiate(process, to, graph, flags) }

    fn cudaGraphInstantiateWithFlags(to: *mut ExecHandle, graph: GraphHandle, flags: u64) { instantiate(process, to, graph, flags) }

    fn cudaGraphExecGetFlags(exec: ExecHandle, flags: *mut u64) {
        let found = process.graphs.lock().exec(exec as Id)?.flags;
        put(flags, found)
    }

    @ptsz fn cudaGraphUpload(exec: ExecHandle, stream: cudaStream_t) {
        streams::resolve(process, stream)?;
        process.graphs.lock().exec(exec as Id).map(|_| ())
    }

    @ptsz fn cudaGraphLaunch(exec: ExecHandle, stream: cudaStream_t) { launch(process, exec, stream) }

    fn cudaGraphExecDestroy(exec: ExecHandle) {
        let removed = process.graphs.lock().remove_exec(exec as Id)?;
        removed.destroy(process);
        Ok(())
    }

    fn cudaGraphExecUpdate(exec: ExecHandle, graph: GraphHandle, info: *mut cudaGraphExecUpdateResultInfo) {
        let differs = update(process, exec, graph)?;
        let (result, node) = differs.unwrap_or_default();
        let (errorNode, errorFromNode) = (node as NodeHandle, std::ptr::null_mut());
        put_if_asked(info, cudaGraphExecUpdateResultInfo { result, errorNode, errorFromNode });
        if differs.is_some() { Err(Error::GRAPH_EXEC_UPDATE_FAILURE) } else { Ok(()) }
    }

    fn cudaGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) {
        let mut graphs = process.graphs.lock();
        let exec = graphs.exec(exec as Id)?;
        let step = exec.step(node as Id)?;
        // Kernels, copies and fills alone can be left out.
        if step.work.number() > 2 {
            return Err(Error::INVALID_VALUE);
        }
        step.disabled = enabled == 0;
        Ok(())
    }

    fn cudaGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: *mut u32) {
        let mut graphs = process.graphs.lock();
        let exec = graphs.exec(exec as Id)?;
        put(enabled, u32::from(!exec.step(node as Id)?.disabled))
    }

    fn cudaGraphExecKernelNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaKernelNodeParams) {
        replace(process, exec, node, nodes::kernel(process, get(p)?)?)
    }

    fn cudaGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaMemsetParams) {
        replace(process, exec, node, nodes::fill(process, get(p)?)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaMemcpy3DParms) {
        replace(process, exec, node, nodes::copy(process, get(p)?)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(exec: ExecHandle, node: NodeHandle, to: *mut std::ffi::c_void, from: *const std::ffi::c_void, count: usize, kind: u32) {
        replace(process, exec, node, nodes::copy_1d(process, to, from, count, kind)?)
    }

    fn cudaGraphExecHostNodeSetParams(exec: ExecHandle, node: NodeHandle, p: *const cudaHostNodeParams) {
        replace(process, exec, node, nodes::host(get(p)?)?)
    }
}
