import path from 'node:path';
import test from 'ava';
import { startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';
import { until } from '../support/until.ts';

/** What only some configurations use, or only what comes after the start. */
const UNUSED = [
  /^@ai-sdk\//,
  /^@aws-sdk\//,
  /^@grpc\//,
  /^@kubernetes\//,
  /^@mikro-orm\/(mariadb|mysql|postgresql)$/,
  /^@modelcontextprotocol\//,
  /^@opentelemetry\/(exporter-|otlp-|resources|sdk-)/,
  /^bullmq$/,
  /^dockerode$/,
  /^ioredis$/,
  /^jose$/,
  /^mariadb$/,
  /^mysql2$/,
  /^pg$/,
  /^protobufjs$/,
  // Its 370 modules are for types; `Type` of the foundation makes the same schemas.
  /^typebox$/,
  /^undici$/,
];

test('a start with the embedded defaults loads nothing that it does not use', async (t) => {
  const counter = path.resolve('scripts/bench/count-modules.ts');
  const gateway = await startGatewayProcess(t, await temporaryFolder(t), {
    NODE_OPTIONS: `--import=${counter}`,
  });
  gateway.kill('SIGUSR2');
  const counted = () => gateway.logs().find(({ modules }) => modules !== undefined);
  await until(() => counted() !== undefined);
  const { modules, packages } = counted() as { modules: number; packages: Record<string, number> };
  t.true('koa' in packages, 'packages are counted');
  t.deepEqual(
    Object.keys(packages).filter((name) => UNUSED.some((pattern) => pattern.test(name))),
    [],
  );
  t.true(modules < 1_600, `${modules} modules`);
});
