use super::*;
use crate::barriers::tests::flow;

#[test]
fn who_frees_bytes_has_read_them_before() {
    // Consumers look at `full`, free the stage and read it; producers look at `empty` and write.
    let ring = "u 1,4:\nd 1,2: L1 x0\n 1,3: L2 x1 L3 a2\n 6:\nd 4,5: L4 x3\n 4,6: L5 a4 L6 x5\nu:";
    let is_early = |text: &str, looks: [u32; 2]| {
        is_freed_early(&Flow { looks: looks.to_vec(), ..flow(text) }, [2, 4], false)
    };
    assert!(is_early(ring, [0, 3]));
    // The read comes first, or another release follows it. One behind the loop is too late.
    assert!(!is_early(&ring.replace("x1 L3 a2", "a2 L3 x1"), [0, 3]));
    assert!(!is_early(&ring.replace("a2", "a2 L7 x6 L8"), [0, 3]));
    assert!(is_early(&ring.replace(" 6:", " 6: x6"), [0, 3]));
    // The arrival of `arrive_and_wait()` frees nothing.
    assert!(is_early(&ring.replace("a2", "a2 L1 x6"), [0, 3]));
    assert!(!is_early(&ring.replace("x1 L3 a2", "L3 a2 L1 x6"), [0, 3]));
    // Another way leads to the read.
    let around =
        "u 1,6:\nd 1,2: L1 x0\n 3,4: L2\n 4: x1\n 1,5: L3 a2\n 8:\nd 6,7: L4 x3\n 6,8: L5 a4 L6 x5\nu:";
    assert!(!is_early(around, [0, 3]) && is_early(&around.replace(" 3,4: L2", " 3: L2"), [0, 3]));
    // A barrier or a look stands between.
    assert!(!is_early(&ring.replace("x1 L3", "x1 B L3"), [0, 3]));
    assert!(!is_early(&ring.replace("x1 L3 a2", "a2").replace("L1 x0", "x1 L1 x0"), [0, 3]));
    // Who writes looks at nothing.
    assert!(!is_early(&ring.replace("d 4,5: L4 x3", " 4,5: L4"), [0, 9]));
    // Some of those who write look, and others do not meet them: unless at a barrier behind the look.
    let some = ring.replace("u 1,4:", "u 1,4,5:");
    assert!(!is_early(&some, [0, 3]) && !is_early(&some.replace("u 1,4,5:", "u 1,4,5: B"), [0, 3]));
    assert!(is_early(&some.replace("L5 a4", "B L5 a4"), [0, 3]));
    // In its first turns, who writes does not look.
    let first = "u 1,4:\nd 1,2: L1 x0\n 1,3: L2 x1 L3 a2\n 7:\nu 5,6:\nd 5,6: L4 x3\n 4,7: L5 a4 L6 x5\nu:";
    assert!(is_early(first, [0, 3]));
}

#[test]
fn a_flag_or_a_lock_hands_over() {
    for (text, handed_over) in [
        // One thread stores and sets a flag, another one waits for it and loads.
        ("u 1,2:\n 4: L1 a0 L2 x2\nd 2,3: L5 x3\n 4: L6 a1\nu:", true),
        // The wait is there, but nobody sets anything behind the store.
        ("u 1,2:\n 4: L1 x2 L2 a0\nd 2,3: L5 x3\n 4: L6 a1\nu:", false),
        // The flag is set, but nobody looks at it.
        ("u 1,2:\n 4: L1 a0 L2 x2\n 2,3: L5 x3\n 4: L6 a1\nu:", false),
        // A lock around one statement.
        ("d 0,1: L1 x3\n 2: L2 a0 a1 L3 x2\nu:", true),
        // The loop with the compare-and-swap comes before both.
        ("d 0,1: L1 x3\n 2: L2 a0 L3 a1 x2\nu:", false),
        // It is between them.
        ("u 1: L2 a0\nd 1,2: L1 x3\nu: L3 a1", true),
        // The last one to count looks at all; barriers stand between.
        ("u 1: L1 a0 B L2 x2\nd 2,3: B\n 3: L5 a1\nu:", true),
        // The wait is in a loop over all that are waited for, or for all locks, as its head begins.
        ("u 1: L1 a0 L2 x2\n 2,4: L3\nd 2,3: L4 x3\n 1: L5\nu: L6 a1", true),
        ("u 1:\n 2,4: L3\nd 2,3: L4 x3\n 1: L5\nu: L6 a0 a1 L7 x2", true),
        // What the atomic gave decides what the loop does, not when it ends.
        ("u 1: L1 a0 L2 x2\n 2,5: L3\nd 3,4: L4 x3\n 4: a9\n 1: L5\nu: L6 a1", false),
        // What the atomic gave decides something else.
        ("u 1: L1 a0 L2 x2\nd 2,3:\n 3: L5 a9\nu: L6 a1", false),
    ] {
        assert_eq!(is_handed_over(&flow(text), [0, 1], true), handed_over, "{text}");
    }
    let told = |text: &str| is_told_of(&flow(text), [0, 1], [2, 3]);
    let wait = "u 1,2:\n 4: L1 a0 L2 a2\ns 2,3: L5 a3\n 4: L6 a1\nu:";
    let look = "u 1,2:\n 5: L1 a0 L2 a2\n 3,4: L5\ns 2,4: L5 a3\n 5: L6 a1\nu:";
    assert!(told(wait) && told(look));
    // What it tells of is stored in a loop.
    assert!(told("u 1,4:\n 2,3: L1\n 1: a0\n 6: L2 a2\ns 4,5: L5 a3\n 6: L6 a1\nu:"));
    // The flag is set first, another way leads to what it tells of, or nobody waits.
    assert!(!told(&wait.replace("L1 a0 L2 a2", "L1 a2 L2 a0")));
    assert!(!told(&wait.replace("u 1,2:", "u 1,2,3:")));
    assert!(!told(&wait.replace("s 2,3", "2,3")));
    assert!(spins(&flow("s 0,1: a0\nu: a1"), 0) && !spins(&flow("s 0,1: a0\nu: a1"), 1));
}

