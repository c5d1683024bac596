//! The memory that both the host and the checker on a GPU read and write.
//!
//! `runtime/device/cpp/layout.h` has the same structures; a test of that crate compares sizes and
//! offsets.

/// Symbol of the [`CheckerState`] in a checked GPU module.
pub const STATE_SYMBOL: &str = "__gpurace_state";

/// The kernel that fills a launch's [`LaunchCell`]. It runs before the launch, on its stream. Its
/// parameters are [`LaunchCell::begin_arguments`], 8 bytes each.
pub const BEGIN_KERNEL: &str = "__gpurace_begin";

/// Suffix of the name of a kernel's checked variant. It has one more parameter than the kernel, the
/// last: the device address of its [`LaunchCell`].
pub const CHECKED_SUFFIX: &str = "__gpurace_checked";

/// Suffix of the name of a kernel's table of shared variables. It has an entry for each static
/// variable of the kernel's description, in that order, and one for its dynamic shared memory, if
/// it has any: 1 + the offset in the block's shared memory. The first checked launch fills it in.
pub const SHARED_SUFFIX: &str = "__gpurace_shared";

/// Prefix of the name of a pointer to a `__managed__` variable; the variable's name follows. It
/// holds the address of the device's copy, with the initial value, until the runtime stores the
/// address of the host's variable there.
pub const MANAGED_CELL: &str = "__gpurace_managed_";

/// Bytes of static shared memory that a checked kernel has beside its own.
pub const SHARED_CONTROL: u32 = 384;
/// Words of a region, here and in `gpurace-check`: 128 bytes of the program's memory.
pub const REGION_WORDS: usize = 32;
/// Number of block uids that fit a shadow word.
pub const BLOCK_UIDS: u64 = (1 << 24) - 1;
/// Number of counters at [`CheckerState::race_counters`].
pub const RACE_COUNTERS: u64 = 4096;

/// The reason under which a description counts accesses that no check sees: those through textures
/// and surfaces, some of inline PTX, and those of instructions that the pass does not know.
pub const UNSEEN: &str = "not seen on the GPU";

/// An unknown site or thread of a race's earlier side.
pub const UNKNOWN: u32 = u32::MAX;
/// Code of a plain read.
pub const OP_READ: u32 = 0;
/// Code of a plain write. Codes from 2 on are atomic and volatile accesses, numbered by
/// `gpurace-check`'s `OpCode`.
pub const OP_WRITE: u32 = 1;

/// Where the checker of one module finds its memory. The host writes it before the module's first
/// checked launch. All addresses are the device's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckerState {
    /// First address of the window that serves allocations.
    pub window: u64,
    /// Size of the window in bytes, or 0.
    pub window_size: u64,
    /// The shadow of the window: 8 bytes for each 4.
    pub shadow: u64,
    /// The [`Counters`].
    pub counters: u64,
    /// The buffer of [`FoundRace`]s, in memory that the host reads.
    pub races: u64,
    /// Number of races that the buffer has room for.
    pub race_capacity: u64,
    /// How often each kind of race was found: `u32` by hash, [`RACE_COUNTERS`] of them.
    pub race_counters: u64,
    /// 1 if the module makes order by fences, or by atomics stronger than relaxed. Then any atomic
    /// that a block observes may be a release.
    pub orders: u64,
    /// 1 if the source annotates races as intended. The checker does not know which, so all conflicts
    /// are undecided.
    pub annotated: u64,
    /// 1 if volatile accesses race as relaxed atomics at system scope do.
    pub relaxed_volatile: u64,
}

/// A range of memory outside the window, with shadow of its own. Two ranges may share a word; then
/// each has its own shadow of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowRange {
    /// First address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// Shadow of the word that holds `start`.
    pub shadow: u64,
}

/// A set of slots of one size: see `slots.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotSet {
    /// One bit per slot, 1 if a resident block has it: `u32` words.
    pub bits: u64,
    /// The first slot. A slot begins with the clock at which its next block starts (`u64`); the
    /// shadow of shared memory follows.
    pub first: u64,
    /// Number of slots.
    pub count: u64,
    /// Bytes from one slot to the next.
    pub stride: u64,
    /// Bytes of shared memory that a slot has shadow for.
    pub shared: u64,
}

