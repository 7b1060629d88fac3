import { access, type Route, route, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { ModelErrors, type ModelInfo, type Models } from '../../agent-engine/contract.ts';

const Model = Type.Object({
  id: Type.String({ description: 'The alias to ask for', examples: ['default'] }),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix time in seconds', examples: [1_795_459_262] }),
  owned_by: Type.String({ examples: ['agent-gateway'] }),
});
const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) });

// Callers that may chat may list the models.
const common = {
  access: access.role('user', { scopes: ['read', 'execute'] }),
  errors: 'openai',
  tag: 'chat',
} as const;

/** The model aliases in OpenAI's form (decisions 1.6). */
export function modelRoutes(models: Models): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/models',
      summary: 'List the models',
      schema: { responses: { 200: ModelList } },
      handle: () => ({ object: 'list', data: models.list().map(toModel) }),
    }),
    route({
      ...common,
      method: 'GET',
      // The whole rest of the path: aliases may contain slashes, which not every client encodes.
      path: '/v1/models/{id*}',
      summary: 'Read a model',
      schema: { params: Type.Object({ id: Type.String() }), responses: { 200: Model } },
      handle: ({ params }) => {
        const info = models.list().find(({ id }) => id === params.id);
        if (info === undefined) throw ModelErrors.notFound(undefined, { param: 'model' });
        return toModel(info);
      },
    }),
  ];
}

function toModel({ id, created, owned_by }: ModelInfo): Static<typeof Model> {
  return { id, object: 'model', created, owned_by };
}
