import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { systemClock } from '../../../foundation/base/clock.ts';
import { openDatabase } from '../../../foundation/data/database.ts';
import { createLogger } from '../../../foundation/observability/logger.ts';
import { workflowTables } from '../../../plugins/workflow/store/tables.ts';
import { type Contender, type Shape, STEPS, serve } from './contender.ts';

/*
 * The least that a durable engine with these tables can do: no rules, no tenants, no leases, only the rows of a run,
 * its steps and its events in the engine's own tables, fused into one message and one commit a step.
 */

const TENANT = '00000000-0000-0000-0000-000000000001';

async function createTables(url: string): Promise<void> {
  const tables = workflowTables('workflow');
  const { logger: log } = createLogger({ level: 'silent' });
  const database = await openDatabase({ driver: 'postgres', url, log, clock: systemClock });
  await database.register({ owner: 'bench', entities: tables.entities, migrations: tables.migrations });
  await database.close();
}

await serve(async (): Promise<Contender> => {
  const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: 10 });
  await createTables(process.env.BENCH_DATABASE_URL!);

  const step = (run: string, id: string, node: string, status = 'running') =>
    `insert into workflow_steps (tenant_id, id, run_id, revision, node_id, node_name, node_type, status, attempt, delivery, lost, created_at, started_at, assignee, input) values ('${TENANT}', '${id}', '${run}', 1, '${node}', '"${node}"', '"bench/noop"', '${status}', 1, 1, 0, ${Date.now()}, ${Date.now()}, 'null', '{"n":1}')`;
  const events = (run: string, ...list: readonly (readonly [seq: number, type: string, id: string])[]) =>
    `insert into workflow_events (tenant_id, run_id, seq, type, node_id, step_id, data, created_at) values ${list
      .map(
        ([seq, type, id]) =>
          `('${TENANT}', '${run}', ${seq}, '${type}', 'n', '${id}', '{"attempt":1,"delivery":1}', ${Date.now()})`,
      )
      .join(', ')}`;
  const complete = (id: string, n: number) =>
    `update workflow_steps set status = 'completed', output = '{"n":${n}}', taken = '[${n}]', completed_at = ${Date.now()} where tenant_id = '${TENANT}' and id = '${id}'`;
  const insertRun = (run: string, seq: number) =>
    `insert into workflow_runs (tenant_id, id, definition_id, version_id, version, status, revision, seq, input, variables, owner, started_by, started_at, updated_at) values ('${TENANT}', '${run}', 'chain', '${run}', 1, 'running', 1, ${seq}, '{"order":1}', '{}', 'bench', 'bench', ${Date.now()}, ${Date.now()})`;

  async function chain(): Promise<void> {
    const run = randomUUID();
    let seq = 2;
    let revision = 1;
    let current = randomUUID();
    await pool.query(
      [
        insertRun(run, 2),
        step(run, randomUUID(), 'start', 'completed'),
        step(run, current, 'n0'),
        events(run, [1, 'run.started', current], [2, 'step.started', current]),
      ].join('; '),
    );
    for (let n = 0; n < STEPS; n += 1) {
      const isLast = n === STEPS - 1;
      const next = randomUUID();
      await pool.query(
        [
          `update workflow_runs set ${isLast ? "status = 'completed', owner = null, " : ''}revision = ${revision + 1}, seq = ${seq + 2}, updated_at = ${Date.now()} where tenant_id = '${TENANT}' and id = '${run}' and revision = ${revision}`,
          complete(current, n),
          step(run, next, isLast ? 'end' : `n${n + 1}`, isLast ? 'completed' : 'running'),
          events(run, [seq + 1, 'step.completed', current], [seq + 2, 'step.started', next]),
        ].join('; '),
      );
      revision += 1;
      seq += 2;
      current = next;
    }
  }

  async function fan(): Promise<void> {
    const run = randomUUID();
    const ids = Array.from({ length: STEPS }, () => randomUUID());
    await pool.query(
      [
        insertRun(run, STEPS + 1),
        step(run, randomUUID(), 'start', 'completed'),
        ...ids.map((id, n) => step(run, id, `n${n}`)),
        events(
          run,
          [1, 'run.started', run],
          ...ids.map((id, n) => [n + 2, 'step.started', id] as [number, string, string]),
        ),
      ].join('; '),
    );
    let left = STEPS;
    await Promise.all(
      ids.map((id, n) => {
        left -= 1;
        return pool.query(
          [
            `update workflow_runs set ${left > 0 ? '' : "status = 'completed', owner = null, "}revision = revision + 1, seq = seq + 1 where tenant_id = '${TENANT}' and id = '${run}'`,
            complete(id, n),
            ...(left > 0 ? [] : [step(run, randomUUID(), 'end', 'completed')]),
            events(run, [STEPS + 2 + n, 'step.completed', id]),
          ].join('; '),
        );
      }),
    );
  }

  return { run: (shape: Shape) => (shape === 'chain' ? chain() : fan()), close: () => pool.end() };
});
