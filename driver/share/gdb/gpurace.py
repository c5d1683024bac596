"""gdb commands for CUDA programs that gpurace runs on the host: device threads, and races so far.

`gpurace gdb` loads this file. Packages have it where gdb looks for a script of `libgpurace_rt.so`, so any gdb loads it
when a program starts. In a checkout: `source gpurace.py`. A program stops at its races with
`GPURACE_OPTIONS=halt_on_error=break`.
"""

import gdb

VERSION = 1
FIELDS = (
    "version block_launch block_running block_lanes block_threads launch_suspends lane_bytes lane_tid lane_ctaid"
    " lane_shared lane_launch_id lane_handle lane_state running_fiber fiber_own most_blocks"
).split()
# As `LaneState` of the runtime numbers them.
STATES = (
    "not started",
    "ready",
    "gave way",
    "at a barrier",
    "at the cluster's barrier",
    "in a collective",
    "in a collective",
    "ended",
    "faulted",
)
NOT_STARTED, ENDED = 0, 7
REGISTERS = ("rsp", "rbp", "rbx", "rip")
STOP = "gpurace_race_found"


def read(address, size):
    """An unsigned number of the program's memory."""
    memory = gdb.selected_inferior().read_memory(address, size)
    return int.from_bytes(bytes(memory), "little")


def address_of(symbol):
    """The address of a variable of the runtime library."""
    try:
        text = gdb.execute("info address " + symbol, to_string=True)
    except gdb.error:
        raise gdb.GdbError("no program of gpurace runs")
    words = [word.strip(".") for word in text.split() if word.startswith("0x")]
    if not words:
        raise gdb.GdbError("no program of gpurace runs")
    return int(words[0], 16)


def index(address):
    """An index of three numbers."""
    return tuple(read(address + 4 * i, 4) for i in range(3))


def shown(place):
    return "(%d,%d,%d)" % place


class Thread:
    """A device thread of a resident block."""

    def __init__(self, table, lane, running):
        self.address = lane
        self.block = index(lane + table["lane_ctaid"])
        self.thread = index(lane + table["lane_tid"])
        self.launch = read(lane + table["lane_launch_id"], 8)
        self.shared = read(lane + table["lane_shared"], 8)
        self.state = read(lane + table["lane_state"], 4)
        self.fiber = read(lane + table["lane_handle"], 8)
        self.runs = self.fiber != 0 and self.fiber == running
        self.own = table["fiber_own"]

    def has_stack(self):
        return self.runs or (self.state not in (NOT_STARTED, ENDED) and self.fiber != 0)

    def registers(self):
        """What the processor's registers will be when it goes on: the stack holds address, rbx and rbp."""
        stack = read(self.fiber + self.own, 8)
        return {"rip": read(stack, 8), "rbx": read(stack + 8, 8), "rbp": read(stack + 16, 8), "rsp": stack + 24}

    def says(self):
        return "running" if self.runs else STATES[self.state]


def threads():
    """The threads of the resident blocks."""
    start = address_of("GPURACE_DEBUGGER_TABLE")
    table = {name: read(start + 8 * i, 8) for i, name in enumerate(FIELDS)}
    if table["version"] != VERSION:
        raise gdb.GdbError("this script and the program's libgpurace_rt.so are of different versions")
    found = []
    for i in range(table["most_blocks"]):
        block = read(start + 8 * (len(FIELDS) + i), 8)
        if block == 0:
            continue
        launch = read(block + table["block_launch"], 8)
        running = read(read(block + table["block_running"], 8) + table["running_fiber"], 8)
        lanes = read(block + table["block_lanes"], 8)
        # Threads that never wait run one after the other, in one place.
        suspends = read(launch + table["launch_suspends"], 1)
        count = read(block + table["block_threads"], 4) if suspends else 1
        found += [Thread(table, lanes + i * table["lane_bytes"], running) for i in range(count)]
    return sorted(found, key=lambda t: (t.launch, t.block[::-1], t.thread[::-1]))


