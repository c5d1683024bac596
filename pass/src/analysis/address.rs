//! The values that an address may start from.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Returns the values that a pointer may start from, before casts, offsets, phis and selects. The
/// walk stops at a value for which `ends` holds. `None` if it meets more than `most` values: large
/// webs of phis are not worth the time.
///
/// # Safety
/// `pointer` is live.
pub unsafe fn starts(
    pointer: LLVMValueRef,
    most: usize,
    ends: impl Fn(LLVMValueRef) -> bool,
) -> Option<Vec<LLVMValueRef>> {
    let (mut seen, mut pending, mut found) = (HashSet::new(), vec![pointer], Vec::new());
    // SAFETY: operands of live values are live.
    unsafe {
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            if seen.len() > most {
                return None;
            }
            match ir::value_opcode(value) {
                _ if ends(value) => found.push(value),
                Some(
                    LLVMOpcode::LLVMGetElementPtr
                    | LLVMOpcode::LLVMBitCast
                    | LLVMOpcode::LLVMAddrSpaceCast
                    | LLVMOpcode::LLVMFreeze,
                ) => pending.push(LLVMGetOperand(value, 0)),
                Some(LLVMOpcode::LLVMPHI) => {
                    pending.extend((0..LLVMCountIncoming(value)).map(|i| LLVMGetIncomingValue(value, i)));
                }
                Some(LLVMOpcode::LLVMSelect) => {
                    pending.extend([LLVMGetOperand(value, 1), LLVMGetOperand(value, 2)])
                }
                _ => found.push(value),
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "@v = addrspace(3) global [8 x i32] undef
        define void @k(ptr %p, ptr %q, i1 %c, i64 %i) {
        start:
          %moved = getelementptr i32, ptr %p, i64 %i
          %cast = addrspacecast ptr addrspace(3) @v to ptr
          %one = select i1 %c, ptr %moved, ptr %cast
          br label %loop
        loop:
          %at = phi ptr [ %one, %start ], [ %next, %loop ]
          %next = getelementptr i8, ptr %at, i64 4
          %loaded = load ptr, ptr %next
          br i1 %c, label %loop, label %end
        end:
          store i32 0, ptr %next
          store i32 1, ptr %loaded
          store i32 2, ptr %q
          ret void
        }";

    /// For each store, the names of the values that its address starts from.
    fn of_stores(most: usize, end: &str) -> Vec<Option<Vec<String>>> {
        // SAFETY: the module is live.
        ir::testing::with_module(TEXT, |module| unsafe {
            let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
            let stores =
                ir::instructions(kernel).into_iter().filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMStore);
            let of = |store| {
                let starts = starts(LLVMGetOperand(store, 1), most, |value| ir::name(value) == end)?;
                let mut names: Vec<_> = starts.into_iter().map(|value| ir::name(value)).collect();
                names.sort();
                Some(names)
            };
            stores.map(of).collect()
        })
    }

    #[test]
    fn all_starts_are_found_and_what_is_loaded_is_one() {
        let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(of_stores(64, ""), [names(&["p", "v"]), names(&["loaded"]), names(&["q"])]);
        assert_eq!(of_stores(64, "cast"), [names(&["cast", "p"]), names(&["loaded"]), names(&["q"])]);
    }

    #[test]
    fn a_web_that_is_too_large_is_given_up() {
        // next, at, one, moved, p, cast, v.
        assert!(of_stores(7, "")[0].is_some());
        assert!(of_stores(6, "")[0].is_none());
        assert!(of_stores(6, "")[1].is_some());
    }
}
