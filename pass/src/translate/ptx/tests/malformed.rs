//! Text that is not PTX: what the error names.

use crate::translate::ptx::parse;

fn error(template: &str, constraints: &str) -> String {
    match parse(template, constraints) {
        Err(error) => error.to_string(),
        Ok(asm) => panic!("`{template}` was read as {asm:?}"),
    }
}

#[test]
fn errors_name_what_was_found() {
    for (template, constraints, message) in [
        ("add.u32 $0, $1;", "=r,r", "`add.u32` has 2 operands, expected more"),
        ("add.u32 $0, $1, $1, $1;", "=r,r", "`add.u32` has 4 operands, expected fewer"),
        ("add $0, $1, $1;", "=r,r", "`add` lacks a type"),
        ("mul.u32 $0, $1, $1;", "=r,r", "`mul.u32` lacks `.lo`, `.hi` or `.wide`"),
        ("mov.u32 $0, %nosuch;", "=r", "`%nosuch` is not declared"),
        ("mov.u32 $3, 1;", "=r", "`$3` at offset 8 names no operand of the asm"),
        ("{ mov.u32 $0, 1;", "=r", "the asm's `{` and `}` do not match"),
        ("mov.u32 $0, 1; }", "=r", "the asm's `{` and `}` do not match"),
        ("mov.u32 $0 1;", "=r", "expected `,` or `;`, found `1` in `mov.u32`"),
        ("mov.u32 $0, 0xzz;", "=r", "malformed number `0xzz`"),
        ("bra NOWHERE;", "", "branch to `NOWHERE`, which is not a label"),
        ("{ .reg .b32 a, a; }", "", "`a` is declared twice"),
        ("{ .reg .nope a; }", "", "expected a type, found `a` in `.reg`"),
        ("ld.global.u32 $0, $1;", "=r,l", "`ld.global.u32` has 2 operands, expected an address in `[ ]`"),
        ("fence.acq_rel;", "", "`fence.acq_rel` lacks a scope"),
        ("st.acquire.gpu.u32 [$1], $0;", "r,l", "`st.acquire.gpu.u32` lacks an order that a store can have"),
        ("mov.u32 $0, 1 ?", "=r", "unexpected character `?`"),
        ("mov.u32 1, $0;", "r", "`mov.u32` has 2 operands, expected a register to write"),
        ("mov.u32 $0, 1;", "=x", "inline asm constraint `=x` is not one of NVPTX's"),
        ("Mov.u32 $0, 1;", "=r", "expected an instruction, found `Mov.u32` in `Mov.u32`"),
        ("@ mov.u32 $0, 1;", "=r", "expected a predicate register, found `mov.u32` in `@`"),
        ("[$0] add;", "r", "expected an instruction, found `[`"),
    ] {
        assert_eq!(error(template, constraints), message, "{template}");
    }
}

#[test]
fn nothing_sensible_is_too_large() {
    assert_eq!(error("{ .reg .b32 r<4000000000>; }", ""), "the asm declares too much");
    assert_eq!(error(&"{".repeat(100_000), ""), "the asm declares too much");
    let nested = format!("mov.b32 $0, {};", "(".repeat(100_000));
    assert_eq!(error(&nested, "=r"), "the asm declares too much");
}
