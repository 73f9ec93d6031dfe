//! What a component's flags and pattern say about whether its objects hold the file's bytes.

use super::Component;

/// Flags of a component: `LCME_FL_*` in Lustre's `lustre_user.h`.
pub mod flag {
    /// Its bytes are out of date: another mirror was written.
    pub const STALE: u32 = 0x1;
    /// Reads shall prefer this mirror.
    pub const PREFERRED_FOR_READING: u32 = 0x2;
    /// Writes shall prefer this mirror.
    pub const PREFERRED_FOR_WRITING: u32 = 0x4;
    /// Its targets are not to be used.
    pub const OFFLINE: u32 = 0x8;
    /// It has objects.
    pub const INIT: u32 = 0x10;
    /// Room into which the component before it may grow (self-extending layouts); never has objects.
    pub const EXTENSION: u32 = 0x40;
    /// It holds parity of another mirror, not the file's bytes.
    pub const PARITY: u32 = 0x80;
}

/// Pattern bits of a component: `LOV_PATTERN_*` in Lustre's `lustre_user.h`.
pub mod pattern {
    /// Stripes over targets.
    pub const RAID0: u32 = 0x1;
    /// On the metadata target.
    pub const METADATA: u32 = 0x100;
    /// Several objects may lie on one target.
    pub const OVERSTRIPED: u32 = 0x200;
    /// Somewhere that is not Lustre's.
    pub const FOREIGN: u32 = 0x400;
    /// Its data were moved to an archive.
    pub const RELEASED: u32 = 0x8000_0000;
}

/// Whether a component takes part, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It has objects with the file's bytes.
    InUse,
    /// Nothing was written there yet: it has no objects.
    NotInitialized,
    /// Another mirror was written since.
    Stale,
    /// Its targets are not to be used.
    Offline,
    /// Room for the component before it.
    Extension,
    /// Parity of another mirror.
    Parity,
    /// Its data lie outside of Lustre.
    Foreign,
    /// Its data were moved to an archive.
    Released,
}

impl Standing {
    /// As reports write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InUse => "in use",
            Self::NotInitialized => "not initialized",
            Self::Stale => "stale",
            Self::Offline => "offline",
            Self::Extension => "extension",
            Self::Parity => "parity",
            Self::Foreign => "foreign",
            Self::Released => "released",
        }
    }

    /// From a component's flags and pattern.
    #[must_use]
    pub const fn of(flags: u32, pattern: u32) -> Self {
        if pattern & pattern::FOREIGN != 0 {
            Self::Foreign
        } else if flags & flag::PARITY != 0 {
            Self::Parity
        } else if flags & flag::EXTENSION != 0 {
            Self::Extension
        } else if flags & flag::STALE != 0 {
            Self::Stale
        } else if flags & flag::OFFLINE != 0 {
            Self::Offline
        } else if pattern & pattern::RELEASED != 0 {
            Self::Released
        } else if flags & flag::INIT == 0 {
            Self::NotInitialized
        } else {
            Self::InUse
        }
    }
}

impl Component {
    /// Whether it takes part, and if not, why.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing::of(self.flags, self.pattern)
    }

    /// Whether a target has several of its objects.
    #[must_use]
    pub fn is_overstriped(&self) -> bool {
        let mut targets = self.targets.clone();
        targets.sort_unstable();
        targets.windows(2).any(|pair| pair.first() == pair.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_current_objects_are_in_use() {
        let standing = |flags, pattern| Standing::of(flags, pattern);
        assert_eq!(standing(flag::INIT, pattern::RAID0), Standing::InUse);
        assert_eq!(standing(flag::INIT | flag::PREFERRED_FOR_WRITING, pattern::OVERSTRIPED | 1), Standing::InUse);
        assert_eq!(standing(0, pattern::RAID0), Standing::NotInitialized);
        assert_eq!(standing(flag::INIT | flag::STALE, pattern::RAID0), Standing::Stale);
        assert_eq!(standing(flag::INIT | flag::OFFLINE, pattern::RAID0), Standing::Offline);
        assert_eq!(standing(flag::EXTENSION, pattern::RAID0), Standing::Extension);
        assert_eq!(standing(flag::INIT | flag::PARITY, pattern::RAID0), Standing::Parity);
        assert_eq!(standing(flag::INIT, pattern::RAID0 | pattern::RELEASED), Standing::Released);
        assert_eq!(standing(flag::INIT, pattern::FOREIGN), Standing::Foreign);
    }

    #[test]
    fn overstriping_is_seen_in_the_targets() {
        let component = |targets: Vec<u32>| {
            let count = targets.len() as u32;
            super::super::Layout::plain(1, count, targets).components.remove(0)
        };
        assert!(component(vec![3, 4, 3]).is_overstriped());
        assert!(!component(vec![3, 4, 5]).is_overstriped() && !component(vec![]).is_overstriped());
    }
}
