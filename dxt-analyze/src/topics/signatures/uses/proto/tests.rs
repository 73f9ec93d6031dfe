//! What is written is read back by a decoder that knows the schema's text and nothing of the encoder: types and names come from it.

use super::*;
use std::collections::HashMap;

/// A decoded value, by the schema's type.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(u64),
    Signed(i64),
    Text(String),
    Message(Fields),
}

type Fields = Vec<(String, Value)>;

/// Message, number of the field: its name and type.
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

fn decode(message: &str, mut bytes: &[u8]) -> Fields {
    let mut fields = Fields::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (name, kind) = schema().get(&(message.to_owned(), tag >> 3)).cloned().unwrap();
        let value = match (tag & 7, kind.as_str()) {
            (0, "uint64" | "bool") => Value::Number(varint(&mut bytes)),
            (0, "sint64") => {
                let value = varint(&mut bytes);
                Value::Signed(if value.is_multiple_of(2) { (value / 2) as i64 } else { -((value / 2) as i64) - 1 })
            }
            (2, kind) => {
                let length = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                if kind == "string" {
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

fn node(fields: &Fields) -> Node {
    Node {
        repeats: number(fields, "repeats"),
        stride: signed(fields, "stride"),
        length_step: signed(fields, "length_step"),
        repeats_step: signed(fields, "repeats_step"),
        interval_ns: number(fields, "interval_ns"),
        fixed_interval: number(fields, "fixed_interval") == 1,
        body: messages(fields, "body", node),
        offset: signed(fields, "offset"),
        length: number(fields, "length"),
        operation: text(fields, "operation"),
    }
}

fn pattern(fields: &Fields) -> Pattern {
    let ranks = |it: &Fields| Ranks { first: number(it, "first"), last: number(it, "last"), step: number(it, "step") };
    Pattern {
        operation: text(fields, "operation"),
        file: text(fields, "file"),
        ranks: messages(fields, "ranks", ranks),
        shift_per_rank: signed(fields, "shift_per_rank"),
        start_ns: number(fields, "start_ns"),
        end_ns: number(fields, "end_ns"),
        nest: messages(fields, "nest", node),
        accesses: number(fields, "accesses"),
        bytes: number(fields, "bytes"),
        thread: number(fields, "thread"),
    }
}

fn access(offset: i64) -> Node {
    Node { repeats: 1, offset, length: 4_096, operation: "MPI_READ_ALL".to_owned(), ..Node::default() }
}

fn nested() -> Pattern {
    let body = vec![access(0), access(8_192)];
    let nest =
        Node { repeats: 100, stride: 32_768, interval_ns: 2_000_000, fixed_interval: true, body, ..Node::default() };
    let ranks = vec![Ranks { first: 0, last: 4_095, step: 1 }, Ranks { first: 9_000, last: 9_000, step: 0 }];
    let file = "/scratch/é file".to_owned();
    Pattern {
        file,
        ranks,
        shift_per_rank: -4_096,
        start_ns: 5,
        end_ns: u64::MAX,
        nest: vec![nest],
        accesses: 200,
        bytes: 1 << 40,
        ..Pattern::default()
    }
}

#[test]
fn what_is_written_is_read_back() {
    let ends = Node {
        repeats: u64::MAX,
        stride: i64::MIN,
        length_step: i64::MAX,
        repeats_step: -1,
        offset: i64::MIN,
        length: u64::MAX,
        ..Node::default()
    };
    let other = Pattern {
        operation: "POSIX_WRITE".to_owned(),
        nest: vec![ends, Node::default(), access(-1)],
        thread: 3,
        ..Pattern::default()
    };
    let written = Signatures { processes: 4_097, patterns: vec![nested(), Pattern::default(), other] };
    let fields = decode("Signatures", &encode(&written).unwrap());
    assert_eq!(number(&fields, "version"), 1);
    let read = Signatures { processes: number(&fields, "processes"), patterns: messages(&fields, "patterns", pattern) };
    assert_eq!(read, written);
}

/// By the encoding's own documentation: 150 is 96 01, and zigzag of -2 is 3.
#[test]
fn the_bytes_of_a_small_message() {
    let pattern = Pattern { file: "f".to_owned(), shift_per_rank: -2, start_ns: 150, ..Pattern::default() };
    let bytes = encode(&Signatures { processes: 0, patterns: vec![pattern] }).unwrap();
    assert_eq!(bytes, [0x08, 1, 0x1a, 8, 0x12, 1, b'f', 0x20, 3, 0x28, 0x96, 0x01]);
}

#[test]
fn too_deep_is_an_error_and_not_a_full_stack() {
    let deep = |depth: usize| {
        let nest = (1..depth).fold(access(0), |inner, _| Node { repeats: 2, body: vec![inner], ..Node::default() });
        encode(&Signatures { processes: 1, patterns: vec![Pattern { nest: vec![nest], ..Pattern::default() }] })
    };
    assert!(deep(MOST_DEPTH).is_ok());
    assert_eq!(deep(MOST_DEPTH + 1), Err(TooDeep));
}
