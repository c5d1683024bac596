//! The older interface, which passes arrays instead of descriptors: sorts, conversions, incomplete factors.

use std::ffi::CStr;
use std::sync::Arc;

use gpurace_library::touched::Touches;
use parking_lot::Mutex;

use super::{put, put_buffer};
use crate::call::{BUFFER, Call, touch_buffer};
use crate::dense::DnMat;
use crate::numeric;
use crate::registry::{OLD, Raw};
use crate::sparse::{Format, SpMat};
use crate::status::{Outcome, Status, size, valid};
use crate::types::{Indices, Type, Values, Wide, numbers, touch};

/// `cusparseMatDescr_t`: its type, fill mode, type of diagonal and index base; or, as `csrilu02Info_t`, the first row
/// without a pivot.
#[derive(Clone, Debug, Default)]
pub struct MatDescr {
    settings: [u32; 4],
    missing: Arc<Mutex<Option<usize>>>,
}

/// An array of `int`.
fn ints(start: usize, base: u32) -> Outcome<Indices> {
    Indices::new(start, 2, base)
}

/// Compressed rows. Arrays are offsets, columns and values.
fn rows([m, n, nnz]: [i32; 3], arrays: [usize; 3], base: u32, ty: Type) -> Outcome<SpMat> {
    Ok(SpMat {
        format: Format::Csr,
        rows: size(m.into())?,
        cols: size(n.into())?,
        nnz: size(nnz.into())?,
        offsets: ints(arrays[0], base)?,
        indices: ints(arrays[1], base)?,
        values: Values { start: arrays[2], ty },
        fill: 0,
        diagonal: 0,
        batches: 1,
        offsets_stride: 0,
        values_stride: 0,
    })
}

/// One of the settings of a `cusparseMatDescr_t`.
fn set(raw: Raw, which: usize, value: u32, limit: u32) -> Outcome {
    valid(value < limit)?;
    OLD.change(raw, |descriptor| descriptor.settings[which] = value)
}

/// One of the settings, as a result. A descriptor that is none has zeros.
fn setting(raw: Raw, which: usize) -> u32 {
    OLD.get(raw).map_or(0, |descriptor| descriptor.settings[which])
}

/// Counts the elements of each row or column that are not 0, and all of them.
fn count(
    name: &'static CStr,
    handle: Raw,
    by_columns: bool,
    a: DnMat,
    counts: usize,
    total: usize,
) -> Outcome {
    let (call, counts) = (Call::new(name, handle)?, ints(counts, 0)?);
    valid(total != 0)?;
    let lines = if by_columns { a.cols } else { a.rows };
    let on_device = call.results_on_device();
    let touched = move |touches: &mut Touches| {
        a.touch(touches, false);
        counts.touch(touches, lines, true);
        if on_device {
            touch(touches, total, size_of::<i32>(), true);
        }
    };
    // SAFETY: the runtime has checked the memory, or it is the program's own.
    call.submit_or_wait(!on_device, touched, move || unsafe {
        let mut found = vec![0; lines];
        let elements = numeric::not_zero(a, if by_columns { Format::Csc } else { Format::Csr });
        elements.iter().for_each(|&(line, _)| found[line] += 1);
        for (line, &count) in found.iter().enumerate() {
            counts.set(line, count);
        }
        Type::Int.write(total, Wide::from(elements.len() as f64));
    })
}

/// Factors a matrix in place.
fn factor(name: &'static CStr, handle: Raw, a: SpMat, info: Raw, buffer: usize) -> Outcome {
    let (call, missing) = (Call::new(name, handle)?, OLD.get(info)?.missing);
    let touched = move |touches: &mut Touches| {
        a.touch_pattern(touches);
        a.values.touch(touches, a.nnz, true);
        touch_buffer(touches, buffer);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        *missing.lock() = numbers!(a.values.ty.is_complex(), numeric::factor, a);
    })
}

/// Sorts elements by `key`, which gets each element's place, and writes their indices and permutation.
unsafe fn sort(arrays: &[Indices], count: usize, key: impl Fn(usize) -> (i64, i64)) {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&k| key(k));
    for &array in arrays.iter().filter(|array| array.start != 0) {
        // SAFETY: by the caller's contract.
        unsafe {
            let sorted: Vec<i64> = order.iter().map(|&k| array.get(k)).collect();
            for (k, value) in sorted.into_iter().enumerate() {
                array.set(k, value as usize);
            }
        }
    }
}

/// Sorts elements that have rows and columns.
fn sort_elements(
    name: &'static CStr,
    handle: Raw,
    nnz: i32,
    arrays: [usize; 3],
    by_columns: bool,
    buffer: usize,
) -> Outcome {
    let (call, nnz) = (Call::new(name, handle)?, size(nnz.into())?);
    // The base changes nothing here.
    let arrays = [ints(arrays[0], 0)?, ints(arrays[1], 0)?, ints(arrays[2], 0)?];
    let touched = move |touches: &mut Touches| {
        arrays.iter().filter(|array| array.start != 0).for_each(|array| {
            array.touch(touches, nnz, true);
        });
        touch_buffer(touches, buffer);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        let at: Vec<(i64, i64)> = (0..nnz).map(|k| (arrays[0].get(k), arrays[1].get(k))).collect();
        sort(&arrays, nnz, |k| if by_columns { (at[k].1, at[k].0) } else { at[k] });
    })
}

