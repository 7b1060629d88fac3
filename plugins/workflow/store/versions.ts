import { createHash } from 'node:crypto';
import {
  type Clock,
  type Ids,
  isStorableText,
  isUniqueViolation,
  type Page,
  type TenantEntityManager,
} from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { Graph } from '../contract/graph.ts';
import { findRow, fromColumns, toColumns } from './rows.ts';
import type { EngineStorage, VersionRow } from './tables.ts';

/** A version of a graph. It never changes. Times are milliseconds since the epoch. */
export interface StoredVersion {
  readonly id: string;
  readonly definitionId: string;
  /** 1 for the first of its definition and tenant, without gaps. */
  readonly version: number;
  readonly graph: Graph;
  readonly publishedBy: string;
  readonly publishedAt: number;
}

/** The row of a new version. */
export function versionRow(version: StoredVersion): Omit<VersionRow, 'tenantId'> {
  return { ...toColumns(version, ['graph']), digest: graphDigest(version.graph) };
}

/** The version that a row holds. */
export function storedVersion({ tenantId: _tenant, digest: _digest, ...columns }: VersionRow): StoredVersion {
  return fromColumns<StoredVersion>(columns, ['graph']);
}

/** SHA-256 of a graph as JSON whose members are sorted: equal for equal JSON values, however they were written. */
function graphDigest(graph: Graph): string {
  return createHash('sha256').update(JSON.stringify(graph, sorted)).digest('hex');
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Attempts to give a version a number that other callers try to take at the same moment. In each round one of them
 * succeeds.
 */
const NUMBERING_ATTEMPTS = 100;

/** Retries storing a version while other callers take its number. Throws `workflow.busy` after a hundred times. */
export async function withFreeNumber<T>(store: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < NUMBERING_ATTEMPTS; attempt += 1) {
    try {
      return await store();
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
    }
  }
  throw WorkflowErrors.busy();
}

/** What versions are kept with. */
export interface VersionsParts extends EngineStorage {
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What a version is made of. */
interface VersionContent {
  /** 1 to 128 characters. */
  readonly definitionId: string;
  readonly graph: Graph;
  readonly publishedBy: string;
}

/** The version after the newest of its definition, stored nowhere yet. */
export async function nextVersion(
  entities: TenantEntityManager,
  { definitionId, graph, publishedBy }: VersionContent,
  { tables, clock, ids }: VersionsParts,
): Promise<StoredVersion> {
  const query = { orderBy: { version: 'desc' }, limit: 1, fields: ['version'] } as const;
  const [newest] = await entities.rows(tables.versions, { definitionId }, query);
  const version = (newest?.version ?? 0) + 1;
  return { id: ids.uuid(), definitionId, version, graph, publishedBy, publishedAt: clock.now() };
}

export type Versions = ReturnType<typeof createVersions>;

/** Versions of tenants' definitions, in a table of the database. */
export function createVersions(parts: VersionsParts) {
  const { database, tables } = parts;

  async function find(
    entities: TenantEntityManager,
    { definitionId, graph }: VersionContent,
    digest: string,
  ): Promise<StoredVersion | undefined> {
    const query = {
      orderBy: { version: 'desc' },
      limit: 1,
      fields: ['id', 'version', 'publishedBy', 'publishedAt'],
    } as const;
    const [row] = await entities.rows(tables.versions, { definitionId, digest }, query);
    return row && { ...row, definitionId, graph };
  }

  /** The version of a condition. */
  async function one(
    tenantId: string,
    where: { readonly id: string } | { readonly definitionId: string; readonly version: number },
  ): Promise<StoredVersion | undefined> {
    const row = await findRow(database.forTenant(tenantId), tables.versions, where);
    return row && storedVersion(row);
  }

  return {
    /**
     * The version of this content, created if there is none yet: for any number of simultaneous callers, the same
     * content (compared as JSON values; the order of members does not count) gives the same version.
     */
    async ensure(request: VersionContent & { readonly tenantId: string }): Promise<StoredVersion> {
      const entities = database.forTenant(request.tenantId);
      const digest = graphDigest(request.graph);
      const found = await find(entities, request, digest);
      if (found !== undefined) return found;
      return withFreeNumber(async () => {
        // Read before the content is looked up: a call that then gets this number knows that no version with this
        // content was stored in between.
        const version = await nextVersion(entities, request, parts);
        const made = await find(entities, request, digest);
        if (made !== undefined) return made;
        await entities.insert(tables.versions, versionRow(version));
        return version;
      });
    },

    get: (tenantId: string, id: string) => one(tenantId, { id }),

    ofNumber: (tenantId: string, definitionId: string, version: number) =>
      one(tenantId, { definitionId, version }),

    /** Newest first, and how many there are in all. */
    async list(
      tenantId: string,
      definitionId: string,
      page: Page,
    ): Promise<{ readonly versions: readonly StoredVersion[]; readonly total: number }> {
      if (!isStorableText(definitionId)) return { versions: [], total: 0 };
      const entities = database.forTenant(tenantId);
      const query = { orderBy: { version: 'desc' }, ...page } as const;
      const [rows, total] = await entities.page(tables.versions, { definitionId }, query);
      return { versions: rows.map(storedVersion), total };
    },
  };
}
