//! `cufftHandle`: settings, a transform and a work area.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpurace_library::registry::{Raw, Registry};
use parking_lot::Mutex;

use crate::shape::Shape;
use crate::status::{Outcome, Status};
use crate::touched::Area;
use crate::transform::Transform;

/// `cufftHandle`
pub type RawPlan = c_int;

unsafe extern "C" {
    fn cudaMalloc(to: *mut *mut c_void, size: usize) -> u32;
    fn __gpurace_library_free(memory: *mut c_void) -> u32;
}

/// A transform of either precision.
enum Precision {
    Single(Transform<f32>),
    Double(Transform<f64>),
}

/// What a plan does, once it is made.
pub struct Planned {
    /// See there.
    pub shape: Shape,
    transform: Precision,
}

impl Planned {
    /// Prepares the transform of a shape.
    pub fn new(shape: Shape) -> Self {
        let transform = match shape.ty.is_double {
            true => Precision::Double(Transform::new(shape)),
            false => Precision::Single(Transform::new(shape)),
        };
        Self { shape, transform }
    }

    /// Runs it.
    ///
    /// # Safety
    /// As [`Transform::run`].
    pub unsafe fn run(&self, from: *const c_void, to: *mut c_void, inverse: bool) {
        // SAFETY: by the contract above.
        unsafe {
            match &self.transform {
                Precision::Single(transform) => transform.run(from, to, inverse),
                Precision::Double(transform) => transform.run(from, to, inverse),
            }
        }
    }
}

/// Memory that a plan's transforms may write, so that two of them must not run at once. Nothing is ever written there.
#[derive(Clone, Debug)]
pub struct WorkArea {
    start: usize,
    /// The plan has freed it. Nodes of graphs may still name it.
    is_freed: Option<Arc<AtomicBool>>,
}

impl WorkArea {
    /// The program's own memory.
    pub fn of_program(start: *mut c_void) -> Self {
        Self { start: start.addr(), is_freed: None }
    }

    /// Allocates memory of the device.
    fn allocate(size: usize) -> Outcome<Self> {
        let mut memory = null_mut();
        // SAFETY: the pointer is valid.
        Status::ALLOC_FAILED.unless(unsafe { cudaMalloc(&raw mut memory, size) } == 0)?;
        Ok(Self { start: memory.addr(), is_freed: Some(Arc::default()) })
    }

    /// Frees it, if the plan has allocated it. `cudaFree` would let the host wait for the device, and cuFFT does not
    /// promise this.
    pub fn free(self) {
        if let Some(is_freed) = self.is_freed {
            is_freed.store(true, Ordering::Relaxed);
            // SAFETY: it came from `cudaMalloc`, and is freed once.
            unsafe { __gpurace_library_free(null_mut::<c_void>().with_addr(self.start)) };
        }
    }

    /// Its bytes. None once it is freed.
    pub fn area(&self, size: usize) -> Option<Area> {
        let is_freed = self.is_freed.as_ref().is_some_and(|is_freed| is_freed.load(Ordering::Relaxed));
        (!is_freed).then(|| Area::bytes(self.start, size))
    }
}

/// A plan.
pub struct Plan {
    /// The `cudaStream_t`.
    pub stream: *mut c_void,
    /// What it does. None before it is made.
    pub planned: Option<Arc<Planned>>,
    /// Its work area allocates itself when the plan is made.
    pub allocates: bool,
    /// See there. None if nobody has given it one.
    pub work_area: Option<WorkArea>,
    /// `cufftProperty`, by number. They change nothing.
    pub properties: BTreeMap<u32, i64>,
}

// SAFETY: the stream is only passed on.
unsafe impl Send for Plan {}

impl Plan {
    /// Makes the plan: fixes what it does. Returns the size of its work area.
    ///
    /// # Errors
    /// `CUFFT_INVALID_PLAN` if it is made already, `CUFFT_ALLOC_FAILED` if there is no memory for its work area.
    pub fn make(&mut self, shape: Shape) -> Outcome<usize> {
        Status::INVALID_PLAN.unless(self.planned.is_none())?;
        if self.allocates && self.work_area.is_none() {
            self.work_area = Some(WorkArea::allocate(shape.work_size())?);
        }
        self.planned = Some(Arc::new(Planned::new(shape)));
        Ok(shape.work_size())
    }
}

/// A plan that several host threads may name.
pub type Shared = Arc<Mutex<Plan>>;

/// The plans that exist.
static PLANS: Registry<Shared, Status> = Registry::new(Status::INVALID_PLAN);

/// Creates a plan that does nothing yet.
///
/// # Errors
/// `CUFFT_ALLOC_FAILED` if no number is left.
pub fn create() -> Outcome<RawPlan> {
    let plan = Plan {
        stream: null_mut(),
        planned: None,
        allocates: true,
        work_area: None,
        properties: BTreeMap::new(),
    };
    RawPlan::try_from(PLANS.create(Arc::new(Mutex::new(plan)))).map_err(|_| Status::ALLOC_FAILED)
}

/// A handle as the registry knows it.
fn number(raw: RawPlan) -> Outcome<Raw> {
    Raw::try_from(raw).map_err(|_| Status::INVALID_PLAN)
}

/// The plan of a handle.
///
/// # Errors
/// `CUFFT_INVALID_PLAN` if it is none.
pub fn find(raw: RawPlan) -> Outcome<Shared> {
    PLANS.get(number(raw)?)
}

/// Destroys a plan. Graphs keep what they need of it, but for its work area.
///
/// # Errors
/// `CUFFT_INVALID_PLAN` if it is none.
pub fn destroy(raw: RawPlan) -> Outcome {
    let plan = PLANS.destroy(number(raw)?)?;
    let work_area = plan.lock().work_area.take();
    if let Some(work_area) = work_area {
        work_area.free();
    }
    Ok(())
}
