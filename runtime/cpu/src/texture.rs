//! Textures and surfaces: what a handle means, and which texels a fetch reads.
//!
//! A fetch is planned here, its texels are read by the lowered device code, so that
//! they are accesses like any other, and what it gives is computed here from the
//! bytes that were read. The rules are those of the CUDA C++ Programming Guide,
//! "Texture Fetching": point sampling, linear filtering with 8 bits of fraction,
//! and the four address modes. Levels of detail are ignored: there are no mipmaps.

use std::cell::RefCell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What happens to a coordinate outside of the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// It repeats; normalised coordinates only.
    Wrap,
    /// The nearest texel of the edge.
    Clamp,
    /// It repeats, every second time mirrored; normalised coordinates only.
    Mirror,
    /// The border's colour.
    Border,
}

/// How the bits of a texel's component are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number of 16 or 32 bits.
    Float,
}

/// What a texel is made of: components of equal width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Components: 1, 2 or 4.
    pub components: usize,
    /// Bits of each: 8, 16 or 32.
    pub bits: u32,
    /// What they are.
    pub kind: Kind,
}

impl Format {
    /// Bytes of a texel.
    pub fn bytes(&self) -> usize {
        self.components * self.bits as usize / 8
    }
}

/// Memory that textures and surfaces are views of: texels in rows, rows in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texels {
    /// Address of the first one.
    pub address: usize,
    /// Texels of a row, rows of a slice, slices; 1 where there are none.
    pub size: [usize; 3],
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// What a texel is.
    pub format: Format,
}

impl Texels {
    fn at(&self, [x, y, z]: [usize; 3]) -> usize {
        self.address + (z * self.size[1] + y) * self.pitch + x * self.format.bytes()
    }
}

/// What a handle of a texture stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// What it shows.
    pub texels: Texels,
    /// One for each coordinate.
    pub address_modes: [AddressMode; 3],
    /// Whether neighbouring texels are mixed.
    pub linear: bool,
    /// Whether integers are read as numbers of [0, 1] or [-1, 1].
    pub normalized_float: bool,
    /// Whether coordinates are of [0, 1].
    pub normalized_coordinates: bool,
    /// Whether the first three components are in sRGB's encoding.
    pub srgb: bool,
    /// What [`AddressMode::Border`] gives.
    pub border: [f32; 4],
}

/// What a handle stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A texture object.
    Texture(Texture),
    /// A surface object.
    Surface(Texels),
}

/// Objects at a time.
const SLOTS: usize = 1 << 16;
/// Handles are numbers of slots above this.
const HANDLES: u64 = 0x7e47_0000_0000;

static OBJECTS: [AtomicPtr<Object>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Makes an object; `None` where there are too many.
pub fn create(object: Object) -> Option<u64> {
    // From where the last one was made, so that a handle does not come back soon.
    let start = NEXT.fetch_add(1, Ordering::Relaxed);
    let object = Box::into_raw(Box::new(object));
    for i in 0..SLOTS {
        let slot = (start + i) % SLOTS;
        let empty = OBJECTS[slot].compare_exchange(
            std::ptr::null_mut(),
            object,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if empty.is_ok() {
            return Some(HANDLES + slot as u64);
        }
    }
    // SAFETY: nobody has seen it.
    drop(unsafe { Box::from_raw(object) });
    None
}

fn slot(handle: u64) -> Option<&'static AtomicPtr<Object>> {
    OBJECTS.get(usize::try_from(handle.checked_sub(HANDLES)?).ok()?)
}

/// The object of a handle.
pub fn find(handle: u64) -> Option<&'static Object> {
    // SAFETY: objects are never freed: a kernel of another host thread may use them.
    unsafe { slot(handle)?.load(Ordering::Acquire).as_ref() }
}

/// Ends an object; whether there was one.
pub fn destroy(handle: u64) -> bool {
    let found = slot(handle).map(|slot| slot.swap(std::ptr::null_mut(), Ordering::AcqRel));
    found.is_some_and(|object| !object.is_null())
}

/// The shape of the coordinates that an instruction gives, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// `1d`.
    OneD,
    /// `2d`.
    TwoD,
    /// `3d`.
    ThreeD,
    /// `a1d`: a layer, then a coordinate.
    OneDLayered,
    /// `a2d`.
    TwoDLayered,
    /// `cube`.
    Cube,
    /// `acube`.
    CubeLayered,
}

