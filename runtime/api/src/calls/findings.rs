//! `gpurace/findings.h`: what the program may ask of the checker while it runs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::calls::start::process;
use crate::host::edge::guard;
use crate::host::message;
use crate::program::named_regions::EnteredBy;
use crate::session::callback::OnFinding;
use crate::session::{Session, finish};

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
        // SAFETY: the caller's.
        let name = unsafe { text_of(name) };
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

/// `gpurace_on_finding` of `gpurace/findings.h`: calls a function for each new finding.
///
/// # Safety
/// As the header says: the function may be called from any thread, until another one takes its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_call_on_finding(call: Option<OnFinding>, data: *mut c_void) {
    // SAFETY: the caller's.
    guard("gpurace_on_finding", (), || unsafe { process().session.on_finding(call, data) });
}

/// `gpurace_flush` of `gpurace/findings.h`: writes the report so far.
#[unsafe(no_mangle)]
pub extern "C" fn gpurace_write_report() {
    guard("gpurace_flush", (), || finish::write_so_far(&process().session));
}

/// `gpurace_expect_begin` of `gpurace/findings.h`: the program expects races.
#[unsafe(no_mangle)]
pub extern "C" fn gpurace_begin_expecting() {
    guard("gpurace_expect_begin", (), || process().session.begin_expecting());
}

/// `gpurace_expect_end` of `gpurace/findings.h`: the number of races since [`gpurace_begin_expecting`].
#[unsafe(no_mangle)]
pub extern "C" fn gpurace_end_expecting() -> usize {
    guard("gpurace_expect_end", 0, || process().session.end_expecting())
}

/// `gpurace_options` of `gpurace/findings.h`: changes options. Returns 0, or 1 if one is wrong.
///
/// # Safety
/// `text` is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_change_options(text: *const c_char) -> c_int {
    // SAFETY: the caller's.
    unsafe { change("gpurace_options", text, Session::change_options) }
}

/// `gpurace_suppress` of `gpurace/findings.h`: adds suppressions. Returns 0, or 1 if a line is wrong.
///
/// # Safety
/// `lines` is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpurace_add_suppressions(lines: *const c_char) -> c_int {
    // SAFETY: the caller's.
    unsafe { change("gpurace_suppress", lines, Session::suppress) }
}

/// Changes what the text says. Prints an error if it is wrong.
///
/// # Safety
/// `text` is null or ends with a zero byte.
unsafe fn change(
    name: &str,
    text: *const c_char,
    how: impl FnOnce(&Session, &str) -> Result<(), String>,
) -> c_int {
    guard(name, 1, || {
        // SAFETY: the caller's.
        let text = unsafe { text_of(text) };
        how(&process().session, &text).map_or_else(
            |error| {
                message::error(&format!("{name}: {error}"));
                1
            },
            |()| 0,
        )
    })
}

/// A text of the program.
///
/// # Safety
/// `text` is null or ends with a zero byte, and outlives the result.
unsafe fn text_of<'a>(text: *const c_char) -> Cow<'a, str> {
    match text.is_null() {
        true => "".into(),
        // SAFETY: the caller's.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy(),
    }
}
