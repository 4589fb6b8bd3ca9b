//! Products of matrices by cuBLASLt, which is loaded when the first is asked for.
//!
//! The library counts columns first: our rows are its columns, so out = left·right is asked for as outᵀ = rightᵀ·leftᵀ. An algorithm is
//! what its heuristics say for a form, never what was fastest on a stopwatch, and there is one workspace on one stream: the same product
//! has the same bits each time.

use cudarc::cublas::sys::cublasOperation_t;
use cudarc::cublaslt::{result, sys};
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use leastwise_recording::{After, DeviceError, Form, Precision, Strided};
use libloading::Library;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

/// Bytes that algorithms may use: what NVIDIA recommends for Hopper.
pub static WORKSPACE: usize = 32 << 20;

/// Bytes that buffers are aligned to.
const ALIGNED: u32 = 256;

/// What is ready for a form.
struct Prepared {
    operation: sys::cublasLtMatmulDesc_t,
    /// Of right, left and out.
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
}

pub(super) struct Products {
    handle: sys::cublasLtHandle_t,
    workspace: CUdeviceptr,
    precision: Precision,
    /// None for a form that the library has no algorithm for.
    forms: HashMap<Form, Option<Prepared>>,
}

// SAFETY: the library's handles belong to no thread; they are used by their device alone.
unsafe impl Send for Products {}

/// Where the arguments of a product are.
pub(super) struct Places {
    pub left: CUdeviceptr,
    pub right: CUdeviceptr,
    pub out: CUdeviceptr,
    pub bias: Option<CUdeviceptr>,
}

/// True if the library is there. It stays open, so that cudarc, which tries the same names, finds it loaded.
pub(super) fn is_present() -> bool {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: initialisers of NVIDIA's library ask nothing of those who load it.
    let open = |name: String| unsafe { Library::new(name) }.ok();
    LIBRARY.get_or_init(|| cudarc::get_lib_name_candidates("cublasLt").into_iter().find_map(open)).is_some()
}

fn failed(error: result::CublasError) -> DeviceError {
    DeviceError::Invalid(format!("cuBLASLt refused a product: {error}"))
}

/// A factor as the library sees it, with columns first: rows, columns, the distance of columns, and whether it is to be transposed.
fn seen(factor: &Strided, rows: u32, columns: u32) -> (u64, u64, i64, bool) {
    match factor.columns {
        1 => (columns.into(), rows.into(), factor.rows.into(), false),
        far => (rows.into(), columns.into(), far.into(), true),
    }
}

/// The largest power of two that places of a factor are multiples of, in bytes.
fn alignment(factor: &Strided, bytes: u32) -> u32 {
    let places = factor.offset | (ALIGNED / bytes);
    (1 << places.trailing_zeros()) * bytes
}

impl Products {
    /// With memory of [`WORKSPACE`] bytes; the context is bound to this thread.
    pub fn new(precision: Precision, workspace: CUdeviceptr) -> Result<Self, DeviceError> {
        Ok(Self { handle: result::create_handle().map_err(failed)?, workspace, precision, forms: HashMap::new() })
    }

    pub fn workspace(&self) -> CUdeviceptr {
        self.workspace
    }

    /// True if it was prepared, or found to have no algorithm.
    pub fn knows(&self, form: &Form) -> bool {
        self.forms.contains_key(form)
    }

    /// Whether the library has an algorithm for it.
    pub fn prepare(&mut self, form: &Form) -> bool {
        if !self.knows(form) {
            let prepared = Prepared::new(self.handle, form, self.precision).ok();
            self.forms.insert(*form, prepared);
        }
        self.forms.get(form).is_some_and(Option::is_some)
    }

