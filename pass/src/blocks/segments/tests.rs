//! What is cut, and beside it the neighbour that must not be.

use gpurace_abi::context::offset;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction};

use super::*;

/// A kernel: `%t` is the thread's index, `%b` the block's, `%n` a parameter, `%p` an array.
fn module(body: &str) -> String {
    format!(
        "declare void @__gpurace_barrier(ptr, i32, i32, i32)
         declare void @use(i32)
         @table = constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
         %pair = type {{ i32, i32 }}
         define void @k(ptr %c, ptr %p, i32 %n, ptr byval(%pair) %s) {{
           %bp = getelementptr inbounds i8, ptr %c, i64 {block}
           %t = load i32, ptr %c
           %b = load i32, ptr %bp
           {body}
         }}",
        block = offset::CTAID
    )
    .replace("BARRIER", "call void @__gpurace_barrier(ptr %c, i32 0, i32 0, i32 7)")
}

/// What cutting the kernel gives: points, shared slots, bytes of each thread, and
/// whether the threads' loop is free of places that they share.
fn cut_of(body: &str) -> Option<(u32, usize, u64, bool)> {
    cut_with(body, Checks::None)
}

fn cut_with(body: &str, checks: Checks) -> Option<(u32, usize, u64, bool)> {
    let text = module(body);
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        let found = cut(module, kernel, checks);
        if let Some(s) = &found {
            let broken = LLVMVerifyFunction(s.function, LLVMVerifierFailureAction::LLVMPrintMessageAction);
            assert_eq!(broken, 0, "{}", ir::text(LLVMPrintValueToString(s.function)));
            let left = ir::instructions(s.function).into_iter().any(|i| is_barrier(i));
            assert!(!left, "a barrier is left");
        }
        found.map(|s| (s.points, s.shared, s.thread_bytes, s.parallel))
    })
}

fn points(body: &str) -> Option<u32> {
    cut_of(body).map(|c| c.0)
}

#[test]
fn barriers_in_a_row() {
    assert_eq!(points("ret void"), Some(1));
    assert_eq!(points("BARRIER\n BARRIER\n ret void"), Some(3));
}

/// The points of a kernel with a barrier under the condition `%x`.
fn points_under(condition: &str) -> Option<u32> {
    points(&format!(
        "{condition}\n br i1 %x, label %yes, label %no\n yes:\n BARRIER\n br label %no\n no:\n ret void"
    ))
}

#[test]
fn barrier_under_a_condition() {
    assert_eq!(points_under("%x = icmp slt i32 %n, 4\n"), Some(2));
    assert_eq!(points_under("%x = icmp slt i32 %b, 4\n"), Some(2));
    assert_eq!(points_under("%x = icmp slt i32 %t, 4\n"), None);
    assert_eq!(points_under("%m = load i32, ptr %p\n %x = icmp slt i32 %m, 4\n"), None);
    assert_eq!(points_under("%y = add i32 %t, %n\n %x = icmp slt i32 %y, 4\n"), None);
}

#[test]
fn barrier_under_a_condition_from_memory_that_is_only_read() {
    let under = |index: &str| {
        points_under(&format!(
            "%at = getelementptr i32, ptr @table, i32 {index}\n %m = load i32, ptr %at\n %x = icmp slt i32 %m, 4"
        ))
    };
    assert_eq!(under("%n"), Some(2));
    assert_eq!(under("%t"), None);
}

#[test]
fn barrier_under_a_frozen_condition() {
    // Each thread may freeze a value that the program leaves undefined to another one.
    assert_eq!(points_under("%m = freeze i32 %n\n %x = icmp slt i32 %m, 4"), None);
}

#[test]
fn barrier_after_a_loop_with_two_entries() {
    let body = |end: &str| {
        format!(
            "%x = icmp slt i32 %n, 4\n br i1 %x, label %a, label %b1\n a:\n br label %b1\n
             b1:\n br i1 %x, label %a, label %e\n e:\n {end}\n ret void"
        )
    };
    // Nothing is known of such control flow.
    assert_eq!(points(&body("BARRIER")), None);
    assert_eq!(points(&body("")), Some(1));
}

#[test]
fn barrier_after_a_branch_has_joined() {
    let body = |end: &str| {
        format!(
            "%x = icmp slt i32 %t, 4\n br i1 %x, label %few, label %all\n few:\n store i32 1, ptr %p\n {end}\n all:\n BARRIER\n ret void"
        )
    };
    assert_eq!(points(&body("br label %all")), Some(2));
    assert_eq!(points(&body("ret void")), None);
    // A trap ends the launch: nobody waits for its thread.
    assert_eq!(points(&body("unreachable")), Some(2));
}

