//! Which loops are cut, and beside them the neighbours that must not be.

use super::*;
use crate::blocks::entries::Checks;
use crate::blocks::segments;

/// What becomes of a kernel's loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    /// Loops that are cut.
    cut: usize,
    /// Threads may leave one of them earlier than others.
    apart: bool,
}

const NONE: Found = Found { cut: 0, apart: false };
const TOGETHER: Found = Found { cut: 1, apart: false };
const APART: Found = Found { cut: 1, apart: true };

/// `%t` is the thread's index, `%d` the size of the block, `%n` a parameter, `%a` an array.
fn found(body: &str, checks: Checks) -> Found {
    let text = format!(
        "declare void @__gpurace_read(ptr, ptr, i32, i32)
         declare void @__gpurace_write(ptr, ptr, i32, i32, i64)
         declare void @__gpurace_barrier(ptr, i32, i32, i32)
         define void @k(ptr %c, ptr %a, i32 %n) {{
           %t = load i32, ptr %c
           %dp = getelementptr inbounds i8, ptr %c, i64 {dim}
           %d = load i32, ptr %dp
           {body}
         }}",
        dim = gpurace_abi::context::offset::NTID
    )
    .replace("BARRIER", "call void @__gpurace_barrier(ptr %c, i32 0, i32 0, i32 7)");
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        let cut = segments::cut(module, kernel, checks, &Default::default()).expect("no barrier");
        let cut_at_loops = cut.runs.len() - 1 - cut.barriers as usize;
        Found { cut: cut_at_loops, apart: cut.own_points.is_some() }
    })
}

/// A loop whose variable `%i` starts at `start` and grows by `step` while it is below `end`, and which reads `%a` at
/// `index`.
fn looped(start: &str, step: &str, end: &str, index: &str) -> String {
    format!(
        "br label %h\n h:\n %i = phi i32 [ {start}, %0 ], [ %j, %h ]\n {index}
         %p = getelementptr inbounds float, ptr %a, i32 %at\n call void @__gpurace_read(ptr %c, ptr %p, i32 4, i32 1)\n
         %v = load float, ptr %p\n %j = add i32 %i, {step}\n %x = icmp slt i32 %j, {end}\n
         br i1 %x, label %h, label %e\n e:\n ret void"
    )
}

/// Without checks and with rows.
fn both(body: &str) -> [Found; 2] {
    [Checks::None, Checks::InRows].map(|checks| found(body, checks))
}

const SAME: &str = "%at = add i32 %i, 0";

#[test]
fn neighbouring_threads_use_neighbouring_memory() {
    // Threads step over the elements of others: of those in the block, or of many.
    assert_eq!(both(&looped("%t", "%d", "%n", SAME)), [NONE, APART]);
    let grid = looped("%t", "%s", "%n", SAME);
    assert_eq!(both(&format!("%s = mul i32 %d, %n\n {grid}")), [APART; 2]);
    assert_eq!(both(&looped("%t", "1000", "%n", SAME)), [APART; 2]);
    // A column for each thread.
    let column = "%r = mul i32 %i, %n\n %at = add i32 %r, %t";
    assert_eq!(both(&looped("0", "1", "%n", column)), [TOGETHER; 2]);
    // A row for each thread: it had better run alone.
    let row = "%r = mul i32 %t, %n\n %at = add i32 %r, %i";
    assert_eq!(both(&looped("0", "1", "%n", row)), [NONE; 2]);
    // All threads read one element.
    assert_eq!(both(&looped("0", "1", "%n", SAME)), [NONE, TOGETHER]);
}

#[test]
fn loops_whose_accesses_are_all_proved_run_as_without_checks() {
    let proved = |body: String| {
        let check = "call void @__gpurace_read(ptr %c, ptr %p, i32 4, i32 1)\n";
        assert!(body.contains(check));
        let in_loop = body.replace(check, "");
        let elsewhere = in_loop.replacen(
            "br label %h",
            "%p0 = getelementptr i32, ptr %a, i32 %t\n
            call void @__gpurace_read(ptr %c, ptr %p0, i32 4, i32 1)\n %v0 = load i32, ptr %p0\n br label %h",
            1,
        );
        [in_loop, elsewhere].map(|body| found(&body, Checks::InRows))
    };
    let column = "%r = mul i32 %i, %n\n %at = add i32 %r, %t";
    assert_eq!(proved(looped("0", "1", "%n", column)), [TOGETHER; 2]);
    assert_eq!(proved(looped("%t", "1000", "%n", SAME)), [APART; 2]);
    // Neighbours that would be cut if they had checks.
    assert_eq!(proved(looped("%t", "%d", "%n", SAME)), [NONE; 2]);
    assert_eq!(proved(looped("0", "1", "%n", SAME)), [NONE; 2]);
    let row = "%r = mul i32 %t, %n\n %at = add i32 %r, %i";
    assert_eq!(proved(looped("0", "1", "%n", row)), [NONE; 2]);
}

#[test]
fn threads_leave_loops_by_their_numbers_or_by_memory() {
    let column = "%r = mul i32 %i, %n\n %at = add i32 %r, %t";
    assert_eq!(both(&looped("0", "1", "%t", column)), [APART; 2]);
    // What memory says of a thread, it may say of it alone.
    let from_memory = format!("%q = getelementptr i32, ptr %a, i32 %t\n %m = load i32, ptr %q\n {column}");
    assert_eq!(both(&looped("0", "1", "%m", &from_memory)), [NONE; 2]);
    // It says the same to all.
    let of_all = format!("%m = load i32, ptr %a\n {column}");
    assert_eq!(both(&looped("0", "1", "%m", &of_all)), [APART; 2]);
}

