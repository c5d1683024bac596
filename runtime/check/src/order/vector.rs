//! Sparse vector clocks.
//!
//! A [`Clocks`] says up to which epoch each thread's accesses are known to have happened. It holds
//! a floor for all threads of a block, and 32 epochs for the lanes of a warp. These are the leaves
//! of a persistent big-endian Patricia tree (Okasaki and Gill, "Fast Mergeable Integer Maps",
//! 1998). A join of two clocks costs only as much as they differ. So a counter on which thousands of
//! blocks release and acquire stays cheap.

use std::sync::Arc;

/// Epochs of the 32 lanes of a warp.
pub type Lanes = [u32; 32];

const PER_BLOCK_BITS: u32 = 6;
/// The key's number of a block's floor, which is no warp's index. The floor is the epoch of lane 0.
const FLOOR: u64 = 32;

/// Marks the key of a launch, which has the launch's first uid in place of a block's.
const LAUNCH: u64 = 1 << 63;

const fn key(uid: u64, warp: u64) -> u64 {
    uid << PER_BLOCK_BITS | warp
}

#[derive(Debug)]
enum Node {
    Leaf {
        key: u64,
        lanes: Lanes,
    },
    /// `bit` is the highest bit in which keys below differ. `prefix` is what they share above it.
    /// `zero` holds the keys with that bit clear.
    Branch {
        prefix: u64,
        bit: u32,
        zero: Arc<Node>,
        one: Arc<Node>,
    },
}

/// A vector clock over blocks (by uid) and their threads.
#[derive(Clone, Debug, Default)]
pub struct Clocks(Option<Arc<Node>>);

impl Clocks {
    /// A clock that knows nothing.
    pub const fn new() -> Self {
        Self(None)
    }

    /// True if it knows nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The first epoch of a thread that it does not know.
    pub fn of(&self, uid: u64, thread: u32) -> u32 {
        let Some(root) = &self.0 else { return 0 };
        let warp = get(root, key(uid, u64::from(thread / 32)));
        self.floor(uid).max(warp.map_or(0, |l| l[thread as usize % 32]))
    }

    /// The first epoch that it does not know of a block's threads, of which it has learnt together.
    pub fn floor(&self, uid: u64) -> u32 {
        self.0.as_ref().and_then(|root| get(root, key(uid, FLOOR))).map_or(0, |l| l[0])
    }

    /// For each lane of a warp, the first epoch that it does not know.
    pub fn of_warp(&self, uid: u64, warp: u32) -> Lanes {
        let Some(root) = &self.0 else { return [0; 32] };
        let mut known = [self.floor(uid); 32];
        if let Some(lanes) = get(root, key(uid, warp.into())) {
            raise(&mut known, lanes);
        }
        known
    }

    /// Learns that epochs below `epoch` of all threads of a block have happened.
    pub fn learn_block(&mut self, uid: u64, epoch: u32) {
        let mut lanes = [0; 32];
        lanes[0] = epoch;
        self.join(&Self(Some(Arc::new(Node::Leaf { key: key(uid, FLOOR), lanes }))));
    }

    /// Learns that all of the launch with this first uid has happened.
    pub fn learn_launch(&mut self, first_uid: u64) {
        let leaf = Node::Leaf { key: LAUNCH | first_uid, lanes: [1; 32] };
        self.join(&Self(Some(Arc::new(leaf))));
    }

    /// True if it knows that all of the launch with this first uid has happened.
    pub fn knows_launch(&self, first_uid: u64) -> bool {
        self.0.as_ref().is_some_and(|root| get(root, LAUNCH | first_uid).is_some())
    }

    /// Learns that, for each lane of a warp, the epochs below this one have happened.
    pub fn learn_warp(&mut self, uid: u64, warp: u32, lanes: Lanes) {
        let leaf = Node::Leaf { key: key(uid, warp.into()), lanes };
        self.join(&Self(Some(Arc::new(leaf))));
    }

    /// Learns what `other` knows.
    pub fn join(&mut self, other: &Clocks) {
        match (&self.0, &other.0) {
            (_, None) => {}
            (None, Some(_)) => self.0.clone_from(&other.0),
            (Some(a), Some(b)) => {
                if !Arc::ptr_eq(a, b) {
                    self.0 = Some(join(a, b));
                }
            }
        }
    }

    /// Forgets what is known of one thread, if only its own epoch is known, as with asynchronous
    /// copies.
    pub(crate) fn forget_thread(&mut self, uid: u64, thread: u32) {
        let forgotten = self
            .0
            .as_ref()
            .and_then(|root| without(root, key(uid, u64::from(thread / 32)), thread as usize % 32));
        if forgotten.is_some() {
            self.0 = forgotten;
        }
    }

