import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Resources } from 'agent-gateway';
import type { AgentInfo, Agents } from '../../../agent-engine/contract.ts';
import type { AgentDetail } from './agent-definitions.ts';

/** The condition of an agent, in addition to its definition. */
export interface AgentCondition {
  /** `outdated`: its file has a mistake, and the last good version answers. `failed`: it cannot be run. */
  readonly status: 'active' | 'outdated' | 'failed';
  /** Milliseconds since the epoch; for a file from the file system, absent where the file was deleted meanwhile. */
  readonly createdAt?: number | undefined;
  readonly updatedAt?: number | undefined;
}

export type AgentStatusReader = ReturnType<typeof createAgentStatusReader>;

/** Reports the current condition of agents of a tenant, or of the deployment. */
export function createAgentStatusReader(parts: {
  readonly agents: Pick<Agents, 'list'>;
  readonly resources: Pick<Resources, 'report' | 'source'>;
}) {
  const { agents, resources } = parts;

  /** What the files of agents.d declare now. */
  function filesNow() {
    const { folder, files } = resources.report();
    const documents = files.flatMap((file) => file.documents).filter(({ kind }) => kind === 'Agent');
    const outdated = new Set(documents.filter((one) => one.servesLastGood).map(({ name }) => name));
    return { folder, outdated };
  }

  async function fileTimes(folder: string, name: string): Promise<Omit<AgentCondition, 'status'>> {
    const source = resources.source('Agent', name);
    const found = source && (await stat(path.join(folder, source.file)).catch(() => undefined));
    if (found === undefined) return {};
    const { birthtimeMs, mtimeMs } = found;
    return { createdAt: Math.min(birthtimeMs, mtimeMs), updatedAt: mtimeMs };
  }

  return {
    /** The conditions of some agents that the tenant may see, in their order. */
    async of(tenantId: string, shown: readonly AgentDetail[]): Promise<readonly AgentCondition[]> {
      const listed = await agents.list(tenantId);
      const live = new Set(listed.filter(({ source }) => source === 'file').map(({ name }) => name));
      const whyNot = whyNotLiveAmong(listed);
      const { folder, outdated } = filesNow();
      return Promise.all(
        shown.map(async (agent): Promise<AgentCondition> => {
          const { name, source, createdAt, updatedAt } = agent;
          if (source === 'tenant') {
            return { status: whyNot(agent) === undefined ? 'active' : 'failed', createdAt, updatedAt };
          }
          const running = outdated.has(name) ? 'outdated' : 'active';
          return { status: live.has(name) ? running : 'failed', ...(await fileTimes(folder, name)) };
        }),
      );
    },
  };
}

/**
 * Why one of a tenant's own agents does not run, or undefined where it does: an agent of agents.d has its name, or one
 * of its sub-agents is gone. Pure.
 *
 * @param listed all agents that the tenant may run
 */
export function whyNotLiveAmong(
  listed: readonly AgentInfo[],
): (own: Pick<AgentInfo, 'name' | 'subAgents'>) => string | undefined {
  const names = new Set(listed.map(({ name }) => name));
  const files = new Set(listed.filter(({ source }) => source === 'file').map(({ name }) => name));
  return ({ name, subAgents }) => {
    if (files.has(name)) return 'an agent of agents.d has the same name, and comes first';
    const lost = subAgents.filter((sub) => !names.has(sub));
    return lost.length === 0 ? undefined : `there is no Agent with the name ${lost.join(', ')}`;
  };
}