#[test]
fn threads_that_claim_an_entry_exclude_nobody() {
    let excludes = |text: &str| may_exclude(&Flow { looks: vec![8, 9], ..flow(text) }, [0, 1]);
    let lock = "d 0,1: L1 x3\n 2: L2 a0 a1 L3 x2\nu:";
    assert!(excludes(lock));
    // A ticket is taken, and then a loop looks whether it is served. A flag that each one gives to the next.
    assert!(excludes("u 1: L1 x3\nd 1,2: L2 x8\n 3: L3 a0 a1 L4 x2\nu:"));
    assert!(excludes("u 1: L1\nu 2: L5\nd 2,3: L2 x8\n 1,4: L3 a0 a1 L4 x2\nu:"));
    // Nothing is given back: the only atomic behind the update is the next claim.
    assert!(!excludes("u 1: L1\nd 1,2: L2 x3\n 1,3: L3 a0 a1\nu:"));
    // Another atomic of the block that decides gives something back.
    assert!(excludes("u 1: L1\nd 1,2: L2 x4 x3\n 1,3: L3 a0 a1\nu:"));
    // Several locks are taken in a loop, whose header leads on.
    assert!(excludes("u 1:\n 2,3:\nd 1,2: L1 x3\nu: L2 a0 a1 L3 x2"));
    // Who looks once has claimed nothing.
    assert!(!excludes("d 1,2: L1 x8\n 2: L2 a0 a1 L3 x2\nu:"));
    assert!(excludes("d 1,2: L1 x3\n 2: L2 a0 a1 L3 x2\nu:"));
}

#[test]
fn a_lock_with_a_plain_access_tells_of_what_it_guards() {
    let told = |text: &str| is_told_of(&flow(text), [0, 1], [2, 3]);
    let lock = "u 1:\nd 1,2: L1 x2\n: L2 a0 a1 L3 a3";
    assert!(told(lock) && is_waited_for(&flow(lock), [2, 3]) && is_waited_for(&flow(lock), [3, 2]));
    // It is freed first, another way leads past the lock, or the access stands before it.
    assert!(!told(&lock.replace("L2 a0 a1 L3 a3", "L3 a3 L2 a0 a1")));
    assert!(!told(&lock.replace("u 1:", "u 1,2:")));
    assert!(!told(&lock.replace("u 1:", "u 1: a0").replace("L2 a0 a1", "L2").replace("a3", "a3 a1")));
    // Who sets a flag has not waited for it: what comes before is handed over.
    assert!(told("u 1,2:\n 4: L1 a0 L2 a3\nd 2,3: L5 x2\n 4: L6 a1\nu:"));
    // Nobody waits, or the loop does other things.
    for other in [lock.replace("d 1,2", "1,2"), lock.replace("d 1,2", "d 2"), lock.replace("x2", "x2 a9")] {
        assert!(!told(&other) && !is_waited_for(&flow(&other), [2, 3]), "{other}");
    }
    // A loop of compare-and-swaps after a plain read updates.
    let updates = vec![Update { read: 9, change: 2, by_value: false, by_one: false }];
    let swaps = Flow { updates, ..flow(&lock.replace("u 1:", "u 1: a9")) };
    assert!(!is_waited_for(&swaps, [2, 3]) && !is_told_of(&swaps, [0, 1], [2, 3]));
}

