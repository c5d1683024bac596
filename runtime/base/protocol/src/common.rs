//! What launches of a kernel have in common.
//!
//! A program that launches a kernel in a loop changes few of its values: the step of an LU decomposition, the
//! diagonal of a wavefront. With the others as constants, one proof holds for all these launches. Products of
//! two arguments become multiples of one, which the solver decides.

use crate::constants::with_constants;
use crate::expr::Expr;
use crate::last;
use crate::launch::Launch;
use crate::protocol::{KnownShape, Protocol};

/// Values that launches have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    shape: KnownShape,
    /// The values of parameters that are no pointers. The place of memory is left open: conditions are about it.
    params: Vec<Option<u64>>,
}

impl Common {
    /// What two launches of the kernel with this protocol have in common.
    pub fn of(protocol: &Protocol, a: &Launch, b: &Launch) -> Self {
        let same = |x: u32, y: u32| (x == y).then_some(x);
        let dims = |x: [u32; 3], y: [u32; 3]| [0, 1, 2].map(|axis| same(x[axis], y[axis]));
        let shape = KnownShape {
            block: dims(a.shape.block, b.shape.block),
            grid: dims(a.shape.grid, b.shape.grid),
            dynamic_shared: same(a.shape.dynamic_shared, b.shape.dynamic_shared),
        };
        let values = a.params.iter().zip(&b.params).map(|(x, y)| (x == y).then_some(*x));
        let params = protocol.params.iter().zip(values);
        let params = params.map(|(param, value)| value.filter(|_| !param.pointer)).collect();
        Self { shape, params }
    }

    /// True if no value is known.
    pub fn is_empty(&self) -> bool {
        self.shape == KnownShape::default() && self.params.iter().all(Option::is_none)
    }

    /// True if a launch has all these values.
    pub fn holds(&self, launch: &Launch) -> bool {
        let is = |known: Option<u32>, value: u32| known.is_none_or(|known| known == value);
        let dims = |known: [Option<u32>; 3], dims: [u32; 3]| known.iter().zip(dims).all(|(k, v)| is(*k, v));
        dims(self.shape.block, launch.shape.block)
            && dims(self.shape.grid, launch.shape.grid)
            && is(self.shape.dynamic_shared, launch.shape.dynamic_shared)
            && self.params.len() == launch.params.len()
            && self.params.iter().zip(&launch.params).all(|(known, value)| known.is_none_or(|k| k == *value))
    }

    /// The protocol of the kernel for launches that have these values, and only for them. It has the same
    /// parameters and objects.
    pub fn protocol(&self, protocol: &Protocol) -> Protocol {
        let special = with_constants(protocol, |node| match node {
            Expr::Param { id, .. } => self.params.get(id.0 as usize).copied().flatten(),
            Expr::Ntid(axis) => self.shape.block[axis as usize].map(u64::from),
            Expr::Nctaid(axis) => self.shape.grid[axis as usize].map(u64::from),
            Expr::DynamicShared => self.shape.dynamic_shared.map(u64::from),
            _ => None,
        });
        let special = Protocol { shape: self.shape, ..special };
        last::settle(&special, None).unwrap_or(special)
    }
}
