//! Rings of tiles that are copied ahead.

use std::fmt::Write as _;

use gpurace_random::Random;

use super::INDICES;

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
pub(super) struct Ring {
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

/// Returns a ring that is right.
pub(super) fn ring(random: &mut Random) -> Ring {
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
pub(super) fn change_ring(ring: &mut Ring, random: &mut Random) {
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

impl Ring {
    pub(super) fn print(&self, text: &mut String) {
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
