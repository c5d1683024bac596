//! Pictures of a race: the threads of the block, the missing order, the bytes that overlap. A picture is left
//! out if the report does not have enough data for it.

use gpurace_report::schema::{Access, Dim3, ObjectKind, Op, Race, Scope};
use gpurace_report::words;
use maud::{Markup, html};

use super::race::Side;

/// The lanes of a warp, one in each column.
const LANES: u64 = 32;
/// The width of a thread's cell, in units of the picture.
const CELL: u64 = 8;
/// The width of the column with the warps' numbers.
const GUTTER: u64 = 22;
/// The most bytes in the picture of bytes.
const BYTES_SHOWN: u64 = 32;
/// The bytes of the largest access of one instruction.
const LARGEST_ACCESS: u64 = 16;

fn linear(at: Dim3, dim: Dim3) -> u64 {
    let [x, y, z] = at.map(u64::from);
    let [dx, dy, _] = dim.map(u64::from);
    (z * dy + y) * dx + x
}

/// One block of threads, with the threads of the race.
struct BlockPicture<'a> {
    title: String,
    threads: u64,
    marked: Vec<(Side, &'a Access, u64)>,
}

/// Draws the threads of one block or two as warps and lanes, and marks both sides. Empty if a side is not a
/// thread or the size of its block is unknown.
pub(super) fn threads(race: &Race) -> Markup {
    let Some(blocks) = blocks(race) else {
        return html! {};
    };
    let said: Vec<String> = blocks
        .iter()
        .flat_map(|block| &block.marked)
        .map(|(side, access, at)| {
            format!(
                "{} by thread {}: warp {}, lane {}",
                match side {
                    Side::Later => words::doing(access, race.kind.later(), false),
                    Side::Earlier => words::doing(access, race.kind.earlier(), true),
                },
                words::dim3(access.thread.unwrap_or_default()),
                at / LANES,
                at % LANES,
            )
        })
        .collect();
    let width = GUTTER + LANES * CELL + 2;
    html! {
        figure.picture {
            figcaption { "Threads" }
            @for block in &blocks {
                @let rows = block.threads.div_ceil(LANES);
                @let height = rows * CELL + 18;
                svg viewBox=(format!("0 0 {width} {height}")) role="img"
                    aria-label=(format!("{}, {} threads. {}", block.title, block.threads, said.join(". ")))
                {
                    text.label x="0" y="10" { (block.title) ", " (block.threads) " threads" }
                    // The full warps, then the last one if it is not full.
                    @let full = block.threads / LANES;
                    @let rest = block.threads % LANES;
                    @if full > 0 {
                        rect.threads x=(GUTTER) y="16" width=(LANES * CELL) height=(full * CELL) {}
                    }
                    @if rest > 0 {
                        rect.threads x=(GUTTER) y=(16 + full * CELL) width=(rest * CELL) height=(CELL) {}
                    }
                    path.rules d=(lattice(block.threads)) {}
                    @for (side, _, at) in &block.marked {
                        @let (x, y) = (GUTTER + at % LANES * CELL, 16 + at / LANES * CELL);
                        text.label.small x="0" y=(y + CELL - 1) { "w" (at / LANES) }
                        @if *side == Side::Later {
                            rect.later x=(x) y=(y) width=(CELL) height=(CELL) {}
                        } @else {
                            circle.earlier cx=(x + CELL / 2) cy=(y + CELL / 2) r=(CELL / 2) {}
                        }
                    }
                }
            }
            ul.legend {
                @for (text, side) in said.iter().zip(blocks.iter().flat_map(|b| b.marked.iter().map(|m| m.0))) {
                    li { span class=(format!("swatch {}", side.class())) aria-hidden="true" {} (text) }
                }
            }
        }
    }
}

fn blocks(race: &Race) -> Option<Vec<BlockPicture<'_>>> {
    let launch = race.launch.as_ref()?;
    let dim = launch.block;
    // A damaged report may have any numbers. No block has more threads.
    let threads = dim.iter().try_fold(1, |product: u64, &n| product.checked_mul(n.into()))?;
    if threads == 0 || threads > 1024 {
        return None;
    }
    let mut blocks: Vec<(Option<u64>, Dim3, BlockPicture<'_>)> = Vec::new();
    for (side, access) in [(Side::Later, race.later()), (Side::Earlier, race.earlier())] {
        // The report does not have the block size of other launches.
        if access.launch != Some(launch.index) {
            continue;
        }
        let (block, thread) = (access.block?, access.thread?);
        let at = linear(thread, dim);
        if at >= threads {
            return None;
        }
        let same = |(launch, other, _): &&mut (Option<u64>, Dim3, BlockPicture<'_>)| {
            *launch == access.launch && *other == block
        };
        match blocks.iter_mut().find(same) {
            Some((_, _, picture)) => picture.marked.push((side, access, at)),
            None => blocks.push((
                access.launch,
                block,
                BlockPicture {
                    title: format!("Block {}", words::dim3(block)),
                    threads,
                    marked: vec![(side, access, at)],
                },
            )),
        }
    }
    let pictures: Vec<_> = blocks.into_iter().map(|(_, _, picture)| picture).collect();
    (!pictures.is_empty()).then_some(pictures)
}

