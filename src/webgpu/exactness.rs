//! Whether double-floats are what they should be on an adapter: a self-check, made before anything relies on them.
//!
//! WGSL lets drivers reassociate and contract, and does not say whether `fma` rounds once. So what the arithmetic rests on
//! (`shaders/double/`) is computed on the adapter for random numbers and compared with the same in f64, where sums of such
//! numbers and products of any two are exact.

use super::{Play, WgpuDevice};
use leastwise_kernels::{Products, doubles};
use leastwise_recording::{
    BufferId, Command, DeviceError, Dispatch, KernelSource, Kind, PARAM_WORDS, Playing, Recording, Slice, Structure, binding,
};

/// Pairs of numbers.
const PAIRS: usize = 1024;

/// Results a pair: their sum, their product, quotient and root, and a chain of operations.
const RESULTS: usize = 5;

/// How far quotients, roots and chains may be off: what `shaders/double/arithmetic.wgsl` promises, and a few bits.
const ROUNDING: f64 = 1.0 / (1u64 << 42) as f64;

impl WgpuDevice {
    /// Checks double-floats; from then on [`has_doubles`](Self::has_doubles) knows. Fails where the device is lost, and only there.
    pub async fn check_doubles(&mut self) -> Result<(), DeviceError> {
        if self.exactness.is_some() {
            return Ok(());
        }
        let numbers = numbers();
        let mut verdict = Err(String::new());
        for products in [Products::Fma, Products::Halves] {
            self.kernels.multiply_by(products);
            verdict = match self.checked(&numbers, products).await {
                Ok(results) => judge(&numbers, &results).map(|()| products),
                Err(DeviceError::Lost(why)) => return Err(DeviceError::Lost(why)),
                // Who can't do without hears of it; all others go on in f32.
                Err(error) => Err(error.to_string()),
            };
            if verdict.is_ok() {
                break;
            }
        }
        self.exactness = Some(verdict);
        Ok(())
    }

    /// What the adapter makes of the numbers.
    async fn checked(&mut self, numbers: &[f64], products: Products) -> Result<Vec<f64>, DeviceError> {
        let mut text = doubles::check();
        // Texts are known by their words, and these come to different kernels.
        text.wgsl = format!("{}\n// {products:?}", text.wgsl).into();
        let source = KernelSource::made_of("self-check of double-floats", Structure::Text(text)).in_doubles();
        let kernel = self.kernels(&[source])?[0];
        let mut slice = |kind, len: usize| {
            let buffer = self.allocate(kind, len as u32, "self-check of double-floats")?;
            Ok::<_, DeviceError>(Slice { buffer, offset: 0, len: len as u32 })
        };
        let (given, found) = (slice(Kind::Real, numbers.len())?, slice(Kind::Double, PAIRS * RESULTS)?);
        let mut bindings = [None; binding::COUNT];
        (bindings[binding::VECTOR_IN], bindings[binding::VECTOR_OUT]) = (Some(given), Some(found));
        let dispatch = Dispatch { kernel, bindings, count: PAIRS as u32, single_group: false, words: [0; PARAM_WORDS] };
        let upload = Command::UploadReals { buffer: given.buffer, offset: 0, data: numbers.to_vec() };
        let recording = Recording { commands: vec![upload, Command::Dispatch(dispatch), Command::Read { slice: found }] };
        let results = self.played(recording).await;
        [given, found].map(|slice| slice.buffer).into_iter().for_each(|buffer: BufferId| self.free(buffer));
        results
    }

    async fn played(&mut self, recording: Recording) -> Result<Vec<f64>, DeviceError> {
        let mut play = Play::new(recording);
        loop {
            match self.resume(&mut play)? {
                Playing::Finished(values) => return Ok(values),
                Playing::Yielded => {}
                #[cfg(target_arch = "wasm32")]
                Playing::Waiting(signal) => signal.await,
                #[cfg(not(target_arch = "wasm32"))]
                Playing::Waiting(signal) => self.block_on(&signal)?,
            }
        }
    }
}

/// Pairs of `f32`s of random bits, with exponents so near to each other that f64 has their sums.
fn numbers() -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let exponent = 117 + (state >> 32) as u32 % 20;
        f64::from(f32::from_bits((state as u32) & 0x807f_ffff | exponent << 23))
    };
    (0..2 * PAIRS).map(|_| next()).collect()
}

/// Whether results are right; else what is not.
fn judge(numbers: &[f64], results: &[f64]) -> Result<(), String> {
    let mut exact = [0; RESULTS];
    for (pair, found) in numbers.chunks_exact(2).zip(results.chunks_exact(RESULTS)) {
        let (a, b) = (pair[0], pair[1]);
        let near = |found: f64, right: f64, size: f64| (found - right).abs() <= ROUNDING * size;
        exact[0] += u32::from(found[0] == a + b);
        exact[1] += u32::from(found[1] == a * b);
        exact[2] += u32::from(near(found[2], a / b, (a / b).abs()));
        exact[3] += u32::from(near(found[3], a.abs().sqrt(), a.abs().sqrt()));
        let (chain, size) = chain(a, b);
        exact[4] += u32::from(near(found[4], chain, size));
    }
    let names = ["two-sums", "products", "quotients", "roots", "chains of operations"];
    let wrong = exact.iter().zip(names).filter(|(exact, _)| **exact < PAIRS as u32);
    let wrong: Vec<String> = wrong.map(|(exact, name)| format!("{name} were exact for {exact} of {PAIRS} pairs")).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("double-floats are not exact on this adapter: {}", wrong.join(", "))) }
}

/// What `check.wgsl` computes as a chain, and the sum of the magnitudes in it.
fn chain(a: f64, b: f64) -> (f64, f64) {
    let (mut x, mut size) = (a, a.abs());
    for _ in 0..16 {
        (x, size) = (x * 0.7 + b, size * 0.7 + b.abs());
        (x, size) = (x * 1.3 - a, size * 1.3 + a.abs());
    }
    (x, 32.0 * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(error: f64) -> (Vec<f64>, Vec<f64>) {
        let numbers = numbers();
        let of = |pair: &[f64]| {
            [pair[0] + pair[1] + error, pair[0] * pair[1], pair[0] / pair[1], pair[0].abs().sqrt(), chain(pair[0], pair[1]).0]
        };
        let results = numbers.chunks_exact(2).flat_map(of).collect();
        (numbers, results)
    }

    #[test]
    fn right_results_pass_and_others_are_told() {
        let (numbers, right) = results(0.0);
        assert_eq!(judge(&numbers, &right), Ok(()));
        let (_, wrong) = results(1e-9);
        let message = judge(&numbers, &wrong).unwrap_err();
        assert!(message.contains("two-sums were exact for 0 of 1024 pairs"), "{message}");
        assert!(judge(&numbers, &vec![f64::NAN; right.len()]).is_err());
    }

    #[test]
    fn sums_and_products_of_the_numbers_are_exact_in_f64() {
        for pair in numbers().chunks_exact(2) {
            let [high, low] = [pair[0].abs().max(pair[1].abs()), pair[0].abs().min(pair[1].abs())];
            assert!(f64::from(pair[0] as f32) == pair[0] && high / low < f64::from(1u32 << 20) * 2.0, "{pair:?}");
        }
    }
}
