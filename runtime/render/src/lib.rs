//! A stored report for other readers than a terminal.
//!
//! | module | what it knows |
//! |---|---|
//! | [`sarif`] | SARIF 2.1.0, for code scanning and editors |
//! | [`markdown`] | a comment on a pull request |
//! | [`html`] | one self-contained page, with pictures of threads, order and bytes |
//!
//! What does *not* live here: the text of the program's own report
//! (`gpurace-report`), which a program prints without any of these libraries;
//! where files are read from and written to.

pub mod html;
pub mod markdown;
pub mod sarif;
#[cfg(test)]
mod tests;
