//! Sorts a command line into inputs, options with their stage, and the flags of gpurace.

mod input;
mod language;

use std::ffi::OsString;
use std::path::PathBuf;

use gpurace_abi::plugin::Prune;

use self::language::{language_of, with_language_first};
use crate::clang_options::{self as clang, OwnLibrary};
use crate::diagnostic::Error;
use crate::flags::{self, Exec, Flag};
use crate::libraries::MissingLibrary;

pub use self::input::{Input, InputKind};

/// A command line without the flags of gpurace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Args {
    /// Every word except the flags of gpurace, in order. clang gets these if it does the whole job.
    pub passed: Vec<OsString>,
    /// The same words, sorted.
    pub items: Vec<Item>,
    /// The flags of gpurace.
    pub asked: Asked,
    /// The value of the last `-o`.
    pub output: Option<OsString>,
    /// `-c`
    pub compile_only: bool,
    /// The first option after which clang writes no host object (`-E`, `-S`, …).
    pub no_object: Option<String>,
    /// The option that asks for device code alone, as spelled.
    pub device_only: Option<String>,
    /// `-###`
    pub dry_run: bool,
    /// `-v`
    pub verbose: bool,
    /// `--help`
    pub help: bool,
    /// `-save-temps`
    pub save_temps: Option<SaveTemps>,
    /// The named GPU architectures, each once. `native` and `all` are left out.
    pub gpu_archs: Vec<String>,
    /// The value of `--cuda-path`.
    pub cuda_path: Option<PathBuf>,
    /// `-nocudainc`, `-nogpuinc`: use no toolkit.
    pub no_toolkit: bool,
    /// The level of the last `-O`, 0 to 3.
    pub opt_level: u8,
    /// An option chooses the amount of debug info.
    pub debug_info: bool,
    /// The last option on debug info asks for none.
    pub no_debug_info: bool,
    /// The debug info that they ask for has variables and types.
    pub full_debug_info: bool,
    /// The last `-march`.
    pub march: Option<String>,
    /// The option that asks for separate compilation, as spelled.
    pub separate_compilation: Option<String>,
    /// Objects of this link contain separately compiled device code. [`parse`](Self::parse) does not open
    /// them, so the caller sets this.
    pub links_units: bool,
    /// The libraries beside the runtime that the link takes in place of NVIDIA's. The caller sets this too.
    pub own_libraries: Vec<&'static OwnLibrary>,
    /// The libraries that the link goes without, since they were not found. The caller sets this too.
    pub missing_libraries: Vec<MissingLibrary>,
    /// clang's library of OpenMP, for objects that were compiled with it: nvcc links them without `-fopenmp`. The
    /// caller sets this too.
    pub openmp_of_clang: Option<PathBuf>,
    /// `-dlink`, as spelled: write an object that joins the device code of others, not a program.
    pub device_link: Option<String>,
    /// `--lib`: write an archive of the objects, not a program.
    pub archive: bool,
    /// The option that asks for a static executable, as spelled.
    pub static_link: Option<String>,
    /// The option that asks for another target than x86-64 Linux, as spelled.
    pub other_target: Option<String>,
    /// `-r`, `-nostdlib`, `-nodefaultlibs`: add no library.
    pub bare_link: bool,
    /// `-r`: the output is an object.
    pub relocatable: bool,
    /// `-Werror` without a name.
    pub warnings_are_errors: bool,
    /// `-w`
    pub no_warnings: bool,
}

/// The values of the flags of gpurace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// `-fsanitize=gpurace`, last one wins.
    pub sanitize: bool,
    /// `-fgpurace-exec=`
    pub exec: Option<Exec>,
    /// `-fgpurace-prune=`
    pub prune: Prune,
    /// `-fgpurace-facts=`
    pub facts: Option<PathBuf>,
    /// `-Wno-gpurace`, unless a `-Wgpurace` follows it.
    pub no_warn: bool,
    /// `-Werror=gpurace` (true), `-Wno-error=gpurace` (false).
    pub werror: Option<bool>,
    /// `-Rpass=` names gpurace.
    pub rpass: bool,
    /// `-Rpass-missed=` names gpurace.
    pub rpass_missed: bool,
    /// `--clang=`
    pub clang: Option<PathBuf>,
}

impl Asked {
    /// True if gpurace builds the device code. Without the sanitizer, clang builds the code for GPUs.
    pub fn builds(&self) -> bool {
        self.sanitize || self.exec == Some(Exec::Cpu)
    }
}

