import test from 'ava';
import {
  addressGroup,
  createIsTrustedProxy,
  createSourceAddress,
  isLoopbackCaller,
} from '../../../foundation/http/source-address.ts';

const request = (remoteAddress: string | undefined, headers: Record<string, string> = {}) => ({
  socket: { remoteAddress },
  headers,
});

const cases: [
  title: string,
  trusted: string[],
  peer: string | undefined,
  forwarded: string | undefined,
  expected: string,
][] = [
  ['the peer, when there is no proxy', [], '192.0.2.7', undefined, '192.0.2.7'],
  ['the peer, when nobody is trusted', [], '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['the peer, when it is not the trusted proxy', ['10.0.0.1'], '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['what a trusted address forwards', ['10.0.0.1'], '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['what a trusted network forwards', ['10.0.0.0/8'], '10.9.8.7', '198.51.100.1', '198.51.100.1'],
  ['what a named range forwards', ['uniquelocal'], '172.16.5.4', '198.51.100.1', '198.51.100.1'],
  ['what an IPv4-mapped proxy forwards', ['loopback'], '::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'the last that a chain of proxies vouches for',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '1.1.1.1, 198.51.100.1, 10.0.0.2',
    '198.51.100.1',
  ],
  ['the farthest proxy, when all are trusted', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['the proxy, when it forwards no address', ['10.0.0.1'], '10.0.0.1', 'unknown', '10.0.0.1'],
  [
    'the nearest valid hop, when a trusted chain ends in no address',
    ['10.0.0.0/8'],
    '10.0.0.1',
    "x', 10.0.0.2",
    '10.0.0.2',
  ],
  ['an address without its port', ['10.0.0.1'], '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['an IPv6 address without brackets and port', ['10.0.0.1'], '10.0.0.1', '[2001:DB8::1]:443', '2001:db8::1'],
  ['IPv4 for an IPv4-mapped peer', [], '::ffff:192.0.2.7', undefined, '192.0.2.7'],
  ['IPv4 for an IPv4-mapped peer in hexadecimal', [], '::ffff:c000:207', undefined, '192.0.2.7'],
  ['an IPv6 address without its zone', [], 'fe80::1%eth0', undefined, 'fe80::1'],
  ['unknown, when the connection has no address', ['loopback'], undefined, '198.51.100.1', 'unknown'],
];
for (const [title, trusted, peer, forwarded, expected] of cases) {
  test(`the source address is ${title}`, (t) => {
    const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    t.is(createSourceAddress(trusted)(request(peer, headers)), expected);
  });
}

test('a trusted proxy that is no address is refused by name', (t) => {
  t.throws(() => createSourceAddress(['10.0.0.0/8', 'my-proxy']), {
    instanceOf: TypeError,
    message: /my-proxy/,
  });
  t.throws(() => createSourceAddress(['10.0.0.0/99']), { message: /10\.0\.0\.0\/99/ });
});

test('IPv6 addresses of one /64 are one caller, IPv4 addresses each their own', (t) => {
  t.is(addressGroup('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  t.is(addressGroup('2001:db8:1:2::9'), '2001:db8:1:2::/64');
  t.not(addressGroup('2001:db8:1:3::9'), addressGroup('2001:db8:1:2::9'));
  t.is(addressGroup('192.0.2.7'), '192.0.2.7');
  t.is(addressGroup('unknown'), 'unknown');
});

test('a loopback caller is on the loopback interface and behind no proxy', (t) => {
  for (const peer of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])
    t.true(isLoopbackCaller(request(peer)), peer);
  for (const peer of ['192.0.2.1', '10.0.0.1', '::', '::ffff:10.0.0.1', undefined]) {
    t.false(isLoopbackCaller(request(peer)), peer);
  }
  t.false(isLoopbackCaller(request('127.0.0.1', { 'x-forwarded-for': '127.0.0.1' })));
  t.false(isLoopbackCaller(request('127.0.0.1', { 'x-forwarded-for': '' })));
  t.false(isLoopbackCaller(request('::1', { forwarded: 'for=127.0.0.1' })));
  for (const name of ['via', 'x-real-ip', 'x-forwarded-host', 'x-forwarded-proto'])
    t.false(isLoopbackCaller(request('127.0.0.1', { [name]: 'x' })), name);
  const plain = request('127.0.0.1', { host: '127.0.0.1:8080', connection: 'close' });
  t.true(isLoopbackCaller({ ...plain, httpVersion: '1.1' }));
  t.false(isLoopbackCaller({ ...plain, httpVersion: '1.0' }), 'nginx without any settings');
});

test('a browser that shows a page of another site is no loopback caller', (t) => {
  const here = (headers: Record<string, string>) => isLoopbackCaller(request('127.0.0.1', headers));
  for (const host of [
    'localhost:8888',
    '127.0.0.1:8888',
    '[::1]:8888',
    '192.0.2.7',
    'gateway:8888',
    'LOCALHOST',
    'a.localhost',
  ])
    t.true(here({ host }), host);
  for (const host of ['rebound.example:8888', 'rebound.example.', '127.0.0.1.rebound.example', 'a b', ''])
    t.false(here({ host }), host);
  const host = '127.0.0.1:8888';
  for (const origin of ['http://127.0.0.1:8888', 'http://localhost:5173', 'https://[::1]'])
    t.true(here({ host, origin }), origin);
  for (const origin of ['https://page.example', 'http://192.0.2.7', 'http://gateway', 'null', ''])
    t.false(here({ host, origin }), origin);
  t.true(here({ host: '192.0.2.7:3000', origin: 'http://192.0.2.7:3000' }), 'a page of the gateway itself');
  for (const site of ['same-origin', 'same-site', 'none'])
    t.true(here({ host, 'sec-fetch-site': site }), site);
  t.false(here({ host, 'sec-fetch-site': 'cross-site' }), 'a frame or an image of another site');
  t.true(here({ host, origin: 'http://localhost:5173', 'sec-fetch-site': 'cross-site' }), 'of this machine');
});

test('a connection of a trusted proxy is told from that of a client', (t) => {
  const isProxy = (trusted: string[], remoteAddress: string | undefined) =>
    createIsTrustedProxy(trusted)({ remoteAddress });
  t.true(isProxy(['10.0.0.0/8'], '10.1.2.3'));
  t.true(isProxy(['loopback'], '::ffff:127.0.0.1'));
  t.false(isProxy(['10.0.0.0/8'], '203.0.113.9'));
  t.false(isProxy(['10.0.0.0/8'], undefined));
  t.false(isProxy([], '10.1.2.3'));
  // Networks for documentation are in use where nobody expects them, in laboratories and containers.
  for (const address of ['192.0.2.1', '198.51.100.1', '203.0.113.1']) {
    t.false(isProxy([], address), address);
    t.false(isProxy(['10.0.0.0/8'], `::ffff:${address}`), address);
  }
  t.true(isProxy(['192.0.2.0/24'], '192.0.2.1'));
});
