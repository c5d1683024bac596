//! Named regions: the parts of the host program in which it launches kernels, such as a test of a suite.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

thread_local! {
    /// The named regions that this thread is in, the innermost last, and how it entered them.
    static ENTERED: RefCell<Vec<(EnteredBy, NamedRegionId)>> = const { RefCell::new(Vec::new()) };
}

/// How a region was entered. It is left in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnteredBy {
    /// By `gpurace/findings.h`.
    Gpurace,
    /// As a range of this domain of NVTX.
    Nvtx(usize),
}

/// A named region, with those around it. The default is outside of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NamedRegionId(u32);

/// The named regions of a program, each kept once.
#[derive(Debug, Default)]
pub struct NamedRegions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The region around each, and its name. Region 1 comes first.
    regions: Vec<(NamedRegionId, Arc<str>)>,
    ids: HashMap<(NamedRegionId, Arc<str>), NamedRegionId>,
}

impl NamedRegions {
    /// Lets this thread enter a region, inside of those that it is in. Returns how many of these it has entered in the
    /// same way.
    pub fn enter(&self, by: EnteredBy, name: &str) -> usize {
        let id = self.inside(Self::current(), name);
        // A thread that ends has no regions any more.
        let entered = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            entered.push((by, id));
            entered.iter().filter(|(other, _)| *other == by).count() - 1
        });
        entered.unwrap_or_default()
    }

    /// The region with this name inside of another one.
    fn inside(&self, around: NamedRegionId, name: &str) -> NamedRegionId {
        let mut known = self.0.lock();
        let key = (around, Arc::from(name));
        match known.ids.get(&key) {
            Some(&id) => id,
            // Once the numbers are used up, a new region counts as part of the one around it.
            None => u32::try_from(known.regions.len() + 1).map_or(around, |number| {
                known.regions.push(key.clone());
                known.ids.insert(key, NamedRegionId(number));
                NamedRegionId(number)
            }),
        }
    }

    /// Lets this thread leave the innermost region that it has entered in this way. The thread stays in regions inside
    /// of it that were entered in another way. Returns in how many regions, entered in this way, it still is. `None`,
    /// and nothing happens, if it is in none.
    pub fn leave(&self, by: EnteredBy) -> Option<usize> {
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let at = entered.iter().rposition(|(other, _)| *other == by)?;
            let inside: Vec<_> = entered.drain(at..).skip(1).collect();
            for (by, id) in inside {
                let around = entered.last().map(|(_, id)| *id).unwrap_or_default();
                let name = self.names(id).pop().unwrap_or_default();
                entered.push((by, self.inside(around, &name)));
            }
            Some(entered.iter().filter(|(other, _)| *other == by).count())
        });
        left.ok().flatten()
    }

    /// The innermost region of this thread.
    pub fn current() -> NamedRegionId {
        let last = ENTERED.try_with(|entered| entered.borrow().last().map(|(_, id)| *id));
        last.ok().flatten().unwrap_or_default()
    }

    /// The names of a region and of those around it, the outermost first.
    pub fn names(&self, id: NamedRegionId) -> Vec<String> {
        let known = self.0.lock();
        let entry = |id: NamedRegionId| known.regions.get((id.0 as usize).checked_sub(1)?);
        let inwards = std::iter::successors(entry(id), |(around, _)| entry(*around));
        let mut names: Vec<String> = inwards.map(|(_, name)| name.to_string()).collect();
        names.reverse();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::EnteredBy::{Gpurace, Nvtx};
    use super::*;

    #[test]
    fn named_regions_nest() {
        let regions = NamedRegions::default();
        assert_eq!(regions.names(NamedRegions::current()), Vec::<String>::new());
        regions.enter(Gpurace, "outer");
        regions.enter(Gpurace, "inner");
        let inner = NamedRegions::current();
        assert_eq!(regions.names(inner), ["outer", "inner"]);
        regions.leave(Gpurace);
        assert_eq!(regions.names(NamedRegions::current()), ["outer"]);
        // The same names are the same region; another one around makes another.
        regions.enter(Gpurace, "inner");
        assert_eq!(NamedRegions::current(), inner);
        regions.leave(Gpurace);
        regions.leave(Gpurace);
        regions.enter(Gpurace, "inner");
        assert_ne!(NamedRegions::current(), inner);
        assert_eq!(regions.names(NamedRegions::current()), ["inner"]);
        // To leave once too often does no harm.
        assert_eq!(regions.leave(Gpurace), Some(0));
        assert_eq!(regions.leave(Gpurace), None);
        assert_eq!(NamedRegions::current(), NamedRegionId::default());
    }

    #[test]
    fn regions_are_left_as_they_were_entered() {
        let regions = NamedRegions::default();
        assert_eq!(regions.enter(Nvtx(0), "a"), 0);
        assert_eq!(regions.enter(Gpurace, "b"), 0);
        assert_eq!(regions.enter(Nvtx(1), "c"), 0);
        assert_eq!(regions.enter(Nvtx(0), "d"), 1);
        assert_eq!(regions.leave(Nvtx(2)), None);
        assert_eq!(regions.names(NamedRegions::current()), ["a", "b", "c", "d"]);
        // Those inside stay.
        assert_eq!(regions.leave(Gpurace), Some(0));
        assert_eq!(regions.names(NamedRegions::current()), ["a", "c", "d"]);
        assert_eq!(regions.leave(Nvtx(0)), Some(1));
        assert_eq!(regions.leave(Nvtx(0)), Some(0));
        assert_eq!(regions.names(NamedRegions::current()), ["c"]);
        assert_eq!(regions.leave(Nvtx(0)), None);
        assert_eq!(regions.leave(Nvtx(1)), Some(0));
        assert_eq!(NamedRegions::current(), NamedRegionId::default());
    }

    #[test]
    fn each_thread_has_its_own() {
        let regions = NamedRegions::default();
        regions.enter(Gpurace, "here");
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(NamedRegions::current(), NamedRegionId::default()));
        });
        assert_eq!(regions.names(NamedRegions::current()), ["here"]);
        regions.leave(Gpurace);
    }
}
