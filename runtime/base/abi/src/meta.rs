//! The description of a device module. The pass writes it as JSON; the runtime and `gpurace` read
//! it.

use serde::{Deserialize, Serialize};

use crate::deciding::Memory;
use crate::flow::{Flow, InlinedFunction};

/// The description of a device module, beside its code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModuleMeta {
    /// The processor that the device code was compiled for: 90 for `sm_90`. The first field, since
    /// a runtime reads it without the rest.
    #[serde(default)]
    pub arch: u32,
    /// `CUDART_VERSION` of the headers that the module was compiled with: 13000 for CUDA 13.0; 0 if that
    /// is not known. The second field, for the same reason.
    #[serde(default)]
    pub cuda: u32,
    /// The main source file, as clang was given it.
    pub source: String,
    /// True if the code has checks.
    pub instrumented: bool,
    /// Source files that positions refer to.
    pub files: Vec<SourceFile>,
    /// Every access instruction, checked or not; `SiteId`s index it.
    pub sites: Vec<Site>,
    /// Every barrier, warp sync, fence and collective.
    pub syncs: Vec<SyncSite>,
    /// Kernels.
    pub kernels: Vec<KernelMeta>,
    /// Functions whose code was inlined into kernels, as far as the kernels' control flow names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlined: Vec<InlinedFunction>,
    /// Device variables (`__device__`, `__constant__`, `__managed__`).
    pub variables: Vec<VariableMeta>,
    /// Accesses that are not checked, by reason.
    pub skipped: Vec<Skipped>,
    /// Reads without a check of their own, in the order of their sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Covered>,
    /// Operations that the executor cannot run. A launch that reaches one ends with an error.
    pub unsupported: Vec<String>,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The name as clang was given it, or as `#include` found it.
    pub name: String,
    /// The directory that a relative name is relative to.
    pub directory: String,
    /// A header of the toolkit, of clang or of the system. A report shows the user's line that
    /// called into it instead.
    pub system: bool,
    /// Its text, where it was compiled from memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One source position, and the function it is in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index into [`ModuleMeta::files`].
    pub file: u32,
    /// Line, from 1; 0 where unknown.
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
    /// The function, demangled, without parameters where debug info has only that.
    pub function: String,
}

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic or volatile access.
    Atomic,
}

/// The memory that an access may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Shared memory.
    Shared,
    /// Global memory.
    Global,
    /// Known at run time only.
    Generic,
}

/// One access instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Its operation.
    pub op: Op,
    /// Bytes, 0 if not constant.
    pub size: u32,
    /// The memory that it may touch.
    pub space: Space,
    /// A `volatile` access; reports call it a volatile read or write.
    pub volatile: bool,
    /// An asynchronous copy makes the access, not the thread itself.
    #[serde(default)]
    pub asynchronous: bool,
    /// Position, innermost inlined function first; empty without debug info.
    pub frames: Vec<Frame>,
    /// Where the kernel's arguments hold the pointer that the address starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<PointerPlace>,
    /// The shared or device variable that the address starts from, as the source calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The least of its verdicts in all kernels.
    pub verdict: Verdict,
}

/// The place of a pointer in a kernel's arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PointerPlace {
    /// The parameter: an index into [`KernelMeta::params`].
    pub index: u32,
    /// Bytes from the parameter's start: not 0 for a later field of a struct that is passed by value.
    #[serde(default, skip_serializing_if = "is_start")]
    pub offset: u32,
}

fn is_start(offset: &u32) -> bool {
    *offset == 0
}

/// The prover's verdict on an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Cannot race in any launch.
    Proved,
    /// Cannot race if the conditions hold.
    ProvedIf,
    /// Races in some launch.
    Racy,
    /// Checked at run time.
    #[default]
    Checked,
}

impl Verdict {
    /// True if the access cannot race, perhaps under conditions.
    pub fn is_proof(self) -> bool {
        matches!(self, Self::Proved | Self::ProvedIf)
    }

    /// The lesser of two kernels' verdicts.
    pub fn and(self, other: Self) -> Self {
        let rank = |verdict| match verdict {
            Self::Racy => 0,
            Self::Checked => 1,
            Self::ProvedIf => 2,
            Self::Proved => 3,
        };
        if rank(self) <= rank(other) { self } else { other }
    }
}

/// Set in the number of a barrier that stands under a condition in the source, where threads that skip it end.
pub const UNDER_CONDITION: u32 = 1 << 31;

/// One synchronisation instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SyncSite {
    /// As the source calls it, for instance `__syncthreads()`.
    pub what: String,
    /// Position, innermost inlined function first.
    pub frames: Vec<Frame>,
    /// True if all threads of a block must wait at this place, as CUDA C++ requires for
    /// `__syncthreads`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_place: bool,
}

