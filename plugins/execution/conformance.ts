import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConformanceOptions } from 'agent-gateway/testing';

/** A workflow that waits for a person. */
const WAITS = `apiVersion: svc/v1
kind: Workflow
metadata: { name: waits }
spec:
  graph:
    nodes:
      - { id: start, type: start }
      - { id: ask, type: human_task, config: { instructions: 'Say' } }
      - { id: end, type: end }
    edges: [{ from: start, to: ask }, { from: ask, to: end }]
`;

/** What the conformance suite cannot find out by itself: a graph, and a job that waits. */
export default {
  samples: {
    'POST /jobs': { body: { graph_name: 'waits', input: { word: '{marker}' } } },
    // What the suite looks at later has to be there still.
    'POST /jobs/{job_id}/cancel': { params: { job_id: 'none' } },
    'POST /jobs/{job_id}/resume': { params: { job_id: 'none' }, body: {} },
  },
  async seed({ request, gateway, folder }, { token, marker }) {
    await writeFile(path.join(folder, 'agents.d', 'waits.yaml'), WAITS);
    await gateway.services.resources.reload();
    const body = { graph_name: 'waits', input: { word: marker } };
    return { job_id: (await request('/jobs', { method: 'POST', token, body })).body.job_id };
  },
} satisfies ConformanceOptions;
