//! Functions whose versions in glibc are younger than all else that the addon asks for. The linker calls these in their place.

#[unsafe(no_mangle)]
extern "C" fn __wrap_hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_hypotf(x: f32, y: f32) -> f32 {
    libm::hypotf(x, y)
}
