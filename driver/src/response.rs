//! `@file` arguments: files with more arguments, split as clang does on Unix (whitespace, both kinds of
//! quotes, backslash).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The deepest nesting of files. A file that names itself stops there.
const DEEPEST: u32 = 16;

/// Replaces each `@file` by its contents. Like clang, it keeps an `@name` that cannot be read.
pub fn expand(args: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        expand_into(arg, 0, &mut out);
    }
    out
}

/// Adds an argument to `out`, or the words of the response file that it names.
fn expand_into(arg: OsString, depth: u32, out: &mut Vec<OsString>) {
    let name = arg.as_bytes().strip_prefix(b"@").filter(|_| depth < DEEPEST);
    match name.map(|name| std::fs::read(OsStr::from_bytes(name))) {
        Some(Ok(content)) => {
            for word in split(&content) {
                expand_into(word, depth + 1, out);
            }
        }
        _ => out.push(arg),
    }
}

/// Splits the text of a response file into words.
pub fn split(content: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => {
                if let Some(next) = bytes.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (b, Some(q)) if b == q => quote = None,
            (b, Some(_)) => word.get_or_insert_default().push(b),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b, None) if b.is_ascii_whitespace() => {
                words.extend(word.take().map(OsString::from_vec));
            }
            (b, None) => word.get_or_insert_default().push(b),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// Returns the text of a response file with these words, for [`expand`] and clang.
pub fn render(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        text.push(b'"');
        for &byte in word.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend_from_slice(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text.as_bytes()).into_iter().map(|w| w.into_string().unwrap()).collect()
    }

    #[test]
    fn splits_like_clang() {
        assert_eq!(
            words("-c  a.cu\n-DX=\"a b\" 'q\"q' e\\ f \"\""),
            ["-c", "a.cu", "-DX=a b", "q\"q", "e f", ""]
        );
    }

    #[test]
    fn what_is_rendered_reads_back() {
        let given: Vec<OsString> = ["a b", "\"q\"", "\\", "", "-I/x y", "'"].map(Into::into).into();
        assert_eq!(split(&render(&given)), given);
    }

    #[test]
    fn files_nest_and_missing_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        let outer = dir.path().join("outer");
        std::fs::write(&inner, "-O2 x.cu").unwrap();
        std::fs::write(&outer, format!("-c @{}", inner.display())).unwrap();
        let given = vec![format!("@{}", outer.display()).into(), "@/no/such/file".into()];
        assert_eq!(expand(given), ["-c", "-O2", "x.cu", "@/no/such/file"]);
    }

    #[test]
    fn a_file_that_names_itself_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("self");
        let itself = OsString::from(format!("@{}", file.display()));
        std::fs::write(&file, itself.as_bytes()).unwrap();
        assert_eq!(expand(vec![itself.clone()]), [itself]);
    }
}
