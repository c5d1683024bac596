//! Eigenvalues of symmetric and Hermitian matrices.

use super::{put_bytes, put_elements, same};
use crate::call::{Call, Touched};
use crate::numeric::Matrix;
use crate::numeric::eigen::{Eigen, eigen, generalized};
use crate::place::{Ints, Place};
use crate::registry::{JACOBI, Raw};
use crate::status::{Outcome, Status, choice, size, valid};
use crate::types::{Type, Wide, numbers};

/// What eigenvalues are asked of.
#[derive(Clone, Copy)]
struct EigenProblem {
    /// One triangle of the matrix.
    a: Place,
    /// The eigenvectors replace the matrix.
    vectors: bool,
    /// Where the values go.
    values: Place,
    info: Ints,
}

impl EigenProblem {
    /// By the parameters of a function: `mode` is a `cusolverEigMode_t`.
    fn new(
        ty: Type,
        mode: u32,
        fill: u32,
        n: i64,
        a: (usize, i64),
        values: usize,
        info: usize,
    ) -> Outcome<Self> {
        let vectors = choice(mode)?;
        let a = Place::triangle(a.0, ty, fill, n, a.1)?;
        Ok(Self { a, vectors, values: Place::vector(values, ty.real(), a.n), info: Ints::one(info) })
    }

    /// Without vectors, only the triangle is lost.
    fn result(&self) -> Place {
        if self.vectors { self.a.whole() } else { self.a }
    }

    fn touched(&self, work: Touched) -> Touched {
        work.reads(self.a).writes(self.result()).writes(self.values).ints(self.info, true)
    }

    unsafe fn store<W: Wide>(&self, found: &Eigen<W>) {
        // SAFETY: the runtime has checked the memory.
        unsafe {
            if found.values.len() == self.a.n {
                let mut values = Matrix::new(self.a.n, 1);
                values.column_mut(0).copy_from_slice(&found.values);
                self.values.store::<f64>(&values);
                if self.vectors {
                    self.result().store(&found.vectors);
                }
            }
            self.info.store(&[found.info]);
        }
    }

    fn submit(self, call: Call, work: Touched) -> Outcome {
        // SAFETY: as above.
        call.submit(self.touched(work), move || unsafe { numbers!(self.a.ty, run(self)) })
    }

    fn submit_generalized(self, call: Call, kind: u32, b: Place, work: Touched) -> Outcome {
        valid((1..=3).contains(&kind))?;
        let touched = self.touched(work).reads(b).writes(b);
        // SAFETY: as above.
        call.submit(touched, move || unsafe { numbers!(self.a.ty, run_generalized(self, kind, b)) })
    }
}

unsafe fn run<W: Wide>(problem: EigenProblem) {
    // SAFETY: as above.
    unsafe { problem.store(&eigen(problem.a.load_hermitian::<W>())) }
}

unsafe fn run_generalized<W: Wide>(problem: EigenProblem, kind: u32, b: Place) {
    // SAFETY: as above.
    unsafe {
        let mut factor = b.load_lower::<W>();
        let found = generalized(kind, &problem.a.load_hermitian(), &mut factor);
        b.store_lower(&factor);
        problem.store(&found);
    }
}

