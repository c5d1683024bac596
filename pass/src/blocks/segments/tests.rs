//! What is cut, and beside it the neighbour that must not be.

use gpurace_abi::context::offset;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction};

use super::*;

/// A kernel: `%t` is the thread's index, `%b` the block's, `%n` a parameter, `%p` an array.
fn module(body: &str) -> String {
    format!(
        "declare void @__gpurace_barrier(ptr, i32, i32, i32)
         declare void @__gpurace_syncwarp(ptr, i32, i32)
         declare i64 @__gpurace_shfl(ptr, i32, i32, i32, i32, i32, i32)
         declare i32 @__gpurace_vote(ptr, i32, i32, i32, i32)
         declare i32 @__gpurace_activemask(ptr)
         define internal void @meet(ptr %c) {{
           call void @__gpurace_syncwarp(ptr %c, i32 -1, i32 0)
           ret void
         }}
         define internal void @again(ptr %c) {{
           call void @__gpurace_syncwarp(ptr %c, i32 -1, i32 0)
           call void @again(ptr %c)
           ret void
         }}
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
         declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
         declare void @use(i32)
         @table = constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
         %pair = type {{ i32, i32 }}
         define void @k(ptr %c, ptr %p, i32 %n, ptr byval(%pair) %s) {{
           %bp = getelementptr inbounds i8, ptr %c, i64 {block}
           %t = load i32, ptr %c
           %b = load i32, ptr %bp
           %dp = getelementptr inbounds i8, ptr %c, i64 {dim}
           %d = load i32, ptr %dp
           {body}
         }}",
        block = offset::CTAID,
        dim = offset::NTID
    )
    .replace("BARRIER", "call void @__gpurace_barrier(ptr %c, i32 0, i32 0, i32 7)")
    .replace("SYNCWARP", "call void @__gpurace_syncwarp(ptr %c, i32 -1, i32 7)")
}

/// What cutting the kernel gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    points: u32,
    /// Values that all threads share.
    shared: usize,
    thread_bytes: u64,
    /// The threads' loop is free of places that they share.
    parallel: bool,
    parts: bool,
    /// Each thread has a point of its own, as some may end before others.
    own_points: bool,
}

fn cut_of(body: &str) -> Option<Found> {
    cut_with(body, Checks::None)
}

fn cut_with(body: &str, checks: Checks) -> Option<Found> {
    let text = module(body);
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        let found = cut(module, kernel, checks, &meeting_functions(module));
        if let Some(s) = &found {
            let broken = LLVMVerifyFunction(s.function, LLVMVerifierFailureAction::LLVMPrintMessageAction);
            assert_eq!(broken, 0, "{}", ir::text(LLVMPrintValueToString(s.function)));
            let left = ir::instructions(s.function).into_iter().any(|i| is_barrier(i) || is_collective(i));
            assert!(!left, "a barrier or collective is left");
        }
        found.map(|s| Found {
            points: s.runs.len() as u32,
            shared: s.shared,
            thread_bytes: s.thread_bytes,
            parallel: s.parallel,
            parts: s.parts,
            own_points: s.own_points.is_some(),
        })
    })
}

/// The points of a kernel whose warps never part.
fn points(body: &str) -> Option<u32> {
    cut_of(body).filter(|found| !found.parts).map(|found| found.points)
}

/// The points of a kernel whose warps may part.
fn parting_points(body: &str) -> Option<u32> {
    cut_of(body).filter(|found| found.parts).map(|found| found.points)
}

#[test]
fn barriers_in_a_row() {
    assert_eq!(points("ret void"), Some(1));
    assert_eq!(points("BARRIER\n BARRIER\n ret void"), Some(3));
}

/// The points of a kernel with a barrier under the condition `%x`, and one behind it.
fn points_under(condition: &str) -> Option<u32> {
    points(&format!(
        "{condition}\n br i1 %x, label %yes, label %no\n yes:\n BARRIER\n br label %no\n no:\n BARRIER\n ret void"
    ))
}

