//! Arithmetic of integers.

use crate::translate::nvvm::template::Block;

/// The rows of this file.
#[rustfmt::skip]
pub const ROWS: &[Block] = &[
    Block("{add|sub}.<INT>", "$2($2, $2)", "$1 $2 %0, %1"),
    Block("{add|sub}.sat.<INT>", "$2($2, $2)", "call $2 @llvm.$2:1$1.sat.$2($2 %0, $2 %1)"),
    Block("{div|rem}.<INT>", "$2($2, $2)", "$2:1$1 $2 %0, %1"),
    Block("{min|max}.<INT>", "$2($2, $2)", "call $2 @llvm.$2:1$1.$2($2 %0, $2 %1)"),
    Block("{min|max}.relu.<INT>", "$2($2, $2)", "
        %m = call $2 @gr.$1.$2:0($2 %0, $2 %1)
        call $2 @llvm.smax.$2($2 %m, $2 0)"),
    Block("{min|max}.relu.<s16x2|u16x2>", "$2($2, $2)", "
        %m = call $2 @gr.$1.$2:0($2 %0, $2 %1)
        call $2 @llvm.smax.v2i16($2 %m, $2 zeroinitializer)"),
    Block("abs.<INT>", "$1($1)", "call $1 @llvm.abs.$1($1 %0, i1 false)"),
    Block("neg.<INT>", "$1($1)", "sub $1 0, %0"),
    Block("sad.<INT>", "$1($1, $1, $1)", "
        %h = call $1 @gr.max.$1:0($1 %0, $1 %1)
        %l = call $1 @gr.min.$1:0($1 %0, $1 %1)
        %d = sub $1 %h, %l
        add $1 %d, %2"),

    // ---- with carry, which 128 bits hold. A subtraction adds the complement: a GPU keeps no borrow, but its opposite,
    // which shows where additions and subtractions are mixed (`IADD3.X R4, ~R7, P0`) ----
    Block("addc.cc.<INT>", "$1|cc($1, $1, cc)", "
        %a = zext $1 %0 to i128
        %b = zext $1 %1 to i128
        %c = zext i1 %2 to i128
        %s = add i128 %a, %b
        %t = add i128 %s, %c
        %v = trunc i128 %t to $1
        %u = lshr i128 %t, $1:2
        %o = trunc i128 %u to i1
        %r = insertvalue $R poison, $1 %v, 0
        insertvalue $R %r, i1 %o, 1"),
    Block("subc.cc.<INT>", "$1|cc($1, $1, cc)", "
        %n = xor $1 %1, -1
        call $R @gr.addc.cc.$1:0($1 %0, $1 %n, i1 %2)"),
    Block("add.cc.<INT>", "$1|cc($1, $1)", "call $R @gr.addc.cc.$1:0($1 %0, $1 %1, i1 false)"),
    Block("sub.cc.<INT>", "$1|cc($1, $1)", "call $R @gr.subc.cc.$1:0($1 %0, $1 %1, i1 true)"),
    Block("{addc|subc}.<INT>", "$2($2, $2, cc)", "
        %p = call { $2, i1 } @gr.$1.cc.$2:0($2 %0, $2 %1, i1 %2)
        extractvalue { $2, i1 } %p, 0"),

    // ---- products ----
    Block("mul.lo.<INT>", "$1($1, $1)", "mul $1 %0, %1"),
    Block("mul.hi.<INT>", "$1($1, $1)", "
        %a = $1:1fit $1 %0 to $1:4
        %b = $1:1fit $1 %1 to $1:4
        %p = mul $1:4 %a, %b
        %h = lshr $1:4 %p, $1:2
        trunc $1:4 %h to $1"),
    Block("mul.wide.<u16|u32|s16|s32|b16|b32>", "$1:7($1, $1)", "
        %a = $1:1fit $1 %0 to $R
        %b = $1:1fit $1 %1 to $R
        mul $R %a, %b"),
    // The product has 48 bits.
    Block("mul24.{lo=0|hi=16}.<u32|s32>", "$2($2, $2)", "
        %t = trunc i32 %0 to i24
        %a = $2:1fit i24 %t to i64
        %u = trunc i32 %1 to i24
        %b = $2:1fit i24 %u to i64
        %p = mul i64 %a, %b
        %h = lshr i64 %p, $1
        trunc i64 %h to i32"),
    Block("{mad=mul|mad24=mul24}.{lo|hi}{|.sat}.<INT>", "$4($4, $4, $4)", "
        %p = call $4 @gr.$1.$2.$4:0($4 %0, $4 %1)
        call $4 @gr.add$3.$4:0($4 %p, $4 %2)"),
    Block("mad.wide.<u16|u32|s16|s32|b16|b32>", "$1:7($1, $1, $1:7)", "
        %p = call $R @gr.mul.wide.$1:0($1 %0, $1 %1)
        add $R %p, %2"),
    Block("mad.{lo|hi}.cc.<INT>", "$2|cc($2, $2, $2)", "
        %p = call $2 @gr.mul.$1.$2:0($2 %0, $2 %1)
        call $R @gr.add.cc.$2:0($2 %p, $2 %2)"),
    Block("madc.{lo|hi}.cc.<INT>", "$2|cc($2, $2, $2, cc)", "
        %p = call $2 @gr.mul.$1.$2:0($2 %0, $2 %1)
        call $R @gr.addc.cc.$2:0($2 %p, $2 %2, i1 %3)"),
    Block("madc.{lo|hi}.<INT>", "$2($2, $2, $2, cc)", "
        %p = call $2 @gr.mul.$1.$2:0($2 %0, $2 %1)
        call $2 @gr.addc.$2:0($2 %p, $2 %2, i1 %3)"),

    // ---- dot products of bytes ----
    Block("dp4a.{u32=zext|s32=sext}.{u32=zext|s32=sext}", "b32(b32, b32, b32)", "
        %a = bitcast i32 %0 to <4 x i8>
        %b = bitcast i32 %1 to <4 x i8>
        %x = $1 <4 x i8> %a to <4 x i32>
        %y = $2 <4 x i8> %b to <4 x i32>
        %p = mul <4 x i32> %x, %y
        %s = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %p)
        add i32 %s, %2"),
    Block("dp2a.{lo=0|hi=16}.{u32=zext|s32=sext}.{u32=zext|s32=sext}", "b32(b32, b32, b32)", "
        %a = bitcast i32 %0 to <2 x i16>
        %h = lshr i32 %1, $1
        %t = trunc i32 %h to i16
        %b = bitcast i16 %t to <2 x i8>
        %x = $2 <2 x i16> %a to <2 x i32>
        %y = $3 <2 x i8> %b to <2 x i32>
        %p = mul <2 x i32> %x, %y
        %s = call i32 @llvm.vector.reduce.add.v2i32(<2 x i32> %p)
        add i32 %s, %2"),
];
