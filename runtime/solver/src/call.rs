//! A call as an operation on its handle's stream.

use std::ffi::{CStr, c_void};
use std::ptr::with_exposed_provenance_mut;

use gpurace_library::operation;
use gpurace_library::touched::Touches;

use crate::place::{Ints, Place, touch};
use crate::registry::{HANDLES, Raw};
use crate::status::{Outcome, Status, size};
use crate::types::Type;

/// The size of each workspace: elements, or bytes where a function counts bytes. Nothing is ever stored there.
pub const WORKSPACE: usize = 256;

/// What an operation touches.
#[derive(Default)]
pub struct Touched {
    reads: Vec<Place>,
    writes: Vec<Place>,
    ints: Vec<(Ints, bool)>,
    work: Option<(usize, usize)>,
}

impl Touched {
    /// A workspace of `count` elements. Two calls that share it must not run at once.
    ///
    /// # Errors
    /// The size is negative.
    pub fn work(start: usize, ty: Type, count: i32) -> Outcome<Self> {
        Ok(Self::bytes(start, size(count.into())?.saturating_mul(ty.size())))
    }

    /// A workspace of this many bytes.
    pub fn bytes(start: usize, bytes: usize) -> Self {
        Self { work: Some((start, bytes.min(WORKSPACE))), ..Self::default() }
    }

    /// Also reads this.
    pub fn reads(mut self, place: Place) -> Self {
        self.reads.push(place);
        self
    }

    /// Also writes this.
    pub fn writes(mut self, place: Place) -> Self {
        self.writes.push(place);
        self
    }

    /// Also reads or writes these numbers.
    pub fn ints(mut self, ints: Ints, writes: bool) -> Self {
        self.ints.push((ints, writes));
        self
    }

    fn tell(&self, touches: &mut Touches) {
        self.reads.iter().for_each(|place| place.touch(touches, false));
        self.writes.iter().for_each(|place| place.touch(touches, true));
        self.ints.iter().for_each(|&(ints, writes)| ints.touch(touches, writes));
        if let Some((start, bytes)) = self.work.filter(|work| work.0 != 0) {
            touch(touches, start, bytes, true);
        }
    }
}

/// A call of an exported function.
#[derive(Clone, Copy)]
pub struct Call {
    name: &'static CStr,
    stream: usize,
}

impl Call {
    /// A call of a function with a handle.
    ///
    /// # Errors
    /// `CUSOLVER_STATUS_NOT_INITIALIZED` if the handle is none.
    pub fn new(name: &'static CStr, handle: Raw) -> Outcome<Self> {
        Ok(Self { name, stream: HANDLES.get(handle)?.stream })
    }

    /// A call of a function whose name has the type of its numbers.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn typed(name: &'static CStr, handle: Raw) -> Outcome<(Self, Type)> {
        Ok((Self::new(name, handle)?, Type::of_name(name.to_bytes())?))
    }

    /// Submits an operation.
    ///
    /// # Errors
    /// The runtime's.
    pub fn submit(&self, touched: Touched, runs: impl Fn() + 'static) -> Outcome {
        self.submit_with(move |touches| touched.tell(touches), runs)
    }

    /// As [`Self::submit`], for addresses that lie in memory.
    ///
    /// # Errors
    /// The runtime's.
    pub fn submit_with(
        &self,
        touched: impl Fn(&mut Touches) + 'static,
        runs: impl Fn() + 'static,
    ) -> Outcome {
        let stream = with_exposed_provenance_mut::<c_void>(self.stream);
        let touches = move |mut touches| touched(&mut touches);
        operation::submit(self.name, stream, false, touches, runs).map_err(Status::of_runtime)
    }
}
