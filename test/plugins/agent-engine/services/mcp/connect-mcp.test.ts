import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import test from 'ava';
import { failureOf } from '../../../../../plugins/agent-engine/services/mcp/connect-mcp.ts';

const http = (status: number) =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'x', { status, statusText: 'x' });
const fetchFailed = (code: string) => new TypeError('fetch failed', { cause: { code } });

for (const { title, error, failure } of [
  { title: 'an error of JSON-RPC is the answer', error: new ProtocolError(-32_602, 'x'), failure: 'answer' },
  { title: 'a session that is unknown has done nothing', error: http(404), failure: 'refused' },
  { title: 'nor has one that is called a bad request', error: http(400), failure: 'refused' },
  { title: 'a credential that is no longer valid has done nothing', error: http(401), failure: 'refused' },
  { title: 'nobody listens, so nothing was done', error: fetchFailed('ECONNREFUSED'), failure: 'refused' },
  { title: 'a connection that was reset is broken', error: fetchFailed('ECONNRESET'), failure: 'broken' },
  { title: 'a server that fails may have done it', error: http(502), failure: 'broken' },
  {
    title: 'a program that ended may have done it',
    error: new SdkError(SdkErrorCode.ConnectionClosed, 'x'),
    failure: 'broken',
  },
  {
    title: 'a missing permission says nothing against the connection',
    error: http(403),
    failure: 'harmless',
  },
  {
    title: 'nor does a server that is slow',
    error: new SdkError(SdkErrorCode.RequestTimeout, 'x'),
    failure: 'harmless',
  },
] as const) {
  test(title, (t) => t.is(failureOf(error), failure));
}
