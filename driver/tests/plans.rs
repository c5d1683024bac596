//! Tests the plan for a command line, with made-up paths of a toolchain.

use std::path::Path;

use gpurace_abi::plugin::Cpu;
use gpurace_driver::args::Args;
use gpurace_driver::cuda::{Origin, Toolkit, Version};
use gpurace_driver::plan::{self, Plan, Step};
use gpurace_driver::refuse;
use gpurace_driver::toolchain::{Compiler, Driver, Installation, Toolchain};

fn toolchain() -> Toolchain {
    Toolchain {
        compiler: Compiler { path: "clang++-22".into(), mode: Vec::new(), driver: Driver::Cxx },
        installation: Some(Installation {
            plugin: "/lib/libgpurace_pass.so".into(),
            solver: Some("/opt/gpurace/libgpurace_solve.so".into()),
            library_dir: "/lib".into(),
            include_dir: "/include".into(),
        }),
        toolkit: Some(Toolkit {
            path: "/cuda".into(),
            version: Version { major: 13, minor: 0 },
            origin: Origin::Own,
        }),
        adapted_headers: Vec::new(),
        newer_standard: None,
        hidden_header: None,
        system_prefixes: vec!["/usr/include".into()],
        cpu: Cpu::V3,
        work_dir: "/src".into(),
    }
}

fn args(line: &str) -> Args {
    Args::parse(line.split_whitespace().map(Into::into).collect()).unwrap()
}

fn plan_with(line: &str, toolchain: &Toolchain) -> Plan {
    plan::plan(&args(line), toolchain, Path::new("/scratch"))
}

/// Returns the plan as `-###` prints it, without quotes and the plugin's configuration.
fn plan(line: &str) -> String {
    readable(&plan_with(line, &toolchain()))
}

fn readable(plan: &Plan) -> String {
    let short = |line: &str| {
        let (variable, command) = line.rsplit_once("' ").unwrap_or(("", line));
        let variable = variable.split_once('=').map_or("", |(name, _)| name);
        format!("{variable} {}\n", command.replace('"', "").trim_start()).replace("  ", " ")
    };
    plan.render().lines().map(short).collect()
}

fn refusal(line: &str) -> String {
    refuse::check(&args(line)).unwrap_err().to_string()
}

#[test]
fn one_file_compiled_and_linked() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace -O2 app.cu -o app"));
}

#[test]
fn compile_only() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace -c -MMD -MF k.d -Iinc src/k.cu -o obj/k.o"));
}

#[test]
fn device_code_alone() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace --cuda-device-only -MD k.cu -lcuda -o out/k.fatbin"));
    let steps = plan("-fsanitize=gpurace -c --cuda-device-only a.cu b.cu");
    assert!(steps.contains("# container a.fatbin:") && steps.contains("# container b.fatbin:"), "{steps}");
    // Text for a GPU, and code without gpurace, are clang's.
    for clangs in ["-fsanitize=gpurace --cuda-device-only -S k.cu", "--cuda-device-only -c k.cu"] {
        assert_eq!(plan_with(clangs, &toolchain()).steps.len(), 1);
    }
    insta::assert_snapshot!(refusal("-fsanitize=gpurace --cuda-device-only -fgpu-rdc k.cu"), @r"
    error: `--cuda-device-only` and `-fgpu-rdc` cannot be combined
    hint: leave the second out: a module of the driver API is one source
    ");
    insta::assert_snapshot!(refusal("-fsanitize=gpurace --cuda-device-only a.cu b.cu -o k"), @"error: cannot specify -o when generating multiple output files");
}

#[test]
fn objects_are_only_linked() {
    insta::assert_snapshot!(plan(
        "-fsanitize=gpurace,address a.o libk.a b.so -lm -lcudart -L/cuda/lib -o app"
    ));
}

#[test]
fn openmp_comes_from_clang_alone() {
    let link = |line| plan(&format!("-fgpurace-exec=cpu a.o {line} -o app"));
    assert!(!link("-fopenmp -lgomp -lm").contains("gomp"));
    assert!(!link("-fopenmp /usr/lib/libgomp.so.1").contains("gomp"));
    for kept in ["-lgomp -lm", "-fopenmp=libgomp -lgomp", "-fopenmp -lgompcheck"] {
        assert!(link(kept).contains("-lgomp"), "{kept}");
    }
}

