//! Tensors.

use super::Engine;
use super::values::{reals, refuse, to_js, words};
use leastwise_device::Device;
use leastwise_error::Error;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Engine {
    /// Id, axes and sizes of what was made, as of all that make tensors.
    #[wasm_bindgen(js_name = tensorStore)]
    pub fn tensor_store(&mut self, values: JsValue, shape: &[u32], double: bool) -> Result<Vec<u32>, JsValue> {
        let values = reals(&values)?;
        self.session.tensor(values.get(), shape, double).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorStoreHalves)]
    pub fn tensor_store_halves(&mut self, values: JsValue, shape: &[u32]) -> Result<Vec<u32>, JsValue> {
        let values = reals(&values)?;
        self.session.tensor_halves(values.get(), shape).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorNumbers)]
    pub fn tensor_numbers(&mut self, values: JsValue, shape: &[u32], double: bool) -> Result<Vec<u32>, JsValue> {
        self.session.tensor_numbers(&words(&values)?, shape, double).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorOp)]
    pub fn tensor_op(&mut self, name: &str, inputs: &[u32], numbers: &[f64], double: bool) -> Result<Vec<u32>, JsValue> {
        self.session.tensor_operation(name, inputs, numbers, double).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorMap)]
    pub fn tensor_map(&mut self, words: &[u32], outputs: &[u32], inputs: &[u32]) -> Result<Vec<u32>, JsValue> {
        self.session.tensor_map(words, outputs, inputs).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorGradient)]
    pub fn tensor_gradient(&mut self, loss: u32, of: &[u32]) -> Result<Vec<u32>, JsValue> {
        self.session.tensor_gradient(loss, of).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorRelease)]
    pub fn tensor_release(&mut self, ids: &[u32]) {
        self.session.release_tensors(ids);
    }

    /// A task.
    #[wasm_bindgen(js_name = tensorEvaluate)]
    pub fn tensor_evaluate(&mut self, outputs: &[u32], read: &[u32]) -> Result<u32, JsValue> {
        self.session.evaluate_tensors(outputs, read).map_err(refuse)
    }

    /// `{ buffer, offset, stride }` in bytes, or undefined where there is none.
    #[wasm_bindgen(js_name = tensorView)]
    pub fn tensor_view(&mut self, tensor: u32) -> Result<JsValue, JsValue> {
        let view = self.session.tensor_view(tensor).map_err(refuse)?;
        let (Some((slice, halves)), Device::Wgpu(device)) = (view, self.session.device()) else { return Ok(JsValue::UNDEFINED) };
        let buffer = device.as_web_buffer(slice.buffer).ok_or_else(|| refuse(Error::Disposed("tensor")))?;
        let view = js_sys::Object::new();
        js_sys::Reflect::set(&view, &"buffer".into(), &buffer)?;
        js_sys::Reflect::set(&view, &"offset".into(), &(4 * slice.offset).into())?;
        js_sys::Reflect::set(&view, &"stride".into(), &(if halves { 2 } else { 4 }).into())?;
        Ok(view.into())
    }

    #[wasm_bindgen(js_name = tensorSettings)]
    pub fn tensor_settings(&mut self, settings: JsValue) -> Result<(), JsValue> {
        let settings = serde_wasm_bindgen::from_value(settings).map_err(|error| refuse(Error::InvalidOption(error.to_string())))?;
        self.session.set_tensors(&settings).map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorTrace)]
    pub fn tensor_trace(&self) -> Result<JsValue, JsValue> {
        to_js(&self.session.tensor_trace())
    }

    #[wasm_bindgen(js_name = tensorStatistics)]
    pub fn tensor_statistics(&self) -> Result<JsValue, JsValue> {
        to_js(&self.session.tensor_statistics())
    }

    /// A task.
    #[wasm_bindgen(js_name = tensorMeasure)]
    pub fn tensor_measure(&mut self) -> Result<u32, JsValue> {
        self.session.measure_tensors().map_err(refuse)
    }

    #[wasm_bindgen(js_name = tensorTrim)]
    pub fn tensor_trim(&mut self) -> Result<(), JsValue> {
        self.session.trim_tensors().map_err(refuse)
    }
}
