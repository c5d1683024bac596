//! The operations that records can hold, as numbers.

use gpurace_abi::scope::Scope;

use crate::model::access::{FULL, Op, Touch};
use crate::model::relation::Relation;
use crate::model::step;

/// Codes of operations.
pub(crate) const OPS: u64 = 54;
/// Values of the bits that hold a code.
pub(crate) const VALUES: usize = 64;

/// The operation of each code, and of each other value that the bits of a state can have.
const TOUCHES: [Touch; VALUES] = {
    let mut touches = [OpCode::READ.decode(); VALUES];
    let mut code = 0;
    while code < touches.len() {
        touches[code] = OpCode(code as u64).decode();
        code += 1;
    }
    touches
};
/// By code: accesses of this kind by different blocks of a launch do not race.
const ATOMIC_IN_GRID: u64 = atomic_for(Relation::Grid);
/// By code: accesses of this kind by different threads of a block do not race.
const ATOMIC_IN_BLOCK: u64 = atomic_for(Relation::Block);

/// By code: accesses of this kind by threads in this relation do not race.
const fn atomic_for(relation: Relation) -> u64 {
    let (mut codes, mut code) = (0, 0);
    while code < TOUCHES.len() {
        codes |= (!step::conflict(TOUCHES[code], TOUCHES[code], relation) as u64) << code;
        code += 1;
    }
    codes
}

/// The number of an operation that records can hold: atomic accesses of whole words, and plain accesses
/// of any bytes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpCode(pub u64);

impl OpCode {
    /// A plain read of all bytes.
    pub const READ: Self = Self(0);
    /// A plain write of all bytes.
    pub const WRITE: Self = Self(1);
    const FIRST_ATOMIC: u64 = 2;
    /// The plain reads and then the plain writes of some bytes: by mask, from 1 on.
    const FIRST_OF_BYTES: u64 = 26;
    const MASKS: u64 = FULL as u64 - 1;
    /// The row of volatile accesses among those of the scopes. Atomics of cluster scope are rare, and
    /// have no row.
    const VOLATILE: u64 = Scope::Cluster as u64;

    /// The code of an operation; `None` if it has none.
    #[inline(always)]
    pub const fn of(touch: Touch) -> Option<Self> {
        match touch.op {
            Op::Read => Some(Self::plain(false, touch.mask)),
            Op::Write => Some(Self::plain(true, touch.mask)),
            Op::Atomic { .. } if touch.mask != FULL => None,
            Op::Atomic { modifies, volatile, scope, start, size } => {
                let row = match (volatile, scope) {
                    (true, _) => Self::VOLATILE,
                    (false, Scope::Cluster) => return None,
                    (false, Scope::Block | Scope::Device | Scope::System) => scope as u64,
                };
                let extent = match (start, size) {
                    (0, 4) => 0,
                    (0, 8) => 1,
                    (-4, 8) => 2,
                    _ => return None,
                };
                Some(Self(Self::FIRST_ATOMIC + (modifies as u64 * 4 + row) * 3 + extent))
            }
        }
    }

    /// The code of a plain access to some bytes of a word.
    #[inline(always)]
    pub const fn plain(writes: bool, mask: u8) -> Self {
        debug_assert!(mask != 0 && mask <= FULL);
        if mask == FULL {
            return if writes { Self::WRITE } else { Self::READ };
        }
        Self(Self::FIRST_OF_BYTES + writes as u64 * Self::MASKS + mask as u64 - 1)
    }

    /// True for a plain access.
    #[inline(always)]
    pub(crate) const fn is_plain(self) -> bool {
        self.0 < Self::FIRST_ATOMIC || self.0 >= Self::FIRST_OF_BYTES
    }

    /// True for a plain write.
    #[inline(always)]
    pub(crate) const fn writes(self) -> bool {
        matches!(self.touch().op, Op::Write)
    }

    /// The code with this number, if there is one.
    pub const fn numbered(code: u32) -> Option<Self> {
        if (code as u64) < OPS { Some(Self(code as u64)) } else { None }
    }

    /// What it does.
    #[inline(always)]
    pub const fn touch(self) -> Touch {
        TOUCHES[self.0 as usize % TOUCHES.len()]
    }

    /// The operation with this code; some operation for a value that is no code.
    const fn decode(self) -> Touch {
        let op = match self {
            Self(0) => Op::Read,
            Self(1) => Op::Write,
            Self(code) if code >= Self::FIRST_OF_BYTES => {
                let n = (code - Self::FIRST_OF_BYTES) % (2 * Self::MASKS);
                let op = if n < Self::MASKS { Op::Read } else { Op::Write };
                return Touch { op, mask: (n % Self::MASKS) as u8 + 1 };
            }
            Self(code) => {
                let n = code - Self::FIRST_ATOMIC;
                let (start, size) = match n % 3 {
                    0 => (0, 4),
                    1 => (0, 8),
                    _ => (-4, 8),
                };
                let row = n / 3 % 4;
                let scope = match row {
                    0 => Scope::Block,
                    2 => Scope::Device,
                    _ => Scope::System,
                };
                Op::Atomic { modifies: n / 12 == 1, volatile: row == Self::VOLATILE, scope, start, size }
            }
        };
        Touch { op, mask: FULL }
    }

    /// True if such accesses by different blocks of a launch do not race.
    #[inline]
    pub(crate) const fn is_atomic_in_grid(self) -> bool {
        ATOMIC_IN_GRID >> self.0 & 1 != 0
    }

    /// True if such accesses by different threads of a block do not race.
    #[inline(always)]
    pub(crate) const fn is_atomic_in_block(self) -> bool {
        ATOMIC_IN_BLOCK >> self.0 & 1 != 0
    }
}
