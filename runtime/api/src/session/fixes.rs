//! Changes of the source that mend the findings of a run.

mod findings;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use gpurace_abi::flow::{Flow, InlinedFunction};
use gpurace_abi::meta::{Frame, ModuleMeta, Op, SourceFile};
use gpurace_protocol::further_barrier::{self, FurtherBarrier};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{Protocol, SiteId, Sync};
use gpurace_report::barriers::{Level, Pair, relation};
use gpurace_report::fix;
use gpurace_report::missing::{NewBarrier, Unordered, end_of_iteration};
use gpurace_report::schema;

use super::Session;
use super::found::FoundResolved;
use crate::backend::module::Kernel;
use crate::program::Program;
use crate::prove::KernelProver;
use crate::session::resolve::{self, InKernel};

/// Blocks that are run to try a new barrier.
const MOST_BLOCKS_RUN: usize = 4;
/// Launches of one shape in which each of these blocks is run.
const MOST_LAUNCHES_RUN: usize = 8;
/// Launches with a block in which races that were not seen are looked for.
const MOST_RUN_FOR_UNSEEN: usize = 2;

/// Races of one finding within one kernel.
struct RacesInKernel<'a> {
    kernel: &'static Kernel,
    flow: &'static Flow,
    /// Their sites.
    pairs: Vec<Pair>,
    /// One of each pair that the run has shown.
    shown: Vec<&'a schema::Race>,
    /// The widest group of threads that race.
    widest: schema::Scope,
}

/// Lines of functions that a fix may change, by the function's number in its module.
type LinesOfFunctions = HashMap<u32, BTreeSet<u32>>;
/// The same by the functions' file.
type FunctionsByFile = BTreeMap<&'static str, LinesOfFunctions>;

/// What a fix may change in one file for the races of one kernel.
struct MayChange {
    kernel: bool,
    functions: LinesOfFunctions,
}

/// Barriers that order races.
struct Fixed {
    /// The change of the source, as a unified diff.
    diff: String,
    /// The change in words.
    advice: String,
    /// Their number.
    barriers: usize,
    /// Of several barriers, the two accesses that each one alone parts, in words.
    parted: Vec<[String; 2]>,
}

impl RacesInKernel<'_> {
    /// The functions that were inlined into the kernel and have both sides of each race, and their numbers.
    fn around(&self) -> impl Iterator<Item = (u32, &'static InlinedFunction)> {
        let meta = self.kernel.module.meta;
        let has_all = |function: &InlinedFunction| {
            let is_frame = |frame: &Frame| (frame.file, &frame.function) == (function.file, &function.name);
            let has = |&site: &u32| {
                let site = meta.sites.get(site as usize);
                site.is_some_and(|site| site.frames.iter().rev().skip(1).any(is_frame))
            };
            self.pairs.iter().flatten().all(has)
        };
        (0..).zip(&meta.inlined).filter(move |(_, function)| has_all(function))
    }

    /// The lines of the functions around the races that all threads of a block run together, wherever the program
    /// calls the function.
    fn lines_around(&self, program: &Program) -> FunctionsByFile {
        let mut by_file = FunctionsByFile::new();
        for (number, function) in self.around() {
            if let Some(file) = self.kernel.module.meta.files.get(function.file as usize) {
                let lines = run_together(function, file, program.modules.described());
                by_file.entry(&file.name).or_default().insert(number, lines);
            }
        }
        by_file
    }
}

/// The name of a template without the arguments of an instance.
fn without_arguments(name: &str) -> &str {
    name.split('<').next().unwrap_or_default()
}

/// The lines of a function that all threads of a block run together, wherever these modules call it.
fn run_together(
    function: &InlinedFunction,
    file: &SourceFile,
    modules: impl Iterator<Item = &'static ModuleMeta>,
) -> BTreeSet<u32> {
    let path = |file: &SourceFile| normal(&Path::new(&file.directory).join(&file.name));
    let mut lines: BTreeSet<u32> = function.together.iter().copied().collect();
    for module in modules {
        let is_like = |other: &&InlinedFunction| {
            without_arguments(&other.name) == without_arguments(&function.name)
                && module.files.get(other.file as usize).is_some_and(|other| path(other) == path(file))
        };
        for other in module.inlined.iter().filter(is_like) {
            lines.retain(|line| other.together.contains(line));
        }
    }
    lines
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = path.pop(),
            other => path.push(other),
        }
        path
    })
}

impl Session {
    /// The barriers of blocks or warps that would order all these races.
    fn barriers_for(&self, races: &[&FoundResolved]) -> Option<Fixed> {
        let kernels = by_kernel(races)?;
        self.barriers_in(&kernels, widest_within_blocks(&kernels)?)
    }

    /// The barriers that would order all these races, and those that the run did not show. `None` if there are none of
    /// the latter, or if no barriers order them.
    fn barriers_with_unseen(&self, races: &[&FoundResolved]) -> Option<Fixed> {
        let mut kernels = by_kernel(races)?;
        let mut any = false;
        for races in &mut kernels {
            let unseen = self.unseen(races);
            any |= !unseen.is_empty();
            for (pair, scope) in unseen {
                races.pairs.push(pair);
                races.widest = races.widest.max(scope);
            }
        }
        if !any {
            return None;
        }
        self.barriers_in(&kernels, widest_within_blocks(&kernels)?)
    }