impl Geometry {
    fn new(number: u32) -> Option<Self> {
        use Geometry::{Cube, CubeLayered, OneD, OneDLayered, ThreeD, TwoD, TwoDLayered};
        let all = [OneD, TwoD, ThreeD, OneDLayered, TwoDLayered, Cube, CubeLayered];
        all.get(number as usize).copied()
    }
}

/// Where an instruction samples: what [`plan`] and [`surface`] are given.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// `operation` of `__gpurace_texture`: the geometry in bits 0 to 7, integer
    /// coordinates in bit 8, a gather of component n - 1 in bits 16 to 19.
    pub operation: u32,
    /// The coordinates as the instruction has them.
    pub coordinates: [u32; 4],
}

/// Most texels that a fetch reads.
pub const MOST_TEXELS: usize = 8;
/// Bytes of the largest texel: how far apart device code keeps them.
pub const TEXEL_STRIDE: usize = 16;

/// A texel that takes part in a fetch.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Its number among those read; `None` for the border.
    read: Option<usize>,
    weight: f32,
}

/// A fetch between its plan and its value.
struct Plan<'a> {
    texture: &'a Texture,
    addresses: [usize; MOST_TEXELS],
    reads: usize,
    parts: [Part; MOST_TEXELS],
    count: usize,
    gather: Option<usize>,
    high: u64,
}

thread_local! {
    /// The fetch that this worker is in: device threads do not switch in one.
    static PLAN: RefCell<Option<Plan<'static>>> = const { RefCell::new(None) };
}

/// One coordinate, resolved: up to two indices with their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    indices: [Option<usize>; 2],
    weights: [f32; 2],
    count: usize,
}

impl Axis {
    fn one(index: Option<usize>) -> Self {
        Self { indices: [index, None], weights: [1.0, 0.0], count: 1 }
    }
}

fn in_range(index: i64, size: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < size)
}

/// An index that may lie outside, by an address mode.
fn address(index: i64, size: usize, mode: AddressMode) -> Option<usize> {
    let n = size as i64;
    match mode {
        AddressMode::Clamp => Some(index.clamp(0, n - 1) as usize),
        AddressMode::Border => in_range(index, size),
        AddressMode::Wrap => Some(index.rem_euclid(n) as usize),
        AddressMode::Mirror => {
            let at = index.rem_euclid(2 * n);
            Some(if at < n { at } else { 2 * n - 1 - at } as usize)
        }
    }
}

/// A coordinate of `size` texels. `pair` asks for the two texels around it.
fn axis(texture: &Texture, dimension: usize, coordinate: f32, pair: bool) -> Axis {
    let size = texture.texels.size[dimension];
    let mut mode = texture.address_modes[dimension];
    if !texture.normalized_coordinates && matches!(mode, AddressMode::Wrap | AddressMode::Mirror) {
        mode = AddressMode::Clamp;
    }
    let scaled = if texture.normalized_coordinates {
        f64::from(coordinate) * size as f64
    } else {
        f64::from(coordinate)
    };
    // NaN goes to 0, and what is far outside stays outside.
    let floor = |x: f64| x.floor().clamp(-1e15, 1e15) as i64;
    if !pair {
        return Axis::one(address(floor(scaled), size, mode));
    }
    let from = scaled - 0.5;
    let first = floor(from);
    // 9-bit fixed point with 8 bits of fraction (CUDA C++ Programming Guide, "Linear Filtering").
    let fraction = (((from - from.floor()) * 256.0).round() / 256.0) as f32;
    let fraction = if fraction.is_finite() { fraction } else { 0.0 };
    Axis {
        indices: [address(first, size, mode), address(first + 1, size, mode)],
        weights: [1.0 - fraction, fraction],
        count: 2,
    }
}

/// The face of a cube that a direction meets, and where on it, of [0, 1]
/// (CUDA C++ Programming Guide, "Cubemap Textures").
fn cube_face([x, y, z]: [f32; 3]) -> (usize, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, m, s, t) = if ax >= ay && ax >= az {
        if x >= 0.0 { (0, ax, -z, -y) } else { (1, ax, z, -y) }
    } else if ay >= az {
        if y >= 0.0 { (2, ay, x, z) } else { (3, ay, x, -z) }
    } else if z >= 0.0 {
        (4, az, x, -y)
    } else {
        (5, az, -x, -y)
    };
    (face, (s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0)
}

