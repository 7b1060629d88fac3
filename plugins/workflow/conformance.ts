import type { ConformanceOptions } from 'agent-gateway/testing';

const DEFINITIONS = '/v1/workflow-definitions';
const RUNS = '/v1/workflow-runs';

/** A workflow that waits for a person. */
const graphWith = (instructions: string) => ({
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'human_task', config: { instructions } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { from: 'start', to: 'ask' },
    { from: 'ask', to: 'end' },
  ],
});

/** What the conformance suite cannot find out by itself: a definition that runs, and a run that waits. */
export default {
  samples: {
    [`POST ${DEFINITIONS}`]: { body: { name: '{marker}', graph: graphWith('Say') } },
    [`GET ${DEFINITIONS}/{id}/versions/{version}`]: { params: { version: '1' } },
    // What the suite looks at later has to be there still.
    [`POST ${DEFINITIONS}/{id}/archive`]: { params: { id: 'none' } },
    [`POST ${RUNS}/{id}/cancel`]: { params: { id: 'none' } },
    'POST /v1/workflow-tasks/{step_run_id}/complete': { params: { step_run_id: 'none' } },
  },
  async seed({ request }, { token, marker }) {
    const post = async (path: string, body: object) =>
      (await request(path, { method: 'POST', token, body })).body;
    const definition = await post(DEFINITIONS, { name: marker, graph: graphWith(marker) });
    await post(`${DEFINITIONS}/${definition.id}/publish`, {});
    const { id } = await post(`${RUNS}?wait=10`, { definition_id: definition.id, input: { marker } });
    const { steps } = (await request(`${RUNS}/${id}`, { token })).body;
    return { id, step_run_id: steps[1].id };
  },
} satisfies ConformanceOptions;
