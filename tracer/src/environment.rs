//! Sources of environment variables: the process environment, or a layer on top of it.
#![expect(unsafe_code, reason = "vectors of strings that end in null")]

use std::ffi::{CStr, c_char};

pub(crate) trait Environment {
    /// Returns the value of the variable `name`, if set.
    fn get(&self, name: &CStr) -> Option<&[u8]>;

    fn each_name(&self, see: &mut dyn FnMut(&[u8]));
}

/// Iterates over the strings of a null-terminated vector such as argv.
pub(crate) fn strings(vector: *const *const c_char) -> impl Iterator<Item = &'static CStr> {
    let at = move |i: usize| {
        // SAFETY: `i` is inside the vector, since no earlier element was null.
        let place = unsafe { vector.add(i) };
        // SAFETY: `place` is inside the vector, as above.
        unsafe { place.read() }
    };
    // SAFETY: the elements are NUL-terminated strings that the process keeps.
    (0..).map(at).take_while(|string| !string.is_null()).map(|string| unsafe { CStr::from_ptr(string) })
}

/// Environment as a null-terminated vector of `NAME=value` strings, the form that the kernel, main and exec(3) use.
pub(crate) struct Variables(pub(crate) *const *const c_char);

impl Environment for Variables {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        strings(self.0).find_map(|string| string.to_bytes().strip_prefix(name.to_bytes())?.strip_prefix(b"="))
    }

    fn each_name(&self, see: &mut dyn FnMut(&[u8])) {
        strings(self.0).filter_map(|string| string.to_bytes().split(|&byte| byte == b'=').next()).for_each(see);
    }
}

#[cfg(test)]
impl Environment for &[(&CStr, &str)] {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        self.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.as_bytes())
    }

    fn each_name(&self, see: &mut dyn FnMut(&[u8])) {
        self.iter().for_each(|(name, _)| see(name.to_bytes()));
    }
}
