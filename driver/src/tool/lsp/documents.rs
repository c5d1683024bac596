//! Files: which ones the editor has open, their texts, and their names in reports, on disk and in the protocol.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::Uri;
use gpurace_report::sources::{DiskSources, Sources as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The characters of a path that need no encoding in a URI (RFC 3986, section 3.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the URI of a file.
pub fn uri(path: &Path) -> Uri {
    Uri(format!("file://{}", percent_encode(path.as_os_str().as_bytes(), PATH)))
}

/// Returns the file that a URI names. `None` if it names something else.
pub fn path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://")?;
    // Some clients name the host.
    let encoded = &rest[rest.find('/')?..];
    Some(OsString::from_vec(percent_decode_str(encoded).collect()).into())
}

/// Returns the name under which the server knows a file. The file may have other names, such as those through links.
pub fn key(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the file that a report, facts or a compilation call `name`: the first of these folders that has it.
pub fn resolve<'a>(name: &str, folders: impl IntoIterator<Item = &'a Path>) -> PathBuf {
    let mut first = None;
    for folder in folders {
        // `join` with an absolute name returns that name.
        let path = folder.join(name);
        if path.exists() {
            return path;
        }
        first.get_or_insert(path);
    }
    first.unwrap_or_else(|| name.into())
}

/// A file that the editor has open.
#[derive(Clone, Debug)]
pub struct Document {
    /// The editor's name for it.
    pub uri: Uri,
    /// The version of its text.
    pub version: i32,
    /// Its text.
    pub text: Arc<str>,
    /// True if the editor's text is not that on disk.
    pub is_edited: bool,
}

/// The files that the editor has open, by [`key`], and those on disk.
#[derive(Debug)]
pub struct Documents {
    open: HashMap<PathBuf, Document>,
    /// No other file's text is read: a report may name any file.
    roots: Vec<PathBuf>,
}

impl Documents {
    /// Returns a state without open files. It reads files on disk below these folders alone.
    pub fn below(roots: Vec<PathBuf>) -> Self {
        Self { open: HashMap::new(), roots }
    }

    /// Adds or replaces an open file.
    pub fn put(&mut self, key: PathBuf, document: Document) {
        self.open.insert(key, document);
    }

    /// Returns an open file.
    pub fn get(&self, key: &Path) -> Option<&Document> {
        self.open.get(key)
    }

    /// Returns an open file for a change.
    pub fn get_mut(&mut self, key: &Path) -> Option<&mut Document> {
        self.open.get_mut(key)
    }

    /// Forgets a file that is no longer open.
    pub fn remove(&mut self, key: &Path) {
        self.open.remove(key);
    }

    /// Returns the keys of the open files.
    pub fn open(&self) -> impl Iterator<Item = &PathBuf> {
        self.open.keys()
    }

    /// Returns the text of a file: the editor's, or else that on disk.
    pub fn text(&self, key: &Path) -> Option<Arc<str>> {
        match self.open.get(key) {
            Some(document) => Some(Arc::clone(&document.text)),
            None => DiskSources::below(self.roots.iter().cloned()).text(key.to_str()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_name_the_same_files() {
        for (name, wanted) in [
            ("/a/k.cu", "file:///a/k.cu"),
            ("/a b/größe#1.cu", "file:///a%20b/gr%C3%B6%C3%9Fe%231.cu"),
            ("/100%/k.cu", "file:///100%25/k.cu"),
        ] {
            assert_eq!(uri(Path::new(name)).0, wanted);
            assert_eq!(path(&Uri(wanted.to_owned())).unwrap(), Path::new(name));
        }
        assert_eq!(path(&"file://localhost/a%2Bb.cu".into()).unwrap(), Path::new("/a+b.cu"));
        for other in ["untitled:Untitled-1", "https://a/b", "file://", "file://host", ""] {
            assert_eq!(path(&other.into()), None, "{other}");
        }
    }

    #[test]
    fn names_are_searched_in_order() {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        for folder in [&a, &b] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(b.join("k.cu"), "").unwrap();
        let folders = [a.as_path(), b.as_path()];
        assert_eq!(resolve("k.cu", folders), b.join("k.cu"));
        assert_eq!(resolve("other.cu", folders), a.join("other.cu"));
        assert_eq!(resolve("/x/k.cu", folders), Path::new("/x/k.cu"));
    }

    #[test]
    fn an_open_text_hides_that_on_disk_and_files_elsewhere_are_not_read() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let [inside, outside] = [root.join("k.cu"), place.path().join("k.cu")].map(|path| {
            std::fs::write(&path, "disk").unwrap();
            key(&path)
        });
        let mut documents = Documents::below(vec![root]);
        assert_eq!(documents.text(&inside).as_deref(), Some("disk"));
        assert_eq!(documents.text(&outside), None);
        let open = Document { uri: uri(&inside), version: 1, text: "open".into(), is_edited: false };
        documents.put(inside.clone(), open);
        assert_eq!(documents.text(&inside).as_deref(), Some("open"));
        documents.remove(&inside);
        assert_eq!(documents.text(&inside).as_deref(), Some("disk"));
    }
}
