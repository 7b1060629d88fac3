import { readFile } from 'node:fs/promises';
import test from 'ava';
import { MemoryEntity } from '../../../../plugins/records/store/memories.ts';
import { Session, SessionMessageEntity } from '../../../../plugins/records/store/sessions.ts';
import { sampleRow } from '../../../../testing/conformance/sample-row.ts';
import { sampledGatewayDatabase } from '../../../support/databases.ts';
import { startGatewayProcess, temporaryFolder } from '../../../support/gateway-process.ts';
import { open } from '../../../support/request.ts';
import { isWhole } from '../../../support/sample.ts';
import { EXPORT, startProtected } from '../data-protection-kit.ts';

/** Memories, and messages of one session; each is about 2 KB. A whole run has a million records. */
const MEMORIES = isWhole ? 800_000 : 80_000;
const MESSAGES = isWhole ? 200_000 : 30_000;
const TEXT = 'x'.repeat(2_000);
const BATCH = 500;
/**
 * The gateway alone lives in a quarter of it, and works with new objects in most of the rest; the document is larger
 * than the whole.
 */
const HEAP_MIB = 192;
const MIB = 1024 * 1024;

// One after the other: rows that are made for one would keep connections of another waiting.
sampledGatewayDatabase(
  test.serial,
  'an export of any size passes through a small heap, as one JSON document',
  async (t, fresh) => {
    t.timeout(isWhole ? 3_600_000 : 300_000);
    const folder = fresh.environment.SVC_DATA_DIR ?? (await temporaryFolder(t));
    const env = { ...fresh.environment, SVC_DATA_DIR: folder };
    const before = await startProtected(t, { env });
    const tenant = await before.makeTenant('one');
    const rows = before.gateway.services.database.forTenant(tenant.id);
    await rows.insert(Session, { ...sampleRow(Session, '4711'), id: 'long' });
    for (let first = 0; first < MEMORIES; first += BATCH) {
      const made = Array.from({ length: BATCH }, (_, index) => ({
        ...sampleRow(MemoryEntity, '4711'),
        id: `m${first + index}`,
        key: `k${first + index}`,
        value: JSON.stringify(TEXT),
      }));
      await rows.insertMany(MemoryEntity, made);
    }
    const message = JSON.stringify({ role: 'user', content: TEXT });
    for (let first = 1; first <= MESSAGES; first += BATCH) {
      const made = Array.from({ length: BATCH }, (_, index) => ({
        ...sampleRow(SessionMessageEntity, '4711'),
        id: `n${first + index}`,
        sessionId: 'long',
        seq: first + index,
        role: 'user',
        message,
      }));
      await rows.insertMany(SessionMessageEntity, made);
    }
    await before.stop();

    const gateway = await startGatewayProcess(t, folder, {
      ...env,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
    });
    const begun = performance.now();
    const response = await open(`${gateway.url}${EXPORT}`, { token: tenant.token });
    t.is(response.status, 200);
    // It is too large to be parsed whole: what has a line of its own is parsed and left out, and the rest is a document
    // still.
    let [bytes, memories, messages, line, shape] = [0, 0, 0, '', ''];
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      bytes += chunk.length;
      const lines = (line + chunk).split('\n');
      line = lines.pop()!;
      for (const whole of lines) {
        const isRecord = whole.startsWith('{"') && whole.endsWith('},') && !whole.startsWith('{"tenant":');
        const record = isRecord ? JSON.parse(whole.slice(0, -1)) : {};
        if ('value' in record) memories += 1;
        else if ('content' in record) messages += 1;
        else shape += whole;
      }
    }
    const document = JSON.parse(shape + line);
    t.true(document.complete);
    t.is(memories + document.memories.length, MEMORIES);
    t.is(messages + document.sessions[0].messages.length, MESSAGES);
    const peak = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${gateway.pid}/status`, 'utf8'))?.[1];
    const seconds = (performance.now() - begun) / 1_000;
    t.log(
      `${Math.round(bytes / MIB)} MiB in ${seconds.toFixed(1)} s, ${Math.round(Number(peak) / 1024)} MiB resident`,
    );
  },
);
