//! Accesses that are kept within their array, each beside neighbours that are not.

use super::*;
use crate::ir::modules::verify;
use crate::ir::testing::with_module;

/// A kernel `k(ptr %p, i32 %n)` with this body: `%t` is the thread's index, `%v` a loaded number and `%w` the same
/// with 64 bits.
fn module(body: &str) -> String {
    format!(
        "target triple = \"nvptx64-nvidia-cuda\"
         @a = internal addrspace(3) global [64 x i32] undef
         @b = internal addrspace(3) global [64 x i32] undef
         @dynamic = external addrspace(3) global [0 x i32]
         @again = external addrspace(3) global [0 x i64]
         @device = internal addrspace(1) global [64 x i32] zeroinitializer
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
         define ptx_kernel void @k(ptr %p, i32 %n) {{
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %v = load i32, ptr %p
           %w = sext i32 %v to i64
           {body}
           ret void
         }}"
    )
}

/// Shows the module with its compares.
fn inserted<T>(body: &str, see: impl FnOnce(LLVMModuleRef) -> T) -> T {
    with_module(&module(body), |module| {
        // SAFETY: the module is live and this test's alone.
        unsafe {
            insert(module);
            verify(module).unwrap_or_else(|why| panic!("{body}: {why}"));
        }
        see(module)
    })
}

/// The numbers of compares and of accesses that are kept.
fn counts(body: &str) -> (usize, usize) {
    inserted(body, |module| {
        // SAFETY: as above.
        unsafe {
            let all: Vec<_> = ir::definitions(module).flat_map(|f| ir::instructions(f)).collect();
            let ends = |&i: &LLVMValueRef| EntryCall::of(i).is_some_and(|c| c.entry == Entry::LeavesArray);
            let compares = all.iter().filter(|i| ends(i)).count();
            (compares, all.iter().filter(|&&i| is_kept(i)).count())
        }
    })
}

/// The bodies use a second array.
const OTHER: &str = "store i32 0, ptr addrspace(3) @b";

#[test]
fn an_index_from_memory_is_compared() {
    for access in [
        "store i32 1, ptr addrspace(3) %e",
        "%x = load i32, ptr addrspace(3) %e",
        "%x = atomicrmw add ptr addrspace(3) %e, i32 1 monotonic",
        "%x = cmpxchg ptr addrspace(3) %e, i32 0, i32 1 monotonic monotonic",
        "%g = addrspacecast ptr addrspace(3) %e to ptr\n store i32 1, ptr %g",
    ] {
        let element = "%e = getelementptr inbounds [64 x i32], ptr addrspace(3) @a, i64 0, i64 %w";
        assert_eq!(counts(&format!("{OTHER}\n{element}\n{access}")), (1, 1), "{access}");
    }
}

#[test]
fn what_an_index_is_computed_from_decides() {
    let at = |index: &str| {
        counts(&format!(
            "{OTHER}\n{index}\n%e = getelementptr [64 x i32], ptr addrspace(3) @a, i64 0, i32 %i
             store i32 1, ptr addrspace(3) %e"
        ))
    };
    for from_memory in [
        "%i = add i32 %v, %t",
        "%i = atomicrmw add ptr %p, i32 1 monotonic",
        "%i = and i32 %v, 64",
        "%i = urem i32 %v, 65",
        "%s = icmp slt i32 %v, 0\n %i = select i1 %s, i32 0, i32 %v",
        // It may be negative.
        "%i = srem i32 %v, 64",
    ] {
        assert_eq!(at(from_memory), (1, 1), "{from_memory}");
    }
    // Those stay in the array.
    for inside in [
        "%i = and i32 %v, 63",
        "%i = urem i32 %v, 64",
        "%h = mul i32 %v, 5\n %i = lshr i32 %h, 26",
        "%c = trunc i32 %v to i8\n %z = zext i8 %c to i32\n %i = lshr i32 %z, 2",
    ] {
        assert_eq!(at(inside), (0, 1), "{inside}");
    }
    // Promises count for nothing, and neither does a bound that is one too high.
    for promised in [
        "%s = lshr i32 %v, 26\n %i = add nuw nsw i32 %s, 1",
        "%c = and i32 %v, 63\n %i = sub nuw i32 %c, %t",
        "%h = mul i32 %v, 5\n %i = lshr i32 %h, 25",
    ] {
        assert_eq!(at(promised), (1, 1), "{promised}");
    }
    // The prover knows those.
    for other in ["%i = add i32 %t, %n", "%i = shl i32 %t, 1"] {
        assert_eq!(at(other), (0, 0), "{other}");
    }
}

