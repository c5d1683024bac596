//! What the host and the checker on a GPU have in common: memory that both read.
//!
//! `runtime/device/cpp/layout.h` has the same structures; a test of that crate
//! compares sizes and offsets.

/// Symbol of the [`State`] in a checked GPU module.
pub const STATE_SYMBOL: &str = "__gpurace_state";
/// The kernel that says what a launch is; it runs before the launch, on its stream. Its
/// parameters, 8 bytes each: the device address of the launch's [`LaunchCell`], [`LaunchCell::turn`], the number of its blocks,
/// the host's number of it, its first uid, [`LaunchCell::unordered`], [`LaunchCell::log`], [`LaunchCell::log_room`], [`LaunchCell::observes`],
/// [`LaunchCell::slots`], [`LaunchCell::ranges`], [`LaunchCell::range_count`]; of the launch before on its stream, which is over then, the cell's
/// address, or 0, and the `turn`.
pub const BEGIN_KERNEL: &str = "__gpurace_begin";
/// The kernel that makes a copy's or fill's records; it runs before it, on its stream, behind [`BEGIN_KERNEL`] for a launch of one block.
/// Its parameters: the device address of the [`LaunchCell`], the first byte, bytes of a row, rows, bytes from one row to the next, the shadow of the
/// word of the first byte, the operation's code, the site, and how many threads it is launched with; 8 bytes each.
pub const TOUCH_KERNEL: &str = "__gpurace_touch";
/// What the name of a kernel's checked variant ends with. It has one parameter
/// more than the kernel, the last: the device address of its [`LaunchCell`].
pub const CHECKED_SUFFIX: &str = "__gpurace_checked";
/// Bytes of static shared memory that a checked kernel has beside its own.
pub const SHARED_CONTROL: u32 = 256;
/// Uids that words can hold.
pub const UIDS: u64 = (1 << 24) - 1;

/// Where the checker of one module finds its memory. Written by the host before the
/// module's first launch with checks; all addresses are the device's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// First address of the window that allocations are served from.
    pub window: u64,
    /// Its size, bytes; 0 for none.
    pub window_size: u64,
    /// The shadow of the window: 8 bytes per 4.
    pub shadow: u64,
    /// The [`Counters`].
    pub counters: u64,
    /// [`Found`] records, in memory that the host sees.
    pub records: u64,
    /// How many there is room for.
    pub record_capacity: u64,
    /// How often each kind of race was found: `u32` by hash, [`SEEN`] of them.
    pub seen: u64,
    /// 1 where the module can make order by fences or by atomics stronger than
    /// relaxed: there, what a block has seen by any atomic may be a release.
    pub orders: u64,
    /// 1 where code says of races that they are meant: which these are logs alone know, and without one all conflicts are undecided.
    pub annotated: u64,
}

/// Number of counters at [`State::seen`].
pub const SEEN: u64 = 4096;
/// Records of one hash that are written; the others are counted.
pub const RECORDS_OF_ONE: u32 = 4;

/// Memory with shadow elsewhere. Where two have parts of one word, each has shadow of its own for it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// Shadow of the word that `start` is in.
    pub shadow: u64,
}

/// Slots of one size: see `slots.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// One bit per slot, taken by a resident block or free: `u32` words.
    pub bits: u64,
    /// The first slot: each begins with the clock that its next block starts
    /// at (`u64`), then the shadow of shared memory.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Bytes from one slot to the next.
    pub stride: u64,
    /// Bytes of shared memory that a slot has shadow for.
    pub shared: u64,
}

/// One launch, or one copy that makes records. Written by [`BEGIN_KERNEL`] and by the launch's blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchCell {
    /// Uid of its first block. [`UIDS`] and more: none was left.
    pub first_uid: u64,
    /// Number of its blocks.
    pub blocks: u64,
    /// The host's number of the launch, for reports.
    pub number: u64,
    /// Checks that it made.
    pub checks: u64,
    /// Uids of earlier launches that nothing orders before it: the first `<< 32`, and how many; 0 for none.
    pub unordered: [u64; UNORDERED],
    /// Where its log's first [`Event`](crate::event::Event) lies, behind its [`LogHead`](crate::event::LogHead), in memory that the host sees; 0 for no log.
    pub log: u64,
    /// Events that there is room for.
    pub log_room: u64,
    /// Places taken in the log; may exceed the room.
    pub logged: u64,
    /// Blocks that have ended, where there is a log.
    pub ended: u64,
    /// As [`LogHead::held`](crate::event::LogHead::held).
    pub held: u64,
    /// 1 where who has observed an atomic write may be ordered after it: without a log, a plain access that meets an atomic one is undecided.
    pub observes: u64,
    /// The [`Slots`] of its blocks; 0 for none.
    pub slots: u64,
    /// [`Range`]s outside of the window, ordered by address.
    pub ranges: u64,
    /// How many.
    pub range_count: u64,
    /// Which use of a cell this is: another number for each.
    pub turn: u64,
    /// The `turn` of the last use that is over, as the next launch on its stream says: nobody uses the cell any more.
    pub over: u64,
}

