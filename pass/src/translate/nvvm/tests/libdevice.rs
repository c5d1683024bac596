//! The whole of libdevice lowers, and its functions compute what the host's
//! libm does.

use std::path::PathBuf;

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;

use super::harness::*;
use crate::ir;
use crate::ir::passes::run_passes;

/// libdevice of an installed toolkit.
fn libdevice() -> Option<Vec<u8>> {
    let mut places: Vec<PathBuf> = ["CUDA_PATH", "CUDA_HOME"]
        .iter()
        .filter_map(std::env::var_os)
        .map(|p| PathBuf::from(p).join("nvvm/libdevice"))
        .collect();
    places.extend(
        ["/usr/local/cuda/nvvm/libdevice", "/usr/lib/nvidia-cuda-toolkit/libdevice"].map(PathBuf::from),
    );
    let found = places.iter().find_map(|p| std::fs::read(p.join("libdevice.10.bc")).ok());
    if found.is_none() {
        eprintln!("skipped: no libdevice in any of {places:?}");
    }
    found
}

/// libdevice for the host, with the inline PTX that the functions tested here reach as IR:
/// translating PTX is another module's.
fn without_assembly(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|l| !l.starts_with("target ")) {
        match (line.split_once(" asm \""), line.rsplit_once("\"(")) {
            (Some((start, assembly)), Some((_, arguments))) => {
                let function = [
                    ("rcp.approx.ftz.f32", "llvm.nvvm.rcp.approx.ftz.f"),
                    ("rsqrt.approx.ftz.f64", "llvm.nvvm.rsqrt.approx.ftz.d"),
                    ("add.cc.u32", "test.add"),
                    ("sub.cc.u32", "test.sub"),
                    ("clo,chi", "test.mad.i64"),
                    ("mul.hi.u32", "test.mul"),
                    ("mad.lo.cc", "test.mad.i32"),
                ];
                match function.iter().find(|(part, _)| assembly.contains(part)) {
                    Some((_, function)) => out += &format!("{start} @{function}({arguments}\n"),
                    None => out += &format!("{line}\n"),
                }
            }
            _ => out += &format!("{line}\n"),
        }
    }
    for (half, whole) in [("i32", "i64"), ("i64", "i128")] {
        let bits = &half[1..];
        out += &format!(
            "define internal {{ {half}, {half} }} @test.split.{half}({whole} %s) {{
              %l = trunc {whole} %s to {half}
              %h = lshr {whole} %s, {bits}
              %ht = trunc {whole} %h to {half}
              %r = insertvalue {{ {half}, {half} }} poison, {half} %l, 0
              %q = insertvalue {{ {half}, {half} }} %r, {half} %ht, 1
              ret {{ {half}, {half} }} %q
            }}
            define internal {{ {half}, {half} }} @test.mad.{half}({half} %a, {half} %b, {half} %c) {{
              %aw = zext {half} %a to {whole}
              %bw = zext {half} %b to {whole}
              %cw = zext {half} %c to {whole}
              %p = mul {whole} %aw, %bw
              %s = add {whole} %p, %cw
              %r = call {{ {half}, {half} }} @test.split.{half}({whole} %s)
              ret {{ {half}, {half} }} %r
            }}\n"
        );
    }
    out += "
        declare float @llvm.nvvm.rcp.approx.ftz.f(float)
        declare double @llvm.nvvm.rsqrt.approx.ftz.d(double)
        define internal { i64, i64 } @test.mul(i64 %a, i64 %b) {
          %r = call { i64, i64 } @test.mad.i64(i64 %a, i64 %b, i64 0)
          ret { i64, i64 } %r
        }\n";
    for op in ["add", "sub"] {
        out += &format!(
            "define internal {{ i64, i64 }} @test.{op}(i64 %al, i64 %ah, i64 %bl, i64 %bh) {{
              %a0 = zext i64 %al to i128
              %a1 = zext i64 %ah to i128
              %a2 = shl i128 %a1, 64
              %a = or i128 %a0, %a2
              %b0 = zext i64 %bl to i128
              %b1 = zext i64 %bh to i128
              %b2 = shl i128 %b1, 64
              %b = or i128 %b0, %b2
              %s = {op} i128 %a, %b
              %r = call {{ i64, i64 }} @test.split.i64(i128 %s)
              ret {{ i64, i64 }} %r
            }}\n"
        );
    }
    out
}

