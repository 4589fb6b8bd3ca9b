//! Modules in the engine that wrote them: the browser compiles them in the background, and the engine's own table of
//! functions gets what comes of it.
//!
//! Until then, and where it is refused (a page whose content policy lacks `'wasm-unsafe-eval'` and that got the engine's own
//! module compiled from elsewhere), the block interpreter goes on: nobody waits, and the bits are the same. Where there are
//! more threads, each has a table of its own, and gets the module a little later ([`workers`](super::workers)).

use super::phases::SIN_COS;
#[cfg(target_feature = "atomics")]
use super::workers;
use super::{Frame, Module, Span, SumsForm, apply};
use crate::block::{Inputs, LANES, Lanes, Part};
use crate::real::Real;
use leastwise_program::Program;
use leastwise_recording::{Precision, Signal};
use std::cell::{OnceCell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
use wasm_bindgen_futures::{JsFuture, spawn_local};

#[wasm_bindgen]
extern "C" {
    /// Compiles bytes, which must lie in memory of their own. Catches: an exception must not unwind through Rust.
    #[wasm_bindgen(catch, js_namespace = WebAssembly, js_name = instantiate)]
    fn instantiate(bytes: &js_sys::Uint8Array, imports: &JsValue) -> Result<js_sys::Promise, JsValue>;
}

type Function = extern "C" fn(*const u32, u32) -> u32;

/// A place in the table, given back when nobody calls it any more.
struct Place(u32);

thread_local! {
    /// Places that were given back.
    static FREE: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

fn functions() -> js_sys::WebAssembly::Table {
    wasm_bindgen::function_table().unchecked_into()
}

impl Place {
    fn new(function: &js_sys::Function) -> Result<Self, JsValue> {
        let free = FREE.with_borrow_mut(Vec::pop);
        let place = Self(free.map_or_else(|| functions().grow(1), Ok)?);
        functions().set(place.0, function)?;
        Ok(place)
    }

    fn function(&self) -> Function {
        // SAFETY: on this target a function's address is its place in the table, and what is there has this type: `write`
        // says so, and the call would trap if it were another one.
        unsafe { std::mem::transmute::<usize, Function>(self.0 as usize) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is called nowhere may stay in a table that can't be written.
        let _ = functions().set_raw(self.0, &JsValue::NULL);
        FREE.with_borrow_mut(|free| free.push(self.0));
    }
}

/// A module that can be called.
pub struct Ready {
    module: Module,
    place: Place,
    /// Under which the other threads know it.
    #[cfg(target_feature = "atomics")]
    published: workers::Published,
}

impl Ready {
    fn new(mut module: Module, function: &js_sys::Function) -> Result<Self, JsValue> {
        let place = Place::new(function)?;
        let bytes = std::mem::take(&mut module.bytes);
        #[cfg(target_feature = "atomics")]
        let published = workers::publish(place.0, bytes, apply_address(&module));
        #[cfg(not(target_feature = "atomics"))]
        drop(bytes);
        Ok(Self {
            module,
            place,
            #[cfg(target_feature = "atomics")]
            published,
        })
    }
}

#[derive(Clone, Default)]
enum State {
    #[default]
    Unwanted,
    Compiling(Signal),
    Ready(Arc<Ready>),
    Refused(String),
}

/// The modules of a program, one a precision.
pub struct Linked {
    program: Program,
    /// Where it is a block's sums that a module computes.
    sums: Option<SumsForm>,
    states: [Arc<Mutex<State>>; 2],
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Linked {
    /// Nothing is compiled before it is to run.
    pub fn new(program: &Program) -> Self {
        Self { program: program.clone(), sums: None, states: Default::default() }
    }

    /// The same of sums of fits.
    pub fn of_sums(program: &Program, form: SumsForm) -> Self {
        Self { sums: Some(form), ..Self::new(program) }
    }

    fn module(&self, precision: Precision) -> Result<Module, String> {
        match &self.sums {
            Some(form) => Module::of_sums(&self.program, form, precision),
            None => Module::new(&self.program, precision),
        }
    }

    fn state(&self, precision: Precision) -> &Arc<Mutex<State>> {
        &self.states[usize::from(precision == Precision::F64)]
    }

    /// Why there is no module and will be none.
    pub fn refused(&self, precision: Precision) -> Option<String> {
        match &*lock(self.state(precision)) {
            State::Refused(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// Items that a module computes at least.
    pub fn least(&self, precision: Precision) -> u32 {
        Module::least(&self.program, precision)
    }

    /// True if the module can be called.
    pub fn is_ready(&self, precision: Precision) -> bool {
        matches!(&*lock(self.state(precision)), State::Ready(_))
    }

    /// What to wait for, if the module is being compiled.
    pub fn compiling(&self, precision: Precision) -> Option<Signal> {
        match &*lock(self.state(precision)) {
            State::Compiling(signal) => Some(signal.clone()),
            _ => None,
        }
    }

    /// The module, or none as long as there is none; the first time, it is begun to be compiled. For the engine's thread alone.
    pub fn ready(&self, precision: Precision) -> Option<Arc<Ready>> {
        let state = lock(self.state(precision)).clone();
        match state {
            State::Ready(ready) => Some(ready),
            State::Unwanted => {
                self.compile(precision);
                None
            }
            State::Compiling(_) | State::Refused(_) => None,
        }
    }

    fn compile(&self, precision: Precision) {
        let begun = allowed().and_then(|()| self.module(precision)).and_then(|module| {
            let promise = begin(&module).map_err(|error| refusal(&error))?;
            Ok((module, promise))
        });
        let (module, promise) = match begun {
            Ok(begun) => begun,
            Err(why) => {
                *lock(self.state(precision)) = State::Refused(why);
                return;
            }
        };
        let signal = Signal::default();
        *lock(self.state(precision)) = State::Compiling(signal.clone());
        let state = Arc::downgrade(self.state(precision));
        spawn_local(async move {
            let instantiated = JsFuture::from(promise).await;
            // The program may be gone by now.
            if let Some(state) = state.upgrade() {
                let ready = instantiated.and_then(|instantiated| Ready::new(module, &exported(&instantiated)?));
                *lock(&state) = match ready {
                    Ok(ready) => State::Ready(Arc::new(ready)),
                    Err(error) => State::Refused(refusal(&error)),
                };
            }
            signal.set();
        });
    }
}

/// Whether anything may be compiled here, or why not. A page's policy is asked once, since it tells its owner of every time that it is.
fn allowed() -> Result<(), String> {
    const EMPTY: [u8; 8] = *b"\0asm\x01\0\0\0";
    thread_local! {
        static ALLOWED: OnceCell<Result<(), String>> = const { OnceCell::new() };
    }
    ALLOWED.with(|allowed| {
        let ask = || js_sys::WebAssembly::Module::new(&js_sys::Uint8Array::from(&EMPTY[..])).map(drop).map_err(|error| refusal(&error));
        allowed.get_or_init(ask).clone()
    })
}

/// The place in the table of what runs [`apply`](super::apply) for a module: on this target a function's address.
fn apply_address(module: &Module) -> u32 {
    (if module.real == 8 { called::<f64> as *const () } else { called::<f32> as *const () }) as u32
}

fn begin(module: &Module) -> Result<js_sys::Promise, JsValue> {
    let (imports, engine) = (js_sys::Object::new(), js_sys::Object::new());
    js_sys::Reflect::set(&engine, &"memory".into(), &wasm_bindgen::memory())?;
    js_sys::Reflect::set(&engine, &"apply".into(), &functions().get(apply_address(module))?.into())?;
    js_sys::Reflect::set(&imports, &"engine".into(), &engine)?;
    instantiate(&js_sys::Uint8Array::from(&module.bytes[..]), &imports)
}

fn exported(instantiated: &JsValue) -> Result<js_sys::Function, JsValue> {
    let instance = js_sys::Reflect::get(instantiated, &"instance".into())?;
    let exports = js_sys::Reflect::get(&instance, &"exports".into())?;
    js_sys::Reflect::get(&exports, &"run".into())?.dyn_into()
}

fn refusal(error: &JsValue) -> String {
    let text = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.to_string()));
    format!("it can't be compiled here: {}", text.or_else(|| error.as_string()).unwrap_or_else(|| "WebAssembly.instantiate failed".into()))
}

impl Ready {
    /// The module that is called.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Adds a run of points to a block's sums, by the frame of [`Module::of_sums`]; false where it is left to the interpreter.
    pub fn add(&self, words: &[u32]) -> bool {
        #[cfg(target_feature = "atomics")]
        if !self.published.is_here() {
            return false;
        }
        // Its columns have the lanes of a block, and those that it writes are nobody else's.
        self.place.function()(words.as_ptr(), LANES as u32) == 0
    }

    /// Computes a part, on any thread; false where it is left to the interpreter.
    pub fn run<R: Real>(&self, inputs: &Inputs<R>, part: &mut Part<R>) -> bool {
        let (first, items) = (part.items.start, part.items.len() as u32);
        if items < self.module.least {
            return false;
        }
        #[cfg(target_feature = "atomics")]
        if !self.published.is_here() {
            return false;
        }
        let span = |values: &[R]| Span { at: values.as_ptr() as u32, len: values.len() as u32 };
        let mut scratch = vec![R::ZERO; self.module.scratch as usize / size_of::<R>()];
        let indices: Vec<u32> = inputs.indices.iter().map(|column| column[first..].as_ptr() as u32).collect();
        let views: Vec<u32> = inputs.views.iter().map(|column| column[first..].as_ptr() as u32).collect();
        let targets: Vec<u32> = part.targets.iter_mut().map(|column| column.as_mut_ptr() as u32).collect();
        let frame = Frame {
            arena: span(inputs.arena),
            vector: span(inputs.vector),
            data: inputs.data.as_ptr() as u32,
            bases: &inputs.bases,
            indices: &indices,
            views: &views,
            targets: &targets,
            scratch: scratch.as_mut_ptr() as u32,
        };
        let Some(words) = frame.words(&self.module) else { return false };
        // It reads `items` items of columns that are as long, compares indices with the tables' lengths, and writes to the
        // targets, which nobody else has, and to the scratch.
        self.place.function()(words.as_ptr(), items) == 0
    }
}

/// What modules call.
extern "C" fn called<R: Real>(function: u32, out: *mut Lanes<R>, second: *mut Lanes<R>, a: *const Lanes<R>, b: *const Lanes<R>) {
    // SAFETY: all of them are slots of the scratch, which `Ready::run` holds; outputs are no operands (`phases`), and the
    // second one is another slot than the first where there are two.
    unsafe {
        let second = if function == SIN_COS { Some(&mut *second) } else { None };
        apply(function, &mut *out, second, [&*a, &*b]);
    }
}
