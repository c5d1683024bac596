//! Host accesses to managed memory while a launch may still touch it.
//!
//! The executor runs a launch when it is submitted. On a device the launch could still run until
//! the host waits for it. So while the program's own code runs and some launch was not waited for,
//! the pages of managed memory are protected ([`trap`]). Each access is compared with the checker's
//! records of the same bytes. Without such a launch, or without managed memory, nothing is
//! protected.
//!
//! A launch whose kernel can reach a fence is left out: the host may have synchronised with it
//! through memory.
//!
//! On a GPU nothing is protected, and the report says so: the driver owns the pages.

mod trap;

use std::sync::atomic::{AtomicBool, Ordering};

use gpurace_check::HostAccess;
use parking_lot::Mutex;

use crate::backend;
use crate::host::stack::Callers;
use crate::order::ORDER;
use crate::program::host_lines::{self, HostPosition};
use crate::program::{allocations, managed, modules};
use crate::session;

/// Number of the first site of a host access.
pub const FIRST_SITE: u32 = 3 << 30;

/// [`trap::ready`] has succeeded, and its conditions cannot have changed since.
static CHECKED: AtomicBool = AtomicBool::new(false);
/// The last call of [`trap::ready`] has failed.
static UNUSABLE: AtomicBool = AtomicBool::new(false);
/// The end of the program has begun.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// The call stacks of the host's accesses so far, by site.
static HOST_ACCESSES: Mutex<Vec<Callers>> = Mutex::new(Vec::new());

/// Locked while the pages are protected or opened, and while noted accesses are taken.
static TURN: Mutex<()> = Mutex::new(());

/// True if a site is a host access.
pub const fn is_site(site: u32) -> bool {
    site >= FIRST_SITE
}

/// The position of the host access with this site.
pub fn position(site: u32) -> Option<HostPosition> {
    let place = *HOST_ACCESSES.lock().get(site.checked_sub(FIRST_SITE)? as usize)?;
    host_lines::position_in_user_code(&place)
}

fn site_of(callers: Callers) -> u32 {
    let mut places = HOST_ACCESSES.lock();
    let known = places.iter().position(|&place| place == callers);
    let at = known.unwrap_or_else(|| {
        places.push(callers);
        places.len() - 1
    });
    FIRST_SITE + at as u32
}

/// Opens the pages when the program calls the library, and checks the accesses that it has made.
pub fn pause() {
    if !managed::exists() {
        return;
    }
    let (events, gave_up) = {
        let _turn = TURN.lock();
        if !trap::is_open() {
            CHECKED.store(false, Ordering::Relaxed);
        }
        trap::close();
        trap::take_events()
    };
    if events.is_empty() && !gave_up {
        return;
    }
    let accesses = events.iter().map(|event| HostAccess {
        address: event.address,
        writes: event.write,
        site: site_of(event.callers),
    });
    session::get().host_accesses(accesses);
    if gave_up && events.len() >= trap::MOST_EVENTS {
        session::get().note_once(format!(
            "more than {} accesses to managed memory by the host beside one launch: the rest not looked at",
            trap::MOST_EVENTS
        ));
    }
}

/// Protects the pages when a call of the program returns.
pub fn resume() {
    if !managed::exists()
        || STOPPED.load(Ordering::Relaxed)
        || trap::is_open()
        || !ORDER.lock().host_is_ahead()
    {
        return;
    }
    let Some(session) = session::existing() else { return };
    if backend::chosen().is_some_and(|backend| backend.own_checker().is_some()) {
        // The driver moves pages to where they are accessed.
        return session.note_once(
            "accesses to managed memory by the host while a launch may touch it not looked at on the GPU: run with `device=cpu`".to_owned(),
        );
    }
    // Without checked operations there are no records to compare with.
    if !session.has_checker() {
        return;
    }
    let _turn = TURN.lock();
    if !CHECKED.load(Ordering::Relaxed) {
        let ready = trap::ready(backend::get().worker_threads());
        UNUSABLE.store(ready.is_err(), Ordering::Relaxed);
        if let Err(why) = ready {
            return session.note_once(format!("accesses to managed memory by the host not looked at: {why}"));
        }
        CHECKED.store(true, Ordering::Relaxed);
    }
    trap::open(managed::ranges());
}

/// True if the host may access the same managed memory as a launch with these arguments. A proof
/// does not cover the host, so such a launch is checked.
pub fn may_meet(args: &[u128]) -> bool {
    if !managed::exists() || UNUSABLE.load(Ordering::Relaxed) {
        return false;
    }
    if !modules::managed().is_empty() {
        return true;
    }
    let managed = allocations::managed();
    let words = args.iter().flat_map(|&pair| [pair as usize, (pair >> 64) as usize]);
    words.into_iter().any(|word| managed.iter().any(|range| range.contains(&word)))
}

/// Opens the pages for good: the program ends, or a signal has come.
pub fn stop() {
    STOPPED.store(true, Ordering::Relaxed);
    trap::close();
}
