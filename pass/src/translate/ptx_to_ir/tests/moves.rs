//! Moves, packing, selection, guards, branches, operands.

use super::harness::*;

#[test]
fn words_are_packed_and_unpacked() {
    let swap = "{ .reg .b32 lo, hi; mov.b64 {lo, hi}, $1; mov.b64 $0, {hi, lo}; }";
    let code = code(&[(swap, "=l,l", "i64", &["i64"])]);
    // SAFETY: a function of one long.
    let f: extern "C" fn(u64) -> u64 = unsafe { code.get(swap) };
    assert_eq!(f(0x1111_2222_3333_4444), 0x3333_4444_1111_2222);
}

#[test]
fn guards_and_negated_guards_keep_the_old_value() {
    let text =
        "{ .reg .pred p; setp.lt.s32 p, $1, 10; mov.u32 $0, 1; @p mov.u32 $0, 2; @!p add.u32 $0, $0, 2; }";
    let code = code(&[(text, "=r,r", "i32", &["i32"])]);
    // SAFETY: a function of one word.
    let f: extern "C" fn(i32) -> i32 = unsafe { code.get(text) };
    assert_eq!((f(-3), f(9), f(10)), (2, 2, 3));
}

#[test]
fn loops_run_until_their_predicate_says_so() {
    // Greatest common divisor.
    let text = "{ .reg .pred p; .reg .u32 t, a, b; mov.u32 a, $1; mov.u32 b, $2;
        LOOP_${:uid}: setp.eq.u32 p, b, 0; @p bra DONE_${:uid};
        rem.u32 t, a, b; mov.u32 a, b; mov.u32 b, t; bra.uni LOOP_${:uid};
        DONE_${:uid}: mov.u32 $0, a; }";
    let code = code(&[(text, "=r,r,r", "i32", &["i32", "i32"])]);
    // SAFETY: a function of two words.
    let f: extern "C" fn(u32, u32) -> u32 = unsafe { code.get(text) };
    assert_eq!((f(48, 36), f(17, 5), f(9, 0)), (12, 1, 9));
}

#[test]
fn tied_operands_start_with_their_argument() {
    let text = "add.u32 $0, $0, $1;";
    let code = code(&[(text, "=r,r,0", "i32", &["i32", "i32"])]);
    // SAFETY: a function of two words.
    let f: extern "C" fn(u32, u32) -> u32 = unsafe { code.get(text) };
    assert_eq!(f(3, 40), 43);
}

#[test]
fn constants_of_the_asm_are_known() {
    let text = format!(
        "define i64 @f(i64 %x) {{\n %r = call i64 asm \"add.s64 $0, $1, $2;\", \"=l,l,n\"(i64 %x, i32 -5)\n ret i64 %r\n}}\n{}",
        function("lane", "mov.u32 $0, %laneid;", "=r", "i32", &[])
            + &function("below", "mov.u32 $0, %lanemask_lt;", "=r", "i32", &[])
            + &function("high", "mov.u32 $0, %clock_hi;", "=r", "i32", &[])
            + &function("dynamic", "mov.u32 $0, %dynamic_smem_size;", "=r", "i32", &[])
            + &function("warp", "mov.u32 $0, WARP_SZ;", "=r", "i32", &[])
    );
    let code = Module::parse(&text).compile();
    // SAFETY: the types given above.
    unsafe {
        let f: extern "C" fn(i64) -> i64 = code.get("f");
        assert_eq!(f(3), -2);
        let word = |name| code.get::<extern "C" fn() -> u32>(name)();
        assert_eq!(
            (word("lane"), word("below"), word("high"), word("dynamic"), word("warp")),
            (LANE, (1 << LANE) - 1, 1, 96, 32)
        );
    }
}

#[test]
fn an_unused_asm_without_side_effects_goes_and_an_empty_barrier_stays() {
    let text = "define void @f() {\n %r = call i64 asm \"mov.u64 $0, %reserved_smem_offset_1;\", \"=l\"()\n call void asm sideeffect \"\", \"~{memory}\"()\n ret void\n}\n";
    let module = Module::parse(text);
    assert!(module.lower_asm().is_empty());
    let text = module.text();
    assert!(text.contains("asm sideeffect \"\", \"~{memory}\"") && !text.contains("reserved"), "{text}");
}

#[test]
fn what_is_not_modelled_is_refused_by_name_where_it_is_reached() {
    let text = function(
        "f",
        "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p wgmma.fence.sync.aligned; mov.u32 $0, 7; }",
        "=r,r",
        "i32",
        &["i32"],
    ) + &function("g", "add.u32 $0, $1;", "=r,r", "i32", &["i32"]);
    let module = Module::parse(&text);
    let refused = module.lower_asm();
    assert_eq!(refused, ["inline PTX: `add.u32` has 2 operands, expected more", "wgmma.fence.sync.aligned"]);
    let text = module.text();
    assert!(text.contains("c\"wgmma.fence.sync.aligned\\00\""), "{text}");
}

#[test]
fn registers_that_the_host_has_not_are_named() {
    let module = Module::parse(&function("f", "mov.u32 $0, %total_smem_size;", "=r", "i32", &[]));
    assert_eq!(module.lower_asm(), ["mov.u32 of %total_smem_size"]);
    // Cooperative groups keeps its scratch memory there.
    let module = Module::parse(&function("f", "mov.u32 $0, %reserved_smem_offset_1;", "=r", "i32", &[]));
    assert!(module.lower_asm().is_empty());
    assert!(module.text().contains("@gpurace.reserved_shared = internal addrspace(3) global"));
}

/// `cuda::barrier::arrive` is written so where its token is not used.
#[test]
fn an_asm_that_changes_memory_stays_without_volatile() {
    let text = |clobber: &str| {
        let asm = format!("asm \"st.global.u32 [$1], 7; mov.u32 $0, 1;\", \"=r,l{clobber}\"(ptr %p)");
        format!("define void @f(ptr %p) {{\n %r = call i32 {asm}\n ret void\n}}\n")
    };
    let runs = |text: &str| {
        let code = Module::parse(text).compile();
        let mut word = 0u32;
        // SAFETY: a function of a pointer.
        let f: extern "C" fn(*mut u32) = unsafe { code.get("f") };
        f(&raw mut word);
        word
    };
    assert_eq!(runs(&text(",~{memory}")), 7);
    assert_eq!(runs(&text("")), 0, "nothing says that it does anything");
}
