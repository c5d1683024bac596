//! What client and server agree on at the start: folders, options, abilities.

use std::path::{Path, PathBuf};

use gen_lsp_types as lsp;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::documents::{path, uri};
use super::position::Encoding;

/// The command that reads the reports again.
pub const RELOAD: &str = "gpurace.reload";
/// The report that is read if no option names one.
const REPORT: &str = "gpurace.json";
/// The name of compile databases.
const DATABASE: &str = "compile_commands.json";

/// The initialization options.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Wanted {
    #[serde(deserialize_with = "words")]
    report: Vec<String>,
    #[serde(deserialize_with = "words")]
    facts: Vec<String>,
    #[serde(deserialize_with = "words")]
    compile_commands: Vec<String>,
    fallback_flags: Option<Vec<String>>,
}

/// Reads one word, a list of words, or nothing.
fn words<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    struct Words;
    impl<'de> Visitor<'de> for Words {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a path or a list of paths")
        }
        fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
            Ok(vec![word.to_owned()])
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut words = Vec::new();
            while let Some(word) = list.next_element()? {
                words.push(word);
            }
            Ok(words)
        }
    }
    from.deserialize_any(Words)
}

/// What the client can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// It watches files.
    watches: bool,
    /// It watches files in folders that the server names.
    watches_folders: bool,
    /// It asks for lenses again.
    pub refreshes_lenses: bool,
    /// It takes edits of one version of a file.
    pub edits_versions: bool,
    /// It shows related places.
    pub shows_related: bool,
    /// It shows Markdown.
    pub shows_markdown: bool,
}

impl Abilities {
    /// Returns what a client says that it can do.
    fn of(client: &lsp::ClientCapabilities) -> Self {
        let workspace = client.workspace.as_ref();
        let text = client.text_document.as_ref();
        let watched = workspace.and_then(|w| w.did_change_watched_files.as_ref());
        let is = |flag: Option<bool>| flag == Some(true);
        let related = text.and_then(|t| t.publish_diagnostics.as_ref());
        let formats = text.and_then(|t| t.hover.as_ref()).and_then(|hover| hover.content_format.as_ref());
        Self {
            watches: is(watched.and_then(|w| w.dynamic_registration)),
            watches_folders: is(watched.and_then(|w| w.relative_pattern_support)),
            refreshes_lenses: is(workspace
                .and_then(|w| w.code_lens.as_ref())
                .and_then(|lens| lens.refresh_support)),
            edits_versions: is(workspace
                .and_then(|w| w.workspace_edit.as_ref())
                .and_then(|e| e.document_changes)),
            shows_related: is(related.and_then(|d| d.diagnostics_capabilities.related_information)),
            shows_markdown: formats.is_some_and(|formats| formats.contains(&lsp::MarkupKind::Markdown)),
        }
    }
}

/// What client and server agreed on.
#[derive(Debug)]
pub struct Setup {
    /// The folders of the workspace, at least one.
    pub roots: Vec<PathBuf>,
    /// The reports, or folders of reports.
    pub reports: Vec<PathBuf>,
    /// Facts of builds, or folders of such.
    pub facts: Vec<PathBuf>,
    /// The places of a compile database; the first that exists counts.
    pub databases: Vec<PathBuf>,
    /// The arguments of sources that no compile database names. `None`: these are not compiled.
    pub fallback: Option<Vec<String>>,
    /// The units of columns.
    pub encoding: Encoding,
    /// What the client can do.
    pub client: Abilities,
}

impl Setup {
    /// Reads the client's wishes. Also returns what is wrong with its options; the defaults then count.
    pub fn new(params: &lsp::InitializeParams) -> (Self, Option<String>) {
        let options = params.initialization_options.clone().filter(|options| !options.is_null());
        let wanted = options.map(serde_json::from_value::<Wanted>).transpose();
        let (wanted, wrong) = match wanted {
            Ok(wanted) => (wanted.unwrap_or_default(), None),
            Err(e) => (Wanted::default(), Some(format!("the initialization options are not right: {e}"))),
        };
        let roots = roots(params);
        let below =
            |names: Vec<String>| names.into_iter().map(|name| roots[0].join(name)).collect::<Vec<_>>();
        let in_each = |name: &str| roots.iter().map(|root| root.join(name)).collect::<Vec<_>>();
        let reports = below(wanted.report);
        let databases: Vec<PathBuf> = below(wanted.compile_commands)
            .into_iter()
            .map(|path| if path.is_dir() { path.join(DATABASE) } else { path })
            .collect();
        let setup = Self {
            reports: if reports.is_empty() { in_each(REPORT) } else { reports },
            facts: below(wanted.facts),
            databases: if databases.is_empty() {
                let folders = roots.iter().flat_map(|root| [root.clone(), root.join("build")]);
                folders.map(|folder| folder.join(DATABASE)).collect()
            } else {
                databases
            },
            fallback: wanted.fallback_flags,
            encoding: Encoding::of(&params.capabilities),
            client: Abilities::of(&params.capabilities),
            roots,
        };
        (setup, wrong)
    }

