import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity } from 'agent-gateway';
import type { DefinitionStatus } from '../../services/ports/definition-store.ts';
import { entityName, LENGTHS } from './names.ts';

/** Definitions that people edit over HTTP. */
export function definitionTable(name: string) {
  return defineEntity({
    name: entityName(name, 'definition'),
    tableName: `${name}_definitions`,
    indexes: [{ name: `${name}_definitions_created`, properties: ['tenantId', 'createdAt'] }],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      /** JSON texts: an author may put any character into them. */
      name: column.text(),
      description: column.text(),
      graph: column.text(),
      status: column.string(LENGTHS.status).$type<DefinitionStatus>(),
      latestVersion: column.integer().nullable(),
      revision: column.integer(),
      createdBy: column.string(LENGTHS.identity),
      createdAt: column.bigint(),
      updatedAt: column.bigint(),
    },
  });
}

export type DefinitionTable = ReturnType<typeof definitionTable>;
export type DefinitionRow = InferEntity<DefinitionTable>;
