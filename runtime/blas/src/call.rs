//! A call as an operation on its handle's stream.

use std::ffi::CStr;

use gpurace_library::export::say;
use gpurace_library::operation;

use crate::handle::{HANDLES, RawHandle, Settings};
use crate::scalar::Scalar;
use crate::status::{Outcome, Status, valid};
use crate::touched::Touches;

/// A call of an exported function.
#[derive(Clone, Copy)]
pub struct Call {
    /// The function.
    pub name: &'static CStr,
    /// The settings of its handle.
    pub settings: Settings,
}

/// A scalar that is passed by address.
#[derive(Clone, Copy, Debug)]
pub enum Param<T> {
    /// On the host: its value at the time of the call.
    Value(T),
    /// In the device's memory: its value when the operation runs.
    At(*const T),
}

impl<T: Copy> Param<T> {
    /// The value.
    ///
    /// # Safety
    /// The operation runs or is about to.
    pub unsafe fn get(&self) -> T {
        match *self {
            Self::Value(value) => value,
            // SAFETY: the runtime has checked the address.
            Self::At(at) => unsafe { at.read_unaligned() },
        }
    }

    /// Adds what is read of the device's memory.
    pub fn touch(&self, touches: &mut Touches) {
        if let Self::At(at) = *self {
            touches.elements(at, 1, false);
        }
    }
}

impl<T: Scalar> Param<T> {
    /// True if the value is known to be 0, so that what it multiplies is not read.
    pub fn is_zero(&self) -> bool {
        match *self {
            Self::Value(value) => value == T::ZERO,
            // The address may be no address: it is checked after this.
            Self::At(_) => false,
        }
    }
}

impl Call {
    /// True if scalars are in the device's memory.
    pub fn scalars_on_device(&self) -> bool {
        self.settings.pointer_mode == 1
    }

    /// A scalar parameter.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for a null pointer.
    pub fn param<T: Copy>(&self, at: *const T) -> Outcome<Param<T>> {
        valid(!at.is_null())?;
        Ok(match self.scalars_on_device() {
            true => Param::At(at),
            // SAFETY: the program passes a valid pointer.
            false => Param::Value(unsafe { at.read_unaligned() }),
        })
    }

    /// Submits an operation. `touched` names the bytes that it accesses.
    ///
    /// # Errors
    /// The runtime's.
    pub fn submit(&self, touched: impl Fn(&mut Touches) + 'static, run: impl Fn() + 'static) -> Outcome {
        self.submit_or_wait(false, touched, run)
    }

    /// Submits an operation with a scalar result at `result`: the host waits for it, unless the result is in the
    /// device's memory.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn submit_with_result<R: Copy + 'static>(
        &self,
        result: *mut R,
        touched: impl Fn(&mut Touches) + 'static,
        compute: impl Fn() -> R + 'static,
    ) -> Outcome {
        valid(!result.is_null())?;
        let on_device = self.scalars_on_device();
        let touched = move |touches: &mut Touches| {
            touched(touches);
            if on_device {
                touches.elements(result.cast_const(), 1, true);
            }
        };
        // SAFETY: the program's pointer, or memory that the runtime has checked.
        let run = move || unsafe { result.write_unaligned(compute()) };
        self.submit_or_wait(!on_device, touched, run)
    }

    fn submit_or_wait(
        &self,
        waits: bool,
        touched_by: impl Fn(&mut Touches) + 'static,
        runs: impl Fn() + 'static,
    ) -> Outcome {
        let touches = move |touches| touched_by(&mut Touches(touches));
        operation::submit(self.name, self.settings.stream, waits, touches, runs).map_err(Status::of_runtime)
    }

    /// Says that this call has no counterpart here, and why.
    pub fn refuse(&self, what: &str) -> Status {
        say(self.name, what);
        Status::NOT_SUPPORTED
    }
}

/// Runs the body of an exported function of a handle. No panic leaves it.
pub fn enter(name: &'static CStr, handle: RawHandle, body: impl FnOnce(Call) -> Outcome) -> Status {
    let body = || {
        let settings = HANDLES.get(handle)?;
        body(Call { name, settings })
    };
    Status::of_body(name, body)
}
