//! Random kernels whose blocks meet at barrier objects (`cuda::barrier`) or copy tiles ahead, and mutants of them, as
//! CUDA C++.
//!
//! No interpreter runs them. The checker without proofs says what races, and a proof must not say otherwise.

use std::fmt::Write as _;

use gpurace_random::Random;

/// The threads of a block.
pub const THREADS: u32 = 64;
/// What stands before the kernels.
const HEAD: &str = r"#include <cstdlib>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int T = 64;
";
/// Indices into a tile, by which threads write and read it. The first is a thread's own.
const INDICES: [&str; 6] = ["t", "t ^ 1", "t ^ 33", "T - 1 - t", "(t + r) % T", "(t + 1) % T"];
/// Conditions. The last ones differ between threads.
const CONDITIONS: [&str; 7] = ["n > 1", "r & 1", "in[0] > 3", "r < n - 1", "t < 32", "t & 1", "t != 5"];
/// Of these, how many all threads decide alike.
const UNIFORM: usize = 4;
/// Counts of a barrier. The first three are the block's threads.
const COUNTS: [&str; 7] = ["T", "blockDim.x", "many", "T / 2", "1", "n", "T + 1"];
/// Of these, how many are the block's threads.
const WHOLE: usize = 3;

/// A statement of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A write of a tile, at one of [`INDICES`].
    Write {
        tile: usize,
        index: usize,
    },
    /// A read of a tile.
    Read {
        tile: usize,
        index: usize,
    },
    /// An asynchronous copy of an element, told to a barrier.
    Copy {
        tile: usize,
        index: usize,
        barrier: usize,
    },
    /// A copy in a group of its own, which no barrier knows.
    Group {
        tile: usize,
        index: usize,
    },
    /// Waits for all groups but some.
    Groups(usize),
    Init {
        barrier: usize,
        count: usize,
    },
    Meet(usize),
    Arrive(usize),
    /// Waits for the token of a barrier's last arrival.
    Wait(usize),
    /// Looks once whether the phase is over.
    Look(usize),
    Drop(usize),
    /// Waits for the parity that its thread counts.
    Parity(usize),
    Block,
    Warp,
    End(usize),
    If(usize, Vec<Step>),
    Loop(Vec<Step>),
}

/// How a thread waits for the copies of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// It leaves a constant number of groups in flight.
    Constant,
    /// One less in each of the last rounds.
    Chosen,
    /// By two branches.
    Branches,
    /// `cuda::pipeline` counts.
    Counted,
}

/// How a round knows its tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// From its number.
    Round,
    /// From numbers that go round, by a remainder.
    Remainder,
    /// By a branch.
    Branch,
}

/// A ring of tiles that are copied ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ring {
    tiles: usize,
    ahead: usize,
    left: usize,
    waits: Waits,
    stage: Stage,
    /// The copies before the loop are in a loop of their own.
    rolled: bool,
    /// A round without a copy has a group, too.
    always_commits: bool,
    /// The tile that a round reads, after its number.
    reads: usize,
    index: usize,
    /// The next copy starts before the wait of its round.
    early: bool,
    first_barrier: bool,
    second_barrier: bool,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    steps: Vec<Step>,
    ring: Option<Ring>,
}

/// What a thread does with a tile in the rounds of a kernel.
struct Plan<'r> {
    random: &'r mut Random,
    barriers: usize,
}

impl Plan<'_> {
    /// All threads meet, in one of the ways that there are. The steps of `inside` may come before all have met.
    fn meet(&mut self, inside: Vec<Step>) -> Vec<Step> {
        let barrier = self.random.below(self.barriers);
        let mut steps = vec![];
        match self.random.below(8) {
            0..3 if inside.is_empty() => steps.push(Step::Meet(barrier)),
            0 => steps.extend(inside.into_iter().chain([Step::Block])),
            1..5 => {
                steps.push(Step::Arrive(barrier));
                steps.extend(inside);
                steps.push(Step::Wait(barrier));
            }
            _ => {
                steps.push(Step::Arrive(barrier));
                steps.extend(inside);
                steps.push(Step::Parity(barrier));
            }
        }
        steps
    }

    fn other(&mut self) -> usize {
        1 + self.random.below(INDICES.len() - 1)
    }

    /// Each thread writes or copies an element.
    fn fill(&mut self, tile: usize) -> Vec<Step> {
        let index = if self.random.chance(80) { 0 } else { self.other() };
        match self.random.below(5) {
            0 => vec![Step::Group { tile, index }, Step::Groups(0)],
            1 => vec![Step::Copy { tile, index, barrier: self.random.below(self.barriers) }],
            _ => vec![Step::Write { tile, index }],
        }
    }

    /// A round: tile 0 is filled, and read by other threads.
    fn round(&mut self) -> Vec<Step> {
        let mut steps = self.fill(0);
        let mut inside = vec![];
        if self.random.chance(40) {
            inside = match self.random.below(3) {
                0 => vec![Step::Read { tile: 1, index: self.other() }],
                1 => self.fill(1),
                _ => vec![Step::Read { tile: 2, index: 0 }, Step::Write { tile: 2, index: 0 }],
            };
        }
        let barrier_of_copy = steps.iter().find_map(|step| match step {
            Step::Copy { barrier, .. } => Some(*barrier),
            _ => None,
        });
        steps.extend(match barrier_of_copy {
            Some(barrier) if self.random.chance(80) => vec![Step::Meet(barrier)],
            _ => self.meet(inside),
        });
        let index = self.other();
        steps.push(Step::Read { tile: 0, index });
        if self.random.chance(85) {
            steps.extend(self.meet(vec![]));
        }
        if self.random.chance(15) {
            let condition = self.random.below(UNIFORM);
            steps = vec![Step::If(condition, steps)];
        }
        steps
    }
}

