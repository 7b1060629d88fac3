import {
  AnyId,
  type FieldError,
  Id,
  ifMatchHeader,
  listOf,
  pageQuery,
  requireSound,
  searchQuery,
  Timestamp,
  Type,
  type UnreadBody,
} from 'agent-gateway';
import type { Static } from 'typebox';
import type { DefinitionChanges, WrittenDefinition } from '../services/definitions/create-definitions.ts';
import { GraphInput, GraphSchema } from '../services/graph/graph-schema.ts';

const Name = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]+$',
  patternErrorMessage: 'must not be blank, and not hold control characters',
  description: 'For people, without control characters; several definitions may have the same',
  examples: ['discount'],
});
const Description = Type.String({
  maxLength: 2_000,
  // Databases refuse NUL and half a surrogate pair.
  pattern: '^[^\\u0000\\p{Cs}]*$',
  patternErrorMessage: 'must not hold the character U+0000, or half of a surrogate pair',
  description: 'For people; it may have several lines',
  examples: ['Discounts that somebody approves'],
});

/** The `{id}` of a path. A text that cannot be an id is answered as unknown (404), not as malformed. */
export const IdParams = Type.Object({
  id: Type.String({ description: 'Id of a definition, or the name of a workflow of agents.d' }),
});

/** The `{id}` and `{version}` of a path. */
export const VersionParams = Type.Object({
  ...IdParams.properties,
  version: Type.String({ description: 'Number of the version, from 1' }),
});

/** Which part of a list is asked for. */
export const PageParams = pageQuery({ defaultLimit: 50 });

/** Which definitions are asked for. */
export const DefinitionQuery = Type.Object({ ...PageParams.properties, ...searchQuery('name', 'id') });

/** The header that keeps a change from overwriting another caller's. */
export const IfMatch = ifMatchHeader('the revision of the definition');

/** The header with the revision of a definition of the API. */
export const Revision = Type.Object({
  etag: Type.Optional(
    Type.String({ description: 'The revision, for `If-Match`; not of workflows of agents.d' }),
  ),
});

/** A definition on the wire (decisions 2.3). */
export const DefinitionSchema = Type.Object({
  id: Type.String({ ...AnyId, description: 'Of a workflow of agents.d its name' }),
  name: Type.String({ examples: ['discount'] }),
  description: Type.String({ examples: ['Discounts that somebody approves'] }),
  status: Type.Enum(['draft', 'published', 'archived'], {
    description:
      'draft: never published. published: its newest version starts runs. archived: nothing starts any more',
  }),
  graph: GraphSchema,
  latest_version: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description:
      'The version that runs start from; null for a draft, and for a file, whose versions follow its content',
  }),
  revision: Type.Integer({ description: 'Grows with each change; for If-Match', examples: [1] }),
  created_by: AnyId,
  created_at: Timestamp,
  updated_at: Timestamp,
  source: Type.Enum(['api', 'file'], { description: 'file: of agents.d, which only the deployment changes' }),
});

/**
 * The read-only members of a definition. A client may send back a record that it read: these members are accepted and
 * ignored.
 */
const ReadOnly: Record<never, never> = Object.fromEntries(
  Object.entries(DefinitionSchema.properties)
    .filter(([name]) => !['name', 'description', 'graph'].includes(name))
    .map(([name, schema]) => {
      const documentedAs = { ...schema, readOnly: true, description: 'Changes nothing' };
      return [name, Type.Optional(Type.Unsafe({ documentedAs }))];
    }),
);

/** The body that makes a definition (specification 2, Endpoints). */
export const CreateDefinition = Type.Object(
  { name: Name, description: Type.Optional(Description), graph: GraphInput, ...ReadOnly },
  { additionalProperties: false },
);

/** The body that changes a definition: what is absent stays as it is. */
export const UpdateDefinition = Type.Object(
  {
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    graph: Type.Optional(GraphInput),
    ...ReadOnly,
  },
  { additionalProperties: false, examples: [{ description: 'Discounts that somebody approves' }] },
);

/** A page of definitions. */
export const DefinitionList = listOf('workflow_definitions', DefinitionSchema);

/** A version on the wire (decisions 2.3). */
export const VersionSchema = Type.Object({
  id: Id,
  definition_id: Id,
  version: Type.Integer({ description: 'From 1, without gaps', examples: [1] }),
  graph: GraphSchema,
  published_by: AnyId,
  published_at: Timestamp,
});

/** A page of versions. */
export const VersionList = listOf('versions', VersionSchema);

/** The content of a new definition, from a body. */
export function toContent(body: Static<typeof CreateDefinition>): WrittenDefinition {
  return { name: body.name, description: body.description ?? '', graph: body.graph };
}

/** What a body changes. Throws `request.invalid` for one that changes nothing. */
export function toChanges(body: Static<typeof UpdateDefinition>): DefinitionChanges {
  requireSound(changeProblems(body));
  const { name, description, graph } = body;
  return { name, description, graph };
}

/** What no schema says of a change: read-only members change nothing. A member that is not known was meant to. */
export function changeProblems(body: UnreadBody): readonly FieldError[] {
  if (Object.keys(body).some((name) => !Object.hasOwn(ReadOnly, name))) return [];
  return [{ pointer: '/body', message: 'must have at least one of name, description, graph' }];
}
