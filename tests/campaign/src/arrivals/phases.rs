//! Mbarriers whose phases threads know by their parity: a warp that fills a ring of tiles for another one.

use std::fmt::Write as _;

use gpurace_random::Random;

/// How the two warps of a block use mbarriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phases {
    /// The mbarriers of each array.
    stages: usize,
    tiles: usize,
    /// The first thread copies a tile by a bulk copy. Else the warp writes it.
    bulk: bool,
    /// Each thread of the warp copies its elements, and arrives when they are done, if `tracked`.
    elements: bool,
    tracked: bool,
    /// The bytes that the mbarrier expects of a bulk copy.
    bytes: usize,
    /// The arrivals that end a phase of each array: full and empty.
    counts: [u32; 2],
    /// The first round in which the producer waits, and by how much its parity is turned.
    first: usize,
    turned: [usize; 2],
    /// The stage is counted, and the parity changes with it. Else both are computed from the round.
    counted: bool,
    /// The tile that a round reads, after its number.
    reads: usize,
    /// Where threads read.
    index: usize,
    /// Threads arrive before they have written or read their tile.
    early: [bool; 2],
    /// Whether the warps wait.
    waits: [bool; 2],
    /// On which conditions the consumers wait and arrive: some of [`ABSENT`].
    absent: [usize; 2],
    /// Which mbarrier a copy is told to, after that of its stage.
    told: usize,
    /// The first lane arrives for its warp: at the full mbarriers, and at the empty ones. Behind a sync or not.
    leads: [bool; 2],
    synced: [bool; 2],
    /// The arrivals at empty mbarriers before the consumers' loop.
    arms: usize,
    /// Who leaves the loop after a round.
    leaves: bool,
    ready: Option<Ready>,
}

/// A tile that is filled and waited for once, beside the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ready {
    /// The first thread copies it. Else the warp writes it.
    bulk: bool,
    /// The arrivals that end a phase.
    count: u32,
    /// The parity that the readers wait for, if they do.
    parity: Option<usize>,
    /// They wait in each round.
    inside: bool,
    /// Threads arrive before they write.
    early: bool,
    /// Who arrives and waits: some of [`ABSENT`].
    absent: [usize; 2],
}

/// What these kernels need.
pub(super) const HEAD: &str = r#"typedef unsigned long long Word;
__device__ unsigned place(const void* of) { return __cvta_generic_to_shared(of); }
__device__ void start(Word* of, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(of)), "r"(count) : "memory");
}
__device__ void arrive(Word* of) {
    asm volatile("{ .reg .b64 token; mbarrier.arrive.shared.b64 token, [%0]; }" ::"r"(place(of)) : "memory");
}
__device__ void arrive_behind_copies(Word* of) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(place(of)) : "memory");
}
__device__ void expect(Word* of, int bytes) {
    asm volatile("{ .reg .b64 token; mbarrier.arrive.expect_tx.shared.b64 token, [%0], %1; }" ::"r"(place(of)), "r"(bytes)
                 : "memory");
}
__device__ void wait(Word* of, int parity) {
    int done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(place(of)), "r"(parity)
                     : "memory");
    }
}
"#;
/// A copy of two elements of a tile, on a line of its own.
const ELEMENTS: &str = concat!(
    "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 8;\" ::",
    "\"r\"(place(&tiles[TILE][2 * l])), \"l\"(in + 2 * l) : \"memory\");"
);
/// A bulk copy of a tile. Each stands on a line of its own.
const COPY: &str = concat!(
    "asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];\" ::",
    "\"r\"(place(tiles[TILE])), \"l\"(in + 64 * (r & 1)), \"r\"(place(&full[TOLD])) : \"memory\");"
);
/// The tile that is filled once.
const ONCE: usize = 5;
/// Indices into a tile, for threads of lane `l`.
const INDICES: [&str; 4] = ["31 - l", "l ^ 33", "(l + r) % 64", "l"];
/// Conditions on which consumers wait or arrive. They decide the first ones alike.
const ABSENT: [&str; 5] = ["true", "n > 1", "r < n", "l != 5", "r != 2"];
/// Of these, how many always hold.
const ALWAYS: usize = 3;

