//! What the prover says of each kernel of a module: protocols are read from the
//! IR ([`crate::protocol`]) and given to the solver, a library of its own that is
//! opened on demand. Without it, or where it fails, every access stays checked.

use std::collections::BTreeMap;
use std::time::Duration;

use gpurace_abi::meta::{KernelMeta, Verdict};
use gpurace_abi::plugin::{PassConfig, Prune};
use gpurace_protocol::client::Solver;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::show;
use gpurace_protocol::verdict::{self, SiteVerdict, Verdicts, Witness};
use gpurace_protocol::wire::{KernelProofs, ModuleProofs, Request, to_bytes};
use llvm_sys::prelude::*;

use crate::checks::annotations;
use crate::checks::sites::AccessSite;
use crate::codegen::open::ProvedSites;
use crate::ir::structs::Structs;
use crate::{ir, protocol};

/// Most time for one kernel while compiling. Launches are solved again with
/// their own values, so that giving up here costs little.
const KERNEL_BUDGET: Duration = Duration::from_millis(1000);
/// Most time for all kernels of a module.
const MODULE_BUDGET: Duration = Duration::from_secs(8);

/// What was found of a module.
#[derive(Debug, Default)]
pub struct Proofs {
    /// By kernel, in the order of the module's kernels.
    pub kernels: Vec<KernelFacts>,
    /// What travels in the program.
    pub section: ModuleProofs,
}

impl Proofs {
    /// The sites that are proved, perhaps under conditions, of each kernel.
    pub fn proved_sites(&self) -> ProvedSites {
        let proved = |of: &KernelFacts| {
            let sites = of.sites.iter().filter(|(_, facts)| facts.verdict.is_proof());
            sites.map(|(&site, _)| site).collect()
        };
        self.kernels.iter().map(|of| (of.name.clone(), proved(of))).collect()
    }
}

/// What was found of a kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelFacts {
    /// Mangled name.
    pub name: String,
    /// By site; what is not here was not asked about.
    pub sites: BTreeMap<u32, SiteFacts>,
    /// Why nothing is known, where that has one reason for the whole kernel.
    pub failed: Option<String>,
}

/// What was found of a site in one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteFacts {
    /// The verdict.
    pub verdict: Verdict,
    /// How it was proved, or why not.
    pub why: String,
    /// The other site that `why` is about.
    pub with: Option<u32>,
    /// What a launch must fulfil for the proof.
    pub requires: Vec<String>,
    /// A race, where one was found.
    pub witness: Option<WitnessFacts>,
}

/// A race that two threads run into.
#[derive(Clone, Debug, PartialEq)]
pub struct WitnessFacts {
    /// `gridDim`.
    pub grid: [u32; 3],
    /// `blockDim`.
    pub block: [u32; 3],
    /// The scalar parameters, by name.
    pub params: Vec<(String, i64)>,
    /// What both touch.
    pub object: String,
    /// The two sides, the site's own first.
    pub sides: [WitnessSide; 2],
}

/// One side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessSide {
    /// Which site.
    pub site: u32,
    /// `blockIdx`.
    pub block: [u32; 3],
    /// `threadIdx`.
    pub thread: [u32; 3],
    /// First byte, from the object's base.
    pub offset: i64,
    /// Bytes.
    pub size: u64,
}

/// Asks the solver about the kernels of a module.
///
/// # Safety
/// `module` is live, normalised and without checks; `accesses` and `structs` are its.
pub unsafe fn prove(
    module: LLVMModuleRef,
    accesses: &[AccessSite],
    structs: &Structs,
    config: &PassConfig,
) -> Proofs {
    // SAFETY: by contract.
    let protocols = unsafe {
        let kernels: Vec<_> = ir::kernels(module).into_iter().map(|(kernel, _)| kernel).collect();
        protocol::extract(module, &kernels, accesses, structs)
    };
    let solver = match &config.solver {
        Some(path) => Solver::open(path).map_err(|error| error.to_string()),
        None => Err("no solver was named".to_owned()),
    };
    let mut spent = Duration::ZERO;
    // SAFETY: by contract.
    let annotated = unsafe { annotations::has_calls(module) };
    let mut proofs = Proofs::default();
    for protocol in protocols {
        let answer = match &solver {
            Ok(solver) => ask(solver, &protocol, &mut spent),
            Err(why) => Err(why.clone()),
        };
        let (verdicts, failed) = match answer {
            Ok(verdicts) => (verdicts, None),
            Err(why) => (Verdicts::default(), Some(why)),
        };
        let sites =
            verdicts.sites.iter().map(|site| (site.site.0, facts(&protocol, &verdicts, site, annotated)));
        let name = protocol.kernel.clone();
        proofs.kernels.push(KernelFacts { name: name.clone(), sites: sites.collect(), failed });
        let bytes = to_bytes(&KernelProofs { protocol, verdicts });
        proofs.section.kernels.push((name, bytes));
    }
    proofs.section.at_launch = config.prune == Prune::Launch;
    proofs
}

