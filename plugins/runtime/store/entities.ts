import type { EntityRegistration, Migration } from 'agent-gateway';
import { AgentStateEntity } from './agent-states.ts';
import { FileEntity } from './files.ts';
import { agentStates } from './migrations/001-agent-states.ts';
import { filesMigration } from './migrations/002-files.ts';

/** The tables of the runtime. All belong to tenants. */
export const entities: readonly EntityRegistration[] = [AgentStateEntity, FileEntity];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [agentStates, filesMigration];
