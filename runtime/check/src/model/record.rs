//! A record in 64 bits.
//!
//! ```text
//!  63     56 55      46 45     36 35                    13 12          0
//! ┌─────────┬──────────┬─────────┬────────────────────────┬─────────────┐
//! │ state 8 │ site 10  │ thread  │ block uid 23           │ clock 13    │
//! │         │          │ 10      │                        │             │
//! └─────────┴──────────┴─────────┴────────────────────────┴─────────────┘
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | state | what was done, to which bytes ([`OpCode`]), and by how many threads ([`Span`]) |
//! | site | the instruction, as the kernel's dense number of it |
//! | thread | linear index in its block of one thread that did it |
//! | uid | unique id of that thread's block, counted from the last clear of the shadow |
//! | clock | that thread's epoch |
//!
//! A shadow word holds a record, or one of the states below [`FIRST_RECORD`]: it is empty, it is
//! busy, or its low 47 bits are the address of a list or of a chain of records. The all-zero word
//! is empty: fresh shadow needs no initialisation.

use crate::model::access::Touch;
pub use crate::model::op_code::OpCode;
use crate::model::op_code::{OPS, VALUES};
use crate::model::relation::Span;

/// Width of the clock field, bits.
pub const CLOCK_BITS: u32 = 13;
/// Width of the block uid field, bits.
pub const UID_BITS: u32 = 23;
/// Width of the thread field, bits.
pub const THREAD_BITS: u32 = 10;
/// Width of the site field, bits.
pub const SITE_BITS: u32 = 10;
/// Width of the state field, bits.
pub const STATE_BITS: u32 = 8;

const UID_SHIFT: u32 = CLOCK_BITS;
const THREAD_SHIFT: u32 = UID_SHIFT + UID_BITS;
const SITE_SHIFT: u32 = THREAD_SHIFT + THREAD_BITS;
const STATE_SHIFT: u32 = SITE_SHIFT + SITE_BITS;
const _: () = assert!(STATE_SHIFT + STATE_BITS == 64, "the fields partition the word");

const STATE_MASK: u64 = !0 << STATE_SHIFT;
const SPAN_MASK: u64 = 3 << STATE_SHIFT;
const SITE_MASK: u64 = (SITE_VALUES as u64 - 1) << SITE_SHIFT;
const THREAD_MASK: u64 = ((1 << THREAD_BITS) - 1) << THREAD_SHIFT;
const KEY_MASK: u64 = (1 << SITE_SHIFT) - 1;
/// Mask of the key bits that differ between threads of one block in one epoch.
const EPOCH_MASK: u64 = KEY_MASK & !THREAD_MASK;

/// Number of values of the clock field.
pub const CLOCK_VALUES: u32 = 1 << CLOCK_BITS;
/// Number of usable values of the uid field; the last one is that of [`Key::NONE`].
pub const UID_VALUES: u64 = (1 << UID_BITS) - 1;
/// Number of values of the site field.
pub const SITE_VALUES: u32 = 1 << SITE_BITS;

/// States of a word that holds no record.
pub(crate) const EMPTY: u64 = 0;
pub(crate) const CHAIN: u64 = 1;
pub(crate) const BUSY: u64 = 2;
pub(crate) const LIST: u64 = 3;
const FIRST_RECORD: u64 = 4;
const _: () = assert!(FIRST_RECORD.is_multiple_of(4) && FIRST_RECORD + OPS * 4 <= 1 << STATE_BITS);
const _: () = assert!(VALUES == 1 << (STATE_BITS - 2));

impl OpCode {
    /// The state field, in place.
    pub const fn state(self, span: Span) -> u64 {
        (FIRST_RECORD + self.0 * 4 + span as u64) << STATE_SHIFT
    }
}

/// Who and when: the thread, uid and clock fields of a record, in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Key(u64);

impl Key {
    /// A key that no record has: its uid is the reserved one.
    pub const NONE: Self = Self(KEY_MASK);

    /// The key of a thread of a block in an epoch; `None` if a field would overflow.
    #[inline]
    pub const fn new(thread: u32, uid: u64, clock: u32) -> Option<Self> {
        if uid >= UID_VALUES || clock >= CLOCK_VALUES || thread >= 1 << THREAD_BITS {
            return None;
        }
        Some(Self((thread as u64) << THREAD_SHIFT | uid << UID_SHIFT | clock as u64))
    }

