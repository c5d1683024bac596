//! Fetches from textures, loads and stores of surfaces.

use crate::translate::ptx::instruction::{Decoded, Instruction, only_if};
use crate::translate::ptx::op::{Geometry, Op, Operand, Outside};
use crate::translate::ptx::types::Ty;

const GEOMETRIES: &[(&str, Geometry)] = &[
    ("1d", Geometry::OneD),
    ("2d", Geometry::TwoD),
    ("3d", Geometry::ThreeD),
    ("a1d", Geometry::OneDLayered),
    ("a2d", Geometry::TwoDLayered),
    ("cube", Geometry::Cube),
    ("acube", Geometry::CubeLayered),
];

fn geometry(i: &mut Instruction) -> Decoded<Geometry> {
    i.one_of(GEOMETRIES, "a geometry")
}

/// The object and its coordinates, without the padding of `.3d` and others.
fn place(i: &mut Instruction, geometry: Geometry) -> Decoded<(Operand, Vec<Operand>)> {
    let (object, mut at) = i.place()?;
    if at.len() < geometry.coordinates() {
        return Err(i.operands_wanted("as many coordinates as the geometry has"));
    }
    at.truncate(geometry.coordinates());
    Ok((object, at))
}

/// The types of four words. Floats of 16 bits are refused.
fn words(ty: Ty) -> bool {
    matches!(ty, Ty::F(32) | Ty::S(32) | Ty::U(32))
}

pub fn tex(i: &mut Instruction) -> Decoded {
    let (level, grad) = (i.flag("level"), i.flag("grad"));
    let geometry = geometry(i)?;
    only_if(i.flag("v4"))?;
    i.ty_of(words)?;
    let integer = i.ty_of(words)? == Ty::S(32);
    let (d, p) = i.written(4)?;
    let (texture, at) = place(i, geometry)?;
    // A texture has one level here, so how it is chosen does not matter.
    let levels = usize::from(level) + 2 * usize::from(grad);
    for _ in 0..levels {
        i.operand()?;
    }
    Ok(Op::Texture { geometry, integer, gather: None, d, p, texture, at })
}

pub fn tld4(i: &mut Instruction) -> Decoded {
    let gather = Some(i.one_of(&[("r", 0), ("g", 1), ("b", 2), ("a", 3)], "a component")?);
    let geometry = geometry(i)?;
    only_if(geometry == Geometry::TwoD && i.flag("v4"))?;
    i.ty_of(words)?;
    i.ty_of(|ty| ty == Ty::F(32))?;
    let (d, p) = i.written(4)?;
    let (texture, at) = place(i, geometry)?;
    Ok(Op::Texture { geometry, integer: false, gather, d, p, texture, at })
}

/// The common part of loads and stores: geometry, elements, type, and the result of an access outside.
fn surface(i: &mut Instruction) -> Decoded<(Geometry, usize, Ty, Outside)> {
    // `.p` converts by the surface's format.
    only_if(i.flag("b"))?;
    let geometry = geometry(i)?;
    i.choice(&["ca", "cg", "cs", "cv", "wb", "wt"].map(|cop| (cop, ())));
    let n = i.choice(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let ty = i.ty_of(|ty| matches!(ty, Ty::B(8..=64)))?;
    let outside = [("trap", Outside::Trap), ("zero", Outside::Zero), ("clamp", Outside::Clamp)];
    let outside = i.one_of(&outside, "`.trap`, `.zero` or `.clamp`")?;
    only_if(n as u32 * ty.bytes() <= 16)?;
    Ok((geometry, n, ty, outside))
}

pub fn suld(i: &mut Instruction) -> Decoded {
    let (geometry, n, ty, outside) = surface(i)?;
    let (d, p) = i.written(n)?;
    only_if(p.is_none())?;
    let (surface, at) = place(i, geometry)?;
    Ok(Op::SurfaceLoad { geometry, outside, ty, d, surface, at })
}

pub fn sust(i: &mut Instruction) -> Decoded {
    let (geometry, n, ty, outside) = surface(i)?;
    let (surface, at) = place(i, geometry)?;
    let a = i.elements(n)?;
    Ok(Op::SurfaceStore { geometry, outside, ty, surface, at, a })
}
