//! Random kernels whose blocks meet at barrier objects (`cuda::barrier`), copy tiles ahead, use named barriers or wait
//! for phases of mbarriers by their parity, and mutants of them, as CUDA C++.
//!
//! No interpreter runs them. The checker without proofs says what races, and a proof must not say otherwise.

mod named;
mod phases;
mod ring;

use std::fmt::Write as _;

use gpurace_random::Random;
use named::{Named, change_named, named};
use phases::{Phases, change_phases, phases};
use ring::{Ring, change_ring, ring};

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
enum Doing {
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
    If(usize, Vec<Doing>),
    Loop(Vec<Doing>),
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    steps: Vec<Doing>,
    ring: Option<Ring>,
    named: Option<Named>,
    phases: Option<Phases>,
}

/// What a thread does with a tile in the rounds of a kernel.
struct Plan<'r> {
    random: &'r mut Random,
    barriers: usize,
}

impl Plan<'_> {
    /// All threads meet, in one of the ways that there are. The steps of `inside` may come before all have met.
    fn meet(&mut self, inside: Vec<Doing>) -> Vec<Doing> {
        let barrier = self.random.below(self.barriers);
        let mut steps = vec![];
        match self.random.below(8) {
            0..3 if inside.is_empty() => steps.push(Doing::Meet(barrier)),
            0 => steps.extend(inside.into_iter().chain([Doing::Block])),
            1..5 => {
                steps.push(Doing::Arrive(barrier));
                steps.extend(inside);
                steps.push(Doing::Wait(barrier));
            }
            _ => {
                steps.push(Doing::Arrive(barrier));
                steps.extend(inside);
                steps.push(Doing::Parity(barrier));
            }
        }
        steps
    }

    fn other(&mut self) -> usize {
        1 + self.random.below(INDICES.len() - 1)
    }

    /// Each thread writes or copies an element.
    fn fill(&mut self, tile: usize) -> Vec<Doing> {
        let index = if self.random.chance(80) { 0 } else { self.other() };
        match self.random.below(5) {
            0 => vec![Doing::Group { tile, index }, Doing::Groups(0)],
            1 => vec![Doing::Copy { tile, index, barrier: self.random.below(self.barriers) }],
            _ => vec![Doing::Write { tile, index }],
        }
    }

    /// A round: tile 0 is filled, and read by other threads.
    fn round(&mut self) -> Vec<Doing> {
        let mut steps = self.fill(0);
        let mut inside = vec![];
        if self.random.chance(40) {
            inside = match self.random.below(3) {
                0 => vec![Doing::Read { tile: 1, index: self.other() }],
                1 => self.fill(1),
                _ => vec![Doing::Read { tile: 2, index: 0 }, Doing::Write { tile: 2, index: 0 }],
            };
        }
        let barrier_of_copy = steps.iter().find_map(|step| match step {
            Doing::Copy { barrier, .. } => Some(*barrier),
            _ => None,
        });
        steps.extend(match barrier_of_copy {
            Some(barrier) if self.random.chance(80) => vec![Doing::Meet(barrier)],
            _ => self.meet(inside),
        });
        let index = self.other();
        steps.push(Doing::Read { tile: 0, index });
        if self.random.chance(85) {
            steps.extend(self.meet(vec![]));
        }
        if self.random.chance(15) {
            let condition = self.random.below(UNIFORM);
            steps = vec![Doing::If(condition, steps)];
        }
        steps
    }
}

/// Returns the kernel of a seed.
pub fn kernel(seed: u64) -> Arrivals {
    let mut random = Random(seed);
    if random.chance(30) {
        return Arrivals { ring: Some(ring(&mut random)), ..Arrivals::default() };
    }
    if random.chance(30) {
        return Arrivals { named: Some(named(&mut random)), ..Arrivals::default() };
    }
    if random.chance(40) {
        return Arrivals { phases: Some(phases(&mut random)), ..Arrivals::default() };
    }
    let barriers = 1 + random.below(2usize);
    let count = random.below(WHOLE);
    let mut steps: Vec<_> = (0..barriers).map(|barrier| Doing::Init { barrier, count }).collect();
    steps.push(Doing::Block);
    let mut plan = Plan { random: &mut random, barriers };
    if plan.random.chance(30) {
        let before = plan.round();
        steps.extend(before);
    }
    let round = plan.round();
    steps.push(if plan.random.chance(80) { Doing::Loop(round) } else { Doing::If(0, round) });
    if plan.random.chance(30) {
        let after = plan.round();
        steps.extend(after);
    }
    Arrivals { steps, ..Arrivals::default() }
}

/// Returns a kernel with one thing changed.
pub fn mutant(of: &Arrivals, random: &mut Random) -> Arrivals {
    let mut kernel = of.clone();
    if let Some(ring) = &mut kernel.ring {
        change_ring(ring, random);
        return kernel;
    }
    if let Some(named) = &mut kernel.named {
        change_named(named, random);
        return kernel;
    }
    if let Some(phases) = &mut kernel.phases {
        change_phases(phases, random);
        return kernel;
    }
    let at = random.below(count(&kernel.steps));
    change(&mut kernel.steps, &mut { at }, random);
    kernel
}

fn count(steps: &[Doing]) -> usize {
    steps.len()
        + steps
            .iter()
            .map(|s| if let Doing::If(_, all) | Doing::Loop(all) = s { count(all) } else { 0 })
            .sum::<usize>()
}