/// Distance in units of the last place of the second value.
fn ulps(got: f64, want: f64, epsilon: f64, least: f64) -> f64 {
    if got == want || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    (got - want).abs() / (want.abs() * epsilon).max(least)
}

#[test]
fn libdevice_lowers_and_agrees_with_libm() {
    let Some(bytes) = libdevice() else { return };
    let module = Module::parse(&without_assembly(&Module::from_bytes(&bytes).text()));
    assert_eq!(module.lower(), Vec::<String>::new());
    let text = module.text();
    for left in ["@llvm.nvvm.", "@__nvvm_reflect"] {
        assert!(!text.contains(left), "`{left}` is left in libdevice");
    }
    keep_only(&module, &names());
    let code = module.jit(&[]);
    floats_agree(&code);
    doubles_agree(&code);
    integers_agree(&code);
}

unsafe extern "C" {
    // SAFETY: libm's types; they read and write no memory but `signgam`.
    safe fn erff(v: f32) -> f32;
    safe fn lgammaf(v: f32) -> f32;
    safe fn tgamma(v: f64) -> f64;
    safe fn erfc(v: f64) -> f64;
    safe fn j0(v: f64) -> f64;
    safe fn y1(v: f64) -> f64;
    safe fn lgamma(v: f64) -> f64;
}

type Floats = &'static [(&'static str, fn(f32) -> f32, f32, f32, f64)];
type Doubles = &'static [(&'static str, fn(f64) -> f64, f64, f64, f64)];

/// Name, the host's function, range, permitted error in ulps (CUDA C++
/// Programming Guide, "Mathematical Functions", plus the host's own).
const FLOATS: Floats = &[
    ("__nv_sinf", f32::sin, -100.0, 100.0, 3.0),
    ("__nv_cosf", f32::cos, -1e6, 1e6, 3.0),
    ("__nv_tanf", f32::tan, -3.0, 3.0, 5.0),
    ("__nv_expf", f32::exp, -80.0, 80.0, 2.5),
    ("__nv_exp2f", f32::exp2, -120.0, 120.0, 3.0),
    ("__nv_logf", f32::ln, 1e-30, 1e30, 2.0),
    ("__nv_log2f", f32::log2, 1e-30, 1e30, 2.0),
    ("__nv_log1pf", f32::ln_1p, -0.9, 100.0, 3.0),
    ("__nv_tanhf", f32::tanh, -5.0, 5.0, 3.0),
    ("__nv_atanf", f32::atan, -10.0, 10.0, 3.0),
    ("__nv_asinf", f32::asin, -1.0, 1.0, 4.0),
    ("__nv_cbrtf", f32::cbrt, -1e6, 1e6, 2.0),
    ("__nv_rsqrtf", |v| 1.0 / v.sqrt(), 1e-30, 1e30, 2.5),
    ("__nv_sqrtf", f32::sqrt, 0.0, 1e30, 0.0),
    ("__nv_erff", |v| erff(v), -3.0, 3.0, 3.0),
    ("__nv_lgammaf", |v| lgammaf(v), 3.0, 50.0, 7.0),
    ("__nv_rintf", f32::round_ties_even, -1e3, 1e3, 0.0),
    ("__nv_truncf", f32::trunc, -1e9, 1e9, 0.0),
    ("__nv_roundf", f32::round, -1e3, 1e3, 0.0),
];

