//! Numbers of a distribution from random bits.

use statrs::function::erf::erfc_inv;

use crate::sequence::Bits;

/// Two numbers of the standard normal distribution, by Box and Muller.
pub fn normal_pair(first: Bits, second: Bits) -> (f64, f64) {
    let radius = (-2.0 * first.unit().ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * second.unit()).sin_cos();
    (radius * cos, radius * sin)
}

/// The number of the standard normal distribution that has this place in it. It keeps the order of a sequence.
pub fn normal_at(place: Bits) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * place.inside())
}

/// A distribution of whole numbers, as a table of those that are likely enough to occur.
#[derive(Debug)]
pub struct Discrete {
    /// The number that the table begins with.
    first: u32,
    /// How likely each number or a lower one is.
    cumulated: Vec<f64>,
}

/// What is less likely than this, relative to the likeliest, never occurs.
const NEVER: f64 = 1e-20;

impl Discrete {
    /// Poisson's distribution.
    pub fn poisson(lambda: f64) -> Self {
        Self::around(lambda as u32, u32::MAX, |k| lambda / (f64::from(k) + 1.0))
    }

    /// Of `trials`, how many succeed, if each does with a likelihood of `p`.
    pub fn binomial(trials: u32, p: f64) -> Self {
        let mode = ((f64::from(trials) + 1.0) * p) as u32;
        let odds = p / (1.0 - p);
        Self::around(mode.min(trials), trials, |k| f64::from(trials - k) / (f64::from(k) + 1.0) * odds)
    }

    /// The distribution whose likeliest number is `mode`. `ratio`: how much likelier the number after `k` is than `k`.
    fn around(mode: u32, last: u32, ratio: impl Fn(u32) -> f64) -> Self {
        let (mut below, mut likelihood) = (Vec::new(), 1.0);
        for k in (0..mode).rev() {
            likelihood /= ratio(k);
            if likelihood < NEVER {
                break;
            }
            below.push(likelihood);
        }
        let first = mode - below.len() as u32;
        let mut likelihoods: Vec<f64> = below.into_iter().rev().collect();
        likelihood = 1.0;
        likelihoods.push(likelihood);
        for k in mode..last {
            likelihood *= ratio(k);
            if likelihood < NEVER {
                break;
            }
            likelihoods.push(likelihood);
        }
        let total: f64 = likelihoods.iter().sum();
        let add = |sum: &mut f64, likelihood: f64| {
            *sum += likelihood / total;
            Some(*sum)
        };
        Self { first, cumulated: likelihoods.into_iter().scan(0.0, add).collect() }
    }

    /// The number that has this place in the distribution.
    pub fn at(&self, place: Bits) -> u32 {
        let place = place.inside();
        let index = self.cumulated.partition_point(|&cumulated| cumulated < place);
        self.first + index.min(self.cumulated.len() - 1) as u32
    }

    /// The number that the table begins with.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// How likely each number of the table is.
    pub fn likelihoods(&self) -> Vec<f64> {
        let before = std::iter::once(0.0).chain(self.cumulated.iter().copied());
        self.cumulated.iter().zip(before).map(|(up_to, before)| up_to - before).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(distribution: &Discrete) -> (f64, f64) {
        let numbers = (distribution.first()..).map(f64::from);
        let weighted: Vec<(f64, f64)> = numbers.zip(distribution.likelihoods()).collect();
        let mean: f64 = weighted.iter().map(|(k, p)| k * p).sum();
        (mean, weighted.iter().map(|(k, p)| (k - mean).powi(2) * p).sum())
    }

    #[test]
    fn tables_have_the_moments_of_their_distributions() {
        for lambda in [0.001, 0.7, 1.0, 12.5, 2000.0, 400_000.0] {
            let (mean, variance) = moments(&Discrete::poisson(lambda));
            assert!((mean - lambda).abs() < 1e-6 * lambda, "{lambda}: {mean}");
            assert!((variance - lambda).abs() < 1e-6 * lambda, "{lambda}: {variance}");
        }
        for (n, p) in [(1, 0.5), (10, 0.3), (1000, 0.999), (100_000, 0.02)] {
            let (mean, variance) = moments(&Discrete::binomial(n, p));
            let wanted = f64::from(n) * p;
            assert!((mean - wanted).abs() < 1e-6 * wanted, "{n} {p}: {mean}");
            assert!((variance - wanted * (1.0 - p)).abs() < 1e-6 * wanted, "{n} {p}: {variance}");
        }
    }

    #[test]
    fn certain_outcomes_are_certain() {
        for bits in [Bits::Wide(0), Bits::Wide(u64::MAX)] {
            assert_eq!(Discrete::binomial(9, 0.0).at(bits), 0);
            assert_eq!(Discrete::binomial(9, 1.0).at(bits), 9);
            assert_eq!(Discrete::binomial(0, 0.5).at(bits), 0);
        }
    }

    #[test]
    fn a_place_finds_its_number() {
        let coin = Discrete::binomial(1, 0.25);
        assert_eq!(coin.at(Bits::Narrow(0)), 0);
        assert_eq!(coin.at(Bits::Narrow(0xbfff_ffff)), 0);
        assert_eq!(coin.at(Bits::Narrow(0xc000_0000)), 1);
    }

    #[test]
    fn normal_numbers_by_their_place() {
        for (place, wanted) in [(1u32 << 31, 0.0), (0xd762_5e89, 1.0), (0x289d_a176, -1.0)] {
            let found = normal_at(Bits::Narrow(place));
            assert!((found - wanted).abs() < 1e-4, "{place:x}: {found}");
        }
        for bits in [Bits::Narrow(0), Bits::Wide(0), Bits::Narrow(u32::MAX), Bits::Wide(u64::MAX)] {
            assert!(normal_at(bits).is_finite());
            let (a, b) = normal_pair(bits, bits);
            assert!(a.is_finite() && b.is_finite());
        }
    }
}
