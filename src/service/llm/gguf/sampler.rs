//! Chooses the next token.

use super::super::{
    error::{Kind, lasting},
    request::Sampling,
};
use crate::base::{error::Error, seed::Stream};

/// How tokens are chosen. Without a temperature it is always the most probable one, and without a seed the seed is 0.
#[derive(Debug)]
pub(super) struct Sampler {
    temperature: f64,
    chance: Stream,
}

impl Sampler {
    pub(super) fn new(sampling: &Sampling) -> Self {
        let chance = Stream::new(sampling.seed.unwrap_or(0), "tokens of a model");
        Sampler { temperature: sampling.temperature.unwrap_or(0.0), chance }
    }

    /// The next token; of equally probable ones the first.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Result<u32, Error> {
        if logits.is_empty() || logits.iter().any(|logit| logit.is_nan()) {
            return Err(lasting(Kind::Server, "the model computes what is no number"));
        }
        let mut best = 0;
        for (at, logit) in logits.iter().enumerate() {
            if *logit > logits[best] {
                best = at;
            }
        }
        let at = if self.temperature == 0.0 { best } else { self.by_chance(logits, best) };
        Ok(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn by_chance(&mut self, logits: &[f32], best: usize) -> usize {
        let highest = f64::from(logits[best]);
        let weight = |logit: &f32| ((f64::from(*logit) - highest) / self.temperature).exp();
        let weights: Vec<f64> = logits.iter().map(weight).collect();
        // 53 bits are what a float can hold.
        let part = (self.chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut left = part * weights.iter().sum::<f64>();
        for (at, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return at;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(temperature: Option<f64>, seed: u64, logits: &[f32]) -> Vec<u32> {
        let mut sampler = Sampler::new(&Sampling { temperature, seed: Some(seed), ..Sampling::default() });
        (0..200).map(|_| sampler.choose(logits).unwrap()).collect()
    }

    #[test]
    fn without_a_temperature_it_is_the_first_of_the_most_probable() {
        for temperature in [None, Some(0.0), Some(1e-9)] {
            assert!(chosen(temperature, 1, &[0.0, 3.0, f32::NEG_INFINITY, 2.9]).iter().all(|token| *token == 1));
        }
        assert_eq!(chosen(None, 1, &[1.0, 2.0, 2.0])[0], 1);
    }

    #[test]
    fn chance_follows_the_seed_and_the_probabilities() {
        let logits = [0.0, 0.0, f32::NEG_INFINITY, -2.0];
        let one = chosen(Some(1.0), 1, &logits);
        assert_eq!(one, chosen(Some(1.0), 1, &logits));
        assert_ne!(one, chosen(Some(1.0), 2, &logits));
        let count = |token: u32| one.iter().filter(|chosen| **chosen == token).count();
        assert!(count(0) > 60 && count(1) > 60 && count(2) == 0 && (1..60).contains(&count(3)), "{one:?}");
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        let mut sampler = Sampler::new(&Sampling::default());
        for logits in [&[][..], &[0.0, f32::NAN]] {
            sampler.choose(logits).unwrap_err();
        }
    }
}
