//! Advice on a race.
//!
//! A hint names the missing order or atomicity and a usual way to get it. It does not guess what the program
//! is meant to do. If nothing certain can be said, there is no hint.

use gpurace_abi::scope::Scope as AtomicScope;

use crate::cause::{Order, Ways};
use crate::schema::{Access, Effect, Op, Race, Scope};
use crate::words;

/// What a hint needs to know about one side beside the race itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideFacts {
    /// The scope of an atomic.
    pub atomic_scope: Option<AtomicScope>,
    /// The access is `volatile`.
    pub volatile: bool,
    /// An asynchronous copy makes the access.
    pub asynchronous: bool,
    /// The end of a block makes the access.
    pub ends_block: bool,
    /// The kernel has fences, or atomics that order.
    pub fences: bool,
    /// The variable from which the access started, if it led into another one.
    pub strays_from: Option<&'static str>,
}

/// Returns a hint for a race. `facts` are in the order of [`Race::accesses`].
pub fn hint(race: &Race, facts: [SideFacts; 2], order: Order) -> Option<String> {
    if race.accesses.iter().any(|access| matches!(access.op, Op::Copy | Op::Host)) {
        return Some(outside_kernels(race));
    }
    if facts.iter().any(|side| side.ends_block) {
        return Some(END_OF_BLOCK.to_owned());
    }
    if let Some(copy) = [1, 0].into_iter().find(|&side| facts[side].asynchronous) {
        return Some(asynchronous_copy(&race.accesses[copy]));
    }
    if race.is_alias() {
        return Some(alias(race));
    }
    let volatile = facts.iter().any(|side| side.volatile);
    match (race.kind.earlier(), race.kind.later()) {
        (Effect::Atomic, Effect::Atomic) => two_atomics(race.scope, facts),
        // A volatile access is as atomic as the other side.
        (Effect::Atomic, _) | (_, Effect::Atomic) if volatile => two_atomics(race.scope, facts),
        (Effect::Atomic, Effect::Read | Effect::Write) => {
            Some(one_atomic(race.later(), race.kind.later(), race.earlier()))
        }
        (Effect::Read | Effect::Write, Effect::Atomic) => {
            Some(one_atomic(race.earlier(), race.kind.earlier(), race.later()))
        }
        (Effect::Read | Effect::Write, Effect::Read | Effect::Write) => two_plain(race, facts, order),
    }
}

/// Returns the same hint for a race of threads of one block, where threads of several blocks race on the lines too.
pub fn of_threads(hint: &str) -> String {
    hint.replace("several blocks ", "several threads ")
}

/// What a hint says of a line that reads and writes.
pub(crate) const IF_UPDATE: &str = "; if the line is an update, make it atomic (such as atomicAdd)";

/// What a hint says of an asynchronous copy in a loop that waits for copies.
pub(crate) const IF_PIPELINE: &str = "; if the loop's waits are right, the copy goes to a stage that is still in use: let it go to the next free one";

/// What a hint says of two writes at different lines.
const ONE_STAYS: &str = "; a barrier lets only one of the two values stay: if both are needed, give each thread bytes of \
                         its own (an index or the size of an array is wrong)";

/// What a hint says if the kernel has fences.
const IF_FLAG: &str = "; if a flag or a lock should order them, put a __threadfence() before the atomic that sets or releases \
                       it and after the atomic that waits for it";

/// Returns advice on races on two objects that blocks lack order for, if the one may tell of the other.
pub(crate) fn with_flag(advice: &str, flag: &str, told: &str) -> String {
    format!(
        "{}; if {flag} tells of {told}, make both accesses of {flag} atomic, and put a __threadfence() before the write and \
         after the read",
        advice.replace(IF_FLAG, "")
    )
}

/// Returns the hint if threads of two branches write the same bytes.
pub(crate) fn of_branches(race: &Race) -> String {
    let places = places(race);
    format!(
        "threads of different branches write the same bytes{places}, and one value is lost in any order: give each \
         thread bytes of its own, or let one of them write"
    )
}

/// Returns what is missing, and advice, if one statement of a loop reads what other threads write in the same
/// iteration.
pub(crate) fn of_in_place(race: &Race, [read, write]: [&str; 2]) -> (String, String) {
    let barrier = if race.scope == Scope::Warp { "__syncwarp()" } else { "__syncthreads()" };
    let why = format!("no barrier stands between {read} and {write} in one iteration of the loop");
    let advice = format!(
        "a thread reads what another one writes in the same iteration: write to another array than the one that is \
         read, or read into a variable and put a {barrier} before the write, if all threads come there"
    );
    (why, advice)
}

