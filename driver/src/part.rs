//! Separate compilation (`-fgpu-rdc`): device code that is linked before it is checked.
//!
//! One file alone does not show what its calls reach. So the pass runs once over the code of all files, and
//! proofs and the offsets of shared memory cover the whole program.
//!
//! The object of a unit has bitcode in place of a host image. A link runs the linker twice. The first run is
//! a trial: it shows which objects and which members of archives the program has. clang then links their
//! bitcode, and the plugin makes one image from it. A small object, the stub, has this image and registers
//! the kernels and variables of all units with it:
//!
//! ```text
//! compile    bitcode + settings                  → container in the object's `__nv_relfatbin`
//! trial      user's link, undefined allowed      → all containers, all `__nv_module_id`s
//! device     all bitcode, plugin loaded          → one image, as from one source
//! stub       image + a function per module id    → an object
//! link       user's link and the stub            → the program
//! ```
//!
//! Device code of one unit may use device code of another unit that no host code uses. So each object has
//! symbols named [`PREFIX`] + name for what its device code defines and needs. With these the linker takes
//! the right members from archives.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gpurace_abi::image::{Container, FATBIN_WRAPPER_MAGIC, MAGIC, SectionKind, build_container};
use gpurace_abi::part::Symbols;
use gpurace_abi::plugin::{self, PassConfig};
use object::{Object as _, ObjectSection as _};
use serde::{Deserialize, Serialize};

use crate::args::{Args, InputKind, Item, Role, joined};
use crate::clang_options as clang;
use crate::diagnostic::{Error, read_file as read, write_file as write};
use crate::response;

/// The prefix of the host symbols for names of device code.
pub const PREFIX: &str = "__gpurace_device_";
/// The symbol of the image in the stub.
const JOINED: &str = "__gpurace_joined_image";
/// The prefix of the function that a unit's constructor calls. The unit's module id follows.
const REGISTER: &str = "__cudaRegisterLinkedBinary";
/// clang's sections for device code and for the ids of units.
const CODE_SECTION: &str = "__nv_relfatbin";
const ID_SECTION: &str = "__nv_module_id";

/// The settings that a unit was compiled with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The plugin's configuration.
    pub config: PassConfig,
    /// The GPU architecture that the unit was compiled for.
    pub arch: String,
    /// The names that its device code uses and does not define.
    #[serde(default)]
    pub needed: Vec<String>,
}

/// The files for the device code of a trial link.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialLinkFiles {
    /// The output of the trial link.
    pub trial: PathBuf,
    /// The first unit's bitcode.
    pub main: PathBuf,
    /// A response file that links the bitcode of all other units to it.
    pub others: PathBuf,
    /// A response file with the architecture.
    pub arch: PathBuf,
    /// The plugin's configuration for all units together.
    pub settings: PathBuf,
    /// The C source of the stub.
    pub stub: PathBuf,
    /// The container that the stub includes.
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
    write(container, build_container(&sections))?;
    let text = declared(&symbols);
    let word = (!text.is_empty()).then(|| format!("-D__GPURACE_DEVICE_SYMBOLS__={}", c_string(&text)).into());
    write(declarations, response::render(word.as_slice()))
}

/// Returns assembly that defines and uses symbols for the names of device code. It is empty if there are
/// none.
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

/// Puts assembly into a section that only the linker reads. The program does not load it.
fn in_own_section(text: String) -> String {
    if text.is_empty() {
        return text;
    }
    format!(".pushsection .gpurace.names,\"\",@progbits\n{text}.popsection\n")
}

/// Returns the text as a C string literal.
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

/// True if a link's inputs contain separately compiled device code that no `-dlink` has joined.
pub fn are_linked(args: &Args) -> bool {
    let (mut units, mut joined) = (false, false);
    for path in libraries_and_objects(args) {
        // The linker will report a file that cannot be read.
        let Ok(content) = fs::read(&path) else { continue };
        if content.starts_with(b"\x7fELF") && is_shared(&content) {
            continue;
        }
        units |= contains(&content, REGISTER.as_bytes());
        joined |= contains(&content, JOINED.as_bytes());
    }
    units && !joined
}

