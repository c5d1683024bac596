//! Cells of launches: memory on the device where a launch's blocks find what the host says of it, and leave what they count.
//!
//! A cell serves another launch once its own is over, which its last block says there. The host reads the cells back on its own stream, so that it waits for no
//! kernel; where launches are under way in all of them, it makes more.

use std::collections::BTreeMap;
use std::mem::size_of;

use gpurace_abi::device::LaunchCell;

use crate::driver::{self, Address, Device, Result};

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
    /// Of launches that are over: number and checks.
    checks: Vec<(u64, u64)>,
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

    /// A cell for a launch that looks at this table of ranges: where it lies, and [`LaunchCell::turn`].
    ///
    /// # Errors
    /// The driver's.
    pub fn take(&mut self, device: &Device, table: Address) -> Result<(Address, u64)> {
        if self.free.is_empty() {
            self.give_back(device)?;
            // Reading them back for a few would cost each launch much.
            if self.free.len() < CHUNK / 8 {
                self.make(device)?;
            }
        }
        let Some(cell) = self.free.pop() else { return Err(driver::Error::not_supported("cuMemAlloc")) };
        self.turn += 1;
        self.in_use.insert(cell, Use { turn: self.turn, table });
        Ok((cell, self.turn))
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
            self.checks.extend(begun.iter().filter(|(_, of, cell)| cell.turn == of.turn).map(|(.., cell)| (cell.number, cell.checks)));
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
            let bytes = unsafe { std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast::<u8>(), size_of_val(&cells[..])) };
            device.read(bytes, chunk)?;
            let of_chunk = self.in_use.range(chunk..chunk + size_of_val(&cells[..]) as u64);
            found.extend(of_chunk.map(|(&address, &of)| (address, of, cells[(address - chunk) as usize / size_of::<LaunchCell>()])));
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
