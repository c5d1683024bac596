//! The order of a graph's nodes on a backend that runs them later. Streams and events of the backend
//! make it. A graph is launched node by node: each node of each launch is an operation with a number
//! of its own.

use crate::host::errors::Result;
use crate::host::types::{EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};
use crate::order::StreamId;
use crate::work::Process;
use crate::work::graph::Id;

/// Points of a graph's launches for which operations of other streams wait.
#[derive(Clone, Debug, Default)]
pub struct GraphPoints {
    /// The event of each point, made when it is first needed.
    events: Vec<Option<Id>>,
}

/// A point of a graph's launch.
#[derive(Clone, Copy, Debug)]
pub enum GraphPoint {
    /// The launch of the graph begins.
    Begin,
    /// It ends.
    End,
    /// A step is over.
    Step(usize),
}

impl GraphPoint {
    const fn index(self) -> usize {
        match self {
            Self::Begin => 0,
            Self::End => 1,
            Self::Step(step) => 2 + step,
        }
    }
}

impl GraphPoints {
    /// Records that a stream has reached a point.
    pub fn reach(&mut self, process: &Process, point: GraphPoint, stream: StreamId) -> Result {
        let index = point.index();
        if self.events.len() <= index {
            self.events.resize(index + 1, None);
        }
        let event = match self.events[index] {
            Some(event) => event,
            None => {
                let event = process.graphs.lock().number();
                process.backend().create_event(event, EVENT_DISABLE_TIMING)?;
                *self.events[index].insert(event)
            }
        };
        process.backend().record(event, stream)
    }

    /// Lets later operations of a stream wait for a point, in the launch that has reached it last.
    /// If none has, they do not wait.
    pub fn wait(&self, process: &Process, stream: StreamId, point: GraphPoint) -> Result {
        match self.events.get(point.index()).copied().flatten() {
            Some(event) => process.backend().wait_for_event(stream, event),
            None => Ok(()),
        }
    }

    /// Destroys the events, and the streams of the graph. Submitted work continues.
    pub fn forget(self, process: &Process, streams: &[Option<StreamId>]) {
        let Some(backend) = process.program().backend.if_chosen() else { return };
        for event in self.events.into_iter().flatten() {
            backend.destroy_event(event);
        }
        for &stream in streams.iter().flatten() {
            backend.destroy_stream(stream);
        }
    }
}

/// Makes a stream for part of a graph.
pub fn make_stream(process: &Process, stream: StreamId) -> Result {
    process.backend().create_stream(stream, STREAM_NON_BLOCKING, 0)
}
