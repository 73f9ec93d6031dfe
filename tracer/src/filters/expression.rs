//! POSIX extended regular expressions (`regex.h`) for Darshan's trigger files. The C library's functions are not used: they allocate and
//! lock while matching, possibly in a flush inside a signal handler. Works on bytes, as in the C locale, without back references or GNU's
//! escapes. Time is O(text × expression).

/// Maximum number of automaton steps per regular expression, with repetitions expanded.
const MOST_STEPS: usize = 4096;
/// Maximum nesting depth of parentheses in a regular expression.
const MOST_DEPTH: usize = 64;
/// Maximum count in a repetition such as `{2,5}` (RE_DUP_MAX of `limits.h`).
const MOST_REPEATS: usize = 255;

/// Step of the matching automaton (a nondeterministic finite automaton).
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Consumes one byte of the text that is in the set.
    Take(Set),
    /// Continues at both of these step indices (alternatives).
    Fork(usize, usize),
    /// Continues at this step index.
    Jump(usize),
    /// Matches only at the beginning of the text.
    Begin,
    /// Matches only at the end of the text.
    End,
    Found,
}

/// Set of bytes, one bit for each of the 256 values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set([u64; 4]);

impl Set {
    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn one(byte: u8) -> Self {
        let mut set = Self::default();
        set.add(byte);
        set
    }

    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

/// Compiled regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expression(Vec<Step>);

impl Expression {
    /// Compiles the expression `text`.
    ///
    /// # Errors
    /// Returns the reason why the expression is invalid.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let mut parser = Parser { rest: text, depth: 0 };
        let mut program = parser.alternatives()?;
        program.push(Step::Found);
        Ok(Self(program))
    }

    /// True if the expression matches any part of `text`.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        let mut at: Vec<usize> = Vec::new();
        for place in 0..=text.len() {
            let mut met = vec![false; self.0.len()];
            // A match may start at any position.
            at.push(0);
            let mut next = Vec::new();
            while let Some(step) = at.pop() {
                if std::mem::replace(&mut met[step], true) {
                    continue;
                }
                match &self.0[step] {
                    Step::Found => return true,
                    Step::Take(set) if text.get(place).is_some_and(|byte| set.has(*byte)) => next.push(step + 1),
                    Step::Begin if place == 0 => at.push(step + 1),
                    Step::End if place == text.len() => at.push(step + 1),
                    Step::Take(_) | Step::Begin | Step::End => {}
                    Step::Fork(one, other) => at.extend([*one, *other]),
                    Step::Jump(to) => at.push(*to),
                }
            }
            at = next;
        }
        false
    }
}

