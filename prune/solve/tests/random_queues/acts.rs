//! Random steps of a kernel.

use gpurace_random::Random;

/// The threads that make a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Who {
    First,
    Second,
    Odd,
    All,
}

impl Who {
    pub fn has(self, thread: usize) -> bool {
        match self {
            Self::First => thread == 0,
            Self::Second => thread == 1,
            Self::Odd => thread % 2 == 1,
            Self::All => true,
        }
    }
}

/// One step of a random kernel. Values have numbers.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sets a counter to 0.
    Reset {
        who: Who,
        counter: usize,
    },
    /// `value = atomicAdd(counter, added)`, or with this value added to what it adds.
    Take {
        who: Who,
        counter: usize,
        added: i64,
        more: Option<usize>,
        value: usize,
    },
    /// `value = counter`
    Count {
        counter: usize,
        value: usize,
    },
    /// `word = value + plus`
    Tell {
        who: Who,
        word: usize,
        value: usize,
        plus: i64,
    },
    /// `value = word`
    Hear {
        word: usize,
        value: usize,
    },
    /// `if (threadIdx.x < guard) array[value + threadIdx.x]`
    Fill {
        array: usize,
        value: usize,
        guard: usize,
    },
    /// `array[value + scale * place]`
    Put {
        who: Who,
        array: usize,
        value: usize,
        place: usize,
        scale: i64,
    },
    /// `array[(scale * value + plus) * 4 + (threadIdx.x or 0)]`
    Use {
        who: Who,
        array: usize,
        value: usize,
        scale: i64,
        plus: i64,
        own: bool,
    },
    Sync,
    /// `do { ... } while (value < bound);`
    Rounds {
        body: Vec<Act>,
        value: usize,
        bound: i64,
    },
    /// `for (...) { ...; if (value >= bound) break; ... }`
    Breaks {
        body: Vec<Act>,
        rest: Vec<Act>,
        value: usize,
        bound: i64,
        most: i64,
    },
    /// `if (value < bound) { ... }`
    If {
        body: Vec<Act>,
        value: usize,
        bound: i64,
    },
}

/// A value that a step may use, and the threads that have it.
type Known = Vec<(usize, Who)>;

/// Makes random steps.
pub struct Maker<'r> {
    pub r: &'r mut Random,
    pub values: usize,
    /// Each word and counter has one use only, mostly as it should be.
    pub tidy: bool,
    pub hands: usize,
}

