//! What `wmma.mma` computes: `D = A * B + C` of matrices that a warp holds together.
//!
//! Each lane brings a buffer with its parts of A, B and C, one after the other,
//! and finds its part of D behind them. Element `e` of lane `l` is number
//! `32 e + l` of its matrix, row by row; `pass/src/lower/nvvm/matrix.rs` knows the
//! same. Products of 16-bit and TF32 elements are exact and are summed in double
//! precision, which is nearer to the exact sum than a GPU's.

use half::{bf16, f16};

use crate::collective::lanes;

/// A type of elements, by its number in the operation's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F16,
    Bf16,
    Tf32,
    F64,
    S8,
    U8,
    F32,
    S32,
}

impl Kind {
    fn new(number: u32) -> Self {
        use Kind::{Bf16, F16, F32, F64, S8, S32, Tf32, U8};
        [F16, Bf16, Tf32, F64, S8, U8, F32, S32][number as usize & 7]
    }

    fn bytes(self) -> usize {
        match self {
            Self::S8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 | Self::S32 => 4,
            Self::F64 => 8,
        }
    }

    /// An element as a number: all but whole numbers of 64 bits fit.
    fn read(self, bytes: &[u8]) -> f64 {
        let word = |n: usize| {
            let mut word = [0; 8];
            word[..n].copy_from_slice(&bytes[..n]);
            u64::from_le_bytes(word)
        };
        match self {
            Self::S8 => f64::from(bytes[0] as i8),
            Self::U8 => f64::from(bytes[0]),
            Self::F16 => f16::from_bits(word(2) as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(word(2) as u16).to_f64(),
            // The lower 13 bits do not take part.
            Self::Tf32 => f64::from(f32::from_bits(word(4) as u32 & !0x1fff)),
            Self::F32 => f64::from(f32::from_bits(word(4) as u32)),
            Self::S32 => f64::from(word(4) as i32),
            Self::F64 => f64::from_bits(word(8)),
        }
    }

    fn write(self, value: f64, bytes: &mut [u8]) {
        match self {
            Self::F16 => bytes.copy_from_slice(&f16::from_f64(value).to_bits().to_le_bytes()),
            Self::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
            Self::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
            _ => {}
        }
    }
}

/// An operation, from its word: `m`, `n`, `k` in bits 0, 6 and 12, the types of A
/// and B, of C and of D in bits 17, 20 and 23, and in bit 26 whether whole numbers saturate.
#[derive(Clone, Copy, Debug)]
struct Operation {
    m: usize,
    n: usize,
    k: usize,
    ab: Kind,
    c: Kind,
    d: Kind,
    saturates: bool,
}

impl Operation {
    fn new(word: u32) -> Self {
        Self {
            m: (word & 63) as usize,
            n: (word >> 6 & 63) as usize,
            k: (word >> 12 & 31) as usize,
            ab: Kind::new(word >> 17),
            c: Kind::new(word >> 20),
            d: Kind::new(word >> 23),
            saturates: word >> 26 & 1 != 0,
        }
    }

    /// Elements that a lane has of a matrix of A's and B's type; halves have room
    /// for the largest shape (PTX ISA, "Matrix Fragments for WMMA").
    fn held(&self, elements: usize) -> usize {
        if self.ab == Kind::F16 { 16 } else { elements / 32 }
    }

