//! Named regions: the parts of the host program in which it launches kernels, such as a test of a suite.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

thread_local! {
    /// The named regions that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<NamedRegionId>> = const { RefCell::new(Vec::new()) };
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
                known.ids.insert(key, NamedRegionId(number));
                NamedRegionId(number)
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
    pub fn current() -> NamedRegionId {
        ENTERED.try_with(|entered| entered.borrow().last().copied()).ok().flatten().unwrap_or_default()
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
    use super::*;

    #[test]
    fn named_regions_nest() {
        let regions = NamedRegions::default();
        assert_eq!(regions.names(NamedRegions::current()), Vec::<String>::new());
        regions.enter("outer");
        regions.enter("inner");
        let inner = NamedRegions::current();
        assert_eq!(regions.names(inner), ["outer", "inner"]);
        NamedRegions::leave();
        assert_eq!(regions.names(NamedRegions::current()), ["outer"]);
        // The same names are the same region; another one around makes another.
        regions.enter("inner");
        assert_eq!(NamedRegions::current(), inner);
        NamedRegions::leave();
        NamedRegions::leave();
        regions.enter("inner");
        assert_ne!(NamedRegions::current(), inner);
        assert_eq!(regions.names(NamedRegions::current()), ["inner"]);
        // To leave once too often does no harm.
        NamedRegions::leave();
        NamedRegions::leave();
        assert_eq!(NamedRegions::current(), NamedRegionId::default());
    }

    #[test]
    fn each_thread_has_its_own() {
        let regions = NamedRegions::default();
        regions.enter("here");
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(NamedRegions::current(), NamedRegionId::default()));
        });
        assert_eq!(regions.names(NamedRegions::current()), ["here"]);
        NamedRegions::leave();
    }
}
