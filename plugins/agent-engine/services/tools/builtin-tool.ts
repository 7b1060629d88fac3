import type { Tool } from '../../contract.ts';

/** What makes a built-in tool. */
interface BuiltinTool extends Omit<Tool, 'ref' | 'parameters'> {
  /** JSON Schemas of its arguments, by name; it takes no others. */
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** A tool that comes with the gateway: `builtin/<name>`. */
export function builtinTool({ properties, required, ...tool }: BuiltinTool): Tool {
  return {
    ref: `builtin/${tool.name}`,
    parameters: {
      type: 'object',
      properties,
      ...(required !== undefined && { required }),
      additionalProperties: false,
    },
    ...tool,
  };
}
