//! Greedy placement of labels: each takes the first place beside its mark where nothing else is.

/// A rectangle of pixels: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Box {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Box {
    /// Around a point, `half` to each side.
    pub(super) fn around((x, y): (f64, f64), half: f64) -> Self {
        Self { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn inside(&self, other: &Self) -> bool {
        self.left >= other.left && self.right <= other.right && self.top >= other.top && self.bottom <= other.bottom
    }
}

/// Distance of a label from the middle of its mark.
const GAP: f64 = 8.0;

/// The first free place of a label of a size beside a point, inside `area` and clear of `taken`.
pub(super) fn place(point: (f64, f64), size: (f64, f64), area: &Box, taken: &[Box]) -> Option<Box> {
    let ((x, y), (width, height)) = (point, size);
    let (half, near) = (height / 2.0, GAP * 0.7);
    let corners = [
        (x + GAP, y - half),                   // right
        (x - GAP - width, y - half),           // left
        (x - width / 2.0, y - GAP - height),   // above
        (x - width / 2.0, y + GAP),            // below
        (x + near, y - near - height),         // above right
        (x + near, y + near),                  // below right
        (x - near - width, y - near - height), // above left
        (x - near - width, y + near),          // below left
    ];
    let boxes = corners.map(|(left, top)| Box { left, top, right: left + width, bottom: top + height });
    boxes.into_iter().find(|candidate| candidate.inside(area) && !taken.iter().any(|other| candidate.overlaps(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_keep_clear_of_each_other_of_marks_and_of_the_edge(points in prop::collection::vec((0.0..300.0, 0.0..200.0), 1..40)) {
            let area = Box { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };
            let marks: Vec<Box> = points.iter().map(|p| Box::around(*p, 4.0)).collect();
            let mut taken = marks.clone();
            for point in &points {
                if let Some(placed) = place(*point, (60.0, 12.0), &area, &taken) {
                    prop_assert!(placed.inside(&area));
                    prop_assert!(taken.iter().all(|other| !placed.overlaps(other)));
                    taken.push(placed);
                }
            }
            prop_assert!(taken.len() > marks.len() || points.len() > 1, "the first label finds a place");
        }
    }

    #[test]
    fn what_finds_no_place_is_left_out() {
        let area = Box { left: 0.0, top: 0.0, right: 30.0, bottom: 200.0 };
        assert_eq!(place((15.0, 100.0), (60.0, 12.0), &area, &[]), None);
    }
}
