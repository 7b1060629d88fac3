import type { EntityRegistration, Migration } from 'agent-gateway';
import { ConversationEntity } from './conversations.ts';
import { conversations } from './migrations/001-conversations.ts';

/** The tables of the runtime. All belong to tenants. */
export const entities: readonly EntityRegistration[] = [ConversationEntity];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [conversations];