/// Returns a kernel that is right.
pub(super) fn phases(random: &mut Random) -> Phases {
    let stages = 1 + random.below(3usize);
    let bulk = random.chance(50);
    let elements = !bulk && random.chance(40);
    let leads = [!bulk && !elements && random.chance(40), random.chance(40)];
    let arms = if random.chance(40) { stages } else { 0 };
    Phases {
        stages,
        tiles: stages,
        bulk,
        elements,
        tracked: elements,
        bytes: 256,
        counts: [if bulk || leads[0] { 1 } else { 32 }, if leads[1] { 1 } else { 32 }],
        first: if arms == 0 && random.chance(50) { stages } else { 0 },
        turned: [usize::from(arms > 0), 0],
        counted: random.chance(50),
        reads: 0,
        index: random.below(INDICES.len()),
        early: [false; 2],
        waits: [true; 2],
        absent: [random.below(ALWAYS), random.below(ALWAYS)],
        told: 0,
        leads,
        synced: [true; 2],
        arms,
        leaves: false,
        ready: random.chance(40).then(|| {
            let bulk = random.chance(50);
            let (inside, absent) = (random.chance(30), [0; 2]);
            Ready { bulk, count: if bulk { 1 } else { 32 }, parity: Some(0), inside, early: false, absent }
        }),
    }
}

/// Changes one property of a kernel.
pub(super) fn change_phases(of: &mut Phases, random: &mut Random) {
    if let Some(ready) = of.ready.as_mut().filter(|_| random.chance(40)) {
        match random.below(5) {
            0 => ready.count = random.pick(&[1, 31, 32, 33]),
            1 => ready.parity = random.pick(&[None, Some(1)]),
            2 => ready.early = true,
            3 => ready.inside ^= true,
            _ => ready.absent[random.below(2usize)] = random.below(ABSENT.len()),
        }
        return;
    }
    match random.below(15) {
        0 => of.counts[random.below(2usize)] = random.pick(&[1, 31, 32, 33, 64]),
        1 => of.first = random.pick(&[of.stages + 1, 2 * of.stages, 1]),
        2 => of.turned[random.below(2usize)] ^= 1,
        3 => of.tiles = random.pick(&[of.tiles + 1, 1.max(of.tiles - 1)]),
        4 => of.reads += 1,
        5 => of.early[random.below(2usize)] ^= true,
        6 => of.waits[random.below(2usize)] = false,
        7 | 8 => of.absent[random.below(2usize)] = random.below(ABSENT.len()),
        9 if of.bulk => of.bytes = random.pick(&[0, 128, 255]),
        10 if of.bulk => of.told += 1,
        9 | 10 if of.elements => of.tracked = false,
        9 | 10 => of.counted ^= true,
        11 => of.leads[random.below(2usize)] ^= true,
        12 => of.synced[random.below(2usize)] = false,
        13 => of.arms = random.pick(&[0, 1, of.stages, of.stages + 1]),
        _ => of.leaves = true,
    }
}

