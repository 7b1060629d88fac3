import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import Docker from 'dockerode';

/** An image with sh, bash, coreutils, Python and Node of this machine, made once and kept. */
export const SANDBOX_IMAGE = 'svc-sandbox-test:1';

/**
 * True when a real Docker engine answers and has the test image, which is made of this machine's own files where it is
 * missing. Otherwise logs what is missing and lets the test pass as skipped, or, with `TRY_DOCKER=1`, fails it.
 */
export async function dockerAvailable(t: ExecutionContext): Promise<boolean> {
  known ??= prepare();
  const problem = await known;
  if (problem === undefined) return true;
  if (process.env.TRY_DOCKER === '1') t.fail(problem);
  else {
    t.log(`skipped: ${problem}`);
    t.pass();
  }
  return false;
}

/** True where the engine that answers is Podman's. */
export async function isPodman(): Promise<boolean> {
  const { Components } = await new Docker().version();
  return Components.some(({ Name }) => Name === 'Podman Engine');
}

let known: Promise<string | undefined> | undefined;

async function prepare(): Promise<string | undefined> {
  const docker = new Docker({ timeout: 20_000 });
  try {
    await docker.ping();
  } catch {
    return 'no Docker engine answers';
  }
  try {
    await docker.getImage(SANDBOX_IMAGE).inspect();
    return undefined;
  } catch {
    // It is made now.
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'sandbox-image-'));
  try {
    await promisify(execFile)('bash', ['-c', BUILD, 'build', folder, process.execPath, SANDBOX_IMAGE]);
    return undefined;
  } catch (error) {
    return `the test image cannot be made: ${error}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const BUILD = `
set -e
cd "$1"; chmod 755 .
mkdir -p usr/bin usr/lib lib64 proc dev etc sys
mkdir -m 1777 tmp
ln -s usr/bin bin; ln -s usr/lib lib
for name in bash sh base64 cat cut dd echo env head id kill ls mkdir mount rm seq setsid sleep tail timeout touch true wc yes; do
  cp -L "/usr/bin/$name" usr/bin/
done
python=$(readlink -f /usr/bin/python3)
cp "$python" usr/bin/python3
cp "$2" usr/bin/node
library="/usr/lib/$(basename "$python")"
cp -r "$library" usr/lib/
rm -rf usr/lib/python3*/{test,idlelib,lib2to3,ensurepip,tkinter,config-*}
for file in usr/bin/* usr/lib/python3*/lib-dynload/*.so; do ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true; done |
  sort -u | while read -r needed; do mkdir -p ".$(dirname "$needed")"; cp -L "$needed" ".$needed"; done
tar c . | docker import - "$3"`;
