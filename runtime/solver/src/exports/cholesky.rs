//! Cholesky's factors, solutions and inverses with them, and inverses of triangles.

use gpurace_library::touched::Touches;

use super::{put_bytes, put_elements, same};
use crate::call::{Call, Touched};
use crate::numeric::Matrix;
use crate::numeric::factors::{Triangle, cholesky, solve_cholesky, zero_on_diagonal};
use crate::place::{Ints, Place};
use crate::registry::Raw;
use crate::status::{Operation, Outcome, Status, choice, size, valid};
use crate::types::{Type, Wide, numbers};

unsafe fn factor<W: Wide>(a: Place, info: Ints) {
    // SAFETY: the runtime has checked the memory.
    unsafe {
        let mut matrix = a.load_lower::<W>();
        let minor = cholesky(&mut matrix);
        a.store_lower(&matrix);
        info.store(&[minor]);
    }
}

unsafe fn solve<W: Wide>(a: Place, b: Place, info: Ints) {
    // SAFETY: as above.
    unsafe {
        let mut x = b.load::<W>();
        solve_cholesky(&a.load_lower(), &mut x);
        b.store(&x);
        info.store(&[0]);
    }
}

unsafe fn invert<W: Wide>(a: Place, info: Ints) {
    // SAFETY: as above.
    unsafe {
        let factor = a.load_lower::<W>();
        let zero = zero_on_diagonal(&factor);
        if zero == 0 {
            let mut inverse = Matrix::identity(a.n, a.n);
            solve_cholesky(&factor, &mut inverse);
            a.store_lower(&inverse);
        }
        info.store(&[zero]);
    }
}

unsafe fn invert_triangle<W: Wide>(a: Place, unit: bool, info: Ints) {
    // SAFETY: as above.
    unsafe {
        let matrix = a.load_lower::<W>();
        let zero = if unit { 0 } else { zero_on_diagonal(&matrix) };
        if zero == 0 {
            let mut inverse = Matrix::identity(a.n, a.n);
            Triangle { matrix: &matrix, lower: true, unit }.solve(Operation::Plain, &mut inverse);
            if unit {
                // The diagonal stays as it is.
                (0..a.n).for_each(|i| inverse[(i, i)] = matrix[(i, i)]);
            }
            a.store_lower(&inverse);
        }
        info.store(&[zero]);
    }
}

fn submit_factor(call: Call, a: Place, work: Touched, info: Ints) -> Outcome {
    // SAFETY: the runtime has checked the memory.
    call.submit(work.reads(a).writes(a).ints(info, true), move || unsafe {
        numbers!(a.ty, factor(a, info));
    })
}

fn submit_solve(call: Call, a: Place, b: Place, info: Ints) -> Outcome {
    let touched = Touched::default().reads(a).reads(b).writes(b).ints(info, true);
    // SAFETY: as above.
    call.submit(touched, move || unsafe { numbers!(a.ty, solve(a, b, info)) })
}

/// A batch: the addresses of its matrices are in the device's memory.
#[derive(Clone, Copy)]
struct Batch {
    array: usize,
    count: usize,
    like: Place,
}

impl Batch {
    fn addresses(self, touches: &mut Touches) -> Vec<Place> {
        let array = std::ptr::with_exposed_provenance::<*mut u8>(self.array);
        let starts = touches.addresses(array, self.count);
        starts.into_iter().map(|start| Place { start: start.expose_provenance(), ..self.like }).collect()
    }

    unsafe fn places(self) -> Vec<Place> {
        let array = std::ptr::with_exposed_provenance::<usize>(self.array);
        // SAFETY: the runtime has checked the memory.
        let start = |index| unsafe { array.add(index).read_unaligned() };
        (0..self.count).map(|index| Place { start: start(index), ..self.like }).collect()
    }
}