#[test]
fn barrier_under_a_condition() {
    assert_eq!(points_under("%x = icmp slt i32 %n, 4\n"), Some(3));
    assert_eq!(points_under("%x = icmp slt i32 %b, 4\n"), Some(3));
    assert_eq!(points_under("%x = icmp slt i32 %t, 4\n"), None);
    assert_eq!(points_under("%m = load volatile i32, ptr %p\n %x = icmp slt i32 %m, 4\n"), None);
    assert_eq!(points_under("%y = add i32 %t, %n\n %x = icmp slt i32 %y, 4\n"), None);
}

#[test]
fn barrier_under_a_condition_from_memory_that_is_only_read() {
    let under = |index: &str| {
        points_under(&format!(
            "%at = getelementptr i32, ptr @table, i32 {index}\n %m = load i32, ptr %at\n %x = icmp slt i32 %m, 4"
        ))
    };
    assert_eq!(under("%n"), Some(3));
    assert_eq!(under("%t"), None);
}

/// One thread reads for all what decides whether they come to a barrier.
#[test]
fn barrier_under_a_condition_from_memory_that_one_thread_reads() {
    let cut_under = |condition: &str, checks| {
        let body = format!(
            "{condition}\n br i1 %x, label %yes, label %no\n yes:\n BARRIER\n br label %no\n no:\n BARRIER\n ret void"
        );
        cut_with(&body, checks).map(|found| (found.points, found.parallel))
    };
    let under = |condition: &str| cut_under(condition, Checks::InRows);
    let of = |read: &str| format!("{read}\n %x = icmp slt i32 %m, 4");
    let one = Some((3, false));
    let plain = of("%m = load i32, ptr %p");
    assert_eq!(under(&plain), one);
    assert_eq!(cut_under(&plain, Checks::None), one);
    // Not where fences or atomics order single threads.
    assert_eq!(cut_under(&plain, Checks::InRowsBetweenBarriers), None);
    assert_eq!(cut_under(&plain, Checks::Kept), None);
    for order in [
        "fence syncscope(\"block\") acq_rel",
        "%o = atomicrmw add ptr %p, i32 1 monotonic",
        "%o = cmpxchg ptr %p, i32 0, i32 1 monotonic monotonic",
        "store atomic i32 1, ptr %p monotonic, align 4",
        "call void @again(ptr %c)",
    ] {
        assert_eq!(cut_under(&format!("{order}\n {plain}"), Checks::None), None, "{order}");
    }
    // Not of another address for each thread, nor where single threads read.
    assert_eq!(under(&of("%at = getelementptr i32, ptr %p, i32 %t\n %m = load i32, ptr %at")), None);
    let own = "%v = alloca i32\n store i32 %t, ptr %v\n %m = load i32, ptr %v";
    assert_eq!([Checks::InRows, Checks::None].map(|checks| cut_under(&of(own), checks)), [None; 2]);
    assert_eq!(under(&of("%m = load volatile i32, ptr %p")), None);
    assert_eq!(under(&of("%m = load atomic i32, ptr %p monotonic, align 4")), None);
    let some = "%y = icmp slt i32 %t, 4\n br i1 %y, label %few, label %all\n few:\n %o = load i32, ptr %p\n br label %all\n
         all:\n %m = phi i32 [ %o, %few ], [ 7, %0 ]";
    assert_eq!(under(&of(some)), None);
    // At an address that was read in the same way.
    assert_eq!(under(&of("%q = load ptr, ptr %p\n %m = load i32, ptr %q")), one);
    assert_eq!(
        under(&of(
            "%i = load i32, ptr %p\n %z = add i32 %i, %t\n %q = getelementptr i32, ptr %p, i32 %z\n %m = load i32, ptr %q"
        )),
        None
    );
}

