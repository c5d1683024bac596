//! Computes `wmma.mma` and `mma`: `D = A * B + C`, for matrices that a warp holds together.
//!
//! Each lane passes a buffer with its parts of A, B and C, one after the other; its part of D is
//! written behind them, with the layout of `gpurace_abi::matrix`. Products of elements of up to 19
//! bits are exact. They are summed in double precision, more precisely than on a GPU.

use gpurace_abi::matrix::{ElementType, MatrixRole, Product};
use half::{bf16, f16};

use crate::collective::lanes;

/// An element as a number. Integers of 64 bits do not occur.
fn read(kind: ElementType, bytes: &[u8]) -> f64 {
    let word = |n: usize| {
        let mut word = [0; 8];
        word[..n].copy_from_slice(&bytes[..n]);
        u64::from_le_bytes(word)
    };
    match kind {
        ElementType::S8 => f64::from(bytes[0] as i8),
        ElementType::U8 => f64::from(bytes[0]),
        ElementType::F16 => f16::from_bits(word(2) as u16).to_f64(),
        ElementType::Bf16 => bf16::from_bits(word(2) as u16).to_f64(),
        // The lower 13 bits are ignored.
        ElementType::Tf32 => f64::from(f32::from_bits(word(4) as u32 & !0x1fff)),
        ElementType::F32 => f64::from(f32::from_bits(word(4) as u32)),
        ElementType::S32 => f64::from(word(4) as i32),
        ElementType::F64 => f64::from_bits(word(8)),
        ElementType::E4m3 => e4m3(bytes[0]),
        // An `e5m2` is the upper half of an `f16`.
        ElementType::E5m2 => f16::from_bits(u16::from(bytes[0]) << 8).to_f64(),
    }
}

/// An `e4m3` as a number: 4 bits of exponent with bias 7, 3 bits of fraction, no infinity (OCP
/// 8-bit Floating Point Specification).
fn e4m3(byte: u8) -> f64 {
    let (exponent, fraction) = (i32::from(byte >> 3 & 15), f64::from(byte & 7));
    let magnitude = match (exponent, byte & 7) {
        (15, 7) => f64::NAN,
        (0, _) => fraction / 512.0,
        _ => (1.0 + fraction / 8.0) * f64::from(exponent - 7).exp2(),
    };
    if byte >> 7 == 0 { magnitude } else { -magnitude }
}

/// Writes an element of a result.
fn write(kind: ElementType, value: f64, bytes: &mut [u8]) {
    match kind {
        ElementType::F16 => bytes.copy_from_slice(&f16::from_f64(value).to_bits().to_le_bytes()),
        ElementType::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
        ElementType::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
        _ => {}
    }
}

/// Computes the operation for the lanes of `group`. `buffers`: the address of each lane's buffer.
/// Elements of missing lanes are zeros.
///
/// # Safety
/// The buffers have the operation's size, and nobody else uses them.
pub(crate) unsafe fn multiply(word: u32, buffers: &[u64; 32], group: u32) {
    // The pass writes no other words.
    let Some(op) = Product::of_word(word) else { return };
    let [b, c, d, end] = op.starts().map(|at| at as usize);
    // SAFETY: the caller's.
    let buffer = |lane: usize| unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::with_exposed_provenance_mut::<u8>(buffers[lane] as usize),
            end,
        )
    };
    // The places of a lane's elements in a matrix, and in its part of the buffer.
    let elements = |place: MatrixRole, kind: ElementType, lane: usize| {
        let (columns, bytes) = (op.size(place).1, kind.bytes() as usize);
        (0..op.held(place)).filter_map(move |e| {
            let (row, column) = op.position(place, kind, lane as u32, e)?;
            Some(((row * columns + column) as usize, e as usize * bytes..(e as usize + 1) * bytes))
        })
    };
    let matrix = |start: usize, place: MatrixRole, kind: ElementType| {
        let (rows, columns) = op.size(place);
        let mut matrix = vec![0f64; (rows * columns) as usize];
        for lane in lanes(group) {
            let held = &buffer(lane)[start..];
            elements(place, kind, lane).for_each(|(i, at)| matrix[i] = read(kind, &held[at]));
        }
        matrix
    };
    let left = matrix(0, MatrixRole::A, op.a);
    let right = matrix(b, MatrixRole::B, op.b);
    let mut sums = matrix(c, MatrixRole::Sum, op.c);
    let (n, inner) = (op.shape.n as usize, op.shape.k as usize);
    for (row, sums) in sums.chunks_mut(n).enumerate() {
        for (k, &a) in left[row * inner..(row + 1) * inner].iter().enumerate() {
            let right = &right[k * n..(k + 1) * n];
            match op.a {
                // One rounding for each product, as in `fma`.
                ElementType::F64 => {
                    sums.iter_mut().zip(right).for_each(|(sum, &b)| *sum = a.mul_add(b, *sum))
                }
                _ => sums.iter_mut().zip(right).for_each(|(sum, &b)| *sum += a * b),
            }
        }
    }
    for lane in lanes(group) {
        let held = &mut buffer(lane)[d..];
        for (i, at) in elements(MatrixRole::Sum, op.d, lane) {
            let (sum, to) = (sums[i], &mut held[at]);
            match op.d {
                // Sums of bytes and integers of 32 bits fit the 53 bits of a double. Without
                // saturation they wrap.
                ElementType::S32 if op.saturates => to.copy_from_slice(&(sum as i32).to_le_bytes()),
                ElementType::S32 => to.copy_from_slice(&(sum as i64 as i32).to_le_bytes()),
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
        let (shape, sum) = (Shape { m: m as u32, n: n as u32, k: k as u32 }, ElementType::S32);
        let product = Product {
            shape,
            layout: Layout::Round,
            a: ElementType::S8,
            b: ElementType::S8,
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
        // SAFETY: the buffers have the operation's size.
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
        assert_eq!(read(ElementType::E5m2, &[0x7b]), 57344.0);
        assert_eq!(read(ElementType::E5m2, &[0xc2]), -3.0);
    }
}
