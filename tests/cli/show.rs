//! `convledger show`: kept runs and doctored copies of them in the terminal; one run of its own.

use crate::compare::{ALL_FILES, KEPT, copy, edit, hostile, kept};
use crate::{CONV, Ended, convledger, run_in};

const SECTIONS: [&str; 9] = [
    "- im2col's whole column matrix takes 2.00× to 12.2× the bytes of the layer's",
    "Layers",
    "Limits on the workspace",
    "Time against workspace",
    "Bytes by ledger",
    "Time by stage",
    "Accuracy",
    "Not run",
    "Environment",
];

/// `show` as on a screen of so many columns.
fn on_screen(columns: usize, args: &[&str]) -> String {
    let mut command = convledger(&[&["show"], args].concat());
    command.env("COLUMNS", columns.to_string());
    Ended::good(command).stdout
}

#[test]
fn a_run_is_shown_in_sections() {
    let text = Ended::good(convledger(&["show", &kept(KEPT)])).stdout;
    let at: Vec<usize> = SECTIONS.iter().map(|section| text.lines().position(|line| line == *section).expect(section)).collect();
    assert!(at.is_sorted(), "{at:?}");
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    for part in [
        " resnet18.layer1.0.conv1   784 KiB          6.89 MiB     9.0x  winograd_f4:batch     6.90 ms    33.53   4.01 MiB       53.11x",
        "66 cases: 49 ok, 17 unsupported",
        " all of default             1.38x     1.14x             1.28x     1.00x     1.00x     1.00x",
        " winograd_f4:tiles=52  7.43 ms           1.08x   1.48 MiB",
        "driver                        llvmpipe Mesa 22.3.6 (LLVM 15.0.6)",
        "  6 slower algorithms with --layer",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("SHADER_F64"), "features are for those who ask");
    assert!(Ended::good(convledger(&["show", &kept(KEPT), "--section", "environment"])).stdout.contains("SHADER_F64"));
}

#[test]
fn a_layer_is_drawn() {
    let text = on_screen(64, &[&kept(KEPT), "--layer", "default/*dilation8", "--section", "pareto"]);
    insta::assert_snapshot!(text, @r"
    Time against workspace
    ──────────────────────
    context.dilation8 (n1c21h64w64_k21r3s3_p8_d8)
      55.9 ms │e┊
              │ ┊
              │ ┊
              │ ┊
              │+┊         d          g    i         g
              │ ┊c
              │ ┊                                    i
              │ ┊                                                  g
              │A┊                                                 i
              │ ┊                  F  H            h        f     h
              │ ┊
      2.21 ms │ ┊                             F
              └─┴───────────────────────────────────────────────────
               0 27.6 KiB                                   2.95 MiB
      Time over workspace; + several; capitals: on the front. a
      implicit_gemm, b direct_tiled, c winograd_f2_fused, d
      winograd_f4_fused, e direct, f winograd_f4, g im2col, h
      winograd_f2, i winograd_f6
     front                    time  of the fastest  workspace
     implicit_gemm         4.87 ms           2.20x        0 B
     winograd_f4:tiles=16  4.05 ms           1.83x    157 KiB
     winograd_f2:tiles=64  3.51 ms           1.59x    196 KiB
     winograd_f4:tiles=64  2.21 ms           1.00x    440 KiB
    ");
    // A bar for each case, the longest for the one that holds the most.
    let text = on_screen(80, &[&kept(KEPT), "--layer", "context*", "--section", "ledgers"]);
    let bars: Vec<&str> = text.lines().filter(|line| line.contains(" #=")).collect();
    assert_eq!(bars.len(), 19, "{text}");
    assert!(bars[0].starts_with(" direct ") && bars[0].ends_with("15.5 KiB  672 KiB       0 B     176 B"), "{text}");
    let stars = |line: &&str| line.matches('*').count();
    assert!(bars.is_sorted_by_key(stars) && stars(&bars[0]) == 0 && bars[18].starts_with(" im2col:batch "), "{text}");
}

/// Plots keep to the screen, whatever its width; tables as far as their words allow.
#[test]
fn what_is_shown_fits_the_screen() {
    for columns in [60, 100, 160] {
        let text = on_screen(columns, &[&kept(KEPT)]);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
        assert!(wide.is_empty(), "{columns}: {wide:?}");
    }
}

#[test]
fn what_failed_is_told_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&kept(KEPT), folder.path(), &ALL_FILES[..3]);
    edit(&folder.path().join("measurements.csv"), |columns, row| {
        if row[columns.at("algorithm")] == "implicit_gemm" {
            row[columns.at("status")] = "device_lost".into();
            row[columns.at("reason")] = "the driver \u{1b}[2J gave up".into();
        }
    });
    let text = Ended::good(convledger(&["show", &folder.path().display().to_string(), "--section", "failed"])).stdout;
    assert_eq!(text.lines().filter(|line| line.ends_with("  implicit_gemm  device_lost  the driver  [2J gave up")).count(), 4, "{text}");
    assert!(
        text.contains(" unsupported  gemm_1x1               4  gemm_1x1 is for kernels of one tap, not 3x3; 2 more with --layer\n"),
        "{text}"
    );
}

/// A run in which nothing ran, and one without stages and samples, have less to show and no fault.
#[test]
fn what_is_not_there_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&kept(KEPT), folder.path(), &ALL_FILES[..3]);
    let path = folder.path().display().to_string();
    let text = Ended::good(convledger(&["show", &path])).stdout;
    assert!(!text.contains("Time by stage") && text.contains("Bytes by ledger"));
    edit(&folder.path().join("measurements.csv"), |columns, row| {
        row[columns.at("status")] = "skipped".into();
        for (name, cell) in columns.names().zip(row) {
            if name.starts_with("time_") || name.starts_with("error_") {
                cell.clear();
            }
        }
    });
    let text = Ended::good(convledger(&["show", &path])).stdout;
    assert!(text.contains("No case was verified and timed") && text.contains("66 cases: 66 skipped"), "{text}");
    assert!(!text.contains("Time against workspace") && !text.contains("Accuracy"), "{text}");
}

#[test]
fn names_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let [run, _] = hostile(folder.path());
    let text = on_screen(100, &[&run]);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert!(text.len() < 50_000, "{} bytes: the name of 10,000 characters is cut", text.len());
    assert!(text.contains("<script>alert(1)</script>"), "names are told as they are");
}

#[test]
fn faults_are_one_line() {
    let run = kept(KEPT);
    let told = [&["/nonexistent"][..], &[&run, "--layer", "nope"], &[&run, "--layer", "resnet*", "--layer", "["]]
        .map(|args| Ended::error(convledger(&[&["show"], args].concat())));
    insta::assert_snapshot!(told.join("\n").replace(&run, "RUN"), @r"
    convledger: /nonexistent holds no run: it has no measurements.csv
    convledger: RUN: --layer 'nope' matches no layer of the run
    convledger: RUN: --layer '[' is no pattern: error parsing glob '[': unclosed character class; missing ']'
    ");
}

/// `run` ends with the same table.
#[test]
fn a_run_ends_with_what_show_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let ended = Ended::good(run_in(&out, &[CONV, "--algorithm", "direct", "--algorithm", "im2col:batch", "--time-budget", "1s"]));
    let shown = Ended::good(convledger(&["show", &out.display().to_string(), "--section", "layers"])).stdout;
    let table = shown.strip_prefix("Layers\n──────\n").expect("a heading");
    assert!(table.contains(CONV) && ended.stdout.contains(table), "{table}\nin\n{}", ended.stdout);
}
