//! The names of rows: patterns, and what they capture.

/// PTX types, and their meanings in a body. The meanings are, in this order:
///
/// - the IR type;
/// - of an integer, the letter of its sign; of a float, the suffix of LLVM's intrinsics;
/// - the number of its bits, and that number less one;
/// - of a float, the integer type of its bits; of an integer, the one of twice as many bits;
/// - the least and the greatest integer of its bits;
/// - the PTX type of twice the width.
const TYPES: &[(&str, &str)] = &[
    ("pred", "i1,u,1,0,i2,0,1"),
    ("cc", "i1"),
    ("b8", "i8,u,8,7,i16,0,255,b16"),
    ("b16", "i16,u,16,15,i32,0,65535,b32"),
    ("b32", "i32,u,32,31,i64,0,4294967295,b64"),
    ("b64", "i64,u,64,63,i128,0,18446744073709551615,b128"),
    ("b128", "i128,u,128,127,i256"),
    ("u8", "i8,u,8,7,i16,0,255,u16"),
    ("u16", "i16,u,16,15,i32,0,65535,u32"),
    ("u32", "i32,u,32,31,i64,0,4294967295,u64"),
    ("u64", "i64,u,64,63,i128,0,18446744073709551615,b128"),
    ("s8", "i8,s,8,7,i16,-128,127,s16"),
    ("s16", "i16,s,16,15,i32,-32768,32767,s32"),
    ("s32", "i32,s,32,31,i64,-2147483648,2147483647,s64"),
    ("s64", "i64,s,64,63,i128,-9223372036854775808,9223372036854775807,b128"),
    ("f16", "half,f16,16,15,i16,-32768,32767"),
    ("bf16", "bfloat,bf16,16,15,i16,-32768,32767"),
    ("f32", "float,f32,32,31,i32,-2147483648,2147483647"),
    ("f64", "double,f64,64,63,i64,-9223372036854775808,9223372036854775807"),
    // A pair: the suffix and the IR type of an element.
    ("u16x2", "<2 x i16>,u16,i16"),
    ("s16x2", "<2 x i16>,s16,i16"),
    ("f16x2", "<2 x half>,f16,half"),
    ("bf16x2", "<2 x bfloat>,bf16,bfloat"),
];

/// Alternatives that many rows have.
const CLASSES: &[(&str, &str)] = &[
    ("INT", "u16|u32|u64|s16|s32|s64|b16|b32|b64"),
    ("BITS", "pred|u16|u32|u64|s16|s32|s64|b16|b32|b64"),
    // Integers that `cvt` knows.
    ("INT8", "u8|u16|u32|u64|s8|s16|s32|s64"),
    ("WORDS", "u32|u64|s32|s64|b32|b64"),
    ("SMALL", "f16|bf16"),
    ("FLOAT", "f32|f64"),
    ("ANY", "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64|f16x2|bf16x2"),
    ("CMP", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"),
    // Comparisons of floats. The last eight are true of NaN, or only about it.
    (
        "FCMP",
        "eq=oeq|ne=one|lt=olt|le=ole|gt=ogt|ge=oge|equ=ueq|neu=une|ltu=ult|leu=ule|gtu=ugt|geu=uge|num=ord|nan=uno",
    ),
    // What video instructions do with a lane.
    ("VOP", "add|sub|absdiff|min|max|avrg|shl|shr|eq|ne|lt|le|gt|ge|lo|ls|hi|hs"),
    // The rounding modes of arithmetic, and those to an integer.
    ("RND", "=rn|.rn=rn|.rz=rz|.rm=rm|.rp=rp"),
    ("RNDI", "rni=roundeven|rzi=trunc|rmi=floor|rpi=ceil"),
];

/// What braces of a pattern have captured.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The alternative, as it stands in the name.
    text: &'static str,
    /// Its meanings, with commas between them.
    meanings: &'static str,
}

