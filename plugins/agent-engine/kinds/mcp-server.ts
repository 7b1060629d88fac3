import { REFERENCE_FORMS, REFERENCE_PATTERN, Type } from 'agent-gateway';
import type { Static } from 'typebox';

const Reference = Type.String({
  maxLength: 1_000,
  pattern: REFERENCE_PATTERN,
  patternErrorMessage: `must be ${REFERENCE_FORMS}, which say where the value is; the value itself does not belong here`,
});

/** `spec` of the kind McpServer. */
export const McpServerSpec = Type.Object(
  {
    transport: Type.Enum(['http', 'sse', 'stdio'], {
      description:
        '`http`: Streamable HTTP. `sse`: the older HTTP transport. `stdio`: a program on this machine, which SVC_MCP_STDIO_ALLOW has to list',
    }),
    url: Type.Optional(
      Type.String({
        maxLength: 2_000,
        pattern: '^https?://',
        patternErrorMessage: 'must be an http:// or https:// URL',
        description: 'Where the server answers; for `http` and `sse`',
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' }), Reference, {
        maxProperties: 20,
        description: 'Headers of each request, as references: `authorization: env:SEARCH_TOKEN`',
      }),
    ),
    command: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_000, description: 'The program; for `stdio`' }),
    ),
    args: Type.Optional(Type.Array(Type.String({ maxLength: 4_000 }), { maxItems: 100 })),
    env: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' }), Reference, {
        maxProperties: 50,
        description: 'All that the program finds in its environment beside PATH, as references',
      }),
    ),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 600,
        description: 'Seconds that one call of a tool may take; default 60',
      }),
    ),
  },
  { description: 'An MCP server; agents name its tools `mcp://<metadata.name>/<tool>`' },
);

/** A checked `spec` of the kind McpServer. */
export type McpServerSpec = Static<typeof McpServerSpec>;

/** The kind McpServer, as far as editors need to know it. */
export const McpServerKind = {
  kind: 'McpServer',
  summary: 'A server of tools that speaks the Model Context Protocol',
  spec: McpServerSpec,
} as const;
