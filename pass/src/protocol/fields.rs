//! Bit fields: which bits of a packed word a value takes out again.
//!
//! The compiler keeps several numbers in one register, such as the bit fields of a struct: it joins them by masks,
//! shifts and `or`. `(rank << 16 | (word & 0xffff)) >> 16` is `rank & 0xffff`, whatever `word` is. Without this, the
//! number would rest on all others in its word, also on those that nothing has set.

use gpurace_protocol::expr::{BinOp, Cast, Expr, ExprId, Width};

use super::builder::Builder;

/// The most nodes that are looked at for one field.
const MOST_NODES: u32 = 64;

/// Bits of a node: `count` of them, from bit `from` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    of: ExprId,
    from: u32,
    count: u32,
}

/// Where bits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// They have this value.
    Known(u64),
    /// They are these bits of a node. `unpacked` is true if other numbers that the word holds were left out.
    Of { bits: Field, unpacked: bool },
}

impl Field {
    /// These bits, `count` long, set to 1.
    fn ones(self) -> u64 {
        u64::MAX >> (64 - self.count)
    }

    fn end(self) -> u32 {
        self.from + self.count
    }

    /// The same number of bits of another node.
    fn at(self, of: ExprId, from: u32) -> Self {
        Self { of, from, count: self.count }
    }
}

impl Builder {
    /// The operator's value as a field of a word of several numbers. `None` if it is none, or rests on all of the word.
    pub fn field_of_bin(&mut self, op: BinOp, a: ExprId, b: ExprId) -> Option<ExprId> {
        let width = self.width(a);
        let by = self.as_const(b)?;
        let (from, count) = match op {
            BinOp::LShr if by < u64::from(width.bits()) => (by as u32, width.bits() - by as u32),
            // A mask of the lowest bits.
            BinOp::And if by != 0 && by & by.wrapping_add(1) == 0 => (0, by.count_ones()),
            _ => return None,
        };
        self.field(Field { of: a, from, count }, width)
    }

    /// The low bits of a node, as [`Self::field_of_bin`].
    pub fn field_of_trunc(&mut self, width: Width, a: ExprId) -> Option<ExprId> {
        self.field(Field { of: a, from: 0, count: width.bits() }, width)
    }

    /// The bits as a number of this width.
    fn field(&mut self, bits: Field, width: Width) -> Option<ExprId> {
        let mut left = MOST_NODES;
        let source = match self.source(bits, &mut left)? {
            Source::Known(value) => return Some(self.constant(width, width.signed(value))),
            Source::Of { bits, unpacked: true } => bits,
            Source::Of { unpacked: false, .. } => return None,
        };
        let own = self.width(source.of);
        let mut value = source.of;
        if source.from > 0 {
            let by = self.constant(own, source.from.into());
            value = self.protocol.exprs.bin(BinOp::LShr, value, by);
        }
        if source.end() < own.bits() {
            let mask = self.constant(own, own.signed(source.ones()));
            value = self.protocol.exprs.bin(BinOp::And, value, mask);
        }
        Some(match own.bits().cmp(&width.bits()) {
            std::cmp::Ordering::Less => self.cast(Cast::Zext, width, value),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.cast(Cast::Trunc, width, value),
        })
    }