/// Returns a ring that is right.
fn ring(random: &mut Random) -> Ring {
    let ahead = 1 + random.below(3usize);
    let early = random.chance(30);
    let waits = random.pick(&[Waits::Constant, Waits::Chosen, Waits::Branches, Waits::Counted]);
    let left = if early { ahead } else { ahead - 1 };
    let second_barrier = random.chance(50);
    Ring {
        tiles: ahead + random.below(2usize) + usize::from(!second_barrier || early),
        ahead,
        left,
        waits,
        stage: random.pick(&[Stage::Round, Stage::Remainder, Stage::Branch]),
        rolled: random.chance(60),
        always_commits: waits == Waits::Constant,
        reads: 0,
        index: 1 + random.below(INDICES.len() - 1),
        early,
        first_barrier: true,
        second_barrier: second_barrier || early,
    }
}

/// Changes one property of a ring.
fn change_ring(ring: &mut Ring, random: &mut Random) {
    match random.below(9) {
        0 => ring.left += 1,
        1 => ring.left = ring.left.saturating_sub(1),
        2 => ring.tiles = (ring.tiles - 1).max(1),
        3 => ring.reads += 1,
        4 => ring.always_commits ^= true,
        5 => ring.first_barrier = false,
        6 => ring.second_barrier ^= true,
        7 => ring.early ^= true,
        _ => ring.waits = random.pick(&[Waits::Constant, Waits::Chosen, Waits::Branches, Waits::Counted]),
    }
}

/// Returns the kernel of a seed.
pub fn kernel(seed: u64) -> Arrivals {
    let mut random = Random(seed);
    if random.chance(30) {
        return Arrivals { steps: vec![], ring: Some(ring(&mut random)) };
    }
    let barriers = 1 + random.below(2usize);
    let count = random.below(WHOLE);
    let mut steps: Vec<_> = (0..barriers).map(|barrier| Step::Init { barrier, count }).collect();
    steps.push(Step::Block);
    let mut plan = Plan { random: &mut random, barriers };
    if plan.random.chance(30) {
        let before = plan.round();
        steps.extend(before);
    }
    let round = plan.round();
    steps.push(if plan.random.chance(80) { Step::Loop(round) } else { Step::If(0, round) });
    if plan.random.chance(30) {
        let after = plan.round();
        steps.extend(after);
    }
    Arrivals { steps, ring: None }
}

/// Returns a kernel with one thing changed.
pub fn mutant(of: &Arrivals, random: &mut Random) -> Arrivals {
    let mut kernel = of.clone();
    if let Some(ring) = &mut kernel.ring {
        change_ring(ring, random);
        return kernel;
    }
    let at = random.below(count(&kernel.steps));
    change(&mut kernel.steps, &mut { at }, random);
    kernel
}

fn count(steps: &[Step]) -> usize {
    steps.len()
        + steps
            .iter()
            .map(|s| if let Step::If(_, all) | Step::Loop(all) = s { count(all) } else { 0 })
            .sum::<usize>()
}

/// Changes the step of this number. True if it was among these.
fn change(steps: &mut Vec<Step>, left: &mut usize, random: &mut Random) -> bool {
    for at in 0..steps.len() {
        if *left == 0 {
            change_at(steps, at, random);
            return true;
        }
        *left -= 1;
        if let Step::If(_, all) | Step::Loop(all) = &mut steps[at]
            && change(all, left, random)
        {
            return true;
        }
    }
    false
}

