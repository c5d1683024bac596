//! Arithmetic of floats.
//!
//! 16-bit formats compute in `float` and round once more. For `add`, `sub` and, in half precision,
//! `mul`, the second rounding changes nothing, since `float` has more than twice their digits. Other
//! operations keep a sticky bit. The results of approximations are the host's, or as exact as PTX asks for.

use crate::translate::nvvm::template::Block;

/// The rows of this file.
#[rustfmt::skip]
pub const ROWS: &[Block] = &[
    Block("{add|sub|mul}{|.rn}.<FLOAT>", "$3($3, $3)", "f$1 $3 %0, %1"),
    Block("div{|.rn|.approx|.full}.<FLOAT>", "$2($2, $2)", "fdiv $2 %0, %1"),
    Block("{fma|mad}{|.rn}.<FLOAT>", "$3($3, $3, $3)", "call $3 @llvm.fma.$3:1($3 %0, $3 %1, $3 %2)"),
    Block("sqrt.{rn|approx}.<FLOAT>", "$2($2)", "call $2 @llvm.sqrt.$2:1($2 %0)"),
    Block("mad.{rz|rm|rp}.<FLOAT>", "$2($2, $2, $2)", "@gr.fma.$1.$2:0"),
    Block("rcp.{approx=rn|rn|rz|rm|rp}.<FLOAT>", "$2($2)", "call $2 @gr.div.$1.$2:0($2 1.0, $2 %0)"),
    Block("rsqrt.approx.<FLOAT>", "$1($1)", "
        %s = call $1 @llvm.sqrt.$1:1($1 %0)
        fdiv $1 1.0, %s"),
    Block("{lg2=log2|sin|cos|tanh}.approx.f32", "f32(f32)", "call float @llvm.$1.f32(float %0)"),
    // Without a call, so that loops over threads are vectorised. Adding 1.5 * 2^23 rounds to the nearest
    // integer. The polynomial for -0.5 to 0.5 is that of Cephes (`exp2f.c`), exact to 1.7e-7. Two factors, as
    // one would not hold the exponent of a subnormal result.
    Block("ex2.approx.f32", "f32(f32)", "
        %above = fcmp ogt float %0, 160.0
        %x0 = select i1 %above, float 160.0, float %0
        %below = fcmp olt float %x0, -160.0
        %x = select i1 %below, float -160.0, float %x0
        %t = fadd float %x, 0x4168000000000000
        %r = fsub float %t, 0x4168000000000000
        %f = fsub float %x, %r
        %p5 = fmul float %f, 0x3F241FBBC0000000
        %q5 = fadd float %p5, 0x3F55F3E520000000
        %p4 = fmul float %q5, %f
        %q4 = fadd float %p4, 0x3F83B2D4C0000000
        %p3 = fmul float %q4, %f
        %q3 = fadd float %p3, 0x3FAC6AEE80000000
        %p2 = fmul float %q3, %f
        %q2 = fadd float %p2, 0x3FCEBFBDC0000000
        %p1 = fmul float %q2, %f
        %q1 = fadd float %p1, 0x3FE62E4300000000
        %p0 = fmul float %q1, %f
        %q0 = fadd float %p0, 1.0
        %tb = bitcast float %t to i32
        %n = sub i32 %tb, 1262485504
        %n0 = ashr i32 %n, 1
        %n1 = sub i32 %n, %n0
        %e0 = add i32 %n0, 127
        %e1 = add i32 %n1, 127
        %s0 = shl i32 %e0, 23
        %s1 = shl i32 %e1, 23
        %m0 = bitcast i32 %s0 to float
        %m1 = bitcast i32 %s1 to float
        %h = fmul float %q0, %m0
        fmul float %h, %m1"),
    // By the type in IR.
    Block("ex2.float", "f32(f32)", "call float @gr.ex2.approx.f32(float %0)"),
    Block("ex2.{half=f16|bfloat=bf16}", "$1($1)", "call $1:0 @llvm.exp2.$1($1:0 %0)"),
    Block("copysign.<FLOAT>", "$1($1, $1)", "call $1 @llvm.copysign.$1:1($1 %1, $1 %0)"),
    // By the classes of `llvm.is.fpclass`.
    Block("testp.{finite=504|infinite=516|number=1020|notanumber=3|normal=264|subnormal=144}.<FLOAT>",
        "pred($2)", "call i1 @llvm.is.fpclass.$2:1($2 %0, i32 $1)"),

    // The sign alone changes, also of a NaN.
    Block("abs.<f16|bf16|f32|f64>", "$1($1)", "
        %b = bitcast $1 %0 to $1:4
        %m = and $1:4 %b, $1:6
        bitcast $1:4 %m to $1"),
    Block("neg.<f16|bf16|f32|f64>", "$1($1)", "
        %b = bitcast $1 %0 to $1:4
        %n = xor $1:4 %b, $1:5
        bitcast $1:4 %n to $1"),

    // ---- minimum and maximum, with -0 < +0. A NaN is ignored, with `.NaN` it is the result. Not by LLVM's
    // `maximum`, which is wrong for NaN in pairs of halves on processors with F16C (LLVM 19) ----
    Block("{min|max}.<FLOAT>", "$2($2, $2)", "
        %m = call $2 @gr.$1.NaN.$2:0($2 %0, $2 %1)
        %n0 = fcmp uno $2 %0, %0
        %n1 = fcmp uno $2 %1, %1
        %r1 = select i1 %n1, $2 %0, $2 %m
        select i1 %n0, $2 %1, $2 %r1"),
    // Equal numbers differ at most in the sign of a zero.
    Block("{min=olt,or|max=ogt,and}.NaN.<FLOAT>", "$2($2, $2)", "
        %b0 = bitcast $2 %0 to $2:4
        %b1 = bitcast $2 %1 to $2:4
        %b = $1:1 $2:4 %b0, %b1
        %zero = bitcast $2:4 %b to $2
        %same = fcmp oeq $2 %0, %1
        %first = fcmp $1 $2 %0, %1
        %c = select i1 %first, $2 %0, $2 %1
        %m = select i1 %same, $2 %zero, $2 %c
        %nan = fcmp uno $2 %0, %1
        %sum = fadd $2 %0, %1
        select i1 %nan, $2 %sum, $2 %m"),
    // The lesser or greater magnitude, with the sign of the product.
    Block("{min|max}{|.NaN}.xorsign.abs.f32", "f32(f32, f32)", "
        %a = call float @llvm.fabs.f32(float %0)
        %b = call float @llvm.fabs.f32(float %1)
        %m = call float @gr.$1$2.f32(float %a, float %b)
        %i0 = bitcast float %0 to i32
        %i1 = bitcast float %1 to i32
        %x = xor i32 %i0, %i1
        %s = bitcast i32 %x to float
        call float @llvm.copysign.f32(float %m, float %s)"),

    // ---- 16-bit formats ----
    Block("{add|sub}{|.rn}.<SMALL>", "$3($3, $3)", "f32 @gr.$1.f32"),
    Block("{min|max}{|.NaN}{|.xorsign.abs}.<SMALL>", "$4($4, $4)", "f32 @gr.$1$2$3.f32"),
    Block("{ex2|tanh}.approx.<SMALL>", "$2($2)", "f32 @gr.$1.approx.f32"),
    Block("mul{|.rn}.f16", "f16(f16, f16)", "f32 @gr.mul.f32"),
    // The product of two `bf16` may be a subnormal `float`.
    Block("mul{|.rn}.bf16", "bf16(bf16, bf16)",
        "call bfloat @gr.fma.rn.bf16(bfloat %0, bfloat %1, bfloat -0.0)"),
    Block("fma{|.rn}.<SMALL>", "$2($2, $2, $2)", "
        %a = call double @gr.cvt.f64.$2:0($2 %0)
        %b = call double @gr.cvt.f64.$2:0($2 %1)
        %c = call double @gr.cvt.f64.$2:0($2 %2)
        %p = fmul double %a, %b
        %s = call double @gr.sum.odd(double %p, double %c)
        %f = call float @gr.d2f.odd(double %s)
        call $2 @gr.cvt.rn.$2:0.f32(float %f)"),

    // ---- directed rounding ----
    Block("add.{rz|rm|rp}.f32", "f32(f32, f32)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        call float @gr.sum.$1(double %a, double %b)"),
    Block("sub.{rz|rm|rp}.f32", "f32(f32, f32)", "
        %n = fneg float %1
        call float @gr.add.$1.f32(float %0, float %n)"),
    Block("mul.{rz|rm|rp}.f32", "f32(f32, f32)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %p = fmul double %a, %b
        call float @gr.d2f.$1(double %p)"),
    Block("fma.{rz|rm|rp}.f32", "f32(f32, f32, f32)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %c = fpext float %2 to double
        %p = fmul double %a, %b
        call float @gr.sum.$1(double %p, double %c)"),
    Block("div.{rz|rm|rp}.f32", "f32(f32, f32)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %q = fdiv double %a, %b
        %n = fneg double %q
        %rest = call double @llvm.fma.f64(double %n, double %b, double %a)
        %e = fdiv double %rest, %b
        %o = call double @gr.odd(double %q, double %e)
        call float @gr.d2f.$1(double %o)"),
    Block("sqrt.{rz|rm|rp}.f32", "f32(f32)", "
        %a = fpext float %0 to double
        %q = call double @llvm.sqrt.f64(double %a)
        %n = fneg double %q
        %e = call double @llvm.fma.f64(double %n, double %q, double %a)
        %o = call double @gr.odd(double %q, double %e)
        call float @gr.d2f.$1(double %o)"),
    Block("{add|sub|mul|div}.{rz=0|rp=2|rm=3}.f64", "f64(f64, f64); noinline strictfp", "
        call void @llvm.set.rounding(i32 $2) strictfp
        %r = call double @llvm.experimental.constrained.f$1.f64(double %0, double %1, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp
        call void @llvm.set.rounding(i32 1) strictfp
        ret double %r"),
    Block("fma.{rz=0|rp=2|rm=3}.f64", "f64(f64, f64, f64); noinline strictfp", "
        call void @llvm.set.rounding(i32 $1) strictfp
        %r = call double @llvm.experimental.constrained.fma.f64(double %0, double %1, double %2, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp
        call void @llvm.set.rounding(i32 1) strictfp
        ret double %r"),
    Block("sqrt.{rz=0|rp=2|rm=3}.f64", "f64(f64); noinline strictfp", "
        call void @llvm.set.rounding(i32 $1) strictfp
        %r = call double @llvm.experimental.constrained.sqrt.f64(double %0, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp
        call void @llvm.set.rounding(i32 1) strictfp
        ret double %r"),
];
