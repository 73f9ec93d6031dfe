//! Names of users, if this machine knows them.

use nix::unistd::{Uid, User};
use rustc_hash::FxHashMap;

/// User names by user id. Each id is looked up only once, since a lookup may involve a directory service.
#[derive(Debug, Default)]
pub(crate) struct Users(FxHashMap<u32, Option<String>>);

impl Users {
    /// Returns the name of the user with this id; `None` if there is none.
    pub(crate) fn name(&mut self, uid: u32) -> Option<String> {
        let name = || User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name);
        self.0.entry(uid).or_insert_with(name).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_known_has_a_name() {
        let mut users = Users::default();
        assert_eq!(users.name(0).as_deref(), Some("root"));
        assert_eq!(users.name(3_999_999_999), None);
    }
}
