//! Making plans, and the sizes of work areas.

use std::ffi::{CStr, c_int};

use gpurace_library::export::say;

use super::put;
use crate::plan::{self, RawPlan};
use crate::shape::{Shape, Side, Type};
use crate::status::{Outcome, Status};

/// A size of a transform.
fn size(n: i64) -> Outcome<usize> {
    usize::try_from(n).ok().filter(|&n| n > 0).ok_or(Status::INVALID_SIZE)
}

/// A transform with the basic layout. Dimensions that are not there are 1, the fastest is last.
fn basic(sizes: [c_int; 3], ty: u32, batch: c_int) -> Outcome<Shape> {
    let ty = Type::new(ty)?;
    let [x, y, z] = sizes.map(|n| size(n.into()));
    Shape::new(ty, [x?, y?, z?], size(batch.into())?, None)
}

/// The parameters of an advanced layout, as functions take them.
struct Many<T> {
    rank: c_int,
    n: *const T,
    input: (*const T, T, T),
    output: (*const T, T, T),
    batch: T,
}

impl<T: Copy + Into<i64>> Many<T> {
    /// The numbers of an array with one for each dimension. Dimensions that are not there are 1.
    fn numbers(&self, array: *const T) -> [i64; 3] {
        let mut numbers = [1; 3];
        let rank = self.rank as usize;
        for (i, number) in numbers[3 - rank..].iter_mut().enumerate() {
            // SAFETY: the program's array has `rank` numbers.
            *number = unsafe { array.add(i).read_unaligned() }.into();
        }
        numbers
    }

    /// One side of the layout.
    fn side(&self, (embed, stride, distance): (*const T, T, T)) -> Outcome<Side> {
        let positive = |n: i64| size(n).map_err(|_| Status::INVALID_VALUE);
        let [x, y, z] = self.numbers(embed).map(positive);
        // The distance between the batch's arrays is of no interest if there is one.
        let distance = usize::try_from(distance.into()).ok();
        let distance = distance.or((self.batch.into() == 1).then_some(0)).ok_or(Status::INVALID_VALUE)?;
        Ok(Side { embed: [x?, y?, z?], stride: positive(stride.into())?, distance })
    }

    fn shape(&self, ty: Type) -> Outcome<Shape> {
        Status::INVALID_VALUE.unless((1..=3).contains(&self.rank) && !self.n.is_null())?;
        let [x, y, z] = self.numbers(self.n).map(size);
        let sizes = [x?, y?, z?];
        let batch = size(self.batch.into())?;
        // Without these arrays, the strides and distances count for nothing.
        let is_basic = self.input.0.is_null() || self.output.0.is_null();
        let sides = match is_basic {
            true => None,
            false => Some((self.side(self.input)?, self.side(self.output)?)),
        };
        Shape::new(ty, sizes, batch, sides)
    }
}

/// The parameters of a function as [`Many`].
macro_rules! many {
    ($rank:ident, $n:ident, $inembed:ident, $istride:ident, $idist:ident, $onembed:ident, $ostride:ident,
        $odist:ident, $batch:ident) => {
        Many {
            rank: $rank,
            n: $n,
            input: ($inembed, $istride, $idist),
            output: ($onembed, $ostride, $odist),
            batch: $batch,
        }
    };
}

/// The type for these of `cudaDataType`.
fn of_data(name: &CStr, from: u32, to: u32, computed: u32) -> Outcome<Type> {
    Type::of_data(from, to, computed).ok_or_else(|| {
        say(name, "gpurace's cuFFT has single and double precision only (see docs/libraries.md)");
        Status::NOT_SUPPORTED
    })
}

/// Creates and makes a plan.
fn plan(to: *mut RawPlan, shape: Outcome<Shape>) -> Outcome {
    Status::INVALID_VALUE.unless(!to.is_null())?;
    let shape = shape?;
    let raw = plan::create()?;
    let made = plan::find(raw)?.lock().make(shape);
    if let Err(status) = made {
        plan::destroy(raw)?;
        return Err(status);
    }
    put(to, raw)
}

/// Makes a plan that was created.
fn make(raw: RawPlan, shape: Outcome<Shape>, work_size: *mut usize) -> Outcome {
    let plan = plan::find(raw)?;
    Status::INVALID_VALUE.unless(!work_size.is_null())?;
    let size = plan.lock().make(shape?)?;
    put(work_size, size)
}

/// Writes the size of the work area that a plan would have.
fn estimate(shape: Outcome<Shape>, work_size: *mut usize) -> Outcome {
    Status::INVALID_VALUE.unless(!work_size.is_null())?;
    put(work_size, shape?.work_size())
}

