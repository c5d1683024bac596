//! The checker against an oracle that knows happens-before by its definition:
//! full history, a vector clock over all threads, bytes; no epochs, no words,
//! no merging.
//!
//! | file | what is in it |
//! |---|---|
//! | `model/` | events, and the oracle |
//! | `drive.rs` | runs a history through the checker and compares |
//! | `exhaustive.rs` | all histories within bounds |
//! | `logged.rs` | random histories as logs of a GPU, replayed |
//! | `random.rs` | random histories far past the bounds |
//!
//! What is compared after each access `j` of a history, word by word:
//!
//! 1. Every reported pair is one that the oracle calls a race: sites, operations, block and thread
//!    where they are named, bytes, scope.
//! 2. Every pair `(i, j)` that races is reported by its sites, or stood for by a reported pair `(k,
//!    j)` where `k` is ordered after `i`, or is an access of `i`'s thread, or so on from `k`. So
//!    the first racing access, and every further one, is found in any history.

mod drive;
mod exhaustive;
mod logged;
mod model;
mod random;
