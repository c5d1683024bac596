//! Expressions over machine integers, shared in an arena.
//!
//! A value is a bit pattern of 1, 8, 16, 32 or 64 bits, as in LLVM. The operator is signed or
//! unsigned, the value is not. Arithmetic wraps. If a proof needs that a value does not wrap, that
//! becomes a condition of the proof.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::protocol::Uniform;

/// An expression of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExprId(pub u32);

/// A kernel parameter: index into [`Protocol::params`](crate::protocol::Protocol::params).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ParamId(pub u32);

/// A loop variable, unique in its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VarId(pub u32);

/// A loop, unique in its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoopId(pub u32);

/// An opaque value: index into [`Protocol::opaques`](crate::protocol::Protocol::opaques).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpaqueId(pub u32);

/// The width of a value in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Width {
    /// A truth value.
    W1,
    /// 8 bits.
    W8,
    /// 16 bits.
    W16,
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

impl Width {
    /// Returns the number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::W1 => 1,
            Self::W8 => 8,
            Self::W16 => 16,
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }

    /// The width with this number of bits; `None` if there is none.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            1 => Some(Self::W1),
            8 => Some(Self::W8),
            16 => Some(Self::W16),
            32 => Some(Self::W32),
            64 => Some(Self::W64),
            _ => None,
        }
    }

    /// All bits of a value of this width.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The low bits that fit the width.
    pub const fn truncate(self, bits: u64) -> u64 {
        bits & self.mask()
    }

    /// The low bits that fit the width, as a signed number.
    pub const fn signed(self, bits: u64) -> i64 {
        let unused = 64 - self.bits();
        ((bits << unused) as i64) >> unused
    }
}

/// One of the three dimensions of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Axis {
    /// `.x`
    X,
    /// `.y`
    Y,
    /// `.z`
    Z,
}

impl Axis {
    /// All three, in order.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];
}

/// An operator. Its two operands and its result have one width. It means what LLVM's means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BinOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient. A division by zero gives any value, the same one for equal dividends.
    UDiv,
    /// Signed quotient, rounded towards zero. By zero as [`Self::UDiv`].
    SDiv,
    /// Unsigned remainder. By zero as [`Self::UDiv`].
    URem,
    /// Signed remainder, with the dividend's sign. By zero as [`Self::UDiv`].
    SRem,
    /// Shift left. A shift by the width or more gives zero, as in PTX.
    Shl,
    /// Logical shift right. A shift by the width or more gives zero, as in PTX.
    LShr,
    /// Arithmetic shift right. A shift by the width or more gives the sign in all bits, as in PTX.
    AShr,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Unsigned minimum.
    UMin,
    /// Unsigned maximum.
    UMax,
    /// Signed minimum.
    SMin,
    /// Signed maximum.
    SMax,
}

impl BinOp {
    /// True if the operands may change places.
    pub const fn commutes(self) -> bool {
        use BinOp::{Add, And, Mul, Or, SMax, SMin, UMax, UMin, Xor};
        matches!(self, Add | Mul | And | Or | Xor | UMin | UMax | SMin | SMax)
    }
}

/// A comparison. Its operands have one width; its result has 1 bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CmpOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less than.
    Ult,
    /// Unsigned less or equal.
    Ule,
    /// Signed less than.
    Slt,
    /// Signed less or equal.
    Sle,
}

/// A change of width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cast {
    /// Zero extension.
    Zext,
    /// Sign extension.
    Sext,
    /// The low bits.
    Trunc,
}

