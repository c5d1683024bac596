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
    let all = (0..BYTES).filter(|b| r.mask >> (b / GRANULE) & 1 != 0);
    match usize::try_from(-r.step) {
        Ok(step) => {
            let has = bytes_of_mask(step, r.touch().mask);
            all.filter(|b| has.contains(&((b + r.ahead as usize) % step)))
                .map(|b| (b, i32::from(r.base) + ((b + r.ahead as usize) / step) as i32))
                .collect()
        }
        Err(_) => all
            .filter(|b| r.touch().mask >> (b % GRANULE) & 1 != 0)
            .map(|b| {
                let word = b / GRANULE + usize::from(r.ahead);
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
