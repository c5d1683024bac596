//! The cause of a race: the order that the program lacks. Races with one cause on one object are one finding.

use gpurace_abi::flow::Flow;
use gpurace_abi::scope::Scope as AtomicScope;

use crate::barriers::{self, Level, Pair, Relation};
use crate::flags;
use crate::hint::{self, SideFacts};
use crate::mistakes::Mistake;
use crate::schema::{Access, CauseKind, Effect, Op, Race, Scope};
use crate::updates::{self, FoundUpdate};
use crate::words;

/// What is known of the kernel of a race in which both sides belong to one launch.
#[derive(Clone, Copy, Debug)]
pub struct InKernel<'a> {
    /// The kernel's control flow.
    pub flow: &'a Flow,
    /// The sites of the race.
    pub pair: Pair,
}

/// The cause of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is wrong.
    pub kind: CauseKind,
    /// The same in words.
    pub words: String,
    /// Advice on the race.
    pub hint: Option<String>,
    /// What is missing, in a sentence without a full stop.
    pub why: String,
    /// Equal for races of one finding.
    pub fingerprint: String,
    /// False if the kernel's control flow was not looked at, because the run has too many races.
    pub is_traced: bool,
}

/// Returns the cause of a race. `facts` are in the order of [`Race::accesses`].
pub fn of(race: &Race, mut facts: [SideFacts; 2], kernel: Option<InKernel<'_>>) -> Cause {
    let level = match race.scope {
        Scope::Warp => Level::Warp,
        Scope::Block | Scope::Cluster => Level::Block,
        Scope::Grid | Scope::Device | Scope::System => Level::Grid,
    };
    let relation = kernel.and_then(|kernel| barriers::relation(kernel.flow, kernel.pair, level));
    if relation.is_some() && kernel.is_some_and(|kernel| is_waited(race, facts, kernel))
        || race.scope == Scope::Grid && !kernel.is_some_and(|kernel| is_handed_over(race, kernel))
    {
        // Then it makes no difference that a copy makes the access: no wait would tell another block of it.
        facts.iter_mut().for_each(|side| side.asynchronous = false);
    }
    let update = kernel.filter(|kernel| !flags::is_checked_twice(kernel.flow, kernel.pair));
    let update = update.and_then(|kernel| updates::of(kernel.flow, kernel.pair, race.scope > Scope::Block));
    let strays = facts.iter().find_map(|side| side.strays_from);
    let is_known = update.is_some() || strays.is_some() || is_one_place(race) || is_flag(race, facts, kernel);
    let mistake = kernel.filter(|_| !is_known).and_then(|kernel| Mistake::of(race, kernel, relation));
    let kind = kind(race, facts, kernel, Shown { relation, update, mistake });
    let (update, mistake) =
        (update.filter(|_| kind == CauseKind::Other), mistake.filter(|_| kind == CauseKind::Other));
    let mut parts =
        vec![kind.as_str().to_owned(), kernel_name(race.kernel.as_deref().unwrap_or("")).to_owned()];
    match kind {
        // These two pointers, whatever they point into.
        CauseKind::Alias => parts.push(parameters(race).join(" and ")),
        _ => parts.push(words::object_name(race)),
    }
    match kind {
        CauseKind::MissingBarrier | CauseKind::LoopBackEdge if race.scope <= Scope::Block => {
            parts.push(
                relation.map_or_else(String::new, |relation| format!("interval {}", relation.interval)),
            );
        }
        CauseKind::MissingBarrier => parts.push("between blocks".to_owned()),
        CauseKind::Other if let Some(mistake) = mistake => parts.push(mistake.words().to_owned()),
        CauseKind::Other => parts.extend(strays.map(|variable| format!("from {variable}"))),
        // Another kernel or copy is another mistake.
        CauseKind::UnorderedOperations | CauseKind::Host => {
            let mut sides = race.accesses.each_ref().map(side_name);
            sides.sort();
            parts.extend(sides);
        }
        _ => {}
    }
    let order = Order::of(race, relation);
    let hint = match kind {
        CauseKind::Other if let Some(mistake) = mistake => Some(mistake.hint(race)),
        CauseKind::Other if strays.is_some() => Some(hint::of_stray(race, facts)),
        CauseKind::Other if update.is_some() => {
            Some(hint::of_update(race, update.is_some_and(|update| update.by_value)))
        }
        CauseKind::Other if is_plain_set(race, kernel) => Some(hint::of_plain_set(race)),
        CauseKind::Other if is_either_or(race, relation) => Some(hint::of_branches(race)),
        CauseKind::MissingFence => Some(hint::of_flag_or_lock(race)),
        CauseKind::UnwaitedCopy => {
            // Of two copies, the first ones of a pipeline stand before its loop.
            let are_copies = facts.iter().all(|side| side.asynchronous);
            let is_pipeline = kernel.is_some_and(|InKernel { flow, pair }| {
                updates::is_in_pipeline(flow, pair)
                    || are_copies && pair.iter().any(|&site| updates::is_in_pipeline(flow, [site; 2]))
            });
            hint::hint(race, facts, order).map(|hint| hint + if is_pipeline { hint::IF_PIPELINE } else { "" })
        }
        CauseKind::MissingBarrier if has_atomic(race) => Some(hint::of_barrier(race, order)),
        CauseKind::Other if !has_atomic(race) && is_flag(race, facts, kernel) => {
            Some(hint::of_plain_flag(race, facts))
        }
        CauseKind::Mask => Some(hint::of_mask(race, order)),
        // A barrier mends this, whatever the line is, or the line is no update.
        _ if kind == CauseKind::LoopBackEdge
            || kernel.is_some_and(|kernel| !updates::is_known(kernel.flow, kernel.pair)) =>
        {
            hint::hint(race, facts, order).map(|hint| hint.replace(hint::IF_UPDATE, ""))
        }
        _ => hint::hint(race, facts, order),
    };
    let words = match kind {
        CauseKind::Other if let Some(mistake) = mistake => mistake.words().to_owned(),
        CauseKind::Other if strays.is_some() => "out of bounds".to_owned(),
        CauseKind::Other if update.is_some() => "missing atomic".to_owned(),
        CauseKind::Other if is_either_or(race, relation) => words::SEVERAL_WRITERS.to_owned(),
        CauseKind::Other => words::other_cause(race).to_owned(),
        _ => kind.words(),
    };
    let why = match strays {
        Some(_) if kind == CauseKind::Other => stray(race, facts),
        _ => why(race, kind, Shown { relation, update, mistake }),
    };
    Cause { kind, words, hint, why, fingerprint: parts.join(":"), is_traced: true }
}

