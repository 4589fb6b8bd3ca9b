//! JavaScript values in and out.

use leastwise_base::memory;
use leastwise_error::Error;
use leastwise_problem::{Reals, Weight};
use leastwise_session::wire::{Host, Refusal};
use serde::Serialize;
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wasm_bindgen::prelude::*;

/// Numbers copied out of a typed array.
pub enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
    One(f64),
}

impl Numbers {
    pub fn reals(&self) -> Reals<'_> {
        match self {
            Self::F32(values) => Reals::F32(values),
            Self::F64(values) => Reals::F64(values),
            Self::One(value) => Reals::F64(std::slice::from_ref(value)),
        }
    }

    pub fn weight(&self) -> Weight<'_> {
        match self {
            Self::One(value) => Weight::Shared(*value),
            each => Weight::Each(each.reals()),
        }
    }
}

/// A weight: one number, an array, or 1 when there is none.
pub fn read_weight(value: &JsValue) -> Result<Numbers, JsValue> {
    match value.as_f64() {
        Some(number) => Ok(Numbers::One(number)),
        None if value.is_undefined() => Ok(Numbers::One(1.0)),
        None => read_reals(value),
    }
}

/// A `Float32Array`, a `Float64Array`, or anything array-like.
pub fn read_reals(value: &JsValue) -> Result<Numbers, JsValue> {
    if let Some(array) = value.dyn_ref::<js_sys::Float32Array>() {
        let mut values = room(array.length())?;
        array.copy_to(&mut values);
        return Ok(Numbers::F32(values));
    }
    let array = match value.dyn_ref::<js_sys::Float64Array>() {
        Some(array) => array.clone(),
        None if value.is_object() => js_sys::Float64Array::new(value),
        None => return Err(refuse(Error::InvalidOption("values must be an array of numbers".into()))),
    };
    let mut values = room(array.length())?;
    array.copy_to(&mut values);
    Ok(Numbers::F64(values))
}

/// Room for so many numbers. One array of WebAssembly's has 2 GiB at most.
fn room<T: Clone + Default>(len: u32) -> Result<Vec<T>, JsValue> {
    let (bytes, most) = (u64::from(len) * size_of::<T>() as u64, isize::MAX as u64);
    if bytes > most {
        let message =
            format!("{len} values are {bytes} bytes, and one array of the engine's can have {most}: use several variables or terms");
        return Err(refuse(Error::Limits(message)));
    }
    memory::zeros(len as usize, "values").map_err(|error| refuse(error.into()))
}

/// A `Float32Array` or a `Float64Array`, as vectors are taken.
pub fn read_vectors(value: &JsValue) -> Result<Vec<f32>, JsValue> {
    let array = match value.dyn_ref::<js_sys::Float32Array>() {
        Some(array) => array.clone(),
        None if value.is_object() => js_sys::Float32Array::new(value),
        None => return Err(refuse(Error::InvalidOption("vectors must be an array of numbers".into()))),
    };
    let mut values = memory::zeros(array.length() as usize, "the vectors").map_err(|error| refuse(error.into()))?;
    array.copy_to(&mut values);
    Ok(values)
}

/// A `Uint32Array`.
pub fn read_indices(value: &JsValue) -> Result<Vec<u32>, JsValue> {
    match value.dyn_ref::<js_sys::Uint32Array>() {
        Some(array) => {
            let mut words = room(array.length())?;
            array.copy_to(&mut words);
            Ok(words)
        }
        None => Err(refuse(Error::InvalidOption("indices must be a Uint32Array".into()))),
    }
}

pub fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    Ok(value.serialize(&serde_wasm_bindgen::Serializer::json_compatible())?)
}

/// What is there, if it is.
pub fn read_optional<T>(value: &JsValue, read: impl FnOnce(&JsValue) -> Result<T, JsValue>) -> Result<Option<T>, JsValue> {
    if value.is_undefined() || value.is_null() { Ok(None) } else { read(value).map(Some) }
}

/// A structure of an object's fields.
pub fn read_record<T: DeserializeOwned>(value: JsValue) -> Result<T, JsValue> {
    let refused = |message: String| refuse(Error::InvalidOption(message));
    if let Some(object) = value.dyn_ref::<js_sys::Object>() {
        // Its reader asks for the fields that it knows, and would leave out others.
        let mut known = Fields(&[]);
        let _ = T::deserialize(&mut known);
        for key in js_sys::Object::keys(object).iter().filter_map(|key| key.as_string()) {
            if !known.0.contains(&key.as_str()) {
                return Err(refused(<serde::de::value::Error as de::Error>::unknown_field(&key, known.0).to_string()));
            }
        }
    }
    serde_wasm_bindgen::from_value(value).map_err(|error| refused(error.to_string()))
}

/// Names of a structure's fields, which it tells whatever it is read from.
struct Fields(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut Fields {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("only fields are asked for"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

/// Maker of JavaScript's values.
pub struct Values;

impl Host for Values {
    type Value = JsValue;
    type Error = JsValue;

    fn plain(&self, value: &impl Serialize) -> Result<JsValue, JsValue> {
        to_js(value)
    }

    fn set(&self, object: &mut JsValue, name: &str, value: JsValue) -> Result<(), JsValue> {
        js_sys::Reflect::set(object, &name.into(), &value).map(drop)
    }

    fn doubles(&self, values: Vec<f64>) -> Result<JsValue, JsValue> {
        Ok(js_sys::Float64Array::from(&values[..]).into())
    }

    fn singles(&self, values: Vec<f32>) -> Result<JsValue, JsValue> {
        Ok(js_sys::Float32Array::from(&values[..]).into())
    }

    fn words(&self, values: Vec<u32>) -> Result<JsValue, JsValue> {
        Ok(js_sys::Uint32Array::from(&values[..]).into())
    }

    fn bytes(&self, values: Vec<u8>) -> Result<JsValue, JsValue> {
        Ok(js_sys::Uint8Array::from(&values[..]).into())
    }
}

/// What is thrown.
pub fn refuse(error: Error) -> JsValue {
    to_js(&Refusal::from(&error)).unwrap_or_else(|other| other)
}

/// Of whichever thread: it ends all of them.
static FIRST_PANIC: Mutex<Option<String>> = Mutex::new(None);

fn first_panic() -> MutexGuard<'static, Option<String>> {
    FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn remember_panics() {
    std::panic::set_hook(Box::new(|info| {
        first_panic().get_or_insert_with(|| info.to_string());
    }));
}

pub fn last_panic() -> Option<String> {
    first_panic().clone()
}
