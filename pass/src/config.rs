//! The request of `gclang` to the pass, as JSON in the environment variable [`VARIABLE`].

use serde::{Deserialize, Serialize};

/// The environment variable that carries the [`Config`].
pub const VARIABLE: &str = "GPURACE_PASS";
/// [`Config::version`] of this build.
pub const VERSION: u32 = 7;

/// [`Config::exec`] of a compilation that makes [`Config::gpu`] for another architecture than
/// the executor's, and nothing else.
pub const ANOTHER_ARCH: &str = "another-arch";

/// One device compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// [`VERSION`] of the driver that wrote it.
    pub version: u32,
    /// Insert checks.
    pub sanitize: bool,
    /// Which images to make: `cpu`, `cuda` or `auto`, or [`ANOTHER_ARCH`].
    pub exec: String,
    /// Where to write the module for a GPU, if one is wanted.
    pub gpu: Option<Gpu>,
    /// Where proofs may remove checks.
    pub prune: Prune,
    /// The solver's library, if there is one.
    pub solver: Option<String>,
    /// The user's `-O` level, 0 to 3. Code for the executor is always
    /// optimised; the level says how much.
    pub opt_level: u8,
    /// Where to write the lowered object file.
    pub object: String,
    /// Where to write the module description.
    pub meta: String,
    /// Where to write the proofs, for use at launches.
    pub proofs: String,
    /// Where to write warnings and remarks, for the driver to print.
    pub diagnostics: String,
    /// Where to write the verdicts, if asked for.
    pub facts: Option<String>,
    /// Folders whose headers are not the user's code.
    pub system_prefixes: Vec<String>,
    /// The processor to generate code for: `x86-64` or `x86-64-v3`.
    pub cpu: String,
    /// `-Wgpurace`.
    pub warn: bool,
    /// `-Werror=gpurace`.
    pub werror: bool,
    /// `-Rpass=gpurace`.
    pub rpass: bool,
    /// `-Rpass-missed=gpurace`.
    pub rpass_missed: bool,
    /// The main source file, as the user named it.
    pub main_file: String,
    /// `CUDART_VERSION` of the toolkit, for the module's description.
    pub cuda: u32,
    /// The module has the debug info of types, of which only the description keeps anything.
    pub strip_types: bool,
    /// The device code goes into a file of its own, so the host program is not known.
    pub alone: bool,
    /// Separate compilation: where to write the module as bitcode. The names
    /// in it go to `meta`, and nothing else is made.
    pub part: Option<String>,
}

/// Where to write a module for an NVIDIA GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The module, as bitcode.
    pub bitcode: String,
    /// Its description.
    pub meta: String,
    /// The reason why there is no module, in place of both.
    pub note: String,
}

/// Where proofs may remove checks: `-fgpurace-prune=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prune {
    /// Nowhere.
    Off,
    /// At compile time, with conditions that are tested at each launch.
    Compile,
    /// Also by solving again with a launch's values.
    Launch,
}

impl Config {
    /// Reads the configuration from the environment.
    ///
    /// # Errors
    /// A message that names what was found and what was wanted.
    pub fn from_env() -> Result<Self, String> {
        let text = std::env::var(VARIABLE).map_err(|_| {
            format!("the environment variable `{VARIABLE}` is not set; the plugin is run by `gclang`")
        })?;
        let config: Self = serde_json::from_str(&text).map_err(|e| {
            format!("cannot read `{VARIABLE}`: {e}; `gclang` and the plugin must be of one build")
        })?;
        if config.version != VERSION {
            return Err(format!(
                "`{VARIABLE}` is of version {}, wanted {VERSION}; `gclang` and the plugin must be of one build",
                config.version
            ));
        }
        Ok(config)
    }
}
