//! What the plugin is told: JSON in the environment variable [`VARIABLE`] of
//! the device compilation. Its reader is the `config` module of `pass`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::flags::Prune;

/// The environment variable.
pub const VARIABLE: &str = "GPURACE_PASS";

/// The version of the plugin's configuration that this driver writes.
pub const VERSION: u32 = 4;

/// [`PassConfig::exec`] of a compilation that makes code for a GPU of another architecture, and
/// nothing else.
pub const ANOTHER_ARCH: &str = "another-arch";

/// The whole of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassConfig {
    /// [`VERSION`].
    pub version: u32,
    /// Insert checks.
    pub sanitize: bool,
    /// Which images to make: `cpu`, `cuda` or `auto`, or [`ANOTHER_ARCH`].
    pub exec: String,
    /// The module for a GPU, where one is to be made.
    pub gpu: Option<Gpu>,
    /// Where proofs may remove checks.
    pub prune: Prune,
    /// The solver's library, where there is one.
    pub solver: Option<PathBuf>,
    /// Level of optimisation, 0 to 3.
    pub opt_level: u8,
    /// Where to write the object for the host's processor.
    pub object: PathBuf,
    /// Where to write the description of the module.
    pub meta: PathBuf,
    /// Where to write what the prover knows, for launches.
    pub proofs: PathBuf,
    /// Where to write warnings and remarks.
    pub diagnostics: PathBuf,
    /// Where to write the verdicts, if anywhere.
    pub facts: Option<PathBuf>,
    /// Folders of headers that are not the user's.
    pub system_prefixes: Vec<PathBuf>,
    /// The processor to make code for.
    pub cpu: Cpu,
    /// Warn about races proved at compile time.
    pub warn: bool,
    /// Make those warnings errors.
    pub werror: bool,
    /// Remark on accesses that were proved.
    pub rpass: bool,
    /// Remark on accesses that were not.
    pub rpass_missed: bool,
    /// The source file as clang was given it.
    pub main_file: String,
    /// Separate compilation: where to write the bitcode, and nothing else.
    pub part: Option<PathBuf>,
}

/// Where the plugin writes a module for an NVIDIA GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// The module, as bitcode.
    pub bitcode: PathBuf,
    /// Its description.
    pub meta: PathBuf,
    /// Why there is none, in place of both.
    pub note: PathBuf,
}

/// The processors that device code is lowered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cpu {
    /// Any x86-64.
    #[serde(rename = "x86-64")]
    Baseline,
    /// With AVX2, FMA and BMI2.
    #[serde(rename = "x86-64-v3")]
    V3,
}

impl Cpu {
    /// The best that this machine runs.
    pub fn of_this_machine() -> Self {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe");
        if v3 { Cpu::V3 } else { Cpu::Baseline }
    }
}
