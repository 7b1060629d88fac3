import {
  access,
  type GrpcMessage,
  type GrpcService,
  grpcMethod,
  grpcService,
  type Identity,
  isOperator,
  Type,
} from 'agent-gateway';
import { AgentErrors, type AgentInfo, type Agents } from '../../agent-engine/contract.ts';
import { isTenantAdmin } from '../../records/contract.ts';
import type { ResourceFiles } from '../services/resource-files.ts';
import { listRequest, message, Name, pageOfAll } from './common.ts';

const Configuration = Type.Record(Type.String(), Type.Unknown());

const read = { access: access.open(['read']), effect: 'read' } as const;
const write = { access: access.role('admin') } as const;

/** `svc.agent.v1.AgentService`: the agents that the tenant may run; those of agents.d can be changed (specification 3; decisions 3.4). */
export function agentService(agents: Pick<Agents, 'find' | 'list'>, files: ResourceFiles): GrpcService {
  async function shown(caller: Identity, infos: readonly AgentInfo[]): Promise<readonly GrpcMessage[]> {
    const file = files.reader('Agent');
    // The instructions of an agent are the operator's: answers do not give them away either.
    const isAll = isOperator(caller) && isTenantAdmin(caller);
    return Promise.all(
      infos.map(async ({ name, description, type }) => {
        const times = await file.times(name);
        return {
          ...{ id: name, name, description, type },
          configuration: isAll ? file.spec(name) : undefined,
          created_at: times?.created,
          updated_at: times?.updated,
          status: file.isOutdated(name) ? 'outdated' : 'active',
        };
      }),
    );
  }

  async function one(caller: Identity, id: string): Promise<GrpcMessage> {
    const info = await agents.find(caller.tenantId, id);
    if (info === undefined) throw AgentErrors.notFound();
    const [agent] = await shown(caller, [info]);
    return message({ agent });
  }

  return grpcService({
    lazy: true,
    proto: new URL('../proto/svc/agent/v1/agent.proto', import.meta.url),
    service: 'svc.agent.v1.AgentService',
    methods: {
      CreateAgent: grpcMethod({
        ...write,
        summary: 'Make an agent of agents.d',
        request: Type.Object({
          name: Type.String({ minLength: 1, maxLength: 63 }),
          description: Type.String(),
          type: Type.String(),
          configuration: Type.Optional(Configuration),
        }),
        handle: async (call) => {
          const { identity, request } = call;
          const { name, description, type, configuration = {} } = request;
          const spec = { type: type || 'chat_model_agent', ...configuration, ...(type && { type }) };
          await files.create(identity, 'Agent', { name, description, spec }, fieldOf);
          call.audit({ changes: { agent: name } });
          return one(identity, name);
        },
      }),
      GetAgent: grpcMethod({
        ...read,
        summary: 'Read an agent',
        request: Type.Object({ id: Name }),
        handle: ({ identity, request }) => one(identity, request.id),
      }),
      ListAgents: grpcMethod({
        ...read,
        summary: 'List the agents by name',
        request: Type.Object(listRequest),
        handle: async ({ identity, request }) => {
          const texts = ({ name, description }: AgentInfo) => [name, description];
          const { shown: page, ...end } = pageOfAll(request, await agents.list(identity.tenantId), texts);
          return message({ agents: await shown(identity, page), ...end });
        },
      }),
      UpdateAgent: grpcMethod({
        ...write,
        summary: 'Change an agent of agents.d',
        request: Type.Object({
          id: Name,
          description: Type.Optional(Type.String()),
          configuration: Type.Optional(Configuration),
        }),
        handle: async (call) => {
          const { identity, request } = call;
          const { id: name, description, configuration: spec } = request;
          await files.update(identity, 'Agent', { name, description, spec }, fieldOf);
          call.audit({ changes: { agent: name } });
          return one(identity, name);
        },
      }),
      DeleteAgent: grpcMethod({
        ...write,
        summary: 'Delete an agent of agents.d',
        request: Type.Object({ id: Name }),
        handle: async (call) => {
          const { identity, request } = call;
          await files.remove(identity, 'Agent', request.id);
          call.audit({ changes: { agent: request.id } });
          return {};
        },
      }),
      LoadAgentFromYAML: grpcMethod({
        ...write,
        summary: 'Make or replace an agent of agents.d by its document',
        request: Type.Object({ yaml: Type.String({ minLength: 1 }) }),
        handle: async (call) => {
          const { identity, request } = call;
          const name = await files.load(identity, 'Agent', request.yaml, '/body/yaml');
          call.audit({ changes: { agent: name } });
          return one(identity, name);
        },
      }),
    },
  });
}

/** Where in a request a place of an agent's document comes from. Pure. */
function fieldOf(pointer: string): string {
  return pointer.replace(/^\/metadata/, '/body').replace(/^\/spec/, '/body/configuration');
}
