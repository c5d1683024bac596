//! Fetches on the executor: the handles of texture and surface objects, and the fetch that a device
//! thread is in.
//!
//! A fetch has three parts. [`plan`] works out which texels it reads. Then lowered device code
//! reads them, as accesses like any other. [`value`] computes the result from their bytes.

use std::cell::RefCell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gpurace_abi::texture::{
    AddressMode, ComponentKind, FetchPlan, FetchPoint, MOST_TEXELS, SurfaceAccess, TexelFormat, TexelPart,
    Texture, TextureObject,
};

/// The most objects that exist at a time.
const MOST_OBJECTS: usize = 1 << 16;
/// The handle of the object with index 0.
const FIRST_HANDLE: u64 = 0x7e47_0000_0000;

static OBJECTS: [AtomicPtr<TextureObject>; MOST_OBJECTS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_OBJECTS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Makes an object and returns its handle; `None` if there are too many.
pub fn create(object: TextureObject) -> Option<u64> {
    // Searches from the last object on, so that handles are not reused soon.
    let start = NEXT.fetch_add(1, Ordering::Relaxed);
    let object = Box::into_raw(Box::new(object));
    for i in 0..MOST_OBJECTS {
        let index = (start + i) % MOST_OBJECTS;
        let empty = OBJECTS[index].compare_exchange(
            std::ptr::null_mut(),
            object,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if empty.is_ok() {
            return Some(FIRST_HANDLE + index as u64);
        }
    }
    // SAFETY: no other thread has seen it.
    drop(unsafe { Box::from_raw(object) });
    None
}

/// The entry of a handle in the table of objects.
fn entry(handle: u64) -> Option<&'static AtomicPtr<TextureObject>> {
    OBJECTS.get(usize::try_from(handle.checked_sub(FIRST_HANDLE)?).ok()?)
}

/// The object of a handle.
pub fn find(handle: u64) -> Option<&'static TextureObject> {
    // SAFETY: objects are never freed: a kernel of another host thread may use them.
    unsafe { entry(handle)?.load(Ordering::Acquire).as_ref() }
}

/// Ends an object. Returns false if there was none.
pub fn destroy(handle: u64) -> bool {
    let found = entry(handle).map(|entry| entry.swap(std::ptr::null_mut(), Ordering::AcqRel));
    found.is_some_and(|object| !object.is_null())
}

/// Bytes from one texel to the next in the buffer of device code: the size of the largest texel.
pub const TEXEL_STRIDE: usize = 16;

/// A fetch between [`plan`] and [`value`].
struct PendingFetch {
    texture: &'static Texture,
    plan: FetchPlan,
    /// The last two words of the result, once the first two are computed.
    high: u64,
}

thread_local! {
    /// The fetch that this worker is in. Device threads do not switch during a fetch.
    static PENDING: RefCell<Option<PendingFetch>> = const { RefCell::new(None) };
}

/// Plans a fetch and returns the number of texels to read; `None` if the handle is no texture.
pub fn plan(handle: u64, point: FetchPoint) -> Option<usize> {
    let Some(TextureObject::Texture(texture)) = find(handle) else { return None };
    let plan = texture.plan(point)?;
    PENDING.set(Some(PendingFetch { texture, plan, high: 0 }));
    Some(plan.reads().len())
}

/// The address of a texel of the planned fetch, and its size in bytes.
pub fn texel(index: usize) -> (usize, usize) {
    PENDING.with_borrow(|pending| {
        pending.as_ref().map_or((0, 0), |pending| {
            let address = pending.plan.reads().get(index).copied().unwrap_or(0);
            (address, pending.texture.texels.format.bytes())
        })
    })
}

/// The result of the planned fetch: the first two words, or with `high` the last two.
///
/// `texels` has [`MOST_TEXELS`] times [`TEXEL_STRIDE`] bytes, those of the texels that were read.
pub fn value(texels: &[u8], high: bool) -> u64 {
    PENDING.with_borrow_mut(|pending| {
        let Some(pending) = pending else { return 0 };
        if high {
            return pending.high;
        }
        let [a, b, c, d] = words(pending.texture, &pending.plan, texels).map(u64::from);
        pending.high = c | d << 32;
        a | b << 32
    })
}

