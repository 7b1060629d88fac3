import type { Database } from 'agent-gateway';
import type { Memories } from '../../../records/contract.ts';
import type { Guard, Tool, ToolContext } from '../../contract.ts';
import { builtinTool } from './builtin-tool.ts';

/** Memories that one search shows a model. */
const MAX_SHOWN = 20;

/**
 * The tools with which a model remembers: for the user that it works for, and nothing is stored without a call
 * (decisions 1.7).
 */
export function memoryTools(parts: {
  readonly memories: Memories;
  readonly database: Pick<Database, 'forTenant'>;
  readonly guard: Pick<Guard, 'redact'>;
}): readonly Tool[] {
  const { memories, database, guard } = parts;
  const entitiesOf = ({ principal }: ToolContext) => database.forTenant(principal.tenantId);

  return [
    builtinTool({
      name: 'memory_save',
      description:
        'Remembers something about the user for all later conversations: a preference, a fact, a decision. Call it when the user asks ' +
        'to remember something. The same key writes over the old value. Never save passwords or other secrets. Returns the key.',
      properties: {
        key: {
          type: 'string',
          minLength: 1,
          maxLength: 128,
          description: 'Short stable name, such as "preferred-language". Without it a new one is made.',
        },
        value: {
          type: 'string',
          minLength: 1,
          maxLength: 8192,
          description: 'What to remember, as a sentence that stands by itself.',
        },
      },
      required: ['value'],
      async invoke({ key, value }, context) {
        const memory = { key: textOf(key), value: guard.redact(textOf(value) ?? '') };
        const saved = await memories.save(entitiesOf(context), context.principal.userId, memory);
        return { content: JSON.stringify({ saved: saved.key }) };
      },
    }),
    builtinTool({
      name: 'memory_search',
      description:
        'Finds what was remembered about the user in earlier conversations. Call it before asking the user something that he may have ' +
        'said before. Returns memories with key, value and score (0 to 1), best first; an empty list when nothing fits.',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: 2000,
          description: 'What to look for, in words.',
        },
        limit: { type: 'integer', minimum: 1, maximum: MAX_SHOWN, default: 5 },
      },
      required: ['query'],
      async invoke({ query, limit }, context) {
        const most = typeof limit === 'number' ? Math.min(limit, MAX_SHOWN) : 5;
        const { userId } = context.principal;
        const found = await memories.search(entitiesOf(context), userId, textOf(query) ?? '', {
          limit: most,
        });
        const shown = found.map(({ key, value, score }) => ({
          key,
          value,
          score: Math.round(score * 100) / 100,
        }));
        return { content: JSON.stringify({ memories: shown }) };
      },
    }),
    builtinTool({
      name: 'memory_forget',
      description:
        'Deletes one memory of the user. Call it when the user asks to forget something, or when a memory has become wrong.',
      properties: {
        key: {
          type: 'string',
          minLength: 1,
          maxLength: 128,
          description: 'The key, as memory_search shows it.',
        },
      },
      required: ['key'],
      async invoke({ key }, context) {
        const name = textOf(key) ?? '';
        const isGone = await memories.forget(entitiesOf(context), context.principal.userId, name);
        if (isGone) return { content: JSON.stringify({ forgotten: name }) };
        return { content: 'There is no memory with this key. memory_search shows the keys.', isError: true };
      },
    }),
  ];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
