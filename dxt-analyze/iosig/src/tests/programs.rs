//! Tests that the loops of random programs are recovered completely.

use super::*;

enum Statement {
    Access { op: u16, offset: u64, length: u64, steps: Vec<i64> },
    Loop { count: u64, body: Vec<Statement> },
}

/// Returns a random block of statements inside `around` loops, with loops nested at most `deepest` deep, and offsets and steps that are
/// multiples of `unit`.
fn block(random: &mut Random, around: usize, deepest: usize, unit: u64) -> Vec<Statement> {
    (0..1 + random.below(3))
        .map(|_| {
            if around < deepest && (around == 0 || random.below(2) == 0) {
                Statement::Loop { count: 3 + random.below(5), body: block(random, around + 1, deepest, unit) }
            } else {
                let steps = (0..around)
                    .map(|_| (random.below(1 << 20).cast_signed() - (1 << 19)) * unit.cast_signed())
                    .collect();
                let offset = random.below(1 << 30) * unit;
                Statement::Access { op: random.below(3) as u16, offset, length: 1 + random.below(4), steps }
            }
        })
        .collect()
}

fn run(body: &[Statement], indices: &mut Vec<u64>, stream: &mut Stream) {
    for statement in body {
        match statement {
            Statement::Access { op, offset, length, steps } => {
                let moved = steps
                    .iter()
                    .zip(indices.iter())
                    .fold(*offset, |at, (step, index)| at.wrapping_add(step.cast_unsigned().wrapping_mul(*index)));
                stream.at(*op, moved, *length);
            }
            Statement::Loop { count, body } => {
                for index in 0..*count {
                    indices.push(index);
                    run(body, indices, stream);
                    indices.pop();
                }
            }
        }
    }
}

fn generate(seed: u64) -> (Vec<Statement>, Stream) {
    let mut random = Random::new(seed);
    let deepest = 1 + random.below(4) as usize;
    let unit = 1 << random.below(13);
    let program = block(&mut random, 0, deepest, unit);
    let mut stream = Stream::default();
    run(&program, &mut Vec::new(), &mut stream);
    (program, stream)
}

/// Returns the accesses of a random program of nested loops.
pub(super) fn stream(seed: u64) -> Stream {
    generate(seed).1
}

#[test]
fn what_random_loops_do_is_recovered_whole() {
    for seed in 0..2000 {
        let (program, stream) = generate(seed);
        let signature = stream.signature();
        let verified = check(&stream.accesses, &signature);
        assert!((verified.coverage() - 1.0).abs() < f64::EPSILON, "seed {seed}: {signature:#?}");
        assert_eq!(signature.items.len(), program.len(), "seed {seed}: {signature:#?}");
    }
}

#[test]
fn nothing_at_all_is_a_panic_or_wrong() {
    // Small numbers, so that many values are equal by chance.
    let mut least: f64 = 1.0;
    for seed in 0..3000 {
        let mut random = Random::new(seed + 77);
        let mut stream = Stream::default();
        let values = 1 + random.below(6);
        let extreme = random.below(2) == 0;
        for _ in 0..random.below(400) {
            let value = random.below(values);
            let offset = if extreme { value.wrapping_sub(2).wrapping_mul(1 << 62) } else { value };
            let length = if extreme && random.below(4) == 0 { u64::MAX - random.below(3) } else { 1 + random.below(2) };
            stream.after(random.below(3), random.below(2) as u16, offset, length);
        }
        least = least.min(check(&stream.accesses, &stream.signature()).coverage());
        let limits = Limits { body: random.below(70) as usize, items: random.below(20) as usize };
        let mut recogniser = Recogniser::new(limits);
        recogniser.push_all(&stream.accesses);
        let signature = recogniser.finish();
        check(&stream.accesses, &signature);
        assert!(signature.items.len() <= limits.items.max(1) + 1);
    }
    assert!((0.0..=1.0).contains(&least));
}

#[test]
fn a_nest_that_is_cut_anywhere_is_exact() {
    for seed in 0..60 {
        let whole = stream(seed).accesses;
        let mut random = Random::new(seed);
        for _ in 0..20 {
            let from = random.below(whole.len() as u64) as usize;
            let to = from + random.below((whole.len() - from) as u64 + 1) as usize;
            let mut cut = whole[..to].to_vec();
            cut.extend_from_slice(&whole[from..]);
            check(&cut, &signature_of(&cut));
        }
    }
}

#[test]
fn small_steps_that_meet_by_chance_stay_exact() {
    for seed in 0..2000 {
        let mut random = Random::new(seed + 500_000);
        let mut stream = Stream::default();
        let rows = 3 + random.below(8);
        let steps: Vec<u64> = (0..3).map(|_| random.below(6)).collect();
        for a in 0..rows {
            for b in 0..3 + random.below(2) {
                for c in 0..steps[2] {
                    stream.at(1, a * steps[0] * 10 + b * steps[1] * 3 + c, 1);
                }
            }
        }
        check(&stream.accesses, &stream.signature());
    }
}
