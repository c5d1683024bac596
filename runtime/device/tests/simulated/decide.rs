//! Every state of a word with every access. The decision equals that of the checker's state
//! machine. Where the state machine keeps two records, the decision adds no race.

use gpurace_abi::device::{OP_READ, OP_WRITE};
use gpurace_check::Scope;
use gpurace_check::access::{FULL, Op, Touch};
use gpurace_check::record::{OpCode, RecordFields};
use gpurace_check::relation::Span;
use gpurace_check::relation::{Relation, Status};
use gpurace_check::step::{Next, same_touch, step};

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Access {
    op: u32,
    site: u32,
    thread: u32,
    base: u32,
    clock: u32,
    uid: u32,
    start: u64,
    first_uid: u64,
    blocks: u64,
    shared: bool,
    mask: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Decision {
    word: u64,
    changed: bool,
    race: bool,
    dropped: bool,
    earlier_known: bool,
    relation: u32,
    earlier_op: u32,
}

/// `QuickStep` of `cpp/quick.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct QuickStep {
    known: bool,
    next: u64,
}

unsafe extern "C" {
    fn __gpurace_quick(word: u64, access: *const Access, several: bool, found: *mut QuickStep);
    fn __gpurace_decide(word: u64, access: *const Access, decision: *mut Decision);
}

fn decide(word: u64, access: &Access) -> Decision {
    let mut decision = Decision::default();
    // SAFETY: accesses its arguments alone.
    unsafe { __gpurace_decide(word, access, &mut decision) };
    decision
}

/// A record in the fields of a word on a GPU.
fn word_of(record: &RecordFields) -> u64 {
    let state = 4 + OpCode::of(record.touch).unwrap().0 * 4 + record.span as u64;
    state << 57
        | u64::from(record.site) << 47
        | u64::from(record.thread) << 37
        | u64::from(record.uid) << 13
        | u64::from(record.clock)
}

/// The state of a record of one thread's reads after a write.
const READS_AFTER_A_WRITE: u64 = 4 + 26 * 4;

fn ops() -> Vec<Op> {
    let mut ops = vec![Op::Read, Op::Write];
    for modifies in [false, true] {
        // Volatile accesses have the row of cluster scope.
        for row in [Scope::Block, Scope::Cluster, Scope::Device, Scope::System] {
            let volatile = row == Scope::Cluster;
            let scope = if volatile { Scope::System } else { row };
            for (start, size) in [(0, 4), (0, 8), (-4, 8)] {
                ops.push(Op::Atomic { modifies, volatile, scope, start, size });
            }
        }
    }
    ops
}

const SPANS: [Span; 4] = [Span::Thread, Span::Warp, Span::Block, Span::Grid];
const FIRST: u64 = 100;
const BLOCKS: u64 = 8;
/// The accessing thread: lane 5 of warp 1 of block 3. The block's last barrier was at clock 10; the
/// warp's clock is 12.
const ME: (u32, u32, u32, u32) = (37, 103, 10, 12);

/// The checker's relation and status of a record of this thread and time.
fn standing(span: Span, thread: u32, uid: u32, clock: u32) -> Option<(Relation, Status)> {
    let (me, my_uid, base, now) = ME;
    if !(FIRST..FIRST + BLOCKS).contains(&u64::from(uid)) {
        return None;
    }
    if uid != my_uid || span == Span::Grid {
        return Some((Relation::Grid, Status::Unsynced));
    }
    let by_barrier = clock < base;
    let by_warp = clock < now;
    let ordered = |synced| if synced { Status::Synced } else { Status::Unsynced };
    Some(match span {
        Span::Thread if thread == me && !by_warp => (Relation::Itself, Status::SameEpoch),
        Span::Thread if thread == me => (Relation::Itself, Status::Synced),
        Span::Thread | Span::Warp if thread / 32 == me / 32 => (Relation::Warp, ordered(by_warp)),
        Span::Thread | Span::Warp | Span::Block | Span::Grid => (Relation::Block, ordered(by_barrier)),
    })
}

