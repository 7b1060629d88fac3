import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ErrorDefinition, ErrorFactory } from '../../foundation/base/gateway-error.ts';
import type { GeneratedFile } from './generated-file.ts';
import type { PublicContract, ReferencePage } from './reference/contract.ts';
import { type Declared, keyOf } from './reference/declaration-index.ts';
import { mentionsOf } from './reference/mentioned.ts';
import { type ReferenceLinks, renderIndex, renderPage } from './reference/render.ts';

/**
 * The reference of what plugins may import, as pages of docs/reference/: every exported name with its signature, its
 * docblock and those of its members.
 */
export function referenceFiles(contract: PublicContract, catalogues: Catalogues): readonly GeneratedFile[] {
  const links = linksOf(contract, catalogues);
  return [
    { path: 'docs/reference/README.md', render: () => renderIndex(contract.pages, links) },
    ...contract.pages.map((page) => ({
      path: `docs/reference/${page.name}.md`,
      render: () => renderPage(page, links),
    })),
  ];
}

/** Catalogues of errors, by their exported names. */
type Catalogues = ReadonlyMap<string, ReadonlyMap<string, ErrorDefinition>>;

/**
 * The catalogues of errors that the public modules export. The declarations have their names alone, so the modules are
 * imported.
 */
export async function loadErrorCatalogues(root: string, modules: Iterable<string>): Promise<Catalogues> {
  const catalogues = new Map<string, ReadonlyMap<string, ErrorDefinition>>();
  for (const file of modules) {
    const exported: object = await import(pathToFileURL(path.join(root, file)).href);
    for (const [name, value] of Object.entries(exported)) {
      if (isCatalogue(value))
        catalogues.set(
          name,
          new Map(Object.entries(value).map(([error, { definition }]) => [error, definition])),
        );
    }
  }
  return catalogues;
}

function isCatalogue(value: unknown): value is Readonly<Record<string, ErrorFactory>> {
  const entries = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return entries.length > 0 && entries.every((entry) => typeof entry === 'function' && 'definition' in entry);
}

function linksOf({ index, pages }: PublicContract, catalogues: Catalogues): ReferenceLinks {
  const anchors = new Map(pages.map((page) => [page, anchorsOf(page)]));
  return {
    // A type without a name to import is on each page that mentions it.
    to(declared, from) {
      const key = keyOf(declared);
      const page = anchors.get(from)?.has(key) ? from : pages.find((other) => anchors.get(other)?.has(key));
      const anchor = page && anchors.get(page)?.get(key);
      return anchor && `${page === from ? '' : `${page?.name}.md`}#${anchor}`;
    },
    mentions: (declared: Declared) => mentionsOf(index, declared),
    catalogue: ({ name }) => catalogues.get(name),
  };
}

/** The anchors of a page as GitHub makes them: lower case; of equal ones the second ends in `-1`. */
function anchorsOf(page: ReferencePage): ReadonlyMap<string, string> {
  const anchors = new Map<string, string>();
  const times = new Map<string, number>();
  const add = (text: string) => {
    const slug = text.toLowerCase();
    const time = times.get(slug) ?? 0;
    times.set(slug, time + 1);
    return time === 0 ? slug : `${slug}-${time}`;
  };
  for (const name of page.exported) anchors.set(keyOf(name), add(name.name));
  add('mentioned-above');
  for (const name of page.mentioned) anchors.set(keyOf(name), add(name.name));
  return anchors;
}
