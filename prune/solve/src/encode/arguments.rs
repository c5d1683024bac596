//! Numbers at computed places of a launch's arguments.

use gpurace_protocol::arguments;
use gpurace_protocol::expr::{ExprId, Width};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::range::{Range, Ranges, View};

use super::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// The largest number of rows that facts describe.
const MOST_ROWS: usize = 128;

impl<'a> Encoder<'a> {
    /// Adds the facts about a value that lies at a computed place of a launch's arguments: one for each
    /// row of values with equal distances.
    pub(super) fn argument_facts(
        &mut self,
        f: &mut Frame<'a>,
        launch: &Launch,
        place: ExprId,
        (width, value): (Width, &Lin),
    ) -> Encoded<()> {
        let mut ranges = Ranges::new(self.setting.protocol, self.setting.exprs, Some(launch));
        let Some(places) = arguments::places(&mut ranges, place) else { return Ok(()) };
        // A loop's variable ends behind the last element. What lies there is not known.
        let known = places.map(|at| Some((at, i128::from(launch.computed.value(at, width)?))));
        let known: Vec<_> = known.skip_while(Option::is_none).map_while(|known| known).collect();
        let rows = rows(&known);
        if rows.len() > MOST_ROWS {
            return Ok(());
        }
        let place = self.computed(f, place, View::Signed)?;
        for Row { first, last, value: start, step: (places, values) } in rows {
            // value == start + values * (place - first) / places
            let from_first = place.shifted(-first)?;
            let distance = value.shifted(-start)?.times(places)?.plus(-values, &from_first)?;
            let holds = Formula::eq(&distance, &Lin::constant(0))?;
            let fact = Formula::within(&place, Range::new(first, last))?.implies(holds);
            self.facts.push(fact);
        }
        Ok(())
    }
}

/// Values at equal distances, at places at equal distances.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// The first place, and the last one.
    first: i128,
    last: i128,
    /// The value at the first place.
    value: i128,
    /// The distance of places, which is positive, and that of values.
    step: (i128, i128),
}

/// Returns rows that hold all these places, which ascend, with their values.
fn rows(known: &[(i128, i128)]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut before: Option<(i128, i128)> = None;
    for &(at, value) in known {
        let step = before.map(|(place, last)| (at - place, value - last));
        match (rows.last_mut(), step) {
            (Some(row), Some(step)) if row.first == row.last => {
                (row.last, row.step) = (at, step);
            }
            (Some(row), Some(step)) if row.step == step => row.last = at,
            _ => rows.push(Row { first: at, last: at, value, step: (1, 0) }),
        }
        before = Some((at, value));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_each_value() {
        let row = |first, last, value, step| Row { first, last, value, step };
        assert_eq!(rows(&[(0, 5), (4, 5), (8, 6), (12, 7)]), [row(0, 4, 5, (4, 0)), row(8, 12, 6, (4, 1))]);
        assert_eq!(rows(&[(3, 1)]), [row(3, 3, 1, (1, 0))]);
        assert_eq!(rows(&[]), []);
    }
}
