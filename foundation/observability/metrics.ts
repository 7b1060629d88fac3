import { Counter, collectDefaultMetrics, Gauge } from 'prom-client';
import { createGrpcMetrics, createHttpMetrics, createTenantLabels } from './call-metrics.ts';
import { createMetricRegistry } from './metric-registry.ts';

/** A metric that another part of the gateway counts. */
export interface Reading {
  /** Starts with `svc_`. */
  readonly name: string;
  readonly help: string;
  /** `counter`: never goes down but by a restart. */
  readonly kind: 'gauge' | 'counter';
  readonly read: () => number;
}

/** What the plugins are in. */
export interface PluginReadings {
  /** Names of the plugins that should run and do not. */
  readonly degraded: () => readonly string[];
  /** Generations of code in memory, by plugin. */
  readonly generations: () => ReadonlyMap<string, number>;
  /** False where `gateway.yaml` says what could not be applied. */
  readonly isFileInForce: () => boolean;
}

/** What calls under way hold. */
export interface CallReadings {
  /** Bytes of large request bodies. */
  readonly bodyBytes: () => number;
  /** Event streams and streaming calls of gRPC. */
  readonly streams: () => number;
}

/** What the audit log reports of itself, by the name of its figure. */
const AUDIT = {
  queued: ['gauge', 'svc_audit_queued_records', 'Audit records in memory.'],
  spooledBytes: ['gauge', 'svc_audit_spool_bytes', 'Bytes of audit records in the local spool.'],
  rejected: [
    'counter',
    'svc_audit_rejected_total',
    'Audit records that the database refused for good, and that are set aside on the disk.',
  ],
  lost: ['counter', 'svc_audit_lost_total', 'Audit records that neither the database nor the disk took.'],
} as const;

export interface MetricsOptions {
  /** What this build calls itself. */
  readonly version: string;
  /** Event loop, memory, garbage collection and the like; default true. They cannot be taken back: once per process. */
  readonly process?: boolean;
  /** Tenants with series of their own, the first ones seen; later ones are counted as `other`. Default 500. */
  readonly maxTenants?: number;
  /**
   * Combinations of method, path and tenant with series of their own, of each transport; default 1000, which is 15,000
   * lines.
   */
  readonly maxSeries?: number;
}

/** The gateway's own metrics. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes the gateway's own metrics, and the registry that plugins add theirs to. */
export function createMetrics(options: MetricsOptions) {
  const { version, maxTenants = 500, maxSeries = 1000 } = options;
  const registry = createMetricRegistry();
  const { prometheus } = registry;
  const registers = [prometheus];
  if (options.process ?? true) collectDefaultMetrics({ register: prometheus });
  new Gauge({
    name: 'svc_build_info',
    help: 'Always 1; the labels tell what is running.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1);

  const overflow = new Counter({
    name: 'svc_metrics_overflow_total',
    help: 'Requests counted under the label "other" because there was no room for more series.',
    registers,
  });
  const onOverflow = () => overflow.inc();
  const tenants = createTenantLabels(maxTenants, onOverflow);
  const rejected = new Counter({
    name: 'svc_rate_limit_rejected_total',
    help: 'Requests refused by a rate limit.',
    labelNames: ['tenant_id', 'window'],
    registers,
  });

  /** Adds a metric without labels whose value is asked for when the registry is read. */
  function reading({ name, help, kind, read }: Reading): void {
    if (kind === 'gauge') {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
      return;
    }
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  const series = { registry: prometheus, tenants, maxSeries, onOverflow };
  return {
    registry,
    grpc: createGrpcMetrics(series),
    http: createHttpMetrics(series),
    /** Counts a 429: `svc_rate_limit_rejected_total{tenant_id,window}` (decisions 1.13). */
    rateLimitRejected: (tenantId: string | undefined, window: string) =>
      rejected.inc({ tenant_id: tenants(tenantId), window }),
    reading,
    /** Adds the gauges of the plugins. */
    watchPlugins({ degraded, generations, isFileInForce }: PluginReadings): void {
      new Gauge({
        name: 'svc_plugin_degraded',
        help: '1 for each plugin that should run and does not.',
        labelNames: ['plugin'],
        registers,
        collect() {
          this.reset();
          for (const plugin of degraded()) this.set({ plugin }, 1);
        },
      });
      reading({
        name: 'svc_plugin_code_generations',
        help: 'Generations of plugin code in memory; Node keeps each until the process ends.',
        kind: 'gauge',
        read: () => [...generations().values()].reduce((sum, count) => sum + count, 0),
      });
      reading({
        name: 'svc_gateway_file_failed',
        help: '1 where gateway.yaml says what could not be applied; everything runs as before.',
        kind: 'gauge',
        read: () => (isFileInForce() ? 0 : 1),
      });
    },
    /** Adds what calls under way hold. */
    watchCalls({ bodyBytes, streams }: CallReadings): void {
      reading({
        name: 'svc_http_body_bytes_in_flight',
        help: 'Bytes of large request bodies that are held for calls under way.',
        kind: 'gauge',
        read: bodyBytes,
      });
      reading({
        name: 'svc_streams_open',
        help: 'Event streams and streaming calls of gRPC that are open.',
        kind: 'gauge',
        read: streams,
      });
    },
    /** Adds what the audit log reports of itself, asked for when the registry is read. */
    watchAudit(audit: () => Readonly<Record<keyof typeof AUDIT, number>>): void {
      for (const [of, [kind, name, help]] of Object.entries(AUDIT))
        reading({ kind, name, help, read: () => audit()[of as keyof typeof AUDIT] });
    },
    /** Everything in the Prometheus text format 0.0.4. */
    text: () => prometheus.metrics(),
    /** The `Content-Type` of `text`. */
    contentType: prometheus.contentType,
  };
}
