//! The function that the program wants to be called for each finding.
//!
//! A finding waits until the function of CUDA that found it returns to the program. No lock is held then, so the
//! program's function may call CUDA and gpurace.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Session;

/// The program's function: it gets the text of a finding, and what the program passed with the function.
pub type OnFinding = unsafe extern "C" fn(text: *const c_char, data: *mut c_void);

/// A function of the program, and what it is called with.
#[derive(Clone, Copy)]
struct Registered {
    call: OnFinding,
    data: *mut c_void,
}

// SAFETY: the program's function is called by the thread that found something, as the header says. What `data` points
// to is the program's affair.
unsafe impl Send for Registered {}

/// The function, and the findings that it has not been told of.
#[derive(Default)]
pub(super) struct Callback {
    registered: Mutex<Option<Registered>>,
    /// True while a function is registered.
    wanted: AtomicBool,
    waiting: Mutex<Vec<String>>,
    /// True while findings wait.
    has_waiting: AtomicBool,
}

impl Session {
    /// From now on, calls this function for each finding. `None` calls no function any more.
    ///
    /// # Safety
    /// The function may be called from any thread of the program, with a text that lives as long as the call, and
    /// `data`.
    pub unsafe fn on_finding(&self, call: Option<OnFinding>, data: *mut c_void) {
        self.callback.wanted.store(call.is_some(), Ordering::Relaxed);
        *self.callback.registered.lock() = call.map(|call| Registered { call, data });
    }

    /// Keeps a finding for the program's function, if it wants one.
    pub(super) fn keep_for_callback(&self, text: impl FnOnce() -> String) {
        if self.callback.wanted.load(Ordering::Relaxed) {
            self.callback.waiting.lock().push(text());
            self.callback.has_waiting.store(true, Ordering::Release);
        }
    }

    /// Calls the program's function for the findings that wait. No lock may be held.
    pub fn tell(&self) {
        if !self.callback.has_waiting.swap(false, Ordering::Acquire) {
            return;
        }
        let texts = std::mem::take(&mut *self.callback.waiting.lock());
        for text in texts {
            // The function may register another one.
            let Some(Registered { call, data }) = *self.callback.registered.lock() else { return };
            // Source lines may hold any byte.
            let text = CString::new(text.replace('\0', "")).unwrap_or_default();
            // SAFETY: the contract of `on_finding`.
            unsafe { call(text.as_ptr(), data) };
        }
    }
}
