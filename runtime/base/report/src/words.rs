//! Phrases for all formats of a report, so that text, Markdown, SARIF and HTML use the same words.

mod divergence;
mod fault;

use std::fmt::Write;

use gpurace_abi::meta::Space;

use crate::schema::{
    Access, Dim3, Effect, Element, Launch, Object, ObjectKind, Op, Parameter, Race, Report, Scope, Stats,
};

pub(crate) use divergence::divergence_why;
pub use divergence::{
    divergence_fingerprint, divergence_hint, divergence_kind, divergence_line, divergence_threads,
};
pub use fault::{fault_distance, fault_fingerprint, fault_hint, fault_line};

/// True if the access is an instruction of a kernel.
pub fn in_kernel(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::Atomic)
}

/// Returns the text with a capital as its first letter.
pub fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    let first: String = rest.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    first + rest.as_str()
}

/// Returns what an access does: `Write of size 4`, `Previous atomic access of size 4`.
pub fn doing(access: &Access, effect: Effect, previous: bool) -> String {
    let what = match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Atomic => "atomic access",
    };
    let mut text = if previous { format!("Previous {what}") } else { capitalised(what) };
    if let Some(size) = access.size {
        let _ = write!(text, " of size {size}");
    }
    text
}

/// Returns what the later access touched: ``at shared `tile`+64``, `in shared memory`.
pub fn target(race: &Race) -> String {
    let space = match race.space {
        Space::Shared => "shared ",
        Space::Global => "global ",
        Space::Generic => "",
    };
    let object = race.object.as_ref();
    let what = match object {
        Some(Object { name: Some(name), .. }) => format!("`{name}`"),
        Some(Object { kind: ObjectKind::Allocation, offset: Some(_), .. }) => "allocation".to_owned(),
        Some(Object { kind: ObjectKind::Heap, offset: Some(_), .. }) => "heap block".to_owned(),
        _ => return format!("in {space}memory"),
    };
    match object.and_then(|object| object.offset) {
        Some(offset) => format!("at {space}{what}+{offset}"),
        None => format!("at {space}{what}"),
    }
}

/// Returns who made an access: ` by thread (31,0,0) of block (0,0,0)`. With `launches`, adds the launch and
/// the stream.
pub fn by(access: &Access, launches: bool) -> String {
    let mut text = match access.op {
        Op::Copy => match &access.function {
            Some(function) => format!(" by `{function}`"),
            None => " by a copy or fill".to_owned(),
        },
        Op::Host => " by the host".to_owned(),
        Op::Read | Op::Write | Op::Atomic => {
            let thread = match access.thread {
                _ if access.ends_block => " by the end".to_owned(),
                Some(thread) => format!(" by thread {}", dim3(thread)),
                None => " by an unknown thread".to_owned(),
            };
            match access.block {
                Some(block) => format!("{thread} of block {}", dim3(block)),
                None => thread,
            }
        }
    };
    if launches
        && in_kernel(access.op)
        && let Some(launch) = access.launch
    {
        let _ = write!(text, " of launch {launch}");
    }
    if launches
        && access.op != Op::Host
        && let Some(stream) = access.stream
    {
        let _ = write!(text, " on stream {stream}");
    }
    text
}

/// Returns the description of an object: ``shared variable `tile` of size 1024``.
pub fn location(object: &Object) -> String {
    let mut text = match (object.kind, &object.name) {
        (ObjectKind::Shared, Some(name)) => format!("shared variable `{name}`"),
        (ObjectKind::Shared, None) => "shared memory of the block".to_owned(),
        (ObjectKind::Variable, Some(name)) => format!("device variable `{name}`"),
        (ObjectKind::Variable, None) => "a device variable".to_owned(),
        (ObjectKind::Allocation, Some(name)) => format!("allocation `{name}`"),
        (ObjectKind::Allocation, None) => "an allocation".to_owned(),
        (ObjectKind::Heap, _) => "a heap block that device code allocated".to_owned(),
    };
    if let Some(size) = object.size {
        let _ = write!(text, " of size {size}");
    }
    if let Some(offset) = object.offset {
        let _ = write!(text, ", byte {offset}");
    }
    if let Some(element) = &object.element {
        let _ = write!(text, " ({})", element_name(object, element));
    }
    if let Some(at) = &object.allocated_at {
        let _ = write!(text, ", allocated at {}:{}", at.file, at.line);
    }
    if let Some(parameter) = &object.parameter {
        let _ = write!(text, ", argument {} (`{}`)", parameter.number, parameter.name);
    }
    text
}

