import type { WorkflowDefinitions, WorkflowEngine } from '../../contract/engine.ts';
import type { StartByName } from './start-by-name.ts';

/** What workflows are started with. */
export interface StartByNameParts {
  readonly engine: Pick<WorkflowEngine, 'start' | 'settled' | 'result'>;
  readonly definitions: WorkflowDefinitions;
}

/** Starts workflows of the gateway's own engine. */
export function createStartByName({ engine, definitions }: StartByNameParts): StartByName {
  return {
    async start({ tenantId, workflow, ...request }) {
      const version = await definitions.resolve(tenantId, workflow);
      return engine.start({ ...request, tenantId, version });
    },
    async settled({ tenantId, runId, timeoutMs, signal }) {
      const run = await engine.settled({ tenantId, runId, timeoutMs, signal });
      signal.throwIfAborted();
      return { run, output: await engine.result({ tenantId, runId }) };
    },
  };
}
