//! The shadow word.
//!
//! ```text
//!  63     57 56      47 46     37 36                    13 12          0
//! ┌─────────┬──────────┬─────────┬────────────────────────┬─────────────┐
//! │ state 7 │ site 10  │ thread  │ block uid 24           │ clock 13    │
//! │         │          │ 10      │                        │             │
//! └─────────┴──────────┴─────────┴────────────────────────┴─────────────┘
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | state | what was done (read, write, or atomic with its kind, scope and extent) and by how many threads (a [`Span`]); or empty, expanded, busy |
//! | site | the instruction, as the kernel's dense number of it |
//! | thread | linear index in its block of one thread that did it |
//! | uid | launch-unique id of that thread's block, counted from the last clear of the shadow |
//! | clock | that thread's epoch, see [`crate::order`] |
//!
//! A word that does not fit (sub-word bytes, a field that would overflow, a
//! second record) is *expanded*: the low 47 bits are the address of a
//! [`Chain`](crate::chain::Chain), or of a line of records that would each fit a word. The all-zero word is empty: fresh shadow
//! needs no initialisation.

use gpurace_abi::scope::Scope;

use crate::state::{self, Relation};

/// Bytes of application memory per shadow word.
pub const GRANULE: usize = 4;
/// All bytes of a word.
pub const FULL: u8 = 0b1111;

/// Width of the clock field, bits.
pub const CLOCK_BITS: u32 = 13;
/// Width of the block uid field, bits.
pub const UID_BITS: u32 = 24;
/// Width of the thread field, bits.
pub const THREAD_BITS: u32 = 10;
/// Width of the site field, bits.
pub const SITE_BITS: u32 = 10;
/// Width of the state field, bits.
pub const STATE_BITS: u32 = 7;

const UID_SHIFT: u32 = CLOCK_BITS;
const THREAD_SHIFT: u32 = UID_SHIFT + UID_BITS;
const SITE_SHIFT: u32 = THREAD_SHIFT + THREAD_BITS;
pub(crate) const STATE_SHIFT: u32 = SITE_SHIFT + SITE_BITS;
const _: () = assert!(STATE_SHIFT + STATE_BITS == 64, "the fields partition the word");

/// Number of values of the clock field.
pub const CLOCK_VALUES: u32 = 1 << CLOCK_BITS;
/// Number of usable values of the uid field; the last one is [`NO_KEY`]'s.
pub const UID_VALUES: u64 = (1 << UID_BITS) - 1;
/// Number of values of the site field.
pub const SITE_VALUES: u32 = 1 << SITE_BITS;
/// The thread, uid and clock fields: who and when.
pub const KEY_MASK: u64 = (1 << SITE_SHIFT) - 1;
/// A who-and-when that no word has: its uid is the reserved one.
pub const NO_KEY: u64 = KEY_MASK;

/// The state of an expanded word.
pub const EXPANDED: u64 = 1;
/// The state of a word that one worker is changing and the others wait for.
pub const BUSY: u64 = 2;
/// The state of a word whose records lie in a line.
pub const LINE: u64 = 3;
const FIRST_COMPACT: u64 = 4;
const OPS: u64 = 26;
const _: () = assert!(FIRST_COMPACT % 4 == 0 && FIRST_COMPACT + OPS * 4 <= 1 << STATE_BITS);

/// What an access does to the bytes it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic or volatile access.
    Atomic {
        /// It stores or reads and modifies; otherwise it loads.
        modifies: bool,
        /// How far it is atomic.
        scope: Scope,
        /// Where it starts, in bytes from the word's first: negative in the
        /// later words of a long access.
        start: i8,
        /// Its size, bytes.
        size: u8,
    },
}

/// What an access does to one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Touch {
    /// What it does.
    pub op: Op,
    /// To which bytes of the word: bit `i` is byte `i`.
    pub mask: u8,
}

/// The threads that a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Span {
    /// One thread. *Represents* its accesses in one epoch; *allows* that
    /// thread, and whoever is ordered after the epoch; *rejects* others that conflict.
    Thread = 0,
    /// At least two lanes of one warp, between two syncs of the warp.
    /// *Allows* the warp after its next sync, the block after its next barrier.
    Warp = 1,
    /// At least two warps of one block, between two of its barriers. *Allows*
    /// the block after its next barrier; *rejects* every conflicting access before.
    Block = 2,
    /// At least two blocks of one launch. *Allows* only what is ordered after
    /// the launch.
    Grid = 3,
}

impl Span {
    const ALL: [Span; 4] = [Span::Thread, Span::Warp, Span::Block, Span::Grid];
}

