//! Submitting launches and transfers to the driver.

use gpurace_cuda::Variant;
use gpurace_cuda::driver::queue::{CopySide, Pitched};
use gpurace_cuda::driver::{self, Stream};

use super::{OnGpu, code::GpuKernel};
use crate::backend::memory::{PitchedRows, TransferRequest};
use crate::backend::module::KernelLaunch;
use crate::host::errors::{Error, Result};

impl OnGpu {
    /// Submits a launch, with or without checks.
    pub(super) fn submit_launch(&self, launch: &KernelLaunch<'_>) -> Result {
        let entry = GpuKernel::of(launch.kernel)?;
        self.enter()?;
        let session = self.session;
        session.show_progress();
        let mut begun = session.begin(launch);
        session.keep_python_stack(&mut begun);
        let (threads, dynamic_shared) = (launch.shape.threads(), launch.shape.dynamic_shared);
        let variant = match &begun.wanted {
            None => Variant::Bare,
            Some(_) if entry.can_check(&self.device, threads, dynamic_shared) => Variant::Checked,
            Some(_) => {
                session.runs_unchecked(&begun.record);
                Variant::Bare
            }
        };
        let arguments = launch.kernel.arguments(launch.args);
        let request = gpurace_cuda::KernelLaunch {
            kernel: launch.kernel.name.to_str().map_err(|_| Error::INVALID_DEVICE_FUNCTION)?,
            variant,
            shape: launch.shape,
            static_shared: entry.bare.1.shared as u32,
            cooperative: launch.cooperative,
            stream: self.stream(launch.stream),
            number: begun.record.operation,
            observes: launch.kernel.meta().sync.observes,
        };
        // SAFETY: the arguments lie as the description of the kernel says.
        let submitted = unsafe { self.gpu.lock().launch(&mut entry.module.lock(), &request, &arguments) };
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
        request: TransferRequest,
    ) -> Result {
        let extent = request.extent;
        let dense = |rows: PitchedRows| extent.height == 1 || rows.pitch == extent.width;
        self.submit_transfer(request, |stream| {
            // SAFETY: the caller keeps the contract above.
            if let Some(copied) = unsafe { self.arrays.copy(to, from, extent, stream) } {
                return copied;
            }
            for slice in 0..extent.depth {
                let (to_address, from_address) = (slice_at(to, slice), slice_at(from, slice));
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
            Ok(())
        })
    }

    /// Submits a fill. The memory was checked.
    pub(super) fn submit_fill(
        &self,
        to: PitchedRows,
        (value, element): (u32, usize),
        request: TransferRequest,
    ) -> Result {
        let extent = request.extent;
        self.submit_transfer(request, |stream| {
            (0..extent.depth).try_for_each(|slice| {
                let width = extent.width / element;
                stream.fill(slice_at(to, slice), to.pitch, (value, element), width, extent.height)
            })
        })
    }

    /// Submits a transfer by `submit`, and waits for it if the request says so.
    fn submit_transfer(
        &self,
        TransferRequest { stream, wait, .. }: TransferRequest,
        submit: impl FnOnce(Stream) -> driver::Result,
    ) -> Result {
        let stream = self.stream(stream);
        self.call(|| {
            submit(stream)?;
            if wait { stream.wait() } else { Ok(()) }
        })?;
        if wait {
            self.session.collect();
        }
        Ok(())
    }
}

/// Address of a slice.
fn slice_at(rows: PitchedRows, slice: usize) -> u64 {
    rows.start as u64 + (rows.slice * slice) as u64
}