/// Returns the files that a link names, and the static libraries that `-l` finds in its `-L` folders.
fn libraries_and_objects(args: &Args) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut libraries = Vec::new();
    for item in &args.items {
        match item {
            Item::Input(input)
                if input.kind() == InputKind::Linker
                // The link leaves these out.
                && !clang::is_replaced_library_file(&input.path.to_string_lossy()) =>
            {
                paths.push(PathBuf::from(&input.path));
            }
            Item::Option { words, role: Role::Link } => {
                let word = joined(words);
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

/// True for a shared library. Its device code stays its own.
fn is_shared(elf: &[u8]) -> bool {
    object::File::parse(elf).is_ok_and(|file| file.kind() == object::ObjectKind::Dynamic)
}

/// Returns true if some bytes are among these.
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

/// Takes the units' device code out of a trial link. `asked` is the plugin's configuration, which the units
/// may change.
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
    write(&files.settings, json)?;
    write_modules(&units, files, arch)?;
    let needed = units.iter().flat_map(|(unit, _)| &unit.needed).map(String::as_str).collect();
    write(&files.stub, stub(&ids, &needed, &files.container).as_bytes())
}

/// Returns the units in a section, in which the linker put the containers of all objects.
fn units(section: &[u8]) -> Result<Vec<(Unit, &[u8])>, Error> {
    let mut found: Vec<(Unit, &[u8])> = Vec::new();
    let mut at = 0;
    while at + 16 <= section.len() {
        let rest = &section[at..];
        if !rest.starts_with(&MAGIC) {
            // This is padding before the next container.
            at += 1;
            continue;
        }
        let hint = "compile all objects again";
        let other = || Error::new("an object has device code from another version of gpurace").hint(hint);
        let container = Container::at_start_of(rest)
            .map_err(|error| Error::new(format!("an object has {error}")).hint(hint))?;
        let [bitcode, settings] = [SectionKind::Bitcode, SectionKind::Part].map(|kind| container.find(kind));
        let (Some(bitcode), Some(settings)) = (bitcode, settings) else {
            return Err(other());
        };
        let unit: Unit = serde_json::from_slice(settings).map_err(|_| other())?;
        if unit.config.version != plugin::VERSION {
            return Err(other());
        }
        // If `-dlink` names an archive twice, the trial has its members twice.
        if !found.iter().any(|(_, other)| *other == bitcode) {
            found.push((unit, bitcode));
        }
        at += container.size();
    }
    Ok(found)
}

/// Returns the module ids in a section: C strings with nuls between them.
fn ids(section: &[u8]) -> Vec<String> {
    let texts = section.split(|&byte| byte == 0).filter(|text| !text.is_empty());
    let ids: BTreeSet<_> = texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    ids.into_iter().collect()
}

/// Returns the plugin's configuration for all units together. It has the units' weakest setting for proofs,
/// their oldest processor and their highest optimisation level.
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
                cuda: config.cuda,
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
            .hint(
                "linked device code (`-fgpu-rdc`) is checked as a whole: compile both files the same way",
            ));
        }
        merged.prune = merged.prune.min(config.prune);
        merged.opt_level = merged.opt_level.max(config.opt_level);
        merged.cuda = merged.cuda.max(config.cuda);
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

/// Writes each unit's bitcode, and the arguments that make clang link them.
fn write_modules(units: &[(Unit, &[u8])], files: &TrialLinkFiles, arch: &str) -> Result<(), Error> {
    let arch = units.first().map_or(arch, |(unit, _)| &unit.arch);
    write(&files.arch, response::render(&[format!("-march={arch}").into()]))?;
    let mut words: Vec<OsString> = Vec::new();
    match units.first() {
        Some((_, bitcode)) => write(&files.main, bitcode)?,
        // A program without device code gets an empty module.
        None => write(&files.main, b"target triple = \"nvptx64-nvidia-cuda\"\n")?,
    }
    for (index, (_, bitcode)) in units.iter().enumerate().skip(1) {
        let path = files.main.with_extension(format!("{index}.bc"));
        write(&path, bitcode)?;
        words.extend(["-Xclang", "-mlink-bitcode-file", "-Xclang"].map(Into::into));
        words.push(path.into());
    }
    write(&files.others, response::render(&words))
}

/// Returns the C source of the stub. It defines all needed names weakly, so the link of the image reports
/// those that no unit defines. That link knows their source lines.
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

/// Returns an id for a unit. It differs between units and is the same in each compilation of one unit, since
/// clang puts it into the names of static kernels.
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
    serde_json::from_slice(json).map_err(Error::cannot("read", path))
}

/// Reads what [`unpack`] wrote for the plugin.
pub fn settings(path: &Path) -> Result<PassConfig, Error> {
    parse(&read(path)?, path)
}

#[cfg(test)]
mod tests {
    use gpurace_abi::part::Definition;

    use super::*;
    use gpurace_abi::plugin::{Cpu, Prune};

    fn unit(name: &str) -> Unit {
        let config = PassConfig {
            version: plugin::VERSION,
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
            strip_types: false,
            alone: false,
            cuda: 13000,
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
