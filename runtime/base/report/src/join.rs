//! Joins findings of one mistake that only the whole run shows to be one.

use std::collections::{BTreeSet, HashMap};

use crate::barriers::{Level, relation};
use crate::cause::InKernel;
use crate::diagnosis::side_name;
use crate::fix;
use crate::flags;
use crate::hint;
use crate::missing::one_would_do;
use crate::mistakes::Mistake;
use crate::schema::{Access, CauseKind, Effect, Finding, Fix, Op, Race, RaceKind, Report, Scope};
use crate::updates;
use crate::words;

/// Between the objects of a finding.
const AND: &str = " and ";
/// A finding names no more objects.
const MOST_OBJECTS: usize = 3;

/// File, line and column of an access.
type SourcePlace<'a> = (&'a str, u32, Option<u32>);

/// The sites of the races of findings, by fingerprint.
pub type Traces<'a> = HashMap<&'a str, Vec<InKernel<'a>>>;

/// Joins findings on one object of one kernel:
///
/// - what races with an update by several threads, if no barrier mends it: the update must become atomic;
/// - what each warp orders for itself, if several warps write there: each needs memory of its own;
/// - an update under a lock without a fence: the lock orders nothing;
/// - what one statement of a loop writes in several iterations, if the loop lacks a barrier anyway, and what one
///   asynchronous copy does;
/// - what one wait for asynchronous copies would order, on several objects;
/// - equal values that one statement stores, if it also writes where others store their own;
/// - what a plain flag tells of, or a lock with a plain access guards, on other objects too: the flag or the lock must
///   become atomic;
/// - what a flag or a lock of too narrow a scope lets race, on other objects too;
/// - what one flag or lock without a fence guards, on several objects;
/// - what lacks a barrier within the iterations of one loop, and from one iteration to the next;
/// - what lacks a barrier between the same two lines, on several objects;
/// - what one barrier would order, on several objects, though no line has a place for it;
/// - what arrivals and waits at barrier objects do not order, on several objects;
/// - what blocks of one branch may tell those of another one of by a plain flag: both objects lack order between
///   blocks;
///
/// and, of all kernels, what one event would order: see [`lack_one_event`].
pub fn join(report: &mut Report, traces: &Traces<'_>) {
    use CauseKind::{
        LoopBackEdge, MissingBarrier, MissingFence, NarrowScope, Other, SameValue, UnorderedOperations,
        UnwaitedCopy,
    };
    for at in (0..report.findings.len()).rev() {
        let finding = &report.findings[at];
        let places = places(report, finding);
        let into = report.findings.iter().position(|known| {
            if std::ptr::eq(known, finding) {
                return false;
            }
            if (finding.cause, known.cause) == (UnorderedOperations, UnorderedOperations) {
                return lack_one_event(report, finding, known);
            }
            if known.kernel != finding.kernel {
                return false;
            }
            if finding.fix.diff.is_some() && !is_ordered_in_warps(finding, traces) {
                return false;
            }
            let same_object = known.object == finding.object;
            match (finding.cause, known.cause) {
                (Other, Other) if are_wrong_phases([finding, known]) => true,
                (UnwaitedCopy, UnwaitedCopy) if lack_one_wait([finding, known], traces) => true,
                (UnwaitedCopy, UnwaitedCopy | MissingBarrier | LoopBackEdge | Other) => {
                    same_object && is_of_copies(finding, known, traces)
                }
                (SameValue, MissingBarrier | LoopBackEdge) => {
                    same_object
                        && keeps_one_value(report, known, of(known, traces).iter().copied())
                        && places.is_subset(&self::places(report, known))
                }
                (MissingBarrier | MissingFence | Other, Other) if is_told_of(finding, known, traces) => true,
                (MissingBarrier | LoopBackEdge, Other) => {
                    let updates = updated(report, known);
                    let is_with_update =
                        |race: &Race| sides(race).iter().flatten().any(|place| updates.contains(place));
                    same_object && !finding.races.is_empty() && report.races_of(finding).all(is_with_update)
                }
                (Other, MissingBarrier | LoopBackEdge) => {
                    let updates = updated(report, finding);
                    let is_apart =
                        |race: &Race| !sides(race).iter().flatten().any(|place| updates.contains(place));
                    same_object
                        && is_of_iterations(report, finding, known, traces)
                        && report.races_of(known).any(is_apart)
                }
                (MissingFence, MissingFence) => lack_one_fence([finding, known], traces),
                (Other, MissingFence) => {
                    same_object && places.is_subset(&self::places(report, known))
                        || lack_one_fence([finding, known], traces)
                }
                (MissingFence | Other, NarrowScope) => report.races_of(finding).all(|race| {
                    report.races_of(known).any(|narrow| narrow.scope == race.scope && !same_object)
                }),
                (MissingBarrier, MissingBarrier)
                    if flag_first(report, [known, finding], traces).is_some() =>
                {
                    true
                }
                (MissingBarrier | LoopBackEdge, MissingBarrier | LoopBackEdge) => {
                    let [(_, own), (_, other)] = [finding, known]
                        .map(|finding| finding.fingerprint.split_once(':').unwrap_or_default());
                    // A fix of one alone would leave races of the other.
                    let has_fix = [finding, known].iter().any(|finding| finding.fix.diff.is_some());
                    !has_fix
                        && (!own.is_empty() && own == other
                            || are_of_same_lines(report, [finding, known])
                            || lack_one_barrier(report, [finding, known], traces))
                }
                _ => false,
            }
        });
        if let Some(into) = into {
            match report.findings[into].cause {
                UnorderedOperations => join_mended(report, at, into),
                _ if is_of_back_edge(report, into, at, traces) => join_into(report, into, at),
                _ if are_one_on_objects(report, [&report.findings[at], &report.findings[into]], traces) => {
                    join_mended(report, at, into);
                }
                _ => join_with_advice(report, at, into, traces),
            }
        }
    }
}

