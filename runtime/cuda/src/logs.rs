//! Memory for the logs of launches: the kernels write them, the host reads them once a launch is over.

use std::mem::size_of;

use gpurace_abi::event::{Event, LogHead};

use crate::driver::{self, Address, Result};

/// Events that memory is made for, at least: 512 KiB.
const LEAST: u64 = 1 << 14;
/// Events that all logs at one time have room for: 128 MiB.
const OF_ALL: u64 = 1 << 22;
/// Events that there is room for before the first launch: 16 MiB. To make room may be to wait for what runs.
const PREPARED: u64 = 1 << 19;

/// What a launch has logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The launch's number.
    pub number: u64,
    /// What its threads did, from the launch's beginning on.
    pub events: Vec<Event>,
    /// It has done more, for which there was no room, or after which a fault came.
    pub is_cut: bool,
    /// [`LogHead::held`].
    pub held: u64,
}

/// Memory for one log, page-locked memory of the host.
#[derive(Debug)]
struct Place {
    head: *mut LogHead,
    /// Its first event, for the device.
    events: Address,
    /// Events that there is room for.
    room: u64,
    /// The launch that has it.
    of: Option<u64>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Logs {
    places: Vec<Place>,
    /// Of launches that are over, whose places others have.
    finished: Vec<Log>,
}

// SAFETY: the places are the driver's memory, valid in all threads.
unsafe impl Send for Logs {}

impl Logs {
    /// Room for the log of a launch, for so many events: where its first event goes, and how many there may be; zeros where there is none.
    ///
    /// # Errors
    /// The driver's; that there is no memory is none.
    pub fn begin(&mut self, number: u64, events: u64) -> Result<(Address, u64)> {
        if events == 0 {
            return Ok((0, 0));
        }
        let room = room_of(events);
        if self.free(room).is_none() {
            let finished = self.take_places(false);
            self.finished.extend(finished);
        }
        if self.free(room).is_none() {
            self.make(room)?;
        }
        let Some(place) = self.free(room) else { return Ok((0, 0)) };
        place.of = Some(number);
        Ok((place.events, place.room.min(events)))
    }

    /// Makes room for launches to come that log so many events at most.
    ///
    /// # Errors
    /// The driver's; that there is no memory is none.
    pub fn prepare(&mut self, events: u64) -> Result {
        if events == 0 {
            return Ok(());
        }
        let room = room_of(events);
        let places = self.places.iter().filter(|place| place.room >= room).count() as u64;
        (places..(PREPARED / room).max(1)).try_for_each(|_| self.make(room))
    }

