//! Conversions between integers and floats in every rounding mode, against
//! exact integers.

use super::harness::*;
use super::processor::{MODES, narrow};

/// Rounds to an integer in a mode.
fn rounded(mode: &str, v: f64) -> f64 {
    match mode {
        "rn" => v.round_ties_even(),
        "rz" => v.trunc(),
        "rm" => v.floor(),
        _ => v.ceil(),
    }
}

#[test]
fn floats_become_integers_as_ptx_says() {
    let kinds = [
        ("f2i", "i32(float)"),
        ("f2ui", "i32(float)"),
        ("f2ll", "i64(float)"),
        ("f2ull", "i64(float)"),
        ("d2i", "i32(double)"),
        ("d2ui", "i32(double)"),
        ("d2ll", "i64(double)"),
        ("d2ull", "i64(double)"),
    ];
    let list: Vec<_> =
        MODES.iter().flat_map(|(mode, _)| kinds.map(|(k, ty)| (format!("{k}.{mode}"), ty))).collect();
    let code = Code::of_intrinsics(&list);
    // Clamped to the range; NaN has its own value.
    let clamp = |v: f64, low: i128, high: i128, nan: i128| {
        if v.is_nan() { nan } else { (v as i128).clamp(low, high) }
    };
    for (mode, _) in MODES {
        // SAFETY: the types that `kinds` declares.
        unsafe {
            let (f2i, f2ui): (extern "C" fn(f32) -> i32, extern "C" fn(f32) -> u32) =
                (code.get(&format!("f2i.{mode}")), code.get(&format!("f2ui.{mode}")));
            let (f2ll, f2ull): (extern "C" fn(f32) -> i64, extern "C" fn(f32) -> u64) =
                (code.get(&format!("f2ll.{mode}")), code.get(&format!("f2ull.{mode}")));
            for v in floats() {
                let r = rounded(mode, f64::from(v));
                let got: [i128; 4] = [f2i(v).into(), f2ui(v).into(), f2ll(v).into(), f2ull(v).into()];
                let want = [
                    clamp(r, i32::MIN.into(), i32::MAX.into(), 0),
                    clamp(r, 0, u32::MAX.into(), 0),
                    clamp(r, i64::MIN.into(), i64::MAX.into(), i64::MIN.into()),
                    clamp(r, 0, u64::MAX.into(), 1 << 63),
                ];
                assert_eq!(got, want, "f2*.{mode}({v:e})");
            }
            let (d2i, d2ui): (extern "C" fn(f64) -> i32, extern "C" fn(f64) -> u32) =
                (code.get(&format!("d2i.{mode}")), code.get(&format!("d2ui.{mode}")));
            let (d2ll, d2ull): (extern "C" fn(f64) -> i64, extern "C" fn(f64) -> u64) =
                (code.get(&format!("d2ll.{mode}")), code.get(&format!("d2ull.{mode}")));
            for v in doubles() {
                let r = rounded(mode, v);
                let got: [i128; 4] = [d2i(v).into(), d2ui(v).into(), d2ll(v).into(), d2ull(v).into()];
                let want = [
                    clamp(r, i32::MIN.into(), i32::MAX.into(), i32::MIN.into()),
                    clamp(r, 0, u32::MAX.into(), 1 << 31),
                    clamp(r, i64::MIN.into(), i64::MAX.into(), i64::MIN.into()),
                    clamp(r, 0, u64::MAX.into(), 1 << 63),
                ];
                assert_eq!(got, want, "d2*.{mode}({v:e})");
            }
        }
    }
}

/// Integers at powers of two, between floats, and anywhere.
fn integers() -> Vec<i64> {
    let mut values = vec![0, 1, -1, i64::MIN, i64::MAX, i64::MIN + 1, 0x7fffff8000000000, 0x0020000000000001];
    for shift in 0..63 {
        for d in [-3, -2, -1, 0, 1, 2, 3] {
            let v = (1i64 << shift).wrapping_add(d);
            values.extend([v, v.wrapping_neg(), v << 2, v.wrapping_mul(3)]);
        }
    }
    let mut bits = Random(3);
    values.extend((0..2000).map(|i| (bits.bits() as i64) >> (i % 60)));
    values
}

/// Asserts that `got` is the value nearest to the integer `exact` in a
/// direction; `below` and `above` are its neighbours.
fn check_direction(mode: &str, exact: i128, got: f64, below: f64, above: f64) {
    let (g, b, a) = (got as i128, below as i128, above as i128);
    let right = match mode {
        "rm" => g <= exact && (a > exact),
        "rp" => g >= exact && (b < exact),
        "rz" if exact >= 0 => g <= exact && a > exact,
        "rz" => g >= exact && b < exact,
        _ => (g - exact).abs() <= (a - exact).abs().min((b - exact).abs()),
    };
    assert!(right || g == exact, "{exact} became {got} by {mode}");
}