/// Where `-save-temps` keeps temporary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveTemps {
    /// In the working directory.
    Cwd,
    /// Beside the output.
    Obj,
}

/// One argument with its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A file to compile or link.
    Input(Input),
    /// An option, one or two words.
    Option {
        /// The words, as given.
        words: Vec<OsString>,
        /// Which stages it belongs to.
        role: Role,
    },
}

/// The stages that an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Compilation and linking. A link may also compile, and some options choose libraries.
    Any,
    /// Linking only.
    Link,
    /// Dependency files: host compilation only.
    Dependency,
    /// `-o`
    Output,
    /// `-c`
    CompileOnly,
    /// GPU architectures, `--cuda-path`, `--lib`. The plan writes its own.
    Device,
    /// `-x`. The plan writes its own.
    Language,
    /// `-save-temps`, `-###`, `-dlink`: the plan decides.
    Driver,
}

impl Args {
    /// Sorts a command line. It does not have the program's name, and its response files are expanded.
    pub fn parse(words: Vec<OsString>) -> Result<Self, Error> {
        let mut args = Args::default();
        let mut language: Option<String> = None;
        let mut only_inputs = false;
        let mut words = with_language_first(words).into_iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            if only_inputs || !text.starts_with('-') || text == "-" {
                args.passed.push(word.clone());
                args.items.push(Item::Input(Input { path: word, language: language.clone() }));
                continue;
            }
            if text == "--" {
                only_inputs = true;
                args.passed.push(word);
                continue;
            }
            if let Some(flag) = flags::parse(&text)? {
                args.asked.apply(flag);
                continue;
            }
            if let Some((on, values)) = sanitizer_list(&text) {
                let Some(rest) = args.asked.sanitizers(on, values)? else {
                    continue;
                };
                args.push(vec![rest.into()], Role::Any);
                continue;
            }
            let value = if clang::takes_next_word(&text) { words.next() } else { None };
            let value_text = value.as_ref().map(|v| v.to_string_lossy().into_owned());
            if let Some(name) = language_of(&text, value_text.as_deref()) {
                language = (name != "none").then_some(name);
            }
            let role = args.note(&text, value_text.as_deref());
            args.push([Some(word), value].into_iter().flatten().collect(), role);
        }
        Ok(args)
    }

    fn push(&mut self, words: Vec<OsString>, role: Role) {
        self.passed.extend(words.iter().cloned());
        self.items.push(Item::Option { words, role });
    }

    /// Notes what the plan must know about one option of clang. Returns the option's role.
    fn note(&mut self, word: &str, value: Option<&str>) -> Role {
        if clang::chooses_debug_info(word) {
            self.debug_info = true;
            self.full_debug_info = clang::chooses_full_debug_info(word);
            self.no_debug_info = word == "-g0" || word == "-ggdb0";
        }
        if matches!(word, "--cuda-device-only" | "--offload-device-only") {
            self.device_only = Some(word.to_owned());
            return Role::Driver;
        }
        if clang::leaves_no_object(word) && self.no_object.is_none() {
            self.no_object = Some(word.to_owned());
        }
        if clang::is_dependency(word) {
            return Role::Dependency;
        }
        let noted = self.note_word(word, value).or_else(|| self.note_assignment(word));
        if let Some(role) = noted {
            return role;
        }
        if let Some(level) = word.strip_prefix("-O") {
            self.opt_level = match level {
                "0" => 0,
                "" | "1" | "g" => 1,
                "2" | "s" | "z" => 2,
                _ => 3,
            };
        }
        if word.starts_with("-x") {
            return Role::Language;
        }
        if let Some(output) = word.strip_prefix("-o").filter(|rest| !rest.is_empty()) {
            // `-object-file-name` names no output, but `-oapp` does.
            if !word.starts_with("-obj") {
                self.output = Some(output.into());
                return Role::Output;
            }
        }
        if clang::is_link_only(word) { Role::Link } else { Role::Any }
    }

    /// Notes an option that is one whole word, perhaps with the next word as its value. Returns its role if it is
    /// another than that of most options.
    fn note_word(&mut self, word: &str, value: Option<&str>) -> Option<Role> {
        match (word, value) {
            ("-c" | "--compile", _) => {
                self.compile_only = true;
                return Some(Role::CompileOnly);
            }
            ("-o" | "--output", Some(value)) => {
                self.output = Some(value.into());
                return Some(Role::Output);
            }
            ("-x" | "--language", _) => return Some(Role::Language),
            ("-###", _) => {
                self.dry_run = true;
                return Some(Role::Driver);
            }
            ("-v" | "--verbose", _) => self.verbose = true,
            ("--help" | "-help" | "--help-hidden", _) => self.help = true,
            ("-save-temps" | "-save-temps=cwd" | "--save-temps" | "--save-temps=cwd", _) => {
                self.save_temps = Some(SaveTemps::Cwd);
                return Some(Role::Driver);
            }
            ("-save-temps=obj" | "--save-temps=obj", _) => {
                self.save_temps = Some(SaveTemps::Obj);
                return Some(Role::Driver);
            }
            ("-nocudainc" | "-nogpuinc", _) => self.no_toolkit = true,
            ("-fgpu-rdc" | "-fcuda-rdc", _) => {
                self.separate_compilation = Some(word.to_owned());
                return Some(Role::Device);
            }
            ("-fno-gpu-rdc" | "-fno-cuda-rdc", _) => {
                self.separate_compilation = None;
                return Some(Role::Device);
            }
            ("-dlink" | "--device-link", _) => {
                self.device_link = Some(word.to_owned());
                return Some(Role::Driver);
            }
            ("--lib", _) => {
                self.archive = true;
                return Some(Role::Device);
            }
            ("-static" | "--static" | "-static-pie", _) => {
                self.static_link = Some(word.to_owned());
            }
            ("-r" | "-nostdlib" | "-nodefaultlibs", _) => {
                self.bare_link = true;
                self.relocatable |= word == "-r";
            }
            ("-Werror", _) => self.warnings_are_errors = true,
            ("-Wno-error", _) => self.warnings_are_errors = false,
            ("-w", _) => self.no_warnings = true,
            ("-m32" | "-mx32", _) => self.other_target = Some(word.to_owned()),
            ("-target", Some(target)) => self.target(target),
            _ => {}
        }
        None
    }

    /// Notes an option that has its value behind `=`. Returns its role if it is another than that of most options.
    fn note_assignment(&mut self, word: &str) -> Option<Role> {
        let (option, value) = word.split_once('=')?;
        match option {
            "--output" => {
                self.output = Some(value.into());
                return Some(Role::Output);
            }
            "--language" => return Some(Role::Language),
            "--cuda-path" => {
                self.cuda_path = Some(value.into());
                return Some(Role::Device);
            }
            "--cuda-gpu-arch" | "--offload-arch" => {
                for arch in value.split(',').filter(|arch| arch.starts_with("sm_")) {
                    if !self.gpu_archs.iter().any(|named| named == arch) {
                        self.gpu_archs.push(arch.to_owned());
                    }
                }
                return Some(Role::Device);
            }
            "--no-cuda-gpu-arch" | "--no-offload-arch" => {
                self.gpu_archs.retain(|named| value != "all" && !value.split(',').any(|arch| arch == named));
                return Some(Role::Device);
            }
            "--target" => self.target(value),
            "-march" => self.march = Some(value.to_owned()),
            "-Rpass" => self.asked.rpass = names_gpurace(value),
            "-Rpass-missed" => self.asked.rpass_missed = names_gpurace(value),
            _ => {}
        }
        None
    }

    /// Notes the target that clang compiles for, if it is another than x86-64 Linux.
    fn target(&mut self, triple: &str) {
        let x86_64_linux = ["x86_64", "amd64"].iter().any(|arch| triple.starts_with(arch))
            && (triple.contains("linux") || !triple.contains('-'));
        self.other_target = (!x86_64_linux).then(|| triple.to_owned());
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.items.iter().filter_map(|item| match item {
            Item::Input(input) => Some(input),
            Item::Option { .. } => None,
        })
    }

    /// The options, in order, each as one text: `-DX` for `-D X`.
    pub fn options(&self) -> impl Iterator<Item = String> {
        self.items.iter().filter_map(|item| match item {
            Item::Option { words, .. } => Some(joined(words)),
            Item::Input(_) => None,
        })
    }

    /// The values of an option that is given in full or joined to its value, such as the folders of `-I`.
    pub fn values_of(&self, option: &str) -> impl Iterator<Item = String> {
        self.options().filter_map(move |text| text.strip_prefix(option).map(str::to_owned))
    }

    /// Returns the standard of C++ that the command line asks for, such as `c++17`. Empty if it asks for none.
    pub fn standard(&self) -> String {
        self.values_of("-std=").last().unwrap_or_default()
    }

    /// True if the command line defines a macro.
    pub fn defines(&self, name: &str) -> bool {
        self.values_of("-D").any(|definition| definition.split('=').next() == Some(name))
    }

    /// True if an input is CUDA.
    pub fn has_cuda_input(&self) -> bool {
        self.inputs().any(|input| input.kind() == InputKind::Cuda)
    }
}