/// A record in a shadow word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact {
    /// What was done; all bytes of the word.
    pub touch: Touch,
    /// By how many threads.
    pub span: Span,
    /// The kernel's dense number of the instruction.
    pub site: u16,
    /// One of the threads.
    pub thread: u16,
    /// Its block, from the last clear of the shadow.
    pub uid: u32,
    /// Its epoch.
    pub clock: u16,
}

/// What a shadow word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// No access.
    Empty,
    /// One record.
    Compact(Compact),
    /// The address of a chain.
    Expanded(u64),
    /// The address of a line.
    Line(u64),
    /// Being changed.
    Busy,
}

/// The number of an op that fits the state field; `None` for one that does not.
pub const fn op_code(touch: Touch) -> Option<u64> {
    if touch.mask != FULL {
        return None;
    }
    match touch.op {
        Op::Read => Some(READ),
        Op::Write => Some(WRITE),
        Op::Atomic { modifies, scope, start, size } => {
            let extent = match (start, size) {
                (0, 4) => 0,
                (0, 8) => 1,
                (-4, 8) => 2,
                _ => return None,
            };
            Some(FIRST_ATOMIC + (modifies as u64 * 4 + scope as u64) * 3 + extent)
        }
    }
}

const fn op_of(code: u64) -> Op {
    if code == READ {
        return Op::Read;
    }
    if code == WRITE {
        return Op::Write;
    }
    let n = code - FIRST_ATOMIC;
    let (start, size) = match n % 3 {
        0 => (0, 4),
        1 => (0, 8),
        _ => (-4, 8),
    };
    let scope = match n / 3 % 4 {
        0 => Scope::Block,
        1 => Scope::Cluster,
        2 => Scope::Device,
        _ => Scope::System,
    };
    Op::Atomic { modifies: n / 12 == 1, scope, start, size }
}

/// Whether accesses with this [`op_code`] by different blocks of a launch do not race.
pub const fn is_atomic_in_grid(op_code: u64) -> bool {
    let touch = Touch { op: op_of(op_code), mask: FULL };
    !state::conflict(touch, touch, Relation::Grid)
}

/// The state field of a record, in place.
pub const fn state_bits(op_code: u64, span: Span) -> u64 {
    (FIRST_COMPACT + op_code * 4 + span as u64) << STATE_SHIFT
}

/// The state field of one thread's plain read, in place.
pub const THREAD_READ: u64 = state_bits(READ, Span::Thread);
/// The state field of one thread's plain write, in place.
pub const THREAD_WRITE: u64 = state_bits(WRITE, Span::Thread);
/// The state field, in place.
pub const STATE_MASK: u64 = !0 << STATE_SHIFT;
/// The part of a record's state field that tells the span, in place.
pub const SPAN_MASK: u64 = 3 << STATE_SHIFT;

/// The site field, in place.
pub const fn site_bits(site: u16) -> u64 {
    (site as u64) << SITE_SHIFT
}

/// Who and when, in place: the low 47 bits of a compact word. `None` where a
/// field would overflow.
pub const fn key(thread: u32, uid: u64, clock: u32) -> Option<u64> {
    if uid >= UID_VALUES || clock >= CLOCK_VALUES || thread >= 1 << THREAD_BITS {
        return None;
    }
    Some((thread as u64) << THREAD_SHIFT | uid << UID_SHIFT | clock as u64)
}

/// The thread, in place.
pub const fn thread_bits(thread: u32) -> u64 {
    (thread as u64) << THREAD_SHIFT & THREAD_MASK
}

/// The uid and the clock, in place. They fit.
pub const fn when_bits(uid: u64, clock: u32) -> u64 {
    uid << UID_SHIFT | clock as u64
}

/// The thread field, in place.
pub const THREAD_MASK: u64 = ((1 << THREAD_BITS) - 1) << THREAD_SHIFT;
/// The thread field of a compact word.
pub const fn thread_field(word: u64) -> u32 {
    (word >> THREAD_SHIFT) as u32 & ((1 << THREAD_BITS) - 1)
}

/// The part of the thread field that tells the warp, in place.
pub const WARP_MASK: u64 = THREAD_MASK & !(31 << THREAD_SHIFT);

/// The site field, in place.
pub const SITE_MASK: u64 = (SITE_VALUES as u64 - 1) << SITE_SHIFT;

/// The [`op_code`] of a plain read.
pub const READ: u64 = 0;
/// The [`op_code`] of a plain write.
pub const WRITE: u64 = 1;
const FIRST_ATOMIC: u64 = 2;