def library(pc):
    return gdb.solib_name(pc) or ""


def is_device(frame):
    """True for a stack frame of device code. It is in an image that the runtime has opened from memory."""
    name = library(frame.pc())
    return name.startswith("/proc/") and "/fd/" in name


def device_frame():
    """The innermost stack frame of device code."""
    frame = gdb.newest_frame()
    while frame is not None and not is_device(frame):
        frame = frame.older()
    return frame


def position(frame):
    if frame is None:
        return "?"
    place = frame.find_sal()
    name = frame.name() or "?"
    return "%s at %s:%d" % (name, place.symtab.filename, place.line) if place.symtab else name


class Switched:
    """The processor's registers, while those of another device thread are in their place."""

    saved = None
    thread = None

    @classmethod
    def to(cls, thread):
        cls.back()
        if thread.runs:
            return
        gdb.newest_frame().select()
        cls.saved = {name: int(gdb.selected_frame().read_register(name)) for name in REGISTERS}
        cls.thread = thread.address
        cls.put(thread.registers())

    @classmethod
    def back(cls):
        """Before the program goes on, it must have its own registers."""
        if cls.saved is not None:
            gdb.newest_frame().select()
            cls.put(cls.saved)
        cls.saved = cls.thread = None

    @staticmethod
    def put(values):
        mask = (1 << 64) - 1
        for name in REGISTERS:
            gdb.newest_frame().select()
            gdb.execute("set var $%s = %d" % (name, values[name] & mask))


def current(found):
    """The thread that the commands are about."""
    for thread in found:
        if thread.address == Switched.thread or (Switched.thread is None and thread.runs):
            return thread
    return None


