//! `GPURACE_OPTIONS`: the options of an instrumented program.
//!
//! The list below defines each option once. It generates the typed [`Options`], the parser
//! ([`Options::parse`]), the help text ([`help_text`]), the table for the documentation
//! ([`markdown_table`]) and the error messages.
//!
//! | module | what it knows |
//! |---|---|
//! | `syntax` | how a string splits into `key=value` items |
//! | `value` | how to read a value of each type |
//! | [`select`] | which kernels, blocks and objects a value selects |
//! | `error` | the errors for a wrong string |
//! | `render` | the help text and the table for the documentation |

mod error;
mod render;
pub mod select;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

use std::env;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

pub use error::OptionsError;
pub use render::{help_text, markdown_table};
use select::{Blocks, KernelGlobs, Objects};
use value::Value;
pub use value::{CacheDir, Device, HaltOnError, Lesser, LogPath, PathPattern, Progress, Volatile};

/// The name of the environment variable.
pub const VARIABLE: &str = "GPURACE_OPTIONS";

/// One option in the list.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its key.
    pub key: &'static str,
    /// What it does, in Markdown.
    pub doc: &'static str,
    /// What its values look like, after the word "wanted".
    pub wanted: &'static str,
    /// Its default as a user would type it, or in words if it cannot be typed.
    pub default: &'static str,
}

