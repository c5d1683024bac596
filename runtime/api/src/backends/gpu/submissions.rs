//! Submitting launches and transfers to the driver.

use gpurace_check::KernelKey;
use gpurace_cuda::Variant;
use gpurace_cuda::driver::queue::{CopySide, Pitched};

use super::{OnGpu, code::GpuKernel};
use crate::backend::memory::PitchedRows;
use crate::backend::module::KernelLaunch;
use crate::host::errors::{Error, Result};
use crate::host::types::cudaExtent;
use crate::order::StreamId;
use crate::session;

impl OnGpu {
    /// Submits a launch, with or without checks.
    pub(super) fn submit_launch(&self, launch: &KernelLaunch<'_>) -> Result {
        let entry = GpuKernel::of(launch.kernel)?;
        self.enter()?;
        let session = session::get();
        let launching = self.launching.lock();
        let begun = session.begin(launch);
        let (threads, dynamic_shared) = (launch.shape.threads(), launch.shape.dynamic_shared);
        let variant = match &begun.wanted {
            None => Variant::Bare,
            Some(_) if entry.can_check(self, threads, dynamic_shared) => Variant::Checked,
            Some(_) => {
                session.runs_unchecked(&begun.record);
                Variant::Bare
            }
        };
        let sync = &launch.kernel.meta().sync;
        let key = KernelKey(launch.kernel.key);
        let events = if variant == Variant::Checked { self.replays.lock().events_of(key, sync) } else { 0 };
        let arguments = launch.kernel.arguments(launch.args);
        let request = gpurace_cuda::KernelLaunch {
            kernel: launch.kernel.name.to_str().map_err(|_| Error::INVALID_DEVICE_FUNCTION)?,
            variant,
            shape: launch.shape,
            static_shared: entry.bare.1.shared as u32,
            cooperative: launch.cooperative,
            stream: self.stream(launch.stream),
            number: begun.record.operation,
            unordered: &begun.ordered.unordered,
            events,
            observes: sync.observes,
        };
        self.submitted.lock().add_launch(request.number, request.unordered, sync.fences || sync.observes);
        let submitted = {
            let mut gpu = self.gpu.lock();
            // SAFETY: the arguments lie as the description of the kernel says.
            let submitted = unsafe { gpu.launch(&mut entry.module.lock(), &request, &arguments) };
            if submitted.is_ok() && gpu.has_log(request.number) {
                let shared = entry.checked.map_or(0, |(_, attributes)| attributes.shared) as usize;
                let shared = shared + dynamic_shared as usize;
                self.replays.lock().add(launch, request.number, shared, begun.ordered.overlaps);
            }
            submitted
        };
        drop(launching);
        submitted.map_err(|error| self.fail(error))
    }

    /// Submits a copy.
    ///
    /// # Safety
    /// As [`Backend::copy`](crate::backend::Backend::copy).
    pub(super) unsafe fn submit_copy(
        &self,
        to: PitchedRows,
        from: PitchedRows,
        extent: cudaExtent,
        stream: StreamId,
        wait: bool,
    ) -> Result {
        let stream = self.stream(stream);
        let address = |rows: PitchedRows, slice: usize| rows.start as u64 + (rows.slice * slice) as u64;
        let dense = |rows: PitchedRows| extent.height == 1 || rows.pitch == extent.width;
        self.call(|| {
            // SAFETY: the caller keeps the contract above.
            if let Some(copied) = unsafe { self.arrays.copy(to, from, extent, stream) } {
                copied?;
                return if wait { stream.wait() } else { Ok(()) };
            }
            for slice in 0..extent.depth {
                let (to_address, from_address) = (address(to, slice), address(from, slice));
                // SAFETY: the caller keeps the contract above.
                unsafe {
                    if dense(to) && dense(from) {
                        stream.copy(to_address, from_address, extent.width * extent.height)?;
                        continue;
                    }
                    let rows = |rows: PitchedRows, address| {
                        CopySide::Memory(Pitched { address, pitch: rows.pitch, rows: extent.height })
                    };
                    stream.copy_rows(
                        rows(to, to_address),
                        rows(from, from_address),
                        [extent.width, extent.height, 1],
                    )?;
                }
            }
            if wait { stream.wait() } else { Ok(()) }
        })?;
        if wait {
            session::get().collect();
        }
        Ok(())
    }

    /// Submits a fill. The memory was checked.
    pub(super) fn submit_fill(
        &self,
        to: PitchedRows,
        (value, element): (u32, usize),
        extent: cudaExtent,
        stream: StreamId,
        wait: bool,
    ) -> Result {
        let stream = self.stream(stream);
        self.call(|| {
            for slice in 0..extent.depth {
                let address = to.start as u64 + (to.slice * slice) as u64;
                stream.fill(address, to.pitch, (value, element), extent.width / element, extent.height)?;
            }
            if wait { stream.wait() } else { Ok(()) }
        })?;
        if wait {
            session::get().collect();
        }
        Ok(())
    }
}
