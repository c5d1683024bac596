//! Singular values.

use super::{put_bytes, put_elements, same};
use crate::call::{Call, Touched};
use crate::numeric::Matrix;
use crate::numeric::singular::singular;
use crate::place::{Ints, Place};
use crate::registry::{JACOBI, Raw};
use crate::status::{Outcome, Status, choice, size, valid};
use crate::types::{Type, Wide, numbers};

/// What singular values are asked of.
#[derive(Clone, Copy)]
struct SingularProblem {
    a: Place,
    /// Where the values go.
    values: Place,
    /// Where the left vectors go, if they are asked for.
    u: Option<Place>,
    /// Where the right vectors go, if they are asked for.
    v: Option<Place>,
    /// The right vectors are stored as rows, and conjugated.
    v_adjoint: bool,
    info: Ints,
}

impl SingularProblem {
    /// By the parameters of `gesvd`: a letter says what is asked of each side. Matrices have their leading dimensions.
    fn by_letters(
        ty: Type,
        [letter_u, letter_v]: [i8; 2],
        [m, n]: [i64; 2],
        [a, u, v]: [(usize, i64); 3],
        values: usize,
        info: usize,
    ) -> Outcome<Self> {
        // As cuSOLVER documents.
        valid(m >= n)?;
        let a = Place::new(a.0, ty, m, n, a.1)?;
        let place = |letter: i8, all: [i64; 2], some: [i64; 2], to: (usize, i64)| match letter as u8 {
            b'A' => Place::new(to.0, ty, all[0], all[1], to.1).map(Some),
            b'S' => Place::new(to.0, ty, some[0], some[1], to.1).map(Some),
            b'O' => Ok(Some(a)),
            b'N' => Ok(None),
            _ => Err(Status::INVALID_VALUE),
        };
        valid(letter_u as u8 != b'O' || letter_v as u8 != b'O')?;
        let u = place(letter_u, [m, m], [m, n], u)?;
        let mut v = place(letter_v, [n, n], [n, n], v)?;
        if letter_v as u8 == b'O' {
            v = Some(Place { m: a.n, ..a });
        }
        let values = Place::vector(values, ty.real(), a.n);
        Ok(Self { a, values, u, v, v_adjoint: true, info: Ints::one(info) })
    }

    /// By the parameters of `gesvdj`: `mode` is a `cusolverEigMode_t`. With `columns`, only so many vectors are stored.
    fn by_mode(
        ty: Type,
        mode: u32,
        [m, n, columns]: [i64; 3],
        [a, u, v]: [(usize, i64); 3],
        values: usize,
        info: usize,
    ) -> Outcome<Self> {
        let a = Place::new(a.0, ty, m, n, a.1)?;
        let (mut made_u, mut made_v) = (None, None);
        if choice(mode)? {
            made_u = Some(Place::new(u.0, ty, m, m.min(columns), u.1)?);
            made_v = Some(Place::new(v.0, ty, n, n.min(columns), v.1)?);
        }
        let values = Place::vector(values, ty.real(), a.m.min(a.n));
        Ok(Self { a, values, u: made_u, v: made_v, v_adjoint: false, info: Ints::one(info) })
    }

    /// The matrix is lost.
    fn touched(&self, work: Touched) -> Touched {
        let touched = work.reads(self.a).writes(self.a).writes(self.values).ints(self.info, true);
        self.u.into_iter().chain(self.v).fold(touched, Touched::writes)
    }

    /// The problem of a batch, with this many elements from one to the next: matrix, values and vectors.
    fn of_batch(self, index: usize, [a, values, u, v]: [usize; 4]) -> Self {
        Self {
            a: self.a.of_batch(index, a),
            values: self.values.of_batch(index, values),
            u: self.u.map(|place| place.of_batch(index, u)),
            v: self.v.map(|place| place.of_batch(index, v)),
            info: self.info.of_batch(index),
            ..self
        }
    }

    fn submit(self, call: Call, work: Touched) -> Outcome {
        // SAFETY: the runtime has checked the memory.
        call.submit(self.touched(work), move || unsafe { numbers!(self.a.ty, run(self)) })
    }
}

unsafe fn run<W: Wide>(problem: SingularProblem) {
    // SAFETY: as above.
    unsafe {
        let all = problem.u.into_iter().chain(problem.v).any(|vectors| vectors.n > problem.values.m);
        let found = singular(problem.a.load::<W>(), all);
        let mut values = Matrix::new(found.values.len(), 1);
        values.column_mut(0).copy_from_slice(&found.values);
        problem.values.store::<f64>(&values);
        if let Some(u) = problem.u {
            u.store(&found.u);
        }
        if let Some(v) = problem.v {
            v.store(&if problem.v_adjoint { found.v.adjoint() } else { found.v });
        }
        problem.info.store(&[found.info]);
    }
}

/// How many vectors `gesvdj` stores: all, or with `thin` as many as there are values.
fn columns(thin: i32, m: i32, n: i32) -> i64 {
    if thin == 0 { i64::MAX } else { m.min(n).into() }
}

