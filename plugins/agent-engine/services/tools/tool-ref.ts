import type { Tool, ToolSource } from '../../contract.ts';

/** How a tool is named in YAML; see `TOOL_REF_FORMS`. */
const FORMS = [
  /^builtin\/[A-Za-z0-9_-]{1,64}$/,
  /^mcp:\/\/[A-Za-z0-9._-]{1,64}\/(?:\*|[^\s*]{1,128})$/,
  /^skill:\/\/[A-Za-z0-9._-]{1,64}$/,
  /^plugin\/[A-Za-z0-9._-]{1,64}\/[A-Za-z0-9_-]{1,64}$/,
];

/** True for text that is the name of a tool, or, with a `*` at its end, of all tools of an MCP server. */
export function isToolRef(text: string): boolean {
  return FORMS.some((form) => form.test(text));
}

/** Does the tool have the name, or one that the `*` stands for? */
export function matchesRef(tool: Pick<Tool, 'ref'>, ref: string): boolean {
  return ref.endsWith('/*') ? tool.ref.startsWith(ref.slice(0, -1)) : tool.ref === ref;
}

/** May the source have the tools of the name? */
export function mayHold(source: Pick<ToolSource, 'prefix'>, ref: string): boolean {
  const fixed = ref.endsWith('*') ? ref.slice(0, -1) : ref;
  return fixed.startsWith(source.prefix) || source.prefix.startsWith(fixed);
}