/// Returns `` `tile[3][7]` `` or ``element 17, `float` ``, and the byte within the element if it is not the first.
fn element_name(object: &Object, element: &Element) -> String {
    let mut text = match (&object.name, &element.ty, &element.index[..]) {
        (_, Some(ty), [index]) => match &element.field {
            Some(field) => format!("element {index}, field `{field}` of `{ty}`"),
            None => format!("element {index}, `{ty}`"),
        },
        (name, _, index) => {
            let index: String = index.iter().map(|at| format!("[{at}]")).collect();
            format!("`{}{index}`", name.as_deref().unwrap_or_default())
        }
    };
    if element.byte != 0 && element.field.is_none() {
        let _ = write!(text, ", its byte {}", element.byte);
    }
    text
}

/// Returns ``launch 1 of `reduce(float const*)`, grid (4,1,1), block (256,1,1), at main.cu:31``, and the named
/// regions that it lies in: ``, in `Sum.OfOnes` ``.
pub fn launched(kernel: &str, launch: &Launch) -> String {
    let mut text = format!(
        "launch {} of `{kernel}`, grid {}, block {}",
        launch.index,
        dim3(launch.grid),
        dim3(launch.block)
    );
    match (&launch.file, launch.line) {
        (Some(file), Some(line)) => {
            let _ = write!(text, ", at {file}:{line}");
        }
        (Some(file), None) => {
            let _ = write!(text, ", in {file}");
        }
        (None, _) => {}
    }
    if !launch.regions.is_empty() {
        let _ = write!(text, ", in `{}`", launch.regions.join(" / "));
    }
    text
}

/// Returns `between threads of one warp`.
pub const fn between(scope: Scope) -> &'static str {
    match scope {
        Scope::Warp => "between threads of one warp",
        Scope::Block => "between warps of one block",
        Scope::Cluster => "between blocks of one cluster",
        Scope::Grid => "between blocks of one launch",
        Scope::Device => "between launches",
        Scope::System => "between the device and the host",
    }
}

/// Returns `1 race`, `2 races`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns the number of launches, and how many were checked, ran without checks, and were left out.
pub fn launches(stats: &Stats) -> String {
    let Stats { launches, launches_unchecked: left_out, launches_proved: proved, .. } = *stats;
    let checked = launches.saturating_sub(left_out).saturating_sub(proved);
    let launches = plural(launches, "launch", "launches");
    format!("{launches}: {checked} checked, {proved} without checks, {left_out} left out")
}

/// The most characters of a function's name in text for a terminal.
pub(crate) const NAME_WIDTH: usize = 60;

/// Returns a function's name, shortened if it is long: first its template arguments and parameters, then its
/// middle.
pub fn short_name(name: &str) -> String {
    short_name_of(name, NAME_WIDTH)
}

/// The same for other widths.
pub(crate) fn short_name_of(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    let mut short = String::new();
    let mut open = 0_usize;
    for character in name.chars() {
        if matches!(character, '>' | ')') {
            open = open.saturating_sub(1);
        }
        if open == 0 {
            short.push(character);
        } else if !short.ends_with("...") {
            short.push_str("...");
        }
        if matches!(character, '<' | '(') {
            open += 1;
        }
    }
    let count = short.chars().count();
    if count <= width {
        return short;
    }
    let start: String = short.chars().take(width / 2 - 3).collect();
    let end: String = short.chars().skip(count - width / 2).collect();
    format!("{start}...{end}")
}

/// Returns `(x,y,z)`.
pub fn dim3([x, y, z]: Dim3) -> String {
    format!("({x},{y},{z})")
}

/// Returns `file.cu:18:28`, or as much of it as is known.
pub fn place(access: &Access) -> Option<String> {
    Some(match (&access.file, access.line, access.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(file), Some(line), None) => format!("{file}:{line}"),
        _ => return None,
    })
}

/// True if the sides may belong to different launches, so that each must name its own.
pub fn launches_differ(race: &Race) -> bool {
    race.later().launch != race.earlier().launch || race.scope >= Scope::Device
}

/// Returns how to replay a schedule that is not the program's own.
pub fn replay(seed: u64) -> String {
    format!("Another schedule shows it: replay with GPURACE_OPTIONS=seed={seed}")
}

