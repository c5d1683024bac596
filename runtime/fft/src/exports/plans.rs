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

/// Functions that plan transforms of one rank with the basic layout: the name of each, the parameters for the sizes,
/// the sizes in three dimensions, the parameter for the batch, if there is one, and the batch.
macro_rules! with_basic_layout {
    ($($plan:ident $make:ident $estimate:ident $get_size:ident: ($($n:ident),*) $sizes:expr, ($($batch:ident)?) $count:expr;)*) => {$(
        gpurace_library::functions! { name:
            fn $plan(to: *mut RawPlan, $($n: c_int,)* ty: u32, $($batch: c_int)?) {
                plan(to, basic($sizes, ty, $count))
            }

            fn $make(raw: RawPlan, $($n: c_int,)* ty: u32, $($batch: c_int,)? work_size: *mut usize) {
                make(raw, basic($sizes, ty, $count), work_size)
            }

            fn $estimate($($n: c_int,)* ty: u32, $($batch: c_int,)? work_size: *mut usize) {
                estimate(basic($sizes, ty, $count), work_size)
            }

            fn $get_size(raw: RawPlan, $($n: c_int,)* ty: u32, $($batch: c_int,)? work_size: *mut usize) {
                plan::find(raw)?;
                estimate(basic($sizes, ty, $count), work_size)
            }
        }
    )*};
}

with_basic_layout! {
    cufftPlan1d cufftMakePlan1d cufftEstimate1d cufftGetSize1d: (nx) [1, 1, nx], (batch) batch;
    cufftPlan2d cufftMakePlan2d cufftEstimate2d cufftGetSize2d: (nx, ny) [1, nx, ny], () 1;
    cufftPlan3d cufftMakePlan3d cufftEstimate3d cufftGetSize3d: (nx, ny, nz) [nx, ny, nz], () 1;
}

/// Functions with the parameters of an advanced layout, which their bodies get as [`Many`]: the first parameter, the
/// type of sizes, the type of the output and that of the input if it is given too, and the last parameters.
macro_rules! with_advanced_layout {
    ($name:ident, $many:ident: $(
        fn $function:ident($($first:ident: $first_ty:ty)?; $int:ident; $output:ident $(of $input:ident)?; $($last:ident: $last_ty:ty),*)
            $body:block
    )*) => {
        gpurace_library::functions! { $name: $(
            fn $function(
                $($first: $first_ty,)?
                rank: c_int,
                n: *const $int,
                inembed: *const $int,
                istride: $int,
                idist: $int,
                $($input: u32,)?
                onembed: *const $int,
                ostride: $int,
                odist: $int,
                $output: u32,
                batch: $int,
                $($last: $last_ty),*
            ) {
                let (input, output) = ((inembed, istride, idist), (onembed, ostride, odist));
                let $many = Many { rank, n, input, output, batch };
                $body
            }
        )* }
    };
}

with_advanced_layout! { name, many:
    fn cufftPlanMany(to: *mut RawPlan; c_int; ty;) {
        plan(to, many.shape(Type::new(ty)?))
    }

    fn cufftMakePlanMany(raw: RawPlan; c_int; ty; work_size: *mut usize) {
        make(raw, Type::new(ty).and_then(|ty| many.shape(ty)), work_size)
    }

    fn cufftMakePlanMany64(raw: RawPlan; i64; ty; work_size: *mut usize) {
        make(raw, Type::new(ty).and_then(|ty| many.shape(ty)), work_size)
    }

    fn cufftXtMakePlanMany(raw: RawPlan; i64; output of input; work_size: *mut usize, computed: u32) {
        make(raw, of_data(name, input, output, computed).and_then(|ty| many.shape(ty)), work_size)
    }

    fn cufftEstimateMany(; c_int; ty; work_size: *mut usize) {
        estimate(many.shape(Type::new(ty)?), work_size)
    }

    fn cufftGetSizeMany(raw: RawPlan; c_int; ty; work_size: *mut usize) {
        plan::find(raw)?;
        estimate(many.shape(Type::new(ty)?), work_size)
    }

    fn cufftGetSizeMany64(raw: RawPlan; i64; ty; work_size: *mut usize) {
        plan::find(raw)?;
        estimate(many.shape(Type::new(ty)?), work_size)
    }

    fn cufftXtGetSizeMany(raw: RawPlan; i64; output of input; work_size: *mut usize, computed: u32) {
        plan::find(raw)?;
        estimate(many.shape(of_data(name, input, output, computed)?), work_size)
    }
}

gpurace_library::functions! { name:
    fn cufftGetSize(raw: RawPlan, work_size: *mut usize) {
        let plan = plan::find(raw)?;
        let planned = plan.lock().planned.clone().ok_or(Status::INVALID_PLAN)?;
        put(work_size, planned.shape.work_size())
    }
}