/// A loop along columns, under a condition.
fn guarded(condition: &str) -> String {
    format!(
        "%g = icmp {condition}\n br i1 %g, label %b, label %e\n b:\n br label %h\n h:\n %i = phi i32 [ 0, %b ], [ %j, %h ]
         %r = mul i32 %i, %n\n %at = add i32 %r, %t\n %p = getelementptr inbounds float, ptr %a, i32 %at
         call void @__gpurace_read(ptr %c, ptr %p, i32 4, i32 1)\n %v = load float, ptr %p\n %j = add i32 %i, 1
         %x = icmp slt i32 %j, %n\n br i1 %x, label %h, label %e\n e:\n ret void"
    )
}

#[test]
fn loops_of_few_threads() {
    assert_eq!(both(&guarded("slt i32 %t, %n")), [APART; 2]);
    assert_eq!(both(&guarded("ne i32 %t, 0")), [APART; 2]);
    assert_eq!(both(&guarded("eq i32 %t, 0")), [NONE; 2]);
    // A block runs it, or does not.
    assert_eq!(both(&guarded("eq i32 %n, 7")), [TOGETHER; 2]);
}

#[test]
fn loops_around_loops() {
    let nested = |end: &str| {
        format!(
            "%d2 = mul i32 %d, 2\n %q = getelementptr i32, ptr %a, i32 %t\n %m = load i32, ptr %q\n br label %g\n g:\n %k = phi i32 [ 0, %0 ], [ %l, %f ]\n br label %h\n h:\n %i = phi i32 [ %t, %g ], [ %j, %h ]
         %p = getelementptr inbounds float, ptr %a, i32 %i\n call void @__gpurace_read(ptr %c, ptr %p, i32 4, i32 1)
         %v = load float, ptr %p\n %j = add i32 %i, %d2\n %x = icmp slt i32 %j, %n\n br i1 %x, label %h, label %f\n f:
         %l = add i32 %k, 1\n %y = icmp slt i32 %l, {end}\n br i1 %y, label %g, label %e\n e:\n ret void"
        )
    };
    assert_eq!(both(&nested("%n")), [Found { cut: 2, apart: true }; 2]);
    // Threads in different iterations of the outer loop would share the values of the inner one.
    assert_eq!(both(&nested("%m")), [NONE; 2]);
}

#[test]
fn of_many_loops_the_first_ones_are_cut() {
    let loops = |count: usize| {
        let one = |at: usize| {
            format!(
                "br label %h{at}\n h{at}:\n %i{at} = phi i32 [ %t, %b{at} ], [ %j{at}, %h{at} ]
                 %p{at} = getelementptr inbounds float, ptr %a, i32 %i{at}
                 call void @__gpurace_read(ptr %c, ptr %p{at}, i32 4, i32 1)\n %v{at} = load float, ptr %p{at}
                 %j{at} = add i32 %i{at}, 1000\n %x{at} = icmp slt i32 %j{at}, %n
                 br i1 %x{at}, label %h{at}, label %b{}\n b{}:\n",
                at + 1,
                at + 1
            )
        };
        format!("br label %b0\n b0:\n{} ret void", (0..count).map(one).collect::<String>())
    };
    for (count, cut) in [(2, 2), (MOST_CUT, MOST_CUT), (MOST_CUT + 3, MOST_CUT)] {
        assert_eq!(both(&loops(count)), [Found { cut, apart: true }; 2]);
    }
}

#[test]
fn loops_that_write_to_shared_memory() {
    let loops = |before: &str, base: u64| {
        let shared = format!("%sp = getelementptr inbounds i8, ptr %c, i64 {base}\n %s = load ptr, ptr %sp");
        let start = format!(
            "{shared}\n %own = getelementptr inbounds float, ptr %s, i32 %t\n {before}\n br label %b\n b:\n"
        );
        let write = "%p2 = getelementptr inbounds float, ptr %s, i32 %i
             call void @__gpurace_write(ptr %c, ptr %p2, i32 4, i32 2, i64 1)\n store float 1.0, ptr %p2\n %at = add i32 %i, 0";
        let body = looped("%t", "1000", "%n", write).replace("[ %t, %0 ]", "[ %t, %b ]");
        both(&format!("{start}{body}"))
    };
    let (shared, write) = (
        gpurace_abi::context::offset::SHARED_BASE as u64,
        "call void @__gpurace_write(ptr %c, ptr %own, i32 4, i32 7, i64 1)\n store float 1.0, ptr %own",
    );
    assert_eq!(loops("", shared), [APART; 2]);
    // The checker would keep the first write for both.
    assert_eq!(loops(write, shared), [APART, NONE]);
    assert_eq!(loops(&format!("{write}\n BARRIER"), shared), [APART; 2]);
}

#[test]
fn loops_in_shared_memory() {
    let body = |access: &str| {
        let shared = gpurace_abi::context::offset::DYNAMIC_SHARED;
        let own = format!(
            "%sp = getelementptr inbounds i8, ptr %c, i64 {shared}\n %s = load ptr, ptr %sp\n br label %b\n b:\n"
        );
        let at =
            format!("%p2 = getelementptr inbounds float, ptr %s, i32 %i\n {access}\n %at = add i32 0, 0");
        both(&format!("{own}{}", looped("%t", "%d", "%n", &at).replace("[ %t, %0 ]", "[ %t, %b ]")))
    };
    let read = "call void @__gpurace_read(ptr %c, ptr %p2, i32 4, i32 2)\n %w = load float, ptr %p2";
    let write = "call void @__gpurace_write(ptr %c, ptr %p2, i32 4, i32 2, i64 1)\n store float 1.0, ptr %p2";
    assert_eq!(body(read), [NONE, APART]);
    assert_eq!(body(write), [NONE; 2]);
}
