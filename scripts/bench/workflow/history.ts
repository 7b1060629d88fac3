import pg from 'pg';

/** Tables with rows of one run, and their columns that differ from run to run. */
const TABLES = [
  { name: 'workflow_runs', key: 'id' },
  { name: 'workflow_steps', key: 'run_id' },
  { name: 'workflow_events', key: 'run_id' },
] as const;

/**
 * Copies a finished run `count` times inside the database, with all its steps and events, so that the tables look as
 * after long use.
 */
export async function fillHistory(url: string, count: number, makeRun: () => Promise<string>): Promise<void> {
  if (count === 0) return;
  const runId = await makeRun();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    'create temporary table copies as select gen_random_uuid()::text as run from generate_series(1, $1)',
    [count],
  );
  for (const { name, key } of TABLES) {
    const { rows } = await client.query<{ column_name: string }>(
      'select column_name from information_schema.columns where table_schema = current_schema() and table_name = $1 order by ordinal_position',
      [name],
    );
    const columns = rows.map(({ column_name: column }) => column);
    const values = columns.map((column) => {
      if (column === key) return 'copies.run';
      // Steps have ids of their own.
      if (column === 'id') return 'gen_random_uuid()::text';
      return `t."${column}"`;
    });
    await client.query(
      `insert into ${name} (${columns.map((column) => `"${column}"`).join(', ')})
       select ${values.join(', ')} from ${name} as t, copies where t.${key} = $1`,
      [runId],
    );
  }
  await client.query('vacuum analyze');
  await client.end();
}
