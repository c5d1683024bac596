//! Inline PTX of a source that gpurace refuses by its mnemonic, whatever the modifiers. Others may be refused too: the
//! pass decides it, when it translates them.

use crate::dialect;

/// The mnemonics, as `pass/src/translate/ptx/table.rs` has them. Those that assembly of the host has as well are not here.
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

/// Returns the refused instructions in a text without comments, each with its line.
pub fn refused(text: &str) -> Vec<(usize, String)> {
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
