//! The memory that kernels access through textures and surfaces. The event log of a launch has the
//! handle and the coordinates of each access. This module knows the object of each handle, and
//! finds the texels as the executor does ([`gpurace_abi::texture`]). The texels of an array are at
//! its reserved addresses ([`super::arrays`]).

use std::borrow::Cow;
use std::collections::HashMap;

use gpurace_abi::event::{Event, EventKind, Fetch};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use gpurace_abi::texture::{FetchPoint as Place, SurfaceAccess, TextureObject as Object};

/// The objects of all handles. The driver reuses the handle of a destroyed object, while logs of
/// earlier launches are still to be read.
#[derive(Default)]
pub struct FetchObjects(HashMap<Handle, Vec<KnownObject>>);

/// A handle, and whether it is a texture's: textures and surfaces are numbered apart.
type Handle = (u64, bool);

struct KnownObject {
    object: Object,
    /// The last launch before the object was made. Launches up to this one do not use it.
    made_after: u64,
    /// The last launch before the object was destroyed. `None` if it was not.
    ended_after: Option<u64>,
}

/// Plain reads and writes in place of accesses through textures and surfaces.
struct PlainAccesses {
    events: Vec<Event>,
    /// By thread and block: the third and fourth coordinate of the thread's next access.
    coordinates: HashMap<(u32, u32), [u32; 2]>,
    /// Number of accesses to unknown objects.
    unknown: u64,
}

impl FetchObjects {
    /// Adds an object that was made after a launch.
    pub fn add(&mut self, handle: u64, object: Object, made_after: u64) {
        let is_texture = matches!(object, Object::Texture(_));
        self.0.entry((handle, is_texture)).or_default().push(KnownObject {
            object,
            made_after,
            ended_after: None,
        });
    }

    /// Notes that an object was destroyed after a launch.
    pub fn end(&mut self, handle: u64, is_texture: bool, ended_after: u64) {
        for known in self.0.get_mut(&(handle, is_texture)).into_iter().flatten() {
            known.ended_after.get_or_insert(ended_after);
        }
    }

    /// Forgets the objects that were destroyed before the launch `first`, the first one whose log
    /// is still to be read. `None` if there is none.
    pub fn forget(&mut self, first: Option<u64>) {
        let is_named = |known: &KnownObject| {
            known.ended_after.is_none_or(|last| first.is_some_and(|first| first <= last))
        };
        self.0.retain(|_, all| {
            all.retain(is_named);
            !all.is_empty()
        });
    }

    fn find(&self, handle: Handle, launch: u64) -> Option<&Object> {
        let was_there = |known: &&KnownObject| {
            known.made_after < launch && known.ended_after.is_none_or(|last| launch <= last)
        };
        self.0.get(&handle)?.iter().find(was_there).map(|known| &known.object)
    }

    /// The events of a launch, with plain reads and writes in place of accesses through textures
    /// and surfaces. The number of accesses to unknown objects comes second.
    pub fn accesses<'e>(&self, launch: u64, events: &'e [Event]) -> (Cow<'e, [Event]>, u64) {
        if !events.iter().any(|event| event.fetch().is_some()) {
            return (Cow::Borrowed(events), 0);
        }
        let mut found = PlainAccesses {
            events: Vec::with_capacity(events.len()),
            coordinates: HashMap::new(),
            unknown: 0,
        };
        for event in events {
            found.add(self, launch, event);
        }
        (Cow::Owned(found.events), found.unknown)
    }
}

impl PlainAccesses {
    fn add(&mut self, objects: &FetchObjects, launch: u64, event: &Event) {
        let thread = (event.block, event.thread());
        if event.kind() == Some(EventKind::Coordinates) {
            self.coordinates.insert(thread, [event.address as u32, (event.address >> 32) as u32]);
            return;
        }
        let Some(fetch) = event.fetch() else { return self.events.push(*event) };
        let [third, fourth] = self.coordinates.remove(&thread).unwrap_or_default();
        let place =
            Place { operation: fetch.operation, coordinates: [event.size, event.extra, third, fourth] };
        let object = objects.find((event.address, fetch.kind == EventKind::Fetch), launch);
        let each = |address, size| self.events.push(access(event, fetch.kind, address, size));
        let is_known = object.is_some_and(|object| for_each_texel(object, fetch, place, each));
        self.unknown += u64::from(!is_known);
    }
}