#[test]
fn barrier_in_a_loop_whose_end_memory_tells() {
    let body = |inside: &str| {
        let body = format!(
            "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %l ]\n {inside}\n br label %l\n l:\n %j = add i32 %i, 1\n
             %x = icmp slt i32 %j, %m\n br i1 %x, label %h, label %e\n e:\n BARRIER\n ret void"
        );
        cut_with(&body, Checks::InRows).map(|found| (found.points, found.shared))
    };
    assert_eq!(body("%m = load i32, ptr %p\n BARRIER"), Some((3, 2)));
    // More than once between two barriers: each time it may be another value.
    let around = "br label %g\n g:\n %m = load i32, ptr %p\n %y = icmp sgt i32 %m, 9\n br i1 %y, label %g, label %on\n on:\n BARRIER";
    assert_eq!(body(around), None);
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
    assert_eq!(points(&body("BARRIER\n br label %all")), None);
    // A trap ends the launch: nobody waits for its thread.
    assert_eq!(points(&body("unreachable")), Some(2));
}

/// Whether a kernel is cut, and threads of it may end before others.
fn ends_apart(body: &str) -> Option<bool> {
    cut_of(body).map(|found| found.own_points)
}

#[test]
fn barrier_after_a_return_of_some_threads() {
    let under = |condition: &str, then: &str, rest: &str| {
        ends_apart(&format!(
            "%x = icmp slt i32 {condition}, 4\n br i1 %x, label %then, label %rest\n then:\n {then}\n
             rest:\n BARRIER\n {rest}"
        ))
    };
    assert_eq!(under("%n", "ret void", "ret void"), Some(false), "the block ends");
    assert_eq!(under("%t", "ret void", "ret void"), Some(true));
    // They may share their last basic block with the others.
    let last = "br label %end\n end:\n store i32 1, ptr %p\n ret void";
    assert_eq!(under("%t", "br label %end", last), Some(true));
    let again = "br label %end\n end:\n BARRIER\n ret void";
    assert_eq!(under("%t", "br label %end", again), None, "they come to a later barrier");
    // Of the others only some come to the next barrier.
    let next = |condition: &str, end: &str| {
        let text = format!(
            "%y = icmp slt i32 {condition}, 9\n br i1 %y, label %some, label %all\n
             some:\n BARRIER\n br label %all\n all:\n {end}"
        );
        under("%t", "ret void", &text)
    };
    assert_eq!(next("%b", "BARRIER\n ret void"), Some(true));
    assert_eq!(next("%t", "BARRIER\n ret void"), None);
    assert_eq!(next("%t", "ret void"), Some(true), "those that do not come end too");
}

#[test]
fn barrier_in_a_loop_that_single_threads_leave_by_ending() {
    let body = |then: &str, goes_on: &str| {
        ends_apart(&format!(
            "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %on ]\n %x = icmp eq i32 %i, %t\n
             br i1 %x, label %then, label %on\n then:\n {then}\n
             on:\n BARRIER\n %j = add i32 %i, 1\n {goes_on}\n e:\n call void @use(i32 %i)\n ret void"
        ))
    };
    let common = "%y = icmp slt i32 %j, %n\n br i1 %y, label %h, label %e";
    assert_eq!(body("ret void", common), Some(true));
    // How often the others go round differs.
    let apart = "%y = icmp slt i32 %j, %t\n br i1 %y, label %h, label %e";
    assert_eq!(body("ret void", apart), None);
    // No other way leads out of the loop.
    assert_eq!(body("ret void", "br label %h"), None);
    assert_eq!(body("br label %e", common), None);
}

#[test]
fn value_of_a_loop_that_threads_leave_apart_before_others_end() {
    // After the loop each thread has a number of its own, so not all come to the barrier.
    let body = |bound: &str| {
        ends_apart(&format!(
            "%x = icmp slt i32 %t, 4\n br i1 %x, label %end, label %h\n end:\n ret void\n
             h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n %j = add i32 %i, 1\n %y = icmp slt i32 %j, {bound}\n
             br i1 %y, label %h, label %e\n e:\n %z = icmp slt i32 %i, 7\n br i1 %z, label %w, label %on\n
             w:\n BARRIER\n br label %on\n on:\n BARRIER\n ret void"
        ))
    };
    assert_eq!(body("%n"), Some(true));
    assert_eq!(body("%t"), None);
}

