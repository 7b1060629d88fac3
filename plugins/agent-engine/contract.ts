/** What other plugins may know of the agent engine: models, agents, tools, and what is kept about their work. */
export * from './contract/agents.ts';
export * from './contract/embeddings.ts';
export * from './contract/guard.ts';
export * from '../records/contract/memories.ts';
export * from '../records/contract/metering.ts';
export * from './contract/models.ts';
export * from './contract/principal.ts';
export * from '../records/contract/receipts.ts';
export * from './contract/sandbox.ts';
export * from '../records/contract/sessions.ts';
export * from '../records/contract/skills.ts';
export * from './contract/tools.ts';
