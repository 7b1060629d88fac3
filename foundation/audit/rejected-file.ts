import { appendFile, stat } from 'node:fs/promises';
import type { Logger } from '../observability/logger.ts';
import { encodeEntry } from './audit-entry.ts';
import type { RefusedEntry } from './delivery.ts';

/** How large the file may get; what comes after is only logged. */
const MAX_BYTES = 67_108_864;

/** A file (JSON lines, mode 0600) of what the database will never take, for a person to look at. */
export class RejectedFile {
  readonly #path: string;
  readonly #log: Pick<Logger, 'error'>;

  constructor(path: string, log: Pick<Logger, 'error'>) {
    this.#path = path;
    this.#log = log;
  }

  /** Logs and keeps refused entries and damaged lines of the journal. False when the file did not take them. */
  async add(refused: readonly RefusedEntry[], damaged: readonly string[]): Promise<boolean> {
    const file = this.#path;
    for (const { entry, reason } of refused) {
      const { id, tenantId } = entry;
      this.#log.error({ id, tenant_id: tenantId, file, err: reason }, 'audit record refused by the database');
    }
    if (damaged.length > 0) this.#log.error({ lines: damaged.length, file }, 'audit journal: damaged lines');
    const lines = [
      ...refused.map(({ entry }) => encodeEntry(entry).line),
      ...damaged.map((line) => `${line}\n`),
    ];
    try {
      if ((await this.#size()) >= MAX_BYTES) throw new Error('the file is full');
      await appendFile(file, lines.join(''), { mode: 0o600 });
      return true;
    } catch (error) {
      this.#log.error({ err: error, file }, 'audit: refused records could not be set aside');
      return false;
    }
  }

  async #size(): Promise<number> {
    try {
      return (await stat(this.#path)).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
  }
}