/// Plans a fetch; gives how many texels are to be read, or `None` where the
/// handle is no texture.
pub fn plan(handle: u64, place: Place) -> Option<usize> {
    let Some(Object::Texture(texture)) = find(handle) else { return None };
    let plan = plan_of(texture, place)?;
    let reads = plan.reads;
    PLAN.with_borrow_mut(|slot| *slot = Some(plan));
    Some(reads)
}

/// The addresses of the texels that a fetch through a texture reads, each of as many bytes as its format has; `None` where no
/// instruction has such a place. What [`plan`] and [`texel`] give for a handle.
pub fn reads(texture: &Texture, place: Place) -> Option<impl Iterator<Item = usize> + use<>> {
    let Plan { addresses, reads, .. } = plan_of(texture, place)?;
    Some(addresses.into_iter().take(reads))
}

fn plan_of(texture: &Texture, place: Place) -> Option<Plan<'_>> {
    let geometry = Geometry::new(place.operation & 0xff)?;
    let gather = (place.operation >> 16 & 0xf).checked_sub(1).map(|c| c as usize & 3);
    let pair = gather.is_some() || texture.linear;
    let c = place.coordinates;
    let f = c.map(f32::from_bits);
    let layer = |layer: u32| (layer as usize).min(texture.texels.size[2] - 1);
    let slice = |index| Axis::one(Some(index));
    let axes = if place.operation & 0x100 != 0 {
        // Integer coordinates are neither addressed nor filtered.
        let at = |n: usize| Axis::one(in_range(i64::from(c[n] as i32), texture.texels.size[n]));
        match geometry {
            Geometry::OneD => [at(0), slice(0), slice(0)],
            Geometry::TwoD => [at(0), at(1), slice(0)],
            Geometry::ThreeD => [at(0), at(1), at(2)],
            _ => return None,
        }
    } else {
        let ax = |dimension, coordinate| axis(texture, dimension, coordinate, pair);
        match geometry {
            Geometry::OneD => [ax(0, f[0]), slice(0), slice(0)],
            Geometry::TwoD => [ax(0, f[0]), ax(1, f[1]), slice(0)],
            Geometry::ThreeD => [ax(0, f[0]), ax(1, f[1]), ax(2, f[2])],
            Geometry::OneDLayered => [ax(0, f[1]), slice(0), slice(layer(c[0]))],
            Geometry::TwoDLayered => [ax(0, f[1]), ax(1, f[2]), slice(layer(c[0]))],
            Geometry::Cube | Geometry::CubeLayered => {
                let cubes = geometry == Geometry::CubeLayered;
                let direction = if cubes { [f[1], f[2], f[3]] } else { [f[0], f[1], f[2]] };
                let (face, s, t) = cube_face(direction);
                let first = if cubes { c[0] as usize * 6 } else { 0 };
                // Faces are always addressed by [0, 1] and clamped.
                let on_face = |dimension, coordinate| {
                    let view = Texture {
                        normalized_coordinates: true,
                        address_modes: [AddressMode::Clamp; 3],
                        ..texture.clone()
                    };
                    axis(&view, dimension, coordinate, pair)
                };
                let last = texture.texels.size[2] - 1;
                [on_face(0, s), on_face(1, t), slice((first + face).min(last))]
            }
        }
    };
    let mut plan = Plan {
        texture,
        addresses: [0; MOST_TEXELS],
        reads: 0,
        parts: [Part::default(); MOST_TEXELS],
        count: 0,
        gather,
        high: 0,
    };
    let [x, y, z] = axes;
    for k in 0..z.count {
        for j in 0..y.count {
            for i in 0..x.count {
                let weight = x.weights[i] * y.weights[j] * z.weights[k];
                // What has no weight is not read.
                if weight == 0.0 && gather.is_none() {
                    continue;
                }
                let texel = x.indices[i].zip(y.indices[j]).zip(z.indices[k]);
                let read = texel.map(|((x, y), z)| {
                    plan.addresses[plan.reads] = texture.texels.at([x, y, z]);
                    plan.reads += 1;
                    plan.reads - 1
                });
                plan.parts[plan.count] = Part { read, weight };
                plan.count += 1;
            }
        }
    }
    Some(plan)
}

/// The address of a texel of the fetch, and how many bytes it has.
pub fn texel(index: usize) -> (usize, usize) {
    PLAN.with_borrow(|plan| match plan {
        Some(plan) => (plan.addresses[index % MOST_TEXELS], plan.texture.texels.format.bytes()),
        None => (0, 0),
    })
}

