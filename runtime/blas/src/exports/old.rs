//! The interface of `cublas.h`: without handles, with BLAS's letters, scalars by value, and results returned.
//!
//! Each function calls the one of today with the handle that `cublasInit` has made. Its status is kept for
//! `cublasGetError`.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use parking_lot::Mutex;

use crate::exports::Parts;
use crate::handle::{self, HANDLES, RawHandle};
use crate::scalar::{Complex32, Complex64};
use crate::status::{Outcome, Status, size, valid};

unsafe extern "C" {
    fn cudaMalloc(to: *mut *mut c_void, bytes: usize) -> u32;
    fn cudaFree(start: *mut c_void) -> u32;
    fn cublasDestroy_v2(handle: RawHandle) -> Status;
    fn cublasGetVersion_v2(handle: RawHandle, to: *mut c_int) -> Status;
}

/// What the interface keeps between calls.
struct State {
    /// The handle, from `cublasInit` to `cublasShutdown`.
    handle: Option<RawHandle>,
    /// The last failure since `cublasGetError`.
    failure: Option<Status>,
}

static STATE: Mutex<State> = Mutex::new(State { handle: None, failure: None });

/// The handle of `cublasInit`.
fn current() -> Outcome<RawHandle> {
    STATE.lock().handle.ok_or(Status::NOT_INITIALIZED)
}

fn outcome(status: Status) -> Outcome {
    if status == Status::SUCCESS { Ok(()) } else { Err(status) }
}

/// Calls a function of today, and keeps its failure.
fn with_handle(call: impl FnOnce(RawHandle) -> Status) {
    if let Err(status) = current().and_then(|handle| outcome(call(handle))) {
        STATE.lock().failure = Some(status);
    }
}

gpurace_library::functions! { name:
    fn cublasInit() {
        STATE.lock().handle.get_or_insert_with(handle::create);
        Ok(())
    }

    fn cublasShutdown() {
        let handle = STATE.lock().handle.take().ok_or(Status::NOT_INITIALIZED)?;
        // SAFETY: it takes any number.
        outcome(unsafe { cublasDestroy_v2(handle) })
    }

    fn cublasGetError() {
        STATE.lock().failure.take().map_or(Ok(()), Err)
    }

    fn cublasGetVersion(to: *mut c_int) {
        // SAFETY: it only passes on the pointer.
        outcome(unsafe { cublasGetVersion_v2(current()?, to) })
    }

    fn cublasSetKernelStream(stream: *mut c_void) {
        HANDLES.change(current()?, |settings| settings.stream = stream)
    }

    fn cublasAlloc(count: c_int, element: c_int, to: *mut *mut c_void) {
        current()?;
        let (count, element) = (size(count.into())?, size(element.into())?);
        valid(count > 0 && element > 0 && !to.is_null())?;
        // SAFETY: the runtime's. The pointer is valid.
        let failed = unsafe { cudaMalloc(to, count.saturating_mul(element)) } != 0;
        if failed { Err(Status::ALLOC_FAILED) } else { Ok(()) }
    }

    fn cublasFree(start: *mut c_void) {
        current()?;
        // SAFETY: the runtime's.
        let failed = unsafe { cudaFree(start) } != 0;
        if failed { Err(Status::INTERNAL_ERROR) } else { Ok(()) }
    }
}

/// A parameter as the old interface has it.
trait Old {
    /// Its type there.
    type Given;
    /// Its type today.
    type Today;

    /// What is passed today. It may point to what was given.
    fn today(given: &Self::Given) -> Self::Today;
}

/// A scalar by value.
struct Value<T>(PhantomData<T>);

impl<T> Old for Value<T> {
    type Given = T;
    type Today = *const T;

    fn today(given: &T) -> *const T {
        given
    }
}

macro_rules! same {
    ($([$($of:tt)*] $ty:ty;)*) => {$(
        impl<$($of)*> Old for $ty {
            type Given = Self;
            type Today = Self;

            fn today(given: &Self) -> Self {
                *given
            }
        }
    )*};
}

same! {
    [T] *const T;
    [T] *mut T;
    [] c_int;
}

/// A number of no enumeration: the function refuses it.
const INVALID: u32 = u32::MAX;

