//! What wgpu cannot do on the web: compile in the background, and catch every kind of error.
//!
//! wgpu creates pipelines synchronously, which stops the page for as long as the compiler runs. So each kernel is
//! first compiled through `createComputePipelineAsync`; when wgpu then asks for the same, it gets it from the browser's
//! cache at once. And its error scopes panic on a `GPUInternalError` (and abort, in a browser), so these are our own.

use super::health::{Caught, Health};
use super::kernels;
use leastwise_recording::{Access, DeviceError, Signal, binding};
use std::{
    cell::Cell,
    rc::Rc,
    sync::{Arc, Weak},
};
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
use wasm_bindgen_futures::{JsFuture, spawn_local};

#[wasm_bindgen]
extern "C" {
    /// The part of `GPUDevice` that is called here. Everything catches: an exception must not unwind through Rust.
    type RawDevice;
    #[wasm_bindgen(method, catch, js_name = pushErrorScope)]
    fn push_error_scope(this: &RawDevice, filter: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = popErrorScope)]
    fn pop_error_scope(this: &RawDevice) -> Result<js_sys::Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createShaderModule)]
    fn create_shader_module(this: &RawDevice, descriptor: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createBindGroupLayout)]
    fn create_bind_group_layout(this: &RawDevice, descriptor: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createPipelineLayout)]
    fn create_pipeline_layout(this: &RawDevice, descriptor: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createComputePipelineAsync)]
    fn create_compute_pipeline_async(this: &RawDevice, descriptor: &JsValue) -> Result<js_sys::Promise, JsValue>;
}

fn raw(device: &wgpu::Device) -> Option<&RawDevice> {
    device.as_webgpu().map(|device| device.unchecked_ref())
}

/// Where wgpu would panic: outside of a page and a worker, and without `navigator`.
pub(super) fn check_runtime() -> Result<(), DeviceError> {
    let global = js_sys::global();
    let has = |object: &JsValue, name: &str| get(object, name).filter(|value| !value.is_undefined() && !value.is_null());
    if has(&global, "Window").is_none() && has(&global, "WorkerGlobalScope").is_none() {
        return Err(DeviceError::NoAdapter("neither a page nor a worker (no global `Window` or `WorkerGlobalScope`)".into()));
    }
    match has(&global, "navigator").and_then(|navigator| has(&navigator, "gpu")) {
        Some(_) => Ok(()),
        None => Err(DeviceError::NoAdapter("there is no `navigator.gpu`: this runtime has no WebGPU, or the page is not secure".into())),
    }
}

/// The adapter in words. Browsers tell little, and some nothing; wgpu passes on less.
pub(super) fn describe(device: &wgpu::Device) -> String {
    let info = raw(device).and_then(|device| get(device.as_ref(), "adapterInfo"));
    let word = |name: &str| info.as_ref().and_then(|info| get(info, name)).and_then(|word| word.as_string());
    let words: Vec<String> =
        ["vendor", "architecture", "description"].into_iter().filter_map(word).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "WebGPU".into() } else { format!("{} (WebGPU)", words.join(" ")) }
}

/// See the native twin in `health`.
pub(super) struct Scopes {
    device: Option<RawDevice>,
}

const FILTERS: [&str; 3] = ["out-of-memory", "validation", "internal"];

impl Scopes {
    pub fn open(device: &wgpu::Device) -> Self {
        let device = raw(device).map(|device| device.unchecked_ref::<JsValue>().clone().unchecked_into::<RawDevice>());
        // A device that is lost takes scopes as well; an exception here means there is nothing to listen to.
        let pushed = device.as_ref().is_some_and(|device| FILTERS.iter().all(|filter| device.push_error_scope(filter).is_ok()));
        Self { device: device.filter(|_| pushed) }
    }

    /// Pops now; what was caught comes later.
    fn pop(self) -> impl Future<Output = Caught> {
        let popped: Vec<_> = self.device.iter().flat_map(|device| FILTERS.map(|_| device.pop_error_scope())).flatten().collect();
        async move {
            let mut caught = None;
            for promise in popped {
                // A rejection means that the device is lost, which is told elsewhere.
                if let Ok(error) = JsFuture::from(promise).await
                    && !error.is_null()
                    && !error.is_undefined()
                {
                    let class = get(&error, "constructor").and_then(|class| get(&class, "name")).and_then(|name| name.as_string());
                    let is_memory = class.as_deref() == Some("GPUOutOfMemoryError");
                    // That memory ran out is what the rest follows from.
                    if is_memory || caught.is_none() {
                        caught = Some((is_memory, message(&error)));
                    }
                }
            }
            caught
        }
    }

