//! Which vector instructions the loops over lanes are compiled for.
//!
//! An x86-64 build must run on processors without AVX2, which is twice as wide as what all of them have. So the
//! interpreter exists twice there, made from one source, and which one runs is decided by the processor. Neither
//! contracts a product and a sum to one rounding: the bits are the same, and those of wasm.

#[cfg(target_arch = "x86_64")]
use pulp::{NullaryFnOnce, x86::V3};

/// A set of vector instructions that this processor has.
#[derive(Clone, Copy, Debug)]
pub enum Instructions {
    /// What the build was compiled for.
    Baseline,
    /// AVX2, of a processor that has it.
    #[cfg(target_arch = "x86_64")]
    Avx2(V3),
}

/// Computation to be compiled for each instruction set. Everything that it calls must be inlined into it.
pub trait SimdKernel {
    /// The computation, inlined into a function that is compiled for the instruction set.
    fn run(self);
}

impl Instructions {
    /// The widest set of this processor.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = V3::try_new() {
            return Self::Avx2(avx2);
        }
        Self::Baseline
    }

    /// Runs a computation compiled for this set.
    pub fn run(self, task: impl SimdKernel) {
        match self {
            Self::Baseline => task.run(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.vectorize(Vectorized(task)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
struct Vectorized<T>(T);

#[cfg(target_arch = "x86_64")]
impl<T: SimdKernel> NullaryFnOnce for Vectorized<T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}