/// Calls `each` with address and size of the bytes of an access. False if they are unknown.
fn for_each_texel(object: &Object, fetch: Fetch, place: Place, mut each: impl FnMut(usize, usize)) -> bool {
    match object {
        Object::Texture(texture) => {
            let Some(plan) = texture.plan(place) else { return false };
            plan.reads().iter().for_each(|&address| each(address, texture.texels.format.bytes()));
        }
        Object::Surface(texels) => {
            let size = fetch.size as usize;
            match texels.surface_access(place, size) {
                SurfaceAccess::At(address) => each(address, size),
                // The access has no effect, or ends the launch.
                SurfaceAccess::Nowhere | SurfaceAccess::Outside => {}
                SurfaceAccess::NoSurface => return false,
            }
        }
    }
    true
}

/// The plain access at an address in place of an event.
fn access(event: &Event, kind: EventKind, address: usize, size: usize) -> Event {
    let kind = if kind == EventKind::SurfaceWrite { EventKind::Write } else { EventKind::Read };
    let what = Event::pack(event.thread(), kind, AtomicKind::Load, Scope::Block, Order::Relaxed, false);
    Event { address: address as u64, what, size: size as u32, extra: 0, ..*event }
}

#[cfg(test)]
mod tests {
    use gpurace_abi::meta::SyncFeatures;
    use gpurace_abi::texture::{
        AddressMode, ComponentKind as Kind, MOST_TEXELS, TexelFormat as Format, Texels, Texture,
    };
    use gpurace_check::KernelKey;
    use gpurace_check::replay::{Logged, Replay};
    use gpurace_cpu::texture;
    use gpurace_random::Random;

    use super::*;

    const MEMORY: usize = 0x7f00_0000_0000;
    const HANDLE: u64 = 17;
    const LAUNCH: u64 = 5;
    /// Numbers of geometries: of one, two and three dimensions, layers of two.
    const ONE_D: u32 = 0;
    const THREE_D: u32 = 2;
    const LAYERS: u32 = 4;
    const INTEGER: u32 = 1 << 8;

    fn texels(size: [usize; 3], components: usize, bits: u32) -> Texels {
        let format = Format { components, bits, kind: if bits == 32 { Kind::Float } else { Kind::Unsigned } };
        Texels { address: MEMORY, size, pitch: size[0] * format.bytes(), format }
    }

    fn texture(texels: Texels, linear: bool) -> Texture {
        Texture {
            texels,
            address_modes: [AddressMode::Clamp; 3],
            linear,
            normalized_float: false,
            normalized_coordinates: false,
            srgb: false,
            border: [0.0; 4],
        }
    }

    fn known(object: Object) -> FetchObjects {
        let mut objects = FetchObjects::default();
        objects.add(HANDLE, object, 0);
        objects
    }

    /// The events that a thread of the first block logs for an access.
    fn logged(thread: u32, site: u32, fetch: Fetch, [first, second, third, fourth]: [u32; 4]) -> [Event; 2] {
        let of = |what, address| Event { address, what: thread | what, complete: 1, ..Event::default() };
        let rest =
            Event::pack(0, EventKind::Coordinates, AtomicKind::Load, Scope::Block, Order::Relaxed, false);
        let rest = of(rest, u64::from(fourth) << 32 | u64::from(third));
        [rest, Event { site, size: first, extra: second, ..of(fetch.pack(), HANDLE) }]
    }

    fn accesses(objects: &FetchObjects, events: &[Event]) -> Vec<(u64, u32, Option<EventKind>)> {
        let (found, unknown) = objects.accesses(LAUNCH, events);
        assert_eq!(unknown, 0);
        found.iter().map(|event| (event.address, event.size, event.kind())).collect()
    }

    /// A random coordinate: mostly inside, sometimes far outside, sometimes not a number.
    fn coordinate(random: &mut Random) -> u32 {
        match random.below(20u32) {
            0 => f32::NAN.to_bits(),
            1 => f32::INFINITY.to_bits(),
            2 => random.bits() as u32,
            3 => random.below(9u32),
            n => ((random.below(400u64) as f32 - 120.0) / if n < 8 { 200.0 } else { 16.0 }).to_bits(),
        }
    }