/// Returns `once`, `988 times`.
pub fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Returns ``shared variable `tile` ``, without size and offset. For an unknown object, returns the kind of
/// memory.
pub fn object_of(race: &Race) -> String {
    match &race.object {
        Some(object) => location(&Object {
            size: None,
            offset: None,
            element: None,
            allocated_at: None,
            parameter: None,
            ..object.clone()
        }),
        None => match race.space {
            Space::Shared => "shared memory".to_owned(),
            Space::Global => "global memory".to_owned(),
            Space::Generic => "memory".to_owned(),
        },
    }
}

/// Returns ``write-read race on shared variable `tile` ``.
pub fn title(race: &Race) -> String {
    format!("{} race on {}", race.kind, object_of(race))
}

/// Returns a race in one line, for lists and for `grep`.
pub fn one_line(race: &Race) -> String {
    let unknown = || "<unknown>".to_owned();
    let mut text = format!(
        "{}: data race: {} of {} with {} at {}",
        place(race.later()).unwrap_or_else(unknown),
        side(race.later(), race.kind.later()),
        target(race).trim_start_matches("at ").trim_start_matches("in "),
        side(race.earlier(), race.kind.earlier()),
        place(race.earlier()).unwrap_or_else(unknown),
    );
    if let Some(kernel) = &race.kernel {
        let _ = write!(text, ", in `{kernel}`");
    }
    let _ = write!(text, ", {} ({})", between(race.scope), times(race.count));
    if let Some(seed) = race.seed {
        let _ = write!(text, ", seed={seed}");
    }
    text
}

/// Returns the name of a transfer: `copy`, or for a call of a library `cublasSgemm call`, with the function in
/// backquotes.
pub fn operation(access: &Access) -> String {
    access.function.as_ref().map_or_else(|| "copy".to_owned(), |function| format!("`{function}` call"))
}

/// Returns `write`, `copy (write)`.
fn side(access: &Access, effect: Effect) -> String {
    match access.op {
        _ if access.ends_block => "end of the block".to_owned(),
        Op::Read | Op::Write | Op::Atomic => effect.as_str().to_owned(),
        Op::Copy => format!("{} ({})", operation(access), effect.as_str()),
        Op::Host => format!("host {}", effect.as_str()),
    }
}

/// Returns the order that the two sides lack. It depends on the narrowest group that has both.
pub fn missing_order(race: &Race) -> &'static str {
    let (later, earlier) = (race.later(), race.earlier());
    let is_one_thread = later.thread.is_some()
        && (later.thread, later.block, later.launch) == (earlier.thread, earlier.block, earlier.launch);
    if is_one_thread {
        // Program order covers all accesses of a thread but those of asynchronous copies.
        return "One thread made both accesses. One of them is an asynchronous copy that the thread \
                has not waited for.";
    }
    match race.scope {
        Scope::Warp => {
            "Both threads are in one warp. Lockstep execution does not order memory. No barrier for \
             both threads (such as __syncwarp() or __syncthreads()) and no release and acquire \
             orders the two accesses."
        }
        Scope::Block => {
            "The threads are in different warps of one block. No barrier for both threads (such as \
             __syncthreads()) and no release and acquire orders the two accesses."
        }
        Scope::Cluster => {
            "The threads are in different blocks of one cluster. __syncthreads() only orders threads \
             of one block. No cluster barrier and no release and acquire orders the two accesses."
        }
        Scope::Grid => {
            "The threads are in different blocks of one launch. __syncthreads() only orders threads \
             of one block. No grid barrier and no release and acquire at device scope orders the two \
             accesses."
        }
        Scope::Device => {
            "The two sides belong to different launches or copies. No stream order, event or \
             synchronisation makes one wait for the other."
        }
        Scope::System => {
            "One side is the host. No synchronisation makes the host and the device wait for each \
             other."
        }
    }
}

/// Returns `3 data races, 1 barrier divergence, 1 fault (4 findings)`. The number of findings is left out if each
/// has one race.
pub fn counts(report: &Report) -> String {
    let numbers = [
        (report.races.len(), "data race", "data races"),
        (report.divergence.len(), "barrier divergence", "barrier divergences"),
        (report.faults.len(), "fault", "faults"),
    ];
    let all: usize = numbers.iter().map(|(number, ..)| number).sum();
    // Scripts look for the number of races, even if it is 0.
    let named = numbers.iter().enumerate().filter(|(index, (number, ..))| *index == 0 || *number > 0);
    let named: Vec<_> = named.map(|(_, &(number, one, many))| plural(number as u64, one, many)).collect();
    let mut text = named.join(", ");
    if report.findings.len() != all {
        let _ = write!(text, " ({})", plural(report.findings.len() as u64, "finding", "findings"));
    }
    text
}

