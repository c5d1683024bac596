//! The live CUDA arrays of the program, by handle, which is the address of their memory.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::backend::memory::CudaArray;
use crate::host::errors::{Error, Result};
use crate::host::types::cudaArray_t;

/// The live CUDA arrays.
#[derive(Default)]
pub struct Arrays(Mutex<HashMap<usize, CudaArray>>);

impl Arrays {
    /// The array with this handle.
    ///
    /// # Errors
    /// `cudaErrorInvalidResourceHandle` if there is none.
    pub fn lookup(&self, handle: cudaArray_t) -> Result<CudaArray> {
        self.0.lock().get(&(handle as usize)).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    /// Adds an array.
    pub fn add(&self, array: CudaArray) {
        self.0.lock().insert(array.address, array);
    }

    /// Removes the array with this handle.
    ///
    /// # Errors
    /// `cudaErrorInvalidResourceHandle` if there is none.
    pub fn remove(&self, handle: cudaArray_t) -> Result<CudaArray> {
        self.0.lock().remove(&(handle as usize)).ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    /// Removes every array. Their memory is freed with all other allocations.
    pub fn remove_all(&self) {
        self.0.lock().clear();
    }
}
