//! `curandStatus_t`.

/// `curandStatus_t`
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

/// The result of a call.
pub type Outcome<T = ()> = Result<T, Status>;

impl Status {
    /// `CURAND_STATUS_SUCCESS`
    pub const SUCCESS: Self = Self(0);
    /// `CURAND_STATUS_NOT_INITIALIZED`
    pub const NOT_INITIALIZED: Self = Self(101);
    /// `CURAND_STATUS_ALLOCATION_FAILED`
    pub const ALLOCATION_FAILED: Self = Self(102);
    /// `CURAND_STATUS_TYPE_ERROR`
    pub const TYPE_ERROR: Self = Self(103);
    /// `CURAND_STATUS_OUT_OF_RANGE`
    pub const OUT_OF_RANGE: Self = Self(104);
    /// `CURAND_STATUS_LENGTH_NOT_MULTIPLE`
    pub const LENGTH_NOT_MULTIPLE: Self = Self(105);
    /// `CURAND_STATUS_LAUNCH_FAILURE`
    pub const LAUNCH_FAILURE: Self = Self(201);
    /// `CURAND_STATUS_PREEXISTING_FAILURE`
    pub const PREEXISTING_FAILURE: Self = Self(202);
    /// `CURAND_STATUS_INTERNAL_ERROR`
    pub const INTERNAL_ERROR: Self = Self(999);

    /// `Ok` if the condition holds, otherwise this status.
    ///
    /// # Errors
    /// See above.
    pub fn unless(self, condition: bool) -> Outcome {
        if condition { Ok(()) } else { Err(self) }
    }
}
