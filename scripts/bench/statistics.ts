export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Half of the width of the 95 % interval of a mean, by Student's t: benchmarks have few values. */
export function margin(values: readonly number[]): number {
  if (values.length < 2) return Number.NaN;
  const middle = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  return tQuantile(values.length - 1) * Math.sqrt(variance / values.length);
}

/** The quantile 0.975 of Student's t, within 2 % from 4 degrees of freedom on. */
function tQuantile(freedom: number): number {
  return 1.96 + 2.4 / freedom + 3 / freedom ** 2;
}
