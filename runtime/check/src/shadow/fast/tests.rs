//! Each frequent case against the transition function: all records, as a block's accesses meet them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::*;
use crate::model::access::{Access, Touch};
use crate::model::entry::Entry;
use crate::model::op_code;
use crate::model::race::KernelKey;
use crate::model::record::Content;
use crate::model::relation::Standing;
use crate::order::block_order::Mode;
use crate::order::kernel_sites::KernelSites;
use crate::order::launches::{Earlier, LaunchData, LaunchOrder, Launches};
use crate::order::vector::Clocks;
use crate::shadow::RaceSink;
use crate::shadow::chain::Chain;
use crate::shadow::history;
use crate::shadow::process::{BlockShadow, Shadow};

const OPS: std::ops::Range<u64> = 0..op_code::OPS;
/// Uids: of a settled launch, of one before the block's launch, of one beside it, then of the block's launch, which has
/// the first of them.
const SETTLED: u64 = 1;
const BEFORE: u64 = 2;
const CONCURRENT: u64 = 3;
const OWN: u64 = 4;
const OTHER: u64 = 5;

#[derive(Default)]
struct Races(Vec<(Entry, Standing)>);

impl RaceSink for Races {
    fn race(&mut self, entry: &Entry, standing: &Standing, _: &Access, _: u8) {
        self.0.push((*entry, *standing));
    }
}

/// The view of a block of 64 threads after a barrier, and, where `synced`, a sync of warp 0.
fn view(synced: bool, late: bool) -> BlockView {
    let data = |first_uid, blocks| {
        Arc::new(LaunchData {
            id: first_uid,
            kernel: KernelKey(1),
            first_uid,
            blocks,
            site_base: 0,
            stream: 0,
            sites: Arc::new(KernelSites::new()),
            learnt: Mutex::default(),
        })
    };
    let launches = Arc::new(Launches::default());
    let own = data(OWN, 2);
    let [before, concurrent] = [BEFORE, CONCURRENT].map(|uid| data(uid, 1));
    for launch in [data(SETTLED, 1), before.clone(), concurrent.clone(), own.clone()] {
        assert_eq!([0, 1].map(|site| launch.sites.number(site)), [Some(0), Some(1)]);
        launches.push(launch);
    }
    let launch = LaunchOrder {
        launches,
        data: own,
        base: 0,
        settled_uid: BEFORE,
        settled_for_all: BEFORE,
        unordered: vec![CONCURRENT],
        earlier: Earlier::list(&[before, concurrent], &[CONCURRENT]),
        clusters: None,
    };
    let mut view = BlockView::new(Arc::new(launch));
    let mut before = Clocks::new();
    before.learn_launch(BEFORE);
    view.order.restart(Mode::Regular, 64, OWN, OWN, before, None);
    view.order.barrier(None);
    if synced {
        assert!(view.order.syncwarp(0, !0));
    }
    view.restart(0, false, false);
    view.late = late;
    view
}

/// Plain accesses of all bytes, and of some.
fn plain() -> Vec<OpCode> {
    [0b1111, 0b0001, 0b0011, 0b1110]
        .into_iter()
        .flat_map(|mask| [false, true].map(|writes| OpCode::plain(writes, mask)))
        .collect()
}

/// All records that a word may hold: of each operation, span and site, by some threads at some times.
fn records(ops: impl Iterator<Item = u64> + Clone) -> impl Iterator<Item = Record> {
    let fields = |op: u64| {
        Span::ALL.into_iter().flat_map(move |span| {
            [0, 1].into_iter().flat_map(move |site| {
                [0, 1, 40].into_iter().flat_map(move |thread| {
                    [SETTLED, BEFORE, CONCURRENT, OWN, OTHER].into_iter().flat_map(move |uid| {
                        (0..3).filter_map(move |clock| {
                            let key = Key::new(thread, uid, clock)?;
                            Some(Record::new(OpCode(op), span, SiteField::new(site), key))
                        })
                    })
                })
            })
        })
    };
    ops.flat_map(fields)
}

fn access(op: OpCode, site: u16, shared: bool) -> Access {
    Access {
        thread: 0,
        touch: op.touch(),
        site: site.into(),
        number: Some(site),
        word: 0x1000,
        address: 0x1000,
        size: 4,
        shared,
        copy: None,
    }
}

#[test]
fn one_record_becomes_what_the_table_makes_of_it() {
    let shadow = Shadow::new(1 << 20, 1 << 10);
    let mut fast = 0;
    for (synced, shared) in [(false, false), (false, true), (true, false), (true, true)] {
        let view = view(synced, false);
        let mut block = BlockShadow::new(&shadow);
        for op in OPS.map(OpCode) {
            for before in records(OPS).chain([Record::EMPTY]) {
                let cells = [(); 2].map(|()| AtomicU64::new(before.bits()));
                if !view.check_fast(&cells[0], before, 0, Some(SiteField::new(0)), op, shared) {
                    continue;
                }
                fast += 1;
                let mut races = Races::default();
                block.check(&shadow, &view, &cells[1], before, &access(op, 0, shared), &mut races);
                let context = || format!("{op:?} {:?} synced {synced} shared {shared}", before.content());
                assert!(races.0.is_empty(), "{}", context());
                assert_eq!(load(&cells[0]), load(&cells[1]), "{}", context());
            }
        }
    }
    assert!(fast > 1000, "{fast}");
}