/// The bits of a component, sign-extended where it is signed.
fn component(texel: &[u8], n: usize, format: Format) -> u32 {
    let bytes = format.bits as usize / 8;
    let mut word = [0; 4];
    word[..bytes].copy_from_slice(&texel[n * bytes..(n + 1) * bytes]);
    let word = u32::from_le_bytes(word);
    let shift = 32 - format.bits;
    match format.kind {
        Kind::Signed => ((word << shift) as i32 >> shift) as u32,
        Kind::Unsigned | Kind::Float => word,
    }
}

/// A component as a number, by the texture's read mode.
fn number(texture: &Texture, n: usize, bits: u32) -> f32 {
    let format = texture.texels.format;
    let value = match format.kind {
        Kind::Float if format.bits == 16 => half::f16::from_bits(bits as u16).to_f32(),
        Kind::Float => f32::from_bits(bits),
        Kind::Unsigned => (f64::from(bits) / ((1u64 << format.bits) - 1) as f64) as f32,
        Kind::Signed => {
            let most = ((1u64 << (format.bits - 1)) - 1) as f64;
            (f64::from(bits as i32) / most).max(-1.0) as f32
        }
    };
    if !texture.srgb || n == 3 {
        value
    } else if value <= 0.040_45 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

/// One component of what a part of the plan gives: as it is, or as a number.
fn of_part(plan: &Plan<'_>, texels: &[u8], part: Part, n: usize, numbers: bool) -> u32 {
    let texture = plan.texture;
    if n >= texture.texels.format.components {
        return 0;
    }
    match part.read {
        Some(read) => {
            let texel = &texels[read * TEXEL_STRIDE..(read + 1) * TEXEL_STRIDE];
            let bits = component(texel, n, texture.texels.format);
            if numbers { number(texture, n, bits).to_bits() } else { bits }
        }
        None if texture.address_modes.contains(&AddressMode::Border) => {
            if numbers {
                texture.border[n].to_bits()
            } else {
                texture.border[n] as i32 as u32
            }
        }
        None => 0,
    }
}

/// What the fetch gives, from the bytes that were read: the first two words, or
/// with `high` the last two of the same fetch.
///
/// `texels` has [`MOST_TEXELS`] times [`TEXEL_STRIDE`] bytes.
pub fn value(texels: &[u8], high: bool) -> u64 {
    PLAN.with_borrow_mut(|slot| {
        let Some(plan) = slot else { return 0 };
        if high {
            return plan.high;
        }
        let numbers = plan.texture.normalized_float || plan.texture.texels.format.kind == Kind::Float;
        let mut words = [0u32; 4];
        if let Some(n) = plan.gather {
            // Lower left first, then against the clock (CUDA C++ Programming Guide, "Texture Gather").
            for (word, part) in words.iter_mut().zip([2, 3, 1, 0]) {
                *word = of_part(plan, texels, plan.parts[part], n, numbers);
            }
        } else if numbers {
            for (n, word) in words.iter_mut().enumerate() {
                let parts = plan.parts[..plan.count].iter();
                let weighted = parts.map(|&part| {
                    let value = f32::from_bits(of_part(plan, texels, part, n, true));
                    if part.weight == 1.0 { value } else { value * part.weight }
                });
                *word = weighted.reduce(|a, b| a + b).unwrap_or(0.0).to_bits();
            }
        } else {
            for (n, word) in words.iter_mut().enumerate() {
                *word = of_part(plan, texels, plan.parts[0], n, false);
            }
        }
        let [a, b, c, d] = words.map(u64::from);
        plan.high = c | d << 32;
        a | b << 32
    })
}

/// What an access of a surface becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceAccess {
    /// To these bytes.
    At(usize),
    /// Outside: it reads zeros, and writes nothing.
    Nowhere,
    /// Outside, and the program did not allow that.
    Outside,
    /// The handle is no surface.
    NoSurface,
}

/// Where an access of `size` bytes to a surface goes. `x` counts bytes.
/// `operation` is as in [`Place`]; bits 8 and 9 say what happens outside: 0 the
/// launch ends, 1 nothing (`.zero`), 2 the edge is meant (`.clamp`).
pub fn surface(handle: u64, place: Place, size: usize) -> SurfaceAccess {
    let Some(Object::Surface(texels)) = find(handle) else { return SurfaceAccess::NoSurface };
    surface_of(texels, place, size)
}

