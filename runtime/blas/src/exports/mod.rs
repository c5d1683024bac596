//! The exported functions: one file for each part of cuBLAS.
//!
//! | module | what it exports |
//! |---|---|
//! | this one | nothing: how an exported function is written |
//! | [`settings`] | handles and what is set for them |
//! | [`copies`] | copies between the host's memory and the device's |
//! | [`level1`], [`level2`], [`level3`] | BLAS's levels |
//! | [`products`] | products of whole matrices, single and batched |
//! | [`mixed`], [`mixed_vectors`] | functions whose elements' types are parameters (`Ex`) |
//! | [`batched`] | LU factors and other batched functions |
//! | [`lt`] | cuBLASLt |
//! | [`old`] | the interface of `cublas.h`, without handles |
//! | [`refused`] | functions that are not supported |

use crate::scalar::Scalar;
use crate::status::{Outcome, valid};

pub mod batched;
pub mod copies;
pub mod level1;
pub mod level2;
pub mod level3;
pub mod lt;
pub mod mixed;
pub mod mixed_vectors;
pub mod old;
pub mod products;
pub mod refused;
pub mod settings;

/// A parameter as C passes it, to a function and to its variant with 64-bit sizes (`_64`).
pub trait Parameter {
    /// Its type in C.
    type Narrow;
    /// Its type in the variant.
    type Wide;
    /// What the body gets.
    type Given;

    /// Takes it.
    fn of_narrow(value: Self::Narrow) -> Self::Given;
    /// Takes it from the variant.
    fn of_wide(value: Self::Wide) -> Self::Given;
}

/// A size or a distance: `int`, or `int64_t` in the variant.
pub struct Int;

impl Parameter for Int {
    type Narrow = i32;
    type Wide = i64;
    type Given = i64;

    fn of_narrow(value: i32) -> i64 {
        value.into()
    }
    fn of_wide(value: i64) -> i64 {
        value
    }
}

/// Where an index is written.
pub struct IntResult;

/// An index is written as an `int` or as an `int64_t`.
#[derive(Clone, Copy)]
pub enum IndexPlace {
    /// `int*`
    Narrow(*mut i32),
    /// `int64_t*`
    Wide(*mut i64),
}

impl Parameter for IntResult {
    type Narrow = *mut i32;
    type Wide = *mut i64;
    type Given = IndexPlace;

    fn of_narrow(value: *mut i32) -> IndexPlace {
        IndexPlace::Narrow(value)
    }
    fn of_wide(value: *mut i64) -> IndexPlace {
        IndexPlace::Wide(value)
    }
}

macro_rules! same {
    ($([$($of:tt)*] $ty:ty;)*) => {$(
        impl<$($of)*> Parameter for $ty {
            type Narrow = Self;
            type Wide = Self;
            type Given = Self;

            fn of_narrow(value: Self) -> Self {
                value
            }
            fn of_wide(value: Self) -> Self {
                value
            }
        }
    )*};
}

same! {
    [T] *const T;
    [T] *mut T;
    [] u32;
    [] i32;
    [] i64;
}

/// Defines functions of cuBLAS with a handle as first parameter, each for several types and each with its variant
/// with 64-bit sizes. In parameters and body, `T` is the type and `R` that of its parts. A body returns an
/// [`Outcome`](crate::status::Outcome). The words around the type's letters make the name.
macro_rules! blas {
    ($($(#[$meta:meta])* $before:literal [$($letters:literal $ty:ty),*] $name:literal $version:literal $params:tt $body:block)*) => {$($(
        $crate::exports::blas!(@one $before $letters $ty, $name $version $params $body);
    )*)*};
    (@one $before:literal $letters:literal $ty:ty, $name:literal $version:literal
     ($call:ident; $($param:ident: $of:ty),* $(,)?) $body:block) => {
        const _: () = {
            use $crate::exports::Parameter;
            #[allow(dead_code)]
            type T = $ty;
            #[allow(dead_code)]
            type R = <$ty as $crate::exports::Parts>::Real;
            const NAME: &std::ffi::CStr =
                gpurace_library::export::c_text(concat!("cublas", $before, $letters, $name, "\0"));

            #[allow(clippy::too_many_arguments)]
            fn body($call: $crate::call::Call, $($param: <$of as Parameter>::Given),*) -> $crate::status::Outcome
                $body

            #[unsafe(export_name = concat!("cublas", $before, $letters, $name, $version))]
            unsafe extern "C" fn narrow(handle: $crate::handle::RawHandle, $($param: <$of as Parameter>::Narrow),*) -> $crate::status::Status {
                $crate::call::enter(NAME, handle, |call| body(call, $(<$of as Parameter>::of_narrow($param)),*))
            }

            #[unsafe(export_name = concat!("cublas", $before, $letters, $name, $version, "_64"))]
            unsafe extern "C" fn wide(handle: $crate::handle::RawHandle, $($param: <$of as Parameter>::Wide),*) -> $crate::status::Status {
                $crate::call::enter(NAME, handle, |call| body(call, $(<$of as Parameter>::of_wide($param)),*))
            }
        };
    };
}
pub(crate) use blas;

/// Writes a result through the caller's pointer.
///
/// # Errors
/// `CUBLAS_STATUS_INVALID_VALUE` for a null pointer.
pub fn put<T>(to: *mut T, value: T) -> Outcome {
    // SAFETY: the program passes null or a valid pointer.
    valid(unsafe { gpurace_library::export::put(to, value) })
}

/// The type of a number's parts, also for functions without one.
pub trait Parts {
    /// See there.
    type Real;
}

impl<T: Scalar> Parts for T {
    type Real = T::Real;
}

impl Parts for () {
    type Real = ();
}
