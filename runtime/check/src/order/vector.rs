//! Sparse vector clocks.
//!
//! A [`Clocks`] says up to which epoch each thread's accesses are known to have happened. It holds
//! a floor for all threads of a block, and the epochs of a warp's lanes. These are the leaves
//! of a persistent big-endian Patricia tree (Okasaki and Gill, "Fast Mergeable Integer Maps",
//! 1998). A join of two clocks costs only as much as they differ. So a counter on which thousands of
//! blocks release and acquire stays cheap.

use std::ops::Range;
use std::sync::Arc;

use crate::model::entry::COPIES;

/// Epochs of the 32 lanes of a warp.
pub type Lanes = [u32; 32];

const PER_BLOCK_BITS: u32 = 6;
/// The key's number of a block's floor, which is no warp's index. The floor is the epoch of lane 0.
const FLOOR: u64 = 32;

/// Marks the key of a launch, which has the launch's first uid in place of a block's.
const LAUNCH: u64 = 1 << 63;

const KEY_OF_COPIES: u64 = key(COPIES, 0);

const fn key(uid: u64, warp: u64) -> u64 {
    uid << PER_BLOCK_BITS | warp
}

/// What is known of a warp: mostly of all its lanes, or of one.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    /// The epoch of this lane; nothing of the others.
    One(u8, u32),
    Each(Box<Lanes>),
}

impl Known {
    fn new(lanes: &Lanes) -> Self {
        match lanes.iter().position(|&epoch| epoch > 0) {
            None => Self::One(0, 0),
            Some(lane) if lanes[lane + 1..].iter().all(|&epoch| epoch == 0) => {
                Self::One(lane as u8, lanes[lane])
            }
            Some(_) => Self::Each(Box::new(*lanes)),
        }
    }

    fn of(&self, lane: usize) -> u32 {
        match self {
            Self::One(known, epoch) if usize::from(*known) == lane => *epoch,
            Self::One(..) => 0,
            Self::Each(lanes) => lanes[lane],
        }
    }

    /// Makes each epoch at least the known one.
    fn raise(&self, lanes: &mut Lanes) {
        match self {
            Self::One(lane, epoch) => lanes[usize::from(*lane)] = lanes[usize::from(*lane)].max(*epoch),
            Self::Each(others) => raise(lanes, others),
        }
    }

    /// True if `other` knows no more.
    fn has_all_of(&self, other: &Known) -> bool {
        match (self, other) {
            (_, Self::One(lane, epoch)) => self.of(usize::from(*lane)) >= *epoch,
            // A leaf that knows of one lane is no [`Known::Each`].
            (Self::One(..), Self::Each(_)) => false,
            (Self::Each(own), Self::Each(others)) => {
                own.iter().zip(&**others).fold(true, |all, (own, other)| all & (own >= other))
            }
        }
    }
}

