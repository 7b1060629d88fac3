import type { Clock, Database, Ids } from 'agent-gateway';
import type { PersonalData, PersonalDataItem, PersonalRecord } from '../../../platform/contract.ts';
import { createDefinitionStore } from '../../store/definition-store.ts';
import { pseudonymize } from '../../store/personal-traces.ts';
import { createRunArchive } from '../../store/run-archive.ts';
import { gatewayDefinitions, gatewayTables } from '../../store/tables.ts';
import { createVersions } from '../../store/versions.ts';
import { definitionRecord, redactGraph, versionRecord } from '../definitions/definition-record.ts';
import { toEventRecord, toRunRecord, toStepRecord } from '../views/records.ts';
import type { Redactor } from '../views/redaction.ts';

/** Versions that are read at one time: each has a graph. */
const PAGE = 20;

/** What data protection works with. */
interface PersonalDataParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly redactor: Redactor;
}

/**
 * What the gateway's own engine keeps about people (decisions 1.5): definitions with their versions, and runs with their steps and events. Of one user:
 * the runs that he started; his deletion keeps definitions and the runs of others, where a pseudonym takes his place.
 */
export function createPersonalData({ redactor, ...parts }: PersonalDataParts): PersonalData {
  const tables = { tables: gatewayTables, definitions: gatewayDefinitions };
  const archive = createRunArchive({ ...parts, ...tables });
  const versions = createVersions({ ...parts, ...tables });
  const definitions = createDefinitionStore({ ...parts, ...tables });
  const show = redactGraph.bind(undefined, redactor);

  async function* definitionItems(tenantId: string, userId: string | undefined) {
    for await (const definition of definitions.all(tenantId)) {
      const isAsked = userId === undefined || definition.createdBy === userId;
      if (isAsked) yield item('workflow_definitions', definitionRecord(definition, show));
      for (let offset = 0, total = 1; offset < total; offset += PAGE) {
        const page = await versions.list(tenantId, definition.id, { limit: PAGE, offset });
        total = page.total;
        for (const version of page.versions) {
          if (userId !== undefined && version.publishedBy !== userId) continue;
          yield item('workflow_versions', versionRecord(version, show));
        }
      }
    }
  }

  async function* runItems(tenantId: string, startedBy: string | undefined) {
    for await (const { run, events } of archive.all(tenantId, { startedBy })) {
      const steps = [...run.steps.values()].map((step) => ({
        ...toStepRecord(run.id, step, redactor),
        completed_by: step.completion?.by ?? null,
      }));
      yield item('workflow_runs', {
        ...toRunRecord(run, redactor),
        steps,
        events: events.map(toEventRecord),
      });
    }
  }

  return {
    name: 'workflow',

    async *export({ tenantId, userId, signal }) {
      for (const items of [definitionItems(tenantId, userId), runItems(tenantId, userId)]) {
        for await (const next of items) {
          if (signal.aborted) return;
          yield next;
        }
      }
    },

    async erase(entities, { userId }) {
      const { runs, steps, events, versions } = await archive.erase(entities, { startedBy: userId });
      const erased = { workflow_runs: runs, workflow_steps: steps, workflow_events: events };
      if (userId === undefined) {
        const workflow_definitions = await definitions.erase(entities);
        return { ...erased, workflow_versions: versions, workflow_definitions };
      }
      // A new one each time: it must not show who it was, nor that two of them were one.
      await pseudonymize(tables, entities, userId, `erased-${parts.ids.opaque()}`);
      return erased;
    },
  };
}

function item(section: string, record: object): PersonalDataItem {
  return { section, record: record as PersonalRecord };
}
