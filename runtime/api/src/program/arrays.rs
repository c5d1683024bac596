//! The live CUDA arrays of the program, by handle, which is the address of their memory.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::backend::memory::CudaArray;
use crate::host::errors::{Error, Result};
use crate::host::types::cudaArray_t;

static ARRAYS: Mutex<Option<HashMap<usize, CudaArray>>> = Mutex::new(None);

/// The array with this handle.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if there is none.
pub fn lookup(handle: cudaArray_t) -> Result<CudaArray> {
    let arrays = ARRAYS.lock();
    let found = arrays.as_ref().and_then(|arrays| arrays.get(&(handle as usize)));
    found.copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// Adds an array.
pub fn add(array: CudaArray) {
    ARRAYS.lock().get_or_insert_with(HashMap::new).insert(array.address, array);
}

/// Removes the array with this handle.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if there is none.
pub fn remove(handle: cudaArray_t) -> Result<CudaArray> {
    let removed = ARRAYS.lock().as_mut().and_then(|arrays| arrays.remove(&(handle as usize)));
    removed.ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// Removes every array. Their memory is freed with all other allocations.
pub fn remove_all() {
    *ARRAYS.lock() = None;
}
