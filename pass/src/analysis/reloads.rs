//! Loads that yield what the same thread has loaded from the same bytes before.
//!
//! LLVM's memory SSA shows that this thread writes nothing to these bytes between the two loads. A barrier or a fence
//! counts as a write. So another thread that writes there has a race with one of the loads.

use std::collections::HashMap;
use std::ffi::c_void;

use llvm_sys::prelude::*;

use super::regions::Graph;

unsafe extern "C" {
    fn gpurace_loaded_again(
        function: LLVMValueRef,
        to: *mut c_void,
        found: extern "C" fn(*mut c_void, LLVMValueRef, LLVMValueRef),
    );
}

extern "C" fn add(to: *mut c_void, load: LLVMValueRef, first: LLVMValueRef) {
    // SAFETY: `to` is the list of `find`.
    unsafe { (*to.cast::<Vec<_>>()).push((load, first)) };
}

/// For each load that yields what an earlier one has yielded in the same iteration: that one, and its block.
///
/// # Safety
/// The graph is that of the live function.
pub unsafe fn find(function: LLVMValueRef, graph: &Graph) -> HashMap<LLVMValueRef, (LLVMValueRef, usize)> {
    let mut pairs: Vec<(LLVMValueRef, LLVMValueRef)> = Vec::new();
    // SAFETY: by contract; the call is over before the list is used.
    unsafe { gpurace_loaded_again(function, (&raw mut pairs).cast(), add) };
    let mut found = HashMap::new();
    for (load, first) in pairs {
        let (Some(&at), Some(&block)) = (graph.block_of.get(&load), graph.block_of.get(&first)) else {
            continue;
        };
        // The earliest one comes first, and is none that yields what another one did.
        if graph.within(graph.loop_of[at], graph.loop_of[block]) && !found.contains_key(&first) {
            found.entry(load).or_insert((first, block));
        }
    }
    found
}
