//! Vectors and matrices. The constant variants of a function are the function itself: what is constant is the
//! compiler's matter.

use super::put;
use crate::dense::{DnMat, is_by_rows};
use crate::registry::{DENSE, Raw, Registry, SPARSE, SPARSE_VECTORS, VECTORS};
use crate::sparse::{Format, SpMat, SpVec};
use crate::status::{Outcome, Status, size, valid};
use crate::types::{Indices, Type, Values};

/// `CUSPARSE_INDEX_BASE_ONE` is 1.
fn base(indices: Indices) -> u32 {
    u32::from(indices.base == 1)
}

/// Adds a descriptor.
fn create<T: Clone>(registry: &Registry<T>, to: *mut Raw, value: T) -> Outcome {
    valid(!to.is_null())?;
    put(to, registry.create(value))
}

/// A sparse matrix. `arrays`: offsets, indices, values. `types`: those of offsets and indices.
fn sparse(
    to: *mut Raw,
    format: Format,
    [rows, cols, nnz]: [i64; 3],
    arrays: [usize; 3],
    types: [u32; 2],
    base: u32,
    ty: u32,
) -> Outcome {
    let values = Values { start: arrays[2], ty: Type::new(ty)? };
    let matrix = SpMat {
        format,
        rows: size(rows)?,
        cols: size(cols)?,
        nnz: size(nnz)?,
        offsets: Indices::new(arrays[0], types[0], base)?,
        indices: Indices::new(arrays[1], types[1], base)?,
        values,
        fill: 0,
        diagonal: 0,
        batches: 1,
        offsets_stride: 0,
        values_stride: 0,
    };
    create(&SPARSE, to, matrix)
}

/// Changes the arrays of a matrix of this format.
fn set_arrays(raw: Raw, format: Format, arrays: [usize; 3]) -> Outcome {
    SPARSE.change(raw, |matrix| {
        valid(matrix.format == format)?;
        matrix.offsets.start = arrays[0];
        matrix.indices.start = arrays[1];
        matrix.values.start = arrays[2];
        Ok(())
    })?
}

/// Writes what describes a matrix of this format.
fn get(
    raw: Raw,
    format: Format,
    sizes: [*mut i64; 3],
    arrays: [*mut usize; 3],
    types: [*mut u32; 2],
    to_base: *mut u32,
    ty: *mut u32,
) -> Outcome {
    let matrix = SPARSE.get(raw)?;
    valid(matrix.format == format)?;
    for (to, size) in sizes.into_iter().zip([matrix.rows, matrix.cols, matrix.nnz]) {
        put(to, size as i64)?;
    }
    let starts = [matrix.offsets.start, matrix.indices.start, matrix.values.start];
    arrays.into_iter().zip(starts).try_for_each(|(to, start)| put(to, start))?;
    put(types[0], matrix.offsets.ty)?;
    put(types[1], matrix.indices.ty)?;
    put(to_base, base(matrix.offsets))?;
    put(ty, matrix.values.ty.number())
}

/// A dense matrix.
fn dense(to: *mut Raw, [rows, cols, leading]: [i64; 3], start: usize, ty: u32, order: u32) -> Outcome {
    let (rows, cols, leading, by_rows) = (size(rows)?, size(cols)?, size(leading)?, is_by_rows(order)?);
    valid(leading >= if by_rows { cols } else { rows })?;
    let values = Values { start, ty: Type::new(ty)? };
    create(&DENSE, to, DnMat { rows, cols, leading, by_rows, values, batches: 1, stride: 0 })
}

/// A sparse vector.
fn sparse_vector(
    to: *mut Raw,
    [length, nnz]: [i64; 2],
    arrays: [usize; 2],
    types: [u32; 2],
    base: u32,
) -> Outcome {
    let indices = Indices::new(arrays[0], types[0], base)?;
    let values = Values { start: arrays[1], ty: Type::new(types[1])? };
    create(&SPARSE_VECTORS, to, SpVec { size: size(length)?, nnz: size(nnz)?, indices, values })
}

/// A batch.
fn batch(raw: Raw, format: Format, count: i32, [offsets, values]: [i64; 2]) -> Outcome {
    let (count, offsets, values) = (size(count.into())?, size(offsets)?, size(values)?);
    valid(count > 0)?;
    SPARSE.change(raw, |matrix| {
        valid(matrix.format == format)?;
        (matrix.batches, matrix.offsets_stride, matrix.values_stride) = (count, offsets, values);
        Ok(())
    })?
}