struct Parser<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn follows(&mut self, byte: u8) -> bool {
        let follows = self.rest.first() == Some(&byte);
        if follows {
            self.rest = &self.rest[1..];
        }
        follows
    }

    /// Parses alternatives separated by `|`, up to the end of the text or the closing parenthesis.
    fn alternatives(&mut self) -> Result<Vec<Step>, &'static str> {
        let mut all = self.branch()?;
        while self.follows(b'|') {
            let other = self.branch()?;
            let (one, end) = (all.len(), all.len() + other.len() + 2);
            let mut both = vec![Step::Fork(1, one + 2)];
            append(&mut both, &all)?;
            both.push(Step::Jump(end));
            append(&mut both, &other)?;
            all = both;
        }
        Ok(all)
    }

    fn branch(&mut self) -> Result<Vec<Step>, &'static str> {
        let mut all = Vec::new();
        while let Some(first) = self.rest.first() {
            match first {
                b'|' => break,
                b')' if self.depth > 0 => break,
                b'*' | b'+' | b'?' | b'{' => return Err("a repetition operator follows nothing"),
                _ => {}
            }
            let is_anchor = matches!(first, b'^' | b'$');
            let mut atom = self.atom()?;
            if is_anchor && self.rest.first().is_some_and(|next| b"*+?{".contains(next)) {
                return Err("a repetition operator follows nothing");
            }
            loop {
                atom = match self.rest.first() {
                    Some(b'*') => repeated(&atom, 0, None)?,
                    Some(b'+') => repeated(&atom, 1, None)?,
                    Some(b'?') => repeated(&atom, 0, Some(1))?,
                    Some(b'{') => {
                        self.rest = &self.rest[1..];
                        let (least, most) = self.interval()?;
                        atom = repeated(&atom, least, most)?;
                        continue;
                    }
                    _ => break,
                };
                self.rest = &self.rest[1..];
            }
            append(&mut all, &atom)?;
        }
        Ok(all)
    }

    fn atom(&mut self) -> Result<Vec<Step>, &'static str> {
        let one = |step| Ok(vec![step]);
        match self.next() {
            Some(b'(') => {
                self.depth += 1;
                if self.depth > MOST_DEPTH {
                    return Err("too many nested parentheses");
                }
                let inside = self.alternatives()?;
                if !self.follows(b')') {
                    return Err("a parenthesis is not closed");
                }
                self.depth -= 1;
                Ok(inside)
            }
            Some(b'[') => one(Step::Take(self.bracket()?)),
            Some(b'.') => one(Step::Take(Set::default().not())),
            Some(b'^') => one(Step::Begin),
            Some(b'$') => one(Step::End),
            Some(b'\\') => match self.next() {
                None => Err("a backslash at the end"),
                Some(byte) if byte.is_ascii_alphanumeric() || b"<>`'".contains(&byte) => {
                    Err("a back reference or an escape that POSIX does not define")
                }
                Some(byte) => one(Step::Take(Set::one(byte))),
            },
            Some(byte) => one(Step::Take(Set::one(byte))),
            None => Ok(Vec::new()),
        }
    }

    /// Parses the interval of a repetition after the opening brace: `2}`, `2,}`, `,3}` or `2,3}`. Returns (minimum, maximum if any).
    fn interval(&mut self) -> Result<(usize, Option<usize>), &'static str> {
        const WRONG: &str = "an invalid interval";
        let end = self.rest.iter().position(|byte| *byte == b'}').ok_or(WRONG)?;
        let text = std::str::from_utf8(&self.rest[..end]).map_err(|_| WRONG)?;
        self.rest = &self.rest[end + 1..];
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| digits && *number <= MOST_REPEATS).ok_or(WRONG)
        };
        let (least, most) = match text.split_once(',') {
            None => (number(text)?, Some(number(text)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (if least.is_empty() { 0 } else { number(least)? }, Some(number(most)?)),
        };
        if most.is_some_and(|most| most < least) { Err(WRONG) } else { Ok((least, most)) }
    }

    /// Parses a bracket expression after the opening bracket.
    fn bracket(&mut self) -> Result<Set, &'static str> {
        const OPEN: &str = "a bracket is not closed";
        let others = self.follows(b'^');
        let (mut set, mut is_first) = (Set::default(), true);
        loop {
            let byte = self.next().ok_or(OPEN)?;
            if byte == b']' && !is_first {
                return Ok(if others { set.not() } else { set });
            }
            is_first = false;
            if byte == b'[' && self.rest.first() == Some(&b':') {
                let name = self.named(b':')?;
                let class = class(name)?;
                (0..=u8::MAX).filter(class).for_each(|byte| set.add(byte));
                continue;
            }
            let first = self.element(byte)?;
            // A minus sign just before the closing bracket is literal.
            if self.rest.first() == Some(&b'-') && self.rest.get(1).is_some_and(|next| *next != b']') {
                self.rest = &self.rest[1..];
                let byte = self.next().ok_or(OPEN)?;
                let last = self.element(byte)?;
                if last < first {
                    return Err("a range in reverse order");
                }
                (first..=last).for_each(|byte| set.add(byte));
            } else {
                set.add(first);
            }
        }
    }

    /// Parses a bracket element that begins with `byte`: the byte itself, `[.x.]` or `[=x=]`.
    fn element(&mut self, byte: u8) -> Result<u8, &'static str> {
        match self.rest.first() {
            Some(&kind @ (b'.' | b'=')) if byte == b'[' => match self.named(kind)? {
                [one] => Ok(*one),
                _ => Err("a name in a bracket that the C locale does not define"),
            },
            Some(b':') if byte == b'[' => Err("a range of character classes"),
            _ => Ok(byte),
        }
    }

    /// Returns the name in a bracket element such as `[:digit:]`: the text up to the terminator, which is `mark` followed by `]`.
    fn named(&mut self, mark: u8) -> Result<&[u8], &'static str> {
        let inside = &self.rest[1..];
        let end = inside.windows(2).position(|two| *two == [mark, b']']).ok_or("a bracket is not closed")?;
        self.rest = &inside[end + 2..];
        Ok(&inside[..end])
    }
}

/// Returns the membership test of the POSIX character class `name`, such as `digit`.
fn class(name: &[u8]) -> Result<fn(&u8) -> bool, &'static str> {
    Ok(match name {
        b"alpha" => u8::is_ascii_alphabetic,
        b"digit" => u8::is_ascii_digit,
        b"alnum" => u8::is_ascii_alphanumeric,
        b"upper" => u8::is_ascii_uppercase,
        b"lower" => u8::is_ascii_lowercase,
        b"punct" => u8::is_ascii_punctuation,
        b"xdigit" => u8::is_ascii_hexdigit,
        b"cntrl" => u8::is_ascii_control,
        b"graph" => u8::is_ascii_graphic,
        b"print" => |byte| byte.is_ascii_graphic() || *byte == b' ',
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"space" => |byte| matches!(byte, b' ' | 9..=13),
        _ => return Err("an unknown character class"),
    })
}

