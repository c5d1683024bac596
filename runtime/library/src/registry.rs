//! The handles of a library. What a program holds is a number that no other of its kind ever had.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// A handle as the program holds it. In C it is a pointer or an `int`.
pub type Raw = usize;

/// All that exist of one kind.
pub struct Registry<T, E> {
    /// What exists, and the last number.
    all: Mutex<(BTreeMap<Raw, T>, Raw)>,
    /// The error for a number that is no handle.
    unknown: E,
}

impl<T, E: Copy> Registry<T, E> {
    /// Nothing exists yet. `unknown` is the error for a number that is no handle.
    pub const fn new(unknown: E) -> Self {
        Self { all: Mutex::new((BTreeMap::new(), 0)), unknown }
    }

    /// Adds one.
    pub fn create(&self, value: T) -> Raw {
        let mut all = self.all.lock();
        // Programs may keep flags in the low bits of pointers.
        all.1 += 16;
        let raw = all.1;
        all.0.insert(raw, value);
        raw
    }

    /// A copy of one.
    ///
    /// # Errors
    /// It does not exist.
    pub fn get(&self, raw: Raw) -> Result<T, E>
    where
        T: Clone,
    {
        self.all.lock().0.get(&raw).cloned().ok_or(self.unknown)
    }

    /// Changes one.
    ///
    /// # Errors
    /// It does not exist.
    pub fn change<R>(&self, raw: Raw, body: impl FnOnce(&mut T) -> R) -> Result<R, E> {
        self.all.lock().0.get_mut(&raw).map(body).ok_or(self.unknown)
    }

    /// Removes one and returns it. Operations keep what they need of it.
    ///
    /// # Errors
    /// It does not exist.
    pub fn destroy(&self, raw: Raw) -> Result<T, E> {
        self.all.lock().0.remove(&raw).ok_or(self.unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_lives_until_it_is_destroyed_and_never_comes_back() {
        let all = Registry::new("unknown");
        let (a, b) = (all.create(1), all.create(2));
        assert_eq!(all.change(a, |value| std::mem::replace(value, 3)), Ok(1));
        assert_eq!(all.destroy(a), Ok(3));
        assert_eq!((all.get(a), all.get(b)), (Err("unknown"), Ok(2)));
        assert_eq!(all.destroy(a), Err("unknown"));
        assert_ne!(all.create(4), a);
        assert_eq!(all.get(0), Err("unknown"));
    }
}
