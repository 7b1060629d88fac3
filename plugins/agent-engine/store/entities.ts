import type { EntityRegistration } from 'agent-gateway';
import { AgentCheckpoint } from './checkpoints.ts';
import { SandboxPolicyRow } from './sandbox-policy-row.ts';

/** The tables of the agent engine. Both belong to tenants. */
export const entities: readonly EntityRegistration[] = [
  { entity: SandboxPolicyRow, impersonal: 'limits of code and tools, set by administrators' },
  AgentCheckpoint,
];
