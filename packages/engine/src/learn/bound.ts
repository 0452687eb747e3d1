/**
 * Upper 95 % confidence limit (Clopper and Pearson) of a rate of which `events` were seen in `trials`. Without any
 * event this is the rule of three, about 3 / trials.
 */
export function upperBound(events: number, trials: number, confidence = 0.95): number {
  if (trials <= 0 || events >= trials) return 1
  let low = events / trials
  let high = 1
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2
    if (chanceOfAtMost(events, trials, middle) > 1 - confidence) low = middle
    else high = middle
  }
  return high
}

/** Binomial distribution, summed in logarithms so that large counts do not underflow. */
function chanceOfAtMost(events: number, trials: number, rate: number): number {
  let logTerm = trials * Math.log1p(-rate)
  let sum = Math.exp(logTerm)
  for (let k = 1; k <= events; k++) {
    logTerm += Math.log((trials - k + 1) / k) + Math.log(rate) - Math.log1p(-rate)
    sum += Math.exp(logTerm)
  }
  return sum
}
