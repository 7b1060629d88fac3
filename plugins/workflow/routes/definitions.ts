import {
  access,
  type Call,
  expectsNumber,
  type FieldError,
  type GatewayError,
  hasAnyScope,
  isJsonObject,
  pageOf,
  type Route,
  refusing,
  reply,
  route,
  type UnreadBody,
  withExample,
} from 'agent-gateway';
import { WorkflowErrors } from '../contract/engine.ts';
import type { DefinitionCaller, Definitions } from '../services/definitions/create-definitions.ts';
import type { DefinitionRecord } from '../services/definitions/definition-record.ts';
import { graphInvalid } from '../services/definitions/require-valid.ts';
import { ownMember } from '../services/graph/json.ts';
import {
  CreateDefinition,
  changeProblems,
  DefinitionList,
  DefinitionQuery,
  DefinitionSchema,
  IdParams,
  IfMatch,
  PageParams,
  Revision,
  toChanges,
  toContent,
  UpdateDefinition,
  VersionList,
  VersionParams,
  VersionSchema,
} from './definition-schemas.ts';

/** Definitions, or versions, of one answer: each may be as large as a body. */
const MAX_PAGE = 100;
const PATH = '/v1/workflow-definitions';
const NUMBER = /^[1-9]\d{0,8}$/;

/** Scopes with which a caller may write definitions, and sees graphs as they were written. */
const WRITE: readonly string[] = ['workflow:write', 'write'];
const tag = 'workflow-definitions';
const readers = { tag, access: access.role('user', { scopes: ['workflow:read', 'read'] }) } as const;
const writers = { tag, access: access.role('user', { scopes: WRITE }) } as const;
const publishers = { tag, access: access.role('user', { scopes: ['workflow:publish', 'write'] }) } as const;

/**
 * Definitions of workflows, their states and versions (specification 2, Endpoints, Versioning; decisions 2.3, 2.4,
 * 2.7).
 */
export function definitionRoutes(definitions: Definitions): readonly Route[] {
  return [
    route({
      ...writers,
      method: 'POST',
      path: PATH,
      summary: 'Create a workflow definition, as a draft',
      schema: { body: CreateDefinition, responses: { 201: DefinitionSchema }, answerHeaders: Revision },
      refuse: refuseDefinition(definitions),
      handle: async (call) => {
        const record = await definitions.create(callerOf(call), toContent(call.body));
        auditChange(call, record);
        return reply.created(record, etagOf(record));
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: PATH,
      summary: 'List workflow definitions, newest first, and after them the workflows of agents.d',
      schema: { query: DefinitionQuery, responses: { 200: DefinitionList } },
      handle: async (call) => {
        const page = pageOf(call.query, MAX_PAGE);
        const found = await definitions.list(callerOf(call), page, call.query.q);
        return { workflow_definitions: found.definitions, total: found.total, ...page };
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/{id}`,
      summary: 'Read a workflow definition, or by its name a workflow of agents.d',
      description: 'Credentials in the graph are redacted for callers who may not write definitions.',
      schema: { params: IdParams, responses: { 200: DefinitionSchema }, answerHeaders: Revision },
      handle: async (call) => answer(await definitions.get(callerOf(call), call.params.id)),
    }),
    route({
      ...writers,
      method: 'PUT',
      path: `${PATH}/{id}`,
      summary: 'Change the draft of a workflow definition; absent fields stay as they are',
      description: 'Versions, and runs of them, stay as they are until the next publishing.',
      schema: {
        params: IdParams,
        headers: IfMatch,
        body: UpdateDefinition,
        responses: { 200: DefinitionSchema },
        answerHeaders: Revision,
      },
      refuse: refuseDefinition(definitions, changeProblems),
      handle: async (call) => {
        const { id } = call.params;
        const record = await definitions.update(callerOf(call), id, toChanges(call.body), expectedBy(call));
        auditChange(call, record);
        return answer(record);
      },
    }),
    route({
      ...writers,
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete a draft that was never published',
      schema: { params: IdParams, headers: IfMatch, responses: { 204: null } },
      handle: async (call) => {
        const { id } = call.params;
        await definitions.remove(callerOf(call), id, expectedBy(call));
        call.audit({ changes: { definition_id: id, deleted: true } });
        return reply.empty();
      },
    }),
    route({
      ...publishers,
      method: 'POST',
      path: `${PATH}/{id}/archive`,
      summary: 'Let no more runs start from a definition; runs go on',
      schema: {
        params: IdParams,
        headers: IfMatch,
        responses: {
          200: withExample(DefinitionSchema, { status: 'archived', latest_version: 1, revision: 3 }),
        },
        answerHeaders: Revision,
      },
      handle: async (call) => {
        const record = await definitions.archive(callerOf(call), call.params.id, expectedBy(call));
        auditChange(call, record);
        return answer(record);
      },
    }),
    route({
      ...publishers,
      method: 'POST',
      path: `${PATH}/{id}/publish`,
      summary: 'Make an immutable version of the draft; runs start from it from now on',
      schema: { params: IdParams, headers: IfMatch, responses: { 201: VersionSchema } },
      handle: async (call) => {
        const published = await definitions.publish(callerOf(call), call.params.id, expectedBy(call));
        const { definition_id, id: version_id, version } = published;
        call.audit({ changes: { definition_id, version_id, version } });
        return reply.created(published);
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: `${PATH}/{id}/versions`,
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
      path: `${PATH}/{id}/versions/{version}`,
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

/** The caller of a request. */
function callerOf({ identity, tenant }: Pick<Call, 'identity' | 'tenant'>): DefinitionCaller {
  return {
    tenantId: tenant.id,
    identityId: identity.id,
    isAuthor: hasAnyScope(identity.scopes, WRITE),
  };
}

function expectedBy(call: { readonly headers: { readonly 'if-match'?: string } }) {
  return (revision: number) => expectsNumber(call.headers['if-match'], revision);
}

/** Adds the result of a change to its audit record. */
function auditChange(call: Pick<Call, 'audit'>, { id, status, revision }: DefinitionRecord): void {
  call.audit({ changes: { definition_id: id, status, revision } });
}

function answer(record: DefinitionRecord) {
  return reply.json(200, record, etagOf(record));
}

/** Files have no ETag: each replica counts its own loads of a file, and the API does not change files. */
function etagOf({ source, revision }: DefinitionRecord): Record<string, string> {
  return source === 'api' ? { etag: `"${revision}"` } : {};
}

/**
 * The error for a body whose other members are refused: problems of its graph are listed too (decisions 2.4), as
 * `workflow.graph-invalid`. Where the graph is fine, or there is none, it is `request.invalid`.
 */
function refuseDefinition(
  { graphErrors }: Pick<Definitions, 'graphErrors'>,
  problemsOf: (body: UnreadBody) => readonly FieldError[] = () => [],
) {
  const refuse = refusing(problemsOf);
  return (errors: readonly FieldError[], body: unknown): GatewayError => {
    const graph = isJsonObject(body) ? ownMember(body, 'graph') : undefined;
    const broken = graph === undefined ? [] : graphErrors(graph);
    return broken.length === 0 ? refuse(errors, body) : graphInvalid(broken, errors);
  };
}
