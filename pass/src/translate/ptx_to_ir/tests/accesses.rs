//! Accesses: what they do to memory, and in which form the instrumentation sees them.

use super::harness::*;

/// The IR of an asm that takes a pointer, translated and nothing else.
fn ir_of(template: &str, constraints: &str, result: &str, params: &[&str]) -> String {
    let module = Module::parse(&function("f", template, constraints, result, params));
    assert!(module.lower_asm().is_empty());
    module.text()
}

#[test]
fn scope_and_order_travel_with_the_access() {
    let text = ir_of("ld.acquire.gpu.u32 $0, [$1];", "=r,l", "i32", &["ptr"]);
    assert!(
        text.contains("load atomic i32, ptr %a0 syncscope(\"device\") acquire, align 4, !gpurace.atomic"),
        "{text}"
    );
    assert!(text.contains("!{i32 2, i32 1}"), "{text}");
    let text = ir_of("st.release.cta.b64 [$0+8], $1;", "l,l", "void", &["ptr", "i64"]);
    assert!(
        text.contains("getelementptr i8, ptr %a0, i64 8")
            && text.contains("syncscope(\"block\") release, align 8"),
        "{text}"
    );
    let text = ir_of("atom.add.acq_rel.sys.u32 $0, [$1], $2;", "=r,l,r", "i32", &["ptr", "i32"]);
    assert!(text.contains("atomicrmw add ptr %a0, i32 %a1 syncscope(\"system\") acq_rel"), "{text}");
    let text = ir_of("red.shared.max.s32 [$0], $1;", "r,r", "void", &["i32", "i32"]);
    assert!(
        text.contains("atomicrmw max ptr addrspace(3)") && text.contains("!{i32 2, i32 0, i32 5}"),
        "{text}"
    );
    // What gives nothing back is a reduction; an operation that `red` does not have is none.
    let text = ir_of("atom.global.or.b32 _, [$0], $1;", "l,r", "void", &["ptr", "i32"]);
    assert!(text.contains("!{i32 2, i32 0, i32 5}"), "{text}");
    let text = ir_of("atom.global.exch.b32 _, [$0], $1;", "l,r", "void", &["ptr", "i32"]);
    assert!(text.contains("!{i32 2, i32 0}"), "{text}");
    // The swaps of a loop are one read-modify-write together; the program's own may fail.
    let text = ir_of("atom.global.add.noftz.f16 $0, [$1], $2;", "=h,l,h", "i16", &["ptr", "i16"]);
    assert!(text.contains("cmpxchg") && text.contains("!{i32 2, i32 0, i32 2}"), "{text}");
    let text = ir_of("atom.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r", "i32", &["ptr", "i32", "i32"]);
    assert!(text.contains("cmpxchg") && text.contains("!{i32 2, i32 0}"), "{text}");
    let text = ir_of("ld.volatile.f32 $0, [$1];", "=f,l", "float", &["ptr"]);
    assert!(text.contains("load volatile i32, ptr %a0"), "{text}");
    let text = ir_of(
        "ld.global.nc.v4.f32 {$0,$1,$2,$3}, [$4];",
        "=f,=f,=f,=f,l",
        "{ float, float, float, float }",
        &["ptr"],
    );
    assert!(text.contains("load <4 x i32>, ptr addrspace(1)"), "{text}");
    let text = ir_of("ld.relaxed.gpu.v2.u64 {$0,$1}, [$2];", "=l,=l,l", "{ i64, i64 }", &["ptr"]);
    assert!(
        text.contains("load volatile <2 x i64>, ptr %a0, align 16, !gpurace.atomic")
            && text.contains("!{i32 2, i32 0}"),
        "{text}"
    );
    let text = ir_of("ld.acquire.gpu.v2.u32 {$0,$1}, [$2];", "=r,=r,l", "{ i32, i32 }", &["ptr"]);
    assert!(
        text.contains("load atomic i64, ptr %a0 syncscope(\"device\") acquire, align 8, !gpurace.atomic"),
        "{text}"
    );
    assert!(text.contains("!gpurace.elements") && text.contains("!{i32 2}"), "{text}");
    let text = ir_of("st.release.sys.v4.b32 [$0], {$1,$1,$1,$1};", "l,r", "void", &["ptr", "i32"]);
    let (barrier, store) = (text.find("asm sideeffect"), text.find("store volatile <4 x i32>"));
    assert!(barrier.is_some() && barrier < store && text.contains("!{i32 3, i32 2}"), "{text}");
    let text = ir_of("st.volatile.v2.f32 [$0], {$1,$1};", "l,f", "void", &["ptr", "float"]);
    assert!(text.contains("store volatile i64") && text.contains("align 8"), "{text}");
}

