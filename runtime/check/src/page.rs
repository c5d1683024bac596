//! What pages of global memory have been used for, so that reads may wait ([`crate::deferred`]).
//!
//! Each [`Page`] says which launch last wrote it, and which one last left reads of it in a log. Who reads
//! says so first and looks whether the page was written then, with the log locked; who writes says so
//! first and looks whether the page was read then, and locks each log. So one of the two sees the other. Larger
//! pages, *stretches*, say the same of all their pages, as long as none of them is written: most reads look at one of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::State;
use crate::checker::Inner;
use crate::common::Sites;
use crate::region;
use crate::shadow::{Place, Shadow};

/// Bytes of a page.
pub(crate) const PAGE: usize = 1 << 12;
/// Bytes of a stretch.
pub(crate) const STRETCH: usize = 1 << 16;

/// What a page of global memory, or a stretch, has been used for.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Page {
    /// The [`mark`] of the latest launch that has written it; one less while that launch's first write looks for reads.
    written: AtomicU64,
    /// The mark of the latest launch whose reads of it are in a log.
    read: AtomicU64,
}

/// What pages call a launch with this first uid: an even number, larger for later ones.
pub(crate) fn mark(first_uid: u64) -> u64 {
    (first_uid + 1) * 2
}

impl Page {
    /// Says that a launch reads it, and tells whether no launch has written it that is not settled for all
    /// that run.
    #[inline]
    fn reads(&self, marks: &Marks) -> bool {
        if self.read.load(Ordering::SeqCst) < marks.own {
            self.read.fetch_max(marks.own, Ordering::SeqCst);
        }
        self.written.load(Ordering::SeqCst) < marks.unsettled - 1
    }

    /// Whether a launch, or a later one, has said already that it writes it, and has met what was read. One that still looks for
    /// reads has not.
    #[inline(always)]
    pub(crate) fn is_written(&self, marks: &Marks) -> bool {
        let written = self.written.load(Ordering::SeqCst);
        written >= marks.own && written % 2 == 0
    }

    /// Whether reads of it may be in a log.
    fn was_read(&self, unsettled: u64) -> bool {
        self.read.load(Ordering::SeqCst) >= unsettled
    }
}

/// What pages call a launch, and the first one that is not settled for all that run beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    own: u64,
    unsettled: u64,
}

impl Marks {
    /// Of a launch; those with smaller first uids than `unsettled` are settled for all that run.
    pub(crate) fn new(first_uid: u64, unsettled: u64) -> Self {
        Self { own: mark(first_uid), unsettled: mark(unsettled) }
    }
}

impl Shadow {
    /// Says of all pages of some bytes that a launch reads them. Whether no launch has written any of them that is
    /// not settled.
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

    /// The same of the stretch of an address, where none of its pages was written.
    #[inline]
    pub(crate) fn reads_stretch(&self, address: usize, marks: &Marks) -> bool {
        self.place(address).is_some_and(|place| place.stretch.reads(marks))
    }

    /// The same of each page.
    #[cold]
    fn pages_read(&self, bytes: &Range<usize>, marks: &Marks) -> bool {
        let first = bytes.start & !(PAGE - 1);
        (first..bytes.end).step_by(PAGE).all(|at| self.place(at).is_some_and(|place| place.page.reads(marks)))
    }

    /// Whether reads of some bytes may be in a log.
    pub(crate) fn was_read(&self, bytes: &Range<usize>, unsettled: u64) -> bool {
        let first = bytes.start & !(PAGE - 1);
        let was = |place: Place<'_>| place.stretch.was_read(unsettled) || place.page.was_read(unsettled);
        (first..bytes.end).step_by(PAGE).any(|at| self.existing_place(at).is_some_and(was))
    }
}

impl State {
    /// A word of global memory, at this place, is about to be written.
    #[inline(always)]
    pub(crate) fn before_write(&mut self, inner: &Inner, place: Place<'_>, address: usize) {
        if !place.page.is_written(&self.launch.marks) {
            self.catch_up(inner, place, address);
        }
    }

    /// Before the launch writes a page for the first time: makes records of what was read of it.
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self, inner: &Inner, place: Place<'_>, address: usize) {
        let around = |bytes: usize| address & !(bytes - 1)..(address & !(bytes - 1)) + bytes;
        let Marks { own, unsettled } = self.launch.marks;
        let Place { page, stretch, .. } = place;
        page.written.fetch_max(own - 1, Ordering::SeqCst);
        for (of, bytes) in [(stretch, STRETCH), (page, PAGE)] {
            if of.is_written(&self.launch.marks) {
                continue;
            }
            of.written.fetch_max(own - 1, Ordering::SeqCst);
            if of.was_read(unsettled) {
                inner.logs.record(&around(bytes), inner.settled_for_all(), Some(around(region::BYTES)));
                // Some are looked at at once now.
                self.sites = Sites::new();
            }
            of.written.fetch_max(own, Ordering::SeqCst);
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
        // The later launch looks for reads: the earlier one does not go on without it.
        page.written.fetch_max(second.own - 1, Ordering::SeqCst);
        assert!(!page.reads(&first) && !page.reads(&second));
        assert!(!page.is_written(&first) && !page.is_written(&second));
        page.written.fetch_max(second.own, Ordering::SeqCst);
        assert!(page.is_written(&first) && page.is_written(&second));
        assert!(!page.reads(&first));
        // Once both are settled for all that run it is as if it was never written.
        let third = Marks::new(9, 9);
        assert!(page.reads(&third) && !page.is_written(&third));
    }
}
