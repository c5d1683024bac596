//! Batches, compared with the same accesses one by one.

mod elements;
mod gathered;
mod releases;
mod rows;
mod two_ways;
