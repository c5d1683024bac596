//! Why text is not PTX.

use std::fmt;

/// Why inline assembly could not be read. PTX that is not modelled is no error: see
/// [`Op::Unsupported`](super::Op::Unsupported).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// A constraint that NVPTX does not have.
    Constraint {
        /// As written.
        constraint: String,
    },
    /// A `$` escape that names nothing.
    Escape {
        /// As written.
        escape: String,
        /// Byte offset into the template.
        at: usize,
    },
    /// A character that cannot occur in PTX.
    Character {
        /// The character.
        character: char,
    },
    /// A malformed number.
    Number {
        /// As written.
        literal: String,
    },
    /// Another token was wanted.
    Token {
        /// The token found; empty at the end of the text.
        found: String,
        /// What was wanted, as a noun.
        wanted: &'static str,
        /// The mnemonic or directive that it occurred in, empty outside.
        within: String,
    },
    /// An instruction with another number or kind of operands than it takes.
    Operands {
        /// The instruction, as written.
        mnemonic: String,
        /// The number of operands found.
        found: usize,
        /// What was wanted.
        wanted: &'static str,
    },
    /// A modifier that the instruction needs is missing, or two exclude each other.
    Modifiers {
        /// The instruction, as written.
        mnemonic: String,
        /// What was wanted.
        wanted: String,
    },
    /// A name that was not declared.
    Undeclared {
        /// The name.
        name: String,
    },
    /// A name that was declared twice in one scope.
    Redeclared {
        /// The name.
        name: String,
    },
    /// A branch to a label that does not exist.
    Label {
        /// The label.
        label: String,
    },
    /// A scope left open, or closed too often.
    Scope,
    /// The asm declares more registers, or has more statements, than the limit.
    TooLarge,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constraint { constraint } => {
                write!(f, "inline asm constraint `{constraint}` is not one of NVPTX's")
            }
            Self::Escape { escape, at } => {
                write!(f, "`{escape}` at offset {at} names no operand of the asm")
            }
            Self::Character { character } => {
                write!(f, "unexpected character `{}`", character.escape_default())
            }
            Self::Number { literal } => write!(f, "malformed number `{literal}`"),
            Self::Token { found, wanted, within } => {
                if found.is_empty() {
                    write!(f, "expected {wanted}, found the end of the asm")?;
                } else {
                    write!(f, "expected {wanted}, found `{found}`")?;
                }
                if within.is_empty() { Ok(()) } else { write!(f, " in `{within}`") }
            }
            Self::Operands { mnemonic, found, wanted } => {
                write!(f, "`{mnemonic}` has {found} operands, expected {wanted}")
            }
            Self::Modifiers { mnemonic, wanted } => write!(f, "`{mnemonic}` lacks {wanted}"),
            Self::Undeclared { name } => write!(f, "`{name}` is not declared"),
            Self::Redeclared { name } => write!(f, "`{name}` is declared twice"),
            Self::Label { label } => write!(f, "branch to `{label}`, which is not a label"),
            Self::Scope => write!(f, "the asm's `{{` and `}}` do not match"),
            Self::TooLarge => write!(f, "the asm declares too much"),
        }
    }
}

impl std::error::Error for ParseError {}
