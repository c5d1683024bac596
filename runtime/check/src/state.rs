//! The state machine: what one record and one new access make of each other.
//!
//! A state stands for a set of histories of the word: those in which every
//! access that could still take part in a race is represented by the record's
//! (what, where, who, when). The transitions follow from three questions:
//! do the two accesses [`conflict`], is the earlier one ordered before the later
//! ([`Status`]), and may one of them stand for the other ([`covers`])?

use gpurace_abi::scope::Scope;

use crate::word::{Op, Span, Touch};

/// The narrowest group that holds the later thread and the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// One thread.
    Itself,
    /// Threads of one warp.
    Warp,
    /// Threads of one block.
    Block,
    /// Blocks of one cluster.
    Cluster,
    /// Blocks of one launch.
    Grid,
    /// Different launches.
    Launch,
}

/// How the record is ordered to the new access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Some access that the record stands for does not happen before it.
    Unsynced,
    /// All happen before it.
    Synced,
    /// One thread's, in the epoch that the thread is still in: no one can be
    /// ordered after one of the two accesses and not after the other.
    SameEpoch,
    /// All happen before everything that can still come.
    Settled,
}

/// What becomes of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// It stays: the new access is represented already.
    Keep,
    /// It becomes the new access's record.
    Replace,
    /// The new thread joins the record's, which then stands for this span.
    Join(Span),
    /// Both records are kept: the word is expanded.
    Both,
}

/// One transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The two accesses race.
    pub race: bool,
    /// What becomes of the word.
    pub next: Next,
}

/// Whether an access of this scope is atomic to a thread so related.
pub const fn includes(scope: Scope, relation: Relation) -> bool {
    match scope {
        Scope::Block => {
            matches!(relation, Relation::Itself | Relation::Warp | Relation::Block)
        }
        Scope::Cluster => !matches!(relation, Relation::Grid | Relation::Launch),
        Scope::Device | Scope::System => true,
    }
}

/// Whether two accesses by threads so related race unless they are ordered.
pub const fn conflict(earlier: Touch, later: Touch, relation: Relation) -> bool {
    if earlier.mask & later.mask == 0 {
        return false;
    }
    match (earlier.op, later.op) {
        (Op::Read, Op::Read) => false,
        // Nothing changes where both only load.
        (Op::Read, Op::Atomic { modifies, .. }) | (Op::Atomic { modifies, .. }, Op::Read) => modifies,
        (Op::Write, _) | (_, Op::Write) => true,
        (
            Op::Atomic { modifies: m0, scope: s0, start: b0, size: n0 },
            Op::Atomic { modifies: m1, scope: s1, start: b1, size: n1 },
        ) => (m0 || m1) && !(b0 == b1 && n0 == n1 && includes(s0, relation) && includes(s1, relation)),
    }
}

/// Whether every access that conflicts with `weak`, wherever it comes from,
/// also conflicts with `strong`. `same_block`: one block made both.
pub const fn covers(strong: Touch, weak: Touch, same_block: bool) -> bool {
    if weak.mask & !strong.mask != 0 {
        return false;
    }
    match (strong.op, weak.op) {
        // A plain write conflicts with everything.
        (Op::Write, _) => true,
        // A plain read conflicts with everything that modifies.
        (Op::Read, Op::Read | Op::Atomic { modifies: false, .. }) => true,
        (Op::Read, Op::Write | Op::Atomic { modifies: true, .. }) => false,
        // A matching atomic conflicts with a plain access, not with an atomic one.
        (Op::Atomic { .. }, Op::Read | Op::Write) => false,
        // A third, block-scope atomic would include only its own block's: so
        // one block must have made both. The narrower scope conflicts with more.
        (
            Op::Atomic { modifies: m0, scope: s0, start: b0, size: n0 },
            Op::Atomic { modifies: m1, scope: s1, start: b1, size: n1 },
        ) => (m0 || !m1) && b0 == b1 && n0 == n1 && s0 as u32 <= s1 as u32 && same_block,
    }
}

/// The transition function.
///
/// `relation` and `status` say how the record's threads stand to the new one;
/// `same_site`: one instruction of one launch made both.
pub const fn step(
    earlier: Touch,
    span: Span,
    later: Touch,
    relation: Relation,
    status: Status,
    same_site: bool,
) -> Step {
    let same_block = matches!(relation, Relation::Itself | Relation::Warp | Relation::Block);
    match status {
        Status::Settled => Step { race: false, next: Next::Replace },
        Status::SameEpoch => {
            let next = if covers(earlier, later, same_block) {
                Next::Keep
            } else if covers(later, earlier, same_block) {
                Next::Replace
            } else {
                Next::Both
            };
            Step { race: false, next }
        }
        Status::Synced => {
            let next = if covers(later, earlier, same_block) { Next::Replace } else { Next::Both };
            Step { race: false, next }
        }
        Status::Unsynced => {
            let next = if same_site && same_touch(earlier, later) {
                match relation {
                    // Itself is never unsynced.
                    Relation::Itself => Next::Both,
                    Relation::Warp => Next::Join(wider(span, Span::Warp)),
                    Relation::Block => Next::Join(wider(span, Span::Block)),
                    Relation::Cluster | Relation::Grid => Next::Join(Span::Grid),
                    // A span holds threads of one launch.
                    Relation::Launch => Next::Both,
                }
            } else {
                Next::Both
            };
            Step { race: conflict(earlier, later, relation), next }
        }
    }
}

const fn wider(a: Span, b: Span) -> Span {
    if a as u8 >= b as u8 { a } else { b }
}

/// `==`, usable in constants.
pub const fn same_touch(a: Touch, b: Touch) -> bool {
    if a.mask != b.mask {
        return false;
    }
    match (a.op, b.op) {
        (Op::Read, Op::Read) | (Op::Write, Op::Write) => true,
        (
            Op::Atomic { modifies: m0, scope: s0, start: b0, size: n0 },
            Op::Atomic { modifies: m1, scope: s1, start: b1, size: n1 },
        ) => m0 == m1 && s0 as u32 == s1 as u32 && b0 == b1 && n0 == n1,
        (Op::Read | Op::Write | Op::Atomic { .. }, _) => false,
    }
}
