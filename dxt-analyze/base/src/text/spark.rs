//! Sparklines: series drawn as one line of Unicode block elements.

/// Maximum number of characters in a sparkline, so that it fits into 100 columns with label and scale.
const WIDTH: usize = 60;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws `values` as a sparkline. Each character shows the maximum of its values; missing values and 0 are spaces.
pub fn line(values: &[Option<f64>]) -> String {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let width = WIDTH.min(values.len());
    let part = |at: usize| {
        let range = values.get(at * values.len() / width..(at + 1) * values.len() / width).unwrap_or_default();
        let value = range.iter().flatten().copied().fold(0.0, f64::max);
        if value <= 0.0 {
            return ' ';
        }
        let bar = (value / most * BARS.len() as f64).ceil().max(1.0) as usize - 1;
        BARS.get(bar.min(BARS.len() - 1)).copied().unwrap_or(' ')
    };
    (0..width).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_shares_of_the_largest() {
        assert_eq!(line(&[Some(0.0), Some(1.0), None, Some(4.0), Some(8.0)]), " ▁ ▄█");
        assert_eq!(line(&vec![Some(3.0); 1000]).chars().count(), WIDTH);
        assert_eq!(line(&[]), "");
    }
}
