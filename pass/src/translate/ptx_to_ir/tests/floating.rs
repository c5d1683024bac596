//! Floating-point instructions. 16-bit formats are checked against exact values:
//! a candidate result is right if no neighbour is nearer, or lies on the side
//! that the rounding mode asks for.

use super::harness::*;

type H2 = extern "C" fn(u16, u16) -> u16;

/// The value of half-precision bits; infinity as 2^16.
fn half(bits: u16) -> f64 {
    let (e, m) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match e {
        0 => m * 2f64.powi(-24),
        31 if m != 0.0 => f64::NAN,
        31 => 65536.0,
        _ => (1024.0 + m) * 2f64.powi(e - 25),
    };
    if bits >> 15 == 1 { -value } else { value }
}

/// The value of `bf16` bits; infinity as 2^128.
fn bf16(bits: u16) -> f64 {
    let value = f64::from(f32::from_bits(u32::from(bits) << 16));
    if value.is_infinite() { value.signum() * 2f64.powi(128) } else { value }
}

/// The nearest half to an exact value, ties to even, by search.
fn round(value: f64, of: fn(u16) -> f64, infinity: u16) -> u16 {
    let magnitude = value.abs();
    let (mut low, mut high) = (0u16, infinity);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if of(middle) <= magnitude { low = middle } else { high = middle }
    }
    let (below, above) = (magnitude - of(low), of(high) - magnitude);
    let up = above < below || above == below && low % 2 == 1;
    let bits = if up && below != 0.0 { high } else { low };
    bits | if value.is_sign_negative() { 1 << 15 } else { 0 }
}

fn random_small(random: &mut Random, infinity: u16) -> u16 {
    let n = random.bits();
    match n % 6 {
        0 => [0, 1, 0x8000, 0x8001, infinity - 1, 0x3c00, 0x3f80][(n >> 8) as usize % 7],
        1 => (n >> 16) as u16 % 0x400,
        _ => loop {
            let bits = (random.bits() >> 24) as u16;
            if bits & 0x7fff < infinity {
                break bits;
            }
        },
    }
}

#[test]
fn sixteen_bit_arithmetic_rounds_once() {
    for (format, of, infinity) in [("f16", half as fn(u16) -> f64, 0x7c00u16), ("bf16", bf16, 0x7f80)] {
        let name = |op: &str| format!("{op}.{format} $0,$1,$2;");
        let names = [name("add"), name("sub"), name("mul")];
        let code = code(&names.each_ref().map(|n| (n.as_str(), "=h,h,h", "i16", &["i16", "i16"][..])));
        let mut random = Random(11);
        for (name, exact) in names.iter().zip([|a, b| a + b, |a, b| a - b, |a: f64, b: f64| a * b]) {
            // SAFETY: a function of two halves.
            let f: H2 = unsafe { code.get(name) };
            for _ in 0..4000 {
                let (a, b) = (random_small(&mut random, infinity), random_small(&mut random, infinity));
                // Sums of `bf16` may need more than 53 bits; those near each other do not.
                if format == "bf16"
                    && !name.starts_with("mul")
                    && ((a >> 7 & 255).abs_diff(b >> 7 & 255)) > 40
                {
                    continue;
                }
                let value = exact(of(a), of(b));
                let wanted = round(value, of, infinity);
                let got = f(a, b);
                assert!(
                    got == wanted || value == 0.0 && got << 1 == 0,
                    "{name} of {a:#x}, {b:#x}: {got:#x}, not {wanted:#x}"
                );
            }
        }
    }
}

#[test]
fn sixteen_bit_fma_is_fused() {
    let name = "fma.rn.f16 $0,$1,$2,$3;";
    let code = code(&[(name, "=h,h,h,h", "i16", &["i16"; 3])]);
    // SAFETY: a function of three halves.
    let f: extern "C" fn(u16, u16, u16) -> u16 = unsafe { code.get(name) };
    let mut random = Random(12);
    let fixed = |bits: u16| (half(bits) * 2f64.powi(24)) as i128;
    for _ in 0..20000 {
        let [a, b, c] = [(); 3].map(|()| random_small(&mut random, 0x7c00));
        // Exact in units of 2^-48; what 53 bits cannot hold keeps a sticky bit.
        let exact = fixed(a) * fixed(b) + (fixed(c) << 24);
        let (mut m, mut shift) = (exact.unsigned_abs(), 0);
        while m >> 50 != 0 {
            m = m >> 1 | m & 1;
            shift += 1;
        }
        let value = m as f64 * 2f64.powi(shift - 48) * if exact < 0 { -1.0 } else { 1.0 };
        let (got, wanted) = (f(a, b, c), round(value, half, 0x7c00));
        assert!(
            got == wanted || exact == 0 && got << 1 == 0,
            "{a:#x} {b:#x} {c:#x}: {got:#x}, not {wanted:#x}"
        );
    }
}

