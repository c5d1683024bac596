//! Copies of tensors on the executor. [`plan`] cuts a copy into pieces. Then lowered device code makes
//! them one by one, as accesses like any other.

use std::cell::RefCell;

use gpurace_abi::tensor_map::{BOX_ALIGNMENT, MOST_DIMENSIONS, TensorMap, TensorPiece, WORDS};

thread_local! {
    /// The copy that this worker is in. Device threads do not switch during a copy.
    static PENDING: RefCell<Vec<TensorPiece>> = const { RefCell::new(Vec::new()) };
}

/// Plans a copy, and returns the result of the entry point `Tensor`. The error says why there is none.
///
/// # Safety
/// `map` is the address of a `CUtensorMap`, which nobody changes.
pub unsafe fn plan(
    map: *const [u64; WORDS],
    rank: u32,
    shared: u32,
    coordinates: [u32; MOST_DIMENSIONS],
) -> Result<u64, &'static str> {
    if map.is_null() || !map.is_aligned() {
        return Err("the address of a tensor map is not one");
    }
    // SAFETY: by contract.
    let map = TensorMap::decode(unsafe { &*map }).ok_or("a copy through what is no tensor map")?;
    if map.rank != rank as usize {
        return Err("a copy through a tensor map with another number of dimensions");
    }
    let shared = u64::from(shared);
    if !shared.is_multiple_of(BOX_ALIGNMENT) {
        return Err("a copy of a tensor whose address in shared memory is no multiple of 128");
    }
    PENDING.with_borrow_mut(|pieces| {
        if !map.plan(coordinates.map(u32::cast_signed), shared, pieces) {
            return Err("a copy of a tensor that no shared memory can hold");
        }
        let fill = if map.fills_nan { 255 } else { 0 };
        Ok(pieces.len() as u64 | fill << 32)
    })
}

/// A piece of the planned copy.
pub fn piece(index: u32) -> TensorPiece {
    PENDING.with_borrow(|pieces| pieces.get(index as usize).copied().unwrap_or_default())
}
