//! The table of causes: which of them a race has, and what the report says of each.

use gpurace_abi::scope::Scope as AtomicScope;

use crate::barriers::{self, Level, Relation};
use crate::cause::{InKernel, Order};
use crate::flags;
use crate::hint::{self, SideFacts};
use crate::mistakes::{self, Mistake};
use crate::names::kernel_name;
use crate::schema::{Access, CauseKind, Effect, Op, Race, Scope};
use crate::updates::{self, FoundUpdate};
use crate::words;

/// What is wrong, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Diagnosis {
    /// The host does not wait for an operation.
    Host,
    /// Nothing orders two launches or copies.
    Operations,
    /// A block of a cluster ends while another one uses its shared memory.
    EndOfBlock,
    /// Nobody waits for an asynchronous copy.
    UnwaitedCopy,
    /// The index of a side leads out of its variable into another one.
    OutOfBounds { side: usize, variable: &'static str },
    /// Two parameters point into one object.
    Alias,
    /// An atomic's scope leaves the other thread out.
    NarrowScope,
    /// Two atomics overlap, and do not have the same bytes.
    Overlap,
    /// Several threads update the same bytes, and the update is not atomic.
    Update(FoundUpdate),
    /// A loop waits by an atomic for what a plain write stores.
    PlainSet,
    /// One side is an atomic, and the other one is not.
    OneAtomic,
    /// Several threads store one value by one statement.
    SameValue,
    /// A mistake that the kernel's control flow shows.
    Mistake(Mistake),
    /// A flag or a lock has no fence.
    MissingFence,
    /// Threads of different branches write the same bytes.
    Branches,
    /// A flag is not atomic.
    PlainFlag,
    /// Several threads use the same bytes in one statement.
    OnePlace,
    /// The mask of a warp's synchronisation leaves a thread out.
    Mask,
    /// No barrier stands between an access and another one in the loop's next iteration.
    LoopBackEdge,
    /// No barrier stands between the accesses.
    MissingBarrier,
}

impl Diagnosis {
    /// Returns the report's kind of it.
    pub(crate) const fn kind(self) -> CauseKind {
        match self {
            Self::Host => CauseKind::Host,
            Self::Operations => CauseKind::UnorderedOperations,
            Self::UnwaitedCopy => CauseKind::UnwaitedCopy,
            Self::Alias => CauseKind::Alias,
            Self::NarrowScope => CauseKind::NarrowScope,
            Self::SameValue => CauseKind::SameValue,
            Self::MissingFence => CauseKind::MissingFence,
            Self::Mask => CauseKind::Mask,
            Self::LoopBackEdge => CauseKind::LoopBackEdge,
            Self::EndOfBlock | Self::MissingBarrier => CauseKind::MissingBarrier,
            Self::OutOfBounds { .. }
            | Self::Overlap
            | Self::Update(_)
            | Self::PlainSet
            | Self::OneAtomic
            | Self::Mistake(_)
            | Self::Branches
            | Self::PlainFlag
            | Self::OnePlace => CauseKind::Other,
        }
    }
}

/// A race, and what is known of it.
pub(crate) struct Evidence<'a> {
    race: &'a Race,
    facts: [SideFacts; 2],
    kernel: Option<InKernel<'a>>,
    /// How the accesses lie to each other in the kernel.
    relation: Option<Relation>,
    /// Whether one side is in a loop that waits for the bytes to change, or looks at them before a lock is taken.
    spins: bool,
    /// Whether the program seems to order the sides by a flag or a lock.
    is_handed_over: bool,
}

