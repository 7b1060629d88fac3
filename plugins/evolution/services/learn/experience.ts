import { hash } from 'node:crypto';
import { type Clock, type Ids, isStorableText } from 'agent-gateway';
import type {
  AgentSignal,
  Experience,
  ExperiencedRun,
  RunExperience,
} from '../../../agent-engine/contract.ts';
import type { EvolutionSettings } from '../../config.ts';
import { adviceBlock } from '../../rules/advice-block.ts';
import { type Features, featuresOf } from '../../rules/features.ts';
import { createRunRecord } from '../../rules/run-record.ts';
import { suggest } from '../../rules/suggestions.ts';
import { classOf } from '../../rules/task-classes.ts';
import { type Arm, NAME_LENGTH } from '../../store/tables.ts';
import type { Playbook, Playbooks } from './playbooks.ts';
import type { TaskWriter } from './task-writer.ts';

/** The metrics of runs. */
export interface RunMetrics {
  signal(type: AgentSignal['type']): void;
  served(suggestions: number): void;
}

interface ExperienceParts {
  readonly playbooks: Playbooks;
  readonly writer: TaskWriter;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: Pick<EvolutionSettings, 'min_confidence' | 'max_suggestions' | 'holdout'>;
  readonly metrics: RunMetrics;
}

/** Stored with a run that pauses, so that it continues with the same arm and advice. */
interface Memo {
  readonly arm: Arm;
  readonly genes: readonly string[];
}

/** Advises runs of agents, and records their results. */
export function createEvolutionExperience(parts: ExperienceParts): Experience {
  const { playbooks, settings, metrics } = parts;

  function advised(run: ExperiencedRun, features: Features, playbook: Playbook): RunExperience {
    const taskClass = run.taskClass ?? classOf(playbook.classes, features);
    const known = taskClass === undefined ? undefined : playbook.byClass.get(taskClass);
    const suggestions =
      known === undefined
        ? []
        : suggest(
            known.own,
            run.tools.map(({ ref }) => ref),
            {
              minConfidence: run.minConfidence ?? settings.min_confidence,
              max: run.maxSuggestions ?? settings.max_suggestions,
            },
            known.foreign,
          );
    const advice = adviceBlock(suggestions, (component) => nameIn(run, component));
    if (advice === '') return recorded(run, features, { arm: 'none', genes: [] });
    if (isHeldOut(run, settings.holdout)) return recorded(run, features, { arm: 'holdout', genes: [] });
    metrics.served(suggestions.length);
    const genes = suggestions.flatMap(({ component }) => {
      const gene = known?.own.get(component) ?? known?.foreign.get(component);
      return gene === undefined ? [] : [gene.id];
    });
    return { advice, ...recorded(run, features, { arm: 'advised', genes }) };
  }

  /** Records the result of the run. */
  function recorded(run: ExperiencedRun, features: Features, memo: Memo): RunExperience {
    const { tenantId, agent, sessionId } = run;
    const record = createRunRecord(agent);
    return {
      memo,
      tell(signal) {
        metrics.signal(signal.type);
        record.add(signal);
      },
      end() {
        const { components, outcome } = record.result();
        if (components.size === 0) return;
        parts.writer.write({
          id: parts.ids.uuid(),
          tenantId,
          agentName: agent,
          taskClass: run.taskClass ?? null,
          features,
          components: Object.fromEntries(
            [...components]
              // Servers of MCP name their tools as they like.
              .filter(([component]) => component.length <= NAME_LENGTH && isStorableText(component))
              .map(([component, isSuccess]) => [component, isSuccess ? 1 : 0] as const),
          ),
          session: sessionId === undefined ? null : hashOf(tenantId, sessionId).toString('hex'),
          arm: memo.arm,
          advised: memo.genes,
          outcome: outcome ?? null,
          isCounted: false,
          createdAt: new Date(parts.clock.now()),
        });
      },
    };
  }

  return {
    name: 'evolution',
    begin(run) {
      const features = featuresOf(run.task);
      if (isMemo(run.memo)) return recorded(run, features, run.memo);
      const playbook = playbooks.of(run.tenantId, run.agent);
      return playbook instanceof Promise
        ? playbook.then((read) => advised(run, features, read))
        : advised(run, features, playbook);
    },
  };
}

function nameIn({ tools }: ExperiencedRun, component: string): string | undefined {
  return tools.find(({ ref }) => ref === component)?.name;
}

/**
 * A session is held out or not as a whole, with the same result on every replica; a run without a session is decided by
 * its request.
 */
function isHeldOut({ tenantId, sessionId, requestId }: ExperiencedRun, share: number): boolean {
  return hashOf(tenantId, sessionId ?? requestId).readUInt32BE(0) < share * 2 ** 32;
}

function hashOf(tenantId: string, sessionId: string): Buffer {
  return hash('sha256', `${tenantId} ${sessionId}`, 'buffer');
}

function isMemo(value: unknown): value is Memo {
  if (typeof value !== 'object' || value === null) return false;
  const { arm, genes } = value as Partial<Memo>;
  return typeof arm === 'string' && Array.isArray(genes);
}
