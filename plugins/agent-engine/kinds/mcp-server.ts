import { McpServerSpec } from '../contract.ts';

/** The kind McpServer, as far as editors need to know it. */
export const McpServerKind = {
  kind: 'McpServer',
  summary: 'A server of tools that speaks the Model Context Protocol',
  spec: McpServerSpec,
} as const;
