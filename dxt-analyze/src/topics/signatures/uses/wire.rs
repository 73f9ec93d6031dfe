//! Encoding of protocol buffers: a message is a list of fields, a field consists of tag and value, and numbers are varints of 7 bits per
//! byte (<https://protobuf.dev/programming-guides/encoding/>). As in proto3, fields that are 0 or empty are omitted.

/// Message that is being encoded.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Returns the encoded bytes of the message.
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

    /// Appends a field with an unsigned number or a boolean; omits it if 0.
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    /// Appends a field with a signed number (sint64) in zigzag encoding (0, -1, 1, -2, ...), which is short near 0.
    pub fn signed(&mut self, field: u64, value: i64) {
        self.number(field, zigzag(value));
    }

    /// Appends a field with several signed numbers in packed encoding, zeros included.
    pub fn all_signed(&mut self, field: u64, values: &[i64]) {
        let mut packed = Self::default();
        for &value in values {
            packed.varint(zigzag(value));
        }
        self.bytes(field, &packed.0);
    }

    /// Appends a field with bytes or text; omits it if empty.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.delimited(field, bytes);
        }
    }

    /// Appends a field with an inner message, even if that is empty.
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
