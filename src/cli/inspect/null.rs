//! `--null`: Mesa's RADV as a compiler for a GPU that is not there.
//!
//! RADV looks for `RADV_FORCE_FAMILY` when the loader starts it, and ends the process when it does not know the family. So the program
//! runs itself again with the variable set, and turns what becomes of that into one line.

use crate::cli::{Outcome, note};
use crate::inspect::{Facts, InspectError, KernelUse, Vulkan};
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The variable by which RADV takes a family.
const FAMILY: &str = "RADV_FORCE_FAMILY";
/// Set in the process that `--null` runs.
const PREPARED: &str = "CONVLEDGER_NULL_DEVICE";

/// Begins the lines by which that process says which kernel is next, for the message should the driver crash on it.
const NEXT: &str = "next kernel: ";

/// Whether this process is the one that RADV is to be loaded in.
pub(super) fn is_prepared(family: &str) -> bool {
    std::env::var(PREPARED).is_ok_and(|prepared| prepared == family) && std::env::var(FAMILY).is_ok_and(|forced| forced == family)
}

/// Runs this very command line in a process that RADV finds the family in.
pub(super) fn run_prepared(family: &str) -> anyhow::Result<Outcome> {
    if family.is_empty() || !family.chars().all(|c| c.is_ascii_alphanumeric()) {
        bail!("--null '{family}' is no name of a GPU family: it is written like navi21 or vega20");
    }
    let program = std::env::current_exe().context("cannot find this program to run it for --null")?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .envs([(FAMILY, family), (PREPARED, family)])
        // A pipeline from RADV's cache on disk would show no compile time.
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start this program again for --null")?;
    let mut said = Vec::new();
    let mut kernel = "the first kernel".to_owned();
    let lines = child.stderr.take().map(BufReader::new).into_iter().flat_map(|stderr| stderr.split(b'\n')).map_while(Result::ok);
    for line in lines.map(|line| String::from_utf8_lossy(&line).trim_end().to_owned()) {
        match line.strip_prefix(NEXT) {
            Some(next) => next.clone_into(&mut kernel),
            None => said.push(line),
        }
    }
    let status = child.wait().context("cannot wait for the process that --null started")?;
    if let Some(line) = said.iter().find(|line| line.contains("nknown family")) {
        bail!("--null '{family}' is no GPU family of the RADV that is installed, which says '{}'; try navi21 or vega20", line.trim());
    }
    match status.code() {
        Some(code @ (0 | 1)) => {
            said.iter().for_each(note);
            Ok(if code == 0 { Outcome::Good } else { Outcome::FellShort })
        }
        Some(_) => {
            let own = said.iter().rfind(|line| line.starts_with("convledger: ")).map(|line| line.replacen("convledger: ", "", 1));
            bail!(own.unwrap_or_else(|| said.join(" ")))
        }
        None => bail!("RADV crashed for --null '{family}' at {kernel} ({status}) {}", said.join(" ")),
    }
}

/// Says which kernel is next.
pub(super) fn tell(kernel: &KernelUse) {
    note(format!("{NEXT}shaders/{}.wgsl for {}", kernel.step.kernel.shader, kernel.from));
}

/// The loader with the device that RADV shows for the family.
pub(super) fn load() -> Result<(Vulkan, Facts), InspectError> {
    let vulkan = match Vulkan::load() {
        Ok(vulkan) => vulkan,
        Err(InspectError::NoDriver) => return Err(no_radv(&[])),
        Err(error) => return Err(error),
    };
    let all = vulkan.devices()?;
    match all.iter().find(|facts| facts.radv).cloned() {
        Some(facts) => Ok((vulkan, facts)),
        None => Err(no_radv(&all)),
    }
}

fn no_radv(all: &[Facts]) -> InspectError {
    let known = if all.is_empty() { "none".to_owned() } else { all.iter().map(|facts| facts.name.as_str()).collect::<Vec<_>>().join("; ") };
    let chosen = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
    let chosen = chosen.map_or_else(String::new, |(name, value)| format!(" ({name}={value} lets the loader use no other driver)"));
    InspectError::NoRadv { chosen, known }
}