/// Returns ` at line 5 and at line 7`.
pub(crate) fn places(race: &Race) -> String {
    match [race.earlier(), race.later()].map(position) {
        [Some(a), Some(b)] => format!(" at {a} and at {b}"),
        _ => String::new(),
    }
}

/// Returns the hint if blocks that meet in a loop do not meet before its next iteration.
pub(crate) fn of_grid_loop(race: &Race, order: Order) -> String {
    let (first, then) =
        if order.swaps { (race.later(), race.earlier()) } else { (race.earlier(), race.later()) };
    let [first, then] =
        [first, then].map(|access| position(access).unwrap_or_else(|| "an access".to_owned()));
    format!(
        "a block comes to {then} in the next iteration while another one is still at {first}: put a `grid.sync()` at \
         the end of the loop too, or use two buffers in turn"
    )
}

/// Returns the hint if several threads copy to the same bytes.
pub(crate) fn of_overlapping_copies(race: &Race) -> String {
    let at = position(race.later()).map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "several threads copy to the same bytes{at}, and only one value stays, however long they wait: give each bytes \
         of its own (the index, or its swizzle, is wrong)"
    )
}

/// Returns the hint if two writes in different lines go to the same bytes.
pub(crate) fn of_two_writes(race: &Race) -> String {
    let barrier = match race.scope {
        Scope::Warp => "a __syncwarp()",
        Scope::Block => "a __syncthreads()",
        Scope::Cluster => "a barrier of the cluster",
        Scope::Grid | Scope::Device | Scope::System => "a barrier of the grid, or the end of a launch,",
    };
    format!(
        "if both values are needed, give each its own bytes: an index, or the size of an array, is wrong; if the \
         second one should replace the first, put {barrier} between the writes"
    )
}

/// Returns the hint if a flag or a lock lacks a fence.
pub(crate) fn of_flag_or_lock(race: &Race) -> String {
    let fence = if race.scope <= Scope::Block { "__threadfence_block()" } else { "__threadfence()" };
    let mut hint = format!(
        "let both sides use the same flag or lock, and put a {fence} before the atomic that sets or releases it and \
         after the atomic that waits for it"
    );
    if race.scope > Scope::Block {
        hint.push_str(
            "; where one thread does this for its block, put a __syncthreads() between it and the other threads",
        );
    }
    hint
}

/// Returns the hint if the mask of a synchronisation leaves a thread out.
pub(crate) fn of_mask(race: &Race, order: Order) -> String {
    let sides = if order.swaps { [race.later(), race.earlier()] } else { [race.earlier(), race.later()] };
    let lane = |side: &Access| {
        let ([x, y, z], [width, height, _]) = (side.thread?, race.launch.as_ref()?.block);
        Some((x + width * (y + height * z)) % 32)
    };
    let lanes = match sides.map(lane) {
        [Some(a), Some(b)] => format!(": {a} and {b}"),
        _ => String::new(),
    };
    let places = match sides.map(position) {
        [Some(a), Some(b)] if a != b => format!(" between {a} and {b}"),
        _ => String::new(),
    };
    format!("let both threads reach one __syncwarp(){places} whose mask names their lanes{lanes}")
}

/// Returns the hint if a barrier is missing, whatever the accesses are.
pub(crate) fn of_barrier(race: &Race, order: Order) -> String {
    let missing = match race.scope {
        Scope::Warp => "no __syncthreads() or __syncwarp()",
        Scope::Block => "no __syncthreads()",
        _ => "nothing between blocks",
    };
    in_one_launch(race, order, missing, "threads")
}

