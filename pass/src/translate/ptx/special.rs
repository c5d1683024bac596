//! Special registers (PTX ISA, "Special Registers").

use super::op::Special;

/// 32-bit registers.
const B32: &str = "
    tid.x tid.y tid.z ntid.x ntid.y ntid.z ctaid.x ctaid.y ctaid.z nctaid.x nctaid.y nctaid.z
    laneid warpid nwarpid smid nsmid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt
    clock clock_hi globaltimer_lo globaltimer_hi dynamic_smem_size total_smem_size aggr_smem_size
    clusterid.x clusterid.y clusterid.z nclusterid.x nclusterid.y nclusterid.z
    cluster_ctaid.x cluster_ctaid.y cluster_ctaid.z cluster_nctaid.x cluster_nctaid.y cluster_nctaid.z
    cluster_ctarank cluster_nctarank pm0 pm1 pm2 pm3 pm4 pm5 pm6 pm7";

/// 64-bit registers. `%gridid` has 64 bits since PTX ISA 3.0.
const B64: &str = "
    gridid clock64 globaltimer current_graph_exec
    pm0_64 pm1_64 pm2_64 pm3_64 pm4_64 pm5_64 pm6_64 pm7_64";

const RESERVED: &str = "
    reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap
    reserved_smem_offset_0 reserved_smem_offset_1";

/// The special register of this name, given without `%`.
pub(super) fn find(name: &str) -> Option<Special> {
    // A vector register without a lane means its first lane.
    let scalar = match name {
        "tid" => "tid.x",
        "ntid" => "ntid.x",
        "ctaid" => "ctaid.x",
        "nctaid" => "nctaid.x",
        other => other,
    };
    let special = |list: &'static str, make: fn(&'static str) -> Special| {
        list.split_whitespace().find(|register| *register == scalar).map(make)
    };
    let found = special(B32, Special::B32)
        .or_else(|| special(B64, Special::B64))
        .or_else(|| special(RESERVED, Special::ReservedShared))
        .or_else(|| special("is_explicit_cluster", Special::Pred));
    if found.is_some() {
        return found;
    }
    let n: u8 = name.strip_prefix("envreg")?.parse().ok()?;
    (n < 32).then_some(Special::Envreg(n))
}

/// Names of all special registers without `%`; `envreg` stands for `envreg0` to `envreg31`.
pub fn names() -> impl Iterator<Item = &'static str> {
    [B32, B64, RESERVED, "is_explicit_cluster envreg"].into_iter().flat_map(str::split_whitespace)
}
