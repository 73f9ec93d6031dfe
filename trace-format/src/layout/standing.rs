//! Status of layout components, derived from flags and pattern: in use, or the reason why the component holds no current data.

use super::Component;

/// Flags of a layout component: `LCME_FL_*` in Lustre's `lustre_user.h`.
pub mod flag {
    /// The component is out of date, because another mirror was written since.
    pub const STALE: u32 = 0x1;
    /// The mirror is preferred for reads.
    pub const PREFERRED_FOR_READING: u32 = 0x2;
    /// The mirror is preferred for writes.
    pub const PREFERRED_FOR_WRITING: u32 = 0x4;
    /// The component is marked as offline: its targets (OSTs) are not to be used.
    pub const OFFLINE: u32 = 0x8;
    /// The component's objects have been allocated.
    pub const INIT: u32 = 0x10;
    /// The component is a reserved extent into which the previous component may grow (self-extending layouts); it never has objects.
    pub const EXTENSION: u32 = 0x40;
    /// The component contains parity of another mirror instead of the file's bytes.
    pub const PARITY: u32 = 0x80;
}

/// Pattern bits of a layout component: `LOV_PATTERN_*` in Lustre's `lustre_user.h`.
pub mod pattern {
    /// Data of the component is striped over storage targets.
    pub const RAID0: u32 = 0x1;
    /// Data of the component is on the metadata target.
    pub const METADATA: u32 = 0x100;
    /// Overstriping: one target may have several objects of the component.
    pub const OVERSTRIPED: u32 = 0x200;
    /// Data of the component is outside of Lustre.
    pub const FOREIGN: u32 = 0x400;
    /// Data of the component was moved to an archive (released).
    pub const RELEASED: u32 = 0x8000_0000;
}

/// Status of a layout component: in use, or the reason why it holds no current data of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Objects of the component contain the file's current bytes.
    InUse,
    /// Component has no objects, because nothing was written to its extent yet.
    NotInitialized,
    /// Component is out of date, because another mirror was written since.
    Stale,
    /// Component is marked as offline: its targets (OSTs) are not to be used.
    Offline,
    /// Component is a reserved extent into which the previous component may grow.
    Extension,
    /// Component contains parity of another mirror instead of the file's bytes.
    Parity,
    /// Data of the component is outside of Lustre.
    Foreign,
    /// Data of the component was moved to an archive.
    Released,
}

impl Standing {
    /// Returns the status's name as shown in reports.
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

    /// Returns the status that a component's flags and pattern imply.
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
    /// Returns the status of the component: in use, or the reason why it holds no current data of the file.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing::of(self.flags, self.pattern)
    }

    /// True if one target stores several objects of the component.
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
