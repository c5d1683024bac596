//! Which array of a block's shared memory an access is at, or has left.

use gpurace_abi::meta::Elements;
use gpurace_cpu::FaultKind;
use gpurace_report::schema;

use crate::session::launch_record::LaunchRecord;
use crate::session::resolve::MemoryObject;

/// The shared memory of a block if the byte is unknown: the kernel's only array, or some array.
pub fn some_object(launch: &LaunchRecord) -> MemoryObject {
    let meta = launch.kernel.meta();
    let (name, size) = match (&meta.shared[..], &meta.dynamic_shared[..]) {
        ([only], []) => (Some(only.name.clone()), Some(only.size.into())),
        ([], [only]) => (Some(only.name.clone()), Some(launch.shape.dynamic_shared.into())),
        _ => (None, None),
    };
    MemoryObject::shared(name, size, None, &Elements::default())
}

/// The shared array that an access has left, and the distance from there.
pub fn left_array(launch: &LaunchRecord, kind: &FaultKind) -> Option<(schema::Object, Option<i64>)> {
    match kind {
        FaultKind::LeavesArray { name, size, distance } => {
            let array = MemoryObject::shared(Some(name.clone()), Some(*size), None, &Elements::default());
            Some((array.shown, Some(*distance)))
        }
        FaultKind::LeavesShared { offset } => {
            let meta = launch.kernel.meta();
            let dynamic = launch.shape.dynamic_shared;
            // The array at that end of shared memory. Dynamic shared memory that the launch forgets has no bytes.
            let nearest = if *offset < 0 {
                0
            } else if dynamic > 0 || !meta.dynamic_shared.is_empty() {
                dynamic_offset(launch)
            } else {
                u64::from(meta.shared_static).saturating_sub(1)
            };
            let mut array = object_at(launch, nearest).shown;
            let (within, size) = (array.offset.take()?, array.size?);
            array.element = None;
            let start = nearest - within;
            let distance = if *offset < 0 { *offset } else { offset - (start + size) as i64 };
            Some((array, Some(distance)))
        }
        _ => None,
    }
}

/// The offset of dynamic shared memory in that of a block.
fn dynamic_offset(launch: &LaunchRecord) -> u64 {
    u64::from(launch.kernel.meta().shared_static).next_multiple_of(16)
}

/// The variable at this offset of a block's shared memory.
pub fn object_at(launch: &LaunchRecord, offset: u64) -> MemoryObject {
    let meta = launch.kernel.meta();
    let unknown = Elements::default();
    let shown =
        |name, size, start, elements| MemoryObject::shared(name, Some(size), Some(offset - start), elements);
    let dynamic = dynamic_offset(launch);
    if offset >= dynamic {
        // All `extern __shared__` arrays begin at the same byte.
        let (name, elements) = match &meta.dynamic_shared[..] {
            [only] => (Some(only.name.clone()), &only.elements),
            _ => (None, &unknown),
        };
        return shown(name, launch.shape.dynamic_shared.into(), dynamic, elements);
    }
    let holds =
        |start: u32, size: u32| (u64::from(start)..u64::from(start) + u64::from(size)).contains(&offset);
    match meta.shared.iter().find(|variable| holds(variable.offset, variable.size)) {
        Some(variable) => {
            let name = Some(variable.name.clone());
            shown(name, variable.size.into(), variable.offset.into(), &variable.elements)
        }
        None => shown(None, meta.shared_static.into(), 0, &unknown),
    }
}
