//! Compile databases (`compile_commands.json`): how a source is compiled.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::documents::key;
use crate::diagnostic::{Error, read_file};

/// An entry of a compile database, as clang's documentation defines it.
#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    arguments: Option<Vec<String>>,
    command: Option<String>,
}

/// How a source is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilation {
    /// The folder of relative names.
    pub folder: PathBuf,
    /// The arguments without the compiler, the source and the outputs.
    pub arguments: Vec<OsString>,
}

/// Returns how the first of these databases that exists compiles a source. `None` if it does not, or there is no
/// database.
///
/// # Errors
/// The database cannot be read, or is not one.
pub fn compilation(databases: &[PathBuf], source: &Path) -> Result<Option<Compilation>, Error> {
    let Some(database) = databases.iter().find(|path| path.is_file()) else { return Ok(None) };
    let entries: Vec<Entry> = serde_json::from_slice(&read_file(database)?)
        .map_err(|e| Error::new(format!("`{}` is not a compile database: {e}", database.display())))?;
    let is_of = |entry: &&Entry| key(&entry.directory.join(&entry.file)) == source;
    // Most entries have another name: do not ask the disk for each.
    let mut named = entries.iter().filter(|entry| entry.file.file_name() == source.file_name());
    let Some(entry) = named.find(is_of) else { return Ok(None) };
    let words = match (&entry.arguments, &entry.command) {
        (Some(words), _) => words.clone(),
        (None, Some(command)) => shlex::split(command).ok_or_else(|| {
            Error::new(format!("`{}` has a command with an open quote: {command}", database.display()))
        })?,
        (None, None) => Vec::new(),
    };
    let arguments = arguments(&words, &entry.file, &entry.directory, source);
    Ok(Some(Compilation { folder: entry.directory.clone(), arguments }))
}

/// Returns a command's arguments without the compiler, the source, and what names or asks for outputs.
fn arguments(words: &[String], file: &Path, folder: &Path, source: &Path) -> Vec<OsString> {
    // A launcher such as ccache may stand before the compiler.
    let mut words = words.iter().skip_while(|word| !word.starts_with('-'));
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "-MF" | "-MT" | "-MQ" | "--output-file" => {
                words.next();
            }
            "-c" | "-dc" | "-MD" | "-MMD" | "-MP" | "-M" | "-MM" | "-MG" | "--" => {}
            other if other.starts_with("-o") && !other.starts_with("-opt") || other.starts_with("-MF") => {}
            other => {
                let is_source = !other.starts_with('-')
                    && (Path::new(other) == file || key(&folder.join(other)) == source);
                if !is_source {
                    kept.push(word.into());
                }
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Compilation>, Error> {
        let place = tempfile::tempdir().unwrap();
        let database = place.path().join("compile_commands.json");
        std::fs::write(&database, text).unwrap();
        compilation(&[place.path().join("nowhere"), database], Path::new("/gpurace-none/src/k.cu"))
    }

    #[test]
    fn a_source_is_compiled_as_its_entry_says() {
        let text = r#"[
            { "directory": "/gpurace-none/b", "file": "other/k.cu", "command": "clang++ -DWRONG" },
            { "directory": "/gpurace-none/src", "file": "k.cu", "output": "k.o",
              "command": "ccache gclang++ -I'a b' -DX=1 -MD -MT k.o -MF k.d -x cuda -o k.o -c k.cu -O2" } ]"#;
        let found = of(text).unwrap().unwrap();
        assert_eq!(found.folder, Path::new("/gpurace-none/src"));
        assert_eq!(found.arguments, ["-Ia b", "-DX=1", "-x", "cuda", "-O2"]);
        let listed = r#"[{ "directory": "/gpurace-none", "file": "src/k.cu",
                          "arguments": ["gclang++", "src/k.cu", "-O1", "-ok.o", "/gpurace-none/src/k.cu"] }]"#;
        assert_eq!(of(listed).unwrap().unwrap().arguments, ["-O1"]);
    }

    #[test]
    fn what_is_no_database_is_an_error_and_other_sources_have_no_entry() {
        assert_eq!(of("[]").unwrap(), None);
        assert!(of("{").is_err());
        let open = r#"[{ "directory": "/gpurace-none/src", "file": "k.cu", "command": "gclang++ -D'x" }]"#;
        assert!(of(open).unwrap_err().message.contains("open quote"));
        assert_eq!(compilation(&["/gpurace-none/c.json".into()], Path::new("/k.cu")).unwrap(), None);
    }
}
