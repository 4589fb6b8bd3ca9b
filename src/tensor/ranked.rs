//! Sums of tensors over ranks: new tensors of the elements that all ranks gave, added in the order of ranks.
//!
//! Elements go by one buffer, the *message*, which has those of several tensors or a part of one. So later sums exchange the same slice
//! of it, and what a device keeps of an exchange (`native_cuda/device/ranks.rs`) does not grow with the tensors.

use super::graph::Node;
use super::pool::Block;
use super::runtime::{Devices, Tensors};
use leastwise_device::{BufferId, Collective, Command, Exchange, Kind, Recording, Slice};
use leastwise_error::Error;
use std::sync::Arc;

/// Elements of a message at most.
pub const MESSAGE: u32 = 1 << 20;

/// Elements that this rank gives.
pub enum Given {
    /// On the main device.
    Here(Slice),
    /// In the host's memory.
    Host(Vec<f64>),
}

/// Buffers of sums on their way.
#[derive(Default)]
pub struct Sums {
    /// Elements of each sum and their number.
    made: Vec<(Block, u32)>,
    message: Option<Block>,
}

/// Elements that go from one buffer to another by the message.
struct Part {
    from: Slice,
    to: Slice,
    /// Place in the message.
    at: u32,
}

/// So many elements of a slice.
fn cut(Slice { buffer, offset, .. }: Slice, first: u32, len: u32) -> Slice {
    Slice { buffer, offset: offset + first, len }
}

/// One message: elements are copied into it, exchanged and copied out of it.
fn send(recording: &mut Recording, buffer: BufferId, parts: &[Part]) {
    let place = |part: &Part| Slice { buffer, offset: part.at, len: part.from.len };
    for part in parts {
        recording.push(Command::Copy { from: part.from, to: place(part) });
    }
    let whole = Slice { buffer, offset: 0, len: parts.iter().map(|part| part.from.len).sum() };
    recording.push(Command::Collective(Arc::new(Collective { label: "sums of tensors", parts: vec![Exchange::total(whole)] })));
    for part in parts {
        recording.push(Command::Copy { from: place(part), to: part.to });
    }
}

impl Tensors {
    /// Recording that sums elements over the ranks of which the main device is one, and the buffers that it fills.
    ///
    /// # Errors
    /// [`Error::Device`] where there is no room for them.
    pub fn sum_over_ranks(&mut self, devices: &mut Devices, given: Vec<Given>) -> Result<(Recording, Sums), Error> {
        let mut sums = Sums::default();
        match self.record_sums(devices, given, &mut sums) {
            Ok(recording) => Ok((recording, sums)),
            Err(error) => {
                self.drop_sums(sums);
                Err(error)
            }
        }
    }

    fn record_sums(&mut self, devices: &mut Devices, given: Vec<Given>, sums: &mut Sums) -> Result<Recording, Error> {
        let mut recording = Recording::new();
        let mut moved = Vec::new();
        for given in given {
            let len = match &given {
                Given::Here(slice) => slice.len,
                Given::Host(values) => values.len() as u32,
            };
            let block = self.take(devices, Kind::Real, len)?;
            sums.made.push((block, len));
            if len == 0 {
                continue;
            }
            let to = Slice { buffer: block.buffer, offset: 0, len };
            let from = match given {
                Given::Here(slice) => slice,
                Given::Host(data) => {
                    recording.push(Command::UploadReals { buffer: block.buffer, offset: 0, data });
                    to
                }
            };
            moved.push((from, to));
        }
        let total: u64 = moved.iter().map(|(from, _)| u64::from(from.len)).sum();
        if total == 0 {
            return Ok(recording);
        }
        let message = self.take(devices, Kind::Real, total.min(MESSAGE.into()) as u32)?;
        sums.message = Some(message);
        let (mut parts, mut filled) = (Vec::new(), 0);
        for (from, to) in moved {
            let mut done = 0;
            while done < from.len {
                let len = (from.len - done).min(MESSAGE - filled);
                parts.push(Part { from: cut(from, done, len), to: cut(to, done, len), at: filled });
                (done, filled) = (done + len, filled + len);
                if filled == MESSAGE {
                    send(&mut recording, message.buffer, &std::mem::take(&mut parts));
                    filled = 0;
                }
            }
        }
        if filled > 0 {
            send(&mut recording, message.buffer, &parts);
        }
        Ok(recording)
    }

    /// Tensors of sums whose recording has been played, by their shapes.
    pub fn keep_sums(&mut self, mut sums: Sums, shapes: Vec<Vec<u32>>) -> Vec<Node> {
        let made = std::mem::take(&mut sums.made);
        self.drop_sums(sums);
        made.into_iter().zip(shapes).map(|((block, len), shape)| self.keep_block(block, len, shape)).collect()
    }

    /// Gives back the buffers of sums that nobody gets.
    pub fn drop_sums(&mut self, sums: Sums) {
        let blocks = sums.made.into_iter().map(|(block, _)| block).chain(sums.message);
        blocks.for_each(|block| self.give_back_taken(block));
    }
}
