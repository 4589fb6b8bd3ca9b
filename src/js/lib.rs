//! The engine for wasm-bindgen. Its methods are generated from `src/session/surface.idl`; what is WebAssembly's own is
//! here and in `engine.rs`. wasm-pack builds it; elsewhere there is nothing in it.

#![cfg(target_arch = "wasm32")]

mod engine;
mod generated;
#[cfg(target_feature = "atomics")]
mod threads;
mod values;

use engine::Engine;
use leastwise_cpu::CpuDevice;
#[cfg(not(target_feature = "atomics"))]
use leastwise_device::wgpu::WgpuDevice;
use leastwise_device::{Device, Limits};
#[cfg(not(target_feature = "atomics"))]
use leastwise_device::{DeviceError, Reals as DeviceReals};
use leastwise_session::wire::{self, ForcedLimits};
use values::{read_record, refuse};
use wasm_bindgen::prelude::*;

/// Those that are forced, over `base`; none where none are.
fn limits(forced: JsValue, base: Limits) -> Result<Option<Limits>, JsValue> {
    if forced.is_undefined() || forced.is_null() {
        return Ok(None);
    }
    let forced: ForcedLimits = read_record(forced)?;
    Ok(Some(forced.over(base)))
}

/// An engine on the CPU.
#[wasm_bindgen(js_name = openCpu)]
pub fn open_cpu(precision: &str, forced: JsValue) -> Result<Engine, JsValue> {
    let precision = wire::precision(precision).map_err(refuse)?;
    let own = CpuDevice::default_limits();
    let limits = limits(forced, own)?.unwrap_or(own);
    Ok(Engine::new(Device::Cpu(CpuDevice::new(precision, limits))))
}

/// An engine on the device that `navigator.gpu` hands out. The module with threads has none: there the CPU does the work.
#[cfg(not(target_feature = "atomics"))]
#[wasm_bindgen(js_name = openWebGpu)]
pub async fn open_web_gpu(precision: Option<String>, forced: JsValue) -> Result<Engine, JsValue> {
    let limits = limits(forced, Limits::WEBGPU)?;
    let wanted = precision.as_deref().map(wire::reals).transpose().map_err(refuse)?;
    let failed = |error: DeviceError| refuse(error.into());
    let mut device = WgpuDevice::open(limits).await.map_err(failed)?;
    // Who asks for f32 has no use for what takes a kernel to find out.
    if wanted != Some(DeviceReals::Single) {
        device.check_doubles().await.map_err(failed)?;
    }
    device.set_reals(wanted.unwrap_or_default()).map_err(failed)?;
    let mut engine = Engine::new(Device::Wgpu(Box::new(device)));
    engine.set_refines(wanted.is_none());
    Ok(engine)
}

/// What the last panic said; a panic leaves the whole module unusable.
#[wasm_bindgen(js_name = lastPanic)]
pub fn last_panic() -> Option<String> {
    values::last_panic()
}

/// Start of the module: from here on it keeps the message of a panic.
#[wasm_bindgen(start)]
pub fn start() {
    values::remember_panics();
}
