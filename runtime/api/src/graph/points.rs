//! What orders the nodes of a graph on a backend that runs them later: its streams and events. The graph is launched node by
//! node, so that each is an operation with a number of its own, in each launch of the graph.

use crate::backend;
use crate::errors::Result;
use crate::graph::{self, Id};
use crate::order::StreamId;

/// `cudaStreamNonBlocking`.
const NON_BLOCKING: u32 = 1;
/// `cudaEventDisableTiming`.
const WITHOUT_TIME: u32 = 2;

/// Points of a graph's launches that operations of other streams wait for.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// The event of each, made when it is first needed.
    events: Vec<Option<Id>>,
}

/// A point.
#[derive(Clone, Copy, Debug)]
pub enum Point {
    /// The launch of the graph begins.
    Begin,
    /// It ends.
    End,
    /// A step is over.
    Step(usize),
}

impl Point {
    const fn index(self) -> usize {
        match self {
            Self::Begin => 0,
            Self::End => 1,
            Self::Step(step) => 2 + step,
        }
    }
}

impl Points {
    /// A stream has come to a point.
    ///
    /// # Errors
    /// The device's.
    pub fn reach(&mut self, point: Point, stream: StreamId) -> Result {
        let index = point.index();
        if self.events.len() <= index {
            self.events.resize(index + 1, None);
        }
        let event = match self.events[index] {
            Some(event) => event,
            None => {
                let event = graph::all().number();
                backend::get().create_event(event, WITHOUT_TIME)?;
                *self.events[index].insert(event)
            }
        };
        backend::get().record(event, stream)
    }

    /// What is submitted to a stream from now on waits for a point, in the launch that came to it last; for none
    /// if no launch has.
    ///
    /// # Errors
    /// The device's.
    pub fn wait(&self, stream: StreamId, point: Point) -> Result {
        match self.events.get(point.index()).copied().flatten() {
            Some(event) => backend::get().wait_for_event(stream, event),
            None => Ok(()),
        }
    }

    /// The graph is gone; what was submitted goes on.
    pub fn forget(self, streams: &[Option<StreamId>]) {
        let Some(backend) = backend::chosen() else { return };
        for event in self.events.into_iter().flatten() {
            backend.destroy_event(event);
        }
        for &stream in streams.iter().flatten() {
            backend.destroy_stream(stream);
        }
    }
}

/// Makes a stream for part of a graph.
///
/// # Errors
/// The device's.
pub fn make_stream(stream: StreamId) -> Result {
    backend::get().create_stream(stream, NON_BLOCKING, 0)
}
