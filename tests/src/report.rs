//! The JSON report (`gpurace-report/1`), as the documentation promises it to users.

use serde::Deserialize;

/// A whole report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `gpurace-report/1`.
    pub schema: String,
    /// `cpu` or `cuda`.
    pub device: String,
    /// The run.
    #[serde(default)]
    pub run: Option<Run>,
    /// One for each mistake.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Distinct races.
    pub races: Vec<Race>,
    /// Barriers that not all threads reach.
    pub divergence: Vec<Divergence>,
    /// Faults that ended a launch.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Everything that was lost or not checked.
    pub notes: Vec<String>,
    /// Counts.
    pub stats: Stats,
    /// What is known of each kernel's accesses.
    #[serde(default)]
    pub coverage: Vec<KernelCoverage>,
    /// Source lines around the positions.
    #[serde(default)]
    pub sources: Vec<SourceLines>,
}

/// The accesses of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelCoverage {
    /// Its name.
    pub kernel: String,
    /// Its launches.
    pub launches: u64,
    /// Its accesses.
    pub accesses: Vec<CoveredAccess>,
}

/// An access of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoveredAccess {
    /// The source file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The column.
    pub column: Option<u32>,
    /// `read`, `write` or `atomic`.
    pub op: String,
    /// `never-ran`, `proved` or `checked`.
    pub state: String,
}

/// The run of the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The path of the program.
    pub program: Option<String>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its directory.
    pub directory: Option<String>,
    /// The process id.
    pub pid: u32,
    /// Seconds since 1970.
    pub time: u64,
    /// The seed.
    pub seed: u64,
    /// The version of gpurace.
    pub version: String,
}

/// One mistake.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// `F1`, ...
    pub id: String,
    /// `missing-barrier`, ...
    pub cause: String,
    /// The kernel, without template arguments.
    pub kernel: Option<String>,
    /// The memory object.
    pub object: Option<String>,
    /// The finding in one line.
    pub title: String,
    /// What is missing.
    pub why: String,
    /// How to mend it.
    pub fix: Fix,
    /// Indices into [`Report::races`].
    pub races: Vec<usize>,
    /// The number of distinct races.
    pub pairs: u64,
    /// How often they were seen.
    pub count: u64,
    /// Equal for equal mistakes of other runs.
    pub fingerprint: String,
}

/// How to mend a mistake.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// A unified diff.
    pub diff: Option<String>,
    /// What to change.
    pub advice: Option<String>,
}

/// A fault of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// `illegal-address`, ...
    pub kind: String,
    /// What happened.
    pub message: String,
    /// Source file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Demangled name.
    pub kernel: String,
    /// Launch index.
    pub launch: u64,
    /// `blockIdx`.
    pub block: Option<[u32; 3]>,
    /// `threadIdx`.
    pub thread: Option<[u32; 3]>,
    /// The nearest object.
    pub object: Option<Object>,
    /// Bytes from its end.
    pub distance: Option<i64>,
    /// The seed of the schedule that shows it, if the program's own does not.
    #[serde(default)]
    pub seed: Option<u64>,
}

/// Lines of a source file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceLines {
    /// The file.
    pub file: String,
    /// The number of the first line.
    pub first: u32,
    /// The lines.
    pub lines: Vec<String>,
}

/// A source position.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// A call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The calling function.
    pub function: Option<String>,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: Option<u32>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its number, from 1.
    pub number: u32,
}

/// One race.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Race {
    /// The two operations, the earlier first: `write-read`.
    pub kind: String,
    /// `shared` or `global`.
    pub space: String,
    /// The narrowest group that holds both sides.
    pub scope: String,
    /// True if two writes stored the same value; `None` if that is unknown.
    pub same_value: Option<bool>,
    /// Demangled name; `None` if neither side is in a kernel.
    pub kernel: Option<String>,
    /// The launch of the access that found the race.
    pub launch: Option<Launch>,
    /// The memory object that both sides accessed.
    pub object: Option<Object>,
    /// The access that found the race, then the earlier one.
    pub accesses: [Access; 2],
    /// The order that is missing.
    pub hint: Option<String>,
    /// How often it was seen.
    pub count: u64,
    /// The seed of the schedule that shows it, if the program's own does not.
    #[serde(default)]
    pub seed: Option<u64>,
}