    /// Where bits come from: the last node that has them all. `None` if there are more than `left` nodes.
    fn source(&self, bits: Field, left: &mut u32) -> Option<Source> {
        *left = left.checked_sub(1)?;
        let own = Source::Of { bits, unpacked: false };
        let width = self.width(bits.of).bits();
        Some(match self.get(bits.of) {
            Expr::Const { bits: value, .. } => Source::Known(value >> bits.from & bits.ones()),
            Expr::Bin(op @ (BinOp::Or | BinOp::Xor | BinOp::And), a, b) => {
                let (a, b) =
                    (self.source(bits.at(a, bits.from), left)?, self.source(bits.at(b, bits.from), left)?);
                joined(op, a, b, bits.ones()).unwrap_or(own)
            }
            Expr::Bin(op @ (BinOp::Shl | BinOp::LShr), a, by) => match self.as_const(by) {
                Some(by) if by < u64::from(width) => {
                    let by = by as u32;
                    match op {
                        BinOp::Shl if bits.end() <= by => Source::Known(0),
                        BinOp::Shl if bits.from >= by => self.source(bits.at(a, bits.from - by), left)?,
                        BinOp::LShr if bits.from + by >= width => Source::Known(0),
                        BinOp::LShr if bits.end() + by <= width => {
                            self.source(bits.at(a, bits.from + by), left)?
                        }
                        _ => own,
                    }
                }
                _ => own,
            },
            Expr::Cast(cast, _, a) => {
                let inner = self.width(a).bits();
                match cast {
                    Cast::Zext if bits.from >= inner => Source::Known(0),
                    _ if bits.end() <= inner => self.source(bits.at(a, bits.from), left)?,
                    _ => own,
                }
            }
            _ => own,
        })
    }
}

