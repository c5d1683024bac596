//! The checks of batches: accesses that the threads of a block hand over together.

use std::ops::Range;
use std::sync::Arc;

use gpurace_abi::ablation::{self, Mechanism};

use super::Block;
use crate::batch::deferred::{BlockThen, DeferralMemory, Deferrer};
use crate::batch::elements::ElementRows;
use crate::batch::interval::{ComparedRows, IntervalCheck};
use crate::batch::rows::RowMask;
use crate::batch::sites::SiteEntry;
use crate::batch::{Batch, BatchChecks, Value, WholeAccess, check};
use crate::model::access::GRANULE;
use crate::model::record::Key;
use crate::order::view::BlockView;
use crate::run::checker::Inner;
use crate::run::launch::Launch;
use crate::shadow::fast::WordChecks;
use crate::shadow::page;
use crate::shadow::process::Shadow;
use crate::shadow::region::{self, RegionRecord};
use crate::shadow::word::load;

/// How many rows are checked together: as many as a mask has.
const ROWS_AT_ONCE: usize = RowMask::BITS as usize;

impl BatchChecks for Block {
    #[inline(always)]
    fn view(&self) -> &BlockView {
        &self.view
    }

    #[inline(always)]
    fn shadow(&self) -> &Shadow {
        &self.inner.shadow
    }

    #[inline(always)]
    fn entry(&mut self, site: u32) -> SiteEntry {
        Block::entry(self, site)
    }

    fn is_plain(&self) -> bool {
        let order = &self.view.order;
        let alike = order.max_clock() == order.floor() && order.key(0) != Key::NONE;
        alike && !self.view.names_each_thread && !self.view.transfers
    }

    fn may_end_sync(&self, bytes: &Range<usize>) -> bool {
        self.inner.syncvars.may_have_some(bytes)
    }

    #[inline(always)]
    fn count(&mut self, accesses: u64) {
        self.checks += accesses;
    }

    #[inline(always)]
    fn begins_access(&mut self, address: usize) -> bool {
        self.begins_access_to(address)
    }

    #[inline(always)]
    fn check_region(&mut self, record: &RegionRecord, address: usize, shared: bool) -> bool {
        if !shared && record.writes() {
            self.before_write(address);
        }
        if !ablation::is_on(Mechanism::Regions)
            || record.writes() && self.may_end_sync(&region::bytes_at(address))
        {
            return false;
        }
        let Some(place) = self.inner.shadow.map.place(address) else { return true };
        !self.view.is_open(load(place.region), shared)
            && self.shadow.check_region(&self.view, place.region, record, shared)
    }

    fn check_together(&mut self, records: &[RegionRecord], address: usize, shared: bool) -> bool {
        let writes = records.iter().any(RegionRecord::writes);
        if !ablation::is_on(Mechanism::Regions) || writes && self.may_end_sync(&region::bytes_at(address)) {
            return false;
        }
        if !shared && writes {
            self.before_write(address);
        }
        let Some(place) = self.inner.shadow.map.place(address) else { return true };
        self.shadow.check_together(&self.view, place.region, records, shared)
    }

    #[inline(always)]
    fn check_word(&mut self, checks: &WordChecks, thread: u32, address: usize, shared: bool) -> bool {
        let Some(place) = self.inner.shadow.map.place(address) else { return true };
        let begins = checks.writes()
            && (!shared && !place.page.is_written(&self.launch.marks)
                || self.may_end_sync(&(address..address + GRANULE)));
        !begins && checks.check(&self.view, place, thread, shared)
    }

    #[inline(always)]
    fn check_one(&mut self, a: &WholeAccess<'_>) {
        if let Value::Row(_) | Value::Gathered(_) = a.value {
            self.inner.syncvars.overwrite(a.address, a.size as usize);
        }
        self.check_small(a.thread, a.address, a.size as u32, a.site, a.entry, a.op, a.value);
    }
}