/// The four words of a fetch's result.
fn words(texture: &Texture, plan: &FetchPlan, texels: &[u8]) -> [u32; 4] {
    let as_numbers = texture.normalized_float || texture.texels.format.kind == ComponentKind::Float;
    if let Some(n) = plan.gather() {
        // Lower left first, then counter-clockwise (CUDA C++ Programming Guide, "Texture Gather").
        return [2, 3, 1, 0].map(|part| part_component(texture, texels, plan.part(part), n, as_numbers));
    }
    [0, 1, 2, 3].map(|n| {
        if !as_numbers {
            return part_component(texture, texels, plan.part(0), n, false);
        }
        let weighted = plan.parts().iter().map(|&part| {
            let value = f32::from_bits(part_component(texture, texels, part, n, true));
            if part.weight == 1.0 { value } else { value * part.weight }
        });
        weighted.reduce(|a, b| a + b).unwrap_or(0.0).to_bits()
    })
}

/// One component of a texel of the plan, as its bits or as a number.
fn part_component(texture: &Texture, texels: &[u8], part: TexelPart, n: usize, as_number: bool) -> u32 {
    if n >= texture.texels.format.components {
        return 0;
    }
    match part.read {
        Some(read) => {
            let texel = &texels[read * TEXEL_STRIDE..(read + 1) * TEXEL_STRIDE];
            let bits = component(texel, n, texture.texels.format);
            if as_number { number(texture, n, bits).to_bits() } else { bits }
        }
        None if texture.address_modes.contains(&AddressMode::Border) => {
            if as_number {
                texture.border[n].to_bits()
            } else {
                texture.border[n] as i32 as u32
            }
        }
        None => 0,
    }
}

/// The bits of a component, sign-extended if it is signed.
fn component(texel: &[u8], n: usize, format: TexelFormat) -> u32 {
    let bytes = format.bits as usize / 8;
    let mut word = [0; 4];
    word[..bytes].copy_from_slice(&texel[n * bytes..(n + 1) * bytes]);
    let word = u32::from_le_bytes(word);
    let shift = 32 - format.bits;
    match format.kind {
        ComponentKind::Signed => ((word << shift) as i32 >> shift) as u32,
        ComponentKind::Unsigned | ComponentKind::Float => word,
    }
}

/// A component as a number, by the texture's read mode.
fn number(texture: &Texture, n: usize, bits: u32) -> f32 {
    let format = texture.texels.format;
    let value = match format.kind {
        ComponentKind::Float if format.bits == 16 => half::f16::from_bits(bits as u16).to_f32(),
        ComponentKind::Float => f32::from_bits(bits),
        ComponentKind::Unsigned => (f64::from(bits) / ((1u64 << format.bits) - 1) as f64) as f32,
        ComponentKind::Signed => {
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

/// The memory that an access of `size` bytes to a surface touches.
pub fn surface(handle: u64, point: FetchPoint, size: usize) -> SurfaceAccess {
    match find(handle) {
        Some(TextureObject::Surface(texels)) => texels.surface_access(point, size),
        _ => SurfaceAccess::NoSurface,
    }
}

/// Bytes of the buffer into which device code copies the texels of a fetch.
pub const TEXELS_BYTES: usize = MOST_TEXELS * TEXEL_STRIDE;

#[cfg(test)]
mod tests {
    use gpurace_abi::texture::Texels;

    use super::*;

    #[test]
    fn a_handle_ends_with_its_object() {
        let format = TexelFormat { components: 1, bits: 32, kind: ComponentKind::Float };
        let surface = Texels { address: 0, size: [4, 1, 1], pitch: 16, format };
        let handle = create(TextureObject::Surface(surface)).unwrap();
        assert!(matches!(find(handle), Some(TextureObject::Surface(_))));
        assert!(destroy(handle));
        assert!(!destroy(handle) && find(handle).is_none() && find(0).is_none());
    }
}
