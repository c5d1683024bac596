//! Direction vectors of Sobol's sequences, from the polynomials of Joe and Kuo.

use std::sync::LazyLock;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sobol::Sobol;
use sobol::params::JoeKuoD6;

/// The most dimensions that a sequence has.
pub const MOST_DIMENSIONS: u32 = 20_000;

/// The direction vectors of one dimension. The upper halves of the first 32 are those of 32-bit numbers: vector `i`
/// has no bit below its first `i + 1`.
pub type Vectors = [u64; 64];

/// The direction vectors of each dimension.
pub fn vectors(dimensions: u32) -> Vec<Vectors> {
    // Small tables are read faster.
    let polynomials = match dimensions {
        0..=100 => JoeKuoD6::minimal(),
        101..=1000 => JoeKuoD6::standard(),
        _ => JoeKuoD6::extended(),
    };
    let found = Sobol::<u64>::init_direction_vals::<u32>(dimensions as usize, 64, &polynomials);
    found.into_iter().map(|of_one| std::array::from_fn(|i| of_one[i])).collect()
}

/// What is added, bit by bit, to the numbers of each dimension of a scrambled sequence. The upper half is that of
/// 32-bit numbers.
pub fn scramble_constants(dimensions: u32) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    (0..dimensions).map(|_| random.next_u64()).collect()
}

/// What `curandGetDirectionVectors32` returns.
pub static VECTORS_32: LazyLock<Vec<[u32; 32]>> = LazyLock::new(|| {
    let narrow = |of_one: &Vectors| std::array::from_fn(|i| (of_one[i] >> 32) as u32);
    VECTORS_64.iter().map(narrow).collect()
});

/// What `curandGetDirectionVectors64` returns.
pub static VECTORS_64: LazyLock<Vec<Vectors>> = LazyLock::new(|| vectors(MOST_DIMENSIONS));

/// What `curandGetScrambleConstants32` returns.
pub static CONSTANTS_32: LazyLock<Vec<u32>> =
    LazyLock::new(|| CONSTANTS_64.iter().map(|constant| (constant >> 32) as u32).collect());

/// What `curandGetScrambleConstants64` returns.
pub static CONSTANTS_64: LazyLock<Vec<u64>> = LazyLock::new(|| scramble_constants(MOST_DIMENSIONS));

#[cfg(test)]
mod tests {
    use super::*;

    /// The published example: dimensions 1 to 4, the first four vectors.
    #[test]
    fn vectors_are_those_of_joe_and_kuo() {
        let top = |of_one: &Vectors| of_one[..4].iter().map(|v| v >> 60).collect::<Vec<_>>();
        let found: Vec<_> = vectors(4).iter().map(top).collect();
        assert_eq!(found, [[8, 4, 2, 1], [8, 12, 10, 15], [8, 12, 6, 9], [8, 12, 2, 5]]);
    }

    #[test]
    fn all_tables_agree() {
        let (few, many, all) = (vectors(100), vectors(1000), &*VECTORS_64);
        assert_eq!(few[..], all[..100]);
        assert_eq!(many[..], all[..1000]);
        assert_eq!(all.len(), MOST_DIMENSIONS as usize);
    }

    /// With one bit at its own place and none below, the vectors of a dimension reach each number once.
    #[test]
    fn each_vector_has_its_own_lowest_bit() {
        for of_one in VECTORS_64.iter() {
            for (i, vector) in of_one.iter().enumerate() {
                assert_eq!(vector.trailing_zeros() as usize, 63 - i);
            }
        }
    }
}