/// Where the bits of `a op b` come from, if one side says it alone. `ones` has all of these bits.
fn joined(op: BinOp, a: Source, b: Source, ones: u64) -> Option<Source> {
    let (known, other) = match (a, b) {
        (Source::Known(x), Source::Known(y)) => {
            return Some(Source::Known(match op {
                BinOp::Or => x | y,
                BinOp::Xor => x ^ y,
                _ => x & y,
            }));
        }
        (Source::Known(x), other) | (other, Source::Known(x)) => (x, other),
        _ => return None,
    };
    match (op, known) {
        (BinOp::Or | BinOp::Xor, 0) => match other {
            Source::Of { bits, .. } => Some(Source::Of { bits, unpacked: true }),
            Source::Known(_) => None,
        },
        (BinOp::And, 0) => Some(Source::Known(0)),
        (BinOp::And, known) if known == ones => Some(other),
        (BinOp::Or, known) if known == ones => Some(Source::Known(ones)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use gpurace_protocol::fold;
    use gpurace_protocol::protocol::Uniform;
    use gpurace_random::Random;

    use super::*;

    /// Opaque values of 32 bits.
    fn opaques(b: &mut Builder, count: usize) -> Vec<ExprId> {
        (0..count).map(|_| b.opaque("x", Width::W32, Uniform::Thread, None)).collect()
    }

    /// The value of an expression, if the opaque values have these.
    fn value(b: &Builder, e: ExprId, of: &[u64]) -> u64 {
        match b.get(e) {
            Expr::Const { bits, .. } => bits,
            Expr::Opaque { id, .. } => of[id.0 as usize],
            Expr::Bin(op, x, y) => fold::apply(op, b.width(x), value(b, x, of), value(b, y, of)).unwrap(),
            Expr::Cast(cast, to, x) => fold::convert(cast, b.width(x), to, value(b, x, of)),
            other => panic!("{other:?}"),
        }
    }

    /// `value` in the bits of `word` from `shift` on, 16 bits long.
    fn put(b: &mut Builder, word: ExprId, value: ExprId, shift: i64) -> ExprId {
        let (mask, by) = (b.constant(Width::W32, 0xffff), b.constant(Width::W32, shift));
        let rest = b.constant(Width::W32, !(0xffff << shift));
        let low = b.bin(BinOp::And, value, mask);
        let (shifted, rest) = (b.bin(BinOp::Shl, low, by), b.bin(BinOp::And, word, rest));
        b.bin(BinOp::Or, rest, shifted)
    }

    #[test]
    fn a_field_rests_on_its_own_number_alone() {
        let mut b = Builder::default();
        let [word, rank, size] = opaques(&mut b, 3)[..] else { unreachable!() };
        let with_rank = put(&mut b, word, rank, 16);
        let both = put(&mut b, with_rank, size, 0);
        // As a struct that is kept in a wider register does.
        let wide = b.cast(Cast::Zext, Width::W64, both);
        let half = b.constant(Width::W64, 32);
        let wide = b.bin(BinOp::Shl, wide, half);
        let back = b.bin(BinOp::LShr, wide, half);
        let back = b.cast(Cast::Trunc, Width::W32, back);
        let (by, mask) = (b.constant(Width::W32, 16), b.constant(Width::W32, 0xffff));
        let (got_rank, got_size) = (b.bin(BinOp::LShr, back, by), b.bin(BinOp::And, back, mask));
        assert_eq!(got_rank, b.bin(BinOp::And, rank, mask));
        assert_eq!(got_size, b.bin(BinOp::And, size, mask));
    }

    #[test]
    fn what_two_numbers_share_rests_on_both() {
        let mut b = Builder::default();
        let [word, rank, size] = opaques(&mut b, 3)[..] else { unreachable!() };
        // The upper number begins one bit too low.
        let (by, mask) = (b.constant(Width::W32, 15), b.constant(Width::W32, 0xffff));
        let low = b.bin(BinOp::And, size, mask);
        let high = b.bin(BinOp::Shl, rank, by);
        let both = b.bin(BinOp::Or, high, low);
        let field = b.bin(BinOp::And, both, mask);
        assert_eq!(b.get(field), Expr::Bin(BinOp::And, both, mask));
        // A mask of other than the lowest bits, and a field of a word that is not packed, stay as they are.
        let (odd, three) = (b.constant(Width::W32, 0xff00), b.constant(Width::W32, 3));
        let kept = put(&mut b, word, rank, 16);
        let upper = b.bin(BinOp::And, kept, odd);
        assert_eq!(b.get(upper), Expr::Bin(BinOp::And, kept, odd));
        let moved = b.bin(BinOp::LShr, word, three);
        let low = b.bin(BinOp::And, moved, mask);
        assert_eq!(b.get(low), Expr::Bin(BinOp::And, moved, mask));
    }

    #[test]
    fn fields_of_random_words_keep_their_values() {
        let mut random = Random(7);
        let mut shorter = 0;
        for _ in 0..20_000 {
            let mut b = Builder::default();
            let mut nodes = opaques(&mut b, 3);
            let mut exact = nodes.clone();
            for _ in 0..12 {
                let at = random.below(nodes.len());
                let (a, plain) = (nodes[at], exact[at]);
                let width = b.width(a);
                let widths = [Width::W8, Width::W16, Width::W32, Width::W64];
                let constant = match random.below(3u32) {
                    0 => random.below(u64::from(width.bits())),
                    1 => width.mask() >> random.below(u64::from(width.bits())),
                    _ => width.mask() << random.below(u64::from(width.bits())),
                };
                let constant = b.constant(width, width.signed(width.truncate(constant)));
                let alike: Vec<usize> = (0..nodes.len()).filter(|&i| b.width(nodes[i]) == width).collect();
                let with = random.pick(&alike);
                let op = random.pick(&[BinOp::And, BinOp::LShr, BinOp::Shl, BinOp::Or, BinOp::Xor]);
                let casts = random.chance(25);
                let (made, raw) = match op {
                    _ if casts => {
                        let to = random.pick(&widths);
                        if to == width {
                            continue;
                        }
                        let longer = random.pick(&[Cast::Zext, Cast::Sext]);
                        let cast = if to > width { longer } else { Cast::Trunc };
                        (b.cast(cast, to, a), b.protocol.exprs.add(Expr::Cast(cast, to, plain)))
                    }
                    BinOp::Or | BinOp::Xor => {
                        (b.bin(op, a, nodes[with]), b.protocol.exprs.bin(op, plain, exact[with]))
                    }
                    _ => (b.bin(op, a, constant), b.protocol.exprs.bin(op, plain, constant)),
                };
                shorter += usize::from(made != raw);
                nodes.push(made);
                exact.push(raw);
            }
            for _ in 0..8 {
                let of: Vec<u64> = (0..3).map(|_| random.below(1u64 << 32)).collect();
                for (&made, &raw) in nodes.iter().zip(&exact) {
                    assert_eq!(value(&b, made, &of), value(&b, raw, &of), "{:?}", b.get(raw));
                }
            }
        }
        assert!(shorter > 1_000, "{shorter}");
    }
}
