import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { warnOfMissing } from '../../../foundation/config/missing-paths.ts';
import { temporaryFolder } from '../../support/gateway-process.ts';

function warned(env: Readonly<Record<string, string>>): readonly string[] {
  const lines: string[] = [];
  warnOfMissing(env, { warn: (line: string) => void lines.push(line) } as never);
  return lines;
}

test('a variable that names what is not there is a warning with the path, and its default is none', async (t) => {
  const folder = await temporaryFolder(t);
  const [file, agents] = [path.join(folder, 'gateway.yaml'), path.join(folder, 'agents')];
  const named = { SVC_CONFIG: file, SVC_AGENTS_DIR: agents };
  t.deepEqual(warned(named), [
    `SVC_CONFIG names ${file}, which is not there: all plugins have their defaults until it is`,
    `SVC_AGENTS_DIR names ${agents}, which is not there: there are no resources until it is`,
  ]);
  t.deepEqual(warned({ SVC_CONFIG: '', SVC_DATA_DIR: folder }), []);
  t.deepEqual(warned({ SVC_CONFIG: file, SVC_DATA_DIR: folder }), [], 'the administration makes it there');
  await writeFile(file, '');
  await mkdir(agents);
  t.deepEqual(warned(named), []);
});
