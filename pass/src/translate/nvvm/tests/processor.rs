//! The processor's own arithmetic in each rounding mode: the oracle for
//! directed rounding.

use std::arch::asm;

/// A rounding mode: its name in NVVM, its bits in MXCSR.
pub const MODES: [(&str, u32); 4] = [("rn", 0), ("rm", 1), ("rp", 2), ("rz", 3)];

/// MXCSR with all exceptions masked and the mode's bits.
fn mxcsr(mode: u32) -> u32 {
    0x1f80 | mode << 13
}

macro_rules! binary {
    ($name:ident, $ty:ty, $instruction:literal) => {
        /// The instruction's result in a rounding mode.
        pub fn $name(mode: u32, a: $ty, b: $ty) -> $ty {
            let (mode, saved) = (mxcsr(mode), mxcsr(0));
            let mut r = a;
            // SAFETY: the default mode is restored before the assembly ends.
            unsafe {
                asm!("ldmxcsr [{m}]", concat!($instruction, " {r}, {b}"), "ldmxcsr [{s}]",
                     m = in(reg) &mode, s = in(reg) &saved, r = inout(xmm_reg) r, b = in(xmm_reg) b)
            };
            r
        }
    };
}
binary!(add32, f32, "addss");
binary!(mul32, f32, "mulss");
binary!(div32, f32, "divss");
binary!(sqrt32, f32, "sqrtss");
binary!(add64, f64, "addsd");
binary!(mul64, f64, "mulsd");
binary!(div64, f64, "divsd");
binary!(sqrt64, f64, "sqrtsd");

macro_rules! fused {
    ($name:ident, $ty:ty, $instruction:literal) => {
        /// `a * b + c` in a rounding mode.
        pub fn $name(mode: u32, a: $ty, b: $ty, c: $ty) -> $ty {
            let (mode, saved) = (mxcsr(mode), mxcsr(0));
            let mut r = a;
            // SAFETY: the default mode is restored before the assembly ends.
            unsafe {
                asm!("ldmxcsr [{m}]", concat!($instruction, " {r}, {b}, {c}"), "ldmxcsr [{s}]",
                     m = in(reg) &mode, s = in(reg) &saved, r = inout(xmm_reg) r,
                     b = in(xmm_reg) b, c = in(xmm_reg) c)
            };
            r
        }
    };
}
fused!(fma32, f32, "vfmadd213ss");
fused!(fma64, f64, "vfmadd213sd");

/// `double` to `float` in a rounding mode.
pub fn narrow(mode: u32, a: f64) -> f32 {
    let (mode, saved) = (mxcsr(mode), mxcsr(0));
    let mut r = 0f32;
    // SAFETY: the default mode is restored before the assembly ends.
    unsafe {
        asm!("ldmxcsr [{m}]", "cvtsd2ss {r}, {a}", "ldmxcsr [{s}]",
             m = in(reg) &mode, s = in(reg) &saved, r = inout(xmm_reg) r, a = in(xmm_reg) a)
    };
    r
}

/// `double` rounded to `half` bits, to nearest or toward zero, by way of the
/// definition: the nearest of all finite values and infinity.
pub fn half_bits(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return 0x7e00;
    }
    sign | nearest(value.abs(), |b| half_value(b as u16), 0x7c00, 65536.0) as u16
}

/// `double` rounded to `bfloat` bits, to nearest.
pub fn bfloat_bits(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return 0x7fff;
    }
    sign | nearest(value.abs(), |b| bfloat_value(b as u16), 0x7f80, 2f64.powi(128)) as u16
}

/// The value of `half` bits.
pub fn half_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * 2f64.powi(e - 25),
    }
}

/// The value of `bfloat` bits.
pub fn bfloat_value(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// Bits of the representable value nearest to `value`, ties to even bits;
/// `infinity` are infinity's bits, which stand for `beyond` when rounding.
fn nearest(value: f64, decode: impl Fn(u32) -> f64, infinity: u32, beyond: f64) -> u32 {
    if value.is_infinite() {
        return infinity;
    }
    let decode = |b: u32| if b == infinity { beyond } else { decode(b) };
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if decode(middle) <= value { low = middle } else { high = middle }
    }
    if value >= beyond {
        return infinity;
    }
    let (below, above) = (value - decode(low), decode(high) - value);
    match below.partial_cmp(&above) {
        Some(std::cmp::Ordering::Less) => low,
        Some(std::cmp::Ordering::Greater) => high,
        _ => low + (low & 1),
    }
}