const DOUBLES: Doubles = &[
    ("__nv_sin", f64::sin, -100.0, 100.0, 3.0),
    ("__nv_exp", f64::exp, -700.0, 700.0, 2.0),
    ("__nv_log", f64::ln, 1e-300, 1e300, 2.0),
    ("__nv_tanh", f64::tanh, -5.0, 5.0, 3.0),
    ("__nv_erfc", |v| erfc(v), -3.0, 10.0, 7.0),
    ("__nv_tgamma", |v| tgamma(v), 0.5, 100.0, 15.0),
    ("__nv_lgamma", |v| lgamma(v), 3.0, 100.0, 8.0),
    ("__nv_sqrt", f64::sqrt, 0.0, 1e300, 0.0),
];

/// Names of the functions that are called.
fn names() -> Vec<&'static str> {
    let others = [
        "__nv_powf",
        "__nv_pow",
        "__nv_fast_fdividef",
        "__nv_fmodf",
        "__nv_j0",
        "__nv_y1",
        "__nv_normcdf",
        "__nv_erfcinv",
        "__nv_float2int_rn",
        "__nv_double2ll_rd",
        "__nv_ll2float_ru",
        "__nv_brev",
        "__nv_popcll",
        "__nv_clz",
        "__nv_umul64hi",
        "__nv_sad",
        "__nv_byte_perm",
        "__nv_fmaf_rz",
        "__nv_half2float",
        "__nv_float2half_rn",
    ];
    FLOATS.iter().map(|f| f.0).chain(DOUBLES.iter().map(|f| f.0)).chain(others).collect()
}

/// Removes what the functions do not need: some of the rest has inline PTX.
fn keep_only(module: &Module, names: &[&str]) {
    // SAFETY: the module is live and this test's alone.
    unsafe {
        for function in ir::definitions(module.module) {
            if !names.contains(&ir::name(function).as_str()) {
                LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            }
        }
        run_passes(module.module, "globaldce", std::ptr::null_mut()).unwrap();
    }
    let text = module.text();
    let assembly: Vec<_> = text.lines().filter(|l| l.contains(" asm ")).collect();
    assert!(assembly.is_empty(), "{assembly:?}");
    for name in names {
        assert!(text.contains(&format!("@{name}(")), "libdevice has no `{name}`");
    }
}

/// Values of a range, evenly spread.
fn spread(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..=400).map(move |i| low + (high - low) * f64::from(i) / 400.0)
}

fn floats_agree(code: &Code) {
    for &(name, host, low, high, bound) in FLOATS {
        // SAFETY: libdevice's type.
        let f: extern "C" fn(f32) -> f32 = unsafe { code.get(name) };
        for v in spread(low.into(), high.into()) {
            let (got, want) = (f(v as f32), host(v as f32));
            let error = ulps(got.into(), want.into(), f32::EPSILON.into(), 1e-45);
            assert!(error <= bound, "{name}({v:e}) = {got:e}, not {want:e} ({error} ulps)");
        }
    }
    // SAFETY: libdevice's types.
    unsafe {
        let pow: extern "C" fn(f32, f32) -> f32 = code.get("__nv_powf");
        let divide: extern "C" fn(f32, f32) -> f32 = code.get("__nv_fast_fdividef");
        let modulo: extern "C" fn(f32, f32) -> f32 = code.get("__nv_fmodf");
        for a in spread(0.01, 50.0) {
            for b in [-7.5f32, -1.0, 0.3, 2.0, 9.0] {
                let a = a as f32;
                assert!(
                    ulps(pow(a, b).into(), a.powf(b).into(), f32::EPSILON.into(), 1e-45) <= 6.0,
                    "{a}^{b}"
                );
                assert!(
                    ulps(divide(a, b).into(), (a / b).into(), f32::EPSILON.into(), 1e-45) <= 2.0,
                    "{a}/{b}"
                );
                assert_eq!(modulo(a, b), a % b, "{a} % {b}");
            }
        }
    }
}

