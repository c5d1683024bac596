//! The memory whose contents decide which accesses a launch makes. The pass finds it; the runtime compares the contents
//! with those of earlier launches.
//!
//! A kernel has such a description only if nothing but barriers, its arguments and its memory decides what its threads
//! access, and in which order. Then a launch without a race makes the same accesses as any other launch with the same
//! arguments and the same contents.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::meta::PointerPlace;

/// Where memory is that a kernel accesses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The allocation that an argument points to.
    Pointer(PointerPlace),
    /// A device variable, by its symbol.
    Variable(String),
    /// The shared memory of the block. It holds zeros when the block begins.
    Shared,
    /// Not known.
    Anywhere,
}

/// Memory that a kernel accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Where it is.
    pub place: Place,
    /// An address or a branch depends on what the kernel loads here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// The kernel stores here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stored: bool,
    /// The kernel changes it by atomics, or stores what else the schedule may decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_schedule: bool,
    /// The memory that stored values come from: indices into the kernel's list.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub stored_from: BTreeSet<u32>,
}

/// The memory whose contents decide: those of a launch before it starts. `may_overlap` says whether the memory of two
/// places may be the same in the launch. Returns indices. `None` if something else decides: the schedule, or memory that
/// is not known.
pub fn of_launch(all: &[Memory], may_overlap: impl Fn(&Place, &Place) -> bool) -> Option<BTreeSet<usize>> {
    let mut deciding: BTreeSet<usize> = (0..all.len()).filter(|&at| all[at].decides).collect();
    let mut pending: Vec<usize> = deciding.iter().copied().collect();
    while let Some(at) = pending.pop() {
        let place = &all[at].place;
        if *place == Place::Anywhere {
            return None;
        }
        let stored = all.iter().filter(|other| other.is_stored || other.by_schedule);
        for other in stored.filter(|other| other.place == *place || may_overlap(&other.place, place)) {
            if other.by_schedule {
                return None;
            }
            for from in other.stored_from.iter().map(|&from| from as usize) {
                if from >= all.len() {
                    return None;
                }
                if deciding.insert(from) {
                    pending.push(from);
                }
            }
        }
    }
    Some(deciding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(index: u32) -> Memory {
        let place = Place::Pointer(PointerPlace { index, offset: 0 });
        Memory { place, decides: false, is_stored: false, by_schedule: false, stored_from: BTreeSet::new() }
    }

    fn of(all: &[Memory], same: bool) -> Option<Vec<usize>> {
        of_launch(all, |_, _| same).map(|found| found.into_iter().collect())
    }

    /// `out[index[i]] = in[i]`.
    fn scatter() -> [Memory; 3] {
        let index = Memory { decides: true, ..pointer(0) };
        let out = Memory { is_stored: true, stored_from: [2].into(), ..pointer(1) };
        [index, out, pointer(2)]
    }

    #[test]
    fn values_that_are_only_moved_do_not_decide() {
        assert_eq!(of(&scatter(), false), Some(vec![0]));
    }

    #[test]
    fn values_that_may_become_indices_decide() {
        // `out` may be `index`.
        assert_eq!(of(&scatter(), true), Some(vec![0, 2]));
    }

    #[test]
    fn nothing_decides_where_addresses_follow_from_threads() {
        assert_eq!(of(&[pointer(0)], true), Some(vec![]));
    }

    #[test]
    fn the_schedule_may_decide() {
        let [index, out, values] = scatter();
        let counted = Memory { by_schedule: true, ..index.clone() };
        assert_eq!(of(&[counted, out.clone(), values.clone()], false), None);
        let counted = Memory { by_schedule: true, ..out };
        assert_eq!(of(&[index.clone(), counted.clone(), values.clone()], false), Some(vec![0]));
        assert_eq!(of(&[index, counted, values], true), None);
    }

    #[test]
    fn unknown_memory_may_decide() {
        let [index, mut out, values] = scatter();
        assert_eq!(
            of(&[Memory { place: Place::Anywhere, ..index.clone() }, out.clone(), values.clone()], false),
            None
        );
        // Values from unknown memory are stored elsewhere, or where indices are.
        out.stored_from = [3].into();
        let unknown = Memory { place: Place::Anywhere, ..pointer(0) };
        assert_eq!(of(&[index.clone(), out.clone(), values.clone(), unknown.clone()], false), Some(vec![0]));
        assert_eq!(of(&[index, out, values, unknown], true), None);
    }
}
