//! Conversions.

use crate::translate::nvvm::template::Block;

/// The rows of this file.
#[rustfmt::skip]
pub const ROWS: &[Block] = &[
    // ---- between integers ----
    Block("cvt.<INT8>.<INT8>", "$1($2)", "$2:1fit $2 %0 to $1"),
    Block("cvt.sat.<INT8>.<INT8>", "$1($2)", "
        %w = $2:1fit $2 %0 to i128
        %l = call i128 @llvm.smax.i128(i128 %w, i128 $1:5)
        %h = call i128 @llvm.smin.i128(i128 %l, i128 $1:6)
        trunc i128 %h to $1"),
    // Two narrow lanes below those of `c`.
    Block("cvt.pack.sat.<u8|s8|u16|s16>.s32.b32", "b32(s32, s32, b32)", "
        %a = call $1 @gr.cvt.sat.$1:0.s32(i32 %0)
        %b = call $1 @gr.cvt.sat.$1:0.s32(i32 %1)
        %x = zext $1 %a to i32
        %y = zext $1 %b to i32
        %c = shl i32 %2, $1:2
        %d = or i32 %c, %x
        %e = shl i32 %d, $1:2
        or i32 %e, %y"),
    Block("cvt.pack.sat.<u8|s8|u16|s16>.s32", "b32(s32, s32)",
        "call i32 @gr.cvt.pack.sat.$1:0.s32.b32(i32 %0, i32 %1, i32 0)"),

    // ---- from floats to integers. A number out of range becomes the nearest integer. NaN becomes 0, or the
    // highest bit alone if one of the two types has 64 bits (PTX ISA, `cvt`) ----
    Block("cvt.{RNDI}{|.sat}.<u8|u16|u32|s8|s16|s32>.f32", "$3(f32)", "
        %x = call float @llvm.$1.f32(float %0)
        call $3 @llvm.fpto$3:1i.sat.$3.f32(float %x)"),
    Block("cvt.{RNDI}{|.sat}.<u64|s64>.f32", "$3(f32)", "
        %d = fpext float %0 to double
        call $3 @gr.cvt.$1:0.$3:0.f64(double %d)"),
    Block("cvt.{RNDI}{|.sat}.<INT8>.f64", "$3(f64)", "
        %x = call double @llvm.$1.f64(double %0)
        %i = call $3 @llvm.fpto$3:1i.sat.$3.f64(double %x)
        %nan = fcmp uno double %0, %0
        %top = shl $3 1, $3:3
        select i1 %nan, $3 %top, $3 %i"),
    Block("cvt.{RNDI}{|.sat}.<INT8>.<SMALL>", "$3($4)", "f32 @gr.cvt.$1:0.$3:0.f32"),
    Block("cvt{|.sat}.<INT8>.<f16|bf16|f32|f64>", "$2($3)", "@gr.cvt.rzi.$2:0.$3:0"),

    // ---- from integers to floats ----
    Block("cvt{|.rn}.<FLOAT>.<INT8>", "$2($3)", "$3:1itofp $3 %0 to $2"),
    Block("cvt.{rz|rm|rp}.f32.s64", "f32(s64)", "
        %a = call i64 @llvm.abs.i64(i64 %0, i1 false)
        %n = call i64 @gr.narrow(i64 %0, i64 %a)
        %d = sitofp i64 %n to double
        call float @gr.d2f.$1(double %d)"),
    Block("cvt.{rz|rm|rp}.f32.u64", "f32(u64)", "
        %n = call i64 @gr.narrow(i64 %0, i64 %0)
        %d = uitofp i64 %n to double
        call float @gr.d2f.$1(double %d)"),
    Block("cvt.{rz|rm|rp}.f64.{s64=ashr,s|u64=lshr,u}", "f64($2:0)", "
        %h = $2 i64 %0, 32
        %l = and i64 %0, 4294967295
        %hd = $2:1itofp i64 %h to double
        %hs = fmul double %hd, 4294967296.0
        %ld = uitofp i64 %l to double
        %s = fadd double %hs, %ld
        %b = fsub double %s, %hs
        %e = fsub double %ld, %b
        call double @gr.adjust.$1(double %s, double %e)"),
    Block("cvt.{rz|rm|rp}.<FLOAT>.<u8|u16|u32|s8|s16|s32>", "$2($3)", "
        %w = $3:1fit $3 %0 to i64
        call $2 @gr.cvt.$1.$2:0.$3:164(i64 %w)"),
    // The integer's first bits with a sticky bit round to any smaller format as the integer does.
    Block("cvt{RND}.<SMALL>.<u64|s64>", "$2($3)", "
        %s = $3:1fit i64 %0 to i128
        %a = call i128 @llvm.abs.i128(i128 %s, i1 false)
        %m = trunc i128 %a to i64
        %n = call i64 @gr.narrow(i64 %0, i64 %m)
        %d = $3:1itofp i64 %n to double
        call $2 @gr.cvt.$1.$2:0.f64(double %d)"),
    Block("cvt{RND}.<SMALL>.<u8|u16|u32|s8|s16|s32>", "$2($3)", "
        %d = $3:1itofp $3 %0 to double
        call $2 @gr.cvt.$1.$2:0.f64(double %d)"),

    // ---- between floats ----
    Block("cvt.{f16.f16=f16|bf16.bf16=bf16|f32.f32=f32|f64.f64=f64}", "$1($1)", "%0"),
    Block("cvt.{RNDI}.{f32.f32=f32,float|f64.f64=f64,double}", "$2($2)", "call $2:1 @llvm.$1.$2($2:1 %0)"),
    Block("cvt.{RNDI}.<SMALL>.<SMALL>", "$2($3)", "f32 @gr.cvt.$1:0.f32.f32"),
    Block("cvt.f64.f32", "f64(f32)", "fpext float %0 to double"),
    Block("cvt{RND}.f32.f64", "f32(f64)", "@gr.d2f.$1"),
    Block("cvt.f32.f16", "f32(f16)", "fpext half %0 to float"),
    Block("cvt.f32.bf16", "f32(bf16)", "
        %b = bitcast bfloat %0 to i16
        %w = zext i16 %b to i32
        %s = shl i32 %w, 16
        bitcast i32 %s to float"),
    Block("cvt.f64.<SMALL>", "f64($1)", "
        %f = call float @gr.cvt.f32.$1:0($1 %0)
        fpext float %f to double"),
    Block("cvt{RND}.<SMALL>.f64", "$2(f64)", "
        %f = call float @gr.d2f.odd(double %0)
        call $2 @gr.cvt.$1.$2:0.f32(float %f)"),
    Block("cvt{RND}.<SMALL>.<SMALL>", "$2($3)", "
        %f = call float @gr.cvt.f32.$3:0($3 %0)
        call $2 @gr.cvt.$1.$2:0.f32(float %f)"),
    Block("cvt{|.rn}.f16.f32", "f16(f32)", "fptrunc float %0 to half"),
    Block("cvt{|.rn}.bf16.f32", "bf16(f32)", "
        %b = bitcast float %0 to i32
        %h = lshr i32 %b, 16
        %odd = and i32 %h, 1
        %c = add i32 %b, 32767
        %d = add i32 %c, %odd
        %s = lshr i32 %d, 16
        %t = trunc i32 %s to i16
        %nan = fcmp uno float %0, %0
        %i = select i1 %nan, i16 32767, i16 %t
        bitcast i16 %i to bfloat"),
    // Overflow gives the largest finite value, whose bits are one less than infinity's.
    Block("cvt.rz.f16.f32", "f16(f32)", "
        %n = fptrunc float %0 to half
        %f = fpext half %n to float
        %af = call float @llvm.fabs.f32(float %f)
        %a0 = call float @llvm.fabs.f32(float %0)
        %wrong = fcmp ogt float %af, %a0
        %b = bitcast half %n to i16
        %c = sext i1 %wrong to i16
        %i = add i16 %b, %c
        bitcast i16 %i to half"),
    Block("cvt.rz.bf16.f32", "bf16(f32)", "
        %b = bitcast float %0 to i32
        %s = lshr i32 %b, 16
        %t = trunc i32 %s to i16
        %nan = fcmp uno float %0, %0
        %i = select i1 %nan, i16 32767, i16 %t
        bitcast i16 %i to bfloat"),
    // Rounds toward zero, then steps away from zero if the value lies on the side to round to: the bits of a
    // result toward zero have the sign of the value.
    Block("cvt.{rm=olt|rp=ogt}.<SMALL>.f32", "$2(f32)", "
        %z = call $2 @gr.cvt.rz.$2:0.f32(float %0)
        %f = call float @gr.cvt.f32.$2:0($2 %z)
        %wrong = fcmp $1 float %0, %f
        %b = bitcast $2 %z to i16
        %c = zext i1 %wrong to i16
        %i = add i16 %b, %c
        bitcast i16 %i to $2"),
    // The first operand is the upper half.
    Block("cvt{RND}{|.ftz}{|.relu}{|.sat}.<f16x2|bf16x2>.f32", "$5(f32, f32)", "
        %h = call $5:2 @gr.cvt.$1$2$3$4.$5:1.f32(float %0)
        %l = call $5:2 @gr.cvt.$1$2$3$4.$5:1.f32(float %1)
        %v = insertelement $5 poison, $5:2 %l, i32 0
        insertelement $5 %v, $5:2 %h, i32 1"),
    Block("cvt.rna.tf32.f32", "b32(f32)", "
        %b = bitcast float %0 to i32
        call i32 @gr.tf32(i32 %b)"),

    // ---- floats of 8 bits, two in 16 bits (OCP 8-bit Floating Point Specification) ----
    Block("cvt.rn.satfinite{|.relu}.{e4m3x2=e4m3|e5m2x2=e5m2}.f32", "b16(f32, f32)", "
        %h = call i16 @gr.narrow8$1.$2(float %0)
        %l = call i16 @gr.narrow8$1.$2(float %1)
        %s = shl i16 %h, 8
        or i16 %s, %l"),
    Block("cvt.rn.satfinite{|.relu}.{e4m3x2|e5m2x2}.f16x2", "b16(f16x2)", "
        %a = extractelement <2 x half> %0, i32 0
        %l = fpext half %a to float
        %b = extractelement <2 x half> %0, i32 1
        %h = fpext half %b to float
        call i16 @gr.cvt.rn.satfinite$1.$2.f32(float %h, float %l)"),
    Block("cvt.rn.f16x2.{e4m3x2=e4m3|e5m2x2=e5m2}", "f16x2(b16)", "
        %l = call half @gr.widen8.$1(i16 %0)
        %s = lshr i16 %0, 8
        %h = call half @gr.widen8.$1(i16 %s)
        %v = insertelement <2 x half> poison, half %l, i32 0
        insertelement <2 x half> %v, half %h, i32 1"),
];
