//! Integer instructions, against the PTX ISA's definitions written out bit by bit.

use super::harness::*;

type Op2 = extern "C" fn(u32, u32) -> u32;
type Op3 = extern "C" fn(u32, u32, u32) -> u32;
type Op4 = extern "C" fn(u32, u32, u32, u32) -> u32;

const TWO: (&str, &str, &[&str]) = ("=r,r,r", "i32", &["i32", "i32"]);
const THREE: (&str, &str, &[&str]) = ("=r,r,r,r", "i32", &["i32", "i32", "i32"]);

fn twos(names: &[&'static str]) -> Code {
    code(&names.iter().map(|n| (*n, TWO.0, TWO.1, TWO.2)).collect::<Vec<_>>())
}

fn threes(names: &[&'static str]) -> Code {
    code(&names.iter().map(|n| (*n, THREE.0, THREE.1, THREE.2)).collect::<Vec<_>>())
}

#[test]
fn two_operand_instructions() {
    let list: &[Of2] = &[
        ("add.u32 $0, $1, $2;", |a, b| a.wrapping_add(b)),
        ("add.sat.s32 $0, $1, $2;", |a, b| (a as i32).saturating_add(b as i32) as u32),
        ("sub.s32 $0, $1, $2;", |a, b| a.wrapping_sub(b)),
        ("mul.lo.s32 $0, $1, $2;", |a, b| a.wrapping_mul(b)),
        ("mul.hi.u32 $0, $1, $2;", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        ("mul.hi.s32 $0, $1, $2;", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        ("mul24.lo.u32 $0, $1, $2;", |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
        ("mul24.hi.s32 $0, $1, $2;", |a, b| {
            let low = |v: u32| i64::from((v << 8) as i32 >> 8);
            ((low(a) * low(b)) >> 16) as u32
        }),
        ("min.s32 $0, $1, $2;", |a, b| (a as i32).min(b as i32) as u32),
        ("max.u32 $0, $1, $2;", u32::max),
        ("max.s32.relu $0, $1, $2;", |a, b| (a as i32).max(b as i32).max(0) as u32),
        ("and.b32 $0, $1, $2;", |a, b| a & b),
        ("xor.b32 $0, $1, $2;", |a, b| a ^ b),
        ("shl.b32 $0, $1, $2;", |a, n| if n > 31 { 0 } else { a << n }),
        ("shr.u32 $0, $1, $2;", |a, n| if n > 31 { 0 } else { a >> n }),
        ("shr.s32 $0, $1, $2;", |a, n| (a as i32 >> n.min(31)) as u32),
        ("szext.clamp.s32 $0, $1, $2;", |a, n| match n {
            0 => 0,
            1..=31 => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
            _ => a,
        }),
        ("szext.wrap.u32 $0, $1, $2;", |a, n| match n & 31 {
            0 => 0,
            n => a << (32 - n) >> (32 - n),
        }),
        ("bmsk.clamp.b32 $0, $1, $2;", |at, n| {
            (0..32)
                .filter(|&i| i >= at && u64::from(i) < u64::from(at) + u64::from(n))
                .fold(0, |m, i| m | 1 << i)
        }),
        ("max.s16x2 $0, $1, $2;", |a, b| {
            let lane = |at: u32| ((a >> at) as i16).max((b >> at) as i16) as u16;
            u32::from(lane(0)) | u32::from(lane(16)) << 16
        }),
        ("max.relu.s16x2 $0, $1, $2;", |a, b| {
            let lane = |at: u32| ((a >> at) as i16).max((b >> at) as i16).max(0) as u16;
            u32::from(lane(0)) | u32::from(lane(16)) << 16
        }),
        ("add.u16x2 $0, $1, $2;", |a, b| {
            let lane = |at: u32| ((a >> at) as u16).wrapping_add((b >> at) as u16);
            u32::from(lane(0)) | u32::from(lane(16)) << 16
        }),
    ];
    let code = twos(&list.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    let mut random = Random(1);
    for (name, wanted) in list {
        // SAFETY: a function of two words.
        let f: Op2 = unsafe { code.get(name) };
        for _ in 0..2000 {
            let (a, b) = (edge(&mut random), edge(&mut random));
            assert_eq!(f(a, b), wanted(a, b), "{name} of {a:#x}, {b:#x}");
        }
    }
}

#[test]
fn division_by_zero_does_not_trap() {
    let code = twos(&["div.s32 $0, $1, $2;", "rem.u32 $0, $1, $2;"]);
    // SAFETY: functions of two words.
    let (div, rem): (Op2, Op2) =
        unsafe { (code.get("div.s32 $0, $1, $2;"), code.get("rem.u32 $0, $1, $2;")) };
    assert_eq!((div(7, -2i32 as u32) as i32, rem(7, 4)), (-3, 3));
    div(1, 0);
    div(i32::MIN as u32, -1i32 as u32);
    rem(1, 0);
}

fn bfe(signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let (at, n) = (b & 255, c & 255);
    let sign = if !signed || n == 0 { 0 } else { a >> (at + n - 1).min(31) & 1 };
    (0..32).fold(0, |r, i| r | if i < n && at + i < 32 { a >> (at + i) & 1 } else { sign } << i)
}

fn prmt(a: u32, b: u32, c: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |r, i| {
        let s = c >> (4 * i) & 15;
        let byte = (bytes >> (8 * (s & 7))) as u8;
        let byte = if s & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        r | u32::from(byte) << (8 * i)
    })
}

fn dp4a(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(c, |sum, i| {
        let of = |v: u32| i32::from((v >> (8 * i)) as i8);
        sum.wrapping_add((of(a) * of(b)) as u32)
    })
}

#[test]
fn three_operand_instructions() {
    let list: &[Of3] = &[
        ("mad.lo.s32 $0, $1, $2, $3;", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        ("mad.hi.sat.s32 $0, $1, $2, $3;", |a, b, c| {
            (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as i32).saturating_add(c as i32) as u32
        }),
        ("sad.s32 $0, $1, $2, $3;", |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c)),
        ("shf.l.clamp.b32 $0, $1, $2, $3;", |a, b, n| {
            ((u128::from(b) << 32 | u128::from(a)) << n.min(32) >> 32) as u32
        }),
        ("shf.r.wrap.b32 $0, $1, $2, $3;", |a, b, n| {
            ((u64::from(b) << 32 | u64::from(a)) >> (n & 31)) as u32
        }),
        ("bfe.u32 $0, $1, $2, $3;", |a, b, c| bfe(false, a, b, c)),
        ("bfe.s32 $0, $1, $2, $3;", |a, b, c| bfe(true, a, b, c)),
        ("prmt.b32 $0, $1, $2, $3;", prmt),
        ("prmt.b32.f4e $0, $1, $2, $3;", |a, b, c| {
            prmt(a, b, [0x3210, 0x4321, 0x5432, 0x6543][c as usize & 3])
        }),
        ("prmt.b32.b4e $0, $1, $2, $3;", |a, b, c| {
            prmt(a, b, [0x5670, 0x6701, 0x7012, 0x0123][c as usize & 3])
        }),
        ("prmt.b32.ecr $0, $1, $2, $3;", |a, b, c| {
            prmt(a, b, [0x0000, 0x1110, 0x2210, 0x3210][c as usize & 3])
        }),
        ("lop3.b32 $0, $1, $2, $3, 0xb8;", |a, b, c| (b & c) | (!b & a)),
        ("lop3.b32 $0, $1, $2, $3, 0x96;", |a, b, c| a ^ b ^ c),
        ("dp4a.s32.s32 $0, $1, $2, $3;", dp4a),
        ("dp2a.hi.u32.u32 $0, $1, $2, $3;", |a, b, c| {
            let half = |at: u32| (a >> at & 0xffff).wrapping_mul(b >> (16 + at / 2) & 0xff);
            c.wrapping_add(half(0)).wrapping_add(half(16))
        }),
        ("vabsdiff4.u32.u32.u32.add $0, $1, $2, $3;", |a, b, c| {
            (0..4).fold(c, |s, i| s.wrapping_add((a >> (8 * i) & 255).abs_diff(b >> (8 * i) & 255)))
        }),
        ("vadd4.s32.s32.s32.sat $0, $1, $2, $3;", |a, b, _| {
            (0..4).fold(0, |r, i| {
                let v = ((a >> (8 * i)) as i8).saturating_add((b >> (8 * i)) as i8);
                r | u32::from(v as u8) << (8 * i)
            })
        }),
        ("vadd.u32.s32.s32.sat.add $0, $1, $2, $3;", |a, b, c| {
            let sum = i64::from(a as i32) + i64::from(b as i32);
            (sum.clamp(0, u32::MAX.into()) as u32).wrapping_add(c)
        }),
        ("vset2.s32.s32.gt $0, $1, $2, $3;", |a, b, _| {
            let lane = |at: u32| u32::from((a >> at) as i16 > (b >> at) as i16);
            lane(0) | lane(16) << 16
        }),
        (
            "vshr.u32.u32.u32.clamp.add $0, $1, $2, $3;",
            |a, b, c| {
                if b > 31 { c } else { (a >> b).wrapping_add(c) }
            },
        ),
        ("slct.s32.s32 $0, $1, $2, $3;", |a, b, c| if c as i32 >= 0 { a } else { b }),
    ];
    let code = threes(&list.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    let mut random = Random(2);
    for (name, wanted) in list {
        // SAFETY: a function of three words.
        let f: Op3 = unsafe { code.get(name) };
        for _ in 0..2000 {
            let (a, b, c) = (edge(&mut random), edge(&mut random), edge(&mut random));
            assert_eq!(f(a, b, c), wanted(a, b, c), "{name} of {a:#x}, {b:#x}, {c:#x}");
        }
    }
}

#[test]
fn bit_field_insert() {
    let name = "bfi.b32 $0, $1, $2, $3, $4;";
    let code = code(&[(name, "=r,r,r,r,r", "i32", &["i32"; 4])]);
    // SAFETY: a function of four words.
    let f: Op4 = unsafe { code.get(name) };
    let mut random = Random(3);
    for _ in 0..3000 {
        let (a, b, at, n) =
            (edge(&mut random), edge(&mut random), edge(&mut random) % 80, edge(&mut random) % 80);
        let wanted = (0..32).fold(b, |r, i| {
            if i < n && at + i < 32 { r & !(1 << (at + i)) | (a >> i & 1) << (at + i) } else { r }
        });
        assert_eq!(f(a, b, at, n), wanted, "{a:#x} {b:#x} {at} {n}");
    }
}

#[test]
fn one_operand_instructions() {
    let list: &[Of1] = &[
        ("not.b32 $0, $1;", |a| !a),
        ("cnot.b32 $0, $1;", |a| u32::from(a == 0)),
        ("neg.s32 $0, $1;", u32::wrapping_neg),
        ("abs.s32 $0, $1;", |a| (a as i32).wrapping_abs() as u32),
        ("popc.b32 $0, $1;", u32::count_ones),
        ("clz.b32 $0, $1;", u32::leading_zeros),
        ("brev.b32 $0, $1;", u32::reverse_bits),
        ("bfind.u32 $0, $1;", |a| a.checked_ilog2().unwrap_or(u32::MAX)),
        ("bfind.s32 $0, $1;", |a| (a ^ (a as i32 >> 31) as u32).checked_ilog2().unwrap_or(u32::MAX)),
        ("bfind.shiftamt.u32 $0, $1;", |a| if a == 0 { u32::MAX } else { a.leading_zeros() }),
        ("cvt.s32.s8 $0, $1;", |a| i32::from(a as i8) as u32),
        ("cvt.u32.u16 $0, $1;", |a| a & 0xffff),
        ("cvt.sat.u8.s32 $0, $1;", |a| (a as i32).clamp(0, 255) as u32),
        ("cvt.sat.s16.u32 $0, $1;", |a| a.min(0x7fff)),
    ];
    let code = code(&list.iter().map(|(n, _)| (*n, "=r,r", "i32", &["i32"][..])).collect::<Vec<_>>());
    let mut random = Random(4);
    for (name, wanted) in list {
        // SAFETY: a function of one word.
        let f: extern "C" fn(u32) -> u32 = unsafe { code.get(name) };
        for _ in 0..1000 {
            let a = edge(&mut random);
            assert_eq!(f(a), wanted(a), "{name} of {a:#x}");
        }
    }
}

/// As ptxas translates them: a subtraction keeps a carry if it borrows nothing.
#[test]
fn additions_and_subtractions_share_one_carry() {
    let template = |first: &str, second: &str| {
        format!("{{ .reg .u32 r; {first}.cc.u32 r, $1, $2; {second}c.u32 $0, $3, $4; }}")
    };
    let pairs = [("add", "sub"), ("sub", "add"), ("add", "add"), ("sub", "sub")];
    let templates: Vec<_> = pairs.iter().map(|(first, second)| template(first, second)).collect();
    let types = ["i32"; 4];
    let list: Vec<_> = templates.iter().map(|text| (&**text, "=r,r,r,r,r", "i32", &types[..])).collect();
    let code = code(&list);
    let mut random = Random(9);
    for ((first, second), name) in pairs.iter().zip(&templates) {
        // SAFETY: a function of four words.
        let f: extern "C" fn(u32, u32, u32, u32) -> u32 = unsafe { code.get(name) };
        for _ in 0..1000 {
            let [a, b, c, d] = [(); 4].map(|()| edge(&mut random));
            let carry = if *first == "add" { a.checked_add(b).is_none() } else { a >= b };
            let other = if *second == "add" { d } else { !d };
            let wanted = c.wrapping_add(other).wrapping_add(u32::from(carry));
            assert_eq!(f(a, b, c, d), wanted, "{name} of {a:#x}, {b:#x}, {c:#x}, {d:#x}");
        }
    }
}

#[test]
fn carries_ripple_through_128_bits() {
    let add = "{ .reg .u32 r<4>, a<4>, b<4>;
        mov.b64 {a0,a1}, $2; mov.b64 {a2,a3}, $3; mov.b64 {b0,b1}, $4; mov.b64 {b2,b3}, $5;
        add.cc.u32 r0, a0, b0; addc.cc.u32 r1, a1, b1; addc.cc.u32 r2, a2, b2; addc.u32 r3, a3, b3;
        mov.b64 $0, {r0,r1}; mov.b64 $1, {r2,r3}; }";
    let sub = &add.replace("addc", "subc").replace("add.", "sub.");
    let mul = "{ .reg .u32 r0, r1, r2, r3, alo, ahi, blo, bhi;
        mov.b64 {alo,ahi}, $2; mov.b64 {blo,bhi}, $3;
        mul.lo.u32 r0, alo, blo; mul.hi.u32 r1, alo, blo;
        mad.lo.cc.u32 r1, alo, bhi, r1; madc.hi.u32 r2, alo, bhi, 0;
        mad.lo.cc.u32 r1, ahi, blo, r1; madc.hi.cc.u32 r2, ahi, blo, r2; madc.hi.u32 r3, ahi, bhi, 0;
        mad.lo.cc.u32 r2, ahi, bhi, r2; addc.u32 r3, r3, 0;
        mov.b64 $0, {r0,r1}; mov.b64 $1, {r2,r3}; }";
    let wrap = |name: &str, template: &str, inputs: usize| {
        let constraints = format!("=l,=l{}", ",l".repeat(inputs));
        let types = vec!["i64"; inputs];
        let inner = function(&format!("{name}.pair"), template, &constraints, "{ i64, i64 }", &types);
        let args: Vec<_> = (0..inputs).map(|i| format!("i64 %a{i}")).collect();
        let args = args.join(", ");
        inner
            + &format!(
                "define void @{name}(ptr %out, {args}) {{\n %p = call {{ i64, i64 }} @{name}.pair({args})\n store {{ i64, i64 }} %p, ptr %out\n ret void\n}}\n"
            )
    };
    let text = wrap("add", add, 4) + &wrap("sub", sub, 4) + &wrap("mul", mul, 2);
    let code = Module::parse(&text).compile();
    let mut random = Random(6);
    // SAFETY: the types given above.
    unsafe {
        type Four = unsafe extern "C" fn(*mut [u64; 2], u64, u64, u64, u64);
        let (add, sub): (Four, Four) = (code.get("add"), code.get("sub"));
        let mul: unsafe extern "C" fn(*mut [u64; 2], u64, u64) = code.get("mul");
        let whole = |v: [u64; 2]| u128::from(v[1]) << 64 | u128::from(v[0]);
        for i in 0..2000 {
            let mut v = [random.bits(), random.bits(), random.bits(), random.bits()];
            if i % 3 == 0 {
                v[i % 4] = [0, u64::MAX, 1, u64::MAX << 32][i / 3 % 4];
            }
            let (a, b) = (whole([v[0], v[1]]), whole([v[2], v[3]]));
            let mut r = [0; 2];
            add(&mut r, v[0], v[1], v[2], v[3]);
            assert_eq!(whole(r), a.wrapping_add(b));
            sub(&mut r, v[0], v[1], v[2], v[3]);
            assert_eq!(whole(r), a.wrapping_sub(b));
            mul(&mut r, v[0], v[2]);
            assert_eq!(whole(r), u128::from(v[0]) * u128::from(v[2]));
        }
    }
}
