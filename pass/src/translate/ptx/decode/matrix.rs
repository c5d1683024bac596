//! Matrices that a warp holds together.

use gpurace_abi::matrix::{ElementType as Kind, Layout, Product, Shape};

use crate::translate::ptx::instruction::{Decoded, Instruction, Refusal, only_if};
use crate::translate::ptx::op::Op;
use crate::translate::ptx::types::{Space, Ty};

fn sync_aligned(i: &mut Instruction) -> Decoded<()> {
    i.need("sync", "`.sync.aligned`")?;
    i.need("aligned", "`.sync.aligned`")
}

/// `.sync.aligned`, and the one shape of matrices that move.
fn moved(i: &mut Instruction) -> Decoded<()> {
    sync_aligned(i)?;
    // Other shapes have elements of fewer bits.
    only_if(i.flag("m8n8"))
}

/// The number of matrices, true if they are transposed, and their state space.
fn moves(i: &mut Instruction) -> Decoded<(usize, bool, Space)> {
    moved(i)?;
    let n = i.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)], "`.x1`, `.x2` or `.x4`")?;
    let transposed = i.flag("trans");
    let space = i.space();
    if !matches!(space, Space::Generic | Space::Shared) {
        return Err(i.lacks("`.shared`"));
    }
    i.ty_of(|ty| ty == Ty::B(16))?;
    Ok((n, transposed, space))
}

pub fn ldmatrix(i: &mut Instruction) -> Decoded {
    let (n, transposed, space) = moves(i)?;
    Ok(Op::Ldmatrix { transposed, space, d: i.registers(n)?, from: i.address()? })
}

pub fn stmatrix(i: &mut Instruction) -> Decoded {
    let (n, transposed, space) = moves(i)?;
    Ok(Op::Stmatrix { transposed, space, to: i.address()?, a: i.elements(n)? })
}

pub fn movmatrix(i: &mut Instruction) -> Decoded {
    moved(i)?;
    i.need("trans", "`.trans`")?;
    i.ty_of(|ty| ty == Ty::B(16))?;
    Ok(Op::Movmatrix { d: i.destination()?, a: i.scalar()? })
}

/// True if the matrix units have a product of these types and this shape (PTX ISA, `mma`).
fn exists(p: &Product) -> bool {
    let Shape { m, n, k } = p.shape;
    let integers = |kind| matches!(kind, Kind::S8 | Kind::U8);
    let small_floats = |kind| matches!(kind, Kind::E4m3 | Kind::E5m2);
    let sums = p.c == p.d;
    n == 8
        && match p.a {
            // `m8n8k4` of halves is four products, each of a quarter of the warp.
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

/// The types of sums of products of floats of 16 bits or fewer.
fn halves(kind: Kind) -> bool {
    matches!(kind, Kind::F16 | Kind::F32)
}

pub fn mma(i: &mut Instruction) -> Decoded {
    sync_aligned(i)?;
    let shape = i.one(Shape::named).ok_or(Refusal::Unsupported)?;
    only_if(i.flag("row") && i.flag("col"))?;
    let saturates = i.flag("satfinite");
    let mut kind = || i.one(Kind::named).ok_or(Refusal::Unsupported);
    let (d, a, b, c) = (kind()?, kind()?, kind()?, kind()?);
    let product = Product { shape, layout: Layout::Quads, a, b, c, d, saturates };
    only_if(exists(&product) && (!saturates || d == Kind::S32))?;
    let [at_b, at_c, at_d, end] = product.starts();
    let number = |bytes: u32, kind| (bytes / register(kind)) as usize;
    let d = i.registers(number(end - at_d, d))?;
    let (a, b) = (i.elements(number(at_b, a))?, i.elements(number(at_c - at_b, b))?);
    let c = i.elements(number(at_d - at_c, c))?;
    Ok(Op::Mma { product, d, a, b, c })
}

/// Bytes of the registers that hold elements of a type.
pub fn register(kind: Kind) -> u32 {
    if kind == Kind::F64 { 8 } else { 4 }
}