/// True if the loop's back edge explains a finding of what lacks a barrier within an iteration: all its races are also
/// ones from one iteration to the next, as those of the other finding are.
fn is_of_back_edge(report: &Report, within: usize, next: usize, traces: &Traces<'_>) -> bool {
    let [within, next] = [within, next].map(|at| &report.findings[at]);
    let both_ways = |race: &InKernel<'_>| {
        relation(race.flow, race.pair, Level::Block).is_some_and(|relation| relation.is_both_ways)
    };
    (within.cause, next.cause) == (CauseKind::MissingBarrier, CauseKind::LoopBackEdge)
        && !of(within, traces).is_empty()
        && of(within, traces).iter().all(both_ways)
}

/// True if one mistake shows in two findings on different objects: barrier objects that order neither, or a barrier.
fn are_one_on_objects(report: &Report, both: [&Finding; 2], traces: &Traces<'_>) -> bool {
    let is_one = are_wrong_phases(both)
        || are_of_same_lines(report, both)
        || lack_one_fence(both, traces)
        || lack_one_wait(both, traces)
        || lack_one_barrier(report, both, traces);
    both[0].object != both[1].object && is_one
}

/// True if what lacks a barrier in two findings is of the same two lines of one function: a barrier between these
/// orders both.
fn are_of_same_lines(report: &Report, both: [&Finding; 2]) -> bool {
    let line = |access: &Access| Some((access.function.clone()?, access.file.clone()?, access.line?));
    let of_race = |race: &Race| {
        let [one, other] = [line(race.earlier())?, line(race.later())?];
        (one.0 == other.0 && one != other).then_some([one, other])
    };
    let lines = |finding| report.races_of(finding).map(of_race).collect::<Option<BTreeSet<_>>>();
    let [one, other] = both.map(lines);
    both.iter().all(|finding| fix::may_need_barriers(finding))
        && both[0].cause == both[1].cause
        && one.is_some_and(|one| !one.is_empty() && other == Some(one))
}

