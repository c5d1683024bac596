//! Which kernels, blocks and objects a value selects.

use std::fmt;

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::value::{BadValue, Value, whole_number};

/// Globs on demangled kernel names.
///
/// A glob selects a kernel if it matches the whole demangled name, the name without return type and
/// parameters, or that name without template arguments: `void reduce<*`, `reduce<float>` and `reduce` all
/// select `void reduce<float>(float const*)`.
#[derive(Clone, Debug)]
pub struct KernelGlobs {
    patterns: Vec<String>,
    set: GlobSet,
}

impl KernelGlobs {
    /// True if one of the globs selects the kernel with this demangled name.
    pub fn matches(&self, demangled: &str) -> bool {
        forms(demangled).into_iter().any(|name| self.set.is_match(name))
    }

    /// Returns the globs that select none of these kernels.
    pub fn idle<'a>(&self, demangled: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let mut idle: Vec<_> = self.patterns.iter().map(|pattern| Some(pattern.as_str())).collect();
        for name in demangled.flat_map(forms) {
            self.set.matches(name).into_iter().for_each(|at| idle[at] = None);
        }
        idle.into_iter().flatten().collect()
    }

    /// Returns the globs as the user typed them.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// The forms of a demangled name that a glob may match.
fn forms(demangled: &str) -> [&str; 3] {
    let qualified = without_signature(demangled);
    [demangled, qualified, without_template_arguments(qualified)]
}

impl PartialEq for KernelGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Value for KernelGlobs {
    const WANTED: &'static str = "comma-separated globs on kernel names";
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        let mut set = GlobSetBuilder::new();
        let mut patterns = Vec::new();
        for pattern in split_outside_brackets(text) {
            if pattern.is_empty() {
                return Err(Self::bad(text));
            }
            let glob = Glob::new(pattern).map_err(|_| Self::bad(pattern))?;
            set.add(glob);
            patterns.push(pattern.to_owned());
        }
        let set = set.build().map_err(|_| Self::bad(text))?;
        Ok(Self { patterns, set })
    }
}

