//! No text makes the parser panic or run away.

use proptest::prelude::*;

use crate::translate::ptx::{memory_effects, parse, supported};

/// Pieces that PTX is made of, so that random text gets past the lexer.
fn piece() -> impl Strategy<Value = String> {
    let mnemonics: Vec<_> = supported().map(|s| s.mnemonic.to_owned()).collect();
    let suffixes = [
        ".sync", ".b32", ".u64", ".f16x2", ".shared", ".global", ".v2", ".v4", ".acquire", ".gpu", ".rn",
        ".cc", ".lo", ".wide", ".eq", ".and", ".all", ".pred", ".add", ".async", ".arrive", ".red", ".cas",
        ".pack", ".sat",
    ];
    let others = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        "|",
        "!",
        "@",
        "p",
        "$0",
        "$1",
        "$$",
        "${0:x}",
        "${:uid}",
        "_",
        "-",
        "+",
        "(",
        ")",
        ":",
        "<",
        ">",
        ".reg",
        ".v2",
        ".x",
        "r",
        "%laneid",
        "0x1f",
        "1.5",
        "0f00000000",
        "7",
        "bra",
        "L",
        "\n",
        "//",
        "/*",
        "\"",
        "é",
        "$(",
        "$|",
        "$)",
    ];
    prop_oneof![
        3 => proptest::sample::select(mnemonics),
        3 => proptest::sample::select(suffixes.map(str::to_owned).to_vec()),
        6 => proptest::sample::select(others.map(str::to_owned).to_vec()),
        2 => Just(" ".to_owned()),
    ]
}

proptest! {
    #[test]
    fn pieces_of_ptx_in_any_order(pieces in proptest::collection::vec(piece(), 0..60)) {
        if let Ok(asm) = parse(&pieces.concat(), "=r,l") {
            let covered: usize = asm.blocks.iter().map(|b| b.statements.len()).sum();
            prop_assert_eq!(covered, asm.statements.len());
            for statement in &asm.statements {
                memory_effects(statement);
            }
        }
    }

    #[test]
    fn any_text(text in "\\PC*", constraints in "[=&~{}a-z0-9,|]*") {
        let _ = parse(&text, &constraints);
    }
}