/// Returns the hint if several threads update bytes, and the update is not atomic. With `by_value`, the index does not
/// go by the thread.
pub(crate) fn of_update(race: &Race, by_value: bool) -> String {
    let is_plain = |effect| effect != Effect::Atomic;
    let [earlier, later] = [race.kind.earlier(), race.kind.later()];
    if !is_plain(earlier) || !is_plain(later) {
        let (read, atomic) =
            if is_plain(later) { (race.later(), race.earlier()) } else { (race.earlier(), race.later()) };
        let [read, atomic] =
            [read, atomic].map(|side| position(side).map_or_else(String::new, |at| format!(" at {at}")));
        return format!(
            "the read{read} is plain, while other threads change the bytes by the atomic{atomic}: read by \
             atomicAdd(&x, 0), or by a relaxed load of a cuda::atomic_ref"
        );
    }
    let who = if race.scope > Scope::Block { "blocks" } else { "threads" };
    let places = match [race.earlier(), race.later()].map(position) {
        [Some(a), Some(b)] if a == b || race.earlier().file != race.later().file => format!(" at {b}"),
        [Some(a), Some(b)] if earlier == Effect::Read => format!(" (read at {a}, written at {b})"),
        [Some(a), Some(b)] => format!(" (read at {b}, written at {a})"),
        _ => String::new(),
    };
    let of_its_own = match by_value {
        true => String::new(),
        false => format!("; if {who} should update bytes of their own, the index or its stride is wrong"),
    };
    format!(
        "several {who} update the same bytes{places}: make the update one atomic operation (such as atomicAdd, \
         atomicMax or atomicCAS), or use a reduction{of_its_own}"
    )
}

/// Returns the hint if a loop waits by an atomic for what a plain write stores.
pub(crate) fn of_plain_set(race: &Race) -> String {
    let (write, atomic) = match race.kind.later() {
        Effect::Atomic => (race.earlier(), race.later()),
        _ => (race.later(), race.earlier()),
    };
    let [write, atomic] =
        [write, atomic].map(|side| position(side).map_or_else(String::new, |at| format!(" at {at}")));
    format!(
        "the write{write} is plain, and a loop looks for it by the atomic{atomic}: write by atomicExch(&x, value); if \
         it frees a lock or tells of other data, put a __threadfence() before the write and after the loop"
    )
}

/// Returns the hint if an index leads out of its array.
pub(crate) fn of_stray(access: &Access, variable: &str) -> String {
    let place = position(access).map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "keep the index of `{variable}`{place} within the array, or make the array larger; a barrier does not help"
    )
}

/// Returns the hint if a flag is not atomic.
pub(crate) fn of_plain_flag(race: &Race, facts: [SideFacts; 2]) -> String {
    let sides = match race.kind.later() {
        Effect::Read => [race.later(), race.earlier()],
        _ => [race.earlier(), race.later()],
    };
    let [read, write] = sides.map(|side| position(side).map_or_else(String::new, |at| format!(" at {at}")));
    let as_in_ptx = match facts.iter().all(|side| side.volatile) {
        true => "; volatile=relaxed lets two `volatile` accesses pass, as PTX does",
        false => "",
    };
    if [race.kind.earlier(), race.kind.later()] == [Effect::Write; 2] {
        let and = if read == write { String::new() } else { format!(" and{write}") };
        return format!(
            "`volatile` is not atomic: write the value{read}{and} by atomicExch(&x, value), or use a \
             cuda::atomic_ref{as_in_ptx}"
        );
    }
    format!(
        "`volatile` is not atomic, and a plain flag is not either: read the value{read} by atomicAdd(&x, 0) and write \
         it{write} by atomicExch(&x, value), or use a cuda::atomic_ref for both; if it tells of other data, put a \
         __threadfence() before the write and after the read{as_in_ptx}"
    )
}

/// The hint if one side is the end of a block of a cluster.
const END_OF_BLOCK: &str = "shared memory ends with its block, and nothing makes the block wait for the access: let all threads of \
                            the cluster reach a barrier (cluster.sync()) after the last access to another block's shared memory";

/// Returns the hint if at least one side is a copy or the host.
fn outside_kernels(race: &Race) -> String {
    let sides = [race.earlier(), race.later()];
    let copies: Vec<&Access> = sides.into_iter().filter(|side| side.op == Op::Copy).collect();
    if sides.iter().any(|side| side.op == Op::Host) {
        let other = copies.first().map_or_else(|| "launch".to_owned(), |copy| words::operation(copy));
        return format!(
            "nothing makes the host wait for the {other}: call cudaDeviceSynchronize() or \
             cudaStreamSynchronize() before the host accesses the memory"
        );
    }
    let sides = match copies.as_slice() {
        [first, second] if first.function.is_none() && second.function.is_none() => "two copies".to_owned(),
        [first, second] => format!("{} and the {}", words::operation(first), words::operation(second)),
        [copy, ..] => format!("{} and the launch", words::operation(copy)),
        [] => "operations".to_owned(),
    };
    format!(
        "nothing orders the {sides}: put them in one stream, or order them with an event \
         (cudaStreamWaitEvent())"
    )
}

