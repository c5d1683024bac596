//! Words of memory as arguments of a launch: `p->width`, `p->data`, the value of a device variable, `rows[blockIdx.x]`.
//!
//! # The rule
//! If a launch does not change a word, each load of it yields what lies there before the launch. [`as_arguments`]
//! returns the kernel's protocol with such words as parameters, in place of values and pointers that it leaves open.
//! That protocol describes only launches for which [`is_unchanged`] holds.
//!
//! The words of the launch serve to show that it does not change them. This is no circle: up to the first change of a
//! word, all loads yield what lay there before the launch. So that change's address is one that follows from these
//! words.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::arguments;
use crate::condition::ConditionTest;
use crate::constants::with_values;
use crate::contents::may_touch_global;
use crate::expr::{BinOp, Expr, ExprId, OpaqueId, ParamId, Width};
use crate::launch::Launch;
use crate::place::Place;
use crate::protocol::{ObjectId, ObjectKind, Op, Param, Protocol, SiteId, Space};
use crate::range::{Range, Ranges};

/// An object whose words lie in the argument buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedFrom {
    /// The object.
    pub object: ObjectId,
    /// The slots for its pointers at places that threads compute.
    pub slots: Vec<ObjectId>,
}

/// The most objects that words lie in.
const MOST_OBJECTS: usize = 64;
/// Where the words of the first object lie in the argument buffer: behind all variables in constant memory.
const FIRST: u32 = 1 << 31;
/// From the words of one object to those of the next.
const APART: u32 = 1 << 20;

/// Where the words of the object with this index in [`Protocol::loaded`] lie in the argument buffer.
fn start(index: usize) -> u32 {
    FIRST + index as u32 * APART
}

impl Protocol {
    /// The object whose word lies at a place of the argument buffer, and the word's distance from the object's base.
    pub fn loaded_at(&self, offset: u32) -> Option<(ObjectId, u32)> {
        let behind = offset.checked_sub(FIRST)?;
        Some((self.loaded.get((behind / APART) as usize)?.object, behind % APART))
    }
}

/// The protocol of a kernel for launches that do not change the words that they load. No loop decides where such a word
/// lies, and other loads do only if they are of such words too. `None` if there are no such words.
pub fn as_arguments(protocol: &Protocol) -> Option<Protocol> {
    let places = Place::all(protocol);
    let mut words = Words { made: protocol.clone(), params: HashMap::new() };
    // A pointer may lie behind another one.
    while words.pointers(&places) {}
    let values: HashMap<OpaqueId, ParamId> = (0..protocol.opaques.len())
        .filter_map(|index| {
            let id = OpaqueId(index as u32);
            Some((id, words.value(&places, id)?))
        })
        .collect();
    let mut made = with_values(&words.made, |_, node, exprs, _| match node {
        Expr::Opaque { id, width } => Some(exprs.add(Expr::Param { id: *values.get(&id)?, width })),
        _ => None,
    });
    computed_pointers(&mut made);
    (!made.loaded.is_empty()).then_some(made)
}

/// Makes words parameters.
struct Words {
    made: Protocol,
    /// The parameter of each word: its object, its distance from the object's base, its width, and whether it is a
    /// pointer.
    params: HashMap<(ObjectId, u32, Width, bool), ParamId>,
}

