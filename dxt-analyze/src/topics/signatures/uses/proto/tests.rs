//! Tests of the protocol buffers encoding: decode its output with types and names from the text of the schema only, without the encoder's code.

use super::*;
use std::collections::HashMap;

/// Decoded field value, by its type in the schema.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(u64),
    Signed(i64),
    AllSigned(Vec<i64>),
    Text(String),
    Message(Fields),
}

type Fields = Vec<(String, Value)>;

/// Returns field name and type by (message name, field number).
fn schema() -> HashMap<(String, u64), (String, String)> {
    let mut fields = HashMap::new();
    let mut message = String::new();
    for line in SCHEMA.lines() {
        let words: Vec<&str> =
            line.split("//").next().unwrap_or_default().split_whitespace().filter(|word| *word != "repeated").collect();
        match words.as_slice() {
            ["message", name, "{"] => message = (*name).to_owned(),
            [kind, name, "=", number] => {
                let number = number.trim_end_matches(';').parse().unwrap();
                let clash = fields.insert((message.clone(), number), ((*name).to_owned(), (*kind).to_owned()));
                assert_eq!(clash, None, "a number is given once");
            }
            _ => {}
        }
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
    }
    unreachable!("a varint has at most ten bytes")
}

fn signed_varint(bytes: &mut &[u8]) -> i64 {
    let value = varint(bytes);
    if value.is_multiple_of(2) { (value / 2) as i64 } else { -((value / 2) as i64) - 1 }
}

fn decode(message: &str, mut bytes: &[u8]) -> Fields {
    let mut fields = Fields::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (name, kind) = schema().get(&(message.to_owned(), tag >> 3)).cloned().unwrap();
        let value = match (tag & 7, kind.as_str()) {
            (0, "uint64" | "bool") => Value::Number(varint(&mut bytes)),
            (0, "sint64") => Value::Signed(signed_varint(&mut bytes)),
            (2, kind) => {
                let length = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                if kind == "sint64" {
                    let mut inner = inner;
                    let all = std::iter::from_fn(|| (!inner.is_empty()).then(|| signed_varint(&mut inner)));
                    Value::AllSigned(all.collect())
                } else if kind == "string" {
                    Value::Text(String::from_utf8(inner.to_vec()).unwrap())
                } else {
                    Value::Message(decode(kind, inner))
                }
            }
            other => unreachable!("{other:?} in {message}"),
        };
        fields.push((name, value));
    }
    fields
}

fn number(fields: &Fields, name: &str) -> u64 {
    let of = |value: &Value| if let Value::Number(number) = value { *number } else { 0 };
    fields.iter().find(|(field, _)| field == name).map_or(0, |(_, value)| of(value))
}

fn signed(fields: &Fields, name: &str) -> i64 {
    let of = |value: &Value| if let Value::Signed(number) = value { *number } else { 0 };
    fields.iter().find(|(field, _)| field == name).map_or(0, |(_, value)| of(value))
}

fn text(fields: &Fields, name: &str) -> String {
    let of = |value: &Value| if let Value::Text(text) = value { text.clone() } else { String::new() };
    fields.iter().find(|(field, _)| field == name).map_or(String::new(), |(_, value)| of(value))
}

fn messages<T>(fields: &Fields, name: &str, of: impl Fn(&Fields) -> T) -> Vec<T> {
    let inner = |value: &Value| if let Value::Message(fields) = value { Some(of(fields)) } else { None };
    fields.iter().filter(|(field, _)| field == name).filter_map(|(_, value)| inner(value)).collect()
}

fn signs(fields: &Fields, name: &str) -> Vec<i64> {
    let of = |value: &Value| if let Value::AllSigned(all) = value { all.clone() } else { Vec::new() };
    fields.iter().find(|(field, _)| field == name).map_or(Vec::new(), |(_, value)| of(value))
}

fn node(fields: &Fields) -> Node {
    Node {
        repeats: number(fields, "repeats"),
        repeats_steps: signs(fields, "repeats_steps"),
        body: messages(fields, "body", node),
        intervals: number(fields, "intervals"),
        interval_ns: number(fields, "interval_ns"),
        interval_cv: number(fields, "interval_cv"),
        fixed_interval: number(fields, "fixed_interval") == 1,
        operation: text(fields, "operation"),
        offset: number(fields, "offset"),
        length: number(fields, "length"),
        steps: messages(fields, "steps", |it| Step { offset: signed(it, "offset"), length: signed(it, "length") }),
        view_bytes: number(fields, "view_bytes"),
        view: messages(fields, "view", |it| Dimension { count: number(it, "count"), stride: number(it, "stride") }),
    }
}

fn ranks(fields: &Fields) -> Ranks {
    Ranks { first: number(fields, "first"), last: number(fields, "last"), step: number(fields, "step") }
}

fn pattern(fields: &Fields) -> Pattern {
    let direction = |it: &Fields| Direction {
        members: number(it, "members"),
        ranks: signed(it, "ranks"),
        others: signed(it, "others"),
        shifts: signs(it, "shifts"),
    };
    Pattern {
        file: text(fields, "file"),
        interface: text(fields, "interface"),
        inside: number(fields, "inside") == 1,
        ranks: messages(fields, "ranks", ranks),
        process: text(fields, "process"),
        thread: number(fields, "thread"),
        start_ns: number(fields, "start_ns"),
        last_start_ns: number(fields, "last_start_ns"),
        accesses: number(fields, "accesses"),
        bytes: number(fields, "bytes"),
        directions: messages(fields, "directions", direction),
        nest: messages(fields, "nest", node).pop().unwrap(),
        end_ns: number(fields, "end_ns"),
    }
}

