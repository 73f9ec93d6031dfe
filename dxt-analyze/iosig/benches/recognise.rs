//! Benchmark of the recogniser on decoded columns, on one core, compared with a plain pass that sums all values. Both are timed alternately,
//! so that other load on the machine affects both; the result is the minimum of several repetitions. Asserts nothing, because a measurement
//! is not a test. Run by `scripts/bench.sh signatures`.

use iosig::{Access, Limits, Recogniser, Signature};
use std::hint::black_box;
use std::time::Instant;

/// Number of accesses per benchmarked access pattern, unless `--segments` is given.
const SEGMENTS: usize = 4_000_000;
/// Number of repetitions, unless `--runs` is given.
const RUNS: usize = 7;

/// Columns of a decoded block of segments.
struct Columns {
    stream: Vec<u32>,
    offset: Vec<i64>,
    length: Vec<u64>,
    start: Vec<u64>,
    end: Vec<u64>,
}

/// Function that returns offset and length of the n-th access; its second argument is the state of a random number generator.
type Accesses = Box<dyn Fn(u64, &mut u64) -> (u64, u64)>;

struct Pattern {
    name: String,
    access: Accesses,
    /// Speed to be reached in million segments per second, or maximum time as a multiple of the time of a plain pass (sum of all values).
    aim: &'static str,
}

/// Random number generator xorshift64, which yields equal numbers in each run.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn patterns() -> Vec<Pattern> {
    let new = |name: &str, aim, access: Accesses| Pattern { name: name.into(), aim, access };
    let mut out = vec![
        new("run", "100 M/s", Box::new(|n, _| (n * 4096, 4096))),
        new("runs of 1,000", "100 M/s", Box::new(|n, _| (n % 1000 * 65_536 + n / 1000 * 4096, 4096))),
    ];
    for period in 2..=8 {
        let access = move |n: u64, _: &mut u64| {
            let step = n % period;
            (n / period * (1 << 20) + step * step * 8192, 4096 + step * 512)
        };
        out.push(new(&format!("nest of period {period}"), "20 M/s", Box::new(access)));
    }
    let deep = |n: u64, _: &mut u64| (n % 2 * 8192 + n / 2 % 100 * 32_768 + n / 200 * (1 << 30), 4096);
    out.push(new("2 in 100 in a loop", "20 M/s", Box::new(deep)));
    let anywhere = |_, state: &mut u64| (random(state) % (1 << 40), 4096);
    out.push(new("random", "2 passes", Box::new(anywhere)));
    let blocks = |_, state: &mut u64| (random(state) % (1 << 20) * 4096, 4096);
    out.push(new("random blocks", "2 passes", Box::new(blocks)));
    let both = |_, state: &mut u64| (random(state) % (1 << 40), 1 + random(state) % (1 << 20));
    out.push(new("random, sizes too", "2 passes", Box::new(both)));
    out
}

fn columns(pattern: &Pattern, segments: usize) -> Columns {
    let with = || Vec::with_capacity(segments);
    let mut out = Columns {
        stream: vec![0; segments],
        offset: Vec::with_capacity(segments),
        length: with(),
        start: with(),
        end: with(),
    };
    let (mut state, mut now) = (0x9e37_79b9_7f4a_7c15, 0);
    for n in 0..segments as u64 {
        let (offset, length) = (pattern.access)(n, &mut state);
        now += 900 + random(&mut state) % 200;
        out.offset.push(offset.cast_signed());
        out.length.push(length);
        out.start.push(now);
        out.end.push(now + 500);
    }
    out
}

/// Reads every value once, as a lower bound for the time of a pass.
#[inline(never)]
fn sum(columns: &Columns) -> u64 {
    let places = columns.stream.iter().zip(&columns.offset).zip(&columns.length);
    places.zip(columns.start.iter().zip(&columns.end)).fold(
        0,
        |sum: u64, (((stream, offset), length), (start, end))| {
            sum.wrapping_add(u64::from(*stream))
                .wrapping_add(offset.cast_unsigned())
                .wrapping_add(*length)
                .wrapping_add(start ^ end)
        },
    )
}

/// Recognises the loops as the analyzer does, but without looking up the sequence of accesses to which each call belongs.
#[inline(never)]
fn recognise(columns: &Columns) -> Signature {
    let mut recogniser = Recogniser::new(Limits::default());
    let places = columns.stream.iter().zip(&columns.offset).zip(&columns.length);
    for (((&stream, &offset), &length), (&start_ns, &end_ns)) in places.zip(columns.start.iter().zip(&columns.end)) {
        let Ok(offset) = u64::try_from(offset) else { continue };
        recogniser.push(&Access { op: stream as u16, offset, length, start_ns, end_ns });
    }
    recogniser.finish()
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begin = Instant::now();
    let done = black_box(work());
    (begin.elapsed().as_secs_f64(), done)
}

/// Returns the minimum, because other programs on the machine can only make a run slower.
fn least(of: &[f64]) -> f64 {
    of.iter().copied().fold(f64::INFINITY, f64::min)
}

fn main() -> std::io::Result<()> {
    let mut options = std::env::args().skip(1).filter(|option| option != "--bench");
    let (mut segments, mut runs, mut only) = (SEGMENTS, RUNS, String::new());
    while let Some(option) = options.next() {
        let value = options.next().unwrap_or_default();
        let number = || value.parse::<usize>().map_err(|_| std::io::Error::other(format!("{option} needs a number")));
        match option.as_str() {
            "--segments" => segments = number()?.max(1),
            "--runs" => runs = number()?.max(1),
            "--only" => only = value,
            other => return Err(std::io::Error::other(format!("unknown option {other}"))),
        }
    }
    println!(
        "{segments} segments per pattern, decoded, on one core; the least time of {runs} runs, alternating with a sum of the columns (a pass)"
    );
    println!(
        "{:<20} {:>12} {:>8} {:>8} {:>10} {:>9} {:>9}",
        "pattern", "M segments/s", "ns", "passes", "aim", "covered", "patterns"
    );
    for pattern in patterns().iter().filter(|pattern| pattern.name.starts_with(&only)) {
        let columns = columns(pattern, segments);
        let (mut plain, mut taken) = (Vec::new(), Vec::new());
        let mut found = recognise(&columns);
        for _ in 0..runs {
            let (pass, _) = timed(|| sum(black_box(&columns)));
            let (time, signature) = timed(|| recognise(black_box(&columns)));
            plain.push(pass);
            taken.push(time);
            found = signature;
        }
        let ns = least(&taken) / segments as f64 * 1e9;
        println!(
            "{:<20} {:>12.1} {ns:>8.2} {:>8.1} {:>10} {:>7.1} % {:>9}",
            pattern.name,
            1e3 / ns,
            least(&taken) / least(&plain),
            pattern.aim,
            found.covered as f64 / found.accesses as f64 * 100.0,
            found.patterns().count()
        );
    }
    Ok(())
}