/// In which order the sides of a race come in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The later one comes first.
    pub swaps: bool,
    /// How one side follows the other.
    pub ways: Ways,
}

/// How one side of a race follows the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ways {
    /// Nothing is known of it, or it does not.
    #[default]
    Unknown,
    /// In one way.
    One,
    /// They are one statement, and in different iterations a barrier parts them.
    Within,
    /// In an iteration of a loop; the first follows in the next iteration.
    Both,
    /// They are one statement of a loop.
    Statement,
}

impl Order {
    fn of(race: &Race, relation: Option<Relation>) -> Self {
        match relation {
            // What one iteration writes, the next one reads.
            Some(Relation { is_statement: true, over_back_edge: Some(_), .. }) => {
                Self { swaps: race.kind.earlier() == Effect::Read, ways: Ways::Statement }
            }
            Some(Relation { is_both_ways: true, is_reversed: swaps, .. }) => Self { swaps, ways: Ways::Both },
            Some(relation) => {
                let swaps = relation.is_reversed || relation.over_back_edge == Some(true);
                let ways = match relation {
                    Relation { is_statement: true, .. } => Ways::Within,
                    Relation { is_sequence: true, .. } => Ways::One,
                    _ => Ways::Unknown,
                };
                Self { swaps, ways }
            }
            None => Self::default(),
        }
    }
}

/// True if one side is an asynchronous copy whose thread waits for it before it comes to the other side.
fn is_waited(race: &Race, facts: [SideFacts; 2], kernel: InKernel<'_>) -> bool {
    let [later, earlier] = &race.accesses;
    let is_one_thread = (later.thread, later.block) == (earlier.thread, earlier.block);
    // The sites of a pair are the earlier first, the facts are not.
    let [first, second] = kernel.pair;
    match facts.map(|side| side.asynchronous) {
        _ if is_one_thread => false,
        [true, false] => updates::is_waited(kernel.flow, second, first),
        [false, true] => updates::is_waited(kernel.flow, first, second),
        _ => false,
    }
}

