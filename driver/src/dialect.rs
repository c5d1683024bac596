//! What nvcc accepts in a source and clang does not. gclang gives clang an adapted copy of such a source, or of a
//! header of the project that it includes, with the same lines.
//!
//! - `#define UNROLL #pragma unroll`: nvcc obeys a pragma that a macro expands to. The copy has `_Pragma`.
//! - `kernel<< <grid, block> >>()`: nvcc accepts spaces within `<<<` and `>>>`. The copy has none.
//! - `kernel<<<grid, {32, 8}>>>()`: nvcc takes a list in braces for a `dim3`. The copy has that name.
//! - `asm("mov.u64 %0, %globaltimer;" : "=l"(t))`: nvcc takes the `%` of a register for itself, also of one that the
//!   `asm` declares. The copy has `%%`.
//! - `asm("add.u32 %0, %1, %2;" : "=r"(c) : "r"(a) "r"(b))`: nvcc needs no comma between operands. The copy has it.

use std::ops::Range;
use std::path::PathBuf;

use crate::diagnostic::Error;

/// Returns the adapted text of a source. `None` if clang can read it as it is.
pub fn adapt(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out += &pragma_of_macro(line).unwrap_or_else(|| line.to_owned());
    }
    let out = assembly(&launches(&out));
    (out != text).then_some(out)
}

/// What to say of sources that did not compile, if one asks for nvcc by its own macro. clang does not define it, and
/// many projects that know clang rely on that.
pub fn asks_for_nvcc(sources: &[(PathBuf, String)]) -> Option<Error> {
    let asks = |line: &str| line.trim_start().starts_with('#') && line.contains("__NVCC__");
    let (path, line) = sources.iter().find_map(|(path, text)| {
        without_comments(text).lines().position(asks).map(|index| (path, index + 1))
    })?;
    let what = format!("`__NVCC__` ({}:{line}) is not defined by clang", path.display());
    Some(Error::new(what).hint("if the source needs it, add `-D__NVCC__`"))
}

/// The line that defines a macro without parameters as a pragma, with the operator for the directive.
fn pragma_of_macro(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (name, body) = rest.split_at(rest.find([' ', '\t'])?);
    let pragma = body.trim().strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
    let pragma = pragma.strip_prefix([' ', '\t'])?.trim();
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !pragma.ends_with('\\');
    let quoted = pragma.replace('\\', "\\\\").replace('"', "\\\"");
    let end = &line[line.trim_end().len()..];
    is_plain.then(|| format!("#define {name} _Pragma(\"{quoted}\"){end}"))
}

/// Closes up the brackets of launches, and names the type of their lists in braces. All else in the text stays.
fn launches(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    let mut open = false;
    // The single `<` since `<<<` that nothing has closed: `> > >` may close templates.
    let mut templates = 0_usize;
    let mut shape = Shape::default();
    let mut lists = Vec::new();
    while at < bytes.len() {
        at = match bytes[at] {
            _ if let Some(end) = end_of_text(bytes, at) => end,
            b'<' if let Some(end) = bracket(bytes, at, b'<') => {
                close_up(&mut out[at..end], b'<');
                (open, templates, shape) = (true, 0, Shape::default());
                end
            }
            b'>' if open
                && templates == 0
                && let Some(end) = bracket(bytes, at, b'>') =>
            {
                close_up(&mut out[at..end], b'>');
                lists.append(&mut shape.lists);
                open = false;
                end
            }
            b'<' | b'-' if matches!(bytes.get(at + 1), Some(b'<' | b'>')) => at + 2,
            sign => {
                templates = match sign {
                    b'<' if bytes.get(at + 1) != Some(&b' ') => templates + 1,
                    b'>' => templates.saturating_sub(1),
                    _ => templates,
                };
                if open {
                    shape.read(at, sign, templates > 0);
                }
                at + 1
            }
        };
    }
    // Only ASCII characters changed places. The last list comes first, so that the places of the others hold.
    let mut out = String::from_utf8(out).unwrap_or_else(|_| text.to_owned());
    for at in lists.into_iter().rev() {
        out.insert_str(at, "::dim3");
    }
    out
}

/// The two first arguments between the brackets of a launch.
#[derive(Default)]
struct Shape {
    /// How many brackets of other kinds are open.
    depth: usize,
    /// Commas outside of these.
    commas: usize,
    /// True behind the start of an argument.
    has_begun: bool,
    /// Where an argument is a list in braces.
    lists: Vec<usize>,
}