gpurace_library::functions! { name:
    fn cusolverDnSgesvd_bufferSize | cusolverDnDgesvd_bufferSize | cusolverDnCgesvd_bufferSize | cusolverDnZgesvd_bufferSize
        (handle: Raw, m: i32, n: i32, to: *mut i32) {
        Call::new(name, handle)?;
        valid(m >= n && n >= 0)?;
        put_elements(to)
    }

    fn cusolverDnSgesvd | cusolverDnDgesvd | cusolverDnCgesvd | cusolverDnZgesvd
        (handle: Raw, letter_u: i8, letter_v: i8, m: i32, n: i32, a: usize, lda: i32, values: usize, u: usize, ldu: i32, v: usize, ldv: i32, work: usize, count: i32, real_work: usize, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let places = [(a, lda.into()), (u, ldu.into()), (v, ldv.into())];
        let problem = SingularProblem::by_letters(ty, [letter_u, letter_v], [m.into(), n.into()], places, values, info)?;
        problem.submit(call, Touched::work(work, ty, count)?)
    }

    fn cusolverDnXgesvd_bufferSize(handle: Raw, params: Raw, letter_u: i8, letter_v: i8, m: i64, n: i64, ty: u32, a: usize, lda: i64, of_values: u32, values: usize, of_u: u32, u: usize, ldu: i64, of_v: u32, v: usize, ldv: i64, computed: u32, device: *mut usize, host: *mut usize) {
        Call::new(name, handle)?;
        let ty = same(&[ty, of_u, of_v, computed], &[of_values])?;
        SingularProblem::by_letters(ty, [letter_u, letter_v], [m, n], [(a, lda), (u, ldu), (v, ldv)], values, 0)?;
        put_bytes(device, host)
    }

    fn cusolverDnXgesvd(handle: Raw, params: Raw, letter_u: i8, letter_v: i8, m: i64, n: i64, ty: u32, a: usize, lda: i64, of_values: u32, values: usize, of_u: u32, u: usize, ldu: i64, of_v: u32, v: usize, ldv: i64, computed: u32, device: usize, bytes: usize, host: usize, host_bytes: usize, info: usize) {
        let ty = same(&[ty, of_u, of_v, computed], &[of_values])?;
        let problem = SingularProblem::by_letters(ty, [letter_u, letter_v], [m, n], [(a, lda), (u, ldu), (v, ldv)], values, info)?;
        problem.submit(Call::new(name, handle)?, Touched::bytes(device, bytes))
    }

    fn cusolverDnSgesvdj_bufferSize | cusolverDnDgesvdj_bufferSize | cusolverDnCgesvdj_bufferSize | cusolverDnZgesvdj_bufferSize
        (handle: Raw, mode: u32, thin: i32, m: i32, n: i32, a: usize, lda: i32, values: usize, u: usize, ldu: i32, v: usize, ldv: i32, to: *mut i32, params: Raw) {
        let (_, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        let places = [(a, lda.into()), (u, ldu.into()), (v, ldv.into())];
        SingularProblem::by_mode(ty, mode, [m.into(), n.into(), columns(thin, m, n)], places, values, 0)?;
        put_elements(to)
    }

    fn cusolverDnSgesvdj | cusolverDnDgesvdj | cusolverDnCgesvdj | cusolverDnZgesvdj
        (handle: Raw, mode: u32, thin: i32, m: i32, n: i32, a: usize, lda: i32, values: usize, u: usize, ldu: i32, v: usize, ldv: i32, work: usize, count: i32, info: usize, params: Raw) {
        let (call, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        let places = [(a, lda.into()), (u, ldu.into()), (v, ldv.into())];
        let problem = SingularProblem::by_mode(ty, mode, [m.into(), n.into(), columns(thin, m, n)], places, values, info)?;
        problem.submit(call, Touched::work(work, ty, count)?)
    }

    fn cusolverDnSgesvdjBatched_bufferSize | cusolverDnDgesvdjBatched_bufferSize | cusolverDnCgesvdjBatched_bufferSize | cusolverDnZgesvdjBatched_bufferSize
        (handle: Raw, mode: u32, m: i32, n: i32, a: usize, lda: i32, values: usize, u: usize, ldu: i32, v: usize, ldv: i32, to: *mut i32, params: Raw, batches: i32) {
        let (_, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        let places = [(a, lda.into()), (u, ldu.into()), (v, ldv.into())];
        SingularProblem::by_mode(ty, mode, [m.into(), n.into(), i64::MAX], places, values, 0)?;
        size(batches.into())?;
        put_elements(to)
    }

    // Matrices, values and vectors lie behind those before.
    fn cusolverDnSgesvdjBatched | cusolverDnDgesvdjBatched | cusolverDnCgesvdjBatched | cusolverDnZgesvdjBatched
        (handle: Raw, mode: u32, m: i32, n: i32, a: usize, lda: i32, values: usize, u: usize, ldu: i32, v: usize, ldv: i32, work: usize, count: i32, info: usize, params: Raw, batches: i32) {
        let (call, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        // As cuSOLVER documents.
        valid(m <= 32 && n <= 32)?;
        let places = [(a, lda.into()), (u, ldu.into()), (v, ldv.into())];
        let first = SingularProblem::by_mode(ty, mode, [m.into(), n.into(), i64::MAX], places, values, info)?;
        let each = |place: Option<Place>| place.map_or(0, |place| place.leading * place.n);
        let strides = [first.a.leading * first.a.n, first.values.m, each(first.u), each(first.v)];
        let all: Vec<SingularProblem> = (0..size(batches.into())?).map(|index| first.of_batch(index, strides)).collect();
        let touched = all.iter().fold(Touched::work(work, ty, count)?, |touched, problem| problem.touched(touched));
        // SAFETY: as above.
        call.submit(touched, move || all.iter().for_each(|&problem| unsafe { numbers!(ty, run(problem)) }))
    }
}
