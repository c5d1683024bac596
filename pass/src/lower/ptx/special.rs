//! Reading special registers.

use gpurace_abi::context::offset;

use crate::lower::CONTEXT_FUNCTION;
use crate::ptx::op::Special;

use super::body::{Body, Refused, Translated};

/// The name of an NVVM intrinsic for a register, after `llvm.nvvm.read.ptx.sreg.`.
fn intrinsic(register: &str) -> Option<String> {
    let known = ["tid.", "ntid.", "ctaid.", "nctaid.", "clusterid.", "nclusterid."];
    if known.iter().any(|prefix| register.starts_with(prefix)) {
        return Some(register.to_owned());
    }
    match register {
        "laneid" | "warpid" | "nwarpid" | "smid" | "nsmid" => Some(register.to_owned()),
        _ => match register.split_once('_')? {
            ("lanemask", which) => Some(format!("lanemask.{which}")),
            ("cluster", which) => Some(format!("cluster.{which}")),
            _ => None,
        },
    }
}

/// The bits of a special register, as wide as an instruction reads it.
pub(super) fn read(body: &mut Body, register: &Special, bits: u16) -> Translated<String> {
    let (value, from) = match register {
        Special::B32(name) => (read_32(body, name)?, 32),
        Special::B64("gridid") => {
            let value = field(body, offset::LAUNCH_ID, 64);
            (value, 64)
        }
        Special::B64("clock64") => (body.call("i64", "__gpurace_clock", &[]), 64),
        Special::B64("globaltimer") => (body.call("i64", "__gpurace_globaltimer", &[]), 64),
        Special::Pred(_) => ("false".to_owned(), 1),
        // Cooperative groups reads the grid's workspace as `envreg1:envreg2`.
        Special::Envreg(1) => (field(body, offset::GRID_WORKSPACE + 4, 32), 32),
        Special::Envreg(2) => (field(body, offset::GRID_WORKSPACE, 32), 32),
        Special::B64(_) | Special::Envreg(_) | Special::ReservedShared(_) => return Err(Refused),
    };
    Ok(body.resize(&value, from, bits, "zext"))
}

fn read_32(body: &mut Body, name: &str) -> Translated<String> {
    if let Some(intrinsic) = intrinsic(name) {
        return Ok(body.call("i32", &format!("llvm.nvvm.read.ptx.sreg.{intrinsic}"), &[]));
    }
    let (clock, high) = match name {
        "clock" => ("__gpurace_clock", false),
        "clock_hi" => ("__gpurace_clock", true),
        "globaltimer_lo" => ("__gpurace_globaltimer", false),
        "globaltimer_hi" => ("__gpurace_globaltimer", true),
        "dynamic_smem_size" => return Ok(field(body, offset::DYNAMIC_SHARED_BYTES, 32)),
        // How much static shared memory a kernel has, and what a profiler counts.
        _ => return Err(Refused),
    };
    let mut value = body.call("i64", clock, &[]);
    if high {
        value = body.value(format_args!("lshr i64 {value}, 32"));
    }
    Ok(body.resize(&value, 64, 32, "zext"))
}

/// A field of the thread context. `!nosanitize`: no access of the program.
fn field(body: &mut Body, offset: usize, bits: u16) -> String {
    let context = body.call("ptr", CONTEXT_FUNCTION, &[]);
    let at = body.value(format_args!("getelementptr i8, ptr {context}, i64 {offset}"));
    body.value(format_args!("load i{bits}, ptr {at}, align {}, !nosanitize !{{}}", bits / 8))
}
