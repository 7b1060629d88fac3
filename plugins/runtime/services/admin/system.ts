import type { Database } from 'agent-gateway';
import {
  DEFAULT_TENANT_ID,
  type Deployment,
  type DocumentReport,
  type FileReport,
  type Resources,
} from 'agent-gateway';
import type { Agents } from '../../../agent-engine/contract.ts';
import { allAgents } from '../../store/agents.ts';
import type { WebhookEvents } from '../webhooks/webhook-events.ts';
import { whyNotLiveAmong } from './agent-status.ts';
import { MAX_AGENTS } from './tenant-agents.ts';

interface SystemParts {
  readonly agents: Pick<Agents, 'list'>;
  readonly deployment: Pick<Deployment, 'plugins' | 'readiness' | 'uptime'>;
  readonly resources: Pick<Resources, 'report' | 'reload'>;
  readonly database: Pick<Database, 'forTenant'>;
  readonly events: Pick<WebhookEvents, 'emit'>;
  readonly version: string;
}

/** An agent and whether it runs. */
export interface AgentStatus {
  readonly name: string;
  readonly type: string;
  readonly status: DocumentReport['status'];
  readonly error?: string;
  /** The file of agents.d; for operators. */
  readonly file?: string;
}

export type System = ReturnType<typeof createSystem>;

/** The status of this process, and the reload of agents.d. */
export function createSystem(parts: SystemParts) {
  const { agents, deployment, resources, database, events, version } = parts;

  const declared = () =>
    resources
      .report()
      .files.flatMap((report) =>
        report.documents
          .filter(({ kind, name }) => kind === 'Agent' && name !== undefined)
          .map((one) => ({ file: report.file, ...one, problems: problemsOf(one, report) })),
      );

  /** The agents that the files of agents.d declare, valid or not. */
  async function fileAgents(): Promise<AgentStatus[]> {
    const types = new Map((await agents.list(DEFAULT_TENANT_ID)).map(({ name, type }) => [name, type]));
    return declared().map(({ file, name = '', status, problems }) => ({
      name,
      type: types.get(name) ?? '',
      status,
      file,
      ...(problems.length > 0 && { error: problems.map(inWords).join('\n') }),
    }));
  }

  /** The agents that the tenant may run, and its own agents that do not run any more. */
  async function tenantAgents(tenantId: string): Promise<AgentStatus[]> {
    const listed = await agents.list(tenantId);
    const whyNot = whyNotLiveAmong(listed);
    const own = await allAgents(database.forTenant(tenantId), 2 * MAX_AGENTS);
    const shown = listed.filter(({ source }) => source === 'file');
    return [
      ...shown.map(({ name, type }) => ({ name, type, status: 'live' as const })),
      ...own.map((agent): AgentStatus => {
        const { name, type } = agent;
        const error = whyNot(agent);
        return error === undefined ? { name, type, status: 'live' } : { name, type, status: 'failed', error };
      }),
    ];
  }

  return {
    /** The numbers of agents of agents.d that run, and that do not. Makes no query. */
    agentCounts() {
      const states = declared().map(({ status }) => status);
      const live = states.filter((status) => status === 'live').length;
      return { live, failed: states.length - live };
    },

    /** @param isOperator whether files and plugins are shown */
    async status(tenantId: string, isOperator: boolean) {
      const [readiness, shown] = await Promise.all([
        deployment.readiness(),
        isOperator ? fileAgents() : tenantAgents(tenantId),
      ]);
      const ready = readiness.status === 'ready';
      const isWhole =
        ready && readiness.degraded.length === 0 && shown.every(({ status }) => status === 'live');
      return {
        status: isWhole ? 'ok' : 'degraded',
        version,
        uptime_seconds: Math.floor(deployment.uptime() / 1000),
        agents: shown,
        ...(isOperator && { plugins: deployment.plugins() }),
        ready,
        last_reload_at: resources.report().lastReloadAt?.toISOString() ?? null,
      };
    },

    /** Reloads agents.d of this process, and reports it to the webhooks of the default tenant. */
    async reload() {
      const { loaded, failed } = await resources.reload();
      const data = { loaded, failed: failed.map(({ file }) => file).slice(0, MAX_REPORTED) };
      await events.emit(DEFAULT_TENANT_ID, { type: 'agent.reloaded', data });
      return { loaded, failed };
    },
  };
}

/** Files that an event names at most. */
const MAX_REPORTED = 100;

/**
 * The problems of a document. One that its file no longer shows, since it cannot be read, has those of the file, or of
 * what there is instead. Pure.
 */
function problemsOf({ status, problems }: DocumentReport, file: FileReport): DocumentReport['problems'] {
  if (status !== 'failed' || problems.length > 0) return problems;
  const nameless = file.documents.filter(({ kind }) => kind === undefined);
  return [...file.problems, ...nameless.flatMap((document) => document.problems)];
}

function inWords({ line, pointer, message }: DocumentReport['problems'][number]): string {
  return [line === undefined ? '' : `line ${line}`, pointer, message]
    .filter((part) => part !== '')
    .join(': ');
}