gpurace_library::functions! { name:
    fn cusparseCreateMatDescr(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, OLD.create(MatDescr::default()))
    }

    fn cusparseDestroyMatDescr(raw: Raw) {
        OLD.destroy(raw).map(drop)
    }

    fn cusparseSetMatType(raw: Raw, value: u32) {
        set(raw, 0, value, 4)
    }

    fn cusparseSetMatFillMode(raw: Raw, value: u32) {
        set(raw, 1, value, 2)
    }

    fn cusparseSetMatDiagType(raw: Raw, value: u32) {
        set(raw, 2, value, 2)
    }

    fn cusparseSetMatIndexBase(raw: Raw, value: u32) {
        set(raw, 3, value, 2)
    }

    fn cusparseSnnz(handle: Raw, direction: u32, m: i32, n: i32, a: Raw, values: usize, leading: i32, counts: usize, total: usize) {
        count(name, handle, direction == 1, old_dense(m, n, leading, values, Type::Single)?, counts, total)
    }

    fn cusparseDnnz(handle: Raw, direction: u32, m: i32, n: i32, a: Raw, values: usize, leading: i32, counts: usize, total: usize) {
        count(name, handle, direction == 1, old_dense(m, n, leading, values, Type::Double)?, counts, total)
    }

    fn cusparseCreateIdentityPermutation(handle: Raw, n: i32, to: usize) {
        let (call, n, to) = (Call::new(name, handle)?, size(n.into())?, ints(to, 0)?);
        let touched = move |touches: &mut Touches| {
            to.touch(touches, n, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || (0..n).for_each(|k| unsafe { to.set(k, k) }))
    }

    fn cusparseXcsrsort_bufferSizeExt(handle: Raw, m: i32, n: i32, nnz: i32, offsets: usize, columns: usize, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseXcsrsort(handle: Raw, m: i32, n: i32, nnz: i32, a: Raw, offsets: usize, columns: usize, permutation: usize, buffer: usize) {
        let call = Call::new(name, handle)?;
        let a = rows([m, n, nnz], [offsets, columns, 0], OLD.get(a)?.settings[3], Type::Single)?;
        let permutation = ints(permutation, 0)?;
        let touched = move |touches: &mut Touches| {
            a.offsets.touch(touches, a.offsets_count(), false);
            a.indices.touch(touches, a.nnz, true);
            if permutation.start != 0 {
                permutation.touch(touches, a.nnz, true);
            }
            touch_buffer(touches, buffer);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            let columns: Vec<i64> = (0..a.nnz).map(|k| a.indices.get(k)).collect();
            let mut of_row = vec![0; a.nnz];
            for row in 0..a.rows {
                for k in a.offsets.get(row).max(0)..a.offsets.get(row + 1).min(a.nnz as i64) {
                    of_row[k as usize] = row as i64;
                }
            }
            sort(&[a.indices, permutation], a.nnz, |k| (of_row[k], columns[k]));
        })
    }

    fn cusparseXcoosort_bufferSizeExt(handle: Raw, m: i32, n: i32, nnz: i32, rows: usize, columns: usize, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseXcoosortByRow(handle: Raw, m: i32, n: i32, nnz: i32, rows: usize, columns: usize, permutation: usize, buffer: usize) {
        sort_elements(name, handle, nnz, [rows, columns, permutation], false, buffer)
    }

    fn cusparseXcoosortByColumn(handle: Raw, m: i32, n: i32, nnz: i32, rows: usize, columns: usize, permutation: usize, buffer: usize) {
        sort_elements(name, handle, nnz, [rows, columns, permutation], true, buffer)
    }

    fn cusparseXcoo2csr(handle: Raw, rows: usize, nnz: i32, m: i32, offsets: usize, base: u32) {
        let (call, nnz, m) = (Call::new(name, handle)?, size(nnz.into())?, size(m.into())?);
        let (rows, offsets) = (ints(rows, base)?, ints(offsets, base)?);
        let touched = move |touches: &mut Touches| {
            rows.touch(touches, nnz, false);
            offsets.touch(touches, m + 1, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            let each = (0..nnz).filter_map(|k| usize::try_from(rows.get(k)).ok().filter(|&row| row < m));
            numeric::write_offsets(offsets, m, each);
        })
    }

    fn cusparseXcsr2coo(handle: Raw, offsets: usize, nnz: i32, m: i32, to: usize, base: u32) {
        let call = Call::new(name, handle)?;
        let (a, to) = (rows([m, 0, nnz], [offsets, 0, 0], base, Type::Single)?, ints(to, base)?);
        let touched = move |touches: &mut Touches| {
            a.offsets.touch(touches, a.offsets_count(), false);
            to.touch(touches, a.nnz, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for row in 0..a.rows {
                for k in a.offsets.get(row).max(0)..a.offsets.get(row + 1).min(a.nnz as i64) {
                    to.set(k as usize, row);
                }
            }
        })
    }

    fn cusparseCsr2cscEx2_bufferSize(handle: Raw, m: i32, n: i32, nnz: i32, values: usize, offsets: usize, columns: usize, to_values: usize, to_offsets: usize, to_rows: usize, ty: u32, action: u32, base: u32, alg: u32, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseCsr2cscEx2(handle: Raw, m: i32, n: i32, nnz: i32, values: usize, offsets: usize, columns: usize, to_values: usize, to_offsets: usize, to_rows: usize, ty: u32, action: u32, base: u32, alg: u32, buffer: usize) {
        let (call, ty) = (Call::new(name, handle)?, Type::new(ty)?);
        let a = rows([m, n, nnz], [offsets, columns, values], base, ty)?;
        let (to_offsets, to_rows) = (ints(to_offsets, base)?, ints(to_rows, base)?);
        let to_values = (action == 1).then_some(Values { start: to_values, ty });
        let touched = move |touches: &mut Touches| {
            a.touch_pattern(touches);
            to_offsets.touch(touches, a.cols + 1, true);
            to_rows.touch(touches, a.nnz, true);
            if let Some(to_values) = to_values {
                a.values.touch(touches, a.nnz, false);
                to_values.touch(touches, a.nnz, true);
            }
            touch_buffer(touches, buffer);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { numeric::compress_columns(a, to_offsets, to_rows, to_values) })
    }

    fn cusparseCreateCsrilu02Info(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, OLD.create(MatDescr::default()))
    }

    fn cusparseDestroyCsrilu02Info(raw: Raw) {
        OLD.destroy(raw).map(drop)
    }

    // It waits for the stream, as cuSPARSE documents.
    fn cusparseXcsrilu02_zeroPivot(handle: Raw, info: Raw, to: *mut i32) {
        let call = Call::new(name, handle)?;
        call.submit_or_wait(true, |_| (), || ())?;
        let missing = *OLD.get(info)?.missing.lock();
        put(to, missing.map_or(-1, |row| row as i32))?;
        if missing.is_some() { Err(Status::ZERO_PIVOT) } else { Ok(()) }
    }
}

/// A matrix in columns.
fn old_dense(m: i32, n: i32, leading: i32, start: usize, ty: Type) -> Outcome<DnMat> {
    let (rows, cols, leading) = (size(m.into())?, size(n.into())?, size(leading.into())?);
    valid(leading >= rows)?;
    Ok(DnMat { rows, cols, leading, by_rows: false, values: Values { start, ty }, batches: 1, stride: 0 })
}

/// The incomplete factors of each type.
macro_rules! factors {
    ($($ty:ident $size:ident $analysis:ident $factor:ident;)*) => {
        gpurace_library::functions! { name: $(
            fn $size(handle: Raw, m: i32, nnz: i32, a: Raw, values: usize, offsets: usize, columns: usize, info: Raw, to: *mut i32) {
                put(to, BUFFER as i32)
            }

            fn $analysis(handle: Raw, m: i32, nnz: i32, a: Raw, values: usize, offsets: usize, columns: usize, info: Raw, policy: u32, buffer: usize) {
                let (call, base) = (Call::new(name, handle)?, OLD.get(a)?.settings[3]);
                let a = rows([m, m, nnz], [offsets, columns, values], base, Type::$ty)?;
                *OLD.get(info)?.missing.lock() = None;
                let touched = move |touches: &mut Touches| {
                    a.touch_pattern(touches);
                    touch_buffer(touches, buffer);
                };
                call.submit(touched, || ())
            }

            fn $factor(handle: Raw, m: i32, nnz: i32, a: Raw, values: usize, offsets: usize, columns: usize, info: Raw, policy: u32, buffer: usize) {
                let base = OLD.get(a)?.settings[3];
                let a = rows([m, m, nnz], [offsets, columns, values], base, Type::$ty)?;
                factor(name, handle, a, info, buffer)
            }
        )* }
    };
}

factors! {
    Single cusparseScsrilu02_bufferSize cusparseScsrilu02_analysis cusparseScsrilu02;
    Double cusparseDcsrilu02_bufferSize cusparseDcsrilu02_analysis cusparseDcsrilu02;
    ComplexSingle cusparseCcsrilu02_bufferSize cusparseCcsrilu02_analysis cusparseCcsrilu02;
    ComplexDouble cusparseZcsrilu02_bufferSize cusparseZcsrilu02_analysis cusparseZcsrilu02;
}

/// Defines functions that return a setting of a `cusparseMatDescr_t`.
macro_rules! getters {
    ($($name:ident $which:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of cuSPARSE.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(raw: Raw) -> u32 {
            setting(raw, $which)
        }
    )*};
}

getters! {
    cusparseGetMatType 0;
    cusparseGetMatFillMode 1;
    cusparseGetMatDiagType 2;
    cusparseGetMatIndexBase 3;
}