    /// Tells what the scopes caught, when that is known.
    pub fn settle(self, tell: impl FnOnce(Caught) + 'static) {
        let caught = self.pop();
        spawn_local(async move { tell(caught.await) });
    }

    /// Notes what the scopes catch, after `describe` made an error of it (out of memory?, message).
    pub fn close(self, health: &Arc<Health>, describe: impl FnOnce(bool, String) -> DeviceError + 'static) {
        let health: Weak<Health> = Arc::downgrade(health);
        self.settle(move |caught| {
            if let (Some((out_of_memory, message)), Some(health)) = (caught, health.upgrade()) {
                health.note(describe(out_of_memory, message));
            }
        });
    }
}

/// A kernel that is being compiled.
#[derive(Clone, Default)]
pub(super) struct Compiling {
    /// The pipeline, kept so that it stays in the browser's cache until wgpu asks for it, or the compiler's message.
    outcome: Rc<Cell<Option<Result<JsValue, String>>>>,
    pub signal: Signal,
}

impl Compiling {
    pub fn start(device: &wgpu::Device, name: &str, text: &str, access: &[Access; binding::COUNT]) -> Self {
        let this = Self::default();
        let scopes = Scopes::open(device);
        let begun = raw(device).map_or_else(|| Err(JsValue::from("no WebGPU device")), |device| begin(device, name, text, access));
        let caught = scopes.pop();
        let compiling = this.clone();
        spawn_local(async move {
            let compiled = match begun {
                Ok(promise) => JsFuture::from(promise).await,
                Err(error) => Err(error),
            };
            // What the scope caught is about the text; a rejection may only say that the module is invalid.
            let caught = caught.await.map(|(_, message)| message);
            compiling.outcome.set(Some(compiled.map_err(|error| caught.unwrap_or_else(|| message(&error)))));
            compiling.signal.set();
        });
        this
    }

    /// How it ended, once: `None` while it goes on.
    pub fn outcome(&self) -> Option<Result<JsValue, String>> {
        self.outcome.take()
    }
}

/// The same layout and pipeline as `kernels` makes through wgpu: only then does the cache know it.
fn begin(device: &RawDevice, name: &str, text: &str, access: &[Access; binding::COUNT]) -> Result<js_sys::Promise, JsValue> {
    let module = device.create_shader_module(&object(&[("label", name.into()), ("code", text.into())])?)?;
    let entries = js_sys::Array::new();
    for (slot, kind) in kernels::binding_types(access) {
        let wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size } = kind else { continue };
        let ty = match ty {
            wgpu::BufferBindingType::Uniform => "uniform",
            wgpu::BufferBindingType::Storage { read_only: true } => "read-only-storage",
            wgpu::BufferBindingType::Storage { read_only: false } => "storage",
        };
        let size = min_binding_size.map_or(0.0, |size| size.get() as f64);
        let buffer = object(&[("type", ty.into()), ("hasDynamicOffset", has_dynamic_offset.into()), ("minBindingSize", size.into())])?;
        let visibility = wgpu::ShaderStages::COMPUTE.bits();
        entries.push(&object(&[("binding", slot.into()), ("visibility", visibility.into()), ("buffer", buffer)])?);
    }
    let group = device.create_bind_group_layout(&object(&[("entries", entries.into())])?)?;
    let layout = device.create_pipeline_layout(&object(&[("bindGroupLayouts", js_sys::Array::of(&[group]).into())])?)?;
    let stage = object(&[("module", module), ("entryPoint", "main".into())])?;
    device.create_compute_pipeline_async(&object(&[("label", name.into()), ("layout", layout), ("compute", stage)])?)
}

fn object(properties: &[(&str, JsValue)]) -> Result<JsValue, JsValue> {
    let object: JsValue = js_sys::Object::new().into();
    for (name, value) in properties {
        js_sys::Reflect::set(&object, &JsValue::from(*name), value)?;
    }
    Ok(object)
}

fn get(object: &JsValue, name: &str) -> Option<JsValue> {
    js_sys::Reflect::get(object, &JsValue::from(name)).ok()
}

fn message(error: &JsValue) -> String {
    get(error, "message").and_then(|message| message.as_string()).unwrap_or_else(|| format!("{error:?}"))
}
