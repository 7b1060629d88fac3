import { type Reply, reply, Type } from 'agent-gateway';

/** The name of a record for people: 1 to 200 characters, not all blank, no control characters. */
export const Name = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]+$',
  patternErrorMessage: 'must not be blank, and not hold control characters',
  description: 'Without control characters',
  examples: ['Acme'],
});

/** The content type of Markdown that is answered. */
export const MARKDOWN = 'text/markdown; charset=utf-8';

/** Markdown in a body: `text/plain`, `text/markdown`, or another text. */
export const MarkdownBody = Type.String({
  description: 'Markdown, as UTF-8',
  examples: ['Likes green tea.'],
});

/** Markdown in an answer. */
export const MarkdownText = Type.String({ description: 'Markdown', examples: ['Likes green tea.'] });

/** Answers 204 once the work is done. */
export async function done(work: Promise<unknown>): Promise<Reply> {
  await work;
  return reply.empty();
}
