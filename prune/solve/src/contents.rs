//! Values that a launch loads from memory that it does not change. The runtime has looked at the memory
//! ([`gpurace_protocol::contents`]).
//!
//! # The rule
//! The memory is a function from places to values. If it is sorted, a place further back has no lesser value. If its
//! values are distinct, two places have two values.
//!
//! A query may mention a value that no thread loads. Nothing else is known of it, so it may be the one that the memory
//! holds at its place. The facts say nothing of places outside of the memory that was looked at. A thread that loads
//! there ends the launch. So if a thread loads a value before the access of the query, the value lies within.

use gpurace_protocol::contents::{Choice, Contents, Distinct};
use gpurace_protocol::expr::{LoopId, OpaqueId, Width};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::Place;
use gpurace_protocol::range::{Range, View};

use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// The most values in a query with facts about them.
const MOST: usize = 12;

/// A loaded value that a query mentions.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The opaque value.
    id: OpaqueId,
    /// The thread.
    side: usize,
    /// The iterations of the loops in which the value may change.
    at: Vec<(LoopId, Lin)>,
    /// The first byte, from the object's base.
    place: Lin,
    /// The value, signed.
    value: Lin,
    /// It surely lies in the memory that was looked at.
    within: bool,
}

impl<'a> Encoder<'a> {
    /// Notes a value that is loaded from known contents.
    pub(crate) fn is_loaded(
        &mut self,
        f: &Frame<'a>,
        (id, width): (OpaqueId, Width),
        contents: &Contents,
        value: &Lin,
    ) -> Encoded<()> {
        let protocol = self.setting.protocol;
        let Some(site) = protocol.opaques[id.0 as usize].loaded_by else { return Ok(()) };
        let places = Place::all(protocol);
        let Some(load) = places.iter().find(|place| place.access.site == site) else { return Ok(()) };
        let signed = self.wrapped(value, width, View::Signed)?;
        let (lo, hi) = contents.range;
        let range = Range::new(lo.into(), hi.into());
        if !self.range(&signed).within(range) {
            self.facts.push(Formula::within(&signed, range)?);
        }
        let mut frame = Frame::uncertain(self.setting, f.side, f.iteration.clone());
        let place = self.computed(&mut frame, load.access.offset, View::Signed)?;
        let loops = &protocol.opaques[id.0 as usize].loops;
        let at = f.iteration.iter().filter(|(of, _)| loops.contains(of));
        let at = at.map(|(of, k)| (*of, k.clone())).collect();
        self.seen.loaded.push(Loaded { id, side: f.side, at, place, value: signed, within: false });
        Ok(())
    }

    /// Adds the fact that a thread that makes an access in these iterations has loaded values within the
    /// contents.
    pub(crate) fn loads_within(&mut self, f: &Frame<'a>, access: &Place) -> Encoded<()> {
        let Some(launch) = self.setting.launch else { return Ok(()) };
        let places = Place::all(self.setting.protocol);
        let mut facts = Vec::new();
        for loaded in self.seen.loaded.iter_mut().filter(|loaded| loaded.side == f.side) {
            let site = self.setting.protocol.opaques[loaded.id.0 as usize].loaded_by;
            let load = places.iter().find(|place| Some(place.access.site) == site);
            if load.is_some_and(|load| load.is_made_before(access))
                && loaded.at.iter().all(|(of, k)| f.iteration.get(of) == Some(k))
                && let Some(contents) = launch.contents_of(loaded.id)
            {
                facts.push(is_within(contents, loaded)?);
                loaded.within = true;
            }
        }
        self.facts.extend(facts);
        Ok(())
    }

