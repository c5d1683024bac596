//! Modules lowered from NVVM intrinsics, and numbers to run them with.

use crate::translate::nvvm::{lower_nvvm, make_division_total};

pub use crate::ir::jit::{Code, Module};
pub use gpurace_random::Random;

impl Module {
    /// Lowers the module, checks that it is valid and gives back what was refused.
    pub fn lower(&self) -> Vec<String> {
        // SAFETY: the module is live and this test's alone.
        unsafe {
            let refused = lower_nvvm(self.module);
            make_division_total(self.module);
            self.verify();
            refused.into_iter().map(|u| u.what).collect()
        }
    }
}

impl Code {
    /// Lowers and compiles IR text in which everything must be supported.
    pub fn of(text: &str) -> Self {
        let module = Module::parse(text);
        let refused = module.lower();
        assert!(refused.is_empty(), "refused: {refused:?}");
        module.jit(&[])
    }

    /// Lowers and compiles functions that call one intrinsic each: pairs of the
    /// intrinsic's name and its type as `result(parameters)`. Each function has
    /// the intrinsic's name without `llvm.nvvm.`.
    pub fn of_intrinsics(list: &[(String, &str)]) -> Self {
        let mut text = String::new();
        for (name, ty) in list {
            let (result, params) = ty.trim_end_matches(')').split_once('(').unwrap();
            let params: Vec<_> = params.split(", ").filter(|p| !p.is_empty()).collect();
            let arguments: Vec<_> = params.iter().enumerate().map(|(i, p)| format!("{p} %{i}")).collect();
            let arguments = arguments.join(", ");
            text += &format!("declare {result} @llvm.nvvm.{name}({})\n", params.join(", "));
            text += &format!(
                "define {result} @{name}({arguments}) {{\nentry:\n  %r = call {result} @llvm.nvvm.{name}({arguments})\n  ret {result} %r\n}}\n"
            );
        }
        Self::of(&text)
    }
}

/// Floats at every edge: zeros, subnormals, ties, ends of integer ranges, NaN.
pub fn floats() -> Vec<f32> {
    let mut values = vec![
        0.0,
        1.0,
        1.5,
        2.5,
        0.5,
        0.49999997,
        3.0,
        1e-3,
        1e10,
        1e30,
        1e-30,
        1e-38,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x7fffff),
        f32::MAX,
        f32::INFINITY,
        2147483648.0,
        2147483520.0,
        4294967296.0,
        4294967040.0,
        9.223372e18,
        1.8446744e19,
        1.0 + f32::EPSILON,
        1.0 - f32::EPSILON / 2.0,
        8388608.5,
        16777216.0,
    ];
    values.extend(values.clone().into_iter().map(|v: f32| -v));
    values.push(f32::NAN);
    values
}

/// The same for doubles.
pub fn doubles() -> Vec<f64> {
    let mut values: Vec<f64> = floats().into_iter().map(f64::from).collect();
    for v in [
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from_bits(0xfffffffffffff),
        f64::MAX,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        1e-320,
        1e300,
        2147483647.5,
        4294967295.5,
        9007199254740993.0,
        3.4028235677973366e38,
        3.4028235e38,
        1e-46,
        7e-46,
        1.0000000596046448,
    ] {
        values.extend([v, -v]);
    }
    values
}

/// Whether two results are the same value: the same bits, or both NaN.
pub fn same32(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Whether two results are the same value: the same bits, or both NaN.
pub fn same64(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