gpurace_library::functions! { name:
    fn cusparseCreateSpVec | cusparseCreateConstSpVec(to: *mut Raw, length: i64, nnz: i64, indices: usize, values: usize, index_ty: u32, base: u32, ty: u32) {
        sparse_vector(to, [length, nnz], [indices, values], [index_ty, ty], base)
    }

    fn cusparseCreateDnVec | cusparseCreateConstDnVec(to: *mut Raw, length: i64, values: usize, ty: u32) {
        create(&VECTORS, to, DnMat::vector(size(length)?, Values { start: values, ty: Type::new(ty)? }))
    }

    fn cusparseCreateDnMat | cusparseCreateConstDnMat(to: *mut Raw, rows: i64, cols: i64, leading: i64, values: usize, ty: u32, order: u32) {
        dense(to, [rows, cols, leading], values, ty, order)
    }

    fn cusparseCreateCoo | cusparseCreateConstCoo(to: *mut Raw, rows: i64, cols: i64, nnz: i64, row_indices: usize, indices: usize, values: usize, index_ty: u32, base: u32, ty: u32) {
        sparse(to, Format::Coo, [rows, cols, nnz], [row_indices, indices, values], [index_ty; 2], base, ty)
    }

    fn cusparseCreateCsr | cusparseCreateConstCsr(to: *mut Raw, rows: i64, cols: i64, nnz: i64, offsets: usize, indices: usize, values: usize, offset_ty: u32, index_ty: u32, base: u32, ty: u32) {
        sparse(to, Format::Csr, [rows, cols, nnz], [offsets, indices, values], [offset_ty, index_ty], base, ty)
    }

    fn cusparseCsrGet | cusparseConstCsrGet(raw: Raw, rows: *mut i64, cols: *mut i64, nnz: *mut i64, offsets: *mut usize, indices: *mut usize, values: *mut usize, offset_ty: *mut u32, index_ty: *mut u32, base: *mut u32, ty: *mut u32) {
        get(raw, Format::Csr, [rows, cols, nnz], [offsets, indices, values], [offset_ty, index_ty], base, ty)
    }

    fn cusparseCreateCsc | cusparseCreateConstCsc(to: *mut Raw, rows: i64, cols: i64, nnz: i64, offsets: usize, indices: usize, values: usize, offset_ty: u32, index_ty: u32, base: u32, ty: u32) {
        sparse(to, Format::Csc, [rows, cols, nnz], [offsets, indices, values], [offset_ty, index_ty], base, ty)
    }

    fn cusparseCscGet | cusparseConstCscGet(raw: Raw, rows: *mut i64, cols: *mut i64, nnz: *mut i64, offsets: *mut usize, indices: *mut usize, values: *mut usize, offset_ty: *mut u32, index_ty: *mut u32, base: *mut u32, ty: *mut u32) {
        get(raw, Format::Csc, [rows, cols, nnz], [offsets, indices, values], [offset_ty, index_ty], base, ty)
    }

    fn cusparseCooGet | cusparseConstCooGet(raw: Raw, rows: *mut i64, cols: *mut i64, nnz: *mut i64, row_indices: *mut usize, indices: *mut usize, values: *mut usize, index_ty: *mut u32, base: *mut u32, ty: *mut u32) {
        get(raw, Format::Coo, [rows, cols, nnz], [row_indices, indices, values], [index_ty; 2], base, ty)
    }

    fn cusparseSpVecGet | cusparseConstSpVecGet(raw: Raw, length: *mut i64, nnz: *mut i64, indices: *mut usize, values: *mut usize, index_ty: *mut u32, to_base: *mut u32, ty: *mut u32) {
        let vector = SPARSE_VECTORS.get(raw)?;
        put(length, vector.size as i64)?;
        put(nnz, vector.nnz as i64)?;
        put(indices, vector.indices.start)?;
        put(values, vector.values.start)?;
        put(index_ty, vector.indices.ty)?;
        put(to_base, base(vector.indices))?;
        put(ty, vector.values.ty.number())
    }

    fn cusparseDnVecGet | cusparseConstDnVecGet(raw: Raw, length: *mut i64, values: *mut usize, ty: *mut u32) {
        let vector = VECTORS.get(raw)?;
        put(length, vector.rows as i64)?;
        put(values, vector.values.start)?;
        put(ty, vector.values.ty.number())
    }

    fn cusparseDnMatGet | cusparseConstDnMatGet(raw: Raw, rows: *mut i64, cols: *mut i64, leading: *mut i64, values: *mut usize, ty: *mut u32, order: *mut u32) {
        let matrix = DENSE.get(raw)?;
        put(rows, matrix.rows as i64)?;
        put(cols, matrix.cols as i64)?;
        put(leading, matrix.leading as i64)?;
        put(values, matrix.values.start)?;
        put(ty, matrix.values.ty.number())?;
        put(order, if matrix.by_rows { 2 } else { 1 })
    }

    fn cusparseSpVecGetValues | cusparseConstSpVecGetValues(raw: Raw, to: *mut usize) {
        put(to, SPARSE_VECTORS.get(raw)?.values.start)
    }

    fn cusparseDnVecGetValues | cusparseConstDnVecGetValues(raw: Raw, to: *mut usize) {
        put(to, VECTORS.get(raw)?.values.start)
    }

    fn cusparseSpMatGetValues | cusparseConstSpMatGetValues(raw: Raw, to: *mut usize) {
        put(to, SPARSE.get(raw)?.values.start)
    }

    fn cusparseDnMatGetValues | cusparseConstDnMatGetValues(raw: Raw, to: *mut usize) {
        put(to, DENSE.get(raw)?.values.start)
    }

    fn cusparseSpVecSetValues(raw: Raw, start: usize) {
        SPARSE_VECTORS.change(raw, |value| value.values.start = start)
    }

    fn cusparseDestroySpVec(raw: Raw) {
        SPARSE_VECTORS.destroy(raw).map(drop)
    }

    fn cusparseDnVecSetValues(raw: Raw, start: usize) {
        VECTORS.change(raw, |value| value.values.start = start)
    }

    fn cusparseDestroyDnVec(raw: Raw) {
        VECTORS.destroy(raw).map(drop)
    }

    fn cusparseSpMatSetValues(raw: Raw, start: usize) {
        SPARSE.change(raw, |value| value.values.start = start)
    }

    fn cusparseDestroySpMat(raw: Raw) {
        SPARSE.destroy(raw).map(drop)
    }

    fn cusparseDnMatSetValues(raw: Raw, start: usize) {
        DENSE.change(raw, |value| value.values.start = start)
    }

    fn cusparseDestroyDnMat(raw: Raw) {
        DENSE.destroy(raw).map(drop)
    }

    fn cusparseSpVecGetIndexBase(raw: Raw, to: *mut u32) {
        put(to, base(SPARSE_VECTORS.get(raw)?.indices))
    }

    fn cusparseSpMatGetIndexBase(raw: Raw, to: *mut u32) {
        put(to, base(SPARSE.get(raw)?.offsets))
    }

    fn cusparseSpMatGetFormat(raw: Raw, to: *mut u32) {
        let format = match SPARSE.get(raw)?.format {
            Format::Csr => 1,
            Format::Csc => 2,
            Format::Coo => 3,
        };
        put(to, format)
    }

    fn cusparseSpMatGetSize(raw: Raw, rows: *mut i64, cols: *mut i64, nnz: *mut i64) {
        let matrix = SPARSE.get(raw)?;
        put(rows, matrix.rows as i64)?;
        put(cols, matrix.cols as i64)?;
        put(nnz, matrix.nnz as i64)
    }

    fn cusparseSpMatSetAttribute(raw: Raw, attribute: u32, data: *const u32, bytes: usize) {
        valid(!data.is_null() && bytes == size_of::<u32>())?;
        // SAFETY: the program passes a valid pointer.
        let value = unsafe { data.read_unaligned() };
        valid(value < 2)?;
        SPARSE.change(raw, |matrix| match attribute {
            0 => {
                matrix.fill = value;
                Ok(())
            }
            1 => {
                matrix.diagonal = value;
                Ok(())
            }
            _ => Err(Status::INVALID_VALUE),
        })?
    }

    fn cusparseSpMatGetAttribute(raw: Raw, attribute: u32, data: *mut u32, bytes: usize) {
        valid(bytes == size_of::<u32>())?;
        let matrix = SPARSE.get(raw)?;
        match attribute {
            0 => put(data, matrix.fill),
            1 => put(data, matrix.diagonal),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cusparseCsrSetPointers(raw: Raw, offsets: usize, indices: usize, values: usize) {
        set_arrays(raw, Format::Csr, [offsets, indices, values])
    }

    fn cusparseCscSetPointers(raw: Raw, offsets: usize, indices: usize, values: usize) {
        set_arrays(raw, Format::Csc, [offsets, indices, values])
    }

    fn cusparseCooSetPointers(raw: Raw, row_indices: usize, indices: usize, values: usize) {
        set_arrays(raw, Format::Coo, [row_indices, indices, values])
    }

    fn cusparseCsrSetStridedBatch(raw: Raw, count: i32, offsets: i64, values: i64) {
        batch(raw, Format::Csr, count, [offsets, values])
    }

    fn cusparseCooSetStridedBatch(raw: Raw, count: i32, stride: i64) {
        batch(raw, Format::Coo, count, [stride, stride])
    }

    fn cusparseDnMatSetStridedBatch(raw: Raw, count: i32, stride: i64) {
        let (count, stride) = (size(count.into())?, size(stride)?);
        valid(count > 0)?;
        DENSE.change(raw, |matrix| (matrix.batches, matrix.stride) = (count, stride))
    }

    fn cusparseDnMatGetStridedBatch(raw: Raw, count: *mut i32, stride: *mut i64) {
        let matrix = DENSE.get(raw)?;
        put(count, matrix.batches as i32)?;
        put(stride, matrix.stride as i64)
    }

    fn cusparseSpMatGetStridedBatch(raw: Raw, count: *mut i32) {
        put(count, SPARSE.get(raw)?.batches as i32)
    }
}