fn change_at(steps: &mut Vec<Step>, at: usize, random: &mut Random) {
    let new = match (random.below(4), &steps[at]) {
        (0, step) => {
            let condition = random.below(CONDITIONS.len());
            Step::If(condition, vec![step.clone()])
        }
        (1, _) => {
            let other = random.below(steps.len());
            let moved = steps.remove(at);
            steps.insert(other.min(steps.len()), moved);
            return;
        }
        (2, Step::Init { barrier, .. }) => {
            Step::Init { barrier: *barrier, count: random.below(COUNTS.len()) }
        }
        (2, Step::Meet(of)) => random.pick(&[Step::Arrive as fn(_) -> _, Step::Drop, Step::Look])(*of),
        (2, Step::Wait(of)) => random.pick(&[Step::Look as fn(_) -> _, Step::Parity, Step::Meet])(*of),
        (2, Step::Parity(of)) => random.pick(&[Step::Wait as fn(_) -> _, Step::Look, Step::Arrive])(*of),
        (2, Step::Arrive(of)) => random.pick(&[Step::Drop as fn(_) -> _, Step::Meet])(*of),
        (2, Step::Write { tile, .. }) => Step::Write { tile: *tile, index: random.below(INDICES.len()) },
        (2, Step::Copy { tile, index, barrier }) => {
            Step::Copy { tile: *tile, index: *index, barrier: 1 - barrier }
        }
        (2, Step::Block) => Step::Warp,
        (3, Step::Loop(_) | Step::Read { .. }) => Step::End(random.below(CONDITIONS.len())),
        (3, step @ (Step::Wait(_) | Step::Arrive(_) | Step::Meet(_))) => {
            let again = step.clone();
            let other = random.below(steps.len() + 1);
            steps.insert(other, again);
            return;
        }
        _ => {
            steps.remove(at);
            return;
        }
    };
    steps[at] = new;
}

/// The source of kernels, whose program runs the one of its argument's number.
pub fn source(kernels: &[Arrivals]) -> String {
    let mut text = HEAD.to_owned();
    for (k, kernel) in kernels.iter().enumerate() {
        text += &kernel.text(k);
    }
    text += "int main(int, char** argv) {\n    int *in, *out, host[1024];\n    for (int i = 0; i < 1024; i++) host[i] = i + 7;\n";
    text += "    cudaMalloc(&in, 4096);\n    cudaMalloc(&out, 1024);\n";
    text += "    cudaMemcpy(in, host, 4096, cudaMemcpyHostToDevice);\n    switch (atoi(argv[1])) {\n";
    for k in 0..kernels.len() {
        _ = writeln!(text, "    case {k}: k_{k}<<<2, T>>>(in, out, 5, T); break;");
    }
    text + "    }\n    return cudaDeviceSynchronize();\n}\n"
}

impl Arrivals {
    /// The kernel's text, as number `k` of its source. Each access has a line of its own.
    pub fn text(&self, k: usize) -> String {
        let mut text = format!("__global__ void k_{k}(const int* in, int* out, int n, int many) {{\n");
        text += "    __shared__ int tiles[6][T];\n    __shared__ Barrier b0, b1;\n";
        text += "    int t = threadIdx.x, r = 0, sum = 0;\n    bool p0 = false, p1 = false;\n";
        text += "    Barrier::arrival_token a0 = 0, a1 = 0;\n";
        match &self.ring {
            Some(ring) => ring.print(&mut text),
            None => print(&self.steps, 1, &mut text),
        }
        text + "    out[blockIdx.x * T + t] = sum;\n}\n"
    }
}

