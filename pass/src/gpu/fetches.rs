//! Accesses through textures and surfaces, by intrinsics and by inline PTX. Only the host knows which
//! memory an object shows, so the device runtime logs the object's handle and the coordinates.

use gpurace_abi::event::{EventKind, Fetch};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::translate::ptx::op::{Geometry, Outside};
use crate::translate::ptx::{Op, Operand};

/// An access through a texture or surface object. Its values are operands of a statement or a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImageAccess<T> {
    /// The kind of access.
    pub what: Fetch,
    /// The handle of the object.
    pub object: T,
    /// The coordinates, as many as the geometry has; a layer comes first.
    pub at: Vec<T>,
}

/// The number of coordinates in the call that has the handle.
pub(super) const FIRST: usize = 2;

fn of_texture(geometry: Geometry, integer: bool, gather: Option<u8>) -> Fetch {
    let operation = geometry as u32
        | u32::from(integer) << 8
        | gather.map_or(0, |component| u32::from(component) + 1) << 16;
    Fetch { kind: EventKind::Fetch, operation, size: 1 }
}

fn of_surface(geometry: Geometry, outside: Outside, size: u32, writes: bool) -> Fetch {
    let kind = if writes { EventKind::SurfaceWrite } else { EventKind::SurfaceRead };
    Fetch { kind, operation: geometry as u32 | (outside as u32) << 8, size }
}

/// The access of a statement.
pub(super) fn of_statement(op: &Op) -> Option<ImageAccess<&Operand>> {
    let (what, object, at) = match op {
        Op::Texture { geometry, integer, gather, texture, at, .. } => {
            (of_texture(*geometry, *integer, *gather), texture, at)
        }
        Op::SurfaceLoad { geometry, outside, ty, d, surface, at } => {
            (of_surface(*geometry, *outside, d.len() as u32 * ty.bytes(), false), surface, at)
        }
        Op::SurfaceStore { geometry, outside, ty, surface, at, a } => {
            (of_surface(*geometry, *outside, a.len() as u32 * ty.bytes(), true), surface, at)
        }
        _ => return None,
    };
    Some(ImageAccess { what, object, at: at.iter().collect() })
}

/// True if an intrinsic, by its name without `llvm.nvvm.`, accesses a texture or a surface.
pub(super) fn is_fetch(name: &str) -> bool {
    ["tex.", "tld4.", "suld.", "sust."].iter().any(|start| name.starts_with(start))
}

/// The access of an intrinsic. `None` if it is unknown: it has a sampler beside its texture, or it
/// converts.
///
/// # Safety
/// `call` is a live call of it.
pub(super) unsafe fn of_intrinsic(name: &str, call: LLVMValueRef) -> Option<ImageAccess<LLVMValueRef>> {
    let (what, coordinates) = named(name)?;
    // SAFETY: by contract.
    unsafe {
        let has_all = LLVMGetNumArgOperands(call) as usize > coordinates;
        let argument = |n: usize| LLVMGetOperand(call, n as u32);
        has_all.then(|| ImageAccess {
            what,
            object: argument(0),
            at: (1..=coordinates).map(argument).collect(),
        })
    }
}

/// The access of an intrinsic of this name, and the number of its coordinates.
fn named(name: &str) -> Option<(Fetch, usize)> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let layered = parts.iter().position(|part| *part == "array").map(|at| parts.remove(at)).is_some();
    let geometry = |part: &str| {
        Some(match (part, layered) {
            ("1d", false) => Geometry::OneD,
            ("1d", true) => Geometry::OneDLayered,
            ("2d", false) => Geometry::TwoD,
            ("2d", true) => Geometry::TwoDLayered,
            ("3d", false) => Geometry::ThreeD,
            ("cube", false) => Geometry::Cube,
            ("cube", true) => Geometry::CubeLayered,
            _ => return None,
        })
    };
    let (what, shape) = match parts[..] {
        // There is one level of detail, so its choice does not matter.
        ["tex", "unified", shape, _, "s32"] => (of_texture(geometry(shape)?, true, None), shape),
        ["tex", "unified", shape, _, "f32"] | ["tex", "unified", shape, _, "level" | "grad", "f32"] => {
            (of_texture(geometry(shape)?, false, None), shape)
        }
        ["tld4", "unified", component, shape @ "2d", _, "f32"] => {
            let component = ["r", "g", "b", "a"].iter().position(|of| *of == component)?;
            (of_texture(geometry(shape)?, false, Some(component as u8)), shape)
        }
        ["suld", shape, element, outside] => {
            (of_surface(geometry(shape)?, mode(outside)?, bytes(element)?, false), shape)
        }
        ["sust", "b", shape, element, outside] => {
            (of_surface(geometry(shape)?, mode(outside)?, bytes(element)?, true), shape)
        }
        _ => return None,
    };
    Some((what, geometry(shape)?.coordinates()))
}

