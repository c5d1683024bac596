//! Descriptors. Each is a structure inside of the memory that the program's header reserves for it.

use std::ffi::c_void;
use std::mem::offset_of;

use crate::status::{Outcome, Status, valid};

/// `cublasLtMatrixLayoutOpaque_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MatrixLayout {
    /// `cudaDataType`
    pub ty: u32,
    /// `cublasLtOrder_t`
    pub order: u32,
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// Elements from one column, or row, to the next.
    pub leading: i64,
    /// Number of matrices.
    pub count: i32,
    /// Elements from one to the next.
    pub stride: i64,
    plane_offset: i64,
}

/// `cublasLtMatmulDescOpaque_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MatmulDescriptor {
    /// `cublasComputeType_t`
    pub compute: u32,
    /// `cudaDataType` of the scalars.
    pub scale: u32,
    /// `cublasLtPointerMode_t`
    pub pointer_mode: u32,
    /// `cublasOperation_t` of the factors and of the matrix that is added.
    pub operations: [u32; 3],
    fill_mode: u32,
    /// `cublasLtEpilogue_t`
    pub epilogue: u32,
    /// The vector that is added, or that a gradient goes to.
    pub bias: usize,
    /// Elements from the vector of a matrix to that of the next.
    pub bias_stride: i64,
    /// The matrix that the epilogue keeps or needs.
    pub auxiliary: usize,
    /// Elements from one of its columns to the next.
    pub auxiliary_leading: i64,
    /// Elements from one to the next.
    pub auxiliary_stride: i64,
    alpha_stride: i64,
    multiprocessors: i32,
    /// `cudaDataType`, or -1 for that of the result.
    pub auxiliary_type: i32,
    /// `cudaDataType`, or -1 for that of the result.
    pub bias_type: i32,
    fast_accumulation: i8,
    /// Addresses of factors for the four matrices, of the largest element, and of both for the auxiliary matrix. They
    /// are for floats of 8 bits.
    pub scales: [usize; 7],
}

/// `cublasLtMatmulPreferenceOpaque_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Preference([u64; 8]);

impl MatrixLayout {
    fn new(ty: u32, rows: u64, columns: u64, leading: i64) -> Self {
        Self { ty, order: 0, rows, columns, leading, count: 1, stride: 0, plane_offset: 0 }
    }

    fn place(attribute: u32) -> Option<(usize, usize)> {
        Some(match attribute {
            0 => (offset_of!(Self, ty), 4),
            1 => (offset_of!(Self, order), 4),
            2 => (offset_of!(Self, rows), 8),
            3 => (offset_of!(Self, columns), 8),
            4 => (offset_of!(Self, leading), 8),
            5 => (offset_of!(Self, count), 4),
            6 => (offset_of!(Self, stride), 8),
            7 => (offset_of!(Self, plane_offset), 8),
            _ => return None,
        })
    }
}

impl MatmulDescriptor {
    fn new(compute: u32, scale: u32) -> Self {
        Self {
            compute,
            scale,
            pointer_mode: 0,
            operations: [0; 3],
            fill_mode: 2,
            epilogue: 1,
            bias: 0,
            bias_stride: 0,
            auxiliary: 0,
            auxiliary_leading: 0,
            auxiliary_stride: 0,
            alpha_stride: 0,
            multiprocessors: 0,
            auxiliary_type: -1,
            bias_type: -1,
            fast_accumulation: 0,
            scales: [0; 7],
        }
    }

    fn place(attribute: u32) -> Option<(usize, usize)> {
        let operations = offset_of!(Self, operations);
        let scales = offset_of!(Self, scales);
        Some(match attribute {
            0 => (offset_of!(Self, compute), 4),
            1 => (offset_of!(Self, scale), 4),
            2 => (offset_of!(Self, pointer_mode), 4),
            3..=5 => (operations + 4 * (attribute as usize - 3), 4),
            6 => (offset_of!(Self, fill_mode), 4),
            7 => (offset_of!(Self, epilogue), 4),
            8 => (offset_of!(Self, bias), 8),
            10 => (offset_of!(Self, bias_stride), 8),
            11 => (offset_of!(Self, auxiliary), 8),
            12 => (offset_of!(Self, auxiliary_leading), 8),
            13 => (offset_of!(Self, auxiliary_stride), 8),
            14 => (offset_of!(Self, alpha_stride), 8),
            15 => (offset_of!(Self, multiprocessors), 4),
            17..=21 => (scales + 8 * (attribute as usize - 17), 8),
            22 => (offset_of!(Self, auxiliary_type), 4),
            23 | 24 => (scales + 8 * (attribute as usize - 18), 8),
            25 => (offset_of!(Self, fast_accumulation), 1),
            26 => (offset_of!(Self, bias_type), 4),
            _ => return None,
        })
    }
}

// A descriptor fits into the memory that the header reserves.
const _: () = assert!(size_of::<MatrixLayout>() <= 64 && size_of::<MatmulDescriptor>() <= 256);

