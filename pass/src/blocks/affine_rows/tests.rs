//! Which addresses are known to follow from the index, and beside each the neighbour that must not
//! be.

use super::super::segments;
use crate::blocks::entries::Checks;
use crate::ir;
use gpurace_abi::batch::FrameAddresses;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction};
use llvm_sys::core::*;

/// A kernel with a check of a read at `%at`, by instruction 0: by point, whether its address is
/// known. `%x`, `%y` and `%b` are the thread's and the block's index, `%n` and `%p` parameters,
/// `%w` what memory holds.
fn known(body: &str) -> Vec<Option<bool>> {
    let text = format!(
        "declare void @__gpurace_barrier(ptr, i32, i32, i32)
         declare void @__gpurace_read(ptr, ptr, i32, i32)
         define void @k(ptr %c, ptr %p, i32 %n, i64 %m) {{
           %yp = getelementptr inbounds i8, ptr %c, i64 {y}
           %bp = getelementptr inbounds i8, ptr %c, i64 {block}
           %x = load i32, ptr %c
           %y = load i32, ptr %yp
           %b = load i32, ptr %bp
           {body}
         }}",
        y = gpurace_abi::context::offset::TID + 4,
        block = gpurace_abi::context::offset::CTAID
    )
    .replace("BARRIER", "call void @__gpurace_barrier(ptr %c, i32 0, i32 0, i32 7)")
    .replace("CHECK", "call void @__gpurace_read(ptr %c, ptr %at, i32 4, i32 0)");
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        let cut = segments::cut(module, kernel, Checks::InRows, &Default::default())
            .expect("a kernel that can be cut");
        let before = cut.affine.iter().flatten().flat_map(|before| [before.find, before.fill]);
        for function in before.chain([cut.function]) {
            let broken = LLVMVerifyFunction(function, LLVMVerifierFailureAction::LLVMPrintMessageAction);
            assert_eq!(broken, 0, "{}", ir::text(LLVMPrintValueToString(function)));
        }
        let by_point = cut.batches.iter().zip(&cut.affine);
        by_point
            .map(|(rows, before)| {
                let known = matches!(rows.first()?.addresses, FrameAddresses::Affine { .. });
                assert!(!known || before.is_some());
                Some(known)
            })
            .collect()
    })
}

/// Of an index `%i` of 64 bits, after these instructions.
fn of_index(index: &str) -> bool {
    let body = format!(
        "{}\n %at = getelementptr inbounds i32, ptr %p, i64 %i\n CHECK\n ret void",
        index.replace("; ", "\n")
    );
    known(&body)[0].expect("a row")
}

#[test]
fn sums_of_multiples_of_the_index() {
    for index in [
        "%i = zext i32 %x to i64",
        "%r = mul i32 %y, %n; %s = add i32 %r, %x; %i = sext i32 %s to i64",
        "%r = shl i32 %x, 3; %s = sub i32 %n, %r; %i = sext i32 %s to i64",
        "%r = shl i32 %x, 3; %s = or disjoint i32 %r, 5; %i = zext i32 %s to i64",
        "%r = mul i32 %b, 256; %s = add i32 %r, %x; %t = trunc i32 %s to i16; %i = zext i16 %t to i64",
        "%q = add i32 %n, 3; %d = lshr i32 %q, 1; %s = add i32 %d, %x; %i = zext i32 %s to i64",
        "%i = add i64 %m, 7",
    ] {
        assert!(of_index(index), "{index}");
    }
}

#[test]
fn neighbours_that_are_none() {
    for index in [
        "%s = mul i32 %x, %x; %i = zext i32 %s to i64",
        "%s = mul i32 %x, %y; %i = zext i32 %s to i64",
        "%s = shl i32 %n, %x; %i = zext i32 %s to i64",
        "%r = shl i32 %x, 3; %s = or i32 %r, %n; %i = zext i32 %s to i64",
        "%s = xor i32 %x, %n; %i = zext i32 %s to i64",
        "%s = and i32 %x, 31; %i = zext i32 %s to i64",
        "%s = lshr i32 %x, 1; %i = zext i32 %s to i64",
        "%w = load i32, ptr %p; %s = add i32 %w, %x; %i = zext i32 %s to i64",
        "%o = icmp ult i32 %x, %n; %s = select i1 %o, i32 %x, i32 %y; %i = zext i32 %s to i64",
        "%s = udiv i32 100, %n; %t = add i32 %s, %x; %i = zext i32 %t to i64",
    ] {
        assert!(!of_index(index), "{index}");
    }
}

