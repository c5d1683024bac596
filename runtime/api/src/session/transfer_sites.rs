//! The sites of transfers: the host program's calls that copy or fill.

use std::collections::HashMap;

use gpurace_check::Side;

use crate::host::stack::Callers;
use crate::session::watch;

/// Number of the first site of a transfer. Each call has two: for its reads and for its writes.
pub const FIRST: u32 = 1 << 31;

/// A call that made a checked transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransferCall {
    /// The calls that led to it.
    pub callers: Callers,
    /// The function, if it is one of a library beside the runtime.
    pub library_function: Option<&'static str>,
}

/// The calls that made the checked transfers so far.
#[derive(Default)]
pub struct TransferCalls {
    list: Vec<TransferCall>,
    numbers: HashMap<TransferCall, u32>,
}

/// True if this side of a race is a transfer.
pub fn is_one(side: &Side) -> bool {
    (FIRST..watch::FIRST_SITE).contains(&side.site)
}

impl TransferCalls {
    /// The call that made the transfer with this site.
    pub fn call(&self, site: u32) -> Option<TransferCall> {
        self.list.get(site.checked_sub(FIRST)? as usize / 2).copied()
    }

    /// The first site, counted from [`FIRST`], of the call with these callers.
    pub fn site_of(&mut self, callers: Callers, library_function: Option<&'static str>) -> u32 {
        let made = TransferCall { callers, library_function };
        let call = *self.numbers.entry(made).or_insert_with(|| {
            self.list.push(made);
            self.list.len() as u32 - 1
        });
        2 * call
    }
}
