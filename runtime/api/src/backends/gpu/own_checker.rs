//! The checker on the GPU, and what the host adds to it.

use std::ops::Range;
use std::time::Duration;

use gpurace_check::{RaceRecord, Space};

use super::{OnGpu, code::GpuKernel, found};
use crate::backend::module::Kernel;
use crate::backend::{FoundRace, OwnChecker};

impl OwnChecker for OnGpu {
    fn benign(&self, address: usize, size: usize) {
        self.benign.lock().push(address..address.saturating_add(size));
    }

    fn take_found(&self) -> Vec<FoundRace> {
        // Once the driver has ended, its memory is gone. Everything was fetched before.
        if self.last.get().is_some() {
            return Vec::new();
        }
        // A signal may have interrupted the call that holds the lock.
        let Some(mut gpu) = self.gpu.try_lock_for(Duration::from_secs(1)) else {
            return Vec::new();
        };
        let taken = gpu.take_found();
        drop(gpu);
        let benign = self.benign.lock();
        taken.iter().filter_map(found::race).filter(|found| !is_benign(&benign, &found.record)).collect()
    }

    fn shared_place(&self, kernel: &Kernel, offset: u32) -> Option<u64> {
        GpuKernel::of(kernel).ok()?.shared_place(&self.device, kernel.meta(), offset)
    }

    fn take_checks(&self) -> Vec<(u64, u64)> {
        self.last.get().map(|last| std::mem::take(&mut *last.checks.lock())).unwrap_or_default()
    }

    fn notes(&self) -> Vec<String> {
        self.counted()
    }
}

/// True if the program intends races on this memory.
fn is_benign(benign: &[Range<usize>], record: &RaceRecord) -> bool {
    let bytes = record.address..record.address + record.later.size.unwrap_or(1) as usize;
    record.space == Space::Global
        && benign.iter().any(|range| range.start < bytes.end && bytes.start < range.end)
}
