import { createMetricRegistry } from '../../foundation/observability/metric-registry.ts';
import { createPluginMetrics, type PluginMetrics } from '../../foundation/observability/plugin-metrics.ts';

/** Metrics that nobody reads. */
export function unreadMetrics(): PluginMetrics {
  return createPluginMetrics(createMetricRegistry(), 'kernel');
}

/** Metrics that report each change: the name, the labels in the order of their declaration, and the number. */
export function recordedMetrics(
  record: (name: string, labels: readonly string[], value: number) => void,
): PluginMetrics {
  const metric = ({ name }: { name: string }) => {
    const note = (labels: object | number | undefined, value = 1) =>
      typeof labels === 'object'
        ? record(name, Object.values(labels), value)
        : record(name, [], labels ?? value);
    return { inc: note, set: note, observe: note };
  };
  return { counter: metric, gauge: metric, histogram: metric } as never;
}