#[test]
fn conversions_to_half_round_as_told() {
    let modes = ["rn", "rz", "rm", "rp"];
    let from_float: Vec<_> = modes.iter().map(|m| format!("cvt.{m}.f16.f32 $0, $1;")).collect();
    let from_int: Vec<_> = modes.iter().map(|m| format!("cvt.{m}.f16.s32 $0, $1;")).collect();
    let mut list: Vec<_> = from_float.iter().map(|n| (n.as_str(), "=h,f", "i16", &["float"][..])).collect();
    list.extend(from_int.iter().map(|n| (n.as_str(), "=h,r", "i16", &["i32"][..])));
    let code = code(&list);
    let check = |mode: &str, value: f64, got: u16| {
        let r = half(got);
        let nearest = half(round(value, half, 0x7c00));
        match mode {
            "rn" => assert_eq!(r, nearest, "{value}"),
            "rz" => assert!(r.abs() <= value.abs() && half(got + 1).abs() > value.abs(), "{value}: {r}"),
            "rm" => assert!(r <= value, "{value}: {r}"),
            _ => assert!(r >= value, "{value}: {r}"),
        }
        // Directed results are one of the two neighbours.
        assert!((r - nearest).abs() <= (half(got | 1) - half(got & !1)).abs() * 2.0);
    };
    let mut random = Random(13);
    for mode in modes {
        // SAFETY: functions of a float and of a word.
        let (f, i): (extern "C" fn(f32) -> u16, extern "C" fn(i32) -> u16) = unsafe {
            (
                code.get(&format!("cvt.{mode}.f16.f32 $0, $1;")),
                code.get(&format!("cvt.{mode}.f16.s32 $0, $1;")),
            )
        };
        for _ in 0..3000 {
            let x = half(random_small(&mut random, 0x7c00))
                * (1.0 + (random.bits() % 4096) as f64 / 2f64.powi(22));
            if x.abs() < 65504.0 {
                check(mode, f64::from(x as f32), f(x as f32));
            }
            let n = (edge(&mut random) as i32) >> (random.bits() % 17 + 15);
            if n.abs() < 65504 {
                check(mode, f64::from(n), i(n));
            }
        }
    }
}

#[test]
fn float_to_integer_conversion_clamps() {
    let list = ["cvt.rzi.s32.f32", "cvt.rni.u32.f32", "cvt.rmi.s64.f32", "cvt.rpi.s16.f32", "cvt.rzi.s8.f32"];
    let list = list.map(|n| format!("{n} $0, $1;"));
    let code = code(&list.each_ref().map(|n| match n {
        n if n.contains("64") => (n.as_str(), "=l,f", "i64", &["float"][..]),
        n if n.contains("16") => (n.as_str(), "=h,f", "i16", &["float"][..]),
        n => (n.as_str(), "=r,f", "i32", &["float"][..]),
    }));
    // SAFETY: the types given above.
    unsafe {
        let s32: extern "C" fn(f32) -> i32 = code.get(&list[0]);
        assert_eq!((s32(-2.7), s32(3e9), s32(-3e9), s32(f32::NAN)), (-2, i32::MAX, i32::MIN, 0));
        let u32: extern "C" fn(f32) -> u32 = code.get(&list[1]);
        assert_eq!((u32(2.5), u32(3.5), u32(-1.0), u32(1e10)), (2, 4, 0, u32::MAX));
        let s64: extern "C" fn(f32) -> i64 = code.get(&list[2]);
        assert_eq!((s64(-2.5), s64(1e30), s64(f32::NAN)), (-3, i64::MAX, i64::MIN));
        let s16: extern "C" fn(f32) -> i16 = code.get(&list[3]);
        assert_eq!((s16(2.1), s16(1e9)), (3, i16::MAX));
        let s8: extern "C" fn(f32) -> i32 = code.get(&list[4]);
        assert_eq!((s8(-5.5), s8(1000.0), s8(-1000.0)), (-5, 127, -128));
    }
}

