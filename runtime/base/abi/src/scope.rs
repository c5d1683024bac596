//! CUDA's thread scopes and memory orders, as numbers that entry points are passed (see
//! [`crate::entry`]).

/// Declares enums with numbers, each with `from_u32`, which gives back the variant with a number.
macro_rules! numbered {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$meaning:meta])* $variant:ident = $number:literal,)* }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$meaning])* $variant = $number,)*
        }

        impl $name {
            /// The variant with this number, if there is one.
            pub const fn from_u32(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    )*};
}

pub(crate) use numbered;

numbered! {
    /// How far an atomic or a fence reaches (PTX ISA, "Scope").
    #[derive(PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "meta", derive(serde::Serialize, serde::Deserialize))]
    pub enum Scope {
        /// The threads of one block (`.cta`).
        Block = 0,
        /// The threads of one cluster (`.cluster`).
        Cluster = 1,
        /// The threads of one device (`.gpu`): CUDA's legacy atomics.
        Device = 2,
        /// All threads of the program, the host's too (`.sys`).
        System = 3,
    }

    /// Memory order of an atomic or a fence (PTX ISA, "Memory consistency model").
    #[derive(Hash)]
    pub enum Order {
        /// Makes order only together with a fence. CUDA's legacy atomics and `volatile` accesses.
        Relaxed = 0,
        /// The release that the access reads happens before what follows the access in its thread.
        Acquire = 1,
        /// What precedes the access in its thread happens before the access.
        Release = 2,
        /// Both [`Order::Acquire`] and [`Order::Release`].
        AcqRel = 3,
        /// As [`Order::AcqRel`], and in one total order.
        SeqCst = 4,
    }

    /// The kind of an atomic or volatile access.
    #[derive(Hash)]
    pub enum AtomicKind {
        /// An atomic load.
        Load = 0,
        /// An atomic store.
        Store = 1,
        /// A read-modify-write. A compare-and-swap that fails is a [`AtomicKind::Load`].
        Rmw = 2,
        /// A `volatile` load. PTX makes it relaxed at system scope: between fences it makes order, and it
        /// does not race with atomics of the same bytes. CUDA C++ does not make it atomic: it races with
        /// plain and volatile stores.
        VolatileLoad = 3,
        /// A `volatile` store; races with plain and volatile accesses.
        VolatileStore = 4,
        /// A read-modify-write without result (`red`). It does not acquire what it reads, not even with
        /// a fence after it (PTX ISA, "Reductions do not form Acquire Patterns").
        Reduction = 5,
    }
}

impl Order {
    /// True if the order acquires.
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// True if the order releases.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}
