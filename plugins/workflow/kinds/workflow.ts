import { Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { GraphSchema } from '../services/graph/graph-schema.ts';

/** `spec` of the kind Workflow. */
export const WorkflowSpec = Type.Object(
  { graph: GraphSchema },
  { description: 'A fixed procedure, which runs name by metadata.name' },
);

/** A checked `spec` of the kind Workflow. */
export type WorkflowSpec = Static<typeof WorkflowSpec>;

/** The kind Workflow, as far as editors need to know it. */
export const WorkflowKind = {
  kind: 'Workflow',
  summary: 'A fixed procedure: agents, HTTP calls and people, and what comes after what',
  spec: WorkflowSpec,
} as const;
