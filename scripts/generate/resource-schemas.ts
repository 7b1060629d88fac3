import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { KindDeclaration } from '../../foundation/resources/kind.ts';
import { kindJsonSchema, resourceJsonSchema } from '../../foundation/resources/kind-schema.ts';
import type { GeneratedFile } from './generated-file.ts';

/** The kinds that plugins of a folder declare, by name: what the files in their `kinds/` folders export. */
export async function loadBundledKinds(plugins: string): Promise<KindDeclaration[]> {
  const kinds = new Map<string, KindDeclaration>();
  for (const plugin of (await readdir(plugins)).sort()) {
    const folder = path.join(plugins, plugin, 'kinds');
    if (!existsSync(folder)) continue;
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.ts')).sort()) {
      const module: object = await import(pathToFileURL(path.join(folder, file)).href);
      for (const kind of Object.values(module).filter(isKind)) kinds.set(kind.kind, kind);
    }
  }
  return [...kinds.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1));
}

/**
 * A JSON Schema for each kind (`schemas/model.schema.json`), and one for files of several
 * (`schemas/resource.schema.json`).
 */
export function resourceSchemaFiles(kinds: readonly KindDeclaration[]): readonly GeneratedFile[] {
  return [
    ...kinds.map((kind) => schemaFile(kebab(kind.kind), kindJsonSchema(kind))),
    schemaFile('resource', resourceJsonSchema(kinds)),
  ];
}

function schemaFile(name: string, schema: object): GeneratedFile {
  return { path: `schemas/${name}.schema.json`, render: () => `${JSON.stringify(schema, null, 2)}\n` };
}

function kebab(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
}

function isKind(value: unknown): value is KindDeclaration {
  const { kind, summary, spec } = (value ?? {}) as Partial<KindDeclaration>;
  return typeof kind === 'string' && typeof summary === 'string' && typeof spec === 'object';
}
