/**
 * What other plugins may use of the workflow engine: running workflows, adding node types, receiving events, opening
 * engines of their own.
 */
export * from './contract/durable-events.ts';
export * from './contract/engine.ts';
export * from './contract/engine-archive.ts';
export * from './contract/engines.ts';
export * from './contract/event-sinks.ts';
export * from './contract/fingerprint.ts';
export * from './contract/graph.ts';
export * from './contract/node-types.ts';
export * from './contract/runs.ts';
