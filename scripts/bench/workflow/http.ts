import { type Contender, type Shape, serve } from './contender.ts';
import { startBenchGateway } from './gateway.ts';
import { GRAPHS } from './graphs.ts';

/*
 * The whole gateway in a process of its own, called over HTTP: a run is one request that waits for its end.
 */

await serve(async (): Promise<Contender> => {
  const { call, close } = await startBenchGateway();
  const publish = async (shape: Shape) => {
    const definition = await call('POST', '/v1/workflow-definitions', { name: shape, graph: GRAPHS[shape] });
    await call('POST', `/v1/workflow-definitions/${definition.id}/publish`, {});
    return definition.id;
  };
  const definitions = { chain: await publish('chain'), fan: await publish('fan') };
  return {
    close,
    async run(shape) {
      const body = { definition_id: definitions[shape], input: { order: 1 } };
      const run = await call('POST', '/v1/workflow-runs?wait=30', body);
      if (run.status !== 'completed') throw new Error(`A run is ${run.status}`);
    },
  };
});
