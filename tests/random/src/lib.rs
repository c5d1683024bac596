//! Random numbers for tests. A test that fails names its seed. The same seed gives the same numbers in
//! every version, and each failure can be repeated.

/// A generator of random numbers, made from a seed: SplitMix64 (Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number from 0 to `n - 1`. `n` is positive.
    pub fn below<N: TryInto<u64> + TryFrom<u64>>(&mut self, n: N) -> N {
        let n = n.try_into().ok().filter(|&n| n > 0).expect("a positive number");
        N::try_from(self.bits() % n).ok().expect("a number below `n` fits the type of `n`")
    }

    /// Returns true with this probability, in percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one element of a slice.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Returns the number that an environment variable sets, such as how many cases a test makes.
///
/// # Panics
/// The variable is no number.
pub fn number(name: &str, default: u64) -> u64 {
    let Ok(value) = std::env::var(name) else { return default };
    value.parse().unwrap_or_else(|_| panic!("`{name}={value}`: wanted a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_these_numbers_for_ever() {
        // The numbers of the reference implementation (Vigna, `splitmix64.c`) for the seed 1234567.
        let mut random = Random(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([(); 3].map(|()| random.bits()), first);
    }

    #[test]
    fn numbers_are_in_bounds_and_all_of_them_come() {
        let mut random = Random(0);
        let mut came = [false; 7];
        (0..200).for_each(|_| came[random.below(7usize)] = true);
        assert_eq!(came, [true; 7]);
        assert!((0..200).all(|_| (-3i64..1).contains(&(random.below(4i64) - 3))));
        assert!((0..200).all(|_| [2, 5].contains(&random.pick(&[2, 5]))));
        let often = (0..10_000).filter(|_| random.chance(30)).count();
        assert!((2_800..3_200).contains(&often), "{often}");
        assert!(!random.chance(0) && random.chance(100));
    }
}
