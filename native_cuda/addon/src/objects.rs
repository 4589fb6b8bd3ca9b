//! Plain objects in and out, by serde.
//!
//! napi's own conversion is not for us: it makes `BigInt` of large counts, and 0 of numbers below 2⁻⁵², of which tolerances
//! are some.

use napi::ValueType;
use napi::bindgen_prelude::{Array, Env, Error, FromNapiValue, JsValue, Null, Object, Result, Status, ToNapiValue, Unknown};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};

/// A JavaScript value of a Rust one. Every number is a number; what is not there is null.
pub fn to_js<'env>(env: &'env Env, value: &impl Serialize) -> Result<Unknown<'env>> {
    value.serialize(Writer(env))
}

/// A Rust value of a JavaScript one.
pub fn from_js<T: DeserializeOwned>(value: Unknown) -> Result<T> {
    T::deserialize(Reader(value))
}

#[derive(Clone, Copy)]
struct Writer<'env>(&'env Env);

impl<'env> Writer<'env> {
    fn number(self, value: f64) -> Result<Unknown<'env>> {
        value.into_unknown(self.0)
    }
}

struct List<'env> {
    env: &'env Env,
    array: Array<'env>,
    next: u32,
}

struct Record<'env> {
    env: &'env Env,
    object: Object<'env>,
    key: String,
}

macro_rules! numbers {
    ($($method:ident: $kind:ty),*) => { $(fn $method(self, value: $kind) -> Result<Self::Ok> { self.number(value as f64) })* };
}

type Never<'env> = Impossible<Unknown<'env>, Error>;

impl<'env> ser::Serializer for Writer<'env> {
    type Ok = Unknown<'env>;
    type Error = Error;
    type SerializeSeq = List<'env>;
    type SerializeTuple = List<'env>;
    type SerializeMap = Record<'env>;
    type SerializeStruct = Record<'env>;
    type SerializeTupleStruct = Never<'env>;
    type SerializeTupleVariant = Never<'env>;
    type SerializeStructVariant = Never<'env>;

    numbers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64);

    fn serialize_bool(self, value: bool) -> Result<Self::Ok> {
        value.into_unknown(self.0)
    }

    fn serialize_char(self, value: char) -> Result<Self::Ok> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Self::Ok> {
        value.into_unknown(self.0)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Self::Ok> {
        Err(ser::Error::custom("bytes cross as typed arrays"))
    }

    fn serialize_none(self) -> Result<Self::Ok> {
        Null.into_unknown(self.0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Self::Ok> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Self::Ok> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Self::Ok> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Self::Ok> {
        let mut record = self.serialize_map(Some(1))?;
        record.serialize_entry(variant, value)?;
        SerializeMap::end(record)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<List<'env>> {
        Ok(List { env: self.0, array: self.0.create_array(len.unwrap_or(0) as u32)?, next: 0 })
    }

    fn serialize_tuple(self, len: usize) -> Result<List<'env>> {
        self.serialize_seq(Some(len))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Record<'env>> {
        Ok(Record { env: self.0, object: Object::new(self.0)?, key: String::new() })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Record<'env>> {
        self.serialize_map(Some(len))
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<Never<'env>> {
        Err(ser::Error::custom(format!("{name} has no names for its parts")))
    }

    fn serialize_tuple_variant(self, name: &'static str, _: u32, _: &'static str, _: usize) -> Result<Never<'env>> {
        Err(ser::Error::custom(format!("{name} has no names for its parts")))
    }

    fn serialize_struct_variant(self, name: &'static str, _: u32, _: &'static str, _: usize) -> Result<Never<'env>> {
        Err(ser::Error::custom(format!("{name} has no tag")))
    }
}

impl<'env> SerializeSeq for List<'env> {
    type Ok = Unknown<'env>;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.next += 1;
        self.array.set(self.next - 1, to_js(self.env, &value)?)
    }

    fn end(self) -> Result<Self::Ok> {
        self.array.into_unknown(self.env)
    }
}

impl<'env> SerializeTuple for List<'env> {
    type Ok = Unknown<'env>;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Self::Ok> {
        SerializeSeq::end(self)
    }
}

impl<'env> SerializeMap for Record<'env> {
    type Ok = Unknown<'env>;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let key = key.serialize(Writer(self.env))?;
        self.key = key.coerce_to_string()?.into_utf8()?.into_owned()?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.object.set(&self.key, to_js(self.env, &value)?)
    }

    fn end(self) -> Result<Self::Ok> {
        Ok(self.object.to_unknown())
    }
}

impl<'env> SerializeStruct for Record<'env> {
    type Ok = Unknown<'env>;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        self.object.set(key, to_js(self.env, &value)?)
    }

    fn end(self) -> Result<Self::Ok> {
        Ok(self.object.to_unknown())
    }
}

#[derive(Clone, Copy)]
struct Reader<'env>(Unknown<'env>);

impl<'env> Reader<'env> {
    /// The value as what it was found to be.
    fn get<T: FromNapiValue>(self) -> Result<T> {
        T::from_unknown(self.0)
    }

    fn is_missing(self) -> Result<bool> {
        Ok(matches!(self.0.get_type()?, ValueType::Undefined | ValueType::Null))
    }
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.get_type()? {
            ValueType::Null | ValueType::Undefined => visitor.visit_unit(),
            ValueType::Boolean => visitor.visit_bool(self.get()?),
            ValueType::Number => {
                let number: f64 = self.get()?;
                // Whole and exact: serde takes it for any kind of number that it fits in.
                if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
                    visitor.visit_i64(number as i64)
                } else {
                    visitor.visit_f64(number)
                }
            }
            ValueType::String => visitor.visit_string(self.get()?),
            ValueType::Object => {
                let object: Object = self.get()?;
                if object.is_array()? {
                    return visitor.visit_seq(Elements { array: self.get()?, next: 0 });
                }
                visitor.visit_map(Entries::of(object)?)
            }
            other => Err(Error::new(Status::InvalidArg, format!("{other} is no plain value"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_missing()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    /// A name, or an object whose one key is a name and whose value is what belongs to it.
    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        match self.0.get_type()? {
            ValueType::Object => visitor.visit_enum(MapAccessDeserializer::new(Entries::of(self.get()?)?)),
            _ => visitor.visit_enum(self.get::<String>()?.into_deserializer()),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

struct Elements<'env> {
    array: Array<'env>,
    next: u32,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let element: Option<Unknown> = self.array.get(self.next)?;
        self.next += 1;
        element.map(|element| seed.deserialize(Reader(element))).transpose()
    }
}

struct Entries<'env> {
    object: Object<'env>,
    keys: std::vec::IntoIter<String>,
    value: Option<Unknown<'env>>,
}

impl<'env> Entries<'env> {
    fn of(object: Object<'env>) -> Result<Self> {
        Ok(Self { keys: Object::keys(&object)?.into_iter(), object, value: None })
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(key) = self.keys.next() else { return Ok(None) };
        self.value = self.object.get(&key)?;
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let value = self.value.take().ok_or_else(|| <Error as de::Error>::custom("an entry without a value"))?;
        seed.deserialize(Reader(value))
    }
}
