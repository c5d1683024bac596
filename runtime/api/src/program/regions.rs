//! The named regions of host code in which the program launches kernels, as tests of a suite.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

thread_local! {
    /// The regions that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<RegionId>> = const { RefCell::new(Vec::new()) };
}

/// A region with those around it. The default is outside of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegionId(u32);

/// The regions of a program, each kept once.
#[derive(Debug, Default)]
pub struct Regions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The region around each, and its name. Region 1 comes first.
    regions: Vec<(RegionId, Arc<str>)>,
    ids: HashMap<(RegionId, Arc<str>), RegionId>,
}

impl Regions {
    /// Enters a region on this thread, inside of those that it is in.
    pub fn enter(&self, name: &str) {
        let around = Self::current();
        let mut known = self.0.lock();
        let key = (around, Arc::from(name));
        let id = match known.ids.get(&key) {
            Some(&id) => id,
            // A report names no region after the last number.
            None => u32::try_from(known.regions.len() + 1).map_or(around, |number| {
                known.regions.push(key.clone());
                known.ids.insert(key, RegionId(number));
                RegionId(number)
            }),
        };
        drop(known);
        // A thread that ends has no regions any more.
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().push(id));
    }

    /// Leaves the innermost region of this thread. Outside of all, it does nothing.
    pub fn leave() {
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().pop());
    }

    /// The innermost region of this thread.
    pub fn current() -> RegionId {
        ENTERED.try_with(|entered| entered.borrow().last().copied()).ok().flatten().unwrap_or_default()
    }

    /// The names of a region and of those around it, the outermost first.
    pub fn names(&self, id: RegionId) -> Vec<String> {
        let known = self.0.lock();
        let entry = |id: RegionId| known.regions.get((id.0 as usize).checked_sub(1)?);
        let inwards = std::iter::successors(entry(id), |(around, _)| entry(*around));
        let mut names: Vec<String> = inwards.map(|(_, name)| name.to_string()).collect();
        names.reverse();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_lie_in_each_other() {
        let regions = Regions::default();
        assert_eq!(regions.names(Regions::current()), Vec::<String>::new());
        regions.enter("outer");
        regions.enter("inner");
        let inner = Regions::current();
        assert_eq!(regions.names(inner), ["outer", "inner"]);
        Regions::leave();
        assert_eq!(regions.names(Regions::current()), ["outer"]);
        // The same names are the same region; another one around makes another.
        regions.enter("inner");
        assert_eq!(Regions::current(), inner);
        Regions::leave();
        Regions::leave();
        regions.enter("inner");
        assert_ne!(Regions::current(), inner);
        assert_eq!(regions.names(Regions::current()), ["inner"]);
        // To leave once too often does no harm.
        Regions::leave();
        Regions::leave();
        assert_eq!(Regions::current(), RegionId::default());
    }

    #[test]
    fn each_thread_has_its_own() {
        let regions = Regions::default();
        regions.enter("here");
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(Regions::current(), RegionId::default()));
        });
        assert_eq!(regions.names(Regions::current()), ["here"]);
        Regions::leave();
    }
}
