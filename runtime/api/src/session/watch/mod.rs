//! Host accesses to managed and page-locked memory while an operation may still touch it.
//!
//! The executor runs an operation when it is submitted. On a device it could still run until the
//! host waits for it. So while the program's own code runs and some operation was not waited for,
//! pages are protected ([`trap`]): those of managed memory, and those of page-locked memory that
//! such operations use ([`in_use`]). Each access is compared with the checker's records of the same
//! bytes, and with the bytes of the transfers. A launch that was proved and ran bare has no
//! records: it is repeated for the checker first. Without such operations nothing is protected.
//!
//! A launch whose kernel can reach a fence is left out, and so are transfers before it: the host
//! may have synchronised with it through memory.
//!
//! On a GPU nothing is protected, and the report says so: the driver owns the pages.

mod in_use;
mod trap;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gpurace_check::{HostAccess, Touched, Transfer};
use parking_lot::Mutex;

use crate::backend::memory::MemoryKind;
use crate::backend::module::KernelLaunch;
use crate::host::limits::PAGE;
use crate::host::stack::Callers;
use crate::session::Session;
use crate::session::watch::in_use::InUse;

/// Number of the first site of a host access.
pub const FIRST_SITE: u32 = 3 << 30;

/// Most pages of page-locked memory that are protected in a run, each time counted. A page takes some 70 ns.
const MOST_PAGES: usize = 1 << 22;

/// What is known of the host's accesses.
#[derive(Default)]
pub struct Watch {
    /// [`trap::ready`] has succeeded, and its conditions cannot have changed since.
    checked: AtomicBool,
    /// The last call of [`trap::ready`] has failed.
    unusable: AtomicBool,
    /// The end of the program has begun.
    stopped: AtomicBool,
    /// The call stacks of the host's accesses so far, by site.
    host_accesses: Mutex<Vec<Callers>>,
    /// Locked while the protection starts or ends, and while noted accesses are taken.
    turn: Mutex<()>,
    in_use: Mutex<InUse>,
    /// Pages of page-locked memory that were protected so far.
    protected: AtomicUsize,
}

/// True if a site is a host access.
pub const fn is_site(site: u32) -> bool {
    site >= FIRST_SITE
}

impl Watch {
    /// The calls that led to the host access with this site.
    pub fn callers(&self, site: u32) -> Option<Callers> {
        self.host_accesses.lock().get(site.checked_sub(FIRST_SITE)? as usize).copied()
    }

    fn site_of(&self, callers: Callers) -> u32 {
        let mut places = self.host_accesses.lock();
        let known = places.iter().position(|&place| place == callers);
        let at = known.unwrap_or_else(|| {
            places.push(callers);
            places.len() - 1
        });
        FIRST_SITE + at as u32
    }

    /// Forgets bytes that were freed.
    pub fn forget(&self, freed: &Range<usize>) {
        self.in_use.lock().forget(freed);
    }

    /// Ends the protection for good: the program ends, or a signal has come.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        trap::stop();
    }
}

/// Ends the protection when the program calls the library, and checks the accesses that the program
/// has made.
pub fn pause(session: &Session) {
    if !session.program.has_host_visible() {
        return;
    }
    let (events, gave_up) = {
        let _turn = session.watch.turn.lock();
        if !trap::is_on() {
            session.watch.checked.store(false, Ordering::Relaxed);
        }
        trap::stop();
        trap::take_events()
    };
    if events.is_empty() && !gave_up {
        return;
    }
    let accesses = events.iter().map(|event| HostAccess {
        address: event.address,
        writes: event.write,
        site: session.watch.site_of(event.callers),
    });
    let accesses: Vec<HostAccess> = accesses.collect();
    session.repeat_for_host(&accesses);
    session.ask_reserves(&accesses);
    session.host_accesses(&accesses);
    if gave_up && events.len() >= trap::MOST_EVENTS {
        session.note_once(format!(
            "more than {} accesses by the host to memory of an operation that it has not waited for: the rest not looked at",
            trap::MOST_EVENTS
        ));
    }
}

