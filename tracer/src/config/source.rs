//! Where variables come from.

use std::ffi::CStr;

/// Looks a variable up in an environment.
pub(crate) trait Environment {
    /// The variable's value.
    fn get(&self, name: &CStr) -> Option<&[u8]>;
}

#[cfg(test)]
impl Environment for &[(&CStr, &str)] {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        self.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.as_bytes())
    }
}
