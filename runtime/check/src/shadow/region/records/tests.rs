//! What records of bytes say, compared with each byte by itself.

use super::*;

/// The record of a write by threads `step` bytes apart, with this mask.
fn of_bytes(step: usize, ahead: usize, base: i16, mask: u8, words: u32) -> RegionRecord {
    let record = Record::from_bits(0).with(OpCode::plain(true, mask), Span::Thread);
    RegionRecord { record, mask: words, base, step: -(step as i8), ahead: ahead as u8 }
}

/// The bytes of its threads that a mask stands for, from the definition.
fn bytes_of_mask(step: usize, mask: u8) -> Vec<usize> {
    let unit = if step == 6 { 2 } else { 1 };
    (0..step).filter(|byte| mask >> (byte / unit) & 1 != 0).collect()
}

/// All masks for a distance.
fn masks(step: usize) -> Vec<u8> {
    let all = 1 << (if step == 6 { 3 } else { step });
    (1..all - 1).chain([FULL]).collect()
}

/// The bytes of a region that a record has, each with its thread.
fn bytes_of(r: &RegionRecord) -> Vec<(usize, i32)> {
    let [first, last] = [3, 5].map(|shift| if r.step < 0 { usize::from(r.ahead >> shift & 3) } else { 0 });
    let first = r.mask.trailing_zeros() as usize * GRANULE + first;
    let end = (u32::BITS - r.mask.leading_zeros()) as usize * GRANULE - last;
    let ahead = usize::from(r.ahead & if r.step < 0 { 7 } else { 0x7f });
    let all = (first..end).filter(|b| r.mask >> (b / GRANULE) & 1 != 0);
    match usize::try_from(-r.step) {
        Ok(step) => {
            let has = bytes_of_mask(step, r.touch().mask);
            all.filter(|b| has.contains(&((b + ahead) % step)))
                .map(|b| (b, i32::from(r.base) + ((b + ahead) / step) as i32))
                .collect()
        }
        Err(_) => all
            .filter(|b| r.touch().mask >> (b % GRANULE) & 1 != 0)
            .map(|b| {
                let word = b / GRANULE + ahead;
                (b, i32::from(r.base) + (word / r.step as usize) as i32)
            })
            .collect(),
    }
}

#[test]
fn a_mask_stands_for_bytes() {
    for step in BYTE_STEPS {
        for bytes in 1_u128..1 << step {
            let wanted: Vec<_> = (0..step).filter(|byte| bytes >> byte & 1 != 0).collect();
            let mask = masks(step).into_iter().find(|&mask| bytes_of_mask(step, mask) == wanted);
            assert_eq!(mask_of_bytes(step, bytes), mask, "{step} {bytes:b}");
        }
    }
}

#[test]
fn each_word_has_the_records_of_its_bytes() {
    for step in BYTE_STEPS {
        for (ahead, mask) in
            (0..step).flat_map(|ahead| masks(step).into_iter().map(move |mask| (ahead, mask)))
        {
            let region = of_bytes(step, ahead, 40, mask, !0);
            let mut found = Vec::new();
            for i in 0..REGION_WORDS as u32 {
                for record in region.of_word(i) {
                    let bytes = (0..GRANULE).filter(|b| record.op().touch().mask >> b & 1 != 0);
                    found.extend(bytes.map(|b| (i as usize * GRANULE + b, record.thread() as i32)));
                }
            }
            assert_eq!(found, bytes_of(&region), "{step} {ahead} {mask:b}");
        }
    }
}

