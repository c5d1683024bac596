//! A call as an operation on its handle's stream.

use std::ffi::{CStr, c_void};
use std::ptr::with_exposed_provenance_mut;

use gpurace_library::export::say;
use gpurace_library::operation;
use gpurace_library::touched::Touches;

use crate::registry::{HANDLES, Raw, Settings};
use crate::status::{Outcome, Status, valid};
use crate::types::{Number, Type, Wide, touch};

/// What each call that takes a buffer asks for, in bytes. Nothing is ever stored there.
pub const BUFFER: usize = 256;

/// A call of an exported function.
#[derive(Clone, Copy)]
pub struct Call {
    name: &'static CStr,
    settings: Settings,
}

/// A scalar that is passed by address.
#[derive(Clone, Copy, Debug)]
pub enum Param {
    /// On the host: its value at the time of the call.
    Value(Wide),
    /// In the device's memory: its value when the operation runs.
    At(usize, Type),
}

impl Param {
    /// The value.
    ///
    /// # Safety
    /// The operation runs.
    pub unsafe fn get<S: Number>(self) -> S {
        S::of(match self {
            Self::Value(value) => value,
            // SAFETY: the runtime has checked the address.
            Self::At(at, ty) => unsafe { ty.read(at) },
        })
    }

    /// Names what is read of the device's memory.
    pub fn touch(self, touches: &mut Touches) {
        if let Self::At(at, ty) = self {
            touch(touches, at, ty.size(), false);
        }
    }

    /// True if it is known to have this value.
    pub fn is(self, number: f64) -> bool {
        matches!(self, Self::Value(value) if value == Wide::from(number))
    }
}

impl Call {
    /// A call of a function with a handle.
    ///
    /// # Errors
    /// `CUSPARSE_STATUS_NOT_INITIALIZED` if the handle is none.
    pub fn new(name: &'static CStr, handle: Raw) -> Outcome<Self> {
        Ok(Self { name, settings: HANDLES.get(handle)? })
    }

    /// A scalar parameter.
    ///
    /// # Errors
    /// `CUSPARSE_STATUS_INVALID_VALUE` for a null pointer.
    pub fn param(&self, at: usize, ty: Type) -> Outcome<Param> {
        valid(at != 0)?;
        Ok(match self.settings.pointer_mode {
            1 => Param::At(at, ty),
            // SAFETY: the program passes a valid pointer.
            _ => Param::Value(unsafe { ty.read(at) }),
        })
    }

    /// True if results are in the device's memory.
    pub fn results_on_device(&self) -> bool {
        self.settings.pointer_mode == 1
    }

    /// Submits an operation. `touched` names the bytes that it accesses.
    ///
    /// # Errors
    /// The runtime's.
    pub fn submit(&self, touched: impl Fn(&mut Touches) + 'static, runs: impl Fn() + 'static) -> Outcome {
        self.submit_or_wait(false, touched, runs)
    }

    /// As [`Self::submit`]. If `waits`, the host waits for the end.
    ///
    /// # Errors
    /// The runtime's.
    pub fn submit_or_wait(
        &self,
        waits: bool,
        touched: impl Fn(&mut Touches) + 'static,
        runs: impl Fn() + 'static,
    ) -> Outcome {
        let stream = with_exposed_provenance_mut::<c_void>(self.settings.stream);
        let touches = move |mut touches| touched(&mut touches);
        operation::submit(self.name, stream, waits, touches, runs).map_err(Status::of_runtime)
    }

    /// Says that this call has no counterpart here, and why.
    pub fn refuse(&self, what: &str) -> Status {
        say(self.name, what);
        Status::NOT_SUPPORTED
    }
}

/// Names a call's buffer, if it has one: two calls that share it must not run at once.
pub fn touch_buffer(touches: &mut Touches, buffer: usize) {
    if buffer != 0 {
        touch(touches, buffer, BUFFER, true);
    }
}
