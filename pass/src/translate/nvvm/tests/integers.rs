//! Integer intrinsics and division.

use super::harness::*;

#[test]
fn integer_intrinsics_compute_what_ptx_says() {
    let list = [
        ("mulhi.s", "i16(i16, i16)"),
        ("mulhi.us", "i16(i16, i16)"),
        ("mulhi.i", "i32(i32, i32)"),
        ("mulhi.ui", "i32(i32, i32)"),
        ("mulhi.ll", "i64(i64, i64)"),
        ("mulhi.ull", "i64(i64, i64)"),
        ("mul24.i", "i32(i32, i32)"),
        ("mul24.ui", "i32(i32, i32)"),
        ("sad.i", "i32(i32, i32, i32)"),
        ("sad.ui", "i32(i32, i32, i32)"),
        ("sad.ull", "i64(i64, i64, i64)"),
        ("rotate.b32", "i32(i32, i32)"),
        ("rotate.b64", "i64(i64, i32)"),
        ("rotate.right.b64", "i64(i64, i32)"),
        ("prmt", "i32(i32, i32, i32)"),
        ("fns", "i32(i32, i32, i32)"),
        ("swap.lo.hi.b64", "i64(i64)"),
        ("lohi.i2d", "double(i32, i32)"),
        ("d2i.lo", "i32(double)"),
        ("d2i.hi", "i32(double)"),
    ];
    let list = list.map(|(n, t)| (n.to_owned(), t));
    let code = Code::of_intrinsics(&list);
    let mut bits = Random(5);
    // SAFETY: the types that `list` declares.
    unsafe {
        type B32<T> = extern "C" fn(T, T) -> T;
        let mulhi: B32<i32> = code.get("mulhi.i");
        let umulhi: B32<u32> = code.get("mulhi.ui");
        let mulhi64: B32<i64> = code.get("mulhi.ll");
        let umulhi64: B32<u64> = code.get("mulhi.ull");
        let mul24: B32<i32> = code.get("mul24.i");
        let umul24: B32<u32> = code.get("mul24.ui");
        let rotate: B32<u32> = code.get("rotate.b32");
        let rotate64: extern "C" fn(u64, u32) -> u64 = code.get("rotate.b64");
        let rotate_right: extern "C" fn(u64, u32) -> u64 = code.get("rotate.right.b64");
        let sad: extern "C" fn(i32, i32, i32) -> i32 = code.get("sad.i");
        let usad: extern "C" fn(u32, u32, u32) -> u32 = code.get("sad.ui");
        let prmt: extern "C" fn(u32, u32, u32) -> u32 = code.get("prmt");
        let fns: extern "C" fn(u32, u32, i32) -> u32 = code.get("fns");
        let swap: extern "C" fn(u64) -> u64 = code.get("swap.lo.hi.b64");
        let join: extern "C" fn(u32, u32) -> f64 = code.get("lohi.i2d");
        let (low, high): (extern "C" fn(f64) -> u32, extern "C" fn(f64) -> u32) =
            (code.get("d2i.lo"), code.get("d2i.hi"));
        for _ in 0..5000 {
            let (a, b, c) = (bits.bits(), bits.bits(), bits.bits());
            let (x, y, z) = (a as i32, b as i32, c as i32);
            assert_eq!(mulhi(x, y), ((i64::from(x) * i64::from(y)) >> 32) as i32);
            assert_eq!(
                umulhi(x as u32, y as u32),
                ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as u32
            );
            assert_eq!(
                mulhi64(a as i64, b as i64),
                ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as i64
            );
            assert_eq!(umulhi64(a, b), ((u128::from(a) * u128::from(b)) >> 64) as u64);
            assert_eq!(mul24(x, y), ((x << 8) >> 8).wrapping_mul((y << 8) >> 8));
            assert_eq!(umul24(x as u32, y as u32), (x as u32 & 0xffffff).wrapping_mul(y as u32 & 0xffffff));
            assert_eq!(rotate(x as u32, y as u32), (x as u32).rotate_left(y as u32 & 31));
            assert_eq!(rotate64(a, c as u32), a.rotate_left(c as u32 & 63));
            assert_eq!(rotate_right(a, c as u32), a.rotate_right(c as u32 & 63));
            assert_eq!(sad(x, y, z), (x.abs_diff(y) as i32).wrapping_add(z));
            assert_eq!(
                usad(x as u32, y as u32, z as u32),
                (x as u32).abs_diff(y as u32).wrapping_add(z as u32)
            );
            assert_eq!(prmt(x as u32, y as u32, z as u32), permuted(x as u32, y as u32, z as u32));
            let (base, offset) = (b as u32 % 32, (c % 9) as i32 - 4);
            assert_eq!(
                fns(x as u32, base, offset),
                nth_set(x as u32, base, offset),
                "fns({x:#x}, {base}, {offset})"
            );
            assert_eq!(swap(a), a.rotate_left(32));
            let d = f64::from_bits(a);
            assert_eq!((low(d), high(d)), (a as u32, (a >> 32) as u32));
            assert_eq!(join(a as u32, (a >> 32) as u32).to_bits(), a);
        }
    }
}

