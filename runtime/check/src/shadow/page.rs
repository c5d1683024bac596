//! The uses of pages of global memory, for deferred reads.
//!
//! Each [`Page`] holds the launch that last wrote it, and the launch that last left reads of it in
//! a log. A reader first marks the page as read and then asks whether it was written, with the log
//! locked. A writer first marks the page as written and then asks whether it was read, and locks
//! each log. So one of the two sees the other. *Stretches* are larger pages that say the same of
//! all their pages as long as none of them is written: most reads ask one stretch.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::shadow::map::{ShadowMap, WordPlace};

/// Bytes of a page.
pub(crate) const PAGE: usize = 1 << 12;
/// Bytes of a stretch.
pub(crate) const STRETCH: usize = 1 << 16;

/// The uses of a page of global memory, or of a stretch.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Page {
    /// The [`mark`] of the latest launch that has written it; one less while the first write of
    /// that launch looks for reads.
    written: AtomicU64,
    /// The mark of the latest launch whose reads of it are in a log.
    read: AtomicU64,
}

/// The number of a launch in pages, by its first uid: even, and larger for later launches.
pub(crate) fn mark(first_uid: u64) -> u64 {
    (first_uid + 1) * 2
}

impl Page {
    /// Marks it as read by a launch. True if each launch that has written it is settled for all
    /// that run.
    #[inline]
    fn reads(&self, marks: &Marks) -> bool {
        if self.read.load(Ordering::SeqCst) < marks.own {
            self.read.fetch_max(marks.own, Ordering::SeqCst);
        }
        self.written.load(Ordering::SeqCst) < marks.unsettled - 1
    }

    /// True if this launch or a later one has marked it as written, and has met the reads of it.
    #[inline(always)]
    pub(crate) fn is_written(&self, marks: &Marks) -> bool {
        let written = self.written.load(Ordering::SeqCst);
        written >= marks.own && written.is_multiple_of(2)
    }

    /// True if reads of it may be in a log.
    fn was_read(&self, unsettled: u64) -> bool {
        self.read.load(Ordering::SeqCst) >= unsettled
    }
}

/// The numbers in pages ([`mark`]) of a launch, and of the first launch that is not settled for all that run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    own: u64,
    unsettled: u64,
}

impl Marks {
    /// The marks of a launch. Those with smaller first uids than `unsettled` are settled for all
    /// that run.
    pub(crate) fn new(first_uid: u64, unsettled: u64) -> Self {
        Self { own: mark(first_uid), unsettled: mark(unsettled) }
    }
}

impl ShadowMap {
    /// Marks all pages of some bytes as read by a launch. True if each launch that has written any
    /// of them is settled.
    #[inline]
    pub(crate) fn reads(&self, bytes: &Range<usize>, marks: &Marks) -> bool {
        let mut at = bytes.start;
        while at < bytes.end {
            let Some(place) = self.place(at) else { return false };
            let end = (at & !(STRETCH - 1)) + STRETCH;
            if !place.stretch.reads(marks) && !self.pages_read(&(at..end.min(bytes.end)), marks) {
                return false;
            }
            at = end;
        }
        true
    }

    /// The same for the whole stretch of an address.
    #[inline]
    pub(crate) fn reads_stretch(&self, address: usize, marks: &Marks) -> bool {
        self.place(address).is_some_and(|place| place.stretch.reads(marks))
    }

    /// The same page by page.
    #[cold]
    fn pages_read(&self, bytes: &Range<usize>, marks: &Marks) -> bool {
        let first = bytes.start & !(PAGE - 1);
        (first..bytes.end).step_by(PAGE).all(|at| self.place(at).is_some_and(|place| place.page.reads(marks)))
    }

    /// True if reads of some bytes may be in a log.
    pub(crate) fn was_read(&self, bytes: &Range<usize>, unsettled: u64) -> bool {
        let first = bytes.start & !(PAGE - 1);
        let was = |place: WordPlace<'_>| place.stretch.was_read(unsettled) || place.page.was_read(unsettled);
        (first..bytes.end).step_by(PAGE).any(|at| self.existing_place(at).is_some_and(was))
    }
}

impl WordPlace<'_> {
    /// Notes that a launch is about to write a word of global memory, for the first time as far as
    /// its pages tell. `record` makes records of the reads of some bytes that are in logs.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_write(&self, marks: &Marks, address: usize, mut record: impl FnMut(Range<usize>)) {
        self.page.written.fetch_max(marks.own - 1, Ordering::SeqCst);
        for (page, bytes) in [(self.stretch, STRETCH), (self.page, PAGE)] {
            if page.is_written(marks) {
                continue;
            }
            page.written.fetch_max(marks.own - 1, Ordering::SeqCst);
            if page.was_read(marks.unsettled) {
                let start = address & !(bytes - 1);
                record(start..start + bytes);
            }
            page.written.fetch_max(marks.own, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_written_once_its_reads_were_looked_for() {
        let [first, second] = [Marks::new(3, 3), Marks::new(7, 3)];
        let page = Page::default();
        assert!(page.reads(&first) && page.was_read(first.unsettled));
        assert!(!page.is_written(&first));
        // The later launch looks for reads, and the earlier one waits for that.
        page.written.fetch_max(second.own - 1, Ordering::SeqCst);
        assert!(!page.reads(&first) && !page.reads(&second));
        assert!(!page.is_written(&first) && !page.is_written(&second));
        page.written.fetch_max(second.own, Ordering::SeqCst);
        assert!(page.is_written(&first) && page.is_written(&second));
        assert!(!page.reads(&first));
        // Once both are settled for all that run, the page counts as never written.
        let third = Marks::new(9, 9);
        assert!(page.reads(&third) && !page.is_written(&third));
    }
}