/// Returns ``missing barrier: shared variable `tile` in `reduce` ``.
pub fn finding_title(cause: &str, kernel: Option<&str>, race: &Race) -> String {
    let mut text = format!("{cause}: {}", object_name(race));
    if let Some(kernel) = kernel {
        let _ = write!(text, " in `{}`", short_name(kernel));
    }
    text
}

/// Several threads write what one thread should.
pub(crate) const SEVERAL_WRITERS: &str = "several writers";

/// What is wrong where accesses ought to be atomic.
pub(crate) const MISSING_ATOMIC: &str = "missing atomic";

/// Returns what is wrong, where that is not the missing order.
pub(crate) fn other_cause(race: &Race) -> &'static str {
    let (earlier, later) = (race.earlier(), race.later());
    let is_one_line = earlier.line.is_some() && (&earlier.file, earlier.line) == (&later.file, later.line);
    match (race.kind.earlier(), race.kind.later()) {
        (Effect::Atomic, Effect::Atomic) => "overlapping atomics",
        (Effect::Write, Effect::Write) if is_one_line => SEVERAL_WRITERS,
        _ => MISSING_ATOMIC,
    }
}

/// Returns the names of the sides' parameters, in the order of the kernel's parameters.
pub(crate) fn parameters(race: &Race) -> Vec<String> {
    let mut found: Vec<_> = race.accesses.iter().filter_map(|access| access.parameter.as_ref()).collect();
    found.sort_by_key(|parameter| parameter.number);
    found.into_iter().map(parameter).collect()
}

/// Returns the name of the memory object of a race as the kernel's programmer calls it, without its size.
pub fn object_name(race: &Race) -> String {
    match &race.object {
        Some(Object {
            kind: ObjectKind::Allocation | ObjectKind::Heap, parameter: Some(parameter), ..
        }) => {
            format!("`{}`", parameter.name)
        }
        Some(Object { kind: ObjectKind::Allocation, allocated_at: Some(at), .. }) => {
            format!("the allocation at {}:{}", at.file, at.line)
        }
        _ => object_of(race),
    }
}

/// Returns `` `in` ``.
pub fn parameter(parameter: &Parameter) -> String {
    format!("`{}`", parameter.name)
}

/// Returns `the write at line 17` or, for a file other than the other side's, `the write at b.cu:17`.
pub fn effect_at(race: &Race, earlier: bool) -> String {
    let (access, effect, other) = if earlier {
        (race.earlier(), race.kind.earlier(), race.later())
    } else {
        (race.later(), race.kind.later(), race.earlier())
    };
    let mut text = format!("the {}", side(access, effect));
    match (&access.file, access.line) {
        (Some(file), Some(line)) if other.file.as_ref() == Some(file) => {
            let _ = write!(text, " at line {line}");
        }
        (Some(file), Some(line)) => {
            let _ = write!(text, " at {file}:{line}");
        }
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn long_names_lose_their_arguments_first() {
        let kept = "void ns::k<int, (anonymous namespace)::T>(int*, float)";
        assert_eq!(short_name(kept), kept);
        let long =
            "void ns::k<std::vector<int, std::allocator<int>>, 3>(std::vector<int> const&, unsigned long)";
        assert_eq!(short_name(long), "void ns::k<...>(...)");
        assert_eq!(
            short_name("void k<(A)1, (B)2>((anonymous namespace)::Name<(A)1>, unsigned long long)"),
            "void k<...>(...)"
        );
        let deep = format!("{}::kernel<int>()", ["namespace_x"; 9].join("::"));
        assert_eq!(short_name(&deep), "namespace_x::namespace_x::n..._x::namespace_x::kernel<...>()");
        // Brackets that do not match lose nothing but length.
        for odd in ["operator<", "a>b", "((((("] {
            let odd = odd.repeat(20);
            assert!(short_name(&odd).chars().count() <= 60, "{}", short_name(&odd));
        }
    }
}