    #[test]
    fn a_log_says_which_texels_the_executor_reads() {
        let mut random = Random(1);
        let (mut read, mut most) = (0, 0);
        for _ in 0..20_000 {
            let size = [random.below(7usize) + 1, random.below(5usize) + 1, random.below(12usize) + 1];
            let (components, bits) = (random.pick(&[1, 2, 4]), random.pick(&[8, 16, 32]));
            let modes = [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border];
            let texture = Texture {
                address_modes: [random.pick(&modes), random.pick(&modes), random.pick(&modes)],
                normalized_coordinates: random.chance(50),
                ..texture(texels(size, components, bits), random.chance(50))
            };
            let gather = if random.chance(20) { random.below(5u32) } else { 0 };
            let operation = random.below(7u32) | u32::from(random.chance(25)) << 8 | gather << 16;
            let place = Place { operation, coordinates: [(); 4].map(|()| coordinate(&mut random)) };
            let handle = texture::create(Object::Texture(texture.clone())).expect("few objects");
            // What the executor does for the same instruction.
            let planned =
                texture::plan(handle, place).map(|count| (0..count).map(texture::texel).collect::<Vec<_>>());
            texture::destroy(handle);
            let fetch = Fetch { kind: EventKind::Fetch, operation, size: 1 };
            let (objects, events) = (known(Object::Texture(texture)), logged(3, 8, fetch, place.coordinates));
            let (found, unknown) = objects.accesses(LAUNCH, &events);
            let found: Vec<_> =
                found.iter().map(|event| (event.address as usize, event.size as usize)).collect();
            assert_eq!(
                (found, unknown),
                (planned.clone().unwrap_or_default(), u64::from(planned.is_none())),
                "{place:?}"
            );
            read += planned.as_ref().map_or(0, Vec::len);
            most = most.max(planned.map_or(0, |texels| texels.len()));
        }
        assert!(read > 20_000 && most == MOST_TEXELS, "{read}, {most}");
    }

    #[test]
    fn a_log_says_which_bytes_the_executor_reads_and_writes_of_surfaces() {
        let mut random = Random(2);
        let mut inside = 0;
        for _ in 0..20_000 {
            let size = [random.below(7usize) + 1, random.below(5usize) + 1, random.below(5usize) + 1];
            let texels = texels(size, random.pick(&[1, 2, 4]), 32);
            let (operation, bytes) =
                (random.below(7u32) | random.below(3u32) << 8, random.pick(&[1, 2, 4, 8, 16]));
            let place = Place {
                operation,
                coordinates: [(); 4].map(|()| (random.below(40u64) as u32).wrapping_sub(8)),
            };
            let handle = texture::create(Object::Surface(texels)).expect("few objects");
            let wanted = match texture::surface(handle, place, bytes as usize) {
                SurfaceAccess::At(address) => vec![address as u64],
                _ => Vec::new(),
            };
            texture::destroy(handle);
            inside += wanted.len();
            for (kind, plain) in
                [(EventKind::SurfaceRead, EventKind::Read), (EventKind::SurfaceWrite, EventKind::Write)]
            {
                let fetch = Fetch { kind, operation, size: bytes };
                let found =
                    accesses(&known(Object::Surface(texels)), &logged(3, 8, fetch, place.coordinates));
                let wanted: Vec<_> = wanted.iter().map(|&address| (address, bytes, Some(plain))).collect();
                assert_eq!(found, wanted, "{place:?}");
            }
        }
        assert!((2_000..18_000).contains(&inside), "{inside}");
    }

    #[test]
    fn what_is_no_such_access_stays_as_it_is() {
        let objects = known(Object::Surface(texels([4, 1, 1], 1, 32)));
        let what = Event::pack(3, EventKind::Write, AtomicKind::Store, Scope::System, Order::SeqCst, true);
        let write = Event { address: 12, what, site: 4, size: 4, extra: 2, complete: 1, block: 9 };
        assert!(matches!(objects.accesses(LAUNCH, &[write]), (Cow::Borrowed([one]), 0) if *one == write));
        let fetch = Fetch { kind: EventKind::SurfaceRead, operation: ONE_D, size: 4 };
        let [_, read] = logged(3, 8, fetch, [4, 0, 0, 0]);
        let both = [write, read];
        let (events, _) = objects.accesses(LAUNCH, &both);
        assert_eq!((events.len(), events[0], events[1].site, events[1].complete), (2, write, 8, 1));
    }

