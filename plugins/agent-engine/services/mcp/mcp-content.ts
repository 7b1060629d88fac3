import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolResult } from '../../contract.ts';

/** The result of an MCP tool as text for a model: its parts in order, what is no text as a note. Pure. */
export function mcpContent(result: CallToolResult): ToolResult {
  const { content = [], structuredContent, isError = false } = result;
  const text = content.map(partText).filter((part) => part !== '');
  if (text.length === 0 && structuredContent !== undefined) text.push(JSON.stringify(structuredContent));
  return { content: text.join('\n'), isError };
}

function partText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type} of type ${part.mimeType}, ${part.data.length} characters of base64, not shown]`;
    case 'resource_link':
      return `[${part.name}: ${part.uri}]`;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[binary resource ${part.resource.uri}]`;
    default:
      return '';
  }
}
