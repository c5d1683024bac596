//! Running plans.

use std::ffi::{CStr, c_int, c_void};

use gpurace_library::operation::submit;
use gpurace_library::touched::Touches;

use crate::plan::{self, RawPlan};
use crate::shape::{Kind, Type};
use crate::status::{Outcome, Status};
use crate::touched::{Area, tell};

/// `CUFFT_FORWARD`
const FORWARD: c_int = -1;
/// `CUFFT_INVERSE`
const INVERSE: c_int = 1;

/// Runs a plan as an operation on its stream. `ty`: the type that the function is for, if it is for one.
fn execute(
    name: &'static CStr,
    raw: RawPlan,
    ty: Option<u32>,
    from: *const c_void,
    to: *mut c_void,
    direction: c_int,
) -> Outcome {
    let shared = plan::find(raw)?;
    let (planned, stream, work_area) = {
        let plan = shared.lock();
        (plan.planned.clone().ok_or(Status::INVALID_PLAN)?, plan.stream, plan.work_area.clone())
    };
    let shape = planned.shape;
    if let Some(ty) = ty {
        Status::INVALID_TYPE.unless(Type::new(ty)? == shape.ty)?;
    }
    let kind = shape.ty.kind;
    let has_direction = kind != Kind::Complex || matches!(direction, FORWARD | INVERSE);
    Status::INVALID_VALUE.unless(!from.is_null() && !to.is_null() && has_direction)?;
    let work_area = work_area.ok_or(Status::NO_WORKSPACE)?;
    let touches = move |mut touches: Touches| {
        let in_place = from.addr() == to.addr();
        let (input, output) = shape.layouts(in_place);
        let (input_size, output_size) = shape.ty.sizes();
        let read = Area::elements(from.addr(), input_size, &input);
        let mut written = vec![Area::elements(to.addr(), output_size, &output)];
        written.extend(work_area.area(shape.work_size()));
        // cuFFT documents that complex-to-real transforms out of place overwrite their input.
        if kind == Kind::ToReal && !in_place {
            written.push(read.clone());
        }
        tell(&mut touches, &[read], false);
        tell(&mut touches, &written, true);
    };
    // SAFETY: the runtime has checked the memory.
    let run = move || unsafe { planned.run(from, to, direction == INVERSE) };
    submit(name, stream, false, touches, run).map_err(|error| match error {
        // cudaErrorNotSupported
        801 => Status::NOT_SUPPORTED,
        _ => Status::EXEC_FAILED,
    })
}

gpurace_library::functions! { name:
    fn cufftExecC2C(raw: RawPlan, from: *const c_void, to: *mut c_void, direction: c_int) {
        execute(name, raw, Some(0x29), from, to, direction)
    }

    fn cufftExecR2C(raw: RawPlan, from: *const c_void, to: *mut c_void) {
        execute(name, raw, Some(0x2a), from, to, FORWARD)
    }

    fn cufftExecC2R(raw: RawPlan, from: *const c_void, to: *mut c_void) {
        execute(name, raw, Some(0x2c), from, to, INVERSE)
    }

    fn cufftExecZ2Z(raw: RawPlan, from: *const c_void, to: *mut c_void, direction: c_int) {
        execute(name, raw, Some(0x69), from, to, direction)
    }

    fn cufftExecD2Z(raw: RawPlan, from: *const c_void, to: *mut c_void) {
        execute(name, raw, Some(0x6a), from, to, FORWARD)
    }

    fn cufftExecZ2D(raw: RawPlan, from: *const c_void, to: *mut c_void) {
        execute(name, raw, Some(0x6c), from, to, INVERSE)
    }

    fn cufftXtExec(raw: RawPlan, from: *const c_void, to: *mut c_void, direction: c_int) {
        execute(name, raw, None, from, to, direction)
    }
}
