//! Kernels written in Rust against the entry points, and their launches.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::result_large_err, reason = "as in the library")]

use std::sync::Arc;
use std::time::Duration;

use gpurace_abi::LaunchShape;
use gpurace_abi::context::ThreadCtx;
use gpurace_abi::image::KernelFn;
use gpurace_abi::meta::{KernelMeta, SyncFeatures};
use gpurace_check::{Checker, Clusters, KernelKey, LaunchInfo, RaceRecord};
use gpurace_cpu::{Config, Executor, Fault, KernelLaunch, LaunchChecks, LaunchReport};

/// The site that stands for the end of a block.
pub const END_OF_BLOCK: u32 = 99;

/// The entry points, with the types of the list.
pub mod device {
    use super::ThreadCtx;

    pub type Ptr = *mut std::ffi::c_void;
    pub type I32 = u32;
    pub type I64 = u64;
    pub type Void = ();

    macro_rules! declare {
        ($($(#[$doc:meta])* $entry:ident = $name:ident($($param:ident: $ty:ident),*) -> $ret:ident, $effect:expr;)*) => {
            unsafe extern "C" {
                $(pub fn $name(ctx: *mut ThreadCtx $(, $param: $ty)*) -> $ret;)*
            }
        };
    }
    gpurace_abi::entry_points!(declare);
}

/// Every lane of a warp.
pub const FULL: u32 = u32::MAX;

/// The `n`th argument, a pointer or an integer of 8 bytes.
///
/// # Safety
/// The launch passed that many arguments.
pub unsafe fn arg<T>(args: *const u8, n: usize) -> *mut T {
    // SAFETY: the caller's.
    unsafe { args.cast::<*mut T>().add(n).read() }
}

/// A launch that a test makes.
pub struct Run {
    pub entry: KernelFn,
    pub shape: LaunchShape,
    pub args: Vec<u8>,
    pub meta: KernelMeta,
    pub seed: u64,
    pub cooperative: bool,
    pub trial: Option<u64>,
}

/// A launch of `blocks` blocks of `threads` threads.
pub fn kernel(entry: KernelFn, blocks: u32, threads: u32) -> Run {
    Run {
        entry,
        shape: LaunchShape::flat(blocks, threads),
        args: Vec::new(),
        meta: KernelMeta {
            name: "kernel".into(),
            sync: SyncFeatures { suspends: true, ..SyncFeatures::default() },
            ..KernelMeta::default()
        },
        seed: 0,
        cooperative: false,
        trial: None,
    }
}

impl Run {
    /// Adds a pointer argument.
    pub fn pointer<T>(mut self, p: *mut T) -> Self {
        self.args.extend_from_slice(&(p as usize).to_ne_bytes());
        self
    }

    /// Adds an argument that points to a buffer.
    pub fn buffer<T>(self, b: &mut [T]) -> Self {
        self.pointer(b.as_mut_ptr())
    }

    /// Adds an integer argument.
    pub fn value(mut self, v: u64) -> Self {
        self.args.extend_from_slice(&v.to_ne_bytes());
        self
    }

    pub fn shared(mut self, bytes: u32) -> Self {
        self.meta.shared_static = bytes;
        self
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// With clusters of so many blocks.
    pub fn clusters(mut self, blocks: u32) -> Self {
        self.shape.cluster = Some([blocks, 1, 1]);
        self.meta.sync.clusters = true;
        self
    }

    /// As a loop over threads.
    pub fn looped(mut self) -> Self {
        self.meta.sync.suspends = false;
        self
    }

    fn launch(&self, checks: Option<Arc<LaunchChecks>>, blocks: Option<fn(u64) -> bool>) -> KernelLaunch<'_> {
        KernelLaunch {
            entry: self.entry,
            block_entry: None,
            kernel: &self.meta,
            shape: self.shape,
            args: &self.args,
            cooperative: self.cooperative,
            id: 1,
            checks,
            checked_blocks: blocks.map(|f| Arc::new(f) as _),
            seed: self.seed,
            seed_orders_blocks: false,
            trial: self.trial,
        }
    }

    pub fn on(&self, executor: &Executor) -> Result<LaunchReport, Fault> {
        executor.run(&self.launch(None, None))
    }

    /// Changes the synchronisation that the kernel's description has.
    pub fn features(mut self, change: impl FnOnce(&mut SyncFeatures)) -> Self {
        change(&mut self.meta.sync);
        self
    }

    /// Runs it under the checker, on `workers` workers. Returns the races and the number of checks.
    pub fn races(&self, workers: usize, blocks: Option<fn(u64) -> bool>) -> (Vec<RaceRecord>, u64) {
        let checker = Checker::new();
        let info = LaunchInfo {
            features: self.meta.sync,
            clusters: self.shape.clusters(self.meta.sync.clusters).map(|blocks| Clusters {
                grid: self.shape.grid,
                blocks,
                end_of_block: END_OF_BLOCK,
            }),
            ..LaunchInfo::new(1, KernelKey(0), self.shape.blocks(), self.shape.threads())
        };
        let checks = checker.begin_launch(info, &[]);
        let report = executor(workers).run(&self.launch(Some(checks.clone()), blocks)).expect("launch");
        assert_eq!(report, LaunchReport::default());
        let stats = checker.end_launch(&checks);
        assert_eq!(Arc::strong_count(&checks), 1, "the executor keeps no checks");
        assert_eq!(checker.notes(), Vec::<String>::new());
        (checker.races(), stats.checks_executed)
    }

    /// Runs it on `workers` workers and expects no fault and no divergence.
    pub fn ok_on(&self, workers: usize) {
        let report = self.on(&executor(workers)).expect("launch");
        assert_eq!(report, LaunchReport::default());
    }

    /// Runs it on one worker and on three, and expects no fault and no divergence.
    pub fn ok(&self) {
        self.ok_on(1);
        self.ok_on(3);
    }
}

/// An executor of so many workers.
pub fn executor(workers: usize) -> Executor {
    Executor::new(Config { workers, spin_limit: Duration::from_millis(400), ..Config::default() })
}