impl Asked {
    /// Notes a flag. The last one of its kind wins.
    fn apply(&mut self, flag: Flag) {
        match flag {
            Flag::Exec(exec) => self.exec = Some(exec),
            Flag::Prune(prune) => self.prune = prune,
            Flag::Facts(path) => self.facts = Some(path),
            Flag::Warn(on) => self.no_warn = !on,
            Flag::Werror(on) => self.werror = Some(on),
            Flag::Clang(path) => self.clang = Some(path),
        }
    }

    /// Takes `gpurace` out of a list of sanitizers. Returns the option that is left for clang, if any.
    fn sanitizers(&mut self, on: bool, values: &str) -> Result<Option<String>, Error> {
        let mut rest = Vec::new();
        for value in values.split(',') {
            match value {
                "gpurace" => self.sanitize = on,
                "all" if !on => {
                    self.sanitize = false;
                    rest.push(value);
                }
                _ if strsim::jaro_winkler(value, "gpurace") > 0.85 => {
                    return Err(flags::unknown_sanitizer(value));
                }
                _ => rest.push(value),
            }
        }
        let option = if on { "-fsanitize=" } else { "-fno-sanitize=" };
        Ok((!rest.is_empty()).then(|| format!("{option}{}", rest.join(","))))
    }
}