/// True if one flag or lock would order the races of two findings. The second one says that it has no fence, the first
/// one too, or it is of updates that the lock guards.
fn lack_one_fence(both: [&Finding; 2], traces: &Traces<'_>) -> bool {
    let [one, other] = both.map(|finding| of(finding, traces));
    let is_guarded = |race: &InKernel<'_>| match both[0].cause {
        CauseKind::MissingFence => true,
        CauseKind::Other => {
            flags::may_exclude(race.flow, race.pair) && updates::is_known(race.flow, race.pair)
        }
        _ => false,
    };
    let is_with = |race: &InKernel<'_>| {
        let by_one = |other: &InKernel<'_>| flags::are_told_together(race.flow, race.pair, other.pair);
        is_guarded(race) && other.iter().any(|other| std::ptr::eq(race.flow, other.flow) && by_one(other))
    };
    both[1].cause == CauseKind::MissingFence && !one.is_empty() && one.iter().all(is_with)
}

/// True if one wait would end the copies of both findings.
fn lack_one_wait(both: [&Finding; 2], traces: &Traces<'_>) -> bool {
    let [one, other] = both.map(|finding| of(finding, traces));
    let is_with = |race: &InKernel<'_>| {
        let by_one = |other: &InKernel<'_>| {
            std::ptr::eq(race.flow, other.flow) && updates::lack_one_wait(race.flow, race.pair, other.pair)
        };
        other.iter().any(by_one)
    };
    both.iter().all(|finding| finding.cause == CauseKind::UnwaitedCopy)
        && !one.is_empty()
        && one.iter().all(is_with)
}

/// True if a finding is of what one asynchronous copy writes in several iterations, and the other finding is of the
/// same copy and of accesses that nothing orders with it.
fn is_of_copies(finding: &Finding, known: &Finding, traces: &Traces<'_>) -> bool {
    let is_with = |race: &InKernel<'_>| {
        let [a, b] = race.pair;
        let mut others = of(known, traces).iter().map(|other| other.pair);
        a == b && others.any(|[first, second]| first != second && (first == a || second == a))
    };
    let own = of(finding, traces);
    !own.is_empty() && own.iter().all(is_with)
}

/// True if barrier objects order the races of neither finding.
fn are_wrong_phases(both: [&Finding; 2]) -> bool {
    let suffix = format!(":{}", Mistake::WrongPhase.words());
    both.iter().all(|finding| finding.fingerprint.ends_with(&suffix))
}

/// True if one barrier of the block, or of the warp, would order the races of both findings.
fn lack_one_barrier(report: &Report, both: [&Finding; 2], traces: &Traces<'_>) -> bool {
    let [one, other] = both.map(|finding| of(finding, traces));
    let Some(flow) = one.first().map(|race| race.flow) else { return false };
    let pairs: Vec<_> = one.iter().chain(other).map(|race| race.pair).collect();
    let races = || both.iter().flat_map(|finding| report.races_of(finding));
    let is_in = |scope| races().all(|race| race.scope <= scope);
    let one_would_do = |level| one_would_do(flow, &pairs, level);
    both.iter().all(|finding| fix::may_need_barriers(finding))
        && is_in(Scope::Block)
        && !other.is_empty()
        && one.iter().chain(other).all(|race| std::ptr::eq(race.flow, flow))
        && (one_would_do(Level::Block) || is_in(Scope::Warp) && one_would_do(Level::Warp))
}

/// True if one event would order races of both findings: the earlier and the later side are the same launches or
/// copies, or those of the same two streams, with the object or one of the two operations in common.
fn lack_one_event(report: &Report, a: &Finding, b: &Finding) -> bool {
    let streams = |race: &Race| Some([race.earlier().stream?, race.later().stream?]);
    let operations = |race: &Race| [race.earlier(), race.later()].map(side_name);
    report.races_of(a).any(|one| {
        report.races_of(b).any(|other| {
            let ([from, to], [other_from, other_to]) = (operations(one), operations(other));
            let (same_from, same_to) = (from == other_from, to == other_to);
            let same_streams = streams(one).is_some() && streams(one) == streams(other);
            same_from && same_to || same_streams && (same_from || same_to || are_on_one_object([one, other]))
        })
    })
}

