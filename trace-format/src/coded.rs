//! Enumerations stored as numbers, which stay readable if a newer writer has more of them.

/// Implements the conversions from and to `u32`, by which serde encodes an enumeration, for the numbers in the file. Numbers that are not
/// listed become the variant after `else`.
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
