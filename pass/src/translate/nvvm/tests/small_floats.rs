//! `half` and `bfloat`: conversions, fused multiply-add, minima, all against
//! exact arithmetic and rounding by definition.

use super::harness::*;
use super::processor::{bfloat_bits, bfloat_value, half_bits, half_value};

type Bits3 = extern "C" fn(u16, u16, u16) -> u16;

/// Whether two results are the same bits, or both NaN.
fn same(nan_above: u16, a: u16, b: u16) -> bool {
    a == b || (a & 0x7fff > nan_above && b & 0x7fff > nan_above)
}

/// A function that takes and gives bits, around an intrinsic of a 16-bit type.
fn wrapper(name: &str, ty: &str, arity: usize) -> String {
    let list = |f: &dyn Fn(usize) -> String| (0..arity).map(f).collect::<Vec<_>>().join(", ");
    let casts: String = (0..arity).map(|i| format!("  %b{i} = bitcast i16 %{i} to {ty}\n")).collect();
    format!(
        "declare {ty} @llvm.nvvm.{name}({})\ndefine i16 @{name}({}) {{\nentry:\n{casts}  %r = call {ty} @llvm.nvvm.{name}({})\n  %b = bitcast {ty} %r to i16\n  ret i16 %b\n}}\n",
        list(&|_| ty.to_owned()),
        list(&|i| format!("i16 %{i}")),
        list(&|i| format!("{ty} %b{i}")),
    )
}

/// Patterns at every edge of a format, and any.
fn patterns() -> Vec<u16> {
    let mut values = vec![
        0, 1, 2, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7e00, 0x3f80, 0x3f81, 0x7f, 0x80, 0x7f7f,
        0x7f80, 0x7fff,
    ];
    values.extend(values.clone().into_iter().map(|v| v | 0x8000));
    let mut bits = Random(21);
    values.extend((0..60).map(|_| bits.bits() as u16));
    values
}

/// `a * b + c` rounded to odd at 53 bits: rounding that to 16 bits is as
/// rounding the exact value. The product of two 16-bit floats is exact.
fn exact_fma(a: f64, b: f64, c: f64) -> f64 {
    let p = a * b;
    let s = p + c;
    if !s.is_finite() {
        return s;
    }
    let back = s - p;
    let error = (p - (s - back)) + (c - back);
    if error == 0.0 || s.to_bits() & 1 == 1 {
        return s;
    }
    if error > 0.0 { s.next_up() } else { s.next_down() }
}

#[test]
fn fused_multiply_add_rounds_once() {
    let mut text = String::new();
    for form in ["", ".relu", ".sat", ".ftz"] {
        text += &wrapper(&format!("fma.rn{form}.f16"), "half", 3);
        text += &wrapper(&format!("fma.rn{form}.bf16"), "bfloat", 3);
    }
    let code = Code::of(&text);
    // SAFETY: the type that `wrapper` defines.
    let f = |name: &str| -> Bits3 { unsafe { code.get(name) } };
    let (h, hr, hs, b) = (f("fma.rn.f16"), f("fma.rn.relu.f16"), f("fma.rn.sat.f16"), f("fma.rn.bf16"));
    for x in patterns() {
        for y in patterns() {
            for z in [0, 0x8000, 1, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x1400, x ^ 0x8000, y] {
                let exact = exact_fma(half_value(x), half_value(y), half_value(z));
                let want = half_bits(exact);
                let got = h(x, y, z);
                assert!(same(0x7c00, got, want), "{x:#x} * {y:#x} + {z:#x} = {got:#x}, not {want:#x}");
                let relu = if exact.is_nan() {
                    0x7fff
                } else if want & 0x8000 != 0 {
                    0
                } else {
                    want
                };
                assert_eq!(hr(x, y, z), relu);
                let sat = if exact.is_nan() || want & 0x8000 != 0 { 0 } else { want.min(0x3c00) };
                assert_eq!(hs(x, y, z), sat);
                let exact = exact_fma(bfloat_value(x), bfloat_value(y), bfloat_value(z));
                let (got, want) = (b(x, y, z), bfloat_bits(exact));
                assert!(same(0x7f80, got, want), "bf16 {x:#x} * {y:#x} + {z:#x} = {got:#x}, not {want:#x}");
            }
        }
    }
    // A subnormal product of normal values is flushed.
    assert_eq!(f("fma.rn.ftz.f16")(0x0400, 0x3800, 0x8000), 0);
    assert_eq!(h(0x0400, 0x3800, 0x8000), 0x0200);
}

