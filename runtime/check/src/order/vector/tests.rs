//! Clocks beside plain maps.

use super::*;
use std::collections::BTreeMap;

#[test]
fn joins_like_a_plain_map() {
    let mut seed = 1u64;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    const THREADS: [u32; 5] = [0, 1, 31, 32, 1023];
    for _ in 0..500 {
        let mut trees = vec![Clocks::new(); 4];
        let mut maps = vec![BTreeMap::<(u64, u32), u32>::new(); 4];
        for _ in 0..60 {
            let i = random(4) as usize;
            if random(2) == 0 {
                let (uid, epoch) = (random(40) * random(3), random(9) as u32);
                let thread = THREADS[random(5) as usize];
                let known: fn(u32, u32) -> bool = match random(3) {
                    0 => {
                        trees[i].learn_block(uid, epoch);
                        |_, _| true
                    }
                    1 => {
                        trees[i].learn_warp(uid, thread / 32, [epoch; 32]);
                        |t, u| t / 32 == u / 32
                    }
                    _ => {
                        let mut lanes = [0; 32];
                        lanes[thread as usize % 32] = epoch;
                        trees[i].learn_warp(uid, thread / 32, lanes);
                        |t, u| t == u
                    }
                };
                for t in THREADS.into_iter().filter(|&t| known(t, thread)) {
                    let e = maps[i].entry((uid, t)).or_default();
                    *e = (*e).max(epoch);
                }
            } else {
                let j = random(4) as usize;
                let other = trees[j].clone();
                trees[i].join(&other);
                for (k, v) in maps[j].clone() {
                    let e = maps[i].entry(k).or_default();
                    *e = (*e).max(v);
                }
            }
            for uid in 0..80 {
                for t in THREADS {
                    let want = maps[i].get(&(uid, t)).copied().unwrap_or(0);
                    assert_eq!(trees[i].of(uid, t), want);
                    assert_eq!(trees[i].of_warp(uid, t / 32)[t as usize % 32], want);
                }
            }
        }
    }
}

#[test]
fn one_thread_is_forgotten_alone() {
    let mut a = Clocks::new();
    for uid in 0..40 {
        a.learn_warp(uid, 1, [7; 32]);
        a.learn_warp(uid, 2, [9; 32]);
    }
    let before = a.clone();
    a.forget_thread(50, 33);
    a.forget_thread(3, 5);
    assert!(a.same(&before), "nothing was known of either");
    a.forget_thread(3, 33);
    assert_eq!([32, 33, 34, 65].map(|thread| a.of(3, thread)), [7, 0, 7, 9]);
    assert_eq!((a.of(2, 33), a.of(4, 33), before.of(3, 33)), (7, 7, 7));
}

#[test]
fn blocks_are_forgotten_and_no_others() {
    for uids in [0..0, 0..100, 3..4, 7..33, 31..65, 64..64, 90..200] {
        let mut a = Clocks::new();
        a.learn_launch(8);
        for uid in 0..100 {
            a.learn_warp(uid, 31, [2; 32]);
            a.learn_block(uid, 1);
            a.learn_warp(uid | 1 << 56, 0, [3; 32]);
        }
        a.forget_blocks(&uids);
        for uid in 0..100 {
            let want = if uids.contains(&uid) { (0, 0) } else { (1, 2) };
            assert_eq!(
                (a.floor(uid), a.of(uid, 1023), a.of(uid | 1 << 56, 0)),
                (want.0, want.1, 3),
                "{uid} {uids:?}"
            );
        }
        assert!(a.knows_launch(8));
    }
    let mut a = Clocks::new();
    a.learn_block(5, 1);
    a.forget_blocks(&(5..6));
    assert!(a.is_empty());
}

#[test]
fn who_knows_of_a_release_learns_nothing_from_it() {
    let mut released = Clocks::new();
    released.learn_warp(3, 0, [4; 32]);
    released.learn_block(9, 2);
    let mut a = Clocks::new();
    a.learn_block(5, 1);
    a.learn(&released, Some((3, 31)));
    assert_eq!((a.of(3, 31), a.of(9, 0), a.of(5, 7)), (4, 2, 1));
    let before = a.clone();
    a.learn(&released, Some((3, 31)));
    assert!(a.same(&before));
    // A later release of the same thread.
    released.learn_warp(3, 0, [5; 32]);
    released.learn_block(7, 1);
    a.learn(&released, Some((3, 31)));
    assert_eq!((a.of(3, 31), a.of(7, 0)), (5, 1));
    // It tells of copies, of which others of the thread's releases do not tell.
    assert!(!released.knows_copies());
    released.learn_launch(2);
    assert!(!released.knows_copies() && !Clocks::new().knows_copies());
    released.learn_warp(3 | COPIES, 0, [1; 32]);
    assert!(released.knows_copies());
    a.learn(&released, Some((3, 31)));
    assert_eq!(a.of(3 | COPIES, 0), 1);
    let mut copies = Clocks::new();
    copies.learn_warp(3 | COPIES, 0, [1; 32]);
    assert!(copies.knows_copies());
    copies.learn_warp(4 | COPIES, 0, [1; 32]);
    copies.learn_launch(2);
    assert!(copies.knows_copies());
}

#[test]
fn launches_are_known_beside_blocks() {
    let mut a = Clocks::new();
    a.learn_block(3, 9);
    a.learn_launch(3);
    assert!(a.knows_launch(3) && !a.knows_launch(4) && !Clocks::new().knows_launch(3));
    let mut b = Clocks::new();
    b.learn_launch(4);
    b.join(&a);
    assert!(b.knows_launch(3) && b.knows_launch(4));
    assert_eq!((b.of(3, 5), b.of(4, 5)), (9, 0));
}

#[test]
fn a_join_that_teaches_nothing_shares() {
    let mut a = Clocks::new();
    for uid in 0..100 {
        a.learn_block(uid, 5);
    }
    let mut b = a.clone();
    b.learn_block(7, 3);
    assert!(a.same(&b));
    b.learn_block(7, 6);
    a.join(&b);
    assert!(a.same(&b));
}
