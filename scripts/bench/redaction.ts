import { createLogger } from '../../foundation/observability/logger.ts';
import { CREDENTIAL_KINDS, createRedaction } from '../../foundation/redaction/redaction.ts';

/*
 * What redaction costs a chat: text as models write it, whole and in chunks, compared with doing nothing and with one
 * regular expression for a handful of prefixes, which neither knows all kinds nor splits; and what a line of the log
 * costs, compared with its JSON alone. In one process, in turn. Quote the ratios: absolute times are the machine's.
 * `node_modules/.bin/node scripts/bench/redaction.ts`.
 */

const ROUNDS = 15;
const SENTENCE =
  'A gateway stands between clients and models: it knows who is calling, keeps a session, and streams the answer. ' +
  'It holds no state of its own, so a second one beside it needs no more than the same database. ';
const PROSE = SENTENCE.repeat(5000);
const SECRETS = `${SENTENCE}The key is ghp_${'a1B2'.repeat(9)}, the password=${'a1b2'.repeat(8)}. `.repeat(
  3500,
);
const COMBINED =
  /\b(?:AKIA[A-Z0-9]{16}|gh[pousr]_\w{36}|sk-[\w-]{20,}|xox[abp]-[\w-]{20,}|eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+|password\s*[:=]\s*\S{8,})/gi;

const { redact, redactStream } = createRedaction();

/** Chunks of `length` characters. */
function chunksOf(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length),
  );
}

function streamed(chunks: readonly string[], push: (chunk: string) => string): number {
  let length = 0;
  for (const chunk of chunks) length += push(chunk).length;
  return length;
}

/** The least CPU time of the rounds, in microseconds. */
function best(work: () => number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

function compareWhole(title: string, text: string): void {
  const ours = best(() => redact(text).length);
  const regex = best(() => text.replace(COMBINED, '').length);
  print(
    `${title.padEnd(28)} ${(text.length / ours).toFixed(0).padStart(6)} MB/s, ` +
      `${(regex / ours).toFixed(2)} times as fast as the regular expression`,
  );
}

function compareStream(length: number): void {
  const chunks = chunksOf(PROSE, length);
  const ours = best(() => {
    const redactor = redactStream();
    return streamed(chunks, redactor.push) + redactor.end().length;
  });
  const nothing = best(() => streamed(chunks, (chunk) => chunk));
  const regex = best(() => streamed(chunks, (chunk) => chunk.replace(COMBINED, '')));
  const each = (time: number) => `${((time / chunks.length) * 1000).toFixed(0)} ns`;
  print(
    `prose in chunks of ${String(length).padEnd(9)} ${each(ours).padStart(6)} a chunk, ` +
      `nothing ${each(nothing)}, the regular expression (blind to splits) ${each(regex)}`,
  );
}

function compareLogLine(lines: number): void {
  const { logger } = createLogger({ level: 'info', destination: { write: () => undefined } });
  const fields = {
    method: 'GET',
    path: '/v1/tenants/{id}',
    status: 200,
    duration_ms: 1.25,
    tenant_id: 't',
    user_id: 'u',
  };
  const times = (work: () => unknown) =>
    best(() => {
      for (let line = 0; line < lines; line += 1) work();
      return lines;
    }) / lines;
  const ours = times(() => logger.info(fields, 'request'));
  const json = times(() => JSON.stringify({ level: 'info', ...fields, msg: 'request' }));
  print(
    `a line of the log            ${ours.toFixed(1).padStart(6)} µs, its JSON alone ${json.toFixed(1)} µs`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

print(
  `${CREDENTIAL_KINDS.length} kinds, ready in ${(best(() => Number(createRedaction())) / 1000).toFixed(0)} ms of CPU (warm)`,
);
compareWhole('prose, whole', PROSE);
compareWhole('two credentials in 270 B', SECRETS);
for (const length of [4, 12, 40]) compareStream(length);
compareLogLine(20_000);
