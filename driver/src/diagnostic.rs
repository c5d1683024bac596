//! Errors, notes and hints in clang's form, and the exit statuses of `gclang`.

use std::fmt;

use anstyle::{AnsiColor, Style};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Why nothing was run, or what went wrong in one of gpurace's own steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What was found and what was wanted; lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the error as `program: error: …`, and the hint below it.
    pub fn print(&self, program: &str) {
        anstream::eprintln!("{BOLD}{program}: {RED}error: {RED:#}{BOLD}{}{BOLD:#}", self.message);
        if let Some(hint) = &self.hint {
            anstream::eprintln!("{program}: {CYAN}hint: {CYAN:#}{hint}");
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Prints `program: note: …`.
pub fn note(program: &str, message: &str) {
    anstream::eprintln!("{program}: {CYAN}note: {CYAN:#}{message}");
}

/// How `gclang` ended. Statuses are clang's own: 0, 1, or what clang said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything ran.
    Success,
    /// gpurace refused the command line, or did not find a tool.
    Refused,
    /// A step ended with this status.
    Step(i32),
    /// A step, or `gclang` itself, was ended by this signal.
    Signal(i32),
}

impl Exit {
    /// The status for the shell.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Refused => 1,
            Exit::Step(status) => u8::try_from(status).unwrap_or(1),
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(1),
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