#[test]
fn the_checks_of_a_word_leave_what_the_table_does() {
    let shadow = Shadow::new(1 << 20, 1 << 10);
    let mut block = BlockShadow::new(&shadow);
    let (view, mut by_warp) = (view(false, false), 0);
    let place = shadow.map.place(0x1000).expect("memory for shadow");
    for (op, shared) in [OpCode::READ, OpCode::WRITE].into_iter().flat_map(|op| [(op, false), (op, true)]) {
        let record = Record::new(op, Span::Thread, SiteField::new(0), view.order.key(0));
        let checks = view.word_checks(record).expect("checks of words");
        for before in records(OPS).chain([Record::EMPTY]) {
            for thread in [0, 1, 31, 32, 40] {
                place.region.store(view.open_regions(shared).start, Ordering::Relaxed);
                place.word.store(before.bits(), Ordering::Relaxed);
                if !checks.check(&view, place, thread, shared) {
                    continue;
                }
                by_warp += usize::from(before.span_of(OpCode::READ) == Some(Span::Warp));
                let (cell, mut races) = (AtomicU64::new(before.bits()), Races::default());
                let a = Access { thread, ..access(op, 0, shared) };
                block.check(&shadow, &view, &cell, before, &a, &mut races);
                let context = || format!("{op:?} {:?} {thread} shared {shared}", before.content());
                assert!(races.0.is_empty(), "{}", context());
                assert_eq!(load(place.word), load(&cell), "{}", context());
            }
        }
    }
    assert!(by_warp > 0);
}

/// A read that the bits of a list of shared memory decide changes nothing, as the table says. A write among the
/// records, other bytes, another instruction, another epoch or another warp leave it to the table.
#[test]
fn reads_that_a_list_represents_change_nothing() {
    let shadow = Shadow::new(1 << 20, 1 << 10);
    let mut block = BlockShadow::new(&shadow);
    let place = shadow.map.place(0x1000).expect("memory for shadow");
    let (mut fast, mut by_words) = (0, 0);
    for synced in [false, true] {
        let view = view(synced, false);
        let new = Record::new(OpCode::READ, Span::Thread, SiteField::new(0), view.order.key(0));
        let checks = view.word_checks(new).expect("checks of words");
        let ops = || plain().into_iter().map(|op| op.0);
        for first in records(ops()).filter(|record| record.uid() == OWN) {
            for second in records(ops()).skip(first.bits() as usize % 7).step_by(7) {
                // Of two records of one instruction the table takes either.
                if second.has_site(new.site()) && second.op() == new.op() {
                    continue;
                }
                let mut list = RecordList::of(first);
                assert!(list.push(second));
                for thread in [0, 1, 40] {
                    let w = Record::list(&raw mut list as u64);
                    place.region.store(view.open_regions(true).start, Ordering::Relaxed);
                    place.word.store(w.bits(), Ordering::Relaxed);
                    // Where threads have synced, they do not all know the same.
                    let words = !synced && checks.check(&view, place, thread, true);
                    let site = Some(SiteField::new(0));
                    let alone = view.check_fast(place.word, w, thread, site, OpCode::READ, true);
                    if !words && !alone {
                        continue;
                    }
                    let context = || format!("{:?} {:?} {thread}", first.content(), second.content());
                    let reads = |record: Record| !record.op().writes();
                    assert!(reads(first) && reads(second) && load(place.word) == w, "{}", context());
                    let cell = AtomicU64::new(block.list_word(&shadow, list).bits());
                    let (seen, mut races) = (load(&cell), Races::default());
                    let a = Access { thread, ..access(OpCode::READ, 0, true) };
                    block.check(&shadow, &view, &cell, seen, &a, &mut races);
                    assert!(races.0.is_empty(), "{}", context());
                    let Content::List(after) = load(&cell).content() else { panic!("{}", context()) };
                    // SAFETY: the cell owns the list.
                    let after = unsafe { &*(after as *const RecordList<Record>) };
                    assert_eq!(after.as_slice(), list.as_slice(), "{}", context());
                    (fast, by_words) = (fast + 1, by_words + usize::from(words && !alone));
                }
            }
        }
    }
    assert!(fast > 100 && by_words > 10, "{fast} {by_words}");
}

#[test]
fn accesses_among_records_leave_what_a_chain_would() {
    for access in plain() {
        among_records(access);
    }
}