gpurace_library::functions! { name:
    fn cufftPlan1d(to: *mut RawPlan, nx: c_int, ty: u32, batch: c_int) {
        plan(to, basic([1, 1, nx], ty, batch))
    }

    fn cufftPlan2d(to: *mut RawPlan, nx: c_int, ny: c_int, ty: u32) {
        plan(to, basic([1, nx, ny], ty, 1))
    }

    fn cufftPlan3d(to: *mut RawPlan, nx: c_int, ny: c_int, nz: c_int, ty: u32) {
        plan(to, basic([nx, ny, nz], ty, 1))
    }

    fn cufftPlanMany(
        to: *mut RawPlan,
        rank: c_int,
        n: *const c_int,
        inembed: *const c_int,
        istride: c_int,
        idist: c_int,
        onembed: *const c_int,
        ostride: c_int,
        odist: c_int,
        ty: u32,
        batch: c_int,
    ) {
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        plan(to, many.shape(Type::new(ty)?))
    }

    fn cufftMakePlan1d(raw: RawPlan, nx: c_int, ty: u32, batch: c_int, work_size: *mut usize) {
        make(raw, basic([1, 1, nx], ty, batch), work_size)
    }

    fn cufftMakePlan2d(raw: RawPlan, nx: c_int, ny: c_int, ty: u32, work_size: *mut usize) {
        make(raw, basic([1, nx, ny], ty, 1), work_size)
    }

    fn cufftMakePlan3d(raw: RawPlan, nx: c_int, ny: c_int, nz: c_int, ty: u32, work_size: *mut usize) {
        make(raw, basic([nx, ny, nz], ty, 1), work_size)
    }

    fn cufftMakePlanMany(
        raw: RawPlan,
        rank: c_int,
        n: *const c_int,
        inembed: *const c_int,
        istride: c_int,
        idist: c_int,
        onembed: *const c_int,
        ostride: c_int,
        odist: c_int,
        ty: u32,
        batch: c_int,
        work_size: *mut usize,
    ) {
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        make(raw, Type::new(ty).and_then(|ty| many.shape(ty)), work_size)
    }

    fn cufftMakePlanMany64(
        raw: RawPlan,
        rank: c_int,
        n: *const i64,
        inembed: *const i64,
        istride: i64,
        idist: i64,
        onembed: *const i64,
        ostride: i64,
        odist: i64,
        ty: u32,
        batch: i64,
        work_size: *mut usize,
    ) {
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        make(raw, Type::new(ty).and_then(|ty| many.shape(ty)), work_size)
    }

    fn cufftXtMakePlanMany(
        raw: RawPlan,
        rank: c_int,
        n: *const i64,
        inembed: *const i64,
        istride: i64,
        idist: i64,
        input: u32,
        onembed: *const i64,
        ostride: i64,
        odist: i64,
        output: u32,
        batch: i64,
        work_size: *mut usize,
        computed: u32,
    ) {
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        make(raw, of_data(name, input, output, computed).and_then(|ty| many.shape(ty)), work_size)
    }

    fn cufftEstimate1d(nx: c_int, ty: u32, batch: c_int, work_size: *mut usize) {
        estimate(basic([1, 1, nx], ty, batch), work_size)
    }

    fn cufftEstimate2d(nx: c_int, ny: c_int, ty: u32, work_size: *mut usize) {
        estimate(basic([1, nx, ny], ty, 1), work_size)
    }

    fn cufftEstimate3d(nx: c_int, ny: c_int, nz: c_int, ty: u32, work_size: *mut usize) {
        estimate(basic([nx, ny, nz], ty, 1), work_size)
    }

    fn cufftEstimateMany(
        rank: c_int,
        n: *const c_int,
        inembed: *const c_int,
        istride: c_int,
        idist: c_int,
        onembed: *const c_int,
        ostride: c_int,
        odist: c_int,
        ty: u32,
        batch: c_int,
        work_size: *mut usize,
    ) {
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        estimate(many.shape(Type::new(ty)?), work_size)
    }

    fn cufftGetSize1d(raw: RawPlan, nx: c_int, ty: u32, batch: c_int, work_size: *mut usize) {
        plan::find(raw)?;
        estimate(basic([1, 1, nx], ty, batch), work_size)
    }

    fn cufftGetSize2d(raw: RawPlan, nx: c_int, ny: c_int, ty: u32, work_size: *mut usize) {
        plan::find(raw)?;
        estimate(basic([1, nx, ny], ty, 1), work_size)
    }

    fn cufftGetSize3d(raw: RawPlan, nx: c_int, ny: c_int, nz: c_int, ty: u32, work_size: *mut usize) {
        plan::find(raw)?;
        estimate(basic([nx, ny, nz], ty, 1), work_size)
    }

    fn cufftGetSizeMany(
        raw: RawPlan,
        rank: c_int,
        n: *const c_int,
        inembed: *const c_int,
        istride: c_int,
        idist: c_int,
        onembed: *const c_int,
        ostride: c_int,
        odist: c_int,
        ty: u32,
        batch: c_int,
        work_size: *mut usize,
    ) {
        plan::find(raw)?;
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        estimate(many.shape(Type::new(ty)?), work_size)
    }

    fn cufftGetSizeMany64(
        raw: RawPlan,
        rank: c_int,
        n: *const i64,
        inembed: *const i64,
        istride: i64,
        idist: i64,
        onembed: *const i64,
        ostride: i64,
        odist: i64,
        ty: u32,
        batch: i64,
        work_size: *mut usize,
    ) {
        plan::find(raw)?;
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        estimate(many.shape(Type::new(ty)?), work_size)
    }

    fn cufftXtGetSizeMany(
        raw: RawPlan,
        rank: c_int,
        n: *const i64,
        inembed: *const i64,
        istride: i64,
        idist: i64,
        input: u32,
        onembed: *const i64,
        ostride: i64,
        odist: i64,
        output: u32,
        batch: i64,
        work_size: *mut usize,
        computed: u32,
    ) {
        plan::find(raw)?;
        let many = many!(rank, n, inembed, istride, idist, onembed, ostride, odist, batch);
        estimate(many.shape(of_data(name, input, output, computed)?), work_size)
    }

    fn cufftGetSize(raw: RawPlan, work_size: *mut usize) {
        let plan = plan::find(raw)?;
        let planned = plan.lock().planned.clone().ok_or(Status::INVALID_PLAN)?;
        put(work_size, planned.shape.work_size())
    }
}
