import { access, type KernelServices, type Route, route } from 'agent-gateway';
import Type from 'typebox';

/** The description of the routes that are live now, for every credential (specification 1, OpenAPI; decisions 0.6). */
export function openApiRoute({ openapi }: Pick<KernelServices, 'openapi'>): Route {
  return route({
    method: 'GET',
    path: '/v1/openapi',
    access: access.authenticated(),
    summary: 'The OpenAPI 3.0 document of this gateway',
    tag: 'openapi',
    schema: { responses: { 200: Type.Object({ openapi: Type.Literal('3.0.3') }) } },
    handle: () => openapi(),
  });
}