impl<'a> Evidence<'a> {
    /// Gathers what is known of a race. `facts` are in the order of [`Race::accesses`].
    pub(crate) fn of(race: &'a Race, mut facts: [SideFacts; 2], kernel: Option<InKernel<'a>>) -> Self {
        let level = match race.scope {
            Scope::Warp => Level::Warp,
            Scope::Block | Scope::Cluster => Level::Block,
            Scope::Grid | Scope::Device | Scope::System => Level::Grid,
        };
        let relation = kernel.and_then(|kernel| barriers::relation(kernel.flow, kernel.pair, level));
        let is_handed_over = kernel.is_some_and(|InKernel { flow, pair }| {
            flags::is_handed_over(flow, pair, race.scope > Scope::Cluster)
        });
        if relation.is_some() && kernel.is_some_and(|kernel| updates::is_copy_waited_for(race, facts, kernel))
            || race.scope == Scope::Grid && !is_handed_over
        {
            // Then it makes no difference that a copy makes the access: no wait would tell another block of it.
            facts.iter_mut().for_each(|side| side.asynchronous = false);
        }
        if kernel.is_some_and(|kernel| barriers::has_grid_barriers(kernel.flow)) {
            // The barrier of the grid has fences, which say nothing of a flag or a lock.
            facts.iter_mut().for_each(|side| side.fences = false);
        }
        let spins = kernel.is_some_and(|InKernel { flow, pair }| {
            pair.into_iter().any(|site| flags::spins(flow, site)) || flags::is_checked_twice(flow, pair)
        });
        Self { race, facts, kernel, relation, spins, is_handed_over }
    }

    /// Returns what is wrong.
    pub(crate) fn diagnosis(&self) -> Diagnosis {
        let race = self.race;
        let has = |op| race.accesses.iter().any(|access| access.op == op);
        let any = |fact: fn(&SideFacts) -> bool| self.facts.iter().any(fact);
        let strays = [0, 1].into_iter().find_map(|side| Some((side, self.facts[side].strays_from?)));
        if has(Op::Host) {
            Diagnosis::Host
        } else if has(Op::Copy) || race.scope >= Scope::Device {
            Diagnosis::Operations
        } else if any(|side| side.ends_block) {
            Diagnosis::EndOfBlock
        } else if updates::are_copies_of_one_place(race, self.facts, self.relation) {
            // Whatever waits for the copies, bytes of two threads go to one place.
            Diagnosis::OnePlace
        } else if any(|side| side.asynchronous) {
            let freed = self.kernel.and_then(|kernel| Mistake::of_freed(race, kernel));
            freed.map_or(Diagnosis::UnwaitedCopy, Diagnosis::Mistake)
        } else if let Some((side, variable)) = strays {
            Diagnosis::OutOfBounds { side, variable }
        } else if race.is_alias() {
            Diagnosis::Alias
        } else if race.kind.has(Effect::Atomic) {
            self.of_atomic()
        } else {
            self.of_plain()
        }
    }

    /// Returns what is wrong if one side is an atomic, or both are.
    fn of_atomic(&self) -> Diagnosis {
        let race = self.race;
        let are_both = race.kind.earlier() == race.kind.later();
        // A volatile access is as atomic as the other side.
        if are_both || self.facts.iter().any(|side| side.volatile) {
            return if self.scopes_reach() { Diagnosis::Overlap } else { Diagnosis::NarrowScope };
        }
        // A look before the atomic, such as that of a loop of compare-and-swaps.
        if let Some(update) = self.update() {
            return Diagnosis::Update(update);
        }
        // First all count, then all look: a barrier is what lacks.
        let is_sequence = self.relation.is_some_and(|relation| relation.is_sequence && !relation.may_poll);
        if is_sequence && (race.scope <= Scope::Block || !self.decides() && !self.looks_first()) {
            return Diagnosis::MissingBarrier;
        }
        let is_waited_for = |kernel: InKernel<'_>| flags::is_waited_for(kernel.flow, kernel.pair);
        match race.kind.has(Effect::Write) && self.kernel.is_some_and(is_waited_for) {
            true => Diagnosis::PlainSet,
            false => Diagnosis::OneAtomic,
        }
    }

