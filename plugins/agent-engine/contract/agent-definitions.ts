import { extensionPoint, type Validation } from 'agent-gateway';

/** What `list` returns about an agent. */
export interface AgentInfo {
  readonly name: string;
  readonly description: string;
  readonly type: 'chat_model_agent' | 'supervisor';
  /** Alias of its model. */
  readonly model: string;
  /** `file`: of agents.d, and so of the deployment. `tenant`: of one tenant alone. */
  readonly source: 'file' | 'tenant';
  /** Names of the agents that it hands work over to. */
  readonly subAgents: readonly string[];
}

/** An agent of one tenant. */
export interface TenantAgent extends AgentInfo {
  /** One document of the kind Agent. */
  readonly yaml: string;
}

/**
 * The agents that tenants have in addition to those of agents.d. The engine asks for them again and again: the source
 * has to cache what it reads.
 */
export interface TenantAgents {
  /** All of the tenant, by name; their number is bounded. */
  list(tenantId: string): readonly AgentInfo[] | Promise<readonly AgentInfo[]>;
  /** Returns the same object as long as the agent has not changed. */
  find(tenantId: string, name: string): TenantAgent | undefined | Promise<TenantAgent | undefined>;
}

/**
 * Where agents of tenants come from: the plugin `runtime` brings those that are made through the API. Of two agents of
 * one name that of the earlier contribution counts.
 */
export const TenantAgentsPoint = extensionPoint<TenantAgents>('agent-engine.tenant-agents', {
  list: 'function',
  find: 'function',
});

/** The result of checking a definition. */
export interface AgentCheck {
  /** Absent where there are errors. */
  readonly agent?: AgentInfo;
  /** Lines from 1, RFC 6901 pointers. */
  readonly errors: Validation['errors'];
  /**
   * Tools and the model that nobody offers now, which is no error: plugins, MCP servers and models may come later.
   * Empty where there are errors.
   */
  readonly warnings: Validation['errors'];
}
