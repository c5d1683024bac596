//! For each proof technique, a kernel that is proved, beside a neighbour in which the same access must
//! not be. If a launch is given, the same holds there, and the oracle agrees.

#[path = "../common/mod.rs"]
mod common;

/// An enumeration of one right way and the ways to go wrong, which it lists.
macro_rules! ways {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $way:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum $name {
            Right,
            $($(#[$what])* $way,)*
        }

        impl $name {
            const WRONG: &[Self] = &[$(Self::$way),*];
        }
    };
}

mod barriers;
mod bounds;
mod copies;
mod flat;
mod named;
mod objects;
mod once;
mod phases;
mod ring;
mod rounds;
mod threads;
mod tiles;
mod triangles;
mod warnings;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

#[test]
fn assumptions_that_leave_no_execution_prove_nothing() {
    // `x` is not used, so the proof would ask for `blockDim.x == 1`. Then nothing is reached under
    // `blockDim.x > 1`, and that is no proof.
    let mut k = Kernel::new("vacuous");
    let s = k.shared("s", 4);
    let size = k.bdim();
    let one = k.c(1);
    let many = k.ult(one, size);
    let zero = k.c(0);
    let site = k.when(many, |k| k.write(s, zero));
    not_proved(k, &[site]);
}
