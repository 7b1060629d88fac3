import {
  eachRow,
  forEachLimited,
  GatewayError,
  type PersonalDataRequest,
  type PersonalScope,
} from 'agent-gateway';
import type { WorkflowEngine } from '../../contract/engine.ts';
import type { ArchivedRun, EngineArchive, EngineTables } from '../../contract/engine-archive.ts';
import { WorkflowErrors } from '../../contract.ts';
import { retainedRuns } from '../../store/ended-runs.ts';
import { pseudonymize } from '../../store/personal-traces.ts';
import { createRunArchive, runsIn } from '../../store/run-archive.ts';
import type { DefinitionTables, EngineStorage, WorkflowTables } from '../../store/tables.ts';
import { storedVersion } from '../../store/versions.ts';
import { SYSTEM } from '../core/commands.ts';
import { showRedacted, versionRecord } from '../definitions/definition-record.ts';
import { toEventRecord, toRunRecord, toStepRecord } from '../views/records.ts';
import type { Redactor } from '../views/redaction.ts';

/** Versions that are read at one time: each has a graph. */
const PAGE = 20;
/** Runs that are cancelled at one time. */
const CANCELLED = 8;

/** What an archive works with. */
export interface EngineArchiveParts extends EngineStorage {
  /** Only if the engine has definitions: they name users, too. */
  readonly definitions?: DefinitionTables;
  readonly redactor: Redactor;
  readonly engine: Pick<WorkflowEngine, 'cancel'>;
}

/** The tables of an engine that hold personal data. */
export function personalTables({ runs, steps, events, versions }: WorkflowTables): EngineTables {
  return { runs: [runs, steps, events], versions: [versions] };
}

/** Makes the archive of one engine. */
export function createEngineArchive(parts: EngineArchiveParts): EngineArchive {
  const { database, tables, redactor, engine } = parts;
  const archive = createRunArchive(parts);
  const show = showRedacted(redactor);

  async function* runs({ tenantId, userId }: PersonalScope): AsyncGenerator<ArchivedRun> {
    for await (const { run, events } of archive.all(tenantId, { userId })) {
      const steps = [...run.steps.values()].map((step) => ({
        ...toStepRecord(run.id, step, redactor),
        completed_by: step.completion?.by ?? null,
      }));
      yield { ...toRunRecord(run, redactor), user_id: run.userId, steps, events: events.map(toEventRecord) };
    }
  }

  async function* versions({ tenantId, userId }: PersonalDataRequest) {
    const query = { by: ['definitionId', 'version'], page: PAGE } as const;
    for await (const row of eachRow(database.forTenant(tenantId), tables.versions, {}, query)) {
      const isAsked = userId === undefined || row.publishedBy === userId;
      if (isAsked) yield versionRecord(storedVersion(row), show);
    }
  }

  /** The ids of runs whose steps are carried out now. */
  async function runsUnderWay({ tenantId, userId }: PersonalScope): Promise<readonly string[]> {
    const found: string[] = [];
    const query = { by: ['id'], fields: ['id'] } as const;
    for (const whose of runsIn({ userId })) {
      const where = { ...whose, owner: { $ne: null } };
      for await (const { id } of eachRow(database.forTenant(tenantId), tables.runs, where, query))
        found.push(id);
    }
    return found;
  }

  return {
    runs,
    versions,

    /**
     * Cancels the runs, which aborts the calls of their steps on any replica. A result that comes later finds no run.
     */
    async halt(scope, signal) {
      const { tenantId } = scope;
      const cancel = (runId: string) =>
        engine.cancel({ tenantId, runId, by: SYSTEM }).catch((error: unknown) => {
          if (!isOver(error)) throw error;
        });
      await forEachLimited(await runsUnderWay(scope), CANCELLED, cancel, signal);
    },

    async erase(entities, { userId, pseudonym }) {
      const erased = await archive.erase(entities, { userId });
      if (userId !== undefined) await pseudonymize(parts, entities, userId, pseudonym);
      return erased;
    },

    retained: (kind) => retainedRuns(database, tables, kind),
  };
}

/** The run ended, or was deleted, before it could be cancelled. */
function isOver(error: unknown): boolean {
  const over = [WorkflowErrors.runNotFound, WorkflowErrors.alreadyCompleted];
  return error instanceof GatewayError && over.some(({ definition }) => definition.code === error.code);
}
