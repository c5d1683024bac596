//! Products of matrices that a warp holds together, as `__gpurace_matrix` is passed them (see
//! [`crate::entry`]): element types, sizes, and the elements that each lane holds.

use crate::scope::numbered;

numbered! {
    /// The type of a matrix's elements.
    pub enum ElementType {
        /// `.f16`.
        F16 = 0,
        /// `.bf16`.
        Bf16 = 1,
        /// `.tf32`: a float whose lower 13 bits are ignored.
        Tf32 = 2,
        /// `.f64`.
        F64 = 3,
        /// `.s8`.
        S8 = 4,
        /// `.u8`.
        U8 = 5,
        /// `.f32`.
        F32 = 6,
        /// `.s32`.
        S32 = 7,
        /// `.e4m3`: 8 bits, 4 of exponent.
        E4m3 = 8,
        /// `.e5m2`: 8 bits, 5 of exponent.
        E5m2 = 9,
    }
}

impl ElementType {
    /// The type of this PTX name; `None` for all others, also for types of less than a byte.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f64" => Self::F64,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "f32" => Self::F32,
            "s32" => Self::S32,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 | Self::S32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Rows and columns of the three matrices: A is `m` by `k`, B `k` by `n`, C and D `m` by `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as PTX names them")]
pub struct Shape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl Shape {
    /// The shape of text such as `m16n16k16`, if no number is above 32.
    pub fn named(text: &str) -> Option<Self> {
        let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        let shape = Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? };
        let fits = |size: u32| size.is_power_of_two() && size <= 32;
        (fits(shape.m) && fits(shape.n) && fits(shape.k)).then_some(shape)
    }
}

/// The assignment of elements to lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// For `wmma`, which leaves it open: element `e` of lane `l` is number `32 e + l` of the
    /// matrix, row by row.
    Round,
    /// For `mma` (PTX ISA, "Matrix Fragments for mma"): four lanes share a row of A and of C, and a
    /// column of B.
    Quads,
}

/// The role of a matrix in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as PTX names them")]
pub enum MatrixRole {
    A,
    B,
    /// C and D.
    Sum,
}

/// `D = A * B + C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as PTX names them")]
pub struct Product {
    pub shape: Shape,
    pub layout: Layout,
    pub a: ElementType,
    pub b: ElementType,
    pub c: ElementType,
    pub d: ElementType,
    /// Integers saturate.
    pub saturates: bool,
}

impl Product {
    /// The product as one number: the sizes' logarithms from bit 0 on, the types from bit 9 on,
    /// then saturation and layout.
    pub const fn word(self) -> u32 {
        let Shape { m, n, k } = self.shape;
        m.trailing_zeros()
            | (n.trailing_zeros() << 3)
            | (k.trailing_zeros() << 6)
            | ((self.a as u32) << 9)
            | ((self.b as u32) << 13)
            | ((self.c as u32) << 17)
            | ((self.d as u32) << 21)
            | ((self.saturates as u32) << 25)
            | (matches!(self.layout, Layout::Quads) as u32 * (1 << 26))
    }

    /// The product of a [`Self::word`]; `None` if the number is none.
    pub fn of_word(word: u32) -> Option<Self> {
        let kind = |at: u32| ElementType::from_u32(word >> at & 15);
        let size = |at: u32| 1 << (word >> at & 7);
        Some(Self {
            shape: Shape { m: size(0), n: size(3), k: size(6) },
            layout: if word >> 26 & 1 != 0 { Layout::Quads } else { Layout::Round },
            a: kind(9)?,
            b: kind(13)?,
            c: kind(17)?,
            d: kind(21)?,
            saturates: word >> 25 & 1 != 0,
        })
    }

    /// Rows and columns of a matrix.
    pub const fn size(&self, role: MatrixRole) -> (u32, u32) {
        let Shape { m, n, k } = self.shape;
        match role {
            MatrixRole::A => (m, k),
            MatrixRole::B => (k, n),
            MatrixRole::Sum => (m, n),
        }
    }

    /// Row and column of element `e` of lane `lane`, in a matrix of elements of `kind`; `None` if
    /// the matrix has no such element.
    pub fn position(&self, role: MatrixRole, kind: ElementType, lane: u32, e: u32) -> Option<(u32, u32)> {
        let (rows, columns) = self.size(role);
        if self.layout == Layout::Round {
            let number = 32 * e + lane;
            return (number < rows * columns).then(|| (number / columns, number % columns));
        }
        let (quad, in_quad) = (lane / 4, lane % 4);
        if role == MatrixRole::Sum {
            return Some((quad + e / 2 * 8, in_quad * 2 + e % 2));
        }
        // The elements of a register lie side by side along `k`. Registers go down the rows of A
        // first, if it has 16, and then along `k`.
        let held = (4 / kind.bytes()).max(1);
        let (register, in_register) = (e / held, e % held);
        let down = if role == MatrixRole::A { rows / 8 } else { 1 };
        let along = register / down * 4 * held + in_quad * held + in_register;
        let across = quad + register % down * 8;
        Some(if role == MatrixRole::A { (across, along) } else { (along, across) })
    }

