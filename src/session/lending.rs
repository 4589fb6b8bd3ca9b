//! Tensors and problems: tensors as data, weights and values of a problem on their device, and a solution as a tensor.

use super::Session;
use super::tensors::{id, parts};
use leastwise_device::{Command, Device, Playing, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Order, Recipient, Request};
use leastwise_tensor::graph::{Data, Graph, Node, Solve, Values};
use leastwise_tensor::operations::shown;
use leastwise_tensor::routing::Place;
use leastwise_tensor::solution::Pull;
use std::sync::Arc;

/// Whole numbers that f32 tells apart.
const MOST_PICKED: u32 = 1 << 24;

/// Step by which tensors and problems meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// Makes a copy of a tensor (the last word) as a recipient (the words before) takes it.
    Borrow,
    /// Has a recipient await that copy.
    Await,
    /// Tells whether it still does: 1, or 0 once it was given something else.
    Awaits,
    /// Gives a recipient that copy, which was evaluated.
    Lend,
    /// Tensors whose elements the problem has, and the host does not know, and their lengths, in pairs.
    Lenders,
    /// Tells the host the elements of such pairs, one after the other.
    Learn,
    /// Makes tensors of the accepted values: words are a solve's number, how many tables, and these, and tensors of data.
    Solution,
    /// Numbers of the solves that gradients can still go through.
    Solves,
    /// Counts of edits, and of what moved the variables, modulo 2³².
    Epoch,
    /// Gradients through solves that tensors need: tensor to fill, cotangent, problem, solve and table of each.
    Pulls,
    /// Fills a tensor with gradients of all data, one after the other.
    Fill,
}

/// Where the elements of a tensor are.
enum Elements {
    /// On the device of problems.
    Here(Slice),
    /// Beside it, in the host's memory.
    Beside(Vec<f64>),
}

/// A recipient as it crosses: 0 and a table, 1 and a term and a column, 2 and a term.
fn recipient(what: &[u32]) -> Result<Recipient, Error> {
    match *what {
        [0, table] => Ok(Recipient::Table(table)),
        [1, term, column] => Ok(Recipient::Column { term, column }),
        [2, term] => Ok(Recipient::Weight(term)),
        _ => Err(Error::Internal("a recipient of a tensor crossed incompletely")),
    }
}

/// Refuses a tensor of another shape than is taken.
fn must_fit(request: &Request, shape: &[u32]) -> Result<(), Error> {
    let (needed, words) = match request.shape {
        (Some(count), 1) => (vec![vec![count], vec![count, 1]], "one an instance or entry".to_string()),
        (Some(count), width) => (vec![vec![count, width], vec![count * width]], format!("{count} instances of {width}")),
        (None, 1) => (vec![vec![], vec![1]], "shared by all instances".into()),
        (None, width) => (vec![vec![width]], "shared by all instances".into()),
    };
    if needed.iter().any(|needed| needed == shape) {
        return Ok(());
    }
    Err(Error::Shape {
        name: request.name.clone(),
        message: format!("{}: the tensor is {}, but {} is needed ({words})", request.part, shown(shape), shown(&needed[0])),
    })
}

/// A copy of a tensor in the order that is asked for; gradients know nothing of it.
fn ordered(graph: &mut Graph, node: Node, request: &Request) -> Result<Node, Error> {
    let len = f64::from(request.len());
    let wide = graph.operation("f32", &[node], &[])?;
    let own = graph.operation("detach", &[wide], &[])?;
    match &request.order {
        Order::Rows => Ok(own),
        Order::Components { count, width } => {
            let rows = graph.operation("reshape", &[own], &[f64::from(*count), f64::from(*width)])?;
            graph.operation("transpose", &[rows], &[])
        }
        Order::Repeated(count) => {
            let column = graph.operation("reshape", &[own], &[len, 1.0])?;
            graph.operation("broadcastTo", &[column], &[len, f64::from(*count)])
        }
        Order::Picked(numbers) => {
            if request.len() >= MOST_PICKED {
                return Err(Error::Limits(format!(
                    "{}: a tensor of more than 2²⁴ elements can't be dealt out to rows of different lengths",
                    request.part
                )));
            }
            let flat = graph.operation("reshape", &[own], &[len])?;
            let zero = graph.operation("constant", &[], &[0.0, 1.0])?;
            let all = graph.operation("concat", &[flat, zero], &[0.0])?;
            let picked = graph.numbers(numbers.clone(), vec![numbers.len() as u32]);
            graph.operation("gather", &[all, picked], &[])
        }
    }
}

