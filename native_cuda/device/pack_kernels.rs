//! `pack-kernels FILE`: the static kernels, compiled for each generation of GPUs, into the file that the package carries.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("pack-kernels FILE");
        return ExitCode::from(2);
    };
    match leastwise_cuda::pack_images(Path::new(&file)) {
        Ok(count) => {
            println!("{count} images");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
