//! How far a long run is: launches, checks, proofs and findings so far.
//!
//! On a terminal, one line says so while a kernel runs that takes long, and goes when the kernel ends: the program
//! writes nothing meanwhile. Between short kernels the program may write at any time. Then the thread that launches
//! writes a whole line now and then. It does so without a terminal, too, if the options ask for it. Where nothing is to
//! be shown, no thread runs, and a launch tests one flag.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gpurace_check::{Checker, Launch};
use gpurace_options::{Options, Progress as Wanted};
use gpurace_report::words::plural;
use parking_lot::Mutex;

use super::Session;
use super::counts::stats;
use crate::host::{signals, status_line};

/// Time from the start until something is shown.
const FIRST: Duration = Duration::from_secs(3);
/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(500);
/// A launch that has run for so long has a line that changes in place.
const LONG: Duration = Duration::from_millis(200);
/// Time between whole lines.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// What is shown, and of what.
pub(super) struct Progress {
    is_on: bool,
    /// Standard error is a terminal on which a line can change.
    in_place: bool,
    start: Instant,
    has_thread: AtomicBool,
    /// Nanoseconds from the start to the begin of the launch that runs; 0 for none.
    running_since: AtomicU64,
    /// The checks of launches that run.
    running: Mutex<Vec<Arc<Launch>>>,
    /// A whole line that the next launch is to write.
    line: Mutex<Option<String>>,
    has_line: AtomicBool,
    is_over: AtomicBool,
}

impl Progress {
    pub(super) fn new(options: &Options) -> Self {
        let in_place = options.progress != Wanted::Off
            && std::io::stderr().is_terminal()
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self {
            is_on: options.progress == Wanted::On || in_place,
            in_place,
            start: Instant::now(),
            has_thread: AtomicBool::new(false),
            running_since: AtomicU64::new(0),
            running: Mutex::default(),
            line: Mutex::default(),
            has_line: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// Shows nothing any more. The report comes.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        status_line::erase();
    }

    /// The number of its threads. They hold no lock while the process forks.
    pub(super) fn threads(&self) -> usize {
        usize::from(self.has_thread.load(Ordering::Relaxed))
    }

    /// The time for which a launch has run on the host.
    fn running_for(&self) -> Option<Duration> {
        let since = self.running_since.load(Ordering::SeqCst);
        (since != 0).then(|| self.start.elapsed().saturating_sub(Duration::from_nanos(since)))
    }

    fn may_show(&self) -> bool {
        self.running_since.load(Ordering::SeqCst) != 0 && !self.is_over.load(Ordering::SeqCst)
    }
}

/// A launch that runs on the host, as the progress shows it.
pub struct ShownLaunch(&'static Progress, Option<Arc<Launch>>);

impl Drop for ShownLaunch {
    fn drop(&mut self) {
        let Self(progress, checks) = self;
        progress.running_since.store(0, Ordering::SeqCst);
        status_line::erase();
        if let Some(checks) = checks {
            progress.running.lock().retain(|running| !Arc::ptr_eq(running, checks));
        }
    }
}

impl Session {
    /// A launch begins: shows a line that waits for one, and starts the thread that looks.
    pub fn show_progress(&'static self) {
        let progress = &self.progress;
        if !progress.is_on || progress.is_over.load(Ordering::Relaxed) {
            return;
        }
        if !progress.has_thread.swap(true, Ordering::Relaxed) {
            // SAFETY: the functions stay, as this library does.
            unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
            let thread = std::thread::Builder::new().name("gpurace-progress".to_owned());
            // Without a thread nothing is shown.
            let _ = thread.spawn(move || look(self));
        }
        if progress.has_line.swap(false, Ordering::Relaxed)
            && let Some(line) = progress.line.lock().take()
        {
            write_line(&line);
        }
    }

    /// A launch runs on the host until the result is dropped, and the program waits for it.
    pub fn show_launch(&'static self, checks: Option<&Arc<Launch>>) -> Option<ShownLaunch> {
        self.show_progress();
        let progress = &self.progress;
        progress.is_on.then(|| {
            progress.running.lock().extend(checks.cloned());
            let since = progress.start.elapsed().as_nanos() as u64;
            progress.running_since.store(since.max(1), Ordering::SeqCst);
            ShownLaunch(progress, checks.cloned())
        })
    }

    /// The counts so far. `None` if they change just now.
    fn counts_so_far(&self) -> Option<Counts> {
        let state = self.state.try_lock_for(PERIOD / 5)?;
        let stats = stats(&self.program.modules, &state.counts);
        let running: u64 = self.progress.running.lock().iter().map(|launch| launch.checks_so_far()).sum();
        let sites = |of: fn(&gpurace_report::schema::Sites) -> u64| {
            stats.kernels.iter().map(|kernel| of(&kernel.sites)).sum::<u64>()
        };
        Some(Counts {
            launches: stats.launches,
            checks: stats.checks_executed + running,
            accesses: sites(|sites| sites.total),
            proved: sites(|sites| sites.proved + sites.proved_at_launch),
            findings: state.live.findings().len() as u64,
            new_races: (self.checker.get().map_or(0, Checker::race_count) - state.found.len()) as u64,
        })
    }
}

/// What a line says.
#[derive(Default)]
struct Counts {
    launches: u64,
    checks: u64,
    /// Access instructions of the kernels that were launched, and how many of them are proved.
    accesses: u64,
    proved: u64,
    findings: u64,
    /// Races of the launch that runs. Their text comes when it has ended.
    new_races: u64,
}

impl Counts {
    /// The line after `elapsed`, with so many checks per second.
    fn line(&self, elapsed: Duration, rate: u64) -> String {
        let seconds = elapsed.as_secs();
        let time = match seconds / 60 {
            0 => format!("{seconds} s"),
            minutes => format!("{minutes} min {} s", seconds % 60),
        };
        let mut line = format!("gpurace: {time}, {}", plural(self.launches, "launch", "launches"));
        // Blocks that run long tell of their checks at barriers alone.
        if rate > 0 {
            line += &format!(", {} checks/s", short(rate));
        }
        if let Some(share) = (self.proved * 100).checked_div(self.accesses) {
            line += &format!(", {share}% proved");
        }
        line += &format!(", {}", plural(self.findings, "finding", "findings"));
        if self.new_races > 0 {
            line += &format!(", {}", plural(self.new_races, "new race", "new races"));
        }
        line
    }
}

/// A number in at most five characters.
fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}G", number as f64 / 1e9),
    }
}