    /// Returns a distance between bytes of the two threads without the values that both have loaded by the same load,
    /// and the formula that both have loaded equal ones. `None` if there are no such values.
    pub(crate) fn where_loaded_alike(&self, distance: &Lin) -> Encoded<Option<(Formula, Lin)>> {
        let (mut rest, mut alike) = (distance.clone(), Vec::new());
        for (n, x) in self.seen.loaded.iter().enumerate() {
            for y in &self.seen.loaded[..n] {
                let ([(own, 1)], [(other, 1)]) = (&x.value.terms[..], &y.value.terms[..]) else { continue };
                let factor = |atom| rest.terms.iter().find(|(of, _)| of == atom).map_or(0, |(_, c)| *c);
                let c = factor(own);
                if x.id == y.id && own != other && c != 0 && factor(other) == -c {
                    rest = rest.plus(-c, &x.value.minus(&y.value)?)?;
                    alike.push(Formula::eq(&x.value, &y.value)?);
                }
            }
        }
        Ok((!alike.is_empty()).then(|| (Formula::all(alike), rest)))
    }

    /// Adds what is known of the values that the query mentions.
    pub(crate) fn contents_facts(&mut self) -> Encoded<()> {
        let Some(launch) = self.setting.launch else { return Ok(()) };
        let mut facts = Vec::new();
        let loaded = &self.seen.loaded[..self.seen.loaded.len().min(MOST)];
        for (n, x) in loaded.iter().enumerate() {
            for y in &loaded[..n] {
                let Some(contents) = launch.contents_of(x.id).filter(|of| of.loads.contains(&y.id)) else {
                    continue;
                };
                let mut known = Vec::new();
                for (x, y) in [(x, y), (y, x)] {
                    if contents.sorted {
                        let behind = Formula::le(&x.place, &y.place)?;
                        known.push(behind.implies(Formula::le(&x.value, &y.value)?));
                    }
                }
                let (one_place, equal) = (Formula::eq(&x.place, &y.place)?, Formula::eq(&x.value, &y.value)?);
                for Distinct { choices, apart } in &contents.distinct {
                    let mut chosen = Vec::new();
                    for of in [x, y] {
                        for choice in choices {
                            chosen.extend(self.chosen(launch, choice, of)?);
                        }
                    }
                    if chosen.len() == 2 * choices.len() {
                        let apart = i128::from(*apart);
                        let differ =
                            [(x, y), (y, x)].map(|(x, y)| Formula::le(&x.value.shifted(apart)?, &y.value));
                        let [below, above] = differ;
                        let apart = Formula::any([one_place.clone(), below?, above?]);
                        known.push(Formula::all(chosen).implies(apart));
                    }
                }
                if !contents.sorted {
                    known.push(one_place.implies(equal));
                }
                let mut within = Vec::new();
                for of in [x, y].into_iter().filter(|of| !of.within) {
                    within.push(is_within(contents, of)?);
                }
                facts.push(Formula::all(within).implies(Formula::all(known)));
            }
        }
        self.facts.extend(facts);
        Ok(())
    }

    /// The formula that a choice chooses the element of a loaded value. `None` if the query does not mention the value
    /// that decides.
    fn chosen(&self, launch: &Launch, choice: &Choice, of: &Loaded) -> Encoded<Option<Formula>> {
        let by =
            self.seen.loaded.iter().find(|by| (by.id, by.side, &by.at) == (choice.value, of.side, &of.at));
        let (Some(by), Some(contents)) = (by, launch.contents_of(choice.value)) else { return Ok(None) };
        let (lo, hi) = choice.range;
        let inside = Formula::within(&by.value, Range::new(lo.into(), hi.into()))?;
        let decides = if choice.inside { inside } else { inside.negated() };
        // Both are elements at one index, unless their places wrap.
        let size = |id: OpaqueId| i128::from(self.setting.protocol.opaques[id.0 as usize].width.bits() / 8);
        let one_index = Formula::eq(&by.place.times(size(of.id))?, &of.place.times(size(by.id))?)?;
        let within = if by.within { Formula::True } else { is_within(contents, by)? };
        Ok(Some(Formula::all([one_index, within, decides])))
    }
}

/// The formula that a value lies in the memory that was looked at.
fn is_within(contents: &Contents, loaded: &Loaded) -> Encoded<Formula> {
    let (from, to) = contents.bytes;
    Formula::within(&loaded.place, Range::new(from.into(), i128::from(to) - 1))
}
