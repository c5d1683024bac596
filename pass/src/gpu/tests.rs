//! What becomes of a module: text before and after.

mod accesses;
mod harness;
mod matrices;
mod order;
mod variables;
