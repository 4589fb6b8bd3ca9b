//! Getting an adapter and a device.
//!
//! On the web, `navigator.gpu` is asked as usual. The façade puts a shim there for the time of this call whose adapter
//! hands out the `GPUDevice` that it requested, or was given by the user: wgpu cannot wrap a device otherwise.

use super::{Health, Internals, MIN_BYTES, USAGE, WgpuDevice, descriptor, kernels::Kernels, pool};
use leastwise_recording::{DeviceError, Limits};
use std::{collections::HashMap, sync::Arc};

/// The largest workgroup that kernels are written for.
const MAX_GROUP_SIZE: u32 = 256;

/// The workgroup of software adapters: every lane of a kernel with barriers is a coroutine there.
const SOFTWARE_GROUP_SIZE: u32 = 64;

impl WgpuDevice {
    /// Opens the most powerful adapter there is with all that it offers. `limits` makes the device pretend to have
    /// less; more than it has, it never says.
    pub async fn open(limits: Option<Limits>) -> Result<Self, DeviceError> {
        #[cfg(target_arch = "wasm32")]
        super::web::check_runtime()?;
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let options = wgpu::RequestAdapterOptions { power_preference: wgpu::PowerPreference::HighPerformance, ..Default::default() };
        let adapter = instance.request_adapter(&options).await.map_err(|error| DeviceError::NoAdapter(none_found(&error)))?;
        let offered = adapter.limits();
        let request = wgpu::DeviceDescriptor { label: Some("leastwise"), required_limits: offered, ..Default::default() };
        let (device, queue) = adapter
            .request_device(&request)
            .await
            .map_err(|error| DeviceError::NoAdapter(format!("the one there is gives no device: {error}")))?;
        let health = Arc::new(Health::default());
        health.watch(&device);
        #[cfg(not(target_arch = "wasm32"))]
        let description = describe(&adapter.get_info());
        #[cfg(target_arch = "wasm32")]
        let description = super::web::describe(&device);
        let limits = clamp(&device.limits(), is_software(&description), limits);
        let mut opened = Self::on(device, queue, description, limits);
        opened.health = health;
        Ok(opened)
    }

    /// With nothing on it.
    pub(super) fn on(device: wgpu::Device, queue: wgpu::Queue, adapter: String, limits: Limits) -> Self {
        let empty = ["nothing to read", "nothing to write"].map(|label| device.create_buffer(&descriptor(label, MIN_BYTES, USAGE)));
        Self {
            adapter,
            kernels: Kernels::new(limits.group_size),
            limits,
            health: Arc::new(Health::default()),
            counters: Default::default(),
            internals: Internals::default(),
            buffers: HashMap::new(),
            next_buffer: 0,
            bind_groups: HashMap::new(),
            empty,
            params: pool::ParamsPool::default(),
            readbacks: pool::ReadbackPool::default(),
            paces: HashMap::new(),
            reals: Default::default(),
            exactness: None,
            #[cfg(not(target_arch = "wasm32"))]
            flights: Default::default(),
            disposed: false,
            is_sibling: false,
            device,
            queue,
        }
    }

    /// Whether the adapter is a program on the CPU.
    pub fn is_software(&self) -> bool {
        is_software(&self.adapter)
    }

    /// [`open`](Self::open), blocking. Native builds only.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(limits: Option<Limits>) -> Result<Self, DeviceError> {
        pollster::block_on(Self::open(limits))
    }
}

/// Our limits, of the device's and the wanted ones the smaller.
fn clamp(device: &wgpu::Limits, software: bool, wanted: Option<Limits>) -> Limits {
    // Who asks for limits gets them, slow or not.
    let emulated = software && wanted.is_none();
    let largest = if emulated { SOFTWARE_GROUP_SIZE } else { MAX_GROUP_SIZE };
    let group = largest.min(device.max_compute_invocations_per_workgroup).min(device.max_compute_workgroup_size_x);
    let has = Limits {
        binding_bytes: device.max_storage_buffer_binding_size.min(device.max_buffer_size),
        buffer_bytes: device.max_buffer_size,
        memory_bytes: u64::MAX,
        group_size: group,
        groups_per_dimension: device.max_compute_workgroups_per_dimension,
        offset_alignment: (device.min_storage_buffer_offset_alignment / 4).max(1),
        elements_per_lane: if emulated { 64 } else { 1 },
    };
    has.narrowed(wanted.unwrap_or(has))
}

/// Whether an adapter's description is that of a program on the CPU.
fn is_software(description: &str) -> bool {
    let name = description.to_ascii_lowercase();
    ["swiftshader", "llvmpipe", "lavapipe", "basic render"].iter().any(|software| name.contains(software))
}

/// wgpu tells what each of its backends found, which on the web is only one.
fn none_found(error: &wgpu::RequestAdapterError) -> String {
    if cfg!(target_arch = "wasm32") { "`navigator.gpu` offers none".into() } else { error.to_string() }
}

#[cfg(not(target_arch = "wasm32"))]
fn describe(info: &wgpu::AdapterInfo) -> String {
    format!("{} ({}, {:?})", info.name, info.backend, info.device_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_smaller_of_both_and_a_power_of_two() {
        let device = wgpu::Limits { max_compute_invocations_per_workgroup: 200, ..wgpu::Limits::default() };
        assert_eq!(clamp(&device, false, None).group_size, 128);
        assert_eq!(clamp(&device, false, None).offset_alignment, 64);
        assert_eq!(clamp(&device, false, Some(Limits::SMALL)), Limits::SMALL);
        let greedy = Limits { binding_bytes: u64::MAX, buffer_bytes: u64::MAX, group_size: 4096, ..Limits::WEBGPU };
        assert_eq!(clamp(&wgpu::Limits::default(), false, Some(greedy)), Limits::WEBGPU);
    }
}