    #[test]
    fn coordinates_are_those_of_the_same_threads_next_access() {
        let objects = known(Object::Texture(texture(texels([4, 4, 4], 1, 32), false)));
        let fetch = Fetch { kind: EventKind::Fetch, operation: THREE_D | INTEGER, size: 1 };
        let (one, other) = (logged(3, 8, fetch, [1, 0, 2, 0]), logged(4, 8, fetch, [1, 0, 3, 0]));
        // Events of two threads interleave, and a third has said nothing before.
        let alone = logged(5, 8, fetch, [1, 0, 1, 0])[1];
        let found = accesses(&objects, &[one[0], other[0], one[1], alone, other[1], one[1]]);
        let at = |slice: u64| MEMORY as u64 + slice * 64 + 4;
        assert_eq!(
            found.iter().map(|(address, ..)| *address).collect::<Vec<_>>(),
            [at(2), at(0), at(3), at(0)]
        );
    }

    #[test]
    fn a_handle_is_what_it_was_when_the_launch_was_submitted() {
        let fetch = Fetch { kind: EventKind::Fetch, operation: ONE_D | INTEGER, size: 1 };
        let events = logged(0, 8, fetch, [0; 4]);
        let first = |objects: &FetchObjects, launch| {
            let (events, unknown) = objects.accesses(launch, &events);
            (events.first().map(|event| event.address), unknown)
        };
        let of = |address| Object::Texture(texture(Texels { address, ..texels([4, 1, 1], 1, 32) }, false));
        let mut objects = FetchObjects::default();
        objects.add(HANDLE, of(MEMORY), 3);
        objects.end(HANDLE, true, 5);
        objects.add(HANDLE, of(MEMORY + 64), 5);
        let (here, there) = (Some(MEMORY as u64), Some(MEMORY as u64 + 64));
        assert_eq!(
            (3..8).map(|launch| first(&objects, launch)).collect::<Vec<_>>(),
            [(None, 1), (here, 0), (here, 0), (there, 0), (there, 0)]
        );
        // A surface's handle is another.
        objects.end(HANDLE, false, 6);
        assert_eq!(first(&objects, 9), (there, 0));
        // The first object is known while a log of its time is still to be read.
        objects.forget(Some(5));
        assert_eq!(first(&objects, 5), (here, 0));
        objects.forget(Some(6));
        assert_eq!((first(&objects, 5), first(&objects, 6)), ((None, 1), (there, 0)));
        objects.end(HANDLE, true, 6);
        objects.forget(None);
        assert_eq!((first(&objects, 6), objects.0.len()), ((None, 1), 0));
    }

    /// The races of a launch of two blocks of 64 threads, as pairs of sites.
    fn races(objects: &FetchObjects, events: &[Event]) -> Vec<(u32, u32)> {
        let launch = Logged {
            id: LAUNCH,
            kernel: KernelKey(3),
            stream: 0,
            threads_per_block: 64,
            blocks: 2,
            clusters: None,
            features: SyncFeatures { barriers: true, ..SyncFeatures::default() },
            shared: 256,
        };
        let (events, unknown) = objects.accesses(LAUNCH, events);
        let replayed = Replay::new().launch(&launch, &events);
        assert_eq!((unknown, replayed.left_out, replayed.unknown), (0, 0, false));
        replayed.races.iter().map(|race| (race.earlier.site, race.later.site)).collect()
    }

    fn write(thread: u32, address: usize, size: u32, site: u32) -> Event {
        let what =
            Event::pack(thread, EventKind::Write, AtomicKind::Load, Scope::Block, Order::Relaxed, false);
        Event { address: address as u64, what, size, site, complete: 1, ..Event::default() }
    }

