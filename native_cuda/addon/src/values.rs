//! Numbers in, errors out.

use crate::objects::{from_js, to_js};
use leastwise::problem::{Reals, Weight};
use leastwise::session::wire::{Host, Refusal};
use leastwise::session::{Failure, singles};
use napi::ValueType;
use napi::bindgen_prelude::{
    Env, Error, Float32ArraySlice, Float64ArraySlice, FromNapiValue, JsObjectValue, JsValue, Object, Result, Status, ToNapiValue,
    Uint8ArraySlice, Uint32ArraySlice, Unknown,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The numbers of a typed array, where they lie.
pub enum Numbers<'a> {
    F32(Float32ArraySlice<'a>),
    F64(Float64ArraySlice<'a>),
}

impl Numbers<'_> {
    pub fn reals(&self) -> Reals<'_> {
        match self {
            Self::F32(values) => Reals::F32(values),
            Self::F64(values) => Reals::F64(values),
        }
    }
}

pub fn read_reals<'a>(env: &Env, value: Unknown<'a>) -> Result<Numbers<'a>> {
    if let Ok(values) = Float64ArraySlice::from_unknown(value) {
        return Ok(Numbers::F64(values));
    }
    if let Ok(values) = Float32ArraySlice::from_unknown(value) {
        return Ok(Numbers::F32(values));
    }
    Err(refuse(env, leastwise::Error::InvalidOption("values must be a Float32Array or a Float64Array".into())))
}

/// A weight: one number, or an array.
pub enum Weights<'a> {
    Shared(f64),
    Each(Numbers<'a>),
}

impl Weights<'_> {
    pub fn weight(&self) -> Weight<'_> {
        match self {
            Self::Shared(weight) => Weight::Shared(*weight),
            Self::Each(weights) => Weight::Each(weights.reals()),
        }
    }
}

pub fn read_weight<'a>(env: &Env, value: Unknown<'a>) -> Result<Weights<'a>> {
    match value.get_type()? {
        ValueType::Number => f64::from_unknown(value).map(Weights::Shared),
        _ => read_reals(env, value).map(Weights::Each),
    }
}

/// Vectors, which the engine keeps.
pub fn read_vectors(env: &Env, value: Unknown) -> Result<Vec<f32>> {
    singles(read_reals(env, value)?.reals()).map_err(|error| refuse(env, error.into()))
}

/// A structure of an object's fields.
pub fn read_record<T: DeserializeOwned>(env: &Env, value: Unknown) -> Result<T> {
    from_js(value).map_err(|error| refuse(env, leastwise::Error::InvalidOption(error.reason.clone())))
}

/// Maker of JavaScript's values.
pub struct Values<'env>(pub &'env Env);

impl<'env> Host for Values<'env> {
    type Value = Unknown<'env>;
    type Error = Error;

    fn plain(&self, value: &impl Serialize) -> Result<Unknown<'env>> {
        to_js(self.0, value)
    }

    fn set(&self, object: &mut Unknown<'env>, name: &str, value: Unknown<'env>) -> Result<()> {
        Object::from_unknown(*object)?.set_named_property(name, value)
    }

    fn doubles(&self, values: Vec<f64>) -> Result<Unknown<'env>> {
        Float64ArraySlice::from_data(self.0, values)?.into_unknown(self.0)
    }

    fn singles(&self, values: Vec<f32>) -> Result<Unknown<'env>> {
        Float32ArraySlice::from_data(self.0, values)?.into_unknown(self.0)
    }

    fn words(&self, values: Vec<u32>) -> Result<Unknown<'env>> {
        Uint32ArraySlice::from_data(self.0, values)?.into_unknown(self.0)
    }

    fn bytes(&self, values: Vec<u8>) -> Result<Unknown<'env>> {
        Uint8ArraySlice::from_data(self.0, values)?.into_unknown(self.0)
    }
}

/// What the engine refuses, to be thrown: an `Error` with a code, and with the place.
pub fn refuse(env: &Env, error: leastwise::Error) -> Error {
    thrown(env, &Refusal::from(&error))
}

/// A failure, to be thrown. The façade puts a panic's words into a sentence.
pub fn fail(env: &Env, failure: Failure) -> Error {
    match failure {
        Failure::Refused(error) => refuse(env, error),
        Failure::Dead(said) => thrown(env, &Refusal { code: "engine-dead", message: said, term: None, instance: None, slot: None }),
    }
}

fn thrown(env: &Env, refusal: &Refusal) -> Error {
    let make = || {
        let mut object = env.create_error(Error::new(Status::GenericFailure, refusal.message.clone()))?;
        object.set_named_property("code", refusal.code)?;
        for (name, value) in [("instance", refusal.instance), ("slot", refusal.slot)] {
            if let Some(value) = value {
                object.set_named_property(name, value)?;
            }
        }
        if let Some(term) = refusal.term {
            object.set_named_property("term", term)?;
        }
        Ok(Error::from(object.to_unknown()))
    };
    make().unwrap_or_else(|error| error)
}
