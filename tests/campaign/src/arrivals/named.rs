//! Named barriers: a warp that fills tiles for another one, and warps that meet on their own.

use std::fmt::Write as _;

use gpurace_random::Random;

/// How the two warps of a block use named barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Each warp is a set of its own. Else the first one fills tiles, and the second one reads them.
    sets: bool,
    tiles: usize,
    /// The threads that a barrier counts.
    threads: u32,
    /// The numbers of the barriers that say that a tile has been read, from this one on.
    empty: usize,
    /// The first round in which the producer waits.
    first: usize,
    /// How many rounds before the last one the consumer releases its tile for the last time.
    last: usize,
    /// The tile that a round reads, after its number.
    reads: usize,
    /// Where threads read.
    index: usize,
    /// A warp arrives before it has written or read its tile.
    early: [bool; 2],
    /// The producer or the first of a set's syncs waits.
    waits: bool,
    consumer_waits: bool,
    /// The second sync of a set.
    second: bool,
    /// Who does not come to a barrier: one of [`ABSENT`].
    absent: usize,
    /// Who leaves the loop after a round.
    leaves: bool,
}

/// Indices into a tile, for threads of a warp `w` and lane `l`. The last ones lead to the other warp.
const INDICES: [&str; 5] =
    ["w * 32 + (31 - l)", "w * 32 + (l ^ 1)", "w * 32 + (l + r) % 32", "T - 1 - t", "l"];
/// Conditions on which a barrier stands. All threads of a warp decide the first ones alike.
const ABSENT: [&str; 5] = ["true", "n > 1", "r < n", "l != 5", "r != 2"];
/// Of these, how many always hold.
const ALWAYS: usize = 3;
const SYNC: &str = "asm volatile(\"bar.sync %0, %1;\" ::\"r\"(int(NUMBER)), \"r\"(COUNT) : \"memory\");";

/// Returns a kernel that is right.
pub(super) fn named(random: &mut Random) -> Named {
    let tiles = 1 + random.below(3usize);
    let sets = random.chance(40);
    Named {
        sets,
        tiles,
        threads: if sets { 32 } else { 64 },
        empty: 1 + tiles,
        first: tiles,
        last: tiles,
        reads: 0,
        index: random.below(3usize),
        early: [false; 2],
        waits: sets || random.chance(20),
        consumer_waits: true,
        second: true,
        absent: random.below(ALWAYS),
        leaves: false,
    }
}

/// Changes one property of a kernel.
pub(super) fn change_named(of: &mut Named, random: &mut Random) {
    match random.below(11) {
        0 => of.threads = random.pick(&[32, 64]),
        1 => of.empty = random.pick(&[1, of.tiles, 2 + of.tiles]),
        2 => of.first = random.pick(&[of.tiles + 1, of.tiles - 1, 0]),
        3 => of.last = random.pick(&[of.tiles + 1, of.tiles - 1, 0]),
        4 => of.reads += 1,
        5 => of.index = random.below(INDICES.len()),
        6 => of.early[random.below(2usize)] ^= true,
        7 => of.waits ^= true,
        8 if of.sets => of.second = false,
        8 => of.consumer_waits = false,
        9 => of.absent = random.below(ABSENT.len()),
        _ => of.leaves = true,
    }
}

impl Named {
    pub(super) fn print(&self, text: &mut String) {
        let Self { tiles, first, last, reads, empty, .. } = *self;
        let absent = ABSENT[self.absent];
        let arrival = |number: String, waits: bool| {
            let sync = SYNC.replace("NUMBER", &number).replace("COUNT", &self.threads.to_string());
            if waits { sync } else { sync.replace("bar.sync", "bar.arrive") }
        };
        let read = format!("sum += tiles[(r + {reads}) % {tiles}][{}];", INDICES[self.index]);
        let leaves = if self.leaves { "        if (l == 7 && r == 2) break;\n" } else { "" };
        _ = writeln!(text, "    int w = t / 32, l = t % 32;");
        if self.sets {
            let number = if empty == 1 { "1" } else { "1 + w" };
            let [sync, again] = [self.waits, true].map(|waits| arrival(number.to_owned(), waits));
            _ = writeln!(text, "    for (r = 0; r < n; r++) {{\n        tiles[r % {tiles}][t] = r + t;");
            _ = writeln!(text, "        if ({absent}) {sync}\n{leaves}        {read}");
            if self.second {
                _ = writeln!(text, "        {again}");
            }
            text.push_str("    }\n");
            return;
        }
        let full = arrival(format!("1 + r % {tiles}"), self.waits);
        let is_full = arrival(format!("1 + r % {tiles}"), self.consumer_waits);
        let is_empty = arrival(format!("{empty} + r % {tiles}"), true);
        let free = arrival(format!("{empty} + r % {tiles}"), false);
        _ = writeln!(text, "    if (w == 0) {{\n    for (r = 0; r < n; r++) {{");
        _ = writeln!(text, "        if (r >= {first}) {is_empty}");
        let fill = format!("tiles[r % {tiles}][l] = r;\n        tiles[r % {tiles}][l + 32] = r;\n{leaves}");
        let full = format!("if ({absent}) {full}");
        let [before, behind] = if self.early[0] { [&full, &fill] } else { [&fill, &full] };
        _ = writeln!(text, "        {before}\n        {behind}\n    }}\n    }} else {{");
        _ = writeln!(text, "    for (r = 0; r < n; r++) {{\n        {is_full}");
        let free = format!("if (r + {last} < n) {free}");
        let [before, behind] = if self.early[1] { [&free, &read] } else { [&read, &free] };
        _ = writeln!(text, "        {before}\n        {behind}\n    }}\n    }}");
    }
}
