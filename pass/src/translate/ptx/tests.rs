//! The parser on the shapes of text that CUDA's headers, libdevice, CUB and
//! programs write, on malformed text, and on random text.

mod effects;
mod malformed;
mod random;
mod shapes;

use super::{Asm, Op, parse};

/// Parses, and expects that everything is modelled.
fn modelled(template: &str, constraints: &str) -> Asm {
    let asm = parse(template, constraints).unwrap_or_else(|e| panic!("{template}: {e}"));
    let refused: Vec<_> = asm.unsupported().collect();
    assert!(refused.is_empty(), "{template}: {refused:?} unsupported");
    asm
}

/// The operation of an asm that has one.
fn only(template: &str, constraints: &str) -> Op {
    let mut asm = modelled(template, constraints);
    assert_eq!(asm.statements.len(), 1, "{template}");
    asm.statements.remove(0).op
}