impl Session {
    /// Does a step; tensors that are given are packed.
    ///
    /// # Errors
    /// Those of the step.
    pub fn meet(&mut self, step: Meeting, problem: u32, words: &[u32], values: &[f64]) -> Result<Vec<u32>, Error> {
        match (step, words) {
            (Meeting::Borrow, [what @ .., tensor]) => self.borrow_tensor(problem, what, *tensor),
            (Meeting::Await, [what @ .., tensor]) => self.await_tensor(problem, what, *tensor).map(|()| Vec::new()),
            (Meeting::Awaits, [what @ .., tensor]) => {
                let recipient = recipient(what)?;
                Ok(vec![u32::from(self.entry(problem)?.0.problem.awaits(recipient, *tensor))])
            }
            (Meeting::Lend, [what @ .., tensor]) => self.lend_tensor(problem, what, *tensor).map(|()| Vec::new()),
            (Meeting::Lenders, []) => Ok(self.tensor_lenders(problem)?.into_iter().flat_map(|(lender, len)| [lender, len]).collect()),
            (Meeting::Learn, pairs) => {
                let lenders: Vec<(u32, u32)> = pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                self.learn_tensors(problem, &lenders, values).map(|()| Vec::new())
            }
            (Meeting::Solves, []) => Ok(self.tensor_contexts.iter().flatten().flat_map(|context| context.tensors.graph.solves()).collect()),
            (Meeting::Solution, [solve, count, rest @ ..]) if *count as usize <= rest.len() => {
                let (tables, data) = rest.split_at(*count as usize);
                self.tensor_solution(problem, tables, data, *solve)
            }
            (Meeting::Epoch, []) => self.tensor_epoch(problem),
            (Meeting::Pulls, tensors) => self.tensor_pulls(tensors),
            (Meeting::Fill, [tensor]) => self.fill_tensor(*tensor, values).map(|()| Vec::new()),
            _ => Err(Error::Internal("a step of tensors and problems crossed incompletely")),
        }
    }

    /// Whether tensors of a precision lie on the device of problems, and are what its reals are.
    fn shares(&self, double: bool) -> bool {
        match self.devices.main.precision_name() {
            "f32" => !double,
            "f64" => double,
            _ => false,
        }
    }

    /// Refuses tensors whose elements a problem can't take as they are.
    fn must_share(&self, Request { name, part, .. }: &Request, double: bool) -> Result<(), Error> {
        let own = self.devices.main.precision_name();
        // On the CPU what is beside lies in the same memory, and f32 is exact in f64.
        if self.shares(double) || own == "f64" && matches!(self.devices.main, Device::Cpu(_)) {
            return Ok(());
        }
        let dtype = if double { "f64" } else { "f32" };
        Err(Error::Dtype(format!(
            "\"{name}\": {part}: the tensor is of {dtype}, and this engine solves in {own}, so the problem can't have its buffer: read() it, and give the values"
        )))
    }