/// Copies an attribute's value into a descriptor.
///
/// # Safety
/// The pointers are null or valid.
unsafe fn set(
    descriptor: *mut u8,
    place: Option<(usize, usize)>,
    from: *const c_void,
    size: usize,
) -> Outcome {
    let (at, bytes) = place.ok_or(Status::NOT_SUPPORTED)?;
    valid(!descriptor.is_null() && !from.is_null() && size == bytes)?;
    // SAFETY: the attribute lies inside of the descriptor.
    unsafe { std::ptr::copy_nonoverlapping(from.cast(), descriptor.add(at), bytes) };
    Ok(())
}

/// Copies an attribute's value out of a descriptor.
///
/// # Safety
/// As [`set`].
unsafe fn get(
    descriptor: *const u8,
    place: Option<(usize, usize)>,
    to: *mut c_void,
    size: usize,
    written: *mut usize,
) -> Outcome {
    let (at, bytes) = place.ok_or(Status::INVALID_VALUE)?;
    valid(!descriptor.is_null())?;
    if !written.is_null() {
        // SAFETY: valid by contract.
        unsafe { written.write_unaligned(bytes) };
    }
    // A size of 0 asks for the size alone.
    if size == 0 {
        return valid(!written.is_null());
    }
    valid(!to.is_null() && size == bytes)?;
    // SAFETY: the attribute lies inside of the descriptor.
    unsafe { std::ptr::copy_nonoverlapping(descriptor.add(at), to.cast(), bytes) };
    Ok(())
}

/// Makes a descriptor, as large as the header says it is.
fn create<T>(to: *mut *mut T, value: T) -> Outcome {
    valid(!to.is_null())?;
    // SAFETY: not null, hence valid.
    unsafe { to.write_unaligned(Box::into_raw(Box::new(value))) };
    Ok(())
}

fn initialize<T>(at: *mut T, size: usize, value: T) -> Outcome {
    valid(!at.is_null() && size >= size_of::<T>())?;
    // SAFETY: the program's memory for a descriptor.
    unsafe { at.write_unaligned(value) };
    Ok(())
}

fn destroy<T>(at: *mut T) -> Outcome {
    if !at.is_null() {
        // SAFETY: it came from `create`.
        drop(unsafe { Box::from_raw(at) });
    }
    Ok(())
}

gpurace_library::functions! { name:
    fn cublasLtMatrixLayoutCreate(to: *mut *mut MatrixLayout, ty: u32, rows: u64, columns: u64, leading: i64) {
        create(to, MatrixLayout::new(ty, rows, columns, leading))
    }

    fn cublasLtMatrixLayoutInit_internal(at: *mut MatrixLayout, size: usize, ty: u32, rows: u64, columns: u64, leading: i64) {
        initialize(at, size, MatrixLayout::new(ty, rows, columns, leading))
    }

    fn cublasLtMatrixLayoutDestroy(at: *mut MatrixLayout) {
        destroy(at)
    }

    fn cublasLtMatrixLayoutSetAttribute(at: *mut MatrixLayout, attribute: u32, from: *const c_void, size: usize) {
        // SAFETY: the program's pointers.
        unsafe { set(at.cast(), MatrixLayout::place(attribute), from, size) }
    }

    fn cublasLtMatrixLayoutGetAttribute(at: *const MatrixLayout, attribute: u32, to: *mut c_void, size: usize, written: *mut usize) {
        // SAFETY: the program's pointers.
        unsafe { get(at.cast(), MatrixLayout::place(attribute), to, size, written) }
    }

    fn cublasLtMatmulDescCreate(to: *mut *mut MatmulDescriptor, compute: u32, scale: u32) {
        create(to, MatmulDescriptor::new(compute, scale))
    }

    fn cublasLtMatmulDescInit_internal(at: *mut MatmulDescriptor, size: usize, compute: u32, scale: u32) {
        initialize(at, size, MatmulDescriptor::new(compute, scale))
    }

    fn cublasLtMatmulDescDestroy(at: *mut MatmulDescriptor) {
        destroy(at)
    }

    fn cublasLtMatmulDescSetAttribute(at: *mut MatmulDescriptor, attribute: u32, from: *const c_void, size: usize) {
        // SAFETY: the program's pointers.
        unsafe { set(at.cast(), MatmulDescriptor::place(attribute), from, size) }
    }

    fn cublasLtMatmulDescGetAttribute(at: *const MatmulDescriptor, attribute: u32, to: *mut c_void, size: usize, written: *mut usize) {
        // SAFETY: the program's pointers.
        unsafe { get(at.cast(), MatmulDescriptor::place(attribute), to, size, written) }
    }

    fn cublasLtMatmulPreferenceCreate(to: *mut *mut Preference) {
        create(to, Preference([0; 8]))
    }

    fn cublasLtMatmulPreferenceInit_internal(at: *mut Preference, size: usize) {
        initialize(at, size, Preference([0; 8]))
    }

    fn cublasLtMatmulPreferenceDestroy(at: *mut Preference) {
        destroy(at)
    }

    // There is one algorithm, whatever the program prefers.
    fn cublasLtMatmulPreferenceSetAttribute(at: *mut Preference, _attribute: u32, from: *const c_void, _size: usize) {
        valid(!at.is_null() && !from.is_null())
    }
}