/// The thread that looks holds locks of the session.
static LOOKS: AtomicBool = AtomicBool::new(false);
/// A thread of the program forks. A child must not find a lock held by a thread that it lacks.
static FORKS: AtomicBool = AtomicBool::new(false);

extern "C" fn before_fork() {
    FORKS.store(true, Ordering::SeqCst);
    while LOOKS.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

extern "C" fn after_fork() {
    FORKS.store(false, Ordering::SeqCst);
}

fn write_line(line: &str) {
    status_line::erase();
    // If standard error is closed, nobody looks.
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Looks now and then how far the run is, and shows it.
fn look(session: &'static Session) {
    // The program's signals are for its own threads.
    signals::block_all();
    let progress = &session.progress;
    std::thread::sleep(FIRST.saturating_sub(progress.start.elapsed()));
    let mut seen = Seen { counts: Counts::default(), at: progress.start, last_line: None };
    while !progress.is_over.load(Ordering::SeqCst) {
        std::thread::sleep(PERIOD);
        LOOKS.store(true, Ordering::SeqCst);
        if !FORKS.load(Ordering::SeqCst) {
            seen.look(session);
        }
        LOOKS.store(false, Ordering::SeqCst);
    }
}

/// What the thread saw when it last looked.
struct Seen {
    counts: Counts,
    at: Instant,
    /// When it last showed something.
    last_line: Option<Instant>,
}

impl Seen {
    /// Shows how far the run is, if it is time to.
    fn look(&mut self, session: &Session) {
        let progress = &session.progress;
        let Some(counts) = session.counts_so_far() else { return };
        let rate = counts.checks.saturating_sub(self.counts.checks) as f64 / self.at.elapsed().as_secs_f64();
        let line = counts.line(progress.start.elapsed(), rate as u64);
        (self.counts, self.at) = (counts, Instant::now());
        let runs_long = progress.running_for().is_some_and(|time| time >= LONG);
        if runs_long && progress.in_place {
            status_line::show(&line, || progress.may_show());
            self.last_line = Some(self.at);
        } else if self.last_line.is_none_or(|last| last.elapsed() >= BETWEEN_LINES) {
            self.last_line = Some(self.at);
            if runs_long && progress.may_show() {
                write_line(&line);
            } else {
                *progress.line.lock() = Some(line);
                progress.has_line.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_all_counts() {
        let counts = Counts { launches: 1, checks: 0, accesses: 7, proved: 3, findings: 2, new_races: 0 };
        assert_eq!(
            counts.line(Duration::from_secs(42), 3_140_000),
            "gpurace: 42 s, 1 launch, 3.1M checks/s, 42% proved, 2 findings"
        );
        let counts = Counts { launches: 12_345, new_races: 1, ..Counts::default() };
        assert_eq!(
            counts.line(Duration::from_secs(200), 0),
            "gpurace: 3 min 20 s, 12345 launches, 0 findings, 1 new race"
        );
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0, 999, 1_000, 1_234_567, 12_345_678_901];
        assert_eq!(numbers.map(short), ["0", "999", "1.0k", "1.2M", "12.3G"]);
    }
}
