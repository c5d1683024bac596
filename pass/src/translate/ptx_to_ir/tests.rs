//! The translation run on the host and compared with what the PTX ISA says,
//! computed here in plain Rust; and the accesses and calls that it makes.

mod accesses;
mod barriers;
mod floating;
mod harness;
mod integer;
mod moves;