/// Returns the lines between warps and between lanes.
fn lattice(threads: u64) -> String {
    let rows = threads.div_ceil(LANES);
    let columns = threads.min(LANES);
    let mut path = String::new();
    for row in 0..=rows {
        // The last line is as long as the last warp.
        let lanes = if row == rows { (threads - (rows - 1) * LANES).min(LANES) } else { columns };
        path += &format!("M{GUTTER} {}h{}", 16 + row * CELL, lanes * CELL);
    }
    for column in 0..=columns {
        let below = if column <= threads - (rows - 1) * LANES { rows } else { rows - 1 };
        path += &format!("M{} 16v{}", GUTTER + column * CELL, below * CELL);
    }
    path
}

/// Draws two lines of time with the two accesses, and names the missing order.
pub(super) fn order(race: &Race) -> Markup {
    // Two threads of a block are in the same barrier interval.
    let common = race.scope <= Scope::Block;
    let edge = match race.scope {
        Scope::Warp => "barrier for both, or start and end of the kernel",
        Scope::Block => "block barrier, or start and end of the kernel",
        Scope::Cluster | Scope::Grid => "a barrier of one block does not order the other",
        Scope::Device => "nothing makes one launch or copy wait for the other",
        Scope::System => "nothing makes the host and the device wait for each other",
    };
    let lanes = [
        (Side::Earlier, race.earlier(), race.kind.earlier().as_str()),
        (Side::Later, race.later(), race.kind.later().as_str()),
    ];
    html! {
        figure.picture {
            figcaption { @if common { "Barrier interval" } @else { "Order" } }
            svg viewBox="0 0 280 122" role="img" aria-label=(format!(
                "Nothing orders the previous {} and this {}. {}",
                race.kind.earlier().as_str(), race.kind.later().as_str(), words::missing_order(race)
            )) {
                @if common {
                    rect.interval x="20" y="16" width="240" height="86" {}
                    path.barrier d="M20 12v94M260 12v94" {}
                }
                @for (index, (side, access, verb)) in lanes.iter().enumerate() {
                    // The first label is above its line, the second below, so neither crosses the line that
                    // joins the accesses.
                    @let y = 36 + 44 * index;
                    @let top = y - 20 + 8 * index;
                    @if !common {
                        rect.interval x="20" y=(top) width="240" height="32" {}
                        path.barrier d=(format!("M20 {}v40M260 {}v40", top - 4, top - 4)) {}
                    }
                    path.time d=(format!("M24 {y}h232")) {}
                    text.label x="26" y=(y - 6 + 20 * index) { (verb) ", " (who(race, access)) }
                    @let x = 90 + 100 * index;
                    @if *side == Side::Later {
                        rect.later x=(x - 5) y=(y - 5) width="10" height="10" {}
                    } @else {
                        circle.earlier cx=(x) cy=(y) r="5" {}
                    }
                }
                path.unordered d="M95 40L185 76" {}
                text.label.small x="20" y="118" { (edge) }
            }
        }
    }
}

/// Returns a short name for who made an access.
fn who(race: &Race, access: &Access) -> String {
    match access.op {
        Op::Host => "host".to_owned(),
        Op::Copy => match access.stream {
            Some(stream) => format!("copy on stream {stream}"),
            None => "copy".to_owned(),
        },
        Op::Read | Op::Write | Op::Atomic => {
            let launch = match access.launch {
                Some(launch) if words::launches_differ(race) => format!("launch {launch}, "),
                _ => String::new(),
            };
            let block =
                access.block.map_or_else(String::new, |block| format!("block {}, ", words::dim3(block)));
            let thread = access
                .thread
                .map_or_else(|| "a thread".to_owned(), |thread| format!("thread {}", words::dim3(thread)));
            format!("{launch}{block}{thread}")
        }
    }
}

