//! Values that the protocol does not describe: which threads and iterations share one, and which one another
//! thread has handed over.

use gpurace_protocol::expr::{Expr, LoopId, OpaqueId, Width};
use gpurace_protocol::group::Group;
use gpurace_protocol::protocol::Uniform;
use gpurace_protocol::range::{Range, Ranges, View};

use super::{Encoder, FIRST_OF_BLOCK, Frame, Key, MOST_COMPARED};
use crate::linear::{Encoded, Formula, Lin};
use crate::tickets::Drawn;

/// The iterations of a frame's loops, in the order of the loops.
pub(super) fn iterations(f: &Frame, of_loop: impl Fn(LoopId) -> bool) -> Vec<(LoopId, Lin)> {
    let of = f.iteration.iter().filter(|(of, _)| of_loop(**of));
    let mut at: Vec<_> = of.map(|(of, k)| (*of, k.clone())).collect();
    at.sort();
    at
}

impl Key {
    /// The iterations of a value.
    fn at(&self) -> &[(LoopId, Lin)] {
        match self {
            Self::Opaque(_, _, at, _) | Self::Any(_, _, at, _) | Self::Rounds(_, _, at) => at,
            _ => &[],
        }
    }

    /// True if the other key is of the same value, of the same threads, in as many loops.
    fn is_elsewhere(&self, other: &Self) -> bool {
        let same = match (self, other) {
            (Self::Opaque(x, side, _, view), Self::Opaque(y, other_side, _, other_view)) => {
                (x, side, view) == (y, other_side, other_view)
            }
            (Self::Any(x, side, _, view), Self::Any(y, other_side, _, other_view)) => {
                (x, side, view) == (y, other_side, other_view)
            }
            (Self::Rounds(x, side, _), Self::Rounds(y, other_side, _)) => (x, side) == (y, other_side),
            _ => false,
        };
        same && self.at().len() == other.at().len()
    }
}

impl<'a> Encoder<'a> {
    /// Returns the value of an opaque value in the view.
    pub(super) fn opaque(
        &mut self,
        f: &mut Frame<'a>,
        id: OpaqueId,
        width: Width,
        view: View,
    ) -> Encoded<Lin> {
        let id = *self.setting.last.same.get(&id).unwrap_or(&id);
        let Some(opaque) = self.setting.protocol.opaques.get(id.0 as usize) else {
            return Ok(Lin::atom(self.fresh("opaque", view.all(width))));
        };
        self.opaque.insert(opaque.what.clone());
        let side = self.side_of(f, opaque.uniform);
        let at = iterations(f, |of| opaque.loops.contains(&of));
        let mut range = View::Unsigned.all(width);
        // The query may mention a ticket that no thread draws, beside all that threads draw. It needs room.
        if let Some((lo, hi)) = opaque.range.filter(|_| opaque.ticket.is_none()) {
            let said = Range::new(i128::from(lo), i128::from(hi));
            if said.lo <= said.hi && said.within(range) {
                range = said;
            }
        }
        let contents = self.setting.launch.and_then(|launch| launch.contents_of(id));
        if let Some((lo, hi)) = contents.map(|contents| contents.range) {
            let known = Range::new(i128::from(lo), i128::from(hi));
            range = if known.within(range) { known } else { range };
        }
        if let (Some(launch), Some(_)) = (self.setting.launch, opaque.argument)
            && let Some(node) = self.setting.exprs.find(Expr::Opaque { id, width })
        {
            let mut ranges = Ranges::new(self.setting.protocol, self.setting.exprs, Some(launch));
            range = range.meet(ranges.computed(node, View::Unsigned));
        }
        let key = Key::Opaque(id, side, at.clone(), View::Unsigned);
        let (value, is_new) = self.keyed(key.clone(), "opaque", range);
        if is_new {
            self.one_in_one_iteration(key, &value)?;
            if opaque.ticket.is_some() {
                self.seen.drawn.push(Drawn { ticket: id, side, at, value: value.clone() });
                self.is_below_last_number(f, (id, width), &value)?;
            } else {
                self.is_handed(f, id, &value)?;
            }
            if let Some(contents) = contents {
                self.is_loaded(f, (id, width), contents, &value)?;
            }
            if let (Some(launch), Some(place)) = (self.setting.launch, opaque.argument) {
                self.argument_facts(f, launch, place, (width, &value))?;
            }
            if let Some(last) = opaque.last
                && let Ok(fact) = self.is_last_value(f, &opaque.loops, last, &value)
            {
                self.facts.push(fact);
            }
        }
        if view == View::Signed && !range.within(view.all(width)) {
            return self.wrapped(&value, width, view);
        }
        Ok(value)
    }

    /// Returns the number that stands for all threads that share a value with the frame's thread.
    pub(super) fn side_of(&self, f: &Frame, uniform: Uniform) -> usize {
        if uniform >= self.group.uniform() {
            2
        } else if uniform >= Uniform::Block {
            f.side % FIRST_OF_BLOCK
        } else {
            f.side
        }
    }

    /// Adds the facts that a value is one value in one iteration, however the query names the iteration.
    pub(super) fn one_in_one_iteration(&mut self, key: Key, value: &Lin) -> Encoded<()> {
        if key.at().is_empty() {
            return Ok(());
        }
        let mut facts = Vec::new();
        for (other, same) in self.seen.mentioned.iter().filter(|(other, _)| other.is_elsewhere(&key)) {
            let pairs = key.at().iter().zip(other.at());
            if facts.len() < MOST_COMPARED && pairs.clone().all(|((of, _), (other, _))| of == other) {
                let mut together = Vec::new();
                for ((_, k), (_, l)) in pairs {
                    together.push(Formula::eq(k, l)?);
                }
                facts.push(Formula::all(together).implies(Formula::eq(value, same)?));
            }
        }
        self.facts.extend(facts);
        self.seen.mentioned.push((key, value.clone()));
        Ok(())
    }

    /// Adds the fact that a ticket, if the thread draws it, is less than the last number of its counter.
    fn is_below_last_number(
        &mut self,
        f: &Frame<'a>,
        (ticket, width): (OpaqueId, Width),
        value: &Lin,
    ) -> Encoded<()> {
        let Some(below) = self.setting.last.below.get(&ticket) else { return Ok(()) };
        let mut frame = Frame::uncertain(self.setting, f.side, f.iteration.clone());
        let drawn = self.all_decided(&mut frame, &below.guards)?;
        let added = self.computed(&mut frame, below.added, View::Signed)?;
        let last = self.opaque(&mut frame, below.last, width, View::Unsigned)?;
        self.facts.push(drawn.implies(Formula::le(&value.plus(1, &added)?, &last)?));
        Ok(())
    }

    /// Adds the fact that a value is the one that the first thread of the block has stored.
    fn is_handed(&mut self, f: &Frame<'a>, id: OpaqueId, value: &Lin) -> Encoded<()> {
        let all = self.setting.handed.get().map_or(&[][..], Vec::as_slice);
        let Some(handed) = all.iter().find(|handed| handed.value == id) else { return Ok(()) };
        let other_block = self.group == Group::Grid && f.side % FIRST_OF_BLOCK == 1;
        let mut iteration = f.iteration.clone();
        iteration.retain(|of, _| handed.loops.contains(of));
        let side = FIRST_OF_BLOCK + usize::from(other_block);
        let mut first = Frame::uncertain(self.setting, side, iteration);
        let stored = self.computed(&mut first, handed.stored, View::Unsigned)?;
        self.facts.push(Formula::eq(value, &stored)?);
        self.needs.extend(handed.conditions.iter().cloned());
        Ok(())
    }
}
