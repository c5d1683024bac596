//! Deferred reads, with workers and launches that come to a page at the same moment.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpurace_random::Random;

use super::*;

/// Moments at which workers wait for each other. Counts arrivals.
#[derive(Default)]
struct Meetings(AtomicUsize);

impl Meetings {
    /// Waits until all workers have come to a meeting, then for a `delay`.
    fn come(&self, workers: usize, meeting: usize, delay: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
        while self.0.load(Ordering::SeqCst) < workers * (meeting + 1) {
            std::thread::yield_now();
        }
        (0..delay).for_each(|_| std::hint::spin_loop());
    }
}

#[test]
fn blocks_meet_at_each_page_whoever_comes_first() {
    // Other instructions and other memory each time: once their memory is written, reads by the same
    // instructions are checked at once.
    const TIMES: usize = 1_500;
    let checker = Checker::new();
    let launch = launch(&checker, 1, 0, &[]);
    let meetings = Meetings::default();
    let address = |time: usize| GLOBAL + time * 0x1_0000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut reader = block(&launch, 0);
            for time in 0..TIMES {
                meetings.come(2, time, time * 7 % 60);
                read(&mut reader, address(time), 2 * time as u32);
            }
            reader.end();
        });
        scope.spawn(|| {
            let mut writer = block(&launch, 1);
            for time in 0..TIMES {
                meetings.come(2, time, time * 11 % 60);
                writer.write(5, address(time) + 28, 4, 2 * time as u32 + 1, None);
            }
            writer.end();
        });
    });
    let found = races(&checker);
    for time in 0..TIMES as u32 {
        let sites = (2 * time, 2 * time + 1);
        assert!(found.contains(&sites) || found.contains(&(sites.1, sites.0)), "nothing at page {time}");
    }
    assert_eq!(found.len(), TIMES);
}

/// Words of a page that one launch reads, and that later launches write at the same moment.
struct Round {
    /// First byte of the page.
    page: usize,
    /// How the reads were handed over.
    form: Form,
    read: Range<usize>,
    /// The words that each of the later launches writes, and its delay.
    writes: Vec<(Range<usize>, usize)>,
}

#[derive(Clone, Copy)]
enum Form {
    Rows,
    Each,
    Runs,
}

/// Words that the blocks of a launch read of a page, a row each.
const READ: usize = 8 * THREADS as usize;

impl Round {
    /// Each time of other memory.
    fn draw(random: &mut Random, round: usize, writers: usize) -> Self {
        let some_page = random.below(16) * 0x1000;
        let words = |random: &mut Random| {
            let count = if random.chance(50) { 1 } else { THREADS as usize };
            // One in five writes what nobody read, of the same page.
            let start = random.below(READ * 5 / 4);
            start..start + count
        };
        Self {
            page: GLOBAL + round * 0x1_0000 + some_page,
            form: random.pick(&[Form::Rows, Form::Each, Form::Runs]),
            read: 0..READ,
            writes: (0..writers).map(|_| (words(random), random.below(200))).collect(),
        }
    }

    fn address(&self, word: usize) -> usize {
        self.page + 4 * word
    }

    /// Makes the reads of the first launch, by the instruction with this number.
    fn read(&self, launch: &Arc<Launch>, site: u32) {
        let rows = self.read.clone().step_by(THREADS as usize);
        for (index, first) in (0..).zip(rows) {
            let mut block = block(launch, index);
            match self.form {
                Form::Rows => read(&mut block, self.address(first), site),
                Form::Each => {
                    let items: Vec<_> = (0..THREADS)
                        .map(|t| GatheredItem::new(t, self.address(first + t as usize)))
                        .collect();
                    let reads = Addresses::Items(&items);
                    block.batches(&[Batch::reads(site, 4, reads)], &(0..0));
                }
                Form::Runs => {
                    let half = THREADS as usize / 2;
                    let run = |t: u32, word: usize| GatheredRun {
                        first: GatheredItem::new(t, self.address(word)),
                        end: self.address(word + half) as u64,
                    };
                    let reads = Addresses::Runs(&[run(3, first), run(4, first + half)]);
                    block.batches(&[Batch::reads(site, 4, reads)], &(0..0));
                }
            }
            block.end();
        }
    }

