//! Modules and kernels on a GPU.

use std::sync::Arc;

use gpurace_abi::meta::ModuleMeta;
use gpurace_cuda::driver::kernel::Attributes;
use gpurace_cuda::driver::{self, Function};
use gpurace_cuda::{Module, Variant};
use parking_lot::Mutex;

use super::{GPU, OnGpu};

/// The code of a module on the GPU.
pub struct Code {
    /// The description of its sites.
    pub meta: &'static ModuleMeta,
    pub(super) module: Arc<Mutex<Module>>,
    pub(super) variables: Vec<(String, usize)>,
}

/// A kernel on the GPU.
pub struct Entry {
    pub(super) module: Arc<Mutex<Module>>,
    /// As clang compiled it.
    pub(super) bare: (Function, Attributes),
    /// Missing where the checker's shared memory does not fit beside the kernel's, and in code
    /// that was built without checks.
    pub(super) checked: Option<(Function, Attributes)>,
}

impl Code {
    /// The device variables: mangled name and address.
    pub fn variables(&self) -> Vec<(&str, usize)> {
        self.variables.iter().map(|(name, address)| (&name[..], *address)).collect()
    }

    /// Address of the device variable with this mangled name.
    pub fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().find(|(own, _)| own == name).map(|(_, address)| *address)
    }

    /// The kernel with this mangled name.
    pub fn kernel(&self, name: &str) -> Option<Entry> {
        let gpu = GPU.get()?;
        gpu.enter().ok()?;
        let mut module = self.module.lock();
        let mut of = |variant| {
            let function = module.function(name, variant)?;
            Ok::<_, driver::Error>((function, function.attributes()?))
        };
        let bare = of(Variant::Bare).ok()?;
        let checked = of(Variant::Checked).ok();
        if let Some((function, attributes)) = &checked {
            // The checker's part comes on top of what the program has asked for.
            let most = gpu.most_shared() - attributes.shared;
            let _ = function.allow_dynamic_shared(most.max(0));
        }
        Some(Entry { module: self.module.clone(), bare, checked })
    }
}

impl Entry {
    /// The code with checks, where a block of these threads and this shared memory can run it.
    pub(super) fn can_check(&self, gpu: &OnGpu, threads: u32, dynamic_shared: u32) -> bool {
        self.checked.as_ref().is_some_and(|(_, attributes)| {
            threads as i32 <= attributes.max_threads
                && i64::from(attributes.shared) + i64::from(dynamic_shared) <= i64::from(gpu.most_shared())
        })
    }
}
