//! A launch as the prover sees it.
//!
//! The addresses of allocations differ from run to run, and between the halves of a double buffer.
//! A proof depends only on the positions of the kernel's objects within their allocations. So each
//! allocation gets an address by the order in which the kernel's objects name it. A null pointer
//! counts as one to the lowest bytes, where no allocation lies. If another address is in no known
//! allocation, all addresses stay as they are.

use gpurace_protocol::arguments;
use gpurace_protocol::expr::{ParamId, Width};
use gpurace_protocol::launch::{Extent, Launch as ProverLaunch, LaunchShape};
use gpurace_protocol::protocol::{ObjectKind, Protocol, Space};

use crate::backend::module::KernelLaunch;
use crate::program::Program;

/// New address of the first allocation, beyond all addresses of a program.
const FIRST: u64 = 1 << 48;
/// Least distance from one allocation to the next: a 32-bit offset never leads from one to another.
const GAP: u64 = 1 << 40;
/// The memory of a null pointer. What leads further may reach real memory.
const NULL: (u64, u64) = (0, 1 << 40);

/// A launch in the prover's terms.
pub struct Configuration {
    /// The launch.
    pub launch: ProverLaunch,
    /// It holds no address of this process: another run of the program has the same configuration.
    pub portable: bool,
}

/// The configuration of a launch of the kernel with this protocol.
pub fn of(program: &Program, launch: &KernelLaunch<'_>, protocol: &Protocol) -> Configuration {
    moved(in_place(program, launch, protocol), protocol)
}

/// The configuration of a launch that has the addresses of this process.
pub fn moved(mut launch: ProverLaunch, protocol: &Protocol) -> Configuration {
    let portable = place(&mut launch, protocol);
    Configuration { launch, portable }
}

/// A launch with the addresses that it has in this process.
pub fn in_place(program: &Program, launch: &KernelLaunch<'_>, protocol: &Protocol) -> ProverLaunch {
    let mut buffer = Buffer { program, launch, protocol, params: Vec::new() };
    for param in &protocol.params {
        // Those behind the arguments come last. They may be unknown. One may lie in the memory behind another one.
        let Some(value) = buffer.read(param.offset, param.width) else { break };
        buffer.params.push(value);
    }
    let objects = protocol.objects.iter().map(|object| buffer.memory_of(&object.kind)).collect();
    let shape = LaunchShape { cluster: None, ..launch.shape };
    let params = buffer.params.clone();
    let mut known = ProverLaunch { shape, params, objects, ..ProverLaunch::default() };
    let read = |at: u32, width: Width| buffer.read(at, width);
    arguments::read(protocol, &mut known, &read, &|base| pointed(program, base));
    known
}

/// A launch with the addresses that it has in this process, if the pointers among its words of memory lead to known
/// memory.
pub fn with_words(program: &Program, launch: &KernelLaunch<'_>, protocol: &Protocol) -> Option<ProverLaunch> {
    let known = in_place(program, launch, protocol);
    let is_known = |extent: &Extent| extent.allocation.is_some() || extent.base == 0;
    let is_loaded = |at: u32| protocol.loaded_at(at).is_some();
    let params = protocol.objects.iter().zip(&known.objects).all(|(object, extent)| match object.kind {
        ObjectKind::Param(id) if is_loaded(protocol.params[id.0 as usize].offset) => {
            extent.as_ref().is_some_and(is_known)
        }
        _ => true,
    });
    let computed = &known.computed.pointers;
    let slots = computed.iter().all(|(at, extent)| !is_loaded(*at) || is_known(extent));
    (params && slots).then_some(known)
}

/// The argument buffer of a launch. Behind the arguments lie variables in constant memory and words of other memory.
struct Buffer<'a> {
    program: &'a Program,
    launch: &'a KernelLaunch<'a>,
    protocol: &'a Protocol,
    /// The values of the protocol's first parameters.
    params: Vec<u64>,
}

