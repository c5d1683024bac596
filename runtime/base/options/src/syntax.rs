//! Splits a string into `key=value` items.

use crate::OptionsError;

/// One `key=value`. The value has no quotes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

/// Returns the items of a string. `allows_colon` is true for a key whose value may have a `:` outside quotes.
/// Nothing follows an error.
pub(crate) fn items<'a>(
    text: &'a str,
    allows_colon: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Result<Item<'a>, OptionsError>> + 'a {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ':' || c.is_whitespace());
        if rest.is_empty() {
            return None;
        }
        let (item, after) = match next_item(rest, &allows_colon) {
            Ok((item, after)) => (Ok(item), after),
            Err(error) => (Err(error), ""),
        };
        rest = after;
        Some(item)
    })
}

/// Returns the first item of a string, and the rest. The string does not start with `:` or white space.
fn next_item<'a>(
    text: &'a str,
    allows_colon: &impl Fn(&str) -> bool,
) -> Result<(Item<'a>, &'a str), OptionsError> {
    let key_end = text.find([':', '=']).unwrap_or(text.len());
    let key = text[..key_end].trim_end();
    let Some(value_on) = text[key_end..].strip_prefix('=') else {
        return Err(OptionsError::NoEquals { item: key.to_owned() });
    };

    if let Some(quote) = value_on.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let quoted = &value_on[1..];
        let Some(end) = quoted.find(quote) else {
            return Err(OptionsError::Quote {
                item: text.to_owned(),
                found: "the end of the string".to_owned(),
                wanted: format!("a closing `{quote}`"),
            });
        };
        let (value, after) = (&quoted[..end], quoted[end + 1..].trim_start());
        return match after.chars().next() {
            None | Some(':') => Ok((Item { key, value }, after)),
            Some(other) => Err(OptionsError::Quote {
                item: text[..text.len() - after.len()].to_owned(),
                found: format!("`{other}` after the closing quote"),
                wanted: "`:` or the end of the string".to_owned(),
            }),
        };
    }

    let mut end = value_on.find(':').unwrap_or(value_on.len());
    if allows_colon(key) {
        while end < value_on.len() && !starts_item(&value_on[end + 1..]) {
            end = value_on[end + 1..].find(':').map_or(value_on.len(), |at| end + 1 + at);
        }
        // Colons at the end belong to empty items.
        end = value_on[..end].trim_end_matches(':').len();
    }
    Ok((Item { key, value: value_on[..end].trim() }, &value_on[end..]))
}

/// True if the text after a `:` starts with `key=`, so that the `:` is a separator.
fn starts_item(text: &str) -> bool {
    let text = text.trim_start();
    let key = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    key.len() < text.len() && key.trim_start().starts_with('=')
}
