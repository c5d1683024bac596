//! Quick fixes: the changes of a report, where they fit the text of today.

use std::collections::HashMap;

use gen_lsp_types as lsp;
use gpurace_report::fix;

use super::documents::{Documents, uri};
use super::findings::{Mending, Shown};
use super::position::touch;

/// Returns a quick fix for each of these findings that touches the range and has a change that fits. With
/// `versioned`, the edit is one of a file's version, if the editor has the file open.
pub fn actions(
    shown: &[Shown],
    range: lsp::Range,
    documents: &Documents,
    versioned: bool,
) -> Vec<lsp::CodeAction> {
    let near = shown.iter().filter(|shown| touch(shown.diagnostic.range, range));
    let mut actions: Vec<lsp::CodeAction> = Vec::new();
    for Shown { diagnostic, mending } in near {
        let Some(mending) = mending else { continue };
        let Some(edit) = edit(mending, documents, versioned) else { continue };
        // One change may mend several findings of a line.
        if let Some(same) = actions.iter_mut().find(|action| action.edit.as_ref() == Some(&edit)) {
            same.diagnostics.get_or_insert_default().push(diagnostic.clone());
            continue;
        }
        actions.push(lsp::CodeAction {
            title: mending.title.clone(),
            kind: Some(lsp::CodeActionKind::QuickFix),
            diagnostics: Some(vec![diagnostic.clone()]),
            is_preferred: Some(true),
            edit: Some(edit),
            ..Default::default()
        });
    }
    actions
}

/// Returns a change as an edit. `None` if the file's text is not the one that the change is of.
fn edit(mending: &Mending, documents: &Documents, versioned: bool) -> Option<lsp::WorkspaceEdit> {
    let text = documents.text(&mending.key)?;
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let edits: Vec<lsp::TextEdit> = fix::edits_that_fit(&mending.diff, &text)?
        .into_iter()
        .map(|fix::Edit { line, removed, text }| {
            let before = |line: u32| lsp::Position { line: line.saturating_sub(1), character: 0 };
            let range = lsp::Range { start: before(line), end: before(line.saturating_add(removed)) };
            let new_text = text.lines().flat_map(|line| [line, end]).collect();
            lsp::TextEdit { range, new_text }
        })
        .collect();
    if edits.is_empty() {
        return None;
    }
    let open = documents.get(&mending.key);
    let uri = open.map_or_else(|| uri(&mending.key), |open| open.uri.clone());
    if versioned {
        let edit = lsp::TextDocumentEdit {
            text_document: lsp::OptionalVersionedTextDocumentIdentifier {
                version: open.map(|open| open.version),
                text_document_identifier: lsp::TextDocumentIdentifier { uri },
            },
            edits: edits.into_iter().map(lsp::Edit::TextEdit).collect(),
        };
        let changes = Some(vec![lsp::DocumentChange::TextDocumentEdit(edit)]);
        return Some(lsp::WorkspaceEdit { document_changes: changes, ..Default::default() });
    }
    Some(lsp::WorkspaceEdit { changes: Some(HashMap::from([(uri, edits)])), ..Default::default() })
}