    /// Returns what is wrong if neither side is an atomic.
    fn of_plain(&self) -> Diagnosis {
        let (race, relation) = (self.race, self.relation);
        let update = self.update();
        let is_one_place = is_one_place(race);
        let is_flag = self.spins || race.scope > Scope::Block && self.facts.iter().any(|side| side.volatile);
        let is_change = update.is_some() || is_one_place;
        let is_known = is_change || is_flag;
        let mistake = self.kernel.filter(|_| !is_known);
        let mistake = mistake.and_then(|kernel| Mistake::of(race, kernel, relation));
        let has_fences = self.facts.iter().any(|side| side.fences);
        let is_sequence = relation.is_some_and(|relation| relation.is_sequence);
        // Threads that meet nowhere are ordered by atomics or not at all.
        let meet = self.kernel.is_some_and(|kernel| barriers::has_barriers(kernel.flow));
        let take_turns = || self.kernel.is_none_or(|kernel| flags::may_exclude(kernel.flow, kernel.pair));
        // A barrier of the block orders one way within an iteration. No flag is meant for the other way.
        let is_parted = race.scope <= Scope::Block
            && relation.is_some_and(|relation| relation.over_back_edge.is_some() && !relation.is_statement);
        // An arrival at a barrier object orders what comes before it.
        let by_arrivals = race.scope <= Scope::Block
            && self.kernel.is_some_and(|kernel| flags::is_told_by_arrivals(kernel.flow, kernel.pair));
        let has_fences = has_fences && !by_arrivals;
        let needs_flag = !is_parted && (has_fences || race.scope > Scope::Block || !is_sequence || !meet);
        if race.same_value == Some(true) && (is_one_place || self.is_either_or()) && update.is_none() {
            Diagnosis::SameValue
        } else if let Some(mistake) = mistake {
            Diagnosis::Mistake(mistake)
        } else if self.is_handed_over && by_arrivals && !is_known && self.are_looked_for() {
            Diagnosis::Mistake(Mistake::WrongPhase)
        } else if self.is_handed_over
            && needs_flag
            && !by_arrivals
            && !self.spins
            && (!is_change || take_turns())
        {
            // Data that an atomic hands over may be `volatile`: that makes it no flag.
            Diagnosis::MissingFence
        } else if let Some(update) = update {
            Diagnosis::Update(update)
        } else if self.is_either_or() {
            Diagnosis::Branches
        } else if is_flag {
            Diagnosis::PlainFlag
        } else if is_one_place {
            Diagnosis::OnePlace
        } else if has_fences
            && !is_parted
            && relation.map_or(race.scope > Scope::Block, |relation| relation.has_atomics)
        {
            Diagnosis::MissingFence
        } else if race.scope == Scope::Warp && relation.is_some_and(|relation| relation.has_lanes) {
            Diagnosis::Mask
        } else if race.scope <= Scope::Grid
            && relation.is_some_and(|relation| {
                // Blocks meet in a loop with a barrier of the grid alone.
                relation.over_back_edge.is_some() && (race.scope <= Scope::Block || !relation.may_poll)
            })
        {
            Diagnosis::LoopBackEdge
        } else {
            Diagnosis::MissingBarrier
        }
    }

    /// Returns the update that the race is of.
    fn update(&self) -> Option<FoundUpdate> {
        let kernel = self.kernel.filter(|kernel| !flags::is_checked_twice(kernel.flow, kernel.pair))?;
        updates::of(kernel.flow, kernel.pair, self.race.scope > Scope::Block)
    }

    /// True if blocks that meet nowhere read plainly, and change the bytes later: a barrier between the two would let
    /// each block change what it has not seen.
    fn looks_first(&self) -> bool {
        let kind = self.race.kind;
        let swaps = Order::of(self.race, self.relation).swaps;
        let first = if swaps { kind.later() } else { kind.earlier() };
        let meet = self.kernel.is_some_and(|kernel| barriers::has_grid_barriers(kernel.flow));
        first == Effect::Read && !meet
    }

