//! Tensors.

use crate::engine::Engine;
use crate::objects::{from_js, to_js};
use crate::values::Numbers;
use leastwise::session::TensorSettings;
use napi::bindgen_prelude::{Env, Result, Uint32ArraySlice, Unknown};
use napi_derive::napi;

#[napi]
impl Engine {
    /// Id, axes and sizes of what was made, as of all that make tensors.
    #[napi]
    pub fn tensor_store<'env>(&self, env: &'env Env, values: Unknown, shape: &[u32], double: bool) -> Result<Uint32ArraySlice<'env>> {
        let values = Numbers::read(env, values)?;
        let packed = self.call(env, |session| session.tensor(values.reals(), shape, double))?;
        Uint32ArraySlice::from_data(env, packed)
    }

    #[napi]
    pub fn tensor_store_halves<'env>(&self, env: &'env Env, values: Unknown, shape: &[u32]) -> Result<Uint32ArraySlice<'env>> {
        let values = Numbers::read(env, values)?;
        let packed = self.call(env, |session| session.tensor_halves(values.reals(), shape))?;
        Uint32ArraySlice::from_data(env, packed)
    }

    #[napi]
    pub fn tensor_numbers<'env>(&self, env: &'env Env, values: &[u32], shape: &[u32], double: bool) -> Result<Uint32ArraySlice<'env>> {
        let packed = self.call(env, |session| session.tensor_numbers(values, shape, double))?;
        Uint32ArraySlice::from_data(env, packed)
    }

    #[napi]
    pub fn tensor_op<'env>(
        &self,
        env: &'env Env,
        name: String,
        inputs: &[u32],
        numbers: &[f64],
        double: bool,
    ) -> Result<Uint32ArraySlice<'env>> {
        let packed = self.call(env, |session| session.tensor_operation(&name, inputs, numbers, double))?;
        Uint32ArraySlice::from_data(env, packed)
    }

    #[napi]
    pub fn tensor_map<'env>(&self, env: &'env Env, words: &[u32], outputs: &[u32], inputs: &[u32]) -> Result<Uint32ArraySlice<'env>> {
        let packed = self.call(env, |session| session.tensor_map(words, outputs, inputs))?;
        Uint32ArraySlice::from_data(env, packed)
    }

    #[napi]
    pub fn tensor_gradient<'env>(&self, env: &'env Env, loss: u32, of: &[u32]) -> Result<Uint32ArraySlice<'env>> {
        let packed = self.call(env, |session| session.tensor_gradient(loss, of))?;
        Uint32ArraySlice::from_data(env, packed)
    }

    #[napi]
    pub fn tensor_release(&self, ids: &[u32]) {
        let ids = ids.to_vec();
        self.post(move |session| session.release_tensors(&ids));
    }

    /// A task.
    #[napi]
    pub fn tensor_evaluate(&self, env: &Env, outputs: &[u32], read: &[u32]) -> Result<u32> {
        self.call(env, |session| session.evaluate_tensors(outputs, read))
    }

    /// Nothing that JavaScript could draw from lies here.
    #[napi]
    pub fn tensor_view(&self, _tensor: u32) {}

    #[napi]
    pub fn tensor_settings(&self, env: &Env, settings: Unknown) -> Result<()> {
        let settings = from_js::<TensorSettings>(settings).map_err(|error| leastwise::Error::InvalidOption(error.reason.clone()));
        self.call(env, |session| session.set_tensors(&settings?))
    }

    #[napi]
    pub fn tensor_trace<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.tensor_trace().to_vec()))?)
    }

    #[napi]
    pub fn tensor_statistics<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        to_js(env, &self.call(env, |session| Ok(session.tensor_statistics()))?)
    }

    /// A task.
    #[napi]
    pub fn tensor_measure(&self, env: &Env) -> Result<u32> {
        self.call(env, |session| session.measure_tensors())
    }

    #[napi]
    pub fn tensor_trim(&self, env: &Env) -> Result<()> {
        self.call(env, |session| session.trim_tensors())
    }
}