/// A kernel launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// From 1.
    pub index: u64,
    /// `gridDim`.
    pub grid: [u32; 3],
    /// `blockDim`.
    pub block: [u32; 3],
    /// Host source of the launch.
    pub file: Option<String>,
    /// Line of the launch.
    pub line: Option<u32>,
    /// The calls that led to it.
    #[serde(default)]
    pub stack: Vec<Call>,
    /// The named regions that it lies in.
    #[serde(default)]
    pub regions: Vec<String>,
}

/// A memory object.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// `shared`, `variable`, `allocation`, ...
    pub kind: String,
    /// Name in the source, if it has one.
    pub name: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Offset of the access in the object, in bytes.
    pub offset: Option<u64>,
    /// The element that this byte belongs to.
    #[serde(default)]
    pub element: Option<Element>,
    /// Where the host allocated it.
    #[serde(default)]
    pub allocated_at: Option<Position>,
    /// The kernel's parameter.
    #[serde(default)]
    pub parameter: Option<Parameter>,
}

/// An element of an array.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Its index in each dimension.
    pub index: Vec<u64>,
    /// The byte within it.
    pub byte: u64,
    /// The type of the elements of an allocation.
    pub r#type: Option<String>,
    /// The field of the element, if it is a struct.
    #[serde(default)]
    pub field: Option<String>,
}

/// One side of a race.
#[derive(Clone, Debug, Deserialize)]
pub struct Access {
    /// `read`, `write`, `atomic`, `copy` or `host`.
    pub op: String,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Source file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Function.
    pub function: Option<String>,
    /// Launch index.
    pub launch: Option<u64>,
    /// Stream.
    pub stream: Option<u64>,
    /// `blockIdx`.
    pub block: Option<[u32; 3]>,
    /// `threadIdx`.
    pub thread: Option<[u32; 3]>,
}

/// Threads of a block that wait at different barriers.
#[derive(Clone, Debug, Deserialize)]
pub struct Divergence {
    /// Demangled name.
    pub kernel: String,
    /// Launch index.
    pub launch: u64,
    /// `blockIdx`.
    pub block: [u32; 3],
    /// What is wrong. It is left out for a barrier that not all threads reach.
    #[serde(default = "barrier")]
    pub kind: String,
    /// The groups of waiting threads.
    pub waiting: Vec<Waiting>,
    /// The seed of the schedule that shows it, if the program's own does not.
    #[serde(default)]
    pub seed: Option<u64>,
}

fn barrier() -> String {
    "barrier".to_owned()
}

/// One group of threads in a [`Divergence`].
#[derive(Clone, Debug, Deserialize)]
pub struct Waiting {
    /// Source file of the barrier.
    pub file: Option<String>,
    /// Line of the barrier.
    pub line: Option<u32>,
    /// True if the threads have ended.
    #[serde(default)]
    pub exited: bool,
    /// Number of threads.
    pub threads: u32,
}

/// Counts of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Stats {
    /// Kernel launches.
    pub launches: u64,
    /// Launches that ran without checks.
    pub launches_unchecked: u64,
    /// Dynamic checks that ran on the device.
    pub checks_executed: u64,
    /// Access instructions of the program.
    pub sites: Sites,
    /// Counts of each kernel.
    pub kernels: Vec<KernelStats>,
    /// Launches that ran under further schedules.
    #[serde(default)]
    pub trials: Trials,
}

/// Runs of launches under further schedules.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trials {
    /// Launches that had some.
    pub launches: u64,
    /// Their number.
    pub trials: u64,
    /// Those that ended before the launch did.
    pub unfinished: u64,
    /// Their steps.
    pub steps: u64,
    /// Races that they alone showed.
    pub races: u64,
}

