import { randomUUID } from 'node:crypto';
import { until } from '../../support/until.ts';
import type { AllPlugins } from './all-plugins.ts';
import type { Input } from './inputs.ts';
import type { Step } from './step.ts';

const GRAPH = `apiVersion: svc/v1
kind: Workflow
metadata: { name: job-ask }
spec:
  graph:
    nodes:
      - { id: start, type: start }
      - { id: ask, type: human_task, config: { instructions: 'May {{input.customer}}?' } }
      - { id: end, type: end }
    edges: [{ from: start, to: ask }, { from: ask, to: end }]
`;
const BODY = { graph_name: 'job-ask', input: { customer: 'Acme' } };

/** One success of each operation of the execution server. */
export function jobSuccesses({ request, gateway }: AllPlugins): readonly Step[] {
  let headers = {};
  async function begin(): Promise<Input> {
    // As it is written whole, nobody reads half of it.
    await gateway.services.resources.write('job-ask.yaml', GRAPH);
    headers = { 'idempotency-key': randomUUID() };
    return { body: BODY, headers };
  }
  const remember = async (known: Record<string, string>, { job_id }: { readonly job_id: string }) => {
    known.job = job_id;
    await until(async () => (await request(`/jobs/${job_id}`)).body.status === 'waiting');
  };
  const job = ({ job: job_id = '' }) => ({ params: { job_id } });
  return [
    ['POST /jobs', begin, remember],
    ['POST /jobs', () => ({ body: BODY, headers })],
    ['GET /jobs', () => ({})],
    ['GET /jobs/{job_id}', job],
    ['POST /jobs/{job_id}/resume', (known) => ({ ...job(known), body: { output: { may: true } } })],
    ['GET /jobs/{job_id}/stream', job],
    ['POST /jobs', () => ({ body: BODY }), remember],
    ['POST /jobs/{job_id}/cancel', job],
  ];
}
