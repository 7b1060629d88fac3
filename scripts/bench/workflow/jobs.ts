import { type Contender, serve } from './contender.ts';
import { startBenchGateway } from './gateway.ts';
import { GRAPHS } from './graphs.ts';

/*
 * The execution server in such a gateway: a job is one request that starts it, and one that reads its event stream to
 * the end. `BENCH_JOBS` is where jobs are: `postgres` in the database with everything else, or `sqlite` in memory.
 */

/** The graphs as files of agents.d: JSON is YAML. */
const WORKFLOWS = Object.entries(GRAPHS).map(([name, graph]) =>
  JSON.stringify({ apiVersion: 'svc/v1', kind: 'Workflow', metadata: { name }, spec: { graph } }),
);

await serve(async (): Promise<Contender> => {
  const env = { SVC_RUNTIME_BACKEND: process.env.BENCH_JOBS || 'postgres' };
  const { call, read, close } = await startBenchGateway(env, WORKFLOWS);
  return {
    close,
    async run(shape) {
      const { job_id } = await call('POST', '/jobs', { graph_name: shape, input: { order: 1 } });
      const events = await read(`/jobs/${job_id}/stream`);
      if (!events.includes('event: job.completed')) throw new Error(`A job ended with ${events.slice(-200)}`);
    },
  };
});
