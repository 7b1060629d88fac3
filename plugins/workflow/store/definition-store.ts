import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, isUniqueViolation, type RowWrite, writes } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type {
  DefinitionStatus,
  DefinitionStore,
  StoredDefinition,
  StoredVersion,
} from '../services/ports/definition-store.ts';
import { entityName, fromText, inPages, isSearchable, LENGTHS, toText } from './rows.ts';
import type { DefinitionTables } from './tables.ts';
import {
  NUMBERING_ATTEMPTS,
  newestNumber,
  storedVersion,
  type VersionsParts,
  versionRow,
} from './versions.ts';

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

type DefinitionRow = InferEntity<ReturnType<typeof definitionTable>>;

/** The row of a new definition. */
function definitionRow(definition: StoredDefinition): DefinitionRow {
  const { name, description, graph } = definition;
  return { ...definition, name: toText(name), description: toText(description), graph: toText(graph) };
}

/** The definition that a row holds. */
function storedDefinition(row: DefinitionRow): StoredDefinition {
  return {
    id: row.id,
    tenantId: row.tenantId,
    name: fromText(row.name),
    description: fromText(row.description),
    status: row.status,
    graph: fromText(row.graph),
    latestVersion: row.latestVersion ?? null,
    revision: row.revision,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** Definitions that are read at one time. */
const BATCH = 100;

/** Definitions in a table of the database. */
export function createDefinitionStore({
  database,
  tables,
  definitions: { definitions },
  clock,
  ids,
}: VersionsParts & { readonly definitions: DefinitionTables }): DefinitionStore {
  /** The next state of a definition. */
  const next = (before: StoredDefinition, changes: Partial<StoredDefinition>): StoredDefinition => ({
    ...before,
    ...changes,
    revision: before.revision + 1,
    updatedAt: clock.now(),
  });

  /** Writes changes, with what belongs to them; undefined where the definition has another revision. */
  async function change(
    before: StoredDefinition,
    after: StoredDefinition,
    changes: Partial<DefinitionRow>,
    ...more: RowWrite[]
  ): Promise<StoredDefinition | undefined> {
    const { id, tenantId, revision } = before;
    const data = { ...changes, revision: after.revision, updatedAt: after.updatedAt };
    const isStored = await database
      .forTenant(tenantId)
      .writeTogether([writes.update(definitions, { id, revision }, data, { expect: 1 }), ...more]);
    return isStored ? after : undefined;
  }

  /** One attempt: `taken` where another one took the number of the version. */
  async function publish(before: StoredDefinition, publishedBy: string) {
    const { id: definitionId, tenantId, graph } = before;
    const newest = await newestNumber(database.forTenant(tenantId), tables, definitionId);
    const version: StoredVersion = {
      id: ids.uuid(),
      definitionId,
      version: newest + 1,
      graph,
      publishedBy,
      publishedAt: clock.now(),
    };
    const changes = { status: 'published', latestVersion: version.version } as const;
    const added = writes.insert(tables.versions, [versionRow(version)]);
    try {
      const definition = await change(before, next(before, changes), changes, added);
      return definition && { definition, version };
    } catch (error) {
      if (isUniqueViolation(error)) return 'taken';
      throw error;
    }
  }

  async function get(tenantId: string, id: string): Promise<StoredDefinition | undefined> {
    if (!isSearchable(id)) return undefined;
    const [row] = await database.forTenant(tenantId).rows(definitions, { id }, { limit: 1 });
    return row && storedDefinition(row);
  }

  return {
    get,

    async create(tenantId, { name, description, graph, createdBy }) {
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
      await database.forTenant(tenantId).insert(definitions, definitionRow(definition));
      return definition;
    },

    async list(tenantId, { limit, offset }) {
      const entities = database.forTenant(tenantId);
      const query = { orderBy: { createdAt: 'desc', id: 'desc' }, limit, offset } as const;
      const rows = await entities.rows(definitions, {}, query);
      return { definitions: rows.map(storedDefinition), total: await entities.count(definitions) };
    },

    update(before, { name = before.name, description = before.description, graph = before.graph }) {
      const changes = { name: toText(name), description: toText(description), graph: toText(graph) };
      return change(before, next(before, { name, description, graph }), changes);
    },

    async publish(before, publishedBy) {
      for (let attempt = 0; attempt < NUMBERING_ATTEMPTS; attempt += 1) {
        const published = await publish(before, publishedBy);
        if (published !== 'taken') return published;
      }
      throw WorkflowErrors.busy();
    },

    async latest(tenantId, id) {
      if (!isSearchable(id)) return undefined;
      const entities = database.forTenant(tenantId);
      const [definition] = await entities.rows(definitions, { id }, { limit: 1, fields: ['latestVersion'] });
      const version = definition?.latestVersion ?? undefined;
      if (version === undefined) return undefined;
      const [row] = await entities.rows(tables.versions, { definitionId: id, version }, { limit: 1 });
      return row && storedVersion(row);
    },

    archive: (before) => change(before, next(before, { status: 'archived' }), { status: 'archived' }),

    async delete({ id, tenantId, revision }) {
      const where = { id, revision, latestVersion: null };
      return (await database.forTenant(tenantId).delete(definitions, where)) > 0;
    },

    async *all(tenantId) {
      const entities = database.forTenant(tenantId);
      const orderBy = { createdAt: 'asc', id: 'asc' } as const;
      const pages = inPages(async ({ time, ...start }) => {
        const where = { ...start, ...(time === undefined ? {} : { createdAt: time }) };
        const rows = await entities.rows(definitions, where, { orderBy, limit: BATCH });
        return rows.map((row) => ({ id: row.id, time: row.createdAt, row }));
      });
      for await (const page of pages) yield* page.map(({ row }) => storedDefinition(row));
    },

    erase: (entities) => entities.delete(definitions, {}),
  };
}
