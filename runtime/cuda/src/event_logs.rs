//! Memory for the event logs of launches. Kernels write the logs. The host reads a log once its
//! launch is over.

use std::mem::size_of;

use gpurace_abi::event::{Event, EventLogHead};

use crate::driver::{self, Address, Result, if_room};

/// The least events that a buffer has room for: 512 KiB.
const LEAST: u64 = 1 << 14;
/// The most events that all buffers together have room for: 128 MiB.
const OF_ALL: u64 = 1 << 22;
/// Events that there is room for before the first launch: 16 MiB. Later allocations may wait for
/// launches that run.
const PREPARED: u64 = 1 << 19;

/// The event log of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    /// The launch's number.
    pub number: u64,
    /// The events, from the launch's beginning on.
    pub events: Vec<Event>,
    /// True if further events are missing: there was no room, or a fault came.
    pub is_cut: bool,
    /// [`EventLogHead::held`].
    pub held: u64,
}

/// Memory for one event log: page-locked memory of the host.
#[derive(Debug)]
struct LogBuffer {
    head: *mut EventLogHead,
    /// The device's address of its first event.
    events: Address,
    /// Number of events that it has room for.
    room: u64,
    /// The number of the launch that has it.
    of: Option<u64>,
}

/// The event logs of all launches.
#[derive(Debug, Default)]
pub struct EventLogs {
    buffers: Vec<LogBuffer>,
    /// Logs of launches that are over, whose buffers other launches have.
    finished: Vec<EventLog>,
}

// SAFETY: the buffers are the driver's memory, valid in all threads.
unsafe impl Send for EventLogs {}

impl EventLogs {
    /// Takes a buffer for the log of a launch of at most so many events. Returns the address of the
    /// first event and the number of events that fit, or zeros if there is no memory.
    pub fn begin(&mut self, number: u64, events: u64) -> Result<(Address, u64)> {
        if events == 0 {
            return Ok((0, 0));
        }
        let room = room_of(events);
        if self.free(room).is_none() {
            let finished = self.take_buffers(false);
            self.finished.extend(finished);
        }
        if self.free(room).is_none() {
            self.make(room)?;
        }
        let Some(buffer) = self.free(room) else { return Ok((0, 0)) };
        buffer.of = Some(number);
        Ok((buffer.events, buffer.room.min(events)))
    }

    /// Makes buffers for later launches that log at most so many events.
    ///
    /// # Errors
    /// The driver's, except out of memory.
    pub fn prepare(&mut self, events: u64) -> Result {
        if events == 0 {
            return Ok(());
        }
        let room = room_of(events);
        let places = self.buffers.iter().filter(|buffer| buffer.room >= room).count() as u64;
        (places..(PREPARED / room).max(1)).try_for_each(|_| self.make(room))
    }

    /// Makes a buffer, unless there are enough, or there is no memory.
    fn make(&mut self, room: u64) -> Result {
        if self.buffers.iter().map(|buffer| buffer.room).sum::<u64>() + room > OF_ALL {
            return Ok(());
        }
        let size = (room + 1) * size_of::<Event>() as u64;
        let Some((host, address)) = if_room(driver::mapped(size))? else { return Ok(()) };
        // SAFETY: the driver has just allocated so many bytes.
        unsafe { host.cast::<u8>().write_bytes(0, size as usize) };
        let events = address + size_of::<EventLogHead>() as u64;
        self.buffers.push(LogBuffer { head: host.cast(), events, room, of: None });
        Ok(())
    }

    /// Takes the buffer back from a launch that could not begin.
    pub fn give_back(&mut self, number: u64) {
        let buffer = self.buffers.iter_mut().find(|buffer| buffer.of == Some(number));
        if let Some(buffer) = buffer {
            buffer.of = None;
        }
    }

    /// True if the launch of this number has a buffer.
    pub fn has(&self, number: u64) -> bool {
        self.buffers.iter().any(|buffer| buffer.of == Some(number))
    }

    /// The smallest free buffer with so much room.
    fn free(&mut self, room: u64) -> Option<&mut LogBuffer> {
        self.buffers
            .iter_mut()
            .filter(|buffer| buffer.of.is_none() && buffer.room >= room)
            .min_by_key(|buffer| buffer.room)
    }