    /// True if what an atomic has read decides which way a thread takes.
    fn decides(&self) -> bool {
        self.kernel.is_some_and(|kernel| kernel.flow.blocks.iter().any(|block| block.decides))
    }

    /// True for two plain writes of which a thread makes one or the other: whatever the order, one value is lost.
    fn is_either_or(&self) -> bool {
        [self.race.kind.earlier(), self.race.kind.later()] == [Effect::Write; 2]
            && !is_one_place(self.race)
            && self.relation.is_some_and(|relation| !relation.is_sequence)
    }

    /// True if threads look before each side whether others have told them something.
    fn are_looked_for(&self) -> bool {
        self.kernel.is_some_and(|kernel| flags::are_looked_for(kernel.flow, kernel.pair))
    }

    /// True if the scopes of two atomics have both threads.
    fn scopes_reach(&self) -> bool {
        let scope = self.race.scope;
        match self.facts[0].atomic_scope.min(self.facts[1].atomic_scope) {
            None | Some(AtomicScope::System) => true,
            Some(AtomicScope::Block) => scope <= Scope::Block,
            Some(AtomicScope::Cluster) => scope <= Scope::Cluster,
            Some(AtomicScope::Device) => scope <= Scope::Device,
        }
    }

    /// Returns what is wrong in a few words, for titles.
    pub(crate) fn words(&self, diagnosis: Diagnosis) -> String {
        match diagnosis {
            Diagnosis::OutOfBounds { .. } => "out of bounds".to_owned(),
            Diagnosis::Update(_) | Diagnosis::PlainFlag => words::MISSING_ATOMIC.to_owned(),
            Diagnosis::Mistake(mistake) => mistake.words().to_owned(),
            Diagnosis::Branches => words::SEVERAL_WRITERS.to_owned(),
            _ if diagnosis.kind() == CauseKind::Other => words::other_cause(self.race).to_owned(),
            _ => diagnosis.kind().words(),
        }
    }

    /// Returns advice.
    pub(crate) fn hint(&self, diagnosis: Diagnosis) -> Option<String> {
        let (race, facts) = (self.race, self.facts);
        let (order, unwaited) = (Order::of(race, self.relation), self.unwaited());
        let hint = match diagnosis {
            Diagnosis::OutOfBounds { side, variable } => hint::of_stray(&race.accesses[side], variable),
            Diagnosis::Update(update) => hint::of_update(race, update.by_value),
            Diagnosis::PlainSet => hint::of_plain_set(race),
            Diagnosis::Mistake(mistake) => mistake.hint(race),
            Diagnosis::MissingFence => hint::of_flag_or_lock(race),
            Diagnosis::Branches => hint::of_branches(race),
            Diagnosis::PlainFlag => hint::of_plain_flag(race, facts),
            Diagnosis::OnePlace if updates::are_copies_of_one_place(race, self.facts, self.relation) => {
                hint::of_overlapping_copies(race)
            }
            Diagnosis::Mask => hint::of_mask(race, order),
            Diagnosis::MissingBarrier if unwaited.is_some() => mistakes::of_arrival(race, unwaited?),
            Diagnosis::MissingBarrier if race.kind.has(Effect::Atomic) => hint::of_barrier(race, order),
            Diagnosis::UnwaitedCopy if updates::are_copies_in_pipeline(self.facts, self.kernel) => {
                hint::hint(race, facts, order)? + hint::IF_PIPELINE
            }
            Diagnosis::LoopBackEdge if race.scope == Scope::Grid => hint::of_grid_loop(race, order),
            // A barrier mends this, whatever the line is.
            Diagnosis::LoopBackEdge => hint::hint(race, facts, order)?.replace(hint::IF_UPDATE, ""),
            _ if self.kernel.is_some_and(|kernel| !updates::is_known(kernel.flow, kernel.pair)) => {
                hint::hint(race, facts, order)?.replace(hint::IF_UPDATE, "")
            }
            _ => hint::hint(race, facts, order)?,
        };
        Some(hint)
    }