/// True if the program seems to order the sides of a race by a flag or a lock.
fn is_handed_over(race: &Race, InKernel { flow, pair }: InKernel<'_>) -> bool {
    flags::is_handed_over(flow, pair, race.scope > Scope::Cluster)
}

/// What the kernel's control flow shows of a race.
#[derive(Clone, Copy)]
struct Shown {
    relation: Option<Relation>,
    update: Option<FoundUpdate>,
    mistake: Option<Mistake>,
}

/// Says which index leads out of its array.
fn stray(race: &Race, facts: [SideFacts; 2]) -> String {
    let strays = [0, 1].into_iter().find_map(|side| Some((side, facts[side].strays_from?)));
    let (side, variable) = strays.unwrap_or_default();
    let (access, other) = (words::effect_at(race, side == 1), words::effect_at(race, side == 0));
    let object = words::object_name(race);
    format!("the index of {access} leads out of `{variable}` into {object}, where it meets {other}")
}

fn kind(
    race: &Race,
    facts: [SideFacts; 2],
    kernel: Option<InKernel<'_>>,
    Shown { relation, update, mistake }: Shown,
) -> CauseKind {
    let ops = race.accesses.each_ref().map(|access| access.op);
    if ops.contains(&Op::Host) {
        return CauseKind::Host;
    }
    if ops.contains(&Op::Copy) || race.scope >= Scope::Device {
        return CauseKind::UnorderedOperations;
    }
    if facts.iter().any(|side| side.ends_block) {
        return CauseKind::MissingBarrier;
    }
    if facts.iter().any(|side| side.asynchronous) {
        return CauseKind::UnwaitedCopy;
    }
    if facts.iter().any(|side| side.strays_from.is_some()) {
        return CauseKind::Other;
    }
    if is_alias(race) {
        return CauseKind::Alias;
    }
    match (race.kind.earlier(), race.kind.later()) {
        (Effect::Atomic, Effect::Atomic) => return of_atomics(race.scope, facts),
        (Effect::Atomic, _) | (_, Effect::Atomic) if facts.iter().any(|side| side.volatile) => {
            return of_atomics(race.scope, facts);
        }
        // A look before the atomic, such as that of a loop of compare-and-swaps.
        (Effect::Atomic, Effect::Read) | (Effect::Read, Effect::Atomic) if update.is_some() => {
            return CauseKind::Other;
        }
        // First all count, then all look: a barrier is what lacks.
        (Effect::Atomic, _) | (_, Effect::Atomic)
            if relation.is_some_and(|relation| relation.is_sequence && !relation.may_poll)
                && (race.scope <= Scope::Block || !kernel.is_some_and(|kernel| decides(kernel.flow))) =>
        {
            return CauseKind::MissingBarrier;
        }
        (Effect::Atomic, _) | (_, Effect::Atomic) => return CauseKind::Other,
        (Effect::Write, Effect::Write)
            if race.same_value == Some(true) && is_one_place(race) && update.is_none() =>
        {
            return CauseKind::SameValue;
        }
        _ => {}
    }
    let has_fences = facts.iter().any(|side| side.fences);
    let is_sequence = relation.is_some_and(|relation| relation.is_sequence);
    let is_handed_over = kernel.is_some_and(|kernel| is_handed_over(race, kernel));
    // Threads that meet nowhere are ordered by atomics or not at all.
    let meet = kernel.is_some_and(|kernel| barriers::has_barriers(kernel.flow));
    let needs_flag = has_fences || race.scope > Scope::Block || !is_sequence || !meet;
    if mistake.is_some() {
        return CauseKind::Other;
    }
    // Data that an atomic hands over may be `volatile`: that makes it no flag.
    if is_handed_over && needs_flag && !spins(kernel) {
        return CauseKind::MissingFence;
    }
    let is_either_or = is_either_or(race, relation);
    if is_one_place(race) || update.is_some() || is_flag(race, facts, kernel) || is_either_or {
        // An update by several threads, a flag, or bytes that two branches give to two threads: no barrier helps.
        return CauseKind::Other;
    }
    if has_fences && relation.map_or(race.scope > Scope::Block, |relation| relation.has_atomics) {
        return CauseKind::MissingFence;
    }
    if race.scope == Scope::Warp && relation.is_some_and(|relation| relation.has_lanes) {
        return CauseKind::Mask;
    }
    match relation {
        Some(Relation { over_back_edge: Some(_), .. }) if race.scope <= Scope::Block => {
            CauseKind::LoopBackEdge
        }
        _ => CauseKind::MissingBarrier,
    }
}