#[test]
fn barrier_by_a_value_that_was_chosen_apart() {
    let body = |condition: &str| {
        format!(
            "%x = icmp slt i32 {condition}, 4\n br i1 %x, label %a, label %b1\n a:\n br label %j\n b1:\n br label %j\n
             j:\n %v = phi i32 [ 1, %a ], [ 2, %b1 ]\n %y = icmp eq i32 %v, 1\n br i1 %y, label %w, label %e\n
             w:\n BARRIER\n br label %e\n e:\n BARRIER\n ret void"
        )
    };
    assert_eq!(points(&body("%n")), Some(3));
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
    let found = cut_of(&body("%n")).expect("a common bound");
    let kept = (found.points, found.shared, found.thread_bytes);
    assert_eq!(kept, (2, 1, 0), "the counter is the block's");
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
    let found = cut_of(&body("%t")).expect("joined");
    assert_eq!((found.shared, found.thread_bytes), (0, 16));
    let found = cut_of(&body("%n")).expect("joined");
    assert_eq!((found.shared, found.thread_bytes), (1, 0));
}

#[test]
fn values_over_a_barrier() {
    // What the index gives is computed again; what memory gave is kept.
    let again = "%v = mul i32 %t, 3\n BARRIER\n call void @use(i32 %v)\n ret void";
    assert_eq!(cut_of(again).map(|c| (c.shared, c.thread_bytes)), Some((0, 0)));
    let kept = "%v = load i32, ptr %p\n BARRIER\n call void @use(i32 %v)\n ret void";
    assert_eq!(cut_of(kept).map(|c| (c.shared, c.thread_bytes)), Some((0, 16)));
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
    assert_eq!(cut_of(&body(s)).map(|c| (c.thread_bytes, c.parallel)), Some((0, false)));
    assert_eq!(cut_of(&body("BARRIER")).map(|c| c.thread_bytes), Some(32));
    assert_eq!(cut_with(&body(s), Checks::Kept).map(|c| c.thread_bytes), Some(0));
    assert_eq!(cut_with(&body("BARRIER"), Checks::Kept).map(|c| c.thread_bytes), Some(32));
    // The checker would take a place in the frame for memory that blocks share.
    for escapes in [
        "store ptr %v, ptr %p",
        "%place = getelementptr i32, ptr %v, i32 %t\n %any = select i1 true, ptr %place, ptr %p\n store i32 1, ptr %any",
        "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %v, i64 32, i1 false)",
    ] {
        assert_eq!(cut_with(&body(&format!("{escapes}\n BARRIER")), Checks::Kept), None, "{escapes}");
    }
    let filled = "call void @llvm.memset.p0.i64(ptr %v, i8 0, i64 32, i1 false)\n BARRIER";
    assert_eq!(cut_with(&body(filled), Checks::Kept).map(|c| c.thread_bytes), Some(32));
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

#[test]
fn collectives_of_a_warp() {
    let all = |mask: &str| {
        points(&format!(
            "%m = call i32 @__gpurace_activemask(ptr %c)
             %got = call i64 @__gpurace_shfl(ptr %c, i32 2, i32 {mask}, i32 %t, i32 %n, i32 31, i32 0)
             %v = call i32 @__gpurace_vote(ptr %c, i32 3, i32 {mask}, i32 %t, i32 0)
             SYNCWARP
             %r = trunc i64 %got to i32\n %q = add i32 %r, %v\n call void @use(i32 %q)\n ret void"
        ))
    };
    // An exchange has two cuts.
    assert_eq!(all("-1"), Some(6));
    assert_eq!(all("%m"), Some(6));
    assert_eq!(all("65535"), None);
    let tile = |mask: u32, lane: &str, start: &str| {
        points(&format!(
            "%l = and i32 {lane}\n %f = and i32 {start}\n %m = shl i32 {mask}, %f
             %v = call i32 @__gpurace_vote(ptr %c, i32 3, i32 %m, i32 %t, i32 0)\n call void @use(i32 %v)\n ret void"
        ))
    };
    assert_eq!(tile(0xffff, "%t, 31", "%l, -16"), Some(3));
    assert_eq!(tile(15, "%t, 31", "%l, -4"), Some(3));
    // Masks that overlap, leave lanes out, or are of others.
    assert_eq!(tile(0xffff, "%t, 31", "%l, -8"), None);
    assert_eq!(tile(0x7fff, "%t, 31", "%l, -16"), None);
    assert_eq!(tile(7, "%t, 31", "%l, -4"), None);
    assert_eq!(tile(0xffff, "%t, 15", "%l, -16"), None);
    assert_eq!(tile(0xffff, "%n, 31", "%l, -16"), None);
    assert_eq!(all("%n"), None);
}

/// A shuffle of the lanes of a mask.
fn shuffle(mask: &str) -> String {
    format!("%got = call i64 @__gpurace_shfl(ptr %c, i32 2, i32 {mask}, i32 %t, i32 1, i32 31, i32 5)")
}

#[test]
fn warps_that_part() {
    let under = |condition: &str, body: &str| {
        parting_points(&format!(
            "%x = icmp slt i32 {condition}, 8\n br i1 %x, label %some, label %end\n some:\n {body}\n br label %end\n
             end:\n ret void"
        ))
    };
    // An exchange has two cuts, a sync and the question which lanes are active have one.
    assert_eq!(under("%t", &shuffle("255")), Some(3));
    assert_eq!(under("%t", "SYNCWARP"), Some(2));
    assert_eq!(under("%t", "%m = call i32 @__gpurace_activemask(ptr %c)\n call void @use(i32 %m)"), Some(2));
    assert_eq!(under("%b", &shuffle("255")), Some(3), "the mask is that of some lanes");
    assert_eq!(under("%b", &shuffle("-1")), None, "all lanes meet");
    // The other threads have ended.
    assert_eq!(under("%t", &format!("{}\n BARRIER", shuffle("255"))), Some(4));
    // A barrier of the block that some lanes reach, and others not yet, is no cut.
    let apart = format!("{}\n BARRIER\n br label %end\n end:\n BARRIER\n ret void", shuffle("255"));
    let apart = format!("%x = icmp slt i32 %t, 8\n br i1 %x, label %some, label %end\n some:\n {apart}");
    assert_eq!(points(&apart), None);
    // Lanes in different iterations share no value, not even a counter with a common bound.
    let kept = |start: &str, mask: &str| {
        let body = format!(
            "%x = icmp slt i32 {start}, 8\n br i1 %x, label %h, label %e\n
             h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n
             %got = call i64 @__gpurace_shfl(ptr %c, i32 2, i32 {mask}, i32 %i, i32 1, i32 31, i32 5)\n
             %j = add i32 %i, 1\n %y = icmp slt i32 %j, %n\n br i1 %y, label %h, label %e\n e:\n ret void"
        );
        cut_of(&body).map(|found| (found.parts, found.shared))
    };
    assert_eq!(kept("%b", "-1"), Some((false, 1)));
    assert_eq!(kept("%t", "255"), Some((true, 0)));
}

#[test]
fn checked_kernels_with_collectives() {
    let cut = |checks| {
        let text = module("SYNCWARP\n ret void");
        // SAFETY: the module is live.
        ir::testing::with_module(&text, |module| unsafe {
            let kernels = ir::definitions(module).filter(|&f| ir::name(f) == "k").map(|f| (f, 1));
            let kernels: Vec<_> = kernels.collect();
            let reach = crate::analysis::reach::of_kernels(module, &[kernels[0].0]);
            crate::blocks::entries::candidates(&kernels, &reach, checks).len()
        })
    };
    assert_eq!((cut(Checks::None), cut(Checks::Kept)), (1, 1));
    // The runtime tells the checker which lanes have met, also where all lanes do.
    let parts = |checks| cut_with("SYNCWARP\n ret void", checks).map(|found| found.parts);
    assert_eq!((parts(Checks::None), parts(Checks::Kept)), (Some(false), Some(true)));
    // A shuffle orders nothing. Its lanes meet by themselves, unless a sync beside it does not let them.
    let parts = |body: &str, checks| {
        cut_with(&format!("{}\n {body} ret void", shuffle("-1")), checks).map(|found| found.parts)
    };
    assert_eq!((parts("", Checks::None), parts("", Checks::Kept)), (Some(false), Some(false)));
    assert_eq!(parts("SYNCWARP\n", Checks::Kept), Some(true));
}

/// The points of a kernel with a collective under the condition `%x`.
fn meets_under(condition: &str) -> bool {
    points(&format!(
        "{condition}\n br i1 %x, label %yes, label %no\n yes:\n SYNCWARP\n br label %no\n no:\n ret void"
    ))
    .is_some()
}

#[test]
fn collective_under_a_condition_of_the_warp() {
    let compared = |index: &str| meets_under(&format!("{index}\n %x = icmp slt i32 %w, %n"));
    let of_grid = "%m = mul i32 %b, %d\n %i = add i32 %m, %t\n";
    let one = |index: &str, by: &str| compared(&format!("{index} %w = {by}"));
    // The warp's index in the block and in the grid, as programs write it.
    for by in ["lshr i32 %t, 5", "ashr i32 %t, 5", "udiv i32 %t, 32", "sdiv i32 %t, 64", "and i32 %t, -32"] {
        assert!(one("", by), "{by}");
    }
    for by in ["lshr i32 %i, 5", "udiv i32 %i, 32", "sdiv i32 %i, 32", "and i32 %i, 992"] {
        assert!(one(of_grid, by), "{by}");
    }
    for by in ["lshr i32 %t, 4", "udiv i32 %t, 48", "and i32 %t, 31", "and i32 %t, -16", "urem i32 %t, 32"] {
        assert!(!one("", by), "{by}");
    }
    // Any base that is a multiple of 32 and the same for a warp; division rounds negative numbers up.
    let with = |base: &str| format!("{base}\n %i = add i32 %m, %t\n");
    assert!(one(&with("%m = shl i32 %n, 5"), "ashr i32 %i, 5"));
    assert!(!one(&with("%m = shl i32 %n, 5"), "sdiv i32 %i, 32"));
    assert!(!one(&with("%m = shl i32 %n, 4"), "ashr i32 %i, 5"));
    assert!(!one(&with("%m = mul i32 %b, 100"), "ashr i32 %i, 5"));
    assert!(!one(&with("%m = shl i32 %t, 5"), "lshr i32 %i, 5"));
    assert!(!one("%m = mul i32 %n, %d\n %i = add i32 %m, %t\n", "sdiv i32 %i, 32"));
    // A cast to fewer bits may make a number negative.
    let narrow = "%h = trunc i32 %t to i8\n %q = sdiv i8 %h, 32\n";
    assert!(!one(narrow, "sext i8 %q to i32"));
    assert!(!meets_under("%x = icmp eq i32 %t, 0"));
    assert!(!meets_under("%v = load i32, ptr %p\n %x = icmp eq i32 %v, 0"));
}

#[test]
fn collective_under_a_limit_of_whole_warps() {
    let under = |comparison: &str| meets_under(&format!("%m32 = shl i32 %n, 5\n %x = icmp {comparison}"));
    for alike in ["ult i32 %t, 64", "uge i32 %t, 32", "sgt i32 32, %t", "ugt i32 %t, 31", "sle i32 %t, 95"] {
        assert!(under(alike), "{alike}");
    }
    assert!(under("slt i32 %t, %m32") && under("slt i32 %t, %d"), "no warp parts at a multiple of 32");
    for apart in ["ult i32 %t, 48", "ule i32 %t, 32", "ugt i32 %t, 32", "eq i32 %t, 32", "slt i32 %t, %n"] {
        assert!(!under(apart), "{apart}");
    }
    // The limit must be that of the whole warp, and the index that of one.
    assert!(!meets_under("%m32 = shl i32 %t, 5\n %x = icmp slt i32 %t, %m32"));
    assert!(!meets_under("%h = lshr i32 %t, 1\n %x = icmp ult i32 %h, 32"));
    assert!(!meets_under("%v = load i32, ptr %p\n %x = icmp ult i32 %v, 32"));
    let of_grid = "%m = mul i32 %b, %d\n %i = add i32 %m, %t\n";
    assert!(meets_under(&format!("{of_grid} %x = icmp ult i32 %i, 64")));
    assert!(!meets_under(&format!("{of_grid} %x = icmp ult i32 %i, %n")));
}

#[test]
fn collective_under_a_vote() {
    let under = |value: &str, control: &str| {
        points(&format!(
            "%o = icmp slt i32 %t, {control}\n br i1 %o, label %in, label %out\n
             in:\n {value}\n %x = icmp ne i32 %v, 0\n br i1 %x, label %yes, label %no\n
             yes:\n SYNCWARP\n br label %no\n no:\n br label %out\n out:\n ret void"
        ))
        .is_some()
    };
    let vote = "%v = call i32 @__gpurace_vote(ptr %c, i32 1, i32 -1, i32 %t, i32 0)";
    let from = |lane: &str, c: u32| {
        format!(
            "%got = call i64 @__gpurace_shfl(ptr %c, i32 0, i32 -1, i32 %t, i32 {lane}, i32 {c}, i32 0)
             %v = trunc i64 %got to i32"
        )
    };
    let always = |value: &str| {
        let body = "\n %x = icmp ne i32 %v, 0\n br i1 %x, label %yes, label %no\n yes:\n SYNCWARP\n
             br label %no\n no:\n ret void";
        points(&format!("{value} {body}")).is_some()
    };
    assert!(always(vote) && always(&from("%n", 31)));
    assert!(!always(&from("%t", 31)) && !always(&from("%n", 0x101f)));
    assert!(!under(vote, "7"), "only some lanes vote");
}

#[test]
fn barrier_under_a_condition_of_the_warp() {
    let body = |barrier: &str| {
        points(&format!(
            "SYNCWARP\n %w = lshr i32 %t, 5\n %x = icmp eq i32 %w, 0\n br i1 %x, label %yes, label %no\n
             yes:\n {barrier}\n br label %no\n no:\n ret void"
        ))
    };
    assert_eq!(body("SYNCWARP"), Some(3));
    assert_eq!(body("BARRIER"), None);
}

#[test]
fn collective_after_a_return() {
    let body = |condition: &str| {
        points(&format!(
            "%w = lshr i32 %t, 5\n %x = icmp slt i32 {condition}, %n\n br i1 %x, label %on, label %end\n
             end:\n ret void\n on:\n SYNCWARP\n ret void"
        ))
    };
    assert_eq!(body("%w"), Some(2));
    assert_eq!(body("%t"), None);
}

#[test]
fn collective_in_a_loop() {
    let body = |start: &str, bound: &str| {
        points(&format!(
            "%w = lshr i32 %t, 5\n br label %h\n h:\n %i = phi i32 [ {start}, %0 ], [ %j, %h ]\n SYNCWARP\n
             %j = add i32 %i, 1\n %x = icmp slt i32 %j, {bound}\n br i1 %x, label %h, label %e\n e:\n ret void"
        ))
    };
    assert_eq!(body("0", "%n"), Some(2));
    assert_eq!(body("%w", "%n"), Some(2));
    assert_eq!(body("0", "%w"), Some(2));
    assert_eq!(body("%t", "%n"), None);
}

#[test]
fn collective_in_a_function() {
    assert_eq!(points("call void @meet(ptr %c)\n call void @meet(ptr %c)\n ret void"), Some(3));
    assert_eq!(points("call void @again(ptr %c)\n ret void"), None);
    let checked = "call void @meet(ptr %c)\n ret void";
    assert_eq!(cut_with(checked, Checks::Kept).map(|c| c.points), Some(1), "the call stays");
}
