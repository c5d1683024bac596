//! Allocating and freeing: the backend gives the memory, the program's list of allocations names
//! it.

use crate::backend::Until;
use crate::backend::memory::{ALIGNMENT, MemoryKind, MemoryRequest};
use crate::host::errors::{Error, Result};
use crate::host::limits::PAGE;
use crate::program::allocations::Allocation;
use crate::work::Process;

/// The memory that the backend is asked for.
fn request(size: usize, kind: MemoryKind) -> Option<MemoryRequest> {
    let own_pages = kind.is_host_visible();
    let unit = if own_pages { PAGE } else { ALIGNMENT };
    let size = size.checked_next_multiple_of(unit)?.max(unit);
    Some(MemoryRequest { size, own_pages })
}

/// Allocates `size` bytes, which is not 0.
///
/// # Errors
/// `cudaErrorMemoryAllocation` if the device has not that much left.
pub fn allocate(process: &Process, size: usize, kind: MemoryKind, flags: u32) -> Result<Allocation> {
    let request = request(size, kind).ok_or(Error::MEMORY_ALLOCATION)?;
    let (backend, allocations) = (process.backend(), &process.program().allocations);
    let before = allocations.add_bytes(request.size);
    let taken = match before.saturating_add(request.size) > backend.memory_limit() {
        true => Err(Error::MEMORY_ALLOCATION),
        false => backend.take(request, kind),
    };
    let address = taken.inspect_err(|_| allocations.subtract_bytes(request.size))?;
    Ok(allocations.add(address, size, kind, flags))
}

/// Frees the allocation of one of these kinds that starts at `address`, once no submitted work can
/// use it.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none, or the fault of a kernel.
pub fn free(process: &Process, address: usize, kinds: &[MemoryKind]) -> Result<Allocation> {
    process.backend().wait(Until::AllIsOver)?;
    let allocation = process.program().allocations.remove(address, kinds)?;
    release(process, allocation);
    Ok(allocation)
}

/// Gives the memory of an allocation back. It is in the list of allocations no more, and nobody
/// uses it.
pub fn release(process: &Process, allocation: Allocation) {
    process.session.forget(allocation.address, allocation.size);
    if allocation.kind == MemoryKind::Registered {
        return process.backend().unregister(allocation.address);
    }
    if let Some(request) = request(allocation.size, allocation.kind) {
        process.program().allocations.subtract_bytes(request.size);
        // SAFETY: it was in the list of allocations, so it came from `take`. It was removed, so
        // nobody gives it back twice.
        unsafe { process.backend().give(allocation.address, request, allocation.kind) };
    }
}

/// Page-locks memory of the program.
///
/// # Errors
/// `cudaErrorHostMemoryAlreadyRegistered` if part of it is known already, and the device's.
pub fn register(process: &Process, address: usize, size: usize, flags: u32) -> Result {
    let allocations = &process.program().allocations;
    allocations.add_registered(address, size, flags)?;
    process.backend().register(address, size, flags).inspect_err(|_| {
        let _ = allocations.remove(address, &[MemoryKind::Registered]);
    })
}

/// Frees what `cudaDeviceReset` frees: everything that CUDA allocated.
pub fn release_all(process: &Process) {
    process.program().arrays.remove_all();
    for allocation in process.program().allocations.remove_all() {
        release(process, allocation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::start::process;

    #[test]
    fn small_and_large_allocations_are_aligned_zeroed_and_found() {
        let process = process();
        let find = |address| process.program().allocations.find(address);
        for size in [1, 255, 4096, 1 << 20] {
            let a = allocate(process, size, MemoryKind::Device, 0).unwrap();
            assert_eq!(a.address % ALIGNMENT, 0);
            // SAFETY: just allocated.
            let bytes = unsafe { std::slice::from_raw_parts(a.address as *const u8, size) };
            assert!(bytes.iter().all(|&b| b == 0));
            assert_eq!(find(a.address + size - 1), Some(a));
            assert_ne!(find(a.address + size), Some(a));
            assert_eq!(free(process, a.address + 1, &[MemoryKind::Device]), Err(Error::INVALID_VALUE));
            assert_eq!(free(process, a.address, &[MemoryKind::Host]), Err(Error::INVALID_VALUE));
            assert_eq!(free(process, a.address, &[MemoryKind::Device]), Ok(a));
            assert_eq!(free(process, a.address, &[MemoryKind::Device]), Err(Error::INVALID_VALUE));
        }
    }

    #[test]
    fn absurd_sizes_are_out_of_memory() {
        let process = process();
        for size in [usize::MAX, usize::MAX / 2, 1 << 50] {
            assert_eq!(allocate(process, size, MemoryKind::Device, 0), Err(Error::MEMORY_ALLOCATION));
        }
    }

    #[test]
    fn registered_memory_may_not_overlap() {
        let process = process();
        let memory = vec![0u8; 4096];
        let address = memory.as_ptr() as usize;
        register(process, address, 1024, 0).unwrap();
        assert_eq!(register(process, address + 1023, 10, 0), Err(Error::HOST_MEMORY_ALREADY_REGISTERED));
        register(process, address + 1024, 10, 0).unwrap();
        free(process, address, &[MemoryKind::Registered]).unwrap();
        free(process, address + 1024, &[MemoryKind::Registered]).unwrap();
    }
}
