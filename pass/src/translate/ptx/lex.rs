//! Tokens of PTX text.

use super::error::ParseError;
use super::template::{OPERAND_END, OPERAND_START};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// An identifier, mnemonic or directive, with its dots and `::`: `ld.global.v2.f32`, `.reg`, `%p`.
    Word(String),
    /// `$n` of the template.
    Operand(u32),
    /// An integer literal.
    Int(u64),
    /// `0f...`.
    F32(u32),
    /// `0d...` or decimal.
    F64(u64),
    /// A string literal.
    Str(String),
    /// One character: any of `{}[](),;:@!|+-*=<>`.
    Punct(char),
}

impl Token {
    /// The token as written, for messages.
    pub(super) fn text(&self) -> String {
        match self {
            Token::Word(w) => w.clone(),
            Token::Operand(n) => format!("${n}"),
            Token::Int(n) => n.to_string(),
            Token::F32(bits) => format!("0f{bits:08x}"),
            Token::F64(bits) => format!("0d{bits:016x}"),
            Token::Str(s) => format!("\"{s}\""),
            Token::Punct(c) => c.to_string(),
        }
    }
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%' | '.')
}

fn continues_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
}

/// Splits expanded text into tokens, comments removed.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
        } else if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or(ParseError::Token {
                found: String::new(),
                wanted: "`*/`",
                within: String::new(),
            })?;
            rest = &comment[end + 2..];
        } else if c == OPERAND_START {
            let (number, after) =
                rest[1..].split_once(OPERAND_END).ok_or(ParseError::Character { character: c })?;
            let n = number.parse().map_err(|_| ParseError::Character { character: c })?;
            out.push(Token::Operand(n));
            rest = after;
            // `$0abc` would paste the operand's name into an identifier.
            if let Some(next) = rest.chars().next().filter(|&n| continues_word(n) && n != '.') {
                return Err(ParseError::Character { character: next });
            }
        } else if c.is_ascii_digit() {
            let (token, after) = number(rest)?;
            out.push(token);
            rest = after;
        } else if starts_word(c) {
            let end = word_end(rest);
            out.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if c == '"' {
            let end = rest[1..].find('"').ok_or(ParseError::Character { character: c })?;
            out.push(Token::Str(rest[1..1 + end].to_owned()));
            rest = &rest[end + 2..];
        } else if "{}[](),;:@!|+-*=<>".contains(c) {
            out.push(Token::Punct(c));
            rest = &rest[1..];
        } else {
            return Err(ParseError::Character { character: c });
        }
    }
    Ok(out)
}

/// The length of the word that `text` starts with. `::` belongs to a word (`shared::cta`); a single `:`
/// ends it (a label).
fn word_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 1;
    while end < bytes.len() {
        if continues_word(char::from(bytes[end])) {
            end += 1;
        } else if bytes[end..].starts_with(b"::") && bytes.get(end + 2).is_some_and(u8::is_ascii_alphanumeric)
        {
            end += 2;
        } else {
            break;
        }
    }
    end
}

/// The number at the start of `text`, which begins with a digit.
fn number(text: &str) -> Result<(Token, &str), ParseError> {
    let end = number_end(text);
    let (literal, rest) = text.split_at(end);
    let bad = || ParseError::Number { literal: literal.to_owned() };
    let lower = literal.to_ascii_lowercase();
    let integer = |digits: &str, radix| {
        u64::from_str_radix(digits.trim_end_matches('u'), radix).map(Token::Int).map_err(|_| bad())
    };
    let token = if let Some(digits) = lower.strip_prefix("0f").filter(|d| d.len() == 8) {
        u32::from_str_radix(digits, 16).map(Token::F32).map_err(|_| bad())?
    } else if let Some(digits) = lower.strip_prefix("0d").filter(|d| d.len() == 16) {
        u64::from_str_radix(digits, 16).map(Token::F64).map_err(|_| bad())?
    } else if let Some(digits) = lower.strip_prefix("0x") {
        integer(digits, 16)?
    } else if let Some(digits) = lower.strip_prefix("0b") {
        integer(digits, 2)?
    } else if lower.contains('.') || lower.contains('e') {
        Token::F64(lower.parse::<f64>().map_err(|_| bad())?.to_bits())
    } else if lower.len() > 1 && lower.starts_with('0') && lower != "0u" {
        integer(&lower[1..], 8)?
    } else {
        integer(&lower, 10)?
    };
    Ok((token, rest))
}

fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let hex = text.len() > 1 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X');
    let mut end = 1;
    while end < bytes.len() {
        let c = bytes[end];
        let exponent_sign = matches!(c, b'+' | b'-')
            && !hex
            && matches!(bytes[end - 1], b'e' | b'E')
            && bytes[..end - 1].iter().all(|b| b.is_ascii_digit() || *b == b'.');
        if c.is_ascii_alphanumeric() || (c == b'.' && !hex) || exponent_sign {
            end += 1;
        } else {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_form() {
        let one = |text: &str| tokens(text).map(|mut t| t.remove(0));
        assert_eq!(one("42"), Ok(Token::Int(42)));
        assert_eq!(one("0x3f80U"), Ok(Token::Int(0x3f80)));
        assert_eq!(one("0XFFFFFFFFFFFFFFFF"), Ok(Token::Int(u64::MAX)));
        assert_eq!(one("017"), Ok(Token::Int(15)));
        assert_eq!(one("0b101"), Ok(Token::Int(5)));
        assert_eq!(one("0"), Ok(Token::Int(0)));
        assert_eq!(one("0f3F800000"), Ok(Token::F32(0x3f80_0000)));
        assert_eq!(one("0d3ff0000000000000"), Ok(Token::F64(1f64.to_bits())));
        assert_eq!(one("1.5e-3"), Ok(Token::F64(1.5e-3f64.to_bits())));
        assert_eq!(one("0x"), Err(ParseError::Number { literal: "0x".into() }));
        assert_eq!(one("12ab"), Err(ParseError::Number { literal: "12ab".into() }));
    }

    #[test]
    fn words_hold_scopes_of_names() {
        let words = tokens("ld.shared::cta.u32 r0|p, [%x+4]; L1: // gone\n").unwrap();
        let texts: Vec<_> = words.iter().map(Token::text).collect();
        let wanted = ["ld.shared::cta.u32", "r0", "|", "p", ",", "[", "%x", "+", "4", "]", ";", "L1", ":"];
        assert_eq!(texts, wanted);
    }
}
