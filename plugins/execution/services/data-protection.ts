import {
  defineEvent,
  defineJob,
  type Events,
  type Jobs,
  type PersonalData,
  type PersonalRecord,
  type PersonalSection,
  RETRY_RACES,
  type RetainedRecords,
  Type,
} from 'agent-gateway';
import type { EngineTables, StepRecord } from '../../workflow/contract.ts';
import { jobStep, listedJob } from './job-records.ts';
import type { JobStorage } from './open-engine.ts';
import { purgeTenant } from './own-database.ts';

/**
 * Erases jobs in their own database once the erasure in the gateway's database has committed. Identifies a user by id,
 * the only thing that jobs know of a user.
 */
export const EraseJobs = defineJob(
  'execution.erase',
  Type.Object({ user_id: Type.Optional(Type.String()), pseudonym: Type.String() }),
);

/**
 * The same to the other processes of the deployment: each has a database of jobs of its own, and one of them gets the
 * job.
 */
export const JobsErased = defineEvent(
  'execution.jobs-erased',
  Type.Object({
    tenant_id: Type.String(),
    user_id: Type.Optional(Type.String()),
    pseudonym: Type.String(),
  }),
);

/** How ended jobs are described to administrators, who decide how long they are kept. */
const RETAINED = {
  name: 'jobs',
  summary: 'Jobs of the execution server that have ended, by their end, with their steps and events',
} as const;

/**
 * What jobs keep about people (decisions 1.5): their inputs, outputs, steps and events, and the graphs that they run.
 * While nothing has opened the engine, this process has no jobs. In their own database `EraseJobs`, published in the
 * commit of the erasure, erases them, and the purge of a tenant deletes them.
 */
export function createPersonalData(
  { prepared, isGateways }: JobStorage,
  tables: EngineTables,
  jobs: Pick<Jobs, 'publish'>,
): PersonalData {
  const archive = () => prepared.opened?.archive;

  const section = (
    name: string,
    entities: PersonalSection['entities'],
    read: PersonalSection['read'],
  ): PersonalSection => ({ name, entities: isGateways ? entities : [], read });

  return {
    name: 'execution',
    sections: [
      section('jobs', tables.runs, async function* (request) {
        for await (const { steps, events, ...run } of archive()?.runs(request) ?? []) {
          const { variables, user_id } = run;
          const shown = steps.map(({ completed_by, ...step }) => ({ ...jobStep(step), completed_by }));
          yield { ...listedJob(run, beginOf(steps)), user_id, variables, steps: shown, events };
        }
      }),
      section('job_graphs', tables.versions, async function* (request) {
        for await (const version of archive()?.versions(request) ?? [])
          yield version as unknown as PersonalRecord;
      }),
    ],

    async halt(scope, signal) {
      await archive()?.halt(scope, signal);
    },

    async erase(entities, { userId, pseudonym }): Promise<Record<string, number>> {
      if (!isGateways) {
        // Also where nothing has opened the engine here: other processes have databases of their own.
        await jobs.publish(entities, EraseJobs, {
          pseudonym,
          ...(userId !== undefined && { user_id: userId }),
        });
        return {};
      }
      const erased = await archive()?.erase(entities, { userId, pseudonym });
      return erased === undefined
        ? {}
        : { jobs: erased.runs, job_steps: erased.steps, job_events: erased.events };
    },

    async purge(tenantId, signal) {
      if (!isGateways && prepared.opened !== undefined)
        await purgeTenant(prepared.opened.database, tenantId, signal);
    },
  };
}

/** When the first of the steps began, as far as their last attempts show it. */
function beginOf(steps: readonly StepRecord[]): string | undefined {
  const begun = steps.flatMap(({ node_type, started_at }) =>
    node_type === 'start' || started_at === null ? [] : [started_at],
  );
  return begun.sort()[0];
}

interface ErasedJobs {
  readonly user_id?: string | undefined;
  readonly pseudonym: string;
}

/** The worker of `EraseJobs`. */
export function eraseOwnJobs({ prepared }: Pick<JobStorage, 'prepared'>, events: Pick<Events, 'emit'>) {
  return async (
    erased: ErasedJobs,
    { tenantId }: { readonly tenantId: string | undefined },
  ): Promise<void> => {
    if (tenantId === undefined) return;
    await eraseIn(prepared, tenantId, erased);
    events.emit(JobsErased, { tenant_id: tenantId, ...erased });
  };
}

/** The listener of `JobsErased`. */
export function eraseJobsHere({ prepared }: Pick<JobStorage, 'prepared'>) {
  return ({ tenant_id, ...erased }: ErasedJobs & { readonly tenant_id: string }) =>
    eraseIn(prepared, tenant_id, erased);
}

/** A repeated call erases what is left. */
async function eraseIn(
  { opened }: JobStorage['prepared'],
  tenantId: string,
  { user_id: userId, pseudonym }: ErasedJobs,
): Promise<void> {
  if (opened === undefined) return;
  const { archive, database } = opened;
  await database
    .forTenant(tenantId)
    .transaction((inside) => archive.erase(inside, { userId, pseudonym }), RETRY_RACES);
}

/** Jobs that have ended, as records that retention deletes when they are old. */
export function retainedJobs({ prepared, isGateways, keptFor }: JobStorage): RetainedRecords {
  const kind = { ...RETAINED, ofProcess: !isGateways, ...(keptFor !== undefined && { keptFor }) };
  const records = () => prepared.opened?.archive.retained(kind);
  return {
    ...kind,
    sizes: async () => (await records()?.sizes()) ?? new Map(),
    count: async (tenantId, before) => (await records()?.count(tenantId, before)) ?? 0,
    async *deleteBefore(tenantId, before, signal) {
      yield* records()?.deleteBefore(tenantId, before, signal) ?? [];
    },
  };
}
