//! Matrices that a warp holds together: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`.
//!
//! A matrix has 8 by 8 elements of 16 bits. Lane `l` holds two elements of row `l / 4`, from element
//! `2 (l % 4)` on (PTX ISA, "Matrix fragments"). Each lane gives the address of one row in memory. Shuffles
//! pass the addresses between lanes, and each lane accesses the elements that it holds.

use gpurace_abi::entry::Entry;
use gpurace_abi::matrix::{ElementType as Kind, Product};

use crate::translate::ptx::op::{Address, Op, Operand};
use crate::translate::ptx::types::{Space, Ty};

use super::address::{pointer, pointer_type};
use super::body::{Body, Refused, Translated};

const WORD: Ty = Ty::B(32);

/// A word of two halves, the low one first.
fn joined(body: &mut Body, halves: [String; 2]) -> String {
    let vector = body.vector(&halves, 16);
    body.value(format_args!("bitcast <2 x i16> {vector} to i32"))
}

pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Ldmatrix { transposed, space, d, from } => {
            let places = places(body, *space, from, d.len(), *transposed)?;
            for (d, at) in d.iter().zip(places) {
                let value = match at.as_slice() {
                    [at] => body.value(format_args!("load i32, {at}, align 4")),
                    at => {
                        let halves = [0, 1].map(|i| body.value(format_args!("load i16, {}, align 2", at[i])));
                        joined(body, halves)
                    }
                };
                body.set(d, WORD, &value)?;
            }
            Ok(())
        }
        Op::Stmatrix { transposed, space, to, a } => {
            let places = places(body, *space, to, a.len(), *transposed)?;
            for (a, at) in a.iter().zip(places) {
                let value = body.get(a, WORD)?;
                match at.as_slice() {
                    [at] => body.line(format_args!("store i32 {value}, {at}, align 4")),
                    at => {
                        let high = body.value(format_args!("lshr i32 {value}, 16"));
                        for (value, at) in [value, high].iter().zip(at) {
                            let half = body.resize(value, 32, 16, "zext");
                            body.line(format_args!("store i16 {half}, {at}, align 2"));
                        }
                    }
                }
            }
            Ok(())
        }
        Op::Movmatrix { d, a } => {
            let value = body.get(a, WORD)?;
            let lane = lane(body);
            let column = body.value(format_args!("lshr i32 {lane}, 2"));
            // The element of the other lane's register: 0 or 1.
            let odd = body.value(format_args!("and i32 {column}, 1"));
            let shift = body.value(format_args!("shl i32 {odd}, 4"));
            let place = body.value(format_args!("lshr i32 {column}, 1"));
            let halves = rows(body, &lane).map(|row| {
                let first = body.value(format_args!("shl i32 {row}, 2"));
                let from = body.value(format_args!("add i32 {first}, {place}"));
                let both = shuffle(body, &value, &from);
                let half = body.value(format_args!("lshr i32 {both}, {shift}"));
                body.resize(&half, 32, 16, "zext")
            });
            let value = joined(body, halves);
            body.set(d, WORD, &value)
        }
        Op::Mma { product, d, a, b, c } => multiply(body, *product, d, [a, b, c]),
        _ => Err(Refused),
    }
}

fn lane(body: &mut Body) -> String {
    body.call("i32", "llvm.nvvm.read.ptx.sreg.laneid", &[])
}

/// The value that lane `from` has.
fn shuffle(body: &mut Body, value: &str, from: &str) -> String {
    let both = body.entry(Entry::Shfl, &["0", "-1", value, from, "31"]);
    body.resize(&both, 64, 32, "zext")
}

/// The two rows of a transposed matrix that a lane holds an element of.
fn rows(body: &mut Body, lane: &str) -> [String; 2] {
    let in_quad = body.value(format_args!("and i32 {lane}, 3"));
    let first = body.value(format_args!("shl i32 {in_quad}, 1"));
    let second = body.value(format_args!("or i32 {first}, 1"));
    [first, second]
}

/// The pointers to a lane's elements, for each of `n` matrices. Both elements have one pointer; in a
/// transposed matrix each has its own.
fn places(
    body: &mut Body,
    space: Space,
    address: &Address,
    n: usize,
    transposed: bool,
) -> Translated<Vec<Vec<String>>> {
    let own = pointer(body, space, address, 0)?;
    let own = body.value(format_args!("ptrtoint {own} to i64"));
    let low = body.resize(&own, 64, 32, "zext");
    let high = body.value(format_args!("lshr i64 {own}, 32"));
    let high = body.resize(&high, 64, 32, "zext");
    let ty = pointer_type(space)?;
    let lane = lane(body);
    let quad = body.value(format_args!("lshr i32 {lane}, 2"));
    // The lane's rows, and its offset in each.
    let (rows, offset) = if transposed {
        (rows(body, &lane).to_vec(), body.value(format_args!("shl i32 {quad}, 1")))
    } else {
        let in_quad = body.value(format_args!("and i32 {lane}, 3"));
        (vec![quad], body.value(format_args!("shl i32 {in_quad}, 2")))
    };
    let offset = body.resize(&offset, 32, 64, "zext");
    Ok((0..n)
        .map(|matrix| {
            rows.iter()
                .map(|row| {
                    let from = body.value(format_args!("add i32 {row}, {}", 8 * matrix));
                    let [low, high] = [&low, &high].map(|part| shuffle(body, part, &from));
                    let row = body.call("i64", "gr.pair", &[("i32", &low), ("i32", &high)]);
                    let at = body.value(format_args!("add i64 {row}, {offset}"));
                    let at = body.value(format_args!("inttoptr i64 {at} to {ty}"));
                    format!("{ty} {at}")
                })
                .collect()
        })
        .collect())
}

/// The type of a register that holds elements of a type.
fn register(kind: Kind) -> Ty {
    Ty::B(8 * crate::translate::ptx::matrix_register(kind) as u16)
}

/// Puts A, B and C into a buffer, and takes D out of it.
fn multiply(body: &mut Body, product: Product, d: &[Operand], [a, b, c]: [&[Operand]; 3]) -> Translated {
    let [at_b, at_c, at_d, end] = product.starts();
    let buffer = body.slot(end);
    let place =
        |body: &mut Body, at: u32| body.value(format_args!("getelementptr i8, ptr {buffer}, i64 {at}"));
    for (start, kind, registers) in [(0, product.a, a), (at_b, product.b, b), (at_c, product.c, c)] {
        let ty = register(kind);
        for (i, operand) in (0..).zip(registers) {
            let value = body.get(operand, ty)?;
            let at = place(body, start + i * ty.bytes());
            body.line(format_args!("store i{} {value}, ptr {at}, align 4", ty.bits()));
        }
    }
    let word = product.word().to_string();
    body.entry(Entry::Matrix, &[&word, "-1", &buffer]);
    let ty = register(product.d);
    for (i, operand) in (0..).zip(d) {
        let at = place(body, at_d + i * ty.bytes());
        let value = body.value(format_args!("load i{}, ptr {at}, align 4", ty.bits()));
        body.set(operand, ty, &value)?;
    }
    Ok(())
}
