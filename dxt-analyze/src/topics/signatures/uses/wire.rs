//! The bytes of protocol buffers: a message is its fields, a field a tag and a value, and numbers are varints of 7 bits
//! (<https://protobuf.dev/programming-guides/encoding/>). As proto3 has it, what is 0 or empty is left out.

/// A message that grows.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Its bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number without a sign, or a truth.
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    /// A number with a sign (sint64): those near 0 are short, as they are numbered 0, -1, 1, -2, ...
    pub fn signed(&mut self, field: u64, value: i64) {
        self.number(field, zigzag(value));
    }

    /// Numbers with a sign, packed into one field; all of them, those that are 0 too.
    pub fn all_signed(&mut self, field: u64, values: &[i64]) {
        let mut packed = Self::default();
        for &value in values {
            packed.varint(zigzag(value));
        }
        self.bytes(field, &packed.0);
    }

    /// A text.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.delimited(field, bytes);
        }
    }

    /// A message in this one. One that is empty is there nevertheless.
    pub fn message(&mut self, field: u64, inner: &Self) {
        self.delimited(field, &inner.0);
    }

    fn delimited(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}