/// One node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// A constant.
    Const {
        /// Its width.
        width: Width,
        /// Its value, zero-extended.
        bits: u64,
    },
    /// `threadIdx`, 32 bits.
    Tid(Axis),
    /// `blockIdx`, 32 bits.
    Ctaid(Axis),
    /// `blockDim`, 32 bits.
    Ntid(Axis),
    /// `gridDim`, 32 bits.
    Nctaid(Axis),
    /// The bytes of dynamic shared memory of a block, 32 bits.
    DynamicShared,
    /// Linear thread index in the block modulo 32 (`%laneid`), 32 bits.
    Lane,
    /// A scalar kernel parameter, or a scalar part of one.
    Param {
        /// The parameter.
        id: ParamId,
        /// Its width.
        width: Width,
    },
    /// A loop variable's value in the current iteration of its loop.
    Var {
        /// The variable.
        id: VarId,
        /// Its width.
        width: Width,
    },
    /// The number of iterations of the loop before the current one, 64 bits.
    Iteration(LoopId),
    /// The number of iterations of the loop that the thread has begun before the current one: in this round of the
    /// loops around it and in all earlier ones, 64 bits.
    Total {
        /// The loop.
        of: LoopId,
        /// The group whose threads all have the same number in the same iterations of the loop and of those around it.
        uniform: Uniform,
    },
    /// A value that the protocol does not describe: a load or a call gave it.
    Opaque {
        /// The value.
        id: OpaqueId,
        /// Its width.
        width: Width,
    },
    /// An operator with its operands.
    Bin(BinOp, ExprId, ExprId),
    /// A comparison.
    Cmp(CmpOp, ExprId, ExprId),
    /// The second operand if the first one is 1, else the third. The first one has 1 bit.
    Select(ExprId, ExprId, ExprId),
    /// A change of width.
    Cast(Cast, Width, ExprId),
}

impl Expr {
    /// The operands of the node.
    pub fn operands(self) -> impl Iterator<Item = ExprId> {
        let all = match self {
            Self::Bin(_, a, b) | Self::Cmp(_, a, b) => [Some(a), Some(b), None],
            Self::Select(c, a, b) => [Some(c), Some(a), Some(b)],
            Self::Cast(_, _, a) => [Some(a), None, None],
            _ => [None; 3],
        };
        all.into_iter().flatten()
    }

    /// True if the node may have another value whenever its thread asks.
    pub fn may_change(self) -> bool {
        matches!(self, Self::Var { .. } | Self::Iteration(_) | Self::Total { .. } | Self::Opaque { .. })
    }

    /// The same node with other operands.
    #[must_use]
    pub fn with_operands(self, mut of: impl FnMut(ExprId) -> ExprId) -> Self {
        match self {
            Self::Bin(op, a, b) => Self::Bin(op, of(a), of(b)),
            Self::Cmp(op, a, b) => Self::Cmp(op, of(a), of(b)),
            Self::Select(c, a, b) => Self::Select(of(c), of(a), of(b)),
            Self::Cast(cast, width, a) => Self::Cast(cast, width, of(a)),
            leaf => leaf,
        }
    }
}

/// The arena. Equal nodes have one id. So in one thread and iteration, expressions with equal ids have
/// equal values. The id of an operand is lower than that of its user.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Exprs {
    nodes: Vec<Expr>,
    #[serde(skip)]
    known: HashMap<Expr, ExprId>,
}

impl PartialEq for Exprs {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

impl Exprs {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns all nodes with their ids, operands first.
    pub fn iter(&self) -> impl Iterator<Item = (ExprId, Expr)> + '_ {
        self.nodes.iter().enumerate().map(|(i, e)| (ExprId(i as u32), *e))
    }

    /// Returns a node.
    ///
    /// # Panics
    /// If `id` belongs to another arena and is beyond the end of this one.
    pub fn get(&self, id: ExprId) -> Expr {
        self.nodes[id.0 as usize]
    }

    /// Returns the width of a node.
    pub fn width(&self, id: ExprId) -> Width {
        match self.get(id) {
            Expr::Const { width, .. }
            | Expr::Param { width, .. }
            | Expr::Var { width, .. }
            | Expr::Opaque { width, .. }
            | Expr::Cast(_, width, _) => width,
            Expr::Tid(_) | Expr::Ctaid(_) | Expr::Ntid(_) | Expr::Nctaid(_) => Width::W32,
            Expr::DynamicShared | Expr::Lane => Width::W32,
            Expr::Iteration(_) | Expr::Total { .. } => Width::W64,
            Expr::Cmp(..) => Width::W1,
            Expr::Bin(_, a, _) => self.width(a),
            Expr::Select(_, a, _) => self.width(a),
        }
    }

    /// The bits of a constant; `None` for any other node.
    pub fn as_const(&self, id: ExprId) -> Option<u64> {
        match self.get(id) {
            Expr::Const { bits, .. } => Some(bits),
            _ => None,
        }
    }

