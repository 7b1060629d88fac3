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
import { chatCallOf, ModelErrors, type ModelInfo, type Models } from '../../agent-engine/contract.ts';
import { isTenantAdmin } from '../../records/contract.ts';
import type { ModelDefinitions } from '../services/admin/model-definitions.ts';
import { ResourceName } from '../services/admin/resource-name.ts';
import type { ModelTests } from '../services/model-tests.ts';
import { listRequest, message, Name, pageOfAll } from './common.ts';

const read = { access: access.open(['read']), effect: 'read' } as const;

/** Members of a model's `spec` that have fields of their own. */
const OWN_FIELDS = ['provider', 'capabilities', 'context_length'] as const;

/** `svc.model.v1.ModelService`: the models of the deployment (specification 3; decisions 3.4). */
export function modelService(
  models: Pick<Models, 'list'>,
  definitions: ModelDefinitions,
  tests: ModelTests,
): GrpcService {
  function shown(caller: Identity, infos: readonly ModelInfo[]): readonly GrpcMessage[] {
    const isAll = isOperator(caller) && isTenantAdmin(caller);
    return infos.map(({ id, provider, model, capabilities = [], context_length = 0 }) => ({
      id,
      name: id,
      provider,
      capabilities,
      context_length,
      enabled: true,
      config: isAll ? { model, ...without(definitions.specOf(id), OWN_FIELDS) } : undefined,
    }));
  }

  function one(caller: Identity, id: string): GrpcMessage {
    const info = models.list().find((model) => model.id === id);
    if (info === undefined) throw ModelErrors.notFound();
    return message({ model: shown(caller, [info])[0] });
  }

  return grpcService({
    lazy: true,
    proto: new URL('../proto/svc/model/v1/model.proto', import.meta.url),
    service: 'svc.model.v1.ModelService',
    methods: {
      ListModels: grpcMethod({
        ...read,
        summary: 'List the models',
        request: Type.Object(listRequest),
        handle: ({ identity, request }) => {
          const texts = ({ id, provider }: ModelInfo) => [id, provider];
          const { shown: page, ...end } = pageOfAll(request, models.list(), texts);
          return message({ models: shown(identity, page), ...end });
        },
      }),
      GetModel: grpcMethod({
        ...read,
        summary: 'Read a model',
        request: Type.Object({ id: Name }),
        handle: ({ identity, request }) => one(identity, request.id),
      }),
      CreateModel: grpcMethod({
        access: access.role('admin'),
        summary: 'Make a model of agents.d',
        request: Type.Object({
          name: ResourceName,
          provider: Type.String({ minLength: 1 }),
          capabilities: Type.Array(Type.String()),
          config: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
          context_length: Type.Integer({ minimum: 0 }),
        }),
        handle: async (call) => {
          const { identity, request } = call;
          const { name, provider, capabilities, config = {}, context_length } = request;
          const spec = {
            ...config,
            provider,
            ...(capabilities.length > 0 && { capabilities }),
            ...(context_length > 0 && { context_length }),
          };
          await definitions.create(identity, { name, spec }, fieldOf);
          call.audit({ changes: { model: name } });
          return one(identity, name);
        },
      }),
      TestModel: grpcMethod({
        access: access.open(['execute']),
        effect: 'execute',
        summary: 'Ask a model something',
        request: Type.Object({ model_id: Name, prompt: Type.String({ maxLength: 10_000 }) }),
        handle: async (call) => {
          const { model_id, prompt } = call.request;
          return message({ ...(await tests.run(chatCallOf(call, undefined), model_id, prompt)) });
        },
      }),
    },
  });
}

function without(spec: Readonly<Record<string, unknown>> = {}, names: readonly string[]) {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !names.includes(name)));
}

/** The field of a request from which a place of a model's document comes. Pure. */
function fieldOf(pointer: string): string {
  const [, top, member = ''] = pointer.split('/');
  if (top === 'metadata') return pointer.replace('/metadata', '/body');
  const isOwn = (OWN_FIELDS as readonly string[]).includes(member);
  return pointer.replace('/spec', isOwn ? '/body' : '/body/config');
}