macro_rules! options {
    ($($(#[doc = $doc:literal])+ $key:ident: $ty:ty = $default:expr, $shown:literal;)*) => {
        /// Every option, with its value.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Options {
            $($(#[doc = $doc])+ pub $key: $ty,)*
        }

        impl Default for Options {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        /// Every option, in the order of the list.
        pub const ALL: &[OptionInfo] = &[
            $(OptionInfo {
                key: stringify!($key),
                doc: concat!($($doc),+).trim_ascii(),
                wanted: <$ty as Value>::WANTED,
                default: $shown,
            },)*
        ];

        impl Options {
            /// Sets one option from its text.
            fn set(&mut self, key: &str, value: &str) -> Result<(), OptionsError> {
                match key {
                    $(stringify!($key) => match <$ty as Value>::parse(value) {
                        Ok(parsed) => self.$key = parsed,
                        Err(bad) => return Err(OptionsError::bad_value(key, value, bad)),
                    },)*
                    _ => return Err(OptionsError::unknown_key(key)),
                }
                Ok(())
            }
        }

        /// True if a value of this option may have a `:` without quotes.
        fn allows_colon(key: &str) -> bool {
            match key {
                $(stringify!($key) => <$ty as Value>::ALLOWS_COLON,)*
                _ => false,
            }
        }
    };
}

options! {
    /// where kernels run: on an NVIDIA GPU (`cuda`), on the host (`cpu`), or on a GPU if there is one
    /// (`auto`)
    device: Device = Device::Auto, "auto";
    /// exit status when a race, a divergence or a fault was reported and the program's own status was 0
    exitcode: u8 = 66, "66";
    /// `1`: end the program at the first race; `break`: stop in the debugger at each new race, before the access
    halt_on_error: HaltOnError = HaltOnError::No, "0";
    /// number of findings to print, each kernel's first always; the JSON report has all of them
    max_reports: u64 = 100, "100";
    /// most schedules under which a launch runs whose order rests on more than barriers, the program's own among
    /// them; `0` for one
    explore: u64 = 12, "12";
    /// `report` races of volatile accesses with each other and with plain ones, or treat volatile accesses as
    /// `relaxed` atomics at system scope, as PTX does
    volatile: Volatile = Volatile::Report, "report";
    /// where to print the report: `stderr`, or a file; `%p` is the process id
    log_path: LogPath = LogPath::Stderr, "stderr";
    /// file for the machine-readable report, which is written even if no race was found; `%p` is the process
    /// id
    json: Option<PathPattern> = None, "none";
    /// file with suppressions
    suppressions: Option<PathBuf> = None, "none";
    /// check only these kernels: comma-separated globs on the demangled name, with or without its parameters
    kernels: Option<KernelGlobs> = None, "all";
    /// check all kernels except these: comma-separated globs as in `kernels`
    skip_kernels: Option<KernelGlobs> = None, "none";
    /// check only these objects, comma-separated: variables by name, allocations by size (`4096`, `64K`) or
    /// order (`#2`), all `shared` or all `global` memory
    objects: Option<Objects> = None, "all";
    /// check only these blocks, comma-separated: `0`, `0-15`, `every:8`
    blocks: Option<Blocks> = None, "all";
    /// `report` or `ignore` write-write races whose writes stored equal values
    same_value: Lesser = Lesser::Report, "report";
    /// `report` or `ignore` barriers under a condition that some threads of a block skip because they end; hardware
    /// lets the others pass
    skipped_barrier: Lesser = Lesser::Report, "report";
    /// seconds for proofs at launch, per kernel and configuration; the first launch waits for them
    solve_budget: Duration = Duration::from_secs(1), "1";
    /// directory that keeps proofs made at launch for later runs; empty to keep none
    cache_dir: CacheDir = CacheDir::User, "user cache";
    /// check one launch in this many of each kernel; the others run bare
    every: NonZeroU32 = NonZeroU32::MIN, "1";
    /// seed of the CPU executor's schedule; the same seed gives the same schedule
    seed: u64 = 0, "0";
    /// print a summary of sites, proofs, checks and times at exit
    stats: bool = false, "0";
    /// show how far a run of some seconds is: if standard error is a terminal (`auto`), always (`1`) or never
    progress: Progress = Progress::Auto, "auto";
    /// list every option
    help: bool = false, "0";
}

/// The options that may change while the program runs.
pub const CHANGEABLE: [&str; 9] =
    ["exitcode", "halt_on_error", "explore", "json", "kernels", "skip_kernels", "every", "seed", "stats"];

/// True if the program has rights that its user lacks (setuid, setgid, capabilities). It must not do what
/// the user's environment says.
pub fn is_privileged() -> bool {
    // SAFETY: a plain query.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

impl Options {
    /// Returns the options of this process. Without [`VARIABLE`] they are the defaults, and in a program
    /// with rights that its user lacks.
    ///
    /// # Errors
    /// Those of [`Options::parse`], or the variable is not UTF-8.
    pub fn from_env() -> Result<Self, OptionsError> {
        if is_privileged() {
            return Ok(Self::default());
        }
        match env::var(VARIABLE) {
            Ok(text) => Self::parse(&text),
            Err(env::VarError::NotPresent) => Ok(Self::default()),
            Err(env::VarError::NotUnicode(_)) => Err(OptionsError::NotUnicode),
        }
    }

    /// Reads `key=value:key=value`. A later item overrides an earlier one.
    ///
    /// A value in single or double quotes ends at the next such quote. A value without quotes ends at the
    /// next
    /// `:`. A list, glob or path continues after a `:` if no `key=` follows, so `blocks=every:8` and
    /// `kernels=ns::*` need no quotes.
    ///
    /// # Errors
    /// An item has no `=`, a key is unknown, an option does not take its value, or a quote is not closed.
    pub fn parse(text: &str) -> Result<Self, OptionsError> {
        let mut options = Self::default();
        for item in syntax::items(text, allows_colon) {
            let item = item?;
            options.set(item.key, item.value)?;
        }
        Ok(options)
    }

    /// Returns these options with some of [`CHANGEABLE`] changed, which have the form of [`Options::parse`].
    ///
    /// # Errors
    /// Those of [`Options::parse`], or an option cannot change.
    pub fn changed(&self, text: &str) -> Result<Self, OptionsError> {
        let mut options = self.clone();
        for item in syntax::items(text, allows_colon) {
            let item = item?;
            options.set(item.key, item.value)?;
            if !CHANGEABLE.contains(&item.key) {
                return Err(OptionsError::Fixed { key: item.key.to_owned() });
            }
        }
        Ok(options)
    }

    /// True if the kernel with this demangled name is checked.
    pub fn checks_kernel(&self, demangled: &str) -> bool {
        self.kernels.as_ref().is_none_or(|globs| globs.matches(demangled))
            && !self.skip_kernels.as_ref().is_some_and(|globs| globs.matches(demangled))
    }

    /// True if the block with this linear index is checked.
    pub fn checks_block(&self, linear_index: u64) -> bool {
        self.blocks.as_ref().is_none_or(|blocks| blocks.selects(linear_index))
    }

    /// True if accesses to this object are checked.
    pub fn checks_object(&self, object: &select::ObjectDescription<'_>) -> bool {
        self.objects.as_ref().is_none_or(|objects| objects.selects(object))
    }
}
