//! Lines of instructions, from a function's table of lines.

/// Returns the line of the instruction at `units` (2 bytes each) by a function's table of lines (CPython, Objects/locations.md); 0 if the table
/// says that there is none. `first`: line at which the function begins.
pub(super) fn line_of(table: impl Iterator<Item = u8>, first: u32, units: usize) -> u32 {
    let mut table = table.peekable();
    let (mut line, mut until) = (i64::from(first), 0);
    while let Some(head) = table.next() {
        until += usize::from(head & 7) + 1;
        // 10 to 12 are steps of so many lines less 10; 13 and 14 have a signed number of variable length; 15 is no line.
        let code = head >> 3 & 15;
        match code {
            10..=12 => line += i64::from(code) - 10,
            13 | 14 => {
                let (mut number, mut shift) = (0_u64, 0);
                while let Some(byte) = table.next_if(|byte| byte & 0x80 == 0) {
                    number |= u64::from(byte & 63).checked_shl(shift).unwrap_or(0);
                    shift += 6;
                    if byte & 64 == 0 {
                        break;
                    }
                }
                let size = (number >> 1) as i64;
                line = line.wrapping_add(if number & 1 == 0 { size } else { size.wrapping_neg() });
            }
            _ => {}
        }
        if until > units {
            return if code == 15 { 0 } else { u32::try_from(line).unwrap_or(0) };
        }
        // Columns: only first bytes of entries have the highest bit.
        while table.next_if(|byte| byte & 0x80 == 0).is_some() {}
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table that CPython 3.13 makes for a function with a loop, a call over several lines and an expression without a place.
    #[test]
    fn lines_are_those_of_the_table() {
        let line = |table: &[u8], units| line_of(table.iter().copied(), 10, units);
        // Two units at line 10 (short form), one at 11 (one-line form), three at 14 (long form, +3), one nowhere, two at 12 (-2).
        let table = [0x81, 0x00, 0xd8, 4, 9, 0xf2, 6, 1, 5, 9, 0xf8, 0xe9, 5];
        let expected = [10, 10, 11, 14, 14, 14, 0, 12, 12];
        assert_eq!(std::array::from_fn(|units| line(&table, units)), expected);
        // Beyond the table, or without one.
        assert_eq!((line(&table, 9), line(&[], 0)), (10, 10));
        // A step of 100 lines: two bytes of 6 bits.
        assert_eq!(line(&[0xe8, 0x40 | 8, 3], 0), 110);
        // Damaged: numbers without end, no first byte.
        assert_eq!(line(&[0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f], 0), 0);
        assert_eq!(line(&[0, 0, 0], 1), 10);
    }
}
