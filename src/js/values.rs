//! JavaScript values in and out.

use leastwise_anneal::cluster::Outcome;
use leastwise_base::memory;
use leastwise_error::Error;
use leastwise_problem::{Reals, Weight};
use leastwise_session::crossing::Refusal;
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wasm_bindgen::prelude::*;

/// Numbers copied out of a typed array.
pub enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
    One(f64),
}

impl Numbers {
    pub fn get(&self) -> Reals<'_> {
        match self {
            Self::F32(values) => Reals::F32(values),
            Self::F64(values) => Reals::F64(values),
            Self::One(value) => Reals::F64(std::slice::from_ref(value)),
        }
    }

    /// A weight: one number, an array, or 1 when there is none.
    pub fn weight(value: &JsValue) -> Result<Self, JsValue> {
        match value.as_f64() {
            Some(number) => Ok(Self::One(number)),
            None if value.is_undefined() => Ok(Self::One(1.0)),
            None => reals(value),
        }
    }

    pub fn as_weight(&self) -> Weight<'_> {
        match self {
            Self::One(value) => Weight::Shared(*value),
            each => Weight::Each(each.get()),
        }
    }
}

/// A `Float32Array`, a `Float64Array`, or anything array-like.
pub fn reals(value: &JsValue) -> Result<Numbers, JsValue> {
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
pub fn singles(value: &JsValue) -> Result<Vec<f32>, JsValue> {
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
pub fn words(value: &JsValue) -> Result<Vec<u32>, JsValue> {
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

/// A clustering with its arrays.
pub fn clustering(outcome: &Outcome) -> Result<JsValue, JsValue> {
    let object = to_js(outcome)?;
    let arrays: [(&str, JsValue); 3] = [
        ("centroids", js_sys::Float32Array::from(&outcome.centroids[..]).into()),
        ("labels", js_sys::Uint32Array::from(&outcome.labels[..]).into()),
        ("counts", js_sys::Uint32Array::from(&outcome.counts[..]).into()),
    ];
    for (name, array) in arrays {
        js_sys::Reflect::set(&object, &name.into(), &array)?;
    }
    Ok(object)
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
