import type { InferEntity } from '@mikro-orm/core';
import { column, type Database, defineEntity, type EntityRegistration, type Migration } from 'agent-gateway';
import type { RunEventType, RunStatus, StepStatus } from '../contract/runs.ts';
import {
  definitionListsMigration,
  definitionsMigration,
  eventTenantsMigration,
  runBegunMigration,
  runListsMigration,
  runsMigration,
  runUserMigration,
} from './migrations.ts';
import { entityName, LENGTHS } from './rows.ts';

/**
 * Runs of an engine. What changes at each step of a chain (`revision`, `seq`, `updated_at`) is in no index: PostgreSQL
 * then writes the new row next to the old one and leaves all indexes as they are. `owner` and `wake_at` are null where
 * nothing has to be done, so that finished runs are never scanned.
 */
function runTable(name: string) {
  return defineEntity({
    name: entityName(name, 'run'),
    tableName: `${name}_runs`,
    indexes: [
      { name: `${name}_runs_started`, properties: ['tenantId', 'startedAt', 'id'] },
      { name: `${name}_runs_definition`, properties: ['tenantId', 'definitionId', 'startedAt', 'id'] },
      { name: `${name}_runs_status`, properties: ['tenantId', 'status', 'startedAt', 'id'] },
      {
        name: `${name}_runs_definition_status`,
        properties: ['tenantId', 'definitionId', 'status', 'startedAt', 'id'],
      },
      { name: `${name}_runs_wake`, properties: ['wakeAt'] },
      { name: `${name}_runs_owner`, properties: ['owner'] },
    ],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      definitionId: column.string(LENGTHS.definitionId),
      versionId: column.id(),
      version: column.integer(),
      status: column.string(LENGTHS.status).$type<RunStatus>(),
      revision: column.integer(),
      seq: column.integer(),
      /** JSON texts: any character survives in them on every database. */
      input: column.text(),
      variables: column.text(),
      error: column.text().nullable(),
      owner: column.string(LENGTHS.worker).nullable(),
      /** Times are milliseconds since the epoch on the database's clock, as the rules compute with them. */
      wakeAt: column.bigint().nullable(),
      startedBy: column.string(LENGTHS.identity),
      userId: column.string(LENGTHS.identity).nullable(),
      startedAt: column.bigint(),
      begunAt: column.bigint().nullable(),
      completedAt: column.bigint().nullable(),
      updatedAt: column.bigint(),
    },
  });
}

export type RunRow = InferEntity<ReturnType<typeof runTable>>;

/** Steps of runs. Nothing that an automatic step changes is in an index. */
function stepTable(name: string) {
  return defineEntity({
    name: entityName(name, 'step'),
    tableName: `${name}_steps`,
    indexes: [
      { name: `${name}_steps_run`, properties: ['tenantId', 'runId'] },
      { name: `${name}_steps_open`, properties: ['tenantId', 'openSince'] },
    ],
    properties: {
      tenantId: column.tenant().primary(),
      id: column.id().primary(),
      runId: column.id(),
      /**
       * Of the run, when the step was written last: a reader of both, one after the other, sees by it that the run
       * changed in between.
       */
      revision: column.integer(),
      nodeId: column.string(LENGTHS.nodeId),
      status: column.string(LENGTHS.status).$type<StepStatus>(),
      attempt: column.integer(),
      delivery: column.integer(),
      lost: column.integer(),
      readyAt: column.bigint().nullable(),
      dueAt: column.bigint().nullable(),
      createdAt: column.bigint(),
      startedAt: column.bigint().nullable(),
      completedAt: column.bigint().nullable(),
      /** The creation of a human task while it waits; null for everything else. It is what lists open tasks. */
      openSince: column.bigint().nullable(),
      /** JSON texts, from here on; also what is a text itself, since an author may put any character into it. */
      nodeName: column.text(),
      nodeType: column.text(),
      /** `null` where no assignee is named, so that one `in` finds what a user may complete. */
      assignee: column.text(),
      input: column.text().nullable(),
      output: column.text().nullable(),
      outcome: column.text().nullable(),
      error: column.text().nullable(),
      taken: column.text().nullable(),
      completion: column.text().nullable(),
    },
  });
}

export type StepRow = InferEntity<ReturnType<typeof stepTable>>;

/**
 * Events of runs. The id of a run is the gateway's own, so a key that begins with it reveals nothing of other tenants.
 */
function eventTable(name: string) {
  return defineEntity({
    name: entityName(name, 'event'),
    tableName: `${name}_events`,
    indexes: [{ name: `${name}_events_tenant`, properties: ['tenantId', 'runId', 'seq'] }],
    properties: {
      runId: column.id().primary(),
      seq: column.integer().unsigned(false).primary(),
      tenantId: column.tenant(),
      type: column.string(LENGTHS.eventType).$type<RunEventType>(),
      nodeId: column.string(LENGTHS.nodeId).nullable(),
      stepId: column.id().nullable(),
      /** JSON text. */
      data: column.text(),
      createdAt: column.bigint(),
    },
  });
}

export type EventRow = InferEntity<ReturnType<typeof eventTable>>;

