//! An engine, and those of its methods that are WebAssembly's own: promises, and buffers of WebGPU.
//!
//! No borrow of the engine lives across an await: what waits is a [`Signal`](leastwise_device::Signal), which knows
//! nothing of the engine.

use super::values::{Values, refuse};
use leastwise_device::{Device, Signal, Slice};
use leastwise_error::Error;
use leastwise_kernels::Products;
use leastwise_session::wire::{self, State};
use leastwise_session::{Progress, Session};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
pub struct Engine {
    session: Session,
    #[cfg(target_feature = "atomics")]
    pub(super) threads: u32,
}

impl Engine {
    pub(super) fn new(device: Device) -> Self {
        Self {
            session: Session::new(device),
            #[cfg(target_feature = "atomics")]
            threads: 1,
        }
    }

    #[cfg(not(target_feature = "atomics"))]
    pub(super) fn set_refines(&mut self, refines: bool) {
        self.session.set_refines(refines);
    }

    /// The session, whose work is done on this engine's threads.
    fn session(&mut self) -> &mut Session {
        #[cfg(target_feature = "atomics")]
        leastwise_cpu::pool::set_count(self.threads);
        &mut self.session
    }

    pub(super) fn call<T>(&mut self, work: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, JsValue> {
        work(self.session()).map_err(refuse)
    }

    /// Does what cannot fail. The addon has it done later.
    pub(super) fn post(&mut self, work: impl FnOnce(&mut Session)) {
        work(self.session());
    }

    /// `{ buffer, offset, stride }`, in bytes, of elements of 4.
    fn view(&self, slice: Slice, stride: u32, what: &'static str) -> Result<JsValue, JsValue> {
        let Device::Wgpu(device) = self.session.device() else { return Ok(JsValue::UNDEFINED) };
        let buffer = device.as_web_buffer(slice.buffer).ok_or_else(|| refuse(Error::Disposed(what)))?;
        let view = js_sys::Object::new();
        js_sys::Reflect::set(&view, &"buffer".into(), &buffer)?;
        js_sys::Reflect::set(&view, &"offset".into(), &(4 * slice.offset).into())?;
        js_sys::Reflect::set(&view, &"stride".into(), &stride.into())?;
        Ok(view.into())
    }
}

#[wasm_bindgen]
impl Engine {
    #[wasm_bindgen(getter)]
    pub fn adapter(&self) -> String {
        self.session.device().adapter().to_string()
    }

    #[wasm_bindgen(getter)]
    pub fn doubles(&self) -> String {
        match self.session.device().has_doubles() {
            Ok(Products::Fma) => "fma".into(),
            Ok(Products::Halves) => "halves".into(),
            Err(reason) => reason.into(),
        }
    }

    #[wasm_bindgen(js_name = viewTable)]
    pub fn view_table(&mut self, problem: u32, table: u32, width: u32) -> Result<JsValue, JsValue> {
        if matches!(self.session.device(), Device::Cpu(_)) {
            return Ok(JsValue::UNDEFINED);
        }
        let slice = self.call(|session| session.view_table(problem, table))?;
        self.view(slice, 4 * width, "variable")
    }

    #[wasm_bindgen(js_name = viewNormals)]
    pub fn view_normals(&mut self, normals: u32) -> Result<JsValue, JsValue> {
        let slice = self.call(|session| session.view_normals(normals))?;
        self.view(slice, 12, "normals")
    }

    #[wasm_bindgen(js_name = tensorView)]
    pub fn tensor_view(&mut self, tensor: u32) -> Result<JsValue, JsValue> {
        match self.call(|session| session.tensor_view(tensor))? {
            Some((slice, halves)) => self.view(slice, if halves { 2 } else { 4 }, "tensor"),
            None => Ok(JsValue::UNDEFINED),
        }
    }

    pub fn resume(&mut self, task: u32, budget_ms: f64, quiet: Option<bool>) -> Result<JsValue, JsValue> {
        let quiet = quiet == Some(true);
        match self.call(|session| if quiet { session.resume_quietly(task, budget_ms) } else { session.resume(task, budget_ms) })? {
            Progress::Waiting(signal) => wire::with(&Values, &State::Waiting, [("ready", promise(signal).into())]),
            progress => wire::progress(&Values, progress),
        }
    }

    /// Tasks of this engine are over only when they have answered so.
    pub fn abort(&mut self, task: u32) {
        self.cancel(task);
    }

    pub fn cancel(&mut self, task: u32) {
        self.post(|session| session.cancel(task));
    }

    pub fn dispose(&mut self) {
        self.post(Session::dispose);
    }
}

fn promise(signal: Signal) -> js_sys::Promise {
    wasm_bindgen_futures::future_to_promise(async move {
        signal.await;
        Ok(JsValue::UNDEFINED)
    })
}
