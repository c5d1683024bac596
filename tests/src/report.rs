//! The JSON report (`gpurace-report/1`), as users are promised it.

use serde::Deserialize;

/// A whole report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `gpurace-report/1`.
    pub schema: String,
    /// `cpu` or `cuda`.
    pub device: String,
    /// Distinct races.
    pub races: Vec<Race>,
    /// Barrier divergence and deadlocks.
    pub divergence: Vec<Divergence>,
    /// Whatever was lost or not checked.
    pub notes: Vec<String>,
    /// Counts.
    pub stats: Stats,
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
    /// Whether two writes stored the same, where known.
    pub same_value: Option<bool>,
    /// Demangled name, `None` where neither side is in a kernel.
    pub kernel: Option<String>,
    /// The launch of the access that found the race.
    pub launch: Option<Launch>,
    /// What was accessed.
    pub object: Option<Object>,
    /// The access that found the race, then the earlier one.
    pub accesses: [Access; 2],
    /// What order is missing.
    pub hint: Option<String>,
    /// How often it was seen.
    pub count: u64,
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
}

/// A memory object.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// `shared`, `variable`, `allocation`, ...
    pub kind: String,
    /// Name in the source, where it has one.
    pub name: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    /// Offset of the access in it, bytes.
    pub offset: Option<u64>,
}

/// One side of a race.
#[derive(Clone, Debug, Deserialize)]
pub struct Access {
    /// `read`, `write`, `atomic`, `copy` or `host`.
    pub op: String,
    /// Bytes.
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
    /// Who waits where.
    pub waiting: Vec<Waiting>,
}

/// One group of threads in a [`Divergence`].
#[derive(Clone, Debug, Deserialize)]
pub struct Waiting {
    /// Source file of the barrier.
    pub file: Option<String>,
    /// Line of the barrier.
    pub line: Option<u32>,
    /// The threads have ended.
    #[serde(default)]
    pub exited: bool,
    /// How many threads.
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
    /// The same for each kernel.
    pub kernels: Vec<KernelStats>,
}

/// What became of the access instructions.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// All of them.
    pub total: u64,
    /// Left out at compile time.
    pub proved: u64,
    /// Left out at launch.
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
    /// Dynamic checks that it ran.
    pub checks_executed: u64,
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// Says what of the schema is not met.
    pub fn parse(text: &str) -> Result<Self, String> {
        let report: Self =
            serde_json::from_str(text).map_err(|e| format!("report is not `gpurace-report/1`: {e}"))?;
        let broken = report.broken_promises();
        if broken.is_empty() { Ok(report) } else { Err(broken.join("\n")) }
    }

    /// What every report promises beyond its shape, and this one does not keep.
    fn broken_promises(&self) -> Vec<String> {
        let mut broken = Vec::new();
        if self.schema != "gpurace-report/1" {
            broken.push(format!("schema is `{}`, wanted `gpurace-report/1`", self.schema));
        }
        for race in &self.races {
            let [later, earlier] = &race.accesses;
            let kind = format!("{}-{}", earlier.op, later.op);
            // A copy or the host reads or writes; only the kind says which.
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

    const EXAMPLE: &str = r#"{ "schema": "gpurace-report/1", "device": "cpu",
      "races": [
        { "kind": "write-read", "space": "shared", "scope": "block", "same_value": null,
          "kernel": "reduce(float const*, float*)",
          "launch": { "index": 1, "grid": [4,1,1], "block": [256,1,1], "file": "reduce.cu", "line": 31 },
          "object": { "kind": "shared", "name": "tile", "size": 1024, "offset": 64 },
          "accesses": [
            { "op": "read",  "size": 4, "file": "reduce.cu", "line": 18, "column": 15, "function": "reduce", "launch": 1, "stream": 0, "block": [0,0,0], "thread": [31,0,0] },
            { "op": "write", "size": 4, "file": "reduce.cu", "line": 17, "column": 13, "function": "reduce", "launch": 1, "stream": 0, "block": [0,0,0], "thread": [63,0,0] } ],
          "hint": "no __syncthreads() orders line 17 before line 18", "count": 192 } ],
      "divergence": [ { "kernel": "k()", "launch": 1, "block": [0,0,0],
        "waiting": [ { "file": "k.cu", "line": 9, "threads": 32, "example": [0,0,0] }, { "exited": true, "threads": 96, "example": [32,0,0] } ] } ],
      "notes": [ "report buffer full, 2048 races not shown" ],
      "stats": { "launches": 1, "launches_unchecked": 0, "checks_executed": 4096,
        "sites": { "total": 6, "proved": 3, "proved_at_launch": 1, "checked": 2 },
        "kernels": [ { "name": "reduce(float const*, float*)", "sites": { "total": 6, "proved": 3, "proved_at_launch": 1, "checked": 2 }, "launches": 1, "checks_executed": 4096 } ] } }"#;

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