/// Appends `steps` to `all` and adjusts the target indices of `steps`, which are relative to their start.
fn append(all: &mut Vec<Step>, steps: &[Step]) -> Result<(), &'static str> {
    let base = all.len();
    if base + steps.len() > MOST_STEPS {
        return Err("the expression is too long with its repetitions expanded");
    }
    all.extend(steps.iter().map(|step| match step {
        Step::Fork(one, other) => Step::Fork(one + base, other + base),
        Step::Jump(to) => Step::Jump(to + base),
        other => other.clone(),
    }));
    Ok(())
}

/// Returns steps that match `steps` between `least` and `most` times (`None`: without upper limit).
fn repeated(steps: &[Step], least: usize, most: Option<usize>) -> Result<Vec<Step>, &'static str> {
    let mut all = Vec::new();
    for _ in 0..least {
        append(&mut all, steps)?;
    }
    match most {
        None => {
            let begin = all.len();
            append(&mut all, &[Step::Fork(1, steps.len() + 2)])?;
            append(&mut all, steps)?;
            all.push(Step::Jump(begin));
        }
        Some(most) => {
            for _ in least..most {
                append(&mut all, &[Step::Fork(1, steps.len() + 1)])?;
                append(&mut all, steps)?;
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
#[expect(unsafe_code, reason = "the C library's regular expressions, to compare with")]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn is_in(expression: &str, text: &str) -> bool {
        Expression::parse(expression.as_bytes()).unwrap().is_in(text.as_bytes())
    }

    #[test]
    fn expressions_of_darshans_documentation() {
        for (expression, text, expected) in [
            (".h5$", "/a/b.h5", true),
            (".h5$", "/a/b.h5.log", false),
            ("^/tmp", "/tmp/x", true),
            ("^/tmp", "/scratch/tmp/x", false),
            ("[1-2]", "1", true),
            ("[1-2]", "13", true),
            ("^[1-2]$", "13", false),
            ("^/scratch/(a|b)+/[[:alnum:]_]{2,3}\\.dat$", "/scratch/ab/x_1.dat", true),
            ("^/scratch/(a|b)+/[[:alnum:]_]{2,3}\\.dat$", "/scratch/ab/x_12.dat", false),
            ("", "anything", true),
        ] {
            assert_eq!(is_in(expression, text), expected, "{expression} {text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error_and_nothing_takes_long() {
        for wrong in
            ["*a", "a|+", "(a", "[a", "[b-a]", "[[:x:]]", "a{2", "a{3,2}", "a{256}", "a\\", "(a)\\1", "\\w", "{1}"]
        {
            assert!(Expression::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Expression::parse(b"((a{255}){255}){255}").is_err());
        assert!(Expression::parse(&[b'('; 100_000]).is_err());
        let slow = Expression::parse(b"(a*)*(a|aa)+b").unwrap();
        assert!(!slow.is_in(&[b'a'; 4096]));
    }

    /// Returns the C library's match result for each text; `None` if the C library rejects the expression.
    fn by_the_c_library(expression: &[u8], texts: &[Vec<u8>]) -> Option<Vec<bool>> {
        let (expression, mut compiled) = (CString::new(expression).unwrap(), std::mem::MaybeUninit::uninit());
        // SAFETY: the expression ends in NUL, and there is room for the compiled expression.
        if unsafe { libc::regcomp(compiled.as_mut_ptr(), expression.as_ptr(), libc::REG_EXTENDED | libc::REG_NOSUB) }
            != 0
        {
            return None;
        }
        let matches = |text: &Vec<u8>| {
            let text = CString::new(text.clone()).unwrap();
            // SAFETY: the expression was compiled above; no submatches are requested.
            unsafe { libc::regexec(compiled.as_ptr(), text.as_ptr(), 0, std::ptr::null_mut(), 0) == 0 }
        };
        let found = texts.iter().map(matches).collect();
        // SAFETY: the expression was compiled above.
        unsafe { libc::regfree(compiled.as_mut_ptr()) };
        Some(found)
    }

    #[test]
    fn the_c_library_says_the_same() {
        let mut state = 7_u64;
        let mut random = |most: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most
        };
        let bytes = b"aabb./.*+?|()[]^$-{}12,\\:a";
        let (mut both, mut ours_alone) = (0, 0);
        for _ in 0..60_000 {
            let length = 1 + random(9);
            let expression: Vec<u8> = (0..length).map(|_| bytes[random(bytes.len())]).collect();
            let texts: Vec<Vec<u8>> =
                (0..6).map(|_| (0..random(7)).map(|_| b"ab/.12-]"[random(8)]).collect()).collect();
            let Ok(ours) = Expression::parse(&expression) else { continue };
            let Some(theirs) = by_the_c_library(&expression, &texts) else {
                ours_alone += 1;
                continue;
            };
            both += 1;
            let found: Vec<bool> = texts.iter().map(|text| ours.is_in(text)).collect();
            assert_eq!(found, theirs, "{} {texts:?}", String::from_utf8_lossy(&expression));
        }
        assert!(both > 5_000 && ours_alone == 0, "{both} {ours_alone}");
    }
}
