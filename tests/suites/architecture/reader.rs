//! Reads a crate from its root file: which paths of the crate its modules name, which types it
//! defines and which strings it holds. Code for tests (`#[cfg(test)]`, `#[test]`) is left out.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gpurace_tests::toolchain::workspace;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::manifests::packages;

/// A module of the crate, as the names from the crate's root: `[]` is the root itself.
pub type ModulePath = Vec<String>;

/// A line of a source file, for messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    pub file: PathBuf,
    pub line: usize,
}

/// A path of the crate that a module names, in an import or in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The module that names it.
    pub from: ModulePath,
    /// The names from the crate's root. The last one is `*` in `use a::*`.
    pub to: ModulePath,
    /// The name that a `use` gives it in `from`; `None` outside a `use`.
    pub imported_as: Option<String>,
    pub at: SourceLine,
}

/// Everything that the tests need to know of one crate.
#[derive(Debug, Default)]
pub struct CrateSource {
    pub references: Vec<Reference>,
    /// Structs, enums, unions, traits and type aliases.
    pub types: Vec<(String, SourceLine)>,
    /// Macros with `#[macro_export]`, which live at the crate's root, and the modules that define them.
    pub exported_macros: Vec<(String, ModulePath)>,
    pub strings: Vec<(String, SourceLine)>,
    /// The files that were read, with the number of lines in each that are for tests only.
    pub files: Vec<(PathBuf, usize)>,
}

impl CrateSource {
    /// Reads the crate in `folder`: `src/lib.rs`, `src/main.rs` and all modules below them.
    ///
    /// # Panics
    /// If there is neither root, or a file is missing or is not Rust.
    pub fn read(folder: &Path) -> Self {
        let mut source = Self::default();
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        assert!(roots.iter().any(|root| root.is_file()), "`{}` holds no crate", folder.display());
        for root in roots.iter().filter(|root| root.is_file()) {
            Reader::of_file(&mut source, root, Vec::new());
        }
        source
    }
}

/// The crates of the workspace by folder, read once.
pub fn crates() -> &'static [(String, CrateSource)] {
    static CRATES: OnceLock<Vec<(String, CrateSource)>> = OnceLock::new();
    CRATES.get_or_init(|| {
        let folders = packages().into_values().map(|package| package.folder);
        folders.map(|folder| (folder.clone(), CrateSource::read(&workspace().join(folder)))).collect()
    })
}

/// The visitor of one file.
struct Reader<'a> {
    source: &'a mut CrateSource,
    file: PathBuf,
    /// The folder in which files of child modules of the file lie.
    folder: PathBuf,
    /// How many names of `module` the file itself has; the others are inline modules in it.
    depth: usize,
    module: ModulePath,
    test_lines: usize,
}

impl<'a> Reader<'a> {
    fn of_file(source: &'a mut CrateSource, file: &Path, module: ModulePath) {
        let text =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
        let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("a module's file name is UTF-8");
        let beside = file.parent().expect("a file lies in a folder");
        let folder = match stem {
            "lib" | "main" | "mod" => beside.to_owned(),
            _ => beside.join(stem),
        };
        let depth = module.len();
        let mut reader = Reader { source, file: file.to_owned(), folder, depth, module, test_lines: 0 };
        reader.visit_file(&syntax);
        let test_lines = reader.test_lines;
        reader.source.files.push((file.to_owned(), test_lines));
    }

    fn line(&self, span: Span) -> SourceLine {
        SourceLine { file: self.file.clone(), line: span.start().line }
    }

