//! Separate compilation (`-fgpu-rdc`): device code that is linked before it is checked.
//!
//! A file alone does not show what its calls reach. The pass runs once over the code of all files,
//! so proofs and the offsets of shared memory cover the whole program.
//!
//! An object compiled so carries bitcode where others carry a host image. A
//! link takes two runs of the linker. The first is a trial: it says which
//! objects and which members of archives the program has. Their bitcode is
//! linked, the plugin makes one image of it, and a small object holds that
//! image and registers with it what each translation unit's constructors bring:
//!
//! ```text
//! compile    bitcode + settings                  → container in the object's `__nv_relfatbin`
//! trial      the user's link, undefined allowed  → which containers, which `__nv_module_id`s
//! device     all bitcode, plugin loaded          → one image, as of one source
//! stub       image + a function per module id    → an object
//! link       the user's link and that object
//! ```
//!
//! Device code of one unit may use another's that no host code uses. So each
//! object has symbols named [`PREFIX`] + name for what its device code defines
//! and needs, and the linker itself takes the right members from archives.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gpurace_abi::image::{
    FATBIN_WRAPPER_MAGIC, MAGIC, SectionHeader, SectionKind, build_container, section_headers,
};
use gpurace_abi::part::Symbols;
use object::{Object as _, ObjectSection as _};
use serde::{Deserialize, Serialize};

use crate::args::{Args, InputKind, Item, Role};
use crate::clang_options as clang;
use crate::config::{self, PassConfig};
use crate::diagnostic::Error;
use crate::response;

/// What the host symbols for names of device code start with.
pub const PREFIX: &str = "__gpurace_device_";
/// The symbol of the image in the object that joins the units.
const JOINED: &str = "__gpurace_joined_image";
/// What a unit's constructor calls; its module id follows.
const REGISTER: &str = "__cudaRegisterLinkedBinary";
/// clang's sections for device code and for the ids of units.
const CODE_SECTION: &str = "__nv_relfatbin";
const ID_SECTION: &str = "__nv_module_id";

/// What was asked when a unit was compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// What the plugin was told.
    pub config: PassConfig,
    /// The GPU architecture that the unit was compiled for.
    pub arch: String,
    /// Names of device code that it uses and does not define.
    #[serde(default)]
    pub needed: Vec<String>,
}

/// The files that a trial link's device code goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialLinkFiles {
    /// What the trial link wrote.
    pub trial: PathBuf,
    /// The module that the others are linked to.
    pub main: PathBuf,
    /// A response file: the other modules.
    pub others: PathBuf,
    /// A response file: the architecture.
    pub arch: PathBuf,
    /// What the plugin is told of the whole.
    pub settings: PathBuf,
    /// The C source of the object that joins the units.
    pub stub: PathBuf,
    /// The container that this object will hold.
    pub container: PathBuf,
}

/// Packs a unit's bitcode, and writes a response file that declares its names.
pub fn pack(
    bitcode: &Path,
    symbols: &Path,
    mut unit: Unit,
    container: &Path,
    declarations: &Path,
) -> Result<(), Error> {
    let symbols: Symbols = parse(&read(symbols)?, symbols)?;
    unit.needed.clone_from(&symbols.needed);
    let settings =
        serde_json::to_vec(&unit).map_err(|e| Error::new(format!("cannot pack device code: {e}")))?;
    let sections = [(SectionKind::Bitcode, &read(bitcode)?[..]), (SectionKind::Part, &settings)];
    write(container, &build_container(&sections))?;
    let text = declared(&symbols);
    // No device code that has a name: nothing to declare.
    let words: &[OsString] = if text.is_empty() {
        &[]
    } else {
        &[format!("-D__GPURACE_DEVICE_SYMBOLS__={}", c_string(&text)).into()]
    };
    write(declarations, &response::render(words))
}

/// Assembly that defines and needs symbols for names of device code.
fn declared(symbols: &Symbols) -> String {
    let mut text = String::new();
    for definition in &symbols.defined {
        define(&mut text, &definition.name, definition.weak);
    }
    for name in &symbols.needed {
        let _ = writeln!(text, ".quad \"{PREFIX}{name}\"");
    }
    in_own_section(text)
}