#[test]
fn elements_of_structs_and_arrays() {
    let of = |gep: &str| known(&format!("%at = getelementptr inbounds {gep}\n CHECK\n ret void"))[0];
    assert_eq!(of("{ i32, [8 x i32] }, ptr %p, i32 %x, i32 1, i32 %y"), Some(true));
    assert_eq!(of("{ i32, [8 x i32] }, ptr %p, i64 %m, i32 1, i64 3"), Some(true));
    assert_eq!(of("<4 x i32>, ptr %p, i32 %x, i32 1"), Some(false));
}

/// A loop that all threads run alike, with a barrier in it, and cut at its end: `%k` counts, `%q`
/// is a pointer that grows.
fn looped(at: &str) -> Vec<Option<bool>> {
    known(&format!(
        "%e = zext i32 %x to i64
         %s = getelementptr inbounds i32, ptr %p, i64 %e
         br label %loop
         loop:
         %k = phi i64 [ 0, %0 ], [ %k2, %loop ]
         %q = phi ptr [ %s, %0 ], [ %q2, %loop ]
         {at}
         CHECK
         BARRIER
         %k2 = add i64 %k, 16
         %q2 = getelementptr inbounds i8, ptr %q, i64 64
         %more = icmp ult i64 %k2, %m
         br i1 %more, label %loop, label %out
         out:
         ret void"
    ))
}

#[test]
fn what_all_threads_count_alike() {
    assert_eq!(looped("%at = getelementptr inbounds i32, ptr %s, i64 %k"), [Some(true), None, Some(true)]);
    // Each thread has a pointer of its own.
    assert_eq!(looped("%at = getelementptr inbounds i32, ptr %q, i64 0"), [Some(false), None, Some(false)]);
}

#[test]
fn values_of_the_round_before() {
    // `%k2` is the round's own where the access comes after it, and the last one's before it.
    let body = |first: &str, then: &str| {
        known(&format!(
            "%e = zext i32 %x to i64
         %s = getelementptr inbounds i32, ptr %p, i64 %e
         br label %loop
         loop:
         %k = phi i64 [ 0, %0 ], [ %k2, %end ]
         {first}
         BARRIER
         br label %end
         end:
         %k2 = add i64 %k, 16
         {then}
         %more = icmp ult i64 %k2, %m
         br i1 %more, label %loop, label %out
         out:
         ret void"
        ))
    };
    let check = "%at = getelementptr inbounds i32, ptr %s, i64 INDEX\n CHECK";
    assert_eq!(body(&check.replace("INDEX", "%k"), ""), [Some(true), None, Some(true)]);
    assert_eq!(body("", &check.replace("INDEX", "%k2")), [None, Some(true), None]);
}

#[test]
fn loops_without_a_barrier_within() {
    // The last value of a loop is another one for each of its rounds.
    let found = known(
        "br label %loop
         loop:
         %k = phi i64 [ 0, %0 ], [ %k2, %loop ]
         %k2 = add i64 %k, 1
         %more = icmp ult i64 %k2, %m
         br i1 %more, label %loop, label %out
         out:
         %e = zext i32 %x to i64
         %i = add i64 %e, %k2
         %at = getelementptr inbounds i32, ptr %p, i64 %i
         CHECK
         ret void",
    );
    assert_eq!(found, [Some(false)]);
}

#[test]
fn chosen_on_the_way() {
    let of = |condition: &str| {
        known(&format!(
            "%more = icmp ult i32 {condition}, 5
         br i1 %more, label %a, label %b1
         a:
         br label %b1
         b1:
         %k = phi i64 [ 0, %0 ], [ 7, %a ]
         %e = zext i32 %x to i64
         %i = add i64 %e, %k
         %at = getelementptr inbounds i32, ptr %p, i64 %i
         CHECK
         ret void"
        ))
    };
    // Alike for all threads, but not known before they run.
    assert_eq!(of("%n"), [Some(false)]);
    assert_eq!(of("%x"), [Some(false)]);
}