    /// The path from the crate's root that `path` means in the current module. `None` for a path that
    /// does not start with `crate`, `self` or `super`: it leads to another crate, or goes through a name
    /// that an import has brought here.
    fn absolute(&self, path: &[String]) -> Option<ModulePath> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (self.module.clone(), &path[1..]),
            "super" => (self.module.clone(), path),
            // At the root itself, `order::Clock` is `crate::order::Clock`.
            _ if self.module.is_empty() => (Vec::new(), path),
            _ => return None,
        };
        while rest.first().is_some_and(|name| name == "super") {
            module.pop();
            rest = &rest[1..];
        }
        module.extend_from_slice(rest);
        Some(module)
    }

    fn refer(&mut self, path: &[String], imported_as: Option<String>, span: Span) {
        if let Some(to) = self.absolute(path).filter(|to| !to.is_empty()) {
            let at = self.line(span);
            self.source.references.push(Reference { from: self.module.clone(), to, imported_as, at });
        }
    }

    fn read_use(&mut self, prefix: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.read_use(prefix, &path.tree);
                prefix.pop();
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.read_use(prefix, tree);
                }
            }
            syn::UseTree::Name(name) => {
                let last = name.ident.to_string();
                self.leaf(prefix, &last, None, name.span());
            }
            syn::UseTree::Rename(rename) => {
                let last = rename.ident.to_string();
                self.leaf(prefix, &last, Some(rename.rename.to_string()), rename.span());
            }
            syn::UseTree::Glob(glob) => self.leaf(prefix, "*", None, glob.span()),
        }
    }

    fn leaf(&mut self, prefix: &[String], last: &str, rename: Option<String>, span: Span) {
        let mut path = prefix.to_vec();
        // `use a::{self}` names `a`; `use super::super` climbs.
        if last != "self" || path.is_empty() {
            path.push(last.to_owned());
        }
        let name = rename.or_else(|| path.last().cloned());
        self.refer(&path, name, span);
    }

    /// The paths in the arguments of a macro, which are tokens: `crate::a::b`, `crate::{a, b}`.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let colons = |at: usize| {
            let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
            colon(at) && colon(at + 1)
        };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Ident(first) if ["crate", "super", "self"].contains(&&*first.to_string()) => {
                    let mut path = vec![first.to_string()];
                    while colons(at) {
                        match tokens.get(at + 2) {
                            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
                            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                                self.read_token_group(&path, group.stream());
                                break;
                            }
                            _ => break,
                        }
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.refer(&path, None, first.span());
                    }
                }
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    self.read_literal(&syn::Lit::new(literal.clone()));
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    fn read_literal(&mut self, literal: &syn::Lit) {
        let text = match literal {
            syn::Lit::Str(text) => text.value(),
            syn::Lit::CStr(text) => text.value().to_string_lossy().into_owned(),
            _ => return,
        };
        let at = self.line(literal.span());
        self.source.strings.push((text, at));
    }

    /// The first names in `crate::{a::x, b}`, which lead to the layers.
    fn read_token_group(&mut self, prefix: &[String], tokens: TokenStream) {
        let mut starts = true;
        for token in tokens {
            match &token {
                TokenTree::Ident(name) if starts => {
                    let path: Vec<String> = prefix.iter().cloned().chain([name.to_string()]).collect();
                    self.refer(&path, None, name.span());
                    starts = false;
                }
                TokenTree::Punct(punct) if punct.as_char() == ',' => starts = true,
                _ => {}
            }
        }
    }

    /// The file of `mod name;` in the current module.
    fn file_of(&self, item: &syn::ItemMod) -> PathBuf {
        let name = item.ident.to_string();
        let mut folder = self.folder.clone();
        folder.extend(&self.module[self.depth..]);
        let candidates = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        let found = candidates.iter().find(|file| file.is_file());
        found.unwrap_or_else(|| panic!("`{}`: `mod {name};` has no file", self.file.display())).clone()
    }
}