/** Idempotency keys of starts, for as long as their runs are there. */
function startTable(name: string) {
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

/** `next_at` of a row that may be taken at once, if it is the first of its run: every row begins with it. */
export const READY = 0;

/**
 * Events that wait for their delivery: one row for the events of one commit and each sink that wants them, so that no
 * sink waits for another.
 *
 * The index has what is ready by tenant, the oldest first, and everything else by the time when it is checked again:
 * either is found without reading other rows, however many wait.
 */
function outboxTable(name: string) {
  return defineEntity({
    name: entityName(name, 'outbox'),
    tableName: `${name}_outbox`,
    indexes: [
      {
        name: `${name}_outbox_next`,
        properties: ['sink', 'nextAt', 'tenantId', 'createdAt', 'runId', 'fromSeq'],
      },
    ],
    properties: {
      runId: column.id().primary(),
      sink: column.string(LENGTHS.sink).primary(),
      fromSeq: column.integer().unsigned(false).primary(),
      tenantId: column.tenant(),
      toSeq: column.integer(),
      createdAt: column.bigint(),
      /**
       * `READY`, or when the row is checked again: the end of a claim, of a pause after a failure, or a while after
       * that of the row before it.
       */
      nextAt: column.bigint(),
      attempts: column.integer(),
      /**
       * The claim that holds or last held the row; null in rows that were put off, and in rows that were never the
       * first of their run.
       */
      claim: column.id().nullable(),
    },
  });
}

/** Immutable graphs, from which runs start. */
function versionTable(name: string) {
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

export type VersionRow = InferEntity<ReturnType<typeof versionTable>>;

/** Processes that carry out steps, for all tenants. One is alive until `expires_at`, on the database's clock. */
function workerTable(name: string) {
  return defineEntity({
    name: entityName(name, 'worker'),
    tableName: `${name}_workers`,
    properties: {
      id: column.string(LENGTHS.worker).primary(),
      expiresAt: column.bigint(),
    },
  });
}

/** `draft`: never published. `published`: its newest version can start runs. `archived`: nothing starts any more. */
export type DefinitionStatus = 'draft' | 'published' | 'archived';

/** Definitions that people edit over HTTP. */
function definitionTable(name: string) {
  return defineEntity({
    name: entityName(name, 'definition'),
    tableName: `${name}_definitions`,
    indexes: [{ name: `${name}_definitions_created`, properties: ['tenantId', 'createdAt', 'id'] }],
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

export type DefinitionRow = InferEntity<ReturnType<typeof definitionTable>>;

/** The tables of one engine: `<name>_runs`, `<name>_steps` … All but `workers` belong to tenants. */
export type WorkflowTables = ReturnType<typeof workflowTables>;

/** The tables of one engine, and where they are. */
export interface EngineStorage {
  readonly database: Database;
  readonly tables: WorkflowTables;
}

/** The tables of an engine. `name` is `[a-z][a-z0-9]{0,15}`, once in a database; throws for any other. */
export function workflowTables(name: string) {
  if (!/^[a-z][a-z0-9]{0,15}$/.test(name)) {
    throw new TypeError(
      `The name of a workflow engine is 1 to 16 characters of a-z and 0-9, a letter first; not ${JSON.stringify(name)}`,
    );
  }
  const owned = {
    runs: runTable(name),
    steps: stepTable(name),
    events: eventTable(name),
    starts: startTable(name),
    outbox: outboxTable(name),
    versions: versionTable(name),
  };
  const workers = workerTable(name);
  const { starts, outbox, ...shown } = owned;
  const entities: readonly EntityRegistration[] = [
    ...Object.values(shown),
    { entity: starts, impersonal: 'digests of idempotency keys, and ids of runs' },
    { entity: outbox, impersonal: 'ids of runs, and numbers of events' },
    { entity: workers, tenancy: 'shared' },
  ];
  const migrations: readonly Migration[] = [
    runsMigration(name),
    runListsMigration(name),
    runBegunMigration(name),
    runUserMigration(name),
    eventTenantsMigration(name),
  ];
  // Entities and migrations are for `database.register`, under an owner of the engine's own.
  return { name, ...owned, workers, entities, migrations };
}

/** The table of definitions, which only the gateway's own engine has. */
export type DefinitionTables = ReturnType<typeof definitionTables>;

/** The table `<name>_definitions`; its migration comes after those of `workflowTables`. */
export function definitionTables(name: string) {
  const definitions = definitionTable(name);
  const entities: readonly EntityRegistration[] = [definitions];
  const migrations: readonly Migration[] = [definitionsMigration(name), definitionListsMigration(name)];
  return { definitions, entities, migrations };
}

/** The tables of the gateway's own engine. */
export const gatewayTables = workflowTables('workflow');
/** The definitions of its tenants. */
export const gatewayDefinitions = definitionTables('workflow');

/** All of them, for the plugin. */
export const entities: readonly EntityRegistration[] = [
  ...gatewayTables.entities,
  ...gatewayDefinitions.entities,
];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  ...gatewayTables.migrations,
  ...gatewayDefinitions.migrations,
].toSorted((a, b) => (a.name < b.name ? -1 : 1));
