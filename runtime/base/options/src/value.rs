//! Reads a value of each type.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// The error for a value that an option does not take.
#[derive(Debug)]
pub(crate) struct BadValue {
    /// The wrong part of the value.
    pub(crate) found: String,
    /// What that part should be.
    pub(crate) wanted: &'static str,
}

/// The type of an option.
pub(crate) trait Value: Sized {
    /// What values look like, after the word "wanted".
    const WANTED: &'static str;
    /// True if a value may have a `:` without quotes.
    const ALLOWS_COLON: bool = false;

    /// Reads a value.
    fn parse(text: &str) -> Result<Self, BadValue>;

    /// Returns the error for a text that is wrong as a whole.
    fn bad(text: &str) -> BadValue {
        BadValue { found: text.to_owned(), wanted: Self::WANTED }
    }
}

/// An option without a default. An empty value unsets it.
impl<T: Value> Value for Option<T> {
    const WANTED: &'static str = T::WANTED;
    const ALLOWS_COLON: bool = T::ALLOWS_COLON;

    fn parse(text: &str) -> Result<Self, BadValue> {
        if text.is_empty() { Ok(None) } else { T::parse(text).map(Some) }
    }
}

impl Value for bool {
    const WANTED: &'static str = "`0` or `1`";

    fn parse(text: &str) -> Result<Self, BadValue> {
        match text {
            "0" | "no" | "false" => Ok(false),
            "1" | "yes" | "true" => Ok(true),
            _ => Err(Self::bad(text)),
        }
    }
}

impl Value for u8 {
    const WANTED: &'static str = "a whole number from 0 to 255";

    fn parse(text: &str) -> Result<Self, BadValue> {
        whole_number(text).and_then(|n| Self::try_from(n).ok()).ok_or_else(|| Self::bad(text))
    }
}

impl Value for u64 {
    const WANTED: &'static str = "a whole number from 0 to 18446744073709551615";

    fn parse(text: &str) -> Result<Self, BadValue> {
        whole_number(text).ok_or_else(|| Self::bad(text))
    }
}

impl Value for NonZeroU32 {
    const WANTED: &'static str = "a whole number from 1 to 4294967295";

    fn parse(text: &str) -> Result<Self, BadValue> {
        whole_number(text)
            .and_then(|n| u32::try_from(n).ok())
            .and_then(Self::new)
            .ok_or_else(|| Self::bad(text))
    }
}

/// Reads a decimal number, or a hexadecimal one after `0x`, without sign and spaces.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` would accept a sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Seconds.
impl Value for Duration {
    const WANTED: &'static str = "a number of seconds, 0 or more";

    fn parse(text: &str) -> Result<Self, BadValue> {
        text.parse()
            .ok()
            .and_then(|seconds| Self::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| Self::bad(text))
    }
}

/// Declares the type of an option that takes one of some words, and what each word means.
macro_rules! words {
    ($($(#[$about:meta])* $name:ident, $wanted:literal { $($(#[$meaning:meta])* $variant:ident = $($word:literal)|+,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$meaning])* $variant,)*
        }

        impl Value for $name {
            const WANTED: &'static str = $wanted;

            fn parse(text: &str) -> Result<Self, BadValue> {
                match text {
                    $($($word)|+ => Ok(Self::$variant),)*
                    _ => Err(Self::bad(text)),
                }
            }
        }
    )*};
}

words! {
    /// Where kernels run.
    Device, "`auto`, `cpu` or `cuda`" {
        /// On a GPU if there is one, else on the host.
        Auto = "auto",
        /// On the host.
        Cpu = "cpu",
        /// On an NVIDIA GPU.
        Cuda = "cuda",
    }
    /// Where the program stops because of a race.
    HaltOnError, "`0`, `1` or `break`" {
        /// Nowhere.
        No = "0" | "no" | "false",
        /// It ends when the launch with the first race has ended.
        End = "1" | "yes" | "true",
        /// It stops in the debugger before the access that races. Without a debugger it ends as with [`Self::End`].
        Break = "break",
    }
    /// When a long run shows how far it is.
    Progress, "`auto`, `0` or `1`" {
        /// If standard error is a terminal.
        Auto = "auto",
        /// Always.
        On = "1" | "yes" | "true",
        /// Never.
        Off = "0" | "no" | "false",
    }
    /// What to do with a lesser finding.
    Lesser, "`report` or `ignore`" {
        /// Report it.
        Report = "report",
        /// Do not report it.
        Ignore = "ignore",
    }
    /// How volatile accesses race.
    Volatile, "`report` or `relaxed`" {
        /// With plain and volatile accesses, and not with atomics of the same bytes.
        Report = "report",
        /// As relaxed atomics at system scope do.
        Relaxed = "relaxed",
    }
}

/// A path in which `%p` stands for the process id and `%%` for `%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    /// Returns the path for the process with this id.
    pub fn expand(&self, pid: u32) -> PathBuf {
        let mut path = String::with_capacity(self.0.len() + 8);
        let mut rest = self.0.as_str();
        while let Some(at) = rest.find('%') {
            path.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('p') {
                path.push_str(&pid.to_string());
                rest = after;
            } else {
                // `%%` is one `%`. Before any other character, `%` stands for itself.
                path.push('%');
                rest = rest.strip_prefix('%').unwrap_or(rest);
            }
        }
        path.push_str(rest);
        path.into()
    }

    /// Returns the path as the user typed it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for PathPattern {
    const WANTED: &'static str = "a path";
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        // No file has a nul byte in its name.
        if text.is_empty() || text.contains('\0') {
            return Err(Self::bad(text));
        }
        Ok(Self(text.to_owned()))
    }
}

impl Value for PathBuf {
    const WANTED: &'static str = PathPattern::WANTED;
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        PathPattern::parse(text).map(|path| path.0.into())
    }
}

/// Where the report is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPath {
    /// On standard error.
    Stderr,
    /// Into a file.
    File(PathPattern),
}

impl Value for LogPath {
    const WANTED: &'static str = "`stderr` or a path";
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        match text {
            "stderr" => Ok(Self::Stderr),
            _ => PathPattern::parse(text).map(Self::File).map_err(|_| Self::bad(text)),
        }
    }
}

/// Where proofs made at launch are kept for later runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheDir {
    /// In `gpurace` under the user's cache directory.
    User,
    /// Nowhere.
    Nowhere,
    /// In this directory.
    Directory(PathBuf),
}

impl Value for CacheDir {
    const WANTED: &'static str = "a path, or nothing";
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        match text {
            "" => Ok(Self::Nowhere),
            _ => PathBuf::parse(text).map(Self::Directory).map_err(|_| Self::bad(text)),
        }
    }
}
