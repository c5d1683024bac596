//! Proofs for all launches of a kernel that have some values in common.
//!
//! A loop of launches changes few values: the step of a decomposition, the diagonal of a wavefront. When
//! a second configuration is solved, the solver is first asked about all launches that have in common what the
//! two have. Later launches that have it too only test the conditions of these proofs.

use std::time::Duration;

use gpurace_protocol::common::Common;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::Protocol;

use crate::prove::decision::Proofs;

/// General questions about one kernel.
const MOST: usize = 4;
/// A general question may cost as many times what the last launch cost alone.
const TIMES_ALONE: u32 = 8;
/// It may always cost this much, and so may one about all launches of a kernel.
pub const LEAST_BUDGET: Duration = Duration::from_millis(100);

/// Proofs for the launches that have some values in common.
pub struct General {
    /// The values.
    pub common: Common,
    /// The kernel's protocol for these launches, and the verdicts.
    pub proofs: Proofs,
}

/// What is known of launches of one kernel that have values in common.
#[derive(Default)]
pub struct Generals {
    all: Vec<General>,
    /// The launch that was solved alone last, and what that cost.
    last: Option<(Launch, Duration)>,
    /// An answer proved nothing more. No more are asked for.
    fruitless: bool,
}

impl Generals {
    /// The proofs that are about a launch.
    pub fn of(&self, launch: &Launch) -> impl Iterator<Item = &General> {
        self.all.iter().filter(|general| general.common.holds(launch))
    }

    /// The values for which the solver is to be asked before this launch is solved alone, and what the answer may
    /// cost. It depends on the launches so far alone.
    pub fn next(&self, protocol: &Protocol, launch: &Launch) -> Option<(Common, Duration)> {
        let (last, cost) = self.last.as_ref()?;
        if self.fruitless || self.all.len() == MOST {
            return None;
        }
        let common = Common::of(protocol, last, launch);
        // The kernel's own proofs are those for launches that have nothing in common.
        let new = !common.is_empty() && self.all.iter().all(|general| general.common != common);
        new.then(|| (common, LEAST_BUDGET.max(*cost * TIMES_ALONE)))
    }

    /// Adds the answer to the question that [`Self::next`] returned; `None` if it proved nothing more for its launch.
    pub fn add(&mut self, general: Option<General>) {
        self.fruitless |= general.is_none();
        self.all.extend(general);
    }

    /// A launch was solved alone.
    pub fn solved(&mut self, launch: &Launch, cost: Duration) {
        self.last = Some((launch.clone(), cost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurace_protocol::expr::Width;
    use gpurace_protocol::protocol::Param;
    use gpurace_protocol::wire::KernelProofs;

    fn protocol() -> Protocol {
        let param =
            |i: u32| Param { name: format!("n{i}"), width: Width::W32, offset: 4 * i, pointer: false };
        Protocol { params: (0..2).map(param).collect(), ..Protocol::default() }
    }

    fn launch(params: [u64; 2]) -> Launch {
        let mut launch = Launch { params: params.to_vec(), ..Launch::default() };
        launch.shape.block = [params[1] as u32 + 1; 3];
        launch.shape.grid = launch.shape.block;
        launch.shape.dynamic_shared = launch.shape.block[0];
        launch
    }

    fn answer(common: Common) -> General {
        General { common, proofs: KernelProofs::default().into() }
    }

    #[test]
    fn the_second_configuration_asks_and_only_for_what_is_new() {
        let p = protocol();
        let mut known = Generals::default();
        assert!(known.next(&p, &launch([1, 1])).is_none());
        known.solved(&launch([1, 1]), Duration::from_millis(5));
        let (common, budget) = known.next(&p, &launch([2, 1])).unwrap();
        assert_eq!(budget, LEAST_BUDGET);
        known.add(Some(answer(common)));
        assert_eq!(known.of(&launch([7, 1])).count(), 1);
        assert_eq!(known.of(&launch([7, 2])).count(), 0);
        // That was asked already, and nothing in common is what the compiler has proved.
        assert!(known.next(&p, &launch([3, 1])).is_none());
        assert!(known.next(&p, &launch([2, 2])).is_none());
        known.solved(&launch([1, 1]), Duration::from_secs(1));
        let (_, budget) = known.next(&p, &launch([1, 2])).unwrap();
        assert_eq!(budget, Duration::from_secs(8));
    }

    #[test]
    fn an_answer_that_brings_nothing_is_the_last_and_so_is_the_fourth() {
        let p = protocol();
        let mut known = Generals::default();
        for i in 0..MOST as u64 {
            known.solved(&launch([i, i]), Duration::ZERO);
            let (common, _) = known.next(&p, &launch([100, i])).unwrap();
            known.add(Some(answer(common)));
        }
        known.solved(&launch([50, 50]), Duration::ZERO);
        assert!(known.next(&p, &launch([100, 50])).is_none());
        let mut known = Generals::default();
        known.solved(&launch([1, 1]), Duration::ZERO);
        assert!(known.next(&p, &launch([2, 1])).is_some());
        known.add(None);
        assert!(known.next(&p, &launch([2, 1])).is_none() && known.next(&p, &launch([1, 2])).is_none());
    }
}
