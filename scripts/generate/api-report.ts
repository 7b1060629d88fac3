import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import type { GeneratedFile } from './generated-file.ts';
import { compilerOptions, type PublicDeclarations } from './public-declarations.ts';

/**
 * What plugins and their tests may import: the `exports` of package.json. `whole`: with the types that are mentioned
 * without being exported, since a change of them is one of the API too; the test kit mentions nearly all of the first
 * entry.
 */
const ENTRIES = [
  { file: 'kernel/index.ts', report: 'agent-gateway.api.md', whole: true },
  { file: 'testing/index.ts', report: 'agent-gateway-testing.api.md', whole: false },
] as const;

/**
 * The public API as text, one file an entry: every export with its signature and members, sorted. A change of the API
 * is a change of these files, to be seen in the diff that makes it. `(undocumented)` stands where a docblock is
 * missing.
 *
 * @throws Error when the declarations cannot be read.
 */
export function apiReportFiles(root: string, { texts }: PublicDeclarations): readonly GeneratedFile[] {
  let reports: ReadonlyMap<string, string> | undefined;
  return ENTRIES.map(({ report }) => ({
    path: `api/${report}`,
    render: () => {
      reports ??= makeReports(root, texts);
      return reports.get(report) as string;
    },
  }));
}

function makeReports(root: string, texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  // The packages that the declarations import from are linked into the folder.
  const folder = mkdtempSync(path.join(tmpdir(), 'api-report-'));
  try {
    writeDeclarations(texts, folder);
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    return new Map(ENTRIES.map((entry) => [entry.report, extract(root, folder, entry)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeDeclarations(texts: ReadonlyMap<string, string>, folder: string): void {
  for (const [file, text] of texts) {
    const target = path.join(folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

function extract(root: string, folder: string, { file, report, whole }: (typeof ENTRIES)[number]): string {
  const entry = path.join(folder, file.replace(/\.ts$/, '.d.ts'));
  const reports = path.join(folder, 'reports');
  mkdirSync(reports, { recursive: true });
  const silent = { default: { logLevel: ExtractorLogLevel.None, addToApiReportFile: false } };
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: path.join(root, 'package.json'),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: entry,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions: compilerOptions(root), files: [entry] } },
      apiReport: {
        enabled: true,
        includeForgottenExports: whole,
        reportFileName: report,
        reportFolder: reports,
        reportTempFolder: path.join(reports, 'temporary'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: silent,
        tsdocMessageReporting: silent,
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      },
    },
  });
  const problems: string[] = [];
  const { succeeded } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      if (message.logLevel === ExtractorLogLevel.Error) problems.push(message.formatMessageWithoutLocation());
      message.handled = true;
    },
  });
  if (!succeeded) throw new Error(`the API of ${file} cannot be read: ${problems.join('; ')}`);
  return readFileSync(path.join(reports, report), 'utf8');
}
