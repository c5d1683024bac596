//! The state machine: what becomes of a record when a new access meets it, and whether they race.
//!
//! A record represents all histories of its bytes in which it conflicts with the same later
//! accesses as the accesses of the history that can still race. Three questions decide a
//! transition. Do the two accesses [`conflict`]? Does the earlier one happen before the later
//! ([`Status`])? Does one conflict with everything that the other conflicts with ([`covers`])?

use gpurace_abi::scope::Scope;

use crate::model::access::{Op, Touch};
use crate::model::relation::{Relation, Span, Status};

/// What becomes of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// It stays, and represents the new access too.
    Keep,
    /// The new access's record replaces it.
    Replace,
    /// The new thread joins the record's threads, and the record has this span.
    Join(Span),
    /// It stays, and gets the bytes of the new access too.
    Extend,
    /// It stays, and the new access gets a record of its own.
    Both,
}

/// One transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The two accesses race.
    pub race: bool,
    /// What becomes of the record.
    pub next: Next,
}

/// True if an access of this scope is atomic to a thread in this relation.
#[inline(always)]
pub const fn includes(scope: Scope, relation: Relation) -> bool {
    match scope {
        Scope::Block => relation.in_block(),
        Scope::Cluster => !matches!(relation, Relation::Grid | Relation::Launch),
        Scope::Device | Scope::System => true,
    }
}

/// True if two accesses by threads in this relation race unless they are ordered.
#[inline(always)]
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
            Op::Atomic { modifies: m0, volatile: v0, scope: s0, start: b0, size: n0 },
            Op::Atomic { modifies: m1, volatile: v1, scope: s1, start: b1, size: n1 },
        ) => {
            let same = b0 == b1 && n0 == n1;
            (m0 || m1) && !(same && includes(s0, relation) && includes(s1, relation) && !(v0 && v1))
        }
    }
}

/// True if every access of any thread that conflicts with `weak` also conflicts with `strong`.
/// `same_block`: one block made both.
#[inline(always)]
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
        // A third, block-scope atomic conflicts with those of other blocks only, so one block must
        // have made both. The narrower scope conflicts with more. A volatile access also conflicts with
        // volatile ones.
        (
            Op::Atomic { modifies: m0, volatile: v0, scope: s0, start: b0, size: n0 },
            Op::Atomic { modifies: m1, volatile: v1, scope: s1, start: b1, size: n1 },
        ) => {
            let same = b0 == b1 && n0 == n1;
            (m0 || !m1) && (v0 || !v1) && same && s0 as u32 <= s1 as u32 && same_block
        }
    }
}

/// An operation that conflicts with whatever `a` or `b` conflicts with; `None` unless both are plain reads, or atomics
/// of the same bytes. Where two accesses with this operation do not conflict, `a` and `b` do not conflict either.
pub fn common(a: Op, b: Op) -> Option<Op> {
    match (a, b) {
        (Op::Read, Op::Read) => Some(Op::Read),
        (
            Op::Atomic { volatile: false, scope: s0, start: b0, size: n0, .. },
            Op::Atomic { volatile: false, scope: s1, start: b1, size: n1, .. },
        ) if (b0, n0) == (b1, n1) => {
            let scope = if s0 as u32 <= s1 as u32 { s0 } else { s1 };
            Some(Op::Atomic { modifies: true, volatile: false, scope, start: b0, size: n0 })
        }
        _ => None,
    }
}

/// The transition function.
///
/// `relation` and `status` say how the record's threads stand to the new thread. `same_site`: one
/// instruction of one launch made both.
#[inline(always)]
pub const fn step(
    earlier: Touch,
    span: Span,
    later: Touch,
    relation: Relation,
    status: Status,
    same_site: bool,
) -> Step {
    let same_block = relation.in_block();
    match status {
        Status::Settled => Step { race: false, next: Next::Replace },
        Status::SameEpoch => {
            // A read that is checked late may meet records of other threads of its block, made behind a
            // barrier since. It must not replace these.
            let itself = matches!(relation, Relation::Itself);
            let next = if covers(earlier, later, same_block) {
                Next::Keep
            } else if itself && covers(later, earlier, same_block) {
                Next::Replace
            } else if itself && same_site && extends(earlier, later) {
                Next::Extend
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
            let joined =
                if same_site && same_touch(earlier, later) { joined_span(span, relation) } else { None };
            let next = match joined {
                Some(span) => Next::Join(span),
                None => Next::Both,
            };
            Step { race: conflict(earlier, later, relation), next }
        }
    }
}

/// The span of a record after an unordered thread in this relation has joined it; `None` if it
/// cannot: the threads of a record are of one launch.
#[inline(always)]
pub const fn joined_span(span: Span, relation: Relation) -> Option<Span> {
    match relation {
        Relation::Warp => Some(wider(span, Span::Warp)),
        Relation::Block => Some(wider(span, Span::Block)),
        Relation::Cluster | Relation::Grid => Some(Span::Grid),
        // A thread is never unordered to itself.
        Relation::Itself | Relation::Launch => None,
    }
}

#[inline(always)]
const fn wider(a: Span, b: Span) -> Span {
    if a as u8 >= b as u8 { a } else { b }
}

/// True if a plain access is of the other's kind: one record can hold the bytes of both.
#[inline(always)]
const fn extends(earlier: Touch, later: Touch) -> bool {
    matches!((earlier.op, later.op), (Op::Read, Op::Read) | (Op::Write, Op::Write))
}

/// `==`, usable in constants.
#[inline(always)]
pub const fn same_touch(a: Touch, b: Touch) -> bool {
    if a.mask != b.mask {
        return false;
    }
    match (a.op, b.op) {
        (Op::Read, Op::Read) | (Op::Write, Op::Write) => true,
        (
            Op::Atomic { modifies: m0, volatile: v0, scope: s0, start: b0, size: n0 },
            Op::Atomic { modifies: m1, volatile: v1, scope: s1, start: b1, size: n1 },
        ) => m0 == m1 && v0 == v1 && s0 as u32 == s1 as u32 && b0 == b1 && n0 == n1,
        (Op::Read | Op::Write | Op::Atomic { .. }, _) => false,
    }
}
