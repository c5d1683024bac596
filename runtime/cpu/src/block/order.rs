//! The order in which a loop over the threads of a block runs them.

use crate::launch::Choice;
use crate::rng::Rng;

/// The order of a block's threads, and how many of them have started. The `i`th that starts is
/// `start + i * stride` modulo the number of threads.
pub(crate) struct ThreadOrder {
    started: u32,
    stride: u32,
    start: u32,
}

impl ThreadOrder {
    /// `rng`: of a drawn schedule.
    pub(super) fn new(threads: u32, choice: Choice, rng: Option<&mut Rng>) -> Self {
        let (start, stride) = match rng {
            Some(rng) => (rng.below(threads), coprime(rng.below(threads) | 1, threads)),
            None => match choice {
                Choice::From(quarters) => (quarters * threads / 4, 1),
                Choice::Last | Choice::Drawn => (threads - 1, threads.saturating_sub(1).max(1)),
            },
        };
        Self { started: 0, stride, start }
    }

    /// The next thread to start, of so many; `None` if all have started.
    #[inline]
    pub(crate) fn next(&mut self, threads: u32) -> Option<u32> {
        if self.started == threads {
            return None;
        }
        let i = self.started;
        self.started += 1;
        if self.stride == 1 && self.start == 0 {
            return Some(i);
        }
        let at = u64::from(i) * u64::from(self.stride) + u64::from(self.start);
        Some((at % u64::from(threads)) as u32)
    }
}

/// The least number from `n` on that has no divisor in common with `m`.
fn coprime(n: u32, m: u32) -> u32 {
    let gcd = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (n..).find(|&n| gcd(n, m) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coprime_stride_visits_every_thread() {
        for m in [1u32, 2, 6, 32, 96, 1024] {
            for n in [1, 3, 5, 31] {
                let mut order = ThreadOrder { started: 0, stride: coprime(n, m), start: n % m };
                let mut seen = vec![false; m as usize];
                while let Some(thread) = order.next(m) {
                    seen[thread as usize] = true;
                }
                assert!(seen.iter().all(|&s| s), "stride {} of {m}", order.stride);
            }
        }
    }
}
