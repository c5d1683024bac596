//! The host-visible memory of operations that the host has not waited for.

use std::ops::Range;

use gpurace_check::{Touched, Transfer};

use crate::host::limits::PAGE;

/// What one operation uses.
struct Used {
    operation: u64,
    /// Its bytes in page-locked memory.
    page_locked: Vec<Range<usize>>,
    /// If it is a transfer: its bytes in all host-visible memory.
    transfer: Option<(Transfer, Vec<Touched>)>,
}

/// What the operations use that the host has not waited for, in the order of their submission.
#[derive(Default)]
pub struct InUse(Vec<Used>);

impl InUse {
    /// Adds a launch that may access all bytes of these page-locked allocations.
    pub fn add_launch(&mut self, operation: u64, page_locked: Vec<Range<usize>>) {
        self.0.push(Used { operation, page_locked, transfer: None });
    }

    /// Adds a transfer that touches these bytes of host-visible memory.
    pub fn add_transfer(
        &mut self,
        transfer: Transfer,
        touched: Vec<Touched>,
        is_page_locked: impl Fn(&Touched) -> bool,
    ) {
        let of_side = |writes| {
            let side = touched.iter().filter(|touched| touched.writes == writes && is_page_locked(touched));
            side.map(|touched| touched.bytes.clone()).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
        };
        let page_locked = [of_side(false), of_side(true)].into_iter().flatten().collect();
        self.0.push(Used { operation: transfer.id, page_locked, transfer: Some((transfer, touched)) });
    }

    /// Forgets all operations but these, which are in the order of their submission.
    pub fn retain(&mut self, unwaited: &[u64]) {
        self.0.retain(|used| unwaited.binary_search(&used.operation).is_ok());
    }

    /// Forgets bytes that were freed.
    pub fn forget(&mut self, freed: &Range<usize>) {
        let stays = |bytes: &Range<usize>| bytes.end <= freed.start || freed.end <= bytes.start;
        for used in &mut self.0 {
            used.page_locked.retain(stays);
            if let Some((_, touched)) = &mut used.transfer {
                touched.retain(|touched| stays(&touched.bytes));
            }
        }
    }

    /// The transfers among the operations.
    pub fn transfers(&self) -> impl Iterator<Item = &(Transfer, Vec<Touched>)> {
        self.0.iter().filter_map(|used| used.transfer.as_ref())
    }

    /// The pages of page-locked memory that the operations use, each once, in the order of their addresses.
    pub fn pages(&self) -> Vec<Range<usize>> {
        let bytes = self.0.iter().flat_map(|used| &used.page_locked);
        let mut pages: Vec<_> =
            bytes.map(|bytes| bytes.start & !(PAGE - 1)..bytes.end.next_multiple_of(PAGE)).collect();
        pages.sort_unstable_by_key(|pages| pages.start);
        pages.dedup_by(|next, kept| {
            let joins = next.start <= kept.end;
            if joins {
                kept.end = kept.end.max(next.end);
            }
            joins
        });
        pages
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    fn transfer(id: u64) -> Transfer {
        Transfer { id, site_base: 0, stream: 0, settled: 0 }
    }

    fn touched(bytes: Range<usize>, writes: bool) -> Touched {
        Touched { bytes, writes, site: 0 }
    }

    #[test]
    fn pages_are_those_of_operations_that_are_not_over() {
        let mut in_use = InUse::default();
        in_use.add_launch(1, vec![0x1000..0x1800, 0x9000..0x9001]);
        // Rows of one side are one range. The other side is in managed memory.
        let rows = [touched(0x5010..0x5020, true), touched(0x7010..0x7020, true), touched(0..64, false)];
        in_use.add_transfer(transfer(3), rows.to_vec(), |touched| touched.writes);
        in_use.add_transfer(transfer(4), vec![touched(0x1f00..0x2100, false)], |_| true);
        assert_eq!(in_use.pages(), [0x1000..0x3000, 0x5000..0x8000, 0x9000..0xa000]);
        in_use.retain(&[2, 3]);
        assert!(in_use.pages().into_iter().eq(iter::once(0x5000..0x8000)));
        assert_eq!(in_use.transfers().map(|(transfer, _)| transfer.id).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn freed_bytes_are_in_use_no_more() {
        let mut in_use = InUse::default();
        let both = [touched(0x1000..0x1100, true), touched(0x3000..0x3100, false)];
        in_use.add_transfer(transfer(1), both.to_vec(), |_| true);
        in_use.forget(&(0x1000..0x2000));
        assert!(in_use.pages().into_iter().eq(iter::once(0x3000..0x4000)));
        assert!(in_use.transfers().all(|(_, touched)| touched[..] == both[1..]));
    }
}
