//! Errors, notes and hints in clang's form, and the exit statuses of `gclang`.

use std::fmt;
use std::fs;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use gpurace_report::plain;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// The reason why nothing was run, or why one of gpurace's own steps failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What was found and what was wanted, in lower case and without a full stop.
    pub message: String,
    /// Advice.
    pub hint: Option<String>,
}

impl Error {
    /// Returns an error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Returns what makes an error of the reason why something cannot be done to a file.
    pub fn cannot<E: fmt::Display>(
        what: &str,
        path: &(impl AsRef<Path> + ?Sized),
    ) -> impl Fn(E) -> Self + Copy {
        move |reason| Self::new(format!("cannot {what} `{}`: {reason}", path.as_ref().display()))
    }

    /// Returns the same error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the error as `program: error: …`, and the hint below it.
    pub fn print(&self, program: &str) {
        anstream::eprintln!(
            "{BOLD}{program}: {RED}error: {RED:#}{BOLD}{}{BOLD:#}",
            one_message(&self.message)
        );
        if let Some(hint) = &self.hint {
            anstream::eprintln!("{program}: {CYAN}hint: {CYAN:#}{}", one_message(hint));
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

/// Reads a file.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::cannot("read", path))
}

/// Writes a file.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Error> {
    fs::write(path, content).map_err(Error::cannot("write", path))
}

/// Makes a folder for temporary files that only this user can read and write, whatever the umask. Nobody
/// else can put a file in it.
///
/// # Errors
/// If it cannot be made.
pub fn temporary_folder() -> Result<tempfile::TempDir, Error> {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let made = tempfile::Builder::new().prefix("gpurace-").permissions(private).tempdir();
    made.map_err(|e| Error::new(format!("cannot make a temporary folder: {e}")))
}

/// Returns a message without odd characters. A name in it may have a new line: no line of it looks like another
/// message.
fn one_message(text: &str) -> String {
    plain::lines(text).replace('\n', "\n  | ")
}

/// Prints `program: note: …`.
pub fn note(program: &str, message: &str) {
    anstream::eprintln!("{program}: {CYAN}note: {CYAN:#}{}", one_message(message));
}

/// Prints `program: remark: …`.
pub fn remark(program: &str, message: &str) {
    anstream::eprintln!("{program}: remark: {}", one_message(message));
}

/// How `gclang` ended. The status is 0, 1 or that of clang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything ran.
    Success,
    /// gpurace refused the command line, or did not find a tool.
    Refused,
    /// A step ended with this status.
    Step(i32),
    /// This signal ended a step or `gclang` itself.
    Signal(i32),
}

impl Exit {
    /// Returns the status for the shell.
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
