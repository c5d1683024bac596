//! The plugin's configuration: JSON in the environment variable [`VARIABLE`] of the device compilation. The driver
//! writes it, and the pass reads it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The environment variable.
pub const VARIABLE: &str = "GPURACE_PASS";

/// The version of the configuration in this build.
pub const VERSION: u32 = 7;

/// The value of [`PassConfig::exec`] for a compilation that only makes code for a GPU of another architecture.
pub const ANOTHER_ARCH: &str = "another-arch";

/// The plugin's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassConfig {
    /// [`VERSION`] of the driver that wrote it.
    pub version: u32,
    /// Insert checks.
    pub sanitize: bool,
    /// Which images to make: `cpu`, `cuda` or `auto`, or [`ANOTHER_ARCH`].
    pub exec: String,
    /// The files of the module for a GPU, if one is requested.
    pub gpu: Option<Gpu>,
    /// When proofs may remove checks.
    pub prune: Prune,
    /// The solver's library, if there is one.
    pub solver: Option<PathBuf>,
    /// The user's `-O` level, 0 to 3. Code for the executor is always optimised; the level says how much.
    pub opt_level: u8,
    /// Where to write the object for the host's processor.
    pub object: PathBuf,
    /// Where to write the description of the module.
    pub meta: PathBuf,
    /// Where to write protocols and verdicts, for launches.
    pub proofs: PathBuf,
    /// Where to write warnings and remarks.
    pub diagnostics: PathBuf,
    /// Where to write the verdicts, if anywhere.
    pub facts: Option<PathBuf>,
    /// Folders of headers that are not the user's.
    pub system_prefixes: Vec<PathBuf>,
    /// The host's processor.
    pub cpu: Cpu,
    /// Warn about races proved at compile time.
    pub warn: bool,
    /// Make those warnings errors.
    pub werror: bool,
    /// Remark on accesses that were proved.
    pub rpass: bool,
    /// Remark on accesses that were not proved.
    pub rpass_missed: bool,
    /// The source file, as named to clang.
    pub main_file: String,
    /// `CUDART_VERSION` of the toolkit; 0 without one.
    pub cuda: u32,
    /// The module has the debug info of types, of which only the description keeps anything.
    pub strip_types: bool,
    /// The device code goes into a file of its own, so the host program is not known.
    pub alone: bool,
    /// Where to write the bitcode of a separately compiled unit. Its names then go to `meta`, and the plugin writes
    /// nothing else.
    pub part: Option<PathBuf>,
}

/// Where the plugin writes a module for an NVIDIA GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The module, as bitcode.
    pub bitcode: PathBuf,
    /// Its description.
    pub meta: PathBuf,
    /// The reason if there is no module. The other two files then do not exist.
    pub note: PathBuf,
}

/// When proofs may remove checks: `-fgpurace-prune=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prune {
    /// Never.
    Off,
    /// At compile time; the launch tests the conditions of a proof.
    Compile,
    /// Also at launch, by solving for its values.
    #[default]
    Launch,
}

/// A processor level of the host, for device code that runs there.
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
    /// LLVM's name of the level.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "x86-64",
            Self::V3 => "x86-64-v3",
        }
    }

    /// Returns the highest level that this machine supports.
    pub fn of_this_machine() -> Self {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe");
        if v3 { Self::V3 } else { Self::Baseline }
    }
}
