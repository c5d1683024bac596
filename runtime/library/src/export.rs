//! How a library exports its functions: their statuses, their names, and that no panic leaves them.
//!
//! [`statuses!`](crate::statuses) defines the numbers that they return, [`functions!`](crate::functions) the functions,
//! [`refused!`](crate::refused) those that are missing.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The C string of a text that ends with its one zero byte. Empty for another text.
pub const fn c_text(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

/// Prints what a function cannot do.
pub fn say(name: &CStr, what: &str) {
    eprintln!("gpurace: `{}`: {what}", name.to_string_lossy());
}

/// Runs the body of an exported function. After a panic, which it says, it returns `broken`.
pub fn guard<T>(name: &CStr, broken: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        say(name, "internal error");
        broken
    })
}

/// Writes a result through the caller's pointer. False for a null pointer.
///
/// # Safety
/// The pointer is null or valid for a write.
pub unsafe fn put<T>(to: *mut T, value: T) -> bool {
    if to.is_null() {
        return false;
    }
    // SAFETY: by the contract above.
    unsafe { to.write_unaligned(value) };
    true
}

/// Defines `Status`, the number that each function of a library returns, and `Outcome`, the result of a body. The first
/// text names the type in C. Each status has a number, its name in C and, where the library tells it, what it means.
#[macro_export]
macro_rules! statuses {
    ($of:literal: $($id:ident = $number:literal, $name:literal $(, $text:literal)?;)*) => {
        #[doc = $of]
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Status(pub u32);

        /// The result of a call.
        pub type Outcome<T = ()> = Result<T, Status>;

        // Programs ask for the names of all.
        #[allow(dead_code)]
        impl Status {
            $(#[doc = $name] pub const $id: Self = Self($number);)*

            /// Its name in C, and what it means.
            pub fn texts(self) -> (&'static ::std::ffi::CStr, &'static ::std::ffi::CStr) {
                use $crate::export::c_text;
                match self.0 {
                    $($number => (c_text(concat!($name, "\0")), c_text(concat!($($text,)? "\0"))),)*
                    _ => (c"unknown error", c"unknown error"),
                }
            }

            /// `Ok` if the condition holds, otherwise this status.
            ///
            /// # Errors
            /// See above.
            pub fn unless(self, condition: bool) -> Outcome {
                if condition { Ok(()) } else { Err(self) }
            }

            /// The status that a function returns. No panic of its body leaves it.
            pub fn of_body(name: &::std::ffi::CStr, body: impl FnOnce() -> Outcome) -> Self {
                $crate::export::guard(name, Self::INTERNAL_ERROR, || match body() {
                    Ok(()) => Self::SUCCESS,
                    Err(status) => status,
                })
            }
        }
    };
}

/// Defines exported functions of a library. A body returns an `Outcome` and may use its function's name, which the
/// first word names. Functions may share a body: `fn one | two (…) {…}`.
#[macro_export]
macro_rules! functions {
    ($name:ident: $(fn $function:ident $(| $twin:ident)* ($($params:tt)*) $body:block)*) => {$(
        $crate::functions!(@each $name [$function $($twin)*] ($($params)*) $body);
    )*};
    (@each $name:ident [$($function:ident)*] $params:tt $body:block) => {$(
        $crate::functions!(@one $name $function $params $body);
    )*};
    (@one $name:ident $function:ident ($($param:ident: $ty:ty),* $(,)?) $body:block) => {
        #[doc = concat!("`", stringify!($function), "`.")]
        ///
        /// # Safety
        /// Pointers are as NVIDIA documents them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function($($param: $ty),*) -> Status {
            // Not every body names its function. The parameters are NVIDIA's.
            #[allow(unused_variables, clippy::too_many_arguments)]
            fn body($name: &'static ::std::ffi::CStr, $($param: $ty),*) -> Outcome $body
            const NAME: &::std::ffi::CStr = $crate::export::c_text(concat!(stringify!($function), "\0"));
            Status::of_body(NAME, || body(NAME, $($param),*))
        }
    };
}

/// Defines functions of the named library that say that they are missing. They look at no parameter, so any list of
/// them fits.
#[macro_export]
macro_rules! refused {
    ($library:literal: $($function:ident)*) => {$(
        #[doc = concat!("`", stringify!($function), "`. Refused.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $function() -> Status {
            const NAME: &::std::ffi::CStr = $crate::export::c_text(concat!(stringify!($function), "\0"));
            $crate::export::say(
                NAME,
                concat!("not supported by gpurace's ", $library, " (see docs/libraries.md)"),
            );
            Status::NOT_SUPPORTED
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_needs_its_zero_byte() {
        assert_eq!(c_text("a\0"), c"a");
        assert_eq!(c_text("a"), c"");
        assert_eq!(c_text("a\0b\0"), c"");
    }

    #[test]
    fn no_panic_leaves_a_function() {
        assert_eq!(guard(c"f", 1, || 2), 2);
        assert_eq!(guard(c"f", 1, || panic!("on purpose")), 1);
    }

    #[test]
    fn nothing_is_written_through_a_null_pointer() {
        let mut value = 0;
        // SAFETY: null or valid.
        unsafe {
            assert!(put(&raw mut value, 7));
            assert!(!put(std::ptr::null_mut(), 7));
        }
        assert_eq!(value, 7);
    }
}
