//! `cufftResult`.

/// `cufftResult`
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

/// The result of a call.
pub type Outcome<T = ()> = Result<T, Status>;

impl Status {
    /// `CUFFT_SUCCESS`
    pub const SUCCESS: Self = Self(0);
    /// `CUFFT_INVALID_PLAN`
    pub const INVALID_PLAN: Self = Self(1);
    /// `CUFFT_ALLOC_FAILED`
    pub const ALLOC_FAILED: Self = Self(2);
    /// `CUFFT_INVALID_TYPE`
    pub const INVALID_TYPE: Self = Self(3);
    /// `CUFFT_INVALID_VALUE`
    pub const INVALID_VALUE: Self = Self(4);
    /// `CUFFT_INTERNAL_ERROR`
    pub const INTERNAL_ERROR: Self = Self(5);
    /// `CUFFT_EXEC_FAILED`
    pub const EXEC_FAILED: Self = Self(6);
    /// `CUFFT_INVALID_SIZE`
    pub const INVALID_SIZE: Self = Self(8);
    /// `CUFFT_NO_WORKSPACE`
    pub const NO_WORKSPACE: Self = Self(13);
    /// `CUFFT_NOT_SUPPORTED`
    pub const NOT_SUPPORTED: Self = Self(16);

    /// `Ok` if the condition holds, otherwise this status.
    ///
    /// # Errors
    /// See above.
    pub fn unless(self, condition: bool) -> Outcome {
        if condition { Ok(()) } else { Err(self) }
    }
}