    /// Makes a place, unless there are enough.
    fn make(&mut self, room: u64) -> Result {
        if self.places.iter().map(|place| place.room).sum::<u64>() + room > OF_ALL {
            return Ok(());
        }
        let size = (room + 1) * size_of::<Event>() as u64;
        match driver::mapped(size) {
            Ok((host, address)) => {
                // SAFETY: the driver has just given so many bytes.
                unsafe { host.cast::<u8>().write_bytes(0, size as usize) };
                self.places.push(Place {
                    head: host.cast(),
                    events: address + size_of::<LogHead>() as u64,
                    room,
                    of: None,
                });
                Ok(())
            }
            Err(error) if error.is_out_of_memory() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The launch that has the room has not begun.
    pub fn give_back(&mut self, number: u64) {
        let place = self.places.iter_mut().find(|place| place.of == Some(number));
        if let Some(place) = place {
            place.of = None;
        }
    }

    /// Whether the launch of this number has room.
    pub fn has(&self, number: u64) -> bool {
        self.places.iter().any(|place| place.of == Some(number))
    }

    /// The smallest place that nobody has and that has so much room.
    fn free(&mut self, room: u64) -> Option<&mut Place> {
        self.places
            .iter_mut()
            .filter(|place| place.of.is_none() && place.room >= room)
            .min_by_key(|place| place.room)
    }

    /// The logs of launches that are over since the last call, by number. After a fault, `faulted`, those of all.
    pub fn take(&mut self, faulted: bool) -> Vec<Log> {
        let mut logs = std::mem::take(&mut self.finished);
        logs.extend(self.take_places(faulted));
        logs.sort_by_key(|log| log.number);
        logs
    }

    fn take_places(&mut self, faulted: bool) -> Vec<Log> {
        let over = |place: &&mut Place| {
            // SAFETY: the place is the driver's memory; the GPU may write it meanwhile.
            place.of.is_some() && (faulted || unsafe { (&raw const (*place.head).over).read_volatile() } != 0)
        };
        self.places.iter_mut().filter(over).filter_map(Place::take).collect()
    }
}

impl Place {
    /// What lies there of a launch that is over, or has ended by a fault; the place is free then.
    fn take(&mut self) -> Option<Log> {
        let number = self.of.take()?;
        // What was written before the head was is read behind it.
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: nothing writes there any more: the launch is over, or the context has ended.
        let head = unsafe { self.head.read_volatile() };
        let logged = if head.over == 0 { self.room } else { head.over - 1 };
        let room = usize::try_from(logged.min(self.room)).ok()?;
        // SAFETY: as above; any bytes are events.
        let all = unsafe { std::slice::from_raw_parts_mut(self.head.add(1).cast::<Event>(), room) };
        let written = all.iter().position(|event| !event.is_complete()).unwrap_or(room);
        let events = all[..written].to_vec();
        all.fill(Event::default());
        // SAFETY: as above.
        unsafe { self.head.write_volatile(LogHead::default()) };
        Some(Log { number, events, is_cut: head.over == 0 || (written as u64) < logged, held: head.held })
    }
}

/// Events that the log of a launch gets room for.
fn room_of(events: u64) -> u64 {
    events.clamp(LEAST, OF_ALL).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place in memory of the test's.
    fn place(memory: &mut [LogHead]) -> Place {
        Place { head: memory.as_mut_ptr(), events: 0, room: LEAST, of: None }
    }

    fn event(n: u32) -> Event {
        Event { block: n, what: 1 << 10, complete: 1, ..Event::default() }
    }

    #[test]
    fn a_log_is_read_once_its_launch_is_over() {
        let mut memory = vec![LogHead::default(); LEAST as usize + 1];
        let at = memory.as_mut_ptr();
        let mut logs = Logs { places: vec![place(&mut memory)], finished: Vec::new() };
        let (_, room) = logs.begin(7, LEAST).unwrap();
        assert_eq!(room, LEAST);
        let events = unsafe { at.add(1).cast::<Event>() };
        let write = move |n: usize, event: Event| unsafe { events.add(n).write(event) };
        (0..3).for_each(|n| write(n, event(n as u32)));
        assert_eq!(logs.take(false), []);
        unsafe { (*at).over = 4 };
        unsafe { (*at).held = 2 };
        let taken = logs.take(false);
        assert_eq!(taken, [Log { number: 7, events: (0..3).map(event).collect(), is_cut: false, held: 2 }]);
        // The next one finds nothing of it.
        logs.begin(8, LEAST).unwrap();
        write(0, event(5));
        write(2, event(6));
        assert_eq!(logs.take(false), []);
        // A fault: what comes behind an event that is missing may rest on it.
        assert_eq!(logs.take(true), [Log { number: 8, events: vec![event(5)], is_cut: true, held: 0 }]);
        // More was done than there is room for.
        logs.begin(9, LEAST).unwrap();
        (0..LEAST as usize).for_each(|n| write(n, event(1)));
        unsafe { (*at).over = LEAST + 2 };
        let taken = logs.take(false);
        assert_eq!((taken.len(), taken[0].events.len(), taken[0].is_cut), (1, LEAST as usize, true));
    }
}
