//! What device code of a source shows that gpurace cannot build or run: texture references, kernels that launch
//! kernels, and inline PTX that it refuses by the mnemonic, whatever the modifiers. The pass may refuse more of it.

use crate::diagnostic::Error;
use crate::dialect;

/// The mnemonics, as `pass/src/translate/ptx/table.rs` has them. Those that assembly of the host has as well are not
/// here.
const REFUSED: [&str; 13] = [
    "vmad",
    "brx",
    "alloca",
    "stacksave",
    "stackrestore",
    "multimem",
    "wmma",
    "wgmma",
    "txq",
    "istypep",
    "sured",
    "suq",
    "tensormap",
];

/// Returns what gpurace cannot build or run, of a text without comments, with its lines.
pub fn obstacles(text: &str) -> Vec<(usize, Error)> {
    let mut found = Vec::new();
    for (number, _) in (1..).zip(text.lines()).filter(|(_, line)| is_texture_reference(line)) {
        let what = Error::new("has a texture reference, which CUDA 12 removed");
        found.push((number, what.hint("use a texture object (`cudaTextureObject_t`)")));
    }
    for (number, name) in refused(text) {
        let what =
            Error::new(format!("inline PTX has `{name}`: a launch that reaches it ends with an error"));
        let hint = "build for an architecture for which the source has other code, or do not launch it";
        found.push((number, what.hint(hint)));
    }
    if let Some(at) = launch_in_kernel(text) {
        let what = Error::new("a kernel launches a kernel, which gpurace does not support");
        let hint = "launch it from the host, or leave the source out";
        found.push((1 + text[..at].matches('\n').count(), what.hint(hint)));
    }
    found
}

/// Returns the refused instructions in a text without comments, each with its line.
fn refused(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("asm").map(|at| from + at) {
        from = at + 3;
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        // `__asm__` is a spelling of the same word.
        let before = text[..at].trim_end_matches('_').chars().next_back();
        let after = text[from..].trim_start_matches('_');
        if is_word(before) || is_word(after.chars().next()) {
            continue;
        }
        let (template, end) = template(text, text.len() - after.len());
        let line = 1 + text[..at].matches('\n').count();
        found
            .extend(mnemonics(&template).filter(|name| is_refused(name)).map(|name| (line, name.to_owned())));
        from = end;
    }
    found
}

/// The template of an `asm` statement: its string literals up to the first colon or the end. Also where it ends.
fn template(text: &str, mut at: usize) -> (String, usize) {
    let bytes = text.as_bytes();
    let mut template = String::new();
    while at < bytes.len() && !matches!(bytes[at], b':' | b')' | b';' | b'}') {
        let end = dialect::end_of_text(bytes, at).unwrap_or(at + 1);
        if bytes[at] == b'"' {
            template += text.get(at + 1..end - 1).unwrap_or_default();
        }
        at = end;
    }
    (template.replace("\\n", "\n").replace("\\t", " "), at)
}

/// The instructions of a template: the first words behind labels and guards.
fn mnemonics(template: &str) -> impl Iterator<Item = &str> {
    template.split([';', '\n', '{', '}']).filter_map(|statement| {
        let mut words = statement.split_whitespace();
        words.find(|word| !word.starts_with(['@', '!']) && !word.ends_with(':'))
    })
}

fn is_refused(mnemonic: &str) -> bool {
    REFUSED.contains(&mnemonic.split('.').next().unwrap_or_default())
}

/// True for a line such as `texture<float, 2, cudaReadModeElementType> image;`.
fn is_texture_reference(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("static").unwrap_or(line).trim_start();
    let Some((values, _)) = line.strip_prefix("texture<").and_then(|rest| rest.split_once('>')) else {
        return false;
    };
    let kind = values.split(',').nth(1).unwrap_or_default().trim();
    matches!(kind, "1" | "2" | "3") || kind.starts_with("cudaTextureType") || kind.starts_with("cudaReadMode")
}

/// The place of a launch within the body of a kernel.
fn launch_in_kernel(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(start) = text[from..].find("__global__").map(|at| from + at) {
        from = start + "__global__".len();
        let Some(open) = text[from..].find(['{', ';']).map(|at| from + at) else { break };
        if text[open..].starts_with(';') {
            continue;
        }
        let (mut at, mut depth) = (open, 0_usize);
        while let Some(&byte) = text.as_bytes().get(at) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'<' if text.as_bytes()[at..].starts_with(b"<<<") => return Some(at),
                _ => {}
            }
            at = dialect::end_of_text(text.as_bytes(), at).unwrap_or(at + 1);
            if depth == 0 {
                break;
            }
        }
        from = at.min(text.len());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_refuses_the_same() {
        let table = include_str!("../../pass/src/translate/ptx/table.rs");
        let rows = table.lines().filter_map(|line| line.trim().strip_prefix("refused(\""));
        let names = rows.filter_map(|row| row.split('"').next());
        let names: Vec<_> = names.filter(|name| !["call", "ret"].contains(name)).collect();
        assert_eq!(names, REFUSED);
    }

    #[test]
    fn refused_instructions_are_found_where_they_stand() {
        for (text, wanted) in [
            (
                "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");",
                &["1 wgmma.fence.sync.aligned"][..],
            ),
            (
                "\n__asm__ __volatile__ (\n\"{ .reg .b32 a;\\n\\t\"\n\"@p txq.width.b32 a, [%1]; }\" : \"=r\"(x));",
                &["2 txq.width.b32"],
            ),
            (
                "asm(\"mov.u32 %0, %1;\\n\" \"L: vmad.s32.s32.s32 %0, %1, %1, %1;\" : \"=r\"(x) : \"r\"(y));",
                &["1 vmad.s32.s32.s32"],
            ),
            ("asm(\"add.u32 %0, %1, 1;\" : \"=r\"(call) : \"r\"(ret)); wgmma(a);", &[]),
            ("int asmwgmma(); plasma(\"wgmma.x;\"); asm_wgmma(\"wgmma.y;\");", &[]),
            ("asm(\"mov.u32 %0, wgmma;\" : \"=r\"(x)); printf(\"call me: %d; ret\");", &[]),
            ("void host() { asm(\"call f\\n ret\"); }", &[]),
            ("asm(", &[]),
            ("asm(\"wgmma", &[]),
        ] {
            let found: Vec<_> =
                refused(text).into_iter().map(|(line, name)| format!("{line} {name}")).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