/// Returns the hint if at least one side is an asynchronous copy (`cp.async`).
fn asynchronous_copy(copy: &Access) -> String {
    let at = position(copy).map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "the asynchronous copy{at} is under way until its thread waits for it \
         (__pipeline_wait_prior(), cp.async.wait_group) and then meets the others at a barrier, or until \
         each thread waits for the mbarrier that the copy tells"
    )
}

/// Returns the hint if the sides came to the object through two parameters.
fn alias(race: &Race) -> String {
    let names = words::parameters(race).join(" and ");
    let object = race.object.as_ref().and_then(|object| object.allocated_at.as_ref());
    let object = object
        .map_or_else(|| "one object".to_owned(), |at| format!("the allocation at {}:{}", at.file, at.line));
    format!("pass different buffers: {names} both point into {object}")
}

/// Returns the hint for two atomics. They race if one scope excludes the other thread, or if they cover
/// different bytes.
fn two_atomics(scope: Scope, facts: [SideFacts; 2]) -> Option<String> {
    let [a, b] = facts.map(|side| side.atomic_scope);
    let narrowest = a?.min(b?);
    let hint = match (narrowest, scope) {
        (AtomicScope::Block, Scope::Cluster | Scope::Grid | Scope::Device | Scope::System) => {
            "a block-scope atomic (such as atomicAdd_block) is not atomic across blocks: use a \
             device-scope one (such as atomicAdd)"
        }
        (AtomicScope::Cluster, Scope::Grid | Scope::Device | Scope::System) => {
            "a cluster-scope atomic is not atomic across clusters: use a device-scope one"
        }
        (AtomicScope::Device, Scope::System) => {
            "a device-scope atomic is not atomic against the host: use a system-scope one (such \
             as atomicAdd_system)"
        }
        // The scopes are wide enough, so the bytes differ.
        (AtomicScope::Block, Scope::Warp | Scope::Block)
        | (AtomicScope::Cluster, Scope::Warp | Scope::Block | Scope::Cluster)
        | (AtomicScope::Device, Scope::Warp | Scope::Block | Scope::Cluster | Scope::Grid | Scope::Device)
        | (AtomicScope::System, _) => {
            "two atomics that overlap without covering the same bytes are not atomic against each \
             other: use one address and one size"
        }
    };
    Some(hint.to_owned())
}

/// Returns the hint if exactly one side is atomic.
fn one_atomic(plain: &Access, effect: Effect, atomic: &Access) -> String {
    let (plain_at, atomic_at) = match (position(plain), position(atomic)) {
        (Some(plain), Some(atomic)) => (format!(" at {plain}"), format!("the access at {atomic}")),
        _ => (String::new(), "the other access".to_owned()),
    };
    format!(
        "the {}{plain_at} is not atomic, but {atomic_at} is: make both atomic, or order them",
        effect.as_str()
    )
}

fn two_plain(race: &Race, facts: [SideFacts; 2], order: Order) -> Option<String> {
    let in_one_launch = |missing, who| in_one_launch(race, order, missing, who);
    let mut hint = match race.scope {
        Scope::Warp => in_one_launch("no __syncthreads() or __syncwarp()", "threads"),
        Scope::Block => in_one_launch("no __syncthreads()", "threads"),
        Scope::Cluster => in_one_launch("no barrier of the cluster", "blocks"),
        Scope::Grid => in_one_launch("nothing between blocks", "blocks"),
        Scope::Device => {
            let streams = [race.earlier().stream, race.later().stream];
            // Launches of one stream overlap only if the program asked for it.
            if streams[0].is_some() && streams[0] == streams[1] {
                return None;
            }
            let ranges = match (race.kind.earlier(), race.kind.later()) {
                (Effect::Write, Effect::Write) => {
                    "; if each should write memory of its own, their ranges overlap"
                }
                _ => "",
            };
            format!(
                "nothing orders the two launches: put them in one stream, or order them with an event \
                 (cudaStreamWaitEvent()){ranges}"
            )
        }
        Scope::System => return None,
    };
    let is_write = [race.kind.earlier(), race.kind.later()].map(|effect| effect == Effect::Write);
    let lines = [race.earlier(), race.later()].map(|access| (&access.file, access.line));
    if is_write == [true, true] && race.scope <= Scope::Cluster && lines[0] != lines[1] {
        hint.push_str(ONE_STAYS);
    }
    let volatile = facts.iter().any(|side| side.volatile);
    if race.scope <= Scope::Block && volatile {
        hint.push_str("; `volatile` does not order threads");
    } else if race.scope <= Scope::Grid {
        if volatile {
            hint.push_str(
                "; `volatile` is not atomic: read by atomicAdd(&x, 0) and write by atomicExch(&x, value), or use a \
                 relaxed cuda::atomic_ref for both",
            );
        } else if facts.iter().any(|side| side.fences) {
            hint.push_str(IF_FLAG);
        }
    }
    Some(hint)
}