#[test]
fn loads_extend_and_stores_cut() {
    let list: [(&str, &str, &str, &[&str]); 4] = [
        ("ld.s8 $0, [$1+1];", "=r,l", "i32", &["ptr"]),
        ("ld.u8 $0, [$1+1];", "=r,l", "i32", &["ptr"]),
        ("{ .reg .u8 d; cvt.u8.u16 d, $1; st.wt.u8 [$0], d; }", "l,h", "void", &["ptr", "i16"]),
        ("st.global.cs.v2.b32 [$0], {$1, $2};", "l,r,r", "void", &["ptr", "i32", "i32"]),
    ];
    let code = code(&list);
    let mut memory = [1u8, 0xfe, 3, 4, 5, 6, 7, 8];
    // SAFETY: the types in `list`; all accesses are in `memory`.
    unsafe {
        type Load = unsafe extern "C" fn(*const u8) -> i32;
        assert_eq!(code.get::<Load>(list[0].0)(memory.as_ptr()), -2);
        assert_eq!(code.get::<Load>(list[1].0)(memory.as_ptr()), 254);
        code.get::<unsafe extern "C" fn(*mut u8, u16)>(list[2].0)(memory.as_mut_ptr(), 0xabcd);
        assert_eq!(memory[..3], [0xcd, 0xfe, 3]);
        code.get::<unsafe extern "C" fn(*mut u8, u32, u32)>(list[3].0)(memory.as_mut_ptr(), 1, 2);
        assert_eq!(memory, [1, 0, 0, 0, 2, 0, 0, 0]);
    }
}

#[test]
fn atomics_give_the_value_before() {
    let list: &[Of2] = &[
        ("atom.add.u32 $0, [$1], $2;", |a, b| a.wrapping_add(b)),
        ("atom.inc.u32 $0, [$1], $2;", |a, b| if a >= b { 0 } else { a + 1 }),
        ("atom.dec.u32 $0, [$1], $2;", |a, b| if a == 0 || a > b { b } else { a - 1 }),
        ("atom.min.s32 $0, [$1], $2;", |a, b| (a as i32).min(b as i32) as u32),
        ("atom.max.u32 $0, [$1], $2;", u32::max),
        ("atom.exch.b32 $0, [$1], $2;", |_, b| b),
        ("atom.or.b32 $0, [$1], $2;", |a, b| a | b),
        ("atom.cas.b32 $0, [$1], $2, 77;", |a, b| if a == b { 77 } else { a }),
        ("atom.add.noftz.f16x2 $0, [$1], $2;", |a, _| a),
    ];
    let code =
        code(&list.iter().map(|(n, _)| (*n, "=r,l,r", "i32", &["ptr", "i32"][..])).collect::<Vec<_>>());
    let mut random = Random(8);
    for (name, wanted) in list {
        // SAFETY: a pointer to a word and a word.
        let f: unsafe extern "C" fn(*mut u32, u32) -> u32 = unsafe { code.get(name) };
        for _ in 0..200 {
            let (a, mut b) = (edge(&mut random), edge(&mut random));
            if name.contains("cas") && b % 2 == 0 {
                b = a;
            }
            // Halves that are numbers, to which zero is added.
            let (a, b) = if name.contains("f16") { (a & 0x3bff_3bff, 0) } else { (a, b) };
            let mut memory = a;
            // SAFETY: `memory` is a word.
            assert_eq!(unsafe { f(&mut memory, b) }, a, "{name}");
            assert_eq!(memory, wanted(a, b), "{name} of {a:#x}, {b:#x}");
        }
    }
    let two = "atom.add.noftz.f16x2 $0, [$1], $2;";
    // SAFETY: as above.
    let f: unsafe extern "C" fn(*mut u32, u32) -> u32 = unsafe { code.get(two) };
    let mut memory = 0x3c00_4000; // 1.0, 2.0
    // SAFETY: `memory` is a word.
    assert_eq!(unsafe { f(&mut memory, 0x3c00_3c00) }, 0x3c00_4000);
    assert_eq!(memory, 0x4000_4200); // 2.0, 3.0
}

#[test]
fn floating_atomics_add() {
    let list: [(&str, &str, &str, &[&str]); 2] = [
        ("atom.add.release.gpu.f32 $0, [$1], $2;", "=f,l,f", "float", &["ptr", "float"]),
        (
            "atom.add.v2.f32 {$0,$1}, [$2], {$3,$4};",
            "=f,=f,l,f,f",
            "{ float, float }",
            &["ptr", "float", "float"],
        ),
    ];
    let code = code(&list);
    let mut memory = [1.5f32, 10.0];
    // SAFETY: the types in `list`; two floats come back in one register.
    unsafe {
        let f: unsafe extern "C" fn(*mut f32, f32) -> f32 = code.get(list[0].0);
        assert_eq!(f(memory.as_mut_ptr(), 2.0), 1.5);
        let g: unsafe extern "C" fn(*mut f32, f32, f32) = code.get(list[1].0);
        g(memory.as_mut_ptr(), 1.0, 2.0);
    }
    assert_eq!(memory, [4.5, 12.0]);
}