/// `prmt` by PTX's definition: each selector nibble picks a byte, or its sign.
fn permuted(a: u32, b: u32, selector: u32) -> u32 {
    let mut bytes = a.to_le_bytes().to_vec();
    bytes.extend(b.to_le_bytes());
    let picked = [0, 1, 2, 3].map(|i| {
        let nibble = selector >> (4 * i) & 15;
        let byte = bytes[nibble as usize & 7];
        if nibble & 8 == 0 {
            byte
        } else if byte & 0x80 != 0 {
            0xff
        } else {
            0
        }
    });
    u32::from_le_bytes(picked)
}

/// `fns` by PTX's pseudo-code.
fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |at: i32| mask >> at & 1 == 1;
    if offset == 0 {
        return if set(base as i32) { base } else { u32::MAX };
    }
    let (mut at, mut count) = (base as i32, offset.abs() - 1);
    while (0..32).contains(&at) {
        if set(at) {
            if count == 0 {
                return at as u32;
            }
            count -= 1;
        }
        at += offset.signum();
    }
    u32::MAX
}

#[test]
fn division_never_traps() {
    let mut text = String::new();
    for op in ["sdiv", "udiv", "srem", "urem"] {
        for bits in [8, 32, 64] {
            text += &format!(
                "define i{bits} @{op}{bits}(i{bits} %a, i{bits} %b) {{\n %r = {op} i{bits} %a, %b\n ret i{bits} %r\n}}\n"
            );
        }
        text += &format!("define i32 @{op}.const(i32 %a) {{\n %r = {op} i32 %a, 7\n ret i32 %r\n}}\n");
    }
    text += "define <2 x i32> @vector(<2 x i32> %a, <2 x i32> %b) {\n %r = sdiv <2 x i32> %a, %b\n ret <2 x i32> %r\n}\n";
    let module = Module::parse(&text);
    module.lower();
    let printed = module.text();
    assert!(printed.contains("udiv i32 %a, 7"), "a constant divisor needs no guard:\n{printed}");
    let code = module.jit(&[]);
    let values = [0, 1, -1, 7, -7, i32::MIN, i32::MAX];
    // SAFETY: the types that `text` defines.
    unsafe {
        for a in values {
            for b in values {
                let f = |op: &str| code.get::<extern "C" fn(i32, i32) -> i32>(&format!("{op}32"))(a, b);
                let (ua, ub) = (a as u32, b as u32);
                assert_eq!(f("sdiv"), if b == 0 { -1 } else { a.wrapping_div(b) }, "{a} / {b}");
                assert_eq!(f("srem"), if b == 0 { a } else { a.wrapping_rem(b) }, "{a} % {b}");
                assert_eq!(f("udiv") as u32, ua.checked_div(ub).unwrap_or(u32::MAX));
                assert_eq!(f("urem") as u32, ua.checked_rem(ub).unwrap_or(ua));
                let g = |op: &str| {
                    code.get::<extern "C" fn(i64, i64) -> i64>(&format!("{op}64"))(a.into(), b.into())
                };
                assert_eq!(g("sdiv"), i64::from(a).checked_div(b.into()).unwrap_or(-1));
            }
        }
        let wide: extern "C" fn(i64, i64) -> i64 = code.get("sdiv64");
        assert_eq!(wide(i64::MIN, -1), i64::MIN);
        let narrow: extern "C" fn(i8, i8) -> i8 = code.get("sdiv8");
        assert_eq!((narrow(-128, -1), narrow(5, 0)), (-128, -1));
    }
}
