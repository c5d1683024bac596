//! Bulk copies, those of tensors included. They happen at once.

use gpurace_abi::entry::Entry;
use gpurace_abi::tensor_map::MOST_DIMENSIONS;

use crate::translate::ptx::op::{Address, Op, Operand};
use crate::translate::ptx::types::{Space, Ty};

use super::address::pointer;
use super::body::{Body, Refused, Translated};
use super::memory::{barrier, transact};

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::BulkLoad { to_space, to, from, size, mbarrier } => {
            let size = bulk(body, [(*to_space, to), (Space::Global, from)], size)?;
            complete(body, *to_space, mbarrier, &size)
        }
        Op::TensorLoad { to_space, to, map, at, mbarrier } => {
            let arguments = tensor(body, *to_space, to, map, at)?;
            let size = body.value(format_args!("call i64 @gr.tensor.load({arguments})"));
            complete(body, *to_space, mbarrier, &size)
        }
        Op::TensorStore { map, at, from } => {
            let arguments = tensor(body, Space::Shared, from, map, at)?;
            body.line(format_args!("call void @gr.tensor.store({arguments})"));
            Ok(())
        }
        Op::BulkStore { to, from, size } => {
            bulk(body, [(Space::Global, to), (Space::Shared, from)], size)?;
            Ok(())
        }
        _ => Err(Refused),
    }
}

/// Copies `size` bytes between two places, the target first. Returns the size.
fn bulk(body: &mut Body, ends: [(Space, &Address); 2], size: &Operand) -> Translated<String> {
    let size = body.get(size, Ty::U(32))?;
    let size = body.resize(&size, 32, 64, "zext");
    let mut pointers = Vec::new();
    for (space, at) in ends {
        let pointer = pointer(body, space, at, 0)?;
        let (ty, value) = pointer.rsplit_once(' ').ok_or(Refused)?;
        pointers.push(format!("{ty} align 16 {value}"));
    }
    let suffix = if ends[0].0 == Space::Global { "p1.p3" } else { "p3.p1" };
    let pointers = pointers.join(", ");
    body.line(format_args!(
        "call void @llvm.memcpy.{suffix}.i64({pointers}, i64 {size}, i1 false), !gpurace.async !{{}}"
    ));
    Ok(size)
}

/// A copy to shared memory is done, and tells its mbarrier.
fn complete(body: &mut Body, space: Space, mbarrier: &Address, size: &str) -> Translated {
    let (pointer, kind) = barrier(body, space, mbarrier)?;
    let generic = body.value(format_args!("call ptr @gr.generic.{kind}({pointer})"));
    body.entry(Entry::AsyncArrive, &[&generic]);
    transact(body, &pointer, kind, size, true);
    Ok(())
}

/// The arguments of the building blocks that copy a box of a tensor.
fn tensor(
    body: &mut Body,
    space: Space,
    shared: &Address,
    map: &Address,
    at: &[Operand],
) -> Translated<String> {
    let (shared, map) = (pointer(body, space, shared, 0)?, pointer(body, Space::Generic, map, 0)?);
    let mut arguments = format!("{shared}, {map}, i32 {}", at.len());
    for n in 0..MOST_DIMENSIONS {
        let coordinate = body.get_or(at.get(n), Ty::B(32), "0")?;
        arguments += &format!(", i32 {coordinate}");
    }
    Ok(arguments)
}
