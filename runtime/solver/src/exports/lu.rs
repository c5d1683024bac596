//! Factors L and U, and solutions with them.

use super::{put_bytes, put_elements, same};
use crate::call::{Call, Touched, WORKSPACE};
use crate::numeric::factors::{lu, solve_lu};
use crate::place::{Ints, Place};
use crate::registry::Raw;
use crate::status::{Operation, Outcome, Status, as_operation};
use crate::types::{Wide, numbers};

unsafe fn factor<W: Wide>(a: Place, pivots: Ints, info: Ints) {
    // SAFETY: the runtime has checked the memory.
    unsafe {
        let mut matrix = a.load::<W>();
        let (rows, zero) = lu(&mut matrix, pivots.start != 0);
        a.store(&matrix);
        pivots.store(&rows);
        info.store(&[zero]);
    }
}

unsafe fn solve<W: Wide>(operation: Operation, a: Place, pivots: Ints, b: Place, info: Ints) {
    // SAFETY: as above.
    unsafe {
        let mut x = b.load::<W>();
        solve_lu(operation, &a.load(), &pivots.load(), &mut x);
        b.store(&x);
        info.store(&[0]);
    }
}

fn submit_factor(call: Call, a: Place, pivots: (usize, bool), work: Touched, info: Ints) -> Outcome {
    let pivots = Ints { start: pivots.0, n: a.m.min(a.n), long: pivots.1 };
    let touched = work.reads(a).writes(a).ints(pivots, true).ints(info, true);
    // SAFETY: as above.
    call.submit(touched, move || unsafe { numbers!(a.ty, factor(a, pivots, info)) })
}

fn submit_solve(
    call: Call,
    operation: u32,
    a: Place,
    pivots: (usize, bool),
    b: Place,
    info: Ints,
) -> Outcome {
    let (operation, pivots) = (as_operation(operation)?, Ints { start: pivots.0, n: a.n, long: pivots.1 });
    let touched = Touched::default().reads(a).ints(pivots, false).reads(b).writes(b).ints(info, true);
    // SAFETY: as above.
    call.submit(touched, move || unsafe { numbers!(a.ty, solve(operation, a, pivots, b, info)) })
}

gpurace_library::functions! { name:
    fn cusolverDnSgetrf_bufferSize | cusolverDnDgetrf_bufferSize | cusolverDnCgetrf_bufferSize | cusolverDnZgetrf_bufferSize
        (handle: Raw, m: i32, n: i32, a: usize, lda: i32, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        Place::new(a, ty, m.into(), n.into(), lda.into())?;
        put_elements(to)
    }

    // Without an array for pivots no rows are exchanged.
    fn cusolverDnSgetrf | cusolverDnDgetrf | cusolverDnCgetrf | cusolverDnZgetrf
        (handle: Raw, m: i32, n: i32, a: usize, lda: i32, work: usize, pivots: usize, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let a = Place::new(a, ty, m.into(), n.into(), lda.into())?;
        let work = Touched::work(work, ty, WORKSPACE as i32)?;
        submit_factor(call, a, (pivots, false), work, Ints::one(info))
    }

    fn cusolverDnXgetrf_bufferSize(handle: Raw, params: Raw, m: i64, n: i64, ty: u32, a: usize, lda: i64, computed: u32, device: *mut usize, host: *mut usize) {
        Call::new(name, handle)?;
        Place::new(a, same(&[ty, computed], &[])?, m, n, lda)?;
        put_bytes(device, host)
    }

    fn cusolverDnXgetrf(handle: Raw, params: Raw, m: i64, n: i64, ty: u32, a: usize, lda: i64, pivots: usize, computed: u32, device: usize, bytes: usize, host: usize, host_bytes: usize, info: usize) {
        let a = Place::new(a, same(&[ty, computed], &[])?, m, n, lda)?;
        let (call, work) = (Call::new(name, handle)?, Touched::bytes(device, bytes));
        submit_factor(call, a, (pivots, true), work, Ints::one(info))
    }

    fn cusolverDnSgetrs | cusolverDnDgetrs | cusolverDnCgetrs | cusolverDnZgetrs
        (handle: Raw, operation: u32, n: i32, columns: i32, a: usize, lda: i32, pivots: usize, b: usize, ldb: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let a = Place::new(a, ty, n.into(), n.into(), lda.into())?;
        let b = Place::new(b, ty, n.into(), columns.into(), ldb.into())?;
        submit_solve(call, operation, a, (pivots, false), b, Ints::one(info))
    }

    fn cusolverDnXgetrs(handle: Raw, params: Raw, operation: u32, n: i64, columns: i64, ty: u32, a: usize, lda: i64, pivots: usize, of_b: u32, b: usize, ldb: i64, info: usize) {
        let (call, ty) = (Call::new(name, handle)?, same(&[ty, of_b], &[])?);
        let (a, b) = (Place::new(a, ty, n, n, lda)?, Place::new(b, ty, n, columns, ldb)?);
        submit_solve(call, operation, a, (pivots, true), b, Ints::one(info))
    }
}