gpurace_library::functions! { name:
    fn cusolverDnSpotrf_bufferSize | cusolverDnDpotrf_bufferSize | cusolverDnCpotrf_bufferSize | cusolverDnZpotrf_bufferSize
        (handle: Raw, fill: u32, n: i32, a: usize, lda: i32, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        Place::triangle(a, ty, fill, n.into(), lda.into())?;
        put_elements(to)
    }

    fn cusolverDnSpotrf | cusolverDnDpotrf | cusolverDnCpotrf | cusolverDnZpotrf
        (handle: Raw, fill: u32, n: i32, a: usize, lda: i32, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let a = Place::triangle(a, ty, fill, n.into(), lda.into())?;
        submit_factor(call, a, Touched::work(work, ty, count)?, Ints::one(info))
    }

    fn cusolverDnXpotrf_bufferSize(handle: Raw, params: Raw, fill: u32, n: i64, ty: u32, a: usize, lda: i64, computed: u32, device: *mut usize, host: *mut usize) {
        Call::new(name, handle)?;
        Place::triangle(a, same(&[ty, computed], &[])?, fill, n, lda)?;
        put_bytes(device, host)
    }

    fn cusolverDnXpotrf(handle: Raw, params: Raw, fill: u32, n: i64, ty: u32, a: usize, lda: i64, computed: u32, device: usize, bytes: usize, host: usize, host_bytes: usize, info: usize) {
        let a = Place::triangle(a, same(&[ty, computed], &[])?, fill, n, lda)?;
        submit_factor(Call::new(name, handle)?, a, Touched::bytes(device, bytes), Ints::one(info))
    }

    fn cusolverDnSpotrs | cusolverDnDpotrs | cusolverDnCpotrs | cusolverDnZpotrs
        (handle: Raw, fill: u32, n: i32, columns: i32, a: usize, lda: i32, b: usize, ldb: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let a = Place::triangle(a, ty, fill, n.into(), lda.into())?;
        submit_solve(call, a, Place::new(b, ty, n.into(), columns.into(), ldb.into())?, Ints::one(info))
    }

    fn cusolverDnXpotrs(handle: Raw, params: Raw, fill: u32, n: i64, columns: i64, ty: u32, a: usize, lda: i64, of_b: u32, b: usize, ldb: i64, info: usize) {
        let ty = same(&[ty, of_b], &[])?;
        let a = Place::triangle(a, ty, fill, n, lda)?;
        submit_solve(Call::new(name, handle)?, a, Place::new(b, ty, n, columns, ldb)?, Ints::one(info))
    }

    fn cusolverDnSpotri_bufferSize | cusolverDnDpotri_bufferSize | cusolverDnCpotri_bufferSize | cusolverDnZpotri_bufferSize
        (handle: Raw, fill: u32, n: i32, a: usize, lda: i32, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        Place::triangle(a, ty, fill, n.into(), lda.into())?;
        put_elements(to)
    }

    fn cusolverDnSpotri | cusolverDnDpotri | cusolverDnCpotri | cusolverDnZpotri
        (handle: Raw, fill: u32, n: i32, a: usize, lda: i32, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let a = Place::triangle(a, ty, fill, n.into(), lda.into())?;
        let info = Ints::one(info);
        let touched = Touched::work(work, ty, count)?.reads(a).writes(a).ints(info, true);
        // SAFETY: as above.
        call.submit(touched, move || unsafe { numbers!(ty, invert(a, info)) })
    }

    fn cusolverDnXtrtri_bufferSize(handle: Raw, fill: u32, diagonal: u32, n: i64, ty: u32, a: usize, lda: i64, device: *mut usize, host: *mut usize) {
        Call::new(name, handle)?;
        choice(diagonal)?;
        Place::triangle(a, Type::new(ty)?, fill, n, lda)?;
        put_bytes(device, host)
    }

    fn cusolverDnXtrtri(handle: Raw, fill: u32, diagonal: u32, n: i64, ty: u32, a: usize, lda: i64, device: usize, bytes: usize, host: usize, host_bytes: usize, info: usize) {
        let (call, unit, info) = (Call::new(name, handle)?, choice(diagonal)?, Ints::one(info));
        let a = Place::triangle(a, Type::new(ty)?, fill, n, lda)?;
        let touched = Touched::bytes(device, bytes).reads(a).writes(a).ints(info, true);
        // SAFETY: as above.
        call.submit(touched, move || unsafe { numbers!(a.ty, invert_triangle(a, unit, info)) })
    }

    fn cusolverDnSpotrfBatched | cusolverDnDpotrfBatched | cusolverDnCpotrfBatched | cusolverDnZpotrfBatched
        (handle: Raw, fill: u32, n: i32, array: usize, lda: i32, infos: usize, count: i32) {
        let (call, ty) = Call::typed(name, handle)?;
        let (like, count) = (Place::triangle(0, ty, fill, n.into(), lda.into())?, size(count.into())?);
        let (batch, infos) = (Batch { array, count, like }, Ints { n: count, ..Ints::one(infos) });
        let touched = move |touches: &mut Touches| {
            for a in batch.addresses(touches) {
                a.touch(touches, false);
                a.touch(touches, true);
            }
            infos.touch(touches, true);
        };
        // SAFETY: as above.
        call.submit_with(touched, move || unsafe {
            for (index, a) in batch.places().into_iter().enumerate() {
                numbers!(ty, factor(a, infos.of_batch(index)));
            }
        })
    }

    // cuSOLVER takes one column.
    fn cusolverDnSpotrsBatched | cusolverDnDpotrsBatched | cusolverDnCpotrsBatched | cusolverDnZpotrsBatched
        (handle: Raw, fill: u32, n: i32, columns: i32, array: usize, lda: i32, right: usize, ldb: i32, info: usize, count: i32) {
        let (call, ty) = Call::typed(name, handle)?;
        valid(columns == 1)?;
        let (like, count) = (Place::triangle(0, ty, fill, n.into(), lda.into())?, size(count.into())?);
        let a = Batch { array, count, like };
        let b = Batch { array: right, count, like: Place::new(0, ty, n.into(), 1, ldb.into())? };
        let info = Ints::one(info);
        let touched = move |touches: &mut Touches| {
            a.addresses(touches).iter().for_each(|a| a.touch(touches, false));
            for b in b.addresses(touches) {
                b.touch(touches, false);
                b.touch(touches, true);
            }
            info.touch(touches, true);
        };
        // SAFETY: as above.
        call.submit_with(touched, move || unsafe {
            for (a, b) in a.places().into_iter().zip(b.places()) {
                numbers!(ty, solve(a, b, info));
            }
        })
    }
}
