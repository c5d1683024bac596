//! The sites of transfers: the host program's calls that copy or fill.

use std::collections::HashMap;

use gpurace_check::Side;

use crate::host::stack::Callers;
use crate::session::watch;

/// Number of the first site of a transfer. Each call has two: for its reads and for its writes.
pub const FIRST: u32 = 1 << 31;

/// The calls that made the checked transfers so far.
#[derive(Default)]
pub struct TransferCalls {
    list: Vec<Callers>,
    numbers: HashMap<Callers, u32>,
}

/// True if this side of a race is a transfer.
pub fn is_one(side: &Side) -> bool {
    (FIRST..watch::FIRST_SITE).contains(&side.site)
}

impl TransferCalls {
    /// The calls that led to the transfer with this site.
    pub fn callers(&self, site: u32) -> Option<Callers> {
        self.list.get(site.checked_sub(FIRST)? as usize / 2).copied()
    }

    /// The first site, counted from [`FIRST`], of the call with these callers.
    pub fn site_of(&mut self, callers: Callers) -> u32 {
        let call = *self.numbers.entry(callers).or_insert_with(|| {
            self.list.push(callers);
            self.list.len() as u32 - 1
        });
        2 * call
    }
}
