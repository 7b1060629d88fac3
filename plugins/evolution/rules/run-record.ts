import type { AgentSignal } from '../../agent-engine/contract.ts';

/** The result of one run of an agent. */
export interface RunRecord {
  /**
   * Whether the last use of each component succeeded: of tools by their ref, of models as `model/<alias>`, of the agent
   * itself as `node/<name>`.
   */
  readonly components: ReadonlyMap<string, boolean>;
  /** Whether the agent did what it was asked for; undefined where that is unknown. */
  readonly outcome: boolean | undefined;
}

/** Components of one run that are recorded. */
export const MAX_COMPONENTS = 64;

/**
 * Finish reasons that say nothing about how well the agent works: the caller continues the run, or the caller or a
 * guardrail has stopped it.
 */
const UNDECIDED = new Set(['tool_calls', 'aborted', 'content_filter', 'length', 'interrupted']);

/** Collects the signals of a run: only names of components and how they ended. */
export function createRunRecord(agent: string) {
  const components = new Map<string, boolean>();
  let lastTool: boolean | undefined;
  let outcome: boolean | undefined;

  const note = (component: string, isSuccess: boolean) => {
    if (components.size < MAX_COMPONENTS || components.has(component)) components.set(component, isSuccess);
  };
  const noteTool = (component: string, isSuccess: boolean) => {
    lastTool = isSuccess;
    note(component, isSuccess);
  };

  return {
    add(signal: AgentSignal): void {
      switch (signal.type) {
        case 'tool_success':
          noteTool(signal.component, true);
          break;
        case 'tool_error':
          noteTool(signal.component, false);
          break;
        case 'model_invoke':
          note(`model/${signal.component}`, !signal.isError);
          break;
        case 'node_done':
          if (UNDECIDED.has(signal.finish)) return;
          outcome = signal.finish === 'stop' && lastTool !== false;
          note(`node/${agent}`, outcome);
          break;
      }
    },
    result: (): RunRecord => ({ components, outcome }),
  };
}
