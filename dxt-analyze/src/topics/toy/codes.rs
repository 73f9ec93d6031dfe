//! The codes of the findings of this topic, and what `explain` says of each.

use crate::findings::codes;

codes! {
    TOY = "DXT-Z001",
        "There are reads.",
        "They are counted.",
        "Nothing.",
        "ours";
}