/// Numbers of access instructions, by how they are checked.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// All of them.
    pub total: u64,
    /// Proved at compile time.
    pub proved: u64,
    /// Proved at the launch.
    pub proved_at_launch: u64,
    /// Checked.
    pub checked: u64,
}

/// Counts of one kernel.
#[derive(Clone, Debug, Deserialize)]
pub struct KernelStats {
    /// Demangled name.
    pub name: String,
    /// Its access instructions.
    pub sites: Sites,
    /// Its launches.
    pub launches: u64,
    /// Dynamic checks that ran in it.
    pub checks_executed: u64,
}

impl Finding {
    /// Returns the name by which programs declare the finding: its cause, or what its title says if that is
    /// `other`. `None` for a fault, which programs declare otherwise.
    pub fn name(&self) -> Option<String> {
        match self.cause.as_str() {
            "fault" => None,
            "other" => Some(self.title.split(':').next().unwrap_or_default().replace(' ', "-")),
            cause => Some(cause.to_owned()),
        }
    }
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// Names each rule of the schema that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let report: Self =
            serde_json::from_str(text).map_err(|e| format!("report is not `gpurace-report/1`: {e}"))?;
        let broken = report.broken_promises();
        if broken.is_empty() { Ok(report) } else { Err(broken.join("\n")) }
    }

    /// One message for each rule beyond the schema's types that the report breaks.
    fn broken_promises(&self) -> Vec<String> {
        let mut broken = Vec::new();
        if self.schema != "gpurace-report/1" {
            broken.push(format!("schema is `{}`, wanted `gpurace-report/1`", self.schema));
        }
        for race in &self.races {
            let [later, earlier] = &race.accesses;
            let kind = format!("{}-{}", earlier.op, later.op);
            // A copy or the host may read or write. Only the kind of the race names which.
            let in_kernels = [later, earlier].iter().all(|a| a.op != "copy" && a.op != "host");
            if in_kernels && race.kind != kind {
                broken.push(format!("kind is `{}`, but the accesses are `{kind}`", race.kind));
            }
            if race.count == 0 {
                broken.push(format!("a `{kind}` race was seen 0 times"));
            }
            if later.op == "read" && earlier.op == "read" {
                broken.push("two reads are no race".into());
            }
            let writes = later.op == "write" && earlier.op == "write";
            if race.same_value.is_some() && !writes {
                broken.push(format!("`same_value` of a `{kind}` race is not null"));
            }
            if let (Some(a), Some(b), Some(x), Some(y)) =
                (later.thread, earlier.thread, later.block, earlier.block)
                && a == b
                && x == y
                && later.launch == earlier.launch
                // A thread's asynchronous copy is not ordered to the thread.
                && !race.hint.as_deref().is_some_and(|h| h.contains("the asynchronous copy"))
            {
                broken.push(format!("thread {a:?} of block {x:?} races with itself"));
            }
        }
        let per_kernel = self.stats.kernels.iter().map(|k| (k.name.as_str(), k.sites));
        for (name, s) in per_kernel.chain([("the program", self.stats.sites)]) {
            if s.proved + s.proved_at_launch + s.checked != s.total {
                broken.push(format!("sites of {name} do not add up: {s:?}"));
            }
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the documentation of the interface, which the product's tests read too.
    const EXAMPLE: &str = include_str!("../../runtime/base/report/src/tests/interface.json");

    #[test]
    fn the_documented_report_is_read() {
        let report = Report::parse(EXAMPLE).unwrap();
        assert_eq!(report.races[0].accesses[1].line, Some(17));
        assert!(report.divergence[0].waiting[1].exited);
    }

    #[test]
    fn a_kind_in_the_wrong_order_is_refused() {
        let err = Report::parse(&EXAMPLE.replace("write-read", "read-write")).unwrap_err();
        assert!(err.contains("but the accesses are `write-read`"), "{err}");
    }

    #[test]
    fn sites_that_do_not_add_up_are_refused() {
        let err = Report::parse(&EXAMPLE.replace("\"total\": 6", "\"total\": 7")).unwrap_err();
        assert!(err.contains("do not add up"), "{err}");
    }
}
