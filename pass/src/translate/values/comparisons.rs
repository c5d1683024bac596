//! Comparison and selection.

use crate::translate::nvvm::template::Block;

/// The rows of this file.
#[rustfmt::skip]
pub const ROWS: &[Block] = &[
    // ---- the truth and its contrary; of pairs, the truth of the lower and of the upper half ----
    Block("setp.{CMP}.<f16x2|bf16x2>", "pred|pred($2, $2)", "
        %a0 = extractelement $2 %0, i32 0
        %b0 = extractelement $2 %1, i32 0
        %p = call i1 @gr.compare.$1.$2:1($2:2 %a0, $2:2 %b0)
        %a1 = extractelement $2 %0, i32 1
        %b1 = extractelement $2 %1, i32 1
        %q = call i1 @gr.compare.$1.$2:1($2:2 %a1, $2:2 %b1)
        call $R @gr.truths(i1 %p, i1 %q)"),
    Block("setp.{CMP}.<ANY>", "pred|pred($2, $2)", "
        %p = call i1 @gr.compare.$1.$2:0($2 %0, $2 %1)
        %q = xor i1 %p, true
        call $R @gr.truths(i1 %p, i1 %q)"),
    Block("setp.{CMP}.{and|or|xor}.<ANY>", "pred|pred($3, $3, pred)", "
        %t = call $R @gr.setp.$1.$3:0($3 %0, $3 %1)
        %a = extractvalue $R %t, 0
        %p = $2 i1 %a, %2
        %b = extractvalue $R %t, 1
        %q = $2 i1 %b, %2
        call $R @gr.truths(i1 %p, i1 %q)"),

    // ---- all ones or 1.0 for true; of pairs, for each half ----
    Block("set.{CMP}.<u32|s32|b32>.<f16x2|bf16x2>", "$2($3, $3)", "
        %m = call <2 x i16> @gr.set.$1.u16x2.$3:0($3 %0, $3 %1)
        bitcast <2 x i16> %m to i32"),
    Block("set.{CMP}.<u16|u32|s16|s32|b16|b32>.<ANY>", "$2($3, $3)", "
        %t = call i1 @gr.compare.$1.$3:0($3 %0, $3 %1)
        sext i1 %t to $2"),
    Block("set.{CMP}.<f16|bf16|f32>.<ANY>", "$2($3, $3)", "
        %t = call i1 @gr.compare.$1.$3:0($3 %0, $3 %1)
        select i1 %t, $2 1.0, $2 0.0"),
    Block("set.{CMP}.{and|or|xor}.<u16|u32|s16|s32|b16|b32>.<ANY>", "$3($4, $4, pred)", "
        %m = call $3 @gr.set.$1.$3:0.$4:0($4 %0, $4 %1)
        %c = sext i1 %2 to $3
        $2 $3 %m, %c"),
    Block("set.{CMP}.{and|or|xor}.<f16|bf16|f32>.<ANY>", "$3($4, $4, pred)", "
        %m = call i$3:2 @gr.set.$1.$2.b$3:2.$4:0($4 %0, $4 %1, i1 %2)
        %t = trunc i$3:2 %m to i1
        select i1 %t, $3 1.0, $3 0.0"),
    Block("selp.<ANY>", "$1($1, $1, pred)", "select i1 %2, $1 %0, $1 %1"),
    Block("slct.<ANY>.s32", "$1($1, $1, s32)", "
        %p = icmp sge i32 %2, 0
        select i1 %p, $1 %0, $1 %1"),
    Block("slct.<ANY>.f32", "$1($1, $1, f32)", "
        %p = fcmp oge float %2, 0.0
        select i1 %p, $1 %0, $1 %1"),
    // Only the third operand is flushed.
    Block("slct.ftz.<ANY>.f32", "$1($1, $1, f32)", "
        %c = call float @gr.ftz.f32(float %2)
        call $1 @gr.slct.$1:0.f32($1 %0, $1 %1, float %c)"),
];