    /// The id of this node, if the arena has it.
    pub fn find(&self, node: Expr) -> Option<ExprId> {
        self.iter().find(|(_, e)| *e == node).map(|(id, _)| id)
    }

    /// True if `found` is true for the node, or for a node that it uses.
    pub fn mentions(&self, id: ExprId, found: impl Fn(Expr) -> bool) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.get(id);
            if found(node) {
                return true;
            }
            todo.extend(node.operands());
        }
        false
    }

    /// The id of this node. Adds the node if it is new. Folds constants, drops neutral elements, and puts constants on
    /// the right of operators that commute.
    ///
    /// # Panics
    /// If operands differ in width or are beyond the arena's end. That is a mistake of the caller,
    /// never of its input.
    pub fn add(&mut self, node: Expr) -> ExprId {
        match node {
            Expr::Bin(_, a, b) | Expr::Cmp(_, a, b) => {
                assert_eq!(self.width(a), self.width(b), "operands of {node:?} differ in width");
            }
            Expr::Select(c, a, b) => {
                assert_eq!(self.width(c), Width::W1, "condition of {node:?} is not 1 bit");
                assert_eq!(self.width(a), self.width(b), "operands of {node:?} differ in width");
            }
            Expr::Cast(cast, width, a) => {
                let from = self.width(a);
                let fits = match cast {
                    Cast::Zext | Cast::Sext => width >= from,
                    Cast::Trunc => width <= from,
                };
                assert!(fits, "{node:?} of {from:?}");
            }
            _ => {}
        }
        match crate::fold::simplify(self, node) {
            crate::fold::Simplified::Existing(id) => id,
            crate::fold::Simplified::Node(node) => self.intern(node),
        }
    }

    fn intern(&mut self, node: Expr) -> ExprId {
        if self.known.len() != self.nodes.len() {
            // A serialised arena does not contain the map.
            self.known = self.iter().map(|(id, e)| (e, id)).collect();
        }
        let next = ExprId(self.nodes.len() as u32);
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }

    /// Adds a constant of `width`.
    pub fn constant(&mut self, width: Width, value: i64) -> ExprId {
        self.intern(Expr::Const { width, bits: width.truncate(value as u64) })
    }

    /// Adds a 32-bit constant.
    pub fn c32(&mut self, value: i64) -> ExprId {
        self.constant(Width::W32, value)
    }

    /// Adds a 64-bit constant.
    pub fn c64(&mut self, value: i64) -> ExprId {
        self.constant(Width::W64, value)
    }

    /// Adds a truth value.
    pub fn truth(&mut self, value: bool) -> ExprId {
        self.constant(Width::W1, i64::from(value))
    }

    /// An operator with its operands.
    pub fn bin(&mut self, op: BinOp, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Bin(op, a, b))
    }

    /// Adds a comparison.
    pub fn cmp(&mut self, op: CmpOp, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Cmp(op, a, b))
    }

    /// Adds `c ? a : b`.
    pub fn select(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        self.add(Expr::Select(c, a, b))
    }

    /// Adds `a + b`.
    pub fn sum(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.bin(BinOp::Add, a, b)
    }

    /// Adds `a * b`.
    pub fn product(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.bin(BinOp::Mul, a, b)
    }

    /// The zero extension to `width`.
    pub fn zext(&mut self, width: Width, a: ExprId) -> ExprId {
        self.add(Expr::Cast(Cast::Zext, width, a))
    }

    /// The sign extension to `width`.
    pub fn sext(&mut self, width: Width, a: ExprId) -> ExprId {
        self.add(Expr::Cast(Cast::Sext, width, a))
    }

    /// The low bits of this width.
    pub fn trunc(&mut self, width: Width, a: ExprId) -> ExprId {
        self.add(Expr::Cast(Cast::Trunc, width, a))
    }

    /// Adds the negation of a truth value.
    pub fn not(&mut self, a: ExprId) -> ExprId {
        let one = self.truth(true);
        self.bin(BinOp::Xor, a, one)
    }

    /// The conjunction of two truth values.
    pub fn both(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.bin(BinOp::And, a, b)
    }
}
