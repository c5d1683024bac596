//! Video instructions: on 1, 2 or 4 lanes of a word.

use crate::translate::nvvm::template::Block;

/// The rows of this file.
#[rustfmt::skip]
pub const ROWS: &[Block] = &[
    // ---- the lanes of the result. A SIMD instruction takes an operand `c` for the lanes that it leaves as
    // they are, which are none ----
    Block("v{add|sub|absdiff|min|max}{|.sat}.<u32|s32>.<u32|s32>.<u32|s32>", "$3($4, $5)",
        "call i32 @gr.vlanes.$1.1$2.$3:0.$4:0.$5:0(i32 %0, i32 %1)"),
    Block("v{shl|shr}{|.sat}.{wrap|clamp}.<u32|s32>.<u32|s32>.u32", "$4($5, u32)", "
        %n = call i32 @gr.amount.$3(i32 %1)
        call i32 @gr.vlanes.$1.1$2.$4:0.$5:0.u32(i32 %0, i32 %n)"),
    Block("v{add|sub|absdiff|min|max|avrg}{2|4}{|.sat}.<u32|s32>.<u32|s32>.<u32|s32>", "$4($5, $6, u32)",
        "call i32 @gr.vlanes.$1.$2$3.$4:0.$5:0.$6:0(i32 %0, i32 %1)"),
    Block("vset.{CMP}.<u32|s32>.<u32|s32>", "u32($2, $3)",
        "call i32 @gr.vlanes.$1.1.u32.$2:0.$3:0(i32 %0, i32 %1)"),
    Block("vset{2|4}.{CMP}.<u32|s32>.<u32|s32>", "u32($3, $4, u32)",
        "call i32 @gr.vlanes.$2.$1.u32.$3:0.$4:0(i32 %0, i32 %1)"),

    // ---- the result joined with `c` ----
    Block("v{add|sub|absdiff|min|max}{|.sat}.{add|min|max}.<u32|s32>.<u32|s32>.<u32|s32>", "$4($5, $6, $4)", "
        %v = call i32 @gr.v$1$2.$4:0.$5:0.$6:0(i32 %0, i32 %1)
        call i32 @gr.$3.$4:0(i32 %v, i32 %2)"),
    Block("v{shl|shr}{|.sat}.{wrap|clamp}.{add|min|max}.<u32|s32>.<u32|s32>.u32", "$5($6, u32, $5)", "
        %v = call i32 @gr.v$1$2.$3.$5:0.$6:0.u32(i32 %0, i32 %1)
        call i32 @gr.$4.$5:0(i32 %v, i32 %2)"),
    Block("vset.{CMP}.{add|min|max}.<u32|s32>.<u32|s32>", "u32($3, $4, u32)", "
        %v = call i32 @gr.vset.$1.$3:0.$4:0(i32 %0, i32 %1)
        call i32 @gr.$2.u32(i32 %v, i32 %2)"),

    // ---- the sum of the lanes and `c` ----
    Block("v{add|sub|absdiff|min|max|avrg}{2|4}{|.sat}.add.<u32|s32>.<u32|s32>.<u32|s32>", "$4($5, $6, $4)", "
        %v = call i32 @gr.vlanes.$1.$2$3.$4:0.$5:0.$6:0(i32 %0, i32 %1)
        call i32 @gr.vsum.$2.$4:0(i32 %v, i32 %2)"),
    Block("vset{2|4}.{CMP}.add.<u32|s32>.<u32|s32>", "u32($3, $4, u32)", "
        %v = call i32 @gr.vlanes.$2.$1.u32.$3:0.$4:0(i32 %0, i32 %1)
        call i32 @gr.vsum.$1.u32(i32 %v, i32 %2)"),
];

/// Their building blocks. 64 bits for each lane hold all values exactly.
#[rustfmt::skip]
pub const BLOCKS: &[Block] = &[
    Block("vlanes.{VOP}.{1=1,32|2=2,16|4=4,8}{=keep|.sat=sat}.{u32|s32}.{u32=zext|s32=sext}.{u32=zext|s32=sext}",
        "b32(b32, b32)", "
        %a = bitcast i32 %0 to <$2 x i$2:1>
        %b = bitcast i32 %1 to <$2 x i$2:1>
        %x = $5 <$2 x i$2:1> %a to <$2 x i64>
        %y = $6 <$2 x i$2:1> %b to <$2 x i64>
        %v = call <$2 x i64> @gr.vlane.$1.$2(<$2 x i64> %x, <$2 x i64> %y)
        %s = call <$2 x i64> @gr.v$3.$2.$4(<$2 x i64> %v)
        %n = trunc <$2 x i64> %s to <$2 x i$2:1>
        bitcast <$2 x i$2:1> %n to i32"),
    Block("vkeep.{1|2|4}.{u32|s32}", "<$1 x i64>(<$1 x i64>)", "%0"),
    Block("vsat.{1.u32=1,0,4294967295|1.s32=1,-2147483648,2147483647|2.u32=2,0,65535|2.s32=2,-32768,32767|4.u32=4,0,255|4.s32=4,-128,127}",
        "<$1 x i64>(<$1 x i64>)", "
        %l = call <$1 x i64> @llvm.smax.v$1i64(<$1 x i64> %0, <$1 x i64> splat (i64 $1:1))
        call <$1 x i64> @llvm.smin.v$1i64(<$1 x i64> %l, <$1 x i64> splat (i64 $1:2))"),
    Block("vsum.{2=2,16|4=4,8}.{u32=zext|s32=sext}", "b32(b32, b32)", "
        %l = bitcast i32 %0 to <$1 x i$1:1>
        %w = $2 <$1 x i$1:1> %l to <$1 x i32>
        %s = call i32 @llvm.vector.reduce.add.v$1i32(<$1 x i32> %w)
        add i32 %s, %1"),
    Block("vlane.{add|sub|shl|shr=ashr}.{1|2|4}", "<$2 x i64>(<$2 x i64>, <$2 x i64>)",
        "$1 <$2 x i64> %0, %1"),
    Block("vlane.{min|max}.{1|2|4}", "<$2 x i64>(<$2 x i64>, <$2 x i64>)",
        "call <$2 x i64> @llvm.s$1.v$2i64(<$2 x i64> %0, <$2 x i64> %1)"),
    Block("vlane.absdiff.{1|2|4}", "<$1 x i64>(<$1 x i64>, <$1 x i64>)", "
        %d = sub <$1 x i64> %0, %1
        call <$1 x i64> @llvm.abs.v$1i64(<$1 x i64> %d, i1 false)"),
    // Halves are rounded away from zero (PTX ISA, `vavrg2`).
    Block("vlane.avrg.{1|2|4}", "<$1 x i64>(<$1 x i64>, <$1 x i64>)", "
        %s = add <$1 x i64> %0, %1
        %positive = icmp sge <$1 x i64> %s, zeroinitializer
        %one = zext <$1 x i1> %positive to <$1 x i64>
        %t = add <$1 x i64> %s, %one
        ashr <$1 x i64> %t, splat (i64 1)"),
    Block("vlane.{eq=eq|ne=ne|lt=slt|lo=slt|le=sle|ls=sle|gt=sgt|hi=sgt|ge=sge|hs=sge}.{1|2|4}",
        "<$2 x i64>(<$2 x i64>, <$2 x i64>)", "
        %t = icmp $1 <$2 x i64> %0, %1
        zext <$2 x i1> %t to <$2 x i64>"),
];
