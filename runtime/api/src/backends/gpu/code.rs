//! Modules and kernels on a GPU.

use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use gpurace_abi::device::{MANAGED_CELL, SHARED_SUFFIX, UNSEEN};
use gpurace_abi::gpu_code;
use gpurace_abi::meta::{KernelMeta, ModuleMeta};
use gpurace_cuda::driver::kernel::Attributes;
use gpurace_cuda::driver::{self, Device, Function};
use gpurace_cuda::{Module, Variant};
use parking_lot::Mutex;

use super::{OnGpu, most_shared};
use crate::backend::module::{DeviceCode, Kernel, Payload, invalid_image};
use crate::host::errors::{Error, Result};
use crate::host::message;

/// The code of a module on the GPU.
pub struct GpuModule {
    /// The description of its sites.
    pub meta: &'static ModuleMeta,
    device: Device,
    pub(super) module: Arc<Mutex<Module>>,
    pub(super) variables: Vec<(String, usize)>,
}

/// A kernel on the GPU.
pub struct GpuKernel {
    pub(super) module: Arc<Mutex<Module>>,
    /// As clang compiled it.
    pub(super) bare: (Function, Attributes),
    /// With checks. `None` if the checker's shared memory does not fit beside the kernel's, and in
    /// code that was built without checks.
    pub(super) checked: Option<(Function, Attributes)>,
    /// The address of the table of its shared variables on the device, and their number.
    places: Option<(u64, usize)>,
    /// The offsets in the table, once a launch has filled it in.
    read_places: OnceLock<Vec<u32>>,
}

impl DeviceCode for GpuModule {
    fn variables(&self) -> Vec<(&str, usize)> {
        self.variables.iter().map(|(name, address)| (&name[..], *address)).collect()
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().find(|(own, _)| own == name).map(|(_, address)| *address)
    }

    fn own_meta(&self) -> Option<&'static ModuleMeta> {
        Some(self.meta)
    }

    fn kernel(&self, name: &str) -> Option<Box<dyn Any + Send + Sync>> {
        self.device.enter().ok()?;
        let mut module = self.module.lock();
        let mut of = |variant| {
            let function = module.function(name, variant)?;
            Ok::<_, driver::Error>((function, function.attributes()?))
        };
        let bare = of(Variant::Bare).ok()?;
        let checked = of(Variant::Checked).ok();
        if let Some((function, attributes)) = &checked {
            // The checker's shared memory comes on top of what the program requests.
            let most = most_shared(&self.device) - attributes.shared;
            let _ = function.allow_dynamic_shared(most.max(0));
        }
        let places = module.variable(&format!("{name}{SHARED_SUFFIX}")).ok();
        let places = places.map(|(address, size)| (address, size as usize / 4));
        let module = self.module.clone();
        Some(Box::new(GpuKernel { module, bare, checked, places, read_places: OnceLock::new() }))
    }
}

impl OnGpu {
    /// Loads the code of a module of the program. Prints errors.
    ///
    /// # Errors
    /// `cudaErrorNoKernelImageForDevice` if there is no code for this GPU, and the driver's.
    pub(super) fn load(&self, payload: &Payload, meta: &ModuleMeta) -> Result<GpuModule> {
        let Some(Ok(codes)) = payload.gpu else {
            message::error(&format!("`{}` has no code for a GPU, where this program runs", meta.source));
            message::hint("build with `-fgpurace-exec=auto`, or run with `GPURACE_OPTIONS=device=cpu`");
            return Err(Error::NO_KERNEL_IMAGE_FOR_DEVICE);
        };
        let arch = self.device.arch;
        let Some(code) = gpu_code::best(codes, arch).map(|at| &codes[at]) else {
            // The program has opened a library after the backend was chosen.
            message::error(&format!("`{}` has no code for this GPU, `sm_{arch}`", meta.source));
            return Err(Error::NO_KERNEL_IMAGE_FOR_DEVICE);
        };
        let description: ModuleMeta = serde_json::from_slice(code.meta).map_err(|error| {
            invalid_image(&format!("cannot read the description of code for a GPU: {error}"))
        })?;
        let description: &'static ModuleMeta = Box::leak(Box::new(description));
        let written: Vec<&str> = description
            .variables
            .iter()
            .filter(|variable| !variable.constant && !variable.managed)
            .map(|variable| &variable.name[..])
            .collect();
        self.enter()?;
        let mut gpu = self.gpu.lock();
        let loaded = gpu.load(&gpurace_cuda::Code {
            sass: code.sass,
            ptx: code.ptx,
            orders: description.kernels.iter().any(|kernel| kernel.sync.fences),
            annotated: description.kernels.iter().any(|kernel| kernel.sync.annotated),
            variables: &written,
        });
        let module = match loaded {
            Ok(module) => module,
            Err(error) => {
                drop(gpu);
                message::error(&format!("`{}`: {error}", description.source));
                return Err(self.fail(error));
            }
        };
        // A variable that no kernel uses may be gone.
        let variables = description.variables.iter().filter_map(|variable| {
            let cell = variable.managed.then(|| format!("{MANAGED_CELL}{}", variable.name));
            let (address, _) = module.variable(cell.as_deref().unwrap_or(&variable.name)).ok()?;
            Some((variable.name.clone(), address as usize))
        });
        let variables = variables.collect();
        drop(gpu);
        let unseen = description.skipped.iter().filter(|skipped| skipped.reason == UNSEEN);
        self.unseen.fetch_add(unseen.map(|skipped| u64::from(skipped.count)).sum(), Ordering::Relaxed);
        let module = Arc::new(Mutex::new(module));
        Ok(GpuModule { meta: description, device: self.device.clone(), module, variables })
    }
}