    /// Where B, C and D begin in a lane's buffer, and its length.
    fn starts(&self) -> [usize; 4] {
        let b = self.held(self.m * self.k) * self.ab.bytes();
        let c = b + self.held(self.k * self.n) * self.ab.bytes();
        let d = c + self.m * self.n / 32 * self.c.bytes();
        [b, c, d, d + self.m * self.n / 32 * self.d.bytes()]
    }
}

/// Computes the operation for the lanes of `group`; `buffers` has the address of
/// each one's buffer. Elements of lanes that are not there are zeros.
///
/// # Safety
/// The buffers are as long as the operation's word says, and nobody else uses them.
pub(crate) unsafe fn multiply(word: u32, buffers: &[u64; 32], group: u32) {
    let op = Operation::new(word);
    let [b, c, d, end] = op.starts();
    // SAFETY: as the caller vouches.
    let buffer = |lane: usize| unsafe {
        std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut::<u8>(buffers[lane] as usize), end)
    };
    let matrix = |start: usize, elements: usize, kind: Kind| {
        let mut matrix = vec![0f64; elements];
        let bytes = kind.bytes();
        for lane in lanes(group) {
            let held = buffer(lane);
            for (e, element) in matrix.iter_mut().skip(lane).step_by(32).enumerate() {
                *element = kind.read(&held[start + e * bytes..]);
            }
        }
        matrix
    };
    let left = matrix(0, op.m * op.k, op.ab);
    let right = matrix(b, op.k * op.n, op.ab);
    let mut sums = matrix(c, op.m * op.n, op.c);
    for (row, sums) in sums.chunks_mut(op.n).enumerate() {
        for (k, &a) in left[row * op.k..(row + 1) * op.k].iter().enumerate() {
            let right = &right[k * op.n..(k + 1) * op.n];
            match op.ab {
                // One rounding for each product, as `fma` has.
                Kind::F64 => sums.iter_mut().zip(right).for_each(|(sum, &b)| *sum = a.mul_add(b, *sum)),
                _ => sums.iter_mut().zip(right).for_each(|(sum, &b)| *sum += a * b),
            }
        }
    }
    let bytes = op.d.bytes();
    for lane in lanes(group) {
        let held = buffer(lane);
        for (e, &sum) in sums.iter().skip(lane).step_by(32).enumerate() {
            let to = &mut held[d + e * bytes..d + (e + 1) * bytes];
            match op.d {
                // Sums of bytes with 32 bits fit into 53; without saturation they wrap.
                Kind::S32 if op.saturates => to.copy_from_slice(&(sum as i32).to_le_bytes()),
                Kind::S32 => to.copy_from_slice(&(sum as i64 as i32).to_le_bytes()),
                kind => kind.write(sum, to),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warp multiplies matrices of bytes: an oracle in plain loops.
    #[test]
    fn a_warp_multiplies_what_its_lanes_hold() {
        let (m, n, k) = (8usize, 32usize, 16usize);
        let word = (m | n << 6 | k << 12) as u32 | 4 << 17 | 7 << 20 | 7 << 23;
        let a = |i: usize| (i as i32 * 7 % 256 - 128) as i8;
        let b = |i: usize| (i as i32 * 11 % 251 - 125) as i8;
        let c = |i: usize| i as i32 * 1000 - 5;
        let starts = Operation::new(word).starts();
        assert_eq!(starts, [4, 20, 52, 84]);
        let mut held = vec![vec![0u8; starts[3]]; 32];
        for (lane, held) in held.iter_mut().enumerate() {
            (0..4).for_each(|e| held[e] = a(32 * e + lane) as u8);
            (0..16).for_each(|e| held[4 + e] = b(32 * e + lane) as u8);
            (0..8).for_each(|e| held[20 + 4 * e..24 + 4 * e].copy_from_slice(&c(32 * e + lane).to_le_bytes()));
        }
        let buffers: [u64; 32] = std::array::from_fn(|lane| held[lane].as_mut_ptr().expose_provenance() as u64);
        // SAFETY: as long as the operation says.
        unsafe { multiply(word, &buffers, !0) };
        for i in 0..m * n {
            let (row, column) = (i / n, i % n);
            let sum = (0..k).map(|x| i32::from(a(row * k + x)) * i32::from(b(x * n + column))).sum::<i32>() + c(i);
            let at = 52 + 4 * (i / 32);
            let found = i32::from_le_bytes(held[i % 32][at..at + 4].try_into().unwrap());
            assert_eq!(found, sum, "row {row}, column {column}");
        }
    }

    #[test]
    fn halves_have_room_for_the_largest_shape() {
        let word = 32 | 8 << 6 | 16 << 12 | 6 << 20 | 6 << 23;
        assert_eq!(Operation::new(word).starts(), [32, 64, 96, 128]);
    }
}
