//! Sparse vector clocks.
//!
//! A [`Clocks`] says up to which epoch each thread's accesses are known to
//! have happened: for the threads of a block a common floor, and what single
//! threads have beyond it. Blocks are the keys of a persistent big-endian
//! Patricia tree (Okasaki and Gill, "Fast Mergeable Integer Maps", 1998): a
//! join of two clocks that share most of their content costs only where they
//! differ, so a counter on which thousands of blocks release and acquire stays cheap.

use std::sync::Arc;

/// What is known of one block: accesses of its thread `t` in epochs below
/// `max(floor, threads[t])` have happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockClock {
    /// Of every thread.
    pub floor: u32,
    /// Of single threads: index and epoch, by index, only what exceeds the floor.
    pub threads: Vec<(u16, u32)>,
}

impl BlockClock {
    /// The first epoch of `thread` that is not known.
    pub fn of(&self, thread: u32) -> u32 {
        match self.threads.binary_search_by_key(&thread, |t| u32::from(t.0)) {
            Ok(i) => self.threads[i].1.max(self.floor),
            Err(_) => self.floor,
        }
    }

    fn knows(&self, other: &Self) -> bool {
        self.floor >= other.floor && other.threads.iter().all(|&(t, c)| self.of(t.into()) >= c)
    }

    fn join(&self, other: &Self) -> Self {
        let floor = self.floor.max(other.floor);
        let mut threads = Vec::with_capacity(self.threads.len().max(other.threads.len()));
        let (mut a, mut b) = (self.threads.iter().peekable(), other.threads.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => *a.next().expect("peeked"),
                (None, Some(_)) => *b.next().expect("peeked"),
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let c = x.1.max(y.1);
                    b.next();
                    (a.next().expect("peeked").0, c)
                }
                (Some(x), Some(y)) if x.0 < y.0 => *a.next().expect("peeked"),
                (Some(_), Some(_)) => *b.next().expect("peeked"),
            };
            if next.1 > floor {
                threads.push(next);
            }
        }
        Self { floor, threads }
    }
}

#[derive(Debug)]
enum Node {
    Leaf { key: u64, clock: BlockClock },
    /// `bit` is the highest bit in which keys below differ; `prefix` is what
    /// they share above it; `zero` holds the keys with that bit clear.
    Branch { prefix: u64, bit: u32, zero: Arc<Node>, one: Arc<Node> },
}

/// A vector clock over blocks (by uid) and their threads.
#[derive(Clone, Debug, Default)]
pub struct Clocks(Option<Arc<Node>>);

impl Clocks {
    /// Knows nothing.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What is known of one block.
    pub fn single(uid: u64, clock: BlockClock) -> Self {
        Self(Some(Arc::new(Node::Leaf { key: uid, clock })))
    }

    /// The first epoch of a thread that is not known.
    pub fn of(&self, uid: u64, thread: u32) -> u32 {
        self.block(uid).map_or(0, |c| c.of(thread))
    }

    /// What is known of a block.
    pub fn block(&self, uid: u64) -> Option<&BlockClock> {
        let mut node = self.0.as_deref()?;
        loop {
            match node {
                Node::Leaf { key, clock } => return (*key == uid).then_some(clock),
                Node::Branch { prefix, bit, zero, one } => {
                    if uid >> (bit + 1) != *prefix {
                        return None;
                    }
                    node = if uid >> bit & 1 == 0 { zero } else { one };
                }
            }
        }
    }

    /// Learns what `other` knows.
    pub fn join(&mut self, other: &Clocks) {
        match (&self.0, &other.0) {
            (_, None) => {}
            (None, Some(_)) => self.0.clone_from(&other.0),
            (Some(a), Some(b)) => self.0 = Some(join(a, b)),
        }
    }

    /// Whether both are one object: a cheap test that a join is not needed.
    pub fn same(&self, other: &Clocks) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

fn join(a: &Arc<Node>, b: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(a, b) {
        return a.clone();
    }
    match (&**a, &**b) {
        (Node::Leaf { key: ka, clock: ca }, Node::Leaf { key: kb, clock: cb }) => {
            if ka != kb {
                return branch(*ka, a.clone(), *kb, b.clone());
            }
            // Handing back one of the operands keeps later joins cheap.
            if ca.knows(cb) {
                a.clone()
            } else if cb.knows(ca) {
                b.clone()
            } else {
                Arc::new(Node::Leaf { key: *ka, clock: ca.join(cb) })
            }
        }
        (Node::Branch { .. }, Node::Leaf { key, .. }) => join_into(a, *key, b),
        (Node::Leaf { key, .. }, Node::Branch { .. }) => join_into(b, *key, a),
        (
            Node::Branch { prefix: pa, bit: ba, zero: za, one: oa },
            Node::Branch { prefix: pb, bit: bb, .. },
        ) => {
            if ba > bb {
                join_into(a, pb << (bb + 1), b)
            } else if ba < bb {
                join_into(b, pa << (ba + 1), a)
            } else if pa != pb {
                branch(pa << (ba + 1), a.clone(), pb << (bb + 1), b.clone())
            } else {
                let Node::Branch { zero: zb, one: ob, .. } = &**b else { unreachable!("matched") };
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

/// Joins the smaller tree `small`, whose keys start like `key`, into branch `big`.
fn join_into(big: &Arc<Node>, key: u64, small: &Arc<Node>) -> Arc<Node> {
    let Node::Branch { prefix, bit, zero, one } = &**big else { unreachable!("a branch") };
    if key >> (bit + 1) != *prefix {
        return branch(prefix << (bit + 1), big.clone(), key, small.clone());
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
        for _ in 0..500 {
            let mut trees = vec![Clocks::new(); 4];
            let mut maps = vec![BTreeMap::<(u64, u32), u32>::new(); 4];
            for _ in 0..60 {
                let i = random(4) as usize;
                if random(2) == 0 {
                    let (uid, thread, c) = (random(40) * random(3), random(4) as u32, random(9) as u32);
                    let floor = random(3) as u32;
                    trees[i].join(&Clocks::single(uid, BlockClock { floor, threads: vec![(thread as u16, floor + c + 1)] }));
                    for t in 0..4 {
                        let e = maps[i].entry((uid, t)).or_default();
                        *e = (*e).max(floor).max(if t == thread { floor + c + 1 } else { 0 });
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
                    for t in 0..4 {
                        assert_eq!(trees[i].of(uid, t), maps[i].get(&(uid, t)).copied().unwrap_or(0));
                    }
                }
            }
        }
    }
}
