//! Matrices that a warp holds together.

use gpurace_abi::matrix::{ElementType as Kind, Layout, Product, Shape};

use super::memory::space;
use crate::translate::ptx::op::{Op, Operand};
use crate::translate::ptx::table::{Decoded, Instruction, Refusal};
use crate::translate::ptx::types::{Space, Ty};

/// `.sync.aligned`, and the one shape of matrices that move.
fn moved(i: &mut Instruction) -> Decoded<()> {
    if !i.flag("sync") || !i.flag("aligned") {
        return Err(i.lacks("`.sync.aligned`"));
    }
    // Other shapes have elements of fewer bits.
    if i.flag("m8n8") { Ok(()) } else { Err(Refusal::Unsupported) }
}

/// The number of matrices, true if they are transposed, and their state space.
fn moves(i: &mut Instruction) -> Decoded<(usize, bool, Space)> {
    moved(i)?;
    let n = i.choice(&[("x1", 1), ("x2", 2), ("x4", 4)]).ok_or_else(|| i.lacks("`.x1`, `.x2` or `.x4`"))?;
    let transposed = i.flag("trans");
    let space = space(i);
    if !matches!(space, Space::Generic | Space::Shared) {
        return Err(i.lacks("`.shared`"));
    }
    i.ty_of(|ty| ty == Ty::B(16))?;
    Ok((n, transposed, space))
}

fn written(d: &[Operand]) -> bool {
    d.iter().all(|d| matches!(d, Operand::Reg(_) | Operand::Sink))
}

pub(in crate::translate::ptx) fn ldmatrix(i: &mut Instruction) -> Decoded {
    let (n, transposed, space) = moves(i)?;
    let (d, from) = (i.elements(n)?, i.address()?);
    if !written(&d) {
        return Err(i.operands_wanted("registers to write"));
    }
    Ok(Op::Ldmatrix { transposed, space, d, from })
}

pub(in crate::translate::ptx) fn stmatrix(i: &mut Instruction) -> Decoded {
    let (n, transposed, space) = moves(i)?;
    Ok(Op::Stmatrix { transposed, space, to: i.address()?, a: i.elements(n)? })
}

pub(in crate::translate::ptx) fn movmatrix(i: &mut Instruction) -> Decoded {
    moved(i)?;
    if !i.flag("trans") {
        return Err(i.lacks("`.trans`"));
    }
    i.ty_of(|ty| ty == Ty::B(16))?;
    Ok(Op::Movmatrix { d: i.destination()?, a: i.scalar()? })
}

/// The types of a product that the matrix units have, with its shapes (PTX ISA, `mma`).
fn exists(p: &Product) -> bool {
    let Shape { m, n, k } = p.shape;
    let integers = |kind| matches!(kind, Kind::S8 | Kind::U8);
    let small_floats = |kind| matches!(kind, Kind::E4m3 | Kind::E5m2);
    let sums = p.c == p.d;
    n == 8
        && match p.a {
            // `m8n8k4` of halves are four products of a quarter of the warp each.
            Kind::F16 => m == 16 && matches!(k, 8 | 16) && p.b == p.a && halves(p.c) && halves(p.d),
            Kind::Bf16 => m == 16 && matches!(k, 8 | 16) && p.b == p.a && sums && p.d == Kind::F32,
            Kind::Tf32 => m == 16 && matches!(k, 4 | 8) && p.b == p.a && sums && p.d == Kind::F32,
            Kind::F64 => {
                matches!((m, k), (8, 4) | (16, 4 | 8 | 16)) && p.b == p.a && sums && p.d == Kind::F64
            }
            a if integers(a) => {
                matches!((m, k), (8, 16) | (16, 16 | 32)) && integers(p.b) && sums && p.d == Kind::S32
            }
            a if small_floats(a) => {
                m == 16 && matches!(k, 16 | 32) && small_floats(p.b) && sums && halves(p.d)
            }
            _ => false,
        }
}

/// Types that sums of floats of 16 bits and fewer have.
fn halves(kind: Kind) -> bool {
    matches!(kind, Kind::F16 | Kind::F32)
}

pub(in crate::translate::ptx) fn mma(i: &mut Instruction) -> Decoded {
    if !i.flag("sync") || !i.flag("aligned") {
        return Err(i.lacks("`.sync.aligned`"));
    }
    let shape = i.one(Shape::named).ok_or(Refusal::Unsupported)?;
    if !i.flag("row") || !i.flag("col") {
        return Err(Refusal::Unsupported);
    }
    let saturates = i.flag("satfinite");
    let mut kind = || i.one(Kind::named).ok_or(Refusal::Unsupported);
    let (d, a, b, c) = (kind()?, kind()?, kind()?, kind()?);
    let product = Product { shape, layout: Layout::Quads, a, b, c, d, saturates };
    if !exists(&product) || (saturates && d != Kind::S32) {
        return Err(Refusal::Unsupported);
    }
    let [at_b, at_c, at_d, end] = product.starts();
    let mut registers = |bytes: u32, kind: Kind| i.elements((bytes / register(kind)) as usize);
    let d = registers(end - at_d, d)?;
    let (a, b, c) = (registers(at_b, a)?, registers(at_c - at_b, b)?, registers(at_d - at_c, c)?);
    if !written(&d) {
        return Err(i.operands_wanted("registers to write"));
    }
    Ok(Op::Mma { product, d, a, b, c })
}

/// Bytes of the registers that hold elements of a type.
pub fn register(kind: Kind) -> u32 {
    if kind == Kind::F64 { 8 } else { 4 }
}
