import { type NodeType, StepFailure } from 'agent-gateway/contracts/workflow';
import Type from 'typebox';

/** `type: textkit/shorten` in a workflow: the first characters of a text. */
export const shortenNode: NodeType = {
  type: 'textkit/shorten',
  summary: 'Cuts a text to a length.',
  config: Type.Object(
    { text: Type.String(), length: Type.Integer({ minimum: 1, maximum: 10_000 }) },
    { additionalProperties: false },
  ),
  execute: async ({ input }) => {
    const { text, length } = input as { readonly text: string; readonly length: number };
    if (text === '') throw new StepFailure('empty', 'The text to shorten is empty', { isRetryable: false });
    return { output: { text: text.slice(0, length) } };
  },
};