class InfoCuda(gdb.Command):
    """Information about device code."""

    def __init__(self):
        super().__init__("info cuda", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class InfoCudaThreads(gdb.Command):
    """List the threads of the resident blocks, and where each of them is.

    Threads in a row that are at one place are one line. `*` marks the thread that the commands are about."""

    def __init__(self):
        super().__init__("info cuda threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        found = threads()
        if not found:
            print("No block is resident.")
            return
        here, places, groups = current(found), {}, []
        selected = next((t for t in found if t.address == Switched.thread), None)
        for thread in found:
            # Threads that wait at one place with equal stacks are in the same calls.
            key = (thread.runs, thread.state, thread.has_stack())
            if thread.has_stack() and not thread.runs:
                registers = thread.registers()
                words = bytes(gdb.selected_inferior().read_memory(registers["rsp"], 64))
                key += (registers["rip"], words)
            if key not in places:
                places[key] = position(self.frame_of(thread)) if thread.has_stack() else ""
            line = (thread.launch, thread.block, thread.says(), places[key], thread is here)
            if groups and groups[-1][0] == line and thread is not here:
                groups[-1][2] = thread.thread
                groups[-1][3] += 1
            else:
                groups.append([line, thread.thread, thread.thread, 1])
        if selected is None:
            Switched.back()
        else:
            Switched.to(selected)
        frame = device_frame()
        if frame is not None:
            frame.select()
        print("  launch  block      threads                  count  where")
        for (launch, block, says, place, marked), first, last, count in groups:
            span = shown(first) if count == 1 else "%s to %s" % (shown(first), shown(last))
            mark = "*" if marked else " "
            where = "%s, %s" % (says, place) if place else says
            print("%s %-6d  %-9s  %-23s  %5d  %s" % (mark, launch, shown(block), span, count, where))

    @staticmethod
    def frame_of(thread):
        Switched.to(thread)
        return device_frame()


class Gpurace(gdb.Command):
    """Races so far, and device threads."""

    def __init__(self):
        super().__init__("gpurace", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)


class Races(gdb.Command):
    """Print the races at which the program has stopped so far."""

    def __init__(self):
        super().__init__("gpurace races", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        start = address_of("GPURACE_RACES")
        text, size = read(start, 8), read(start + 8, 8)
        if size == 0:
            print("No race so far.")
            return
        memory = gdb.selected_inferior().read_memory(text, size)
        print(bytes(memory).decode("utf-8", "replace"), end="")


class ThreadCommand(gdb.Command):
    """Switch to a device thread: gpurace thread [BLOCK] THREAD

    An index is `x`, `x,y` or `x,y,z`. Without a block it is the current one. `bt`, `up`, `info locals` and `print` are
    then about this thread. Without an argument, the command says which thread is the current one."""

    def __init__(self):
        super().__init__("gpurace thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        found = threads()
        here = current(found)
        words = argument.replace("(", "").replace(")", "").split()
        if not words:
            if here is None:
                print("No device thread runs.")
            else:
                say_where(here)
            return
        if len(words) > 2:
            raise gdb.GdbError("wanted: gpurace thread [BLOCK] THREAD")
        places = [self.index(word) for word in words]
        if len(places) == 1 and here is None:
            raise gdb.GdbError("no device thread runs: name a block, too")
        block = places[0] if len(places) == 2 else here.block
        wanted = [t for t in found if t.block == block and t.thread == places[-1]]
        if not wanted:
            raise gdb.GdbError("block %s has no thread %s now" % (shown(block), shown(places[-1])))
        thread = wanted[-1]
        if not thread.has_stack():
            raise gdb.GdbError("thread %s of block %s: %s" % (shown(thread.thread), shown(block), thread.says()))
        Switched.to(thread)
        say_where(thread)

    @staticmethod
    def index(word):
        try:
            numbers = [int(number) for number in word.split(",") if number]
        except ValueError:
            raise gdb.GdbError("`%s` is no index: wanted `x`, `x,y` or `x,y,z`" % word)
        return tuple((numbers + [0, 0, 0])[:3])


def say_where(thread):
    """Selects the innermost stack frame of device code, and says which thread is there."""
    print("[thread %s of block %s, launch %d: %s]" % (
        shown(thread.thread), shown(thread.block), thread.launch, thread.says()))
    frame = device_frame()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


class SharedMemory(gdb.Function):
    """The start of the current block's shared memory: `p ((float*)$shared_memory())[3]`."""

    def __init__(self):
        super().__init__("shared_memory")

    def invoke(self):
        thread = current(threads())
        if thread is None:
            raise gdb.GdbError("no device thread runs")
        return gdb.Value(thread.shared).cast(gdb.lookup_type("char").pointer())


class WithoutRuntime:
    """Leaves the stack frames of the runtime library out of backtraces. `bt -no-filters` shows them."""

    name, priority, enabled = "gpurace", 100, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return (frame for frame in frames if not self.is_runtime(frame.inferior_frame()))

    @staticmethod
    def is_runtime(frame):
        # Below a device thread's first stack frame there is an address of zero.
        return frame.pc() == 0 or library(frame.pc()).endswith("/libgpurace_rt.so")


def stopped(event):
    """Selects the access, where the program has stopped because it races."""
    if gdb.newest_frame().name() != STOP:
        return
    thread = current(threads())
    if thread is not None:
        say_where(thread)
        return
    # A call of the host has found it.
    frame = gdb.newest_frame()
    while frame is not None and WithoutRuntime.is_runtime(frame):
        frame = frame.older()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


# gdb loads the script again with each program that starts.
if WithoutRuntime.name not in gdb.frame_filters:
    for command in (InfoCuda, InfoCudaThreads, Gpurace, Races, ThreadCommand, SharedMemory, WithoutRuntime):
        command()
    gdb.events.stop.connect(stopped)
    gpurace_back = Switched.back
    for moving in (
        "continue step next stepi nexti finish until advance jump signal call detach kill run start starti".split()
    ):
        gdb.execute("define hook-%s\npython gpurace_back()\nend" % moving)
