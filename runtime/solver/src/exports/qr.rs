//! Factors QR, and products with Q.

use super::{put_bytes, put_elements, same};
use crate::call::{Call, Touched};
use crate::numeric::Matrix;
use crate::numeric::reflections::{apply, apply_right, generate, qr};
use crate::place::{Ints, Place};
use crate::registry::Raw;
use crate::status::{Operation, Outcome, Status, as_operation, choice, size, valid};
use crate::types::{Type, Wide, numbers};

unsafe fn factor<W: Wide>(a: Place, taus: Place, info: Ints) {
    // SAFETY: the runtime has checked the memory.
    unsafe {
        let mut matrix = a.load::<W>();
        let found = qr(&mut matrix);
        a.store(&matrix);
        let mut column = Matrix::new(taus.m, 1);
        column.column_mut(0).copy_from_slice(&found);
        taus.store(&column);
        info.store(&[0]);
    }
}

unsafe fn make<W: Wide>(a: Place, taus: Place, info: Ints) {
    // SAFETY: as above.
    unsafe {
        let factors = a.load::<W>();
        a.store(&generate(&factors, taus.load::<W>().column(0), a.n));
        info.store(&[0]);
    }
}

unsafe fn multiply<W: Wide>(a: Place, taus: Place, left: bool, adjoint: bool, c: Place, info: Ints) {
    // SAFETY: as above.
    unsafe {
        let (factors, taus, mut matrix) = (a.load::<W>(), taus.load::<W>(), c.load::<W>());
        let function = if left { apply } else { apply_right };
        function(&factors, taus.column(0), adjoint, &mut matrix);
        c.store(&matrix);
        info.store(&[0]);
    }
}

fn submit_factor(call: Call, a: Place, taus: usize, work: Touched, info: Ints) -> Outcome {
    let taus = Place::vector(taus, a.ty, a.m.min(a.n));
    let touched = work.reads(a).writes(a).writes(taus).ints(info, true);
    // SAFETY: as above.
    call.submit(touched, move || unsafe { numbers!(a.ty, factor(a, taus, info)) })
}

/// The factors and the matrix that Q multiplies. Q has as many rows as the side of the matrix that it meets.
fn factors(
    ty: Type,
    side: u32,
    [m, n, k]: [i32; 3],
    a: (usize, i32),
    c: (usize, i32),
) -> Outcome<(Place, Place)> {
    let rows = if choice(side)? { n } else { m };
    valid(k <= rows)?;
    let a = Place::new(a.0, ty, rows.into(), k.into(), a.1.into())?;
    Ok((a, Place::new(c.0, ty, m.into(), n.into(), c.1.into())?))
}

gpurace_library::functions! { name:
    fn cusolverDnSgeqrf_bufferSize | cusolverDnDgeqrf_bufferSize | cusolverDnCgeqrf_bufferSize | cusolverDnZgeqrf_bufferSize
        (handle: Raw, m: i32, n: i32, a: usize, lda: i32, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        Place::new(a, ty, m.into(), n.into(), lda.into())?;
        put_elements(to)
    }

    fn cusolverDnSgeqrf | cusolverDnDgeqrf | cusolverDnCgeqrf | cusolverDnZgeqrf
        (handle: Raw, m: i32, n: i32, a: usize, lda: i32, taus: usize, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let a = Place::new(a, ty, m.into(), n.into(), lda.into())?;
        submit_factor(call, a, taus, Touched::work(work, ty, count)?, Ints::one(info))
    }

    fn cusolverDnXgeqrf_bufferSize(handle: Raw, params: Raw, m: i64, n: i64, ty: u32, a: usize, lda: i64, of_taus: u32, taus: usize, computed: u32, device: *mut usize, host: *mut usize) {
        Call::new(name, handle)?;
        Place::new(a, same(&[ty, of_taus, computed], &[])?, m, n, lda)?;
        put_bytes(device, host)
    }

    fn cusolverDnXgeqrf(handle: Raw, params: Raw, m: i64, n: i64, ty: u32, a: usize, lda: i64, of_taus: u32, taus: usize, computed: u32, device: usize, bytes: usize, host: usize, host_bytes: usize, info: usize) {
        let a = Place::new(a, same(&[ty, of_taus, computed], &[])?, m, n, lda)?;
        submit_factor(Call::new(name, handle)?, a, taus, Touched::bytes(device, bytes), Ints::one(info))
    }

    fn cusolverDnSorgqr_bufferSize | cusolverDnDorgqr_bufferSize | cusolverDnCungqr_bufferSize | cusolverDnZungqr_bufferSize
        (handle: Raw, m: i32, n: i32, k: i32, a: usize, lda: i32, taus: usize, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        valid(k <= n && n <= m)?;
        Place::new(a, ty, m.into(), n.into(), lda.into())?;
        put_elements(to)
    }

    fn cusolverDnSorgqr | cusolverDnDorgqr | cusolverDnCungqr | cusolverDnZungqr
        (handle: Raw, m: i32, n: i32, k: i32, a: usize, lda: i32, taus: usize, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        valid(k <= n && n <= m)?;
        let a = Place::new(a, ty, m.into(), n.into(), lda.into())?;
        let (taus, info) = (Place::vector(taus, ty, size(k.into())?), Ints::one(info));
        // Only the columns of the reflections are read.
        let read = Place { n: taus.m, ..a };
        let touched = Touched::work(work, ty, count)?.reads(read).reads(taus).writes(a).ints(info, true);
        // SAFETY: as above.
        call.submit(touched, move || unsafe { numbers!(ty, make(a, taus, info)) })
    }

    fn cusolverDnSormqr_bufferSize | cusolverDnDormqr_bufferSize | cusolverDnCunmqr_bufferSize | cusolverDnZunmqr_bufferSize
        (handle: Raw, side: u32, operation: u32, m: i32, n: i32, k: i32, a: usize, lda: i32, taus: usize, c: usize, ldc: i32, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        factors(ty, side, [m, n, k], (a, lda), (c, ldc))?;
        put_elements(to)
    }

    fn cusolverDnSormqr | cusolverDnDormqr | cusolverDnCunmqr | cusolverDnZunmqr
        (handle: Raw, side: u32, operation: u32, m: i32, n: i32, k: i32, a: usize, lda: i32, taus: usize, c: usize, ldc: i32, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let (operation, left) = (as_operation(operation)?, !choice(side)?);
        // LAPACK has no plain transpose of a complex Q.
        valid(operation != Operation::Transposed || !ty.is_complex())?;
        let (a, c) = factors(ty, side, [m, n, k], (a, lda), (c, ldc))?;
        let (taus, info, adjoint) = (Place::vector(taus, ty, a.n), Ints::one(info), operation != Operation::Plain);
        let touched = Touched::work(work, ty, count)?.reads(a).reads(taus).reads(c).writes(c).ints(info, true);
        // SAFETY: as above.
        call.submit(touched, move || unsafe { numbers!(ty, multiply(a, taus, left, adjoint, c, info)) })
    }
}
