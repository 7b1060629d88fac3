import {
  type Clock,
  type Database,
  type Ids,
  isUniqueViolation,
  type TenantEntityManager,
} from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { StoredVersion, Versions } from '../services/ports/versions.ts';
import { graphDigest } from './graph-digest.ts';
import { isSearchable } from './searchable.ts';
import { newestNumber, storedVersion, versionRow } from './version-rows.ts';
import type { WorkflowTables } from './workflow-tables.ts';

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
   * Makes the version, unless somebody else has made it. The newest number is read before the content is looked for: who then gets the number
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
