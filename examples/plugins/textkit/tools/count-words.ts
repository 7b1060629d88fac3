import type { ToolSource } from 'agent-gateway/contracts/agent-engine';

/** The tools that agents are offered. The schema of the arguments is checked before `invoke`. */
export const tools: ToolSource = {
  prefix: 'plugin/textkit/',
  list: () => [
    {
      ref: 'plugin/textkit/count_words',
      name: 'textkit_count_words',
      description: 'Counts the words of a text and returns the number.',
      parameters: {
        type: 'object',
        properties: { text: { type: 'string', maxLength: 100_000 } },
        required: ['text'],
      },
      invoke: async ({ text }) => ({ content: String(String(text).split(/\s+/).filter(Boolean).length) }),
    },
  ],
};