#[test]
fn a_flag_that_is_checked_twice_tells_of_what_the_lock_guards() {
    // Sites: 0 and 1 are the data, 2 the first look, 3 the second one, 4 the store, 5 and 6 the lock.
    let text = "u 1,4: L1 a2\nd 1,2: L2 x5\n 3,4: L3 a3\n 4: L4 a0 L5 a4 L6 x6\nu: L7 a1";
    let update = |read| Update { read, change: 4, by_value: true, by_one: false };
    let with = |text: &str, reads: &[u32]| Flow {
        updates: reads.iter().map(|&read| update(read)).collect(),
        ..flow(text)
    };
    let twice = with(text, &[2, 3]);
    assert!(is_checked_twice(&twice, [2, 4]) && is_checked_twice(&twice, [4, 2]));
    assert!(is_told_of(&twice, [0, 1], [2, 4]) && is_told_of(&twice, [1, 0], [4, 2]));
    // The second look is that of the lock's holder.
    assert!(!is_checked_twice(&twice, [3, 4]));
    // The flag does not order what comes before the first look.
    let before = text.replace("L1 a2", "L1 a1 a2").replace("L7 a1", "L7");
    assert!(!is_told_of(&with(&before, &[2, 3]), [0, 1], [2, 4]));
    // Nobody looks again, or there is no lock: an update that is not atomic.
    assert!(!is_checked_twice(&with(text, &[2]), [2, 4]));
    assert!(!is_checked_twice(&with(&text.replace("d 1,2", "1,2"), &[2, 3]), [2, 4]));
}

#[test]
fn a_release_before_what_it_should_tell_of_comes_too_early() {
    let early = |text: &str, across_blocks| {
        let flow = Flow { looks: vec![6], shared: vec![5, 6], ..flow(text) };
        is_released_early(&flow, [0, 1], across_blocks)
    };
    // A thread arrives, stores, waits and loads. The same in a loop.
    let arrives = "u 1: L1 x5 L2 a0\nd 1,2: L3 x6\nu: L4 a1";
    let looped = "u 1:\nu 2: L1 x5 L2 a0\nd 2,3: L3 x6\nu 1,4: L4 a1\nu:";
    // One thread sets a flag and stores, another one waits.
    let flagged = "u 1,2:\n 4: L1 x5 L2 a0\nd 2,3: L3 x6\n 4: L4 a1\nu:";
    for text in [arrives, looped, flagged] {
        assert!(early(text, false), "{text}");
        // Shared memory orders no blocks.
        assert!(!early(text, true));
        // A release follows, none comes before, a barrier stands between, or nobody looks.
        for (from, to) in [("a0", "a0 x7"), ("x5 ", ""), ("x5", "x5 B"), ("d ", "u ")] {
            assert!(!early(&text.replace(from, to), false), "{text}: {to}");
        }
    }
    // A thread waits, loads, and stores what the next one should wait for. With the release between the two, it
    // stores too late.
    assert!(!early("u 1: L1 x5\nd 1,2: L3 x6\nu: L4 a1 L5 a0", false));
    let chain = "u 1: L1\nd 1,2: L3 x6\nu: L4 a1 L5 x7 a0";
    assert!(early(chain, true) && early(chain, false));
    assert!(!early(&chain.replace("x7 a0", "a0 x7"), true) && !early(&chain.replace("x7", "B x7 B"), true));
    // A counter is added to, and the sum decides who reads: nobody waits.
    assert!(!early("d 1,2: L1 x5 L2 a0 L3\nu 2: L4 a1\nu:", false));
    // Another thread adds nothing until the counter has changed.
    let adds = "u 1,2:\n 4: L1 x5 L2 a0\nd 3,4: L3 x4\n 4: L4 a1\nu:";
    assert!(!early(adds, false) && early(&adds.replace("d 3,4", "d 2,3"), false));
    // A look is no release.
    let told = Flow { looks: vec![2], ..flow("u 1,2:\n 4: L1 a0 L2 x2\nd 2,3: L5 x3\n 4: L6 a1\nu:") };
    assert!(!is_handed_over(&told, [0, 1], false));
}

