import { Gauge, type Metric, type Registry } from 'prom-client';
import { OTHER, tenantLabel } from './metric-registry.ts';

/** Counts and times the calls of one transport. */
export interface CallSeries {
  /** A call is being served. */
  began(): void;
  /** It is answered, or its client has left. */
  ended(call: EndedCall): void;
}

/** What is counted of a call. */
export interface EndedCall {
  /** HTTP method; for gRPC always the same. */
  readonly method: string;
  /** The route's pattern or the full method name, never what the client sent: it becomes a label. */
  readonly path: string;
  /** HTTP status, or gRPC status code. */
  readonly status: number;
  /** `undefined` or empty without a valid credential. */
  readonly tenantId: string | undefined;
  readonly seconds: number;
}

/** The label for a tenant, now and until the process ends. */
export type TenantLabels = (tenantId: string | undefined) => string;

/** Bounds of the series. */
export interface CallSeriesOptions {
  readonly registry: Registry;
  readonly tenants: TenantLabels;
  /** Combinations of method, path and tenant with series of their own; the rest is counted as `other`. */
  readonly maxSeries: number;
  /** Called for each call that was counted as `other` because of `maxSeries`. */
  readonly onOverflow: () => void;
}

type Labels = Readonly<Record<string, string | number>>;

/** How a transport calls its series. */
export interface SeriesNaming {
  /** `svc_http`: the series are `<prefix>_requests_total`, `_request_duration_seconds` and `_requests_in_flight`. */
  readonly prefix: string;
  /** `HTTP`, for the help texts. */
  readonly title: string;
  /** The label values that what is counted may have. */
  pathLabel(path: string): string;
  methodLabel(method: string): string;
  statusLabel(status: number): number;
  labels(path: string, tenantId: string, method: string): Labels;
  /** The labels with the status among them, in the order in which they are reported. */
  withStatus(labels: Labels, status: number): Labels;
}

/**
 * The three metrics of a transport. prom-client makes a key out of all labels at each call, and so do its label
 * children, 1.2 µs for a request; the series are therefore kept here, found by strings that are already there (0.05
 * µs), and handed to the registry when it is read.
 */
export function createCallSeries(options: CallSeriesOptions, naming: SeriesNaming): CallSeries {
  const { registry } = options;
  const { prefix, title } = naming;
  let inFlight = 0;
  const table = createSeriesTable(options, naming);
  registry.registerMetric(asMetric(requestsTotal(table, naming)));
  registry.registerMetric(asMetric(requestDurations(table, naming)));
  new Gauge({
    name: `${prefix}_requests_in_flight`,
    help: `${title} requests being served.`,
    registers: [registry],
    collect() {
      this.set(inFlight);
    },
  });
  return {
    began: () => {
      inFlight += 1;
    },
    ended: (call) => {
      inFlight -= 1;
      table.record(call);
    },
  };
}

/** The specification's default buckets, in seconds. */
const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The requests of one method, path and tenant. */
interface Series {
  readonly labels: Labels;
  readonly byStatus: Map<number, StatusCount>;
  /** Requests by the first bucket they fit into; the last is above all bounds. */
  readonly buckets: number[];
  count: number;
  seconds: number;
}

interface StatusCount {
  readonly labels: Labels;
  count: number;
}