impl Words {
    /// Makes loaded pointers parameters, if the objects that they lie in are known. True if there is a new one.
    fn pointers(&mut self, places: &[Place<'_>]) -> bool {
        let mut more = false;
        for index in 0..self.made.objects.len() {
            let Some(site) = loader(&self.made.objects[index].kind) else { continue };
            let Some((of, offset)) = load(&self.made, places, site, Width::W64) else { continue };
            let Some(id) = self.param(of, offset, Width::W64, true) else { continue };
            self.made.objects[index].kind = ObjectKind::Param(id);
            more = true;
        }
        more
    }

    /// The parameter for an opaque value.
    fn value(&mut self, places: &[Place<'_>], id: OpaqueId) -> Option<ParamId> {
        let opaque = &self.made.opaques[id.0 as usize];
        let width = opaque.width;
        let site = opaque.loaded_by.filter(|_| width != Width::W1)?;
        let (of, offset) = load(&self.made, places, site, width)?;
        self.param(of, offset, width, false)
    }

    /// The parameter for a word.
    fn param(&mut self, of: ObjectId, offset: ExprId, width: Width, pointer: bool) -> Option<ParamId> {
        let at = u32::try_from(self.made.exprs.as_const(offset)?).ok()?;
        if at + width.bits() / 8 > APART {
            return None;
        }
        let known = self.params.get(&(of, at, width, pointer));
        if let Some(known) = known {
            return Some(*known);
        }
        let first = start(region(&mut self.made, of)?);
        let id = ParamId(self.made.params.len() as u32);
        let name = format!("{}+{at}", self.made.objects[of.0 as usize].name);
        self.made.params.push(Param { name, width, offset: first + at, pointer });
        self.params.insert((of, at, width, pointer), id);
        Some(id)
    }
}

/// Makes slots of loaded pointers whose places depend on the thread and the launch alone.
fn computed_pointers(protocol: &mut Protocol) {
    let read = protocol.clone();
    let places = Place::all(&read);
    for index in 0..protocol.objects.len() {
        let Some(site) = loader(&protocol.objects[index].kind) else { continue };
        let Some((of, offset)) = load(protocol, &places, site, Width::W64) else { continue };
        // A thread may use a pointer in another iteration than that of the load.
        if protocol.exprs.as_const(offset).is_some() || protocol.exprs.mentions(offset, Expr::may_change) {
            continue;
        }
        let Some(region) = region(protocol, of) else { continue };
        protocol.loaded[region].slots.push(ObjectId(index as u32));
        let first = protocol.exprs.c64(start(region).into());
        let at = protocol.exprs.add(Expr::Bin(BinOp::Add, offset, first));
        protocol.objects[index].kind = ObjectKind::Slot { at };
    }
}

/// The load that yields a pointer to global memory that the protocol leaves open.
fn loader(kind: &ObjectKind) -> Option<SiteId> {
    match kind {
        ObjectKind::Opaque { space: Space::Global | Space::Generic, loaded_by, .. } => *loaded_by,
        _ => None,
    }
}

/// The object and the offset that a site loads a word from, if it is one plain load from known memory.
fn load(protocol: &Protocol, places: &[Place<'_>], site: SiteId, width: Width) -> Option<(ObjectId, ExprId)> {
    let access = Place::only(places, site)?.access;
    let kind = &protocol.objects.get(access.object.0 as usize)?.kind;
    (access.op == Op::Read
        && matches!(kind, ObjectKind::Param(_) | ObjectKind::Variable { .. })
        && protocol.exprs.as_const(access.size) == Some(u64::from(width.bits() / 8)))
    .then_some((access.object, access.offset))
}

/// The index of an object in [`Protocol::loaded`]. `None` if there are too many objects.
fn region(protocol: &mut Protocol, object: ObjectId) -> Option<usize> {
    let known = protocol.loaded.iter().position(|known| known.object == object);
    if known.is_none() && protocol.loaded.len() < MOST_OBJECTS {
        protocol.loaded.push(LoadedFrom { object, slots: Vec::new() });
        return Some(protocol.loaded.len() - 1);
    }
    known
}

/// True if a launch knows all words of the parameters, and changes none of the words that it knows.
pub fn is_unchanged(protocol: &Protocol, launch: &Launch) -> bool {
    if launch.params.len() < protocol.params.len() || may_touch_global(&protocol.body) {
        return false;
    }
    let places = Place::all(protocol);
    let ranges = Ranges::new(protocol, &protocol.exprs, Some(launch));
    let test = ConditionTest::new(protocol, &protocol.exprs, launch, None);
    protocol.loaded.iter().enumerate().all(|(index, of)| {
        // A place beyond the object's part of the buffer holds a word of another object.
        let (first, end) = (i128::from(start(index)), i128::from(start(index) + (APART - 8)));
        let is_within = |place: &Place<'_>| match protocol.objects[place.access.object.0 as usize].kind {
            ObjectKind::Slot { at } => {
                let slots = arguments::reached(&ranges, place, at);
                slots.is_some_and(|all| all.iter().all(|at| (first..=end).contains(at)))
            }
            _ => true,
        };
        let mut through_slots = places.iter().filter(|place| of.slots.contains(&place.access.object));
        let extent = launch.objects.get(of.object.0 as usize).copied().flatten();
        through_slots.all(is_within)
            && named(protocol, launch, index)
                .is_none_or(|bytes| extent.is_some_and(|extent| test.is_unchanged(extent.base, bytes)))
    })
}

/// The bytes that words of an object take, from its base. `None` if there are none.
fn named(protocol: &Protocol, launch: &Launch, index: usize) -> Option<Range> {
    let params = protocol.params.iter().map(|param| (param.offset, param.width));
    let pointers = launch.computed.pointers.iter().map(|(at, _)| (*at, Width::W64));
    let values = launch.computed.values.iter().map(|(at, width, _)| (*at, *width));
    let own = params.chain(pointers).chain(values).filter_map(|(at, width)| {
        let distance = i128::from(at.checked_sub(start(index)).filter(|distance| *distance < APART)?);
        Some(Range::new(distance, distance + i128::from(width.bits() / 8) - 1))
    });
    own.reduce(Range::hull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, Cast, LoopId, VarId};
    use crate::launch::Extent;
    use crate::protocol::{Access, Opaque, Stmt, Uniform, Unknown};

    /// `(*p)->data[tid] = p->n`, where the pointer lies at byte 8 of `p`, and the number at byte 16.
    struct Example {
        protocol: Protocol,
        tid: ExprId,
    }

    const POINTER: SiteId = SiteId(0);
    const NUMBER: SiteId = SiteId(1);

    fn access(site: SiteId, op: Op, object: u32, offset: ExprId, size: ExprId) -> Stmt {
        Stmt::Access(Access { site, op, object: ObjectId(object), offset, size })
    }

    fn example() -> Example {
        let mut protocol = Protocol::default();
        let exprs = &mut protocol.exprs;
        let number = exprs.add(Expr::Opaque { id: OpaqueId(0), width: Width::W32 });
        let (at_pointer, at_number, four, eight) = (exprs.c64(8), exprs.c64(16), exprs.c64(4), exprs.c64(8));
        let tid = exprs.add(Expr::Tid(Axis::X));
        let tid = exprs.add(Expr::Cast(Cast::Zext, Width::W64, tid));
        let own = exprs.add(Expr::Bin(BinOp::Mul, tid, four));
        let wide = exprs.add(Expr::Cast(Cast::Zext, Width::W64, number));
        let to = exprs.add(Expr::Bin(BinOp::Add, own, wide));
        protocol.params = vec![Param { name: "p".into(), width: Width::W64, offset: 0, pointer: true }];
        let loaded =
            ObjectKind::Opaque { space: Space::Generic, uniform: Uniform::Grid, loaded_by: Some(POINTER) };
        protocol.objects = [("p", ObjectKind::Param(ParamId(0))), ("a pointer", loaded)]
            .map(|(name, kind)| crate::protocol::Object { name: name.into(), kind })
            .into();
        protocol.opaques = vec![Opaque {
            what: "a number".into(),
            width: Width::W32,
            uniform: Uniform::Grid,
            loops: Vec::new(),
            range: None,
            loaded_by: Some(NUMBER),
            argument: None,
            last: None,
            ticket: None,
        }];
        protocol.body = vec![
            access(POINTER, Op::Read, 0, at_pointer, eight),
            access(NUMBER, Op::Read, 0, at_number, four),
            access(SiteId(2), Op::Write, 1, to, four),
        ];
        Example { protocol, tid }
    }

    /// The access of a site.
    fn of(example: &mut Example, site: SiteId) -> &mut Access {
        match &mut example.protocol.body[site.0 as usize] {
            Stmt::Access(access) => access,
            _ => unreachable!("the first statements are accesses"),
        }
    }

    #[test]
    fn words_are_parameters() {
        let made = as_arguments(&example().protocol).unwrap();
        assert_eq!(made.loaded, [LoadedFrom { object: ObjectId(0), slots: Vec::new() }]);
        let words: Vec<_> = made.params[1..].iter().map(|word| (word.offset - FIRST, word.pointer)).collect();
        assert_eq!(words, [(8, true), (16, false)]);
        assert_eq!(made.objects[1].kind, ObjectKind::Param(ParamId(1)));
        let Stmt::Access(write) = &made.body[2] else { panic!("{:?}", made.body) };
        let is_open = |node| matches!(node, Expr::Opaque { .. });
        assert!(!made.exprs.mentions(write.offset, is_open), "{made:#?}");
        assert_eq!(made.loaded_at(made.params[2].offset), Some((ObjectId(0), 16)));
        assert_eq!(crate::validate::validate(&made), Ok(()));
    }

    #[test]
    fn a_pointer_lies_behind_another_one_or_at_a_place_of_each_thread() {
        let mut example = example();
        let mut behind = example.protocol.objects[1].clone();
        let ObjectKind::Opaque { loaded_by, .. } = &mut behind.kind else { panic!("{behind:?}") };
        *loaded_by = Some(SiteId(3));
        example.protocol.objects.push(behind);
        let (four, eight, tid) = (example.protocol.exprs.c64(4), example.protocol.exprs.c64(8), example.tid);
        let place = example.protocol.exprs.add(Expr::Bin(BinOp::Mul, tid, eight));
        for (offset, is_slot) in [(eight, false), (place, true)] {
            let mut protocol = example.protocol.clone();
            protocol.body.push(access(SiteId(3), Op::Read, 1, offset, eight));
            protocol.body.push(access(SiteId(4), Op::Write, 2, four, four));
            let made = as_arguments(&protocol).unwrap();
            let objects: Vec<_> = made.loaded.iter().map(|from| from.object).collect();
            assert_eq!(objects, [ObjectId(0), ObjectId(1)]);
            assert_eq!(matches!(made.objects[2].kind, ObjectKind::Slot { .. }), is_slot, "{made:#?}");
            assert_eq!(matches!(made.objects[2].kind, ObjectKind::Param(_)), !is_slot);
        }
    }

    #[test]
    fn other_loads_are_left_open() {
        let words = |change: &dyn Fn(&mut Example)| {
            let mut example = example();
            change(&mut example);
            let made = as_arguments(&example.protocol);
            let kind = made.as_ref().map(|made| made.objects[1].kind.clone());
            let pointer = matches!(kind, Some(ObjectKind::Param(_) | ObjectKind::Slot { .. }));
            let numbers = made.map_or(0, |made| made.params.iter().filter(|param| !param.pointer).count());
            (pointer, numbers == 1)
        };
        assert_eq!(words(&|_| {}), (true, true));
        for site in [POINTER, NUMBER] {
            let others = (site == NUMBER, site == POINTER);
            assert_eq!(words(&|e| of(e, site).op = Op::Volatile { writes: false }), others);
            // Half of the word, or a word that begins before the object.
            for (size, offset) in [(2, 8), (8, -8)] {
                let changed = |e: &mut Example| {
                    let (size, offset) = (e.protocol.exprs.c64(size), e.protocol.exprs.c64(offset));
                    let access = of(e, site);
                    (access.size, access.offset) = (size, offset);
                };
                assert_eq!(words(&changed), others);
            }
            // The word depends on the iteration.
            for node in [Expr::Var { id: VarId(0), width: Width::W64 }, Expr::Iteration(LoopId(0))] {
                let changed = |e: &mut Example| {
                    let offset = e.protocol.exprs.add(node);
                    of(e, site).offset = offset;
                };
                assert_eq!(words(&changed), others);
            }
            // The site is two accesses, of which one may load another word.
            assert_eq!(words(&|e| e.protocol.body.push(e.protocol.body[site.0 as usize].clone())), others);
        }
        // A pointer that lies behind itself, as in a list.
        assert_eq!(words(&|e| of(e, POINTER).object = ObjectId(1)), (false, true));
        let in_shared = |e: &mut Example| {
            let ObjectKind::Opaque { space, .. } = &mut e.protocol.objects[1].kind else { unreachable!() };
            *space = Space::Shared;
        };
        assert_eq!(words(&in_shared), (false, true));
    }

    #[test]
    fn a_launch_that_writes_a_word_changes_it() {
        let made = as_arguments(&example().protocol).unwrap();
        // The struct takes the first 24 bytes of an allocation of 4096.
        let memory = (1u64 << 40, (1 << 40) + 4096);
        let behind = |base| Some(Extent { base, allocation: Some(memory), guard: 0 });
        let launch = |data: u64, number: u64| {
            let mut launch = Launch::default();
            (launch.shape.block, launch.shape.grid) = ([32, 1, 1], [1, 1, 1]);
            launch.params = vec![memory.0, memory.0 + data, number];
            launch.objects = vec![behind(memory.0), behind(memory.0 + data)];
            launch
        };
        let is_unchanged = |data, number| is_unchanged(&made, &launch(data, number));
        assert!(is_unchanged(24, 0) && is_unchanged(20, 0) && is_unchanged(16, 4));
        assert!(!is_unchanged(19, 0) && !is_unchanged(16, 0) && !is_unchanged(8, 0));
        // What lies before the first word, and behind the allocation.
        assert!(!is_unchanged(0, 0) && !is_unchanged(24, 1 << 20));
        // A word is not known, or a statement does what nobody knows.
        let mut unread = launch(24, 0);
        unread.params.pop();
        assert!(!super::is_unchanged(&made, &unread));
        let mut unseen = made.clone();
        let call = Unknown { why: "a call".into(), touches: Some(Space::Generic), syncs: false };
        unseen.body.push(Stmt::Unknown(call));
        assert!(!super::is_unchanged(&unseen, &launch(24, 0)));
    }

    #[test]
    fn pointers_lie_in_their_objects_part_of_the_buffer() {
        let mut example = example();
        let by = example.protocol.exprs.c64(1 << 10);
        let tid = example.tid;
        let place = example.protocol.exprs.add(Expr::Bin(BinOp::Mul, tid, by));
        of(&mut example, POINTER).offset = place;
        let made = as_arguments(&example.protocol).unwrap();
        assert_eq!(made.loaded[0].slots, [ObjectId(1)]);
        let memory = (1u64 << 40, (1 << 40) + (1 << 30));
        let is_unchanged = |threads: u32| {
            let mut launch = Launch::default();
            (launch.shape.block, launch.shape.grid) = ([threads, 1, 1], [1, 1, 1]);
            launch.params = vec![memory.0, 0];
            let data = Extent { base: memory.1 - 8192, allocation: Some(memory), guard: 0 };
            launch.objects = vec![Some(Extent { base: memory.0, ..data }), None];
            let read = |at: u32, _: Width| Some(u64::from(at));
            arguments::read(&made, &mut launch, &read, &|_| data);
            super::is_unchanged(&made, &launch)
        };
        assert!(is_unchanged(1024) && !is_unchanged(1025));
    }
}
