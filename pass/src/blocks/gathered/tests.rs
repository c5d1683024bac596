//! What leaves itself in a buffer, and beside it the neighbour that must not.

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction};

use super::*;
use crate::blocks::entries::Checks;
use crate::blocks::segments;

/// What becomes of a kernel's checks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// The instructions that leave each access for itself, and those that leave runs of them.
    scattered: Vec<u32>,
    runs: Vec<u32>,
    /// Checks that stay calls, and calls that hand buffers over.
    calls: usize,
    hand_overs: usize,
}

/// A kernel whose threads run a loop as often as memory says: `%i` counts its turns, `%a` is
/// an array, `%n` a parameter.
fn of_loop(body: &str) -> Found {
    of_kernel(&loop_of(body))
}

fn loop_of(body: &str) -> String {
    format!(
        "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n {body}\n %j = add i32 %i, 1\n %x = icmp slt i32 %j, %m\n br i1 %x, label %h, label %e\n e:\n ret void"
    )
}

/// `READ s p` and `WRITE s p` check accesses of 4 bytes at `p` by instruction `s`.
fn see_kernel(body: &str, see: impl FnOnce(&segments::Segments)) {
    let body = format!("%b = getelementptr i32, ptr %a, i32 %t\n %m = load i32, ptr %b\n {body}");
    let lines: Vec<_> = body
        .lines()
        .map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["READ", site, address] => {
                format!("call void @__gpurace_read(ptr %c, ptr {address}, i32 4, i32 {site})")
            }
            ["WRITE", site, address] => {
                format!("call void @__gpurace_write(ptr %c, ptr {address}, i32 4, i32 {site}, i64 1)")
            }
            _ => line.to_owned(),
        })
        .collect();
    let text = format!(
        "declare void @__gpurace_read(ptr, ptr, i32, i32)
         declare void @__gpurace_write(ptr, ptr, i32, i32, i64)
         declare void @__gpurace_write_range(ptr, ptr, i64, i32)
         define void @k(ptr %c, ptr %a, i32 %n) {{
           %t = load i32, ptr %c
           {}
         }}",
        lines.join("\n")
    );
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        let cut = segments::cut(module, kernel, Checks::InRows, &Default::default())
            .expect("a kernel that can be cut");
        let broken = LLVMVerifyFunction(cut.function, LLVMVerifierFailureAction::LLVMPrintMessageAction);
        assert_eq!(broken, 0, "{}", ir::text(LLVMPrintValueToString(cut.function)));
        see(&cut);
    });
}

fn of_kernel(body: &str) -> Found {
    let mut found = Found::default();
    // SAFETY: the function is live.
    see_kernel(body, |cut| unsafe {
        for batch in cut.batches.iter().flatten() {
            match batch.addresses {
                FrameAddresses::Items { .. } => found.scattered.push(batch.site),
                FrameAddresses::Runs { .. } => found.runs.push(batch.site),
                FrameAddresses::Each { .. } | FrameAddresses::Affine { .. } => {}
            }
        }
        assert!(
            !cut.parallel || !cut.batches.iter().flatten().any(FrameBatch::is_gathered),
            "threads leave items one after the other"
        );
        for i in ir::instructions(cut.function) {
            if hands_over(i) {
                found.hand_overs += 1;
            } else if ir::opcode(i) == LLVMOpcode::LLVMCall
                && ir::callee(i).is_some_and(|f| ir::name(f).starts_with("__gpurace_"))
            {
                found.calls += 1;
            }
        }
    });
    found
}

fn runs(sites: &[u32]) -> Found {
    Found { runs: sites.to_vec(), hand_overs: sites.len(), ..Found::default() }
}

fn scattered(sites: &[u32]) -> Found {
    Found { scattered: sites.to_vec(), hand_overs: sites.len(), ..Found::default() }
}

const ELEMENT: &str = "%p = getelementptr inbounds float, ptr %a, i32 %i";

#[test]
fn addresses_that_follow_each_other() {
    assert_eq!(of_loop(&format!("{ELEMENT}\n READ 3 %p")), runs(&[3]));
    // The same one each time is one stream.
    assert_eq!(of_loop("READ 3 %a"), runs(&[3]));
}

#[test]
fn addresses_that_are_read() {
    let body = format!(
        "{ELEMENT}\n READ 3 %p\n %k = load i32, ptr %p\n %q = getelementptr inbounds float, ptr %a, i32 %k\n READ 4 %q"
    );
    assert_eq!(of_loop(&body), Found { scattered: vec![4], runs: vec![3], hand_overs: 2, calls: 0 });
    let list = "%l = phi ptr [ %a, %0 ], [ %o, %h ]\n READ 3 %l\n %o = load ptr, ptr %l";
    assert_eq!(of_loop(list), scattered(&[3]));
}

