//! Embeds every `.wgsl` file below `shaders/` in the binary: writes an array of (name, text) that `src/shader/library.rs` includes.
//! A new shader file needs no line anywhere: cargo watches the whole folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shaders");
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("cargo does not set {name}")));
    let root = variable("CARGO_MANIFEST_DIR")?.join("shaders");
    let mut names = Vec::new();
    collect(&root, "", &mut names)?;
    names.sort();
    let mut array = String::from("[\n");
    for name in &names {
        let path = root.join(name);
        writeln!(array, "    ({name:?}, include_str!({:?})),", path.display().to_string()).map_err(io::Error::other)?;
    }
    array.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("shaders.rs"), array)
}

/// Names of the WGSL files below `folder`, with `/` between folders on every system.
fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else if entry.path().extension().is_some_and(|ending| ending == "wgsl") {
            names.push(name);
        }
    }
    Ok(())
}
