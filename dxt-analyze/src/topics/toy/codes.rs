//! Codes of the findings of `toy`, and their `explain` texts.

use crate::findings::codes;

codes! {
    TOY = "DXT-Z001",
        "There are reads.",
        "They are counted.",
        "Nothing.",
        "ours";
}