    /// Makes the writes of a later launch in a block.
    fn write(&self, block: &mut Block, writer: usize, site: u32) {
        let (words, _) = &self.writes[writer];
        if words.len() == 1 {
            return block.write(5, self.address(words.start), 4, site, None);
        }
        let active = Threads::marked(&[1; THREADS as usize]);
        let of = Lines { first: self.address(words.start) as u64, steps: [4, 0, 0] };
        let items = Addresses::Affine(AffineAddresses { of: &of, dim: &[THREADS, 1, 1], active: &active });
        block.batches(&[Batch { writes: true, ..Batch::reads(site, 4, items) }], &(0..0));
    }
}

/// The words of both ranges.
fn common(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

/// Runs concurrent launches that write what an earlier launch has read. If `ordered`, the first of
/// them comes after the reads.
fn launches_write_what_one_has_read(seed: u64, ordered: bool, writers: usize) {
    const ROUNDS: usize = 300;
    let mut random = Random(seed);
    let rounds: Vec<_> = (0..ROUNDS).map(|round| Round::draw(&mut random, round, writers)).collect();
    // Each round has instructions of its own, since a pair of them is reported once.
    let site = |round: usize, who: usize| (round * (writers + 1) + who) as u32;
    let checker = Checker::new();
    let reader = launch(&checker, 1, 0, &[]);
    rounds.iter().enumerate().for_each(|(at, round)| round.read(&reader, site(at, 0)));
    checker.end_launch(&reader);
    let begun: Vec<_> = (0..writers)
        .map(|writer| {
            let beside: Vec<u64> =
                (1..writer as u64 + 2).filter(|id| *id > 1 || writer > 0 || !ordered).collect();
            launch(&checker, writer as u64 + 2, 0, &beside)
        })
        .collect();
    let meetings = Meetings::default();
    std::thread::scope(|scope| {
        for (writer, launch) in begun.iter().enumerate() {
            let (rounds, meetings) = (&rounds, &meetings);
            scope.spawn(move || {
                let mut block = block(launch, 0);
                for (at, round) in rounds.iter().enumerate() {
                    meetings.come(writers, at, round.writes[writer].1);
                    round.write(&mut block, writer, site(at, 1 + writer));
                }
                block.end();
            });
        }
    });
    begun.iter().for_each(|launch| _ = checker.end_launch(launch));

    // The reads are the earlier side of their races. Of two writes either may come first.
    let is_read = |pair: (u32, u32)| pair.0.min(pair.1).is_multiple_of(writers as u32 + 1);
    let in_order =
        |pair: (u32, u32)| if is_read(pair) { pair } else { (pair.0.min(pair.1), pair.0.max(pair.1)) };
    let found: BTreeSet<_> = races(&checker).into_iter().map(in_order).collect();
    let (mut wanted, mut allowed) = (BTreeSet::new(), BTreeSet::new());
    for (at, round) in rounds.iter().enumerate() {
        for (writer, (words, _)) in round.writes.iter().enumerate() {
            let of_read = common(words, &round.read);
            if !of_read.is_empty() && (writer > 0 || !ordered) {
                // The first launch's write is ordered after the reads, so its record may have replaced
                // theirs.
                let is_replaced = ordered && common(&of_read, &round.writes[0].0) == of_read;
                let pairs = if is_replaced { &mut allowed } else { &mut wanted };
                pairs.insert((site(at, 0), site(at, 1 + writer)));
            }
            let others = (0..writer).filter(|other| !common(words, &round.writes[*other].0).is_empty());
            wanted.extend(others.map(|other| (site(at, 1 + other), site(at, 1 + writer))));
        }
    }
    let lost: Vec<_> = wanted.difference(&found).collect();
    let more: Vec<_> = found.difference(&wanted).filter(|pair| !allowed.contains(pair)).collect();
    assert!(
        lost.is_empty() && more.is_empty(),
        "seed {seed}, {writers} launches: {lost:?} are lost, {more:?} are none"
    );
    let with_reads = wanted.iter().filter(|pair| is_read(**pair)).count();
    assert!(with_reads > ROUNDS / 2 && with_reads < wanted.len(), "{with_reads} of {}", wanted.len());
}

/// A launch that comes after the reads must not meet records of them that another launch makes late.
#[test]
fn launches_that_write_a_page_at_once_and_one_is_after_the_reads() {
    (0..8).for_each(|seed| launches_write_what_one_has_read(seed, true, 2));
}

#[test]
fn launches_that_write_a_page_at_once_beside_the_reads() {
    (10..14).for_each(|seed| launches_write_what_one_has_read(seed, false, 2));
}

#[test]
fn three_launches_that_write_a_page_at_once() {
    (20..24).for_each(|seed| launches_write_what_one_has_read(seed, true, 3));
}
