import type { WorkflowDefinitions, WorkflowEngine } from '../../contract/engine.ts';
import type { JsonObject } from '../../contract/graph.ts';
import type { RunRecord } from '../../contract/runs.ts';

/** Which workflow is started, for whom. */
export interface StartByNameRequest {
  readonly tenantId: string;
  /** The id of a published definition of the tenant, or the name of a workflow of agents.d. */
  readonly workflow: string;
  readonly input: JsonObject;
  /** The identity that starts it. */
  readonly startedBy: string;
  /** The same key and fingerprint give the same run. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
}

/** A run that is over, or the time for it. */
export interface Settled {
  readonly run: RunRecord;
  /** The merged outputs of the nodes that lead into `end`, redacted; null while the run is not completed. */
  readonly output: JsonObject | null;
}

/** Starts workflows by what people call them. All that comes out is redacted. */
export interface StartByName {
  /**
   * Starts a run and resolves when it is durable. Throws errors of `WorkflowErrors`: `workflow.definition-not-found`, `workflow.not-published`,
   * `workflow.archived`, `workflow.context-too-large`.
   */
  start(request: StartByNameRequest): Promise<{ readonly run: RunRecord; readonly isNew: boolean }>;
  /** Resolves when the run is no longer `running`, or with what it is when the time is over. Rejects with the reason of `signal`. */
  settled(request: {
    readonly tenantId: string;
    readonly runId: string;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
  }): Promise<Settled>;
}

/** What workflows are started with. */
interface StartByNameParts {
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
