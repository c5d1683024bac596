//! Arithmetic of `float` and `double` in every rounding mode, flushing, minima,
//! approximations.

use super::harness::*;
use super::processor::*;

type F1 = extern "C" fn(f32) -> f32;
type F2 = extern "C" fn(f32, f32) -> f32;
type F3 = extern "C" fn(f32, f32, f32) -> f32;
type D1 = extern "C" fn(f64) -> f64;
type D2 = extern "C" fn(f64, f64) -> f64;
type D3 = extern "C" fn(f64, f64, f64) -> f64;

/// Edge values and random ones, in triples. A third of the random ones have
/// neighbouring exponents, so that sums cancel.
fn float_triples(random: usize) -> Vec<(f32, f32, f32)> {
    let edges = floats();
    let mut triples = Vec::new();
    for &a in &edges {
        for &b in &edges {
            for &c in &[0.0, -0.0, 1.0, -1.0, f32::from_bits(1), -f32::MAX, f32::NAN, -(a * b)] {
                triples.push((a, b, c));
            }
        }
    }
    let mut bits = Random(7);
    for i in 0..random {
        let mut next = || {
            let word = bits.bits() as u32;
            f32::from_bits(if i % 3 == 0 {
                word & 0x807fffff | (0x3f000000 + (word >> 4 & 0x7000000))
            } else {
                word
            })
        };
        triples.push((next(), next(), next()));
    }
    triples
}

fn double_triples(random: usize) -> Vec<(f64, f64, f64)> {
    let edges = doubles();
    let mut triples: Vec<_> =
        edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b, -(a * b)))).collect();
    let mut bits = Random(9);
    for _ in 0..random {
        triples.push((f64::from_bits(bits.bits()), f64::from_bits(bits.bits()), f64::from_bits(bits.bits())));
    }
    triples
}

#[test]
fn float_operations_round_as_the_processor_does() {
    let mut list = Vec::new();
    for (mode, _) in MODES {
        for op in ["add", "mul", "div"] {
            list.push((format!("{op}.{mode}.f"), "float(float, float)"));
        }
        list.push((format!("fma.{mode}.f"), "float(float, float, float)"));
        list.push((format!("sqrt.{mode}.f"), "float(float)"));
        list.push((format!("rcp.{mode}.f"), "float(float)"));
    }
    let code = Code::of_intrinsics(&list);
    for (name, mode) in MODES {
        // SAFETY: the types that `list` declares.
        let (add, mul, div, fma, sqrt, rcp): (F2, F2, F2, F3, F1, F1) = unsafe {
            (
                code.get(&format!("add.{name}.f")),
                code.get(&format!("mul.{name}.f")),
                code.get(&format!("div.{name}.f")),
                code.get(&format!("fma.{name}.f")),
                code.get(&format!("sqrt.{name}.f")),
                code.get(&format!("rcp.{name}.f")),
            )
        };
        for (a, b, c) in float_triples(20_000) {
            let check = |what: &str, got: f32, want: f32| {
                assert!(same32(got, want), "{what}.{name}({a:e}, {b:e}, {c:e}) = {got:e}, not {want:e}");
            };
            check("add", add(a, b), add32(mode, a, b));
            check("mul", mul(a, b), mul32(mode, a, b));
            check("div", div(a, b), div32(mode, a, b));
            check("fma", fma(a, b, c), fma32(mode, a, b, c));
            check("sqrt", sqrt(a), sqrt32(mode, a, a));
            check("rcp", rcp(a), div32(mode, 1.0, a));
        }
    }
}

#[test]
fn double_operations_round_as_the_processor_does() {
    let mut list = Vec::new();
    for (mode, _) in MODES {
        for op in ["add", "mul", "div"] {
            list.push((format!("{op}.{mode}.d"), "double(double, double)"));
        }
        list.push((format!("fma.{mode}.d"), "double(double, double, double)"));
        list.push((format!("sqrt.{mode}.d"), "double(double)"));
    }
    let code = Code::of_intrinsics(&list);
    for (name, mode) in MODES {
        // SAFETY: the types that `list` declares.
        let (add, mul, div, fma, sqrt): (D2, D2, D2, D3, D1) = unsafe {
            (
                code.get(&format!("add.{name}.d")),
                code.get(&format!("mul.{name}.d")),
                code.get(&format!("div.{name}.d")),
                code.get(&format!("fma.{name}.d")),
                code.get(&format!("sqrt.{name}.d")),
            )
        };
        for (a, b, c) in double_triples(3_000) {
            let check = |what: &str, got: f64, want: f64| {
                assert!(same64(got, want), "{what}.{name}({a:e}, {b:e}, {c:e}) = {got:e}, not {want:e}");
            };
            check("add", add(a, b), add64(mode, a, b));
            check("mul", mul(a, b), mul64(mode, a, b));
            check("div", div(a, b), div64(mode, a, b));
            check("fma", fma(a, b, c), fma64(mode, a, b, c));
            check("sqrt", sqrt(a), sqrt64(mode, a, a));
        }
    }
}

/// Subnormals become zeros of their sign.
fn flush(v: f32) -> f32 {
    if v.is_subnormal() { 0f32.copysign(v) } else { v }
}