#[test]
fn masks_that_compare_tell_which_bytes_are_in_common() {
    let mut all = Vec::new();
    for step in BYTE_STEPS {
        for ahead in 0..step {
            all.extend(masks(step).into_iter().map(|mask| of_bytes(step, ahead, 7, mask, 0xff_fff0)));
        }
    }
    for (step, mask) in [(1, FULL), (1, 0b11), (1, 0b1000), (3, FULL), (ONE_THREAD, FULL)] {
        let record = Record::from_bits(0).with(OpCode::plain(true, mask), Span::Thread);
        all.push(RegionRecord { record, mask: 0xff_fff0, base: 7, step, ahead: 0 });
    }
    let mut compared = 0;
    for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
        let [a, b] = [one, other].map(bytes_of);
        let has = |all: &[(usize, i32)], byte| all.iter().find(|of| of.0 == byte).map(|of| of.1);
        if one.compares_with(other) {
            compared += 1;
            let [m, n] = [one, other].map(|r| r.touch().mask);
            let meet = a.iter().any(|of| has(&b, of.0).is_some());
            assert_eq!(m & n != 0, meet, "{one:?} {other:?}");
            assert_eq!(n & !m == 0, b.iter().all(|of| has(&a, of.0).is_some()), "{one:?} {other:?}");
        }
        // What they say of a word's threads holds of each of its bytes.
        if let Some(words) = one.same_thread(other, one.mask) {
            for &(byte, thread) in &a {
                let same = words >> (byte / GRANULE) & 1 != 0;
                assert!(has(&b, byte).is_none_or(|of| (of == thread) == same), "{one:?} {other:?} {byte}");
            }
        }
    }
    assert!(compared > all.len() * 2);
}

#[test]
fn records_of_bytes_have_these_and_no_others() {
    for step in BYTE_STEPS {
        for (start, from, len) in (0..9)
            .flat_map(|start| (0..70).flat_map(move |from| [1, 3, 4, 5, 40].map(|len| (start, from, len))))
        {
            let (start, bytes) = (0x1000 - start, 0x1000 + from..(0x1000 + from + len));
            let record = Record::from_bits(0).with(OpCode::plain(true, FULL), Span::Thread);
            let region = RegionRecord::of_bytes(record, step, (20, start), &bytes);
            let wanted: Vec<_> =
                bytes.clone().map(|b| (b - 0x1000, 20 + ((b - start) / step) as i32)).collect();
            assert_eq!(bytes_of(&region), wanted, "{step} {start:x} {bytes:x?}");
            for mask in masks(step) {
                let record = record.with(OpCode::plain(true, mask), Span::Thread);
                let some = RegionRecord::of_bytes(record, step, (20, start), &bytes);
                let its = bytes_of_mask(step, mask);
                let wanted =
                    wanted.iter().copied().filter(|of| its.contains(&((of.0 + 0x1000 - start) % step)));
                let wanted: Vec<_> = wanted.collect();
                let words = wanted.iter().fold(0, |words, of| words | 1 << (of.0 / GRANULE));
                assert_eq!(some.mask, words, "{step} {start:x} {bytes:x?} {mask:b}");
                assert!(words == 0 || bytes_of(&some) == wanted);
            }
            for words in [0xf, !1, !0x8, 0x5555_5555] {
                let left = wanted.iter().copied().filter(|of| words >> (of.0 / GRANULE) & 1 != 0);
                let part = region.part(words);
                assert_eq!(
                    if part.mask == 0 { Vec::new() } else { bytes_of(&part) },
                    left.collect::<Vec<_>>()
                );
            }
            for (other_from, other_len) in [(from, len), (from + len, 9), (from + 1, len), (from / 2, 2)] {
                let others = 0x1000 + other_from..0x1000 + other_from + other_len;
                let other = RegionRecord::of_bytes(record, step, (20, start), &others);
                let has = |b: &usize| others.contains(&(b + 0x1000));
                let met: Vec<_> = wanted.iter().map(|of| of.0).filter(has).collect();
                if let Some(both) = region.words_of_both(&other) {
                    let words: u32 = met.iter().fold(0, |words, b| words | 1 << (b / GRANULE));
                    assert_eq!(both, words);
                    for i in super::words(both) {
                        assert_eq!(region.bytes_of_word(i), other.bytes_of_word(i));
                    }
                } else {
                    assert_ne!(met, []);
                }
                if region.is_like(&other) && region.mask & other.mask == 0 {
                    let mut all = [wanted.clone(), bytes_of(&other)].concat();
                    all.sort_unstable();
                    let mask = region.mask | other.mask;
                    assert_eq!(bytes_of(&RegionRecord { mask, ..region }), all, "{region:?} {other:?}");
                }
                if region.represents(&other) {
                    assert!(bytes_of(&other).iter().all(|of| wanted.contains(of)), "{region:?} {other:?}");
                }
            }
        }
    }
}