fn among_records(op: OpCode) {
    let shadow = Shadow::new(1 << 20, 1 << 10);
    let (mut fast, mut racing) = (0, 0);
    let ops = || plain().into_iter().map(|op| op.0);
    for (synced, late) in [(false, false), (true, false), (false, true)] {
        let view = view(synced, late);
        let a = access(op, 0, false);
        let new = Record::new(op, Span::Thread, SiteField::new(0), view.order.key(0));
        for first in records(ops()) {
            // A third of the pairs is enough.
            for second in records(ops()).skip(first.bits() as usize % 3).step_by(3) {
                // One record has all that a thread does by an instruction in an epoch.
                if first.may_extend(second.op())
                    && first.has_key(second.key())
                    && first.has_site(second.site())
                {
                    continue;
                }
                let mut list = RecordList::of(first);
                assert!(list.push(second));
                let before = list;
                let mut found = ListRaces::new();
                if !view.meet_among(&mut list, new, false, &mut found) {
                    assert_eq!(list.as_slice(), before.as_slice(), "a refusal changes nothing");
                    continue;
                }
                fast += 1;
                let context = || format!("{:?} {:?} {synced} {late}", first.content(), second.content());
                let entries = before.as_slice().iter().filter_map(|r| r.fields());
                let mut chain = Chain { entries: entries.map(|f| view.entry(&f)).collect(), common: None };
                chain.find_common();
                let mut races = Races::default();
                history::check(&view, &shadow, &mut chain, &a, &mut races);
                let found: Vec<_> = found
                    .iter()
                    .filter_map(|(r, standing)| Some((view.entry(&r.fields()?), *standing)))
                    .collect();
                assert_eq!(found, races.0, "{}", context());
                racing += found.len();
                // A chain may give the bytes to another record of the thread as well.
                let has_all = |r: &Record| {
                    let when = (r.uid(), r.clock());
                    (r.span() == Span::Thread && r.has_key(new.key())
                        || late && when > (new.uid(), new.clock()))
                        && step::covers(r.op().touch(), op.touch(), true)
                };
                if list.as_slice() == before.as_slice() && before.as_slice().iter().any(has_all) {
                    continue;
                }
                let packed: Vec<_> = chain.entries.iter().filter_map(|e| view.pack(e)).collect();
                // The chain also drops records that the read replaces.
                let kept: Vec<_> = list.as_slice().iter().filter(|r| packed.contains(r)).copied().collect();
                assert_eq!(kept, packed, "{}", context());
            }
        }
    }
    assert!(fast > 100 && racing > 100, "{fast} {racing}");
}

/// What one thread does in one epoch, for all pairs of operations.
#[test]
fn one_thread_in_one_epoch_is_never_a_race() {
    for earlier in OPS.map(OpCode) {
        for later in OPS.map(OpCode) {
            let (relation, status) = (Relation::Itself, Status::SameEpoch);
            let (earlier_touch, touch) = (earlier.touch(), later.touch());
            let step = step::step(earlier_touch, Span::Thread, touch, relation, status, false);
            assert!(!step.race);
            if earlier == OpCode::WRITE || earlier == later {
                assert_eq!(step.next, Next::Keep, "{earlier:?} {later:?}");
            } else if later == OpCode::WRITE && earlier == OpCode::READ {
                assert_eq!(step.next, Next::Replace, "{earlier:?} {later:?}");
            }
        }
    }
}

/// A thread joins exactly where the transition function lets it without a race.
#[test]
fn a_thread_joins_as_the_transition_function_says() {
    for op in OPS.map(OpCode) {
        for span in Span::ALL {
            for relation in [Relation::Warp, Relation::Block, Relation::Grid] {
                let step = step::step(op.touch(), span, op.touch(), relation, Status::Unsynced, true);
                let in_grid = relation == Relation::Grid;
                let joins = if in_grid { op.is_atomic_in_grid() } else { op.is_atomic_in_block() };
                assert_eq!(step.race, !joins, "{op:?} {span:?} {relation:?}");
                let joined = step::joined_span(span, relation).map_or(Next::Both, Next::Join);
                assert_eq!(step.next, joined, "{op:?} {span:?} {relation:?}");
            }
        }
    }
}

/// An access that meets no record of a word, because it conflicts with none, rests on this.
#[test]
fn what_two_accesses_have_in_common_conflicts_with_all_that_either_does() {
    let touches = || OPS.map(|code| OpCode(code).touch());
    let relations = [
        Relation::Itself,
        Relation::Warp,
        Relation::Block,
        Relation::Cluster,
        Relation::Grid,
        Relation::Launch,
    ];
    let mut pairs = 0;
    for (a, b) in touches().flat_map(|a| touches().map(move |b| (a, b))) {
        let Some(op) = step::common(a.op, b.op) else { continue };
        pairs += 1;
        let common = Touch { op, mask: a.mask | b.mask };
        for (third, relation) in touches().flat_map(|third| relations.map(|relation| (third, relation))) {
            let either = step::conflict(a, third, relation) || step::conflict(b, third, relation);
            assert!(!either || step::conflict(common, third, relation), "{a:?} {b:?} {third:?} {relation:?}");
        }
    }
    assert!(pairs > 100, "{pairs}");
}
