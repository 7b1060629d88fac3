import { within } from '../base/deadline.ts';
import { isDatabaseUnavailable } from '../data/errors.ts';
import type { AuditEntry } from './audit-entry.ts';
import type { AuditSink } from './database-sink.ts';

/** An entry that a working sink does not take, and why. */
export interface RefusedEntry {
  readonly entry: AuditEntry;
  readonly reason: unknown;
}

/**
 * Makes what brings batches to a sink: it writes all entries but those that the sink refuses, which it returns, and
 * rejects with the sink's error when the sink is away; the whole batch is to be delivered again then.
 *
 * Whether a failure is the sink's or an entry's is not read from the error, whose forms differ between databases, but
 * tried: writing an entry again that is stored already must succeed where the sink works. So a database that is without
 * the table never makes good entries look bad. It is not tried where the database itself says that it is away or takes
 * no writes: an entry that is stored already needs no room, and succeeds on a full disk.
 *
 * @param deadline milliseconds after which a write counts as failed
 */
export function createDelivery(sink: AuditSink, deadline: number) {
  let stored: AuditEntry | undefined;
  let probes = 0;

  async function write(entries: readonly AuditEntry[]): Promise<void> {
    await within(deadline, 'writing audit records', sink.write(entries));
    stored = entries.at(-1);
  }

  /** Rejects when the sink is away. */
  async function probe(entries: readonly AuditEntry[], failure: unknown): Promise<void> {
    if (stored !== undefined) return write([stored]);
    // Nothing is known to be stored: any of these that can be written shows that the sink works.
    probes += 1;
    for (const entry of new Set([entries[0], entries[probes % entries.length], entries.at(-1)])) {
      try {
        return await write([entry as AuditEntry]);
      } catch {
        // The next one may be better; if none is, the batch's own failure is reported.
      }
    }
    throw failure;
  }

  /** For entries that failed together while the sink works. */
  async function isolate(entries: readonly AuditEntry[]): Promise<RefusedEntry[]> {
    if (entries.length === 1) {
      try {
        await write(entries);
        return [];
      } catch (reason) {
        if (isDatabaseUnavailable(reason)) throw reason;
        await probe(entries, reason);
        return [{ entry: entries[0] as AuditEntry, reason }];
      }
    }
    const middle = entries.length >> 1;
    const refused = await writeOrIsolate(entries.slice(0, middle));
    return [...refused, ...(await writeOrIsolate(entries.slice(middle)))];
  }

  async function writeOrIsolate(entries: readonly AuditEntry[]): Promise<RefusedEntry[]> {
    try {
      await write(entries);
      return [];
    } catch (failure) {
      await probe(entries, failure);
      return isolate(entries);
    }
  }

  return async (entries: readonly AuditEntry[]): Promise<readonly RefusedEntry[]> =>
    entries.length === 0 ? [] : writeOrIsolate(entries);
}
