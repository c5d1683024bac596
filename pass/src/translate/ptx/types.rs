//! Types and qualifiers of PTX instructions.

use gpurace_abi::scope::{Order, Scope};

/// A fundamental or packed type of an instruction or of a declared register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// A predicate.
    Pred,
    /// Untyped bits: 8, 16, 32, 64 or 128.
    B(u16),
    /// Unsigned integer: 8, 16, 32 or 64 bits.
    U(u16),
    /// Signed integer: 8, 16, 32 or 64 bits.
    S(u16),
    /// IEEE floating point: 16, 32 or 64 bits.
    F(u16),
    /// `bf16`.
    Bf16,
    /// `tf32`: an `f32` whose low 13 bits of fraction do not count.
    Tf32,
    /// Two `f16` in 32 bits.
    F16x2,
    /// Two `bf16` in 32 bits.
    Bf16x2,
    /// Two unsigned 16-bit integers in 32 bits.
    U16x2,
    /// Two signed 16-bit integers in 32 bits.
    S16x2,
    /// Two 8-bit floats in 16 bits, 4 bits of exponent and 3 of fraction.
    E4m3x2,
    /// Two 8-bit floats in 16 bits, 5 bits of exponent and 2 of fraction.
    E5m2x2,
}

impl Ty {
    /// Width in bits; 1 for a predicate.
    pub const fn bits(self) -> u16 {
        match self {
            Ty::Pred => 1,
            Ty::B(n) | Ty::U(n) | Ty::S(n) | Ty::F(n) => n,
            Ty::Bf16 | Ty::E4m3x2 | Ty::E5m2x2 => 16,
            Ty::Tf32 | Ty::F16x2 | Ty::Bf16x2 | Ty::U16x2 | Ty::S16x2 => 32,
        }
    }

    /// Width in bytes; 1 for a predicate.
    pub const fn bytes(self) -> u32 {
        (self.bits() as u32).div_ceil(8)
    }

    /// True for signed integers, packed ones included.
    pub const fn is_signed(self) -> bool {
        matches!(self, Ty::S(_) | Ty::S16x2)
    }

    /// True for floating-point types, packed ones included.
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F(_) | Ty::Bf16 | Ty::Tf32 | Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2)
    }

    /// True for one integer, or untyped bits.
    pub const fn is_int(self) -> bool {
        matches!(self, Ty::B(_) | Ty::U(_) | Ty::S(_))
    }

    /// The type that a suffix names, without its dot.
    pub fn from_suffix(suffix: &str) -> Option<Ty> {
        let sized = |make: fn(u16) -> Ty, widths: &[u16]| {
            widths.iter().find(|width| width.to_string() == suffix[1..]).map(|width| make(*width))
        };
        match suffix {
            "pred" => Some(Ty::Pred),
            "bf16" => Some(Ty::Bf16),
            "tf32" => Some(Ty::Tf32),
            "f16x2" => Some(Ty::F16x2),
            "bf16x2" => Some(Ty::Bf16x2),
            "u16x2" => Some(Ty::U16x2),
            "s16x2" => Some(Ty::S16x2),
            "e4m3x2" => Some(Ty::E4m3x2),
            "e5m2x2" => Some(Ty::E5m2x2),
            _ if suffix.starts_with('b') => sized(Ty::B, &[8, 16, 32, 64, 128]),
            _ if suffix.starts_with('u') => sized(Ty::U, &[8, 16, 32, 64]),
            _ if suffix.starts_with('s') => sized(Ty::S, &[8, 16, 32, 64]),
            _ if suffix.starts_with('f') => sized(Ty::F, &[16, 32, 64]),
            _ => None,
        }
    }
}

/// State space of an address (PTX ISA, "State Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Known at run time only.
    Generic,
    /// `.global`.
    Global,
    /// `.shared`, `.shared::cta`: the block's own.
    Shared,
    /// `.shared::cluster`: of any block of the cluster.
    SharedCluster,
    /// `.local`.
    Local,
    /// `.const`.
    Const,
    /// `.param`.
    Param,
}

impl Space {
    /// The space that a suffix names, without its dot.
    pub fn from_suffix(suffix: &str) -> Option<Space> {
        Some(match suffix {
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::SharedCluster,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    }
}

/// How strong a memory access is (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strength {
    /// `.weak`, or nothing said.
    Weak,
    /// `.volatile`: relaxed at system scope.
    Volatile,
    /// `.mmio`: relaxed at system scope, never merged.
    Mmio,
    /// An order and a scope: `.relaxed.gpu`, `.acquire.cta`, ...
    Strong(Order, Scope),
}

/// The scope that a suffix names, without its dot.
pub fn scope_from_suffix(suffix: &str) -> Option<Scope> {
    Some(match suffix {
        "cta" => Scope::Block,
        "cluster" => Scope::Cluster,
        "gpu" | "gl" => Scope::Device,
        "sys" => Scope::System,
        _ => return None,
    })
}
