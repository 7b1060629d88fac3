import type { Scope } from 'agent-gateway';
import type { PersonalData } from '../../../platform/contract.ts';
import { createDefinitionStore } from '../../store/definition-store.ts';
import { createPersonalTraces } from '../../store/personal-traces.ts';
import { createRunArchive } from '../../store/run-archive.ts';
import { gatewayDefinitions, gatewayTables } from '../../store/tables.ts';
import type { Versions } from '../ports/definition-store.ts';
import type { Redactor } from '../views/redaction.ts';
import { createPersonalData } from './create-personal-data.ts';

/** What the gateway's own engine keeps about people. */
export function personalDataOf(
  scope: Scope,
  { versions, redactor }: { readonly versions: Versions; readonly redactor: Redactor },
): PersonalData {
  const { clock, database, ids } = scope.services;
  const parts = { clock, database, ids, tables: gatewayTables, definitions: gatewayDefinitions };
  return createPersonalData({
    ...{ name: 'workflow', versions, redactor, ids },
    archive: createRunArchive(parts),
    traces: createPersonalTraces(parts),
    definitions: createDefinitionStore(parts),
  });
}
