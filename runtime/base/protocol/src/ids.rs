//! Maps by ids, and by what consists of them. No stranger chooses the keys, so a multiplication spreads them well
//! enough.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by what holds ids.
pub type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Hashes ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, id: u32) {
        self.write_u64(id.into());
    }

    fn write_isize(&mut self, variant: isize) {
        self.write_u64(variant as u64);
    }

    fn write_u64(&mut self, word: u64) {
        // The high bits of a product depend on all bits of its factors, and the map looks at the low ones too.
        self.0 = (self.0 ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32);
    }
}
