/** A tool that an agent may use, as its YAML names it. */
export interface AgentTool {
  readonly ref: string;
  readonly requiresApproval: boolean;
}

/** An agent that a supervisor hands work over to. */
export interface SubAgent {
  /** For the supervisor's model: what it is for. */
  readonly role: string;
  readonly agent: AgentDefinition;
}

/**
 * An agent with everything that it stands for, sub-agents included, as plain JSON: a run, and a checkpoint of it, keeps the definition that
 * it started with, whatever becomes of the file.
 */
export interface AgentDefinition {
  /** Empty for the default agent. */
  readonly name: string;
  readonly description: string;
  readonly type: 'chat_model_agent' | 'supervisor';
  /** Alias; absent: `default`, or the supervisor's. */
  readonly model?: string;
  readonly systemPrompt?: string;
  /** Absent: every tool that the tenant may use. */
  readonly tools?: readonly AgentTool[];
  readonly subAgents: readonly SubAgent[];
  /** Calls of the model in one run at most. */
  readonly maxIterations?: number;
}

/** Who answers when a request names no agent: no instructions of its own, all tools. */
export const DEFAULT_AGENT: AgentDefinition = Object.freeze({
  name: '',
  description: 'The model with every tool',
  type: 'chat_model_agent',
  subAgents: [],
});

/** How many agents a definition is made of, itself included. One that is reached in two ways counts twice. */
export function countAgents({ subAgents }: AgentDefinition): number {
  return subAgents.reduce((sum, { agent }) => sum + countAgents(agent), 1);
}
