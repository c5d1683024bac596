//! Host accesses to managed memory while a launch may still touch it.
//!
//! A launch runs as it is submitted, so what happens "during" it is what the
//! host does before it next waits for the launch. Whenever the program is on
//! its own and has not waited for some launch, the pages of managed memory are
//! protected ([`trap`]); each access is looked up in the checker's shadow, which
//! knows who touched the same bytes. Where no launch is waited for, or no memory
//! is managed, nothing is done.
//!
//! A launch whose kernel can reach a fence is left out: the host may have
//! learnt through memory how far the kernel is.
//!
//! On a GPU nothing is protected, and the report says so: managed memory is the driver's there.

mod trap;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gpurace_check::HostAccess;
use parking_lot::Mutex;

use crate::backend::{self, executor};
use crate::call_site::{self, Callers, Position};
use crate::memory;
use crate::modules;
use crate::order::ORDER;
use crate::session;

/// Sites from here on are those of host accesses.
pub const SITE_BASE: u32 = 3 << 30;

/// Managed allocations and variables that there are.
static MANAGED: AtomicUsize = AtomicUsize::new(0);
/// Nothing has happened since [`trap::ready`] that could have changed it.
static CHECKED: AtomicBool = AtomicBool::new(false);
/// The last [`trap::ready`] has failed.
static UNUSABLE: AtomicBool = AtomicBool::new(false);
/// The end of the program has begun.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// The instructions so far that raced, by site.
static PLACES: Mutex<Vec<Callers>> = Mutex::new(Vec::new());

/// Who opens or closes, or takes what was noted.
static TURN: Mutex<()> = Mutex::new(());

/// Managed memory was made.
pub fn managed_made() {
    MANAGED.fetch_add(1, Ordering::Relaxed);
}

/// Managed memory is no more.
pub fn managed_gone() {
    MANAGED.fetch_sub(1, Ordering::Relaxed);
}

/// Whether there is any managed memory.
pub fn is_needed() -> bool {
    MANAGED.load(Ordering::Relaxed) > 0
}

/// Whether a site is a host access.
pub const fn is_site(site: u32) -> bool {
    site >= SITE_BASE
}

/// Where in the host program the access of this site is.
pub fn position(site: u32) -> Option<Position> {
    let place = *PLACES.lock().get(site.checked_sub(SITE_BASE)? as usize)?;
    call_site::position_in_user_code(&place)
}

fn site_of(callers: Callers) -> u32 {
    let mut places = PLACES.lock();
    let known = places.iter().position(|&place| place == callers);
    let at = known.unwrap_or_else(|| {
        places.push(callers);
        places.len() - 1
    });
    SITE_BASE + at as u32
}

/// The program has called: what it accessed until now is looked at.
pub fn pause() {
    if MANAGED.load(Ordering::Relaxed) == 0 {
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

/// The program goes on by itself.
pub fn resume() {
    if MANAGED.load(Ordering::Relaxed) == 0
        || STOPPED.load(Ordering::Relaxed)
        || trap::is_open()
        || !ORDER.lock().host_is_ahead()
    {
        return;
    }
    let Some(session) = session::existing() else { return };
    if backend::chosen().is_some_and(|backend| !backend.checks_on_host()) {
        // Its pages are the driver's, which moves them as they are touched.
        return session.note_once(
            "accesses to managed memory by the host while a launch may touch it not looked at on the GPU: run with `device=cpu`".to_owned(),
        );
    }
    // Nothing to find where nothing was checked.
    if !session.has_checker() {
        return;
    }
    let _turn = TURN.lock();
    if !CHECKED.load(Ordering::Relaxed) {
        let ready = trap::ready(executor::threads());
        UNUSABLE.store(ready.is_err(), Ordering::Relaxed);
        if let Err(why) = ready {
            return session.note_once(format!("accesses to managed memory by the host not looked at: {why}"));
        }
        CHECKED.store(true, Ordering::Relaxed);
    }
    trap::open(managed());
}

/// Whether the host may be found to touch what a launch with these arguments
/// touches. Proofs know nothing of the host, so such a launch is checked.
pub fn may_meet(args: &[u128]) -> bool {
    if MANAGED.load(Ordering::Relaxed) == 0 || UNUSABLE.load(Ordering::Relaxed) {
        return false;
    }
    if !modules::managed().is_empty() {
        return true;
    }
    let managed = memory::map::managed();
    let words = args.iter().flat_map(|&pair| [pair as usize, (pair >> 64) as usize]);
    words.into_iter().any(|word| managed.iter().any(|range| range.contains(&word)))
}

/// The program ends, or a signal has come: nothing is protected any more.
pub fn stop() {
    STOPPED.store(true, Ordering::Relaxed);
    trap::close();
}

fn managed() -> impl Iterator<Item = Range<usize>> {
    let ranges = memory::map::managed();
    ranges.into_iter().chain(modules::managed())
}
