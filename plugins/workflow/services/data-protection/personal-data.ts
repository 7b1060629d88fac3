import type { Clock, Database, Ids, PersonalData, PersonalRecord } from 'agent-gateway';
import type { WorkflowEngine } from '../../contract/engine.ts';
import { createDefinitionStore } from '../../store/definition-store.ts';
import { gatewayDefinitions, gatewayTables } from '../../store/tables.ts';
import { definitionRecord, showRedacted } from '../definitions/definition-record.ts';
import type { Redactor } from '../views/redaction.ts';
import { createEngineArchive, personalTables } from './create-engine-archive.ts';

/** What data protection works with. */
interface PersonalDataParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly redactor: Redactor;
  readonly engine: Pick<WorkflowEngine, 'cancel'>;
}

/**
 * What the gateway's own engine keeps about people (decisions 1.5): definitions with their versions, and runs with
 * their steps and events. For one user: what the user made, published or started, and what was started for the user. An
 * erasure of the user keeps definitions and the runs of others, and replaces the user by a pseudonym in them.
 */
export function createPersonalData(parts: PersonalDataParts): PersonalData {
  const { redactor } = parts;
  const tables = { tables: gatewayTables, definitions: gatewayDefinitions };
  const archive = createEngineArchive({ ...parts, ...tables });
  const { runs, versions } = personalTables(gatewayTables);
  const definitions = createDefinitionStore({ ...parts, ...tables });
  const show = showRedacted(redactor);

  async function* definitionRecords(tenantId: string, userId: string | undefined) {
    for await (const definition of definitions.all(tenantId)) {
      const isAsked = userId === undefined || definition.createdBy === userId;
      if (isAsked) yield { ...definitionRecord(definition, show) };
    }
  }

  return {
    name: 'workflow',
    sections: [
      {
        name: 'workflow_definitions',
        entities: [gatewayDefinitions.definitions],
        read: ({ tenantId, userId }) => definitionRecords(tenantId, userId),
      },
      {
        name: 'workflow_versions',
        entities: versions,
        read: (request) => archive.versions(request) as AsyncIterable<PersonalRecord>,
      },
      {
        name: 'workflow_runs',
        entities: runs,
        read: (request) => archive.runs(request) as AsyncIterable<PersonalRecord>,
      },
    ],

    halt: archive.halt,

    async erase(entities, erasure) {
      const { runs, steps, events, versions } = await archive.erase(entities, erasure);
      const erased = { workflow_runs: runs, workflow_steps: steps, workflow_events: events };
      if (erasure.userId !== undefined) return erased;
      const workflow_definitions = await definitions.erase(entities);
      return { ...erased, workflow_versions: versions, workflow_definitions };
    },
  };
}
