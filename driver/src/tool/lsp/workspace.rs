//! The state of the server: what it knows of the editor's workspace. Each message of the client reads or changes it.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use gen_lsp_types as lsp;
use gpurace_report::schema::Report;
use lsp_server::ErrorCode;
use serde_json::Value;

use super::Event;
use super::compile::{Compilations, Told};
use super::documents::{Document, Documents, key, path, uri};
use super::findings::{Findings, OfFile, folders};
use super::hovers::Verdicts;
use super::load::{Loaded, Loader};
use super::setup::{RELOAD, Setup};
use super::wire::{Client, Refusal};
use super::{fixes, lenses};
use crate::diagnostic::Error;

/// The state between messages.
#[derive(Debug)]
pub struct Workspace {
    setup: Setup,
    /// What is wrong with the options. Kept until the server may tell the client.
    wrong: Option<String>,
    documents: Documents,
    loader: Loader,
    compilations: Compilations,
    report: Option<Report>,
    /// True if the same report is to be shown again.
    is_asked: bool,
    findings: Findings,
    /// The names under which the client knows diagnostics, by file.
    published: HashMap<PathBuf, lsp::Uri>,
    verdicts: Verdicts,
    /// What is wrong with the report and with the facts. The user has seen it.
    shown: [Option<Error>; 2],
}

impl Workspace {
    /// Returns a workspace without reports. `wrong` is what is wrong with the client's options.
    pub fn new(setup: Setup, wrong: Option<String>, events: Sender<Event>) -> Self {
        let loader =
            Loader::new(setup.reports.clone(), setup.facts.clone(), setup.roots.clone(), events.clone());
        let compilations = Compilations::new(events, setup.databases.clone(), setup.fallback.clone());
        Self {
            documents: Documents::below(setup.roots.clone()),
            setup,
            wrong,
            loader,
            compilations,
            report: None,
            is_asked: false,
            findings: Findings::default(),
            published: HashMap::new(),
            verdicts: Verdicts::default(),
            shown: [None, None],
        }
    }

    /// Begins: the client is ready.
    pub fn start<W: Write>(&mut self, client: &mut Client<W>) {
        if let Some(wrong) = self.wrong.take() {
            client.show(lsp::MessageType::Error, format!("gpurace: {wrong}"));
        }
        if let Some(watch) = self.setup.watch() {
            client.request::<lsp::RegistrationRequest>(watch);
        }
        self.loader.start();
    }

    /// Takes note of an open file.
    pub fn opened<W: Write>(&mut self, params: lsp::DidOpenTextDocumentParams, client: &mut Client<W>) {
        let lsp::TextDocumentItem { uri, version, text, .. } = params.text_document;
        let Some(path) = path(&uri) else { return };
        let key = key(&path);
        let is_edited = std::fs::read(&path).is_ok_and(|disk| disk != text.as_bytes());
        let document = Document { uri, version, text: text.into(), is_edited };
        self.documents.put(key.clone(), document);
        // The client may know the file by another name than the server, and then wants its own.
        if self.findings.files.contains_key(&key) {
            self.publish(&key, client);
        }
        self.compile(key);
    }