    /// The key of another thread of the block, in the same epoch.
    #[inline(always)]
    pub const fn with_thread(self, thread: u32) -> Self {
        Self(self.0 & !THREAD_MASK | (thread as u64) << THREAD_SHIFT & THREAD_MASK)
    }

    /// The thread.
    #[inline(always)]
    pub const fn thread(self) -> u32 {
        (self.0 >> THREAD_SHIFT) as u32
    }
}

/// The site field of a record, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SiteField(u64);

impl SiteField {
    /// The field of an instruction, by the kernel's dense number of it.
    #[inline(always)]
    pub const fn new(number: u16) -> Self {
        Self((number as u64) << SITE_SHIFT & SITE_MASK)
    }
}

/// A record, or the content of a shadow word that holds none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Record(u64);

/// The fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFields {
    /// What was done.
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
pub enum Content {
    /// No access.
    Empty,
    /// One record.
    Record(RecordFields),
    /// The address of a chain.
    Chain(u64),
    /// The address of a record list.
    List(u64),
    /// A worker is changing it.
    Busy,
}

impl Record {
    /// The empty word.
    pub const EMPTY: Self = Self(0);
    /// The word that one worker is changing. The others wait.
    pub const BUSY: Self = Self(BUSY << STATE_SHIFT);

    /// The record of accesses by threads of this span. The key names one of them.
    #[inline(always)]
    pub const fn new(op: OpCode, span: Span, site: SiteField, key: Key) -> Self {
        Self(op.state(span) | site.0 | key.0)
    }

    /// The word that points to a chain.
    pub const fn chain(address: u64) -> Self {
        Self(CHAIN << STATE_SHIFT | address)
    }

    /// The word that points to a record list.
    pub const fn list(address: u64) -> Self {
        Self(LIST << STATE_SHIFT | address)
    }

    /// The content of a shadow word.
    #[inline(always)]
    pub const fn from_bits(word: u64) -> Self {
        Self(word)
    }

    /// The bits of the shadow word.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// True if this is a record.
    #[inline(always)]
    pub const fn is_record(self) -> bool {
        self.0 >> STATE_SHIFT >= FIRST_RECORD
    }

    /// The state field: one of the states above for a word without a record.
    #[inline(always)]
    pub(crate) const fn state(self) -> u64 {
        self.0 >> STATE_SHIFT
    }

    /// The address of a list or chain.
    #[inline(always)]
    pub(crate) const fn address(self) -> u64 {
        self.0 & !STATE_MASK
    }

    /// The operation of a record.
    #[inline(always)]
    pub(crate) const fn op(self) -> OpCode {
        debug_assert!(self.is_record());
        OpCode((self.state() - FIRST_RECORD) / 4)
    }

    /// The span of a record.
    #[inline(always)]
    pub(crate) const fn span(self) -> Span {
        Span::ALL[(self.state() % 4) as usize]
    }

    /// The span, if the record is of this operation.
    #[inline(always)]
    pub const fn span_of(self, op: OpCode) -> Option<Span> {
        let span = self.state().wrapping_sub(FIRST_RECORD + op.0 * 4);
        if span < Span::ALL.len() as u64 { Some(Span::ALL[span as usize]) } else { None }
    }

    /// True if one thread made accesses of this operation.
    #[inline(always)]
    pub const fn is_of_one(self, op: OpCode) -> bool {
        self.0 & STATE_MASK == op.state(Span::Thread)
    }

    /// The uid field.
    #[inline(always)]
    pub const fn uid(self) -> u64 {
        self.0 >> UID_SHIFT & ((1 << UID_BITS) - 1)
    }

    /// The clock field.
    #[inline(always)]
    pub const fn clock(self) -> u32 {
        self.0 as u32 & (CLOCK_VALUES - 1)
    }

    /// The thread field.
    #[inline(always)]
    pub const fn thread(self) -> u32 {
        (self.0 >> THREAD_SHIFT) as u32 & ((1 << THREAD_BITS) - 1)
    }

    /// True if the record's thread has this key: the same thread in the same epoch.
    #[inline(always)]
    pub const fn has_key(self, key: Key) -> bool {
        (self.0 ^ key.0) & KEY_MASK == 0
    }

    /// True if the record's thread and that of the key are of one block, in one epoch.
    #[inline(always)]
    pub const fn in_epoch_of(self, key: Key) -> bool {
        (self.0 ^ key.0) & EPOCH_MASK == 0
    }

