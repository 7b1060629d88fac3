/** Lengths of columns, in characters; the migrations say the same to the database. */
export const LENGTHS = {
  definitionId: 128,
  nodeId: 64,
  /** A status of a run, a step or a definition. */
  status: 16,
  eventType: 32,
  /** Name of an event sink. */
  sink: 64,
  /** One incarnation of a process. */
  worker: 64,
  identity: 255,
  /** SHA-256 in hexadecimal. */
  digest: 64,
} as const;

/** Name of an entity of one engine, unique in the database: `workflow` and `run` give `WorkflowRun`. */
export function entityName(engine: string, entity: string): string {
  return [engine, entity].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