    /// A copy of a tensor as a recipient of a problem takes it: a table (0), a term's column (1) or its weight (2). The recipient is
    /// to [await](Self::await_tensor) it, and gets it by [`lend_tensor`](Self::lend_tensor) once it was evaluated.
    ///
    /// # Errors
    /// [`Error::Dtype`] and [`Error::Shape`] for tensors that do not fit, [`Error::InvalidOption`] for what only the host can give.
    pub fn borrow_tensor(&mut self, problem: u32, what: &[u32], tensor: u32) -> Result<Vec<u32>, Error> {
        self.refuse_ranks("tensors in problems")?;
        self.return_lenders();
        let (recipient, (double, node)) = (recipient(what)?, parts(tensor));
        let request = self.entry(problem)?.0.problem.borrows(recipient)?;
        self.must_share(&request, double)?;
        let graph = &mut self.tensors(double)?.graph;
        must_fit(&request, &graph.get(node).ok_or(Error::Disposed("tensor"))?.shape)?;
        let made = graph.made(|graph| {
            // A problem's numbers are reals.
            let real = if graph.entry(node).values == Values::Integers { graph.operation("real", &[node], &[])? } else { node };
            ordered(graph, real, &request).map(|node| vec![node])
        })?;
        self.packed(double, &made)
    }

    /// Has a recipient await a copy that was [borrowed](Self::borrow_tensor) for it.
    pub fn await_tensor(&mut self, problem: u32, what: &[u32], copy: u32) -> Result<(), Error> {
        let recipient = recipient(what)?;
        self.entry(problem)?.0.problem.await_lender(recipient, copy);
        Ok(())
    }

    /// Gives a recipient the tensor that was [borrowed](Self::borrow_tensor) for it and is evaluated, unless something else was given since.
    pub fn lend_tensor(&mut self, problem: u32, what: &[u32], tensor: u32) -> Result<(), Error> {
        let (recipient, (double, node)) = (recipient(what)?, parts(tensor));
        if !self.entry(problem)?.0.problem.awaits(recipient, tensor) {
            return Ok(());
        }
        // A recipient that cannot be given it goes on awaiting it, so that later calls are told.
        match self.elements_of(double, node)? {
            Elements::Here(slice) => {
                let (devices, of) = self.site(problem)?;
                of.lend(&mut devices.main, recipient, slice, tensor)?;
                // The problem's to let go of.
                self.tensors(double)?.graph.hold(node);
            }
            Elements::Beside(values) => {
                self.site(problem)?.1.settle(recipient, &values)?;
            }
        }
        self.entry(problem)?.0.problem.end_await(recipient, tensor);
        self.return_lenders();
        Ok(())
    }

    fn elements_of(&mut self, double: bool, node: Node) -> Result<Elements, Error> {
        let shares = self.shares(double);
        let (tensors, mut devices) = self.tensor_devices(double)?;
        for place in Place::ALL {
            let Some((slice, _)) = tensors.view_at(node, place) else { continue };
            if shares && place == Place::Device {
                return Ok(Elements::Here(slice));
            }
            let device = devices.at(place);
            if matches!(device, Device::Cpu(_)) {
                return read_here(device, slice).map(Elements::Beside);
            }
        }
        Err(Error::Internal("a tensor was not evaluated before it was lent"))
    }

    /// Tensors whose elements columns and weights of a problem have, and the host does not know; and how many each has.
    pub fn tensor_lenders(&mut self, problem: u32) -> Result<Vec<(u32, u32)>, Error> {
        Ok(self.entry(problem)?.0.problem.unknown_lenders())
    }

    /// Tells the host the elements of these, one after the other.
    pub fn learn_tensors(&mut self, problem: u32, lenders: &[(u32, u32)], values: &[f64]) -> Result<(), Error> {
        self.entry(problem)?.0.problem.learn_lent(lenders, values)
    }

    /// Lets go of what problems had of tensors and have no more. A problem that is worked on may have copies in recordings that are not
    /// begun, or not over: its lenders wait.
    pub(super) fn return_lenders(&mut self) {
        let mut returned = Vec::new();
        for handle in self.problems.handles() {
            let is_live = self.solvers.iter().any(|(_, solver)| solver.problem == handle && solver.driven.is_live());
            let Some(entry) = self.problems.get_mut(handle).filter(|entry| !is_live && !entry.is_busy()) else { continue };
            returned.append(&mut entry.problem.take_returned());
        }
        if !returned.is_empty() {
            self.release_tensors(&returned);
        }
    }