#[test]
fn ftz_flushes_arguments_and_results() {
    let list = [
        ("add.rn.ftz.f".to_owned(), "float(float, float)"),
        ("mul.rp.ftz.f".to_owned(), "float(float, float)"),
        ("fmax.ftz.f".to_owned(), "float(float, float)"),
        ("fabs.ftz.f32".to_owned(), "float(float)"),
        ("ceil.ftz.f".to_owned(), "float(float)"),
        ("f2i.rp.ftz".to_owned(), "i32(float)"),
        ("d2f.rn.ftz".to_owned(), "float(double)"),
    ];
    let code = Code::of_intrinsics(&list);
    // SAFETY: the types that `list` declares.
    let (add, mul, max, abs, ceil): (F2, F2, F2, F1, F1) = unsafe {
        (
            code.get("add.rn.ftz.f"),
            code.get("mul.rp.ftz.f"),
            code.get("fmax.ftz.f"),
            code.get("fabs.ftz.f32"),
            code.get("ceil.ftz.f"),
        )
    };
    for (a, b, _) in float_triples(5_000) {
        let (fa, fb) = (flush(a), flush(b));
        assert!(same32(add(a, b), flush(fa + fb)), "{a:e} + {b:e}");
        assert!(same32(mul(a, b), flush(mul32(2, fa, fb))), "{a:e} * {b:e}");
        assert!(same32(max(a, b), maximum(fa, fb)), "max({a:e}, {b:e})");
        assert!(same32(abs(a), fa.abs()), "|{a:e}|");
        assert!(same32(ceil(a), fa.ceil()), "ceil({a:e})");
    }
    // SAFETY: the types that `list` declares.
    let (to_int, narrow): (extern "C" fn(f32) -> i32, extern "C" fn(f64) -> f32) =
        unsafe { (code.get("f2i.rp.ftz"), code.get("d2f.rn.ftz")) };
    assert_eq!((to_int(1e-40), to_int(1e-30)), (0, 1));
    assert!(same32(narrow(-1e-40), -0.0));
}

/// PTX's `max`: a NaN yields to the other value, +0 is greater than -0.
fn maximum(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_positive() {
                a
            } else {
                b
            }
        }
        _ => {
            if a > b {
                a
            } else {
                b
            }
        }
    }
}

#[test]
fn minima_and_maxima_order_zeros_and_nans() {
    let mut list = Vec::new();
    for op in ["fmin", "fmax"] {
        for form in ["", ".nan", ".xorsign.abs", ".nan.xorsign.abs"] {
            list.push((format!("{op}{form}.f"), "float(float, float)"));
        }
        list.push((format!("{op}.d"), "double(double, double)"));
    }
    let code = Code::of_intrinsics(&list);
    // SAFETY: the types that `list` declares.
    let f = |name: &str| -> F2 { unsafe { code.get(name) } };
    // SAFETY: the types that `list` declares.
    let (min_d, max_d): (D2, D2) = unsafe { (code.get("fmin.d"), code.get("fmax.d")) };
    for (a, b, _) in float_triples(3_000) {
        let minimum = |a: f32, b: f32| -maximum(-a, -b);
        let nan = |r: f32| {
            if a.is_nan() || b.is_nan() { f32::NAN } else { r }
        };
        let signed = |r: f32| {
            if a.is_sign_negative() != b.is_sign_negative() { -r } else { r }
        };
        let check = |name: &str, want: f32| {
            let got = f(name)(a, b);
            assert!(same32(got, want), "{name}({a:e}, {b:e}) = {got:e}, not {want:e}");
        };
        check("fmax.f", maximum(a, b));
        check("fmin.f", minimum(a, b));
        check("fmax.nan.f", nan(maximum(a, b)));
        check("fmin.nan.f", nan(minimum(a, b)));
        check("fmax.xorsign.abs.f", signed(maximum(a.abs(), b.abs())));
        check("fmin.xorsign.abs.f", signed(minimum(a.abs(), b.abs())));
        check("fmin.nan.xorsign.abs.f", nan(signed(minimum(a.abs(), b.abs()))));
        let (da, db) = (f64::from(a), f64::from(b));
        assert!(same64(max_d(da, db), f64::from(maximum(a, b))));
        assert!(same64(min_d(da, db), f64::from(minimum(a, b))));
    }
}

#[test]
fn approximations_and_rounding_to_integers() {
    let names = [
        "saturate.f",
        "round.f",
        "ceil.f",
        "floor.f",
        "trunc.f",
        "ex2.approx.f32",
        "lg2.approx.f",
        "sin.approx.f",
        "cos.approx.f",
        "rsqrt.approx.f",
        "rcp.approx.ftz.f",
        "sqrt.approx.f",
        "sqrt.f",
    ];
    let list: Vec<_> = names.iter().map(|n| (n.to_string(), "float(float)")).collect();
    let code = Code::of_intrinsics(&list);
    // SAFETY: the type that `list` declares.
    let f = |name: &str| -> F1 { unsafe { code.get(name) } };
    for v in floats() {
        let saturated = if v.is_nan() || v <= 0.0 { 0.0 } else { v.min(1.0) };
        let want = [
            saturated,
            v.round_ties_even(),
            v.ceil(),
            v.floor(),
            v.trunc(),
            v.exp2(),
            v.log2(),
            v.sin(),
            v.cos(),
            1.0 / v.sqrt(),
            flush(1.0 / flush(v)),
            v.sqrt(),
            v.sqrt(),
        ];
        for (name, want) in names.iter().zip(want) {
            let got = f(name)(v);
            let close = (got - want).abs() <= want.abs() * 4.0 * f32::EPSILON;
            assert!(same32(got, want) || close, "{name}({v:e}) = {got:e}, not {want:e}");
        }
    }
}
