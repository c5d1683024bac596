//! Logic, shifts, bit fields, bytes of words.

use crate::translate::nvvm::template::Block;

/// The rows of this file.
#[rustfmt::skip]
pub const ROWS: &[Block] = &[
    Block("{and|or|xor}.<BITS>", "$2($2, $2)", "$1 $2 %0, %1"),
    Block("not.<BITS>", "$1($1)", "xor $1 %0, -1"),
    // 1 for 0, 0 for the rest.
    Block("cnot.<INT>", "$1($1)", "
        %z = icmp eq $1 %0, 0
        zext i1 %z to $1"),

    // ---- shifts by the width or more leave nothing, or only the sign ----
    Block("shr.<s16|s32|s64>", "$1($1, u32)", "
        %m = call i32 @llvm.umin.i32(i32 %1, i32 $1:3)
        %n = ufit i32 %m to $1
        ashr $1 %0, %n"),
    Block("{shl|shr=lshr}.<INT>", "$2($2, u32)", "
        %m = call i32 @llvm.umin.i32(i32 %1, i32 $2:3)
        %n = ufit i32 %m to $2
        %s = $1 $2 %0, %n
        %out = icmp ugt i32 %1, $2:3
        select i1 %out, $2 0, $2 %s"),
    Block("shf.{l=shl,32|r=lshr,0}.{wrap|clamp}.<b32|u32|s32>", "$3($3, $3, u32)", "
        %v = call i64 @gr.pair(i32 %0, i32 %1)
        %m = call i32 @gr.amount.$2(i32 %2)
        %n = zext i32 %m to i64
        %s = $1 i64 %v, %n
        %h = lshr i64 %s, $1:1
        trunc i64 %h to i32"),

    // ---- counts ----
    Block("popc.<WORDS>", "u32($1)", "
        %n = call $1 @llvm.ctpop.$1($1 %0)
        ufit $1 %n to i32"),
    Block("clz.<WORDS>", "u32($1)", "
        %n = call $1 @llvm.ctlz.$1($1 %0, i1 false)
        ufit $1 %n to i32"),
    Block("brev.<WORDS>", "$1($1)", "call $1 @llvm.bitreverse.$1($1 %0)"),
    // The position of the highest bit that is not a sign bit, or how far to shift it to the top.
    Block("bfind{|.shiftamt}.<s32|s64>", "u32($2)", "
        %s = ashr $2 %0, $2:3
        %x = xor $2 %0, %s
        call i32 @gr.bfind$1.b$2:2($2 %x)"),
    Block("bfind.<WORDS>", "u32($1)", "
        %z = call i32 @gr.clz.$1:0($1 %0)
        sub i32 $1:3, %z"),
    Block("bfind.shiftamt.<WORDS>", "u32($1)", "
        %z = call i32 @gr.clz.$1:0($1 %0)
        %none = icmp eq $1 %0, 0
        select i1 %none, i32 -1, i32 %z"),

    // ---- bit fields: positions and lengths are the low 8 bits of a word ----
    Block("bfe.<WORDS>", "$1($1, u32, u32)", "
        %at = and i32 %1, 255
        %n = and i32 %2, 255
        %f = call $1 @gr.shr.$1:0($1 %0, i32 %at)
        %rest = call i32 @llvm.usub.sat.i32(i32 $1:2, i32 %n)
        %up = call $1 @gr.shl.$1:0($1 %f, i32 %rest)
        %down = call $1 @gr.shr.$1:0($1 %up, i32 %rest)
        %empty = icmp eq i32 %n, 0
        select i1 %empty, $1 0, $1 %down"),
    Block("bfi.<WORDS>", "$1($1, $1, u32, u32)", "
        %at = and i32 %2, 255
        %n = and i32 %3, 255
        %above = call $1 @gr.shl.$1:0($1 -1, i32 %n)
        %ones = xor $1 %above, -1
        %mask = call $1 @gr.shl.$1:0($1 %ones, i32 %at)
        %a = call $1 @gr.shl.$1:0($1 %0, i32 %at)
        %new = and $1 %a, %mask
        %hole = xor $1 %mask, -1
        %old = and $1 %1, %hole
        or $1 %old, %new"),
    Block("szext.{wrap|clamp}.<u32|s32>", "$2($2, u32)", "
        %n = call i32 @gr.amount.$1(i32 %1)
        call i32 @gr.bfe.$2:0(i32 %0, i32 0, i32 %n)"),
    Block("bmsk.clamp.b32", "b32(u32, u32)", "
        %above = call i32 @gr.shl.b32(i32 -1, i32 %1)
        %ones = xor i32 %above, -1
        call i32 @gr.shl.b32(i32 %ones, i32 %0)"),
    Block("bmsk.wrap.b32", "b32(u32, u32)", "
        %at = and i32 %0, 31
        %n = and i32 %1, 31
        call i32 @gr.bmsk.clamp.b32(i32 %at, i32 %n)"),
    Block("fns.b32", "b32(b32, b32, s32)", "@gr.fns"),

    // ---- bytes of two words ----
    Block("prmt.b32", "b32(b32, b32, b32)", "
        %v = call i64 @gr.pair(i32 %0, i32 %1)
        call i32 @gr.prmt(i64 %v, i32 %2)"),
    // The selectors for each value of the low two bits (PTX ISA, `prmt`).
    Block("prmt.{f4e=u0x6543543243213210|b4e=u0x0123701267015670|rc8=u0x3333222211110000|ecl=u0x3333322232113210|ecr=u0x3210221011100000|rc16=u0x3232101032321010}.b32",
        "b32(b32, b32, b32)", "
        %c = and i32 %2, 3
        %at = shl i32 %c, 4
        %n = zext i32 %at to i64
        %t = lshr i64 $1, %n
        %s = trunc i64 %t to i32
        call i32 @gr.prmt.b32(i32 %0, i32 %1, i32 %s)"),

    // ---- bit `k` of the table is the result where the bits of a, b, c are the binary digits of `k` ----
    Block("lop3.b32", "b32(b32, b32, b32, b32)", "
        %t0 = call i32 @gr.lop2(i32 %2, i32 %3, i32 0)
        %t1 = call i32 @gr.lop2(i32 %2, i32 %3, i32 2)
        %t2 = call i32 @gr.lop2(i32 %2, i32 %3, i32 4)
        %t3 = call i32 @gr.lop2(i32 %2, i32 %3, i32 6)
        %u0 = call i32 @gr.choose(i32 %1, i32 %t0, i32 %t1)
        %u1 = call i32 @gr.choose(i32 %1, i32 %t2, i32 %t3)
        call i32 @gr.choose(i32 %0, i32 %u0, i32 %u1)"),
];