#[test]
fn the_array_must_be_known() {
    let store = "store i32 1, ptr addrspace(3) %e";
    let element = |of: &str| format!("%e = getelementptr i32, ptr addrspace(3) {of}, i64 %w");
    assert_eq!(counts(&format!("{OTHER}\n{}\n{store}", element("@a"))), (1, 1));
    // It is the only one.
    assert_eq!(counts(&format!("{}\n{store}", element("@a"))), (0, 0));
    // All dynamic shared memory is one array, whose size the code reads.
    assert_eq!(counts(&format!("{OTHER}\n{}\n{store}", element("@dynamic"))), (1, 1));
    let again = "store i32 0, ptr addrspace(3) @again";
    assert_eq!(counts(&format!("{again}\n{}\n{store}", element("@dynamic"))), (0, 0));
    // It is one of two.
    let one = "%s = icmp eq i32 %n, 0\n %q = select i1 %s, ptr addrspace(3) @a, ptr addrspace(3) @b";
    assert_eq!(counts(&format!("{one}\n{}\n{store}", element("%q"))), (0, 0));
    // It is not shared.
    let device =
        "%e = getelementptr i32, ptr addrspace(1) @device, i64 %w\n store i32 1, ptr addrspace(1) %e";
    assert_eq!(counts(&format!("{OTHER}\n store i32 1, ptr addrspace(3) @a\n{device}")), (0, 0));
}

#[test]
fn one_compare_serves_accesses_through_one_pointer() {
    let element = |ty: &str, n: u32| format!("%e{n} = getelementptr {ty}, ptr addrspace(3) @a, i64 %w");
    let update = "%x = load i32, ptr addrspace(3) %e0\n store i32 %x, ptr addrspace(3) %e0";
    assert_eq!(counts(&format!("{OTHER}\n{}\n{update}", element("i32", 0))), (1, 2));
    // The second access is wider.
    let wider = "%x = load i32, ptr addrspace(3) %e0\n store i64 0, ptr addrspace(3) %e0";
    assert_eq!(counts(&format!("{OTHER}\n{}\n{wider}", element("i32", 0))), (2, 2));
    // It is in another basic block.
    let later =
        "%x = load i32, ptr addrspace(3) %e0\n br label %on\n on:\n store i32 %x, ptr addrspace(3) %e0";
    assert_eq!(counts(&format!("{OTHER}\n{}\n{later}", element("i32", 0))), (2, 2));
}

/// The largest offset of an access leaves room for all its bytes.
#[test]
fn the_whole_access_is_compared() {
    for (ty, most) in [("i8", 255), ("i32", 252), ("<4 x i32>", 240)] {
        let body = format!(
            "{OTHER}\n%e = getelementptr i8, ptr addrspace(3) @a, i64 %w\n store {ty} zeroinitializer, ptr addrspace(3) %e"
        );
        // SAFETY: as above.
        let text = inserted(&body, |module| unsafe { ir::text(LLVMPrintModuleToString(module)) });
        assert!(
            text.lines().any(|line| line.contains("icmp ugt") && line.ends_with(&format!(", {most}"))),
            "{text}"
        );
        assert!(!text.contains("inbounds"), "{text}");
    }
}

#[test]
fn code_for_a_gpu_traps() {
    let body = format!(
        "{OTHER}\n%e = getelementptr i32, ptr addrspace(3) @a, i64 %w\n store i32 1, ptr addrspace(3) %e"
    );
    let text = inserted(&body, |module| {
        // SAFETY: as above.
        unsafe {
            make_traps(module);
            verify(module).unwrap();
            ir::text(LLVMPrintModuleToString(module))
        }
    });
    assert!(text.contains("call void @llvm.trap()\n  unreachable"), "{text}");
    assert!(!text.contains("call void @__gpurace") && !text.contains("private"), "{text}");
}
