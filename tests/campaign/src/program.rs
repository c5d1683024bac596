//! Kernels: small typed programs.

use crate::scalar::{Op, Scalar, Test};

/// What an array's elements are.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Scalars.
    Scalar(Scalar),
    /// Vectors of two or four scalars.
    Vector(Scalar, usize),
    /// Structs with these fields, which leave no padding.
    Struct(Vec<Scalar>),
}

impl Element {
    /// The scalars that it consists of.
    pub fn parts(&self) -> Vec<Scalar> {
        match self {
            Self::Scalar(s) => vec![*s],
            Self::Vector(s, n) => vec![*s; *n],
            Self::Struct(fields) => fields.clone(),
        }
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.parts().iter().map(|s| s.size()).sum()
    }

    /// The type and the offset of one part.
    pub fn part(&self, part: usize) -> (Scalar, usize) {
        let parts = self.parts();
        (parts[part], parts[..part].iter().map(|s| s.size()).sum())
    }
}

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory that the kernel only reads.
    Input,
    /// Global memory.
    Global,
    /// A shared variable.
    Shared,
    /// Part of the dynamic shared memory.
    Dynamic,
    /// A variable in global memory.
    Variable,
    /// Each thread's own.
    Local,
}

/// An array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Where it is.
    pub space: Space,
    /// Its elements.
    pub element: Element,
    /// Its extents, the last one contiguous.
    pub extents: Vec<u32>,
    /// From what global memory is filled.
    pub seed: u64,
}

impl Array {
    /// True in shared memory.
    pub fn is_shared(&self) -> bool {
        matches!(self.space, Space::Shared | Space::Dynamic)
    }

    /// True in memory that the host fills and reads.
    pub fn is_global(&self) -> bool {
        matches!(self.space, Space::Input | Space::Global | Space::Variable)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.extents.iter().map(|&n| n as usize).product()
    }

    /// True if it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.len() * self.element.size()
    }
}

/// An element of an array, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The array's number.
    pub array: usize,
    /// One index for each extent.
    pub index: Vec<Expr>,
    /// Which part of a vector or struct.
    pub part: usize,
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `threadIdx`
    Thread,
    /// `blockIdx`
    Block,
    /// `blockDim`
    BlockDim,
    /// `gridDim`
    GridDim,
}

/// An expression. It has no effect but its reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Const(Scalar, u64),
    /// A local variable.
    Local(usize),
    /// A parameter of the kernel.
    Param(usize),
    /// A special register in one dimension.
    Special(Special, usize),
    /// An element's value.
    Load(Box<Place>),
    /// `a op b`, of operands of one type.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `a test b`, an `int`.
    Compare(Test, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A conversion.
    Cast(Scalar, Box<Expr>),
    /// The bits of a float as an unsigned integer.
    Bits(Box<Expr>),
    /// A call of a function with the arguments.
    Call(usize, Vec<Expr>),
    /// In a function: an argument.
    Argument(usize),
    /// In a function: an element of the array that it belongs to.
    Own(Box<Expr>),
}

/// A device function. Its body is one `return`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Types of its arguments.
    pub arguments: Vec<Scalar>,
    /// Its result's type.
    pub result: Scalar,
    /// The array that calls pass by pointer.
    pub array: Option<usize>,
    /// Its result.
    pub body: Expr,
    /// How it is written: 0 plain, 1 a template, 2 never inlined.
    pub style: u8,
    /// The number of its line.
    pub site: usize,
}

/// What lanes of a warp do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// `__shfl_xor_sync`
    Xor(u32),
    /// `__shfl_down_sync`
    Down(u32),
    /// `__shfl_up_sync`
    Up(u32),
    /// `__shfl_sync` from one lane
    From(u32),
    /// `__ballot_sync` of the lowest bit
    Ballot,
    /// `__reduce_add_sync`
    Add,
    /// `__reduce_max_sync`
    Max,
    /// `__any_sync` of the lowest bit
    Any,
    /// `__match_any_sync`
    Match,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Its number in the kernel, in the order of the source.
    pub site: usize,
    /// What it does.
    pub kind: Kind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Sets a local variable.
    Set(usize, Expr),
    /// Stores to an element.
    Store(Place, Expr),
    /// Stores all parts of an element. The place's part does not matter.
    StoreAll(Place, Vec<Expr>),
    /// Loads all parts of an element into variables.
    LoadAll(Vec<usize>, Place),
    /// `place op= value`
    Update(Op, Place, Expr),
    /// An atomic operation whose result is not used.
    Atomic(Op, Place, Expr),
    /// A branch.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for (variable = first; test; variable = next)`
    For(usize, Expr, Expr, Expr, Vec<Stmt>),
    /// `__syncthreads`
    Barrier,
    /// A variable becomes the count of threads for which this holds: `__syncthreads_count`
    BarrierCount(usize, Expr),
    /// `__syncwarp`
    SyncWarp(u32),
    /// A variable becomes the result of a collective of these lanes.
    Warp(usize, Collective, u32, Expr),
    /// The thread ends.
    Return,
    /// The innermost loop ends.
    Break,
    /// The innermost loop's next iteration begins.
    Continue,
}