/// Protects the pages when a call of the program returns.
pub fn resume(session: &Session) {
    let (program, watch) = (&session.program, &session.watch);
    if !program.has_host_visible() || watch.stopped.load(Ordering::Relaxed) || trap::is_on() {
        return;
    }
    let unwaited = session.order.lock().unwaited();
    session.end_reserves(&unwaited);
    let (page_locked, any_transfer) = {
        let mut in_use = watch.in_use.lock();
        in_use.retain(&unwaited);
        (in_use.pages(), in_use.transfers().next().is_some())
    };
    let pages = || program.managed().chain(page_locked.iter().cloned());
    if unwaited.is_empty() || pages().next().is_none() {
        return;
    }
    if program.backend.if_chosen().is_some_and(|backend| backend.own_checker().is_some()) {
        // The driver moves pages to where they are accessed.
        return session.note_once(
            "accesses by the host to memory of an operation that it has not waited for not looked at on the GPU: run with `device=cpu`".to_owned(),
        );
    }
    // Without checked launches there are no records to compare with.
    if !any_transfer && !session.has_checker() {
        return;
    }
    let _turn = watch.turn.lock();
    if !watch.checked.load(Ordering::Relaxed) {
        let ready = trap::ready(session.backend().worker_threads() + session.idle_threads());
        watch.unusable.store(ready.is_err(), Ordering::Relaxed);
        if let Err(why) = ready {
            return session.note_once(format!(
                "accesses by the host to managed and page-locked memory not looked at: {why}"
            ));
        }
        watch.checked.store(true, Ordering::Relaxed);
    }
    let count = page_locked.iter().map(|pages| pages.len() / PAGE).sum();
    if watch.protected.fetch_add(count, Ordering::Relaxed) <= MOST_PAGES {
        return trap::start(pages());
    }
    session.note_once(
        "later accesses by the host to page-locked memory not looked at: to watch so much of it takes too long"
            .to_owned(),
    );
    if program.managed().next().is_some() {
        trap::start(program.managed());
    }
}

/// Adds a launch. True if the host may access the same memory as the launch. A proof does not cover the host. So such a
/// launch is checked, or when the host does: then it is repeated, or a child checks it.
pub fn add_launch(session: &Session, operation: u64, launch: &KernelLaunch<'_>) -> bool {
    let program = &session.program;
    if !program.has_host_visible() || session.watch.unusable.load(Ordering::Relaxed) {
        return false;
    }
    let words = launch.args.iter().flat_map(|&pair| [pair as usize, (pair >> 64) as usize]);
    let mut is_met = program.modules.has_managed();
    let mut page_locked = Vec::new();
    for found in words.filter_map(|word| program.allocations.find(word)) {
        is_met |= found.kind.is_host_visible();
        if found.kind == MemoryKind::Host {
            page_locked.push(found.address..found.address + found.size);
        }
    }
    if !page_locked.is_empty() {
        session.watch.in_use.lock().add_launch(operation, page_locked);
    }
    // The host's accesses are not compared with a kernel that may tell it of its own by fences.
    !launch.kernel.meta().sync.fences && (is_met || session.prover.may_be_met_by_host(program, launch))
}

/// Adds a transfer for which the host does not wait.
pub fn add_transfer(session: &Session, transfer: Transfer, touched: &[Touched]) {
    let program = &session.program;
    if !program.has_host_visible() || session.watch.unusable.load(Ordering::Relaxed) {
        return;
    }
    let kind = |touched: &Touched| program.memory_at(touched.bytes.start).map(|(kind, _)| kind);
    let is_visible = |touched: &&Touched| kind(touched).is_some_and(MemoryKind::is_host_visible);
    let touched: Vec<_> = touched.iter().filter(is_visible).cloned().collect();
    if !touched.is_empty() {
        let is_page_locked = |touched: &Touched| kind(touched) == Some(MemoryKind::Host);
        session.watch.in_use.lock().add_transfer(transfer, touched, is_page_locked);
    }
}

/// The transfers after operation `told` that the host has not waited for, and their bytes in host-visible memory.
pub fn transfers(session: &Session, told: u64) -> Vec<(Transfer, Vec<Touched>)> {
    let in_use = session.watch.in_use.lock();
    in_use.transfers().filter(|(transfer, _)| transfer.id > told).cloned().collect()
}