fn mode(outside: &str) -> Option<Outside> {
    Some(match outside {
        "trap" => Outside::Trap,
        "zero" => Outside::Zero,
        "clamp" => Outside::Clamp,
        _ => return None,
    })
}

/// Bytes of an element: `i8`, `v2i32`.
fn bytes(element: &str) -> Option<u32> {
    let (count, bits) = match element.strip_prefix('v') {
        Some(vector) => vector.split_once('i')?,
        None => ("1", element.strip_prefix('i')?),
    };
    let (count, bits) = (count.parse::<u32>().ok()?, bits.parse::<u32>().ok()?);
    let is_known = matches!(count, 1 | 2 | 4) && matches!(bits, 8 | 16 | 32 | 64) && count * bits <= 128;
    is_known.then_some(count * bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::ptx;

    #[test]
    fn intrinsics_are_read_by_their_names() {
        use EventKind::{Fetch as Fetches, SurfaceRead, SurfaceWrite};
        for (name, kind, operation, size, coordinates) in [
            ("tex.unified.1d.v4f32.s32", Fetches, 0x100, 1, 1),
            ("tex.unified.2d.v4f32.f32", Fetches, 1, 1, 2),
            ("tex.unified.3d.v4s32.level.f32", Fetches, 2, 1, 3),
            ("tex.unified.1d.array.v4u32.f32", Fetches, 3, 1, 2),
            ("tex.unified.2d.array.v4f32.grad.f32", Fetches, 4, 1, 3),
            ("tex.unified.cube.v4f32.f32", Fetches, 5, 1, 3),
            ("tex.unified.cube.array.v4f32.level.f32", Fetches, 6, 1, 4),
            ("tld4.unified.b.2d.v4f32.f32", Fetches, 1 | 3 << 16, 1, 2),
            ("suld.1d.i8.trap", SurfaceRead, 0, 1, 1),
            ("suld.2d.array.v4i32.clamp", SurfaceRead, 4 | 2 << 8, 16, 3),
            ("suld.3d.i64.zero", SurfaceRead, 2 | 1 << 8, 8, 3),
            ("sust.b.2d.v2i16.trap", SurfaceWrite, 1, 4, 2),
        ] {
            assert_eq!(named(name), Some((Fetch { kind, operation, size }, coordinates)), "{name}");
            assert!(is_fetch(name));
        }
        // It has a sampler of its own, uses the surface's format, or is unknown.
        for name in [
            "tex.1d.v4f32.f32",
            "tld4.r.2d.v4f32.f32",
            "sust.p.2d.i32.trap",
            "suld.cube.i9.trap",
            "suld.1d.i32",
            "tex.unified.2d",
        ] {
            assert_eq!(named(name), None, "{name}");
            assert!(is_fetch(name));
        }
        assert!(!is_fetch("texsurf.handle") && !is_fetch("suq.width"));
    }

    #[test]
    fn statements_say_what_the_executors_entry_points_are_told() {
        for (text, constraints, kind, operation, size, coordinates) in [
            ("tex.1d.v4.s32.s32 {$0,$0,$0,$0}, [$1, {$2}];", "=r,l,r", EventKind::Fetch, 0x100, 1, 1),
            ("tex.a2d.v4.f32.f32 {$0,$0,$0,$0}, [$1, {$2,$3,$3,$3}];", "=f,l,r,f", EventKind::Fetch, 4, 1, 3),
            (
                "tld4.g.2d.v4.f32.f32 {$0,$0,$0,$0}, [$1, {$2,$2}];",
                "=f,l,f",
                EventKind::Fetch,
                1 | 2 << 16,
                1,
                2,
            ),
            (
                "suld.b.2d.v2.b32.zero {$0,$0}, [$1, {$2,$2}];",
                "=r,l,r",
                EventKind::SurfaceRead,
                1 | 1 << 8,
                8,
                2,
            ),
            (
                "sust.b.3d.b16.clamp [$0, {$1,$1,$1,$1}], {$2};",
                "l,r,h",
                EventKind::SurfaceWrite,
                2 | 2 << 8,
                2,
                3,
            ),
        ] {
            let asm = ptx::parse(text, constraints).unwrap();
            let found = of_statement(&asm.statements[0].op).unwrap();
            assert_eq!(
                (found.what, found.at.len()),
                (Fetch { kind, operation, size }, coordinates),
                "{text}"
            );
        }
        let other = ptx::parse("ld.global.u32 $0, [$1];", "=r,l").unwrap();
        assert_eq!(of_statement(&other.statements[0].op), None);
    }
}
