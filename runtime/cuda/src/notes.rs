//! Notes for a report: the counters of the checker on a GPU, in words.

use gpurace_abi::device::Counters;

/// What was not checked and the device does not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOut {
    /// Bytes of allocations without shadow.
    pub uncovered: u64,
    /// Accesses in the code that no check sees.
    pub unseen: u64,
    /// Instructions that access textures and surfaces and that no check sees.
    pub fetches: u64,
    /// [`crate::Gpu::missed`].
    pub missed: u64,
    /// Accesses that are in an event log and left no record in a shadow word.
    pub held: u64,
}

/// The notes of a report.
pub fn notes(counters: &Counters, left_out: &LeftOut) -> Vec<String> {
    let counted = [
        (counters.lost, "races not shown: report buffer full"),
        (counters.repeated, "races not counted singly: the same instructions as before"),
        (counters.undecided, "conflicting accesses undecided on the GPU: run with `device=cpu`"),
        (
            counters.narrowed,
            "accesses dropped from shadow words that hold one each: a race with them is not seen; `device=cpu` keeps all",
        ),
        (counters.outside, "accesses to memory without shadow not checked"),
        (
            counters.shared_outside,
            "accesses to shared memory not checked: no shadow for so many blocks, or so much of it",
        ),
        (counters.contended, "accesses not recorded: too many threads at one word"),
        (
            counters.exhausted,
            "accesses not checked: more barriers or blocks than the GPU's shadow words count",
        ),
        (left_out.uncovered, "bytes of allocations not checked: no memory for their shadow"),
        (left_out.unseen, "accesses of inline PTX not checked on the GPU"),
        (
            counters.copies,
            "asynchronous copies' accesses not checked from where they begin to where they are waited for: run with `device=cpu`",
        ),
        (counters.fetches, "accesses to textures and surfaces not checked on the GPU: run with `device=cpu`"),
        (
            left_out.fetches,
            "instructions that access textures or surfaces not checked on the GPU: run with `device=cpu`",
        ),
        (left_out.missed, "launches not checked against one that may overlap them: too many were under way"),
        (
            left_out.held,
            "accesses not checked against launches that may overlap theirs: they are in a log, and have no place in shadow words",
        ),
    ];
    let some = counted.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_that_costs_verdicts_is_said() {
        let none = LeftOut::default();
        assert_eq!(notes(&Counters { next_uid: 7, races: 3, ..Counters::default() }, &none), [""; 0]);
        let all = Counters {
            undecided: 1,
            narrowed: 2,
            outside: 3,
            shared_outside: 4,
            contended: 5,
            exhausted: 6,
            repeated: 7,
            lost: 8,
            copies: 11,
            fetches: 15,
            ..Counters::default()
        };
        let notes = notes(&all, &LeftOut { uncovered: 9, unseen: 10, fetches: 12, missed: 13, held: 14 });
        assert_eq!(notes.len(), 15);
        for n in 1..=15 {
            assert!(notes.iter().any(|note| note.starts_with(&format!("{n} "))), "{n}: {notes:?}");
        }
    }
}
