import {
  type Clock,
  type Database,
  eachRow,
  forEachLimited,
  GatewayError,
  type Ids,
  type PersonalData,
  type PersonalRecord,
} from 'agent-gateway';
import type { WorkflowEngine } from '../../contract/engine.ts';
import { WorkflowErrors } from '../../contract.ts';
import { createDefinitionStore } from '../../store/definition-store.ts';
import { pseudonymize } from '../../store/personal-traces.ts';
import { isSearchable } from '../../store/rows.ts';
import { createRunArchive } from '../../store/run-archive.ts';
import { gatewayDefinitions, gatewayTables } from '../../store/tables.ts';
import { storedVersion } from '../../store/versions.ts';
import { definitionRecord, redactGraph, versionRecord } from '../definitions/definition-record.ts';
import { toEventRecord, toRunRecord, toStepRecord } from '../views/records.ts';
import type { Redactor } from '../views/redaction.ts';

/** Versions that are read at one time: each has a graph. */
const PAGE = 20;
/** Runs that are cancelled at one time. */
const CANCELLED = 8;

/** What data protection works with. */
interface PersonalDataParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly redactor: Redactor;
  readonly engine: Pick<WorkflowEngine, 'cancel'>;
}

/**
 * What the gateway's own engine keeps about people (decisions 1.5): definitions with their versions, and runs with their steps and events. Of one user:
 * the runs that he started; his erasure keeps definitions and the runs of others, where a pseudonym takes his place.
 */
export function createPersonalData({ redactor, engine, ...parts }: PersonalDataParts): PersonalData {
  const { database } = parts;
  const tables = { tables: gatewayTables, definitions: gatewayDefinitions };
  const { runs, steps, events, versions } = gatewayTables;
  const archive = createRunArchive({ ...parts, ...tables });
  const definitions = createDefinitionStore({ ...parts, ...tables });
  const show = redactGraph.bind(undefined, redactor);

  async function* definitionRecords(tenantId: string, userId: string | undefined) {
    for await (const definition of definitions.all(tenantId)) {
      const isAsked = userId === undefined || definition.createdBy === userId;
      if (isAsked) yield { ...definitionRecord(definition, show) };
    }
  }

  async function* versionRecords(tenantId: string, userId: string | undefined) {
    const query = { by: ['definitionId', 'version'], page: PAGE } as const;
    for await (const row of eachRow(database.forTenant(tenantId), versions, {}, query)) {
      const isAsked = userId === undefined || row.publishedBy === userId;
      if (isAsked) yield { ...versionRecord(storedVersion(row), show) };
    }
  }

  async function* runRecords(tenantId: string, startedBy: string | undefined) {
    for await (const { run, events } of archive.all(tenantId, { startedBy })) {
      const steps = [...run.steps.values()].map((step) => ({
        ...toStepRecord(run.id, step, redactor),
        completed_by: step.completion?.by ?? null,
      }));
      const record = { ...toRunRecord(run, redactor), steps, events: events.map(toEventRecord) };
      yield record as unknown as PersonalRecord;
    }
  }

  /** The ids of runs whose steps are carried out now. */
  async function runsUnderWay(tenantId: string, userId: string | undefined): Promise<readonly string[]> {
    if (userId !== undefined && !isSearchable(userId)) return [];
    const whose = userId === undefined ? {} : { startedBy: userId };
    const found: string[] = [];
    const query = { by: ['id'], fields: ['id'] } as const;
    const where = { ...whose, owner: { $ne: null } };
    for await (const { id } of eachRow(database.forTenant(tenantId), runs, where, query)) found.push(id);
    return found;
  }

  return {
    name: 'workflow',
    sections: [
      {
        name: 'workflow_definitions',
        entities: [gatewayDefinitions.definitions],
        read: ({ tenantId, userId }) => definitionRecords(tenantId, userId),
      },
      {
        name: 'workflow_versions',
        entities: [versions],
        read: ({ tenantId, userId }) => versionRecords(tenantId, userId),
      },
      {
        name: 'workflow_runs',
        entities: [runs, steps, events],
        read: ({ tenantId, userId }) => runRecords(tenantId, userId),
      },
    ],

    /** Cancels runs: what their steps call is told to end, in whichever replica. What they bring afterwards finds no run. */
    async halt({ tenantId, userId }, signal) {
      const underWay = await runsUnderWay(tenantId, userId);
      const cancel = (runId: string) =>
        engine.cancel({ tenantId, runId, by: 'system' }).catch((error: unknown) => {
          if (!isOver(error)) throw error;
        });
      await forEachLimited(underWay, CANCELLED, cancel, signal);
    },

    async erase(entities, { userId, pseudonym }) {
      const { runs, steps, events, versions } = await archive.erase(entities, { startedBy: userId });
      const erased = { workflow_runs: runs, workflow_steps: steps, workflow_events: events };
      if (userId === undefined) {
        const workflow_definitions = await definitions.erase(entities);
        return { ...erased, workflow_versions: versions, workflow_definitions };
      }
      await pseudonymize(tables, entities, userId, pseudonym);
      return erased;
    },
  };
}

/** The run ended, or went, before it could be cancelled. */
function isOver(error: unknown): boolean {
  const over = [WorkflowErrors.runNotFound, WorkflowErrors.alreadyCompleted];
  return error instanceof GatewayError && over.some(({ definition }) => definition.code === error.code);
}