/// True if what an atomic has read decides which way a thread takes.
fn decides(flow: &Flow) -> bool {
    flow.blocks.iter().any(|block| block.decides)
}

pub(crate) fn has_atomic(race: &Race) -> bool {
    [race.kind.earlier(), race.kind.later()].contains(&Effect::Atomic)
}

/// True for two plain writes of which a thread makes one or the other: whatever the order, one value is lost.
fn is_either_or(race: &Race, relation: Option<Relation>) -> bool {
    let is_write = |effect| effect == Effect::Write;
    [race.kind.earlier(), race.kind.later()].into_iter().all(is_write)
        && !is_one_place(race)
        && relation.is_some_and(|relation| !relation.is_sequence)
}

/// True if one thread seems to tell another one something by the bytes: a loop waits for them to change, or their
/// accesses are `volatile`, and no barrier could order them.
fn is_flag(race: &Race, facts: [SideFacts; 2], kernel: Option<InKernel<'_>>) -> bool {
    spins(kernel) || race.scope > Scope::Block && facts.iter().any(|side| side.volatile)
}

/// True if one side is in a loop that waits for the bytes to change, or looks at them before a lock is taken.
fn spins(kernel: Option<InKernel<'_>>) -> bool {
    kernel.is_some_and(|kernel| {
        kernel.pair.into_iter().any(|site| flags::spins(kernel.flow, site))
            || flags::is_checked_twice(kernel.flow, kernel.pair)
    })
}

/// True if one side is a plain write, and the other one an atomic in a loop that waits.
fn is_plain_set(race: &Race, kernel: Option<InKernel<'_>>) -> bool {
    let effects = [race.kind.earlier(), race.kind.later()];
    effects.contains(&Effect::Write)
        && effects.contains(&Effect::Atomic)
        && kernel.is_some_and(|kernel| flags::is_waited_for(kernel.flow, kernel.pair))
}

fn of_atomics(scope: Scope, facts: [SideFacts; 2]) -> CauseKind {
    let narrowest = facts[0].atomic_scope.min(facts[1].atomic_scope);
    let reaches = match narrowest {
        None => true,
        Some(AtomicScope::Block) => scope <= Scope::Block,
        Some(AtomicScope::Cluster) => scope <= Scope::Cluster,
        Some(AtomicScope::Device) => scope <= Scope::Device,
        Some(AtomicScope::System) => true,
    };
    if reaches { CauseKind::Other } else { CauseKind::NarrowScope }
}

/// True if the sides came to the object through different parameters of the kernel.
pub(crate) fn is_alias(race: &Race) -> bool {
    match race.accesses.each_ref().map(|access| access.parameter.as_ref()) {
        [Some(a), Some(b)] => a != b,
        _ => false,
    }
}

/// Returns the names of the sides' parameters, in the order of the kernel's parameters.
pub(crate) fn parameters(race: &Race) -> Vec<String> {
    let mut found: Vec<_> = race.accesses.iter().filter_map(|access| access.parameter.as_ref()).collect();
    found.sort_by_key(|parameter| parameter.number);
    found.into_iter().map(words::parameter).collect()
}

/// True if both sides have one source position.
fn is_one_place(race: &Race) -> bool {
    let place = |access: &Access| {
        let line = access.line?;
        Some((access.file.clone()?, line, access.column))
    };
    let places = race.accesses.each_ref().map(place);
    places[0].is_some() && places[0] == places[1]
}

/// Returns what a side does, without its place: the function, or the copy, or the host.
fn side_name(access: &Access) -> String {
    match access.op {
        Op::Copy => format!("copy at {}", access.line.map_or_else(String::new, |line| line.to_string())),
        Op::Host => "host".to_owned(),
        Op::Read | Op::Write | Op::Atomic => {
            let function = access.frames.last().map_or(&access.function, |outermost| &outermost.function);
            function.as_deref().map_or_else(String::new, |function| kernel_name(function).to_owned())
        }
    }
}

