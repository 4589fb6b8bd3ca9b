//! How sums over many elements are spread over workgroups.

use leastwise_device::Device;

/// How a reduction is spread: enough workgroups to fill a device, few enough that the second stage is short and that
/// every lane has some elements to add before the workgroup must meet at a barrier.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) group_size: u32,
    elements_per_lane: u32,
    max_groups: u32,
}

/// Workgroups of a reduction at most.
const MAX_GROUPS: u32 = 1024;

impl Reduction {
    pub(super) fn on(device: &Device) -> Self {
        let limits = device.limits();
        let max_groups = MAX_GROUPS.min(limits.groups_per_dimension);
        Self { group_size: limits.group_size, elements_per_lane: limits.elements_per_lane, max_groups }
    }

    pub(super) fn groups(self, elements: u32) -> u32 {
        elements.div_ceil(self.group_size * self.elements_per_lane).clamp(1, self.max_groups)
    }
}
