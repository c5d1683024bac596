//! The checker, compared with an oracle that computes happens-before by its definition. The oracle
//! keeps the full history, a vector clock over all threads, and single bytes. It has no epochs, no
//! words, and merges nothing.
//!
//! | file | what it has |
//! |---|---|
//! | `model/` | events, and the oracle |
//! | `drive.rs` | runs a history through the checker and compares |
//! | `exhaustive.rs` | all histories within bounds |
//! | `random.rs` | random histories far past the bounds |
//!
//! After each access `j` of a history, two claims are tested word by word:
//!
//! 1. The oracle calls each reported pair a race, with the same sites, operations, bytes and scope,
//!    and with the same block and thread if they are named.
//! 2. Each pair `(i, j)` that races is reported by its sites, or a reported pair `(k, j)` stands for
//!    it: `k` is ordered after `i` or is an access of `i`'s thread, or stands for such an access. So
//!    the first racing access, and every further one, is found in any history.

mod drive;
mod exhaustive;
mod model;
mod random;