#[test]
fn conversions_round_by_definition() {
    let text = "
        declare i16 @llvm.nvvm.f2h.rn(float)
        declare bfloat @llvm.nvvm.f2bf16.rn(float)
        declare bfloat @llvm.nvvm.f2bf16.rz.relu(float)
        declare <2 x half> @llvm.nvvm.ff2f16x2.rz(float, float)
        declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)
        declare i32 @llvm.nvvm.f2tf32.rna(float)
        define i16 @h(float %v) {\n %r = call i16 @llvm.nvvm.f2h.rn(float %v)\n ret i16 %r\n}
        define i16 @b(float %v) {\n %r = call bfloat @llvm.nvvm.f2bf16.rn(float %v)\n %i = bitcast bfloat %r to i16\n ret i16 %i\n}
        define i16 @z(float %v) {\n %r = call bfloat @llvm.nvvm.f2bf16.rz.relu(float %v)\n %i = bitcast bfloat %r to i16\n ret i16 %i\n}
        define i32 @hz(float %v, float %w) {\n %r = call <2 x half> @llvm.nvvm.ff2f16x2.rz(float %v, float %w)\n %i = bitcast <2 x half> %r to i32\n ret i32 %i\n}
        define i32 @bb(float %v, float %w) {\n %r = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float %v, float %w)\n %i = bitcast <2 x bfloat> %r to i32\n ret i32 %i\n}
        define i32 @t(float %v) {\n %r = call i32 @llvm.nvvm.f2tf32.rna(float %v)\n ret i32 %r\n}";
    let code = Code::of(text);
    // SAFETY: the types that `text` defines.
    unsafe {
        let h: extern "C" fn(f32) -> u16 = code.get("h");
        let b: extern "C" fn(f32) -> u16 = code.get("b");
        let z: extern "C" fn(f32) -> u16 = code.get("z");
        let hz: extern "C" fn(f32, f32) -> u32 = code.get("hz");
        let bb: extern "C" fn(f32, f32) -> u32 = code.get("bb");
        let t: extern "C" fn(f32) -> u32 = code.get("t");
        let mut bits = Random(13);
        let random = (0..20000).map(|i| {
            let word = bits.bits() as u32;
            // Half of them in the range of `half`, near ties.
            f32::from_bits(if i % 2 == 0 { word & 0x8fff_f00f | 0x3000_0000 } else { word })
        });
        for v in floats().into_iter().chain(random).chain([
            65504.0,
            65519.996,
            65520.0,
            5.9604645e-8,
            2.9802322e-8,
        ]) {
            assert!(same(0x7c00, h(v), half_bits(v.into())), "f2h({v:e}) = {:#x}", h(v));
            assert!(same(0x7f80, b(v), bfloat_bits(v.into())), "f2bf16({v:e}) = {:#x}", b(v));
            let truncated = if v.is_nan() {
                0x7fff
            } else if v.is_sign_negative() {
                0
            } else {
                (v.to_bits() >> 16) as u16
            };
            assert_eq!(z(v), truncated, "f2bf16.rz.relu({v:e})");
            let low = hz(1.0, v) as u16;
            assert_eq!(hz(1.0, v) >> 16, 0x3c00);
            if v.is_finite() {
                let nearest = half_bits(v.into());
                let away = half_value(nearest).abs() > f64::from(v).abs();
                assert_eq!(low, nearest - u16::from(away), "ff2f16x2.rz({v:e})");
            }
            assert_eq!(bb(v, 2.0) & 0xffff, 0x4000);
            assert!(same(0x7f80, (bb(v, 2.0) >> 16) as u16, bfloat_bits(v.into())));
            if v.is_finite() && v.is_normal() && v.abs() < 1e38 {
                let got = f32::from_bits(t(v));
                let step = 2f64.powi((v.to_bits() >> 23 & 255) as i32 - 127 - 10);
                let want = (f64::from(v) / step).round() * step;
                assert_eq!(f64::from(got), want, "f2tf32.rna({v:e})");
            }
        }
    }
}

#[test]
fn minima_of_small_floats_and_pairs() {
    let mut text = wrapper("fmin.f16", "half", 2)
        + &wrapper("fmax.nan.bf16", "bfloat", 2)
        + &wrapper("fmax.xorsign.abs.f16", "half", 2)
        + &wrapper("abs.bf16", "bfloat", 1)
        + &wrapper("neg.bf16", "bfloat", 1);
    text += "declare <2 x half> @llvm.nvvm.fma.rn.ftz.relu.f16x2(<2 x half>, <2 x half>, <2 x half>)
        define i32 @pair(i32 %a, i32 %b, i32 %c) {
          %x = bitcast i32 %a to <2 x half>
          %y = bitcast i32 %b to <2 x half>
          %z = bitcast i32 %c to <2 x half>
          %r = call <2 x half> @llvm.nvvm.fma.rn.ftz.relu.f16x2(<2 x half> %x, <2 x half> %y, <2 x half> %z)
          %i = bitcast <2 x half> %r to i32
          ret i32 %i
        }";
    let code = Code::of(&text);
    // SAFETY: the types that `text` defines.
    unsafe {
        let min: extern "C" fn(u16, u16) -> u16 = code.get("fmin.f16");
        assert_eq!(min(0x3c00, 0xbc00), 0xbc00);
        assert_eq!(min(0x8000, 0), 0x8000);
        assert_eq!(min(0x7e00, 0x3c00), 0x3c00);
        let max: extern "C" fn(u16, u16) -> u16 = code.get("fmax.nan.bf16");
        assert_eq!(max(0x3f80, 0x4000), 0x4000);
        assert_eq!(max(0x7fc0, 0x4000), 0x7fff);
        let signed: extern "C" fn(u16, u16) -> u16 = code.get("fmax.xorsign.abs.f16");
        assert_eq!(signed(0xc000, 0x3c00), 0xc000);
        assert_eq!(signed(0xc000, 0xbc00), 0x4000);
        let abs: extern "C" fn(u16) -> u16 = code.get("abs.bf16");
        let neg: extern "C" fn(u16) -> u16 = code.get("neg.bf16");
        assert_eq!((abs(0xbf80), neg(0x3f80)), (0x3f80, 0xbf80));
        let pair: extern "C" fn(u32, u32, u32) -> u32 = code.get("pair");
        // (2 * 3 + 1, 1 * -1 + 0.5): the second is negative.
        assert_eq!(pair(0x3c00_4000, 0xbc00_4200, 0x3800_3c00), 0x0000_4700);
    }
}
