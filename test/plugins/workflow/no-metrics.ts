import { workflowMetrics } from '../../../plugins/workflow/metrics.ts';

const nothing = { inc() {}, dec() {}, set() {}, observe() {} };

/** Metrics that count nothing. */
export const NO_METRICS = workflowMetrics({
  counter: () => nothing,
  gauge: () => nothing,
  histogram: () => nothing,
} as never);
