//! The help text and the table for the documentation.

use std::fmt::Write;

use crate::{ALL, VARIABLE};

/// Returns the text that `help=1` prints: each option with its meaning, its values and its default.
pub fn help_text() -> String {
    let mut text = format!("Available options ({VARIABLE}=\"key=value:key=value\"):\n");
    for option in ALL {
        // Writing to a `String` does not fail.
        let _ = write!(
            text,
            "  {}\n    {}\n    takes {}; default: {}\n",
            option.key, option.doc, option.wanted, option.default
        );
    }
    text
}

/// Returns the options as a Markdown table.
pub fn markdown_table() -> String {
    let mut table = String::from("| key | meaning | default |\n|---|---|---|\n");
    for option in ALL {
        // A default in words is not code.
        let default = match option.default {
            words @ ("all" | "none" | "user cache") => words.to_owned(),
            value => format!("`{value}`"),
        };
        let _ = writeln!(table, "| `{}` | {} | {default} |", option.key, option.doc.replace('|', "\\|"));
    }
    table
}