    /// True if both are one object: a cheap test that a join is not needed.
    pub fn same(&self, other: &Clocks) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

/// Makes each epoch at least the other one of its lane.
pub(crate) fn raise(lanes: &mut Lanes, others: &Lanes) {
    lanes.iter_mut().zip(others).for_each(|(lane, &other)| *lane = (*lane).max(other));
}

fn get(mut node: &Node, wanted: u64) -> Option<&Lanes> {
    loop {
        match node {
            Node::Leaf { key, lanes } => return (*key == wanted).then_some(lanes),
            Node::Branch { prefix, bit, zero, one } => {
                if wanted >> bit >> 1 != *prefix {
                    return None;
                }
                node = if wanted >> bit & 1 == 0 { zero } else { one };
            }
        }
    }
}

/// The tree with 0 for a lane of the leaf with this key; `None` if it has that already.
fn without(node: &Node, wanted: u64, lane: usize) -> Option<Arc<Node>> {
    match node {
        Node::Leaf { key, lanes } => {
            let mut lanes = *lanes;
            let changes = *key == wanted && std::mem::take(&mut lanes[lane]) != 0;
            changes.then(|| Arc::new(Node::Leaf { key: *key, lanes }))
        }
        Node::Branch { prefix, bit, .. } if wanted >> bit >> 1 != *prefix => None,
        Node::Branch { prefix, bit, zero, one } => {
            let (zero, one) = match wanted >> bit & 1 {
                0 => (without(zero, wanted, lane)?, one.clone()),
                _ => (zero.clone(), without(one, wanted, lane)?),
            };
            Some(Arc::new(Node::Branch { prefix: *prefix, bit: *bit, zero, one }))
        }
    }
}

/// What both trees know. If one operand knows all of it, the result is that operand: this keeps
/// later joins cheap.
fn join(a: &Arc<Node>, b: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(a, b) {
        return a.clone();
    }
    match (&**a, &**b) {
        (Node::Leaf { key: ka, lanes: la }, Node::Leaf { key: kb, lanes: lb }) => {
            if ka != kb {
                return branch(*ka, a.clone(), *kb, b.clone());
            }
            let mut lanes = *la;
            raise(&mut lanes, lb);
            if lanes == *la {
                a.clone()
            } else if lanes == *lb {
                b.clone()
            } else {
                Arc::new(Node::Leaf { key: *ka, lanes })
            }
        }
        (Node::Branch { .. }, Node::Leaf { key, .. }) => join_into(a, *key, b),
        (Node::Leaf { key, .. }, Node::Branch { .. }) => join_into(b, *key, a),
        (
            Node::Branch { prefix: pa, bit: ba, zero: za, one: oa },
            Node::Branch { prefix: pb, bit: bb, zero: zb, one: ob },
        ) => {
            if ba > bb {
                join_into(a, pb << bb << 1, b)
            } else if ba < bb {
                join_into(b, pa << ba << 1, a)
            } else if pa != pb {
                branch(pa << ba << 1, a.clone(), pb << bb << 1, b.clone())
            } else {
                let (zero, one) = (join(za, zb), join(oa, ob));
                if Arc::ptr_eq(&zero, za) && Arc::ptr_eq(&one, oa) {
                    a.clone()
                } else if Arc::ptr_eq(&zero, zb) && Arc::ptr_eq(&one, ob) {
                    b.clone()
                } else {
                    Arc::new(Node::Branch { prefix: *pa, bit: *ba, zero, one })
                }
            }
        }
    }
}

/// Joins the tree `small` into the branch `big`. The keys of `small` share the bits of `key` above
/// those in which they differ.
fn join_into(big: &Arc<Node>, key: u64, small: &Arc<Node>) -> Arc<Node> {
    let Node::Branch { prefix, bit, zero, one } = &**big else { unreachable!("a branch") };
    if key >> bit >> 1 != *prefix {
        return branch(prefix << bit << 1, big.clone(), key, small.clone());
    }
    let (zero, one) = if key >> bit & 1 == 0 {
        let joined = join(zero, small);
        if Arc::ptr_eq(&joined, zero) {
            return big.clone();
        }
        (joined, one.clone())
    } else {
        let joined = join(one, small);
        if Arc::ptr_eq(&joined, one) {
            return big.clone();
        }
        (zero.clone(), joined)
    };
    Arc::new(Node::Branch { prefix: *prefix, bit: *bit, zero, one })
}

/// A branch over two trees with different prefixes.
fn branch(ka: u64, a: Arc<Node>, kb: u64, b: Arc<Node>) -> Arc<Node> {
    let bit = 63 - (ka ^ kb).leading_zeros();
    let (zero, one) = if ka >> bit & 1 == 0 { (a, b) } else { (b, a) };
    Arc::new(Node::Branch { prefix: ka >> bit >> 1, bit, zero, one })
}

#[cfg(test)]
mod tests {
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
}
