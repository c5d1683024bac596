//! The help text and the documentation's table.

use std::fmt::Write;

use crate::{ALL, VARIABLE};

/// What `help=1` prints: every option with what it does, what it takes and its
/// default.
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

/// The options as a Markdown table.
pub fn markdown_table() -> String {
    let mut table = String::from("| key | meaning | default |\n|---|---|---|\n");
    for option in ALL {
        // A default in words is no code; every other one can be typed.
        let default = match option.default {
            words @ ("all" | "none" | "user cache") => words.to_owned(),
            value => format!("`{value}`"),
        };
        let _ = writeln!(table, "| `{}` | {} | {default} |", option.key, option.doc.replace('|', "\\|"));
    }
    table
}
