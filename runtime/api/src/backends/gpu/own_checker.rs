//! The checker on the GPU, and what the host adds to it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gpurace_cuda::{Touched, Transfer};
use parking_lot::MutexGuard;

use super::{FAULTS, OnGpu, code::GpuKernel, found};
use crate::backend::memory::{SubmittedTransfer, TransferRows, TransferSide};
use crate::backend::module::Kernel;
use crate::backend::{FoundRace, OwnChecker};

impl OwnChecker for OnGpu {
    fn benign(&self, address: usize, size: usize) {
        self.benign.lock().push(address..address.saturating_add(size));
    }

    fn placing(&self) -> MutexGuard<'_, ()> {
        self.launching.lock()
    }

    fn touch(&self, transfer: SubmittedTransfer) {
        let touched: Vec<Touched> = transfer.sides.iter().flat_map(|&side| rows_of(side)).collect();
        let (number, unordered, stream) =
            (transfer.number, transfer.unordered.clone(), self.stream(transfer.stream));
        self.submitted.lock().add_transfer(transfer);
        let transfer = Transfer { touched: &touched, stream, number, unordered: &unordered };
        // Loading prints its own errors.
        if self.checking.get().is_none() {
            self.session.program.modules.load_checked();
        }
        let Some(module) = self.checking.get().filter(|_| self.enter().is_ok()) else { return };
        let submitted = self.gpu.lock().touch(&mut module.lock(), &transfer);
        // If a kernel has failed, the transfer itself returns that error.
        if let Err(error) = submitted.as_ref()
            && !FAULTS.contains(&error.code)
        {
            self.session
                .note_once(format!("copies not checked against launches that may overlap them: {error}"));
        }
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
        let (taken, logs) = (gpu.take_found(), gpu.take_logs());
        drop(gpu);
        let replayed = self.replays.lock().run(&logs);
        let joined = found::join(&taken, replayed, &self.submitted.lock(), &mut self.benign.lock());
        self.undecided.fetch_add(joined.undecided, Ordering::Relaxed);
        joined.races.into_iter().map(|(record, shared_offset)| FoundRace { record, shared_offset }).collect()
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

/// The bytes on a side of a transfer, slice by slice.
fn rows_of(side: TransferSide) -> impl Iterator<Item = Touched> {
    let TransferRows { start, width, rows: (rows, pitch), slices: (slices, slice) } = side.rows.joined();
    (0..slices).map(move |z| Touched {
        start: (start + z * slice) as u64,
        width: width as u64,
        rows: rows as u64,
        pitch: pitch as u64,
        writes: side.writes,
        site: side.site,
    })
}