fn doubles_agree(code: &Code) {
    for &(name, host, low, high, bound) in DOUBLES {
        // SAFETY: libdevice's type.
        let f: extern "C" fn(f64) -> f64 = unsafe { code.get(name) };
        for v in spread(low, high) {
            let (got, want) = (f(v), host(v));
            let error = ulps(got, want, f64::EPSILON, 5e-324);
            assert!(error <= bound, "{name}({v:e}) = {got:e}, not {want:e} ({error} ulps)");
        }
    }
    // SAFETY: libdevice's and libm's types.
    unsafe {
        let f = |name: &str| code.get::<extern "C" fn(f64) -> f64>(name);
        let pow: extern "C" fn(f64, f64) -> f64 = code.get("__nv_pow");
        for v in spread(0.1, 20.0) {
            // Near zeros of the Bessel functions errors are absolute.
            assert!((f("__nv_j0")(v) - j0(v)).abs() < 1e-13, "j0({v})");
            assert!((f("__nv_y1")(v) - y1(v)).abs() < 1e-12, "y1({v})");
            let normal = 0.5 * erfc(-v / std::f64::consts::SQRT_2);
            assert!((f("__nv_normcdf")(v) - normal).abs() < 1e-14, "normcdf({v})");
            let inverse = f("__nv_erfcinv")(v / 11.0);
            assert!((erfc(inverse) - v / 11.0).abs() < 1e-13, "erfcinv({v})");
            assert!(ulps(pow(v, 3.7), v.powf(3.7), f64::EPSILON, 5e-324) <= 3.0, "pow({v})");
        }
    }
}

fn integers_agree(code: &Code) {
    // SAFETY: libdevice's types.
    unsafe {
        let to_int: extern "C" fn(f32) -> i32 = code.get("__nv_float2int_rn");
        assert_eq!([2.5, 3.5, -2.5, 1e10, f32::NAN].map(|v| to_int(v)), [2, 4, -2, i32::MAX, 0]);
        let floor: extern "C" fn(f64) -> i64 = code.get("__nv_double2ll_rd");
        assert_eq!([-0.5, 1e300].map(|v| floor(v)), [-1, i64::MAX]);
        let up: extern "C" fn(i64) -> f32 = code.get("__nv_ll2float_ru");
        assert_eq!(up((1 << 40) + 1), 2f32.powi(40).next_up());
        let brev: extern "C" fn(u32) -> u32 = code.get("__nv_brev");
        let popc: extern "C" fn(u64) -> i32 = code.get("__nv_popcll");
        let clz: extern "C" fn(u32) -> i32 = code.get("__nv_clz");
        assert_eq!((brev(1), popc(u64::MAX), clz(0), clz(1)), (1 << 31, 64, 32, 31));
        let high: extern "C" fn(u64, u64) -> u64 = code.get("__nv_umul64hi");
        assert_eq!(high(u64::MAX, u64::MAX), u64::MAX - 1);
        let sad: extern "C" fn(i32, i32, u32) -> u32 = code.get("__nv_sad");
        assert_eq!(sad(-3, 4, 10), 17);
        let permute: extern "C" fn(u32, u32, u32) -> u32 = code.get("__nv_byte_perm");
        assert_eq!(permute(0x33221100, 0x77665544, 0x0246), 0x00224466);
        let fma: extern "C" fn(f32, f32, f32) -> f32 = code.get("__nv_fmaf_rz");
        assert_eq!(fma(1.0, 1.0, -1e-30), 1f32.next_down());
        let to_half: extern "C" fn(f32) -> u16 = code.get("__nv_float2half_rn");
        let from_half: extern "C" fn(u16) -> f32 = code.get("__nv_half2float");
        assert_eq!((to_half(1.5), from_half(0x3e00)), (0x3e00, 1.5));
    }
}
