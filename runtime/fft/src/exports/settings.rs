//! Handles, streams, work areas, properties and versions.

use std::ffi::{c_int, c_void};

use super::put;
use crate::plan::{self, RawPlan, WorkArea};
use crate::status::{Outcome, Status};

/// The version of cuFFT that the functions are those of: 12.0.0.
const VERSION: [c_int; 3] = [12, 0, 0];

/// True if there is a `cufftProperty` of this number.
fn is_property(property: u32) -> bool {
    matches!(property, 1 | 2)
}

gpurace_library::functions! { name:
    fn cufftCreate(to: *mut RawPlan) {
        Status::INVALID_VALUE.unless(!to.is_null())?;
        put(to, plan::create()?)
    }

    // It waits for nothing: cuFFT promises no order.
    fn cufftDestroy(raw: RawPlan) {
        plan::destroy(raw)
    }

    fn cufftSetStream(raw: RawPlan, stream: *mut c_void) {
        plan::find(raw)?.lock().stream = stream;
        Ok(())
    }

    fn cufftSetAutoAllocation(raw: RawPlan, allocates: c_int) {
        plan::find(raw)?.lock().allocates = allocates != 0;
        Ok(())
    }

    fn cufftSetWorkArea(raw: RawPlan, start: *mut c_void) {
        let area = (!start.is_null()).then(|| WorkArea::of_program(start));
        let before = std::mem::replace(&mut plan::find(raw)?.lock().work_area, area);
        if let Some(before) = before {
            before.free();
        }
        Ok(())
    }

    fn cufftGetVersion(to: *mut c_int) {
        put(to, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2])
    }

    fn cufftGetProperty(part: u32, to: *mut c_int) {
        put(to, *VERSION.get(part as usize).ok_or(Status::INVALID_VALUE)?)
    }

    fn cufftSetPlanPropertyInt64(raw: RawPlan, property: u32, value: i64) {
        let plan = plan::find(raw)?;
        Status::INVALID_VALUE.unless(is_property(property))?;
        plan.lock().properties.insert(property, value);
        Ok(())
    }

    fn cufftGetPlanPropertyInt64(raw: RawPlan, property: u32, to: *mut i64) {
        let plan = plan::find(raw)?;
        Status::INVALID_VALUE.unless(is_property(property))?;
        put(to, plan.lock().properties.get(&property).copied().unwrap_or_default())
    }

    fn cufftResetPlanProperty(raw: RawPlan, property: u32) {
        let plan = plan::find(raw)?;
        Status::INVALID_VALUE.unless(is_property(property))?;
        plan.lock().properties.remove(&property);
        Ok(())
    }
}