fn print(steps: &[Step], depth: usize, text: &mut String) {
    let margin = "    ".repeat(depth);
    for step in steps {
        text.push_str(&margin);
        _ = match step {
            Step::Write { tile, index } => writeln!(text, "tiles[{tile}][{}] = r + t;", INDICES[*index]),
            Step::Read { tile, index } => writeln!(text, "sum += tiles[{tile}][{}];", INDICES[*index]),
            Step::Copy { tile, index, barrier } => {
                writeln!(
                    text,
                    "cuda::memcpy_async(&tiles[{tile}][{}], &in[t], sizeof(int), b{barrier});",
                    INDICES[*index]
                )
            }
            Step::Group { tile, index } => {
                _ = writeln!(
                    text,
                    "__pipeline_memcpy_async(&tiles[{tile}][{}], &in[t], sizeof(int));",
                    INDICES[*index]
                );
                writeln!(text, "{margin}__pipeline_commit();")
            }
            Step::Groups(left) => writeln!(text, "__pipeline_wait_prior({left});"),
            Step::Init { barrier, count } => {
                writeln!(text, "if (t == 0) init(&b{barrier}, {});", COUNTS[*count])
            }
            Step::Meet(b) => writeln!(text, "b{b}.arrive_and_wait(), p{b} ^= 1;"),
            Step::Arrive(b) => writeln!(text, "a{b} = b{b}.arrive();"),
            Step::Wait(b) => writeln!(text, "b{b}.wait(Barrier::arrival_token(a{b})), p{b} ^= 1;"),
            Step::Look(b) => {
                writeln!(
                    text,
                    "sum += b{b}.try_wait_for(Barrier::arrival_token(a{b}), cuda::std::chrono::nanoseconds(0));"
                )
            }
            Step::Drop(b) => writeln!(text, "b{b}.arrive_and_drop();"),
            Step::Parity(b) => writeln!(text, "b{b}.wait_parity(p{b}), p{b} ^= 1;"),
            Step::Block => writeln!(text, "__syncthreads();"),
            Step::Warp => writeln!(text, "__syncwarp();"),
            Step::End(condition) => writeln!(text, "if ({}) return;", CONDITIONS[*condition]),
            Step::If(condition, all) => {
                _ = writeln!(text, "if ({}) {{", CONDITIONS[*condition]);
                print(all, depth + 1, text);
                writeln!(text, "{margin}}}")
            }
            Step::Loop(all) => {
                text.push_str("for (r = 0; r < n; r++) {\n");
                print(all, depth + 1, text);
                writeln!(text, "{margin}}}")
            }
        };
    }
}

impl Ring {
    fn print(&self, text: &mut String) {
        let Self { tiles, ahead, left, reads, .. } = *self;
        let (copy, commit) = match self.waits {
            Waits::Counted => ("cuda::memcpy_async", "pipe.producer_commit();"),
            _ => ("__pipeline_memcpy_async", "__pipeline_commit();"),
        };
        let last = if self.waits == Waits::Counted { ", pipe" } else { "" };
        let start = |tile: &str, k: &str| {
            format!("{copy}(&tiles[{tile}][t], &in[({k}) * T + t], sizeof(int){last});")
        };
        if self.waits == Waits::Counted {
            text.push_str("    auto pipe = cuda::make_pipeline();\n");
        }
        if self.rolled {
            _ = writeln!(
                text,
                "    for (int s = 0; s < {ahead}; s++) {{\n        {}\n        {commit}\n    }}",
                start(&format!("s % {tiles}"), "s")
            );
        } else {
            for s in 0..ahead {
                _ = writeln!(text, "    {}\n    {commit}", start(&(s % tiles).to_string(), &s.to_string()));
            }
        }
        let (written, read) = match self.stage {
            Stage::Round => (format!("(r + {ahead}) % {tiles}"), format!("(r + {reads}) % {tiles}")),
            Stage::Remainder | Stage::Branch => {
                _ = writeln!(text, "    int w = {}, v = {};", ahead % tiles, reads % tiles);
                ("w".to_owned(), "v".to_owned())
            }
        };
        text.push_str("    for (r = 0; r < n; r++) {\n");
        let start = start(&written, &format!("r + {ahead}"));
        let next = match self.always_commits {
            true => format!("        if (r + {ahead} < n)\n            {start}\n        {commit}\n"),
            false => format!(
                "        if (r + {ahead} < n) {{\n            {start}\n            {commit}\n        }}\n"
            ),
        };
        if self.early {
            text.push_str(&next);
        }
        _ = match self.waits {
            Waits::Constant => writeln!(text, "        __pipeline_wait_prior({left});"),
            Waits::Chosen => writeln!(text, "        __pipeline_wait_prior(r + {ahead} < n ? {left} : 0);"),
            Waits::Branches => {
                writeln!(
                    text,
                    "        if (r + {ahead} < n) __pipeline_wait_prior({left});\n        else __pipeline_wait_prior(0);"
                )
            }
            Waits::Counted => writeln!(text, "        pipe.consumer_wait();"),
        };
        if self.first_barrier {
            text.push_str("        __syncthreads();\n");
        }
        if !self.early {
            text.push_str(&next);
        }
        _ = writeln!(text, "        sum += tiles[{read}][{}];", INDICES[self.index]);
        if self.second_barrier {
            text.push_str("        __syncthreads();\n");
        }
        for number in ["w", "v"] {
            match self.stage {
                Stage::Round => {}
                Stage::Remainder => {
                    _ = writeln!(text, "        {number} = ({number} + 1) % {tiles};");
                }
                Stage::Branch => {
                    _ = writeln!(text, "        if (++{number} == {tiles}) {number} = 0;");
                }
            }
        }
        text.push_str("    }\n");
    }
}
