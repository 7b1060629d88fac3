import Type from 'typebox';

/** The content type of Markdown that is answered. */
export const MARKDOWN = 'text/markdown; charset=utf-8';

/** Markdown in a body: `text/plain`, `text/markdown`, or another text. */
export const MarkdownBody = Type.String({ description: 'Markdown, as UTF-8' });

/** Markdown in an answer. */
export const MarkdownText = Type.String({ description: 'Markdown' });