/// The captures of the braces of `pattern` in `name`, or `None` if it does not match.
pub fn capture(pattern: &'static str, name: &str) -> Option<Vec<Capture>> {
    let Some((literal, alternatives, rest)) = first_braces(pattern) else {
        let matches = match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        return matches.then(Vec::new);
    };
    let name = name.strip_prefix(literal)?;
    alternatives.iter().find_map(|&Capture { text, meanings }| {
        let mut captured = capture(rest, name.strip_prefix(text)?)?;
        captured.insert(0, Capture { text, meanings });
        Some(captured)
    })
}

/// What stands before the first braces of a pattern, their alternatives, and what stands after them.
fn first_braces(pattern: &'static str) -> Option<(&'static str, Vec<Capture>, &'static str)> {
    let at = pattern.find(['{', '<'])?;
    let types = pattern[at..].starts_with('<');
    let (inside, rest) = pattern[at + 1..].split_once(if types { '>' } else { '}' })?;
    let class = CLASSES.iter().find(|(name, _)| *name == inside);
    let alternative = |alternative: &'static str| match alternative.split_once('=') {
        Some((text, meanings)) => Capture { text, meanings },
        None => {
            let meanings = if types { meanings_of(alternative) } else { None };
            Capture { text: alternative, meanings: meanings.unwrap_or(alternative) }
        }
    };
    let alternatives = class.map_or(inside, |(_, alternatives)| alternatives);
    Some((&pattern[..at], alternatives.split('|').map(alternative).collect(), rest))
}

fn meanings_of(ty: &str) -> Option<&'static str> {
    TYPES.iter().find(|(name, _)| *name == ty).map(|(_, meanings)| *meanings)
}

/// The IR type of a PTX type.
pub fn ir_type(ty: &str) -> Option<&'static str> {
    meanings_of(ty).and_then(|meanings| meanings.split(',').next())
}

/// The PTX type of the floats of an IR type.
pub fn float_type(ir: &str) -> Option<&'static str> {
    TYPES.iter().map(|(name, _)| *name).find(|name| name.contains('f') && ir_type(name) == Some(ir))
}

/// A text with the meanings of the captures.
pub fn substitute(text: &str, captures: &[Capture]) -> String {
    with_first(text, captures, |capture| capture.meanings.split(',').next().unwrap_or_default())
}

/// The types of a row, in which a capture is the PTX type itself.
pub fn substitute_types(types: &str, captures: &[Capture]) -> String {
    let own = |c: &Capture| if meanings_of(c.text) == Some(c.meanings) { c.text } else { c.meanings };
    with_first(types, captures, |capture| own(capture).split(',').next().unwrap_or_default())
}

fn with_first(text: &str, captures: &[Capture], first: impl Fn(&Capture) -> &'static str) -> String {
    let mut text = text.to_owned();
    for (i, capture) in captures.iter().enumerate() {
        let others = capture.meanings.split(',').skip(1);
        for (n, meaning) in std::iter::once(capture.text).chain(others).enumerate() {
            text = text.replace(&format!("${}:{n}", i + 1), meaning);
        }
        text = text.replace(&format!("${}", i + 1), first(capture));
    }
    text
}

/// The texts that a pattern stands for, each only until `enough` is true of it.
pub fn expansions(pattern: &'static str, enough: &dyn Fn(&str) -> bool) -> Vec<String> {
    fn extend(so_far: String, pattern: &'static str, enough: &dyn Fn(&str) -> bool, out: &mut Vec<String>) {
        if enough(&so_far) || pattern.is_empty() {
            out.push(so_far);
            return;
        }
        match first_braces(pattern) {
            Some(("", alternatives, rest)) => {
                alternatives.iter().for_each(|a| extend(format!("{so_far}{}", a.text), rest, enough, out));
            }
            Some((literal, ..)) => {
                extend(so_far + literal, &pattern[literal.len()..], enough, out);
            }
            None => out.push(so_far + pattern),
        }
    }
    let mut out = Vec::new();
    extend(String::new(), pattern, enough, &mut out);
    out
}

/// The words between the dots of all names that a pattern stands for.
pub fn words(pattern: &'static str) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut rest = pattern;
    while let Some((literal, alternatives, after)) = first_braces(rest) {
        words.extend(literal.split('.').chain(alternatives.iter().flat_map(|a| a.text.split('.'))));
        rest = after;
    }
    words.extend(rest.split('.'));
    words
}
