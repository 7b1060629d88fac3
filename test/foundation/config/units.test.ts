import test from 'ava';
import fc from 'fast-check';
import {
  formatDuration,
  formatSize,
  isHost,
  parseAddress,
  parseDuration,
  parseSize,
} from '../../../foundation/config/units.ts';

const durations: [string, number][] = [
  ['30s', 30_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['720h', 2_592_000_000],
  ['7d', 604_800_000],
  ['250ms', 250],
  ['1.5h', 5_400_000],
  ['0.1s', 100],
  ['30', 30_000],
  ['0.25', 250],
  ['0', 0],
  ['0s', 0],
];
for (const [text, milliseconds] of durations) {
  test(`"${text}" is ${milliseconds} ms`, (t) => t.is(parseDuration(text), milliseconds));
}

for (const text of [
  '',
  'abc',
  '-5s',
  '5 s',
  '5S',
  '5mo',
  's',
  '1h-5m',
  '1e3',
  '.5s',
  '5s ',
  `${'9'.repeat(40)}h`,
  '1s'.repeat(40),
]) {
  test(`"${text.slice(0, 20)}" (${text.length} characters) is no duration`, (t) =>
    t.is(parseDuration(text), undefined));
}

test('every whole number of milliseconds survives being written and read', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 48 }),
      (value) => parseDuration(formatDuration(value)) === value,
    ),
  );
  t.is(formatDuration(5_400_000), '1h30m');
  t.is(formatDuration(0), '0s');
});

test('any text gives a number of milliseconds that is whole and not negative, or nothing', (t) => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{1,5}(ms|s|m|h|d){0,2}[0-9]{0,3}$/));
  fc.assert(
    fc.property(text, (value) => {
      const result = parseDuration(value);
      return result === undefined || (Number.isSafeInteger(result) && result >= 0);
    }),
  );
  t.pass();
});

const sizes: [string, number][] = [
  ['0', 0],
  ['512', 512],
  ['512B', 512],
  ['64KiB', 65_536],
  ['64 KiB', 65_536],
  ['64kb', 65_536],
  ['1MB', 1_048_576],
  ['1MiB', 1_048_576],
  ['1.5GiB', 1_610_612_736],
];
for (const [text, bytes] of sizes) {
  test(`"${text}" is ${bytes} bytes`, (t) => t.is(parseSize(text), bytes));
}

for (const text of ['', 'abc', '-1', '1TB', '1Ki', '1.5', '1.5B', '1  MB', 'MB', '1e3', '9'.repeat(30)]) {
  test(`"${text}" is no size`, (t) => t.is(parseSize(text), undefined));
}

test('every whole number of bytes survives being written and read', (t) => {
  fc.assert(fc.property(fc.maxSafeNat(), (bytes) => parseSize(formatSize(bytes)) === bytes));
  t.is(formatSize(1_048_576), '1MiB');
  t.is(formatSize(1500), '1500B');
});

const addresses: [string, string, number][] = [
  ['127.0.0.1:8080', '127.0.0.1', 8080],
  ['localhost:1', 'localhost', 1],
  ['my-host.example.com:65535', 'my-host.example.com', 65_535],
  [':8888', '0.0.0.0', 8888],
  ['[::1]:50051', '::1', 50_051],
  ['[::]:0', '::', 0],
];
for (const [text, host, port] of addresses) {
  test(`"${text}" is host ${host}, port ${port}`, (t) => t.deepEqual(parseAddress(text), { host, port }));
}

for (const text of [
  '',
  '8080',
  'host',
  'host:',
  'host:x',
  'host:65536',
  '::1:80',
  '[::1]',
  '[host]:80',
  '1.2.3.999:80',
  'a b:80',
  '-a:80',
  'http://a:80',
]) {
  test(`"${text}" is no address`, (t) => t.is(parseAddress(text), undefined));
}

test('every address is read as it is written', (t) => {
  const host = fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()).filter(isHost);
  fc.assert(
    fc.property(host, fc.nat(65_535), (name, port) => {
      t.deepEqual(parseAddress(name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`), {
        host: name,
        port,
      });
    }),
  );
});
