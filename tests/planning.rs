//! Structures of problems with many instances: lists of a layout, the blocks of JᵀWJ, eliminations and their products, which threads make
//! together, are those that one thread makes.

use crate::support::*;
use leastwise::base::task::Stopped;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Command, Device, Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::linear::elimination::{self, Elimination};
use leastwise::problem::{BlockList, Links, Pattern, Problem, Reals, Registry, Shape, Slot, TermSpec, Weight};
use leastwise::solve::assembly::structure;
use leastwise::solve::linear::reduced::formed::{Plan, Room};

const LANDMARKS: u32 = 150_000;

/// Cameras, points and landmarks, and a scale that all views share; views in no order, some of them twice; pairs of cameras, of which
/// some are one.
struct Scene {
    cameras: u32,
    points: u32,
    views: usize,
    /// True if points are declared first, so that the blocks of E have the rows of cameras.
    points_first: bool,
    limits: Limits,
}

/// Everything that is made of a scene.
#[derive(PartialEq)]
struct Made {
    uploads: Vec<Vec<u32>>,
    pattern: Pattern,
    lists: Vec<BlockList>,
    reduced: Pattern,
    neighbours: Vec<elimination::Neighbour>,
    incident: Vec<(u32, u32)>,
    origins: Vec<(Option<u32>, Vec<Option<u32>>)>,
    products: Vec<Vec<u32>>,
    solved: Vec<Vec<u32>>,
}

impl Scene {
    fn problem(&self, device: &Device, registry: &mut Registry) -> Problem {
        let mut random = Random::new(11);
        let mut below = |count: u32| (random.between(0.0, f64::from(count)) as u32).min(count - 1);
        let mut problem = Problem::new();
        let mut table = |name: &str, width: u32, count: u32| {
            let values = vec![0.5; (width * count) as usize];
            problem.add_table(device, registry, name, vec![Shape::Euclidean(width)], Reals::F64(&values), true).unwrap()
        };
        let first = self.points_first.then(|| table("point", 3, self.points));
        let landmark = table("landmark", 2, LANDMARKS);
        let camera = table("camera", 4, self.cameras);
        let scale = table("scale", 1, 1);
        let point = first.unwrap_or_else(|| table("point", 3, self.points));
        let mut term = |name: &str, tables: &[u32], indices: Vec<Vec<u32>>| {
            let mut tape = Tape::default();
            let inputs: Vec<u32> = (0..tables.len() as u32).map(|source| tape.input(source)).collect();
            let firsts: Vec<u32> =
                inputs.iter().zip(tables).map(|(&input, &of)| if of == scale { input } else { tape.op(Component, &[input, 0]) }).collect();
            let sum = firsts[1..].iter().fold(firsts[0], |sum, &other| tape.op(Mul, &[sum, other]));
            let spec = TermSpec {
                name: name.into(),
                count: indices[0].len() as u32,
                slots: (0..).zip(tables).map(|(column, &table)| Slot { table, column }).collect(),
                indices,
                columns: Vec::new(),
                weight: Weight::Shared(1.0),
                tape: &tape.words,
                outputs: &[sum],
                loss: None,
                objective: Default::default(),
            };
            problem.add_term(device, registry, spec).unwrap();
        };
        let column = |count: u32, below: &mut dyn FnMut(u32) -> u32| (0..self.views).map(|_| below(count)).collect::<Vec<u32>>();
        let [by_camera, by_point] = [self.cameras, self.points].map(|count| column(count, &mut below));
        term("views", &[camera, point, scale], vec![by_camera, by_point, vec![0; self.views]]);
        let [by_camera, by_landmark] = [self.cameras, LANDMARKS].map(|count| column(count, &mut below));
        term("landmarks", &[landmark, camera], vec![by_landmark, by_camera]);
        let pairs = [0; 2].map(|_| column(self.cameras, &mut below));
        term("pairs", &[camera, camera], pairs.to_vec());
        problem
    }

    fn made(&self, threads: usize) -> Made {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut device = Device::Cpu(CpuDevice::new(Precision::F32, self.limits));
            let mut registry = Registry::default();
            let mut problem = self.problem(&device, &mut registry);
            problem.lay_out(&mut device, &mut registry).unwrap();
            let words = |command| match command {
                Command::UploadIndices { data, .. } => Some(data),
                _ => None,
            };
            let uploads = problem.take_uploads().into_iter().filter_map(words).collect();
            let links = &Links::new(&problem);
            let (pattern, lists) = at_once(|pace| async move { structure(links, &pace).await }).expect("no term sums over entries");
            let tables = &elimination::detect(&pattern);
            assert_eq!(tables.len(), 2, "points and landmarks can be eliminated");
            let of = &pattern;
            let elimination = at_once(|pace| async move { Elimination::new(of, tables, &pace).await.map_err(|_| Stopped) });
            let room = Room { binding: 1 << 32, real: 4 };
            let limits = (room, elimination::work(of, tables), f64::INFINITY);
            let plan = at_once(|pace| async move { Plan::new(links, of, tables, limits, &pace).await }).expect("there is room");
            let Elimination { reduced, neighbours, incident, origins, .. } = elimination;
            let products = plan.products.into_iter().map(|list| list.words().0.concat()).collect();
            let solved = plan.solved.into_iter().map(|list| list.words.concat()).collect();
            Made { uploads, pattern, lists, reduced, neighbours, incident, origins, products, solved }
        })
    }
}

#[test]
fn threads_make_the_structures_that_one_makes() {
    let whole = CpuDevice::default_limits();
    let small = Limits { binding_bytes: 8 << 20, buffer_bytes: 8 << 20, ..whole };
    for (points_first, limits) in [(false, whole), (true, small)] {
        let scene = Scene { cameras: 300, points: 200_001, views: 700_003, points_first, limits };
        let one = scene.made(1);
        assert!(one.lists.iter().map(|list| list.entries.len()).max() > Some(scene.views / 8), "lists that threads share");
        for threads in [2, 5] {
            let made = scene.made(threads);
            assert!(made.uploads == one.uploads, "{threads}: lists of the layout");
            assert!(made.pattern == one.pattern && made.lists == one.lists, "{threads}: blocks of JᵀWJ");
            assert!(made.neighbours == one.neighbours && made.incident == one.incident, "{threads}: neighbours");
            assert!(made.reduced == one.reduced && made.origins == one.origins, "{threads}: the structure of S");
            assert!(made.products == one.products && made.solved == one.solved, "{threads}: products of S");
        }
    }
}
