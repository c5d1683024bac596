//! Cells of launches: memory on the device where a launch's blocks find what the host says of it, and leave what they count.
//!
//! A cell serves another launch once its own is over, which the next launch on its stream says there. The host reads the cells back on its own stream, so that it
//! waits for no kernel; where launches are under way in all of them, it makes more.

use std::collections::{BTreeMap, HashMap};
use std::mem::size_of;

use gpurace_abi::device::LaunchCell;

use crate::driver::queue::Queue;
use crate::driver::{self, Address, Device, Result, Stream};

/// Cells that are made together: 600 KB.
const CHUNK: usize = 4096;

/// All of them.
#[derive(Debug, Default)]
pub struct Cells {
    /// Where each chunk begins.
    chunks: Vec<Address>,
    free: Vec<Address>,
    /// Uses, from 1 on.
    turn: u64,
    in_use: BTreeMap<Address, Use>,
    /// The cell of the last launch on each stream, and its turn.
    last: HashMap<Queue, (Address, u64)>,
    /// Of launches that are over: number and checks.
    checks: Vec<(u64, u64)>,
}

/// A cell for a launch.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Where it lies.
    pub cell: Address,
    /// [`LaunchCell::turn`].
    pub turn: u64,
    /// The cell of the launch before on its stream, and its turn.
    pub before: Option<(Address, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    turn: u64,
    /// The table of ranges that the launch looks at.
    table: Address,
}

impl Cells {
    /// Makes the first ones.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device) -> Result<Self> {
        let mut cells = Self::default();
        cells.make(device)?;
        Ok(cells)
    }

    /// A cell for the next launch on a stream, which looks at this table of ranges.
    ///
    /// # Errors
    /// The driver's.
    pub fn take(&mut self, device: &Device, table: Address, stream: Stream) -> Result<Taken> {
        if self.free.is_empty() {
            self.give_back(device)?;
            // Reading them back for a few would cost each launch much.
            if self.free.len() < CHUNK / 8 {
                self.make(device)?;
            }
        }
        self.hand_out(table, stream).ok_or_else(|| driver::Error::not_supported("cuMemAlloc"))
    }

    fn hand_out(&mut self, table: Address, stream: Stream) -> Option<Taken> {
        let cell = self.free.pop()?;
        self.turn += 1;
        self.in_use.insert(cell, Use { turn: self.turn, table });
        let before = self.last.insert(stream.queue(), (cell, self.turn));
        Some(Taken { cell, turn: self.turn, before })
    }

    /// A stream is destroyed, and another one may get its handle. Its last launch may still run: nobody says that it is over, and its cell stays in use.
    pub fn forget(&mut self, stream: Stream) {
        self.last.remove(&stream.queue());
    }

    /// Whether a launch that may be under way looks at this table of ranges.
    pub fn look_at(&self, table: Address) -> bool {
        self.in_use.values().any(|of| of.table == table)
    }

    /// Notes what launches that are over have checked, and gives their cells back.
    ///
    /// # Errors
    /// The driver's.
    pub fn give_back(&mut self, device: &Device) -> Result {
        for (address, of, cell) in self.read(device)? {
            if cell.over == of.turn {
                self.in_use.remove(&address);
                self.free.push(address);
                self.checks.push((cell.number, cell.checks));
            }
        }
        Ok(())
    }

    /// Launches by number, and the checks that each has made, also of those that are not over; each launch once.
    pub fn take_checks(&mut self, device: &Device) -> Vec<(u64, u64)> {
        // After a fault the device's memory is gone: what was read before stays known.
        if self.give_back(device).is_ok() {
            let begun = self.read(device).unwrap_or_default();
            self.checks.extend(
                begun
                    .iter()
                    .filter(|(_, of, cell)| cell.turn == of.turn)
                    .map(|(.., cell)| (cell.number, cell.checks)),
            );
        }
        // Who is still there keeps his cell.
        self.in_use.clear();
        std::mem::take(&mut self.checks)
    }

    /// The cells in use, and what lies there.
    fn read(&self, device: &Device) -> Result<Vec<(Address, Use, LaunchCell)>> {
        let mut found = Vec::with_capacity(self.in_use.len());
        let mut cells = vec![LaunchCell::default(); CHUNK];
        for &chunk in &self.chunks {
            // SAFETY: structures of integers without padding, any bytes are one.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast::<u8>(), size_of_val(&cells[..]))
            };
            device.read(bytes, chunk)?;
            let of_chunk = self.in_use.range(chunk..chunk + size_of_val(&cells[..]) as u64);
            found.extend(of_chunk.map(|(&address, &of)| {
                (address, of, cells[(address - chunk) as usize / size_of::<LaunchCell>()])
            }));
        }
        Ok(found)
    }

    fn make(&mut self, device: &Device) -> Result {
        let size = (CHUNK * size_of::<LaunchCell>()) as u64;
        let chunk = driver::allocate(size)?;
        device.clear(chunk, size)?;
        self.chunks.push(chunk);
        self.free.extend((0..CHUNK).rev().map(|at| chunk + (at * size_of::<LaunchCell>()) as u64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_on_a_stream_says_that_the_one_before_is_over() {
        let mut cells = Cells { free: (1..=9).rev().map(|n| n * 100).collect(), ..Cells::default() };
        let next = |cells: &mut Cells, stream| {
            cells.hand_out(0, stream).map(|taken| (taken.cell, taken.turn, taken.before)).unwrap()
        };
        assert_eq!(next(&mut cells, Stream::DEFAULT), (100, 1, None));
        // A thread's own default stream is another one in each thread.
        assert_eq!(next(&mut cells, Stream::PER_THREAD), (200, 2, None));
        let other =
            std::thread::scope(|scope| scope.spawn(|| next(&mut cells, Stream::PER_THREAD)).join().unwrap());
        assert_eq!(other, (300, 3, None));
        assert_eq!(next(&mut cells, Stream::PER_THREAD), (400, 4, Some((200, 2))));
        assert_eq!(next(&mut cells, Stream::DEFAULT), (500, 5, Some((100, 1))));
        // The handle is another stream's from now on.
        cells.forget(Stream::DEFAULT);
        assert_eq!(next(&mut cells, Stream::DEFAULT), (600, 6, None));
    }
}
