//! Formats of a stored report other than text.
//!
//! | module | what it knows |
//! |---|---|
//! | [`found`] | the findings as annotations, in sentences that several formats share |
//! | [`sarif`] | SARIF 2.1.0, for code scanning and editors |
//! | [`markdown`] | a comment on a pull request |
//! | [`github`] | annotations of GitHub Actions |
//! | [`gitlab`] | GitLab's code quality report |
//! | [`html`] | one self-contained page, with pictures of threads, order and bytes |
//!
//! The text that a program prints is in `gpurace-report`, since a program needs none of these libraries. The
//! driver reads and writes the files.

pub mod found;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod markdown;
pub mod sarif;
#[cfg(test)]
mod tests;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// The characters of a path that need no encoding in a URI (RFC 3986, section 3.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