    /// The number of elements of a matrix that a lane holds.
    pub const fn held(&self, role: MatrixRole) -> u32 {
        let (rows, columns) = self.size(role);
        match (role, self.layout) {
            // Fragments of halves have the size of the largest shape (PTX ISA, "Matrix Fragments
            // for WMMA").
            (MatrixRole::A | MatrixRole::B, Layout::Round) if matches!(self.a, ElementType::F16) => 16,
            _ => rows * columns / 32,
        }
    }

    /// Offsets of a lane's parts of B, C and D in its buffer, which begins with A's part, and the
    /// buffer's size in bytes.
    pub const fn starts(&self) -> [u32; 4] {
        let b = self.held(MatrixRole::A) * self.a.bytes();
        let c = b + self.held(MatrixRole::B) * self.b.bytes();
        let d = c + self.held(MatrixRole::Sum) * self.c.bytes();
        [b, c, d, d + self.held(MatrixRole::Sum) * self.d.bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(shape: &str, layout: Layout, a: ElementType, sum: ElementType) -> Product {
        let shape = Shape::named(shape).unwrap();
        Product { shape, layout, a, b: a, c: sum, d: sum, saturates: false }
    }

    #[test]
    fn words_unpack_to_what_was_packed() {
        let mut product = product("m16n8k32", Layout::Quads, ElementType::E4m3, ElementType::F32);
        product.b = ElementType::E5m2;
        product.saturates = true;
        assert_eq!(Product::of_word(product.word()), Some(product));
        product.layout = Layout::Round;
        assert_eq!(Product::of_word(product.word()), Some(product));
        assert_eq!(Product::of_word(15 << 9), None);
    }

    /// Each element of each matrix has one place in one lane.
    #[test]
    fn every_element_is_held_once() {
        for (shape, kind, sum) in [
            ("m16n8k8", ElementType::F16, ElementType::F32),
            ("m16n8k16", ElementType::Bf16, ElementType::F32),
            ("m16n8k4", ElementType::Tf32, ElementType::F32),
            ("m16n8k8", ElementType::Tf32, ElementType::F32),
            ("m8n8k4", ElementType::F64, ElementType::F64),
            ("m16n8k16", ElementType::F64, ElementType::F64),
            ("m8n8k16", ElementType::S8, ElementType::S32),
            ("m16n8k16", ElementType::U8, ElementType::S32),
            ("m16n8k32", ElementType::E4m3, ElementType::F32),
        ] {
            for layout in [Layout::Quads, Layout::Round] {
                let product = product(shape, layout, kind, sum);
                for (role, kind) in [(MatrixRole::A, kind), (MatrixRole::B, kind), (MatrixRole::Sum, sum)] {
                    let (rows, columns) = product.size(role);
                    let mut seen = [0; 32 * 32];
                    for lane in 0..32 {
                        for e in 0..product.held(role) {
                            let Some((row, column)) = product.position(role, kind, lane, e) else {
                                continue;
                            };
                            assert!(
                                row < rows && column < columns,
                                "{shape} {role:?}: row {row}, column {column}"
                            );
                            seen[(row * columns + column) as usize] += 1;
                        }
                    }
                    assert!(seen[..(rows * columns) as usize].iter().all(|&n| n == 1), "{shape} {role:?}");
                }
            }
        }
    }

    /// Examples from the figures of the PTX ISA.
    #[test]
    fn lanes_have_what_the_figures_show() {
        let halves = product("m16n8k16", Layout::Quads, ElementType::F16, ElementType::F32);
        assert_eq!(halves.position(MatrixRole::A, ElementType::F16, 5, 2), Some((9, 2)));
        assert_eq!(halves.position(MatrixRole::A, ElementType::F16, 5, 5), Some((1, 11)));
        assert_eq!(halves.position(MatrixRole::B, ElementType::F16, 5, 3), Some((11, 1)));
        assert_eq!(halves.position(MatrixRole::Sum, ElementType::F32, 5, 3), Some((9, 3)));
        let bytes = product("m16n8k32", Layout::Quads, ElementType::S8, ElementType::S32);
        assert_eq!(bytes.position(MatrixRole::A, ElementType::S8, 31, 10), Some((7, 30)));
        assert_eq!(bytes.position(MatrixRole::A, ElementType::S8, 31, 6), Some((15, 14)));
        assert_eq!(bytes.starts(), [16, 24, 40, 56]);
    }
}
