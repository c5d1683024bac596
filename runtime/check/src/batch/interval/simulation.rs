//! Finds out by a simulation if the accesses of a barrier interval conflict.

use std::ops::Range;

use super::kept::Interval;
use crate::model::access::GRANULE;

/// Accesses to a word of shared memory, or to less if some accesses are smaller, that do not conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PlaceUse {
    #[default]
    Not,
    Read(u32),
    ReadBySeveral,
    Written(u32),
}

impl PlaceUse {
    /// The accesses with a further one; `None` if that one conflicts with an earlier one. For threads of one block in
    /// one interval this agrees with the transition function, as a test shows.
    fn with(self, thread: u32, writes: bool) -> Option<Self> {
        match (self, writes) {
            (Self::Not, false) => Some(Self::Read(thread)),
            (Self::Read(other), false) => Some(if other == thread { self } else { Self::ReadBySeveral }),
            (Self::ReadBySeveral, false) => Some(self),
            (Self::Not, true) => Some(Self::Written(thread)),
            (Self::Read(other), true) if other == thread => Some(Self::Written(thread)),
            (Self::Written(other), _) if other == thread => Some(self),
            _ => None,
        }
    }
}

/// A simulation of the accesses to a block's shared memory.
#[derive(Debug, Default)]
pub(super) struct Simulation {
    /// For each place, its accesses, and the number of the simulation that they are of.
    uses: Vec<(u32, PlaceUse)>,
    /// Number of this simulation.
    number: u32,
}

impl Simulation {
    /// True if two accesses of an interval conflict, or some are not of the shared memory.
    pub(super) fn has_conflict(&mut self, interval: &Interval, shared: &Range<usize>) -> bool {
        self.number += 1;
        let now = self.number;
        let place = interval.rows.iter().map(|row| row.size as usize).fold(GRANULE, usize::min);
        self.uses.resize(shared.len().div_ceil(place), (0, PlaceUse::Not));
        interval.rows.iter().any(|row| {
            let addresses = (0..).zip(interval.addresses_of(row));
            addresses.filter(|&(_, &address)| address != 0).any(|(thread, &address)| {
                let at = (address as usize).wrapping_sub(shared.start);
                let places = at / place..(at.wrapping_add(row.size as usize)).div_ceil(place);
                self.uses.get_mut(places).is_none_or(|places| {
                    places.iter_mut().any(|(when, used)| {
                        let before = if *when == now { *used } else { PlaceUse::Not };
                        let next = before.with(thread, row.writes);
                        (*when, *used) = (now, next.unwrap_or_default());
                        next.is_none()
                    })
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::access::{FULL, Op, Touch};
    use crate::model::relation::Relation;
    use crate::model::step::conflict;

    /// [`PlaceUse::with`] finds a conflict exactly where the transition function finds one between
    /// two of the accesses, for all histories of up to four accesses by three threads.
    #[test]
    fn uses_of_a_place_conflict_as_the_transition_function_says() {
        let touch = |writes| Touch { op: Op::plain(writes), mask: FULL };
        let races =
            |a: (u32, bool), b: (u32, bool)| a.0 != b.0 && conflict(touch(a.1), touch(b.1), Relation::Block);
        let accesses = || (0..6).map(|n| (n / 2, n % 2 == 1));
        let mut histories = vec![(Vec::new(), PlaceUse::Not)];
        for _ in 0..4 {
            let mut longer = Vec::new();
            for (history, state) in &histories {
                for access in accesses() {
                    let next = state.with(access.0, access.1);
                    assert_eq!(next.is_none(), history.iter().any(|&earlier| races(earlier, access)));
                    longer.extend(next.map(|next| ([&history[..], &[access]].concat(), next)));
                }
            }
            histories = longer;
        }
    }
}