impl Visit<'_> for Reader<'_> {
    fn visit_item(&mut self, item: &syn::Item) {
        if is_for_tests(attributes(item)) {
            self.test_lines += item.span().end().line + 1 - item.span().start().line;
            return;
        }
        let name = match item {
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(name) = name {
            let at = self.line(name.span());
            self.source.types.push((name.to_string(), at));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        let name = item.ident.to_string();
        if item.content.is_none() {
            // Test modules need no `#[cfg(test)]` of their own inside of one.
            let module = self.module.iter().cloned().chain([name]).collect();
            let file = self.file_of(item);
            Reader::of_file(self.source, &file, module);
        } else {
            self.module.push(name);
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        // `use ::a` is another crate.
        if item.leading_colon.is_none() {
            self.read_use(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_macro(&mut self, item: &syn::ItemMacro) {
        if let Some(name) = &item.ident
            && item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
        {
            self.source.exported_macros.push((name.to_string(), self.module.clone()));
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() && names.len() > 1 {
            self.refer(&names, None, path.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &syn::Visibility) {
        // `pub(in crate::a)` uses nothing of `a`.
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.read_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, _: &syn::Attribute) {
        // Doc comments are attributes: what they link to is not used.
    }

    fn visit_lit(&mut self, literal: &syn::Lit) {
        self.read_literal(literal);
    }
}

/// True for `#[test]` and `#[cfg(test)]`, also with more conditions: `#[cfg(all(test, unix))]`.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            _ => String::new(),
        };
        let condition = condition.replace(' ', "");
        attribute.path().is_ident("test") || condition == "test" || condition.starts_with("all(test,")
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Writes a small crate for the tests of the rules.
pub fn crate_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join("src").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn references_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = crate_of(files);
    let source = CrateSource::read(folder.path());
    let shown = source.references.iter().map(|r| format!("{} -> {}", r.from.join("::"), r.to.join("::")));
    shown.collect()
}

#[test]
fn grouped_nested_and_renamed_imports_are_references() {
    let found = references_of(&[
        ("lib.rs", "mod low; mod high;"),
        ("low.rs", ""),
        ("high.rs", "use crate::{low::{A, b::C as D, self}, E}; use crate::low::*; use std::fmt;"),
    ]);
    let wanted = ["low::A", "low::b::C", "low", "E", "low::*"].map(|to| format!("high -> {to}"));
    assert_eq!(found, wanted);
}

#[test]
fn paths_in_types_expressions_and_macros_are_references() {
    let found = references_of(&[
        ("lib.rs", "mod low; mod high;"),
        ("low.rs", ""),
        (
            "high.rs",
            "fn f(x: Vec<crate::low::A>) -> u8 { println!(\"{}\", crate::low::g()); crate::low::h() }
             macro_rules! m { () => { use $crate::{low::i, j}; } }",
        ),
    ]);
    let mut wanted = ["low::A", "low::g", "low::h", "low", "j"].map(|to| format!("high -> {to}"));
    let mut found = found;
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn super_and_self_are_followed_through_inline_modules() {
    let found = references_of(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; mod c { use super::super::x; use self::d::Y; } pub use b::Z;"),
        ("a/b.rs", "use super::super::order::Clock; pub(in crate::a) fn f() { super::g() }"),
    ]);
    assert_eq!(found, ["a::b -> order::Clock", "a::b -> a::g", "a::c -> x", "a::c -> a::c::d::Y"]);
}

#[test]
fn tests_are_left_out_and_their_neighbours_are_not() {
    let folder = crate_of(&[
        (
            "lib.rs",
            "#[cfg(test)]\nmod tests;\n#[cfg(not(test))]\nmod kept;\n\
             struct A;\nimpl A { #[cfg(test)] fn t() { crate::never::f() } }\n\
             #[cfg(test)]\nmod more {\n    struct A;\n}\n",
        ),
        ("kept.rs", "struct B; fn f() { enum A {} }"),
    ]);
    let source = CrateSource::read(folder.path());
    let names: Vec<&str> = source.types.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["B", "A", "A"]);
    assert!(source.references.is_empty(), "{:?}", source.references);
    let lines: Vec<usize> = source.files.iter().map(|(_, lines)| *lines).collect();
    assert_eq!(lines, [0, 2 + 4]);
}

#[test]
#[should_panic(expected = "`mod gone;` has no file")]
fn a_module_without_a_file_is_an_error() {
    references_of(&[("lib.rs", "mod gone;")]);
}
