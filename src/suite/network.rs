//! A network as its tensors in time: which step makes each and which reads it last. What closed forms for a whole network go by.

use super::{Suite, SuiteError};
use crate::conv::Conv;

/// Steps beyond which a network is refused: far more than networks have layers, and few enough to try every checkpointing.
pub const MAX_STEPS: usize = 1 << 15;

/// How the steps of a network hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// The layers of a suite one after the other, which is all that a list tells: repeats follow each other, and where one layer's output
    /// has not the images of the next one's input, or not their elements, something unknown stands between (pooling, a branch). That is a
    /// step of its own. Norms, activations, sums and skips are not in it.
    Chain {
        /// Steps of the unknown kind.
        joints: u64,
        /// What speaks against the layers being those of one network, in words.
        doubt: Option<&'static str>,
    },
    /// The nodes of a model that compute on what the model is given, each with outputs of its own: nothing is taken to work in place.
    Graph {
        /// Nodes with graphs inside, such as `Loop`, whose own tensors are not among the features.
        bodies: u64,
    },
}

/// A tensor that depends on the network's input. Steps are numbered from 1; what the network is given is made at 0, and what it gives is
/// read last at one more than the number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Its elements.
    pub elements: u64,
    /// The step that makes it.
    pub made: usize,
    /// The last step that reads it; `made` where nothing does.
    pub last: usize,
}

/// A network in elements, whatever their type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The suite's name.
    pub name: String,
    /// How its steps hang together.
    pub topology: Topology,
    /// Elements of the weights and biases that training changes.
    pub parameters: u64,
    /// Elements of stored numbers that no optimizer changes: running means and variances, constants.
    pub buffers: u64,
    /// What each step convolves; `None` for a step that does something else.
    pub steps: Vec<Option<Conv>>,
    /// Every tensor that depends on the input and whose shape is known.
    pub features: Vec<Feature>,
    /// Tensors that are in none of the numbers above, as their shape is not known.
    pub unknown: u64,
}

impl Network {
    /// All tensors of the input's making, those of unknown shape included.
    pub fn tensors(&self) -> u64 {
        self.features.len() as u64 + self.unknown
    }
}

impl Suite {
    /// The suite as a chain of its layers, each as many times as its count says, with weights of its own each time.
    ///
    /// # Errors
    /// [`SuiteError::TooManySteps`] past [`MAX_STEPS`], [`SuiteError::TooManyWeights`] past 64 bits.
    pub fn network(&self) -> Result<Network, SuiteError> {
        let layers = self.layers.iter().fold(0_u64, |sum, layer| sum.saturating_add(layer.count));
        let too_many = |steps| SuiteError::TooManySteps { suite: self.name.clone(), steps, limit: MAX_STEPS };
        if layers > MAX_STEPS as u64 {
            return Err(too_many(layers));
        }
        let mut parameters = 0_u64;
        let mut joints = 0;
        let mut before: Option<&Conv> = None;
        let mut steps: Vec<Option<Conv>> = Vec::new();
        // Elements of the chain's tensors: the input, then each step's output.
        let mut sizes: Vec<u64> = self.layers.first().map(|layer| layer.conv.input_elements()).into_iter().collect();
        for layer in &self.layers {
            let (input, output) = (layer.conv.input_elements(), layer.conv.output_elements());
            let weights = layer.conv.weight_elements().checked_mul(layer.count).and_then(|weights| parameters.checked_add(weights));
            parameters = weights.ok_or_else(|| SuiteError::TooManyWeights { suite: self.name.clone(), layer: layer.name.clone() })?;
            for _ in 0..layer.count {
                if before.is_some_and(|before| !fits(before, &layer.conv)) {
                    steps.push(None);
                    sizes.push(input);
                    joints += 1;
                }
                steps.push(Some(layer.conv));
                sizes.push(output);
                before = Some(&layer.conv);
            }
        }
        if steps.len() > MAX_STEPS {
            return Err(too_many(steps.len() as u64));
        }
        let features = sizes.into_iter().enumerate().map(|(made, elements)| Feature { elements, made, last: made + 1 }).collect();
        let name = self.name.clone();
        let nothing_fits = joints > 0 && joints + 1 == layers;
        let doubt = self.difference().or(nothing_fits.then_some("no layer's output fits the next one's input"));
        let topology = Topology::Chain { joints, doubt };
        Ok(Network { name, topology, parameters, buffers: 0, steps, features, unknown: 0 })
    }
    /// What the layers differ in that those of a network mostly have in common.
    fn difference(&self) -> Option<&'static str> {
        let differ = |of: fn(&Conv) -> u64| self.layers.windows(2).any(|pair| of(&pair[0].conv) != of(&pair[1].conv));
        if differ(|conv| conv.rank() as u64) {
            Some("layers differ in their number of spatial axes")
        } else if differ(Conv::batch) {
            Some("layers differ in their batch")
        } else {
            None
        }
    }
}

/// Whether the output of one convolution can be the input of the next. Batch and image are compared each for itself: of no images, all
/// tensors have the same elements, none.
fn fits(one: &Conv, next: &Conv) -> bool {
    one.batch() == next.batch() && one.channels_out() * one.output_points() == next.channels_in() * next.input_points()
}