gpurace_library::functions! { name:
    fn cusolverDnSsyevd_bufferSize | cusolverDnDsyevd_bufferSize | cusolverDnCheevd_bufferSize | cusolverDnZheevd_bufferSize
        (handle: Raw, mode: u32, fill: u32, n: i32, a: usize, lda: i32, values: usize, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, 0)?;
        put_elements(to)
    }

    fn cusolverDnSsyevd | cusolverDnDsyevd | cusolverDnCheevd | cusolverDnZheevd
        (handle: Raw, mode: u32, fill: u32, n: i32, a: usize, lda: i32, values: usize, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, info)?.submit(call, Touched::work(work, ty, count)?)
    }

    fn cusolverDnXsyevd_bufferSize(handle: Raw, params: Raw, mode: u32, fill: u32, n: i64, ty: u32, a: usize, lda: i64, of_values: u32, values: usize, computed: u32, device: *mut usize, host: *mut usize) {
        Call::new(name, handle)?;
        EigenProblem::new(same(&[ty, computed], &[of_values])?, mode, fill, n, (a, lda), values, 0)?;
        put_bytes(device, host)
    }

    fn cusolverDnXsyevd(handle: Raw, params: Raw, mode: u32, fill: u32, n: i64, ty: u32, a: usize, lda: i64, of_values: u32, values: usize, computed: u32, device: usize, bytes: usize, host: usize, host_bytes: usize, info: usize) {
        let (call, work) = (Call::new(name, handle)?, Touched::bytes(device, bytes));
        EigenProblem::new(same(&[ty, computed], &[of_values])?, mode, fill, n, (a, lda), values, info)?.submit(call, work)
    }

    fn cusolverDnSsyevj_bufferSize | cusolverDnDsyevj_bufferSize | cusolverDnCheevj_bufferSize | cusolverDnZheevj_bufferSize
        (handle: Raw, mode: u32, fill: u32, n: i32, a: usize, lda: i32, values: usize, to: *mut i32, params: Raw) {
        let (_, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, 0)?;
        put_elements(to)
    }

    fn cusolverDnSsyevj | cusolverDnDsyevj | cusolverDnCheevj | cusolverDnZheevj
        (handle: Raw, mode: u32, fill: u32, n: i32, a: usize, lda: i32, values: usize, work: usize, count: i32, info: usize, params: Raw) {
        let (call, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, info)?.submit(call, Touched::work(work, ty, count)?)
    }

    fn cusolverDnSsyevjBatched_bufferSize | cusolverDnDsyevjBatched_bufferSize | cusolverDnCheevjBatched_bufferSize | cusolverDnZheevjBatched_bufferSize
        (handle: Raw, mode: u32, fill: u32, n: i32, a: usize, lda: i32, values: usize, to: *mut i32, params: Raw, batches: i32) {
        let (_, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, 0)?;
        size(batches.into())?;
        put_elements(to)
    }

    // The matrices lie behind each other, and so do the values.
    fn cusolverDnSsyevjBatched | cusolverDnDsyevjBatched | cusolverDnCheevjBatched | cusolverDnZheevjBatched
        (handle: Raw, mode: u32, fill: u32, n: i32, a: usize, lda: i32, values: usize, work: usize, count: i32, info: usize, params: Raw, batches: i32) {
        let (call, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        let first = EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, info)?;
        let each = |index| EigenProblem {
            a: first.a.of_batch(index, first.a.leading * first.a.n),
            values: first.values.of_batch(index, first.a.n),
            info: first.info.of_batch(index),
            ..first
        };
        let all: Vec<EigenProblem> = (0..size(batches.into())?).map(each).collect();
        let touched = all.iter().fold(Touched::work(work, ty, count)?, |touched, problem| problem.touched(touched));
        // SAFETY: as above.
        call.submit(touched, move || all.iter().for_each(|&problem| unsafe { numbers!(ty, run(problem)) }))
    }

    fn cusolverDnSsygvd_bufferSize | cusolverDnDsygvd_bufferSize | cusolverDnChegvd_bufferSize | cusolverDnZhegvd_bufferSize
        (handle: Raw, kind: u32, mode: u32, fill: u32, n: i32, a: usize, lda: i32, b: usize, ldb: i32, values: usize, to: *mut i32) {
        let (_, ty) = Call::typed(name, handle)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, 0)?;
        Place::triangle(b, ty, fill, n.into(), ldb.into())?;
        put_elements(to)
    }

    fn cusolverDnSsygvd | cusolverDnDsygvd | cusolverDnChegvd | cusolverDnZhegvd
        (handle: Raw, kind: u32, mode: u32, fill: u32, n: i32, a: usize, lda: i32, b: usize, ldb: i32, values: usize, work: usize, count: i32, info: usize) {
        let (call, ty) = Call::typed(name, handle)?;
        let b = Place::triangle(b, ty, fill, n.into(), ldb.into())?;
        let problem = EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, info)?;
        problem.submit_generalized(call, kind, b, Touched::work(work, ty, count)?)
    }

    fn cusolverDnSsygvj_bufferSize | cusolverDnDsygvj_bufferSize | cusolverDnChegvj_bufferSize | cusolverDnZhegvj_bufferSize
        (handle: Raw, kind: u32, mode: u32, fill: u32, n: i32, a: usize, lda: i32, b: usize, ldb: i32, values: usize, to: *mut i32, params: Raw) {
        let (_, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, 0)?;
        Place::triangle(b, ty, fill, n.into(), ldb.into())?;
        put_elements(to)
    }

    fn cusolverDnSsygvj | cusolverDnDsygvj | cusolverDnChegvj | cusolverDnZhegvj
        (handle: Raw, kind: u32, mode: u32, fill: u32, n: i32, a: usize, lda: i32, b: usize, ldb: i32, values: usize, work: usize, count: i32, info: usize, params: Raw) {
        let (call, ty) = Call::typed(name, handle)?;
        JACOBI.get(params)?;
        let b = Place::triangle(b, ty, fill, n.into(), ldb.into())?;
        let problem = EigenProblem::new(ty, mode, fill, n.into(), (a, lda.into()), values, info)?;
        problem.submit_generalized(call, kind, b, Touched::work(work, ty, count)?)
    }
}
