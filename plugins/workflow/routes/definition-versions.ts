import { access, pageOf, type Route, reply, route } from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { Definitions } from '../services/definitions/definitions.ts';
import {
  expectedRevision,
  IdParams,
  IfMatch,
  PageParams,
  VersionList,
  VersionParams,
  VersionSchema,
} from './definition-schemas.ts';
import { callerOf } from './definitions.ts';

/** Versions of one answer: each may be as large as a body. */
const MAX_PAGE = 100;
const PATH = '/v1/workflow-definitions/{id}';
const NUMBER = /^[1-9]\d{0,8}$/;

const tag = 'workflow-definitions';
const readers = { tag, access: access.role('user', { scopes: ['workflow:read', 'read'] }) } as const;

/** Publishing, and what was published (specification 2, Versioning; decisions 2.3, 2.7). */
export function definitionVersionRoutes(definitions: Definitions): readonly Route[] {
  return [
    route({
      tag,
      access: access.role('user', { scopes: ['workflow:publish', 'write'] }),
      method: 'POST',
      path: `${PATH}/publish`,
      summary: 'Make an immutable version of the draft; runs start from it from now on',
      schema: { params: IdParams, headers: IfMatch, responses: { 201: VersionSchema } },
      handle: async (call) => {
        const expected = expectedRevision(call.headers['if-match']);
        const published = await definitions.publish(callerOf(call), call.params.id, expected);
        const { definition_id, id: version_id, version } = published;
        call.audit({ changes: { definition_id, version_id, version } });
        return reply.created(published);
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/versions`,
      summary: 'List the versions of a workflow definition, newest first',
      schema: { params: IdParams, query: PageParams, responses: { 200: VersionList } },
      handle: async (call) => {
        const page = pageOf(call.query, MAX_PAGE);
        return { ...(await definitions.versions(callerOf(call), call.params.id, page)), ...page };
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/versions/{version}`,
      summary: 'Read one version of a workflow definition by its number',
      schema: { params: VersionParams, responses: { 200: VersionSchema } },
      handle: (call) => {
        const { id, version } = call.params;
        if (!NUMBER.test(version)) throw WorkflowErrors.versionNotFound();
        return definitions.version(callerOf(call), id, Number(version));
      },
    }),
  ];
}
