//! The files that a command line names.

use std::ffi::OsString;

use crate::clang_options as clang;

/// A file to compile or link.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// As given.
    pub path: OsString,
    /// The language that an earlier `-x` set, if any.
    pub language: Option<String>,
}

/// What clang does with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Compiles it for host and device.
    Cuda,
    /// Compiles it for the host.
    Host,
    /// Hands it to the linker.
    Linker,
}

impl Input {
    /// What clang does with it.
    pub fn kind(&self) -> InputKind {
        let name = self.path.to_string_lossy();
        match self.language.as_deref() {
            Some("cuda") => InputKind::Cuda,
            Some(_) => InputKind::Host,
            None if clang::is_cuda_source(&name) => InputKind::Cuda,
            None if clang::is_source(&name) => InputKind::Host,
            None => InputKind::Linker,
        }
    }

    /// True if nvcc compiles it as C. clang++ takes it for C++.
    pub fn is_c(&self) -> bool {
        self.language.is_none() && self.path.to_string_lossy().ends_with(".c")
    }
}
