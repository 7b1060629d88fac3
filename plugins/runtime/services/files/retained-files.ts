import { type Database, RETRY_RACES, type RetainedRecords, rowsByTenant } from 'agent-gateway';
import { FileEntity } from '../../store/files.ts';
import type { Files } from './files.ts';

/** Uploaded files, which are deleted with their contents. */
export function retainedFiles(
  database: Pick<Database, 'forTenant' | 'system'>,
  files: Pick<Files, 'removeBefore'>,
): RetainedRecords {
  return {
    name: 'files',
    summary: 'Uploaded files, by the time of their upload, with their contents',
    sizes: () => rowsByTenant(database, FileEntity),
    count: (tenantId, before) =>
      database
        .forTenant(tenantId)
        .count(FileEntity, before === undefined ? {} : { createdAt: { $lt: before } }),
    async *deleteBefore(tenantId, before, signal) {
      const entities = database.forTenant(tenantId);
      for (let deleted = -1; deleted !== 0; ) {
        signal.throwIfAborted();
        deleted = await entities.transaction((inside) => files.removeBefore(inside, before), RETRY_RACES);
        yield deleted;
      }
    },
  };
}
