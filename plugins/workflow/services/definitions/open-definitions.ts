import type { Scope } from 'agent-gateway';
import { createDefinitionStore } from '../../store/definition-store.ts';
import { gatewayDefinitions, gatewayTables } from '../../store/tables.ts';
import type { Versions } from '../ports/definition-store.ts';
import type { NodeTypes } from '../ports/execution.ts';
import type { Redactor } from '../views/redaction.ts';
import { createDefinitions } from './create-definitions.ts';
import type { Definitions } from './definitions.ts';
import { workflowKind } from './workflow-resource.ts';

/** What definitions share with the engine that runs them. */
export interface OpenDefinitionsParts {
  readonly types: NodeTypes;
  readonly versions: Versions;
  readonly redactor: Redactor;
}

/** Registers the kind Workflow, and opens the definitions of the gateway's own engine. */
export function openDefinitions(
  scope: Scope,
  { types, versions, redactor }: OpenDefinitionsParts,
): Definitions {
  const { clock, ids, database } = scope.services;
  const files = scope.kind(workflowKind({ types, clock }));
  const store = createDefinitionStore({
    ...{ database, clock, ids },
    tables: gatewayTables,
    definitions: gatewayDefinitions,
  });
  return createDefinitions({ store, versions, files, types, redactor, clock });
}
