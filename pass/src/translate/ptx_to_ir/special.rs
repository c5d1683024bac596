//! Reading special registers.

use gpurace_abi::context::offset;
use gpurace_abi::entry::Entry;

use crate::ir::entry_calls::CONTEXT_FUNCTION;
use crate::translate::ptx::op::Special;

use super::body::{Body, Translated};

/// Shared memory of the block that CUDA keeps for cooperative groups. It holds scratch memory, and the
/// barriers of tiles of more than one warp, which start as zeros.
pub(super) const RESERVED_SHARED: &str = "gpurace.reserved_shared";

/// The definition of [`RESERVED_SHARED`], for modules that use it. Cooperative groups uses at most 288
/// bytes of it.
pub(super) fn reserved_shared() -> String {
    let space = crate::ir::address_space::SHARED;
    format!("@{RESERVED_SHARED} = internal addrspace({space}) global [512 x i8] undef, align 128\n")
}

/// The NVVM intrinsic that reads a register, by its name without `llvm.nvvm.read.ptx.sreg.`.
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
        Special::B64("clock64") => (body.entry(Entry::Clock, &[]), 64),
        Special::B64("globaltimer") => (body.entry(Entry::Globaltimer, &[]), 64),
        Special::Pred(_) => (body.call("i1", "llvm.nvvm.is_explicit_cluster", &[]), 1),
        // Cooperative groups reads the grid's workspace as `envreg1:envreg2`.
        Special::Envreg(1) => (field(body, offset::GRID_WORKSPACE + 4, 32), 32),
        Special::Envreg(2) => (field(body, offset::GRID_WORKSPACE, 32), 32),
        Special::ReservedShared("reserved_smem_offset_1") => (body.reserved_shared(), 32),
        Special::B64(name) | Special::ReservedShared(name) => return Err(body.blame(format!("%{name}"))),
        Special::Envreg(n) => return Err(body.blame(format!("%envreg{n}"))),
    };
    Ok(body.resize(&value, from, bits, "zext"))
}

fn read_32(body: &mut Body, name: &str) -> Translated<String> {
    if let Some(intrinsic) = intrinsic(name) {
        return Ok(body.call("i32", &format!("llvm.nvvm.read.ptx.sreg.{intrinsic}"), &[]));
    }
    let (clock, high) = match name {
        "clock" => (Entry::Clock, false),
        "clock_hi" => (Entry::Clock, true),
        "globaltimer_lo" => (Entry::Globaltimer, false),
        "globaltimer_hi" => (Entry::Globaltimer, true),
        "dynamic_smem_size" => return Ok(field(body, offset::DYNAMIC_SHARED_BYTES, 32)),
        // The bytes of static shared memory, and the counters of a profiler.
        _ => return Err(body.blame(format!("%{name}"))),
    };
    let mut value = body.entry(clock, &[]);
    if high {
        value = body.value(format_args!("lshr i64 {value}, 32"));
    }
    Ok(body.resize(&value, 64, 32, "zext"))
}

/// A field of the thread context. `!nosanitize` says that the load is no access of the program.
fn field(body: &mut Body, offset: usize, bits: u16) -> String {
    let context = body.call("ptr", CONTEXT_FUNCTION, &[]);
    let at = body.value(format_args!("getelementptr i8, ptr {context}, i64 {offset}"));
    body.value(format_args!("load i{bits}, ptr {at}, align {}, !nosanitize !{{}}", bits / 8))
}