/// True if two races are on one object. Several allocations may have one place in the source.
fn are_on_one_object(races: [&Race; 2]) -> bool {
    let [one, other] = races.map(|race| race.object.as_ref().and_then(|object| object.name.as_ref()));
    one.is_some() && one == other
}

/// True if a finding is of plain writes of one statement in a loop without a barrier, and in another finding the
/// statement races with others from one iteration to the next.
fn is_of_iterations(report: &Report, finding: &Finding, known: &Finding, traces: &Traces<'_>) -> bool {
    let crosses = |race: &InKernel<'_>| {
        let relation = relation(race.flow, race.pair, Level::Block);
        relation.is_some_and(|relation| relation.is_both_ways || relation.over_back_edge.is_some())
    };
    let repeats = |race: &InKernel<'_>| {
        let [a, b] = race.pair;
        let is_with = |other: &InKernel<'_>| other.pair.contains(&a) && crosses(other);
        a == b
            && crosses(race)
            && updates::of(race.flow, race.pair, false).is_none()
            && of(known, traces).iter().any(is_with)
    };
    report.races_of(finding).all(|race| race.kind == RaceKind::WriteWrite)
        && !of(finding, traces).is_empty()
        && of(finding, traces).iter().all(repeats)
}

/// Returns two findings, that of the flag first, if blocks lack order on both and the one object may tell of the other.
fn flag_first<'a>(
    report: &Report,
    [a, b]: [&'a Finding; 2],
    traces: &Traces<'_>,
) -> Option<[&'a Finding; 2]> {
    let (own, other) = (write_and_read(report, a, traces)?, write_and_read(report, b, traces)?);
    if a.object == b.object || !std::ptr::eq(own.flow, other.flow) {
        None
    } else if flags::may_tell_of(own.flow, other.pair, own.pair) {
        Some([a, b])
    } else if flags::may_tell_of(own.flow, own.pair, other.pair) {
        Some([b, a])
    } else {
        None
    }
}

/// Returns the one race of a finding as write and read, if it is one of plain accesses of different blocks.
fn write_and_read<'a>(report: &Report, finding: &Finding, traces: &'a Traces<'_>) -> Option<InKernel<'a>> {
    let &[at] = finding.races.as_slice() else { return None };
    let &[InKernel { flow, pair: [earlier, later] }] = of(finding, traces) else { return None };
    let race = report.races.get(at).filter(|race| race.scope == Scope::Grid)?;
    let pair = match (race.kind.earlier(), race.kind.later()) {
        (Effect::Write, Effect::Read) => [earlier, later],
        (Effect::Read, Effect::Write) => [later, earlier],
        _ => return None,
    };
    Some(InKernel { flow, pair })
}

/// Joins findings. If both lack order between blocks, the advice also says which object may tell of the other one.
fn join_with_advice(report: &mut Report, from: usize, into: usize, traces: &Traces<'_>) {
    let [other, own] = [from, into].map(|at| &report.findings[at]);
    let are_barriers = [own, other].into_iter().all(|finding| finding.cause == CauseKind::MissingBarrier);
    let flagged = flag_first(report, [own, other], traces).filter(|_| are_barriers);
    let Some([flag, told]) = flagged else {
        join_into(report, from, into);
        return;
    };
    let [flag, told] = [flag, told].map(|finding| finding.object.as_deref().unwrap_or_default());
    if let Some(advice) = own.fix.advice.as_ref().map(|advice| hint::with_flag(advice, flag, told)) {
        report.findings[into].fix.advice = Some(advice);
    }
    join_mended(report, from, into);
}

fn of<'a>(finding: &Finding, traces: &'a Traces<'_>) -> &'a [InKernel<'a>] {
    traces.get(&*finding.fingerprint).map_or(&[][..], Vec::as_slice)
}

/// True if the plain flag or the lock that one finding is about orders what the other one is about.
fn is_told_of(finding: &Finding, flag: &Finding, traces: &Traces<'_>) -> bool {
    let [told, flag] = [finding, flag].map(|finding| of(finding, traces));
    let by = |race: &InKernel<'_>| {
        flag.iter().any(|flag| {
            std::ptr::eq(race.flow, flag.flow) && flags::is_told_of(race.flow, race.pair, flag.pair)
        })
    };
    !told.is_empty() && told.iter().all(by)
}

