//! The mechanisms that only buy speed, each of which a benchmark build can switch off.
//!
//! With the cargo feature `ablation` the variable `GPURACE_ABLATE` names the mechanisms that are
//! off, separated by commas; `scripts/bench ablation` measures what each gains. Without the feature
//! all mechanisms are on and [`is_on`] costs nothing. No mechanism changes what is reported.

/// Declares [`Mechanism`] and its table of names.
macro_rules! mechanisms {
    ($($(#[$doc:meta])* $mechanism:ident = $name:literal, $acts:ident;)*) => {
        /// A mechanism that only buys speed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mechanism {
            $($(#[$doc])* $mechanism,)*
        }

        impl Mechanism {
            /// All mechanisms.
            pub const ALL: &'static [Self] = &[$(Self::$mechanism,)*];

            /// The name in `GPURACE_ABLATE`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$mechanism => $name,)*
                }
            }

            /// When the mechanism acts.
            pub const fn acts(self) -> Acts {
                match self {
                    $(Self::$mechanism => Acts::$acts,)*
                }
            }
        }
    };
}

/// When a mechanism acts: the process that reads `GPURACE_ABLATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// The pass, while a program is compiled.
    Compiling,
    /// The runtime, while a program runs.
    Running,
}

mechanisms! {
    /// A read without a check of its own where another check stands for it.
    CoveredReads = "covered-reads", Compiling;
    /// An access checked in a loop's first iteration alone.
    CheckedOnce = "checked-once", Compiling;
    /// Checks of a block's threads handed over together.
    Rows = "rows", Compiling;
    /// Rows whose addresses follow from the thread's index.
    AffineRows = "affine-rows", Compiling;
    /// Loops cut at their ends, so that each iteration's reads make rows.
    CutLoops = "cut-loops", Compiling;
    /// Loops of few iterations unrolled in code with checks, so that their accesses make rows.
    UnrolledLoops = "unrolled-loops", Compiling;
    /// Reads of loops that threads leave one by one, handed over together.
    GatheredAccesses = "gathered-accesses", Compiling;
    /// Functions that run all threads of a block, for kernels without checks.
    BareBlockEntries = "bare-block-entries", Running;
    /// Functions that run all threads of a block, for kernels with checks.
    CheckedBlockEntries = "checked-block-entries", Running;
    /// Code without the checks of the sites that are proved while compiling.
    OpenCode = "open-code", Running;
    /// Barrier intervals in shared memory that are compared with earlier ones.
    RepeatedIntervals = "repeated-intervals", Running;
    /// Reads without a record until something writes to their page.
    DeferredReads = "deferred-reads", Running;
    /// Records of a region's 32 words at once.
    Regions = "regions", Running;
    /// Several records of a word side by side in one cache line.
    RecordLists = "record-lists", Running;
    /// Accesses that a shadow word alone decides.
    WordFastPath = "word-fast-path", Running;
    /// Proved launches without checks although other operations may run beside them.
    BareBesideOthers = "bare-beside-others", Running;
    /// Decisions about a kernel's launches that later launches use again.
    RememberedDecisions = "remembered-decisions", Running;
    /// Launches without checks that make the same accesses as one that was checked.
    LaunchesAlike = "launches-alike", Running;
    /// The solver's answers, kept on disk from run to run.
    SolverCache = "solver-cache", Running;
}

/// True if the mechanism is on: always, without the feature `ablation`.
#[cfg(not(feature = "ablation"))]
#[inline(always)]
pub const fn is_on(_: Mechanism) -> bool {
    true
}

/// True if `GPURACE_ABLATE` does not name the mechanism.
///
/// # Panics
/// The variable names something that is no mechanism.
#[cfg(feature = "ablation")]
#[inline(always)]
pub fn is_on(mechanism: Mechanism) -> bool {
    use std::sync::OnceLock;

    static OFF: OnceLock<u64> = OnceLock::new();
    #[cold]
    fn read() -> u64 {
        let names = std::env::var("GPURACE_ABLATE").unwrap_or_default();
        names.split(',').filter(|name| !name.is_empty()).fold(0, |off, name| {
            let named = Mechanism::ALL.iter().find(|mechanism| mechanism.name() == name);
            let named = named.unwrap_or_else(|| panic!("GPURACE_ABLATE: found `{name}`, no mechanism"));
            off | 1 << *named as u32
        })
    }
    OFF.get_or_init(read) >> mechanism as u32 & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mechanism_has_a_name_of_its_own() {
        for (i, a) in Mechanism::ALL.iter().enumerate() {
            assert_eq!(*a as usize, i);
            assert!(Mechanism::ALL[..i].iter().all(|b| a.name() != b.name()), "{}", a.name());
        }
    }
}