/// The launch cell of one launch. [`BEGIN_KERNEL`] and the launch's blocks write it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchCell {
    /// Uid of its first block; [`BLOCK_UIDS`] or more if none was left.
    pub first_uid: u64,
    /// Number of its blocks.
    pub blocks: u64,
    /// The host's number of the launch, for reports.
    pub number: u64,
    /// Number of checks that it made.
    pub checks: u64,
    /// 1 if a thread that has observed an atomic write may be ordered after it. A plain access that
    /// meets an atomic one is then undecided.
    pub observes: u64,
    /// Address of the [`SlotSet`] of its blocks, or 0.
    pub slots: u64,
    /// Address of its [`ShadowRange`]s, in order of addresses.
    pub ranges: u64,
    /// Number of these ranges.
    pub range_count: u64,
    /// Near shadow, in the block's own shared memory: its address there, less twice the first address of
    /// shared memory. The shadow of the word at `address` is at `near + 2 * address`.
    pub near: u64,
    /// The address at which near shadow begins. What lies before it has shadow.
    pub near_end: u64,
    /// Words of near shadow, or 0 if the block has none.
    pub near_cells: u64,
    /// Number of this use of the cell, different for each use.
    pub turn: u64,
    /// The `turn` of the last use that is over. The next launch on its stream writes it.
    pub over: u64,
}

impl LaunchCell {
    /// The arguments with which [`BEGIN_KERNEL`] writes this into the cell at address `cell`.
    /// `before`: address and turn of the cell of the last launch on the stream, which is over then.
    pub fn begin_arguments(&self, cell: u64, before: Option<(u64, u64)>) -> [u64; 14] {
        let (before, turn_before) = before.unwrap_or((0, 0));
        let Self { turn, blocks, number, first_uid, observes, slots, ranges, range_count, .. } = *self;
        let Self { near, near_end, near_cells, .. } = *self;
        let own = [turn, blocks, number, first_uid, observes, slots, ranges, range_count];
        let mut arguments = [0; 14];
        arguments[0] = cell;
        arguments[1..9].copy_from_slice(&own);
        arguments[9..].copy_from_slice(&[near, near_end, near_cells, before, turn_before]);
        arguments
    }
}

/// What the checkers of one context count.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Places taken in the buffer of races; may exceed its capacity.
    pub races: u64,
    /// Pairs that conflict and may be ordered in a way that the checker on the GPU cannot see.
    pub undecided: u64,
    /// Records dropped because a word has room for one: a race with them is missed.
    pub narrowed: u64,
    /// Accesses to memory without shadow.
    pub outside: u64,
    /// Accesses to shared memory without shadow: the block has no slot, or more memory than a slot.
    pub shared_outside: u64,
    /// Changes of a word given up after too many attempts.
    pub contended: u64,
    /// Accesses of blocks whose clock or uid does not fit a word.
    pub exhausted: u64,
    /// Races not written because the same instructions raced before.
    pub repeated: u64,
    /// Accesses of asynchronous copies that counted as their thread's where the copy begins.
    pub copies: u64,
    /// Races not written because the buffer was full.
    pub lost: u64,
}

/// A race, as the GPU found it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundRace {
    /// 1 once the race is complete; written last.
    pub complete: u32,
    /// Site of the later access.
    pub site: u32,
    /// Site of the earlier one, or [`UNKNOWN`].
    pub earlier_site: u32,
    /// The later thread, linear in its block.
    pub thread: u32,
    /// The earlier one, or [`UNKNOWN`].
    pub earlier_thread: u32,
    /// The earlier operation's code ([`OP_READ`] and on).
    pub earlier_op: u32,
    /// The later operation's code.
    pub op: u32,
    /// The narrowest group that holds both threads: 0 warp, 1 block, 2 grid.
    pub relation: u32,
    /// The later thread's block, linear.
    pub block: u64,
    /// The earlier one's, or `u64::MAX` if it is not known.
    pub earlier_block: u64,
    /// [`LaunchCell::number`].
    pub launch: u64,
    /// Address of the later access.
    pub address: u64,
    /// Its size in bytes.
    pub size: u32,
    /// 1 + the offset in the block's shared memory, or 0 for global memory.
    pub shared: u32,
}
