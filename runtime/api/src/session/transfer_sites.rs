//! The sites of transfers: the host program's calls that copy or fill.

use std::collections::HashMap;

use gpurace_check::Side;
use parking_lot::Mutex;

use crate::host::stack::{self, Callers};
use crate::program::host_lines::{self, HostPosition};
use crate::session::watch;

/// Number of the first site of a transfer. Each call has two: for its reads and for its writes.
pub const FIRST: u32 = 1 << 31;

/// The checked transfers so far.
static CALLS: Mutex<Option<TransferCalls>> = Mutex::new(None);

#[derive(Default)]
struct TransferCalls {
    list: Vec<Callers>,
    numbers: HashMap<Callers, u32>,
}

/// True if this side of a race is a transfer.
pub fn is_one(side: &Side) -> bool {
    (FIRST..watch::FIRST_SITE).contains(&side.site)
}

/// The position of the call that this site belongs to.
pub fn position(site: u32) -> Option<HostPosition> {
    let call = site.checked_sub(FIRST)? as usize / 2;
    let callers = *CALLS.lock().as_ref()?.list.get(call)?;
    host_lines::position_in_user_code(&callers)
}

/// The first site, counted from [`FIRST`], of the call that is on the stack.
pub fn of_this_call() -> u32 {
    let callers = stack::callers();
    let mut calls = CALLS.lock();
    let TransferCalls { list, numbers } = calls.get_or_insert_default();
    let call = *numbers.entry(callers).or_insert_with(|| {
        list.push(callers);
        list.len() as u32 - 1
    });
    2 * call
}