#[test]
fn integers_become_floats_in_every_mode() {
    let kinds = [
        ("i2f", "float(i32)"),
        ("ui2f", "float(i32)"),
        ("ll2f", "float(i64)"),
        ("ull2f", "float(i64)"),
        ("i2d", "double(i32)"),
        ("ui2d", "double(i32)"),
        ("ll2d", "double(i64)"),
        ("ull2d", "double(i64)"),
    ];
    let list: Vec<_> =
        MODES.iter().flat_map(|(mode, _)| kinds.map(|(k, ty)| (format!("{k}.{mode}"), ty))).collect();
    let code = Code::of_intrinsics(&list);
    for (mode, _) in MODES {
        // SAFETY: the types that `kinds` declares; integers travel as their bits.
        unsafe {
            for (kind, wide, signed) in
                [("i2f", false, true), ("ui2f", false, false), ("ll2f", true, true), ("ull2f", true, false)]
            {
                let f: extern "C" fn(i64) -> f32 = code.get(&format!("{kind}.{mode}"));
                for v in integers() {
                    let exact = exact(v, wide, signed);
                    let got = f(v);
                    check_direction(mode, exact, got.into(), got.next_down().into(), got.next_up().into());
                    assert!(exact != 0 || got.to_bits() == 0);
                }
            }
            for (kind, wide, signed) in
                [("i2d", false, true), ("ui2d", false, false), ("ll2d", true, true), ("ull2d", true, false)]
            {
                let f: extern "C" fn(i64) -> f64 = code.get(&format!("{kind}.{mode}"));
                for v in integers() {
                    let exact = exact(v, wide, signed);
                    let got = f(v);
                    check_direction(mode, exact, got, got.next_down(), got.next_up());
                    assert!(exact != 0 || got.to_bits() == 0);
                }
            }
        }
    }
}

/// The integer that a conversion sees.
fn exact(v: i64, wide: bool, signed: bool) -> i128 {
    match (wide, signed) {
        (true, true) => v.into(),
        (true, false) => (v as u64).into(),
        (false, true) => (v as i32).into(),
        (false, false) => (v as u32).into(),
    }
}

#[test]
fn doubles_become_floats_in_every_mode() {
    let list: Vec<_> = MODES.iter().map(|(m, _)| (format!("d2f.{m}"), "float(double)")).collect();
    let code = Code::of_intrinsics(&list);
    for (name, mode) in MODES {
        // SAFETY: the type that `list` declares.
        let f: extern "C" fn(f64) -> f32 = unsafe { code.get(&format!("d2f.{name}")) };
        let mut bits = Random(11);
        let near_float = (0..5000).map(|_| {
            let word = bits.bits();
            f64::from(f32::from_bits(word as u32)) * (1.0 + (word >> 32) as f64 * 2f64.powi(-58))
        });
        for v in doubles().into_iter().chain(near_float) {
            let (got, want) = (f(v), narrow(mode, v));
            assert!(same32(got, want), "d2f.{name}({v:e}) = {got:e}, not {want:e}");
        }
    }
}

#[test]
fn plain_conversions_saturate() {
    let code = Code::of(
        "define i32 @f2i(float %v) {\n %r = fptosi float %v to i32\n ret i32 %r\n}
         define i64 @f2u(float %v) {\n %r = fptoui float %v to i64\n ret i64 %r\n}
         define i32 @d2i(double %v) {\n %r = fptosi double %v to i32\n ret i32 %r\n}
         define signext i8 @f2c(float %v) {\n %r = fptosi float %v to i8\n ret i8 %r\n}
         define <2 x i32> @v(<2 x double> %v) {\n %r = fptoui <2 x double> %v to <2 x i32>\n ret <2 x i32> %r\n}",
    );
    // SAFETY: the types that the text defines.
    unsafe {
        let f2i: extern "C" fn(f32) -> i32 = code.get("f2i");
        assert_eq!([3e9, -3e9, f32::NAN, -1.9].map(|v| f2i(v)), [i32::MAX, i32::MIN, 0, -1]);
        let f2u: extern "C" fn(f32) -> u64 = code.get("f2u");
        assert_eq!([3e30, -1.0, f32::NAN].map(|v| f2u(v)), [u64::MAX, 0, 1 << 63]);
        let d2i: extern "C" fn(f64) -> i32 = code.get("d2i");
        assert_eq!([1e300, f64::NAN].map(|v| d2i(v)), [i32::MAX, i32::MIN]);
        // cvt.rzi.s16.f32, of which the low byte is taken.
        let f2c: extern "C" fn(f32) -> i8 = code.get("f2c");
        assert_eq!([100.0, 300.0, 1e9].map(|v| f2c(v)), [100, 44, -1]);
    }
}
