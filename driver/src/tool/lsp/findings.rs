//! The findings of a report as diagnostics, and the changes of the source that mend them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gen_lsp_types as lsp;
use gpurace_render::found::{self, Found, Place};
use gpurace_report::schema::Report;
use gpurace_report::sources::{Sources as _, StoredSources};

use super::documents::{Documents, key, resolve, uri};
use super::position::{Encoding, line};

/// What the server says of a finding whose line is not what it was.
const CHANGED: &str = " (The source has changed since the run.)";

/// A finding at its place.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What the editor shows.
    pub diagnostic: lsp::Diagnostic,
    /// A change that mends it.
    pub mending: Option<Mending>,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mending {
    /// The file.
    pub key: PathBuf,
    /// The change, as a unified diff.
    pub diff: String,
    /// The change in words.
    pub title: String,
}

/// The findings of a file.
#[derive(Clone, Debug, Default)]
pub struct OfFile {
    /// The file's name as the report's folders give it.
    pub path: PathBuf,
    /// The findings, in the report's order.
    pub shown: Vec<Shown>,
}

/// The findings of a report, by [`key`] of the file.
#[derive(Debug, Default)]
pub struct Findings {
    /// The files with findings.
    pub files: BTreeMap<PathBuf, OfFile>,
    /// Findings without a known line.
    pub elsewhere: Vec<String>,
}

/// Reads the places of a report.
struct Reader<'a> {
    documents: &'a Documents,
    folders: Vec<&'a Path>,
    encoding: Encoding,
    stored: StoredSources,
}

/// Returns the folders in which a report's relative names may lie: the program's and those around it in the workspace,
/// those of the workspace, or else the program's. clang names a file from the innermost folder that has both the file
/// and the folder of the compilation.
pub fn folders<'a>(report: &'a Report, roots: &'a [PathBuf]) -> Vec<&'a Path> {
    let of_run = report.run.as_ref().and_then(|run| run.directory.as_deref()).map(Path::new);
    let is_inside = |folder: &&Path| roots.iter().any(|root| key(folder).starts_with(key(root)));
    let around = of_run.into_iter().flat_map(Path::ancestors).take_while(is_inside);
    around.chain(roots.iter().map(PathBuf::as_path)).chain(of_run).collect()
}

impl Findings {
    /// Returns the findings of a report, at their places in the texts of today.
    pub fn new(
        report: &Report,
        roots: &[PathBuf],
        documents: &Documents,
        encoding: Encoding,
        shows_related: bool,
    ) -> Self {
        let folders = folders(report, roots);
        let reader = Reader { documents, folders, encoding, stored: StoredSources::new(report) };
        let mut findings = Self::default();
        for found in found::all(report) {
            match found.place() {
                Some(place) => {
                    let path = reader.path(place);
                    let file = findings.files.entry(key(&path)).or_default();
                    file.path = path;
                    file.shown.push(reader.shown(found, place, shows_related));
                }
                None => findings.elsewhere.push(format!("{}: {}", found.title(), found.message())),
            }
        }
        findings
    }
}

impl Reader<'_> {
    fn path(&self, place: Place<'_>) -> PathBuf {
        resolve(place.file, self.folders.iter().copied())
    }

    /// Returns a finding as the editor shows it.
    fn shown(&self, found: Found<'_>, place: Place<'_>, shows_related: bool) -> Shown {
        let (_, range, is_as_it_was) = self.locate(place);
        let related = found.related().into_iter().map(|related| {
            let (path, range, _) = self.locate(related.place);
            let uri = self.documents.get(&key(&path)).map_or_else(|| uri(&path), |open| open.uri.clone());
            lsp::DiagnosticRelatedInformation {
                location: lsp::Location { uri, range },
                message: related.text,
            }
        });
        let message = found.message() + if is_as_it_was { "" } else { CHANGED };
        let severity =
            if found.is_mild() { lsp::DiagnosticSeverity::Warning } else { lsp::DiagnosticSeverity::Error };
        let mending = found.change().map(|change| Mending {
            key: key(&resolve(change.file, self.folders.iter().copied())),
            diff: change.diff.to_owned(),
            title: change.advice.unwrap_or("mend this").to_owned(),
        });
        let diagnostic = lsp::Diagnostic {
            range,
            severity: Some(severity),
            code: Some(lsp::Code::String(found.cause().as_str().to_owned())),
            source: Some("gpurace".to_owned()),
            message: lsp::Message::String(message),
            related_information: shows_related.then(|| related.collect()),
            ..Default::default()
        };
        Shown { diagnostic, mending }
    }

    /// Returns the file and range of a place, and whether its line is still that of the run. Otherwise the column
    /// means nothing, and the range is the whole line.
    fn locate(&self, place: Place<'_>) -> (PathBuf, lsp::Range, bool) {
        let path = self.path(place);
        let stored = self.stored.text(place.file);
        let current = self.documents.text(&key(&path));
        let of = |text: &Option<_>| text.as_deref().map(|text| line(text, place.line).map(str::to_owned));
        // A line that the report does not keep is empty.
        let then = of(&stored).flatten().filter(|line| !line.is_empty());
        let is_as_it_was = match (then, of(&current)) {
            (Some(then), Some(now)) => now == Some(then),
            _ => true,
        };
        let column = place.column.filter(|_| is_as_it_was);
        let range = self.encoding.range(current.as_ref().or(stored.as_ref()), place.line, column);
        (path, range, is_as_it_was)
    }
}
