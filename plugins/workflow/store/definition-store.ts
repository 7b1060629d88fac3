import {
  eachRow,
  holdsText,
  type Page,
  type RowWrite,
  SEARCHED_RECORDS,
  type TenantEntityManager,
  writes,
} from 'agent-gateway';
import type { Graph } from '../contract/graph.ts';
import { changedColumns, findRow, fromColumns, toColumns } from './rows.ts';
import type { DefinitionRow, DefinitionStatus, DefinitionTables } from './tables.ts';
import {
  nextVersion,
  type StoredVersion,
  type VersionsParts,
  versionRow,
  withFreeNumber,
} from './versions.ts';

/** The content that the author of a definition writes. */
interface DefinitionContent {
  readonly name: string;
  readonly description: string;
  readonly graph: Graph;
}

/**
 * A definition as it is stored. Times are milliseconds since the epoch. `graph` is the draft; versions keep what was
 * published of it.
 */
export interface StoredDefinition extends DefinitionContent {
  readonly id: string;
  readonly tenantId: string;
  readonly status: DefinitionStatus;
  /** Number of the newest published version; null before the first. */
  readonly latestVersion: number | null;
  /** 1 for a new one; grows by one with each change, publishing and archiving included. */
  readonly revision: number;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Members whose columns are JSON texts. */
const JSON_MEMBERS = ['name', 'description', 'graph'] as const;

const storedDefinition = (row: DefinitionRow) => fromColumns<StoredDefinition>(row, JSON_MEMBERS);

/** Definitions that are read at one time. */
const BATCH = 100;

export type DefinitionStore = ReturnType<typeof createDefinitionStore>;

/**
 * Definitions of workflows, in a table of the database. Each change takes the definition as it was read, and stores
 * nothing if it has another revision by now, or was deleted: the result is then undefined (or false), and the caller
 * reads it again to find out which. The caller enforces the rules of states.
 */
export function createDefinitionStore(parts: VersionsParts & { readonly definitions: DefinitionTables }) {
  const { database, tables, clock, ids } = parts;
  const { definitions } = parts.definitions;

  /** Writes changes, with their other writes; undefined if the definition has another revision. */
  async function change(
    before: StoredDefinition,
    changes: Partial<StoredDefinition>,
    ...more: RowWrite[]
  ): Promise<StoredDefinition | undefined> {
    const { id, tenantId, revision } = before;
    const after = { ...before, ...changes, revision: revision + 1, updatedAt: clock.now() };
    const data = changedColumns(before, after, JSON_MEMBERS);
    const isStored = await database
      .forTenant(tenantId)
      .writeTogether([writes.update(definitions, { id, revision }, data, { expect: 1 }), ...more]);
    return isStored ? after : undefined;
  }

  return {
    async get(tenantId: string, id: string): Promise<StoredDefinition | undefined> {
      const row = await findRow(database.forTenant(tenantId), definitions, { id });
      return row && storedDefinition(row);
    },

    /** Stores a new draft under a new id. */
    async create(
      tenantId: string,
      { name, description, graph, createdBy }: DefinitionContent & { readonly createdBy: string },
    ): Promise<StoredDefinition> {
      const now = clock.now();
      const definition: StoredDefinition = {
        id: ids.uuid(),
        tenantId,
        name,
        description,
        status: 'draft',
        graph,
        latestVersion: null,
        revision: 1,
        createdBy,
        createdAt: now,
        updatedAt: now,
      };
      await database.forTenant(tenantId).insert(definitions, toColumns(definition, JSON_MEMBERS));
      return definition;
    },

    /**
     * Newest first (of one moment the higher id), and how many there are in all; with `q` those that have it in name or
     * id.
     */
    async list(
      tenantId: string,
      page: Page,
      q?: string,
    ): Promise<{ readonly definitions: readonly StoredDefinition[]; readonly total: number }> {
      const entities = database.forTenant(tenantId);
      const orderBy = { createdAt: 'desc', id: 'desc' } as const;
      if (q === undefined) {
        const [rows, total] = await entities.page(definitions, {}, { orderBy, ...page });
        return { definitions: rows.map(storedDefinition), total };
      }
      // A name is stored as JSON, where a database would find the letters of an escape.
      const fields = ['id', 'name'] as const;
      const named = await entities.rows(definitions, {}, { orderBy, fields, limit: SEARCHED_RECORDS });
      const found = named.filter(({ id, name }) => holdsText([id, JSON.parse(name)], q)).map(({ id }) => id);
      const ids = found.slice(page.offset, page.offset + page.limit);
      const rows = await entities.rows(definitions, { id: { $in: ids } }, { orderBy, limit: ids.length });
      return { definitions: rows.map(storedDefinition), total: found.length };
    },

    update: (before: StoredDefinition, content: Partial<DefinitionContent>) => change(before, content),

    /** Makes a new version of the graph and the definition `published`, together. */
    publish(
      before: StoredDefinition,
      publishedBy: string,
    ): Promise<{ readonly definition: StoredDefinition; readonly version: StoredVersion } | undefined> {
      const { id: definitionId, tenantId, graph } = before;
      return withFreeNumber(async () => {
        const content = { definitionId, graph, publishedBy };
        const version = await nextVersion(database.forTenant(tenantId), content, parts);
        const changes = { status: 'published', latestVersion: version.version } as const;
        const added = writes.insert(tables.versions, [versionRow(version)]);
        const definition = await change(before, changes, added);
        return definition && { definition, version };
      });
    },

    archive: (before: StoredDefinition) => change(before, { status: 'archived' }),

    /** Deletes a definition that was never published. */
    async delete({ id, tenantId, revision }: StoredDefinition): Promise<boolean> {
      const where = { id, revision, latestVersion: null };
      return (await database.forTenant(tenantId).delete(definitions, where)) > 0;
    },

    /** All definitions of the tenant, oldest first, read in pages. For data protection. */
    async *all(tenantId: string): AsyncGenerator<StoredDefinition> {
      const query = { by: ['createdAt', 'id'], page: BATCH } as const;
      const rows = eachRow(database.forTenant(tenantId), definitions, {}, query);
      for await (const row of rows) yield storedDefinition(row);
    },

    /** Deletes all definitions of the tenant inside the caller's transaction; returns how many. For data protection. */
    erase: (entities: TenantEntityManager): Promise<number> => entities.erase(definitions, {}),
  };
}
