//! Analyses: they read the IR and change nothing. Each question has one answer: control flow,
//! dominators, loops and regions, uniform values, the start of an address, values that are computed alike, the parts of
//! the program that a kernel reaches.

pub mod address;
pub mod aggregates;
pub mod control_flow;
pub mod counted;
pub mod deciding;
pub mod locals;
pub mod loops;
pub mod numbers;
pub mod observes;
pub mod reach;
pub mod regions;
pub mod reloads;
pub mod spins;
pub mod sync_features;
pub mod uniform;