impl Shape {
    /// Takes the next character outside comments and literals.
    fn read(&mut self, at: usize, sign: u8, in_template: bool) {
        if sign == b'{' && !self.has_begun && self.commas < 2 {
            self.lists.push(at);
        }
        let is_between = self.depth == 0 && sign == b',' && !in_template;
        self.commas += usize::from(is_between);
        self.has_begun = !is_between && (self.has_begun || !sign.is_ascii_whitespace());
        match sign {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Doubles the `%` before registers in the text of each `asm` that has operands, and separates the operands.
fn assembly(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = end_of_text(bytes, at).unwrap_or_else(|| end_of_word(bytes, at));
        let is_asm = matches!(&bytes[at..end], b"asm" | b"__asm__" | b"__asm");
        at = if let Some(found) = is_asm.then(|| operands(bytes, end)).flatten() {
            out.extend(adapt_assembly(bytes, at, &found));
            found.end
        } else {
            out.extend(&bytes[at..end]);
            end
        };
    }
    // Only ASCII characters were added, each before another one.
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// An `asm` with operands.
struct Assembly {
    end: usize,
    /// The literals of its text.
    literals: Vec<Range<usize>>,
    /// Where operands end without the comma that separates them from the next.
    commas: Vec<usize>,
}

/// The `asm` whose keyword ends at this place. `None` if it has no operands: then `%` is a plain character.
fn operands(bytes: &[u8], keyword: usize) -> Option<Assembly> {
    let mut at = keyword;
    let (mut depth, mut has_operands, mut literals, mut commas) = (0, false, Vec::new(), Vec::new());
    // The end of an operand, if only blanks and comments have come since.
    let mut operand = None;
    loop {
        let byte = *bytes.get(at)?;
        if let Some(end) = end_of_text(bytes, at) {
            if byte == b'"' {
                // Behind the first colon, literals are constraints and the names of registers.
                if !has_operands {
                    literals.push(at..end);
                }
                commas.extend(operand.take());
            }
            at = end;
            continue;
        }
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return has_operands.then_some(Assembly { end: at + 1, literals, commas }),
            b')' => {
                depth -= 1;
                // Before the first colon it ends a macro, between the parts of the text.
                operand = (depth == 1 && has_operands).then_some(at + 1);
            }
            _ if byte.is_ascii_whitespace() => {}
            _ if operand.take().is_some() => continue,
            b':' if depth == 1 => has_operands = true,
            // `volatile` may stand before the brackets.
            _ if depth == 0 && !is_word(byte) && !byte.is_ascii_whitespace() => return None,
            _ => {}
        }
        at += 1;
    }
}

/// The text from `start` to the end of an `asm`, with `%%` for the `%` of each register in its literals, and with all
/// commas.
fn adapt_assembly(bytes: &[u8], start: usize, Assembly { end, literals, commas }: &Assembly) -> Vec<u8> {
    let mut out = Vec::with_capacity(end - start);
    for at in start..*end {
        if commas.contains(&at) {
            out.push(b',');
        }
        let is_doubled = || bytes[at - 1] == b'%';
        let in_literal = || literals.iter().any(|literal| literal.contains(&at));
        if bytes[at] == b'%' && in_literal() && !is_doubled() && names_register(&bytes[at + 1..*end]) {
            out.push(b'%');
        }
        out.push(bytes[at]);
    }
    out
}

/// True if a register's name stands behind a `%`. A letter and a digit, or a letter and a name in brackets, are an
/// operand and how clang shall write it.
fn names_register(text: &[u8]) -> bool {
    match text {
        [first, second, ..] if first.is_ascii_alphabetic() => !second.is_ascii_digit() && *second != b'[',
        [b'_' | b'$', ..] => true,
        _ => false,
    }
}

/// True for a byte of a name.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The end of the word at this place, or of the one character.
fn end_of_word(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
    at + length.max(1)
}

/// The text with spaces for its comments. Lines and literals stay where they are.
pub fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = end_of_text(&bytes, at).unwrap_or(at + 1);
        if bytes[at] == b'/' && end > at + 1 {
            bytes[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        at = end;
    }
    // Comments begin and end with ASCII characters, so no character lost a part.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The end of the comment or literal that begins at this place.
pub fn end_of_text(bytes: &[u8], at: usize) -> Option<usize> {
    let end = match bytes[at] {
        b'/' if bytes[at..].starts_with(b"//") => end_of(bytes, at, b"\n"),
        b'/' if bytes[at..].starts_with(b"/*") => end_of(bytes, at + 2, b"*/"),
        b'"' if let Some(end) = end_of_raw(bytes, at) => end,
        quote @ (b'"' | b'\'') => end_of_literal(bytes, at, quote),
        _ => return None,
    };
    Some(end.min(bytes.len()))
}

/// The end of `<<<` or `>>>` at this place, with or without spaces in it. `<< <` is no expression.
fn bracket(bytes: &[u8], at: usize, sign: u8) -> Option<usize> {
    let mut end = at;
    let mut count = 0;
    while count < 3 {
        match *bytes.get(end)? {
            byte if byte == sign => count += 1,
            b' ' | b'\t' if count > 0 => {}
            _ => return None,
        }
        end += 1;
    }
    Some(end)
}

fn close_up(bracket: &mut [u8], sign: u8) {
    bracket.fill(b' ');
    bracket[..3].fill(sign);
}

fn end_of(bytes: &[u8], from: usize, mark: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.windows(mark.len()).position(|found| found == mark).map_or(bytes.len(), |at| from + at + mark.len())
}

/// The place behind a raw string, such as `R"x(a "b" c)x"`, whose quote is at this place.
fn end_of_raw(bytes: &[u8], quote: usize) -> Option<usize> {
    let prefix = bytes[..quote].iter().rev().take_while(|byte| is_word(**byte)).count();
    if !matches!(&bytes[quote - prefix..quote], b"R" | b"u8R" | b"uR" | b"UR" | b"LR") {
        return None;
    }
    let open = bytes[quote..].iter().position(|byte| *byte == b'(')?;
    let end = [b")", &bytes[quote + 1..quote + open], b"\""].concat();
    Some(end_of(bytes, quote + open, &end))
}

/// Returns the place behind a literal in these quotes.
fn end_of_literal(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            // Digits may have quotes between them: such a quote ends with the line.
            _ if byte == quote || byte == b'\n' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_ask_for_nvcc_are_named() {
        let said = |text: &str| asks_for_nvcc(&[("a.cu".into(), text.to_owned())]).map(|error| error.message);
        let named = "`__NVCC__` (a.cu:2) is not defined by clang";
        assert_eq!(said("\n#ifdef __NVCC__\n").as_deref(), Some(named));
        assert_eq!(said("\n  # if !defined(__NVCC__)\n").as_deref(), Some(named));
        assert_eq!(said("// #ifdef __NVCC__\nint x; // __NVCC__\n"), None);
    }

    fn becomes(text: &str, wanted: &str) {
        assert_eq!(adapt(text).as_deref(), Some(wanted), "{text}");
    }

    #[test]
    fn a_macro_for_a_pragma_becomes_its_operator() {
        becomes("#define UNROLL #pragma unroll\nint a;\n", "#define UNROLL _Pragma(\"unroll\")\nint a;\n");
        becomes("  # define U4\t# pragma unroll 4", "#define U4 _Pragma(\"unroll 4\")");
        becomes("#define M #pragma message(\"a\")\n", "#define M _Pragma(\"message(\\\"a\\\")\")\n");
        for same in ["#pragma unroll\n", "#define F(x) #x\n", "#define P(x) #pragma\n", "#define A 1\n"] {
            assert_eq!(adapt(same), None, "{same}");
        }
    }

    #[test]
    fn brackets_of_launches_close_up() {
        becomes("k<< <1, 32> >>(p);", "k<<< 1, 32>>> (p);");
        becomes("k< < <g, b>> >(p);", "k<<<  g, b>>> (p);");
        // As Visual Studio formats launches.
        becomes("k <<<g, b >> > (p);", "k <<<g, b >>>  (p);");
        becomes("k<<<n < 5 ? 1 : 1 << n, g->x >> >(p);", "k<<<n < 5 ? 1 : 1 << n, g->x >>> (p);");
        becomes("k<<<A<B<C<int> > >::n, 32>> >(p);", "k<<<A<B<C<int> > >::n, 32>>> (p);");
        becomes("k<<<g, {32, n, 1}, 0, s>>>(p);", "k<<<g, ::dim3{32, n, 1}, 0, s>>>(p);");
        becomes("k<< <{g}, /* b */\n {f(2, 3)} >>>(p);", "k<<< ::dim3{g}, /* b */\n ::dim3{f(2, 3)} >>>(p);");
        becomes("k<A<1, 2>><<<A<1, 2>::n, {4}>>>(p);", "k<A<1, 2>><<<A<1, 2>::n, ::dim3{4}>>>(p);");
        for same in [
            "k<<<1, 32>>>(p);",
            "k<<<dim3{1, 2}, f({3}, {4}), {5}, {}>>>(p); f({6}, {7});",
            // No launch.
            "a <<< {",
            "std::cout << a << b;",
            "A<B<C<int> > > x;",
            "k<<<A<B<C<int> > >::n, 32>>>(p);",
            "k<<<f<B<C<int> > >(n), 32>>>(p);",
            "\"k<< <1>> >\"; // k<< <1>> >\n/* << < */ 'a';",
            "int big = 1'000'000; x = a >> b;",
        ] {
            assert_eq!(adapt(same), None, "{same}");
        }
    }

    #[test]
    fn comments_are_blank_and_literals_stay() {
        assert_eq!(
            without_comments("a // ü\n/* b\n \" */ c \"// d\" '/' 1 / 2"),
            "a      \n    \n      c \"// d\" '/' 1 / 2"
        );
    }

    #[test]
    fn an_asm_with_operands_gets_its_percent_signs_and_commas() {
        becomes(
            "asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t));",
            "asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));",
        );
        becomes(
            "__asm__ (\"mov.u32 %0, %tid.x;\\n\"\n \"add.u32 %0, %0, %laneid;\" : \"+r\"(f(x)) :: );",
            "__asm__ (\"mov.u32 %0, %%tid.x;\\n\"\n \"add.u32 %0, %0, %%laneid;\" : \"+r\"(f(x)) :: );",
        );
        becomes(
            "asm(\"{.reg .u16 %al, %_b, %$c, %d; mov.b32 {%al, %_b}, %1;}\" : \"=r\"(r) : \"r\"(a));",
            "asm(\"{.reg .u16 %%al, %%_b, %%$c, %%d; mov.b32 {%%al, %%_b}, %1;}\" : \"=r\"(r) : \"r\"(a));",
        );
        becomes(
            "asm(R\"({mov.u32 %0, %laneid; // \"a\" )\n :})\" : \"=r\"(r)); asm(R\"x(%clock %0)\")x\" : \"=r\"(r));",
            "asm(R\"({mov.u32 %0, %%laneid; // \"a\" )\n :})\" : \"=r\"(r)); asm(R\"x(%%clock %0)\")x\" : \"=r\"(r));",
        );
        becomes(
            "asm(\"st.b32 [%0], %1;\" : : \"r\"(a(1)) // first\n \"r\"(b) \"r\"(c), \"r\"(d) : \"memory\");",
            "asm(\"st.b32 [%0], %1;\" : : \"r\"(a(1)), // first\n \"r\"(b), \"r\"(c), \"r\"(d) : \"memory\");",
        );
        for same in [
            "asm(\"a\" \"b\" : \"=r\"(f(a, (b))), \"=r\"(c) : [d] \"r\"(e) : \"memory\", \"cc\");",
            "printf(\"a\", f(b) \"c\");",
            "asm(\"a\" MOVE(i, 1)\n MOVE(j, 2) \"b\" : \"=r\"(i) : \"r\"(j));",
            "asm(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));",
            "asm(\"add.u32 %0, %1, %r2;\" : \"=r\"(a) : \"r\"(b));",
            // Host code.
            "asm(\"rdtsc; orq %%rdx, %%rax\" : \"=a\"(t) : : \"%rdx\");",
            "asm(\"add.u32 %0, %[b], %c[b]; // %= %{ 5% %\" : \"=r\"(a) : [b] \"r\"(b));",
            // Without operands, each `%` stands for itself.
            "asm(\"mov.u32 r, %clock;\");",
            "printf(\"%clocks\", 'a'); // asm(\"%tid\" : x)",
            "int asm_of = \"%tid\" == x ? 1 : 2; asm",
            "asm(\"mov.u32 r, 1;\" /* %tid : */); // no operands",
        ] {
            assert_eq!(adapt(same), None, "{same}");
        }
    }
}