    /// The logs of the launches that have ended since the last call, by number. After a fault
    /// (`faulted`), the logs of all launches.
    pub fn take(&mut self, faulted: bool) -> Vec<EventLog> {
        let mut logs = std::mem::take(&mut self.finished);
        logs.extend(self.take_buffers(faulted));
        logs.sort_by_key(|log| log.number);
        logs
    }

    fn take_buffers(&mut self, faulted: bool) -> Vec<EventLog> {
        let over = |buffer: &&mut LogBuffer| {
            // SAFETY: the buffer is the driver's memory. The GPU may write it meanwhile.
            buffer.of.is_some()
                && (faulted || unsafe { (&raw const (*buffer.head).over).read_volatile() } != 0)
        };
        self.buffers.iter_mut().filter(over).filter_map(LogBuffer::take).collect()
    }
}

impl LogBuffer {
    /// Takes the log of a launch that has ended, by a fault or not, and frees the buffer.
    fn take(&mut self) -> Option<EventLog> {
        let number = self.of.take()?;
        // The events were written before the head.
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: nothing writes there any more: the launch is over, or the context has ended.
        let head = unsafe { self.head.read_volatile() };
        let logged = if head.over == 0 { self.room } else { head.over - 1 };
        let room = usize::try_from(logged.min(self.room)).ok()?;
        // SAFETY: as above. Any bytes are valid events.
        let all = unsafe { std::slice::from_raw_parts_mut(self.head.add(1).cast::<Event>(), room) };
        let written = all.iter().position(|event| !event.is_complete()).unwrap_or(room);
        let events = all[..written].to_vec();
        all.fill(Event::default());
        // SAFETY: as above.
        unsafe { self.head.write_volatile(EventLogHead::default()) };
        Some(EventLog {
            number,
            events,
            is_cut: head.over == 0 || (written as u64) < logged,
            held: head.held,
        })
    }
}

/// Number of events that the log of a launch gets room for.
fn room_of(events: u64) -> u64 {
    events.clamp(LEAST, OF_ALL).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer in the test's memory.
    fn buffer(memory: &mut [EventLogHead]) -> LogBuffer {
        LogBuffer { head: memory.as_mut_ptr(), events: 0, room: LEAST, of: None }
    }

    fn event(n: u32) -> Event {
        Event { block: n, what: 1 << 10, complete: 1, ..Event::default() }
    }

    #[test]
    fn a_log_is_read_once_its_launch_is_over() {
        let mut memory = vec![EventLogHead::default(); LEAST as usize + 1];
        let at = memory.as_mut_ptr();
        let mut logs = EventLogs { buffers: vec![buffer(&mut memory)], finished: Vec::new() };
        let (_, room) = logs.begin(7, LEAST).unwrap();
        assert_eq!(room, LEAST);
        // SAFETY: the buffer has room for the events that the test writes, behind its head.
        let events = unsafe { at.add(1).cast::<Event>() };
        // SAFETY: as above.
        let write = move |n: usize, event: Event| unsafe { events.add(n).write(event) };
        (0..3).for_each(|n| write(n, event(n as u32)));
        assert_eq!(logs.take(false), []);
        // SAFETY: the buffer's head is at its start.
        unsafe { ((*at).over, (*at).held) = (4, 2) };
        let taken = logs.take(false);
        assert_eq!(
            taken,
            [EventLog { number: 7, events: (0..3).map(event).collect(), is_cut: false, held: 2 }]
        );
        // The next launch finds an empty buffer.
        logs.begin(8, LEAST).unwrap();
        write(0, event(5));
        write(2, event(6));
        assert_eq!(logs.take(false), []);
        // After a fault, events behind a missing one may depend on it.
        assert_eq!(logs.take(true), [EventLog { number: 8, events: vec![event(5)], is_cut: true, held: 0 }]);
        // More events than fit.
        logs.begin(9, LEAST).unwrap();
        (0..LEAST as usize).for_each(|n| write(n, event(1)));
        // SAFETY: as above.
        unsafe { (*at).over = LEAST + 2 };
        let taken = logs.take(false);
        assert_eq!((taken.len(), taken[0].events.len(), taken[0].is_cut), (1, LEAST as usize, true));
    }
}