    /// The fewest barriers in one file that order races of threads of `widest`.
    fn barriers_in(&self, kernels: &[RacesInKernel<'_>], widest: schema::Scope) -> Option<Fixed> {
        let functions: Vec<_> = kernels.iter().map(|races| races.lines_around(&self.program)).collect();
        let own = |races: &RacesInKernel<'_>| {
            let meta = races.kernel.module.meta;
            meta.files.get(races.kernel.meta().frame.as_ref()?.file as usize).map(|file| file.name.as_str())
        };
        let own: Vec<_> = kernels.iter().map(own).collect::<Option<_>>()?;
        let others = functions.iter().flatten().map(|(file, _)| *file);
        let mut files: Vec<&str> = own.first().copied().into_iter().chain(others).collect();
        let mut known = BTreeSet::new();
        files.retain(|file| known.insert(*file));
        let in_file = |file: &&str| {
            let may_change = |(own, functions): (&&str, &FunctionsByFile)| MayChange {
                kernel: own == file,
                functions: functions.get(file).cloned().unwrap_or_default(),
            };
            let may_change = own.iter().zip(&functions).map(may_change).collect();
            self.barriers_in_file(file, kernels, may_change, widest)
        };
        files.iter().filter_map(in_file).min_by_key(|fixed| fixed.barriers)
    }

    /// The barriers that would order all these races in a file, of which this may change for each kernel.
    fn barriers_in_file(
        &self,
        file: &str,
        kernels: &[RacesInKernel<'_>],
        may_change: Vec<MayChange>,
        widest: schema::Scope,
    ) -> Option<Fixed> {
        let runs: Vec<_> = kernels
            .iter()
            .map(|races| {
                move |barrier: &NewBarrier, pairs: &[Pair]| {
                    widest <= schema::Scope::Block
                        && self.runs_clean(races.kernel, &races.shown, barrier, pairs)
                }
            })
            .collect();
        let unordered: Vec<_> = kernels
            .iter()
            .zip(&runs)
            .zip(may_change)
            .map(|((races, runs), may_change)| Unordered {
                flow: races.flow,
                in_kernel: may_change.kernel,
                in_functions: may_change.functions,
                pairs: races.pairs.clone(),
                runs_clean: runs,
            })
            .collect();
        let fix::Barriers { diff, advice, barriers, parted } =
            fix::barriers(widest, &unordered, file, self.sources())?;
        let words = |(at, [first, second]): (usize, Pair)| {
            let RacesInKernel { kernel, flow, .. } = kernels[at];
            let is_reversed = relation(flow, [first, second], Level::Block).is_some_and(|it| it.is_reversed);
            let in_order = if is_reversed { [second, first] } else { [first, second] };
            in_order.map(|site| effect_at(kernel, site, file))
        };
        let mut parted: Vec<_> = parted.into_iter().map(words).collect();
        parted.dedup();
        Some(Fixed { diff, advice, barriers, parted })
    }

    /// The races of two threads of a block that the kernel's protocol shows in launches of this run, but the run itself
    /// did not: a thread's earlier access may have stood for a later one. They share a site and a barrier interval with
    /// races that the run has shown.
    fn unseen(&self, races: &RacesInKernel<'_>) -> BTreeMap<Pair, schema::Scope> {
        let mut unseen = BTreeMap::new();
        let prover = self.prover.of_kernel(races.kernel);
        let Some(protocol) = prover.protocol() else { return unseen };
        let interval = |pair: Pair| {
            let relation = relation(races.flow, pair, Level::Block)?;
            Some((relation.interval, relation.over_back_edge.is_some()))
        };
        let known: BTreeSet<Pair> = races.pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        let sites: BTreeSet<u32> = races.pairs.iter().flatten().copied().collect();
        let intervals: BTreeSet<_> = races.pairs.iter().filter_map(|&pair| interval(pair)).collect();
        for (launch, block) in launches_of(&prover, &races.shown).into_iter().take(MOST_RUN_FOR_UNSEEN) {
            let conflicts = further_barrier::conflicts(protocol, &launch, block, &|_| true);
            for (pair, conflict) in conflicts.into_iter().flatten() {
                let pair = pair.map(|site| site.0);
                let is_near = pair.iter().any(|site| sites.contains(site))
                    && interval(pair).is_some_and(|own| intervals.contains(&own));
                if is_near && !known.contains(&pair) {
                    let scope =
                        if conflict.across_warps { schema::Scope::Block } else { schema::Scope::Warp };
                    let widest = unseen.entry(pair).or_insert(scope);
                    *widest = scope.max(*widest);
                }
            }
        }
        unseen
    }

    /// True if all these races would be left if threads met at the end of each iteration of the loop around.
    fn meet_in_iterations(&self, races: &[&FoundResolved]) -> bool {
        let meet = |races: &RacesInKernel<'_>| {
            let level = if races.widest == schema::Scope::Warp { Level::Warp } else { Level::Block };
            races.pairs.iter().all(|&pair| {
                let barrier = end_of_iteration(races.flow, pair, level);
                barrier.is_some_and(|new| self.leaves(races.kernel, &races.shown, &new, pair))
            })
        };
        by_kernel(races).is_some_and(|kernels| kernels.iter().all(meet))
    }