impl Phases {
    pub(super) fn print(&self, text: &mut String) {
        let Self { stages, tiles, first, reads, bytes, turned, .. } = *self;
        let [stage, parity, next] = match self.counted {
            true if stages == 1 => ["s", "p", "p ^= 1;"],
            true => ["s", "p", "if (++s == S) { s = 0; p ^= 1; }"],
            false => ["r % S", "(r / S) % 2", ""],
        }
        .map(|part| part.replace('S', &stages.to_string()));
        let [waits, arrives] = self.absent.map(|at| ABSENT[at]);
        _ = writeln!(text, "    __shared__ alignas(8) Word full[{stages}], empty[{stages}];");
        _ = writeln!(text, "    int w = t / 32, l = t % 32, s = 0, p = 0;");
        _ = writeln!(text, "    if (t == 0)\n        for (int i = 0; i < {stages}; i++) {{");
        let [fulls, empties] = self.counts;
        _ = writeln!(
            text,
            "            start(&full[i], {fulls});\n            start(&empty[i], {empties});\n        }}"
        );
        if let Some(ready) = &self.ready {
            _ = writeln!(
                text,
                "    __shared__ alignas(8) Word ready;\n    if (t == 0) start(&ready, {});",
                ready.count
            );
        }
        let who = if self.bulk { "l == 0" } else { "true" };
        _ = writeln!(text, "    __syncthreads();\n    if (w == 0) {{");
        if let Some(ready) = &self.ready {
            ready.fill(text);
        }
        _ = writeln!(text, "    if ({who})\n    for (r = 0; r < n; r++) {{");
        if self.waits[0] {
            _ = writeln!(
                text,
                "        if (r >= {first}) wait(&empty[{stage}], {parity} ^ {});",
                1 ^ turned[0]
            );
        }
        let tile = format!("r % {tiles}");
        let fill = match self.bulk {
            true if self.told == 0 => COPY.replace("TILE", &tile).replace("TOLD", &stage),
            true => {
                COPY.replace("TILE", &tile).replace("TOLD", &format!("({stage} + {}) % {stages}", self.told))
            }
            false if self.elements => ELEMENTS.replace("TILE", &tile),
            false => format!("tiles[{tile}][l] = r;\n        tiles[{tile}][l + 32] = r;"),
        };
        let full = match self.bulk {
            true => format!("expect(&full[{stage}], {bytes});"),
            false if self.tracked => format!("arrive_behind_copies(&full[{stage}]);"),
            false => self.arrives(0, "true", &format!("full[{stage}]")),
        };
        let [before, behind] = if self.early[0] { [&full, &fill] } else { [&fill, &full] };
        let leaves = if self.leaves { "        if (l == 7 && r == 2) break;\n" } else { "" };
        _ = writeln!(
            text,
            "        {before}\n        {behind}\n{leaves}        {next}\n    }}\n    }} else {{"
        );
        if self.arms > 0 {
            let lead = if self.leads[1] { "if (l == 0) " } else { "" };
            _ = writeln!(
                text,
                "    {lead}for (int i = 0; i < {}; i++) arrive(&empty[i % {stages}]);",
                self.arms
            );
        }
        let (once, sum) = self.ready.as_ref().map(Ready::read).unwrap_or_default();
        let inside = self.ready.as_ref().is_some_and(|ready| ready.inside);
        let [outside, inside] = if inside { ["", &once] } else { [&once, ""] };
        _ = writeln!(text, "{outside}    for (r = 0; r < n; r++) {{\n{inside}{sum}");
        if self.waits[1] {
            _ = writeln!(text, "        if ({waits}) wait(&full[{stage}], {parity} ^ {});", turned[1]);
        }
        let read = format!("sum += tiles[(r + {reads}) % {tiles}][{}];", INDICES[self.index]);
        let free = self.arrives(1, arrives, &format!("empty[{stage}]"));
        let [before, behind] = if self.early[1] { [&free, &read] } else { [&read, &free] };
        _ = writeln!(text, "        {before}\n        {behind}\n        {next}\n    }}\n    }}");
    }

    /// The arrival of a warp, or of its first lane for it.
    fn arrives(&self, array: usize, condition: &str, mbarrier: &str) -> String {
        let sync = if self.leads[array] && self.synced[array] { "__syncwarp(); " } else { "" };
        let lead = if self.leads[array] { "l == 0 && " } else { "" };
        format!("{sync}if ({lead}{condition}) arrive(&{mbarrier});")
    }
}

impl Ready {
    /// The first warp fills the tile.
    fn fill(&self, text: &mut String) {
        let arrives = ABSENT[self.absent[0]];
        if self.bulk {
            let copy = COPY.replace("TILE", &ONCE.to_string()).replace("full[TOLD]", "ready");
            _ = writeln!(
                text,
                "    if (l == 0 && {arrives}) {{\n        expect(&ready, 256);\n        {copy}\n    }}"
            );
            return;
        }
        let fill = format!("    tiles[{ONCE}][l] = l;\n    tiles[{ONCE}][l + 32] = n;");
        let arrive = format!("    if ({arrives}) arrive(&ready);");
        let [first, second] = if self.early { [arrive, fill] } else { [fill, arrive] };
        _ = writeln!(text, "{first}\n{second}");
    }

    /// How the readers wait, and how they read the tile.
    fn read(&self) -> (String, String) {
        let waits = ABSENT[self.absent[1]];
        let wait = self.parity.map(|parity| format!("    if ({waits}) wait(&ready, {parity});\n"));
        (wait.unwrap_or_default(), format!("        sum += tiles[{ONCE}][(l + r) % 64];\n"))
    }
}