impl Maker<'_> {
    fn value(&mut self) -> usize {
        self.values += 1;
        self.values - 1
    }

    /// The number of a counter or word.
    fn which(&mut self) -> usize {
        if self.tidy { self.hands % 2 } else { self.r.below(2usize) }
    }

    fn of_all(&mut self, known: &Known) -> Option<usize> {
        let all: Vec<usize> =
            known.iter().filter(|(_, who)| *who == Who::All).map(|(value, _)| *value).collect();
        (!all.is_empty()).then(|| self.r.pick(&all))
    }

    /// A queue: one thread takes a number for all.
    fn hand(&mut self, known: &mut Known, acts: &mut Vec<Act>) {
        let (taken, heard) = (self.value(), self.value());
        let rare = if self.tidy { 4 } else { 15 };
        let who = if self.r.chance(100 - rare) {
            Who::First
        } else {
            self.r.pick(&[Who::Second, Who::Odd, Who::All])
        };
        let teller = if self.r.chance(100 - rare) { who } else { self.r.pick(&[Who::First, Who::Second]) };
        let (counter, word) = (self.which(), self.which());
        self.hands += 1;
        let added = if self.r.chance(rare) { 0 } else { self.r.pick(&[1, 1, 2]) };
        acts.push(Act::Take { who, counter, added, more: None, value: taken });
        let plus = self.r.pick(&[0, 0, 0, 1]);
        let tell = Act::Tell { who: teller, word, value: taken, plus };
        let hear = Act::Hear { word, value: heard };
        let late = self.r.chance(rare);
        if !late && (teller == who || who == Who::All) {
            acts.push(tell.clone());
        }
        if self.r.chance(100 - rare) {
            acts.push(Act::Sync);
        }
        acts.push(hear);
        if self.r.chance(100 - 2 * rare) {
            acts.push(Act::Sync);
        }
        if late && (teller == who || who == Who::All) {
            acts.push(tell);
        }
        known.push((taken, who));
        known.push((heard, Who::All));
    }

    /// The threads add to the counter of their block, and the first one takes as many places for all.
    fn append(&mut self, known: &mut Known, acts: &mut Vec<Act>) {
        let [added, before, taken, after, start] = [(); 5].map(|()| self.value());
        let mostly = |r: &mut Random, acts: &mut Vec<Act>| {
            if r.chance(93) {
                acts.push(Act::Sync);
            }
        };
        let first = |r: &mut Random| if r.chance(96) { Who::First } else { Who::Second };
        let who = first(self.r);
        acts.push(Act::Reset { who, counter: 0 });
        mostly(self.r, acts);
        let taker = self.r.pick(&[Who::All, Who::All, Who::Odd]);
        let take =
            Act::Take { who: taker, counter: 0, added: self.r.pick(&[1, 1, 2]), more: None, value: added };
        let count = Act::Count { counter: 0, value: before };
        let early = self.r.chance(7);
        if early {
            acts.push(count.clone());
            mostly(self.r, acts);
        }
        acts.push(take.clone());
        mostly(self.r, acts);
        if !early {
            acts.push(count);
        }
        if self.r.chance(7) {
            acts.push(Act::Sync);
            acts.push(take);
            mostly(self.r, acts);
        }
        let (who, less) = (first(self.r), i64::from(self.r.chance(5)));
        acts.push(Act::Take { who, counter: 1, added: -less, more: Some(before), value: taken });
        acts.push(Act::Tell { who, word: 0, value: taken, plus: 0 });
        mostly(self.r, acts);
        let again = self.r.chance(50);
        if again {
            acts.push(Act::Count { counter: 0, value: after });
        }
        acts.push(Act::Hear { word: 0, value: start });
        let guard = if again { after } else { before };
        let array = self.r.below(2usize);
        if self.r.chance(50) {
            acts.push(Act::Fill { array, value: start, guard });
        } else {
            let scale = self.r.pick(&[1, 1, 1, 2]);
            acts.push(Act::Put { who: taker, array, value: start, place: added, scale });
        }
        mostly(self.r, acts);
        known.push((start, Who::All));
    }

    /// Returns steps. `known` has the values that they may use.
    pub fn acts(&mut self, depth: u32, known: &mut Known) -> Vec<Act> {
        let mut acts = Vec::new();
        for _ in 0..1 + self.r.below(3u32) {
            if !self.tidy && self.hands == 0 && self.r.chance(40) {
                self.hands += 1;
                self.append(known, &mut acts);
                continue;
            }
            match self.r.below(12u32) {
                0..=5 if self.tidy && self.hands >= 2 => {}
                0 | 1 => self.hand(known, &mut acts),
                2 if !self.tidy => {
                    let value = self.value();
                    let who = self.r.pick(&[Who::All, Who::All, Who::First]);
                    let counter = self.r.below(2usize);
                    acts.push(Act::Take { who, counter, added: self.r.pick(&[1, 1, 2]), more: None, value });
                    known.push((value, who));
                }
                3 if !self.tidy && self.r.chance(40) => {
                    let who = self.r.pick(&[Who::First, Who::First, Who::All]);
                    acts.push(Act::Reset { who, counter: self.r.below(2usize) });
                }
                2..=5 if depth < 2 => {
                    let mut inner = known.clone();
                    let mut body = Vec::new();
                    if self.r.chance(80) {
                        self.hand(&mut inner, &mut body);
                    } else {
                        let value = self.value();
                        let added = self.r.pick(&[1, 1, 2]);
                        let (who, counter) = (Who::All, self.which());
                        body.push(Act::Take { who, counter, added, more: None, value });
                        self.hands += 1;
                        inner.push((value, Who::All));
                    }
                    let (value, _) = *inner.last().expect("one was pushed");
                    let bound = self.r.pick(&[4, 6, 9]);
                    if self.r.chance(60) {
                        let within = self.acts(depth + 1, &mut inner);
                        let body_of_if = self.r.chance(80);
                        if body_of_if {
                            body.push(Act::If { body: within, value, bound });
                        } else {
                            body.extend(within);
                        }
                        acts.push(Act::Rounds { body, value, bound });
                    } else {
                        let rest = self.acts(depth + 1, &mut inner);
                        acts.push(Act::Breaks { body, rest, value, bound, most: self.r.pick(&[2, 5]) });
                    }
                }
                6 if depth < 2 => {
                    if let Some(value) = self.of_all(known) {
                        let body = self.acts(depth + 1, &mut known.clone());
                        acts.push(Act::If { body, value, bound: self.r.pick(&[3, 6]) });
                    }
                }
                7 => acts.push(Act::Sync),
                _ if !known.is_empty() => {
                    let (value, who) = self.r.pick(known);
                    let own = self.r.chance(if self.tidy { 95 } else { 60 });
                    let (scale, plus) = (self.r.pick(&[1, 1, 1, 2]), self.r.pick(&[0, 0, 0, 1]));
                    let array = if self.tidy { value / 2 % 2 } else { self.r.below(2usize) };
                    let (scale, plus) = if self.tidy { (1, 0) } else { (scale, plus) };
                    acts.push(Act::Use { who, array, value, scale, plus, own });
                }
                _ => {}
            }
        }
        acts
    }
}
