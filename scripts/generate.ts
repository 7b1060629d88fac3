/**
 * Writes the files that are made from the code. `node scripts/generate.ts` writes those that changed,
 * `node scripts/generate.ts --check` writes nothing and exits 1, naming each file that is not up to date. Both exit 1
 * for a public export without a docblock.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BUILTIN_FOLDER, readCatalog } from '../plugins/records/services/skills/skill-text.ts';
import { apiReportFiles } from './generate/api-report.ts';
import { loadBundledPlugins } from './generate/bundled-plugins.ts';
import { gatewaySchemaFile } from './generate/gateway-schema.ts';
import type { GeneratedFile } from './generate/generated-file.ts';
import { lockFile } from './generate/lockfile.ts';
import { publicDeclarations } from './generate/public-declarations.ts';
import { publicContract } from './generate/reference/contract.ts';
import { loadErrorCatalogues, referenceFiles } from './generate/reference.ts';
import { loadBundledKinds, resourceSchemaFiles } from './generate/resource-schemas.ts';
import { settingsTableFile } from './generate/settings-table.ts';
import { skillsTableFile } from './generate/skills-table.ts';

const root = path.dirname(import.meta.dirname);
const plugins = await loadBundledPlugins(path.join(root, 'plugins'));
const kinds = await loadBundledKinds(path.join(root, 'plugins'));
const declarations = publicDeclarations(root);
const contract = publicContract(declarations, root);
const catalogues = await loadErrorCatalogues(root, declarations.entries.values());
const files: readonly GeneratedFile[] = [
  gatewaySchemaFile(plugins),
  ...resourceSchemaFiles(kinds),
  settingsTableFile(plugins),
  skillsTableFile(readCatalog(BUILTIN_FOLDER)),
  lockFile,
  ...apiReportFiles(root, declarations),
  ...referenceFiles(contract, catalogues),
];

for (const problem of contract.problems) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}

const isCheck = process.argv.includes('--check');
for (const file of files) {
  const target = path.join(root, file.path);
  const current = await currentText(target);
  const wanted = file.render(current ?? '');
  if (current === wanted) continue;
  if (isCheck) {
    process.stderr.write(`${file.path} is not up to date: run npm run generate\n`);
    process.exitCode = 1;
  } else {
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, wanted);
    process.stdout.write(`${file.path} written\n`);
  }
}

async function currentText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
