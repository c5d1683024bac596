//! The warps of a block: masks of their lanes by state, and the collectives that lanes wait in.

use gpurace_abi::context::{WARP_SIZE, lanes_of_warp};

use crate::collective::{Collective, Operand, lanes};

/// Lanes that wait in one collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) kind: Collective,
    /// The lanes that it is for.
    pub(crate) mask: u32,
    /// Those that have come.
    pub(crate) arrived: u32,
}

/// One warp. Lanes in no mask wait, or have exited.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    /// Lanes that have not exited.
    live: u32,
    ready: u32,
    yielded: u32,
    asking: u32,
    groups: Vec<Group>,
    operands: [Operand; 32],
}

impl Warp {
    /// The lanes that are ready.
    pub(crate) fn ready(&self) -> u32 {
        self.ready
    }

    /// Takes a lane from the ready ones: it runs.
    pub(crate) fn take(&mut self, lane: u32) {
        self.ready &= !(1 << lane);
    }

    /// The lanes that asked which lanes are active.
    pub(crate) fn asking(&self) -> u32 {
        self.asking
    }

    /// Notes that a lane asked which lanes are active.
    pub(crate) fn ask(&mut self, lane: u32) {
        self.asking |= 1 << lane;
    }

    /// Lets a lane join a collective with its operand. Returns the mask of all lanes that have
    /// come if the collective is complete.
    pub(crate) fn join(&mut self, kind: Collective, mask: u32, lane: u32, operand: Operand) -> Option<u32> {
        let bit = 1 << lane;
        self.operands[lane as usize] = operand;
        let wanted = mask & self.live;
        let Some(i) = self.groups.iter().position(|g| g.kind == kind && g.mask == mask) else {
            if wanted == bit {
                return Some(bit);
            }
            self.groups.push(Group { kind, mask, arrived: bit });
            return None;
        };
        self.groups[i].arrived |= bit;
        let arrived = self.groups[i].arrived;
        let is_complete = wanted & !arrived == 0;
        if is_complete {
            self.groups.swap_remove(i);
        }
        is_complete.then_some(arrived)
    }

    /// Removes and returns a collective that is complete because a lane of its mask has exited.
    pub(crate) fn complete_without(&mut self, exited: u32) -> Option<Group> {
        let live = self.live;
        let is_complete = |g: &Group| g.mask >> exited & 1 != 0 && g.mask & live & !g.arrived == 0;
        let i = self.groups.iter().position(is_complete)?;
        Some(self.groups.swap_remove(i))
    }

    /// The operands that the lanes brought to their last collective.
    pub(crate) fn operands(&self) -> &[Operand; 32] {
        &self.operands
    }
}

/// The warps of a block.
#[derive(Debug, Default)]
pub(crate) struct Warps {
    all: Vec<Warp>,
    /// Warps with a lane that is ready.
    ready: u32,
    /// Warps with a lane that yielded.
    yielded: u32,
}

impl Warps {
    /// Makes room for the warps of a block of so many threads.
    pub(super) fn resize(&mut self, threads: u32) {
        self.all.resize_with(threads.div_ceil(WARP_SIZE) as usize, Warp::default);
    }

    /// Makes all lanes ready.
    pub(super) fn start(&mut self, threads: u32) {
        (self.ready, self.yielded) = (0, 0);
        for (w, warp) in self.all.iter_mut().enumerate() {
            warp.live = lanes_of_warp(threads, w as u32);
            warp.ready = warp.live;
            (warp.yielded, warp.asking) = (0, 0);
            warp.groups.clear();
            self.ready |= 1 << w;
        }
    }

    /// Forgets all lanes that may run.
    pub(super) fn abandon(&mut self) {
        (self.ready, self.yielded) = (0, 0);
    }

    /// The number of warps.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Warp `w`.
    pub(crate) fn warp(&mut self, w: usize) -> &mut Warp {
        &mut self.all[w]
    }

    /// The live lanes of each warp.
    pub(crate) fn live(&self) -> impl Iterator<Item = u32> {
        self.all.iter().map(|warp| warp.live)
    }

    /// The warps with a lane that is ready.
    pub(crate) fn ready(&self) -> u32 {
        self.ready
    }

    /// True if a lane can run in this round or the next.
    pub(crate) fn can_go_on(&self) -> bool {
        self.ready | self.yielded != 0
    }

    /// Makes lanes of a warp ready.
    pub(crate) fn wake(&mut self, w: usize, mask: u32) {
        self.all[w].ready |= mask;
        self.ready |= 1 << w;
    }

    /// Takes a lane, which runs, from the ready ones again: it continues without a switch.
    pub(crate) fn continue_running(&mut self, w: usize, lane: u32) {
        self.all[w].take(lane);
        self.leave(w);
    }

    /// Takes a warp without ready lanes from the ready ones.
    pub(crate) fn leave(&mut self, w: usize) {
        if self.all[w].ready == 0 {
            self.ready &= !(1 << w);
        }
    }

    /// Notes that a lane gave way until the next round.
    pub(crate) fn yield_lane(&mut self, w: usize, lane: u32) {
        self.all[w].yielded |= 1 << lane;
        self.yielded |= 1 << w;
    }

    /// Begins the next round: lanes that gave way are ready. Returns false if there are none.
    pub(crate) fn next_round(&mut self) -> bool {
        self.ready = std::mem::take(&mut self.yielded);
        for w in lanes(self.ready) {
            let warp = &mut self.all[w];
            warp.ready |= std::mem::take(&mut warp.yielded);
        }
        self.ready != 0
    }

    /// Takes the lanes of a warp that asked which lanes are active, and makes them ready.
    pub(crate) fn take_asking(&mut self, w: usize) -> u32 {
        let asking = std::mem::take(&mut self.all[w].asking);
        self.wake(w, asking);
        asking
    }

    /// Notes that a lane has exited.
    pub(super) fn retire(&mut self, w: usize, lane: u32) {
        self.all[w].live &= !(1 << lane);
    }
}
