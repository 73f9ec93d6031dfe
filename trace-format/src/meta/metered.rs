//! Deserializer that counts the memory of the values it creates and fails when the memory limit is reached. A list element counts once with
//! its size in memory and once more with its fields, which covers the growth of lists by doubling; texts count with their lengths.

use crate::read::Meter;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Wrapper of a serde deserializer, visitor or access object that counts the memory of decoded values in `meter`.
pub(super) struct Metered<'m, 'r, T> {
    pub(super) inner: T,
    pub(super) meter: &'m Meter<'r>,
}

fn no_room<E: Error>() -> E {
    E::custom("decoding takes too much memory")
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*);)+) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = Metered { inner: visitor, meter: self.meter };
            self.inner.$name($($argument,)* visitor)
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Metered<'_, '_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($name:ident: $type:ty;)+) => {
        $(fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$name(value)
        })+
    };
}

macro_rules! visit_counted {
    ($($name:ident: $type:ty;)+) => {
        $(fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            if self.meter.take(value.len()) { self.inner.$name(value) } else { Err(no_room()) }
        })+
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Metered<'_, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool;
        visit_i8: i8;
        visit_i16: i16;
        visit_i32: i32;
        visit_i64: i64;
        visit_i128: i128;
        visit_u8: u8;
        visit_u16: u16;
        visit_u32: u32;
        visit_u64: u64;
        visit_u128: u128;
        visit_f32: f32;
        visit_f64: f64;
        visit_char: char;
    }

    visit_counted! {
        visit_str: &str;
        visit_borrowed_str: &'de str;
        visit_string: String;
        visit_bytes: &[u8];
        visit_borrowed_bytes: &'de [u8];
        visit_byte_buf: Vec<u8>;
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Metered { inner, meter: self.meter })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Metered { inner, meter: self.meter })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Metered { inner, meter: self.meter })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Metered { inner, meter: self.meter })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        // The format stores its enums as numbers; none of them contains a list.
        self.inner.visit_enum(inner)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Metered<'_, '_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Metered { inner, meter: self.meter })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Metered<'_, '_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        if !self.meter.take(size_of::<T::Value>()) {
            return Err(no_room());
        }
        let seed = Metered { inner: seed, meter: self.meter };
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Metered<'_, '_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        if !self.meter.take(size_of::<K::Value>()) {
            return Err(no_room());
        }
        self.inner.next_key_seed(Metered { inner: seed, meter: self.meter })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if !self.meter.take(size_of::<S::Value>()) {
            return Err(no_room());
        }
        self.inner.next_value_seed(Metered { inner: seed, meter: self.meter })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}
