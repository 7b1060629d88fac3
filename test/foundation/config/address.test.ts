import test from 'ava';
import fc from 'fast-check';
import { formatAddress, isHost, parseAddress } from '../../../foundation/config/address.ts';

const good: [string, string, number][] = [
  ['127.0.0.1:8080', '127.0.0.1', 8080],
  ['localhost:1', 'localhost', 1],
  ['my-host.example.com:65535', 'my-host.example.com', 65_535],
  [':8888', '0.0.0.0', 8888],
  ['[::1]:50051', '::1', 50_051],
  ['[::]:0', '::', 0],
];
for (const [text, host, port] of good) {
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

test('every address survives being written and read', (t) => {
  const host = fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()).filter(isHost);
  fc.assert(
    fc.property(host, fc.nat(65_535), (name, port) => {
      t.deepEqual(parseAddress(formatAddress({ host: name, port })), { host: name, port });
    }),
  );
});