/// The words of an option as one text.
pub fn joined(words: &[OsString]) -> String {
    words.iter().map(|word| word.to_string_lossy()).collect()
}

/// Returns the values of `-fsanitize=` (true) or `-fno-sanitize=` (false).
fn sanitizer_list(word: &str) -> Option<(bool, &str)> {
    let on = word.strip_prefix("-fsanitize=").map(|values| (true, values));
    on.or_else(|| word.strip_prefix("-fno-sanitize=").map(|values| (false, values)))
}

/// True if the pattern of an `-Rpass` asks for the remarks of gpurace.
fn names_gpurace(pattern: &str) -> bool {
    pattern.contains("gpurace") || matches!(pattern, ".*" | "." | ".+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Args {
        Args::parse(line.split_whitespace().map(Into::into).collect()).unwrap()
    }

    fn roles(line: &str) -> Vec<(String, Role)> {
        let text =
            |words: &Vec<OsString>| words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ");
        parse(line)
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Option { words, role } => Some((text(words), *role)),
                Item::Input(_) => None,
            })
            .collect()
    }

    fn passed(line: &str) -> String {
        parse(line).passed.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn sanitizer_lists_lose_gpurace_and_keep_the_rest() {
        assert_eq!(passed("-fsanitize=gpurace a.cu"), "a.cu");
        assert_eq!(passed("-fsanitize=address,gpurace,undefined"), "-fsanitize=address,undefined");
        assert!(parse("-fsanitize=address,gpurace").asked.sanitize);
        assert!(!parse("-fsanitize=gpurace -fno-sanitize=gpurace").asked.sanitize);
        assert!(parse("-fno-sanitize=gpurace -fsanitize=gpurace").asked.sanitize);
        assert!(!parse("-fsanitize=gpurace -fno-sanitize=all").asked.sanitize);
        assert_eq!(passed("-fsanitize=gpurace -fno-sanitize=all"), "-fno-sanitize=all");
    }

    #[test]
    fn everything_else_passes_in_order() {
        let line = "-O2 -I inc -DX=1 -x cuda a.txt -x none b.o -Wl,-rpath,x -l m -- -odd.cu";
        assert_eq!(passed(line), line);
    }

    #[test]
    fn values_are_not_inputs() {
        let args = parse("-I a.cu -o b.cu -include c.cu -MF d.cu -Xclang e.cu -Xarch_host f.cu g.cu");
        let inputs: Vec<_> = args.inputs().map(|i| i.path.to_str().unwrap()).collect();
        assert_eq!(inputs, ["g.cu"]);
    }

    #[test]
    fn inputs_know_their_kind() {
        let args = parse("a.cu b.cpp c.o d.so.1 -x cuda e.cpp f.o -x none g.o -xc++ h.cu -- -i.cu");
        use InputKind::*;
        let kinds: Vec<_> = args.inputs().map(Input::kind).collect();
        assert_eq!(kinds, [Cuda, Host, Linker, Linker, Cuda, Cuda, Linker, Host, Host]);
        assert_eq!(parse("-- -i.cu").inputs().next().unwrap().kind(), Cuda);
    }

    #[test]
    fn a_language_behind_all_inputs_is_that_of_all_sources() {
        use InputKind::*;
        let kinds = |line: &str| parse(line).inputs().map(Input::kind).collect::<Vec<_>>();
        assert_eq!(kinds("a.cpp -O3 b.o c.cpp -x cuda -o app"), [Cuda, Linker, Cuda]);
        assert_eq!(kinds("a.cu -xc++"), [Host]);
        // clang gets the words in its own order.
        assert_eq!(passed("a.cpp b.o -x cuda -o app"), "-x cuda a.cpp -x none b.o -o app");
        // It stands before an input, or there is another one: clang's rule holds.
        for line in ["a.cpp -x cuda b.cpp", "-x c a.cpp -x cuda", "a.cpp -x none", "-c -- a.cpp"] {
            assert_eq!(passed(line), line);
        }
        assert_eq!(kinds("a.cpp -x cuda b.cpp"), [Host, Cuda]);
        // A value is no option, and no input.
        assert_eq!(kinds("a.cpp -Xclang -x"), [Host]);
        assert_eq!(kinds("a.cpp -x cuda -I b.cpp"), [Cuda]);
    }

    #[test]
    fn options_know_their_stage() {
        use Role::*;
        let got = roles("-c -o x -O2 -Lx -lm -MD -MF y --cuda-path=z --offload-arch=sm_90 -shared");
        let want = [
            ("-c", CompileOnly),
            ("-o x", Output),
            ("-O2", Any),
            ("-Lx", Link),
            ("-lm", Link),
            ("-MD", Dependency),
            ("-MF y", Dependency),
            ("--cuda-path=z", Device),
            ("--offload-arch=sm_90", Device),
            ("-shared", Link),
        ];
        assert_eq!(got, want.map(|(word, role)| (word.to_owned(), role)));
    }

    #[test]
    fn the_last_level_and_all_architectures_count() {
        let level = |line: &str| parse(line).opt_level;
        assert_eq!(["", "-O", "-O0", "-Os", "-O3 -O1", "-Ofast"].map(level), [0, 1, 0, 2, 1, 3]);
        let archs = |line: &str| parse(line).gpu_archs.join(" ");
        assert_eq!(archs("--cuda-gpu-arch=sm_70 --offload-arch=sm_90a"), "sm_70 sm_90a");
        assert_eq!(archs("--offload-arch=sm_75,sm_90 --cuda-gpu-arch=sm_75"), "sm_75 sm_90");
        assert_eq!(archs("--offload-arch=native"), "");
        assert_eq!(archs("--offload-arch=sm_75,sm_90 --no-offload-arch=sm_75"), "sm_90");
        assert_eq!(archs("--offload-arch=sm_75 --no-cuda-gpu-arch=all --offload-arch=sm_80"), "sm_80");
    }

    #[test]
    fn outputs_may_be_joined() {
        assert_eq!(parse("-oapp").output, Some("app".into()));
        assert_eq!(parse("--output=app").output, Some("app".into()));
        assert_eq!(parse("-object-file-name x").output, None);
    }

    #[test]
    fn targets_other_than_x86_64_linux_are_noticed() {
        assert_eq!(parse("--target=aarch64-linux-gnu").other_target, Some("aarch64-linux-gnu".into()));
        assert_eq!(parse("-target x86_64-pc-linux-gnu").other_target, None);
        assert_eq!(parse("-m32").other_target, Some("-m32".into()));
    }

    #[test]
    fn own_flags_are_taken_out() {
        let line = "-fgpurace-exec=cpu -fgpurace-prune=off -fgpurace-facts=f.json -Wno-gpurace \
                    -Werror=gpurace --clang=/opt/clang a.cu";
        let args = parse(line);
        assert_eq!(args.passed, ["a.cu"]);
        assert_eq!(
            args.asked,
            Asked {
                exec: Some(Exec::Cpu),
                prune: Prune::Off,
                facts: Some("f.json".into()),
                no_warn: true,
                werror: Some(true),
                clang: Some("/opt/clang".into()),
                ..Asked::default()
            }
        );
    }
}