/// Takes back races found in kernels that order accesses by what no protocol
/// says: a protocol without that order is enough for proofs, but not for a race.
pub fn withdraw_doubtful_races(kernels: &[KernelMeta], known: &mut [KernelFacts]) {
    for facts in known {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.name == facts.name) else { continue };
        let what = if kernel.sync.fences {
            "fences or ordered atomics"
        } else if kernel.sync.partial_masks {
            "warp syncs of some lanes"
        } else if kernel.sync.named_barriers {
            "named barriers"
        } else {
            continue;
        };
        for site in facts.sites.values_mut().filter(|site| site.verdict == Verdict::Racy) {
            site.verdict = Verdict::Checked;
            site.witness = None;
            site.why = format!("may race, unless {what} order it");
        }
    }
}

/// `spent` is counted as the solver counts, so that verdicts do not depend on how
/// busy the machine is.
fn ask(solver: &Solver, protocol: &Protocol, spent: &mut Duration) -> Result<Verdicts, String> {
    let left = MODULE_BUDGET.saturating_sub(*spent).min(KERNEL_BUDGET);
    if left.is_zero() {
        return Err("the time for proofs while compiling was spent on other kernels".to_owned());
    }
    let request =
        Request { protocol: protocol.clone(), launch: None, budget_ms: left.as_millis() as u64, dump: None };
    let answer = solver.ask(&request).map_err(|error| error.to_string())?;
    *spent += Duration::from_millis(answer.cost_ms);
    Ok(answer.verdicts)
}

/// The facts of a site for its verdict. Races that only some launches have stay checked.
fn facts(protocol: &Protocol, verdicts: &Verdicts, site: &SiteVerdict, annotated: bool) -> SiteFacts {
    let mut facts =
        SiteFacts { why: site.why.clone(), with: site.with.map(|site| site.0), ..SiteFacts::default() };
    facts.verdict = match &site.verdict {
        verdict::Verdict::Proved => Verdict::Proved,
        verdict::Verdict::ProvedIf(conditions) => {
            facts.requires = conditions
                .iter()
                .map(|condition| show::condition(protocol, &verdicts.exprs, condition))
                .collect();
            facts.requires.sort();
            facts.requires.dedup();
            Verdict::ProvedIf
        }
        // The race may be meant, which is found out as the program runs.
        verdict::Verdict::Racy(_) if annotated => Verdict::Checked,
        // Many kernels are for one block, or have their blocks wait for each other
        // in ways that no protocol says: a race of two blocks is for the run to find.
        verdict::Verdict::Racy(witness) if witness.accesses[0].ctaid != witness.accesses[1].ctaid => {
            "may race with another block, in a launch of several".clone_into(&mut facts.why);
            Verdict::Checked
        }
        // Which extents of a block a kernel is for is not always inferred.
        verdict::Verdict::Racy(witness) if witness.launch.shape.block[1..] != [1, 1] => {
            "may race in a block of several dimensions".clone_into(&mut facts.why);
            Verdict::Checked
        }
        verdict::Verdict::Racy(witness) => {
            facts.witness = Some(witness_facts(protocol, witness));
            Verdict::Racy
        }
        verdict::Verdict::Unknown(_) => Verdict::Checked,
    };
    facts
}

/// A witness with the names of the protocol.
fn witness_facts(protocol: &Protocol, witness: &Witness) -> WitnessFacts {
    let params = protocol.params.iter().zip(&witness.launch.params);
    let side = |i: usize| {
        let access = &witness.accesses[i];
        WitnessSide {
            site: access.site.0,
            block: access.ctaid,
            thread: access.tid,
            offset: access.offset,
            size: access.size,
        }
    };
    WitnessFacts {
        grid: witness.launch.shape.grid,
        block: witness.launch.shape.block,
        params: params
            .filter(|(param, _)| !param.pointer)
            .map(|(param, value)| (param.name.clone(), param.width.signed(*value)))
            .collect(),
        object: witness.object.clone(),
        sides: [side(0), side(1)],
    }
}
