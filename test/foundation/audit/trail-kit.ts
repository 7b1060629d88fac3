import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import type { AuditEntry, AuditTrailLimits } from '../../../foundation/audit/audit-entry.ts';
import { type AuditTrail, createAuditTrail } from '../../../foundation/audit/audit-trail.ts';
import type { AuditSink } from '../../../foundation/audit/database-sink.ts';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';

const ids = createIds(systemClock);

/** A folder of the test's own, removed with it. */
export async function tempFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'audit-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** An entry with a new id. */
export function entry(members: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: ids.uuid(),
    tenantId: '00000000-0000-0000-0000-000000000001',
    userId: 'user',
    action: 'GET /v1/tenants',
    detail: { query: { limit: '5' } },
    requestId: 'request',
    statusCode: 200,
    latencyMs: 7,
    createdAt: new Date(1_700_000_000_000),
    ...members,
  };
}

/** A sink that behaves as a table with a primary key does, and can be away, refuse entries and keep writers waiting. */
export class FakeSink implements AuditSink {
  readonly stored = new Map<string, AuditEntry>();
  /** Sizes of the batches that were stored. */
  readonly batches: number[] = [];
  /** Entries that came although they were stored already. */
  repeated = 0;
  isAway = false;
  /** Writes never settle. */
  hangs = false;
  refuses: (entry: AuditEntry) => boolean = () => false;
  readonly #hanging: ((reason: Error) => void)[] = [];

  async write(entries: readonly AuditEntry[]): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.hangs) return new Promise((_, reject) => this.#hanging.push(reject));
    if (this.isAway) throw new Error('connection refused');
    if (entries.some(this.refuses)) throw new Error('value too long');
    this.batches.push(entries.length);
    for (const written of entries) {
      if (this.stored.has(written.id)) this.repeated += 1;
      this.stored.set(written.id, written);
    }
  }

  /** Goes away for good, and fails the writes that hang: whoever waits for them does not keep the process. */
  leave(): void {
    this.isAway = true;
    this.hangs = false;
    for (const reject of this.#hanging.splice(0)) reject(new Error('connection lost'));
  }
}

/** A log that keeps its messages. */
export function fakeLog() {
  const lines: string[] = [];
  const keep = (first: unknown, second?: string) => {
    lines.push(second ?? String(first));
  };
  return { lines, info: keep, warn: keep, error: keep } as never as {
    lines: string[];
  } & Parameters<typeof createAuditTrail>[0]['log'];
}

const QUICK: Partial<AuditTrailLimits> = {
  batchDelay: 1,
  backoff: { first: 1, most: 5 },
  heartbeat: 600_000,
};

/** A trail with short delays; closed with the test. */
export function startTrail(
  t: ExecutionContext,
  directory: string,
  sink: AuditSink,
  limits: Partial<AuditTrailLimits> = {},
): { trail: AuditTrail; log: ReturnType<typeof fakeLog> } {
  const log = fakeLog();
  const trail = createAuditTrail({
    sink,
    directory,
    clock: systemClock,
    ids,
    log,
    limits: { ...QUICK, ...limits },
  });
  t.teardown(() => trail.close(0));
  return { trail, log };
}
