//! `curandDiscreteDistribution_t`: a distribution in the device's memory, as the kernels' `curand_discrete` reads it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;

use parking_lot::Mutex;

use crate::distribution::Discrete;
use crate::status::{Outcome, Status};

unsafe extern "C" {
    fn cudaMalloc(to: *mut *mut c_void, size: usize) -> u32;
    fn cudaFree(at: *mut c_void) -> u32;
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, size: usize, kind: u32) -> u32;
}

/// `cudaMemcpyHostToDevice`
const TO_DEVICE: u32 = 1;

/// `CURAND_M2` of `curandMethod_t`: the table of [`square`].
const SQUARE: u32 = 5;

/// `CURAND_DISCRETE_GAUSS`: a rounded normal distribution.
const NORMAL: u32 = 7;

/// Above it, the distribution is that of rounded normal numbers.
const LARGEST_TABLE: f64 = 2000.0;

/// `curandDiscreteDistribution_st`
#[repr(C)]
struct Head {
    self_host_ptr: *mut c_void,
    m2: *mut c_void,
    host_m2: *mut c_void,
    stddev: f64,
    mean: f64,
    method: u32,
    host_gen: u32,
}

/// `curandDistributionM2Shift_st`
#[repr(C)]
struct Shifted {
    histogram: *mut c_void,
    host_histogram: *mut c_void,
    shift: u32,
    length: u32,
    host_gen: u32,
}

/// `curandHistogramM2_st`
#[repr(C)]
struct Histogram {
    v: *mut c_void,
    host_v: *mut c_void,
    k: *mut c_void,
    host_k: *mut c_void,
    host_gen: u32,
}

/// The distributions that exist, with their memory, by address.
static LIVE: Mutex<Option<HashMap<usize, Memory>>> = Mutex::new(None);

/// Memory of the device. It is freed with this.
#[derive(Default)]
struct Memory(Vec<*mut c_void>);

// SAFETY: these are addresses of the device's memory.
unsafe impl Send for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        for at in &self.0 {
            // SAFETY: it came from `cudaMalloc`.
            unsafe { cudaFree(*at) };
        }
    }
}

impl Memory {
    /// Copies values to new memory.
    fn holding<T>(&mut self, values: &[T]) -> Outcome<*mut c_void> {
        let size = size_of_val(values);
        let mut at = null_mut();
        // SAFETY: `at` is valid for a write.
        let allocated = unsafe { cudaMalloc(&raw mut at, size) };
        Status::ALLOCATION_FAILED.unless(allocated == 0)?;
        self.0.push(at);
        // SAFETY: both have this size.
        let copied = unsafe { cudaMemcpy(at, values.as_ptr().cast(), size, TO_DEVICE) };
        Status::PREEXISTING_FAILURE.unless(copied == 0)?;
        Ok(at)
    }
}

/// Makes Poisson's distribution.
///
/// # Errors
/// `CURAND_STATUS_OUT_OF_RANGE`, and those of the device's memory.
pub fn create(lambda: f64) -> Outcome<*mut c_void> {
    Status::OUT_OF_RANGE.unless(lambda > 0.0 && lambda <= 400_000.0)?;
    let mut memory = Memory::default();
    let mut head = Head {
        self_host_ptr: null_mut(),
        m2: null_mut(),
        host_m2: null_mut(),
        stddev: lambda.sqrt(),
        mean: lambda,
        method: NORMAL,
        host_gen: 0,
    };
    if lambda <= LARGEST_TABLE {
        let distribution = Discrete::poisson(lambda);
        let (limits, others) = square(&distribution.likelihoods());
        let histogram = Histogram {
            v: memory.holding(&limits)?,
            host_v: null_mut(),
            k: memory.holding(&others)?,
            host_k: null_mut(),
            host_gen: 0,
        };
        let shifted = Shifted {
            histogram: memory.holding(&[histogram])?,
            host_histogram: null_mut(),
            shift: distribution.first(),
            length: limits.len() as u32 - 1,
            host_gen: 0,
        };
        head.m2 = memory.holding(&[shifted])?;
        head.method = SQUARE;
    }
    let at = memory.holding(&[head])?;
    LIVE.lock().get_or_insert_default().insert(at.addr(), memory);
    Ok(at)
}

/// Destroys a distribution.
///
/// # Errors
/// `CURAND_STATUS_NOT_INITIALIZED` if it is none.
pub fn destroy(at: *mut c_void) -> Outcome {
    let removed = LIVE.lock().as_mut().and_then(|live| live.remove(&at.addr()));
    removed.map(drop).ok_or(Status::NOT_INITIALIZED)
}

/// The square histogram of Marsaglia, Tsang and Wang: columns of equal width, each with a limit and another number. A
/// place between 0 and 1 lies in a column. Below the limit it stands for the column's own number, otherwise for the
/// other one. The column after the last is for a place of 1.
fn square(likelihoods: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let count = likelihoods.len();
    let width = 1.0 / count as f64;
    let mut left = likelihoods.to_vec();
    let mut limits: Vec<f64> = (1..=count).map(|column| column as f64 * width).collect();
    let mut others: Vec<u32> = (0..count as u32).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|&i| left[i] < width);
    while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
        limits[low] = low as f64 * width + left[low];
        others[low] = high as u32;
        left[high] -= width - left[low];
        if left[high] < width {
            large.pop();
            small.push(high);
        }
    }
    limits.push(0.0);
    others.push(others[count - 1]);
    (limits, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_histogram_keeps_the_likelihoods() {
        for wanted in
            [vec![1.0], vec![0.5, 0.5], vec![0.7, 0.1, 0.15, 0.05], Discrete::poisson(9.5).likelihoods()]
        {
            let (limits, others) = square(&wanted);
            let count = wanted.len();
            let width = 1.0 / count as f64;
            let mut found = vec![0.0; count];
            for column in 0..count {
                let own = limits[column] - column as f64 * width;
                found[column] += own;
                found[others[column] as usize] += width - own;
            }
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
            }
            // A place of 1.
            assert!(limits[count] < 1.0 && (others[count] as usize) < count);
        }
    }

    #[test]
    fn structures_are_as_large_as_the_headers() {
        assert_eq!((size_of::<Head>(), size_of::<Shifted>(), size_of::<Histogram>()), (48, 32, 40));
    }
}
