import { setTimeout as pause } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import { compileSchema } from '../../foundation/base/json-schema.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import { answersOf } from '../../kernel/http/openapi-answers.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { type Answered, Caller } from './caller.ts';
import { nameOf, routesOf, schemaOf, withGateway } from './gateway-of.ts';
import { allMethods, grpcRequestFor } from './grpc-tenancy.ts';
import { seeded } from './made-data.ts';
import type { SampleTenant } from './options.ts';
import { type Made, sampleTenant } from './sample.ts';
import type { Subject } from './subject.ts';

/** The order in which there is something to read, and at last to delete. */
const METHODS = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'];
/**
 * Milliseconds of CPU time for which one piece of work may keep the event loop; at the first call, which imports and
 * compiles, more.
 */
const BUSY_MS = 200;
const FIRST_BUSY_MS = 1_000;
/** Milliseconds in which timers and listeners that handlers leave behind may fail. */
const LINGER = 500;

/**
 * Sends each sample twice to each route and gRPC method: no answer is a failure of the gateway, and all are what the
 * route declares. No handler blocks the event loop, or keeps the suite waiting. Errors that handlers leave unhandled
 * are collected by the code that runs the check.
 */
export async function answersCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(subject, async (gateway) => {
    using loop = meterLoop();
    const caller = new Caller(subject, gateway);
    const tenant = await sampleTenant(gateway, 'twice');
    const made = await seeded(gateway, subject, tenant);
    const visit = { subject, gateway, caller, tenant, made, loop };
    const problems = [...(await routeProblems(visit)), ...(await methodProblems(visit))];
    await pause(LINGER);
    return [...problems, ...caller.problems];
  });
}

interface Visit {
  readonly subject: Subject;
  readonly gateway: TestGateway;
  readonly caller: Caller;
  readonly tenant: SampleTenant;
  readonly made: Made;
  readonly loop: BusyLoop;
}

async function routeProblems(visit: Visit): Promise<readonly string[]> {
  const { subject, gateway, caller, tenant, made } = visit;
  const routes = routesOf(gateway, subject.plugin).filter(
    ({ definition }) => definition !== undefined && definition.deprecated === undefined,
  );
  const problems: string[] = [];
  for (const method of METHODS) {
    for (const route of routes.filter(({ methods }) => methods.includes(method))) {
      if (method === 'PUT') made.chooseKey(route);
      const sender = route.access.kind === 'governance' ? { ...tenant, token: gateway.token } : tenant;
      const found = await twice(nameOf(route), visit.loop, async () => {
        const answer = await caller.route(route, sender, made);
        if (method === 'POST' && answer !== undefined) made.learn(route, answer);
        return answer === undefined ? [] : routeAnswerProblems(route, answer);
      });
      problems.push(...found);
    }
  }
  return problems;
}

async function methodProblems({
  subject,
  gateway,
  caller,
  tenant,
  made,
  loop,
}: Visit): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { client, method } of allMethods(gateway, subject)) {
    const request = grpcRequestFor(method, subject.options, tenant.marker, made.id);
    const token = method.access.kind === 'governance' ? gateway.token : tenant.token;
    const found = await twice(method.name, loop, async () => {
      const answer = await caller.method(client, method, request, token);
      const isFailure = answer?.code === 'INTERNAL' || answer?.code === 'UNKNOWN';
      return isFailure ? [`answers ${answer.code}${answer.failure}`] : [];
    });
    problems.push(...found);
  }
  return problems;
}

/** Does it twice. A problem that only the second call has is reported as one of the second call. */
async function twice(
  name: string,
  loop: BusyLoop,
  call: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  loop.longest();
  const first = await call();
  const isFirstBusy = loop.longest() > FIRST_BUSY_MS;
  const second = await call();
  const isBusy = loop.longest() > BUSY_MS || isFirstBusy;
  return [
    ...first.map((problem) => `${name} ${problem}`),
    ...second
      .filter((problem) => !first.includes(problem))
      .map((problem) => `${name}, when the same is sent again, ${problem}`),
    ...(isBusy
      ? [`${name} keeps the event loop for more than ${BUSY_MS} ms, in which nothing else goes on`]
      : []),
  ];
}

function routeAnswerProblems(route: CompiledRoute, { status, body, headers, failure }: Answered) {
  if (status === 500) return [`answers 500${failure}`];
  if (status < 500 && failure !== '') return [`fails after it has begun to answer${failure}`];
  if (!(status in answersOf(route))) {
    const isMounted = route.middleware !== undefined;
    const declared = `${schemaOf(route)}.responses`;
    const where = status < 400 || isMounted ? declared : `"failures" or ${declared}`;
    return [`answers ${status}, which it does not declare: name it in ${where}`];
  }
  const schema = route.definition!.schema?.responses?.[status];
  if (schema === undefined) return [];
  if (schema === null)
    return body === '' ? [] : [`answers ${status} with a body, and declares that it has none`];
  if (!/[/+]json/.test(headers.get('content-type') ?? '')) return [];
  return schemaProblems(schema, body).map(
    (problem) => `answers ${status} with a body that its schema does not allow: ${problem}`,
  );
}

/** The first problem of a value. A schema that cannot be compiled is reported by the check of routes. */
function schemaProblems(schema: TSchema, value: unknown): readonly string[] {
  try {
    const [first] = compileSchema(schema)(value);
    return first === undefined ? [] : [`${first.instancePath || 'it'} ${first.message ?? 'does not fit'}`];
  } catch {
    return [];
  }
}

/** Milliseconds between two turns of the loop that are looked for. */
const LOOK_MS = 10;

/** How long the event loop was kept from its next turn. */
interface BusyLoop extends Disposable {
  /**
   * The longest piece of work without a turn since this was asked last, in milliseconds of the CPU time of this thread.
   */
  longest(): number;
}

/**
 * Measures the event loop. CPU time counts, since on a busy machine a process waits for its turn through no fault of
 * its own.
 */
function meterLoop(): BusyLoop {
  let longest = 0;
  let last = process.threadCpuUsage();
  const look = () => {
    const now = process.threadCpuUsage();
    longest = Math.max(longest, (now.user - last.user + now.system - last.system) / 1000);
    last = now;
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    longest() {
      look();
      const found = longest;
      longest = 0;
      return found;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
