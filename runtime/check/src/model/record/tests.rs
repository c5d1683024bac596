//! Records round-trip, and refuse what does not fit.

use gpurace_abi::scope::Scope;

use super::*;
use crate::model::access::{FULL, Op};

#[test]
fn fields_partition_the_word() {
    let fields = [CLOCK_BITS, UID_BITS, THREAD_BITS, SITE_BITS, STATE_BITS];
    assert_eq!(fields.iter().sum::<u32>(), 64);
    let all = [
        CLOCK_VALUES as u64 - 1,
        ((1 << UID_BITS) - 1) << UID_SHIFT,
        ((1 << THREAD_BITS) - 1) << THREAD_SHIFT,
        SiteField::new(SITE_VALUES as u16 - 1).0,
        STATE_MASK,
    ];
    for (i, a) in all.iter().enumerate() {
        for b in &all[i + 1..] {
            assert_eq!(a & b, 0);
        }
    }
    assert_eq!(all.iter().fold(0, |x, y| x | y), !0);
}

#[test]
fn every_field_round_trips_at_0_1_and_max() {
    for op in 0..OPS {
        for span in Span::ALL {
            for site in [0, 1, SITE_VALUES as u16 - 1] {
                for thread in [0, 1, 1023] {
                    for uid in [0, 1, UID_VALUES as u32 - 1] {
                        for clock in [0, 1, CLOCK_VALUES as u16 - 1] {
                            let c =
                                RecordFields { touch: OpCode(op).touch(), span, site, thread, uid, clock };
                            let w = c.pack().expect("all fields fit");
                            assert_eq!(w.content(), Content::Record(c));
                            assert_ne!(w.key(), Key::NONE);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_state_says_what_was_done() {
    for op in 0..OPS {
        for span in Span::ALL {
            for asked in 0..OPS {
                let record = Record(OpCode(op).state(span));
                assert_eq!(record.span_of(OpCode(asked)), (op == asked).then_some(span));
            }
        }
    }
    for other in [Record::EMPTY, Record::BUSY, Record::chain(64), Record::list(64)] {
        assert!((0..OPS).all(|op| other.span_of(OpCode(op)).is_none()));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(Key::new(1024, 0, 0), None);
    assert_eq!(Key::new(0, UID_VALUES, 0), None);
    assert_eq!(Key::new(0, 0, CLOCK_VALUES), None);
    let atomic = |scope, size| Op::Atomic { modifies: true, volatile: false, scope, start: 0, size };
    for op in [atomic(Scope::Device, 16), atomic(Scope::Cluster, 4)] {
        assert_eq!(OpCode::of(Touch { op, mask: FULL }), None);
    }
    let of_bytes = Touch { op: atomic(Scope::Device, 2), mask: 0b0011 };
    assert_eq!(OpCode::of(of_bytes), None);
    assert_eq!(Record::EMPTY.content(), Content::Empty);
    assert_eq!(Record::chain(0x7fff_ffff_fff8).content(), Content::Chain(0x7fff_ffff_fff8));
    assert_eq!(Record::list(0x7fff_ffff_ffc0).content(), Content::List(0x7fff_ffff_ffc0));
    assert_eq!(Record::BUSY.content(), Content::Busy);
}
