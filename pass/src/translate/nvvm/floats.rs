//! Floating-point building blocks: flushing, directed rounding.
//!
//! Operations on `float` in a directed mode (`rz`, `rm`, `rp`) compute in `double`. The error of that
//! operation is known exactly, and with it the result is rounded to odd. A value rounded to odd with at
//! least two more bits rounds in any mode as the exact value would (Boldo and Melquiond, "Emulation of a
//! FMA and correctly rounded sums", IEEE Trans. Computers 57, 2008). Operations on `double` set the
//! processor's rounding mode for one operation.
//!
//! Values of 16-bit formats are computed on as `float` or as their bits in `i16`. So host code needs no `half`
//! or `bfloat` arithmetic, only conversion between `half` and `float`.

use super::template::Block;

/// The blocks of this file.
#[rustfmt::skip]
pub const BLOCKS: &[Block] = &[
    // ---- subnormals become zeros of their sign ----
    Block("ftz.<f16|bf16|f32|f64>", "$1($1)", "
        %b = bitcast $1 %0 to $1:4
        %e = call $1:4 @gr.exponent.$1:0($1:4 %b)
        %s = icmp eq $1:4 %e, 0
        %z = and $1:4 %b, $1:5
        %f = select i1 %s, $1:4 %z, $1:4 %b
        bitcast $1:4 %f to $1"),
    Block("exponent.{f16=i16,31744|bf16=i16,32640|f32=i32,2139095040|f64=i64,9218868437227405312}",
        "$1($1)", "and $1 %0, $1:1"),
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
        bitcast $1:1 %r to $1"),
    Block("negative_least.{i32=i32,-2147483647|i64=i64,-9223372036854775807}", "$1()", "ret $1 $1:1"),
    Block("up.{f32=float,f32|f64=double,f64}", "$1($1)", "
        %n = fneg $1 %0
        %d = call $1 @gr.down.$1:1($1 %n)
        fneg $1 %d"),
    Block("inward.{f32=float,i32|f64=double,i64}", "$1($1)", "
        %b = bitcast $1 %0 to $1:1
        %i = sub $1:1 %b, 1
        bitcast $1:1 %i to $1"),
    // ---- double to float ----
    Block("d2f.rn", "float(double)", "fptrunc double %0 to float"),
    Block("d2f.{rm=ogt,down|rp=olt,up}", "float(double)", "
        %f = fptrunc double %0 to float
        %d = fpext float %f to double
        %wrong = fcmp $1 double %d, %0
        %n = call float @gr.$1:1.f32(float %f)
        select i1 %wrong, float %n, float %f"),
    Block("d2f.rz", "float(double)", "
        %f = fptrunc double %0 to float
        %d = fpext float %f to double
        %ad = call double @llvm.fabs.f64(double %d)
        %a0 = call double @llvm.fabs.f64(double %0)
        %wrong = fcmp ogt double %ad, %a0
        %n = call float @gr.inward.f32(float %f)
        select i1 %wrong, float %n, float %f"),
    Block("d2f.odd", "float(double)", "
        %f = call float @gr.d2f.rz(double %0)
        %d = fpext float %f to double
        %inexact = fcmp one double %d, %0
        %b = bitcast float %f to i32
        %bit = zext i1 %inexact to i32
        %o = or i32 %b, %bit
        bitcast i32 %o to float"),
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
        bitcast i64 %o to double"),
    Block("adjust.{rm=olt,down|rp=ogt,up}", "double(double, double)", "
        %wrong = fcmp $1 double %1, 0.0
        %n = call double @gr.$1:1.f64(double %0)
        select i1 %wrong, double %n, double %0"),
    Block("adjust.rz", "double(double, double)", "
        %inexact = fcmp one double %1, 0.0
        %high = fcmp ogt double %1, 0.0
        %positive = fcmp ogt double %0, 0.0
        %inward = xor i1 %high, %positive
        %wrong = and i1 %inexact, %inward
        %n = call double @gr.inward.f64(double %0)
        select i1 %wrong, double %n, double %0"),
    // The error of the sum is exact by Knuth's TwoSum; it is NaN where the sum is not finite.
    Block("sum.odd", "double(double, double)", "
        %s = fadd double %0, %1
        %b = fsub double %s, %0
        %a = fsub double %s, %b
        %da = fsub double %0, %a
        %db = fsub double %1, %b
        %e = fadd double %da, %db
        call double @gr.odd(double %s, double %e)"),
    Block("sum.{rz|rp}", "float(double, double)", "
        %s = call double @gr.sum.odd(double %0, double %1)
        call float @gr.d2f.$1(double %s)"),
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
        select i1 %zero, float %z, float %f"),
    // ---- an integer that double does not hold, before it is converted ----
    // In a number of more than 53 bits, the twelve low bits become one sticky bit. No float lies between two such
    // values.
    Block("narrow", "i64(i64, i64)", "
        %wide = icmp ugt i64 %1, 9007199254740992
        %low = and i64 %0, 4095
        %inexact = icmp ne i64 %low, 0
        %high = and i64 %0, -4096
        %sticky = select i1 %inexact, i64 2048, i64 0
        %n = or i64 %high, %sticky
        select i1 %wide, i64 %n, i64 %0"),
    // ---- modifiers. `.sat`: to [0, 1], NaN becomes 0. `.relu`: negative values become 0, NaN the canonical
    // one ----
    Block("sat.<FLOAT>", "$1($1)", "
        %p = fcmp ogt $1 %0, 0.0
        %l = select i1 %p, $1 %0, $1 0.0
        %h = fcmp olt $1 %l, 1.0
        select i1 %h, $1 %l, $1 1.0"),
    Block("sat.<SMALL>", "$1($1)", "f32 @gr.sat.f32"),
    Block("relu.<SMALL>", "$1($1)", "
        %b = bitcast $1 %0 to i16
        %p = call i16 @llvm.smax.i16(i16 %b, i16 0)
        %nan = call i1 @gr.compare.nan.$1:0($1 %0, $1 %0)
        %i = select i1 %nan, i16 32767, i16 %p
        bitcast i16 %i to $1"),
    // ---- other small formats ----
    // A `float` with 10 bits of fraction, as bits. Ties go away from zero.
    Block("tf32", "i32(i32)", "
        %up = add i32 %0, 4096
        %cut = and i32 %up, -8192
        %m = and i32 %0, 2147483647
        %finite = icmp ult i32 %m, 2139095040
        %r = select i1 %finite, i32 %cut, i32 %0
        %nan = icmp ugt i32 %m, 2139095040
        select i1 %nan, i32 2147483647, i32 %r"),
    // The 8-bit float nearest to a `float`, or the largest finite one. The number is rounded in steps of its
    // exponent; subnormal numbers have the steps of the smallest normal number.
    Block("narrow8.{e4m3=3,121,126,257|e5m2=2,113,123,256}", "b16(f32)", "
        %b = bitcast float %0 to i32
        %e0 = lshr i32 %b, 23
        %e1 = and i32 %e0, 255
        %e = call i32 @llvm.smax.i32(i32 %e1, i32 $1:1)
        ; 2 to the power of the bits of fraction less the exponent, as far as a `float` can hold it.
        %p0 = sub i32 $1:3, %e
        %p1 = call i32 @llvm.smax.i32(i32 %p0, i32 1)
        %p2 = shl i32 %p1, 23
        %p = bitcast i32 %p2 to float
        %m = call float @llvm.fabs.f32(float %0)
        %s0 = fmul float %m, %p
        %s1 = call float @llvm.roundeven.f32(float %s0)
        %steps = call i32 @llvm.fptoui.sat.i32.f32(float %s1)
        %a = sub i32 %e, $1:1
        %above = shl i32 %a, $1
        %c0 = call i32 @llvm.uadd.sat.i32(i32 %above, i32 %steps)
        %c1 = call i32 @llvm.umin.i32(i32 %c0, i32 $1:2)
        %n0 = lshr i32 %b, 24
        %n = and i32 %n0, 128
        %c2 = or i32 %c1, %n
        %nan = fcmp uno float %0, %0
        %c = select i1 %nan, i32 127, i32 %c2
        trunc i32 %c to i16"),
    Block("narrow8.relu.{e4m3|e5m2}", "b16(f32)", "
        %c = call i16 @gr.narrow8.$1(float %0)
        %negative = icmp ugt i16 %c, 127
        select i1 %negative, i16 0, i16 %c"),
    // An 8-bit float as a half. Its bits at the places of a half give a number that is too small by the
    // difference of the biases. With 5 bits of exponent, the largest exponent stands for infinities and NaN, as
    // in a half. With 4 bits, only one pattern is NaN.
    Block("widen8.{e4m3=7,256.0,126|e5m2=8,1.0,124}", "f16(b16)", "
        %u = and i16 %0, 127
        %b = shl i16 %u, $1
        %h = bitcast i16 %b to half
        %f = fpext half %h to float
        %g = fmul float %f, $1:1
        %i = fptrunc float %g to half
        %m = bitcast half %i to i16
        %s0 = shl i16 %0, 8
        %s = and i16 %s0, -32768
        %v = or i16 %m, %s
        %nan = icmp ugt i16 %u, $1:2
        %w = select i1 %nan, i16 32767, i16 %v
        bitcast i16 %w to half"),
];