#[test]
fn asynchronous_copies_fill_with_zeros() {
    let text = function(
        "f",
        "cp.async.ca.shared.global [$0], [$1], 8, $2;",
        "r,l,r",
        "void",
        &["i32", "ptr", "i32"],
    );
    let module = Module::parse(&text);
    assert!(module.lower_asm().is_empty());
    let text = module.text();
    assert!(text.contains("llvm.memcpy.p3.p1.i64") && text.contains("llvm.memset.p3.i64"), "{text}");
    assert_eq!(text.matches("!gpurace.async !").count(), 2, "{text}");
    let full = ir_of(
        "cp.async.cg.shared.global.L2::128B [$0], [$1], $2; cp.async.commit_group; cp.async.wait_group 0;",
        "r,l,n",
        "void",
        &["i32", "ptr", "i32"],
    );
    assert!(full.contains("llvm.memcpy.p3.p1.i64") && !full.contains("memset"), "{full}");
    let ignored = ir_of(
        "{ .reg .pred p; setp.eq.u32 p, $2, 0; cp.async.ca.shared.global [$0], [$1], 4, p; }",
        "r,l,r",
        "void",
        &["i32", "ptr", "i32"],
    );
    assert!(ignored.contains("memset"), "{ignored}");
    assert!(
        full.contains("call void @__gpurace_async_commit()")
            && full.contains("call void @__gpurace_async_wait(i32 0)"),
        "{full}"
    );
}

#[test]
fn an_mbarrier_counts_phases() {
    let list: [(&str, &str, &str, &[&str]); 5] = [
        ("mbarrier.init.b64 [$0], $1;", "l,r", "void", &["ptr", "i32"]),
        ("mbarrier.arrive.b64 $0, [$1];", "=l,l", "i64", &["ptr"]),
        ("mbarrier.arrive_drop.b64 _, [$0];", "l", "void", &["ptr"]),
        (
            "{ .reg .pred p; mbarrier.test_wait.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }",
            "=r,l,l",
            "i32",
            &["ptr", "i64"],
        ),
        (
            "{ .reg .pred p; mbarrier.try_wait.parity.b64 p, [$1], $2, 1000; selp.b32 $0, 1, 0, p; }",
            "=r,l,r",
            "i32",
            &["ptr", "i32"],
        ),
    ];
    let code = code(&list);
    let mut word = 0u64;
    let at: *mut u64 = &mut word;
    // SAFETY: the types in `list`; `at` is the mbarrier of all calls.
    unsafe {
        let init: unsafe extern "C" fn(*mut u64, u32) = code.get(list[0].0);
        let arrive: unsafe extern "C" fn(*mut u64) -> u64 = code.get(list[1].0);
        let drop: unsafe extern "C" fn(*mut u64) = code.get(list[2].0);
        let test: unsafe extern "C" fn(*mut u64, u64) -> u32 = code.get(list[3].0);
        let parity: unsafe extern "C" fn(*mut u64, u32) -> u32 = code.get(list[4].0);
        init(at, 3);
        let token = arrive(at);
        assert_eq!((test(at, token), parity(at, 0), parity(at, 1)), (0, 0, 1));
        drop(at);
        arrive(at);
        assert_eq!((test(at, token), parity(at, 0), parity(at, 1)), (1, 1, 0));
        // Two are expected from now on.
        let token = arrive(at);
        assert_eq!(test(at, token), 0);
        arrive(at);
        assert_eq!((test(at, token), parity(at, 1)), (1, 1));
    }
}