#[derive(Debug)]
enum Node {
    Leaf {
        key: u64,
        known: Known,
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

impl Node {
    /// No key in the tree is greater. It shares with the greatest key the bit in which keys differ, and all above.
    fn greatest(&self) -> u64 {
        match self {
            Node::Leaf { key, .. } => *key,
            Node::Branch { prefix, bit, .. } => ((prefix << 1 | 1) << bit) | ((1 << bit) - 1),
        }
    }
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
        self.floor(uid).max(warp.map_or(0, |known| known.of(thread as usize % 32)))
    }

    /// The first epoch that it does not know of a block's threads, of which it has learnt together.
    pub fn floor(&self, uid: u64) -> u32 {
        self.0.as_ref().and_then(|root| get(root, key(uid, FLOOR))).map_or(0, |known| known.of(0))
    }

    /// For each lane of a warp, the first epoch that it does not know.
    pub fn of_warp(&self, uid: u64, warp: u32) -> Lanes {
        let Some(root) = &self.0 else { return [0; 32] };
        let mut known = [self.floor(uid); 32];
        if let Some(warp) = get(root, key(uid, warp.into())) {
            warp.raise(&mut known);
        }
        known
    }

    /// Learns that epochs below `epoch` of all threads of a block have happened.
    pub fn learn_block(&mut self, uid: u64, epoch: u32) {
        self.add(key(uid, FLOOR), Known::One(0, epoch));
    }

    /// Learns that all of the launch with this first uid has happened.
    pub fn learn_launch(&mut self, first_uid: u64) {
        self.add(LAUNCH | first_uid, Known::One(0, 1));
    }

    /// True if it knows that all of the launch with this first uid has happened.
    pub fn knows_launch(&self, first_uid: u64) -> bool {
        self.0.as_ref().is_some_and(|root| get(root, LAUNCH | first_uid).is_some())
    }

    /// Learns that, for each lane of a warp, the epochs below this one have happened.
    pub fn learn_warp(&mut self, uid: u64, warp: u32, lanes: Lanes) {
        self.add(key(uid, warp.into()), Known::new(&lanes));
    }

    fn add(&mut self, key: u64, known: Known) {
        self.join(&Self(Some(Arc::new(Node::Leaf { key, known }))));
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

    /// Learns what a thread, by its block's uid and its index, has released. Whoever knows of a release knows all that
    /// its thread knew then. Only what a release tells of the thread's copies, later ones may not tell.
    pub(crate) fn learn(&mut self, released: &Clocks, by: Option<(u64, u32)>) {
        if let Some((uid, thread)) = by
            && !released.knows_copies()
        {
            let own = released.of(uid, thread);
            if own > 0 && own <= self.of(uid, thread) {
                debug_assert!(self.knows_all(released), "{self:?} {released:?}");
                return;
            }
        }
        self.join(released);
    }

    /// True if it knows of asynchronous copies.
    fn knows_copies(&self) -> bool {
        // The keys of copies are greater than those of blocks, and less than those of launches.
        let is_of_copies = |key: u64| key & (LAUNCH | KEY_OF_COPIES) == KEY_OF_COPIES;
        match self.0.as_deref() {
            Some(Node::Branch { bit: 63, zero, .. }) => is_of_copies(zero.greatest()),
            Some(node) => is_of_copies(node.greatest()),
            None => false,
        }
    }

    /// True if it knows all that `other` knows.
    fn knows_all(&self, other: &Clocks) -> bool {
        let mut both = self.clone();
        both.join(other);
        both.same(self)
    }

    /// Forgets what is known of the blocks with these uids.
    pub(crate) fn forget_blocks(&mut self, uids: &Range<u64>) {
        let keys = key(uids.start, 0)..key(uids.end, 0);
        self.0 = self.0.take().and_then(|root| outside(&root, &keys));
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

/// What the leaf with this key knows; `None` if there is no such leaf.
fn get(mut node: &Node, wanted: u64) -> Option<&Known> {
    loop {
        match node {
            Node::Leaf { key, known } => return (*key == wanted).then_some(known),
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
        Node::Leaf { key, known } => {
            let changes = *key == wanted && known.of(lane) != 0;
            changes.then(|| {
                let mut lanes = [0; 32];
                known.raise(&mut lanes);
                lanes[lane] = 0;
                Arc::new(Node::Leaf { key: *key, known: Known::new(&lanes) })
            })
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

/// The tree without these keys; the tree itself if it has none of them.
fn outside(node: &Arc<Node>, keys: &Range<u64>) -> Option<Arc<Node>> {
    let (first, last) = match &**node {
        Node::Leaf { key, .. } => (*key, *key),
        Node::Branch { prefix, bit, .. } => (prefix << bit << 1, node.greatest()),
    };
    if keys.end <= first || last < keys.start {
        return Some(node.clone());
    }
    if keys.start <= first && last < keys.end {
        return None;
    }
    let Node::Branch { prefix, bit, zero, one } = &**node else { unreachable!("a leaf is in or out") };
    match (outside(zero, keys), outside(one, keys)) {
        (Some(z), Some(o)) if Arc::ptr_eq(&z, zero) && Arc::ptr_eq(&o, one) => Some(node.clone()),
        (Some(zero), Some(one)) => Some(Arc::new(Node::Branch { prefix: *prefix, bit: *bit, zero, one })),
        (zero, one) => zero.or(one),
    }
}

/// What both trees know. If one operand knows all of it, the result is that operand: this keeps
/// later joins cheap.
fn join(a: &Arc<Node>, b: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(a, b) {
        return a.clone();
    }
    match (&**a, &**b) {
        (Node::Leaf { key: ka, known: known_a }, Node::Leaf { key: kb, known: known_b }) => {
            if ka != kb {
                branch(*ka, a.clone(), *kb, b.clone())
            } else if known_a.has_all_of(known_b) {
                a.clone()
            } else if known_b.has_all_of(known_a) {
                b.clone()
            } else {
                let mut lanes = [0; 32];
                known_a.raise(&mut lanes);
                known_b.raise(&mut lanes);
                Arc::new(Node::Leaf { key: *ka, known: Known::new(&lanes) })
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
mod tests;
