//! Notes for a report: the counters of the checker on a GPU, in words.

use gpurace_abi::device::Counters;

/// The notes of a report. `uncovered`: bytes of allocations without shadow. `unseen`: accesses in the
/// code that no check sees.
pub fn notes(counters: &Counters, uncovered: u64, unseen: u64) -> Vec<String> {
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
        (uncovered, "bytes of allocations not checked: no memory for their shadow"),
        (
            unseen,
            "instructions whose accesses are not checked on the GPU (textures, surfaces, some inline PTX): run with `device=cpu`",
        ),
        (
            counters.copies,
            "asynchronous copies' accesses not checked from where they begin to where they are waited for: run with `device=cpu`",
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
        assert_eq!(notes(&Counters { races: 3, ..Counters::default() }, 0, 0), [""; 0]);
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
            races: 0,
        };
        let notes = notes(&all, 9, 10);
        assert_eq!(notes.len(), 11);
        for n in 1..=11 {
            assert!(notes.iter().any(|note| note.starts_with(&format!("{n} "))), "{n}: {notes:?}");
        }
    }
}
