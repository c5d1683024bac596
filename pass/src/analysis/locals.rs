//! Values in local variables that `sroa` could not promote, since an access is volatile. Those of
//! `cuda::atomic_ref` are such.

use std::collections::HashMap;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::regions::Graph;
use crate::ir::{self, debug_info};

/// For each load from a local variable to which only one instruction stores, before the load: the
/// value stored, and the block that stores it. `idom` gives each block's immediate dominator.
///
/// # Safety
/// The graph's function is live.
pub unsafe fn forward_stores(graph: &Graph, idom: &[usize]) -> HashMap<LLVMValueRef, (LLVMValueRef, usize)> {
    let mut found = HashMap::new();
    // SAFETY: by contract.
    unsafe {
        for &local in
            graph.instructions.iter().flatten().filter(|&&i| ir::opcode(i) == LLVMOpcode::LLVMAlloca)
        {
            let Some((store, loads)) = only_store(local) else { continue };
            let Some(&stored) = graph.block_of.get(&store) else { continue };
            let value = LLVMGetOperand(store, 0);
            for load in loads {
                let Some(&loaded) = graph.block_of.get(&load) else { continue };
                let position = |i| graph.instructions[stored].iter().position(|&other| other == i);
                let comes_first = if stored == loaded {
                    position(store) < position(load)
                } else {
                    let mut block = loaded;
                    while block > stored {
                        block = idom[block];
                    }
                    block == stored
                };
                if comes_first && LLVMTypeOf(load) == LLVMTypeOf(value) {
                    found.insert(load, (value, stored));
                }
            }
        }
    }
    found
}

/// The only store to a local variable and the loads from it; `None` if its address has other uses.
unsafe fn only_store(local: LLVMValueRef) -> Option<(LLVMValueRef, Vec<LLVMValueRef>)> {
    let mut store = None;
    let mut loads = Vec::new();
    // SAFETY: by contract; the use list is walked to its end.
    unsafe {
        let mut used = LLVMGetFirstUse(local);
        while !used.is_null() {
            let user = LLVMGetUser(used);
            if LLVMIsAInstruction(user).is_null() {
                return None;
            }
            match ir::opcode(user) {
                LLVMOpcode::LLVMLoad => loads.push(user),
                LLVMOpcode::LLVMStore if LLVMGetOperand(user, 0) != local => {
                    if store.replace(user).is_some() {
                        return None;
                    }
                }
                LLVMOpcode::LLVMCall if debug_info::is_debug_call(user) => {}
                _ => return None,
            }
            used = LLVMGetNextUse(used);
        }
    }
    Some((store?, loads))
}
