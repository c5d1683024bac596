//! Textures and surfaces. The code asks the runtime for the place of the bytes, and then reads and
//! writes them like any other bytes.

use gpurace_abi::entry::Entry;

use crate::translate::ptx::op::{Geometry, Op, Operand};
use crate::translate::ptx::types::Ty;

use super::body::{Body, Refused, Translated};

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Texture { geometry, integer, gather, d, p, texture, at } => {
            let operation = *geometry as u32
                | u32::from(*integer) << 8
                | gather.map_or(0, |component| u32::from(component) + 1) << 16;
            let handle = body.get(texture, Ty::B(64))?;
            let [x, y, z, w] = coordinates(body, at)?;
            let operation = operation.to_string();
            let found = body.call(
                "{ i64, i64 }",
                "gr.texture",
                &[("i64", &handle), ("i32", &operation), ("i32", &x), ("i32", &y), ("i32", &z), ("i32", &w)],
            );
            for (n, d) in d.iter().enumerate() {
                let half = body.value(format_args!("extractvalue {{ i64, i64 }} {found}, {}", n / 2));
                let shifted = body.value(format_args!("lshr i64 {half}, {}", 32 * (n % 2)));
                let word = body.resize(&shifted, 64, 32, "zext");
                body.set(d, Ty::B(32), &word)?;
            }
            p.as_ref().map_or(Ok(()), |p| body.set(p, Ty::Pred, "true"))
        }
        Op::SurfaceLoad { geometry, outside, ty, d, surface, at } => {
            for d in d {
                body.set(d, *ty, "0")?;
            }
            let size = d.len() as u32 * ty.bytes();
            let place = place(body, *geometry, *outside as u32, surface, at, size)?;
            let (n, bits) = (d.len(), ty.bits());
            let vector = body.value(format_args!("load <{n} x i{bits}>, ptr {}, align 1", place.pointer));
            let values = body.elements(&vector, n, bits);
            body.set_all(d, *ty, &values)?;
            place.end(body);
            Ok(())
        }
        Op::SurfaceStore { geometry, outside, ty, surface, at, a } => {
            let (n, bits) = (a.len(), ty.bits());
            let values = body.get_all(a, *ty)?;
            let vector = body.vector(&values, bits);
            let size = n as u32 * ty.bytes();
            let place = place(body, *geometry, *outside as u32, surface, at, size)?;
            body.line(format_args!("store <{n} x i{bits}> {vector}, ptr {}, align 1", place.pointer));
            place.end(body);
            Ok(())
        }
        _ => Err(Refused),
    }
}

/// The coordinates as four words.
fn coordinates(body: &mut Body, at: &[Operand]) -> Translated<[String; 4]> {
    let mut words = [const { String::new() }; 4];
    for (n, word) in words.iter_mut().enumerate() {
        *word = body.get_or(at.get(n), Ty::B(32), "0")?;
    }
    Ok(words)
}

/// An access to a surface, in a basic block that runs only if the address is not null.
struct Place {
    pointer: String,
    after: String,
}

impl Place {
    fn end(self, body: &mut Body) {
        body.line(format_args!("br label %{0}\n{0}:", self.after));
    }
}

/// Computes the place of an element of a surface, and branches to what accesses it if there is one.
fn place(
    body: &mut Body,
    geometry: Geometry,
    outside: u32,
    surface: &Operand,
    at: &[Operand],
    size: u32,
) -> Translated<Place> {
    let handle = body.get(surface, Ty::B(64))?;
    let [x, y, z, _] = coordinates(body, at)?;
    let (operation, size) = ((geometry as u32 | outside << 8).to_string(), size.to_string());
    let pointer = body.entry(Entry::Surface, &[&handle, &operation, &x, &y, &z, &size]);
    let there = body.value(format_args!("icmp ne ptr {pointer}, null"));
    let (then, after) = (body.label(), body.label());
    body.line(format_args!("br i1 {there}, label %{then}, label %{after}\n{then}:"));
    Ok(Place { pointer, after })
}
