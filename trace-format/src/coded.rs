//! Enumerations that travel in a trace as a number, and stay readable when a newer writer has more of them.

/// Gives an enumeration its numbers in the file: `From<u32>` and `Into<u32>`, by which serde is told to go. A number
/// that is not listed becomes the variant after `else`.
macro_rules! coded {
    ($name:ident { $($variant:ident = $code:literal),+ $(,)? } else $other:ident) => {
        impl From<u32> for $name {
            fn from(code: u32) -> Self {
                match code {
                    $($code => Self::$variant,)+
                    _ => Self::$other,
                }
            }
        }

        impl From<$name> for u32 {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$variant => $code,)+
                }
            }
        }
    };
}

pub(crate) use coded;