/// The bytes of an object that an access covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) begin: u64,
    pub(crate) size: u64,
}

/// Returns the bytes of the object that the later access covers, and those of the earlier access if they
/// follow.
///
/// The report has the start of the later access. CUDA aligns accesses to their size. So an earlier access of
/// the same size starts at the same byte. The start of a larger one follows only in an allocation, which is
/// aligned to more than the largest access. The report does not have the alignment of other objects.
pub(crate) fn covered(race: &Race) -> Option<(Covered, Option<Covered>)> {
    let object = race.object.as_ref()?;
    let begin = object.offset?;
    let size = race.later().size.filter(|&size| size > 0)?;
    let later = Covered { begin, size };
    let aligned = |access: &Access| {
        access.size.filter(|n| words::in_kernel(access.op) && n.is_power_of_two() && *n <= LARGEST_ACCESS)
    };
    let earlier = aligned(race.earlier()).zip(aligned(race.later())).and_then(|(earlier, later)| {
        let begin = if earlier == later {
            begin
        } else if earlier > later && object.kind == ObjectKind::Allocation {
            begin / earlier * earlier
        } else {
            return None;
        };
        Some(Covered { begin, size: earlier })
    });
    Some((later, earlier))
}

/// Draws the object as a bar, and the bytes that each side covers.
pub(super) fn bytes(race: &Race) -> Markup {
    let Some((later, earlier)) = covered(race) else {
        return html! {};
    };
    let object = race.object.as_ref().and_then(|object| object.size);
    let first = later.begin.min(earlier.map_or(later.begin, |covered| covered.begin)) / 16 * 16;
    let end = object.unwrap_or(u64::MAX).min(first + BYTES_SHOWN).max(later.begin + 1);
    let cell = 8;
    let x = |byte: u64| 20 + (byte - first) * cell;
    let row = |covered: Covered| {
        let (from, to) = (covered.begin.max(first), (covered.begin + covered.size).min(end));
        (x(from), to.saturating_sub(from) * cell)
    };
    let span = |covered: Covered| match covered.size {
        1 => format!("byte {}", covered.begin),
        size => format!("bytes {} to {}", covered.begin, covered.begin + size - 1),
    };
    let said = format!(
        "This {} covers {}. {}",
        race.kind.later().as_str(),
        span(later),
        match (earlier, race.earlier().size) {
            (Some(covered), _) =>
                format!("The previous {} covers {}.", race.kind.earlier().as_str(), span(covered)),
            (None, Some(size)) => format!(
                "The previous {} covers {}, including some of these.",
                race.kind.earlier().as_str(),
                words::plural(size, "byte", "bytes")
            ),
            (None, None) => format!("The previous {} covers some of these.", race.kind.earlier().as_str()),
        }
    );
    html! {
        figure.picture {
            figcaption { "Bytes of the object" }
            svg viewBox="0 0 280 92" role="img" aria-label=(said) {
                @if let Some(size) = object.filter(|&size| size > 0) {
                    rect.threads x="20" y="4" width="240" height="8" {}
                    @let at = 240.0 * later.begin as f64 / size as f64;
                    @let wide = (240.0 * later.size as f64 / size as f64).max(3.0);
                    rect.later x=(format!("{:.1}", 20.0 + at.min(240.0 - wide.min(240.0)))) y="2" width=(format!("{:.1}", wide.min(240.0))) height="12" {}
                    text.label.small x="20" y="24" { "0" }
                    text.label.small x="260" y="24" text-anchor="end" { (size) }
                }
                rect.threads x="20" y="44" width=((end - first) * cell) height=(cell) {}
                path.rules d=((0..=(end - first)).map(|byte| format!("M{} 44v{cell}", 20 + byte * cell)).collect::<String>()) {}
                text.label.small x="20" y="40" { (first) }
                text.label.small x=(20 + (end - first) * cell) y="40" text-anchor="end" { (end - 1) }
                @let (from, wide) = row(later);
                rect.later x=(from) y="56" width=(wide) height="9" {}
                @match earlier {
                    Some(covered) => {
                        @let (from, wide) = row(covered);
                        rect.earlier x=(from) y="69" width=(wide) height="9" {}
                    }
                    None => { rect.earlier.somewhere x=(from) y="69" width=(wide) height="9" {} }
                }
                @if later.begin + later.size > end {
                    text.label.small x="262" y="64" { "…" }
                }
            }
            p.said { (said) }
        }
    }
}