function createSeriesTable({ maxSeries, onOverflow, tenants }: CallSeriesOptions, naming: SeriesNaming) {
  const all: Series[] = [];
  const byPath = new Map<string, Map<string, Map<string, Series>>>();

  function find(path: string, tenant: string, method: string): Series | undefined {
    return byPath.get(path)?.get(tenant)?.get(method);
  }

  /** Finds the series under the labels' rules, or makes it as long as there is room. */
  function admit(rawPath: string, tenantId: string | undefined, rawMethod: string): Series {
    const path = naming.pathLabel(rawPath);
    const method = naming.methodLabel(rawMethod);
    const tenant = tenants(tenantId);
    const known = find(path, tenant, method);
    if (known !== undefined) return known;
    if (all.length < maxSeries) return add(path, tenant, method);
    onOverflow();
    // Patterns come from routes and are few; should they not be, their number is bounded too.
    const shared = all.length < 2 * maxSeries ? path : OTHER;
    return find(shared, OTHER, method) ?? add(shared, OTHER, method);
  }

  function add(path: string, tenantId: string, method: string): Series {
    const buckets = new Array<number>(DURATION_BUCKETS.length + 1).fill(0);
    const labels = naming.labels(path, tenantId, method);
    const series: Series = { labels, byStatus: new Map(), buckets, count: 0, seconds: 0 };
    all.push(series);
    const byTenant = getOrAdd(byPath, path, () => new Map<string, Map<string, Series>>());
    getOrAdd(byTenant, tenantId, () => new Map<string, Series>()).set(method, series);
    return series;
  }

  function countStatus({ labels, byStatus }: Series, status: number): void {
    const known = byStatus.get(status);
    if (known !== undefined) known.count += 1;
    else byStatus.set(status, { labels: naming.withStatus(labels, status), count: 1 });
  }

  return {
    all,

    record({ method, path, status, tenantId, seconds }: EndedCall): void {
      const series = find(path, tenantLabel(tenantId), method) ?? admit(path, tenantId, method);
      series.count += 1;
      series.seconds += seconds;
      countStatus(series, naming.statusLabel(status));
      let bucket = 0;
      while (bucket < DURATION_BUCKETS.length && seconds > DURATION_BUCKETS[bucket]!) bucket += 1;
      series.buckets[bucket]! += 1;
    },
  };
}

type SeriesTable = ReturnType<typeof createSeriesTable>;

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** What the registry asks of a metric when it is read. */
interface ReadableMetric {
  readonly name: string;
  get(): Promise<{ name: string; help: string; type: string; aggregator: string; values: Sample[] }>;
  reset(): void;
}

interface Sample {
  readonly metricName?: string;
  readonly labels: Labels;
  /** Labels that several samples have in common: as long as the object is the same, they are formatted once. */
  readonly sharedLabels: Labels;
  readonly value: number;
}

function requestsTotal(table: SeriesTable, { prefix, title }: SeriesNaming): ReadableMetric {
  return readable(`${prefix}_requests_total`, `${title} requests answered.`, 'counter', () =>
    table.all.flatMap(({ byStatus }) =>
      Array.from(byStatus.values(), ({ labels, count }) => ({
        labels: NO_LABELS,
        sharedLabels: labels,
        value: count,
      })),
    ),
  );
}

function requestDurations(table: SeriesTable, { prefix }: SeriesNaming): ReadableMetric {
  const name = `${prefix}_request_duration_seconds`;
  return readable(name, 'Seconds from the request to the end of its response.', 'histogram', () =>
    table.all.flatMap((series) => durationSamples(name, series)),
  );
}

const NO_LABELS = {};

function durationSamples(name: string, { labels: sharedLabels, buckets, count, seconds }: Series): Sample[] {
  const samples: Sample[] = [];
  let below = 0;
  DURATION_BUCKETS.forEach((bound, index) => {
    below += buckets[index]!;
    samples.push({ metricName: `${name}_bucket`, labels: { le: bound }, sharedLabels, value: below });
  });
  samples.push(
    { metricName: `${name}_bucket`, labels: { le: '+Inf' }, sharedLabels, value: count },
    { metricName: `${name}_sum`, labels: NO_LABELS, sharedLabels, value: seconds },
    { metricName: `${name}_count`, labels: NO_LABELS, sharedLabels, value: count },
  );
  return samples;
}

function readable(name: string, help: string, type: string, values: () => Sample[]): ReadableMetric {
  return {
    name,
    get: async () => ({ name, help, type, aggregator: 'sum', values: values() }),
    // Counters of the process never go back.
    reset: () => undefined,
  };
}

/** The registry needs no more of a metric than this; its type names the library's own classes only. */
function asMetric(metric: ReadableMetric): Metric<string> {
  return metric as unknown as Metric<string>;
}