/// One kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelMeta {
    /// Mangled name.
    pub name: String,
    /// Where it is defined.
    pub frame: Option<Frame>,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Size of the argument buffer, bytes.
    pub params_size: u32,
    /// Static shared memory, bytes, as offsets from the block's base; dynamic
    /// shared memory starts at the next multiple of 16.
    pub shared_static: u32,
    /// The largest alignment that its shared variables ask for, bytes: a power of two, or 0 if there are none.
    pub shared_alignment: u32,
    /// Static shared variables that the kernel can reach.
    pub shared: Vec<SharedVariable>,
    /// The `extern __shared__` arrays that it can reach.
    pub dynamic_shared: Vec<DynamicShared>,
    /// Indices into [`ModuleMeta::sites`] of the accesses it can reach.
    pub sites: Vec<u32>,
    /// The verdict on each of `sites` in this kernel, in the same order; empty if the prover did
    /// not run.
    #[serde(default)]
    pub verdicts: Vec<Verdict>,
    /// The synchronisation that it can reach.
    pub sync: SyncFeatures,
    /// The most threads of a block (`__launch_bounds__`), or 0.
    pub max_threads: u32,
    /// Estimated bytes of stack of one thread, 0 if unknown.
    pub stack: u32,
    /// Blocks of a cluster in each dimension, if the source has `__cluster_dims__`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Its control flow. `None` if all its accesses are proved for every launch, or if the flow is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The memory that it accesses, and whether its contents decide what the kernel accesses. `None` if all its accesses
    /// are proved for every launch, or if something else decides too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<Memory>>,
}

/// A parameter's place in the argument buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// Its name in the source; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Offset, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
    /// The struct that it points to, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointee: Option<StructType>,
    /// The struct that it is, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_type: Option<StructType>,
}

impl Param {
    /// Returns the name of what lies this many bytes behind the parameter's start: `a`, or `a.p` for a field, or `a+8`
    /// for a field whose name is not known. The span `s` is `s` and not `s.__data_`: users do not know what libraries
    /// call their fields. Empty if the parameter has no name.
    pub fn name_at(&self, offset: u32) -> String {
        if self.name.is_empty() {
            return String::new();
        }
        let field = self.own_type.as_ref().and_then(|own| own.field_at(offset.into()));
        match field {
            Some(field) => {
                let known = field.split('.').filter(|name| !is_reserved(name));
                std::iter::once(&*self.name).chain(known).collect::<Vec<_>>().join(".")
            }
            None if offset == 0 => self.name.clone(),
            None => format!("{}+{offset}", self.name),
        }
    }
}

/// True for a name that C++ reserves for the compiler and its libraries.
fn is_reserved(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next() == Some(b'_') && bytes.next().is_some_and(|byte| byte == b'_' || byte.is_ascii_uppercase())
}

/// A struct of a kernel's parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StructType {
    /// Its name in the source; empty if it has none.
    pub name: String,
    /// Its size, bytes.
    pub size: u64,
    /// Its fields, and the fields of these. Those of a union overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name, with those of the fields that it is part of: `vel.y`.
    pub name: String,
    /// Offset from the start of the whole struct, bytes.
    pub offset: u64,
    /// Size, bytes.
    pub size: u64,
    /// Size of its elements if it is an array, else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub element: u64,
    /// What it points to, if it is a pointer to a type whose size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointee: Option<Pointee>,
}

/// A type that a field points to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointee {
    /// Its name in the source.
    pub name: String,
    /// Its size, bytes.
    pub size: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl StructType {
    /// Returns the field that holds a byte of the struct.
    pub fn field(&self, byte: u64) -> Option<&Field> {
        self.fields.iter().find(|f| (f.offset..f.offset.saturating_add(f.size)).contains(&byte))
    }

    /// Returns the name of the field that holds a byte of the struct.
    pub fn field_at(&self, byte: u64) -> Option<String> {
        let field = self.field(byte)?;
        Some(match (byte - field.offset).checked_div(field.element) {
            Some(index) => format!("{}[{index}]", field.name),
            None => field.name.clone(),
        })
    }
}

/// A static `__shared__` variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedVariable {
    /// Name in the source.
    pub name: String,
    /// Offset from the block's shared base, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
    /// Its elements.
    #[serde(default, skip_serializing_if = "Elements::is_empty")]
    pub elements: Elements,
}

/// An `extern __shared__` array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicShared {
    /// Name in the source.
    pub name: String,
    /// Its elements.
    #[serde(default, skip_serializing_if = "Elements::is_empty")]
    pub elements: Elements,
}