#[test]
fn barrier_by_a_value_that_was_chosen_apart() {
    let body = |condition: &str| {
        format!(
            "%x = icmp slt i32 {condition}, 4\n br i1 %x, label %a, label %b1\n a:\n br label %j\n b1:\n br label %j\n
             j:\n %v = phi i32 [ 1, %a ], [ 2, %b1 ]\n %y = icmp eq i32 %v, 1\n br i1 %y, label %w, label %e\n
             w:\n BARRIER\n br label %e\n e:\n ret void"
        )
    };
    assert_eq!(points(&body("%n")), Some(2));
    assert_eq!(points(&body("%t")), None);
}

#[test]
fn barrier_in_a_loop() {
    let body = |bound: &str| {
        format!(
            "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n BARRIER\n %j = add i32 %i, 1\n
             %x = icmp slt i32 %j, {bound}\n br i1 %x, label %h, label %e\n e:\n call void @use(i32 %j)\n ret void"
        )
    };
    let (points, shared, bytes, _) = cut_of(&body("%n")).expect("a common bound");
    assert_eq!((points, shared, bytes), (2, 1, 0), "the counter is the block's");
    assert_eq!(cut_of(&body("%t")), None);
}

#[test]
fn barrier_in_a_loop_after_one_that_is_left_apart() {
    let body = |first: &str| {
        format!(
            "br label %g\n g:\n %i = phi i32 [ %t, %0 ], [ %j, %g ]\n %j = add i32 %i, 1\n
             %x = icmp slt i32 %j, 9\n br i1 %x, label %g, label %h\n
             h:\n %v = phi i32 [ {first}, %g ], [ %r, %h ]\n BARRIER\n %r = lshr i32 %v, 1\n
             %y = icmp sgt i32 %r, 0\n br i1 %y, label %h, label %e\n e:\n ret void"
        )
    };
    assert_eq!(points(&body("%n")), Some(2));
    assert_eq!(points(&body("%j")), None);
}

#[test]
fn loop_left_apart_before_the_barrier() {
    let body = |bound: &str| {
        format!(
            "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n %j = add i32 %i, 1\n %x = icmp slt i32 %j, {bound}\n
             br i1 %x, label %h, label %e\n e:\n BARRIER\n call void @use(i32 %i)\n ret void"
        )
    };
    // All wait after it; the number of rounds is each thread's own.
    let (_, shared, bytes, _) = cut_of(&body("%t")).expect("joined");
    assert_eq!((shared, bytes), (0, 16));
    let (_, shared, bytes, _) = cut_of(&body("%n")).expect("joined");
    assert_eq!((shared, bytes), (1, 0));
}

#[test]
fn values_over_a_barrier() {
    // What the index gives is computed again; what memory gave is kept.
    let again = "%v = mul i32 %t, 3\n BARRIER\n call void @use(i32 %v)\n ret void";
    assert_eq!(cut_of(again).map(|c| (c.1, c.2)), Some((0, 0)));
    let kept = "%v = load i32, ptr %p\n BARRIER\n call void @use(i32 %v)\n ret void";
    assert_eq!(cut_of(kept).map(|c| (c.1, c.2)), Some((0, 16)));
}

#[test]
fn variables_of_a_thread() {
    let body = |barrier: &str| {
        format!(
            "%v = alloca [8 x i32]\n store i32 1, ptr %v\n {barrier}\n %w = load i32, ptr %v\n call void @use(i32 %w)\n ret void"
        )
    };
    // In one segment LLVM gives all threads one place in turn: no loop without dependences.
    let s = "%q = load i32, ptr %p\n";
    assert_eq!(cut_of(&body(s)).map(|c| (c.2, c.3)), Some((0, false)));
    assert_eq!(cut_of(&body("BARRIER")).map(|c| c.2), Some(32));
    // The checker would take a place in the frame for memory that blocks share.
    assert_eq!(cut_with(&body(s), Checks::Kept).map(|c| c.2), Some(0));
    assert_eq!(cut_with(&body("BARRIER"), Checks::Kept), None);
    let grows = "%v = alloca i32, i32 %n\n BARRIER\n ret void";
    assert_eq!(cut_of(grows), None);
}

#[test]
fn parameters_by_value() {
    let read = "BARRIER\n %v = load i32, ptr %s\n call void @use(i32 %v)\n ret void";
    assert_eq!(points(read), Some(2));
    // Each segment gets a copy of its own: what one stores the next would not see.
    let written = "store i32 1, ptr %s\n BARRIER\n %v = load i32, ptr %s\n call void @use(i32 %v)\n ret void";
    assert_eq!(points(written), None);
    let alone = "store i32 1, ptr %s\n %v = load i32, ptr %s\n call void @use(i32 %v)\n ret void";
    assert_eq!(points(alone), Some(1));
}
