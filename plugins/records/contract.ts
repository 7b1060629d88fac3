/**
 * What other plugins may know of the records: what is kept about the work of agents, and about the users and tenants
 * that it is done for.
 */
export * from './contract/call-spans.ts';
export * from './contract/chat.ts';
export * from './contract/dollars.ts';
export * from './contract/durable-events.ts';
export * from './contract/embeddings.ts';
export * from './contract/memories.ts';
export * from './contract/metering.ts';
export * from './contract/ownership.ts';
export * from './contract/principal.ts';
export * from './contract/receipts.ts';
export * from './contract/retention.ts';
export * from './contract/sessions.ts';
export * from './contract/skills.ts';
export * from './contract/token-counts.ts';
