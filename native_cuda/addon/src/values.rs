//! Numbers in, errors out.

use leastwise::problem::{Reals, Weight};
use leastwise::session::Failure;
use leastwise::session::crossing::Refusal;
use napi::ValueType;
use napi::bindgen_prelude::{
    Env, Error, Float32ArraySlice, Float64ArraySlice, FromNapiValue, JsObjectValue, JsValue, Result, Status, Unknown,
};

/// The numbers of a typed array, where they lie.
pub enum Numbers<'a> {
    F32(Float32ArraySlice<'a>),
    F64(Float64ArraySlice<'a>),
}

impl<'a> Numbers<'a> {
    pub fn read(env: &Env, value: Unknown<'a>) -> Result<Self> {
        if let Ok(values) = Float64ArraySlice::from_unknown(value) {
            return Ok(Self::F64(values));
        }
        if let Ok(values) = Float32ArraySlice::from_unknown(value) {
            return Ok(Self::F32(values));
        }
        Err(refuse(env, leastwise::Error::InvalidOption("values must be a Float32Array or a Float64Array".into())))
    }

    pub fn reals(&self) -> Reals<'_> {
        match self {
            Self::F32(values) => Reals::F32(values),
            Self::F64(values) => Reals::F64(values),
        }
    }
}

/// A weight: one number, or an array.
pub enum Weights<'a> {
    Shared(f64),
    Each(Numbers<'a>),
}

impl<'a> Weights<'a> {
    pub fn read(env: &Env, value: Unknown<'a>) -> Result<Self> {
        match value.get_type()? {
            ValueType::Number => f64::from_unknown(value).map(Self::Shared),
            _ => Numbers::read(env, value).map(Self::Each),
        }
    }

    pub fn weight(&self) -> Weight<'_> {
        match self {
            Self::Shared(weight) => Weight::Shared(*weight),
            Self::Each(weights) => Weight::Each(weights.reals()),
        }
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