    /// True if a further barrier leaves a race of a kernel in some launch of this run.
    fn leaves(&self, kernel: &Kernel, shown: &[&schema::Race], new: &NewBarrier, pair: Pair) -> bool {
        let prover = self.prover.of_kernel(kernel);
        let changed = prover.protocol().and_then(|protocol| with_barrier(protocol, new));
        changed.is_some_and(|(changed, sync)| {
            let pairs = [pair.map(SiteId)];
            launches_of(&prover, shown).into_iter().any(|(launch, block)| {
                further_barrier::meet(&changed, &launch, block, &pairs, sync) == Some(true)
            })
        })
    }

    /// True if a further barrier orders races of a kernel in launches of this run. `shown` has a race of each
    /// pair of sites.
    fn runs_clean(&self, kernel: &Kernel, shown: &[&schema::Race], new: &NewBarrier, pairs: &[Pair]) -> bool {
        let prover = self.prover.of_kernel(kernel);
        let Some(protocol) = prover.protocol() else { return false };
        let Some((changed, sync)) = with_barrier(protocol, new) else { return false };
        let sites: Vec<_> = pairs.iter().map(|pair| pair.map(SiteId)).collect();
        let mut was_racy = false;
        for (launch, block) in launches_of(&prover, shown) {
            let races = |protocol| further_barrier::meet(protocol, &launch, block, &sites, sync);
            if races(&changed) != Some(false) {
                return false;
            }
            // The protocol must show the races before it may show that they are gone.
            was_racy |= races(protocol) == Some(true);
        }
        was_racy
    }
}

/// Returns the protocol with a further barrier, and whom it is for. `None` if it has no certain place for one.
fn with_barrier(protocol: &Protocol, new: &NewBarrier) -> Option<(Protocol, Sync)> {
    let sync = match new.level {
        Level::Block => Sync::Block,
        Level::Warp => Sync::Warp,
        Level::Grid => return None,
    };
    let precedes = |site: SiteId| new.precedes.contains(&site.0);
    let NewBarrier { loops, ends_iteration, .. } = *new;
    let barrier = FurtherBarrier { sync, precedes: &precedes, loops, ends_iteration };
    Some((further_barrier::insert(protocol, barrier)?, sync))
}

/// Races of a finding by kernel. `None` if the sides of some race belong to different launches.
fn by_kernel<'a>(races: &[&'a FoundResolved]) -> Option<Vec<RacesInKernel<'a>>> {
    let mut kernels: Vec<RacesInKernel<'_>> = Vec::new();
    for found in races {
        let InKernel { kernel, flow, pair } = found.in_kernel?;
        match kernels.iter_mut().find(|known| std::ptr::eq(known.kernel, kernel)) {
            Some(known) => {
                known.pairs.push(pair);
                known.shown.push(&found.race);
                known.widest = known.widest.max(found.widest);
            }
            None => kernels.push(RacesInKernel {
                kernel,
                flow,
                pairs: vec![pair],
                shown: vec![&found.race],
                widest: found.widest,
            }),
        }
    }
    Some(kernels)
}

/// The widest group of threads that race. `None` if it is more than a block.
fn widest_within_blocks(kernels: &[RacesInKernel<'_>]) -> Option<schema::Scope> {
    kernels.iter().map(|races| races.widest).max().filter(|widest| *widest <= schema::Scope::Block)
}

/// Launches of this run in which races were seen, each with a block.
fn launches_of(prover: &KernelProver, shown: &[&schema::Race]) -> Vec<(Launch, [u32; 3])> {
    let mut blocks: Vec<_> = shown
        .iter()
        .filter_map(|race| {
            let launch = race.launch.as_ref()?;
            Some((launch.grid, launch.block, race.accesses[0].block?))
        })
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    let of_block = |(grid, block, index)| {
        let of_shape = prover.launches(|launch| (launch.shape.grid, launch.shape.block) == (grid, block));
        of_shape.into_iter().take(MOST_LAUNCHES_RUN).map(move |launch| (launch, index))
    };
    blocks.into_iter().take(MOST_BLOCKS_RUN).flat_map(of_block).collect()
}

/// Returns `the write at line 17` or, in another file, `the write at b.cu:17`.
fn effect_at(kernel: &Kernel, site: u32, own_file: &str) -> String {
    let op = kernel.module.meta.sites.get(site as usize).map_or("access", |site| match site.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Atomic => "atomic",
    });
    match resolve::site_position(kernel, site) {
        (Some(file), Some(line)) if file == own_file => format!("the {op} at line {line}"),
        (Some(file), Some(line)) => format!("the {op} at {file}:{line}"),
        _ => format!("the {op}"),
    }
}