impl LaunchCell {
    /// What [`BEGIN_KERNEL`] is told for it to write this into the cell at an address. `before`: address and turn of the cell of the launch before.
    pub fn told(&self, cell: u64, before: Option<(u64, u64)>) -> [u64; 17] {
        let [a, b, c, d] = self.unordered;
        let (before, turn_before) = before.unwrap_or((0, 0));
        let Self {
            turn, blocks, number, first_uid, log, log_room, observes, slots, ranges, range_count, ..
        } = *self;
        [
            cell,
            turn,
            blocks,
            number,
            first_uid,
            a,
            b,
            c,
            d,
            log,
            log_room,
            observes,
            slots,
            ranges,
            range_count,
            before,
            turn_before,
        ]
    }
}

/// Ranges of uids in [`LaunchCell::unordered`].
pub const UNORDERED: usize = 4;

/// What the checkers of one context count, and the next free uid.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Behind the last uid that a launch had.
    pub next_uid: u64,
    /// Places taken in the buffer of records; may exceed its capacity.
    pub records: u64,
    /// Pairs that conflict, where the checker on the GPU cannot tell whether they are ordered.
    pub undecided: u64,
    /// Records dropped from a word that has room for one: a race with them is missed.
    pub narrowed: u64,
    /// Accesses to memory without shadow.
    pub outside: u64,
    /// Accesses to shared memory without shadow: no slot, or more memory than a slot has.
    pub shared_outside: u64,
    /// Changes of a word given up after too many attempts.
    pub contended: u64,
    /// Accesses of blocks whose clock or uid does not fit a word.
    pub exhausted: u64,
    /// Races not written: found before with the same instructions.
    pub repeated: u64,
    /// Accesses of asynchronous copies that were taken for their thread's, where they begin.
    pub copies: u64,
    /// Races not written for want of room.
    pub lost: u64,
    /// Accesses through textures and surfaces that no log has.
    pub fetches: u64,
}

/// A race as the GPU found it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// 1 once the record is complete; written last.
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
    /// The later one's.
    pub op: u32,
    /// 0 warp, 1 block, 2 grid: the narrowest group that holds both; 3: they are of two launches.
    pub relation: u32,
    /// The later thread's block, linear.
    pub block: u64,
    /// The earlier one's; `u64::MAX` where it is not known.
    pub earlier_block: u64,
    /// [`LaunchCell::number`].
    pub launch: u64,
    /// That of the earlier side. Where the two are of two launches the GPU does not know it, writes
    /// [`u64::MAX`], and the uid for the earlier block.
    pub earlier_launch: u64,
    /// Address of the later access.
    pub address: u64,
    /// Its size, bytes.
    pub size: u32,
    /// For shared memory the access's offset in the block's, and 1 more; 0 for global memory.
    pub shared: u32,
}

/// What the name of a kernel's table of shared variables ends with: for each static variable of its description, in that order, and then for its
/// dynamic shared memory, if it has any, where it lies in a block's, and 1 more. The first launch with checks fills it in.
pub const SHARED_SUFFIX: &str = "__gpurace_shared";

/// What the name of a cell begins with that holds the address of the `__managed__` variable whose name follows. Until the runtime has written
/// the host variable's there, it is that of the device's copy, which has the initial value.
pub const MANAGED_CELL: &str = "__gpurace_managed_";

/// The reason under which a description counts accesses that only inline PTX, or an instruction
/// that the pass does not know, makes: no check knows of them.
pub const UNSEEN: &str = "not seen on the GPU";

/// The reason under which a description counts instructions that access textures and surfaces and that no check knows of.
pub const FETCHES: &str = "fetches on the GPU";

/// What is not known of a race's earlier side.
pub const UNKNOWN: u32 = u32::MAX;
/// Code of a plain read.
pub const OP_READ: u32 = 0;
/// Code of a plain write; codes from 2 on are atomics as `gpurace-check`'s `word::op_code` numbers them.
pub const OP_WRITE: u32 = 1;