    /// Enqueues a product that was prepared.
    ///
    /// # Safety
    /// The form's entries lie within what is allocated at the places.
    pub unsafe fn enqueue(&self, form: &Form, places: &Places, stream: CUstream) -> Result<(), DeviceError> {
        let Some(Some(prepared)) = self.forms.get(form) else {
            return Err(DeviceError::Invalid("a product that was not prepared".into()));
        };
        if let Some(bias) = places.bias {
            // SAFETY: the attribute is a pointer.
            unsafe { prepared.set(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias) }.map_err(failed)?;
        }
        let bytes = self.precision.bytes();
        let at = |place: CUdeviceptr, offset: u32| (place + u64::from(offset) * bytes) as *const c_void;
        let (singles, doubles) = ([1.0f32, 0.0], [1.0f64, 0.0]);
        let [alpha, beta]: [*const c_void; 2] = match self.precision {
            Precision::F32 => [(&raw const singles[0]).cast(), (&raw const singles[1]).cast()],
            Precision::F32x2 | Precision::F64 => [(&raw const doubles[0]).cast(), (&raw const doubles[1]).cast()],
        };
        let [right, left, out] = prepared.layouts;
        // SAFETY: descriptors are alive, and places as the caller says.
        unsafe {
            result::matmul(
                self.handle,
                prepared.operation,
                alpha,
                beta,
                at(places.right, form.right.offset),
                right,
                at(places.left, form.left.offset),
                left,
                places.out as *const c_void,
                out,
                places.out as *mut c_void,
                out,
                &prepared.algorithm,
                self.workspace as *mut c_void,
                WORKSPACE,
                stream.cast(),
            )
        }
        .map_err(failed)
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        self.forms.clear();
        // SAFETY: nothing uses it any more; the device has synchronised.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

impl Prepared {
    fn new(handle: sys::cublasLtHandle_t, form: &Form, precision: Precision) -> Result<Self, result::CublasError> {
        use sys::cublasComputeType_t as Compute;
        use sys::cublasLtMatmulDescAttributes_t as Of;
        let (numbers, compute) = match precision {
            Precision::F32x2 | Precision::F64 => (sys::cudaDataType::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F),
            Precision::F32 if form.coarse => (sys::cudaDataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F_FAST_TF32),
            Precision::F32 => (sys::cudaDataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F),
        };
        let mut prepared = Self {
            operation: result::create_matmul_desc(compute, numbers)?,
            layouts: [std::ptr::null_mut(); 3],
            // SAFETY: plain words, written below before anybody reads them.
            algorithm: unsafe { std::mem::zeroed() },
        };
        let Form { batch, rows, depth, columns, left, right, after, .. } = *form;
        let seen_right = seen(&right, depth, columns);
        let seen_left = seen(&left, rows, depth);
        let seen_out = (columns.into(), rows.into(), columns.into(), false);
        let apart = [i64::from(right.batch), i64::from(left.batch), i64::from(rows) * i64::from(columns)];
        for (k, (height, width, distance, _)) in [seen_right, seen_left, seen_out].into_iter().enumerate() {
            let layout = result::create_matrix_layout(numbers, height, width, distance)?;
            prepared.layouts[k] = layout;
            if batch > 1 {
                use sys::cublasLtMatrixLayoutAttribute_t as Layout;
                let count = batch as i32;
                let set = |of, value: *const c_void, bytes| {
                    // SAFETY: the attributes' values are so many bytes wide.
                    unsafe { result::set_matrix_layout_attribute(layout, of, value, bytes) }
                };
                set(Layout::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, (&raw const count).cast(), 4)?;
                set(Layout::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, (&raw const apart[k]).cast(), 8)?;
            }
        }
        let transposed = |is: bool| if is { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N };
        let epilogue = match after {
            After::Nothing => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_DEFAULT,
            After::Bias => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS,
            After::Gelu => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU,
            After::BiasGelu => sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU_BIAS,
        };
        // SAFETY: the attributes' values are enumerations, as given.
        unsafe {
            prepared.set(Of::CUBLASLT_MATMUL_DESC_TRANSA, &transposed(seen_right.3))?;
            prepared.set(Of::CUBLASLT_MATMUL_DESC_TRANSB, &transposed(seen_left.3))?;
            prepared.set(Of::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue)?;
        }
        let bytes = precision.bytes() as u32;
        let aligned = [alignment(&right, bytes), alignment(&left, bytes), ALIGNED];
        prepared.algorithm = prepared.choose(handle, aligned)?;
        Ok(prepared)
    }

    /// The algorithm that the library would take, for places that are so aligned.
    fn choose(&self, handle: sys::cublasLtHandle_t, aligned: [u32; 3]) -> Result<sys::cublasLtMatmulAlgo_t, result::CublasError> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Of;
        let preference = result::create_matmul_pref()?;
        let set = |of, value: *const c_void, bytes| {
            // SAFETY: the attributes' values are so many bytes wide.
            unsafe { result::set_matmul_pref_attribute(preference, of, value, bytes) }
        };
        let [right, left, out] = self.layouts;
        let chosen = (|| {
            set(Of::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (&raw const WORKSPACE).cast(), size_of::<usize>())?;
            for (of, value) in [
                (Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned[0]),
                (Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned[1]),
                (Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned[2]),
                (Of::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned[2]),
            ] {
                set(of, (&raw const value).cast(), 4)?;
            }
            // SAFETY: all of them are alive.
            unsafe { result::get_matmul_algo_heuristic(handle, self.operation, right, left, out, out, preference) }
        })();
        // SAFETY: it is used no more.
        unsafe { result::destroy_matmul_pref(preference) }?;
        chosen.map(|chosen| chosen.algo)
    }

    /// # Safety
    /// The attribute's value has this type.
    unsafe fn set<T>(&self, of: sys::cublasLtMatmulDescAttributes_t, value: &T) -> Result<(), result::CublasError> {
        // SAFETY: the descriptor is alive, and the value as the caller says.
        unsafe { result::set_matmul_desc_attribute(self.operation, of, (value as *const T).cast(), size_of::<T>()) }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: they were made here, and nothing that is enqueued refers to them.
        unsafe {
            let _ = result::destroy_matmul_desc(self.operation);
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _ = result::destroy_matrix_layout(layout);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_seen_with_columns_first() {
        let rows_first = Strided { offset: 0, batch: 0, rows: 7, columns: 1 };
        let columns_first = Strided { offset: 0, batch: 0, rows: 1, columns: 9 };
        assert_eq!(seen(&rows_first, 3, 5), (5, 3, 7, false));
        assert_eq!(seen(&columns_first, 3, 5), (3, 5, 9, true));
        let from = |offset| alignment(&Strided { offset, ..rows_first }, 4);
        assert_eq!([from(0), from(1), from(2), from(12), from(4096)], [256, 4, 8, 16, 256]);
    }
}
