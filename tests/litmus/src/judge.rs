//! The verdicts on a program.

use std::collections::BTreeSet;

use crate::candidates::allowed;
use crate::execution::Rules;
use crate::interleavings;
use crate::program::Program;
use crate::walk::Code;

/// Pairs of sites.
pub type Pairs = BTreeSet<(usize, usize)>;

/// What is known of a program: the pairs of its instructions that race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// By PTX, in some execution that PTX allows.
    pub ptx: Pairs,
    /// By gpurace's own rules, in some execution that PTX allows.
    pub weak: Pairs,
    /// By gpurace's own rules, in some execution in which one thread acts at a time.
    pub interleaved: Pairs,
    /// The same if observed writes precede nothing: gpurace does not know all of them.
    pub unobserved: Pairs,
}

/// Judges a program by `rules` and by PTX's. `None` if it has more than `limit` candidate executions.
pub fn judge(program: &Program, rules: Rules, limit: u64) -> Option<Verdicts> {
    let code = Code::new(program);
    let (mut interleaved, mut unobserved) = (Pairs::new(), Pairs::new());
    let all = interleavings::each(&code, limit as usize, &mut |execution| {
        for (rules, pairs) in
            [(rules, &mut interleaved), (Rules { observation: false, ..rules }, &mut unobserved)]
        {
            let orders = execution.orders(rules, &[]);
            pairs.extend(execution.races(&orders, rules).iter().map(|race| race.sites));
        }
        debug_assert!({
            let ptx = execution.orders(Rules::PTX, &in_order(&execution.full_fences()));
            execution.is_coherent(&ptx)
        });
    });
    if !all {
        return None;
    }
    let mut found = allowed(&code, &[Rules::PTX, rules], limit);
    if found.is_cut_short {
        return None;
    }
    let weak = found.races.pop()?;
    let ptx = found.races.pop()?;
    Some(Verdicts { ptx, weak, interleaved, unobserved })
}

/// Fence-SC order in an execution whose events are in the order in which they happened.
fn in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect()
}