fn define(text: &mut String, name: &str, weak: bool) {
    let binding = if weak { ".weak" } else { ".globl" };
    let _ = writeln!(
        text,
        "{binding} \"{PREFIX}{name}\"\n.hidden \"{PREFIX}{name}\"\n\"{PREFIX}{name}\":\n.byte 0"
    );
}

/// Not loaded with the program: only the linker reads it.
fn in_own_section(text: String) -> String {
    if text.is_empty() {
        return text;
    }
    format!(".pushsection .gpurace.names,\"\",@progbits\n{text}.popsection\n")
}

/// A C string literal.
fn c_string(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => literal.push_str("\\n"),
            '"' | '\\' => literal.extend(['\\', c]),
            _ => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// Whether a link's inputs hold separately compiled device code that nothing has joined yet.
pub fn are_linked(args: &Args) -> bool {
    let (mut units, mut joined) = (false, false);
    for path in libraries_and_objects(args) {
        // Whatever cannot be read is the linker's to name.
        let Ok(content) = fs::read(&path) else { continue };
        if content.starts_with(b"\x7fELF") && is_shared(&content) {
            continue;
        }
        units |= contains(&content, REGISTER.as_bytes());
        joined |= contains(&content, JOINED.as_bytes());
    }
    units && !joined
}

/// The files that a link names, and static libraries that `-l` finds in its `-L` folders.
fn libraries_and_objects(args: &Args) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut libraries = Vec::new();
    for item in &args.items {
        match item {
            Item::Input(input)
                if input.kind() == InputKind::Linker
                // The toolkit's own, which the link leaves out.
                && !clang::is_replaced_library_file(&input.path.to_string_lossy()) =>
            {
                paths.push(PathBuf::from(&input.path));
            }
            Item::Option { words, role: Role::Link } => {
                let word: String = words.iter().map(|word| word.to_string_lossy()).collect();
                if let Some(folder) = word.strip_prefix("-L") {
                    folders.push(folder.into());
                } else if let Some(name) =
                    word.strip_prefix("-l").filter(|name| !clang::REPLACED_LIBRARIES.contains(name))
                {
                    libraries.push(format!("lib{name}.a"));
                }
            }
            _ => {}
        }
    }
    let found =
        libraries.iter().filter_map(|name| folders.iter().map(|f| f.join(name)).find(|path| path.is_file()));
    paths.extend(found.collect::<Vec<_>>());
    paths
}

/// Whether an ELF file is a shared library: its device code is its own.
fn is_shared(elf: &[u8]) -> bool {
    object::File::parse(elf).is_ok_and(|file| file.kind() == object::ObjectKind::Dynamic)
}

