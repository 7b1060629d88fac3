import { column, defineEntity } from 'agent-gateway';
import { entityName, LENGTHS } from './names.ts';

/** Idempotency keys of starts, for as long as their runs are there. */
export function startTable(name: string) {
  return defineEntity({
    name: entityName(name, 'start'),
    tableName: `${name}_starts`,
    indexes: [{ name: `${name}_starts_run`, properties: ['runId'] }],
    properties: {
      tenantId: column.tenant().primary(),
      /** SHA-256 of the client's key: of any length, of any characters. */
      keyDigest: column.string(LENGTHS.digest).primary(),
      runId: column.id(),
      fingerprint: column.text(),
    },
  });
}

export type StartTable = ReturnType<typeof startTable>;