fn rest(fields: &Fields) -> Rest {
    Rest {
        file: text(fields, "file"),
        interface: text(fields, "interface"),
        inside: number(fields, "inside") == 1,
        ranks: messages(fields, "ranks", ranks),
        process: text(fields, "process"),
        thread: number(fields, "thread"),
        start_ns: number(fields, "start_ns"),
        last_start_ns: number(fields, "last_start_ns"),
        accesses: number(fields, "accesses"),
        bytes: number(fields, "bytes"),
        end_ns: number(fields, "end_ns"),
        shortest: number(fields, "shortest"),
        longest: number(fields, "longest"),
        lowest: number(fields, "lowest"),
        highest: number(fields, "highest"),
        pattern_signature: text(fields, "pattern_signature"),
    }
}

/// Returns a message in which each field has a different value.
fn rest_of_all_fields() -> Rest {
    Rest {
        file: "/scratch/log".to_owned(),
        interface: "POSIX".to_owned(),
        inside: true,
        ranks: vec![Ranks { first: 1, last: 3, step: 2 }],
        process: "pid 8".to_owned(),
        thread: 4,
        start_ns: 5,
        last_start_ns: 6,
        accesses: 7,
        bytes: 8,
        end_ns: 9,
        shortest: 10,
        longest: 11,
        lowest: 12,
        highest: 13,
        pattern_signature: "{READ}".to_owned(),
    }
}

fn access(offset: u64) -> Node {
    let steps = vec![Step { offset: 32_768, length: 0 }, Step { offset: 0, length: -1 }];
    Node { offset, length: 4_096, operation: "read".to_owned(), steps, ..Node::default() }
}

fn nested() -> Pattern {
    let body = vec![access(0), access(8_192)];
    let nest = Node {
        repeats: 100,
        repeats_steps: vec![0, -3],
        body,
        intervals: 99,
        interval_ns: 2_000_000,
        interval_cv: 7,
        fixed_interval: true,
        ..Node::default()
    };
    Pattern {
        file: "/scratch/é file".to_owned(),
        interface: "MPIIO".to_owned(),
        inside: true,
        ranks: vec![Ranks { first: 0, last: 4_095, step: 1 }, Ranks { first: 9_000, last: 9_000, step: 0 }],
        process: "pid 7".to_owned(),
        thread: 3,
        start_ns: 5,
        last_start_ns: u64::MAX,
        end_ns: u64::MAX,
        accesses: 200,
        bytes: 1 << 40,
        directions: vec![Direction { members: 64, ranks: -1, others: 2, shifts: vec![0, i64::MIN, i64::MAX, -1] }],
        nest,
    }
}

#[test]
fn what_is_written_is_read_back() {
    let ends = Node {
        repeats: u64::MAX,
        offset: u64::MAX,
        length: u64::MAX,
        steps: vec![Step { offset: i64::MIN, length: i64::MAX }, Step::default()],
        view_bytes: 4_096,
        view: vec![Dimension { count: 32, stride: 16_384 }, Dimension { count: u64::MAX, stride: 1 << 40 }],
        ..Node::default()
    };
    let other = Pattern { nest: ends, ..Pattern::default() };
    let patterns = vec![nested(), Pattern::default(), other];
    let written = Signatures {
        version: 1,
        processes: 4_097,
        accesses: 3,
        covered: 2,
        patterns,
        rests: vec![rest_of_all_fields()],
    };
    let fields = decode("Signatures", &encode(&written).unwrap());
    let [version, processes, accesses, covered] =
        ["version", "processes", "accesses", "covered"].map(|name| number(&fields, name));
    let (patterns, rests) = (messages(&fields, "patterns", pattern), messages(&fields, "rests", rest));
    assert_eq!(Signatures { version, processes, accesses, covered, patterns, rests }, written);
}

/// Expected bytes are from the encoding's documentation: 150 is 96 01, zigzag of -2 is 3, and packed numbers follow their length.
#[test]
fn the_bytes_of_a_small_message() {
    let directions = vec![Direction { ranks: -2, shifts: vec![0, 75], ..Direction::default() }];
    let pattern = Pattern { file: "f".to_owned(), start_ns: 150, directions, ..Pattern::default() };
    let bytes = encode(&Signatures { version: 1, patterns: vec![pattern], ..Signatures::default() }).unwrap();
    let inner = [0x0a, 1, b'f', 0x38, 0x96, 0x01, 0x5a, 7, 0x10, 3, 0x22, 3, 0, 0x96, 0x01, 0x62, 0];
    assert_eq!(bytes, [&[0x08, 1, 0x2a, inner.len() as u8][..], &inner].concat());
}

#[test]
fn too_deep_is_an_error_and_not_a_full_stack() {
    let deep = |depth: usize| {
        let nest = (1..depth).fold(access(0), |inner, _| Node { repeats: 2, body: vec![inner], ..Node::default() });
        encode(&Signatures { patterns: vec![Pattern { nest, ..Pattern::default() }], ..Signatures::default() })
    };
    assert!(deep(MOST_DEPTH).is_ok());
    assert_eq!(deep(MOST_DEPTH + 1), Err(TooDeep));
}