fn contains(content: &[u8], wanted: &[u8]) -> bool {
    let first = wanted[0];
    let mut rest = content;
    while let Some(at) = rest.iter().position(|&byte| byte == first) {
        if rest[at..].starts_with(wanted) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// Takes the device code out of a trial link. `asked` is what the plugin is
/// told where no unit says otherwise.
pub fn unpack(files: &TrialLinkFiles, asked: &PassConfig, arch: &str) -> Result<(), Error> {
    let content = read(&files.trial)?;
    let elf = object::File::parse(&content[..]).map_err(|e| {
        Error::new(format!("cannot read what the linker wrote, `{}`: {e}", files.trial.display()))
    })?;
    let section =
        |name| elf.section_by_name(name).and_then(|section| section.data().ok()).unwrap_or_default();
    let units = units(section(CODE_SECTION))?;
    let ids = ids(section(ID_SECTION));
    let settings = merge(units.iter().map(|(unit, _)| unit), asked)?;
    let json =
        serde_json::to_vec(&settings).map_err(|e| Error::new(format!("cannot join device code: {e}")))?;
    write(&files.settings, &json)?;
    write_modules(&units, files, arch)?;
    let needed = units.iter().flat_map(|(unit, _)| &unit.needed).map(String::as_str).collect();
    write(&files.stub, stub(&ids, &needed, &files.container).as_bytes())
}

/// The containers that the linker laid one behind the other.
fn units(section: &[u8]) -> Result<Vec<(Unit, &[u8])>, Error> {
    let mut found: Vec<(Unit, &[u8])> = Vec::new();
    let mut at = 0;
    while at + 16 <= section.len() {
        let rest = &section[at..];
        if !rest.starts_with(&MAGIC) {
            // What aligns the next one.
            at += 1;
            continue;
        }
        // SAFETY: at least 16 bytes; the headers that they announce are looked at below only if they are
        // there.
        let headers = unsafe { section_headers(rest.as_ptr()) };
        let other = || {
            Error::new("an object holds device code made by another version of gpurace")
                .hint("compile all objects again")
        };
        let count = u32::from_le_bytes(rest[12..16].try_into().unwrap_or_default()) as usize;
        if headers.is_err() || count > 64 || rest.len() < 16 + 24 * count {
            return Err(other());
        }
        let headers: Vec<SectionHeader> = headers.map_err(|_| other())?.collect();
        let body = |kind: SectionKind| {
            let header = headers.iter().find(|header| header.kind == kind as u32)?;
            let start = usize::try_from(header.offset).ok()?;
            rest.get(start..start.checked_add(usize::try_from(header.size).ok()?)?)
        };
        let (Some(bitcode), Some(settings)) = (body(SectionKind::Bitcode), body(SectionKind::Part)) else {
            return Err(other());
        };
        let unit: Unit = serde_json::from_slice(settings).map_err(|_| other())?;
        if unit.config.version != config::VERSION {
            return Err(other());
        }
        // An archive that `-dlink` is given twice brings its members twice.
        if !found.iter().any(|(_, other)| *other == bitcode) {
            found.push((unit, bitcode));
        }
        let end = headers.iter().map(|header| header.offset + header.size).max().unwrap_or(16);
        at += usize::try_from(end).map_err(|_| other())?;
    }
    Ok(found)
}

/// The ids of units: C strings, with nuls between them.
fn ids(section: &[u8]) -> Vec<String> {
    let texts = section.split(|&byte| byte == 0).filter(|text| !text.is_empty());
    let ids: BTreeSet<_> = texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    ids.into_iter().collect()
}

/// What the plugin is told of the whole. The weakest wish for proofs and the
/// oldest processor count, and the highest level of optimisation.
fn merge<'a>(units: impl Iterator<Item = &'a Unit>, asked: &PassConfig) -> Result<PassConfig, Error> {
    let mut merged = asked.clone();
    let mut first: Option<&Unit> = None;
    for unit in units {
        let config = &unit.config;
        let Some(first) = first else {
            first = Some(unit);
            merged = PassConfig {
                sanitize: config.sanitize,
                prune: config.prune,
                opt_level: config.opt_level,
                cpu: config.cpu,
                warn: config.warn,
                werror: config.werror,
                rpass: config.rpass,
                rpass_missed: config.rpass_missed,
                system_prefixes: config.system_prefixes.clone(),
                ..merged
            };
            continue;
        };
        if config.sanitize != first.config.sanitize {
            let (with, without) = if config.sanitize { (unit, first) } else { (first, unit) };
            return Err(Error::new(format!(
                "the device code of `{}` was compiled with `-fsanitize=gpurace`, that of `{}` without",
                with.config.main_file, without.config.main_file
            ))
            .hint("device code that is linked (`-fgpu-rdc`) is checked as a whole: compile both alike"));
        }
        merged.prune = merged.prune.min(config.prune);
        merged.opt_level = merged.opt_level.max(config.opt_level);
        merged.cpu = merged.cpu.min(config.cpu);
        merged.warn &= config.warn;
        merged.werror |= config.werror;
        merged.rpass |= config.rpass;
        merged.rpass_missed |= config.rpass_missed;
        for prefix in &config.system_prefixes {
            if !merged.system_prefixes.contains(prefix) {
                merged.system_prefixes.push(prefix.clone());
            }
        }
    }
    Ok(merged)
}

/// Writes each unit's bitcode, and the words that make clang link them.
fn write_modules(units: &[(Unit, &[u8])], files: &TrialLinkFiles, arch: &str) -> Result<(), Error> {
    let arch = units.first().map_or(arch, |(unit, _)| &unit.arch);
    write(&files.arch, &response::render(&[format!("-march={arch}").into()]))?;
    let mut words: Vec<OsString> = Vec::new();
    match units.first() {
        Some((_, bitcode)) => write(&files.main, bitcode)?,
        // A program without device code: the module is empty.
        None => write(&files.main, b"target triple = \"nvptx64-nvidia-cuda\"\n")?,
    }
    for (index, (_, bitcode)) in units.iter().enumerate().skip(1) {
        let path = files.main.with_extension(format!("{index}.bc"));
        write(&path, bitcode)?;
        words.extend(["-Xclang", "-mlink-bitcode-file", "-Xclang"].map(Into::into));
        words.push(path.into());
    }
    write(&files.others, &response::render(&words))
}

/// The C source of the object that registers the whole image with each unit's
/// kernels and variables. Needed names that no unit defines are left to the
/// link of the image, which knows their source lines.
fn stub(ids: &[String], needed: &BTreeSet<&str>, container: &Path) -> String {
    let mut names = String::new();
    for name in needed {
        define(&mut names, name, true);
    }
    let mut text = String::from("/* Joins separately compiled device code; made by gclang. */\n");
    let names = in_own_section(names);
    if !names.is_empty() {
        let _ = writeln!(text, "__asm__({});", c_string(&names));
    }
    if ids.is_empty() {
        return text;
    }
    let image = format!(
        ".pushsection .nv_fatbin,\"a\",@progbits\n.balign 16\n{JOINED}:\n.incbin {}\n.popsection\n",
        c_string(&container.display().to_string())
    );
    let _ = write!(
        text,
        r#"__asm__({});
extern const char {JOINED}[] __attribute__((visibility("hidden")));
extern void **__cudaRegisterFatBinary(const void *);
extern void __cudaRegisterFatBinaryEnd(void **);
extern void __cudaUnregisterFatBinary(void **);
extern int atexit(void (*)(void));
static struct {{ int magic, version; const void *data, *unused; }} wrapper
    __attribute__((section(".nvFatBinSegment"))) = {{{FATBIN_WRAPPER_MAGIC:#x}, 1, {JOINED}, 0}};
static void **handle;
static int joined;
static void leave(void) {{ __cudaUnregisterFatBinary(handle); }}
static void join(void (*globals)(void **)) {{
  if (!handle) {{
    handle = __cudaRegisterFatBinary(&wrapper);
    atexit(leave);
  }}
  globals(handle);
  if (++joined == {}) __cudaRegisterFatBinaryEnd(handle);
}}
"#,
        c_string(&image),
        ids.len()
    );
    for id in ids {
        let _ = writeln!(
            text,
            "__attribute__((visibility(\"hidden\"))) void {REGISTER}{id}(void (*globals)(void **)) {{ join(globals); }}"
        );
    }
    text
}

/// An id that differs between translation units, and is the same in each
/// compilation of one: clang makes the names of static kernels of it.
pub fn unit_id<'a>(words: impl Iterator<Item = &'a [u8]>) -> String {
    // FNV-1a, 64 bits.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for word in words {
        for &byte in word.iter().chain(&[0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

fn parse<T: for<'a> Deserialize<'a>>(json: &[u8], path: &Path) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|e| Error::new(format!("cannot read `{}`: {e}", path.display())))
}

/// Reads what [`unpack`] wrote for the plugin.
pub fn settings(path: &Path) -> Result<PassConfig, Error> {
    parse(&read(path)?, path)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|e| Error::new(format!("cannot read `{}`: {e}", path.display())))
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    fs::write(path, content).map_err(|e| Error::new(format!("cannot write `{}`: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use gpurace_abi::part::Definition;

    use super::*;
    use crate::config::Cpu;
    use crate::flags::Prune;

    fn unit(name: &str) -> Unit {
        let config = PassConfig {
            version: config::VERSION,
            sanitize: true,
            exec: "cpu".into(),
            gpu: None,
            prune: Prune::Launch,
            solver: None,
            opt_level: 2,
            object: PathBuf::new(),
            meta: PathBuf::new(),
            proofs: PathBuf::new(),
            diagnostics: PathBuf::new(),
            facts: None,
            system_prefixes: vec!["/usr/include".into()],
            cpu: Cpu::V3,
            warn: true,
            werror: false,
            rpass: false,
            rpass_missed: false,
            main_file: name.into(),
            part: None,
        };
        Unit { config, arch: "sm_80".into(), needed: Vec::new() }
    }

    fn container(unit: &Unit, bitcode: &[u8]) -> Vec<u8> {
        let settings = serde_json::to_vec(unit).unwrap();
        build_container(&[(SectionKind::Bitcode, bitcode), (SectionKind::Part, &settings)])
    }

    #[test]
    fn containers_are_found_behind_each_other() {
        let mut section = container(&unit("a.cu"), b"first");
        section.extend([0; 5]);
        section.extend(container(&unit("b.cu"), b"second"));
        section.extend([0; 3]);
        let found = units(&section).unwrap();
        let names: Vec<_> =
            found.iter().map(|(unit, code)| (unit.config.main_file.as_str(), *code)).collect();
        assert_eq!(names, [("a.cu", &b"first"[..]), ("b.cu", b"second")]);
        section.extend(container(&unit("b.cu"), b"second"));
        assert_eq!(units(&section).unwrap().len(), 2);
        assert!(units(&[]).unwrap().is_empty());
    }

    #[test]
    fn damaged_and_foreign_containers_are_refused() {
        let whole = container(&unit("a.cu"), b"code");
        for end in [16, 40, whole.len() - 1] {
            assert!(units(&whole[..end]).is_err(), "{end}");
        }
        let mut other = unit("a.cu");
        other.config.version += 1;
        assert!(units(&container(&other, b"code")).is_err());
        let image = build_container(&[(SectionKind::HostImage, b"elf"), (SectionKind::Meta, b"{}")]);
        assert!(units(&image).is_err());
    }

    #[test]
    fn units_agree_on_the_cautious_side() {
        let (mut a, mut b) = (unit("a.cu"), unit("b.cu"));
        a.config.prune = Prune::Compile;
        b.config.opt_level = 3;
        b.config.cpu = Cpu::Baseline;
        b.config.warn = false;
        b.config.system_prefixes = vec!["/cuda".into()];
        let merged = merge([&a, &b].into_iter(), &unit("app").config).unwrap();
        assert_eq!(
            (merged.prune, merged.opt_level, merged.cpu, merged.warn),
            (Prune::Compile, 3, Cpu::Baseline, false)
        );
        assert_eq!(merged.system_prefixes, [Path::new("/usr/include"), Path::new("/cuda")]);
        assert_eq!(merged.main_file, "app");
        b.config.sanitize = false;
        let error = merge([&a, &b].into_iter(), &unit("app").config).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`a.cu` was compiled with `-fsanitize=gpurace`, that of `b.cu` without"),
            "{error}"
        );
    }

    #[test]
    fn names_become_symbols() {
        let symbols = Symbols {
            defined: vec![
                Definition { name: "f".into(), weak: false },
                Definition { name: "g".into(), weak: true },
            ],
            needed: vec!["h".into()],
        };
        let text = declared(&symbols);
        for part in [
            ".globl \"__gpurace_device_f\"\n",
            ".weak \"__gpurace_device_g\"\n",
            ".quad \"__gpurace_device_h\"\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains(".globl \"__gpurace_device_g\"") && !text.contains("\"__gpurace_device_h\":"));
        assert_eq!(declared(&Symbols::default()), "");
        assert_eq!(c_string("a\n\"\\"), r#""a\n\"\\""#);
    }

    #[test]
    fn the_stub_has_a_function_for_each_unit() {
        let ids = ids(b"__nv_1\0\0\0__nv_2\0");
        assert_eq!(ids, ["__nv_1", "__nv_2"]);
        let text = stub(&ids, &BTreeSet::from(["f"]), Path::new("/tmp/c"));
        assert!(text.contains("void __cudaRegisterLinkedBinary__nv_2("), "{text}");
        assert!(text.contains("++joined == 2"), "{text}");
        assert!(!stub(&[], &BTreeSet::new(), Path::new("/tmp/c")).contains("incbin"));
    }

    #[test]
    fn ids_differ() {
        let id = |words: &[&str]| unit_id(words.iter().map(|word| word.as_bytes()));
        assert_ne!(id(&["a.cu"]), id(&["b.cu"]));
        assert_ne!(id(&["ab", "c"]), id(&["a", "bc"]));
        assert_eq!(id(&["a.cu", "-O2"]), id(&["a.cu", "-O2"]));
    }
}
