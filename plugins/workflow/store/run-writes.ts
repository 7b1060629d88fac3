import { createHash } from 'node:crypto';
import { type RowWrite, type TenantEntityManager, writes } from 'agent-gateway';
import type { NewEvent } from '../services/core/commands.ts';
import type { RunState } from '../services/core/state.ts';
import type { Commit, Creation } from '../services/ports/run-store.ts';
import { eventRow } from './event-rows.ts';
import { findRow } from './rows.ts';
import { runChanges, runRow } from './run-rows.ts';
import { type NewStepRow, stepChanges, stepRow } from './step-rows.ts';
import { READY, type WorkflowTables } from './tables.ts';

/** The writes of a new run. */
export function creationWrites(
  tables: WorkflowTables,
  { state, events, sinks, idempotency }: Creation,
): RowWrite[] {
  const steps = [...state.steps.values()].map((step) => stepRow(state, step));
  const starts =
    idempotency === undefined
      ? []
      : [{ keyDigest: keyDigest(idempotency.key), runId: state.id, fingerprint: idempotency.fingerprint }];
  return [
    writes.insert(tables.runs, [runRow(state)]),
    writes.insert(tables.starts, starts),
    ...stepWrites(tables, steps),
    ...eventWrites(tables, state, events, sinks),
  ];
}

/**
 * The writes of a commit: what changed, and nothing else. The first write locks the run's row, so that the second of
 * two commits waits and then finds another revision.
 */
export function commitWrites(tables: WorkflowTables, { before, after, events, sinks }: Commit): RowWrite[] {
  const { id, revision } = before;
  const changed: RowWrite[] = [];
  const added: NewStepRow[] = [];
  for (const [nodeId, step] of after.steps) {
    const known = before.steps.get(nodeId);
    if (known === step) continue;
    if (known === undefined) {
      added.push(stepRow(after, step));
      continue;
    }
    const changes = stepChanges(known, step);
    if (Object.keys(changes).length === 0) continue;
    changed.push(writes.update(tables.steps, { id: step.id }, { ...changes, revision: after.revision }));
  }
  return [
    writes.update(tables.runs, { id, revision }, runChanges(before, after), { expect: 1 }),
    ...changed,
    ...stepWrites(tables, added),
    ...eventWrites(tables, after, events, sinks),
  ];
}

const stepWrites = (tables: WorkflowTables, rows: readonly NewStepRow[]) =>
  inStatements(rows).map((batch) => writes.insert(tables.steps, batch));

function eventWrites(
  tables: WorkflowTables,
  { id, updatedAt }: RunState,
  events: readonly NewEvent[],
  sinks: readonly string[],
): RowWrite[] {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return [];
  const rows = events.map((event) => eventRow(id, event));
  const written = inStatements(rows).map((batch) => writes.insert(tables.events, batch));
  if (sinks.length === 0) return written;
  const noted = sinks.map((sink) => ({
    runId: id,
    sink,
    fromSeq: first.seq,
    toSeq: last.seq,
    createdAt: updatedAt,
    nextAt: READY,
    attempts: 0,
    claim: null,
  }));
  return [...written, writes.insert(tables.outbox, noted)];
}

/** An idempotency key as it is stored. */
function keyDigest(key: string): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('hex');
}

/** What an idempotency key has started; undefined for a new one. */
export async function findStart(entities: TenantEntityManager, tables: WorkflowTables, key: string) {
  return findRow(entities, tables.starts, { keyDigest: keyDigest(key) }, ['runId', 'fingerprint']);
}

/** Characters of one statement, about: MySQL takes 16 MiB in bytes, with everything around them and escaped. */
const MAX_STATEMENT = 2 * 1024 * 1024;

/** Rows in as few groups as statements can hold; nearly always it is one. */
function inStatements<Row extends object>(rows: readonly Row[]): Row[][] {
  const batches: Row[][] = [];
  let room = 0;
  for (const row of rows) {
    const size = sizeOf(row);
    const last = batches.at(-1);
    if (last === undefined || size > room) {
      batches.push([row]);
      room = MAX_STATEMENT - size;
      continue;
    }
    last.push(row);
    room -= size;
  }
  return batches;
}

/** Characters of the texts in a row. */
function sizeOf(row: object): number {
  let size = 0;
  for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : 0;
  return size;
}
