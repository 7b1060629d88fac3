import { extensionPoint } from 'agent-gateway';
import type { AgentFinish } from './agents.ts';

/** The kinds of signal that an agent's `spec.evolution.collect` names. */
export const SIGNAL_TYPES = ['tool_success', 'tool_error', 'model_invoke', 'node_done'] as const;

/** The name of a kind of task: 1 to 64 of the characters a-z, 0-9 and `-`. */
export const TASK_CLASS = '^[a-z0-9-]{1,64}$';

/** What happened in the run of an agent. Holds no text of the conversation. */
export type AgentSignal =
  /**
   * `component` is the ref of the tool, or `agent/<name>` of a sub-agent that was handed work. `durationMs`:
   * milliseconds.
   */
  | { readonly type: 'tool_success'; readonly component: string; readonly durationMs: number }
  | {
      readonly type: 'tool_error';
      readonly component: string;
      readonly durationMs: number;
      /** `arguments`: the tool was not run, since the model's arguments do not fit. */
      readonly reason: 'failed' | 'arguments';
    }
  /** A call of the model; `component` is its alias. */
  | {
      readonly type: 'model_invoke';
      readonly component: string;
      readonly durationMs: number;
      readonly isError: boolean;
    }
  /** The agent is done; nothing follows. `failed`: with an error, `aborted`: its turn was aborted. */
  | { readonly type: 'node_done'; readonly finish: AgentFinish | 'failed' | 'aborted' };

/** Something that the agent may call. */
export interface ExperiencedTool {
  /** `builtin/calculator`, `mcp://server/tool`, `agent/<name>` for a sub-agent. */
  readonly ref: string;
  /** What the model calls it: `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
}

/** A run of an agent whose `spec.evolution.enabled` is true, a sub-agent's too. */
export interface ExperiencedRun {
  readonly tenantId: string;
  readonly agent: string;
  /** The agents from the outermost to this one, by name. */
  readonly agentPath: readonly string[];
  /** Undefined for work that is not stored. */
  readonly sessionId: string | undefined;
  readonly requestId: string;
  /**
   * The last text of the caller, or what the supervisor handed over; not redacted: store nothing of it that reveals
   * what was said.
   */
  readonly task: string;
  /** The kind of task, as the request or the agent names it; undefined where neither does. */
  readonly taskClass: string | undefined;
  readonly tools: readonly ExperiencedTool[];
  /** Of `spec.evolution.advise`. */
  readonly minConfidence: number | undefined;
  readonly maxSuggestions: number | undefined;
  /**
   * In a run that goes on after a pause: the memo that it began with. The run keeps its advice: what `begin` advises
   * this time is ignored.
   */
  readonly memo: unknown;
}

/** What a plugin does in one run. */
export interface RunExperience {
  /** Stands behind the agent's own instructions, 6,000 characters at most; longer, it is left out. */
  readonly advice?: string;
  /** Plain JSON that is kept with a run that pauses, 16 KiB at most. */
  readonly memo?: unknown;
  /** Called with each signal of the kinds that the agent collects. Must return at once: write to stores later. */
  tell(signal: AgentSignal): void;
  /**
   * The run is over, or paused; nothing follows. Called no matter what the agent collects. Must return at once, too.
   */
  end?(): void;
}

/**
 * A plugin that learns from the runs of agents, and advises them: chats, workflows and runtimes alike. A run waits for
 * `begin`, so the plugin should nearly always answer from memory; a promise has 250 ms. What the plugin throws is
 * logged, and the run goes on without it.
 */
export interface Experience {
  /** For logs and memos; begins with the plugin's name. */
  readonly name: string;
  /** Called at the beginning of each run. Undefined: the plugin ignores the run. */
  begin(run: ExperiencedRun): RunExperience | undefined | Promise<RunExperience | undefined>;
}

/** Plugins that learn from the runs of agents. */
export const ExperiencePoint = extensionPoint<Experience>('agent-engine.experience', {
  name: 'text',
  begin: 'function',
});