/// Returns what is missing.
fn why(race: &Race, kind: CauseKind, Shown { relation, update, mistake }: Shown) -> String {
    let (mut earlier, mut later) = (words::effect_at(race, true), words::effect_at(race, false));
    // The program's order is easier to follow than that of this run.
    let swaps = Order::of(race, relation).swaps;
    if swaps {
        std::mem::swap(&mut earlier, &mut later);
    }
    let between = format!("{earlier} and {later}");
    match kind {
        CauseKind::Alias => {
            let [a, b] = parameters(race).try_into().unwrap_or_default();
            format!("{a} and {b} point into one object, so {between} meet")
        }
        CauseKind::LoopBackEdge => {
            format!("no barrier orders {earlier} before {later} in the loop's next iteration")
        }
        CauseKind::MissingBarrier => match race.scope {
            Scope::Grid => format!("nothing orders {between} of different blocks"),
            Scope::Cluster => format!("no barrier of the cluster stands between {between}"),
            _ => format!("no barrier stands between {between}"),
        },
        CauseKind::MissingFence => {
            if is_one_place(race) {
                let line = race.later().line.map_or_else(String::new, |line| format!(" at line {line}"));
                format!("no lock or flag with fences orders the accesses{line}")
            } else {
                format!("no flag or lock with fences orders {earlier} before {later}")
            }
        }
        CauseKind::Mask => {
            format!("the masks of the warp's synchronisations do not order {earlier} before {later}")
        }
        CauseKind::NarrowScope => format!("the scope of an atomic leaves out the other thread: {between}"),
        CauseKind::UnwaitedCopy => format!("no wait ends the asynchronous copy between {between}"),
        CauseKind::UnorderedOperations => format!("no stream order and no event orders {between}"),
        CauseKind::Host => format!("the host does not wait between {between}"),
        CauseKind::SameValue => format!("several threads store the same value: {later}"),
        CauseKind::Other if let Some(mistake) = mistake => mistake.why(race, [&earlier, &later]),
        CauseKind::Other if update.is_some_and(|update| !update.is_atomic) && !is_one_place(race) => {
            let [line, other] = race.accesses.each_ref().map(|access| (&access.file, access.line));
            match line.1 {
                Some(at) if line == other => {
                    format!(
                        "several threads update the same bytes at line {at}, and the update is not atomic"
                    )
                }
                _ => format!(
                    "several threads update the same bytes by {between}, and the update is not atomic"
                ),
            }
        }
        CauseKind::Other if is_either_or(race, relation) => {
            format!("threads of different branches write the same bytes: {between}")
        }
        CauseKind::Divergence | CauseKind::Fault | CauseKind::Other => match race.later().line {
            Some(line) if is_one_place(race) => {
                format!("several threads access the same bytes at line {line} without order")
            }
            _ => format!("{between} are not ordered, and not both atomic"),
        },
    }
}

/// Returns a kernel's name without its parameters, template arguments and return type.
pub fn kernel_name(name: &str) -> &str {
    // `(anonymous namespace)::` is no list of parameters.
    const ANONYMOUS: &str = "(anonymous namespace)::";
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, character) in name.char_indices() {
        match character {
            _ if at < start => {}
            // The arguments of the name itself: what comes before is no return type.
            '<' if depth == 0 && !name[start..at].is_empty() && is_last_component(&name[at..]) => {
                return &name[start..at];
            }
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && name[at..].starts_with(ANONYMOUS) => start = at + ANONYMOUS.len(),
            '(' if depth == 0 => return &name[start..at],
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// True if a text that begins with template arguments has nothing but parameters after them.
fn is_last_component(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let rest = &text[at + 1..];
                    return rest.is_empty() || rest.starts_with('(');
                }
            }
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::kernel_name;

    #[test]
    fn a_kernel_has_one_name_for_all_its_instances() {
        for (demangled, name) in [
            ("reduce(float const*, float*)", "reduce"),
            ("void scale<float>(float*, int)", "scale"),
            ("void ns::scale<4, std::pair<int, float> >(float*)", "ns::scale"),
            ("scale<float>", "scale"),
            ("void (anonymous namespace)::scale<float>(float*)", "scale"),
            ("scale((anonymous namespace)::Vector*, int)", "scale"),
            ("void ns::scale<(anonymous namespace)::Vector>(int*)", "ns::scale"),
            ("void ns::(anonymous namespace)::scale<(anonymous namespace)::Vector>(int*)", "scale"),
            ("A<int>::run(int*)", "A<int>::run"),
            ("void A<int>::run<float>(int*)", "A<int>::run"),
            ("k", "k"),
            ("", ""),
        ] {
            assert_eq!(kernel_name(demangled), name, "{demangled}");
        }
    }
}
