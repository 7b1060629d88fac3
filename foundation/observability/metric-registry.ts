import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { defineErrors } from '../base/gateway-error.ts';

/** What a metric is. `help` is for people: two definitions that differ in it alone are the same. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets, ascending; `undefined`: the library's, 0.005 to 10. */
  readonly buckets?: readonly number[];
}

/** The metrics of the process and who holds them. */
export interface MetricRegistry {
  /** What `/metrics` is read from. */
  readonly prometheus: Registry;
  /**
   * Gives the metric of this definition, making it at the first call. Holders of one definition share one metric, so a
   * counter keeps its value while a new generation of its plugin takes over from the old one. Throws
   * `metric.invalid` and `metric.name-taken`.
   */
  hold(owner: string, definition: MetricDefinition): PluginMetric;
  /** Gives up one `hold`; the last one takes the metric out of the registry. */
  release(owner: string, name: string): void;
}

/** A metric of a plugin. */
export type PluginMetric = Counter | Gauge | Histogram;

/** Failures of declaring a metric: mistakes in a plugin, reported where it starts. */
export const MetricErrors = defineErrors({
  invalid: {
    code: 'metric.invalid',
    kind: 'internal',
    title: 'A metric is declared wrongly',
  },
  nameTaken: { code: 'metric.name-taken', kind: 'conflict', title: 'Another metric has this name' },
});

/** An empty registry of its own; the library's global one is not used. */
export function createMetricRegistry(): MetricRegistry {
  const prometheus = new Registry();
  const held = new Map<string, HeldMetric>();

  function refuseTakenNames(owner: string, definition: MetricDefinition): void {
    const wanted = exposedNames(definition);
    for (const other of held.values()) {
      if (!exposedNames(other.definition).some((name) => wanted.includes(name))) continue;
      // A generation is set up while the one before has its metrics, which has to go first.
      const way = other.holders.includes(owner)
        ? ': use another name, or disable the plugin, reload it, and enable it'
        : '';
      throw taken(owner, definition, `plugin "${other.holders[0]}" (${describe(other.definition)})${way}`);
    }
    if (wanted.some((name) => prometheus.getSingleMetric(name))) throw taken(owner, definition, 'the kernel');
  }

  return {
    prometheus,
    hold(owner, definition) {
      const existing = held.get(definition.name);
      if (existing !== undefined && describe(existing.definition) === describe(definition)) {
        existing.holders.push(owner);
        return existing.metric;
      }
      refuseTakenNames(owner, definition);
      const metric = makeMetric(definition, prometheus);
      held.set(definition.name, { definition, metric, holders: [owner] });
      return metric;
    },
    release(owner, name) {
      const metric = held.get(name);
      const index = metric?.holders.indexOf(owner) ?? -1;
      if (metric === undefined || index < 0) return;
      metric.holders.splice(index, 1);
      if (metric.holders.length > 0) return;
      held.delete(name);
      prometheus.removeSingleMetric(name);
    },
  };
}

interface HeldMetric {
  readonly definition: MetricDefinition;
  readonly metric: PluginMetric;
  /** One entry per `hold`: two generations of a plugin are two. */
  readonly holders: string[];
}

function makeMetric(
  { kind, name, help, labels, buckets }: MetricDefinition,
  registry: Registry,
): PluginMetric {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') return new Counter(common);
  if (kind === 'gauge') return new Gauge(common);
  return new Histogram(buckets === undefined ? common : { ...common, buckets: [...buckets] });
}

/** Every name in the output; a histogram has three more. */
function exposedNames({ kind, name }: MetricDefinition): string[] {
  return kind === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

function describe({ kind, labels, buckets }: MetricDefinition): string {
  const bounds = buckets === undefined ? '' : ` with buckets ${buckets.join(', ')}`;
  return `${kind} {${labels.toSorted().join(', ')}}${bounds}`;
}

function taken(owner: string, definition: MetricDefinition, other: string) {
  return MetricErrors.nameTaken(
    `metric ${definition.name} of plugin "${owner}" (${describe(definition)}) has the name of a metric of ${other}`,
  );
}

/** Label of requests without an authenticated tenant (specification 1, Metrics). */
export const ANONYMOUS_TENANT = 'anonymous';

/** Label of everything for which a bound on the number of series left no room. */
export const OTHER = 'other';

/** The label `path`: the route's pattern, cut after 64 characters (specification 1, Limits). */
export function pathLabel(pattern: string): string {
  return pattern.length > MAX_PATH ? pattern.slice(0, MAX_PATH) : pattern;
}

/** The label `tenant_id` of a tenant's id that may be missing. */
export function tenantLabel(tenantId: string | undefined): string {
  return tenantId === undefined || tenantId === '' ? ANONYMOUS_TENANT : tenantId;
}

/** The label `method`: methods that no route has share one, for a client may send any that the parser knows. */
export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : OTHER;
}

/** The label `status`; what is no HTTP status becomes 0. */
export function statusLabel(status: number): number {
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : 0;
}

const MAX_PATH = 64;
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
