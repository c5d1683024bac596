//! What the program changes while it runs: options and suppressions.

use super::Session;
use crate::session::suppress::Suppressions;

impl Session {
    /// Changes options, which have the form of `GPURACE_OPTIONS`.
    ///
    /// # Errors
    /// A message that says why none was changed.
    pub fn change_options(&self, text: &str) -> Result<(), String> {
        let mut options = self.options.write();
        let changed = options.changed(text).map_err(|error| error.to_string())?;
        *options = Box::leak(Box::new(changed));
        Ok(())
    }

    /// Adds suppressions, as lines of a file of suppressions. They leave out what is found from now on.
    ///
    /// # Errors
    /// A message that says which line is wrong. None was added.
    pub fn suppress(&self, lines: &str) -> Result<(), String> {
        let new = Suppressions::parse(lines).map_err(|error| format!("suppressions: line {error}"))?;
        self.suppressions.write().add(new);
        Ok(())
    }
}