impl Buffer<'_> {
    /// The number of this width at a place. `None` if it does not lie there, or in memory that this process cannot
    /// read.
    fn read(&self, at: u32, width: Width) -> Option<u64> {
        let bytes = width.bits().div_ceil(8);
        if let Some(value) = argument(self.launch.args, at, bytes) {
            return Some(value);
        }
        // A GPU has memory of its own.
        self.program.backend.get().own_checker().is_none().then_some(())?;
        let address = match self.protocol.loaded_at(at) {
            None => {
                let (constant, distance) = self.protocol.constant_at(at, bytes)?;
                self.launch.kernel.module.address_of(&constant.symbol)? + distance as usize
            }
            Some((object, distance)) => {
                let extent = self.memory_of(&self.protocol.objects.get(object.0 as usize)?.kind)?;
                let (start, end) = extent.allocation?;
                let address = extent.base.checked_add(distance.into())?;
                (start <= address && address.checked_add(bytes.into())? <= end).then_some(address as usize)?
            }
        };
        let mut value = [0; 8];
        // SAFETY: the allocation has these bytes. An operation that writes them meanwhile has a race with the launch.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), bytes as usize) };
        Some(u64::from_le_bytes(value))
    }

    /// The memory of an object, if it is global memory whose place the launch knows.
    fn memory_of(&self, kind: &ObjectKind) -> Option<Extent> {
        let param = |id: &ParamId| self.params.get(id.0 as usize).copied();
        match kind {
            ObjectKind::Param(id) => param(id).map(|base| pointed(self.program, base)),
            ObjectKind::Image(id) => image(self.program, param(id)?),
            ObjectKind::Variable { symbol, size, .. } => {
                let base = self.launch.kernel.module.address_of(symbol)? as u64;
                Some(Extent { base, allocation: Some((base, base + size)), guard: 0 })
            }
            ObjectKind::GridBarrier
            | ObjectKind::Slot { .. }
            | ObjectKind::Shared { .. }
            | ObjectKind::DynamicShared
            | ObjectKind::Unshared
            | ObjectKind::Opaque { .. } => None,
        }
    }
}

/// The memory behind a pointer.
fn pointed(program: &Program, base: u64) -> Extent {
    let at = base as usize;
    Extent { base, allocation: extent(program, at), guard: program.backend.get().guard(at) }
}

/// True if an object of the kernel lies in host-visible memory, or in unknown memory. The launch has the addresses of
/// this process.
pub fn may_be_met_by_host(program: &Program, protocol: &Protocol, launch: &ProverLaunch) -> bool {
    let visible = |base: u64| {
        let memory = program.memory_at(base as usize);
        // An access through a null pointer touches nothing.
        base != 0 && memory.is_none_or(|(kind, _)| kind.is_host_visible())
    };
    protocol.objects.iter().zip(&launch.objects).any(|(object, extent)| match &object.kind {
        ObjectKind::Param(_) | ObjectKind::Image(_) | ObjectKind::Variable { .. } => {
            extent.is_none_or(|extent| visible(extent.base))
        }
        ObjectKind::Opaque { space, .. } => *space != Space::Shared,
        // The launch knows the pointers at these places only if there are few places.
        ObjectKind::Slot { .. } => true,
        ObjectKind::GridBarrier
        | ObjectKind::Shared { .. }
        | ObjectKind::DynamicShared
        | ObjectKind::Unshared => false,
    })
}

/// A number of up to 8 bytes of the arguments. `None` if they end before it.
fn argument(args: &[u128], offset: u32, bytes: u32) -> Option<u64> {
    let byte = |at: usize| Some((*args.get(at / 16)? >> (8 * (at % 16))) as u8);
    (0..bytes as usize).rev().try_fold(0, |value, i| Some(value << 8 | u64::from(byte(offset as usize + i)?)))
}

/// Gives each allocation its new address. False if one is unknown: then all addresses stay.
fn place(launch: &mut ProverLaunch, protocol: &Protocol) -> bool {
    let is_null = |extent: &Extent| extent.base == 0 && extent.allocation.is_none();
    let mut allocations: Vec<(u64, u64)> = Vec::new();
    let mut has_null = false;
    let computed = launch.computed.pointers.iter().map(|(_, extent)| extent);
    for extent in launch.objects.iter().flatten().chain(computed) {
        has_null |= is_null(extent);
        match extent.allocation {
            Some(allocation) if allocations.contains(&allocation) => {}
            Some(allocation) => allocations.push(allocation),
            None if is_null(extent) => {}
            None => return false,
        }
    }
    let apart = |a: &(u64, u64), b: &(u64, u64)| a.1 <= b.0 || b.1 <= a.0;
    let overlap = allocations
        .iter()
        .enumerate()
        .any(|(i, a)| has_null && !apart(a, &NULL) || allocations[..i].iter().any(|b| !apart(a, b)));
    if overlap {
        return false;
    }
    let mut next = FIRST;
    let places: Vec<u64> = allocations
        .iter()
        .map(|(start, end)| {
            let place = next;
            next += (end - start).next_multiple_of(GAP) + GAP;
            place
        })
        .collect();
    let moved = |address: u64, (start, end): (u64, u64)| {
        let at = allocations.iter().position(|a| *a == (start, end));
        at.map_or(address, |at| address.wrapping_sub(start).wrapping_add(places[at]))
    };
    let computed = launch.computed.pointers.iter_mut().map(|(_, extent)| extent);
    for extent in launch.objects.iter_mut().flatten().chain(computed) {
        let Some((start, end)) = extent.allocation else {
            extent.allocation = Some(NULL);
            continue;
        };
        extent.base = moved(extent.base, (start, end));
        extent.allocation = Some((moved(start, (start, end)), moved(end, (start, end))));
    }
    // A pointer equals the base of its object. No expression uses it.
    let pointers = protocol.params.iter().enumerate().filter(|(_, param)| param.pointer);
    for (i, _) in pointers {
        let base = protocol.objects.iter().zip(&launch.objects).find_map(|(object, extent)| {
            let of = match object.kind {
                ObjectKind::Param(id) | ObjectKind::Image(id) => id.0 as usize == i,
                _ => false,
            };
            of.then_some(extent.as_ref()).flatten().map(|extent| extent.base)
        });
        // One in constant memory may be unknown.
        if let Some(value) = launch.params.get_mut(i) {
            *value = base.unwrap_or_default();
        }
    }
    true
}

