import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import { entityName, LENGTHS } from './names.ts';

/** Immutable graphs, from which runs start. */
export function versionTable(name: string) {
  return defineEntity({
    name: entityName(name, 'version'),
    tableName: `${name}_versions`,
    indexes: [{ name: `${name}_versions_digest`, properties: ['tenantId', 'definitionId', 'digest'] }],
    uniques: [{ name: `${name}_versions_number`, properties: ['tenantId', 'definitionId', 'version'] }],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      definitionId: column.string(LENGTHS.definitionId),
      version: column.integer(),
      /** SHA-256 of the graph as canonical JSON. */
      digest: column.string(LENGTHS.digest),
      /** JSON text. */
      graph: column.text(),
      publishedBy: column.string(LENGTHS.identity),
      publishedAt: column.bigint(),
    },
  });
}

export type VersionTable = ReturnType<typeof versionTable>;
export type VersionRow = InferEntity<VersionTable>;
