//! Parts of struct values. Inlined functions pass them: `cooperative_groups` and Thrust keep
//! indices and pointers in structs.

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The value that was inserted as the part of a struct that is extracted; `None` if it is not
/// known.
///
/// # Safety
/// `extract` is a live `extractvalue`.
pub unsafe fn part(extract: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: by contract; each step goes to an operand, which dominates it, so
    // that the walk ends.
    unsafe {
        let mut path = indices(extract);
        let mut from = LLVMGetOperand(extract, 0);
        loop {
            if LLVMIsAInstruction(from).is_null() {
                return None;
            }
            match ir::opcode(from) {
                LLVMOpcode::LLVMExtractValue => {
                    let mut whole = indices(from);
                    whole.append(&mut path);
                    path = whole;
                    from = LLVMGetOperand(from, 0);
                }
                LLVMOpcode::LLVMInsertValue => {
                    let put = indices(from);
                    if let Some(rest) = path.strip_prefix(put.as_slice()) {
                        let value = LLVMGetOperand(from, 1);
                        if rest.is_empty() {
                            return Some(value);
                        }
                        path = rest.to_vec();
                        from = value;
                    } else if put.starts_with(&path) {
                        // Only a part of the wanted value.
                        return None;
                    } else {
                        from = LLVMGetOperand(from, 0);
                    }
                }
                _ => return None,
            }
        }
    }
}

/// The indices of an `extractvalue` or `insertvalue`.
unsafe fn indices(instruction: LLVMValueRef) -> Vec<u32> {
    // SAFETY: by the caller's contract; LLVM gives as many indices as it counts.
    unsafe {
        let count = LLVMGetNumIndices(instruction) as usize;
        std::slice::from_raw_parts(LLVMGetIndices(instruction), count).to_vec()
    }
}