/// The elements of an array. Empty for what is no array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elements {
    /// The dimensions: 32 and 33 for `float tile[32][33]`. The first is 0 in `extern __shared__ float tile[]`.
    pub dimensions: Vec<u64>,
    /// Size of an element, bytes.
    pub size: u64,
}

impl Elements {
    /// True for what is no array.
    pub fn is_empty(&self) -> bool {
        self.dimensions.is_empty()
    }

    /// The indices of the element that holds a byte of the array, and the number of the byte in the element.
    pub fn at(&self, offset: u64) -> Option<(Vec<u64>, u64)> {
        let (&[first, ref inner @ ..], 1..) = (&self.dimensions[..], self.size) else { return None };
        let mut element = offset / self.size;
        let mut index: Vec<u64> = inner
            .iter()
            .rev()
            .map(|&dimension| {
                let here = element.checked_rem(dimension)?;
                element /= dimension;
                Some(here)
            })
            .collect::<Option<_>>()?;
        index.push(element);
        index.reverse();
        (first == 0 || element < first).then_some((index, offset % self.size))
    }
}

/// The synchronisation that a kernel can reach. For barriers of the whole block and `__syncwarp`s
/// of all lanes alone, the checker's compact records are exact, and it keeps nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncFeatures {
    /// A block barrier.
    pub barriers: bool,
    /// A `__syncwarp` (any mask).
    pub warp_syncs: bool,
    /// A `__syncwarp` whose mask is not the constant -1.
    pub partial_masks: bool,
    /// `bar.sync id, n` with an id other than 0 or a count, `bar.arrive`.
    pub named_barriers: bool,
    /// A fence, or an atomic with an order stronger than relaxed.
    pub fences: bool,
    /// A fence, or an atomic with an order stronger than relaxed, of less than device scope.
    #[serde(default = "may_be")]
    pub narrow_order: bool,
    /// An atomic write to a location that atomics may also read and other accesses touch: a thread
    /// that observes the write is ordered after it.
    #[serde(default)]
    pub observes: bool,
    /// A value that an atomic has read is used, so that what follows may depend on who came first.
    #[serde(default)]
    pub uses_atomics: bool,
    /// An asynchronous copy (`cp.async`).
    #[serde(default)]
    pub async_copies: bool,
    /// A barrier of a cluster, or an address in another block's shared memory.
    #[serde(default)]
    pub clusters: bool,
    /// The source annotates races as intended, on objects or at places.
    #[serde(default)]
    pub annotated: bool,
    /// Any point at which a thread may wait: a barrier, a collective, an atomic or volatile access,
    /// an indirect call.
    pub suspends: bool,
}

/// What an object says that does not say it.
const fn may_be() -> bool {
    true
}

/// A device variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableMeta {
    /// Mangled name.
    pub name: String,
    /// Size, bytes.
    pub size: u64,
    /// It lies in constant memory.
    pub constant: bool,
    /// A `__managed__` variable. Its [`VariableEntry`] has the address of a pointer, which the
    /// runtime sets to the host's variable.
    ///
    /// [`VariableEntry`]: crate::image::VariableEntry
    #[serde(default)]
    pub managed: bool,
    /// Where it is defined.
    pub frame: Option<Frame>,
    /// Its elements.
    #[serde(default, skip_serializing_if = "Elements::is_empty")]
    pub elements: Elements,
}

/// A covered read: the check of another access stands for it. The other access is of the same
/// thread and to the same bytes, and nothing between the two can order one of them alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// Index into [`ModuleMeta::sites`].
    pub site: u32,
    /// The access that is checked: a write, or an earlier read.
    pub by: u32,
    /// True if the read comes before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
}

/// The number of accesses left unchecked for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The reason, for instance `constant memory`.
    pub reason: String,
    /// Number of access instructions.
    pub count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_has_the_name_that_its_user_gave_it() {
        let field = |name: &str, offset| Field { name: name.to_owned(), offset, size: 8, ..Field::default() };
        let fields = vec![field("x", 0), field("view.__data_", 8), field("_Base._M_ptr", 16)];
        let own_type = Some(StructType { fields, ..StructType::default() });
        let param = Param { name: "a".to_owned(), own_type, ..Param::default() };
        assert_eq!([0, 8, 16, 24].map(|at| param.name_at(at)), ["a.x", "a.view", "a", "a+24"]);
        let plain = Param { name: "p".to_owned(), ..Param::default() };
        assert_eq!([0, 8].map(|at| plain.name_at(at)), ["p", "p+8"]);
        let unnamed = Param { name: String::new(), ..param };
        assert_eq!(unnamed.name_at(0), "");
    }
}
