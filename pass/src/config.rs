//! Reads the request of `gclang` to the pass.

use gpurace_abi::plugin::{PassConfig, VARIABLE, VERSION};

/// Reads the configuration from the environment.
///
/// # Errors
/// A message that names what was found and what was wanted.
pub fn from_env() -> Result<PassConfig, String> {
    let text = std::env::var(VARIABLE).map_err(|_| {
        format!("the environment variable `{VARIABLE}` is not set; the plugin is run by `gclang`")
    })?;
    let config: PassConfig = serde_json::from_str(&text).map_err(|e| {
        format!("cannot read `{VARIABLE}`: {e}; `gclang` and the plugin must be of one build")
    })?;
    if config.version != VERSION {
        return Err(format!(
            "`{VARIABLE}` is of version {}, wanted {VERSION}; `gclang` and the plugin must be of one build",
            config.version
        ));
    }
    Ok(config)
}