#[test]
fn every_state_meets_every_access() {
    let mut compared = 0;
    let mut races = 0;
    for (earlier, span) in ops().into_iter().flat_map(|op| SPANS.map(|s| (op, s))) {
        for thread in [37, 38, 5, 70] {
            for uid in [103, 104, 99, 0, 100, 107] {
                for clock in [0, 9, 10, 11, 12] {
                    for site in [7, 8] {
                        let touch = Touch { op: earlier, mask: FULL };
                        let record = RecordFields { touch, span, site, thread, uid, clock };
                        for (later, shared) in ops().into_iter().flat_map(|op| [(op, false), (op, true)]) {
                            if shared && (uid != 103 || span == Span::Grid) {
                                continue;
                            }
                            races += u32::from(one(&record, later, shared));
                            compared += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(compared > 500_000 && races > 50_000, "{compared} compared, {races} races");
}

/// A word of shared memory. Its clock continues from block to block.
const START: u64 = 1 << 33;

/// Compares one decision. Returns true if it is a race.
fn one(record: &RecordFields, later: Op, shared: bool) -> bool {
    let (me, my_uid, base, now) = ME;
    let touch = Touch { op: later, mask: FULL };
    let access = Access {
        op: OpCode::of(touch).unwrap().0 as u32,
        site: 7,
        thread: me,
        base,
        clock: now,
        uid: my_uid,
        start: START,
        first_uid: FIRST,
        blocks: BLOCKS,
        shared,
        mask: 15,
    };
    let in_shared = |word: u64| {
        let clock = word & 0x1fff;
        if shared { word & !((1 << 37) - 1) | (START + clock) } else { word }
    };
    let word = in_shared(word_of(record));
    let mine = RecordFields {
        touch,
        span: Span::Thread,
        site: 7,
        thread: me as u16,
        uid: my_uid,
        clock: now as u16,
    };
    let mine = in_shared(word_of(&mine));
    let d = decide(word, &access);
    let after = if d.changed { d.word } else { word };
    let Some((relation, status)) =
        standing(record.span, record.thread.into(), record.uid, record.clock.into())
    else {
        assert_eq!((d.race, after), (false, mine), "another launch's: {record:?} {later:?}");
        return false;
    };
    let s = step(record.touch, record.span, touch, relation, status, record.site == 7);
    let what =
        || format!("{record:?} | {later:?} | {relation:?} {status:?} shared {shared}: {s:?}, but {d:?}");
    assert_eq!(d.race, s.race, "{}", what());
    assert_eq!(d.earlier_op, OpCode::of(record.touch).unwrap().0 as u32, "{}", what());
    let joined = |span: Span| {
        let state = word_of(&RecordFields { span, ..*record });
        word & !(0x7f << 57) | state & (0x7f << 57)
    };
    match s.next {
        Next::Keep => assert_eq!((after, d.dropped), (word, false), "{}", what()),
        Next::Replace => assert_eq!((after, d.dropped), (mine, false), "{}", what()),
        Next::Join(span) => assert_eq!((after, d.dropped), (joined(span), false), "{}", what()),
        Next::Extend => unreachable!("both are of all bytes"),
        Next::Both if s.race => assert_eq!(after, mine, "{}", what()),
        Next::Both if d.dropped => assert!(after == word || after == mine, "{}", what()),
        // The word still represents both: one record of several threads, or reads after a write.
        Next::Both => {
            let state = after >> 57;
            let several = same_touch(record.touch, touch) && after & !(0x7f << 57) == word & !(0x7f << 57);
            let behind = (record.touch.op, later) == (Op::Write, Op::Read) && state == READS_AFTER_A_WRITE;
            assert!(several || behind, "{}", what());
            if behind {
                assert!(u32::from(record.clock) < base, "a barrier lies between: {}", what());
                reads_after_a_write(after, &access);
            }
        }
    }
    s.race
}

/// Tests words of reads after a write. Threads of the block meet the reads, other threads both.
fn reads_after_a_write(word: u64, reader: &Access) {
    for op in ops() {
        let code = OpCode::of(Touch { op, mask: FULL }).unwrap().0 as u32;
        let writes = !matches!(op, Op::Read | Op::Atomic { modifies: false, .. });
        let lane = Access { op: code, thread: reader.thread + 1, ..*reader };
        let d = decide(word, &lane);
        assert_eq!((d.race, d.earlier_op), (writes, OP_READ), "{op:?} of the warp");
        // Reads of several threads; the record names the accessing thread itself.
        let several = (READS_AFTER_A_WRITE + Span::Warp as u64) << 57 | word & !(0x7f << 57);
        let d = decide(several, &Access { op: code, ..*reader });
        assert_eq!((d.race, d.earlier_op, d.earlier_known), (writes, OP_READ, false), "{op:?} of a reader");
        let behind = Access { base: 20, clock: 20, ..lane };
        assert!(!decide(word, &behind).race, "{op:?} behind a barrier");
        if !reader.shared {
            let other = Access { uid: reader.uid + 1, ..lane };
            let d = decide(word, &other);
            assert!(d.race, "{op:?} of another block");
            let other_side = if writes { OP_READ } else { OP_WRITE };
            assert_eq!(
                (d.earlier_known, d.earlier_op),
                (writes, other_side),
                "{op:?}: the read, or the write whose line is gone"
            );
        }
    }
}

#[test]
fn records_of_other_launches_are_settled() {
    let (me, my_uid, base, now) = ME;
    for (earlier, span) in ops().into_iter().flat_map(|op| SPANS.map(|s| (op, s))) {
        // Of launches before and after this one.
        for uid in [0, 99, 108, 5000] {
            for (thread, later) in ops().into_iter().flat_map(|op| [(me, op), (me + 1, op)]) {
                let touch = Touch { op: earlier, mask: FULL };
                let record = RecordFields { touch, span, site: 8, thread: thread as u16, uid, clock: 12 };
                let later = Touch { op: later, mask: FULL };
                let access = Access {
                    op: OpCode::of(later).unwrap().0 as u32,
                    site: 7,
                    thread: me,
                    base,
                    clock: now,
                    uid: my_uid,
                    start: 0,
                    first_uid: FIRST,
                    blocks: BLOCKS,
                    shared: false,
                    mask: 15,
                };
                let d = decide(word_of(&record), &access);
                let mine = RecordFields {
                    touch: later,
                    span: Span::Thread,
                    site: 7,
                    thread: me as u16,
                    uid: my_uid,
                    clock: now as u16,
                };
                assert!(!d.race && !d.dropped, "{record:?} {later:?}");
                assert_eq!(d.word, word_of(&mine), "{record:?} {later:?}");
            }
        }
    }
}

#[test]
fn words_say_what_the_checkers_say() {
    let c = RecordFields {
        touch: Touch { op: Op::Write, mask: FULL },
        span: Span::Thread,
        site: 7,
        thread: 37,
        uid: 103,
        clock: 12,
    };
    let access = Access {
        op: 1,
        site: 7,
        thread: 37,
        base: 10,
        clock: 12,
        uid: 103,
        start: 0,
        first_uid: FIRST,
        blocks: BLOCKS,
        shared: false,
        mask: 15,
    };
    assert_eq!(decide(0, &access).word, word_of(&c));
    // An access to bytes races with the record of the whole word, which stays.
    let byte = Access { mask: 2, thread: 70, ..access };
    let d = decide(word_of(&c), &byte);
    assert_eq!((d.race, d.changed, d.dropped), (true, false, true));
    // A site that does not fit the word is unknown, not another site.
    let far = Access { site: 5000, ..access };
    assert_eq!(decide(0, &far).word >> 47 & 1023, 1023);
}

#[test]
fn what_is_quick_is_what_is_decided() {
    let (me, my_uid, base, now) = ME;
    let (mut known, mut joined, mut quiet, mut of_several) = (0, 0, 0, 0);
    for state in 0..128u64 {
        for (thread, uid) in [37, 38, 5, 70]
            .into_iter()
            .flat_map(|thread| [103, 104, 100, 107, 108, 99, 97, 96, 95, 0].map(|uid| (thread, uid)))
        {
            for (clock, site) in [0u64, 9, 10, 11, 12, 13]
                .into_iter()
                .flat_map(|clock| [7u64, 8, 1023].map(|site| (clock, site)))
            {
                for (op, shared) in (0..26).flat_map(|op| [(op, false), (op, true)]) {
                    let access = Access {
                        op,
                        site: 7,
                        thread: me,
                        base,
                        clock: now,
                        uid: my_uid,
                        start: START,
                        first_uid: FIRST,
                        blocks: BLOCKS,
                        shared,
                        mask: 15,
                    };
                    let when = match shared {
                        // Also a record of the block that had the slot before.
                        true => START + clock - if uid == 0 { 20 } else { 0 },
                        false => uid << 13 | clock,
                    };
                    let word = state << 57 | site << 47 | thread << 37 | when;
                    let mut found = QuickStep::default();
                    // SAFETY: accesses its arguments alone.
                    unsafe { __gpurace_quick(word, &access, false, &mut found) };
                    // Records of regions are no records of words.
                    let is_line = (112..126).contains(&state);
                    assert!(!(is_line && found.known));
                    if is_line {
                        continue;
                    }
                    let d = decide(word, &access);
                    let next = if d.changed { d.word } else { word };
                    // A record of the thread's own epoch may stay where the checker replaces it by
                    // that of another site.
                    let what = || {
                        format!(
                            "state {state} thread {thread} uid {uid} clock {clock} site {site}, {access:?}: {found:?}, {d:?}"
                        )
                    };
                    if found.known {
                        assert_eq!((d.race, d.dropped, next), (false, false, found.next), "{}", what());
                    }
                    of_several += u32::from(several_are_each_of_them(word, &access));
                    let is_plain = op < 2 && (state < 12 || (108..112).contains(&state));
                    known += u32::from(found.known);
                    quiet += u32::from(is_plain && !d.race && !d.dropped);
                    joined += u32::from(found.known && found.next != word && found.next << 7 == word << 7);
                }
            }
        }
    }
    assert!(
        joined > 1000 && known > quiet / 10 * 9,
        "{joined} joined, {known} known, {quiet} without a race"
    );
    assert!(of_several > 1000, "{of_several} of several lanes");
}

/// A quick read of several lanes leaves what they leave one after the other, and none of them races.
/// Returns false if the step is not known, or is no read.
fn several_are_each_of_them(word: u64, access: &Access) -> bool {
    if access.op != OP_READ {
        return false;
    }
    let mut found = QuickStep::default();
    // SAFETY: accesses its arguments alone.
    unsafe { __gpurace_quick(word, access, true, &mut found) };
    if !found.known {
        return false;
    }
    let mut now = word;
    for thread in [access.thread, access.thread + 1, access.thread + 2] {
        let d = decide(now, &Access { thread, ..*access });
        assert!(!d.race && !d.dropped, "{word:#x} {access:?}: {found:?}, {d:?}");
        now = if d.changed { d.word } else { now };
    }
    // Which of the threads a record of several names does not matter.
    let unnamed = |word: u64| word & !(0x3ff << 37);
    assert_eq!(unnamed(now), unnamed(found.next), "{word:#x} {access:?}: {found:?}");
    true
}
