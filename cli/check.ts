import { existsSync } from 'node:fs';
import path from 'node:path';
import { unescape as decoded } from 'node:querystring';
import { lacksOffer, type Offer, offerNamed } from '../foundation/base/offers.ts';
import { ConfigurationError } from '../foundation/config/configuration-error.ts';
import { describeConfig } from '../foundation/config/describe-config.ts';
import { loadGatewayFile } from '../foundation/config/gateway-file.ts';
import { type KernelSettings, readKernelSettings } from '../foundation/config/kernel-settings.ts';
import { KernelVariables } from '../foundation/config/kernel-variables.ts';
import { isMissing, type PathVariable } from '../foundation/config/missing-paths.ts';
import { type Environment, processEnvironment } from '../foundation/config/read-config.ts';
import { unreadVariables } from '../foundation/config/unread-variables.ts';
import { kernelRegistrations } from '../foundation/gateway-tables.ts';
import { readTlsFiles } from '../foundation/grpc/tls.ts';
import { createHiddenTexts } from '../foundation/observability/redact-fields.ts';
import { describeProblem } from '../foundation/resources/problem.ts';
import { isWrong } from '../foundation/resources/report.ts';
import type { FileReport } from '../foundation/resources/resources.ts';
import { describe, type Finding, finding, skipped } from './finding.ts';
import type { Outcome } from './outcome.ts';
import { reachable } from './reachability.ts';
import { type Rehearsal, rehearse } from './rehearsal.ts';

/**
 * `saas-api check`: whether a start would succeed with these variables and files, and whether the servers and folders
 * that it needs can be used. Changes nothing: a missing role of PostgreSQL, table or file is made by the start and not
 * here. All problems are reported together, without secrets.
 */
export async function main(): Promise<Outcome> {
  const hidden = createHiddenTexts([]);
  const findings = await look(processEnvironment(), hidden.add);
  const isRight = findings.every(({ state }) => state === 'ok');
  const hide = (text: string): string => JSON.parse(hidden.hideIn(JSON.stringify(text)));
  return { code: isRight ? 0 : 1, out: findings.map((one) => describe(one, hide)).join(''), err: '' };
}

async function look(env: Environment, hide: (secret: string) => void): Promise<readonly Finding[]> {
  const file = path.normalize(env.SVC_CONFIG || 'gateway.yaml');
  const [variables, gatewayFile] = await Promise.all([
    problemsOf(async () => readKernelSettings(env)),
    problemsOf(() => loadGatewayFile(file)),
  ]);
  const settings = variables.value;
  if (settings !== undefined) for (const secret of secretsOf(settings)) hide(secret);
  const isReadable = settings !== undefined && gatewayFile.value !== undefined;
  // Names of files in variables, that of a key for example, are looked at by the rehearsal alone.
  const rehearsal = isReadable
    ? await problemsOf(() => rehearsed(settings, env, hide))
    : { value: undefined, problems: [] };
  const found: Finding[] = [
    finding(
      'variables',
      [...variables.problems, ...rehearsal.problems],
      [
        'the gateway’s own are valid',
        ...unread(env, rehearsal.value?.variables),
        ...(rehearsal.value?.doubts ?? []),
      ].join('; '),
    ),
    finding(
      file,
      gatewayFile.problems,
      gatewayFile.value?.exists ? 'valid' : `not there${hint('SVC_CONFIG', env)}: all defaults`,
    ),
  ];
  if (settings === undefined) return [...found, skipped('plugins'), skipped('servers')];
  const { findings: plugins, registrations } = rehearsal.value ?? {
    findings: [skipped('plugins'), skipped(settings.services.agentsDir)],
    registrations: kernelRegistrations(),
  };
  const servers = await reachable(settings, registrations);
  const { tls } = settings.services.grpc;
  const certificate =
    tls && finding('TLS of gRPC', (await problemsOf(() => readTlsFiles(tls))).problems, tls.cert);
  return [...found, ...plugins, ...(certificate ? [certificate] : []), ...servers];
}

/** It is no mistake, since a secret may have any name. Unknown while it is unknown what plugins read. */
function unread(env: Environment, ofPlugins: readonly string[] | undefined): readonly string[] {
  if (ofPlugins === undefined) return [];
  const own = describeConfig(KernelVariables).flatMap((setting) => setting.env ?? []);
  return unreadVariables(env, [...own, ...ofPlugins]);
}

/** Plugins and agents.d. */
async function rehearsed(
  settings: KernelSettings,
  env: Environment,
  hide: (secret: string) => void,
): Promise<
  { readonly findings: readonly Finding[] } & Pick<Rehearsal, 'registrations' | 'variables' | 'doubts'>
> {
  const { agentsDir } = settings.services;
  await using rehearsal = await rehearse({ settings, env, withResources: true, onSecret: hide });
  const { plugins, problems, resources, registrations, variables, doubts, objectStores } = rehearsal;
  const findings = [
    finding('plugins', [...problems, ...storeProblems(settings, objectStores)], plugins.join(', ')),
    resourceFinding(agentsDir, resources, problems.length === 0, env),
  ];
  return { findings, registrations, variables, doubts };
}

/** Without the store that it names the gateway is never ready. */
function storeProblems({ services }: KernelSettings, stores: readonly Offer[]): readonly string[] {
  const { objectStore: url } = services;
  if (url.form !== 'plugin' || offerNamed(url.name, stores) !== undefined) return [];
  return [lacksOffer('OBJECT_STORE_URL', url.name, stores)];
}

function resourceFinding(
  folder: string,
  files: readonly FileReport[],
  arePluginsRight: boolean,
  env: Environment,
): Finding {
  // It may come later, so it is not wrong; a misspelt name has to be seen all the same.
  if (!existsSync(folder))
    return finding(folder, [], `not there${hint('SVC_AGENTS_DIR', env)}: no resources`);
  const documents = files.flatMap((file) => file.documents);
  const problems = [...files, ...documents.filter(isWrong)].flatMap((one) => one.problems);
  const lines = problems.map((problem) =>
    describeProblem({ ...problem, file: path.join(folder, problem.file) }),
  );
  const waiting = documents.filter(({ status }) => status === 'waiting').length;
  const live = documents.filter(({ status }) => status === 'live').length;
  if (waiting > 0 && lines.length === 0 && !arePluginsRight) return skipped(folder);
  const rest = waiting === 0 ? '' : `, ${waiting} wait for plugins that do not run`;
  return finding(folder, lines, `${live} resources${rest}`);
}

/** Whoever names what is not there may have misspelt it. */
function hint(variable: PathVariable, env: Environment): string {
  return isMissing(variable, env) ? `, although ${variable} names it` : '';
}

async function problemsOf<T>(
  read: () => Promise<T>,
): Promise<{ readonly value?: T; readonly problems: readonly string[] }> {
  try {
    return { value: await read(), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { problems: error.message.split('\n') };
  }
}

function secretsOf({ acpToken, database, redisUrl }: KernelSettings): readonly string[] {
  const urls = [redisUrl, 'url' in database ? database.url : undefined];
  const passwords = urls.flatMap((url) => {
    const { password = '' } = (url === undefined ? undefined : URL.parse(url)) ?? {};
    // Also of one with a % that escapes nothing.
    return [password, decoded(password)];
  });
  return [acpToken ?? '', ...passwords].filter((secret) => secret !== '');
}
