//! Launch cells: memory on the device in which a launch's blocks find the host's values for it, and
//! leave their counts.
//!
//! When a launch is over, the next launch on its stream marks the cell, and the cell can serve
//! another launch. The host reads the cells back on its own stream, and waits for no kernel. If all
//! cells are in use, it makes more.

use std::collections::{BTreeMap, HashMap};
use std::mem::size_of;

use gpurace_abi::device::LaunchCell;

use crate::driver::queue::Queue;
use crate::driver::{self, Address, Device, Result, Stream};

/// Number of cells that are made together: 320 KB.
const CHUNK: usize = 4096;

/// The launch cells of a context.
#[derive(Debug, Default)]
pub struct Cells {
    /// The start of each chunk of cells.
    chunks: Vec<Address>,
    free: Vec<Address>,
    /// The number of uses so far.
    turn: u64,
    in_use: BTreeMap<Address, CellUse>,
    /// The cell of the last launch on each stream, and its turn.
    last: HashMap<Queue, (Address, u64)>,
    /// Number and checks of launches that are over.
    checks: Vec<(u64, u64)>,
}

/// A cell that a launch takes.
#[derive(Clone, Copy, Debug)]
pub struct TakenCell {
    /// Its address.
    pub cell: Address,
    /// [`LaunchCell::turn`].
    pub turn: u64,
    /// The cell of the last launch on the stream, and its turn.
    pub before: Option<(Address, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct CellUse {
    turn: u64,
    /// The table of ranges that the launch uses.
    table: Address,
}

impl Cells {
    /// Makes the first chunk.
    pub fn new(device: &Device) -> Result<Self> {
        let mut cells = Self::default();
        cells.make(device)?;
        Ok(cells)
    }

    /// Takes a cell for the next launch on a stream, which uses this table of ranges.
    pub fn take(&mut self, device: &Device, table: Address, stream: Stream) -> Result<TakenCell> {
        if self.free.is_empty() {
            self.free_marked(device)?;
            // With few free cells, each launch would read all cells back.
            if self.free.len() < CHUNK / 8 {
                self.make(device)?;
            }
        }
        self.hand_out(table, stream).ok_or_else(|| driver::Error::not_supported("cuMemAlloc"))
    }

    fn hand_out(&mut self, table: Address, stream: Stream) -> Option<TakenCell> {
        let cell = self.free.pop()?;
        self.turn += 1;
        self.in_use.insert(cell, CellUse { turn: self.turn, table });
        let before = self.last.insert(stream.queue(), (cell, self.turn));
        Some(TakenCell { cell, turn: self.turn, before })
    }

    /// Forgets a stream that is destroyed, since another stream may get its handle. The stream's
    /// last launch may still run. No launch marks its cell, which stays in use for ever.
    pub fn forget(&mut self, stream: Stream) {
        self.last.remove(&stream.queue());
    }

    /// True if a launch that may be under way uses this table of ranges.
    pub fn use_table(&self, table: Address) -> bool {
        self.in_use.values().any(|of| of.table == table)
    }

    /// Frees the cells of launches that are over, and notes their checks.
    pub fn free_marked(&mut self, device: &Device) -> Result {
        for (address, of, cell) in self.read(device)? {
            if cell.over == of.turn {
                self.in_use.remove(&address);
                self.free.push(address);
                self.checks.push((cell.number, cell.checks));
            }
        }
        Ok(())
    }

    /// The number of each launch, with the number of its checks. Launches that are not over are
    /// included.
    pub fn take_checks(&mut self, device: &Device) -> Vec<(u64, u64)> {
        // After a fault the device's memory is gone. The checks that were read before stay known.
        if self.free_marked(device).is_ok() {
            let begun = self.read(device).unwrap_or_default();
            self.checks.extend(
                begun
                    .iter()
                    .filter(|(_, of, cell)| cell.turn == of.turn)
                    .map(|(.., cell)| (cell.number, cell.checks)),
            );
        }
        // A launch that is not over keeps its cell.
        self.in_use.clear();
        std::mem::take(&mut self.checks)
    }

    /// The cells in use, with their contents.
    fn read(&self, device: &Device) -> Result<Vec<(Address, CellUse, LaunchCell)>> {
        let mut found = Vec::with_capacity(self.in_use.len());
        let mut cells = vec![LaunchCell::default(); CHUNK];
        for &chunk in &self.chunks {
            // SAFETY: structures of integers without padding. Any bytes are valid.
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

    /// Makes a chunk of cells.
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
    fn a_launch_marks_the_cell_of_the_launch_before_on_its_stream() {
        let mut cells = Cells { free: (1..=9).rev().map(|n| n * 100).collect(), ..Cells::default() };
        let next = |cells: &mut Cells, stream| {
            cells.hand_out(0, stream).map(|taken| (taken.cell, taken.turn, taken.before)).unwrap()
        };
        assert_eq!(next(&mut cells, Stream::DEFAULT), (100, 1, None));
        // Each thread has a default stream of its own.
        assert_eq!(next(&mut cells, Stream::PER_THREAD), (200, 2, None));
        let other =
            std::thread::scope(|scope| scope.spawn(|| next(&mut cells, Stream::PER_THREAD)).join().unwrap());
        assert_eq!(other, (300, 3, None));
        assert_eq!(next(&mut cells, Stream::PER_THREAD), (400, 4, Some((200, 2))));
        assert_eq!(next(&mut cells, Stream::DEFAULT), (500, 5, Some((100, 1))));
        // From here on the handle is that of another stream.
        cells.forget(Stream::DEFAULT);
        assert_eq!(next(&mut cells, Stream::DEFAULT), (600, 6, None));
    }
}
