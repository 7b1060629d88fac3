import {
  access,
  type FieldError,
  type GrpcMessage,
  type GrpcService,
  grpcMethod,
  grpcService,
  type Identity,
  Type,
} from 'agent-gateway';
import {
  type AgentDefinitions,
  type AgentDetail,
  agentCaller,
  MAX_DEFINITION,
} from '../services/admin/agent-definitions.ts';
import type { AgentStatusReader } from '../services/admin/agent-status.ts';
import { ResourceName } from '../services/admin/resource-name.ts';
import { changedYaml, newYaml, specOf } from '../services/admin/resource-yaml.ts';
import { listRequest, message, Name, pageOfAll } from './common.ts';

const Configuration = Type.Record(Type.String(), Type.Unknown());

const read = { access: access.open(['read']), effect: 'read' } as const;
const write = { access: access.role('admin') } as const;

/**
 * `svc.agent.v1.AgentService`: the agents of the tenant and of the deployment, as `/api/v2/admin/agents` has them
 * (specification 3; decisions 3.2, 3.4).
 */
export function agentService(definitions: AgentDefinitions, statuses: AgentStatusReader): GrpcService {
  async function shown(caller: Identity, agents: readonly AgentDetail[]): Promise<readonly GrpcMessage[]> {
    const conditions = await statuses.of(caller.tenantId, agents);
    return agents.map(({ name, description, type, source, yaml }, index) => {
      const { status, createdAt, updatedAt } = conditions[index]!;
      return {
        id: name,
        name,
        description,
        type,
        source,
        status,
        configuration: yaml === undefined ? undefined : specOf(yaml),
        created_at: timeOf(createdAt),
        updated_at: timeOf(updatedAt),
      };
    });
  }

  async function one(caller: Identity, found: AgentDetail): Promise<GrpcMessage> {
    const [agent] = await shown(caller, [found]);
    return message({ agent });
  }

  return grpcService({
    lazy: true,
    proto: new URL('../proto/svc/agent/v1/agent.proto', import.meta.url),
    service: 'svc.agent.v1.AgentService',
    methods: {
      CreateAgent: grpcMethod({
        ...write,
        summary: 'Make an agent of the tenant; as an operator a file of agents.d',
        request: Type.Object({
          name: ResourceName,
          description: Type.String(),
          type: Type.String(),
          configuration: Type.Optional(Configuration),
        }),
        handle: async (call) => {
          const { identity, request } = call;
          const { name, description, type, configuration = {} } = request;
          const spec = { type: type || 'chat_model_agent', ...configuration, ...(type && { type }) };
          const yaml = newYaml('Agent', name, { description, spec });
          const agent = await definitions.create(agentCaller(identity), yaml, inFields);
          call.audit({ changes: { agent: name, source: agent.source } });
          return one(identity, agent);
        },
      }),
      GetAgent: grpcMethod({
        ...read,
        summary: 'Read an agent',
        request: Type.Object({ id: Name }),
        handle: async ({ identity, request }) =>
          one(identity, await definitions.get(agentCaller(identity), request.id)),
      }),
      ListAgents: grpcMethod({
        ...read,
        summary: 'List the agents: the tenant’s own, newest first, then those of agents.d by name',
        request: Type.Object(listRequest),
        handle: async ({ identity, request }) => {
          const texts = ({ name, description }: AgentDetail) => [name, description];
          const all = await definitions.list(agentCaller(identity));
          const { shown: page, ...end } = pageOfAll(request, all, texts);
          return message({ agents: await shown(identity, page), ...end });
        },
      }),
      UpdateAgent: grpcMethod({
        ...write,
        summary: 'Change an agent; runs under way keep the definition that they began with',
        request: Type.Object({
          id: Name,
          description: Type.Optional(Type.String()),
          configuration: Type.Optional(Configuration),
        }),
        handle: async (call) => {
          const { identity, request } = call;
          const { id, description, configuration: spec } = request;
          const change = (yaml: string) => changedYaml(yaml, { description, spec });
          const agent = await definitions.update(agentCaller(identity), id, change, inFields);
          call.audit({ changes: { agent: id, source: agent.source } });
          return one(identity, agent);
        },
      }),
      DeleteAgent: grpcMethod({
        ...write,
        summary: 'Delete an agent that no other agent hands work over to',
        request: Type.Object({ id: Name }),
        handle: async (call) => {
          const { identity, request } = call;
          await definitions.remove(agentCaller(identity), request.id);
          call.audit({ changes: { agent: request.id, deleted: true } });
          return {};
        },
      }),
      LoadAgentFromYAML: grpcMethod({
        ...write,
        summary: 'Make or replace an agent by its document',
        request: Type.Object({ yaml: Type.String({ minLength: 1, maxLength: MAX_DEFINITION }) }),
        handle: async (call) => {
          const { identity, request } = call;
          const agent = await definitions.load(agentCaller(identity), request.yaml, byLine);
          call.audit({ changes: { agent: agent.name, source: agent.source } });
          return one(identity, agent);
        },
      }),
    },
  });
}

function timeOf(milliseconds: number | undefined): Date | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds);
}

/**
 * A problem of a document that was made of fields, at the field from which it comes; without a line, which the caller
 * does not know. Pure.
 */
function inFields({ pointer, message }: FieldError): FieldError {
  const field = pointer.replace(/^\/metadata/, '/body').replace(/^\/spec/, '/body/configuration');
  return { pointer: field || '/body/configuration', message };
}

/** A problem of a document that was sent as text. Pure. */
function byLine({ line, pointer, message }: FieldError): FieldError {
  const place = [line === undefined ? '' : `line ${line}:`, pointer, message];
  return { pointer: '/body/yaml', message: place.filter((part) => part !== '').join(' ') };
}