    /// Returns the order of the sides if threads of a block arrive at a barrier object before the second one, and wait
    /// for another phase or not at all.
    fn unwaited(&self) -> Option<Order> {
        let (race, relation, InKernel { flow, pair }) = (self.race, self.relation?, self.kernel?);
        match relation.has_arrival {
            _ if race.scope > Scope::Block || !race.kind.has(Effect::Write) => None,
            true => Some(Order::of(race, self.relation)),
            false if relation.is_sequence => None,
            false => Some(Order { swaps: flags::unwaited_side(flow, pair)? == 0, ..Order::default() }),
        }
    }

    /// Returns what is missing, in a sentence without a full stop.
    pub(crate) fn why(&self, diagnosis: Diagnosis) -> String {
        let race = self.race;
        let (mut earlier, mut later) = (words::effect_at(race, true), words::effect_at(race, false));
        // The program's order is easier to follow than that of this run, but what waits for a flag comes later.
        let by_flag = diagnosis == Diagnosis::MissingFence && self.is_handed_over;
        if Order::of(race, self.relation).swaps && !by_flag {
            std::mem::swap(&mut earlier, &mut later);
        }
        let between = format!("{earlier} and {later}");
        match diagnosis {
            Diagnosis::Host => format!("the host does not wait between {between}"),
            Diagnosis::Operations => {
                let [later, earlier] = race.accesses.each_ref().map(kernel_of);
                let operations = match (earlier, later) {
                    (Some(one), Some(other)) if one == other => {
                        format!("{between} in two launches of `{one}`")
                    }
                    _ => {
                        let within = |kernel: Option<&str>| {
                            kernel.map_or_else(String::new, |name| format!(" in `{name}`"))
                        };
                        let [from, to] = [true, false].map(|side| words::effect_at(race, side));
                        format!("{from}{} and {to}{}", within(earlier), within(later))
                    }
                };
                format!("no stream order and no event orders {operations}")
            }
            Diagnosis::UnwaitedCopy => format!("no wait ends the asynchronous copy between {between}"),
            Diagnosis::OutOfBounds { side, variable } => {
                let (access, other) = (words::effect_at(race, side == 1), words::effect_at(race, side == 0));
                let object = words::object_name(race);
                format!(
                    "the index of {access} leads out of `{variable}` into {object}, where it meets {other}"
                )
            }
            Diagnosis::Alias => {
                let [a, b] = words::parameters(race).try_into().unwrap_or_default();
                format!("{a} and {b} point into one object, so {between} meet")
            }
            Diagnosis::NarrowScope => {
                format!("the scope of an atomic leaves out the other thread: {between}")
            }
            Diagnosis::Update(FoundUpdate { is_atomic: false, .. }) => {
                let sides = match one_line(race) {
                    Some(line) => format!("at line {line}"),
                    None => format!("by {between}"),
                };
                format!("several threads update the same bytes {sides}, and the update is not atomic")
            }
            Diagnosis::SameValue => format!("several threads store the same value: {later}"),
            Diagnosis::Mistake(mistake) => mistake.why(race, [&earlier, &later]),
            Diagnosis::MissingFence if is_one_place(race) => {
                let line = race.later().line.map_or_else(String::new, |line| format!(" at line {line}"));
                format!("no lock or flag with fences orders the accesses{line}")
            }
            Diagnosis::MissingFence => format!("no flag or lock with fences orders {earlier} before {later}"),
            Diagnosis::Branches => format!("threads of different branches write the same bytes: {between}"),
            Diagnosis::Mask => {
                format!("the masks of the warp's synchronisations do not order {earlier} before {later}")
            }
            Diagnosis::LoopBackEdge if race.scope == Scope::Grid => {
                format!("no barrier of the grid orders {earlier} before {later} in the loop's next iteration")
            }
            Diagnosis::LoopBackEdge => {
                format!("no barrier orders {earlier} before {later} in the loop's next iteration")
            }
            Diagnosis::EndOfBlock | Diagnosis::MissingBarrier => match race.scope {
                Scope::Grid => format!("nothing orders {between} of different blocks"),
                Scope::Cluster => format!("no barrier of the cluster stands between {between}"),
                _ if self.unwaited().is_some() => {
                    format!("nobody waits for the arrival at the barrier object between {between}")
                }
                _ => format!("no barrier stands between {between}"),
            },
            Diagnosis::PlainFlag if is_one_place(race) => {
                let line = race.later().line.map_or_else(String::new, |line| format!(" at line {line}"));
                format!("several threads access the same bytes{line}, and the access is not atomic")
            }
            Diagnosis::Overlap
            | Diagnosis::PlainFlag
            | Diagnosis::Update(_)
            | Diagnosis::PlainSet
            | Diagnosis::OneAtomic
            | Diagnosis::OnePlace => match race.later().line {
                Some(line) if is_one_place(race) => {
                    format!("several threads access the same bytes at line {line} without order")
                }
                _ => format!("{between} are not ordered, and not both atomic"),
            },
        }
    }

