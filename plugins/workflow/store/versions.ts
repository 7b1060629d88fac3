import { createHash } from 'node:crypto';
import type { InferEntity } from '@mikro-orm/core';
import {
  type Clock,
  column,
  type Database,
  defineEntity,
  type Ids,
  isUniqueViolation,
  type TenantEntityManager,
} from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { Graph } from '../contract/graph.ts';
import type { StoredVersion, Versions } from '../services/ports/definition-store.ts';
import { entityName, fromText, isSearchable, LENGTHS, toText } from './rows.ts';
import type { WorkflowTables } from './tables.ts';

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

type VersionRow = InferEntity<ReturnType<typeof versionTable>>;

/** The row of a new version. */
export function versionRow(version: StoredVersion): Omit<VersionRow, 'tenantId'> {
  const { id, definitionId, version: number, graph, publishedBy, publishedAt } = version;
  return {
    id,
    definitionId,
    version: number,
    digest: graphDigest(graph),
    graph: toText(graph),
    publishedBy,
    publishedAt,
  };
}

/** The version that a row holds. */
export function storedVersion(row: VersionRow): StoredVersion {
  const { id, definitionId, version, graph, publishedBy, publishedAt } = row;
  return { id, definitionId, version, graph: fromText(graph), publishedBy, publishedAt };
}

/** The number of a definition's newest version; 0 where there is none. */
export async function newestNumber(
  entities: TenantEntityManager,
  tables: WorkflowTables,
  definitionId: string,
): Promise<number> {
  const query = { orderBy: { version: 'desc' }, limit: 1, fields: ['version'] } as const;
  const [row] = await entities.rows(tables.versions, { definitionId }, query);
  return row?.version ?? 0;
}

/** SHA-256 of a graph as JSON whose members are sorted: equal for equal JSON values, however they were written. */
function graphDigest(graph: Graph): string {
  return createHash('sha256').update(JSON.stringify(graph, sorted)).digest('hex');
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Attempts to give a version a number that others take at the same moment. Of those who compete one gets through each time. */
export const NUMBERING_ATTEMPTS = 100;

/** What versions are kept with. */
export interface VersionsParts {
  readonly database: Database;
  readonly tables: WorkflowTables;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Versions in a table of the database. */
export function createVersions({ database, tables, clock, ids }: VersionsParts): Versions {
  type Request = Parameters<Versions['ensure']>[0];

  async function find(entities: TenantEntityManager, { definitionId, graph }: Request, digest: string) {
    const where = { definitionId, digest };
    const query = {
      orderBy: { version: 'desc' },
      limit: 1,
      fields: ['id', 'version', 'publishedBy', 'publishedAt'],
    } as const;
    const [row] = await entities.rows(tables.versions, where, query);
    return row && { ...row, definitionId, graph };
  }

  /**
   * Makes the version, unless another one has made it. The newest number is read before the content is looked for: a call that then gets the number
   * after it knows that no version with this content has come in between.
   */
  async function make(entities: TenantEntityManager, request: Request, digest: string) {
    const { definitionId, graph, publishedBy } = request;
    const newest = await newestNumber(entities, tables, definitionId);
    const found = await find(entities, request, digest);
    if (found !== undefined) return found;
    const version: StoredVersion = {
      id: ids.uuid(),
      definitionId,
      version: newest + 1,
      graph,
      publishedBy,
      publishedAt: clock.now(),
    };
    try {
      await entities.insert(tables.versions, versionRow(version));
      return version;
    } catch (error) {
      if (isUniqueViolation(error)) return undefined;
      throw error;
    }
  }

  return {
    async ensure(request) {
      const entities = database.forTenant(request.tenantId);
      const digest = graphDigest(request.graph);
      const found = await find(entities, request, digest);
      if (found !== undefined) return found;
      for (let attempt = 0; attempt < NUMBERING_ATTEMPTS; attempt += 1) {
        const version = await make(entities, request, digest);
        if (version !== undefined) return version;
      }
      throw WorkflowErrors.busy();
    },

    async get(tenantId, id) {
      if (!isSearchable(id)) return undefined;
      const [row] = await database.forTenant(tenantId).rows(tables.versions, { id }, { limit: 1 });
      return row && storedVersion(row);
    },

    async ofNumber(tenantId, definitionId, version) {
      if (!isSearchable(definitionId)) return undefined;
      const where = { definitionId, version };
      const [row] = await database.forTenant(tenantId).rows(tables.versions, where, { limit: 1 });
      return row && storedVersion(row);
    },

    async list(tenantId, definitionId, { limit, offset }) {
      if (!isSearchable(definitionId)) return { versions: [], total: 0 };
      const entities = database.forTenant(tenantId);
      const query = { orderBy: { version: 'desc' }, limit, offset } as const;
      const rows = await entities.rows(tables.versions, { definitionId }, query);
      return {
        versions: rows.map(storedVersion),
        total: await entities.count(tables.versions, { definitionId } as never),
      };
    },
  };
}