/// True if a synchronisation of the warp stands between the sides of each race.
fn is_ordered_in_warps(finding: &Finding, traces: &Traces<'_>) -> bool {
    let parts = |race: &InKernel<'_>, level| relation(race.flow, race.pair, level).is_none();
    traces.get(&*finding.fingerprint).is_some_and(|races| {
        !races.is_empty() && races.iter().all(|race| parts(race, Level::Warp) && !parts(race, Level::Block))
    })
}

/// Joins findings that one change of the source mends. The joined one names the objects of both, and the kernels.
pub fn join_mended(report: &mut Report, from: usize, into: usize) {
    let [other, own] = [from, into].map(|at| &report.findings[at]);
    let named = other.kernel.as_deref().map(|kernel| format!("`{}`", words::short_name(kernel)));
    let are_barriers = [own, other].into_iter().all(fix::may_need_barriers);
    let kernel = named.filter(|name| are_barriers && other.kernel != own.kernel && !own.title.contains(name));
    let objects =
        |finding| report.races_of(finding).filter_map(|race| Some(race.object.as_ref()?.name.clone()));
    let known: BTreeSet<_> = objects(own).collect();
    // One object may have two names: where it was allocated, and a kernel's parameter.
    let has_further = objects(other).any(|object| object.is_none() || !known.contains(&object));
    let further = other.object.clone().filter(|_| has_further);
    let finding = &mut report.findings[into];
    for object in further.iter().flat_map(|further| further.split(AND)) {
        if let Some(own) = &finding.object
            && !own.split(AND).any(|known| known == object)
            && own.split(AND).count() < MOST_OBJECTS
        {
            let both = format!("{own}{AND}{object}");
            finding.title = finding.title.replacen(own, &both, 1);
            finding.object = Some(both);
        }
    }
    if let Some(kernel) = kernel {
        finding.title.push_str(AND);
        finding.title.push_str(&kernel);
    }
    join_into(report, from, into);
}

/// Joins the finding at `from` with the one at `into`, which keeps cause and fix. Renumbers the rest.
fn join_into(report: &mut Report, from: usize, into: usize) {
    let joined = report.findings[from].clone();
    let finding = &mut report.findings[into];
    finding.races.extend(joined.races);
    let races = &report.races;
    finding.races.sort_by_key(|&at| races.get(at).map(|race| race.scope));
    finding.pairs = finding.races.len() as u64;
    let counts = finding.races.iter().filter_map(|&at| races.get(at)).map(|race| race.count);
    finding.count = counts.fold(0, u64::saturating_add);
    report.findings.remove(from);
    for (number, finding) in (1..).zip(&mut report.findings) {
        finding.id = format!("F{number}");
    }
}

/// True if all races of a finding are of two plain writes, and no thread has read the bytes that it then changes.
/// Whatever the order, the bytes keep one of the two values, so a barrier may only hide a wrong index.
pub fn keeps_one_value<'a>(
    report: &Report,
    finding: &Finding,
    mut races: impl Iterator<Item = InKernel<'a>>,
) -> bool {
    matches!(finding.cause, CauseKind::MissingBarrier | CauseKind::LoopBackEdge)
        && !finding.races.is_empty()
        && report.races_of(finding).all(|race| race.kind == RaceKind::WriteWrite)
        && !races.any(|race| updates::is_changed_value(race.flow, race.pair))
}

