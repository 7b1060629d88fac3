import { readFile } from 'node:fs/promises';
import { findPackageJSON, isBuiltin } from 'node:module';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ProviderFetch } from './provider-fetch.ts';

/** What every AI SDK provider is made with. */
export interface ProviderSettings {
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly fetch: ProviderFetch;
}

/** Makes a provider's model of that name. Throws what the package throws. */
export type CreateModel = (settings: ProviderSettings, name: string) => LanguageModelV4;

/** The version of the AI SDK's language model interface that the gateway speaks. */
const VERSION = 'v4';
/** What every provider depends on. */
const INTERFACE_PACKAGE = '@ai-sdk/provider';

/**
 * Loads an AI SDK provider's package, which has to be installed alongside the gateway, and finds its `create…`
 * function. Nothing of it is loaded before. A package that does not depend on the AI SDK's interface is refused unseen:
 * loading one runs its code. Rejects with a sentence that says what to do.
 */
export async function loadProvider(packageName: string): Promise<CreateModel> {
  await assertProviderPackage(packageName);
  const exported = (await import(packageName)) as Record<string, unknown>;
  const create = findFactory(packageName, exported);
  return (settings, name) => {
    const provider = create(settings);
    const model =
      typeof provider.languageModel === 'function' ? provider.languageModel(name) : provider(name);
    if (model?.specificationVersion === VERSION) return model;
    throw new Error(`${packageName} does not speak version ${VERSION} of the AI SDK's interface: update it`);
  };
}

type Factory = (settings: ProviderSettings) => {
  (name: string): LanguageModelV4;
  languageModel?: (name: string) => LanguageModelV4;
};

/**
 * The one `create…` function of a module. Where there are several, the one that is named after the package
 * (`@ai-sdk/amazon-bedrock` → `createAmazonBedrock`). Throws an Error that names them.
 */
export function findFactory(packageName: string, exported: Readonly<Record<string, unknown>>): Factory {
  const factories = Object.entries(exported).filter(
    (entry): entry is [string, Factory] => /^create[A-Z]/.test(entry[0]) && typeof entry[1] === 'function',
  );
  const different = new Set(factories.map(([, factory]) => factory));
  const [only] = different;
  if (different.size === 1) return only!;
  const last = packageName.split('/').at(-1) ?? '';
  const wanted = `create${last.replaceAll(/[^a-z0-9]/gi, '')}`.toLowerCase();
  const named = factories.find(([name]) => name.toLowerCase() === wanted);
  if (named !== undefined) return named[1];
  const found = factories.length === 0 ? 'none' : factories.map(([name]) => name).join(', ');
  throw new Error(`${packageName} has no one create… function that makes a provider: it has ${found}`);
}

async function assertProviderPackage(packageName: string): Promise<void> {
  const file = isBuiltin(packageName) ? undefined : find(packageName);
  if (file === undefined) {
    throw new Error(
      `the package ${packageName} is not installed: run npm install ${packageName} beside the gateway`,
    );
  }
  const { dependencies, peerDependencies } = JSON.parse(await readFile(file, 'utf8'));
  if (packageName === INTERFACE_PACKAGE || !(INTERFACE_PACKAGE in { ...dependencies, ...peerDependencies })) {
    throw new Error(`the package ${packageName} is no provider of the AI SDK`);
  }
}

function find(packageName: string): string | undefined {
  try {
    return findPackageJSON(packageName, import.meta.url);
  } catch {
    // Node throws if the package is not there, and says no more than that.
    return undefined;
  }
}