impl Block {
    /// Checks batches of accesses between two barriers, in an order that keeps each thread's own.
    /// They have happened already. Accesses to `local` memory are not checked.
    ///
    /// From the last barrier of the block to the next, a thread whose access it is must synchronise by these barriers
    /// alone.
    pub fn batches(&mut self, batches: &[Batch<'_>], local: &Range<usize>) {
        self.view.between_barriers(true);
        let beside = self.view.transfers;
        self.view.transfers = beside && batches.iter().any(|batch| self.launch.may_meet_transfers(batch));
        for some in batches.chunk_by(|a, b| !a.is_gathered() && !b.is_gathered()) {
            match some {
                [batch] if batch.is_gathered() => self.gathered(batch, local),
                rows => {
                    for from in (0..rows.len()).step_by(ROWS_AT_ONCE) {
                        self.rows(&rows[..rows.len().min(from + ROWS_AT_ONCE)], from, local);
                    }
                }
            }
        }
        self.view.transfers = beside;
        self.view.between_barriers(false);
    }

    /// Checks rows from number `from` on, at most [`ROWS_AT_ONCE`]. Those before them are checked.
    fn rows(&mut self, rows: &[Batch<'_>], from: usize, local: &Range<usize>) {
        let (none, shared) = self.kinds(&rows[from..]);
        if shared == 0 {
            return self.check_rows(rows, from, local, none, 0, 0);
        }
        let mut known = 0;
        if self.may_repeat() {
            match self.intervals.meet(&rows[from..], shared) {
                IntervalCheck::Known => known = shared,
                IntervalCheck::After(compared) => self.record_rows(&compared),
                IntervalCheck::New => {}
            }
        } else {
            self.record_compared();
        }
        self.check_rows(rows, from, local, none, shared, known);
        self.intervals.done(&rows[from..], shared);
    }

    /// Checks all rows from number `from` on but `none` and those that are `known`. Rows that are not
    /// `shared` may be deferred. In masks, bit 0 is row `from`.
    fn check_rows(
        &mut self,
        rows: &[Batch<'_>],
        from: usize,
        local: &Range<usize>,
        mut none: RowMask,
        shared: RowMask,
        known: RowMask,
    ) {
        let (mut reads_end, mut elements) = (0, ElementRows::default());
        let those = &rows[from..];
        for at in 0..those.len() {
            if at == reads_end {
                // The reads before the next write: it is to meet them.
                let to = (at..those.len()).find(|&i| those[i].writes).unwrap_or(those.len());
                let reads = (at..to).fold(0, |reads, i| reads | 1 << i);
                // Where a write that is not checked yet comes before, a read would be deferred in vain.
                let some = reads & !(none | shared);
                let may = |i: &usize| {
                    let row = &those[*i];
                    some >> i & 1 != 0 && self.may_defer(row.site) && !elements.may_meet(rows, row)
                };
                let reads = (at..to).filter(may).fold(0, |reads, i| reads | 1 << i);
                none |= self.defer_rows(those, local, reads);
                reads_end = to + 1;
            }
            if none >> at & 1 != 0 {
                continue;
            }
            let is_known = known >> at & 1 != 0;
            let until = &rows[..=from + at];
            match is_known.then(|| self.intervals.pass(at, &those[at])).flatten() {
                Some(accesses) => self.checks += accesses,
                None if elements.add(until) => {}
                None => {
                    elements.check(self, rows, local);
                    if !elements.add(until) {
                        check(self, until, local);
                    }
                }
            }
        }
        elements.check(self, rows, local);
    }

    /// The rows that need no check, and those of the block's own memory by their first access:
    /// mostly all accesses of a row are to one kind of memory.
    fn kinds(&mut self, rows: &[Batch<'_>]) -> (RowMask, RowMask) {
        let (mut none, mut shared) = (0, 0);
        for (i, row) in rows.iter().enumerate() {
            let first = row.addresses.first().filter(|_| !self.entry(row.site).is_proved());
            none |= RowMask::from(first.is_none()) << i;
            shared |= RowMask::from(first.is_some_and(|first| self.memory.own.contains(&first))) << i;
        }
        (none, shared)
    }

    /// True if the accesses between two barriers alone decide what happens between them.
    fn may_repeat(&self) -> bool {
        ablation::is_on(Mechanism::RepeatedIntervals)
            && self.is_plain()
            && !self.view.copies
            && !self.sync.in_own_memory
            && self.benign.is_empty()
    }

    /// Makes records of accesses that were only compared. They are counted already.
    #[cold]
    fn record_rows(&mut self, compared: &ComparedRows) {
        let checks = self.checks;
        for rows in compared.steps() {
            self.check_rows(&rows, 0, &(0..0), 0, !0, 0);
        }
        self.checks = checks;
    }

    /// Notes that shared memory is about to be accessed other than by rows of it alone.
    #[cold]
    pub(super) fn record_compared(&mut self) {
        if let Some(compared) = self.intervals.end_following() {
            self.record_rows(&compared);
        }
    }

    /// Checks gathered accesses.
    fn gathered(&mut self, batch: &Batch<'_>, local: &Range<usize>) {
        let may_defer = !batch.writes && self.may_defer(batch.site);
        match may_defer.then(|| self.deferrer(local).defer_gathered(batch)).flatten() {
            Some(checks) => self.checks += checks,
            None => check(self, std::slice::from_ref(batch), local),
        }
    }

    /// Defers the reads of `some` rows, and returns those that were deferred.
    fn defer_rows(&mut self, rows: &[Batch<'_>], local: &Range<usize>, some: RowMask) -> RowMask {
        if some == 0 {
            return 0;
        }
        let (deferred, checks) = self.deferrer(local).defer_rows(rows, some);
        self.checks += checks;
        deferred
    }

    /// True if reads by an instruction may be deferred.
    fn may_defer(&mut self, site: u32) -> bool {
        let order = &self.view.order;
        let plain = self.is_plain() && !self.view.copies && !order.has_past() && !order.knows_others();
        plain && self.launch.defers && self.entry(site).may_defer()
    }

    /// What decides if reads of this block, beside those of `local` memory, are deferred.
    fn deferrer<'a>(&'a mut self, local: &'a Range<usize>) -> Deferrer<'a, Launch> {
        let Self { inner, launch, view, memory, log, .. } = self;
        let others = [local, &memory.own];
        Deferrer {
            log,
            logs: &inner.logs,
            launch,
            block: BlockThen { index: view.index, clock: view.order.floor() },
            memory: DeferralMemory { map: &inner.shadow.map, marks: &launch.marks, others },
        }
    }
}

/// Makes records of the deferred reads that may be of some bytes, see
/// [`ReadLogs::record`](crate::batch::deferred::ReadLogs::record).
pub(crate) fn record_reads(inner: &Inner, bytes: &Range<usize>, settled: u64, written: Option<Range<usize>>) {
    // One block stands in for all that made the reads.
    let mut late: Option<Block> = None;
    inner.logs.record(bytes, settled, written, |launch: &Arc<Launch>, then, batch| {
        let late = late.get_or_insert_with(|| Block::begin(launch, then.index, 0..0));
        late.view.late = true;
        // The reads are counted already.
        late.checks = 0;
        late.restart(launch, then.index, 0..0);
        late.view.order.set_clock(then.clock);
        late.view.between_barriers(true);
        check(late, std::slice::from_ref(batch), &(0..0));
    });
    if let Some(mut late) = late {
        late.checks = 0;
        late.end();
    }
}

impl Inner {
    /// Makes records of the deferred reads of some bytes.
    pub(crate) fn record_reads(&self, bytes: &Range<usize>) {
        let settled = self.settled_for_all();
        if self.shadow.map.was_read(bytes, page::mark(settled)) {
            record_reads(self, bytes, settled, None);
        }
    }
}
