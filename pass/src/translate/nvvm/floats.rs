//! Floating-point building blocks: flushing, directed rounding, 16-bit formats.
//!
//! Operations on `float` in a directed mode (`rz`, `rm`, `rp`) compute in `double`. The error of that
//! operation is known exactly, and with it the result is rounded to odd. A value rounded to odd with at
//! least two more bits rounds in any mode as the exact value would (Boldo and Melquiond, "Emulation of a
//! FMA and correctly rounded sums", IEEE Trans. Computers 57, 2008). Operations on `double` set the
//! processor's rounding mode for one operation.
//!
//! Values of 16-bit formats are passed as their bits in `i16`. So host code needs no `half` or `bfloat`
//! arithmetic, only conversion between `half` and `float`.

use super::template::Block;

/// The blocks of this file.
pub const BLOCKS: &[Block] = &[
    // ---- subnormals become zeros of their sign ----
    Block("ftz.{f32=float,i32|f64=double,i64}", "$1($1)", "
        %b = bitcast $1 %0 to $1:1
        %a = call $1:1 @gr.exponent.$1:1($1:1 %b)
        %s = icmp eq $1:1 %a, 0
        %z = call $1 @gr.signed_zero.$1($1 %0)
        %r = select i1 %s, $1 %z, $1 %0
        ret $1 %r"),
    Block("exponent.{i32=i32,2139095040|i64=i64,9218868437227405312}", "$1($1)", "and $1 %0, $1:1"),
    Block("signed_zero.{float=float,f32|double=double,f64}", "$1($1)",
        "call $1 @llvm.copysign.$1:1($1 0.0, $1 %0)"),
    Block("ftz.{f16=half|bf16=bfloat}", "$1($1)", "
        %b = bitcast $1 %0 to i16
        %e = call i16 @gr.exponent.$1(i16 %b)
        %s = icmp eq i16 %e, 0
        %z = and i16 %b, -32768
        %f = select i1 %s, i16 %z, i16 %b
        %r = bitcast i16 %f to $1
        ret $1 %r"),
    Block("exponent.{half=31744|bfloat=32640}", "i16(i16)", "and i16 %0, $1"),
    Block("ftz.{f16x2=half,f16|bf16x2=bfloat,bf16}", "<2 x $1>(<2 x $1>)", "
        %a = extractelement <2 x $1> %0, i32 0
        %b = extractelement <2 x $1> %0, i32 1
        %c = call $1 @gr.ftz.$1:1($1 %a)
        %d = call $1 @gr.ftz.$1:1($1 %b)
        %v = insertelement <2 x $1> %0, $1 %c, i32 0
        %w = insertelement <2 x $1> %v, $1 %d, i32 1
        ret <2 x $1> %w"),

    // ---- the neighbours of a value ----
    Block("down.{f32=float,i32|f64=double,i64}", "$1($1)", "
        %b = bitcast $1 %0 to $1:1
        %negative = icmp slt $1:1 %b, 0
        %zero = icmp eq $1:1 %b, 0
        %more = add $1:1 %b, 1
        %less = sub $1:1 %b, 1
        %moved = select i1 %negative, $1:1 %more, $1:1 %less
        %least = call $1:1 @gr.negative_least.$1:1()
        %r = select i1 %zero, $1:1 %least, $1:1 %moved
        %f = bitcast $1:1 %r to $1
        ret $1 %f"),
    Block("negative_least.{i32=i32,-2147483647|i64=i64,-9223372036854775807}", "$1()", "ret $1 $1:1"),
    Block("up.{f32=float,f32|f64=double,f64}", "$1($1)", "
        %n = fneg $1 %0
        %d = call $1 @gr.down.$1:1($1 %n)
        %u = fneg $1 %d
        ret $1 %u"),
    Block("inward.{f32=float,i32|f64=double,i64}", "$1($1)", "
        %b = bitcast $1 %0 to $1:1
        %i = sub $1:1 %b, 1
        %f = bitcast $1:1 %i to $1
        ret $1 %f"),

    // ---- double to float ----
    Block("d2f.rn", "float(double)", "fptrunc double %0 to float"),
    Block("d2f.{rm=ogt,down|rp=olt,up}", "float(double)", "
        %f = fptrunc double %0 to float
        %d = fpext float %f to double
        %wrong = fcmp $1 double %d, %0
        %n = call float @gr.$1:1.f32(float %f)
        %r = select i1 %wrong, float %n, float %f
        ret float %r"),
    Block("d2f.rz", "float(double)", "
        %f = fptrunc double %0 to float
        %d = fpext float %f to double
        %ad = call double @llvm.fabs.f64(double %d)
        %a0 = call double @llvm.fabs.f64(double %0)
        %wrong = fcmp ogt double %ad, %a0
        %n = call float @gr.inward.f32(float %f)
        %r = select i1 %wrong, float %n, float %f
        ret float %r"),
    Block("d2f.odd", "float(double)", "
        %f = call float @gr.d2f.rz(double %0)
        %d = fpext float %f to double
        %inexact = fcmp one double %d, %0
        %b = bitcast float %f to i32
        %bit = zext i1 %inexact to i32
        %o = or i32 %b, %bit
        %r = bitcast i32 %o to float
        ret float %r"),

    // ---- a rounded double and its error: the exact value rounded to odd, or in a direction ----
    Block("odd", "double(double, double)", "
        %inexact = fcmp one double %1, 0.0
        %b = bitcast double %0 to i64
        %parity = and i64 %b, 1
        %even = icmp eq i64 %parity, 0
        %wrong = and i1 %inexact, %even
        %high = fcmp ogt double %1, 0.0
        %positive = icmp sgt i64 %b, -1
        %outward = icmp eq i1 %high, %positive
        %step = select i1 %outward, i64 1, i64 -1
        %n = add i64 %b, %step
        %o = select i1 %wrong, i64 %n, i64 %b
        %r = bitcast i64 %o to double
        ret double %r"),
    Block("adjust.{rm=olt,down|rp=ogt,up}", "double(double, double)", "
        %wrong = fcmp $1 double %1, 0.0
        %n = call double @gr.$1:1.f64(double %0)
        %r = select i1 %wrong, double %n, double %0
        ret double %r"),
    Block("adjust.rz", "double(double, double)", "
        %inexact = fcmp one double %1, 0.0
        %high = fcmp ogt double %1, 0.0
        %positive = fcmp ogt double %0, 0.0
        %inward = xor i1 %high, %positive
        %wrong = and i1 %inexact, %inward
        %n = call double @gr.inward.f64(double %0)
        %r = select i1 %wrong, double %n, double %0
        ret double %r"),
    // The error of the sum is exact by Knuth's TwoSum; it is NaN where the sum is not finite.
    Block("sum.odd", "double(double, double)", "
        %s = fadd double %0, %1
        %b = fsub double %s, %0
        %a = fsub double %s, %b
        %da = fsub double %0, %a
        %db = fsub double %1, %b
        %e = fadd double %da, %db
        %r = call double @gr.odd(double %s, double %e)
        ret double %r"),
    Block("sum.{rz|rp}", "float(double, double)", "
        %s = call double @gr.sum.odd(double %0, double %1)
        %r = call float @gr.d2f.$1(double %s)
        ret float %r"),
    // A zero sum is -0 when rounding down, unless both terms are +0.
    Block("sum.rm", "float(double, double)", "
        %s = call double @gr.sum.odd(double %0, double %1)
        %f = call float @gr.d2f.rm(double %s)
        %zero = fcmp oeq double %s, 0.0
        %b0 = bitcast double %0 to i64
        %b1 = bitcast double %1 to i64
        %b = or i64 %b0, %b1
        %negative = icmp slt i64 %b, 0
        %z = select i1 %negative, float -0.0, float 0.0
        %r = select i1 %zero, float %z, float %f
        ret float %r"),

    // ---- operations in a rounding mode ----
    Block("{add|sub|mul|div}.rn.{f=float|d=double}", "$2($2, $2)", "f$1 $2 %0, %1"),
    Block("fma.rn.{f=float,f32|d=double,f64}", "$1($1, $1, $1)",
        "call $1 @llvm.fma.$1:1($1 %0, $1 %1, $1 %2)"),
    Block("sqrt.rn.{f=float,f32|d=double,f64}", "$1($1)", "call $1 @llvm.sqrt.$1:1($1 %0)"),
    Block("add.{rz|rm|rp}.f", "float(float, float)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %r = call float @gr.sum.$1(double %a, double %b)
        ret float %r"),
    Block("mul.{rz|rm|rp}.f", "float(float, float)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %p = fmul double %a, %b
        %r = call float @gr.d2f.$1(double %p)
        ret float %r"),
    Block("fma.{rz|rm|rp}.f", "float(float, float, float)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %c = fpext float %2 to double
        %p = fmul double %a, %b
        %r = call float @gr.sum.$1(double %p, double %c)
        ret float %r"),
    Block("div.{rz|rm|rp}.f", "float(float, float)", "
        %a = fpext float %0 to double
        %b = fpext float %1 to double
        %q = fdiv double %a, %b
        %n = fneg double %q
        %rest = call double @llvm.fma.f64(double %n, double %b, double %a)
        %e = fdiv double %rest, %b
        %o = call double @gr.odd(double %q, double %e)
        %r = call float @gr.d2f.$1(double %o)
        ret float %r"),
    Block("sqrt.{rz|rm|rp}.f", "float(float)", "
        %a = fpext float %0 to double
        %q = call double @llvm.sqrt.f64(double %a)
        %n = fneg double %q
        %e = call double @llvm.fma.f64(double %n, double %q, double %a)
        %o = call double @gr.odd(double %q, double %e)
        %r = call float @gr.d2f.$1(double %o)
        ret float %r"),
    Block("{add|sub|mul|div}.{rz=0|rp=2|rm=3}.d", "double(double, double); noinline strictfp", "
        call void @llvm.set.rounding(i32 $2) strictfp
        %r = call double @llvm.experimental.constrained.f$1.f64(double %0, double %1, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp
        call void @llvm.set.rounding(i32 1) strictfp
        ret double %r"),
    Block("fma.{rz=0|rp=2|rm=3}.d", "double(double, double, double); noinline strictfp", "
        call void @llvm.set.rounding(i32 $1) strictfp
        %r = call double @llvm.experimental.constrained.fma.f64(double %0, double %1, double %2, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp
        call void @llvm.set.rounding(i32 1) strictfp
        ret double %r"),
    Block("sqrt.{rz=0|rp=2|rm=3}.d", "double(double); noinline strictfp", "
        call void @llvm.set.rounding(i32 $1) strictfp
        %r = call double @llvm.experimental.constrained.sqrt.f64(double %0, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") strictfp
        call void @llvm.set.rounding(i32 1) strictfp
        ret double %r"),

    // ---- integers that double does not hold, to float and double ----
    // In a number of more than 53 bits, the twelve low bits become one sticky bit. No float lies between
    // two such values.
    Block("narrow", "i64(i64, i64)", "
        %wide = icmp ugt i64 %1, 9007199254740992
        %low = and i64 %0, 4095
        %inexact = icmp ne i64 %low, 0
        %high = and i64 %0, -4096
        %sticky = select i1 %inexact, i64 2048, i64 0
        %n = or i64 %high, %sticky
        %r = select i1 %wide, i64 %n, i64 %0
        ret i64 %r"),
    Block("ll2f.{rz|rm|rp}", "float(i64)", "
        %a = call i64 @llvm.abs.i64(i64 %0, i1 false)
        %n = call i64 @gr.narrow(i64 %0, i64 %a)
        %d = sitofp i64 %n to double
        %r = call float @gr.d2f.$1(double %d)
        ret float %r"),
    Block("ull2f.{rz|rm|rp}", "float(i64)", "
        %n = call i64 @gr.narrow(i64 %0, i64 %0)
        %d = uitofp i64 %n to double
        %r = call float @gr.d2f.$1(double %d)
        ret float %r"),
    Block("{ll=ashr,si|ull=lshr,ui}2d.{rz|rm|rp}", "double(i64)", "
        %h = $1 i64 %0, 32
        %l = and i64 %0, 4294967295
        %hd = $1:1tofp i64 %h to double
        %hs = fmul double %hd, 4294967296.0
        %ld = uitofp i64 %l to double
        %s = fadd double %hs, %ld
        %b = fsub double %s, %hs
        %e = fsub double %ld, %b
        %r = call double @gr.adjust.$2(double %s, double %e)
        ret double %r"),

    // ---- minimum and maximum, with -0 < +0. `num` ignores a NaN, `nan` returns it ----
    Block("{minimum|maximum}.num.{float=float,f32|double=double,f64}", "$2($2, $2)", "
        %m = call $2 @llvm.$1.$2:1($2 %0, $2 %1)
        %n0 = fcmp uno $2 %0, %0
        %n1 = fcmp uno $2 %1, %1
        %r1 = select i1 %n1, $2 %0, $2 %m
        %r = select i1 %n0, $2 %1, $2 %r1
        ret $2 %r"),
    Block("{minimum|maximum}.nan.{float=float,f32|double=double,f64}", "$2($2, $2)",
        "call $2 @llvm.$1.$2:1($2 %0, $2 %1)"),
    // The lesser or greater magnitude, with the sign of the product.
    Block("{minimum|maximum}.{num|nan}.xorsign.float", "float(float, float)", "
        %a = call float @llvm.fabs.f32(float %0)
        %b = call float @llvm.fabs.f32(float %1)
        %m = call float @gr.$1.$2.float(float %a, float %b)
        %i0 = bitcast float %0 to i32
        %i1 = bitcast float %1 to i32
        %x = xor i32 %i0, %i1
        %s = bitcast i32 %x to float
        %r = call float @llvm.copysign.f32(float %m, float %s)
        ret float %r"),
    Block("saturate.{float=float,f32|double=double,f64}", "$1($1)", "
        %p = fcmp ogt $1 %0, 0.0
        %l = select i1 %p, $1 %0, $1 0.0
        %h = fcmp olt $1 %l, 1.0
        %r = select i1 %h, $1 %l, $1 1.0
        ret $1 %r"),

    // ---- 16-bit formats, as bits ----
    Block("load.f16", "float(i16)", "
        %h = bitcast i16 %0 to half
        %f = fpext half %h to float
        ret float %f"),
    Block("load.bf16", "float(i16)", "
        %w = zext i16 %0 to i32
        %s = shl i32 %w, 16
        %f = bitcast i32 %s to float
        ret float %f"),
    Block("round.f16.rn", "i16(float)", "
        %h = fptrunc float %0 to half
        %b = bitcast half %h to i16
        ret i16 %b"),
    // Overflow gives the largest finite value, whose bits are one less than infinity's.
    Block("round.f16.rz", "i16(float)", "
        %n = call i16 @gr.round.f16.rn(float %0)
        %f = call float @gr.load.f16(i16 %n)
        %af = call float @llvm.fabs.f32(float %f)
        %a0 = call float @llvm.fabs.f32(float %0)
        %wrong = fcmp ogt float %af, %a0
        %i = sub i16 %n, 1
        %r = select i1 %wrong, i16 %i, i16 %n
        ret i16 %r"),
    Block("round.bf16.rn", "i16(float)", "
        %b = bitcast float %0 to i32
        %h = lshr i32 %b, 16
        %odd = and i32 %h, 1
        %c = add i32 %b, 32767
        %d = add i32 %c, %odd
        %s = lshr i32 %d, 16
        %t = trunc i32 %s to i16
        %nan = fcmp uno float %0, %0
        %r = select i1 %nan, i16 32767, i16 %t
        ret i16 %r"),
    Block("round.bf16.rz", "i16(float)", "
        %b = bitcast float %0 to i32
        %s = lshr i32 %b, 16
        %t = trunc i32 %s to i16
        %nan = fcmp uno float %0, %0
        %r = select i1 %nan, i16 32767, i16 %t
        ret i16 %r"),
    // A `float` with 10 bits of fraction, as bits. Ties go away from zero.
    Block("tf32", "i32(i32)", "
        %up = add i32 %0, 4096
        %cut = and i32 %up, -8192
        %m = and i32 %0, 2147483647
        %finite = icmp ult i32 %m, 2139095040
        %r = select i1 %finite, i32 %cut, i32 %0
        %nan = icmp ugt i32 %m, 2139095040
        %n = select i1 %nan, i32 2147483647, i32 %r
        ret i32 %n"),
    Block("{f16|bf16}.all", "i16(i16)", "%0"),
    // Negative values become 0, NaN the canonical one.
    Block("{f16=31744|bf16=32640}.relu", "i16(i16)", "
        %m = and i16 %0, 32767
        %nan = icmp ugt i16 %m, $1
        %p = call i16 @llvm.smax.i16(i16 %0, i16 0)
        %r = select i1 %nan, i16 32767, i16 %p
        ret i16 %r"),
    // To [0, 1]; NaN becomes 0.
    Block("{f16=31744,15360|bf16=32640,16256}.sat", "i16(i16)", "
        %m = and i16 %0, 32767
        %nan = icmp ugt i16 %m, $1
        %p = call i16 @llvm.smax.i16(i16 %0, i16 0)
        %s = call i16 @llvm.smin.i16(i16 %p, i16 $1:1)
        %r = select i1 %nan, i16 0, i16 %s
        ret i16 %r"),
    Block("fma.{f16|bf16}", "i16(i16, i16, i16)", "
        %f0 = call float @gr.load.$1(i16 %0)
        %f1 = call float @gr.load.$1(i16 %1)
        %f2 = call float @gr.load.$1(i16 %2)
        %a = fpext float %f0 to double
        %b = fpext float %f1 to double
        %c = fpext float %f2 to double
        %p = fmul double %a, %b
        %s = call double @gr.sum.odd(double %p, double %c)
        %f = call float @gr.d2f.odd(double %s)
        %r = call i16 @gr.round.$1.rn(float %f)
        ret i16 %r"),
];