/// Returns the hint for two plain accesses of one launch. `missing` names the missing order, `who` is
/// "threads" or "blocks".
fn in_one_launch(race: &Race, order: Order, missing: &str, who: &str) -> String {
    let (earlier, later) =
        if order.swaps { (race.later(), race.earlier()) } else { (race.earlier(), race.later()) };
    let across_blocks = race.scope == Scope::Grid;
    let effects = [race.kind.earlier(), race.kind.later()];
    let [first, second] = if order.swaps { [effects[1], effects[0]] } else { effects };
    let remedy = match (first, second, order.ways) {
        _ if !across_blocks => "",
        // What is read is the old value: nobody needs the new one in this buffer.
        (Effect::Read, Effect::Write, Ways::One | Ways::Within) => {
            ": write to another buffer than the one that is read, or use two launches, or a grid-wide barrier of a \
             cooperative launch"
        }
        (Effect::Write, Effect::Write, _) => {
            ": let each block write bytes of its own, or use two launches, or a grid-wide barrier of a cooperative launch"
        }
        _ => ": use two launches, or a grid-wide barrier of a cooperative launch",
    };
    let (Some(from), Some(to)) = (position(earlier), position(later)) else {
        return format!("{missing} orders the two accesses{remedy}");
    };
    let same_line = (&earlier.file, earlier.line) == (&later.file, later.line);
    if !same_line {
        let (from, to) = if earlier.file == later.file {
            (from, to)
        } else {
            (qualified(earlier, from), qualified(later, to))
        };
        return match order.ways {
            _ if across_blocks => format!("nothing orders {from} before {to} between blocks{remedy}"),
            Ways::Both => {
                format!("{missing} stands between {from} and {to}, in one iteration and from one to the next")
            }
            _ => format!("{missing} orders {from} before {to}"),
        };
    }
    match (race.kind.earlier(), race.kind.later()) {
        // What one iteration writes, the next one writes elsewhere in the statement.
        (Effect::Write, Effect::Write) if order.ways == Ways::Statement && earlier.column != later.column => {
            format!(
                "{missing} orders the write at {from} before the one there by another thread in the next iteration"
            )
        }
        (Effect::Write, Effect::Write) => format!(
            "several {who} write the same bytes at {to}: give each bytes of its own (then the index or its stride is \
             wrong), let one of them write, or use an atomic or a reduction"
        ),
        // clang gives the load and the store of a compound assignment one position.
        _ if earlier.column.is_some() && earlier.column == later.column => format!(
            "several {who} read and write the same bytes at {to}: make the update atomic (such as \
             atomicAdd), or use a reduction"
        ),
        _ => {
            let (did, does) = (first.as_str(), second.as_str());
            let order = match order.ways {
                _ if across_blocks => {
                    format!(
                        "nothing orders the {did} at {from} before the {does} there by another block{remedy}"
                    )
                }
                Ways::Within => format!(
                    "{missing} orders the {did} at {from} before the {does} there by another thread: read into a \
                     variable, and let a barrier stand before the write"
                ),
                Ways::Statement => format!(
                    "{missing} orders the {did} at {from} before the {does} there by another thread in the next iteration"
                ),
                _ => {
                    format!("{missing} orders the {did} at {from} before the {does} there by another thread")
                }
            };
            format!("{order}{IF_UPDATE}")
        }
    }
}

/// Returns `line 17`. `None` if the line is unknown.
pub(crate) fn position(access: &Access) -> Option<String> {
    access.file.as_ref()?;
    access.line.map(|line| format!("line {line}"))
}

/// Returns `line 17 of tile.cuh`.
fn qualified(access: &Access, position: String) -> String {
    match &access.file {
        Some(file) => format!("{position} of {file}"),
        None => position,
    }
}