impl GpuKernel {
    /// The code of a kernel of this backend.
    pub(super) fn of(kernel: &Kernel) -> Result<&Self> {
        kernel.code.downcast_ref().ok_or(Error::INVALID_DEVICE_FUNCTION)
    }

    /// Converts an offset in a block's shared memory to that of the kernel's description. `None`
    /// before the first launch with checks, and after a fault.
    pub(super) fn shared_place(&self, device: &Device, meta: &KernelMeta, offset: u32) -> Option<u64> {
        let places = match self.read_places.get() {
            Some(places) => places,
            None => {
                let (address, count) = self.places?;
                let mut bytes = vec![0; count * 4];
                device.read(&mut bytes, address).ok()?;
                let places: Vec<u32> = bytes
                    .chunks_exact(4)
                    .filter_map(|word| u32::from_le_bytes(word.try_into().ok()?).checked_sub(1))
                    .collect();
                if places.len() != count {
                    return None;
                }
                self.read_places.get_or_init(|| places)
            }
        };
        place_of(places, meta, offset)
    }

    /// True if a block of this size can run the code with checks.
    pub(super) fn can_check(&self, device: &Device, threads: u32, dynamic_shared: u32) -> bool {
        self.checked.as_ref().is_some_and(|(_, attributes)| {
            threads as i32 <= attributes.max_threads
                && i64::from(attributes.shared) + i64::from(dynamic_shared) <= i64::from(most_shared(device))
        })
    }
}

/// Converts an offset in shared memory to that of the description. `places`: the real offsets of
/// the variables, and of dynamic shared memory behind them.
fn place_of(places: &[u32], meta: &KernelMeta, offset: u32) -> Option<u64> {
    let of_variable = meta.shared.iter().zip(places).find_map(|(variable, &start)| {
        let within = offset.checked_sub(start).filter(|within| *within < variable.size)?;
        Some(u64::from(variable.offset + within))
    });
    let of_dynamic = || {
        let within = offset.checked_sub(*places.get(meta.shared.len())?)?;
        Some(u64::from(meta.shared_static).next_multiple_of(16) + u64::from(within))
    };
    of_variable.or_else(of_dynamic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurace_abi::meta::{Elements, SharedVariable};

    #[test]
    fn bytes_are_found_where_the_variables_really_lie() {
        let variable = |offset, size| SharedVariable {
            name: String::new(),
            offset,
            size,
            elements: Elements::default(),
        };
        let meta = KernelMeta {
            shared_static: 40,
            shared: vec![variable(0, 8), variable(8, 32)],
            ..KernelMeta::default()
        };
        // The checker's own memory comes first, then the larger variable, then a gap.
        let places = [288, 256, 304];
        for (offset, wanted) in [
            (256, Some(8)),
            (287, Some(39)),
            (288, Some(0)),
            (295, Some(7)),
            (304, Some(48)),
            (310, Some(54)),
        ] {
            assert_eq!(place_of(&places, &meta, offset), wanted, "{offset}");
        }
        // Bytes of no variable.
        for offset in [0, 255, 296, 303] {
            assert_eq!(place_of(&places, &meta, offset), None, "{offset}");
        }
        assert_eq!(place_of(&places[..2], &meta, 400), None);
    }
}