#[test]
fn a_phase_waits_for_the_bytes_of_copies() {
    let list: [(&str, &str, &str, &[&str]); 5] = [
        ("mbarrier.init.b64 [$0], $1;", "l,r", "void", &["ptr", "i32"]),
        ("mbarrier.arrive.expect_tx.b64 _, [$0], $1;", "l,r", "void", &["ptr", "i32"]),
        ("mbarrier.expect_tx.relaxed.cta.b64 [$0], $1;", "l,r", "void", &["ptr", "i32"]),
        ("mbarrier.complete_tx.b64 [$0], $1;", "l,r", "void", &["ptr", "i32"]),
        (
            "{ .reg .pred p; mbarrier.try_wait.parity.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }",
            "=r,l,r",
            "i32",
            &["ptr", "i32"],
        ),
    ];
    let code = code(&list);
    let mut word = 0u64;
    let at: *mut u64 = &mut word;
    type WithCount = unsafe extern "C" fn(*mut u64, u32);
    // SAFETY: the types in `list`; `at` is the mbarrier of all calls.
    unsafe {
        let [init, arrive, expect, complete] = [0, 1, 2, 3].map(|i: usize| code.get::<WithCount>(list[i].0));
        let over: unsafe extern "C" fn(*mut u64, u32) -> u32 = code.get(list[4].0);
        init(at, 1);
        for phase in 0..20 {
            let parity = phase % 2;
            match phase % 4 {
                // The arrival comes before the bytes, which come in two parts.
                0 => {
                    arrive(at, 48);
                    complete(at, 16);
                    assert_eq!(over(at, parity), 0);
                    complete(at, 32);
                }
                // The bytes come before anyone expects them.
                1 => {
                    complete(at, 1 << 20);
                    assert_eq!(over(at, parity), 0);
                    arrive(at, 1 << 20);
                }
                // All that is expected is there, but not the arrival.
                2 => {
                    expect(at, 16);
                    complete(at, 16);
                    assert_eq!(over(at, parity), 0);
                    arrive(at, 0);
                }
                // The last thread that says what it expects ends the phase.
                _ => {
                    complete(at, 64);
                    arrive(at, 16);
                    assert_eq!(over(at, parity), 0);
                    expect(at, 48);
                }
            }
            assert_eq!((over(at, parity), over(at, 1 - parity)), (1, 0), "phase {phase}");
        }
    }
}

#[test]
fn bulk_copies_tell_their_mbarrier_or_group() {
    let load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1], $2, [$3], $4;";
    let text = ir_of(load, "r,l,r,r,l", "void", &["i32", "ptr", "i32", "i32", "i64"]);
    let turns = ["@llvm.memcpy.p3.p1.i64(", "!gpurace.async !", "@__gpurace_async_arrive(", "cmpxchg"];
    let mut from = 0;
    for turn in turns {
        from += text[from..].find(turn).unwrap_or_else(|| panic!("no `{turn}` in its turn in {text}"));
    }
    let store = "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2; cp.async.bulk.commit_group; \
                 cp.async.bulk.wait_group.read 1;";
    let text = ir_of(store, "l,r,r", "void", &["ptr", "i32", "i32"]);
    assert!(text.contains("@llvm.memcpy.p1.p3.i64("), "{text}");
    assert!(text.contains("call void @__gpurace_async_commit()"), "{text}");
    assert!(text.contains("call void @__gpurace_async_wait(i32 1)"), "{text}");
}

#[test]
fn copies_of_tensors_tell_their_mbarrier_or_group() {
    let load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint \
                [$0], [$1, {$2, $3}], [$4], $5;";
    let text = ir_of(load, "r,l,r,r,r,l", "void", &["i32", "ptr", "i32", "i32", "i32", "i64"]);
    let turns = [
        "@__gpurace_tensor(",
        "@llvm.memcpy.p3.p1.i64(",
        "!gpurace.async !",
        "@llvm.memset.p3.i64(",
        "!gpurace.async !",
        "@__gpurace_async_arrive(",
        "cmpxchg",
    ];
    let mut from = 0;
    for turn in turns {
        from += text[from..].find(turn).unwrap_or_else(|| panic!("no `{turn}` in its turn in {text}"));
    }
    let store = "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [$0+128, {$1}], [$2];";
    let text = ir_of(store, "l,r,r", "void", &["ptr", "i32", "i32"]);
    assert!(text.contains("@llvm.memcpy.p1.p3.i64(") && text.contains("i64 128"), "{text}");
    assert!(!text.contains("@llvm.memset"), "{text}");
}

#[test]
fn addresses_of_shared_memory_are_their_offsets() {
    let text = ir_of("cvta.to.shared.u64 $0, $1;", "=l,l", "i64", &["ptr"]);
    assert!(
        text.contains("addrspacecast ptr %a0 to ptr addrspace(3)")
            && text.contains("ptrtoint ptr addrspace(3)"),
        "{text}"
    );
    let symbol = "@tile = internal addrspace(3) global [64 x float] undef\n".to_owned()
        + &function("f", "ld.shared.f32 $0, [tile+16];", "=f", "float", &[]);
    let module = Module::parse(&symbol);
    assert!(module.lower_asm().is_empty());
    let text = module.text();
    assert!(text.contains("@tile, i64 16"), "{text}");
}
