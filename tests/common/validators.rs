//! The platforms' own compilers: spirv-val for Vulkan, DXC for DX12. `scripts/shader-validators` finds or fetches both.

use hassle_rs::{Dxc, DxcCompiler, DxcLibrary};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Says that a validator is not at hand; where nobody would read that, in continuous integration, it fails.
fn missing(validator: &str, variable: &str) {
    let how = format!("no {validator}: run `scripts/shader-validators cargo test`, which fetches it, or set {variable}");
    let continuous_integration = env::var_os("CI").is_some_and(|value| value != "false" && !value.is_empty());
    assert!(!continuous_integration, "{how}");
    // Not eprintln!, which the test harness swallows when the test passes.
    let _ = writeln!(std::io::stderr(), "not checked: {how}");
}

/// Runs `spirv-val`.
pub(crate) struct SpirvVal {
    program: PathBuf,
    scratch: tempfile::TempDir,
}

impl SpirvVal {
    /// The one `CONVLEDGER_SPIRV_VAL` names, or the one on the path; `None`, said aloud, where there is neither.
    pub(crate) fn find() -> Option<Self> {
        let variable = "CONVLEDGER_SPIRV_VAL";
        let named = env::var_os(variable).map(PathBuf::from);
        let program = named.clone().unwrap_or_else(|| "spirv-val".into());
        let runs = Command::new(&program).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
        if !runs {
            assert!(named.is_none(), "{variable} names no program that runs: {}", program.display());
            missing("spirv-val", variable);
            return None;
        }
        Some(Self { program, scratch: tempfile::tempdir().expect("a temporary directory") })
    }

    /// The validator's complaint, if it has one.
    pub(crate) fn check(&self, words: &[u32]) -> Result<(), String> {
        let file = self.scratch.path().join("shader.spv");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        fs::write(&file, bytes).expect("the temporary directory is writable");
        let output = Command::new(&self.program).args(["--target-env", "vulkan1.1"]).arg(&file).output().expect("spirv-val starts");
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }
}

/// The DirectX shader compiler.
pub(crate) struct DxCompiler {
    compiler: DxcCompiler,
    library: DxcLibrary,
    _dxc: Dxc, // the code of the two above: unloaded last
}

impl DxCompiler {
    /// The library `CONVLEDGER_DXC` names; `None`, said aloud, where it is not set.
    pub(crate) fn find() -> Option<Self> {
        let variable = "CONVLEDGER_DXC";
        let Some(path) = env::var_os(variable) else {
            missing("DXC", variable);
            return None;
        };
        let path = Path::new(&path);
        let dxc = Dxc::new(Some(path.to_owned())).unwrap_or_else(|error| panic!("{variable}={}: {error}", path.display()));
        let compiler = dxc.create_compiler().expect("DXC makes a compiler");
        let library = dxc.create_library().expect("DXC makes a library");
        Some(Self { compiler, library, _dxc: dxc })
    }

    /// Compiles to DXIL, which DXC validates.
    ///
    /// # Errors
    /// The compiler's complaint.
    pub(crate) fn compile(&self, hlsl: &str, entry: &str, profile: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let text = self.library.create_blob_with_encoding_from_str(hlsl).map_err(|error| error.to_string())?;
        match self.compiler.compile(&text, "shader.hlsl", entry, profile, arguments, None, &[]) {
            Ok(result) => Ok(result.get_result().map_err(|error| error.to_string())?.to_vec()),
            Err((result, code)) => {
                let message = result.get_error_buffer().and_then(|buffer| self.library.get_blob_as_string(&buffer.into()));
                Err(message.unwrap_or_else(|error| format!("code {code:?}, and no message: {error}")))
            }
        }
    }
}