/// Changes the step of this number. True if it was among these.
fn change(steps: &mut Vec<Doing>, left: &mut usize, random: &mut Random) -> bool {
    for at in 0..steps.len() {
        if *left == 0 {
            change_at(steps, at, random);
            return true;
        }
        *left -= 1;
        if let Doing::If(_, all) | Doing::Loop(all) = &mut steps[at]
            && change(all, left, random)
        {
            return true;
        }
    }
    false
}

fn change_at(steps: &mut Vec<Doing>, at: usize, random: &mut Random) {
    let new = match (random.below(4), &steps[at]) {
        (0, step) => {
            let condition = random.below(CONDITIONS.len());
            Doing::If(condition, vec![step.clone()])
        }
        (1, _) => {
            let other = random.below(steps.len());
            let moved = steps.remove(at);
            steps.insert(other.min(steps.len()), moved);
            return;
        }
        (2, Doing::Init { barrier, .. }) => {
            Doing::Init { barrier: *barrier, count: random.below(COUNTS.len()) }
        }
        (2, Doing::Meet(of)) => random.pick(&[Doing::Arrive as fn(_) -> _, Doing::Drop, Doing::Look])(*of),
        (2, Doing::Wait(of)) => random.pick(&[Doing::Look as fn(_) -> _, Doing::Parity, Doing::Meet])(*of),
        (2, Doing::Parity(of)) => random.pick(&[Doing::Wait as fn(_) -> _, Doing::Look, Doing::Arrive])(*of),
        (2, Doing::Arrive(of)) => random.pick(&[Doing::Drop as fn(_) -> _, Doing::Meet])(*of),
        (2, Doing::Write { tile, .. }) => Doing::Write { tile: *tile, index: random.below(INDICES.len()) },
        (2, Doing::Copy { tile, index, barrier }) => {
            Doing::Copy { tile: *tile, index: *index, barrier: 1 - barrier }
        }
        (2, Doing::Block) => Doing::Warp,
        (3, Doing::Loop(_) | Doing::Read { .. }) => Doing::End(random.below(CONDITIONS.len())),
        (3, step @ (Doing::Wait(_) | Doing::Arrive(_) | Doing::Meet(_))) => {
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
    let mut text = HEAD.to_owned() + phases::HEAD;
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
        text += "    __shared__ alignas(16) int tiles[6][T];\n    __shared__ Barrier b0, b1;\n";
        text += "    int t = threadIdx.x, r = 0, sum = 0;\n    bool p0 = false, p1 = false;\n";
        text += "    Barrier::arrival_token a0 = 0, a1 = 0;\n";
        match (&self.ring, &self.named, &self.phases) {
            (Some(ring), ..) => ring.print(&mut text),
            (_, Some(named), _) => named.print(&mut text),
            (.., Some(phases)) => phases.print(&mut text),
            _ => print(&self.steps, 1, &mut text),
        }
        text + "    out[blockIdx.x * T + t] = sum;\n}\n"
    }
}

fn print(steps: &[Doing], depth: usize, text: &mut String) {
    let margin = "    ".repeat(depth);
    for step in steps {
        text.push_str(&margin);
        _ = match step {
            Doing::Write { tile, index } => writeln!(text, "tiles[{tile}][{}] = r + t;", INDICES[*index]),
            Doing::Read { tile, index } => writeln!(text, "sum += tiles[{tile}][{}];", INDICES[*index]),
            Doing::Copy { tile, index, barrier } => {
                writeln!(
                    text,
                    "cuda::memcpy_async(&tiles[{tile}][{}], &in[t], sizeof(int), b{barrier});",
                    INDICES[*index]
                )
            }
            Doing::Group { tile, index } => {
                _ = writeln!(
                    text,
                    "__pipeline_memcpy_async(&tiles[{tile}][{}], &in[t], sizeof(int));",
                    INDICES[*index]
                );
                writeln!(text, "{margin}__pipeline_commit();")
            }
            Doing::Groups(left) => writeln!(text, "__pipeline_wait_prior({left});"),
            Doing::Init { barrier, count } => {
                writeln!(text, "if (t == 0) init(&b{barrier}, {});", COUNTS[*count])
            }
            Doing::Meet(b) => writeln!(text, "b{b}.arrive_and_wait(), p{b} ^= 1;"),
            Doing::Arrive(b) => writeln!(text, "a{b} = b{b}.arrive();"),
            Doing::Wait(b) => writeln!(text, "b{b}.wait(Barrier::arrival_token(a{b})), p{b} ^= 1;"),
            Doing::Look(b) => {
                writeln!(
                    text,
                    "sum += b{b}.try_wait_for(Barrier::arrival_token(a{b}), cuda::std::chrono::nanoseconds(0));"
                )
            }
            Doing::Drop(b) => writeln!(text, "b{b}.arrive_and_drop();"),
            Doing::Parity(b) => writeln!(text, "b{b}.wait_parity(p{b}), p{b} ^= 1;"),
            Doing::Block => writeln!(text, "__syncthreads();"),
            Doing::Warp => writeln!(text, "__syncwarp();"),
            Doing::End(condition) => writeln!(text, "if ({}) return;", CONDITIONS[*condition]),
            Doing::If(condition, all) => {
                _ = writeln!(text, "if ({}) {{", CONDITIONS[*condition]);
                print(all, depth + 1, text);
                writeln!(text, "{margin}}}")
            }
            Doing::Loop(all) => {
                text.push_str("for (r = 0; r < n; r++) {\n");
                print(all, depth + 1, text);
                writeln!(text, "{margin}}}")
            }
        };
    }
}