    /// Returns what the server can do.
    pub fn answer(&self) -> Value {
        let capabilities = lsp::ServerCapabilities {
            position_encoding: Some(self.encoding.kind()),
            text_document_sync: Some(lsp::TextDocumentSync::Options(lsp::TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(lsp::TextDocumentSyncKind::Full),
                save: Some(lsp::Save::Bool(true)),
                ..Default::default()
            })),
            hover_provider: Some(lsp::HoverProvider::Bool(true)),
            code_action_provider: Some(lsp::CodeActionProvider::CodeActionOptions(lsp::CodeActionOptions {
                code_action_kinds: Some(vec![lsp::CodeActionKind::QuickFix]),
                ..Default::default()
            })),
            code_lens_provider: Some(lsp::CodeLensOptions::default()),
            execute_command_provider: Some(lsp::ExecuteCommandOptions {
                commands: vec![RELOAD.to_owned()],
                ..Default::default()
            }),
            ..Default::default()
        };
        json!({
            "capabilities": capabilities,
            "serverInfo": { "name": "gpurace", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Returns the request for news of reports, facts and compile databases. `None` if the client does not watch
    /// files.
    pub fn watch(&self) -> Option<Value> {
        if !self.client.watches {
            return None;
        }
        let in_folder = |path: &PathBuf| match path.is_dir() {
            true => (path.clone(), "*.json".to_owned()),
            false => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                // A name may have characters that mean something in a pattern.
                let plain = name.replace(['*', '?', '[', ']', '{', '}', '!'], "?");
                (path.parent().unwrap_or(Path::new("/")).to_owned(), plain)
            }
        };
        let watched = self.reports.iter().chain(&self.facts).chain(&self.databases).map(in_folder);
        let watchers: Vec<Value> = watched
            .map(|(folder, pattern)| match self.client.watches_folders {
                true => json!({ "globPattern": { "baseUri": uri(&folder), "pattern": pattern } }),
                false => json!({ "globPattern": format!("**/{pattern}") }),
            })
            .collect();
        Some(json!({ "registrations": [{
            "id": "gpurace-files",
            "method": lsp::LspNotificationMethod::WorkspaceDidChangeWatchedFiles.as_str(),
            "registerOptions": { "watchers": watchers },
        }] }))
    }
}

/// Returns the folders of the workspace, or else the current one.
fn roots(params: &lsp::InitializeParams) -> Vec<PathBuf> {
    let folders = match &params.workspace_folders_initialize_params.workspace_folders {
        Some(lsp::WorkspaceFolders::WorkspaceFolderList(folders)) => {
            folders.iter().filter_map(|folder| path(&folder.uri)).collect()
        }
        Some(lsp::WorkspaceFolders::Null) | None => Vec::new(),
    };
    if !folders.is_empty() {
        return folders;
    }
    // Clients of an older version of the protocol name one folder.
    #[allow(deprecated)]
    let root = params.root_uri.as_ref().and_then(path);
    vec![root.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| "/".into())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(params: Value) -> (Setup, Option<String>) {
        Setup::new(&serde_json::from_value(params).unwrap())
    }

    #[test]
    fn options_are_paths_below_the_first_folder() {
        let folders = json!([{ "uri": "file:///a", "name": "a" }, { "uri": "file:///b", "name": "b" }]);
        let (plain, wrong) = setup(json!({ "capabilities": {}, "workspaceFolders": folders }));
        assert_eq!(plain.reports, ["/a/gpurace.json", "/b/gpurace.json"].map(PathBuf::from));
        assert_eq!(plain.databases.len(), 4);
        assert!(wrong.is_none() && plain.watch().is_none() && plain.facts.is_empty());
        let options = json!({ "report": ["r", "/x/s.json"], "facts": "f.json", "compileCommands": null });
        let (named, wrong) = setup(json!({
            "capabilities": {}, "workspaceFolders": folders, "initializationOptions": options,
        }));
        assert_eq!(named.reports, ["/a/r", "/x/s.json"].map(PathBuf::from));
        assert_eq!((named.facts, wrong), (vec!["/a/f.json".into()], None));
    }

    #[test]
    fn wrong_options_are_named() {
        for (options, named) in [
            (json!({ "reprot": "r" }), "`reprot`"),
            (json!({ "report": 5 }), "a path or a list of paths"),
            (json!([1]), "invalid type"),
        ] {
            let (setup, wrong) = setup(json!({
                "capabilities": {}, "rootUri": "file:///a", "initializationOptions": options,
            }));
            assert!(wrong.as_deref().unwrap_or_default().contains(named), "{wrong:?}");
            assert_eq!(setup.reports, [PathBuf::from("/a/gpurace.json")]);
        }
    }

    #[test]
    fn files_are_watched_as_the_client_can() {
        let of = |relative: bool| {
            let can = json!({ "workspace": { "didChangeWatchedFiles": {
                "dynamicRegistration": true, "relativePatternSupport": relative,
            } } });
            let options = json!({ "report": "o[1].json", "compileCommands": "/b/c.json" });
            let (setup, _) = setup(json!({
                "capabilities": can, "rootUri": "file:///a", "initializationOptions": options,
            }));
            setup.watch().unwrap()["registrations"][0]["registerOptions"]["watchers"].clone()
        };
        assert_eq!(of(false), json!([{ "globPattern": "**/o?1?.json" }, { "globPattern": "**/c.json" }]));
        assert_eq!(of(true)[1]["globPattern"], json!({ "baseUri": "file:///b", "pattern": "c.json" }));
    }
}