/// A kernel and its launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// How often it is launched, on the same memory.
    pub launches: u32,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Arrays.
    pub arrays: Vec<Array>,
    /// Types and values of parameters.
    pub params: Vec<(Scalar, u64)>,
    /// Types of local variables, which begin as zero.
    pub locals: Vec<Scalar>,
    /// Functions.
    pub functions: Vec<Function>,
    /// What each thread does.
    pub body: Vec<Stmt>,
}

impl From<Kind> for Stmt {
    fn from(kind: Kind) -> Self {
        Self { site: 0, kind }
    }
}

impl Kernel {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// An expression's type.
    pub fn type_of(&self, e: &Expr, within: Option<&Function>) -> Scalar {
        match e {
            Expr::Const(s, _) | Expr::Cast(s, _) => *s,
            Expr::Local(v) => self.locals[*v],
            Expr::Param(p) => self.params[*p].0,
            Expr::Special(..) => Scalar::U32,
            Expr::Load(place) => self.arrays[place.array].element.part(place.part).0,
            Expr::Binary(_, a, _) | Expr::Select(_, a, _) => self.type_of(a, within),
            Expr::Compare(..) => Scalar::I32,
            Expr::Bits(e) if self.type_of(e, within) == Scalar::F64 => Scalar::U64,
            Expr::Bits(_) => Scalar::U32,
            Expr::Call(f, _) => self.functions[*f].result,
            Expr::Argument(i) => within.expect("in a function").arguments[*i],
            Expr::Own(_) => self.arrays[within.and_then(|f| f.array).expect("of an array")].element.part(0).0,
        }
    }

    /// True if a statement or function only writes: no pair of two such lines depends on which reads have
    /// checks.
    pub fn only_writes(&self, site: usize) -> bool {
        fn find(body: &[Stmt], site: usize) -> Option<&Kind> {
            body.iter().find_map(|s| match &s.kind {
                kind if s.site == site => Some(kind),
                Kind::If(_, then, other) => find(then, site).or_else(|| find(other, site)),
                Kind::For(.., body) => find(body, site),
                _ => None,
            })
        }
        fn loads(kernel: &Kernel, e: &Expr) -> bool {
            let all = |list: &[Expr]| list.iter().any(|e| loads(kernel, e));
            match e {
                Expr::Load(p) => kernel.arrays[p.array].space != Space::Input || all(&p.index),
                Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => loads(kernel, a) || loads(kernel, b),
                Expr::Select(c, a, b) => loads(kernel, c) || loads(kernel, a) || loads(kernel, b),
                Expr::Cast(_, e) | Expr::Bits(e) => loads(kernel, e),
                Expr::Call(_, list) => all(list),
                _ => false,
            }
        }
        match find(&self.body, site) {
            Some(Kind::Store(_, e)) => !loads(self, e),
            Some(Kind::StoreAll(_, parts)) => !parts.iter().any(|e| loads(self, e)),
            _ => false,
        }
    }

    /// Numbers the statements and functions in the order of the source. Returns how many there are.
    pub fn number(&mut self) -> usize {
        fn number(body: &mut [Stmt], next: &mut usize) {
            for s in body {
                s.site = *next;
                *next += 1;
                match &mut s.kind {
                    Kind::If(_, then, other) => {
                        number(then, next);
                        number(other, next);
                    }
                    Kind::For(.., body) => number(body, next),
                    _ => {}
                }
            }
        }
        let mut next = 0;
        for f in &mut self.functions {
            f.site = next;
            next += 1;
        }
        number(&mut self.body, &mut next);
        next
    }
}
