import { createHash } from 'node:crypto';
import { type RowWrite, writes } from 'agent-gateway';
import type { NewEvent } from '../services/core/commands.ts';
import type { RunState } from '../services/core/state.ts';
import type { Commit, Creation } from '../services/ports/run-store.ts';
import { eventRow } from './event-rows.ts';
import { runChanges, runRow } from './run-rows.ts';
import { inStatements } from './statement-batches.ts';
import { type NewStepRow, stepChanges, stepRow } from './step-rows.ts';
import { READY } from './tables/outbox-table.ts';
import type { WorkflowTables } from './workflow-tables.ts';

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
 * The writes of a commit: what changed, and nothing else. The first one holds the run's row, so that of two commits the second waits and
 * then finds another revision.
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
export function keyDigest(key: string): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('hex');
}