#[test]
fn several_files_of_both_kinds() {
    insta::assert_snapshot!(plan(
        "-fgpurace-exec=cpu -g a.cu main.cpp b.cu util.o -x cuda k.txt -lcudart_static -MD -o app"
    ));
}

#[test]
fn compile_only_of_both_kinds() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace -g -c d/a.cu main.cpp -x c odd.txt"));
}

#[test]
fn a_shared_library() {
    insta::assert_snapshot!(plan(
        "-fsanitize=gpurace -g -shared -fPIC k.cu /cuda/lib64/libcudart.so -o libk.so"
    ));
}

#[test]
fn temporary_files_are_kept_when_asked() {
    insta::assert_snapshot!(readable(&plan::plan(
        &args("-fsanitize=gpurace -save-temps k.cu"),
        &toolchain(),
        Path::new("")
    )));
}

#[test]
fn the_plugin_is_told_what_was_asked() {
    let line = "-fsanitize=gpurace -O3 -fgpurace-prune=off -fgpurace-facts=f.json -Wno-gpurace \
                -Werror -Wno-error=gpurace -Rpass=gpurace -march=x86-64 --offload-arch=sm_90 k.cu";
    let plan = plan_with(line, &toolchain());
    let Step::Clang(device) = &plan.steps[0] else { panic!("the device code comes first") };
    assert!(device.args.iter().any(|arg| arg == "--cuda-gpu-arch=sm_90"));
    assert!(!device.args.iter().any(|arg| arg == "--offload-arch=sm_90"));
    let config: serde_json::Value = serde_json::from_str(&device.env[0].1).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&config).unwrap());

    let plan = plan_with("-fsanitize=gpurace --cuda-device-only k.cu", &toolchain());
    let Step::Clang(device) = &plan.steps[0] else { panic!("the device code comes first") };
    assert!(device.env[0].1.contains(r#""alone":true"#), "{}", device.env[0].1);
}

#[test]
fn clang_reads_adapted_headers_in_their_place() {
    let adapting = Toolchain { adapted_headers: vec!["/cuda/include/barrier.h".into()], ..toolchain() };
    let plan = plan_with("-fsanitize=gpurace a.cu b.cu -o app", &adapting);
    let copies = |step: &&Step| matches!(step, Step::Header { .. });
    assert_eq!(plan.steps.iter().filter(copies).count(), 1);
    assert!(copies(&&plan.steps[0]));
    let said = plan.render();
    let option =
        "\"-Xclang\" \"-remap-file\" \"-Xclang\" \"/cuda/include/barrier.h;/scratch/gpurace-0-barrier.h\"";
    // Device and host side of each input.
    assert_eq!(said.matches(option).count(), 4, "{said}");
    let host_only = plan_with("-fsanitize=gpurace a.o -o app", &adapting);
    assert!(!host_only.steps.iter().any(|step| copies(&step)));
}

#[test]
fn cuda_s_header_goes_before_one_of_the_program() {
    let hiding = Toolchain { hidden_header: Some("/clang/include/cuda.h".into()), ..toolchain() };
    let plan = plan_with("-fsanitize=gpurace a.cu b.cu -o app", &hiding);
    let Step::Overlay { text, .. } = &plan.steps[0] else { panic!("{}", plan.render()) };
    assert!(
        text.contains(r#""name":"/clang/include/cuda.h""#) && text.contains("/cuda/include/cuda.h"),
        "{text}"
    );
    assert_eq!(plan.render().matches("\"-ivfsoverlay\" \"/scratch/gpurace-overlay.json\"").count(), 4);
    assert!(!plan_with("-fsanitize=gpurace a.cu", &toolchain()).render().contains("overlay"));
}

#[test]
fn headers_that_get_what_cuda_12_had_are_read_through_the_overlay() {
    let header = "/cuda/include/driver_types.h";
    let adapting = Toolchain { adapted_headers: vec![header.into()], ..toolchain() };
    let plan = plan_with("-fsanitize=gpurace a.cu b.cpp -o app", &adapting);
    let text = plan.steps.iter().find_map(|step| match step {
        Step::Overlay { text, .. } => Some(text),
        _ => None,
    });
    let expected = format!(r#""external-contents":"/scratch/gpurace-0-driver_types.h","name":"{header}""#);
    assert!(text.is_some_and(|text| text.contains(&expected)), "{text:?}");
    // Device and host side of the one, and the link, which compiles the other.
    assert_eq!(plan.render().matches("\"-ivfsoverlay\" \"/scratch/gpurace-overlay.json\"").count(), 3);
    assert!(!plan.render().contains("-remap-file"));
}

#[test]
fn a_newer_standard_stands_behind_the_users() {
    let newer = Toolchain { newer_standard: Some("c++17"), ..toolchain() };
    let said = plan_with("-fsanitize=gpurace -std=c++11 -c a.cu b.cpp", &newer).render();
    let standards = |line: &str| line.matches("-std=").count();
    assert_eq!(
        said.lines().map(standards).collect::<Vec<_>>().iter().filter(|&&count| count == 2).count(),
        2
    );
    for line in said.lines().filter(|line| standards(line) == 2) {
        assert!(line.find("-std=c++11") < line.find("-std=c++17"), "{line}");
    }
}

/// Like nvcc. The C++ driver links the library itself, so that it also follows `-stdlib=libc++`.
#[test]
fn the_c_driver_links_the_cxx_library_if_it_is_needed() {
    let mut toolchain = toolchain();
    toolchain.compiler.driver = Driver::C;
    let link = |line: &str, toolchain: &Toolchain| plan_with(line, toolchain).render();
    let needed = "\"-Wl,--push-state,--as-needed\" \"-lstdc++\" \"-lm\" \"-Wl,--pop-state\"";
    assert!(link("-fsanitize=gpurace app.o", &toolchain).trim_end().ends_with(needed));
    for (line, toolchain) in
        [("-fsanitize=gpurace app.o", &self::toolchain()), ("-fsanitize=gpurace -nostdlib app.o", &toolchain)]
    {
        assert!(!link(line, toolchain).contains("stdc++"), "{line}");
    }
}

/// The object for NVTX comes before all that may hold its headers. A link without libraries has no runtime to name.
#[test]
fn a_program_learns_of_ranges() {
    for line in
        ["-fsanitize=gpurace a.o b.cu", "-fsanitize=gpurace main.cpp a.o", "-fsanitize=gpurace -shared a.o"]
    {
        let planned = plan(line);
        let link = planned.lines().last().unwrap();
        let ours = link.find("-x assembler /include/gpurace/nvtx.s").unwrap();
        assert!(
            ["a.o", "b.o", "main.cpp"].iter().all(|file| link.find(file).is_none_or(|at| at > ours)),
            "{link}"
        );
        assert!(link[ours..].contains(" -x none "), "{link}");
    }
    for line in
        ["-fsanitize=gpurace -r a.o", "-fsanitize=gpurace -nostdlib a.o", "-fsanitize=gpurace -c a.cu", "a.o"]
    {
        assert!(!plan(line).contains("nvtx"), "{line}");
    }
}

#[test]
fn without_us_it_is_clang() {
    let system = Toolchain {
        toolkit: Some(Toolkit { origin: Origin::System, ..toolchain().toolkit.unwrap() }),
        ..toolchain()
    };
    let as_clang = |line: &str| readable(&plan_with(line, &system));
    for line in [
        "-O2 app.cu -o app -lcudart",
        "-c a.cpp -x cuda b.cpp -MD",
        "--version",
        "-print-resource-dir",
        "-E a.cu",
        "-fsanitize=address a.c",
    ] {
        assert_eq!(as_clang(line), format!(" clang++-22 {line}\n"));
    }
    // If clang finds no toolkit, it gets ours, but only for CUDA.
    insta::assert_snapshot!(plan("a.cu"), @" clang++-22 --cuda-path=/cuda -Wno-unknown-cuda-version a.cu");
    insta::assert_snapshot!(plan("a.cpp"), @" clang++-22 a.cpp");
    insta::assert_snapshot!(plan("--cuda-path=/other a.cu"), @" clang++-22 --cuda-path=/other a.cu");
}

#[test]
fn commands_that_make_no_object_are_clang_s() {
    for option in
        ["-E --cuda-host-only", "-S", "-fsyntax-only", "-M", "-MM", "--cuda-host-only", "-emit-llvm"]
    {
        let plan = plan_with(&format!("-fsanitize=gpurace {option} a.cu"), &toolchain());
        assert_eq!(plan.steps.len(), 1, "{option}");
        // They read the same headers.
        let text = plan.render();
        for part in
            ["gpurace/nvcc_compat.h", "gpurace/fallback", "/cuda/include/cccl", "--no-cuda-version-check"]
        {
            assert!(text.contains(part), "{option}: {text}");
        }
        assert!(!text.contains("libgpurace_pass"), "{option}: {text}");
    }
    let host = plan("-fsanitize=gpurace -M a.cpp");
    assert!(host.contains("-M a.cpp") && host.contains("-idirafter /cuda/include "), "{host}");
    assert!(!host.contains("nvcc_compat"), "{host}");
    for line in ["-fsanitize=gpurace", "-fsanitize=gpurace --version", "-fsanitize=gpurace -c a.o"] {
        assert!(!plan(line).contains("gpurace"), "{line}");
    }
}

#[test]
fn sources_for_nvcc_get_its_macro_behind_cuda_s_headers() {
    let own = "-U__NVCC__ -D__GPURACE_NVCC__=1";
    assert!(plan("-fsanitize=gpurace -D __NVCC__ -c a.cu").contains(own));
    assert!(plan("-fsanitize=gpurace -D__NVCC__=1 -c a.cu").contains(own));
    assert!(!plan("-fsanitize=gpurace -D__NVCC__X -c a.cu").contains("-U__NVCC__"));
    // CMake would take gclang for nvcc.
    let asked = plan("-fsanitize=gpurace -D__NVCC__ -c /b/CMakeCUDACompilerId.cu");
    assert!(asked.contains("-U__NVCC__") && !asked.contains("__GPURACE_NVCC__"));
}

#[test]
fn what_both_sides_read_is_one_text() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace -g -DX=1 -E -MMD -MF k.d k.cu -o k.i"));
    for line in ["-E a.cu", "-fsanitize=gpurace -E a.cpp", "-fsanitize=gpurace -E a.cu b.cu"] {
        assert_eq!(plan_with(line, &toolchain()).steps.len(), 1, "{line}");
    }
}

#[test]
fn relocatable_links_get_no_library() {
    assert!(!plan("-fsanitize=gpurace -r a.o b.o -o c.o").contains("-lgpurace_rt"));
}

#[test]
fn host_code_without_cuda_sees_the_toolkit_last() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace -g -c main.cpp"), @" clang++-22 -g -idirafter /cuda/include -idirafter /cuda/include/cccl -idirafter /include -idirafter /include/gpurace/fallback -c main.cpp");
}

#[test]
fn names_that_look_like_options_stay_files() {
    let text = plan("-fsanitize=gpurace -c -- -k.cu");
    assert!(text.contains(" -x cuda ./-k.cu\n"), "{text}");
}

#[test]
fn each_architecture_is_compiled_for() {
    insta::assert_snapshot!(plan(
        "-fsanitize=gpurace -fgpurace-exec=cuda --cuda-gpu-arch=sm_60 --offload-arch=sm_80,sm_90a -c k.cu"
    ));
    let one = plan("-fsanitize=gpurace --cuda-gpu-arch=sm_80 -c k.cu");
    assert_eq!(plan("-fsanitize=gpurace --offload-arch=sm_60,sm_80 --no-offload-arch=sm_60 -c k.cu"), one);
}

#[test]
fn separate_compilation_waits_for_the_link() {
    insta::assert_snapshot!(plan("-fsanitize=gpurace -g -fgpu-rdc -c d/a.cu -MD -o a.o"));
    insta::assert_snapshot!(plan("-fsanitize=gpurace -g -fgpu-rdc a.cu b.o -L. -lk -o app"));
    insta::assert_snapshot!(plan("-fsanitize=gpurace -g -dlink a.o libk.a libcudadevrt.a -o joined.o"));
    // Without the option, objects decide. The plan does not read them.
    assert!(!plan("-fsanitize=gpurace a.o -o app").contains("trial"));
    assert!(!plan("-fsanitize=gpurace -fgpu-rdc -r a.o -o b.o").contains("trial"));
}

#[test]
fn what_cannot_be_built_is_refused() {
    insta::assert_snapshot!(refusal("-fsanitize=gpurace -fgpurace-exec=cuda --cuda-gpu-arch=sm_61 a.cu"), @r"
    error: `sm_61` is not supported with `-fgpurace-exec=cuda`, wanted `sm_70` or newer
    hint: the checker needs independent thread scheduling, which older GPUs lack
    ");
    insta::assert_snapshot!(refusal("-dlink a.o -o b.o"), @r"
    error: `-dlink` needs objects and `-fgpurace-exec=cpu` or `-fsanitize=gpurace`
    hint: for an NVIDIA GPU, `nvcc` links device code
    ");
    insta::assert_snapshot!(refusal("-fgpurace-exec=cpu -static a.cu"), @r"
    error: `-static` is not supported with `-fgpurace-exec=cpu`
    hint: the runtime must be a shared library: device code is loaded at run time and linked with it
    ");
    insta::assert_snapshot!(refusal("-fsanitize=gpurace --target=aarch64-linux-gnu a.cu"), @r"
    error: `aarch64-linux-gnu` is not supported with `-fsanitize=gpurace`
    hint: device code is built for x86-64 Linux
    ");
    insta::assert_snapshot!(refusal("-fsanitize=gpurace -x cuda -"), @r"
    error: CUDA on standard input is not supported with `-fsanitize=gpurace`
    hint: gpurace compiles CUDA twice, for host and device: put the source in a file
    ");
    insta::assert_snapshot!(refusal("-fsanitize=gpurace -c a.cu b.cpp -o x.o"), @"error: cannot specify -o when generating multiple output files");
    // These are allowed.
    for line in [
        "-fgpu-rdc a.cu",
        "-static a.cu",
        "-fsanitize=gpurace -fgpu-rdc -fno-gpu-rdc a.cu",
        "-fsanitize=gpurace -fgpurace-exec=cuda -fgpu-rdc a.cu",
        "-fsanitize=gpurace -fgpurace-exec=cuda --cuda-gpu-arch=sm_61 --cuda-gpu-arch=sm_80 a.cu",
    ] {
        assert!(refuse::check(&args(line)).is_ok(), "{line}");
    }
}

#[test]
fn c_is_compiled_as_c_and_without_a_standard_of_cxx() {
    let compiled = plan("-fsanitize=gpurace -std=c++17 -DA -c a.c b.cpp");
    let ends = |text: &str, number: usize, end: &str| {
        let line = text.lines().nth(number).unwrap();
        assert!(line.ends_with(end), "{line}");
    };
    ends(&compiled, 0, "/fallback -c -x c a.c");
    ends(&compiled, 1, "/fallback -c b.cpp");
    assert!(!compiled.lines().next().unwrap().contains("-std"), "{compiled}");
    // The link takes an object, since one run of clang has one standard.
    let linked = plan("-fsanitize=gpurace --std=gnu++14 -Lx b.cpp a.c k.o -lm -o app");
    ends(&linked, 0, "/fallback -c -o /scratch/a.o -x c a.c");
    assert!(linked.contains(" --std=gnu++14 -Lx -x none b.cpp /scratch/a.o k.o -lm -o app "), "{linked}");
    assert!(!plan("-fsanitize=gpurace -x c++ a.c -o app").contains(" -x c "));
}

#[test]
fn objects_with_openmp_are_linked_without_its_option() {
    let mut args = args("-fsanitize=gpurace a.o -lgomp -o app");
    args.openmp_of_clang = Some("/llvm/libomp.so".into());
    let text = readable(&plan::plan(&args, &toolchain(), Path::new("/scratch")));
    assert!(text.contains("-Wl,--push-state,--as-needed /llvm/libomp.so -Wl,--pop-state"), "{text}");
    assert!(!text.contains("gomp"), "{text}");
}

#[test]
fn archives_have_all_objects() {
    let text = plan("-fsanitize=gpurace -O2 --lib a.cpp b.o libx.so c.c -o lib.a");
    assert!(text.ends_with(" ar qcs lib.a /scratch/a.o b.o /scratch/c-1.o\n"), "{text}");
    assert!(text.contains(" -c -o /scratch/a.o a.cpp\n") && !text.contains("--lib"), "{text}");
    let text = plan("-fsanitize=gpurace -fgpu-rdc --lib a.cu");
    assert!(text.ends_with(" ar qcs a.a /scratch/a.o\n"), "{text}");
    assert!(refusal("-fsanitize=gpurace --lib -c a.cu").contains("`--lib` cannot be combined with `-c`"));
    assert!(refusal("--lib a.cu").contains("`--lib` needs sources or objects and `-fgpurace-exec=cpu`"));
}