#[test]
fn who_is_told_by_arrivals_lacks_no_fence() {
    let of = |text: &str| Flow { looks: vec![6, 8], arrivals: vec![5, 7], ..flow(text) };
    let told = |text: &str| is_told_by_arrivals(&of(text), [0, 1]);
    let looked = |text: &str| are_looked_for(&of(text), [0, 1]);
    // A thread stores, arrives, waits and loads, in rounds.
    let rounds = "u 1:\nu 2: L1 a0 L2 x5\nd 2,3: L2 x6\nu 4: L3 a1 L4 x7\nd 4,5: L4 x8\nu 1,6:\nu:";
    assert!(told(rounds) && looked(rounds));
    // An atomic tells of something, too, or nobody arrives.
    assert!(!told(&rounds.replace("a1", "a1 x9")) && !told(&rounds.replace("x5", "").replace("x7", "")));
    // Nobody takes a way by what the last atomic counts.
    let counts = rounds.replace("u 1,6:\nu:", "u 1,6:\nu: x9");
    assert!(!told(&counts));
    assert!(is_told_by_arrivals(&Flow { counts: vec![9], ..of(&counts) }, [0, 1]));
    // Some threads do not wait.
    assert!(!looked(&rounds.replace("u 2: L1", " 2,3: L1")));
    // One thread stores and another one loads. Who stores does not look.
    let two = "u 1,3:\nd 1,2: L1 x6\n 5: L2 a0 x5\nd 3,4: L3 x8\n 5: L4 a1 x7\nu:";
    assert!(told(two) && looked(two) && !looked(&two.replace("u 1,3:", "u 2,3:")));
}

#[test]
fn one_lock_guards_what_no_atomic_parts() {
    let together = |text: &str| are_told_together(&flow(text), [0, 0], [1, 2]);
    let lock = "d 0,1: L1 x3\nu: L2 a0 L3 a1 L4 a2 L5 x4";
    assert!(together(lock));
    assert!(!together(&lock.replace("L3 a1", "x5 x6 L3 a1")) && !together(&lock.replace("L4 a2", "L4 B a2")));
    // What only counts parts nothing.
    let counts = Flow { counts: vec![5], ..flow(&lock.replace("L3 a1", "x5 L3 a1")) };
    assert!(are_told_together(&counts, [0, 0], [1, 2]));
}

#[test]
fn who_does_not_look_is_told_of_nothing() {
    // The producer arrives at `empty` and writes; the consumers look at `full`, read, and arrive.
    let ring = "u 1,3:\nu 2: L1 x5\n 1,5: L2 a0 x7\nd 3,4: L3 x6\n 3,5: L4 a1 x5\nu:";
    let side =
        |text: &str| unwaited_side(&Flow { looks: vec![6, 8], arrivals: vec![5, 7], ..flow(text) }, [0, 1]);
    assert_eq!(side(ring), Some(0));
    assert_eq!(side(&ring.replace("L1 x5", "L1")), Some(0));
    // It looks too.
    assert_eq!(side(&ring.replace("u 2: L1 x5", "d 1,2: L1 x5 x8")), None);
    // The consumers do not look either, do not arrive behind the read, or an atomic tells of something.
    assert_eq!(side(&ring.replace("L3 x6", "L3")), None);
    assert_eq!(side(&ring.replace("L4 a1 x5", "x5 L4 a1")), None);
    assert_eq!(side(&ring.replace("L4 a1 x5", "L4 a1 B x5")), None);
    assert_eq!(side(&ring.replace("L4 a1 x5", "L4 a1 x5 x9")), None);
}

#[test]
fn a_loop_may_look_after_it_has_read() {
    let looks = |text: &str| is_looked_after(&Flow { looks: vec![5, 6], ..flow(text) }, 1);
    let sequence = "u 1:\nd 1,2: L1 x5 L2 a1 L3 x6\nu:";
    assert!(looks(sequence));
    assert!(looks("u 1:\nu 2: L1 x5 L2 a1 L3 x6\nd 1,3: L4\nu:"));
    for other in [
        sequence.replace("x5", ""),
        sequence.replace("x6", ""),
        sequence.replace("d 1,2", "1,2"),
        sequence.replace("L2 a1", "").replace("u:", "u: a1"),
        // Threads wait before and after the read, in a loop that a counter ends.
        "u 1:\nd 1,2: L1 x5\nu 3: L2 a1\nd 3,4: L3 x6\nu 1,5:\nu:".to_owned(),
    ] {
        assert!(!looks(&other), "{other}");
    }
}

#[test]
fn one_object_may_tell_of_another_one() {
    let between = "u 1,2:\n 3: L1 a0 L2 a2\n 3: L5 a3 L6 a1\nu:";
    let tells = |text: &str| may_tell_of(&flow(text), [0, 1], [2, 3]);
    assert!(tells(between));
    // The flag is written first, or read last.
    assert!(!tells(&between.replace("L1 a0 L2 a2", "L2 a2 L1 a0")));
    assert!(!tells(&between.replace("L5 a3 L6 a1", "L6 a1 L5 a3")));
    // All threads make all of them, or other threads make one.
    assert!(!tells("u: L1 a0 L2 a2 L5 a3 L6 a1"));
    assert!(!tells("u 1,2,3:\n 4: L1 a0 L2 a2\n 4: L5 a3\n 4: L6 a1\nu:"));
    // The other way around, nothing is told.
    assert!(!may_tell_of(&flow(between), [2, 3], [0, 1]));
}