    #[test]
    fn a_fetch_races_with_writes_of_the_texels_that_it_reads_alone() {
        let at = |x: f32| {
            let fetch = Fetch { kind: EventKind::Fetch, operation: ONE_D, size: 1 };
            logged(0, 1, fetch, [x.to_bits(), 0, 0, 0])
        };
        for bits in [8, 16, 32] {
            let size = bits / 8;
            for (linear, x, read) in [
                (false, 3.9, 3..4),
                (true, 3.5, 3..4),
                (true, 4.0, 3..5),
                (true, 0.0, 0..1),
                (true, 99.0, 7..8),
            ] {
                let objects = known(Object::Texture(texture(texels([8, 1, 1], 1, bits), linear)));
                for texel in 0..8 {
                    let write = write(40, MEMORY + texel * size as usize, size, 2);
                    let wanted: &[_] = if read.contains(&texel) { &[(1, 2)] } else { &[] };
                    assert_eq!(
                        races(&objects, &[at(x)[0], at(x)[1], write]),
                        wanted,
                        "{bits} bits at {x}, linear: {linear}, texel {texel}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_orders_plain_accesses_orders_fetches() {
        let objects = known(Object::Texture(texture(texels([8, 1, 1], 1, 32), true)));
        let fetch = Fetch { kind: EventKind::Fetch, operation: ONE_D, size: 1 };
        let [_, between] = logged(0, 1, fetch, [4.0f32.to_bits(), 0, 0, 0]);
        let write = |thread| write(thread, MEMORY + 16, 4, 2);
        let barrier = Event {
            what: Event::pack(9, EventKind::Barrier, AtomicKind::Load, Scope::Block, Order::Relaxed, false),
            extra: 2,
            complete: 1,
            ..Event::default()
        };
        assert_eq!(races(&objects, &[between, write(40)]), [(1, 2)]);
        assert_eq!(races(&objects, &[between, barrier, write(40)]), []);
        assert_eq!(races(&objects, &[write(40), barrier, between]), []);
        // A thread's own accesses are in order. Those of two blocks are not, whatever their barriers.
        assert_eq!(races(&objects, &[between, write(0)]), []);
        assert_eq!(races(&objects, &[between, barrier, Event { block: 1, ..write(0) }]), [(1, 2)]);
    }

    #[test]
    fn stores_of_a_surface_race_with_each_other_where_their_bytes_overlap() {
        let objects = known(Object::Surface(texels([8, 4, 2], 1, 32)));
        let store = |thread, at: [u32; 4], size| {
            let [rest, store] =
                logged(thread, thread, Fetch { kind: EventKind::SurfaceWrite, operation: LAYERS, size }, at);
            vec![rest, store]
        };
        // A layer, a byte of a row, a row.
        let of = |one: Vec<Event>, other: Vec<Event>| races(&objects, &[one, other].concat());
        assert_eq!(of(store(1, [1, 4, 2, 0], 4), store(2, [1, 4, 2, 0], 4)), [(1, 2)]);
        assert_eq!(of(store(1, [1, 4, 2, 0], 4), store(2, [1, 8, 2, 0], 4)), []);
        assert_eq!(of(store(1, [1, 4, 2, 0], 4), store(2, [1, 4, 3, 0], 4)), []);
        assert_eq!(of(store(1, [1, 4, 2, 0], 4), store(2, [0, 4, 2, 0], 4)), []);
        assert_eq!(of(store(1, [1, 0, 2, 0], 16), store(2, [1, 12, 2, 0], 1)), [(1, 2)]);
        assert_eq!(of(store(1, [1, 4, 2, 0], 1), store(2, [1, 5, 2, 0], 1)), []);
    }

    #[test]
    fn what_no_object_is_known_of_is_counted() {
        let objects = known(Object::Texture(texture(texels([8, 1, 1], 1, 32), true)));
        let of = |kind, operation| logged(0, 1, Fetch { kind, operation, size: 1 }, [0; 4]);
        assert_eq!(objects.accesses(LAUNCH, &of(EventKind::Fetch, ONE_D)).1, 0);
        // No surface has the handle. No texture has layers and integer coordinates, and there is no
        // geometry of that number.
        for events in [
            of(EventKind::SurfaceRead, ONE_D),
            of(EventKind::Fetch, LAYERS | INTEGER),
            of(EventKind::Fetch, 7),
        ] {
            let (left, count) = objects.accesses(LAUNCH, &events);
            assert_eq!((left.len(), count), (0, 1));
        }
        assert_eq!(FetchObjects::default().accesses(LAUNCH, &of(EventKind::Fetch, ONE_D)).1, 1);
    }
}
