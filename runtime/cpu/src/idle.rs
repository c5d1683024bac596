//! The blocks that no launch uses: their memory serves later launches, of any worker.

use std::io;

use parking_lot::Mutex;

use crate::block::Block;
use crate::stack::Slab;

/// The blocks of an executor that are bound to no launch.
///
/// Linux bounds the mappings of a process, and each stack takes two. Therefore all blocks share one
/// budget, whatever the number of workers: idle blocks give way to new ones.
pub(crate) struct IdleBlocks {
    /// Stacks that all blocks may have together before idle ones are freed.
    budget: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// The block that is idle for longest comes first.
    blocks: Vec<*mut Block>,
    /// Stacks of all blocks, bound ones included.
    stacks: usize,
}

// SAFETY: an idle block belongs to no OS thread, and none of its fibers is suspended.
unsafe impl Send for Held {}

impl Held {
    /// Frees the blocks that are idle for longest, until `stacks` more stacks are within `budget`.
    fn make_room(&mut self, stacks: usize, budget: usize) {
        let mut freed = 0;
        while freed < self.blocks.len() && self.stacks.saturating_add(stacks) > budget {
            // SAFETY: the block came from `Box::into_raw`, and is dropped from the list below.
            let block = unsafe { Box::from_raw(self.blocks[freed]) };
            self.stacks -= block.memory.slab().stacks();
            freed += 1;
        }
        self.blocks.drain(..freed);
    }
}

impl IdleBlocks {
    /// No blocks yet. `budget`: the stacks that all blocks may have together before idle ones are
    /// freed.
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, held: Mutex::default() }
    }

    /// A block with this number of stacks, this size of each, and this much shared memory. The caller gives it back to
    /// [`Self::keep`].
    ///
    /// # Errors
    /// If the system has no memory or no mappings for it, even after all idle blocks are freed.
    pub(crate) fn take(
        &self,
        stacks: usize,
        stack_bytes: usize,
        shared_bytes: usize,
    ) -> io::Result<*mut Block> {
        let mut held = self.held.lock();
        // SAFETY: idle blocks are live.
        let fits = |&b: &*mut Block| unsafe { (*b).memory.slab().serves(stacks, stack_bytes, shared_bytes) };
        // The block that came back last has most of its memory in the caches.
        if let Some(i) = held.blocks.iter().rposition(fits) {
            // SAFETY: as above; nobody uses the block's memory.
            unsafe { (*held.blocks[i]).memory.open_shared(shared_bytes)? };
            return Ok(held.blocks.remove(i));
        }
        held.make_room(Slab::stacks_for(stacks), self.budget);
        let mut slab = Slab::new(stacks, stack_bytes, shared_bytes).or_else(|_| {
            held.make_room(usize::MAX, 0);
            Slab::new(stacks, stack_bytes, shared_bytes)
        })?;
        // SAFETY: nobody uses the slab.
        unsafe { slab.open_shared(shared_bytes)? };
        held.stacks += slab.stacks();
        Ok(Box::into_raw(Block::new(slab)))
    }

    /// Takes blocks back. They come from [`Self::take`] and are bound to no launch.
    pub(crate) fn keep(&self, mut blocks: Vec<*mut Block>) {
        self.held.lock().blocks.append(&mut blocks);
    }
}

impl Drop for IdleBlocks {
    fn drop(&mut self) {
        self.held.get_mut().make_room(usize::MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 16 << 10;

    fn stacks(idle: &IdleBlocks) -> usize {
        idle.held.lock().stacks
    }

    #[test]
    fn a_block_that_came_back_serves_again() {
        let idle = IdleBlocks::new(100);
        let first = idle.take(32, BYTES, 0).expect("memory");
        idle.keep(vec![first]);
        assert_eq!(idle.take(20, BYTES, 0).expect("memory"), first);
        let second = idle.take(20, BYTES, 0).expect("memory");
        assert_ne!(second, first);
        assert_eq!(stacks(&idle), 64);
        idle.keep(vec![first, second]);
    }

    #[test]
    fn idle_blocks_give_way_to_new_ones() {
        let idle = IdleBlocks::new(100);
        let small = [0; 3].map(|_| idle.take(32, BYTES, 0).expect("memory"));
        idle.keep(small.to_vec());
        let large = idle.take(64, BYTES, 0).expect("memory");
        assert_eq!((stacks(&idle), idle.held.lock().blocks.as_slice()), (96, &small[2..]));
        // Blocks in use stay, beyond the budget too.
        let larger = idle.take(128, BYTES, 0).expect("memory");
        assert_eq!((stacks(&idle), idle.held.lock().blocks.len()), (192, 0));
        idle.keep(vec![large, larger]);
    }
}
