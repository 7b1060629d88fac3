import { isStorableText, type TenantEntityManager } from 'agent-gateway';
import type { RunEventType } from '../contract/runs.ts';
import { fromText, toText } from './rows.ts';
import type { DefinitionTables, WorkflowTables } from './tables.ts';

/** Rows that are looked at together. */
const BATCH = 200;
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
 * Replaces `userId` by `pseudonym` inside the caller's transaction, wherever runs, steps, events, definitions and versions of the tenant name the
 * user: as an assignee, or as the person who completed a task, cancelled a run or made a definition. Graphs are configuration, and keep the
 * assignees that their authors wrote. Returns how many records were changed.
 */
export async function pseudonymize(
  { tables, definitions }: TracedTables,
  entities: TenantEntityManager,
  userId: string,
  pseudonym: string,
): Promise<number> {
  if (!isStorableText(userId)) return 0;
  const rename: Rename = (text) => renamed(text, userId, pseudonym);
  return (
    (await inAssignees(tables, entities, userId, pseudonym, rename)) +
    (await inCompletions(tables, entities, rename)) +
    (await inEvents(tables, entities, rename)) +
    (await entities.update(tables.versions, { publishedBy: userId }, { publishedBy: pseudonym })) +
    (definitions === undefined
      ? 0
      : await entities.update(definitions.definitions, { createdBy: userId }, { createdBy: pseudonym }))
  );
}

/** The column that finds the tasks of a user, and the input from which it was filled. */
async function inAssignees(
  { steps }: WorkflowTables,
  entities: TenantEntityManager,
  userId: string,
  pseudonym: string,
  rename: Rename,
): Promise<number> {
  let changed = 0;
  const assignee = toText(pseudonym);
  const query = { limit: BATCH, fields: ['id', 'input'] } as const;
  for (;;) {
    const page = await entities.rows(steps, { assignee: toText(userId) }, query);
    for (const { id, input } of page) {
      const renamed = typeof input === 'string' ? rename(input) : undefined;
      changed += await entities.update(
        steps,
        { id },
        renamed === undefined ? { assignee } : { assignee, input: renamed },
      );
    }
    if (page.length < BATCH) return changed;
  }
}

async function inCompletions(
  { steps }: WorkflowTables,
  entities: TenantEntityManager,
  rename: Rename,
): Promise<number> {
  let changed = 0;
  for (let last = ''; ; ) {
    const where = { id: { $gt: last }, completion: { $ne: null } };
    const query = { orderBy: { id: 'asc' }, limit: BATCH, fields: ['id', 'completion'] } as const;
    const page = await entities.rows(steps, where, query);
    for (const { id, completion } of page) {
      const renamed = rename(completion as string);
      if (renamed === undefined) continue;
      changed += await entities.update(steps, { id }, { completion: renamed });
    }
    if (page.length < BATCH) return changed;
    last = page.at(-1)!.id;
  }
}

async function inEvents(
  { events }: WorkflowTables,
  entities: TenantEntityManager,
  rename: Rename,
): Promise<number> {
  let changed = 0;
  const order = { orderBy: { runId: 'asc', seq: 'asc' }, limit: BATCH } as const;
  const type = { $in: NAMING };
  for (let last = { runId: '', seq: 0 }; ; ) {
    // The rest of the run that the last page ended in, then those after it.
    const rest = await entities.rows(events, { type, runId: last.runId, seq: { $gt: last.seq } }, order);
    const page =
      rest.length > 0 ? rest : await entities.rows(events, { type, runId: { $gt: last.runId } }, order);
    for (const { runId, seq, data } of page) {
      const renamed = rename(data);
      if (renamed !== undefined) changed += await entities.update(events, { runId, seq }, { data: renamed });
    }
    const end = page.at(-1);
    if (end === undefined) return changed;
    last = end;
  }
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
