import { eachRow, isStorableText, type TenantEntityManager } from 'agent-gateway';
import type { RunEventType } from '../contract/runs.ts';
import { fromText, toText } from './rows.ts';
import type { DefinitionTables, WorkflowTables } from './tables.ts';

/** Rows that are looked at together. */
const BATCH = 200;
/** Events that are read at one time. */
const EVENTS = 1_000;
/** The events whose data name people. */
const NAMING: readonly RunEventType[] = [
  'run.started',
  'run.resumed',
  'run.cancelled',
  'task.created',
  'task.completed',
];
/** Members of an event's data, of a completion and of a task's input that name people. */
const NAMES = ['by', 'assignee'] as const;

/** Tables in which users are named. */
interface TracedTables {
  readonly tables: WorkflowTables;
  /** Only the gateway's own engine has them. */
  readonly definitions?: DefinitionTables;
}

/**
 * Replaces `userId` by `pseudonym` inside the caller's transaction, wherever runs, steps, events, definitions and
 * versions of the tenant name the user: as an assignee, or as the person who completed a task, cancelled a run or made
 * a definition. Graphs are configuration, and keep the assignees that their authors wrote.
 */
export async function pseudonymize(
  { tables, definitions }: TracedTables,
  entities: TenantEntityManager,
  userId: string,
  pseudonym: string,
): Promise<void> {
  if (!isStorableText(userId)) return;
  const rename: Rename = (text) => renamed(text, userId, pseudonym);
  await inAssignees(tables, entities, userId, pseudonym, rename);
  await inCompletions(tables, entities, rename);
  await inEvents(tables, entities, rename);
  await entities.update(tables.versions, { publishedBy: userId }, { publishedBy: pseudonym });
  if (definitions !== undefined)
    await entities.update(definitions.definitions, { createdBy: userId }, { createdBy: pseudonym });
}

/** The column that finds the tasks of a user, and the input from which it was filled. */
async function inAssignees(
  { steps }: WorkflowTables,
  entities: TenantEntityManager,
  userId: string,
  pseudonym: string,
  rename: Rename,
): Promise<void> {
  const assignee = toText(pseudonym);
  const query = { by: ['id'], fields: ['id', 'input'], page: BATCH } as const;
  for await (const { id, input } of eachRow(entities, steps, { assignee: toText(userId) }, query)) {
    const renamed = typeof input === 'string' ? rename(input) : undefined;
    const changes = renamed === undefined ? { assignee } : { assignee, input: renamed };
    await entities.update(steps, { id }, changes);
  }
}

async function inCompletions(
  { steps }: WorkflowTables,
  entities: TenantEntityManager,
  rename: Rename,
): Promise<void> {
  const query = { by: ['id'], fields: ['id', 'completion'], page: BATCH } as const;
  for await (const { id, completion } of eachRow(entities, steps, { completion: { $ne: null } }, query)) {
    const renamed = rename(completion as string);
    if (renamed !== undefined) await entities.update(steps, { id }, { completion: renamed });
  }
}

/**
 * Looks at the events of some runs at a time: pages of all events of a tenant MariaDB may read from the first event on,
 * each of them.
 */
async function inEvents(
  { runs, events }: WorkflowTables,
  entities: TenantEntityManager,
  rename: Rename,
): Promise<void> {
  const inRuns = async (ids: readonly string[]) => {
    const naming = { runId: { $in: ids }, type: { $in: NAMING } };
    const orderBy = { runId: 'asc', seq: 'asc' } as const;
    for (let offset = 0; ; offset += EVENTS) {
      const found = await entities.rows(events, naming, { orderBy, limit: EVENTS, offset });
      for (const { runId, seq, data } of found) {
        const renamed = rename(data);
        if (renamed !== undefined) await entities.update(events, { runId, seq }, { data: renamed });
      }
      if (found.length < EVENTS) return;
    }
  };
  let ids: string[] = [];
  for await (const { id } of eachRow(entities, runs, {}, { by: ['id'], fields: ['id'], page: BATCH })) {
    ids.push(id);
    if (ids.length < BATCH) continue;
    await inRuns(ids);
    ids = [];
  }
  if (ids.length > 0) await inRuns(ids);
}

/** The JSON text with the pseudonym in it, or undefined where the user is not named. */
type Rename = (text: string) => string | undefined;

function renamed(text: string, userId: string, pseudonym: string): string | undefined {
  const value = fromText<Record<string, unknown>>(text);
  const named = NAMES.filter((name) => value[name] === userId);
  if (named.length === 0) return undefined;
  for (const name of named) value[name] = pseudonym;
  return toText(value);
}
