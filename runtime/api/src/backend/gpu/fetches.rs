//! Which memory kernels reach through textures and surfaces. The log of a launch has the handle and the coordinates of each access; what the
//! handle stands for is known here, and which texels are read follows as on the executor ([`gpurace_cpu::texture`]). Memory that
//! textures show is where it is, an array where its addresses are ([`super::arrays`]).

use std::borrow::Cow;
use std::collections::HashMap;

use gpurace_abi::event::{Event, EventKind, Fetch};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use gpurace_cpu::texture::{self, Object, Place, SurfaceAccess};

/// What handles stand for. Drivers give a handle again when its object has ended, and logs of before are read later.
#[derive(Default)]
pub struct Objects(HashMap<Handle, Vec<Known>>);

/// A handle, and whether it is a texture's: those of surfaces are numbers of their own.
type Handle = (u64, bool);

struct Known {
    object: Object,
    /// The last launch before it was made: those up to this one know nothing of it.
    made_after: u64,
    /// The last launch before it ended; `None`: it is there.
    ended_after: Option<u64>,
}

/// Reads and writes that accesses through textures and surfaces are.
struct Accesses {
    events: Vec<Event>,
    /// By thread and block the coordinates that its next access has beside the first two.
    coordinates: HashMap<(u32, u32), [u32; 2]>,
    /// Accesses of which it is not known what they are of.
    unknown: u64,
}

impl Objects {
    /// An object was made after a launch.
    pub fn add(&mut self, handle: u64, object: Object, made_after: u64) {
        let is_texture = matches!(object, Object::Texture(_));
        self.0.entry((handle, is_texture)).or_default().push(Known { object, made_after, ended_after: None });
    }

    /// It has ended after a launch.
    pub fn end(&mut self, handle: u64, is_texture: bool, ended_after: u64) {
        for known in self.0.get_mut(&(handle, is_texture)).into_iter().flatten() {
            known.ended_after.get_or_insert(ended_after);
        }
    }

    /// Forgets what has ended before the first launch whose log is still to be read; `None`: there is none.
    pub fn forget(&mut self, first: Option<u64>) {
        let is_named = |known: &Known| known.ended_after.is_none_or(|last| first.is_some_and(|first| first <= last));
        self.0.retain(|_, all| {
            all.retain(is_named);
            !all.is_empty()
        });
    }

    fn find(&self, handle: Handle, launch: u64) -> Option<&Object> {
        let was_there = |known: &&Known| known.made_after < launch && known.ended_after.is_none_or(|last| launch <= last);
        self.0.get(&handle)?.iter().find(was_there).map(|known| &known.object)
    }

    /// A launch's events with reads and writes for the accesses through textures and surfaces, and of how many of those it is not known what
    /// they are of.
    pub fn accesses<'e>(&self, launch: u64, events: &'e [Event]) -> (Cow<'e, [Event]>, u64) {
        if !events.iter().any(|event| event.fetch().is_some()) {
            return (Cow::Borrowed(events), 0);
        }
        let mut found = Accesses { events: Vec::with_capacity(events.len()), coordinates: HashMap::new(), unknown: 0 };
        for event in events {
            found.add(self, launch, event);
        }
        (Cow::Owned(found.events), found.unknown)
    }
}

impl Accesses {
    fn add(&mut self, objects: &Objects, launch: u64, event: &Event) {
        let thread = (event.block, event.thread());
        if event.kind() == Some(EventKind::Coordinates) {
            self.coordinates.insert(thread, [event.address as u32, (event.address >> 32) as u32]);
            return;
        }
        let Some(fetch) = event.fetch() else { return self.events.push(*event) };
        let [third, fourth] = self.coordinates.remove(&thread).unwrap_or_default();
        let place = Place { operation: fetch.operation, coordinates: [event.size, event.extra, third, fourth] };
        let object = objects.find((event.address, fetch.kind == EventKind::Fetch), launch);
        let each = |address, size| self.events.push(access(event, fetch.kind, address, size));
        let is_known = object.is_some_and(|object| for_each_texel(object, fetch, place, each));
        self.unknown += u64::from(!is_known);
    }
}

/// Gives where the bytes lie that an access is of, and how many there are. False where it is not known.
fn for_each_texel(object: &Object, fetch: Fetch, place: Place, mut each: impl FnMut(usize, usize)) -> bool {
    match object {
        Object::Texture(texture) => {
            let Some(read) = texture::reads(texture, place) else { return false };
            read.for_each(|address| each(address, texture.texels.format.bytes()));
        }
        Object::Surface(texels) => {
            let size = fetch.size as usize;
            match texture::surface_of(texels, place, size) {
                SurfaceAccess::At(address) => each(address, size),
                // It changes nothing, or the launch ends there.
                SurfaceAccess::Nowhere | SurfaceAccess::Outside => {}
                SurfaceAccess::NoSurface => return false,
            }
        }
    }
    true
}

/// The plain access that an event is at an address.
fn access(event: &Event, kind: EventKind, address: usize, size: usize) -> Event {
    let kind = if kind == EventKind::SurfaceWrite { EventKind::Write } else { EventKind::Read };
    let what = Event::pack(event.thread(), kind, AtomicKind::Load, Scope::Block, Order::Relaxed, false);
    Event { address: address as u64, what, size: size as u32, extra: 0, ..*event }
}
