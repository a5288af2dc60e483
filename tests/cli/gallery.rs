//! `gallery`: the page of the repository's own runs is current, and hostile folders do no harm.

use crate::{Ended, convledger};
use std::fs;
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("kept with the repository") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("copied");
        }
    }
}

#[test]
fn the_gallery_of_the_repository_is_current() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for entry in fs::read_dir("results").expect("kept with the repository") {
        let path = entry.expect("an entry").path();
        if path.join("measurements.csv").exists() {
            copy(&path, &folder.path().join(path.file_name().expect("a name")));
        }
    }
    Ended::good(convledger(&["gallery", folder.path().to_str().expect("UTF-8")]));
    let made = fs::read_to_string(folder.path().join("GALLERY.md")).expect("written");
    let kept = fs::read_to_string("results/GALLERY.md").expect("kept with the repository");
    assert!(made == kept, "results/GALLERY.md is out of date: run convledger gallery");
    // Every picture it shows is there, and drawn as this version draws it.
    let pictures: Vec<&str> = kept.split("](gallery/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(pictures.len() >= 2, "{pictures:?}");
    for picture in pictures {
        let read = |at: &Path| fs::read(at.join("gallery").join(picture)).expect(picture);
        assert!(read(folder.path()) == read(Path::new("results")), "results/gallery/{picture} is out of date: run convledger gallery");
    }
}

#[test]
fn hostile_names_and_broken_runs_stay_where_they_are() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let good = folder.path().join("2026-01-02-good|<i>");
    copy(Path::new("results/2026-11-30-llvmpipe-llvm-15-0-6-256-bits"), &good);
    for file in ["measurements.csv", "ledger.csv", "steps.csv", "samples.csv"] {
        let text = fs::read_to_string(good.join(file)).expect("copied");
        fs::write(good.join(file), text.replace("resnet18.conv1", "<script>alert(1)</script> @everyone `x` _y_ [z](w)")).expect("written");
    }
    let bad = folder.path().join("2026-01-01-bad");
    copy(&good, &bad);
    fs::write(bad.join("measurements.csv"), "nothing of the kind\n").expect("written");
    fs::create_dir(folder.path().join("not-a-run")).expect("created");
    let ended = Ended::of(convledger(&["gallery", folder.path().to_str().expect("UTF-8")]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("2026-01-01-bad: not read: "), "{}", ended.stderr);
    let page = fs::read_to_string(folder.path().join("GALLERY.md")).expect("written");
    assert!(page.contains("## 2026-01-02-good") && page.contains("`2026-01-01-bad`") && !page.contains("not-a-run"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<i>") && !page.contains("@everyone") && !page.contains("[z](w)"), "{page}");

    let empty = tempfile::tempdir().expect("temporary folder");
    let error = Ended::error(convledger(&["gallery", empty.path().to_str().expect("UTF-8")]));
    assert!(error.ends_with(": no folder in it holds a run"), "{error}");
    // A page of somebody's own stays.
    fs::write(folder.path().join("GALLERY.md"), "# Mine\n").expect("written");
    let error = Ended::error(convledger(&["gallery", folder.path().to_str().expect("UTF-8")]));
    assert!(error.ends_with("GALLERY.md: is not a page that this command made, and is not written over"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("GALLERY.md")).expect("there"), "# Mine\n");
}
