//! LLVM's side of inline assembly: the template's escapes and the constraint
//! string (LLVM Language Reference, "Inline Assembler Expressions").

use super::error::ParseError;
use super::types::Ty;

/// Opens an operand reference in expanded text. Its decimal number and [`OPERAND_END`] follow. PTX has no
/// control characters.
pub(super) const OPERAND_START: char = '\u{1}';
/// Closes an operand reference.
pub(super) const OPERAND_END: char = '\u{2}';

/// An operand of an asm: the compiler puts it in place of `$n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsmOperand {
    /// The number of the call's result that it is, if it is an output.
    pub result: Option<u32>,
    /// The number of the call's argument that gives its value, if it is an input. An output with a tied
    /// input has both.
    pub argument: Option<u32>,
    /// The constraint wants a compile-time constant (`n`, `i`).
    pub immediate: bool,
    /// The register's type by its constraint letter.
    pub ty: Ty,
}

/// The constraint string, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// The operands. A tied input shares the entry of its output: see [`Self::slots`].
    pub operands: Vec<AsmOperand>,
    /// For each `$n` of the template the index into [`Self::operands`].
    pub slots: Vec<u32>,
    /// The compiler must assume that memory changes (`~{memory}`).
    pub memory_clobber: bool,
}

/// Reads a constraint string such as `=r,l,n,0,~{memory}`.
pub fn constraints(text: &str) -> Result<Constraints, ParseError> {
    let mut out = Constraints::default();
    let (mut results, mut arguments) = (0, 0);
    for item in split(text) {
        let bad = || ParseError::Constraint { constraint: item.to_owned() };
        if let Some(clobber) = item.strip_prefix('~') {
            out.memory_clobber |= clobber == "{memory}";
            continue;
        }
        let (output, letters) = match item.strip_prefix('=') {
            Some(rest) => (true, rest.trim_start_matches('&')),
            None => (false, item),
        };
        // clang emits code for the first of alternatives such as `r|n`.
        let letters = letters.split('|').next().unwrap_or_default();
        if let Ok(tied) = letters.parse::<usize>() {
            let slot = *out.slots.get(tied).ok_or_else(bad)?;
            let operand = &mut out.operands[slot as usize];
            if output || operand.result.is_none() || operand.argument.is_some() {
                return Err(bad());
            }
            operand.argument = Some(arguments);
            arguments += 1;
            out.slots.push(slot);
            continue;
        }
        let (ty, immediate) = match letters {
            "b" => (Ty::Pred, false),
            "c" | "h" => (Ty::B(16), false),
            "r" => (Ty::B(32), false),
            "l" | "N" => (Ty::B(64), false),
            "q" => (Ty::B(128), false),
            "f" => (Ty::F(32), false),
            "d" => (Ty::F(64), false),
            "n" | "i" | "s" => (Ty::B(64), true),
            _ => return Err(bad()),
        };
        let mut operand = AsmOperand { result: None, argument: None, immediate, ty };
        if output {
            operand.result = Some(results);
            results += 1;
        } else {
            operand.argument = Some(arguments);
            arguments += 1;
        }
        out.slots.push(out.operands.len() as u32);
        out.operands.push(operand);
    }
    Ok(out)
}

/// The comma-separated items of a constraint string.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Expands a template's escapes: `$$`, `$n`, `${n}`, `${n:x}`, `${:uid}`,
/// `$(a$|b$)`. Operand references become [`OPERAND_START`] `n` [`OPERAND_END`].
pub fn expand(template: &str, operands: usize) -> Result<String, ParseError> {
    let mut out = String::with_capacity(template.len());
    let mut chars = template.char_indices().peekable();
    // The alternative of `$( $| $)` that the text belongs to. NVPTX has one dialect, the first.
    let mut alternative: Option<u32> = None;
    while let Some((at, c)) = chars.next() {
        if matches!(c, OPERAND_START | OPERAND_END | '\0') {
            return Err(ParseError::Character { character: c });
        }
        let hidden = alternative.is_some_and(|n| n > 0);
        if c != '$' {
            if !hidden {
                out.push(c);
            }
            continue;
        }
        let escape = |text: &str| ParseError::Escape { escape: format!("${text}"), at };
        let Some((_, next)) = chars.next() else { return Err(escape("")) };
        match next {
            '$' if !hidden => out.push('$'),
            '$' => {}
            '(' if alternative.is_none() => alternative = Some(0),
            '|' => match &mut alternative {
                Some(n) => *n += 1,
                None => return Err(escape("|")),
            },
            ')' if alternative.take().is_some() => {}
            '{' => {
                let mut inside = String::new();
                loop {
                    match chars.next() {
                        Some((_, '}')) => break,
                        Some((_, c)) => inside.push(c),
                        None => return Err(escape(&format!("{{{inside}"))),
                    }
                }
                let (number, modifier) = inside.split_once(':').unwrap_or((&inside, ""));
                let text = match (number, modifier) {
                    // Each copy of a template is a scope here, so all can have the same number.
                    ("", "uid") => "0".to_owned(),
                    ("", "private") => String::new(),
                    ("", "comment") => "//".to_owned(),
                    _ => reference(number, operands).ok_or_else(|| escape(&format!("{{{inside}}}")))?,
                };
                if !hidden {
                    out.push_str(&text);
                }
            }
            '0'..='9' => {
                let mut number = String::from(next);
                while let Some(&(_, d @ '0'..='9')) = chars.peek() {
                    number.push(d);
                    chars.next();
                }
                let text = reference(&number, operands).ok_or_else(|| escape(&number))?;
                if !hidden {
                    out.push_str(&text);
                }
            }
            other => return Err(escape(&other.to_string())),
        }
    }
    Ok(out)
}

fn reference(number: &str, operands: usize) -> Option<String> {
    let n: usize = number.parse().ok()?;
    (n < operands).then(|| format!("{OPERAND_START}{n}{OPERAND_END}"))
}
