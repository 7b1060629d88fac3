import type { Tool } from '../../../contract.ts';

/** The tool `ask_user`: the run pauses until a person has answered. */
export const askUser: Tool = {
  ref: 'builtin/ask_user',
  name: 'ask_user',
  description:
    'Asks the user one question and waits for the answer. Use it only when you cannot go on without what the user alone knows or decides. Returns JSON with the member answer.',
  parameters: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 2_000, description: 'One clear question' },
      options: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 200 },
        ...{ minItems: 2, maxItems: 20, uniqueItems: true },
        description: 'Answers to choose from; without them the user answers in his own words',
      },
    },
    required: ['question'],
    additionalProperties: false,
  },
  timeoutMs: 5_000,
  async invoke({ question, options }) {
    const common = { name: 'answer', label: String(question), required: true } as const;
    const field = Array.isArray(options)
      ? { ...common, type: 'select' as const, options: options.map(String) }
      : { ...common, type: 'text' as const };
    return { question: { reason: String(question), fields: [field] } };
  },
};
