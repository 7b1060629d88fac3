import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import pages from '../../../plugins/pages/plugin.ts';
import { startTestGateway, type TestGateway } from '../../../testing/index.ts';

/** An answer as it came: nothing is decompressed, no path made regular. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Buffer;
}

/** A gateway with pages. */
export interface Site {
  readonly gateway: TestGateway;
  /** Holds the site `www`, and what lies beside it. */
  readonly folder: string;
  /** Writes a file of the site, with the time of the start, or so many seconds before. */
  save(name: string, content: string | Buffer, seconds?: number): Promise<string>;
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<RawAnswer>;
}

/** Starts a gateway with nothing but the plugin, whose folder holds these files. */
export async function startSite(
  t: ExecutionContext,
  files: Readonly<Record<string, string | Buffer>>,
  env: Readonly<Record<string, string>> = {},
): Promise<Site> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pages-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const root = path.join(folder, 'www');
  const began = Math.floor(Date.now() / 1000);
  const save: Site['save'] = async (name, content, seconds = 0) => {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    const at = began - seconds;
    await utimes(file, at, at);
    return file;
  };
  await mkdir(root);
  for (const [name, content] of Object.entries(files)) await save(name, content, 60);
  const gateway = await startTestGateway({ plugins: [pages], env: { SAAS_STATIC_DIR: root, ...env } });
  t.teardown(gateway.stop);
  return {
    gateway,
    folder,
    save,
    get: (where, headers = {}, method = 'GET') => exchange(`${gateway.url}`, where, headers, method),
  };
}

function exchange(
  url: string,
  where: string,
  headers: Readonly<Record<string, string>>,
  method: string,
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const { hostname, port } = new URL(url);
  request({ hostname, port, path: where, method, headers, agent: false }, (response) => {
    buffer(response).then(
      (bytes) =>
        resolve({
          status: response.statusCode!,
          headers: response.headers as Readonly<Record<string, string | undefined>>,
          bytes,
        }),
      reject,
    );
  })
    .on('error', reject)
    .end();
  return promise;
}