#[test]
fn addresses_with_a_step() {
    let by = |step: &str| {
        of_loop(&format!(
            "%k = phi i32 [ %t, %0 ], [ %o, %h ]\n %p = getelementptr inbounds float, ptr %a, i32 %k\n READ 3 %p\n %o = add i32 %k, {step}"
        ))
    };
    assert_eq!(by("1"), runs(&[3]));
    assert_eq!(by("2"), scattered(&[3]));
    assert_eq!(by("%n"), scattered(&[3]));
}

/// What the loops around the innermost one do with an address changes it seldom.
#[test]
fn addresses_in_loops_in_each_other() {
    let nested = |outer: &str, inner: &str| {
        of_kernel(&format!(
            "br label %g\n g:\n %k = phi i32 [ %t, %0 ], [ %l, %f ]\n {outer}\n br label %h\n
             h:\n %i = phi i32 [ 0, %g ], [ %j, %h ]\n {inner}\n %p = getelementptr inbounds float, ptr %a, i32 %q\n READ 3 %p\n
             %j = add i32 %i, 1\n %x = icmp slt i32 %j, %m\n br i1 %x, label %h, label %f\n
             f:\n %l = add i32 %k, %n\n %y = icmp slt i32 %l, %m\n br i1 %y, label %g, label %e\n e:\n ret void"
        ))
    };
    let (row, loaded) =
        ("%r = mul i32 %k, %n", "%s = getelementptr i32, ptr %a, i32 %k\n %r = load i32, ptr %s");
    assert_eq!(nested(row, "%q = add i32 %r, %i"), runs(&[3]));
    assert_eq!(nested(loaded, "%q = add i32 %r, %i"), runs(&[3]));
    assert_eq!(nested(row, "%q = add i32 %r, %n"), runs(&[3]), "one address in the inner loop");
    let read = "%s = getelementptr i32, ptr %a, i32 %i\n %q = load i32, ptr %s";
    assert_eq!(nested("", read), scattered(&[3]));
}

#[test]
fn loops_with_writes() {
    assert_eq!(of_loop(&format!("{ELEMENT}\n READ 3 %p\n WRITE 4 %p")), runs(&[3, 4]));
    // A write that stays a call has the buffer handed over before it.
    let range = "call void @__gpurace_write_range(ptr %c, ptr %a, i64 24, i32 4)";
    assert_eq!(
        of_loop(&format!("{ELEMENT}\n READ 3 %p\n {range}")),
        Found { runs: vec![3], hand_overs: 2, calls: 1, ..Found::default() }
    );
}

#[test]
fn writes_say_whether_memory_held_the_value() {
    let text = |body: &str| {
        let mut found = String::new();
        see_kernel(body, |cut| {
            // SAFETY: the function is live.
            found = unsafe { ir::text(LLVMPrintValueToString(cut.function)) };
        });
        found
    };
    let says = |text: &str| text.contains(&format!("i64 {}", GatheredItem::EQUAL as i64));
    assert!(says(&text(&loop_of(&format!("{ELEMENT}\n WRITE 4 %p")))));
    assert!(!says(&text(&loop_of(&format!("{ELEMENT}\n READ 4 %p")))));
    // A value of 16 bytes is not compared.
    let wide = "call void @__gpurace_write_range(ptr %c, ptr %p, i64 16, i32 4)";
    assert!(!says(&text(&loop_of(&format!("{ELEMENT}\n {wide}")))));
}

#[test]
fn loops_around_with_writes() {
    let body = |write: &str| {
        of_kernel(&format!(
        "br label %g\n g:\n %k = phi i32 [ 0, %0 ], [ %l, %f ]\n br label %h\n h:\n %i = phi i32 [ 0, %g ], [ %j, %h ]\n {ELEMENT}\n READ 3 %p\n
         %j = add i32 %i, 1\n %x = icmp slt i32 %j, %m\n br i1 %x, label %h, label %f\n f:\n {write}\n %l = add i32 %k, 1\n
         %y = icmp slt i32 %l, %m\n br i1 %y, label %g, label %e\n e:\n ret void"
    ))
    };
    assert_eq!(body(""), runs(&[3]));
    assert_eq!(body("WRITE 4 %a"), runs(&[3, 4]));
    assert_eq!(body("READ 4 %a\n WRITE 5 %a"), runs(&[3, 4, 5]));
}

#[test]
fn other_sizes() {
    let read = |size: u32| {
        of_loop(&format!("{ELEMENT}\n call void @__gpurace_read(ptr %c, ptr %p, i32 {size}, i32 3)"))
    };
    assert_eq!(read(16), runs(&[3]));
    // Elements of four bytes lie apart.
    assert_eq!(read(2), scattered(&[3]));
    assert_eq!(read(12), Found { calls: 1, ..Found::default() });
}
