import type { Counter, Gauge, Histogram } from 'prom-client';
import {
  type MetricDefinition,
  MetricErrors,
  type MetricRegistry,
  type PluginMetric,
} from './metric-registry.ts';

/**
 * Makes Prometheus metrics that leave `/metrics` with the plugin. A name starts with `svc_` or with the plugin's own
 * (`evolution_…`). A definition that is there already, from the plugin's generation before for example, is shared
 * with its value; a reload that changes its kind, labels or buckets is refused. Label values must come from a small,
 * fixed set: each combination is a series that is kept for ever.
 */
export interface PluginMetrics {
  /** Something that is counted up. */
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  /** Something that goes up and down. */
  gauge<L extends string = never>(options: MetricOptions<L>): Gauge<L>;
  /** Observations sorted into buckets, by default 0.005 to 10 (seconds). */
  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L>;
}

/** What a metric is called and means. */
export interface MetricOptions<L extends string> {
  readonly name: string;
  /** One sentence for the operator. */
  readonly help: string;
  /** Names of the labels; default none. */
  readonly labels?: readonly L[];
}

/** The same, with the bounds of its buckets. */
export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** Upper bounds, ascending. */
  readonly buckets?: readonly number[];
}

/**
 * The metrics of one generation of a plugin. `dispose` gives all of them up, and a later declaration throws. Declaring
 * throws `metric.invalid` and `metric.name-taken`; the latter names both owners.
 */
export function createPluginMetrics(
  registry: MetricRegistry,
  plugin: string,
): PluginMetrics & { dispose(): void } {
  const own = new Set<string>();
  let isDisposed = false;

  function declare(definition: MetricDefinition): PluginMetric {
    if (isDisposed) throw invalid(plugin, definition.name, 'is declared after the plugin has stopped');
    checkNames(plugin, definition);
    const metric = registry.hold(plugin, definition);
    // Twice the same within one generation counts once.
    if (own.has(definition.name)) registry.release(plugin, definition.name);
    own.add(definition.name);
    return metric;
  }

  return {
    counter: <L extends string>({ name, help, labels = [] }: MetricOptions<L>) =>
      declare({ kind: 'counter', name, help, labels }) as Counter<L>,
    gauge: <L extends string>({ name, help, labels = [] }: MetricOptions<L>) =>
      declare({ kind: 'gauge', name, help, labels }) as Gauge<L>,
    histogram: <L extends string>({ name, help, labels = [], buckets }: HistogramOptions<L>) =>
      declare({ kind: 'histogram', name, help, labels, buckets }) as Histogram<L>,
    dispose() {
      isDisposed = true;
      for (const name of own) registry.release(plugin, name);
      own.clear();
    },
  };
}

// Prometheus data model. Colons belong to recording rules, two leading underscores and `le` to Prometheus itself.
const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const RESERVED_LABEL = /^(?:__.*|le|quantile)$/;

function checkNames(plugin: string, { name, labels, help, buckets }: MetricDefinition): void {
  const prefix = `${plugin.replaceAll('-', '_')}_`;
  if (!NAME.test(name)) throw invalid(plugin, name, 'must match [a-zA-Z_][a-zA-Z0-9_]*');
  if (!name.startsWith('svc_') && !name.startsWith(prefix)) {
    throw invalid(plugin, name, `must start with svc_ or ${prefix}`);
  }
  if (help.trim() === '') throw invalid(plugin, name, 'needs a help text');
  for (const label of labels) {
    if (!NAME.test(label) || RESERVED_LABEL.test(label))
      throw invalid(plugin, name, `must not have the label ${label}`);
  }
  if (new Set(labels).size < labels.length) throw invalid(plugin, name, 'has a label twice');
  if (
    buckets?.some((bound, index) => !Number.isFinite(bound) || (index > 0 && bound <= buckets[index - 1]!))
  ) {
    throw invalid(plugin, name, 'needs ascending buckets');
  }
}

function invalid(plugin: string, name: string, why: string) {
  return MetricErrors.invalid(`metric ${name} of plugin "${plugin}" ${why}`);
}