    /// True if the record is of this instruction.
    #[inline(always)]
    pub const fn has_site(self, site: SiteField) -> bool {
        (self.0 ^ site.0) & SITE_MASK == 0
    }

    /// The site field, in place.
    #[inline(always)]
    pub const fn site(self) -> SiteField {
        SiteField(self.0 & SITE_MASK)
    }

    /// The key of the record's thread.
    #[inline(always)]
    pub const fn key(self) -> Key {
        Key(self.0 & KEY_MASK)
    }

    /// The same record with another operation and span.
    #[inline(always)]
    pub const fn with(self, op: OpCode, span: Span) -> Self {
        Self(self.0 & !STATE_MASK | op.state(span))
    }

    /// True if a plain access of this operation, by the record's one thread, gives the record further
    /// bytes.
    #[inline(always)]
    pub(crate) const fn may_extend(self, op: OpCode) -> bool {
        op.is_plain()
            && self.op().is_plain()
            && self.op().writes() == op.writes()
            && matches!(self.span(), Span::Thread)
    }

    /// The record of a plain access, for the bytes of another one of its kind too.
    #[inline(always)]
    pub(crate) const fn with_bytes_of(self, other: Self) -> Self {
        let mask = self.op().touch().mask | other.op().touch().mask;
        self.with(OpCode::plain(self.op().writes(), mask), self.span())
    }

    /// The same record by another thread.
    #[inline(always)]
    pub const fn with_thread(self, thread: u32) -> Self {
        Self(self.0 & !THREAD_MASK | (thread as u64) << THREAD_SHIFT & THREAD_MASK)
    }

    /// True if two records are equal, or differ only in their spans.
    #[inline(always)]
    pub const fn equals_but_for_span(self, other: Self) -> bool {
        (self.0 ^ other.0) & !SPAN_MASK == 0
    }

    /// True if another record represents this one of a thread: the same operation, instruction, block and epoch, by
    /// the block's threads or by those of the thread's warp.
    #[inline(always)]
    pub(crate) const fn is_among(self, other: Self) -> bool {
        let by_block = self.with(self.op(), Span::Block).with_thread(other.thread());
        other.0 == by_block.0
            || other.0 == by_block.with(self.op(), Span::Warp).0 && other.thread() / 32 == self.thread() / 32
    }

    /// True if two records have the same operation, span and site.
    #[inline(always)]
    pub const fn is_like(self, other: Self) -> bool {
        (self.0 ^ other.0) & (STATE_MASK | SITE_MASK) == 0
    }

    /// What a shadow word holds.
    #[inline]
    pub const fn content(self) -> Content {
        match self.state() {
            EMPTY => Content::Empty,
            CHAIN => Content::Chain(self.address()),
            LIST => Content::List(self.address()),
            BUSY => Content::Busy,
            state => {
                let n = state - FIRST_RECORD;
                Content::Record(RecordFields {
                    touch: OpCode(n / 4).touch(),
                    span: Span::ALL[(n % 4) as usize],
                    site: (self.0 >> SITE_SHIFT) as u16 & (SITE_VALUES - 1) as u16,
                    thread: self.thread() as u16,
                    uid: self.uid() as u32,
                    clock: self.clock() as u16,
                })
            }
        }
    }

    /// The fields of a record; `None` for a word that holds none.
    pub const fn fields(self) -> Option<RecordFields> {
        match self.content() {
            Content::Record(fields) => Some(fields),
            Content::Empty | Content::Chain(_) | Content::List(_) | Content::Busy => None,
        }
    }
}

impl RecordFields {
    /// The record; `None` if a field would overflow or the operation has no code.
    pub const fn pack(self) -> Option<Record> {
        let Some(op) = OpCode::of(self.touch) else {
            return None;
        };
        let Some(key) = Key::new(self.thread as u32, self.uid as u64, self.clock as u32) else {
            return None;
        };
        if self.site as u32 >= SITE_VALUES {
            return None;
        }
        Some(Record::new(op, self.span, SiteField::new(self.site), key))
    }
}

/// A uid and a clock as a number: later ones of a block are larger, and so are those of later
/// blocks. They fit their fields.
#[inline(always)]
pub(crate) const fn uid_and_clock(uid: u64, clock: u32) -> u64 {
    uid << UID_SHIFT | clock as u64
}

#[cfg(test)]
mod tests;