/// Says of each finding that [`keeps_one_value`] that it has several writers.
pub fn name_several_writers(report: &mut Report, traces: &Traces<'_>) {
    for at in 0..report.findings.len() {
        let finding = &report.findings[at];
        if !keeps_one_value(report, finding, of(finding, traces).iter().copied()) {
            continue;
        }
        let Some(race) = report.races_of(finding).next() else { continue };
        let mut sides = [(race.earlier(), true), (race.later(), false)];
        sides.sort_by_key(|(access, _)| (&access.file, access.line));
        let [one, other] = sides.map(|(_, is_earlier)| words::effect_at(race, is_earlier));
        let widest = report.races_of(finding).max_by_key(|race| race.scope).unwrap_or(race);
        let advice = hint::of_two_writes(widest);
        let why = format!("{one} and {other} go to the same bytes, and only one value stays");
        let rest = finding.title.find(':').map_or("", |colon| &finding.title[colon..]);
        let title = format!("{}{rest}", words::SEVERAL_WRITERS);
        let finding = &mut report.findings[at];
        (finding.cause, finding.title, finding.why) = (CauseKind::Other, title, why);
        finding.fix = Fix { diff: None, advice: Some(advice) };
    }
}

/// True if no barrier has mended the races of a statement of a loop, of which one side reads: threads may also race
/// within an iteration.
pub fn may_be_in_place(report: &Report, finding: &Finding, races: &[InKernel<'_>]) -> bool {
    let is_statement = |race: &InKernel<'_>| {
        let relation = relation(race.flow, race.pair, Level::Block);
        relation.is_some_and(|relation| relation.is_statement && relation.over_back_edge.is_some())
    };
    finding.cause == CauseKind::LoopBackEdge
        && finding.fix.diff.is_none()
        && !races.is_empty()
        && races.iter().all(is_statement)
        && report
            .races_of(finding)
            .all(|race| race.scope <= Scope::Block && race.kind != RaceKind::WriteWrite)
}

/// Says of a finding that threads race within an iteration of a loop: one statement reads what others write there.
pub fn name_in_place(report: &mut Report, at: usize) {
    let Some(race) = report.races_of(&report.findings[at]).next() else { return };
    let mut sides = [(race.kind.earlier(), true), (race.kind.later(), false)];
    sides.sort_by_key(|(effect, _)| *effect != Effect::Read);
    let [read, write] = sides.map(|(_, is_earlier)| words::effect_at(race, is_earlier));
    let (why, advice) = hint::of_in_place(race, [&read, &write]);
    let finding = &mut report.findings[at];
    let rest = finding.title.find(':').map_or("", |colon| &finding.title[colon..]);
    finding.title = format!("{}{rest}", CauseKind::MissingBarrier.words());
    (finding.cause, finding.why, finding.fix.advice) = (CauseKind::MissingBarrier, why, Some(advice.clone()));
    for &race in &finding.races {
        if let Some(race) = report.races.get_mut(race) {
            race.hint = Some(advice.clone());
        }
    }
}

/// Gives a finding of a warp the barrier of the block that another finding of its kernel needs at the same place.
pub fn share_barriers(report: &mut Report) {
    for at in 0..report.findings.len() {
        let finding = &report.findings[at];
        let wide =
            finding.fix.advice.as_ref().map(|advice| advice.replace("__syncwarp();", "__syncthreads();"));
        let needs_it = |other: &&Finding| {
            other.kernel == finding.kernel && other.fix.diff.is_some() && other.fix.advice == wide
        };
        if finding.fix.diff.is_some()
            && let Some(other) = report.findings.iter().find(needs_it)
        {
            report.findings[at].fix = other.fix.clone();
        }
    }
}

fn place(access: &Access) -> Option<SourcePlace<'_>> {
    Some((access.file.as_deref()?, access.line?, access.column))
}

fn sides(race: &Race) -> [Option<SourcePlace<'_>>; 2] {
    race.accesses.each_ref().map(place)
}

fn places<'a>(report: &'a Report, finding: &'a Finding) -> BTreeSet<SourcePlace<'a>> {
    report.races_of(finding).flat_map(sides).flatten().collect()
}

/// Returns the places whose accesses by several threads race with each other.
fn updated<'a>(report: &'a Report, finding: &'a Finding) -> BTreeSet<SourcePlace<'a>> {
    let is_update = |race: &&Race| {
        let [a, b] = sides(race);
        a == b && race.accesses.iter().any(|access| access.op != Op::Read)
    };
    report.races_of(finding).filter(is_update).filter_map(|race| place(&race.accesses[0])).collect()
}