    /// Takes note of an edit.
    pub fn changed(&mut self, params: lsp::DidChangeTextDocumentParams) {
        let identifier = params.text_document.text_document_identifier;
        let Some(key) = path(&identifier.uri).map(|path| key(&path)) else { return };
        let Some(document) = self.documents.get_mut(&key) else { return };
        for change in params.content_changes {
            match change {
                lsp::TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    document.text = whole.text.into();
                }
                // The server asked for whole texts only.
                lsp::TextDocumentContentChangeEvent::TextDocumentContentChangePartial(_) => {}
            }
        }
        document.version = params.text_document.version;
        document.is_edited = true;
        self.compilations.cancel(&key);
    }

    /// Takes note that a file is on disk as the editor shows it.
    pub fn saved(&mut self, params: &lsp::DidSaveTextDocumentParams) {
        let Some(key) = path(&params.text_document.uri).map(|path| key(&path)) else { return };
        if let Some(document) = self.documents.get_mut(&key) {
            document.is_edited = false;
        }
        for source in self.verdicts.readers(&key) {
            if source != key && self.documents.get(&source).is_some() {
                self.compile(source);
            }
        }
        self.compile(key);
        self.loader.start();
    }

    /// Takes note that a file is no longer open.
    pub fn closed(&mut self, params: &lsp::DidCloseTextDocumentParams) {
        let Some(key) = path(&params.text_document.uri).map(|path| key(&path)) else { return };
        self.documents.remove(&key);
        self.compilations.cancel(&key);
        self.verdicts.compiled.remove(&key);
    }

    /// Takes note that a report, facts or a compile database changed.
    pub fn files_changed(&mut self, params: &lsp::DidChangeWatchedFilesParams) {
        let changed: Vec<PathBuf> = params.changes.iter().filter_map(|change| path(&change.uri)).collect();
        if changed.iter().any(|path| self.setup.databases.contains(path)) {
            let open: Vec<PathBuf> = self.documents.open().cloned().collect();
            open.into_iter().for_each(|key| self.compile(key));
        }
        self.loader.start();
    }

    /// Runs a command.
    ///
    /// # Errors
    /// There is no such command.
    pub fn execute(&mut self, command: &str) -> Result<(), Refusal> {
        if command != RELOAD {
            let wrong = format!("found the command `{command}`, wanted `{RELOAD}`");
            return Err((ErrorCode::InvalidParams, wrong));
        }
        self.is_asked = true;
        self.loader.start();
        Ok(())
    }

    /// Explains a source in the background. Until then there is nothing to say of it.
    fn compile(&mut self, source: PathBuf) {
        self.verdicts.compiled.remove(&source);
        if source.extension().is_some_and(|extension| extension == "cu") {
            self.compilations.add(source);
        }
    }

    /// Takes over what a compilation told.
    pub fn explained<W: Write>(&mut self, source: PathBuf, number: u64, told: Told, client: &mut Client<W>) {
        if !self.compilations.is_wanted(number) {
            return;
        }
        match told {
            Ok(Some(accesses)) => {
                self.verdicts.compiled.insert(source, accesses);
            }
            Ok(None) => {}
            // Unfinished code does not compile, and clangd shows why.
            Err(error) => client.log(lsp::MessageType::Warning, error.to_string()),
        }
    }

    /// Takes over what stored files hold.
    pub fn loaded<W: Write>(&mut self, loaded: Loaded, client: &mut Client<W>) {
        if self.loader.done() {
            // The files have changed since, and are being read again.
            return;
        }
        let [of_report, of_facts] = &mut self.shown;
        self.verdicts.stored = show_once(loaded.facts, of_facts, client).unwrap_or_default();
        let report = show_once(loaded.report, of_report, client).flatten();
        // The editor has moved the findings along with the text that was edited since.
        if report == self.report && !std::mem::take(&mut self.is_asked) {
            return;
        }
        self.report = report;
        let Setup { roots, encoding, client: can, .. } = &self.setup;
        let before = std::mem::take(&mut self.findings);
        if let Some(report) = &self.report {
            self.findings = Findings::new(report, roots, &self.documents, *encoding, can.shows_related);
            for note in self.findings.elsewhere.iter().chain(&report.notes) {
                client.log(lsp::MessageType::Info, note.clone());
            }
        }
        let gone = before.files.into_keys().filter(|key| !self.findings.files.contains_key(key));
        let all: Vec<PathBuf> = gone.chain(self.findings.files.keys().cloned()).collect();
        all.iter().for_each(|key| self.publish(key, client));
        if self.setup.client.refreshes_lenses {
            client.request::<lsp::CodeLensRefreshRequest>(Value::Null);
        }
    }

    /// Tells the client the findings of a file, under the client's own name for it.
    fn publish<W: Write>(&mut self, key: &Path, client: &mut Client<W>) {
        let none = OfFile::default();
        let of_file = self.findings.files.get(key).unwrap_or(&none);
        let open = self.documents.get(key);
        let before = self.published.remove(key);
        let name = match (open, &before) {
            (Some(open), _) => open.uri.clone(),
            (None, Some(before)) => before.clone(),
            (None, None) => uri(&of_file.path),
        };
        let mut tell = |uri: &lsp::Uri, version, diagnostics| {
            let params = lsp::PublishDiagnosticsParams { uri: uri.clone(), version, diagnostics };
            client.notify::<lsp::PublishDiagnosticsNotification>(&params);
        };
        if let Some(before) = before.filter(|before| *before != name) {
            tell(&before, None, Vec::new());
        }
        let diagnostics: Vec<lsp::Diagnostic> =
            of_file.shown.iter().map(|shown| shown.diagnostic.clone()).collect();
        let is_empty = diagnostics.is_empty();
        tell(&name, open.map(|open| open.version), diagnostics);
        if !is_empty {
            self.published.insert(key.to_owned(), name);
        }
    }

    /// Returns what a hover shows.
    pub fn hover(&self, params: &lsp::HoverParams) -> Option<lsp::Hover> {
        let at = &params.text_document_position_params;
        let key = key(&path(&at.text_document.uri)?);
        // The verdicts are those of the text on disk.
        let document = self.documents.get(&key).filter(|document| !document.is_edited)?;
        let Setup { encoding, client, .. } = &self.setup;
        self.verdicts.hover(&key, &document.text, at.position, *encoding, client.shows_markdown)
    }

    /// Returns the quick fixes for a range.
    pub fn actions(&self, params: &lsp::CodeActionParams) -> Vec<lsp::CodeAction> {
        let wanted = params.context.only.as_ref();
        let is_wanted = |only: &Vec<lsp::CodeActionKind>| {
            only.iter().any(|kind| matches!(kind, lsp::CodeActionKind::QuickFix | lsp::CodeActionKind::Empty))
        };
        let of_file = path(&params.text_document.uri).and_then(|path| self.findings.files.get(&key(&path)));
        match of_file.filter(|_| wanted.is_none_or(is_wanted)) {
            Some(of_file) => {
                let versioned = self.setup.client.edits_versions;
                fixes::actions(&of_file.shown, params.range, &self.documents, versioned)
            }
            None => Vec::new(),
        }
    }

    /// Returns the code lenses of a file.
    pub fn lenses(&self, params: &lsp::CodeLensParams) -> Vec<lsp::CodeLens> {
        let Some(key) = path(&params.text_document.uri).map(|path| key(&path)) else { return Vec::new() };
        match (&self.report, self.documents.text(&key)) {
            (Some(report), Some(text)) => {
                lenses::lenses(report, &key, &text, &folders(report, &self.setup.roots))
            }
            _ => Vec::new(),
        }
    }
}

/// Returns what was read. Shows the user why it was not, unless the user has just seen it.
fn show_once<T, W: Write>(
    read: Result<T, Error>,
    shown: &mut Option<Error>,
    client: &mut Client<W>,
) -> Option<T> {
    match read {
        Ok(read) => {
            *shown = None;
            Some(read)
        }
        Err(error) => {
            if shown.as_ref() != Some(&error) {
                client.show(lsp::MessageType::Error, format!("gpurace: {error}"));
                *shown = Some(error);
            }
            None
        }
    }
}