/// The texels of a texture or surface object.
fn image(program: &Program, handle: u64) -> Option<Extent> {
    let address = program.backend.get().texels_of(handle)?;
    Some(Extent { base: address as u64, allocation: extent(program, address), guard: 0 })
}

/// First byte and end of the allocation or device variable that holds an address.
fn extent(program: &Program, address: usize) -> Option<(u64, u64)> {
    program.memory_at(address).map(|(_, bytes)| (bytes.start as u64, bytes.end as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurace_protocol::expr::ParamId;
    use gpurace_protocol::protocol::{Object, Param};

    fn protocol(pointers: u32) -> Protocol {
        let id = |i| ObjectKind::Param(ParamId(i));
        Protocol {
            params: (0..pointers)
                .map(|i| Param { name: format!("p{i}"), width: Width::W64, offset: 8 * i, pointer: true })
                .collect(),
            objects: (0..pointers).map(|i| Object { name: format!("p{i}"), kind: id(i) }).collect(),
            ..Protocol::default()
        }
    }

    fn launch(objects: &[(u64, Option<(u64, u64)>)]) -> ProverLaunch {
        ProverLaunch {
            params: objects.iter().map(|(base, _)| *base).collect(),
            objects: objects
                .iter()
                .map(|&(base, allocation)| Some(Extent { base, allocation, guard: 0 }))
                .collect(),
            ..ProverLaunch::default()
        }
    }

    #[test]
    fn allocations_move_and_what_lies_in_them_with_them() {
        let (x, y) = ((0x7000, 0x8000), (0x1000, 0x1800));
        let mut moved = launch(&[(0x7100, Some(x)), (0x1000, Some(y)), (0x7900, Some(x))]);
        assert!(place(&mut moved, &protocol(3)));
        let base = |i: usize| moved.objects[i].unwrap().base;
        assert_eq!((base(0), base(2) - base(0)), (FIRST + 0x100, 0x800));
        assert_eq!(moved.objects[0].unwrap().allocation, Some((FIRST, FIRST + 0x1000)));
        assert_eq!(base(1), FIRST + 2 * GAP);
        assert_eq!(moved.params, [base(0), base(1), base(2)]);
        // The allocations lie elsewhere: the configuration is the same. An object lies elsewhere in
        // its allocation: the configuration is another.
        let (x, y) = ((0x5000, 0x6000), (0x9000, 0x9800));
        let mut again = launch(&[(0x5100, Some(x)), (0x9000, Some(y)), (0x5900, Some(x))]);
        assert!(place(&mut again, &protocol(3)));
        assert_eq!(again, moved);
        let mut other = launch(&[(0x5100, Some(x)), (0x9000, Some(y)), (0x5904, Some(x))]);
        assert!(place(&mut other, &protocol(3)));
        assert_ne!(other, moved);
    }

    #[test]
    fn addresses_stay_where_one_is_in_no_allocation() {
        let mut l = launch(&[(0x7100, Some((0x7000, 0x8000))), (0x10, None)]);
        let before = l.clone();
        assert!(!place(&mut l, &protocol(2)));
        assert_eq!(l, before);
    }

    #[test]
    fn a_null_pointer_is_apart_from_memory_that_lies_high() {
        let high = (1 << 41, (1 << 41) + 0x1000);
        let mut moved = launch(&[(0, None), (1 << 41, Some(high))]);
        assert!(place(&mut moved, &protocol(2)));
        assert_eq!(moved.objects[0], Some(Extent { base: 0, allocation: Some(NULL), guard: 0 }));
        assert_eq!(moved.params, [0, FIRST]);
        let mut low = launch(&[(0, None), (0x7000, Some((0x7000, 0x8000)))]);
        let before = low.clone();
        assert!(!place(&mut low, &protocol(2)));
        assert_eq!(low, before);
    }

    #[test]
    fn arguments_are_read_at_any_offset() {
        let args = [0x1122_3344_5566_7788_99aa_bbcc_ddee_ff00u128, 0x42];
        assert_eq!(argument(&args, 0, 1), Some(0));
        assert_eq!(argument(&args, 1, 2), Some(0xeeff));
        assert_eq!(argument(&args, 8, 8), Some(0x1122_3344_5566_7788));
        assert_eq!(argument(&args, 16, 4), Some(0x42));
        assert_eq!(argument(&args, 28, 4), Some(0));
        assert_eq!(argument(&args, 30, 4), None);
    }
}