/// By how many threads a word holds an access with this [`op_code`]; `None` where it
/// holds another.
#[inline]
pub const fn span_of(word: u64, op_code: u64) -> Option<Span> {
    let span = (word >> STATE_SHIFT).wrapping_sub(FIRST_COMPACT + op_code * 4);
    if span < Span::ALL.len() as u64 { Some(Span::ALL[span as usize]) } else { None }
}

/// The word that points to a chain at `address`.
pub const fn expanded(address: u64) -> u64 {
    EXPANDED << STATE_SHIFT | address
}

/// The word whose records lie in a line at `address`.
pub const fn line(address: u64) -> u64 {
    LINE << STATE_SHIFT | address
}

/// Whether a word holds one record.
pub const fn is_compact(word: u64) -> bool {
    word >> STATE_SHIFT >= FIRST_COMPACT
}

/// The uid field of a compact word.
pub const fn uid_field(word: u64) -> u64 {
    word >> UID_SHIFT & ((1 << UID_BITS) - 1)
}

/// The clock field of a compact word.
pub const fn clock_field(word: u64) -> u32 {
    word as u32 & (CLOCK_VALUES - 1)
}

/// The word that the others wait for.
pub const BUSY_WORD: u64 = BUSY << STATE_SHIFT;

impl Compact {
    /// The word. `None` where what was done has no state.
    pub const fn pack(self) -> Option<u64> {
        let Some(op) = op_code(self.touch) else {
            return None;
        };
        let Some(key) = key(self.thread as u32, self.uid as u64, self.clock as u32) else {
            return None;
        };
        if self.site as u32 >= SITE_VALUES {
            return None;
        }
        Some(state_bits(op, self.span) | site_bits(self.site) | key)
    }
}

impl Word {
    /// Reads a word.
    pub const fn unpack(word: u64) -> Self {
        match word >> STATE_SHIFT {
            0 => Word::Empty,
            EXPANDED => Word::Expanded(word & KEY_MASK),
            LINE => Word::Line(word & KEY_MASK),
            BUSY => Word::Busy,
            state => {
                let n = state - FIRST_COMPACT;
                Word::Compact(Compact {
                    touch: Touch { op: op_of(n / 4), mask: FULL },
                    span: Span::ALL[(n % 4) as usize],
                    site: (word >> SITE_SHIFT) as u16 & (SITE_VALUES - 1) as u16,
                    thread: (word >> THREAD_SHIFT) as u16 & ((1 << THREAD_BITS) - 1),
                    uid: (word >> UID_SHIFT) as u32 & ((1 << UID_BITS) - 1),
                    clock: word as u16 & (CLOCK_VALUES - 1) as u16,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_partition_the_word() {
        let fields = [CLOCK_BITS, UID_BITS, THREAD_BITS, SITE_BITS, STATE_BITS];
        assert_eq!(fields.iter().sum::<u32>(), 64);
        let all = [
            CLOCK_VALUES as u64 - 1,
            ((1 << UID_BITS) - 1) << UID_SHIFT,
            ((1 << THREAD_BITS) - 1) << THREAD_SHIFT,
            site_bits(SITE_VALUES as u16 - 1),
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
                                let c = Compact {
                                    touch: Touch { op: op_of(op), mask: FULL },
                                    span,
                                    site,
                                    thread,
                                    uid,
                                    clock,
                                };
                                let w = c.pack().expect("all fields fit");
                                assert_eq!(Word::unpack(w), Word::Compact(c));
                                assert_ne!(w & KEY_MASK, NO_KEY);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_access_is_told_by_its_state() {
        for op in 0..OPS {
            for span in Span::ALL {
                for asked in 0..OPS {
                    assert_eq!(span_of(state_bits(op, span), asked), (op == asked).then_some(span));
                }
            }
        }
        for other in [0, BUSY_WORD, expanded(64), line(64)] {
            assert!((0..OPS).all(|op| span_of(other, op).is_none()));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(key(1024, 0, 0), None);
        assert_eq!(key(0, UID_VALUES, 0), None);
        assert_eq!(key(0, 0, CLOCK_VALUES), None);
        assert_eq!(op_code(Touch { op: Op::Read, mask: 0b0111 }), None);
        let wide = Op::Atomic { modifies: true, scope: Scope::Device, start: 0, size: 16 };
        assert_eq!(op_code(Touch { op: wide, mask: FULL }), None);
        assert_eq!(Word::unpack(0), Word::Empty);
        assert_eq!(Word::unpack(expanded(0x7fff_ffff_fff8)), Word::Expanded(0x7fff_ffff_fff8));
        assert_eq!(Word::unpack(line(0x7fff_ffff_ffc0)), Word::Line(0x7fff_ffff_ffc0));
        assert_eq!(Word::unpack(BUSY_WORD), Word::Busy);
    }
}