    /// Returns what is equal for races of one finding.
    pub(crate) fn fingerprint(&self, diagnosis: Diagnosis) -> String {
        let race = self.race;
        let kernel = kernel_name(race.kernel.as_deref().unwrap_or("")).to_owned();
        let object = match diagnosis {
            // These two pointers, whatever they point into.
            Diagnosis::Alias => words::parameters(race).join(" and "),
            _ => words::object_name(race),
        };
        let mut parts = vec![diagnosis.kind().as_str().to_owned(), kernel, object];
        match diagnosis {
            // Another kernel or copy is another mistake.
            Diagnosis::Operations | Diagnosis::Host => {
                let mut sides = race.accesses.each_ref().map(side_name);
                sides.sort();
                parts.extend(sides);
            }
            Diagnosis::OutOfBounds { variable, .. } => parts.push(format!("from {variable}")),
            Diagnosis::Mistake(mistake) => parts.push(mistake.words().to_owned()),
            Diagnosis::LoopBackEdge | Diagnosis::EndOfBlock | Diagnosis::MissingBarrier => {
                parts.push(match self.relation {
                    _ if race.scope > Scope::Block => "between blocks".to_owned(),
                    Some(relation) => format!("interval {}", relation.interval),
                    None => String::new(),
                });
            }
            _ => {}
        }
        parts.join(":")
    }
}

/// Returns the line of both sides, if it is one.
fn one_line(race: &Race) -> Option<u32> {
    let [later, earlier] = race.accesses.each_ref().map(|access| (&access.file, access.line));
    later.1.filter(|_| later == earlier)
}

/// True if both sides have one source position.
pub(crate) fn is_one_place(race: &Race) -> bool {
    let place = |access: &Access| {
        let line = access.line?;
        Some((access.file.clone()?, line, access.column))
    };
    let places = race.accesses.each_ref().map(place);
    places[0].is_some() && places[0] == places[1]
}

/// Returns what a side does, without its place: the kernel, or the copy, or the host.
pub(crate) fn side_name(access: &Access) -> String {
    match access.op {
        Op::Copy => format!("copy at {}", access.line.map_or_else(String::new, |line| line.to_string())),
        Op::Host => "host".to_owned(),
        Op::Read | Op::Write | Op::Atomic => kernel_of(access).unwrap_or_default().to_owned(),
    }
}

/// Returns the kernel that makes an access.
fn kernel_of(access: &Access) -> Option<&str> {
    let is_of_kernel = matches!(access.op, Op::Read | Op::Write | Op::Atomic);
    let function = access.frames.last().map_or(&access.function, |outermost| &outermost.function);
    function.as_deref().filter(|_| is_of_kernel).map(kernel_name)
}
