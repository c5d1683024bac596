//! Host accesses to managed memory while a launch may still touch it.
//!
//! The executor runs a launch when it is submitted. On a device the launch could still run until
//! the host waits for it. So while the program's own code runs and some launch was not waited for,
//! the pages of managed memory are protected ([`trap`]). Each access is compared with the checker's
//! records of the same bytes. A launch that was proved and ran bare has none: it is repeated for the checker first.
//! Without a launch, or without managed memory, nothing is protected.
//!
//! A launch whose kernel can reach a fence is left out: the host may have synchronised with it
//! through memory.
//!
//! On a GPU nothing is protected, and the report says so: the driver owns the pages.

mod trap;

use std::sync::atomic::{AtomicBool, Ordering};

use gpurace_check::HostAccess;
use parking_lot::Mutex;

use crate::host::stack::Callers;
use crate::session::Session;

/// Number of the first site of a host access.
pub const FIRST_SITE: u32 = 3 << 30;

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

    /// Ends the protection for good: the program ends, or a signal has come.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        trap::stop();
    }
}

/// Ends the protection when the program calls the library, and checks the accesses that the program
/// has made.
pub fn pause(session: &Session) {
    if !session.program.has_managed() {
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
    session.host_accesses(&accesses);
    if gave_up && events.len() >= trap::MOST_EVENTS {
        session.note_once(format!(
            "more than {} accesses to managed memory by the host beside one launch: the rest not looked at",
            trap::MOST_EVENTS
        ));
    }
}

/// Protects the pages when a call of the program returns.
pub fn resume(session: &Session) {
    let (program, watch) = (&session.program, &session.watch);
    if !program.has_managed()
        || watch.stopped.load(Ordering::Relaxed)
        || trap::is_on()
        || !session.order.lock().host_is_ahead()
    {
        return;
    }
    if program.backend.if_chosen().is_some_and(|backend| backend.own_checker().is_some()) {
        // The driver moves pages to where they are accessed.
        return session.note_once(
            "accesses to managed memory by the host while a launch may touch it not looked at on the GPU: run with `device=cpu`".to_owned(),
        );
    }
    // Without checked operations there are no records to compare with.
    if !session.has_checker() {
        return;
    }
    let _turn = watch.turn.lock();
    if !watch.checked.load(Ordering::Relaxed) {
        let ready = trap::ready(session.backend().worker_threads() + session.idle_threads());
        watch.unusable.store(ready.is_err(), Ordering::Relaxed);
        if let Err(why) = ready {
            return session.note_once(format!("accesses to managed memory by the host not looked at: {why}"));
        }
        watch.checked.store(true, Ordering::Relaxed);
    }
    trap::start(program.managed());
}

/// True if the host may access the same managed memory as a launch with these arguments. A proof does not cover the
/// host. So such a launch is checked, or repeated when the host does.
pub fn may_meet(session: &Session, args: &[u128]) -> bool {
    let program = &session.program;
    if !program.has_managed() || session.watch.unusable.load(Ordering::Relaxed) {
        return false;
    }
    if program.modules.has_managed() {
        return true;
    }
    let managed = program.allocations.managed();
    let words = args.iter().flat_map(|&pair| [pair as usize, (pair >> 64) as usize]);
    words.into_iter().any(|word| managed.iter().any(|range| range.contains(&word)))
}
