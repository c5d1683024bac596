//! The tests of the crate, and the races that they use.

mod baseline;
mod collect;
mod hint;
mod join;
mod merge;
mod schema;
mod text;

use std::sync::Arc;

use gpurace_abi::meta::Space;

use crate::cause;
use crate::collect::{Added, Collector};
use crate::hint::SideFacts;
use crate::schema::{Access, Launch, Object, ObjectKind, Op, Race, RaceKind, Report, Scope};
use crate::sources::Sources;

/// The report of the documented interface, written by hand.
pub(crate) const INTERFACE: &str = include_str!("interface.json");

pub(crate) fn interface() -> Report {
    Report::from_json(INTERFACE).expect("the example of the interface is a report")
}

/// Line 17 writes `tile[t]`, line 18 reads another thread's `tile`.
pub(crate) const REDUCE_CU: &str = "\
// line 1
// line 2
__device__ int flag;
__device__ unsigned counter;

__global__ void scan(int *data) {
  data[0] += data[1];
  flag = 1;
  atomicAdd_block(&counter, 1u);
}

__global__ void reduce(float const *in, float *out) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  float v = in[blockIdx.x * 256 + t];

\ttile[t] = v;
  float w = v + tile[t ^ 32];
  out[t] = w;
}

int main() {
  cudaMemcpy(out, data, 64, cudaMemcpyHostToDevice);
  printf(\"%f\\n\", out[0]);
}
";

/// Sources with `reduce.cu`, and with the same text as `tile.cuh`.
pub(crate) struct OneFile;

impl Sources for OneFile {
    fn text(&self, file: &str) -> Option<Arc<str>> {
        ["reduce.cu", "tile.cuh"].contains(&file).then(|| REDUCE_CU.into())
    }
}

/// Adds a race with its cause.
pub(crate) fn add(collector: &mut Collector, race: Race) -> Added {
    let cause = cause::of(&race, [SideFacts::default(); 2], None);
    collector.add_race(race, &cause)
}

/// Returns an access in `reduce.cu` by thread `(thread,0,0)` of block `(block,0,0)`.
pub(crate) fn access(op: Op, line: u32, column: u32, block: u32, thread: u32) -> Access {
    Access {
        size: Some(4),
        file: Some("reduce.cu".to_owned()),
        line: Some(line),
        column: Some(column),
        function: Some("scan".to_owned()),
        launch: Some(1),
        stream: Some(0),
        block: Some([block, 0, 0]),
        thread: Some([thread, 0, 0]),
        ..Access::new(op)
    }
}

/// Returns a race of `scan(int*)` on global memory.
pub(crate) fn race(kind: RaceKind, scope: Scope, later: Access, earlier: Access) -> Race {
    Race {
        kind,
        space: Space::Global,
        scope,
        same_value: None,
        kernel: Some("scan(int*)".to_owned()),
        launch: Some(Launch {
            index: 1,
            grid: [4, 1, 1],
            block: [256, 1, 1],
            file: Some("reduce.cu".to_owned()),
            line: Some(31),
            stack: Vec::new(),
            regions: Vec::new(),
        }),
        object: Some(Object {
            kind: ObjectKind::Allocation,
            name: None,
            size: Some(4096),
            offset: Some(0),
            element: None,
            allocated_at: None,
            parameter: None,
        }),
        accesses: [later, earlier],
        hint: None,
        count: 1,
        seed: None,
    }
}