    /// The accepted values of tables of variables as tensors [count, width], through which gradients go to data. `solve` tells solves apart.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the problem's reals are no tensors', [`Error::Busy`] while something runs on the problem.
    pub fn tensor_solution(&mut self, problem: u32, tables: &[u32], data: &[u32], solve: u32) -> Result<Vec<u32>, Error> {
        self.refuse_ranks("solutions as tensors")?;
        let (double, data) = Self::nodes(data, false)?;
        let (entry, devices) = self.idle(problem)?;
        entry.problem.lay_out_values(&mut devices.main)?;
        entry.problem.flush(&mut devices.main)?;
        let buffer = entry.problem.arenas()?.0.buffer;
        let mut places = Vec::new();
        for &number in tables {
            let table = entry.problem.table(number)?;
            places.push((number, Slice { buffer, offset: table.arena, len: table.elements() }, vec![table.count, table.width]));
        }
        let graph = &self.tensors(double)?.graph;
        if data.iter().any(|&node| graph.get(node).is_none()) {
            return Err(Error::Disposed("tensor"));
        }
        let mut made = Vec::new();
        for (table, slice, shape) in places {
            let node = self.accepted(double, slice, shape)?;
            let graph = &mut self.tensors(double)?.graph;
            graph.hold(node);
            graph.set_solution(node, Solve { problem, number: solve, table }, data.clone());
            made.push(node);
        }
        self.packed(double, &made)
    }

    /// A tensor of values of the problem's device.
    fn accepted(&mut self, double: bool, slice: Slice, shape: Vec<u32>) -> Result<Node, Error> {
        if self.shares(double) {
            let (tensors, mut devices) = self.tensor_devices(double)?;
            return tensors.copied(&mut devices, slice, shape);
        }
        if !matches!(self.devices.main, Device::Cpu(_)) {
            let (own, dtype) = (self.devices.main.precision_name(), if double { "f64" } else { "f32" });
            let message =
                format!("the solution is in {own}, and no tensor of {dtype}: read() the variables, and make a tensor of the values");
            return Err(Error::Dtype(message));
        }
        let values = read_here(&mut self.devices.main, slice)?;
        let data = match double {
            true => Data::Doubles(values),
            false => Data::Singles(Arc::new(values.iter().map(|&value| value as f32).collect())),
        };
        Ok(self.tensors(double)?.graph.stored(data, shape))
    }

    /// Counts of a problem's edits, and of what moved its variables: as long as both stay, so does the solution.
    pub fn tensor_epoch(&mut self, problem: u32) -> Result<Vec<u32>, Error> {
        let entry = self.entry(problem)?.0;
        Ok([entry.problem.revision, entry.moves].map(|count| count as u32).into())
    }

    /// Gradients through solves that tensors need, in the order in which they can be computed: of each the tensor to be filled, the
    /// cotangent of the values, and their problem, solve and table.
    pub fn tensor_pulls(&mut self, outputs: &[u32]) -> Result<Vec<u32>, Error> {
        let (double, nodes) = Self::nodes(outputs, false)?;
        let graph = &self.tensors(double)?.graph;
        let known: Vec<Node> = nodes.into_iter().filter(|&node| graph.get(node).is_some()).collect();
        let pulls = graph.pulls(&known).into_iter();
        let words = |Pull { node, cotangent, solve }| [id(double, node), id(double, cotangent), solve.problem, solve.number, solve.table];
        Ok(pulls.flat_map(words).collect())
    }

    /// Fills one of them with the gradients of all data, one after the other.
    pub fn fill_tensor(&mut self, tensor: u32, values: &[f64]) -> Result<(), Error> {
        let (double, node) = parts(tensor);
        self.tensors(double)?.graph.fill(node, values)
    }
}

/// Reads from a device that is the host's memory.
fn read_here(device: &mut Device, slice: Slice) -> Result<Vec<f64>, Error> {
    let mut play = device.start(Recording { commands: vec![Command::Read { slice }] });
    match device.resume(&mut play, f64::INFINITY)? {
        Playing::Finished(values) => Ok(values),
        _ => Err(Error::Internal("a read of the host's memory did not end")),
    }
}
