//! The sequences of random bits. A sequence knows its place, so that it goes on where it ended.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::sobol::{self, Vectors};

/// Random bits of one number, the first at the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// 32 of them.
    Narrow(u32),
    /// 64 of them.
    Wide(u64),
}

impl Bits {
    /// A number above 0, at most 1.
    pub fn unit(self) -> f64 {
        match self {
            Self::Narrow(bits) => (f64::from(bits) + 0.5) * 2f64.powi(-32),
            Self::Wide(bits) => ((bits >> 11) + 1) as f64 * 2f64.powi(-53),
        }
    }

    /// A number between 0 and 1, but neither of them.
    pub fn inside(self) -> f64 {
        match self {
            Self::Narrow(_) => self.unit(),
            Self::Wide(bits) => ((bits >> 12) as f64 + 0.5) * 2f64.powi(-52),
        }
    }

    /// The first 32.
    pub fn top(self) -> u32 {
        match self {
            Self::Narrow(bits) => bits,
            Self::Wide(bits) => (bits >> 32) as u32,
        }
    }
}

/// A pseudorandom sequence: words of ChaCha with 8 rounds.
pub struct Pseudo(ChaCha8Rng);

impl Pseudo {
    /// The sequence of a seed, from this word on. Each kind of generator has another one.
    pub fn new(seed: u64, kind: u32, offset: u64) -> Self {
        let mut words = ChaCha8Rng::seed_from_u64(seed);
        words.set_stream(kind.into());
        words.set_word_pos(offset.into());
        Self(words)
    }

    /// The next word.
    pub fn narrow(&mut self) -> Bits {
        Bits::Narrow(self.0.next_u32())
    }

    /// The next two words.
    pub fn wide(&mut self) -> Bits {
        Bits::Wide(self.0.next_u64())
    }
}

/// A quasirandom sequence of points with one number for each dimension.
pub struct Quasi {
    /// Each dimension's direction vectors, and what scrambles its numbers.
    dimensions: Vec<(Vectors, u64)>,
    /// Numbers have 64 bits, otherwise 32.
    is_wide: bool,
    /// The next point.
    next: u64,
}

impl Quasi {
    /// Sobol's sequence from this point on.
    pub fn new(dimensions: u32, is_scrambled: bool, is_wide: bool, offset: u64) -> Self {
        let scrambles = match is_scrambled {
            true => sobol::scramble_constants(dimensions),
            false => vec![0; dimensions as usize],
        };
        Self {
            dimensions: sobol::vectors(dimensions).into_iter().zip(scrambles).collect(),
            is_wide,
            next: offset,
        }
    }

    /// The next points: all numbers of the first dimension, then those of the second, and so on.
    pub fn points(&mut self, count: usize, mut each: impl FnMut(Bits)) {
        // Sequences of 32 bits begin again after 2^32 points.
        let (first, last) = match self.is_wide {
            true => (self.next, 63),
            false => (self.next & u64::from(u32::MAX), 31),
        };
        for (vectors, scramble) in &self.dimensions {
            // Neighbours in Gray's code differ in one bit.
            let gray = first ^ (first >> 1);
            let bits = (0..64).filter(|bit| gray >> bit & 1 == 1);
            let mut number = bits.fold(*scramble, |number, bit: usize| number ^ vectors[bit]);
            for index in (first..).take(count) {
                each(match self.is_wide {
                    true => Bits::Wide(number),
                    false => Bits::Narrow((number >> 32) as u32),
                });
                number ^= vectors[(index.trailing_ones() as usize).min(last)];
            }
        }
        self.next = self.next.wrapping_add(count as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_above_zero_and_at_most_one() {
        for lowest in [Bits::Narrow(0), Bits::Wide(0)] {
            assert!(lowest.unit() > 0.0 && lowest.unit() as f32 > 0.0 && lowest.inside() > 0.0);
        }
        assert_eq!(Bits::Narrow(u32::MAX).unit() as f32, 1.0);
        assert_eq!(Bits::Wide(u64::MAX).unit(), 1.0);
        for highest in [Bits::Narrow(u32::MAX), Bits::Wide(u64::MAX)] {
            assert!(highest.unit() <= 1.0 && highest.inside() < 1.0);
        }
    }

    #[test]
    fn an_offset_skips_words() {
        let mut all = Pseudo::new(7, 101, 0);
        let words: Vec<Bits> = (0..100).map(|_| all.narrow()).collect();
        let mut rest = Pseudo::new(7, 101, 37);
        assert!(words[37..].iter().all(|word| *word == rest.narrow()));
        // Another seed and another kind have other words.
        assert_ne!(Pseudo::new(8, 101, 0).narrow(), words[0]);
        assert_ne!(Pseudo::new(7, 121, 0).narrow(), words[0]);
    }

    fn points(sequence: &mut Quasi, count: usize) -> Vec<Bits> {
        let mut found = Vec::new();
        sequence.points(count, |bits| found.push(bits));
        found
    }

    #[test]
    fn sobols_first_points() {
        let mut sequence = Quasi::new(2, false, false, 0);
        let eighths: Vec<u32> = points(&mut sequence, 5).iter().map(|bits| bits.top() >> 29).collect();
        assert_eq!(eighths, [0, 4, 6, 2, 3, 0, 4, 2, 6, 3]);
    }

    #[test]
    fn points_in_parts_are_the_same_points() {
        for (is_scrambled, is_wide) in [(false, false), (true, false), (false, true), (true, true)] {
            let whole = points(&mut Quasi::new(3, is_scrambled, is_wide, 0), 50);
            let mut sequence = Quasi::new(3, is_scrambled, is_wide, 0);
            let parts = [points(&mut sequence, 20), points(&mut sequence, 30)];
            let mut offset = Quasi::new(3, is_scrambled, is_wide, 20);
            assert_eq!(points(&mut offset, 30), parts[1]);
            for dimension in 0..3 {
                let of_one = [&parts[0][dimension * 20..][..20], &parts[1][dimension * 30..][..30]].concat();
                assert_eq!(of_one, whole[dimension * 50..][..50]);
            }
        }
    }

    #[test]
    fn a_short_sequence_begins_again() {
        let mut last = Quasi::new(1, false, false, u32::MAX.into());
        let found = points(&mut last, 3);
        assert_eq!(found[1..], points(&mut Quasi::new(1, false, false, 0), 2));
    }
}
