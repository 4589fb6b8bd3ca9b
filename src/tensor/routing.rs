//! Which device runs what.
//!
//! Where a GPU is the session's device, the CPU stands beside it, and every step of a plan goes to the one that is done
//! with it sooner by a model of four numbers a device: what a launch takes, what moving bytes and computing take, and what
//! it takes to bring operands over. The numbers are measured once and can be given ([`Rates`]): with the same numbers, the
//! same steps go the same way, to the last bit.

use super::plan::{Plan, Ref, Step};

/// One of the devices of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The session's own.
    Device = 0,
    /// The CPU beside it.
    Cpu = 1,
}

impl Place {
    /// Both places.
    pub const ALL: [Self; 2] = [Self::Device, Self::Cpu];

    /// The other place.
    pub fn other(self) -> Self {
        match self {
            Self::Device => Self::Cpu,
            Self::Cpu => Self::Device,
        }
    }
}

/// Who decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Mode {
    /// The model, once there are numbers for it; the session's device before.
    #[default]
    Auto,
    /// Always the session's device.
    Device,
    /// Always the CPU, if there is one beside the device.
    Cpu,
}

/// What a device takes.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rates {
    /// Microseconds of a launch.
    pub launch_us: f64,
    /// Gigabytes a second, read and written.
    pub gigabytes: f64,
    /// Thousands of millions of operations a second: elementwise, and of products of matrices.
    pub gigaops: f64,
    /// Thousands of millions of multiplications and additions a second in products of matrices.
    pub product_gigaops: f64,
}

/// What both devices take, and bringing something from the session's device to the CPU and back.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Rates of the session's device.
    pub device: Rates,
    /// Rates of the CPU.
    pub cpu: Rates,
    /// Microseconds until something is read back, and gigabytes a second either way.
    pub readback_us: f64,
    /// Gigabytes a second between the devices, either way.
    pub transfer_gigabytes: f64,
}

/// Where every step runs, and why.
#[derive(Clone, Default, Debug)]
pub struct Route {
    /// Place of every step, and the reason in words.
    pub steps: Vec<(Place, String)>,
}

/// Choice of the place of every step.
pub struct Router {
    mode: Mode,
    model: Option<Model>,
    advantage: f64,
    version: u64,
}

impl Default for Router {
    fn default() -> Self {
        Self { mode: Mode::default(), model: None, advantage: 1.0, version: 0 }
    }
}

impl Rates {
    /// Microseconds of a step, but for bringing operands.
    fn us(&self, step: &Step, bytes_of_real: f64) -> f64 {
        let moved = step.work.bytes(bytes_of_real) / (self.gigabytes * 1e3);
        let computed = step.work.operations / (self.gigaops * 1e3) + step.work.products / (self.product_gigaops * 1e3);
        self.launch_us + moved.max(computed)
    }
}

impl Router {
    /// Changes with everything that routes depend on.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Rule that decides now.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Rates that `Auto` decides by, if there are any.
    pub fn model(&self) -> Option<Model> {
        self.model
    }

    /// How many times sooner the CPU has to be done with a step to get it.
    pub fn advantage(&self) -> f64 {
        self.advantage
    }

    /// Sets [`advantage`](Self::advantage).
    pub fn set_advantage(&mut self, advantage: f64) {
        if advantage.to_bits() != self.advantage.to_bits() {
            self.advantage = advantage;
            self.version += 1;
        }
    }

    /// Sets who decides, and the rates.
    pub fn set(&mut self, mode: Mode, model: Option<Model>) {
        if (mode, model) != (self.mode, self.model) {
            (self.mode, self.model) = (mode, model);
            self.version += 1;
        }
    }

    /// True if routes depend on the places of leaves: if there is a CPU beside the device, and a model decides.
    pub fn has_choice(&self, beside: bool) -> bool {
        beside && self.mode == Mode::Auto && self.model.is_some()
    }

    /// Where a plan runs whose leaves are in these places (a bit each) and have so many elements.
    pub fn route(&self, plan: &Plan, leaves: &[u8], sizes: &[f64], beside: bool) -> Route {
        let all = |place: Place, reason: &str| Route { steps: vec![(place, reason.to_string()); plan.steps.len()] };
        match (self.mode, self.model) {
            _ if !beside => all(Place::Device, "the only device"),
            (Mode::Device, _) => all(Place::Device, "asked for"),
            (Mode::Cpu, _) => all(Place::Cpu, "asked for"),
            (Mode::Auto, None) => all(Place::Device, "no model of the machine was given or measured"),
            (Mode::Auto, Some(model)) => model.route(plan, leaves, sizes, self.advantage),
        }
    }
}

impl Model {
    /// Step by step, operands where they were made.
    fn route(&self, plan: &Plan, leaves: &[u8], sizes: &[f64], advantage: f64) -> Route {
        const BYTES: f64 = 4.0;
        let mut buffers = vec![0u8; plan.buffers.len()];
        let mut leaves = leaves.to_vec();
        let mut steps = Vec::with_capacity(plan.steps.len());
        for (number, step) in (0u32..).zip(&plan.steps) {
            let cost = |place: Place| {
                let rates = if place == Place::Device { &self.device } else { &self.cpu };
                let (mut bytes, mut waits) = (0.0, false);
                for (_, reference) in &step.bindings {
                    let (places, elements, written) = match *reference {
                        Ref::Leaf(leaf) => (leaves[leaf as usize], sizes[leaf as usize], false),
                        Ref::Buffer(buffer) => {
                            let of = &plan.buffers[buffer as usize];
                            (buffers[buffer as usize], f64::from(of.size()), of.first == number)
                        }
                    };
                    if written || places & 1 << place as u8 != 0 {
                        continue;
                    }
                    // What is the host's, the CPU has.
                    if places == 0 && place == Place::Cpu {
                        continue;
                    }
                    bytes += elements * BYTES;
                    waits |= places != 0 && place == Place::Cpu;
                }
                let bringing = bytes / (self.transfer_gigabytes * 1e3) + if waits { self.readback_us } else { 0.0 };
                (rates.us(step, BYTES), bringing)
            };
            let [(device, to_device), (cpu, to_cpu)] = Place::ALL.map(cost);
            let place = if advantage * (cpu + to_cpu) < device + to_device { Place::Cpu } else { Place::Device };
            let mut reason = format!("device {device:.1} + {to_device:.1} µs, cpu {cpu:.1} + {to_cpu:.1} µs");
            if advantage != 1.0 {
                reason += &format!(", {advantage} times sooner is asked for");
            }
            for (_, reference) in &step.bindings {
                match *reference {
                    Ref::Leaf(leaf) => leaves[leaf as usize] |= 1 << place as u8,
                    Ref::Buffer(buffer) => buffers[buffer as usize] |= 1 << place as u8,
                }
            }
            steps.push((place, reason));
        }
        Route { steps }
    }
}
