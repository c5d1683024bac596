//! What the checker on the GPU counted, in words for a report's notes.

use gpurace_abi::device::Counters;

/// The notes. `uncovered`: bytes of allocations without shadow; `unseen`: accesses
/// of the code that no check knows; `untold`: [`crate::Gpu::untold`].
pub fn notes(counters: &Counters, uncovered: u64, unseen: u64, untold: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    };
    add(counters.lost, "races not shown: report buffer full");
    add(counters.repeated, "races not counted singly: the same instructions as before");
    add(counters.undecided, "conflicting accesses undecided on the GPU: run with `device=cpu`");
    add(counters.narrowed, "accesses dropped from shadow words that hold one each: a race with them is not seen; `device=cpu` keeps all");
    add(counters.outside, "accesses to memory without shadow not checked");
    add(counters.shared_outside, "accesses to shared memory not checked: no shadow for so many blocks, or so much of it");
    add(counters.contended, "accesses not recorded: too many threads at one word");
    add(counters.exhausted, "accesses not checked: more barriers or blocks than the GPU's shadow words count");
    add(uncovered, "bytes of allocations not checked: no memory for their shadow");
    add(unseen, "accesses of inline PTX not checked on the GPU");
    add(untold, "launches not checked against one that may overlap them: too many were under way");
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_that_costs_verdicts_is_said() {
        assert_eq!(notes(&Counters { checks: 5, next_uid: 7, records: 3, ..Counters::default() }, 0, 0, 0), [""; 0]);
        let all = Counters {
            undecided: 1,
            narrowed: 2,
            outside: 3,
            shared_outside: 4,
            contended: 5,
            exhausted: 6,
            repeated: 7,
            lost: 8,
            ..Counters::default()
        };
        let notes = notes(&all, 9, 10, 11);
        assert_eq!(notes.len(), 11);
        for n in 1..=11 {
            assert!(notes.iter().any(|note| note.starts_with(&format!("{n} "))), "{n}: {notes:?}");
        }
    }
}
