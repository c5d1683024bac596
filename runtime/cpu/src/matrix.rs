//! What `wmma.mma` and `mma` compute: `D = A * B + C` of matrices that a warp holds together.
//!
//! Each lane brings a buffer with its parts of A, B and C, one after the other,
//! and finds its part of D behind them, as `gpurace_abi::matrix` says. Products of elements
//! of up to 19 bits are exact and are summed in double precision, which is nearer to the
//! exact sum than a GPU's.

use gpurace_abi::matrix::{Kind, Place, Product};
use half::{bf16, f16};

use crate::collective::lanes;

/// An element as a number: all but whole numbers of 64 bits fit.
fn read(kind: Kind, bytes: &[u8]) -> f64 {
    let word = |n: usize| {
        let mut word = [0; 8];
        word[..n].copy_from_slice(&bytes[..n]);
        u64::from_le_bytes(word)
    };
    match kind {
        Kind::S8 => f64::from(bytes[0] as i8),
        Kind::U8 => f64::from(bytes[0]),
        Kind::F16 => f16::from_bits(word(2) as u16).to_f64(),
        Kind::Bf16 => bf16::from_bits(word(2) as u16).to_f64(),
        // The lower 13 bits do not take part.
        Kind::Tf32 => f64::from(f32::from_bits(word(4) as u32 & !0x1fff)),
        Kind::F32 => f64::from(f32::from_bits(word(4) as u32)),
        Kind::S32 => f64::from(word(4) as i32),
        Kind::F64 => f64::from_bits(word(8)),
        Kind::E4m3 => e4m3(bytes[0]),
        // The upper half of a half.
        Kind::E5m2 => f16::from_bits(u16::from(bytes[0]) << 8).to_f64(),
    }
}

/// 4 bits of exponent with bias 7, 3 of fraction, no infinity (OCP 8-bit Floating Point Specification).
fn e4m3(byte: u8) -> f64 {
    let (exponent, fraction) = (i32::from(byte >> 3 & 15), f64::from(byte & 7));
    let magnitude = match (exponent, byte & 7) {
        (15, 7) => f64::NAN,
        (0, _) => fraction / 512.0,
        _ => (1.0 + fraction / 8.0) * f64::from(exponent - 7).exp2(),
    };
    if byte >> 7 == 0 { magnitude } else { -magnitude }
}

fn write(kind: Kind, value: f64, bytes: &mut [u8]) {
    match kind {
        Kind::F16 => bytes.copy_from_slice(&f16::from_f64(value).to_bits().to_le_bytes()),
        Kind::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
        Kind::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
        _ => {}
    }
}