#[test]
fn comparisons_know_nan() {
    let cmps = ["eq", "ne", "lt", "ge", "equ", "neu", "ltu", "geu", "num", "nan"];
    let list = cmps.map(|c| format!("set.{c}.u32.f32 $0, $1, $2;"));
    let code = code(&list.each_ref().map(|n| (n.as_str(), "=r,f,f", "i32", &["float", "float"][..])));
    for (cmp, name) in cmps.iter().zip(&list) {
        // SAFETY: a function of two floats.
        let f: extern "C" fn(f32, f32) -> u32 = unsafe { code.get(name) };
        for a in [0.0, -0.0, 1.0, f32::NAN, f32::INFINITY] {
            for b in [0.0, 1.0, 2.0, f32::NAN] {
                let unordered = a.is_nan() || b.is_nan();
                let wanted = match *cmp {
                    "eq" => a == b,
                    "ne" => a != b && !unordered,
                    "lt" => a < b,
                    "ge" => a >= b,
                    "equ" => a == b || unordered,
                    "neu" => a != b,
                    "ltu" => a < b || unordered,
                    "geu" => a >= b || unordered,
                    "num" => !unordered,
                    _ => unordered,
                };
                assert_eq!(f(a, b), if wanted { u32::MAX } else { 0 }, "{cmp} {a} {b}");
            }
        }
    }
}

#[test]
fn modes_flush_saturate_and_round() {
    let list = [
        "mul.ftz.f32 $0, $1, $2;",
        "add.sat.f32 $0, $1, $2;",
        "add.rz.f32 $0, $1, $2;",
        "add.rp.f32 $0, $1, $2;",
        "sub.rm.f32 $0, $1, $2;",
        "min.f32 $0, $1, $2;",
        "max.NaN.f32 $0, $1, $2;",
        "div.rn.f32 $0, $1, $2;",
        "copysign.f32 $0, $1, $2;",
    ];
    let code = code(&list.map(|n| (n, "=f,f,f", "float", &["float", "float"][..])));
    // SAFETY: functions of two floats.
    let f = |i: usize| unsafe { code.get::<extern "C" fn(f32, f32) -> f32>(list[i]) };
    let tiny = f32::from_bits(1);
    assert_eq!((f(0)(tiny, -1.0).to_bits(), f(0)(3.0, 2.0)), (1 << 31, 6.0));
    assert_eq!((f(1)(0.75, 0.75), f(1)(-1.0, 0.5), f(1)(f32::NAN, 1.0)), (1.0, 0.0, 0.0));
    assert_eq!((f(2)(1.0, tiny), f(3)(1.0, tiny)), (1.0, 1.0 + f32::EPSILON));
    assert_eq!(f(4)(1.0, tiny), 1.0 - f32::EPSILON / 2.0);
    assert_eq!((f(5)(f32::NAN, 2.0), f(5)(0.0, -0.0).to_bits()), (2.0, 1 << 31));
    assert!(f(6)(f32::NAN, 2.0).is_nan());
    assert_eq!((f(7)(1.0, 3.0), f(8)(-0.0, 5.0)), (1.0 / 3.0, -5.0));
}

#[test]
fn packed_halves_compare_and_convert() {
    let list: [(&str, &str, &str, &[&str]); 6] = [
        ("{set.eq.f16x2.f16x2 $0,$1,$2;\n}", "=r,r,r", "i32", &["i32", "i32"]),
        (
            "{ .reg .pred p, q; setp.lt.f16x2 p|q, $1, $2; selp.u32 $0, 1, 0, p; @q add.u32 $0, $0, 2; }",
            "=r,r,r",
            "i32",
            &["i32", "i32"],
        ),
        ("{ cvt.rn.f16x2.f32 $0, $2, $1; }", "=r,f,f", "i32", &["float", "float"]),
        ("{ cvt.rn.relu.bf16x2.f32 $0, $2, $1; }", "=r,f,f", "i32", &["float", "float"]),
        ("{fma.rn.f16x2 $0,$1,$2,$3;\n}", "=r,r,r,r", "i32", &["i32", "i32", "i32"]),
        ("{max.NaN.f16x2 $0,$1,$2;\n}", "=r,r,r", "i32", &["i32", "i32"]),
    ];
    let code = code(&list);
    // SAFETY: the types in `list`.
    unsafe {
        type W2 = extern "C" fn(u32, u32) -> u32;
        type F2 = extern "C" fn(f32, f32) -> u32;
        assert_eq!(code.get::<W2>(list[0].0)(0x3c00_4000, 0x3c00_3c00), 0x3c00_0000);
        assert_eq!(code.get::<W2>(list[1].0)(0x3c00_4000, 0x4000_3c00), 2);
        assert_eq!(code.get::<F2>(list[2].0)(1.0, 2.0), 0x4000_3c00);
        assert_eq!(code.get::<F2>(list[3].0)(1.0, -2.0), 0x0000_3f80);
        let fma: extern "C" fn(u32, u32, u32) -> u32 = code.get(list[4].0);
        assert_eq!(fma(0x4000_3c00, 0x4200_3c00, 0x3c00_3c00), 0x4700_4000);
        let greater = code.get::<W2>(list[5].0)(0x0000_3c00, 0xfe01_4000);
        assert!(half((greater >> 16) as u16).is_nan() && greater & 0xffff == 0x4000, "{greater:#x}");
    }
}
