import {
  DoubtfulSettingsPoint,
  nearestName,
  type RetainedRecords,
  RetentionPoint,
  type Scope,
} from 'agent-gateway';
import type { RecordsSettings } from '../../config.ts';
import type { Retention } from '../../contract.ts';
import { largestSizes, sumsOfSizes } from '../../store/retention.ts';
import { createRetention } from './retention.ts';
import { readRetention } from './rules.ts';
import { createSweep } from './sweep.ts';

/** Tenants of a kind that have a series of their own; the others share one. */
const SERIES = 500;
const OTHERS = 'others';

/**
 * Opens retention over what all plugins contribute: its rules, and the sweeps that apply them as long as the plugin
 * lives.
 */
export function openRetention(scope: Scope<RecordsSettings>): Retention {
  const { services, config, log } = scope;
  const { database } = services;
  const deployment = readRetention(config.retention);
  const contributions = scope.contributions(RetentionPoint);
  const kinds = () => byName(contributions());
  const removed = scope.metric.counter<'kind'>({
    name: 'svc_retention_deleted_total',
    help: 'Records that were deleted since their time was over.',
    labels: ['kind'],
  });
  const kept = scope.metric.gauge<'kind' | 'tenant_id'>({
    name: 'svc_retained_records',
    help: `Records when they were counted last, by kind and tenant; tenants after the ${SERIES} largest together.`,
    labels: ['kind', 'tenant_id'],
  });
  const sweep = createSweep({
    ...services,
    log,
    kinds,
    deployment,
    deleted: (kind, count) => removed.inc({ kind }, count),
  });

  /** Reports in the metrics of this replica what the sweeping replica has counted. */
  async function showSizes(): Promise<void> {
    const sums = await sumsOfSizes(database);
    const shown = kinds();
    const counted = [...sums].filter(([kind]) => shown.has(kind));
    const known = await Promise.all(
      counted.map(async ([kind, all]) => ({
        kind,
        all,
        largest: await largestSizes(database, kind, SERIES),
      })),
    );
    kept.reset();
    for (const { kind, all, largest } of known) {
      let rest = all;
      for (const { tenantId, records } of largest) {
        kept.set({ kind, tenant_id: tenantId }, records);
        rest -= records;
      }
      if (rest > 0) kept.set({ kind, tenant_id: OTHERS }, rest);
    }
  }

  scope.every('retention', config.retention_interval, (signal) => sweep(signal), { replicas: 'one' });
  scope.every('retention-of-process', config.retention_interval, (signal) => sweep(signal, true));
  const report = async () => {
    warnOfUnknown(kinds());
    await showSizes();
  };
  scope.every('retained-records', config.retention_interval, report, { immediately: true });

  const unknownAmong = (known: ReadonlyMap<string, RetainedRecords>) =>
    [...deployment.keys()].filter((kind) => !known.has(kind));

  /** Kinds may belong to a plugin that does not run, so it is no error. */
  function warnOfUnknown(known: ReadonlyMap<string, RetainedRecords>): void {
    const unknown = unknownAmong(known);
    if (unknown.length > 0)
      log.warn({ unknown, known: [...known.keys()] }, 'SVC_RETENTION names records that no plugin keeps');
  }

  scope.contribute(DoubtfulSettingsPoint, {
    doubts() {
      const known = kinds();
      return unknownAmong(known).map((kind) => doubtOf(kind, [...known.keys()]));
    },
  });
  return createRetention({ ...services, kinds, deployment, grace: config.retention_grace });
}

function doubtOf(kind: string, known: readonly string[]): string {
  const meant = nearestName(kind, known);
  const hint = meant === undefined ? `: they keep ${known.join(', ')}` : `, did you mean ${meant}?`;
  return `SVC_RETENTION names ${kind}, of which no plugin that runs keeps records${hint}`;
}

/** In the order of their names. Of several of one name the first counts. */
function byName(all: readonly RetainedRecords[]): ReadonlyMap<string, RetainedRecords> {
  const sorted = all.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const kinds = new Map<string, RetainedRecords>();
  for (const kind of sorted) if (!kinds.has(kind.name)) kinds.set(kind.name, kind);
  return kinds;
}