/// Computes the operation for the lanes of `group`; `buffers` has the address of
/// each one's buffer. Elements of lanes that are not there are zeros.
///
/// # Safety
/// The buffers are as long as the operation's word says, and nobody else uses them.
pub(crate) unsafe fn multiply(word: u32, buffers: &[u64; 32], group: u32) {
    // The pass writes no other words.
    let Some(op) = Product::of_word(word) else { return };
    let [b, c, d, end] = op.starts().map(|at| at as usize);
    // SAFETY: as the caller vouches.
    let buffer = |lane: usize| unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::with_exposed_provenance_mut::<u8>(buffers[lane] as usize),
            end,
        )
    };
    // Where a lane's elements are in a matrix, and in its part of the buffer.
    let elements = |place: Place, kind: Kind, lane: usize| {
        let (columns, bytes) = (op.size(place).1, kind.bytes() as usize);
        (0..op.held(place)).filter_map(move |e| {
            let (row, column) = op.position(place, kind, lane as u32, e)?;
            Some(((row * columns + column) as usize, e as usize * bytes..(e as usize + 1) * bytes))
        })
    };
    let matrix = |start: usize, place: Place, kind: Kind| {
        let (rows, columns) = op.size(place);
        let mut matrix = vec![0f64; (rows * columns) as usize];
        for lane in lanes(group) {
            let held = &buffer(lane)[start..];
            elements(place, kind, lane).for_each(|(i, at)| matrix[i] = read(kind, &held[at]));
        }
        matrix
    };
    let left = matrix(0, Place::A, op.a);
    let right = matrix(b, Place::B, op.b);
    let mut sums = matrix(c, Place::Sum, op.c);
    let (n, inner) = (op.shape.n as usize, op.shape.k as usize);
    for (row, sums) in sums.chunks_mut(n).enumerate() {
        for (k, &a) in left[row * inner..(row + 1) * inner].iter().enumerate() {
            let right = &right[k * n..(k + 1) * n];
            match op.a {
                // One rounding for each product, as `fma` has.
                Kind::F64 => sums.iter_mut().zip(right).for_each(|(sum, &b)| *sum = a.mul_add(b, *sum)),
                _ => sums.iter_mut().zip(right).for_each(|(sum, &b)| *sum += a * b),
            }
        }
    }
    for lane in lanes(group) {
        let held = &mut buffer(lane)[d..];
        for (i, at) in elements(Place::Sum, op.d, lane) {
            let (sum, to) = (sums[i], &mut held[at]);
            match op.d {
                // Sums of bytes with 32 bits fit into 53; without saturation they wrap.
                Kind::S32 if op.saturates => to.copy_from_slice(&(sum as i32).to_le_bytes()),
                Kind::S32 => to.copy_from_slice(&(sum as i64 as i32).to_le_bytes()),
                kind => write(kind, sum, to),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpurace_abi::matrix::{Layout, Shape};

    use super::*;

    /// A warp multiplies matrices of bytes: an oracle in plain loops.
    #[test]
    fn a_warp_multiplies_what_its_lanes_hold() {
        let (m, n, k) = (8usize, 32usize, 16usize);
        let (shape, sum) = (Shape { m: m as u32, n: n as u32, k: k as u32 }, Kind::S32);
        let product = Product {
            shape,
            layout: Layout::Round,
            a: Kind::S8,
            b: Kind::S8,
            c: sum,
            d: sum,
            saturates: false,
        };
        let a = |i: usize| (i as i32 * 7 % 256 - 128) as i8;
        let b = |i: usize| (i as i32 * 11 % 251 - 125) as i8;
        let c = |i: usize| i as i32 * 1000 - 5;
        assert_eq!(product.starts(), [4, 20, 52, 84]);
        let mut held = vec![vec![0u8; 84]; 32];
        for (lane, held) in held.iter_mut().enumerate() {
            (0..4).for_each(|e| held[e] = a(32 * e + lane) as u8);
            (0..16).for_each(|e| held[4 + e] = b(32 * e + lane) as u8);
            (0..8)
                .for_each(|e| held[20 + 4 * e..24 + 4 * e].copy_from_slice(&c(32 * e + lane).to_le_bytes()));
        }
        let buffers: [u64; 32] =
            std::array::from_fn(|lane| held[lane].as_mut_ptr().expose_provenance() as u64);
        // SAFETY: as long as the operation says.
        unsafe { multiply(product.word(), &buffers, !0) };
        for i in 0..m * n {
            let (row, column) = (i / n, i % n);
            let sum =
                (0..k).map(|x| i32::from(a(row * k + x)) * i32::from(b(x * n + column))).sum::<i32>() + c(i);
            let at = 52 + 4 * (i / 32);
            let found = i32::from_le_bytes(held[i % 32][at..at + 4].try_into().unwrap());
            assert_eq!(found, sum, "row {row}, column {column}");
        }
    }

    #[test]
    fn floats_of_8_bits() {
        for (byte, value) in
            [(0x38, 1.0), (0x7e, 448.0), (0x01, 1.0 / 512.0), (0xc4, -3.0), (0x08, 1.0 / 64.0)]
        {
            assert_eq!(e4m3(byte), value, "{byte:#x}");
        }
        assert!(e4m3(0x7f).is_nan());
        assert_eq!(read(Kind::E5m2, &[0x7b]), 57344.0);
        assert_eq!(read(Kind::E5m2, &[0xc2]), -3.0);
    }
}
