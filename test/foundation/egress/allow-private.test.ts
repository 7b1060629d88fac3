import test from 'ava';
import { parseAddress } from '../../../foundation/egress/address-class.ts';
import { allowPrivateProblem, createAddressPolicy } from '../../../foundation/egress/allow-private.ts';

const refusal = (allowed: readonly string[], address: string, host = 'example.com', port = 443) =>
  createAddressPolicy(allowed).refuseAddress(parseAddress(address)!, { host, port });

test('an entry is a host, an address or a network, some with a port', (t) => {
  const good = [
    '10.0.0.0/8',
    'fd00::/8',
    '10.1.2.3',
    '10.1.2.3:8080',
    '::1',
    '[::1]',
    '[::1]:8080',
    'localhost',
  ];
  for (const entry of [...good, 'build.internal:8080', '*.svc.cluster.local', 'LOCALHOST.', 'bücher.local']) {
    t.is(allowPrivateProblem(entry), undefined, entry);
  }
  const bad = [
    '',
    '*',
    '*:80',
    '10.0.0.0/33',
    '10.0.0/8',
    'http://x',
    'a b',
    'host:0',
    'host:99999',
    'x/8',
    '/',
    '*.1.2.3.4',
  ];
  for (const entry of [...bad, '::ffff:10.0.0.0/104', 'a:b:c', '10.0.0.0/', 'host:']) {
    t.regex(allowPrivateProblem(entry) ?? '', /is not a host/, entry);
    t.throws(() => createAddressPolicy([entry]), { message: /SVC_EGRESS_ALLOW_PRIVATE/ }, entry);
  }
});

test('a network opens its addresses under every name, and no others', (t) => {
  t.is(refusal(['10.0.0.0/8'], '10.1.2.3'), undefined);
  t.is(refusal(['10.0.0.0/8'], '::ffff:10.1.2.3'), undefined);
  t.is(refusal(['10.0.0.0/8'], '192.168.1.1'), 'private');
  t.is(refusal(['10.0.0.0/8'], 'fd00::1'), 'private');
  t.is(refusal(['fd00::/8'], 'fd00::1'), undefined);
  t.is(refusal(['127.0.0.0/8'], '0.0.0.0'), 'unspecified');
});

test('an address is opened with the port that is said, or with all', (t) => {
  t.is(refusal(['10.1.2.3:8080'], '10.1.2.3', 'x.example', 8080), undefined);
  t.is(refusal(['10.1.2.3:8080'], '10.1.2.3', 'x.example', 8081), 'private');
  t.is(refusal(['10.1.2.3'], '10.1.2.3', 'x.example', 8081), undefined);
  t.is(refusal(['[::1]:80'], '::1', '::1', 80), undefined);
  t.is(refusal(['10.1.2.3'], '10.1.2.4'), 'private');
});

test('a host opens every address of that name, and of no other', (t) => {
  t.is(refusal(['db.internal'], '10.1.2.3', 'db.internal'), undefined);
  t.is(refusal(['db.internal'], '10.1.2.3', 'x.db.internal'), 'private');
  t.is(refusal(['db.internal:81'], '10.1.2.3', 'db.internal', 80), 'private');
  t.is(refusal(['*.cluster.local'], '10.1.2.3', 'a.b.cluster.local'), undefined);
  t.is(refusal(['*.cluster.local'], '10.1.2.3', 'cluster.local'), 'private');
  t.is(refusal(['*.cluster.local'], '10.1.2.3', 'evilcluster.local'), 'private');
});

test('cloud metadata is opened by its own address alone', (t) => {
  const metadata = '169.254.169.254';
  t.is(refusal(['169.254.0.0/16', '0.0.0.0/0', 'x.internal'], metadata, 'x.internal'), 'metadata');
  t.is(refusal(['0.0.0.0/0'], '168.63.129.16'), 'metadata');
  t.is(refusal([metadata], metadata), undefined);
});

test('local names are refused by name, unless the operator opened them or addresses', (t) => {
  const names = [
    'localhost',
    'x.localhost',
    'printer.local',
    'metadata.google.internal',
    'redis',
    'a.home.arpa',
    'nas.lan',
  ];
  for (const host of names) {
    t.is(createAddressPolicy([]).refuseName({ host, port: 80 }), 'name', host);
    t.is(createAddressPolicy(['other.internal']).refuseName({ host, port: 80 }), 'name', host);
    t.is(createAddressPolicy([host]).refuseName({ host, port: 80 }), undefined, host);
    t.true(createAddressPolicy([]).isLocal({ host, port: 80 }), host);
    // With a network the addresses decide, and only those inside it count.
    t.is(createAddressPolicy(['10.0.0.0/8']).refuseName({ host, port: 80 }), undefined, host);
    t.is(refusal(['10.0.0.0/8'], '8.8.8.8', host), 'name', host);
    t.is(refusal(['10.0.0.0/8'], '10.0.0.1', host), undefined, host);
  }
  for (const host of [
    'example.com',
    'localhost.example.com',
    'mylocal.com',
    'internal.example',
    '8.8.8.8',
    '2000::1',
  ]) {
    t.is(createAddressPolicy([]).refuseName({ host, port: 80 }), undefined, host);
    t.false(createAddressPolicy([]).isLocal({ host, port: 80 }), host);
  }
  t.true(createAddressPolicy(['wiki.example.com']).isLocal({ host: 'wiki.example.com', port: 80 }));
});
