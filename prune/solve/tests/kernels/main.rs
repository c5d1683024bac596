//! One kernel for each proof technique, proved, beside its neighbour in which
//! the same access must not be. Where a launch is given, the same holds there,
//! and the oracle agrees.

#[path = "../common/mod.rs"]
mod common;

mod barriers;
mod objects;
mod threads;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

#[test]
fn assumptions_that_leave_no_execution_prove_nothing() {
    // With `blockDim.x == 1` asked for by an unused x, `blockDim.x > 1` is
    // never reached: that is no proof.
    let mut k = Kernel::new("vacuous");
    let s = k.shared("s", 4);
    let size = k.bdim();
    let one = k.c(1);
    let many = k.ult(one, size);
    let zero = k.c(0);
    let mut site = SiteId(0);
    k.when(many, |k| site = k.write(s, zero));
    not_proved(k, &[site]);
}
