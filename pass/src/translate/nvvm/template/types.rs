//! Types of rows and of functions.

use super::names::ir_type;

/// Types of a function, in IR text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Type of the result.
    pub result: String,
    /// Types of the parameters.
    pub params: Vec<String>,
}

/// Types of a block, as its row writes them.
#[derive(Clone, Debug)]
pub struct OperandTypes {
    /// Of the results.
    pub results: Vec<String>,
    /// Of the parameters.
    pub params: Vec<String>,
    /// Attributes of the function.
    pub attributes: String,
}

impl OperandTypes {
    /// The types of `results(parameters); attributes`.
    pub(super) fn new(text: &str) -> Option<Self> {
        let (types, attributes) = text.split_once(';').unwrap_or((text, "alwaysinline"));
        let (results, params) = types.split_once('(')?;
        // The list ends at the last parenthesis: address spaces have their own.
        let params = params.trim_end().strip_suffix(')')?;
        let list = |text: &str, separator: char| {
            text.split(separator).map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect()
        };
        Some(Self {
            results: list(results, '|'),
            params: list(params, ','),
            attributes: attributes.trim().to_owned(),
        })
    }

    /// The types of the operation on pairs of values.
    pub(super) fn of_pairs(mut self) -> Self {
        for ty in self.results.iter_mut().chain(&mut self.params) {
            if ir_type(&format!("{ty}x2")).is_some() {
                ty.push_str("x2");
            }
        }
        self
    }

    /// The types in IR.
    pub fn signature(&self) -> Signature {
        let ir = |ty: &String| ir_type(ty).map_or(ty.clone(), str::to_owned);
        let result = match &self.results[..] {
            [one] => ir(one),
            several => format!("{{ {} }}", several.iter().map(ir).collect::<Vec<_>>().join(", ")),
        };
        Signature { result, params: self.params.iter().map(ir).collect() }
    }
}

impl Signature {
    /// The signature for one element of each pair.
    pub(super) fn scalar(&self) -> Option<Self> {
        let element = |t: &String| Some(t.strip_prefix("<2 x ")?.strip_suffix('>')?.to_owned());
        Some(Self {
            result: element(&self.result)?,
            params: self.params.iter().map(|t| element(t).unwrap_or_else(|| t.clone())).collect(),
        })
    }

    pub(super) fn arguments(&self, value: impl Fn(usize) -> String) -> String {
        let list: Vec<_> = self.params.iter().enumerate().map(|(i, t)| format!("{t} {}", value(i))).collect();
        list.join(", ")
    }
}
