import ts from 'typescript';
import type { ErrorDefinition } from '../../../foundation/base/gateway-error.ts';
import type { DocumentedName, ReferencePage } from './contract.ts';
import { type Declared, keyOf } from './declaration-index.ts';
import { type Docblock, docblockOf } from './docblock.ts';
import { memberList, membersOf, tagText } from './members.ts';
import { declarationText, headOf } from './signature.ts';

const MADE = '<!-- Made of the docblocks by `npm run generate`. -->';

/** What the renderer of a page needs to know of the other pages. */
export interface ReferenceLinks {
  /** `http.md#route` as seen from a page; undefined for a name that is on no page. */
  to(declared: Declared, from: ReferencePage): string | undefined;
  /** The names that a declaration mentions. */
  mentions(declared: Declared): readonly Declared[];
  /** The errors of a catalogue, by their names; undefined for anything else. */
  catalogue(declared: Declared): ReadonlyMap<string, ErrorDefinition> | undefined;
}

/** The first page: what is where. */
export function renderIndex(pages: readonly ReferencePage[], links: ReferenceLinks): string {
  const items = pages.map((page) => {
    const names = page.exported.map((name) => `[${name.name}](${page.name}.md${links.to(name, page)})`);
    return `**[${page.title}](${page.name}.md)**\n\n${names.join(' · ')}`;
  });
  return `${[INDEX, ...items].join('\n\n')}\n`;
}

const INDEX = `# Reference of the plugin contract

${MADE}

Every name that a plugin can import from \`agent-gateway\`, \`agent-gateway/testing\` and the contracts of the bundled plugins, by subject, with what the docblocks of the source say.
The [guide](../plugins.md) says how they work together, the [cookbook](../cookbook.md) has whole plugins.

Properties are read-only unless a text says otherwise; the signatures leave \`readonly\` out. What an \`…Errors\` has are functions that make the error:
\`throw TenantErrors.notFound()\`. Durations are milliseconds unless the name says another unit.`;

/** A page of the reference as Markdown. */
export function renderPage(page: ReferencePage, links: ReferenceLinks): string {
  const sections = page.exported.map((name) => section(name, page, links));
  if (page.mentioned.length > 0) {
    sections.push(
      '## Mentioned above',
      'Types without a name to import: they come with what mentions them.',
      ...page.mentioned.map((name) => section(name, page, links, '###')),
    );
  }
  return `${[
    `# ${page.title}`,
    MADE,
    `Import from \`${page.entry}\`. [All names](README.md), [the guide](../plugins.md).`,
    ...borrowed(page, links),
    ...sections,
  ].join('\n\n')}\n`;
}

function borrowed(page: ReferencePage, links: ReferenceLinks): readonly string[] {
  if (page.borrowed.length === 0) return [];
  return [`Also exported here: ${page.borrowed.map((name) => link(name, page, links)).join(', ')}.`];
}

function section(name: DocumentedName, page: ReferencePage, links: ReferenceLinks, mark = '##'): string {
  const docblocks = name.statements.map(docblockOf).filter((docblock) => docblock !== undefined);
  const catalogue = links.catalogue(name);
  return [
    `${mark} ${name.name}`,
    ...docblocks.map(({ text }) => text),
    ...(catalogue === undefined ? name.statements.map(declaration) : [errorList(catalogue)]),
    ...docblocks.flatMap(details),
    `<sub>${[`[${name.file}](../../${name.file})`, ...mentions(name, page, links)].join(' · ')}</sub>`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function declaration(statement: ts.Statement): string {
  const members = membersOf(statement);
  if (members === undefined || members.length === 0) return fence(declarationText(statement));
  const list = memberList(members);
  if (!ts.isInterfaceDeclaration(statement) && !ts.isClassDeclaration(statement)) return list;
  return `\`${headOf(statement)}\`\n\n${list}`;
}

function details({ parameters, tags }: Docblock): readonly string[] {
  const named = [...parameters].map(([name, text]) => `- \`${name}\`: ${text}`).join('\n');
  return [named, ...tags.map((tag) => (tag.tag === 'example' ? fence(tag.text) : tagText(tag)))];
}

function errorList(catalogue: ReadonlyMap<string, ErrorDefinition>): string {
  const rows = [...catalogue].map(
    ([name, { code, kind, title }]) => `| \`${name}\` | \`${code}\` | ${kind} | ${title} |`,
  );
  return ['| Error | Code | Kind | Title |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function mentions(name: DocumentedName, page: ReferencePage, links: ReferenceLinks): readonly string[] {
  const linked = links.mentions(name).filter((declared) => links.to(declared, page) !== undefined);
  return linked.map((declared) => link(declared, page, links));
}

function link(declared: Declared, page: ReferencePage, links: ReferenceLinks): string {
  const target = links.to(declared, page);
  if (target === undefined) throw new Error(`${keyOf(declared)} is on no page`);
  return `[${declared.name}](${target})`;
}

function fence(code: string): string {
  return `\`\`\`ts\n${code}\n\`\`\``;
}
