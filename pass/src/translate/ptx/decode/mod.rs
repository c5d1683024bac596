//! Decoders of the table: from an instruction's modifiers and operands to an
//! [`Op`](super::op::Op), by subject.

pub(super) mod matrix;
pub(super) mod memory;
pub(super) mod moves;
pub(super) mod sync;
pub(super) mod texture;
