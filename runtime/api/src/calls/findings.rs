//! `gpurace/findings.h`: what the program may ask of the checker while it runs.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use crate::calls::start::process;
use crate::host::edge::guard;
use crate::program::named_regions::EnteredBy;

thread_local! {
    /// The text of the last call on this thread.
    static TEXT: RefCell<CString> = RefCell::default();
}

/// `gpurace_recent_findings` of `gpurace/findings.h`: the number of findings since the last call. The text
/// stays until the thread's next call.
///
/// # Safety
/// `text` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_recent_findings(text: *mut *const c_char) -> usize {
    guard("gpurace_recent_findings", 0, || {
        let (count, found) = process().session.recent_findings();
        if !text.is_null() {
            // Source lines may hold any byte.
            let found = CString::new(found.replace('\0', "")).unwrap_or_default();
            let kept = TEXT.with_borrow_mut(|kept| {
                *kept = found;
                kept.as_ptr()
            });
            // SAFETY: not null, hence valid by the contract above.
            unsafe { text.write(kept) };
        }
        count
    })
}

/// `gpurace_enter_region` of `gpurace/findings.h`: launches of this thread belong to a named region
/// until [`gpurace_leave_region`].
///
/// # Safety
/// `name` is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_enter_region(name: *const c_char) {
    guard("gpurace_enter_region", (), || {
        let name = match name.is_null() {
            true => "".into(),
            // SAFETY: the caller's.
            false => unsafe { CStr::from_ptr(name) }.to_string_lossy(),
        };
        process().program().named_regions.enter(EnteredBy::Gpurace, &name);
    });
}

/// `gpurace_leave_region` of `gpurace/findings.h`: leaves the innermost named region of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn gpurace_leave_region() {
    guard("gpurace_leave_region", (), || {
        process().program().named_regions.leave(EnteredBy::Gpurace);
    });
}

/// `gpurace_set_exitcode` of `gpurace/findings.h`: the exit status after a finding, in place of the option
/// `exitcode`.
#[unsafe(no_mangle)]
pub extern "C" fn gpurace_set_exitcode(status: c_int) {
    guard("gpurace_set_exitcode", (), || {
        // Only the low byte of a status reaches the parent.
        process().session.set_exitcode((status & 0xff) as u8);
    });
}