/// Splits at commas that are not inside a pair of brackets: `f(int, int),g` has two parts, and so has
/// `f<*,g`.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut open = Vec::new();
    let mut pairs = Vec::new();
    let mut commas = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' | '{' => open.push(at),
            ')' | '>' | ']' | '}' => pairs.extend(open.pop().map(|start| start..at)),
            ',' => commas.push(at),
            _ => {}
        }
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for comma in commas {
        if !pairs.iter().any(|pair| pair.contains(&comma)) {
            parts.push(text[start..comma].trim());
            start = comma + 1;
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Returns a demangled function name without return type and parameters.
fn without_signature(demangled: &str) -> &str {
    let name = match demangled.rfind(')') {
        // `(anonymous namespace)::k` ends in a name, not in parameters.
        Some(end) if !demangled[end..].starts_with(")::") => {
            &demangled[..opening_bracket(&demangled[..=end]).unwrap_or(demangled.len())]
        }
        _ => demangled,
    };
    // The return type, if any, ends at the last space outside brackets.
    let mut depth = 0i32;
    for (at, c) in name.char_indices().rev() {
        match c {
            ')' | '>' => depth += 1,
            '(' | '<' => depth -= 1,
            ' ' if depth == 0 => return &name[at + 1..],
            _ => {}
        }
    }
    name
}

/// Returns a name without the template arguments at its end.
fn without_template_arguments(name: &str) -> &str {
    if name.ends_with('>') { &name[..opening_bracket(name).unwrap_or(name.len())] } else { name }
}

/// Returns the position of the bracket that the text's last character closes.
fn opening_bracket(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | '>' => depth += 1,
            '(' | '<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// A choice of blocks by their linear index in the grid,
/// `x + gridDim.x * (y + gridDim.y * z)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks(Vec<BlockRange>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockRange {
    /// From the first to the last, both included.
    FromTo(u64, u64),
    /// Those whose index is a multiple of this, which is not 0.
    Every(u64),
}

impl Blocks {
    /// True if the block with this linear index is chosen.
    pub fn selects(&self, linear_index: u64) -> bool {
        self.0.iter().any(|range| match *range {
            BlockRange::FromTo(first, last) => (first..=last).contains(&linear_index),
            BlockRange::Every(step) => linear_index.is_multiple_of(step),
        })
    }

    /// Returns the lowest linear index that is chosen.
    pub fn lowest(&self) -> u64 {
        let lowest = self.0.iter().map(|range| match *range {
            BlockRange::FromTo(first, _) => first,
            BlockRange::Every(_) => 0,
        });
        lowest.min().unwrap_or_default()
    }
}

impl Value for Blocks {
    const WANTED: &'static str = "comma-separated blocks like `0`, `0-15` or `every:8`";
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        text.split(',').map(|part| block_range(part.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn block_range(text: &str) -> Result<BlockRange, BadValue> {
    let bad = || Blocks::bad(text);
    if let Some(step) = text.strip_prefix("every:") {
        return match whole_number(step) {
            Some(0) | None => {
                Err(BadValue { found: text.to_owned(), wanted: "`every:` and a whole number from 1 up" })
            }
            Some(step) => Ok(BlockRange::Every(step)),
        };
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = whole_number(first).ok_or_else(bad)?;
    let last = whole_number(last).ok_or_else(bad)?;
    if last < first {
        return Err(BadValue {
            found: text.to_owned(),
            wanted: "a range whose first block is not after its last",
        });
    }
    Ok(BlockRange::FromTo(first, last))
}

/// A memory object, as [`Objects`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectDescription<'a> {
    /// True in shared memory, false in global memory.
    pub shared: bool,
    /// The demangled name of a variable. `None` for an allocation.
    pub name: Option<&'a str>,
    /// The size in bytes.
    pub size: u64,
    /// The number of an allocation in this process, from 1. `None` for a variable.
    pub order: Option<u64>,
}

/// A choice of memory objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects(Vec<ObjectChoice>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ObjectChoice {
    /// All of shared memory.
    Shared,
    /// All of global memory.
    Global,
    /// The variables with this name.
    Name(String),
    /// The allocations with this size in bytes.
    Size(u64),
    /// The allocation with this number.
    Order(u64),
}

impl ObjectChoice {
    fn selects(&self, object: &ObjectDescription<'_>) -> bool {
        match self {
            Self::Shared => object.shared,
            Self::Global => !object.shared,
            Self::Name(wanted) => object
                .name
                .is_some_and(|name| name == wanted || name.rsplit("::").next() == Some(wanted.as_str())),
            Self::Size(size) => object.name.is_none() && object.size == *size,
            Self::Order(order) => object.order == Some(*order),
        }
    }
}

impl fmt::Display for ObjectChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => f.write_str("shared"),
            Self::Global => f.write_str("global"),
            Self::Name(name) => f.write_str(name),
            Self::Size(size) => write!(f, "{size}"),
            Self::Order(order) => write!(f, "#{order}"),
        }
    }
}

impl Objects {
    /// True if this object is chosen.
    pub fn selects(&self, object: &ObjectDescription<'_>) -> bool {
        self.0.iter().any(|choice| choice.selects(object))
    }

    /// Returns the variables, sizes and orders of allocation that select none of a program's objects. `objects`
    /// has its variables, an allocation of each size, and the last allocation.
    pub fn idle(&self, objects: &[ObjectDescription<'_>]) -> Vec<String> {
        let last = objects.iter().filter_map(|object| object.order).max().unwrap_or_default();
        let idle = |choice: &&ObjectChoice| match choice {
            ObjectChoice::Shared | ObjectChoice::Global => false,
            ObjectChoice::Order(order) => *order > last,
            ObjectChoice::Name(_) | ObjectChoice::Size(_) => {
                !objects.iter().any(|object| choice.selects(object))
            }
        };
        self.0.iter().filter(idle).map(ToString::to_string).collect()
    }
}

impl Value for Objects {
    const WANTED: &'static str = "comma-separated variables, sizes like `4096` or `64K`, orders of allocation like `#2`, `shared` or `global`";
    const ALLOWS_COLON: bool = true;

    fn parse(text: &str) -> Result<Self, BadValue> {
        text.split(',')
            .map(|part| object_choice(part.trim()).ok_or_else(|| Self::bad(part.trim())))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn object_choice(text: &str) -> Option<ObjectChoice> {
    match text {
        "shared" => return Some(ObjectChoice::Shared),
        "global" => return Some(ObjectChoice::Global),
        _ => {}
    }
    if let Some(order) = text.strip_prefix('#') {
        return whole_number(order).filter(|&order| order > 0).map(ObjectChoice::Order);
    }
    // No C++ name starts with a digit, so a name is never a size.
    match text.chars().next()? {
        '0'..='9' => size(text).map(ObjectChoice::Size),
        c if c.is_alphabetic() || matches!(c, '_' | '(' | '$') => Some(ObjectChoice::Name(text.to_owned())),
        _ => None,
    }
}

/// Reads a number of bytes. `K`, `M` and `G` are powers of 1024.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        b'g' | b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    whole_number(digits)?.checked_mul(unit)
}
