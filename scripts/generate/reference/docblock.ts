import ts from 'typescript';

/** What a docblock says, as Markdown. */
export interface Docblock {
  /** The text before the first tag; empty where there is none. */
  readonly text: string;
  /** By the name of the parameter. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Everything else, in its order: `throws`, `returns`, `example`, `deprecated`. */
  readonly tags: readonly { readonly tag: string; readonly text: string }[];
}

/** The last docblock before a declaration or a member: of several, the others belong to the file. */
export function docblockOf(node: ts.Node): Docblock | undefined {
  const block = ts
    .getJSDocCommentsAndTags(node)
    .filter((comment) => ts.isJSDoc(comment))
    .at(-1);
  if (block === undefined) return undefined;
  const parameters = new Map<string, string>();
  const tags: { tag: string; text: string }[] = [];
  for (const tag of block.tags ?? []) {
    if (ts.isJSDocParameterTag(tag)) parameters.set(tag.name.getText(), proseOf(tag.comment));
    else if (ts.isJSDocThrowsTag(tag))
      tags.push({ tag: 'throws', text: `${thrown(tag)}${proseOf(tag.comment)}` });
    else if (tag.tagName.text === 'example') tags.push({ tag: 'example', text: codeOf(tag) });
    else tags.push({ tag: tag.tagName.text, text: proseOf(tag.comment) });
  }
  return { text: proseOf(block.comment), parameters, tags };
}

/** The type that `@throws {RangeError} …` names, which is not part of the comment's text. */
function thrown(tag: ts.JSDocThrowsTag): string {
  return tag.typeExpression === undefined ? '' : `\`${tag.typeExpression.type.getText()}\` `;
}

function proseOf(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  const text = ts.getTextOfJSDocComment(comment) ?? '';
  return escapeProse(text.replace(SOURCES, '').trim().replace(/^- /, ''));
}

/** The source of a rule matters only to those who change the rule. */
const SOURCES = /\s\((?:specification|decisions|DESIGN)\b[^)]*\)/g;

/** An example is code, line by line as it is written; TypeScript's own parser drops lines that look like a tag. */
function codeOf(tag: ts.JSDocTag): string {
  return tag
    .getText()
    .replace(/^@example\s+(?:\* )?/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*(?: |$)/, ''))
    .join('\n')
    .replace(/\s*\*?\/?\s*$/, '');
}

/** Outside of code, `<plugin>` would be taken for HTML. */
function escapeProse(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part))
    .join('');
}
