import type { Ids } from 'agent-gateway';
import type { PersonalData, PersonalDataItem, PersonalRecord } from '../../../platform/contract.ts';
import type { PersonalTraces } from '../../store/personal-traces.ts';
import type { RunArchive } from '../../store/run-archive.ts';
import { definitionRecord, versionRecord } from '../definitions/definition-record.ts';
import { redactGraph } from '../definitions/redact-graph.ts';
import type { DefinitionStore, Versions } from '../ports/definition-store.ts';
import { toEventRecord } from '../views/event-record.ts';
import type { Redactor } from '../views/redaction.ts';
import { toRunRecord } from '../views/run-record.ts';
import { toStepRecord } from '../views/step-record.ts';

/** Versions that are read at one time: each has a graph. */
const PAGE = 20;

/** What data protection of an engine works with. */
export interface PersonalDataParts {
  /** Names the contribution: `workflow`. */
  readonly name: string;
  readonly archive: RunArchive;
  readonly traces: PersonalTraces;
  /** Absent for an engine whose graphs nobody edits. */
  readonly definitions?: Pick<DefinitionStore, 'all' | 'erase'> | undefined;
  readonly versions: Pick<Versions, 'list'>;
  readonly redactor: Redactor;
  readonly ids: Pick<Ids, 'opaque'>;
}

/**
 * What an engine keeps about people (decisions 1.5): definitions with their versions, and runs with their steps and events. Of one user: the
 * runs that he started; his deletion keeps definitions and the runs of others, where a pseudonym takes his place.
 */
export function createPersonalData(parts: PersonalDataParts): PersonalData {
  const { name, archive, traces, definitions, versions, redactor, ids } = parts;
  const show = redactGraph.bind(undefined, redactor);

  async function* definitionItems(tenantId: string, userId: string | undefined) {
    for await (const definition of definitions?.all(tenantId) ?? []) {
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
    name,

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
        const count = (await definitions?.erase(entities)) ?? 0;
        return { ...erased, workflow_versions: versions, workflow_definitions: count };
      }
      // A new one each time: nobody can tell from it who it was, or that two of them were one.
      await traces.pseudonymize(entities, userId, `erased-${ids.opaque()}`);
      return erased;
    },
  };
}

function item(section: string, record: object): PersonalDataItem {
  return { section, record: record as PersonalRecord };
}