macro_rules! letters {
    ($($(#[$meta:meta])* $name:ident: $($letter:literal)*;)*) => {$(
        $(#[$meta])*
        struct $name;

        impl Old for $name {
            type Given = c_char;
            type Today = u32;

            fn today(given: &c_char) -> u32 {
                let letter = given.cast_unsigned().to_ascii_lowercase();
                [$($letter),*].iter().position(|&known| known == letter).map_or(INVALID, |at| at as u32)
            }
        }
    )*};
}

letters! {
    /// `cublasOperation_t`
    Trans: b'n' b't' b'c';
    /// `cublasFillMode_t`
    Uplo: b'l' b'u';
    /// `cublasSideMode_t`
    Side: b'l' b'r';
    /// `cublasDiagType_t`
    Diag: b'n' b'u';
}

/// Defines functions for several types each. `T` is the type, and `R` that of its parts. Parameters behind a semicolon
/// are given to the function of today once more. A type in brackets is that of the result.
macro_rules! old {
    ($($before:literal [$($letters:literal $ty:ty),*] $name:literal $params:tt $result:tt;)*) => {$($(
        const _: () = {
            #[allow(dead_code)]
            type T = $ty;
            #[allow(dead_code)]
            type R = <$ty as Parts>::Real;
            old!(@one [concat!("cublas", $before, $letters, $name), "_v2"] $params $result);
        };
    )*)*};
    (@one [$old:expr, $version:literal] ($($param:ident: $of:ty),* $(; $($again:ident: $again_of:ty),*)?) []) => {
        unsafe extern "C" {
            #[link_name = concat!($old, $version)]
            fn today(handle: RawHandle, $($param: <$of as Old>::Today,)* $($($again: <$again_of as Old>::Today),*)?) -> Status;
        }

        #[unsafe(export_name = $old)]
        unsafe extern "C" fn old($($param: <$of as Old>::Given),*) {
            // SAFETY: it only passes on what it gets.
            with_handle(|handle| unsafe { today(handle, $(<$of as Old>::today(&$param),)* $($(<$again_of as Old>::today(&$again)),*)?) });
        }
    };
    (@one [$old:expr, $version:literal] ($($param:ident: $of:ty),*) [$result:ty]) => {
        unsafe extern "C" {
            #[link_name = concat!($old, $version)]
            fn today(handle: RawHandle, $($param: <$of as Old>::Today,)* result: *mut $result) -> Status;
        }

        #[unsafe(export_name = $old)]
        unsafe extern "C" fn old($($param: <$of as Old>::Given),*) -> $result {
            let mut result = <$result>::default();
            // SAFETY: it only passes on what it gets, and waits for the result.
            with_handle(|handle| unsafe { today(handle, $(<$of as Old>::today(&$param),)* &raw mut result) });
            result
        }
    };
}

old! {
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "axpy" (n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "scal" (n: c_int, alpha: Value<T>, x: *mut T, incx: c_int) [];
    "" ["Cs" Complex32, "Zd" Complex64] "scal" (n: c_int, alpha: Value<R>, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "copy" (n: c_int, x: *const T, incx: c_int, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "swap" (n: c_int, x: *mut T, incx: c_int, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64] "dot" (n: c_int, x: *const T, incx: c_int, y: *const T, incy: c_int) [T];
    "" ["C" Complex32, "Z" Complex64] "dotu" (n: c_int, x: *const T, incx: c_int, y: *const T, incy: c_int) [T];
    "" ["C" Complex32, "Z" Complex64] "dotc" (n: c_int, x: *const T, incx: c_int, y: *const T, incy: c_int) [T];
    "" ["S" f32, "D" f64, "Sc" Complex32, "Dz" Complex64] "nrm2" (n: c_int, x: *const T, incx: c_int) [R];
    "" ["S" f32, "D" f64, "Sc" Complex32, "Dz" Complex64] "asum" (n: c_int, x: *const T, incx: c_int) [R];
    "I" ["s" f32, "d" f64, "c" Complex32, "z" Complex64] "amax" (n: c_int, x: *const T, incx: c_int) [c_int];
    "I" ["s" f32, "d" f64, "c" Complex32, "z" Complex64] "amin" (n: c_int, x: *const T, incx: c_int) [c_int];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "rot" (n: c_int, x: *mut T, incx: c_int, y: *mut T, incy: c_int, c: Value<R>, s: Value<T>) [];
    "" ["Cs" Complex32, "Zd" Complex64] "rot" (n: c_int, x: *mut T, incx: c_int, y: *mut T, incy: c_int, c: Value<R>, s: Value<R>) [];
    "" ["S" f32, "D" f64] "rotm" (n: c_int, x: *mut T, incx: c_int, y: *mut T, incy: c_int, parameters: *const T) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "rotg" (a: *mut T, b: *mut T, c: *mut R, s: *mut T) [];
    "" ["S" f32, "D" f64] "rotmg" (d1: *mut T, d2: *mut T, x1: *mut T, y1: *const T, parameters: *mut T) [];

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemv" (trans: Trans, m: c_int, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gbmv" (trans: Trans, m: c_int, n: c_int, kl: c_int, ku: c_int, alpha: Value<T>, a: *const T, lda: c_int, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64] "symv" (uplo: Uplo, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "hemv" (uplo: Uplo, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64] "sbmv" (uplo: Uplo, n: c_int, k: c_int, alpha: Value<T>, a: *const T, lda: c_int, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "hbmv" (uplo: Uplo, n: c_int, k: c_int, alpha: Value<T>, a: *const T, lda: c_int, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64] "spmv" (uplo: Uplo, n: c_int, alpha: Value<T>, a: *const T, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "hpmv" (uplo: Uplo, n: c_int, alpha: Value<T>, a: *const T, x: *const T, incx: c_int, beta: Value<T>, y: *mut T, incy: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trmv" (uplo: Uplo, trans: Trans, diag: Diag, n: c_int, a: *const T, lda: c_int, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tbmv" (uplo: Uplo, trans: Trans, diag: Diag, n: c_int, k: c_int, a: *const T, lda: c_int, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tpmv" (uplo: Uplo, trans: Trans, diag: Diag, n: c_int, a: *const T, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trsv" (uplo: Uplo, trans: Trans, diag: Diag, n: c_int, a: *const T, lda: c_int, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tbsv" (uplo: Uplo, trans: Trans, diag: Diag, n: c_int, k: c_int, a: *const T, lda: c_int, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tpsv" (uplo: Uplo, trans: Trans, diag: Diag, n: c_int, a: *const T, x: *mut T, incx: c_int) [];
    "" ["S" f32, "D" f64] "ger" (m: c_int, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T, lda: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "geru" (m: c_int, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T, lda: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "gerc" (m: c_int, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T, lda: c_int) [];
    "" ["S" f32, "D" f64] "syr" (uplo: Uplo, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, a: *mut T, lda: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "her" (uplo: Uplo, n: c_int, alpha: Value<R>, x: *const T, incx: c_int, a: *mut T, lda: c_int) [];
    "" ["S" f32, "D" f64] "spr" (uplo: Uplo, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, a: *mut T) [];
    "" ["C" Complex32, "Z" Complex64] "hpr" (uplo: Uplo, n: c_int, alpha: Value<R>, x: *const T, incx: c_int, a: *mut T) [];
    "" ["S" f32, "D" f64] "syr2" (uplo: Uplo, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T, lda: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "her2" (uplo: Uplo, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T, lda: c_int) [];
    "" ["S" f32, "D" f64] "spr2" (uplo: Uplo, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T) [];
    "" ["C" Complex32, "Z" Complex64] "hpr2" (uplo: Uplo, n: c_int, alpha: Value<T>, x: *const T, incx: c_int, y: *const T, incy: c_int, a: *mut T) [];

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemm" (transa: Trans, transb: Trans, m: c_int, n: c_int, k: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *const T, ldb: c_int, beta: Value<T>, c: *mut T, ldc: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "symm" (side: Side, uplo: Uplo, m: c_int, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *const T, ldb: c_int, beta: Value<T>, c: *mut T, ldc: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "hemm" (side: Side, uplo: Uplo, m: c_int, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *const T, ldb: c_int, beta: Value<T>, c: *mut T, ldc: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syrk" (uplo: Uplo, trans: Trans, n: c_int, k: c_int, alpha: Value<T>, a: *const T, lda: c_int, beta: Value<T>, c: *mut T, ldc: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "herk" (uplo: Uplo, trans: Trans, n: c_int, k: c_int, alpha: Value<R>, a: *const T, lda: c_int, beta: Value<R>, c: *mut T, ldc: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syr2k" (uplo: Uplo, trans: Trans, n: c_int, k: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *const T, ldb: c_int, beta: Value<T>, c: *mut T, ldc: c_int) [];
    "" ["C" Complex32, "Z" Complex64] "her2k" (uplo: Uplo, trans: Trans, n: c_int, k: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *const T, ldb: c_int, beta: Value<R>, c: *mut T, ldc: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trmm" (side: Side, uplo: Uplo, trans: Trans, diag: Diag, m: c_int, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *mut T, ldb: c_int; b: *mut T, ldb: c_int) [];
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trsm" (side: Side, uplo: Uplo, trans: Trans, diag: Diag, m: c_int, n: c_int, alpha: Value<T>, a: *const T, lda: c_int, b: *mut T, ldb: c_int) [];
}
