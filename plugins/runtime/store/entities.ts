import type { EntityRegistration, Migration } from 'agent-gateway';
import { AgentStateEntity } from './agent-states.ts';
import { agentStates } from './migrations/001-agent-states.ts';

/** The tables of the runtime. All belong to tenants. */
export const entities: readonly EntityRegistration[] = [AgentStateEntity];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [agentStates];
