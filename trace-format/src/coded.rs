//! Enumerations stored as numbers. Codes that only newer writers know stay readable.

/// Implements conversions between an enumeration and the `u32` codes by which serde stores it in the file. Unlisted codes (from a newer
/// writer) become the variant after `else`.
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