/// As [`surface`], of what a handle stands for.
pub fn surface_of(texels: &Texels, place: Place, size: usize) -> SurfaceAccess {
    let Some(geometry) = Geometry::new(place.operation & 0xff) else { return SurfaceAccess::NoSurface };
    let c = place.coordinates.map(|c| i64::from(c as i32));
    let [x, y, z] = match geometry {
        Geometry::OneD => [c[0], 0, 0],
        Geometry::TwoD => [c[0], c[1], 0],
        Geometry::ThreeD => [c[0], c[1], c[2]],
        Geometry::OneDLayered => [c[1], 0, c[0]],
        Geometry::TwoDLayered | Geometry::Cube | Geometry::CubeLayered => [c[1], c[2], c[0]],
    };
    let row = texels.size[0] * texels.format.bytes();
    let clamp = place.operation >> 8 & 3 == 2;
    let one = |at: i64, most: usize| match usize::try_from(at) {
        Ok(at) if at <= most => Some(at),
        _ if clamp => Some(at.clamp(0, most as i64) as usize),
        _ => None,
    };
    let last = row.checked_sub(size);
    let x = last.and_then(|last| one(x, last));
    let at = x.zip(one(y, texels.size[1] - 1)).zip(one(z, texels.size[2] - 1));
    match at {
        Some(((x, y), z)) => SurfaceAccess::At(texels.at([0, y, z]) + x),
        None if place.operation >> 8 & 3 == 0 => SurfaceAccess::Outside,
        None => SurfaceAccess::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(size: usize, modes: AddressMode, linear: bool, normalized: bool) -> Texture {
        Texture {
            texels: Texels {
                address: 0,
                size: [size, 1, 1],
                pitch: 4 * size,
                format: Format { components: 1, bits: 32, kind: Kind::Float },
            },
            address_modes: [modes; 3],
            linear,
            normalized_float: false,
            normalized_coordinates: normalized,
            srgb: false,
            border: [0.0; 4],
        }
    }

    #[test]
    fn address_modes_are_those_of_the_guide() {
        use AddressMode::{Border, Clamp, Mirror, Wrap};
        let all = |mode| (-5..9).map(|i| address(i, 4, mode)).collect::<Vec<_>>();
        let some = |list: [usize; 14]| list.map(Some).to_vec();
        assert_eq!(all(Clamp), some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]));
        assert_eq!(all(Wrap), some([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(all(Mirror), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        let border: Vec<_> = (-5i64..9).map(|i| in_range(i, 4)).collect();
        assert_eq!(all(Border), border);
    }

    #[test]
    fn a_coordinate_at_a_texels_centre_reads_it_alone() {
        let t = texture(8, AddressMode::Clamp, true, false);
        let a = axis(&t, 0, 3.5, true);
        assert_eq!((a.indices[0], a.weights), (Some(3), [1.0, 0.0]));
        let b = axis(&t, 0, 3.75, true);
        assert_eq!((b.indices, b.weights), ([Some(3), Some(4)], [0.75, 0.25]));
        let n = texture(8, AddressMode::Wrap, true, true);
        let edge = axis(&n, 0, 0.0, true);
        assert_eq!((edge.indices, edge.weights), ([Some(7), Some(0)], [0.5, 0.5]));
    }

    #[test]
    fn coordinates_that_are_no_numbers_stay_inside() {
        for coordinate in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            let t = texture(8, AddressMode::Clamp, true, false);
            let a = axis(&t, 0, coordinate, true);
            assert!(a.indices.iter().all(|i| i.is_some_and(|i| i < 8)), "{coordinate}");
        }
    }

    #[test]
    fn the_faces_of_a_cube_are_met_in_their_middle() {
        let middles = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
        for (face, direction) in middles.into_iter().enumerate() {
            assert_eq!(cube_face(direction.map(|c| c as f32)), (face, 0.5, 0.5));
        }
    }

    #[test]
    fn a_handle_ends_with_its_object() {
        let handle = create(Object::Texture(texture(4, AddressMode::Clamp, false, false))).unwrap();
        assert!(matches!(find(handle), Some(Object::Texture(_))));
        assert!(destroy(handle));
        assert!(!destroy(handle) && find(handle).is_none() && find(0).is_none());
    }
}
