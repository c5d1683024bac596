//! Copies of vectors and matrices between the host's memory and the device's. They are the runtime's copies of rows.

use std::ffi::c_void;

use crate::status::{Outcome, Status, size, valid};

/// `cudaMemcpyKind`
#[derive(Clone, Copy)]
enum Direction {
    ToDevice = 1,
    FromDevice = 2,
}

unsafe extern "C" {
    fn cudaMemcpy2D(
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: u32,
    ) -> u32;
    fn cudaMemcpy2DAsync(
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: u32,
        stream: *mut c_void,
    ) -> u32;
}

/// Rows of `width` bytes, and the distances on both sides.
struct CopiedRows {
    width: usize,
    height: usize,
    pitches: (usize, usize),
}

/// A copy of `count` elements, which are some elements apart.
fn vector(count: i64, element: i64, from_step: i64, to_step: i64) -> Outcome<CopiedRows> {
    let (height, width) = (size(count)?, size(element)?);
    let (from, to) = (size(from_step)?, size(to_step)?);
    valid(width > 0 && from > 0 && to > 0)?;
    if (from, to) == (1, 1) {
        let width = width.checked_mul(height).ok_or(Status::INVALID_VALUE)?;
        return Ok(CopiedRows { width, height: 1, pitches: (width, width) });
    }
    Ok(CopiedRows { width, height, pitches: (from * width, to * width) })
}

/// A copy of a matrix in columns.
fn matrix(rows: i64, columns: i64, element: i64, from_leading: i64, to_leading: i64) -> Outcome<CopiedRows> {
    let (rows, height, element) = (size(rows)?, size(columns)?, size(element)?);
    let (from, to) = (size(from_leading)?, size(to_leading)?);
    valid(element > 0 && from >= rows.max(1) && to >= rows.max(1))?;
    Ok(CopiedRows { width: rows * element, height, pitches: (from * element, to * element) })
}

unsafe fn copy(
    rows: &CopiedRows,
    from: *const c_void,
    to: *mut c_void,
    direction: Direction,
    stream: Option<*mut c_void>,
) -> Outcome {
    let CopiedRows { width, height, pitches: (from_pitch, to_pitch) } = *rows;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let kind = direction as u32;
    // SAFETY: the program's pointers, as it describes them.
    let error = unsafe {
        match stream {
            None => cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind),
            Some(stream) => cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream),
        }
    };
    if error == 0 { Ok(()) } else { Err(Status::MAPPING_ERROR) }
}

/// Defines a copy: a function, its variant that does not wait, and both with 64-bit sizes.
macro_rules! copies {
    ($($name:ident $direction:ident ($($size:ident),*; $from_step:ident, $to_step:ident) $rows:expr;)*) => {$(
        const _: () = {
            copies!(@each $name, "", i32, $direction, ($($size),*; $from_step, $to_step), $rows);
            copies!(@each $name, "_64", i64, $direction, ($($size),*; $from_step, $to_step), $rows);
        };
    )*};
    (@each $name:ident, $suffix:literal, $int:ty, $direction:ident, ($($size:ident),*; $from_step:ident, $to_step:ident), $rows:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            unsafe extern "C" fn now($($size: $int,)* from: *const c_void, $from_step: $int, to: *mut c_void, $to_step: $int) -> Status {
                let rows = || $rows($($size.into(),)* $from_step.into(), $to_step.into());
                // SAFETY: by cuBLAS's contract.
                Status::of_body(c"cublas copy", || unsafe { copy(&rows()?, from, to, Direction::$direction, None) })
            }

            #[unsafe(export_name = concat!(stringify!($name), "Async", $suffix))]
            unsafe extern "C" fn later($($size: $int,)* from: *const c_void, $from_step: $int, to: *mut c_void, $to_step: $int, stream: *mut c_void) -> Status {
                let rows = || $rows($($size.into(),)* $from_step.into(), $to_step.into());
                // SAFETY: by cuBLAS's contract.
                Status::of_body(c"cublas copy", || unsafe { copy(&rows()?, from, to, Direction::$direction, Some(stream)) })
            }
        };
    };
}

copies! {
    cublasSetVector ToDevice (count, element; from_step, to_step) vector;
    cublasGetVector FromDevice (count, element; from_step, to_step) vector;
    cublasSetMatrix ToDevice (rows, columns, element; from_leading, to_leading) matrix;
    cublasGetMatrix FromDevice (rows, columns, element; from_leading, to_leading) matrix;
}
